//! What a session must be set to before a statement of a log is run, told as statements: only what differs from what was set
//! before.
//!
//! Sources: MySQL and MariaDB `sql/log_event.cc`, `Query_log_event::print_query_header()`.

mod changes;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;

use drover_db::Vendor;
use drover_db::sql::{Dialect, Token, tokens_in_comments};

use crate::event::{Query, Rows, Setting};
use crate::log::{Format, Header, Short};

use super::default_collations::DefaultCollations;
use super::modes::Modes;
use super::text::push_name;

use changes::{CHARSET_COLLATIONS, Changes, DATABASE_COLLATION, UNKNOWN, UTF8MB4_COLLATION};

/// What a session is set to, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    schema: Option<Vec<u8>>,
    thread: Option<u32>,
    /// Whether a statement depended on its session so far. Before, none needs its number, which takes a privilege to set.
    /// Behind it, a temporary table may have the name of another session's table.
    depends_on_thread: bool,
    /// Each variable that was set, with its value as it was written.
    set: Vec<(&'static str, Vec<u8>)>,
    /// The collations that the server has, where it is known which one it is.
    collations: Option<Arc<BTreeSet<String>>>,
}

/// Whether it uses temporary tables or CONNECTION_ID(). Logs of MySQL 3.23 do not tell. Servers say so of each DROP TABLE
/// too, which without the word TEMPORARY is of other tables (found with MySQL 8.0.33, 9.7 and MariaDB 10.5, 11.4).
fn depends_on_thread(query: &Query<'_>, header: &Header, format: &Format) -> bool {
    let is_told = format.header_length > Header::LENGTH_V1;
    let is_drop_of_others = || {
        let code = tokens_in_comments(query.text, Dialect::default()).filter(Token::is_code).take(2);
        let words: Vec<_> = code.collect();
        matches!(&words[..], [drop, table] if drop.is_word("DROP") && table.is_word("TABLE"))
    };
    !is_told || header.flags & Header::THREAD_SPECIFIC != 0 && !is_drop_of_others()
}

/// The mode for rows: a 0 is no new number for an AUTO_INCREMENT column, and what else a mode forbids is allowed.
const ROWS_MODE: &[u8] = b"'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'";

const STRICT_ROWS_MODE: &[u8] = b"'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES'";

impl Session {
    /// One of a server that has these collations.
    pub(crate) fn of_server(collations: Arc<BTreeSet<String>>) -> Self {
        Self { collations: Some(collations), ..Self::default() }
    }

    /// Writes the statements that must come before this one, each ended by `;` and a newline.
    pub(crate) fn prepare(
        &mut self,
        query: &Query<'_>,
        header: &Header,
        format: &Format,
        out: &mut Vec<u8>,
    ) -> Result<(), Short> {
        if header.flags & Header::SUPPRESS_USE == 0 && !query.schema.is_empty() {
            self.use_schema(query.schema, out);
        }
        self.depends_on_thread |= depends_on_thread(query, header, format);
        if self.depends_on_thread {
            self.thread(query.thread, out);
        }
        let mut micros = None;
        let mut changes = Changes::of(self, out);
        changes.modes = Modes::of(query, format);
        changes.vendor = format.vendor();
        let defaults = DefaultCollations::of(query, format)?;
        changes.set(UTF8MB4_COLLATION, defaults.on_mysql());
        changes.set(CHARSET_COLLATIONS, defaults.on_mariadb());
        changes.untold(query);
        for setting in query.settings() {
            match setting? {
                Setting::Microseconds(number) => micros = Some(number),
                Setting::Flags(bits) => {
                    changes.flags(bits, format);
                    changes.explicit_timestamps(bits, query, format);
                }
                setting => changes.take(setting),
            }
        }
        changes.untold_timestamps(query, format);
        changes.end();
        self.time(header.timestamp, micros, out);
        Ok(())
    }

    /// Writes what must come before rows: times are in UTC, text in UTF-8. `flags` are those of the event. `is_strict` says that the server must
    /// refuse a value that it does not have, and not take the nearest.
    pub(crate) fn prepare_rows(&mut self, flags: u16, format: &Format, is_strict: bool, out: &mut Vec<u8>) {
        let on = |flag: u16| if flags & flag == 0 { b"1".to_vec() } else { b"0".to_vec() };
        let mut changes = Changes::of(self, out);
        changes.set("time_zone", b"'+00:00'".to_vec());
        changes.set("sql_mode", if is_strict { STRICT_ROWS_MODE } else { ROWS_MODE }.to_vec());
        changes.set("character_set_client", b"utf8mb4".to_vec());
        changes.set_named("collation_connection", "utf8mb4_general_ci"); // which both vendors have
        changes.set("foreign_key_checks", on(Rows::NO_FOREIGN_KEY_CHECKS));
        changes.set("unique_checks", on(Rows::NO_UNIQUE_CHECKS));
        if format.is_mariadb() && format.is_at_least((10, 2)) {
            changes.set("check_constraint_checks", b"0".to_vec());
        }
        if format.is_mariadb() && format.is_at_least((10, 11)) {
            changes.set("system_versioning_insert_history", b"1".to_vec());
        }
        changes.end();
    }

    /// Adds the statement that must come before row events, unless that is so already: no mode forbids what is in them. Servers may have
    /// changed other settings when these were applied.
    pub(crate) fn prepare_events(&mut self, out: &mut Vec<Vec<u8>>) {
        self.set.retain(|(name, _)| !["foreign_key_checks", "unique_checks"].contains(name));
        let mut text = Vec::new();
        let mut changes = Changes::of(self, &mut text);
        changes.set("sql_mode", ROWS_MODE.to_vec());
        // MySQL reads expressions of tables that it opens in these (boundaries of partitions, generated columns).
        changes.set("character_set_client", b"utf8mb4".to_vec());
        changes.set_named("collation_connection", "utf8mb4_general_ci");
        if changes.any {
            out.push(text);
        }
    }

    /// A schema was dropped: a session that was in it is in none, also where there is another of that name later.
    pub(crate) fn forget_schema(&mut self, dropped: &[u8]) {
        if self.schema.as_deref().is_some_and(|schema| schema.eq_ignore_ascii_case(dropped)) {
            self.schema = None;
            self.forget_collation();
        }
    }

    /// Nothing of it is known any more: another session takes its place, or a statement may have changed it. Temporary tables may be there
    /// all the same.
    pub(crate) fn forget(&mut self) {
        (self.schema, self.thread) = (None, None);
        self.set.retain(|(name, _)| *name == DATABASE_COLLATION);
        self.set.iter_mut().for_each(|(_, value)| *value = UNKNOWN.to_vec());
    }

    /// The statements that set a session to the same again.
    pub(crate) fn again(&self) -> Vec<u8> {
        let (mut out, mut new) =
            (Vec::new(), Self { collations: self.collations.clone(), ..Self::default() });
        if let Some(schema) = &self.schema {
            new.use_schema(schema, &mut out);
        }
        if let Some(thread) = self.thread {
            new.thread(thread, &mut out);
        }
        let mut changes = Changes::of(&mut new, &mut out);
        for (name, value) in self.set.iter().filter(|(_, value)| value != UNKNOWN) {
            let is_collation = name.starts_with("collation_") && value.contains(&b'_');
            match std::str::from_utf8(value) {
                Ok(collation) if is_collation => changes.set_named(name, collation),
                _ => changes.set(name, value.clone()),
            }
        }
        changes.end();
        out
    }

    /// In another schema, a server sets it to that one's.
    fn forget_collation(&mut self) {
        self.set.retain(|(name, _)| *name != DATABASE_COLLATION);
    }

    /// The time is set to others by what follows.
    pub(crate) fn forget_time(&mut self) {
        self.set.retain(|(name, _)| *name != "timestamp");
    }

    /// Makes this the collation of what has none of its own.
    pub(crate) fn collation(&mut self, number: u16, vendor: Vendor, out: &mut Vec<u8>) {
        let mut changes = Changes::of(self, out);
        changes.vendor = vendor;
        changes.set_collation("collation_connection", number);
        changes.end();
    }

    /// What must be set before the transaction in which a statement makes a temporary table, if it is not: no server sets it within one.
    pub(crate) fn before_transaction(
        &mut self,
        query: &Query<'_>,
        format: &Format,
        out: &mut Vec<u8>,
    ) -> Result<(), Short> {
        let mut changes = Changes::of(self, out);
        for setting in query.settings() {
            match setting? {
                Setting::Flags(bits) => changes.explicit_timestamps(bits, query, format),
                setting @ Setting::ExplicitTimestamps(_) => changes.take(setting),
                _ => {}
            }
        }
        changes.untold_timestamps(query, format);
        changes.end();
        Ok(())
    }

    fn use_schema(&mut self, schema: &[u8], out: &mut Vec<u8>) {
        if self.schema.as_deref() == Some(schema) {
            return;
        }
        out.extend_from_slice(b"USE ");
        push_name(schema, out);
        out.extend_from_slice(b";\n");
        self.schema = Some(schema.to_vec());
        self.forget_collation();
    }

    /// The number by which the server keeps temporary tables of different sessions apart, and which CONNECTION_ID() gives.
    fn thread(&mut self, thread: u32, out: &mut Vec<u8>) {
        if self.thread != Some(thread) {
            let _ = writeln!(out, "SET @@session.pseudo_thread_id = {thread};"); // writing to a Vec cannot fail
            self.thread = Some(thread);
        }
    }

    fn time(&mut self, seconds: u32, micros: Option<u32>, out: &mut Vec<u8>) {
        let value = match micros {
            Some(micros) if micros > 0 => format!("{seconds}.{micros:06}"),
            _ => seconds.to_string(),
        };
        let mut changes = Changes::of(self, out);
        changes.set("timestamp", value.into_bytes());
        changes.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is set before a statement that tells these settings besides its flags and mode.
    fn set_in(schema: &str, session: &mut Session, told: &[u8]) -> String {
        let status = [&[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0][..], told].concat();
        let schema = schema.as_bytes();
        let query = Query { thread: 1, seconds: 0, error: 0, status: &status, schema, text: b"INSERT" };
        let mut out = Vec::new();
        session.prepare(&query, &Header::default(), &Format::of_tests("10.11.6-MariaDB"), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn set(session: &mut Session, told: &[u8]) -> String {
        set_in("s", session, told)
    }

    const STEP: &str = "auto_increment_increment = ";
    const NAMES: &str = "lc_time_names = ";
    const COLLATION: &str = "@@session.collation_database = ";
    const DEFAULT: &str = "@@session.collation_database = DEFAULT";

    #[test]
    fn what_a_statement_does_not_tell_has_its_default() {
        let mut session = Session::default();
        let first = set(&mut session, &[]);
        for default in [
            "auto_increment_increment = 1, @@session.auto_increment_offset = 1",
            "lc_time_names = 0",
            "check_constraint_checks = 1",
            "sql_if_exists = 0",
            "system_versioning_insert_history = 0",
        ] {
            assert!(first.contains(default), "{default}: {first}");
        }
        assert!(!first.contains(COLLATION), "{first}");
        // Once is enough.
        assert_eq!(set(&mut session, &[]), "");
        let told = set(&mut session, &[3, 7, 0, 3, 0, 7, 5, 0, 8, 8, 0]);
        assert_eq!(
            told,
            "SET @@session.auto_increment_increment = 7, @@session.auto_increment_offset = 3, \
             @@session.lc_time_names = 5, @@session.collation_database = 8;\n"
        );
        let untold = set(&mut session, &[]);
        assert_eq!(
            untold,
            "SET @@session.auto_increment_increment = 1, @@session.auto_increment_offset = 1, \
             @@session.lc_time_names = 0, @@session.collation_database = DEFAULT;\n"
        );
    }

    #[test]
    fn a_timestamp_of_older_servers_has_its_attributes() {
        let prepared = |version: &str, text: &[u8]| {
            let query = Query { thread: 1, seconds: 0, error: 0, status: b"", schema: b"s", text };
            let mut out = Vec::new();
            let format = Format::of_tests(version);
            Session::default().prepare(&query, &Header::default(), &format, &mut out).unwrap();
            String::from_utf8(out).unwrap().contains("explicit_defaults_for_timestamp = 0")
        };
        let table = b"CREATE TABLE t (at TIMESTAMP)";
        assert!(prepared("5.6.14-log", table) && prepared("10.5.23-MariaDB", table));
        assert!(!prepared("9.7.0", table) && !prepared("5.6.14-log", b"CREATE TABLE t (a INT)"));
        assert!(!prepared("5.6.14-log", b"INSERT INTO t VALUES (TIMESTAMP '2020-01-01')"));
    }

    #[test]
    fn a_schema_has_its_own_collation() {
        let mut session = Session::default();
        let is_set = |session: &mut Session| set(session, &[8, 8, 0]).contains(COLLATION);
        assert!(is_set(&mut session) && !is_set(&mut session));
        session.use_schema(b"other", &mut Vec::new());
        assert!(is_set(&mut session));
    }

    #[test]
    fn what_is_forgotten_is_set_again() {
        let mut session = Session::default();
        let first = set(&mut session, &[8, 8, 0]);
        session.depends_on_thread = true;
        session.forget();
        // Another session's temporary tables are still there, and the collation that was set.
        let again = set_in("", &mut session.clone(), &[]);
        assert!(again.contains("pseudo_thread_id = 1") && again.contains(DEFAULT), "{again}");
        let again = set(&mut session, &[]);
        let parts = [STEP, NAMES, "sql_mode", "USE `s`"];
        assert!(parts.iter().all(|part| first.contains(part) && again.contains(part)), "{first}{again}");
        assert!(!again.contains(DEFAULT), "{again}");
    }

    #[test]
    fn a_session_is_set_to_the_same_again() {
        let mut session = Session::default();
        let all = [3, 7, 0, 3, 0, 7, 5, 0, 4, 45, 0, 45, 0, 8, 0, 5, 3, b'U', b'T', b'C', 8, 8, 0];
        let first = set(&mut session, &all);
        session.thread(9, &mut Vec::new());
        let again = String::from_utf8(session.again()).unwrap();
        let parts = |text: &str| {
            let mut parts: Vec<_> = text
                .split(['\n', ',', ';'])
                .map(|part| part.trim().trim_start_matches("SET ").to_owned())
                .collect();
            parts.sort();
            parts.dedup();
            parts
        };
        let mut expected = parts(&first);
        expected.push("@@session.pseudo_thread_id = 9".into());
        expected.sort();
        assert_eq!(parts(&again), expected);
        assert!(again.starts_with("USE `s`;\nSET @@session.pseudo_thread_id = 9;\n"), "{again}");
    }
}
