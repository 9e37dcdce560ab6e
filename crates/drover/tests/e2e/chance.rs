//! What storms leave to chance. `DROVER_STORM_ROUNDS` says how many rounds a storm has, `DROVER_STORM_SEED` which.

use std::time::Duration;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// How many rounds a storm has.
pub(crate) fn rounds(usual: u64) -> u64 {
    setting("DROVER_STORM_ROUNDS").unwrap_or(usual)
}

/// Numbers that nobody chose: xorshift.
pub(crate) struct Chance(u64);

impl Chance {
    /// The same numbers each time, unless the environment says another seed; `which` tells storms apart.
    pub(crate) fn new(which: u64) -> Self {
        let seed = setting("DROVER_STORM_SEED").unwrap_or(20_261_128) + which;
        Self(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    pub(crate) fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    pub(crate) fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below((to - from) as usize) as u64)
    }
}
