//! What a session must be set to before a statement of a log is run, told as statements: only what differs from what was set
//! before.
//!
//! Sources: MySQL and MariaDB `sql/log_event.cc`, `Query_log_event::print_query_header()`.

use std::io::Write as _;

use drover_db::sql::{Dialect, Token, tokens_in_comments};

use crate::event::{Query, Rows, Setting};
use crate::log::{Format, Header, Short};

use super::charset;
use super::collations::{Nearest, nearest};
use super::text::{push_name, push_quoted};

/// What a session is set to, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Session {
    schema: Option<Vec<u8>>,
    thread: Option<u32>,
    /// Whether a statement depended on its session so far. Before, none needs its number, which takes a privilege to set.
    /// Behind it, a temporary table may have the name of another session's table.
    depends_on_thread: bool,
    /// Each variable that was set, with its value as it was written.
    set: Vec<(&'static str, Vec<u8>)>,
}

/// Bits of [`Setting::Flags`], the variable each stands for, and its value when the bit is set. That of `autocommit`, `1 << 19`, is left
/// alone: a log tells where each transaction begins and ends, and to set it on within one would commit that.
const FLAGS: [(u32, &str, bool); 3] = [
    (1 << 14, "sql_auto_is_null", true),
    (1 << 26, "foreign_key_checks", false),
    (1 << 27, "unique_checks", false),
];

/// The bit of `explicit_defaults_for_timestamp` (MariaDB from 10.10 on; found with 10.11).
const EXPLICIT_TIMESTAMPS: u32 = 1 << 24;
/// More bits of MariaDB, which servers that do not know the variable never set, and the variable's value when the bit is set (found with
/// 10.11).
const MARIADB_FLAGS: [(u32, &str, bool); 3] = [
    (1 << 15, "check_constraint_checks", false),
    (1 << 28, "sql_if_exists", true),
    (1 << 30, "system_versioning_insert_history", true),
];

/// Whether a statement makes or alters something.
fn defines(text: &[u8]) -> bool {
    let mut code = tokens_in_comments(text, Dialect::default()).filter(Token::is_code);
    code.next().is_some_and(|first| first.is_word("CREATE") || first.is_word("ALTER"))
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

impl Session {
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
        changes.is_mariadb = format.is_mariadb();
        let tells = |setting| matches!(setting, Ok(Setting::CharsetCollations(_)));
        if format.is_mariadb() && !query.settings().any(tells) {
            // A log that does not tell is older than the variable: then each character set has its old collation.
            changes.set(CHARSET_COLLATIONS, b"''".to_vec());
        }
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
        changes.end();
        self.time(header.timestamp, micros, out);
        Ok(())
    }

    /// Writes what must come before rows: times are in UTC, text in UTF-8. `flags` are those of the event.
    pub(crate) fn prepare_rows(&mut self, flags: u16, format: &Format, out: &mut Vec<u8>) {
        let on = |flag: u16| if flags & flag == 0 { b"1".to_vec() } else { b"0".to_vec() };
        let mut changes = Changes::of(self, out);
        changes.set("time_zone", b"'+00:00'".to_vec());
        changes.set("sql_mode", ROWS_MODE.to_vec());
        changes.set("character_set_client", b"utf8mb4".to_vec());
        changes.set("collation_connection", b"45".to_vec()); // utf8mb4_general_ci, which both vendors have
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
        if changes.any {
            out.push(text);
        }
    }

    /// A schema was dropped: a session that was in it is in none, also where there is another of that name later.
    pub(crate) fn forget_schema(&mut self, dropped: &[u8]) {
        if self.schema.as_deref().is_some_and(|schema| schema.eq_ignore_ascii_case(dropped)) {
            self.schema = None;
        }
    }

    /// The time is set to others by what follows.
    pub(crate) fn forget_time(&mut self) {
        self.set.retain(|(name, _)| *name != "timestamp");
    }

    /// Makes this the collation of what has none of its own.
    pub(crate) fn collation(&mut self, number: u16, out: &mut Vec<u8>) {
        let mut changes = Changes::of(self, out);
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

/// Variables that only some servers have, or let a session set, with the versions that do, as their comments say it: MySQL reads those
/// with `!`, MariaDB those with `M!`. A statement runs on the others as well as it can without.
const SOME_SERVERS: [(&str, &[&str]); 8] = [
    ("default_collation_for_utf8mb4", &["!80011"]),
    ("sql_require_primary_key", &["!80013"]),
    ("default_table_encryption", &["!80016"]),
    ("explicit_defaults_for_timestamp", &["!80000", "M!101000"]),
    ("check_constraint_checks", &["M!100201"]),
    ("sql_if_exists", &["M!100503"]),
    ("system_versioning_insert_history", &["M!101100"]),
    (CHARSET_COLLATIONS, &["M!110300"]),
];

const CHARSET_COLLATIONS: &str = "character_set_collations";

/// Those of them that MySQL lets only some accounts set (SESSION_VARIABLES_ADMIN). Where the session has the value already, nobody needs to.
const PRIVILEGED: [&str; 2] = ["sql_require_primary_key", "default_table_encryption"];

/// The modes without those that MySQL took out with 8.0.5, for servers from there on: NO_AUTO_CREATE_USER, and those that change what SHOW
/// prints. MariaDB's ORACLE and MSSQL change what a statement means: these stay, and such a server refuses them.
fn sql_mode(bits: u64, is_mariadb: bool) -> Vec<u8> {
    const REMOVED: u64 = 0x1003_ff00;
    const ORACLE_AND_MSSQL: u64 = 0x600;
    let removed = if is_mariadb { REMOVED & !ORACLE_AND_MSSQL } else { REMOVED };
    if bits & removed == 0 {
        return bits.to_string().into_bytes();
    }
    format!("{bits} /*!80005 & ~{removed:#x} */").into_bytes()
}

/// One SET statement for all that differs.
struct Changes<'a> {
    session: &'a mut Session,
    out: &'a mut Vec<u8>,
    any: bool,
    is_mariadb: bool,
    /// Statements behind it.
    behind: Vec<u8>,
}

impl Changes<'_> {
    fn take(&mut self, setting: Setting<'_>) {
        let number = |number: u64| number.to_string().into_bytes();
        match setting {
            Setting::SqlMode(bits) => self.set("sql_mode", sql_mode(bits, self.is_mariadb)),
            Setting::AutoIncrement(step, first) => {
                self.set("auto_increment_increment", number(step.into()));
                self.set("auto_increment_offset", number(first.into()));
            }
            Setting::Charset(client, connection, server) => {
                // MariaDB takes no number of a collation that is not the first of its character set.
                let name =
                    charset::name(client.into()).map_or_else(|| number(client.into()), |name| name.into());
                self.set("character_set_client", name);
                self.set_collation("collation_connection", connection);
                self.set_collation("collation_server", server);
            }
            Setting::TimeZone(zone) => {
                let mut value = Vec::new();
                push_quoted(zone, &mut value);
                self.set("time_zone", value);
            }
            Setting::TimeNames(language) => self.set("lc_time_names", number(language.into())),
            Setting::DatabaseCollation(collation) => self.set_collation("collation_database", collation),
            Setting::ExplicitTimestamps(is_on) => {
                self.set("explicit_defaults_for_timestamp", number(is_on.into()))
            }
            Setting::Utf8mb4Collation(collation) => {
                self.set("default_collation_for_utf8mb4", number(collation.into()))
            }
            Setting::RequirePrimaryKey(is_on) => self.set("sql_require_primary_key", number(is_on.into())),
            Setting::TableEncryption(is_on) => self.set("default_table_encryption", number(is_on.into())),
            // What a character set's collation is where none is named: the target's own, which is as new as the log.
            Setting::CharsetCollations(_) => self.set(CHARSET_COLLATIONS, b"DEFAULT".to_vec()),
            Setting::Flags(_)
            | Setting::Microseconds(_)
            | Setting::Invoker(..)
            | Setting::Xid(_)
            | Setting::AlterPhase(_)
            | Setting::Other(_) => {}
        }
    }

    /// What the bits of [`Setting::Flags`] say, of which MariaDB has more.
    fn flags(&mut self, bits: u32, format: &Format) {
        for (bit, variable, when_set) in FLAGS {
            self.set_switch(variable, (bits & bit != 0) == when_set);
        }
        if !format.is_mariadb() {
            return;
        }
        for (bit, variable, when_set) in MARIADB_FLAGS {
            let is_known = self.session.set.iter().any(|(name, _)| *name == variable);
            if is_known || bits & bit != 0 {
                self.set_switch(variable, (bits & bit != 0) == when_set);
            }
        }
    }

    /// MariaDB tells it with every statement, and it matters to those that define a table only. Elsewhere it would be in the way: MySQL does
    /// not set it within a transaction (1766).
    fn explicit_timestamps(&mut self, bits: u32, query: &Query<'_>, format: &Format) {
        if format.is_mariadb() && format.is_at_least((10, 10)) && defines(query.text) {
            self.set_switch("explicit_defaults_for_timestamp", bits & EXPLICIT_TIMESTAMPS != 0);
        }
    }

    fn set_switch(&mut self, variable: &'static str, is_on: bool) {
        self.set(variable, if is_on { b"1".to_vec() } else { b"0".to_vec() });
    }

    fn of<'c>(session: &'c mut Session, out: &'c mut Vec<u8>) -> Changes<'c> {
        Changes { session, out, any: false, is_mariadb: false, behind: Vec::new() }
    }

    /// Sets a collation by its number; one that only one vendor has is the nearest on a server of the other.
    fn set_collation(&mut self, variable: &'static str, number: u16) {
        let value = number.to_string().into_bytes();
        let Some(Nearest { own, other, collation }) = nearest(number) else {
            return self.set(variable, value);
        };
        if self.remember(variable, &value) {
            self.assign_on(&[own], variable, &value);
            self.assign_on(&[other], variable, collation.as_bytes());
        }
    }

    /// Whether the variable has another value than before.
    fn remember(&mut self, variable: &'static str, value: &[u8]) -> bool {
        let known = self.session.set.iter_mut().find(|(name, _)| *name == variable);
        match known {
            Some((_, before)) if *before == value => return false,
            Some((_, before)) => *before = value.to_vec(),
            None => self.session.set.push((variable, value.to_vec())),
        }
        true
    }

    fn set(&mut self, variable: &'static str, value: Vec<u8>) {
        if !self.remember(variable, &value) {
            return;
        }
        let servers = SOME_SERVERS.iter().find(|(name, _)| *name == variable).map(|(_, servers)| *servers);
        match servers {
            None => {
                self.out.extend_from_slice(if self.any { b", " } else { b"SET " });
                self.assign(variable, &value);
                self.any = true;
            }
            Some(servers) if PRIVILEGED.contains(&variable) => self.set_if_other(servers, variable, &value),
            Some(servers) => self.assign_on(servers, variable, &value),
        }
    }

    /// Sets it where it has another value, on the servers that read one of these comments.
    fn set_if_other(&mut self, servers: &[&str], variable: &str, value: &[u8]) {
        let mut assignment = format!("@@session.{variable} = ").into_bytes();
        assignment.extend_from_slice(value);
        self.behind.extend_from_slice(b"SET @drover = 'DO 0'");
        for server in servers {
            self.behind.extend_from_slice(format!(" /*{server} , @drover = IF(").as_bytes());
            self.behind.extend_from_slice(&assignment);
            self.behind.extend_from_slice(b", 'DO 0', 'SET ");
            self.behind.extend_from_slice(&assignment);
            self.behind.extend_from_slice(b"') */");
        }
        self.behind.extend_from_slice(b";\nPREPARE drover FROM @drover;\nEXECUTE drover;\n");
    }

    /// Sets it on the servers that read one of these comments. Something must come before, as others take no empty statement.
    fn assign_on(&mut self, servers: &[&str], variable: &str, value: &[u8]) {
        self.out.extend_from_slice(if self.any { b"" } else { b"SET @drover = NULL" });
        self.any = true;
        for server in servers {
            self.out.extend_from_slice(format!(" /*{server} , ").as_bytes());
            self.assign(variable, value);
            self.out.extend_from_slice(b" */");
        }
    }

    fn assign(&mut self, variable: &str, value: &[u8]) {
        let _ = write!(self.out, "@@session.{variable} = "); // writing to a Vec cannot fail
        self.out.extend_from_slice(value);
    }

    fn end(self) {
        if self.any {
            self.out.extend_from_slice(b";\n");
        }
        self.out.extend_from_slice(&self.behind);
    }
}
