//! The digest of a set of rows: the sum modulo 2^128 of the rows' XXH3-128 hashes, each taken over the row's line
//! without its newline. A sum does not depend on the order, so rows that come from several workers or in the order
//! of another index give the same digest; unlike XOR it does not lose a row that is there twice.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// The digest of any number of rows; the digest of no rows is 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest(u128);

impl Digest {
    /// The digest of one line, which is also the checksum of a whole file.
    pub fn of(line: &[u8]) -> Self {
        Self(xxh3_128(line))
    }

    /// Adds the row whose line this is.
    #[inline]
    pub fn add_line(&mut self, line: &[u8]) {
        self.add(Self::of(line));
    }

    /// Adds a row whose line was hashed in pieces.
    pub fn add_hashed(&mut self, line: &Xxh3) {
        self.0 = self.0.wrapping_add(line.digest128());
    }

    /// Adds the rows of another set.
    pub fn add(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| serde::de::Error::custom(format!("'{text}' is not a digest")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digest(lines: &[Vec<u8>]) -> Digest {
        let mut digest = Digest::default();
        lines.iter().for_each(|line| digest.add_line(line));
        digest
    }

    proptest! {
        #[test]
        fn the_order_does_not_matter_but_every_row_does(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..20)) {
            let whole = digest(&lines);
            let mut turned = lines.clone();
            turned.reverse();
            prop_assert_eq!(digest(&turned), whole);
            let twice: Vec<_> = lines.iter().chain(lines.last()).cloned().collect();
            prop_assert_ne!(digest(&twice), whole);
            let mut parts = digest(&lines[1..]);
            parts.add(digest(&lines[..1]));
            prop_assert_eq!(parts, whole);
            prop_assert_eq!(whole.to_string().parse::<Digest>().unwrap(), whole);
        }

        #[test]
        fn a_line_hashed_in_pieces_is_the_same(line in prop::collection::vec(any::<u8>(), 0..2000), cut in 0usize..2000) {
            let cut = cut.min(line.len());
            let mut hash = Xxh3::new();
            hash.update(&line[..cut]);
            hash.update(&line[cut..]);
            let mut pieces = Digest::default();
            pieces.add_hashed(&hash);
            prop_assert_eq!(pieces, digest(&[line]));
        }
    }
}
