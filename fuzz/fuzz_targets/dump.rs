//! A dump from a stranger: its manifest may hold anything.
#![no_main]

use drover_dump::manifest::{FILE_NAME, Manifest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join(FILE_NAME), bytes).expect("a file");
    let _ = Manifest::load(dir.path());
});
