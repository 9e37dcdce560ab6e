//! File names made from schema and table names. ASCII letters, digits, `_`, `-`, `$` and everything beyond ASCII stand for
//! themselves; any other byte is written `%XX`. A name of 64 characters becomes at most 192 bytes.

use std::fmt::Write as _;
use std::path::{Component, Path};

/// The manifest's.
pub const MANIFEST: &str = "manifest.json";

/// The file name, without extension, for a name in the server.
pub fn file_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$') || !c.is_ascii() {
            out.push(c);
        } else {
            let _ = write!(out, "%{:02X}", c as u32); // writing to a String cannot fail
        }
    }
    out
}

/// The path of a file, without extension, for a name in a schema.
pub fn path(schema: &str, name: &str) -> String {
    format!("{}/{}", file_name(schema), file_name(name))
}

/// Whether a file that a manifest or journal names lies in the dump: these may come from a stranger.
pub fn is_inside(file: &str) -> bool {
    Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) && !file.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn names_that_would_leave_the_directory_or_clash() {
        assert_eq!(file_name("orders"), "orders");
        assert_eq!(file_name("../a b.c"), "%2E%2E%2Fa%20b%2Ec");
        assert_eq!(file_name("größe"), "größe");
    }

    proptest! {
        #[test]
        fn different_names_stay_different(names in prop::collection::hash_set("[a-c%./ é2E]{1,6}", 1..30)) {
            let files: HashSet<_> = names.iter().map(|name| file_name(name)).collect();
            prop_assert_eq!(files.len(), names.len());
        }
    }
}
