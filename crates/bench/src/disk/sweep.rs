//! Over how much data requests are spread.

use drover_units::{read, show};

/// Sizes in bytes, in ascending order, each once; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep(Vec<u64>);

impl Sweep {
    /// More sizes than these would take hours, and say no more.
    const MOST: usize = 64;

    /// Reads `4G`, `1G,2G,4G`, or `1G..32G`, which is the first, its doubles below the last, and the last.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sizes = match text.split_once("..") {
            Some((low, high)) => doubles(read::bytes(low)?, read::bytes(high)?)?,
            None => text.split(',').map(read::bytes).collect::<Result<Vec<_>, _>>()?,
        };
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.contains(&0) {
            return Err("a size of 0 holds no data".to_owned());
        }
        if sizes.len() > Self::MOST {
            return Err(format!("these are {} sizes: give at most {}", sizes.len(), Self::MOST));
        }
        Ok(Self(sizes))
    }

    /// The sizes.
    pub fn sizes(&self) -> &[u64] {
        &self.0
    }

    /// The largest size.
    pub fn largest(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }
}

fn doubles(low: u64, high: u64) -> Result<Vec<u64>, String> {
    if low == 0 || low > high {
        return Err("write the smaller size first, such as 1G..32G".to_owned());
    }
    let below = std::iter::successors(Some(low), |size| size.checked_mul(2)).take_while(|size| *size < high);
    Ok(below.chain([high]).collect())
}

/// A size as it was asked for, in powers of 1024 where it is a whole number of these: `1 GiB`, `100 MB`.
pub fn size_name(bytes: u64) -> String {
    let whole = |unit: u32| bytes > 0 && bytes.is_multiple_of(1 << unit);
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(unit, _)| whole(*unit)) {
        Some((unit, name)) => format!("{} {name}", show::count(bytes >> unit)),
        None => show::bytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Vec<u64> {
        Sweep::parse(text).unwrap().0
    }

    #[test]
    fn sweeps() {
        let gib = |numbers: &[u64]| numbers.iter().map(|number| number << 30).collect::<Vec<_>>();
        assert_eq!(sizes("1G..32G"), gib(&[1, 2, 4, 8, 16, 32]));
        assert_eq!(sizes("1G..5G"), gib(&[1, 2, 4, 5]));
        assert_eq!(sizes("4G,1G,4G,2G"), gib(&[1, 2, 4]));
        assert_eq!(sizes("4G"), gib(&[4]));
        assert_eq!(sizes("4G..4G"), gib(&[4]));
        assert_eq!(Sweep::parse("1G..32G").unwrap().largest(), 32 << 30);
        for text in ["", "0", "4G..1G", "0..1G", "1G,", "1G..", "1G..2G..4G", "big"] {
            assert!(Sweep::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_named_as_they_were_asked_for() {
        let names = [1 << 30, 3 << 29, 64 << 20, 16 << 10, 100_000_000, 900 << 40, 0].map(size_name);
        assert_eq!(names, ["1 GiB", "1,536 MiB", "64 MiB", "16 KiB", "100 MB", "900 TiB", "0 B"]);
    }
}
