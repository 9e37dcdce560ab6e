//! What several tests of this module need.

use fastrand::Rng;
use tempfile::TempDir;

/// What somebody measured in 2007, in GB and MB/s, on six disks of 15,000 rpm, when 22 MB/s were required.
pub(super) const FINDING_OF_2007: [(u64, &[f64]); 4] =
    [(100, &[35.0, 32.0]), (250, &[24.0]), (350, &[21.0]), (750, &[14.0])];

/// A value with normal noise, whose deviation is this share of it (the Box–Muller transform).
pub(super) fn noisy(value: f64, share: f64, random: &mut Rng) -> f64 {
    let (radius, angle) = ((-2.0 * (1.0 - random.f64()).ln()).sqrt(), std::f64::consts::TAU * random.f64());
    value * (1.0 + share * radius * angle.cos())
}

/// A directory beside the program that is tested: that lies on a disk, where the place for temporary files may lie in memory.
pub(super) fn on_disk() -> TempDir {
    let program = std::env::current_exe().unwrap();
    tempfile::tempdir_in(program.parent().unwrap()).unwrap()
}
