//! Scripts but for tables: the settings that an object was made in, schemas, and the texts of views and programs.

use drover_db::sql::Dialect;
use drover_db::sql::program::Program;
use drover_db::{Server, Vendor};

use super::target::Target;
use super::{Notes, Why, defaults, options, words};
use drover_db::sql::phrase::Phrase;

/// Rewrites one statement of a script that is not a table's. `dialect` is that of the script's settings.
pub(super) fn rewrite(
    text: &[u8],
    dialect: Dialect,
    servers: (&Server, &Server),
    target: &Target,
    notes: &mut Notes,
) -> Vec<u8> {
    if let Some(modes) = text.strip_prefix(b"SET sql_mode = ") {
        return sql_mode(modes, target, notes);
    }
    let (old, new) = servers;
    // A view's text is the server's own, and names its columns; a program's is a person's.
    let is_program = Program::parse(text, dialect).is_some_and(|program| program.word != "VIEW");
    let read = |text: &[u8], notes: &mut Notes| {
        let mut phrase = Phrase::of(text, dialect);
        defaults::name_them(&mut phrase, old, target, is_program, notes);
        words::collations(&mut phrase, target, notes);
        phrase
    };
    let is_same_vendor = old.vendor == new.vendor;
    if text.starts_with(b"CREATE DATABASE ") {
        let text = words::open_comments(text, if is_same_vendor { new } else { old });
        if is_same_vendor {
            words::unread_comments(&text, target, notes);
        }
        let mut phrase = read(&text, notes);
        database(&mut phrase, target, notes);
        return phrase.to_text();
    }
    let mut phrase = read(text, notes);
    if !is_same_vendor && text.starts_with(b"CREATE ") {
        words::unwrap_comments(&mut phrase, old, new, notes);
    }
    if prints_regexp_like(old) && text.starts_with(b"CREATE ") {
        words::functions(&mut phrase, target, notes);
    }
    if target.names_replicas_slaves() && Program::parse(text, dialect).is_some_and(|it| it.word == "EVENT") {
        off_on_slave(&mut phrase, notes);
    }
    phrase.to_text()
}

/// Whether a server has that function of its own; elsewhere one of that name is a person's. Source: MySQL's manual, "Changes in MySQL 8.0.4".
fn prints_regexp_like(server: &Server) -> bool {
    server.vendor == Vendor::MySql && server.numbers() >= (8, 0, 4)
}

/// An event that is off as on a replica, where the target knows only the older word for one.
fn off_on_slave(phrase: &mut Phrase, notes: &mut Notes) {
    let Some(found) = phrase.find(&["DISABLE", "ON", "REPLICA"]) else { return };
    // What stands behind DO is the program's.
    if phrase.find(&["DO"]).is_none_or(|body| found.end <= body.start) {
        phrase.replace(found, b"DISABLE ON SLAVE");
        let why = Why::kept("the same under the target's name");
        notes.add("DISABLE ON REPLICA", "DISABLE ON SLAVE", why);
    }
}

/// The setting without modes that the target does not know.
fn sql_mode(quoted: &[u8], target: &Target, notes: &mut Notes) -> Vec<u8> {
    let text = String::from_utf8_lossy(quoted).into_owned();
    let modes: Vec<_> = text.trim_matches('\'').split(',').filter(|mode| !mode.is_empty()).collect();
    let (unknown, kept): (Vec<_>, Vec<_>) =
        modes.into_iter().partition(|mode| target.unknown_modes.contains(&mode.to_ascii_uppercase()));
    for mode in unknown {
        notes.add(&format!("sql_mode {mode}"), "", mode_reason(mode));
    }
    format!("SET sql_mode = '{}'", kept.join(",")).into_bytes()
}

fn mode_reason(mode: &str) -> Why {
    match mode.to_ascii_uppercase().as_str() {
        "NO_AUTO_CREATE_USER" => {
            Why::kept("the target has no such mode, and never makes an account by GRANT")
        }
        "IGNORE_BAD_TABLE_OPTIONS" => {
            Why::kept("the target has no such mode; only CREATE and ALTER TABLE look at it")
        }
        "ORACLE" => Why::lost("the target has no such mode: a text in Oracle's language is not understood"),
        "EMPTY_STRING_IS_NULL" => Why::lost("the target has no such mode: '' is no NULL there"),
        "SIMULTANEOUS_ASSIGNMENT" => {
            Why::lost("the target has no such mode: UPDATE assigns one column after the other")
        }
        "TIME_ROUND_FRACTIONAL" => {
            Why::kept("the target has no such mode, and always rounds fractions of seconds")
        }
        "TIME_TRUNCATE_FRACTIONAL" => {
            Why::kept("the target has no such mode, and always cuts fractions of seconds")
        }
        "MSSQL" | "POSTGRESQL" | "DB2" | "MAXDB" | "MYSQL323" | "MYSQL40" | "NO_KEY_OPTIONS"
        | "NO_TABLE_OPTIONS" | "NO_FIELD_OPTIONS" => {
            Why::kept("the target has no such mode; what it stands for is listed beside it")
        }
        _ => Why::lost("the target has no such mode"),
    }
}

fn database(phrase: &mut Phrase, target: &Target, notes: &mut Notes) {
    let has_comments = target.vendor == Vendor::MariaDb && !target.is_mariadb_before((10, 5, 0));
    if let Some(found) = phrase.find(&["COMMENT"]).filter(|_| !has_comments) {
        let text = phrase.cut(found.start..phrase.code(found.end) + 1);
        let reason = match target.vendor {
            Vendor::MySql => "MySQL has no comments on schemas",
            Vendor::MariaDb => "MariaDB has comments on schemas from 10.5 on",
        };
        notes.add(&text, "", Why::lost(reason));
    }
    options::character_set(phrase, target, notes);
    if let Some(collate) = phrase.find(&["COLLATE"]) {
        let name = phrase.code(collate.end);
        if !target.has_collation(&phrase.part(name..name + 1).to_ascii_lowercase()) {
            let text = phrase.cut(collate.start..name + 1);
            let reason =
                "the target has no collation like it: new tables get the default of the character set";
            notes.add(&text, "", Why::lost(reason));
        }
    }
    if target.vendor == Vendor::MySql {
        return;
    }
    if let Some(found) = phrase.find(&["DEFAULT", "ENCRYPTION"]) {
        let end = phrase.code(phrase.code(found.end) + 1) + 1;
        let text = phrase.cut(found.start..end);
        if text.contains("'Y'") {
            notes.add(
                &text,
                "",
                Why::lost("MariaDB encrypts no schema as a whole: new tables are not encrypted"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(vendor: Vendor, text: &str) -> (String, Vec<bool>) {
        let server =
            |vendor, version: &str| Server { vendor, version: version.into(), comment: String::new() };
        let (mariadb, mysql) = (server(Vendor::MariaDb, "10.11.6-MariaDB"), server(Vendor::MySql, "9.7.4"));
        let servers = if vendor == Vendor::MySql { (&mariadb, &mysql) } else { (&mysql, &mariadb) };
        let mut notes = Notes::new("x");
        let text = rewrite(text.as_bytes(), Dialect::default(), servers, &Target::of(vendor), &mut notes);
        (String::from_utf8(text).unwrap(), notes.rewrites.iter().map(|rewrite| rewrite.loses).collect())
    }

    #[test]
    fn modes_that_are_not_there_are_left_out() {
        let text = "SET sql_mode = 'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,ORACLE'";
        assert_eq!(
            to(Vendor::MySql, text),
            ("SET sql_mode = 'STRICT_TRANS_TABLES'".into(), vec![false, true])
        );
        assert_eq!(to(Vendor::MySql, "SET sql_mode = ''"), ("SET sql_mode = ''".into(), vec![]));
    }

    #[test]
    fn schemas() {
        let text = "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci */ COMMENT 'it''s'";
        let (text, loses) = to(Vendor::MySql, text);
        assert_eq!(text, "CREATE DATABASE `s` DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci");
        assert_eq!(loses, [true, true]);
        let text = "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */ /*!80016 DEFAULT ENCRYPTION='N' */";
        let (text, loses) = to(Vendor::MariaDb, text);
        assert_eq!(
            text,
            "CREATE DATABASE `s` DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_nopad_ai_ci"
        );
        assert_eq!(loses, [false]);
        let text = "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET gb18030 COLLATE gb18030_bin */ /*!80016 DEFAULT ENCRYPTION='N' */";
        let (text, loses) = to(Vendor::MariaDb, text);
        assert_eq!((text.as_str(), loses), ("CREATE DATABASE `s` DEFAULT CHARACTER SET utf8mb4", vec![true]));
        let text = "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET latin1 COLLATE latin1_german2_ci */";
        let (text, loses) = to(Vendor::MySql, text);
        assert_eq!((text.as_str(), loses), ("CREATE DATABASE `s` DEFAULT CHARACTER SET latin1", vec![true]));
    }

    #[test]
    fn an_event_that_is_off_as_on_a_replica() {
        let text = "CREATE DEFINER=`a`@`b` EVENT `e` ON SCHEDULE EVERY 1 DAY ON COMPLETION NOT PRESERVE DISABLE ON REPLICA DO SET @a = 1";
        let of = |version: &str| {
            let server = |version: &str| Server {
                vendor: Vendor::MySql,
                version: version.into(),
                comment: String::new(),
            };
            let target = Target { server: server(version), ..Target::of(Vendor::MySql) };
            let servers = (&server("9.7.4"), &server(version));
            let text = rewrite(text.as_bytes(), Dialect::default(), servers, &target, &mut Notes::new("x"));
            String::from_utf8(text).unwrap()
        };
        assert_eq!(of("8.0.33"), text.replace("REPLICA", "SLAVE"));
        assert_eq!(of("8.4.0"), text);
    }

    #[test]
    fn what_is_in_a_programs_text_is_its_own() {
        let text =
            "CREATE PROCEDURE p() BEGIN SET @x = 'COLLATE utf8mb4_uca1400_ai_ci'; SELECT sql_mode; END";
        assert_eq!(to(Vendor::MySql, text), (text.into(), vec![]));
        let text = "ALTER DATABASE `s` COLLATE = utf8mb4_0900_ai_ci";
        assert_eq!(to(Vendor::MariaDb, text).0, "ALTER DATABASE `s` COLLATE = utf8mb4_uca1400_nopad_ai_ci");
    }
}
