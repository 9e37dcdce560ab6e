//! What a dump's files hold, decompressed by what they begin with. What is read counts as progress.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use drover_db::Stop;
use drover_host::Unzstd;

use crate::progress::Progress;
use crate::{Error, Result};

/// Begins of files and the programs that unpack them, for what is not unpacked here.
const OTHERS: [(&[u8], &str); 3] = [(b"BZh", "bunzip2"), (b"\xfd7zXZ\0", "xz"), (b"PK\x03\x04", "funzip")];

/// What text in UTF-16 begins with, as PowerShell's `>` writes it.
const UTF16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Opens a file.
pub(super) fn open<'a>(path: &Path, progress: Option<&'a Progress>) -> Result<Box<dyn Read + Send + 'a>> {
    unpacked(path, Box::new(File::open(path).map_err(Error::file(path))?), progress)
}

/// Opens a file, or the standard input for `-`, which is not waited for after a stop.
pub(super) fn open_any<'a>(
    path: &Path,
    progress: Option<&'a Progress>,
    stop: &'a Stop,
) -> Result<Box<dyn Read + Send + 'a>> {
    match is_stdin(path) {
        true => unpacked(path, Box::new(Piped::new(stop)), progress),
        false => open(path, progress),
    }
}

fn unpacked<'a>(
    path: &Path,
    raw: Box<dyn Read + Send + 'a>,
    progress: Option<&'a Progress>,
) -> Result<Box<dyn Read + Send + 'a>> {
    let mut buffered = BufReader::with_capacity(256 << 10, Counted { raw, progress });
    let head = buffered.fill_buf().map_err(Error::file(path))?;
    if let Some((_, program)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(Error::with_hint(
            format!("{}: a kind of compression that is not read here", path.display()),
            format!("{program} < {} | drover restore -", path.display()),
        ));
    }
    if UTF16.iter().any(|mark| head.starts_with(mark)) {
        return Err(Error::with_hint(
            format!("{}: text in UTF-16, which is no SQL that a server reads", path.display()),
            format!("iconv -f UTF-16 -t UTF-8 {} | drover restore -", path.display()),
        ));
    }
    Ok(match head {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(Unzstd::new(buffered).map_err(Error::file(path))?),
        [0x04, 0x22, 0x4d, 0x18, ..] => Box::new(lz4_flex::frame::FrameDecoder::new(buffered)),
        _ => Box::new(buffered),
    })
}

/// The error for a file whose content cannot be read to its end.
pub(super) fn unreadable(file: &str, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::Unsupported => Error::with_hint(
            format!("{file}: {error}"),
            format!("unpack it first: zstd -dc --long=31 {file} | drover restore -"),
        ),
        _ => Error::found(format!("{file}: the file is damaged: {error}")),
    }
}

/// Whether this is not a file but what is piped in.
pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// How a person knows the file.
pub(super) fn shown(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// Pieces of what is piped in, read by a thread of their own: nothing ends a read that waits for more.
struct Piped<'a> {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
    stop: &'a Stop,
}

/// How often a reader that waits looks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl<'a> Piped<'a> {
    fn new(stop: &'a Stop) -> Self {
        let (sender, pieces) = sync_channel(4);
        // Nobody waits for it: it ends with the input, or with the process.
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; 256 << 10];
                let read = io::stdin().read(&mut piece).map(|count| {
                    piece.truncate(count);
                    piece
                });
                if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
                    continue;
                }
                let is_last = !read.as_ref().is_ok_and(|piece| !piece.is_empty());
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        Self { pieces, piece: Vec::new(), at: 0, stop }
    }
}

impl Read for Piped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.pieces.recv_timeout(LOOK_EVERY) {
                Ok(Ok(piece)) if piece.is_empty() => return Ok(0),
                Ok(piece) => (self.piece, self.at) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) if self.stop.is_requested() => {
                    return Err(io::Error::other("stopped"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..][..count]);
        self.at += count;
        Ok(count)
    }
}

struct Counted<'a> {
    raw: Box<dyn Read + Send + 'a>,
    progress: Option<&'a Progress>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        if let Some(progress) = self.progress {
            progress.done(count as u64);
            progress.count(0, count as u64);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(bytes: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sql");
        std::fs::write(&path, bytes).unwrap();
        let mut all = Vec::new();
        let mut input = open(&path, None).map_err(|error| error.to_string())?;
        input.read_to_end(&mut all).map_err(|error| error.to_string())?;
        Ok(all)
    }

    fn packed() -> [Vec<u8>; 3] {
        let text = b"SELECT 1;\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(&text).unwrap();
        [gzip.finish().unwrap(), zstd::encode_all(&text[..], 1).unwrap(), lz4.finish().unwrap()]
    }

    #[test]
    fn files_are_known_by_their_begin() {
        assert_eq!(read(b"x").unwrap(), b"x");
        assert_eq!(read(b"").unwrap(), b"");
        for packed in packed() {
            assert_eq!(read(&packed).unwrap(), b"SELECT 1;\n".repeat(1000));
        }
        assert!(read(b"BZh91").unwrap_err().contains("compression"));
        assert!(read(b"\xff\xfeS\0").unwrap_err().contains("UTF-16"));
    }

    #[test]
    fn a_cut_file_is_an_error() {
        for packed in packed() {
            assert!(read(&packed[..packed.len() - 5]).is_err(), "{:?}", &packed[..4]);
        }
    }
}
