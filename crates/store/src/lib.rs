//! Where files of a dump or a backup lie: in a directory, or below a prefix in a bucket of an object store that speaks S3. Files are
//! named by their path below it, with `/` between the parts; an object's key is the prefix and that name. It publishes a file whole
//! or not at all, keeps a log that outlives a kill, and lets one run at a time write.
//!
//! It knows nothing of what the files hold. Families that keep files may import it; of ours it needs `db`, for who stops the work.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use drover_db::{Stop, Watched};
use rustix::fs::Advice;

mod args;
mod bucket;
mod error;
mod failure;
mod limits;
pub mod lock;
pub mod log;

pub use args::StoreArgs;
pub use bucket::Bucket;
use bucket::{BucketReader, BucketWriter};
pub use error::{Error, Result};
pub use failure::Failure;
use limits::{LOCK, WHOLE, too_large};
pub use lock::Lock;

/// How the name of a file ends that has not taken its place.
const UNFINISHED: &str = ".partial";

/// Where a dump lies.
#[derive(Debug, Clone)]
pub enum Store {
    /// A directory.
    Directory(PathBuf),
    /// `s3://BUCKET/PREFIX`.
    Bucket(Bucket),
}

/// Whether a place that a person named is in an object store, and no directory.
pub fn is_object_store(place: &Path) -> bool {
    bucket::is_url(place)
}

/// A file that is being written. An object is there when [`Sink::finish`] has said so.
#[derive(Debug)]
pub struct Sink(Writing);

#[derive(Debug)]
enum Writing {
    File(Flushed),
    Object(Box<BucketWriter>),
}

/// A file that is being read, from its beginning to its end.
#[derive(Debug)]
pub struct Source(Reading);

#[derive(Debug)]
enum Reading {
    File(File),
    Object(BucketReader),
}

impl Store {
    /// `s3://BUCKET/PREFIX`, or a directory.
    ///
    /// # Errors
    /// If the URL is none, the environment lacks what it takes to use it, or the bucket does not answer.
    pub fn open(place: &Path, args: &StoreArgs) -> Result<Self> {
        match is_object_store(place) {
            true => Bucket::open(place, args).map(Self::Bucket),
            false => Ok(Self::Directory(place.to_owned())),
        }
    }

    /// The directory, if it is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(dir) => Some(dir),
            Self::Bucket(_) => None,
        }
    }

    /// Ends what waits for an object store, as the connections to servers are broken, until the guard is dropped.
    pub fn watch<'s>(&self, stop: &'s Stop) -> Option<Watched<'s>> {
        match self {
            Self::Directory(_) => None,
            Self::Bucket(bucket) => Some(stop.watch_other(bucket.halt())),
        }
    }

    /// What it is called in messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Directory(_) => "directory",
            Self::Bucket(_) => "prefix",
        }
    }

    /// The place of a file, for messages; that of the whole for an empty name.
    pub fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Directory(dir) if name.is_empty() => dir.clone(),
            Self::Directory(dir) => dir.join(name),
            Self::Bucket(bucket) => bucket.url(name).into(),
        }
    }

    fn at<T>(&self, name: &str, result: io::Result<T>) -> Result<T> {
        result.map_err(|source| Error::File { path: self.path(name), source })
    }

    /// Makes the directory, for this user only; a bucket is there.
    pub fn prepare(&self) -> Result<()> {
        let Self::Directory(dir) = self else { return Ok(()) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(Error::file(dir))
    }

    /// Makes a folder for files, for this user only; objects need none.
    pub fn folder(&self, name: &str) -> Result<()> {
        let Self::Directory(dir) = self else { return Ok(()) };
        self.at(name, fs::DirBuilder::new().recursive(true).mode(0o700).create(dir.join(name)))
    }

    /// Begins a file that nobody else may read, also where others may enter the directory; one of this name must not be there. Who may
    /// read an object, its bucket says.
    pub fn create(&self, name: &str) -> io::Result<Sink> {
        match self {
            Self::Directory(dir) => private()
                .create_new(true)
                .open(dir.join(name))
                .map(|file| Sink(Writing::File(Flushed::new(file)))),
            Self::Bucket(bucket) => bucket.create(name).map(|object| Sink(Writing::Object(Box::new(object)))),
        }
    }

    /// Writes a small file that nobody else may read; one of this name is replaced.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let written = match self {
            Self::Directory(dir) => {
                create_private(&dir.join(name)).and_then(|mut file| file.write_all(bytes))
            }
            Self::Bucket(bucket) => bucket.write(name, bytes),
        };
        self.at(name, written)
    }

    /// Writes a small file so that it is there whole or not at all, also after a power cut.
    pub fn publish(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let published = match self {
            Self::Directory(dir) => publish(dir, name, bytes),
            Self::Bucket(bucket) => bucket.write_new(name, bytes),
        };
        self.at(name, published)
    }

    /// Waits until all files, and their names, are there for good, also after a power cut. An object that was written is.
    pub fn sync(&self) -> Result<()> {
        self.directory().map_or(Ok(()), sync)
    }

    /// Reads a file that is held in memory as a whole: a manifest, a script or a journal.
    ///
    /// # Errors
    /// If it cannot be read, or is larger than any of these.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let read = match self {
            Self::Directory(dir) => read_whole(dir, name),
            Self::Bucket(bucket) => bucket.read(name, WHOLE),
        };
        self.at(name, read)
    }

    /// The same; `None` if it is not there.
    pub fn read_if_there(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.read(name) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    /// Reads a file of any size; of an object at most so many bytes.
    pub fn source(&self, name: &str, most: u64) -> io::Result<Source> {
        match self {
            Self::Directory(dir) => {
                inside(dir, name).and_then(File::open).map(|file| Source(Reading::File(file)))
            }
            Self::Bucket(bucket) => bucket.reader(name, most).map(|object| Source(Reading::Object(object))),
        }
    }

    /// The sizes of files, in bytes.
    ///
    /// # Errors
    /// If one of them is not there, or cannot be asked for.
    pub fn sizes<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<Vec<u64>> {
        match self {
            Self::Directory(dir) => {
                let size = |name| inside(dir, name).and_then(fs::metadata).map(|file| file.len());
                names.map(|name| self.at(name, size(name))).collect()
            }
            Self::Bucket(bucket) => {
                let sizes = self.at("", bucket.sizes())?;
                let missing = || io::Error::from(io::ErrorKind::NotFound);
                names.map(|name| self.at(name, sizes.get(name).copied().ok_or_else(missing))).collect()
            }
        }
    }

    /// What is in a folder, or at the top for an empty name: the names of files and folders, without the folder's.
    pub fn list(&self, folder: &str) -> Result<Vec<String>> {
        let listed = match self {
            Self::Directory(dir) => list(&dir.join(folder)),
            Self::Bucket(bucket) => bucket.list(folder),
        };
        self.at(folder, listed)
    }

    /// Whether nothing is there, but perhaps a file that a run did not live to put in its place, or its lock.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.list("")?.iter().all(|name| name.ends_with(UNFINISHED) || name == LOCK))
    }

    /// Whether there is such a file.
    pub fn has(&self, name: &str) -> Result<bool> {
        match self {
            Self::Directory(dir) => Ok(dir.join(name).exists()),
            Self::Bucket(bucket) => self.at(name, bucket.has(name)),
        }
    }

    /// Removes a file.
    pub fn remove(&self, name: &str) -> Result<()> {
        let removed = match self {
            Self::Directory(dir) => fs::remove_file(dir.join(name)),
            Self::Bucket(bucket) => bucket.remove(name),
        };
        self.at(name, removed)
    }
}

/// The path of a file of a dump, which may come from a stranger: it must not be a link to what lies elsewhere, and no pipe, of which
/// nobody writes the other end.
pub fn inside(dir: &Path, name: &str) -> io::Result<PathBuf> {
    let path = not_outside(dir, name)?;
    match fs::metadata(&path)?.is_file() {
        true => Ok(path),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// The same, also of a folder.
pub fn not_outside(dir: &Path, name: &str) -> io::Result<PathBuf> {
    let path = fs::canonicalize(dir.join(name))?;
    match path.starts_with(fs::canonicalize(dir)?) {
        true => Ok(path),
        false => Err(io::Error::other("a symbolic link leads out of the dump")),
    }
}

/// Reads a file that is held in memory as a whole.
pub fn read_whole(dir: &Path, name: &str) -> io::Result<Vec<u8>> {
    let file = File::open(inside(dir, name)?)?;
    if file.metadata()?.len() > WHOLE {
        return Err(too_large());
    }
    let mut text = Vec::new();
    file.take(WHOLE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > WHOLE { Err(too_large()) } else { Ok(text) }
}

/// Where a file is written that takes its place only when it is whole.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// How files are opened that hold rows, or tell of them.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Begins a file that nobody else may read; one of this name is emptied.
fn create_private(path: &Path) -> io::Result<File> {
    private().create(true).truncate(true).open(path)
}

fn publish(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let path = dir.join(name);
    let mut file = create_private(&unfinished(&path))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished(&path), path)?;
    File::open(dir)?.sync_all()
}

/// A directory with all that is in it, the innermost first. Symbolic links are not followed.
fn sync(dir: &Path) -> Result<()> {
    let read = || -> io::Result<Vec<_>> { fs::read_dir(dir)?.collect() };
    for entry in read().map_err(Error::file(dir))? {
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::file(&path))?;
        if kind.is_dir() {
            sync(&path)?;
        } else if kind.is_file() {
            File::open(&path).and_then(|file| file.sync_all()).map_err(Error::file(&path))?;
        }
    }
    File::open(dir).and_then(|file| file.sync_all()).map_err(Error::file(dir))
}

fn list(dir: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// A file whose bytes the system begins to bring to the disk while more are written: nobody waits for all of them when they are to be there
/// for good.
#[derive(Debug)]
struct Flushed {
    file: File,
    written: u64,
    /// How many of them the disk was asked to take.
    begun: u64,
}

impl Flushed {
    /// The disk is asked in pieces of at least so many bytes.
    const PIECE: u64 = 4 << 20;

    fn new(file: File) -> Self {
        Self { file, written: 0, begun: 0 }
    }

    /// Linux begins to write what is dirty when it is told that it is not needed any more. It is a help only: what fails is found by whoever
    /// waits for the bytes.
    fn begin(&mut self) {
        if let Some(length) = NonZeroU64::new(self.written - self.begun) {
            let _ = rustix::fs::fadvise(&self.file, self.begun, Some(length), Advice::DontNeed);
            self.begun = self.written;
        }
    }
}

impl Write for Flushed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        if self.written - self.begun >= Self::PIECE {
            self.begin();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    /// Ends the file: from now on it is there.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Writing::File(mut file) => {
                file.begin();
                Ok(())
            }
            Writing::Object(writer) => writer.finish(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Writing::File(file) => file.write(bytes),
            Writing::Object(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Reading::File(file) => file.read(buffer),
            Reading::Object(reader) => reader.read(buffer),
        }
    }
}
