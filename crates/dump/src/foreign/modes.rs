//! Modes in a script's SET sql_mode that its server had and the target has no more.

use drover_db::sql::{Dialect, tokens_in_comments};
use drover_db::{Connection, er};

/// Those without which a statement means the same: MySQL has no GRANT that makes accounts from 8.0 on, and the others change what SHOW prints.
const GONE: [&str; 5] = [
    "NO_AUTO_CREATE_USER",
    "NO_FIELD_OPTIONS",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "IGNORE_BAD_TABLE_OPTIONS",
];

/// Runs a SET of the session's, without these modes where the target refuses one; what it has run then, if it is not `text`.
///
/// # Errors
/// What the server said.
pub(super) fn set(
    connection: &mut Connection,
    text: &[u8],
    dialect: Dialect,
) -> drover_db::Result<Option<Vec<u8>>> {
    match connection.execute(text) {
        Err(error) if error.code() == Some(er::WRONG_VALUE_FOR_VAR) => {
            let Some(other) = without_gone(text, dialect) else { return Err(error) };
            connection.execute(&other).map(|_| Some(other))
        }
        other => other.map(|_| None),
    }
}

/// The statement without these modes; `None` if it names none of them.
fn without_gone(text: &[u8], dialect: Dialect) -> Option<Vec<u8>> {
    let (mut out, mut found, mut names_mode) = (Vec::with_capacity(text.len()), false, false);
    for token in tokens_in_comments(text, dialect) {
        names_mode |= token.text.to_ascii_lowercase().ends_with(b"sql_mode");
        let modes = token.within_quotes().and_then(|modes| std::str::from_utf8(modes).ok());
        let is_gone = |mode: &&str| GONE.iter().any(|gone| gone.eq_ignore_ascii_case(mode));
        match modes.filter(|modes| names_mode && modes.split(',').any(|mode| is_gone(&mode))) {
            Some(modes) => {
                let kept: Vec<_> = modes.split(',').filter(|mode| !is_gone(mode)).collect();
                out.extend_from_slice(format!("'{}'", kept.join(",")).as_bytes());
                found = true;
            }
            None => out.extend_from_slice(token.text),
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_are_gone_are_left_out() {
        let without = |text: &str| {
            let text = without_gone(text.as_bytes(), Dialect::default());
            text.map(|text| String::from_utf8(text).unwrap())
        };
        for (text, right) in [
            (
                "/*!50003 SET sql_mode              = 'ONLY_FULL_GROUP_BY,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION' */",
                "/*!50003 SET sql_mode              = 'ONLY_FULL_GROUP_BY,NO_ENGINE_SUBSTITUTION' */",
            ),
            ("SET @@session.sql_mode='no_auto_create_user'", "SET @@session.sql_mode=''"),
        ] {
            assert_eq!(without(text).as_deref(), Some(right));
        }
        for same in ["SET sql_mode = 'ORACLE'", "SET @a = 'NO_AUTO_CREATE_USER'", "SET sql_mode = @old"] {
            assert_eq!(without(same), None, "{same}");
        }
    }
}
