//! SQL text: whatever it holds, its tokens put together are the text.
#![no_main]

use drover_db::sql::{Dialect, LeadBytes, tokens};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, bool, u8, &[u8])| {
    let (ansi_quotes, no_backslash_escapes, lead, text) = input;
    let lead_bytes =
        [LeadBytes::None, LeadBytes::Gbk, LeadBytes::Sjis, LeadBytes::Big5][usize::from(lead % 4)];
    let dialect = Dialect { ansi_quotes, no_backslash_escapes, lead_bytes };
    let mut together = Vec::new();
    for token in tokens(text, dialect) {
        let _ = token.name();
        together.extend_from_slice(token.text);
    }
    assert_eq!(together, text);
});
