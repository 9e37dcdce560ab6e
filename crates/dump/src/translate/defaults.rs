//! Character sets that are named without a collation. They stand for the default one of the server that printed them; where
//! the target takes another one for them, it is written behind.

use drover_db::sql::{Dialect, Kind};
use drover_db::{Server, Vendor};

use super::phrase::Phrase;
use super::target::Target;
use super::{Notes, Why, words};

/// The character sets whose default collation is not the same on all servers.
pub(super) const SETS: [&str; 5] = ["utf8mb4", "utf8mb3", "ucs2", "utf16", "utf32"];

/// What a server takes for such a character set. Sources: MySQL's manual, "What Is New in MySQL 8.0", for utf8mb4; MariaDB's
/// documentation, `character_set_collations`, whose default names these sets from 11.5 on.
pub(crate) fn of_server(server: &Server, set: &str) -> Option<String> {
    let set = full_name(set);
    let (major, minor, patch) = server.numbers();
    let rest = match server.vendor {
        _ if !SETS.contains(&set.as_str()) => return None,
        Vendor::MySql if set == "utf8mb4" && (major, minor, patch) >= (8, 0, 1) => "0900_ai_ci",
        Vendor::MariaDb if (major, minor) >= (11, 5) => "uca1400_ai_ci",
        _ => "general_ci",
    };
    Some(format!("{set}_{rest}"))
}

/// The set's name in small letters; older servers call utf8mb3 utf8, in the names of its collations too.
pub(crate) fn full_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("utf8").filter(|rest| rest.is_empty() || rest.starts_with('_')) {
        Some(rest) => format!("utf8mb3{rest}"),
        None => name,
    }
}

/// A definition of a table or schema in which each of these character sets has its collation: such a script means the same on all servers.
pub(crate) fn in_full(create: &[u8], server: &Server) -> Vec<u8> {
    let mut phrase = Phrase::of(&words::open_comments(create, server), Dialect::default());
    let anywhere = |_: &str| Some(String::new());
    let before = phrase.clone();
    name_all(&mut phrase, server, anywhere, false, &mut Notes::new(""));
    // What needs nothing stays as the server printed it.
    if phrase == before { create.to_vec() } else { phrase.to_text() }
}

/// Names the old server's default collation where only a character set is named. The text of a program is its own: what it
/// converts is told, and not changed, since expressions give results their names.
pub(super) fn name_them(
    phrase: &mut Phrase,
    old: &Server,
    target: &Target,
    is_program: bool,
    notes: &mut Notes,
) {
    name_all(phrase, old, |set| target.default_collations.get(set).cloned(), is_program, notes);
}

fn name_all(
    phrase: &mut Phrase,
    old: &Server,
    default_of: impl Fn(&str) -> Option<String>,
    is_program: bool,
    notes: &mut Notes,
) {
    for at in (0..phrase.len()).rev() {
        let Some((name, is_using)) = named_set(phrase, at) else { continue };
        let set = String::from_utf8_lossy(&unquoted(phrase, name)).to_ascii_lowercase();
        let Some(collation) = of_server(old, &set) else { continue };
        let Some(theirs) = default_of(&full_name(&set)) else { continue };
        if full_name(&theirs) == collation {
            continue;
        }
        match call_around(phrase, at) {
            Some(call) if is_program => {
                let from = phrase.part(call..phrase.closed(phrase.code(call + 1)));
                let reason =
                    format!("it is the target's default; the program may say COLLATE {collation} behind it");
                notes.add(
                    &format!("{from} in {collation}"),
                    &format!("{from} in {theirs}"),
                    Why::lost(&reason),
                );
            }
            Some(call) => {
                let end = phrase.closed(phrase.code(call + 1));
                let with = format!("({} collate {collation})", phrase.part(call..end));
                if !phrase.token(phrase.code(end)).is_word("COLLATE") {
                    phrase.replace(call..end, with.as_bytes());
                }
            }
            None if is_using || has_collation(phrase, name + 1) => {}
            None => phrase.replace(name + 1..name + 1, behind(phrase, at, name, &collation).as_bytes()),
        }
    }
}

fn unquoted(phrase: &Phrase, at: usize) -> Vec<u8> {
    let token = phrase.token(at);
    token
        .name()
        .unwrap_or_else(|| token.text.trim_ascii().to_vec())
        .iter()
        .filter(|b| **b != b'\'')
        .copied()
        .collect()
}

/// With an equals sign where the character set has one, as servers print options.
fn behind(phrase: &Phrase, at: usize, name: usize, collation: &str) -> String {
    let has_equals = (at..name).any(|at| phrase.token(at).is_symbol(b'='));
    if has_equals { format!(" COLLATE={collation}") } else { format!(" COLLATE {collation}") }
}

/// Where the name of the character set stands that is announced at `at`, and whether a conversion announces it.
fn named_set(phrase: &Phrase, at: usize) -> Option<(usize, bool)> {
    let token = phrase.token(at);
    let before = phrase.before(at);
    let is_before = |word: &str| before.is_some_and(|at| phrase.token(at).is_word(word));
    let next = phrase.code(at + 1);
    let mut name = match () {
        () if token.is_word("USING") => return call_around(phrase, at).map(|_| (next, true)),
        // SET CHARACTER SET is a statement of its own.
        () if is_before("SET") => return None,
        () if token.is_word("CHARSET") => next,
        () if (token.is_word("CHARACTER") || token.is_word("CHAR")) && phrase.token(next).is_word("SET") => {
            phrase.code(next + 1)
        }
        () => return None,
    };
    let is_file =
        before.and_then(|at| phrase.before(at)).is_some_and(|at| phrase.token(at).is_word("OUTFILE"));
    if is_file {
        return None;
    }
    if phrase.token(name).is_symbol(b'=') {
        name = phrase.code(name + 1);
    }
    matches!(phrase.token(name).kind, Kind::Word | Kind::Quoted | Kind::String).then_some((name, false))
}

/// The function that the place is in an argument of, if it is one that gives texts a character set.
fn call_around(phrase: &Phrase, at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for open in (0..at).rev() {
        match phrase.token(open) {
            token if token.is_symbol(b')') => depth += 1,
            token if token.is_symbol(b'(') && depth > 0 => depth -= 1,
            token if token.is_symbol(b'(') => {
                let word = phrase.before(open)?;
                let is_it = ["CAST", "CONVERT", "CHAR", "JSON_VALUE"]
                    .iter()
                    .any(|name| phrase.token(word).is_word(name));
                return is_it.then_some(word);
            }
            _ => {}
        }
    }
    None
}

/// Whether a collation is named behind the character set, or follows from BINARY.
fn has_collation(phrase: &Phrase, from: usize) -> bool {
    let mut depth = 0usize;
    if phrase.token(phrase.code(from)).is_word("BINARY") {
        return true;
    }
    for at in from..phrase.len() {
        match phrase.token(at) {
            token if token.is_symbol(b'(') => depth += 1,
            token if token.is_symbol(b')') && depth == 0 => return false,
            token if token.is_symbol(b')') => depth -= 1,
            token if depth == 0 && (token.is_symbol(b',') || token.is_symbol(b';')) => return false,
            token if depth == 0 && (token.is_word("BEGIN") || token.is_word("RETURN")) => return false,
            token if depth == 0 && token.is_word("COLLATE") => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(vendor: Vendor, version: &str) -> Server {
        Server { vendor, version: version.into(), comment: String::new() }
    }

    fn to(text: &str, old: &Server, vendor: Vendor, is_program: bool) -> (String, usize) {
        let target = Target::of(vendor);
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        name_them(&mut phrase, old, &target, is_program, &mut notes);
        (String::from_utf8(phrase.to_text()).unwrap(), notes.rewrites.len())
    }

    fn of_5_7(text: &str) -> String {
        to(text, &server(Vendor::MySql, "5.7.44"), Vendor::MySql, false).0
    }

    #[test]
    fn a_character_set_alone_means_the_old_servers_default() {
        assert_eq!(
            of_5_7(") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='CHARSET=utf8mb4'"),
            ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='CHARSET=utf8mb4'"
        );
        assert_eq!(
            of_5_7("`v` varchar(9) CHARACTER SET utf8mb4 DEFAULT NULL"),
            "`v` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL"
        );
        for same in [
            ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci",
            ") DEFAULT CHARSET=latin1",
            ") DEFAULT CHARSET=utf8",
            "`v` varchar(9) COLLATE utf8mb4_bin",
            "SET CHARACTER SET utf8mb4",
            "SELECT 1 INTO OUTFILE 'f' CHARACTER SET utf8mb4",
            "f(a VARCHAR(3) CHARACTER SET utf8mb4 BINARY)",
            "`v` varchar(9) CHARACTER SET utf8mb4 NOT NULL COLLATE utf8mb4_bin",
        ] {
            assert_eq!(of_5_7(same), same);
        }
    }

    #[test]
    fn scripts_that_are_run_by_hand_say_it_all() {
        let full = |text: &str| {
            String::from_utf8(in_full(text.as_bytes(), &server(Vendor::MySql, "5.7.44"))).unwrap()
        };
        assert_eq!(
            full("CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 */"),
            "CREATE DATABASE `s` DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        );
        let table = "CREATE TABLE `t` (\n  `a` int /*!50606 STORAGE DISK */\n) DEFAULT CHARSET=latin1";
        assert_eq!(full(table), table);
        let table = table.replace("latin1", "utf8mb4");
        let twice = full(&full(&table));
        assert!(twice.ends_with(") DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"), "{twice}");
    }

    #[test]
    fn other_vendors_have_other_defaults() {
        let (old, new) = (server(Vendor::MariaDb, "10.1.48-MariaDB"), server(Vendor::MySql, "9.7.4"));
        let text = ") DEFAULT CHARSET=utf8mb4";
        assert_eq!(to(text, &old, Vendor::MariaDb, false).0, format!("{text} COLLATE=utf8mb4_general_ci"));
        assert_eq!(to(text, &new, Vendor::MariaDb, false).0, format!("{text} COLLATE=utf8mb4_0900_ai_ci"));
        assert_eq!(to(text, &new, Vendor::MySql, false).0, text);
        let text = ") DEFAULT CHARSET=utf8mb3";
        assert_eq!(to(text, &new, Vendor::MariaDb, false).0, format!("{text} COLLATE=utf8mb3_general_ci"));
    }

    #[test]
    fn conversions_keep_their_collation_or_are_told() {
        let old = server(Vendor::MySql, "5.7.44");
        assert_eq!(
            of_5_7(
                "select convert(`t`.`a` using utf8mb4) AS `a`,cast(`b` as char(3) charset utf8mb4) AS `b`"
            ),
            "select (convert(`t`.`a` using utf8mb4) collate utf8mb4_general_ci) AS `a`,\
             (cast(`b` as char(3) charset utf8mb4) collate utf8mb4_general_ci) AS `b`"
        );
        let text =
            "CREATE PROCEDURE p(a VARCHAR(3) CHARSET utf8mb4) BEGIN SELECT CONVERT(a USING utf8mb4); END";
        let with = text.replace("CHARSET utf8mb4", "CHARSET utf8mb4 COLLATE utf8mb4_general_ci");
        assert_eq!(to(text, &old, Vendor::MySql, true), (with, 1));
        assert_eq!(
            of_5_7("select 1 from a join b using (utf8mb4)"),
            "select 1 from a join b using (utf8mb4)"
        );
    }
}
