//! Passwords in statements of the logs. Servers log what they keep of one, not the password: MariaDB and MySQL before 5.7.6 take that in SET
//! PASSWORD, later MySQL would take it for the password itself.

use drover_db::Vendor;
use drover_db::sql::Dialect;
use drover_db::sql::phrase::Phrase;

use super::keeper::Keeper;

/// SET PASSWORD FOR an account as a statement by which the target keeps the same; `None` if it takes this one, or it is another statement.
pub(super) fn as_logged(text: &[u8], dialect: Dialect, target: Keeper) -> Option<Vec<u8>> {
    if target.vendor != Vendor::MySql || target.version < (5, 7, 6) {
        return None;
    }
    let phrase = Phrase::in_comments(text, dialect);
    let found = phrase.find(&["SET", "PASSWORD", "FOR"]).filter(|found| found.start == phrase.code(0))?;
    let top = phrase.top();
    let &equals = top.iter().find(|&&at| phrase.token(at).is_symbol(b'='))?;
    let value = phrase.token(phrase.code(equals + 1)).within_quotes()?.to_vec();
    let plugin = plugin(&value)?;
    let account = phrase.part(phrase.code(found.end)..equals);
    let value = String::from_utf8(value).ok()?;
    Some(format!("ALTER USER {} IDENTIFIED WITH {plugin} AS '{value}'", account.trim_end()).into_bytes())
}

/// The plugin whose hash this is. MariaDB's other plugins mark theirs with nothing; the one in use is ed25519.
fn plugin(value: &[u8]) -> Option<&'static str> {
    match value {
        [] => None,
        [b'*', digits @ ..] if digits.len() == 40 && digits.iter().all(u8::is_ascii_hexdigit) => {
            Some("mysql_native_password")
        }
        _ if value.len() == 16 && value.iter().all(u8::is_ascii_hexdigit) => Some("mysql_old_password"),
        _ => Some("ed25519"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_password_is_no_password() {
        const HASH: &str = "*B2BE78D47DE8B0FFB2E0EAB0EBE6E0E5E2E6D3C1";
        let on = |vendor, version, text: &str| {
            let text = as_logged(text.as_bytes(), Dialect::default(), Keeper { vendor, version });
            text.map(|text| String::from_utf8(text).unwrap())
        };
        let set = format!("SET PASSWORD FOR 'a='@'localhost'='{HASH}'");
        let alter = format!("ALTER USER 'a='@'localhost' IDENTIFIED WITH mysql_native_password AS '{HASH}'");
        assert_eq!(on(Vendor::MySql, (9, 7, 0), &set), Some(alter));
        assert_eq!(on(Vendor::MySql, (5, 6, 14), &set), None);
        assert_eq!(on(Vendor::MariaDb, (11, 8, 2), &set), None);
        let other = on(Vendor::MySql, (8, 0, 33), "SET PASSWORD FOR `r`@`%` = 'abc'").unwrap();
        assert!(other.contains("IDENTIFIED WITH ed25519 AS 'abc'"), "{other}");
        for same in ["SET @a = 'PASSWORD FOR'", "SET PASSWORD FOR a@b = ''", "UPDATE t SET password = 'x'"] {
            assert_eq!(on(Vendor::MySql, (9, 7, 0), same), None, "{same}");
        }
    }
}
