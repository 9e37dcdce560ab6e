//! The files that hold rows: written and read through a compressor, with a checksum of the bytes as stored, so that a
//! damaged file is known before its rows are committed anywhere.

use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::str::FromStr;

use drover_host::Unzstd;
use drover_store::{Failure, Sink, Source, Store};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::digest::Digest;
use super::frames::Frames;
use crate::{Error, Result};

/// How row files are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    None,
    /// Zstandard.
    Zstd,
    /// gzip.
    Gzip,
    /// LZ4 frames.
    Lz4,
}

impl Compression {
    /// What a file's name ends with.
    pub fn extension(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
            Self::Lz4 => ".lz4",
        }
    }

    /// That of a file of this name.
    pub fn of(name: &str) -> Self {
        let packed = [Self::Zstd, Self::Gzip, Self::Lz4];
        packed.into_iter().find(|packed| name.ends_with(packed.extension())).unwrap_or(Self::None)
    }
}

/// A compression and its level, as `--compress` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compressor {
    compression: Compression,
    level: i32,
    /// Whether another setting than this level may be taken where it is faster and gives files as small.
    fitting: bool,
}

impl Compressor {
    /// None at all.
    pub const NONE: Self = Self { compression: Compression::None, level: 0, fitting: false };
    /// Zstandard as it is without a level.
    pub const ZSTD: Self = Self { compression: Compression::Zstd, level: 1, fitting: true };

    /// The method, without its level.
    pub fn compression(self) -> Compression {
        self.compression
    }
}

impl FromStr for Compressor {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let (compression, default, range) = match name {
            "none" => (Compression::None, 0, 0..=0),
            "zstd" => (Compression::Zstd, 1, -7..=19),
            "gzip" => (Compression::Gzip, 6, 1..=9),
            "lz4" => (Compression::Lz4, 0, 0..=0),
            _ => return Err(format!("'{name}' is none of zstd, gzip, lz4 and none")),
        };
        let level = match level {
            None => default,
            Some(_) if range == (0..=0) => return Err(format!("{name} has no levels")),
            Some(level) => level.parse().ok().filter(|level| range.contains(level)).ok_or_else(|| {
                format!("'{level}' is not a level of {name}: it has {} to {}", range.start(), range.end())
            })?,
        };
        Ok(Self { compression, level, fitting: compression == Compression::Zstd && name == text })
    }
}

/// What a finished file is, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its size in bytes.
    pub bytes: u64,
    /// XXH3-128 of them.
    pub checksum: Digest,
}

/// Counts and hashes what passes to or from a file.
struct Metered<F> {
    file: F,
    bytes: u64,
    hash: Xxh3,
}

impl<F> Metered<F> {
    fn new(file: F) -> Self {
        Self { file, bytes: 0, hash: Xxh3::new() }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
    }

    fn stored(&self) -> Stored {
        let mut checksum = Digest::default();
        checksum.add_hashed(&self.hash);
        Stored { bytes: self.bytes, checksum }
    }
}

impl Write for Metered<Sink> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = self.file.write(buf)?;
        self.pass(&buf[..count]);
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for Metered<Source> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buf)?;
        self.pass(&buf[..count]);
        Ok(count)
    }
}

enum Encoder {
    None(Metered<Sink>),
    Zstd(Frames<Metered<Sink>>),
    Gzip(flate2::write::GzEncoder<Metered<Sink>>),
    Lz4(Box<lz4_flex::frame::FrameEncoder<Metered<Sink>>>),
}

impl Encoder {
    fn new(compressor: Compressor, out: Metered<Sink>) -> io::Result<Self> {
        Ok(match compressor.compression {
            Compression::None => Self::None(out),
            Compression::Zstd if compressor.fitting => Self::Zstd(Frames::fitting(out)?),
            Compression::Zstd => Self::Zstd(Frames::at_level(compressor.level, out)?),
            Compression::Gzip => {
                let level = flate2::Compression::new(compressor.level.unsigned_abs());
                Self::Gzip(flate2::write::GzEncoder::new(out, level))
            }
            Compression::Lz4 => {
                let frame = lz4_flex::frame::FrameInfo::new().content_checksum(true);
                Self::Lz4(Box::new(lz4_flex::frame::FrameEncoder::with_frame_info(frame, out)))
            }
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::None(out) => out.write_all(bytes),
            Self::Zstd(out) => out.write_all(bytes),
            Self::Gzip(out) => out.write_all(bytes),
            Self::Lz4(out) => out.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<Metered<Sink>> {
        match self {
            Self::None(out) => Ok(out),
            Self::Zstd(out) => out.finish(),
            Self::Gzip(out) => out.finish(),
            Self::Lz4(out) => out.finish().map_err(io::Error::from),
        }
    }
}

/// Writes one file of rows.
pub(crate) struct FileWriter {
    path: PathBuf,
    encoder: Encoder,
}

impl FileWriter {
    /// Creates the file; in a directory, one that is there already is an error.
    pub(crate) fn create(store: &Store, name: &str, compressor: Compressor) -> Result<Self> {
        let path = store.path(name);
        let file = store.create(name).map_err(Error::file(&path))?;
        let encoder = Encoder::new(compressor, Metered::new(file)).map_err(Error::file(&path))?;
        Ok(Self { path, encoder })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.encoder.write_all(bytes).map_err(Error::file(&self.path))
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<Stored> {
        let metered = self.encoder.finish().map_err(Error::file(&self.path))?;
        let stored = metered.stored();
        metered.file.finish().map_err(Error::file(&self.path))?;
        Ok(stored)
    }
}

/// What a file is as it is stored now; `pass` is told how many bytes were read, and may end it.
///
/// # Errors
/// If the file cannot be read, or what `pass` says.
pub fn stored<E: From<Error>>(
    store: &Store,
    name: &str,
    pass: impl Fn(u64) -> std::result::Result<(), E>,
) -> std::result::Result<Stored, E> {
    let path = store.path(name);
    let mut metered = Metered::new(store.source(name, u64::MAX).map_err(Error::file(&path))?);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match metered.read(&mut buffer) {
            Ok(0) => return Ok(metered.stored()),
            Ok(count) => pass(count as u64)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::file(&path)(error).into()),
        }
    }
}

enum Decoder {
    None(Metered<Source>),
    Zstd(Unzstd<BufReader<Metered<Source>>>),
    Gzip(Box<flate2::bufread::MultiGzDecoder<BufReader<Metered<Source>>>>),
    Lz4(Box<lz4_flex::frame::FrameDecoder<Metered<Source>>>),
}

/// Reads one file of rows back.
pub struct FileReader {
    path: PathBuf,
    decoder: Decoder,
}

impl FileReader {
    /// Opens the file.
    pub fn open(store: &Store, name: &str, compression: Compression) -> Result<Self> {
        Self::up_to(store, name, compression, u64::MAX)
    }

    /// For reading the first `bytes` of the text only: no more of an object comes down than that may take.
    pub(crate) fn beginning(store: &Store, name: &str, bytes: u64) -> Result<Self> {
        /// None of the methods packs more bytes into one block.
        const BLOCK: u64 = 4 << 20;
        Self::up_to(store, name, Compression::of(name), bytes.saturating_add(BLOCK))
    }

    fn up_to(store: &Store, name: &str, compression: Compression, most: u64) -> Result<Self> {
        let path = store.path(name);
        let metered = Metered::new(store.source(name, most).map_err(Error::file(&path))?);
        let buffered = |metered| BufReader::with_capacity(128 << 10, metered);
        let decoder = match compression {
            Compression::None => Decoder::None(metered),
            Compression::Zstd => Decoder::Zstd(Unzstd::new(buffered(metered)).map_err(Error::file(&path))?),
            Compression::Gzip => {
                Decoder::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(buffered(metered))))
            }
            Compression::Lz4 => Decoder::Lz4(Box::new(lz4_flex::frame::FrameDecoder::new(metered))),
        };
        Ok(Self { path, decoder })
    }

    /// Reads some of the rows' text into `buffer`; 0 at the end.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = match &mut self.decoder {
            Decoder::None(input) => input.read(buffer),
            Decoder::Zstd(input) => input.read(buffer),
            Decoder::Gzip(input) => input.read(buffer),
            Decoder::Lz4(input) => input.read(buffer),
        };
        read.map_err(|error| match Failure::of(&error) {
            Some(_) => Error::file(&self.path)(error),
            None if error.kind() == io::ErrorKind::Unsupported => Error::file(&self.path)(error),
            None => Error::Damaged { path: self.path.clone(), why: error.to_string() },
        })
    }

    /// What was stored, once all was read.
    pub fn finish(self) -> Result<Stored> {
        let mut metered = match self.decoder {
            Decoder::None(input) => input,
            Decoder::Zstd(input) => input.into_inner().into_inner(),
            Decoder::Gzip(input) => input.into_inner().into_inner(),
            Decoder::Lz4(input) => input.into_inner(),
        };
        // What lies behind the end of the compressed data counts too: nothing may.
        io::copy(&mut metered, &mut io::sink()).map_err(Error::file(&self.path))?;
        Ok(metered.stored())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [&str; 4] = ["none", "zstd", "gzip:1", "lz4"];

    fn read_all(store: &Store, name: &str, compression: Compression) -> Result<(Vec<u8>, Stored)> {
        let mut reader = FileReader::open(store, name, compression)?;
        let (mut all, mut buffer) = (Vec::new(), [0; 1000]);
        loop {
            match reader.read(&mut buffer)? {
                0 => break,
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
        Ok((all, reader.finish()?))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_was_written_is_read(content in prop::collection::vec(any::<u8>(), 0..5000), at in any::<prop::sample::Index>()) {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::Directory(dir.path().to_owned());
            for (index, name) in ALL.iter().enumerate() {
                let compressor: Compressor = name.parse().unwrap();
                let name = index.to_string();
                let path = dir.path().join(&name);
                let mut writer = FileWriter::create(&store, &name, compressor).unwrap();
                content.chunks(700).for_each(|piece| writer.write(piece).unwrap());
                let stored = writer.finish().unwrap();
                prop_assert_eq!(stored.bytes, std::fs::metadata(&path).unwrap().len());
                prop_assert_eq!(read_all(&store, &name, compressor.compression()).unwrap(), (content.clone(), stored.clone()));

                // One flipped bit is seen, by the decoder or by the checksum.
                if stored.bytes > 0 {
                    let mut bytes = std::fs::read(&path).unwrap();
                    let flipped = at.index(bytes.len());
                    bytes[flipped] ^= 1;
                    std::fs::write(&path, bytes).unwrap();
                    if let Ok((_, found)) = read_all(&store, &name, compressor.compression()) {
                        prop_assert_ne!(found.checksum, stored.checksum);
                    }
                }
            }
        }
    }

    #[test]
    fn levels() {
        assert!("zstd:3".parse::<Compressor>().is_ok());
        for wrong in ["zstd:99", "none:1", "rar", "gzip:0", "zstd:"] {
            assert!(wrong.parse::<Compressor>().is_err(), "{wrong}");
        }
    }
}
