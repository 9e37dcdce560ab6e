//! Scripts of other tools: each statement is a piece of the script, in its order and on the line that is told. Rows that are taken for
//! constants call no function and read no table.
#![no_main]

use drover_db::sql::{Dialect, LeadBytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, bool, bool, u8, &[u8])| {
    let (by_line, ansi_quotes, no_backslash_escapes, lead, text) = input;
    let lead_bytes =
        [LeadBytes::None, LeadBytes::Gbk, LeadBytes::Sjis, LeadBytes::Big5][usize::from(lead % 4)];
    let dialect = Dialect { ansi_quotes, no_backslash_escapes, lead_bytes };
    assert!(drover_dump::plain_rows_are_plain(text, dialect));
    let mut rest = text;
    let mut before = 1;
    for (line, statement) in drover_dump::statements(text, by_line, dialect) {
        assert!(!statement.is_empty() && line >= before);
        let at = rest.windows(statement.len()).position(|window| window == statement);
        rest = &rest[at.expect("a piece of the text") + statement.len()..];
        before = line;
    }
});
