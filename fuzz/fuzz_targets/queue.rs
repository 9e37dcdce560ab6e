//! What the queue reads of workers, services, people and its own tables. The first byte says which, so that seeds can be written by
//! hand; texts of several parts have a byte 0 between.
#![no_main]

use drover_queue::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((what, bytes)) = input.split_first() else { return };
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let mut parts = text.split('\0');
    let mut part = || parts.next().unwrap_or_default();
    match what {
        b'a' => fuzz::answer(bytes),
        b'l' => fuzz::line(part(), Some(part()).filter(|text| !text.is_empty()), part()),
        b'r' => fuzz::records(bytes),
        b's' => fuzz::shards(text),
        b't' => fuzz::times(text),
        b'p' => {
            let Some((numbers, beyond)) = bytes.split_first_chunk::<8>() else { return };
            let [a, b, c, d, e, f, g, h] = *numbers;
            fuzz::progress(u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]), beyond);
        }
        b'h' => fuzz::histograms(part(), part()),
        _ => {}
    }
});
