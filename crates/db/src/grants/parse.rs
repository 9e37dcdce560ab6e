//! Reading the lines of SHOW GRANTS.

use super::{Grant, Privilege, Scope, Who};
use crate::sql::{Dialect, Kind, Token, tokens};

/// Reads `GRANT … ON … TO account` or `REVOKE … ON … FROM account`; `None` for roles and proxies, which the catalogue has
/// in tables, and for other statements.
pub fn parse(line: &[u8]) -> Option<(Who, Grant)> {
    let all: Vec<_> = tokens(line, Dialect::default()).filter(Token::is_code).collect();
    let (verb, rest) = all.split_first()?;
    let revoked = verb.is_word("REVOKE");
    if !revoked && !verb.is_word("GRANT") {
        return None;
    }
    let on = top_level(rest, "ON")?;
    let privileges = privileges(&rest[..on])?;
    if privileges.iter().any(|privilege| privilege.name == "PROXY") {
        return None;
    }
    let (scope, rest) = scope(&rest[on + 1..])?;
    let (word, rest) = rest.split_first()?;
    if !word.is_word(if revoked { "FROM" } else { "TO" }) {
        return None;
    }
    let (who, rest) = who(rest)?;
    // MariaDB puts IDENTIFIED, REQUIRE and limits between; none of these has the words in this order.
    let option = rest.windows(2).any(|pair| pair[0].is_word("GRANT") && pair[1].is_word("OPTION"));
    Some((who, Grant { on: scope, revoked, grant_option: option && !revoked, privileges }))
}

/// The place of a keyword outside of parentheses.
fn top_level(list: &[Token<'_>], word: &str) -> Option<usize> {
    let mut depth = 0;
    list.iter().position(|token| {
        depth += i32::from(token.is_symbol(b'(')) - i32::from(token.is_symbol(b')'));
        depth == 0 && token.is_word(word)
    })
}

/// `SELECT (`a`, `b`), CREATE VIEW`; a name in quotes is that of a role.
fn privileges(list: &[Token<'_>]) -> Option<Vec<Privilege>> {
    let (mut found, mut depth) = (vec![Privilege::new("")], 0);
    for token in list {
        let last = found.last_mut()?;
        match token.kind {
            Kind::Symbol if token.is_symbol(b'(') => depth += 1,
            Kind::Symbol if token.is_symbol(b')') => depth -= 1,
            Kind::Symbol if token.is_symbol(b',') && depth == 0 => found.push(Privilege::new("")),
            Kind::Symbol if token.is_symbol(b',') => {}
            Kind::Word | Kind::Quoted if depth > 0 => last.columns.push(name(token)?),
            Kind::Word => {
                let space = if last.name.is_empty() { "" } else { " " };
                last.name = format!("{}{space}{}", last.name, name(token)?.to_uppercase());
            }
            _ => return None,
        }
    }
    found
        .iter_mut()
        .filter(|privilege| privilege.name == "ALL")
        .for_each(|all| *all = Privilege::new("ALL PRIVILEGES"));
    Some(found)
}

fn scope<'t, 'a>(list: &'t [Token<'a>]) -> Option<(Scope, &'t [Token<'a>])> {
    let dot = list.iter().position(|token| token.is_symbol(b'.'))?;
    let (before, schema) = list.get(..dot)?.split_last().map(|(schema, before)| (before, schema))?;
    let (object, rest) = list.get(dot + 1..)?.split_first()?;
    let kind: Vec<_> =
        before.iter().map(|token| String::from_utf8_lossy(token.text).to_uppercase()).collect();
    let scope = match (schema.is_symbol(b'*'), object.is_symbol(b'*'), kind.join(" ").as_str()) {
        (true, true, "") => Scope::Global,
        (false, true, "") => Scope::Schema(name(schema)?),
        (false, false, "" | "TABLE") => Scope::Table(name(schema)?, name(object)?),
        (false, false, kind) => Scope::Routine(kind.into(), name(schema)?, name(object)?),
        _ => return None,
    };
    Some((scope, rest))
}

fn who<'t, 'a>(list: &'t [Token<'a>]) -> Option<(Who, &'t [Token<'a>])> {
    let (first, rest) = list.split_first()?;
    match rest {
        [at, host, rest @ ..] if at.is_symbol(b'@') => {
            Some((Who::new(&account_name(first)?, &account_name(host)?), rest))
        }
        rest => Some((Who::role(&account_name(first)?), rest)),
    }
}

/// In an account's name MySQL before 8.0, MariaDB before 10.3 and TiDB print strings: `'root'@'localhost'`.
fn account_name(token: &Token<'_>) -> Option<String> {
    match token.kind {
        Kind::String => String::from_utf8(Token { kind: Kind::Quoted, ..*token }.name()?).ok(),
        _ => name(token),
    }
}

fn name(token: &Token<'_>) -> Option<String> {
    String::from_utf8(token.name()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(line: &str) -> (Who, Grant) {
        parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}"))
    }

    #[test]
    fn lines_of_both_servers() {
        let (who, grant) = read(
            "GRANT SELECT (`id`, `odd ``ON`), CREATE VIEW ON `shop`.`orders` TO `a`@`%` IDENTIFIED BY PASSWORD '*0' \
             REQUIRE SSL WITH GRANT OPTION MAX_QUERIES_PER_HOUR 5",
        );
        assert_eq!((who, grant.grant_option), (Who::new("a", "%"), true));
        assert_eq!(grant.on, Scope::Table("shop".into(), "orders".into()));
        assert_eq!(grant.privileges[0].columns, ["id", "odd `ON"]);
        assert_eq!(grant.privileges[1], Privilege::new("CREATE VIEW"));
        assert_eq!(read("GRANT ALL PRIVILEGES ON *.* TO PUBLIC").0, Who::role("PUBLIC"));
        let (_, grant) = read("GRANT EXECUTE ON PACKAGE BODY `s`.`p` TO `r`");
        assert_eq!(grant.on, Scope::Routine("PACKAGE BODY".into(), "s".into(), "p".into()));
        assert!(read("REVOKE SELECT ON `a`.* FROM `u`@`h`").1.revoked);
        assert_eq!(read("GRANT SET_ANY_DEFINER,ROLE_ADMIN ON *.* TO `u`@`h`").1.privileges.len(), 2);
        let all = "GRANT ALL PRIVILEGES ON *.* TO 'ro''ot'@'localhost' IDENTIFIED BY PASSWORD '*0' WITH GRANT OPTION";
        let (who, grant) = read(all);
        assert_eq!(
            (who, grant.on, grant.grant_option),
            (Who::new("ro'ot", "localhost"), Scope::Global, true)
        );
        assert_eq!(read("GRANT SELECT ON `a`.* TO ''@'%'").0, Who::new("", "%"));
        for other in [
            "GRANT `r1`@`%`,`ON`@`%` TO `f`@`localhost`",
            "GRANT PROXY ON ``@`%` TO `c`@`localhost` WITH GRANT OPTION",
            "SET DEFAULT ROLE `r1` FOR `a`@`%`",
            "",
        ] {
            assert_eq!(parse(other.as_bytes()), None, "{other}");
        }
    }

    prop_compose! {
        fn some_grant()(
            kind in 0..4u8, names in prop::collection::vec("[a`'\\\\.*@ é%]{1,4}", 4), revoked: bool, grant_option: bool,
            columns in prop::collection::vec("[b` ,()]{1,3}", 0..3),
        ) -> Grant {
            let (schema, name) = (names[0].clone(), names[1].clone());
            let on = match kind {
                0 => Scope::Global,
                1 => Scope::Schema(schema),
                2 => Scope::Table(schema, name),
                _ => Scope::Routine("FUNCTION".into(), schema, name),
            };
            let columns = if matches!(on, Scope::Table(..)) { columns } else { Vec::new() };
            let privileges = vec![Privilege { name: "SELECT".into(), columns }, Privilege::new("CREATE VIEW")];
            Grant { on, revoked, grant_option: grant_option && !revoked, privileges }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(grant in some_grant(), name in ".{0,8}", host in "[a-z%_`.]{0,8}") {
            let who = Who::new(&name, &host);
            let text = grant.statement(&who);
            prop_assert_eq!(parse(text.as_bytes()), Some((who, grant)), "{}", text);
        }

        #[test]
        fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse(&text);
            let _ = parse(&[b"GRANT ", &text[..]].concat());
        }
    }
}
