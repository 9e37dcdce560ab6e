//! Names of files: made of what the log says, of which nothing is believed.

/// What a file's name begins with: the log, the position and the table. Whatever bytes they have, it is one name, of letters that
/// every file system takes.
pub(super) fn stem(log: &str, position: u64, number: u32, schema: &[u8], table: &[u8]) -> String {
    let log = log.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut stem = format!("{}-{position}", safe(log.as_bytes()));
    if number > 1 {
        stem.push_str(&format!("-{number}"));
    }
    let names: Vec<_> = [schema, table].into_iter().filter(|name| !name.is_empty()).map(safe).collect();
    if !names.is_empty() {
        stem.push('-');
        stem.push_str(&names.join("."));
    }
    stem
}

/// The same without what could be more than a letter of a name; at most so many bytes.
fn safe(name: &[u8]) -> String {
    const MOST: usize = 64;
    let letter = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => char::from(byte),
        _ => '_',
    };
    let name: String = name.iter().take(MOST).map(letter).collect();
    // A file that begins with a dot is hidden, and `..` is none.
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_tell_where_a_file_comes_from() {
        assert_eq!(
            stem("/var/lib/mysql/binlog.000017", 1234, 1, b"shop", b"orders"),
            "binlog.000017-1234-shop.orders"
        );
        assert_eq!(stem("binlog.000017", 4, 2, b"", b"orders"), "binlog.000017-4-2-orders");
        assert_eq!(stem("standard input", 4, 1, b"", b""), "standard_input-4");
        assert_eq!(stem("..", 4, 1, b"../../etc", b"/passwd"), "_.-4-_._.._etc._passwd");
    }

    proptest! {
        #[test]
        fn no_name_is_a_path(log: String, schema in prop::collection::vec(any::<u8>(), 0..90), table in prop::collection::vec(any::<u8>(), 0..90)) {
            let stem = stem(&log, u64::MAX, u32::MAX, &schema, &table);
            prop_assert!(stem.len() < 240 && !stem.starts_with('.'));
            prop_assert!(stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)));
        }
    }
}
