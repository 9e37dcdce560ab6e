//! A dump from a stranger: its manifest may hold anything, and the checksum of it is right.
#![no_main]

use drover_dump::manifest::{FILE_NAME, Manifest};
use libfuzzer_sys::fuzz_target;
use xxhash_rust::xxh3::xxh3_128;

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("t"), "").expect("the file that the seeds name");
    let second_line = bytes.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let (first, others) = bytes.split_at(second_line);
    let checksum = format!("  \"checksum\": \"{:032x}\",\n", xxh3_128(bytes));
    std::fs::write(dir.path().join(FILE_NAME), [first, checksum.as_bytes(), others].concat())
        .expect("a file");
    if let Ok(manifest) = Manifest::load(dir.path()) {
        let _ = (manifest.rows(), manifest.bytes(), manifest.stored_bytes());
    }
});
