//! How names and values are written into SQL.

/// A name in backticks, whatever it contains.
pub fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A schema and a name in it, both in backticks.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// A string literal. It holds under every sql_mode but NO_BACKSLASH_ESCAPES, which drover's sessions never have.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            _ => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// A hexadecimal literal, `X''` for no bytes.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() * 2 + 3);
    out.push_str("X'");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}"); // writing to a String cannot fail
    }
    out.push('\'');
    out
}

/// The names in backticks, with commas between.
pub fn identifiers<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(identifier).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_with_quotes() {
        assert_eq!(qualified("a`b", "c.d"), "`a``b`.`c.d`");
        assert_eq!(string("it's \\ a\0"), r"'it''s \\ a\0'");
        assert_eq!(hex(b"\x00A\xff"), "X'0041ff'");
        assert_eq!(identifiers(["a", "b"]), "`a`, `b`");
    }
}
