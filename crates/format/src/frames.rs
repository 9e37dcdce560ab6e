//! Zstandard files as they are written here: a row of frames, each with the setting that suits what comes in it. Any
//! reader of Zstandard takes the frames of a file as one text.

use std::io::{self, Write};

use zstd::zstd_safe::{CParameter, ParamSwitch};

/// A writer of frames.
pub(super) struct Frames<W: Write> {
    /// The one that is being written; none after a failure.
    frame: Option<zstd::Encoder<'static, W>>,
    /// Bytes of text so far.
    written: u64,
    /// Bytes of text that are taken before the next choice of a setting.
    settled: u64,
}

/// What zstd is set to, the fastest first: one that looks for hardly any repeats but still writes frequent bytes with
/// fewer bits (digits and hashes have no repeats to find), one that looks for a few (numbers that count up), and level 1.
const SETTINGS: [&[CParameter]; 3] = [
    &[CParameter::CompressionLevel(-1000), FEWER_BITS],
    &[CParameter::CompressionLevel(-8), FEWER_BITS],
    &[CParameter::CompressionLevel(1)],
];
const FEWER_BITS: CParameter = CParameter::LiteralCompressionMode(ParamSwitch::Enable);

/// Bytes of text on which the settings are tried, at most, and at least.
const SAMPLE: usize = 256 << 10;
const LEAST_SAMPLE: usize = 4 << 10;

/// After how many bytes of text a setting is chosen anew: as many again as there are, within these limits. The beginning
/// of a table is often unlike the rest, having short numbers that count up.
const SETTLED: (u64, u64) = (1 << 20, 32 << 20);

impl<W: Write> Frames<W> {
    /// One frame at this level.
    pub(super) fn at_level(level: i32, out: W) -> io::Result<Self> {
        let frame = begin(&[CParameter::CompressionLevel(level)], out)?;
        Ok(Self { frame: Some(frame), written: 0, settled: u64::MAX })
    }

    /// Frames about as small as those of level 1, each with the fastest setting for that.
    pub(super) fn fitting(out: W) -> io::Result<Self> {
        Ok(Self { settled: 0, ..Self::at_level(1, out)? })
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.settled == 0 && bytes.len() >= LEAST_SAMPLE {
            self.settle(&bytes[..bytes.len().min(SAMPLE)])?;
        }
        self.settled = self.settled.saturating_sub(bytes.len() as u64);
        self.written += bytes.len() as u64;
        self.frame.as_mut().ok_or_else(broken)?.write_all(bytes)
    }

    /// Begins a frame for text like this.
    fn settle(&mut self, sample: &[u8]) -> io::Result<()> {
        let setting = fastest(sample)?;
        let frame = self.frame.take().ok_or_else(broken)?;
        self.frame = Some(match self.written {
            0 => set(frame, setting)?,
            _ => begin(setting, frame.finish()?)?,
        });
        self.settled = self.written.clamp(SETTLED.0, SETTLED.1);
        Ok(())
    }

    /// Ends the last frame.
    pub(super) fn finish(self) -> io::Result<W> {
        self.frame.ok_or_else(broken)?.finish()
    }
}

fn broken() -> io::Error {
    io::Error::other("an earlier write to it failed")
}

fn begin<W: Write>(setting: &[CParameter], out: W) -> io::Result<zstd::Encoder<'static, W>> {
    let mut frame = set(zstd::Encoder::new(out, 1)?, setting)?;
    frame.include_checksum(true)?;
    Ok(frame)
}

fn set<'a, W: Write>(
    mut frame: zstd::Encoder<'a, W>,
    setting: &[CParameter],
) -> io::Result<zstd::Encoder<'a, W>> {
    setting.iter().try_for_each(|&parameter| frame.set_parameter(parameter))?;
    Ok(frame)
}

/// The fastest setting that makes at most 1.5 % more of the sample than the best one.
fn fastest(sample: &[u8]) -> io::Result<&'static [CParameter]> {
    let mut sizes = [0; SETTINGS.len()];
    for (size, setting) in sizes.iter_mut().zip(SETTINGS) {
        let mut frame = begin(setting, Vec::new())?;
        frame.write_all(sample)?;
        *size = frame.finish()?.len();
    }
    let enough = sizes.iter().min().map_or(0, |least| least + least * 3 / 200);
    let first = sizes.iter().position(|&size| size <= enough);
    Ok(first.map_or(SETTINGS[0], |index| SETTINGS[index]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(mut frames: Frames<Vec<u8>>, text: &[u8]) -> Vec<u8> {
        text.chunks(100_000).for_each(|piece| frames.write_all(piece).unwrap());
        frames.finish().unwrap()
    }

    fn fitted(text: &[u8]) -> Vec<u8> {
        packed(Frames::fitting(Vec::new()).unwrap(), text)
    }

    /// What is as large as level 1 makes it, in parts of 1.
    fn ratio(text: &[u8]) -> f64 {
        let packed = packed(Frames::at_level(1, Vec::new()).unwrap(), text);
        fitted(text).len() as f64 / packed.len() as f64
    }

    fn draws() -> impl FnMut() -> u64 {
        let mut seed = 1u64;
        move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        }
    }

    #[test]
    fn text_is_packed_as_well_as_by_level_1() {
        let mut draw = draws();
        let digits: Vec<u8> = (0..3_000_000).map(|_| b'0' + (draw() % 10) as u8).collect();
        assert_eq!(fastest(&digits[..100_000]).unwrap(), SETTINGS[0]);
        let counted = |from: u64, draw: &mut dyn FnMut() -> u64| {
            let lines = (from..from + 300_000).map(|id| format!("{id}\t{}\n", draw() % 1_000_000));
            lines.collect::<String>().into_bytes()
        };
        let (early, late) = (counted(1, &mut draw), counted(3_000_000, &mut draw));
        let words: Vec<u8> =
            (0..300_000).flat_map(|_| format!("word{} ", draw() % 5000 * 7919).into_bytes()).collect();
        assert_eq!(fastest(&words[..100_000]).unwrap(), SETTINGS[2]);
        for text in [&digits, &early, &late, &words] {
            assert!(ratio(text) < 1.02, "{}", ratio(text));
        }
        // What begins as one kind of text and goes on as another is packed as each of them alone.
        let digits = &digits[..900_000];
        let (mixed, apart) = ([digits, &late].concat(), fitted(digits).len() + fitted(&late).len());
        assert!((fitted(&mixed).len() as f64) < 1.03 * apart as f64);
    }

    proptest! {
        #[test]
        fn frames_are_one_text(sizes in prop::collection::vec(0usize..600_000, 0..12)) {
            let mut draw = draws();
            let text: Vec<u8> = (0..sizes.iter().sum::<usize>()).map(|_| (draw() % 64) as u8).collect();
            let mut frames = Frames::fitting(Vec::new()).unwrap();
            let mut rest = &text[..];
            for size in sizes {
                let (piece, after) = rest.split_at(size);
                frames.write_all(piece).unwrap();
                rest = after;
            }
            prop_assert_eq!(zstd::decode_all(&frames.finish().unwrap()[..]).unwrap(), text);
        }
    }
}
