//! Reading what zstd has packed.

use std::io::{self, BufRead, Read};

/// How libzstd says that a file needs a window beyond the limit. Source: zstd `lib/common/error_private.c`.
const TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// Unpacks. As with zstd's own program, what was packed with a window above 128 MiB (`--long=28` and more) is refused: whoever made
/// the file could have any program that reads it take gigabytes of memory.
pub struct Unzstd<R: BufRead>(zstd::Decoder<'static, R>);

impl<R: BufRead> Unzstd<R> {
    /// Begins to unpack.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(input: R) -> io::Result<Self> {
        zstd::Decoder::with_buffer(input).map(Self)
    }

    /// What it was read from.
    pub fn into_inner(self) -> R {
        self.0.finish()
    }
}

impl<R: BufRead> Read for Unzstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.to_string().contains(TOO_LARGE) {
            true => io::Error::new(
                io::ErrorKind::Unsupported,
                "it is packed with a zstd window of more than 128 MiB, the most that is read",
            ),
            false => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn packed(window_log: u32) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        encoder.write_all(b"text").unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn windows() {
        let read = |window_log| {
            let packed = packed(window_log);
            let mut text = String::new();
            Unzstd::new(&packed[..]).unwrap().read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(read(27).unwrap(), "text");
        let error = read(28).unwrap_err();
        assert!(
            error.kind() == io::ErrorKind::Unsupported && error.to_string().contains("128 MiB"),
            "{error}"
        );
    }
}
