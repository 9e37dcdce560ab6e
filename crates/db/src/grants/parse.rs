//! Reading the lines of SHOW GRANTS.

use super::{Grant, Privilege, Scope, Who};
use crate::sql::{Dialect, Kind, Token, tokens};

/// What a line of SHOW GRANTS says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Privileges, and who has them: the account, or a role of it.
    Grant(Who, Grant),
    /// Privileges on columns whose names are printed as they are: nothing tells where one ends. So print them MySQL before 8.0 and
    /// MariaDB before 10.3 (`mysql_show_grants` in `sql/sql_acl.cc`); the catalogue has them in tables.
    BareColumns,
    /// Roles, default roles and proxies, which the catalogue has in tables.
    Other,
}

impl Line {
    /// Reads a line of SHOW GRANTS for an account; `None` if it is not understood.
    pub fn read(line: &[u8], of: &Who) -> Option<Self> {
        if is_of_roles(line) {
            return Some(Self::Other);
        }
        if has_bare_columns(line) {
            return Some(Self::BareColumns);
        }
        let quoted = with_quoted_account(line, of);
        parse(quoted.as_deref().unwrap_or(line)).map(|(who, grant)| Self::Grant(who, grant))
    }
}

/// Reads `GRANT … ON … TO account` or `REVOKE … ON … FROM account` with names that are quoted; `None` for roles and proxies, and for other
/// statements.
pub fn parse(line: &[u8]) -> Option<(Who, Grant)> {
    let code = code(line);
    let (grant, account) = rights(line, &code)?;
    Some((who(account)?, grant))
}

/// The same, whoever has it: servers that print names of accounts as they are print those of schemas and tables quoted. Of privileges on
/// columns of bare names it has those on whole tables that are certain.
pub(super) fn parse_rights(line: &[u8]) -> Option<Grant> {
    if has_bare_columns(line) {
        let line = without_columns(line)?;
        return rights(&line, &code(&line)).map(|(grant, _)| grant);
    }
    rights(line, &code(line)).map(|(grant, _)| grant)
}

fn code(line: &[u8]) -> Vec<Token<'_>> {
    tokens(line, Dialect::default()).filter(Token::is_code).collect()
}

/// What is granted, and the tokens from the account on.
fn rights<'t, 'a>(line: &[u8], code: &'t [Token<'a>]) -> Option<(Grant, &'t [Token<'a>])> {
    let (verb, rest) = code.split_first()?;
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
    let (word, account) = rest.split_first()?;
    if !word.is_word(if revoked { "FROM" } else { "TO" }) {
        return None;
    }
    let grant_option = has_grant_option(line) && !revoked;
    Some((Grant { on: scope, revoked, grant_option, privileges }, account))
}

/// A membership has no ON, and begins with the role's name, which MariaDB before 10.5 does not quote.
fn is_of_roles(line: &[u8]) -> bool {
    let begins = |text: &str| line.starts_with(text.as_bytes());
    let is_membership = ["GRANT `", "GRANT '"].into_iter().any(begins);
    let is_bare = begins("GRANT ") && find(line, b" ON ").is_none() && find(line, b" TO ").is_some();
    is_membership || is_bare || begins("GRANT PROXY ON ") || begins("SET DEFAULT ROLE ")
}

/// Whether columns are named in a line that ends with an account in apostrophes: the servers of then quote neither.
pub(super) fn has_bare_columns(line: &[u8]) -> bool {
    let head = find(line, b" ON ").map_or(line, |at| &line[..at]);
    head.contains(&b'(') && without_option(line).ends_with(b"'")
}

/// A line of bare columns without them: privileges before the first and behind the last, for a name may hold what stands between.
fn without_columns(line: &[u8]) -> Option<Vec<u8>> {
    let end = rfind(line, b"` TO '")?;
    let on = rfind(&line[..end], b" ON `")?;
    let (open, close) = (find(line, b"(")?, line[..on].iter().rposition(|&byte| byte == b')')?);
    let before = line.get(..open)?.strip_prefix(b"GRANT ")?;
    // The last one before is that of the columns.
    let before = rfind(before, b", ").map_or(&b""[..], |at| &before[..at]);
    let behind = line.get(close + 1..on)?;
    let behind = behind.strip_prefix(b", ").unwrap_or(behind);
    let between: &[u8] = if before.is_empty() || behind.is_empty() { b"" } else { b", " };
    let privileges = [before, between, behind].concat();
    (!privileges.is_empty()).then(|| [b"GRANT ", &privileges[..], &line[on..]].concat())
}

/// The line with the account quoted, where the server printed its name as it is, in apostrophes: one in it would end it early.
fn with_quoted_account(line: &[u8], of: &Who) -> Option<Vec<u8>> {
    const GLOBAL: &[u8] = b" ON *.* TO ";
    let bare = match &of.host {
        Some(host) => format!("'{}'@'{host}'", of.name),
        None => format!("'{}'", of.name),
    };
    let option: &[u8] = if has_grant_option(line) { b" WITH GRANT OPTION" } else { b"" };
    let on = find(line, b" ON ")?;
    let before = if line[on..].starts_with(GLOBAL) {
        // Behind the account may stand IDENTIFIED, REQUIRE and limits.
        let (before, rest) = line.split_at(on + GLOBAL.len());
        rest.starts_with(bare.as_bytes()).then_some(before)?
    } else {
        without_option(line).strip_suffix(bare.as_bytes()).filter(|before| before.ends_with(b" TO "))?
    };
    Some([before, of.to_string().as_bytes(), option].concat())
}

/// The option stands at the end, before limits; what is in quotes ends with one.
fn has_grant_option(line: &[u8]) -> bool {
    let mut rest = line;
    while let Some(at) = rfind(rest, b" MAX_") {
        let is_limit = |byte: &u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b' ');
        if !rest[at..].iter().all(is_limit) {
            break;
        }
        rest = &rest[..at];
    }
    without_option(rest).len() < rest.len()
}

fn without_option(line: &[u8]) -> &[u8] {
    line.strip_suffix(b" WITH GRANT OPTION").unwrap_or(line)
}

fn find(line: &[u8], text: &[u8]) -> Option<usize> {
    line.windows(text.len()).position(|window| window == text)
}

fn rfind(line: &[u8], text: &[u8]) -> Option<usize> {
    line.windows(text.len()).rposition(|window| window == text)
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

/// Behind an account come IDENTIFIED, REQUIRE and limits, or nothing; else its name was cut short by a quote in it.
fn who(list: &[Token<'_>]) -> Option<Who> {
    let (first, rest) = list.split_first()?;
    let (who, rest) = match rest {
        [at, host, rest @ ..] if at.is_symbol(b'@') => {
            (Who::new(&account_name(first)?, &account_name(host)?), rest)
        }
        rest => (Who::role(&account_name(first)?), rest),
    };
    let is_whole = rest
        .first()
        .is_none_or(|next| ["IDENTIFIED", "REQUIRE", "WITH"].into_iter().any(|word| next.is_word(word)));
    is_whole.then_some(who)
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

    /// As MySQL 5.5 to 5.7 and MariaDB 10.1 and 10.2 print them.
    #[test]
    fn lines_of_servers_that_quote_no_names_of_accounts_and_columns() {
        let who = Who::new("o' TO 'x`\\", "%");
        let read = |line: &str| Line::read(line.as_bytes(), &who);
        let granted = |on, name: &str, grant_option| {
            let privileges = vec![Privilege::new(name)];
            Some(Line::Grant(who.clone(), Grant { on, revoked: false, grant_option, privileges }))
        };
        let account = r"'o' TO 'x`\'@'%'";
        let of = |rest: &str| rest.replace('~', account);
        assert_eq!(
            read(&of(
                "GRANT PROCESS ON *.* TO ~ IDENTIFIED BY PASSWORD '*0' REQUIRE SUBJECT '/CN=it's' WITH GRANT OPTION MAX_QUERIES_PER_HOUR 5"
            )),
            granted(Scope::Global, "PROCESS", true)
        );
        assert_eq!(
            read(&of("GRANT USAGE ON *.* TO ~ REQUIRE SUBJECT ' WITH GRANT OPTION MAX_'")),
            granted(Scope::Global, "USAGE", false)
        );
        let schema = "GRANT ALL PRIVILEGES ON `a(b``c`.* TO ~";
        assert_eq!(read(&of(schema)), granted(Scope::Schema("a(b`c".into()), "ALL PRIVILEGES", false));
        assert_eq!(
            read(&of("GRANT SELECT ON `s'`.`t ON` TO ~ WITH GRANT OPTION")),
            granted(Scope::Table("s'".into(), "t ON".into()), "SELECT", true)
        );
        for columns in ["SELECT (c'd)", "INSERT, INSERT (a, b), DELETE", "UPDATE (a ON `x`.`y` TO 'z')"] {
            assert_eq!(read(&of(&format!("GRANT {columns} ON `s`.`t` TO ~"))), Some(Line::BareColumns));
        }
        for other in ["GRANT PROXY ON 'a'b'@'%' TO ~", "GRANT ro'le TO ~", "SET DEFAULT ROLE `r` FOR `a`@`%`"]
        {
            assert_eq!(read(&of(other)), Some(Line::Other), "{other}");
        }
        for unclear in ["", "GRANT SELECT ON `a`.* TO 'else'o'@'%'", "GRANT SELECT", "REVOKE"] {
            assert_eq!(read(&of(unclear)), None, "{unclear}");
        }
    }

    #[test]
    fn what_is_certain_beside_bare_columns() {
        let names = |line: &str| {
            let grant = parse_rights(line.as_bytes());
            grant.map(|grant| grant.privileges.into_iter().map(|one| one.name).collect::<Vec<_>>().join(","))
        };
        let of = |privileges: &str| {
            names(&format!("GRANT {privileges} ON `s`.`t` TO 'a'b'@'%' WITH GRANT OPTION"))
        };
        assert_eq!(
            of("SELECT, INSERT, INSERT (c'd), DELETE, TRIGGER").as_deref(),
            Some("SELECT,INSERT,DELETE,TRIGGER")
        );
        assert_eq!(of("SELECT (x), TRIGGER, SELECT (y), DELETE").as_deref(), Some("DELETE"));
        assert_eq!(of("SELECT (a ON `b)"), None);
        assert_eq!(names("GRANT SELECT ON `s`.* TO 'o'neil'@'%'").as_deref(), Some("SELECT"));
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
