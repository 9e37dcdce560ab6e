//! The beginning of a statement, as lists and messages show it: in one line, without passwords.

/// So much of a statement is shown in a list, in characters.
const IN_LISTS: usize = 100;
/// The same in an error.
const IN_ERRORS: usize = 200;

/// The beginning of a statement, for a list.
pub(crate) fn shortened(statement: &[u8]) -> String {
    shortened_to(statement, IN_LISTS)
}

/// The beginning of a statement that a server refused.
pub(crate) fn shortened_for_error(statement: &[u8]) -> String {
    shortened_to(statement, IN_ERRORS)
}

fn shortened_to(statement: &[u8], most: usize) -> String {
    let head = statement.get(..4 * most).unwrap_or(statement);
    let head = String::from_utf8_lossy(head);
    let mut words = head.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = words.char_indices().nth(most) {
        words.truncate(at);
        words.push('…');
    }
    without_password(words)
}

/// A statement up to where a password or the hash of one may stand.
fn without_password(mut statement: String) -> String {
    let lower = statement.to_ascii_lowercase();
    let ends = ["identified", "password"].map(|word| lower.find(word).map(|at| at + word.len()));
    if let Some(end) = ends.into_iter().flatten().min() {
        statement.truncate(end);
        statement.push_str(" …");
    }
    statement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (statement, shown) in [
            ("CREATE USER a IDENTIFIED WITH 'p' AS '*0D3CED'", "CREATE USER a IDENTIFIED …"),
            ("set Password for a = 'x'", "set Password …"),
            ("CREATE SERVER s OPTIONS (PASSWORD 'x')", "CREATE SERVER s OPTIONS (PASSWORD …"),
            ("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"),
        ] {
            assert_eq!(without_password(statement.into()), shown);
        }
    }
}
