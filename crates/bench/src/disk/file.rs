//! The file that requests go to.
//!
//! One file, of the largest size that is measured: its first part is each smaller working set, so that all is written once, and on
//! a turning disk a larger working set reaches further, as a growing database does. An fsync of one file is one flush of the disk;
//! with more files their number would be one more setting that the result depends on. It is written in full, because what was never
//! written is not read from the disk.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_db::Stop;
use drover_host::Storage;
use rustix::fs::{AtFlags, StatxFlags, statx};
use serde::Serialize;

use super::fill::fill;
use super::place::Place;
use super::sweep::size_name;
use crate::{Error, Progress, Result};

/// A file in a directory of its own, which is removed when this is dropped.
#[derive(Debug)]
pub struct DataFile {
    // Closed before its directory is removed.
    file: File,
    path: PathBuf,
    bytes: u64,
    alignment: Alignment,
    place: Place,
}

/// What places in the file and in memory must be multiples of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Alignment {
    /// In memory, in bytes.
    pub memory_bytes: u32,
    /// In the file, in bytes; lengths too.
    pub offset_bytes: u32,
    /// Whether the file system says so (statx, STATX_DIOALIGN, since Linux 6.1); else it is a guess.
    pub is_known: bool,
}

impl Alignment {
    /// What nearly all devices take: memory by the page, places by the smallest sector.
    const GUESS: Self = Self { memory_bytes: 4096, offset_bytes: 512, is_known: false };
}

impl DataFile {
    /// Makes an empty file for so many bytes below a directory.
    ///
    /// # Errors
    /// If the directory cannot be written to, or lies where there is no direct I/O.
    pub fn create(directory: &Path, bytes: u64) -> Result<Self> {
        let storage = Storage::of(directory)?;
        if matches!(storage.file_system.as_str(), "tmpfs" | "ramfs") {
            return Err(Error::with_hint(
                format!("{}: {} lies in memory, not on a disk", directory.display(), storage.file_system),
                "give a directory on the disk in question; `df -T` shows what lies where",
            ));
        }
        let place = Place::make(directory)?;
        let (file, path) = (place.create_file()?, place.file_path());
        let alignment = alignment(&file, directory)?;
        let bytes = bytes.next_multiple_of(u64::from(alignment.offset_bytes).max(4096));
        Ok(Self { file, path, bytes, alignment, place })
    }

    /// Refuses a size of requests that direct I/O does not take here.
    ///
    /// # Errors
    /// What it is a multiple of.
    pub fn check_block(&self, block: u64) -> Result<()> {
        let unit = u64::from(self.alignment.offset_bytes);
        if block.is_multiple_of(unit) {
            return Ok(());
        }
        let at = self.path.parent().and_then(Path::parent).unwrap_or(&self.path);
        let what = format!(
            "--block {block}: direct I/O on {} goes by multiples of {}",
            at.display(),
            size_name(unit)
        );
        Err(Error::with_hint(what, format!("give --block {unit}, or a multiple of it")))
    }

    /// Writes it in full, with bytes that nothing can compress, and returns how long that took.
    ///
    /// # Errors
    /// If the disk is full, fails, or the work was stopped.
    pub fn fill(&self, seed: u64, stop: &Stop, progress: &Progress) -> Result<Duration> {
        fill(self, seed, stop, progress)
    }

    /// How much less the file system stores than was written, as a share; 0 if it stores all.
    ///
    /// # Errors
    /// If the file system cannot be asked.
    pub fn share_not_stored(&self) -> Result<f64> {
        use std::os::unix::fs::MetadataExt as _;
        let stored = self.file.metadata().map_err(Error::file(&self.path))?.blocks() as f64 * 512.0;
        Ok((1.0 - stored / self.bytes as f64).max(0.0))
    }

    /// Makes durable what was written.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(Error::file(&self.path))
    }

    /// Removes it, and says what hindered that.
    ///
    /// # Errors
    /// If the file or its directory cannot be removed.
    pub fn remove(self) -> Result<()> {
        drop(self.file);
        self.place.remove()
    }

    /// The open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How large it is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What requests must be aligned to.
    pub fn alignment(&self) -> Alignment {
        self.alignment
    }
}

/// Asks for the alignment; kernels and file systems that do not know it leave the guess.
fn alignment(file: &File, directory: &Path) -> Result<Alignment> {
    let Ok(told) = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return Ok(Alignment::GUESS);
    };
    if told.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Ok(Alignment::GUESS);
    }
    // statx(2): both are 0 where direct I/O is not supported on this file.
    if told.stx_dio_offset_align == 0 || told.stx_dio_mem_align == 0 {
        return Err(Error::with_hint(
            format!("{}: this file system takes no direct I/O on its files", directory.display()),
            "encryption, compression and journalled data hinder it: give a directory on another file system",
        ));
    }
    Ok(Alignment {
        memory_bytes: told.stx_dio_mem_align,
        offset_bytes: told.stx_dio_offset_align,
        is_known: true,
    })
}

/// What a person should know of how a file system treats direct I/O.
pub(super) fn caution(storage: &Storage) -> Option<String> {
    // Documentation of OpenZFS (`direct=`) and of btrfs (man 5 btrfs, "direct I/O and checksums").
    let caches = matches!(storage.file_system.as_str(), "zfs" | "btrfs");
    caches.then(|| {
        format!(
            "{}: {} takes direct I/O but may serve it from memory all the same, and writes more than it is given",
            storage.path.display(),
            storage.file_system
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::on_disk;
    use super::*;

    #[test]
    fn memory_is_no_disk() {
        let error = DataFile::create(Path::new("/dev/shm"), 1 << 20).unwrap_err();
        assert!(error.to_string().contains("tmpfs") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn a_file_is_filled_in_full_and_gone_afterwards() {
        let dir = on_disk();
        let file = DataFile::create(dir.path(), (5 << 20) + 1).unwrap();
        assert_eq!(file.bytes(), (5 << 20) + 4096);
        file.check_block(16 << 10).unwrap();
        assert!(file.check_block(1000).unwrap_err().to_string().contains("--block 1000"));
        file.fill(7, &Stop::default(), &Progress::default()).unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!((bytes.len() as u64, file.share_not_stored().unwrap()), (file.bytes(), 0.0));
        // Random bytes leave no page that is all zeros, and no two that are equal.
        let mut pages: Vec<_> = bytes.chunks(4096).collect();
        let count = pages.len();
        pages.sort_unstable();
        pages.dedup();
        assert_eq!(pages.len(), count);
        file.remove().unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_stop_ends_filling_at_once() {
        let dir = on_disk();
        let stop = Stop::default();
        stop.request();
        let file = DataFile::create(dir.path(), 64 << 20).unwrap();
        assert!(matches!(file.fill(1, &stop, &Progress::default()), Err(Error::Stopped)));
        drop(file);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn file_systems_that_cache_are_named() {
        let of = |kind: &str| Storage { file_system: kind.to_owned(), ..Storage::default() };
        assert!(caution(&of("zfs")).is_some() && caution(&of("ext4")).is_none());
    }
}
