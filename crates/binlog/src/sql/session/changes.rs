//! What differs in a session's settings, as statements.

use std::io::Write as _;

use drover_db::Vendor;
use drover_db::collations::numbers;
use drover_db::sql::{Dialect, Token, tokens_in_comments};

use crate::event::{Query, Setting};
use crate::log::Format;

use super::Session;
use crate::sql::charset;
use crate::sql::collations::{Told, on_all_servers, on_server};
use crate::sql::modes::Modes;
use crate::sql::text::push_quoted;

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

/// Whether a column in it may be a TIMESTAMP.
fn names_timestamp(text: &[u8]) -> bool {
    tokens_in_comments(text, Dialect::default()).any(|token| token.is_word("TIMESTAMP"))
}

/// Variables that only some servers have, or let a session set, with the versions that do, as their comments say it: MySQL reads those
/// with `!`, MariaDB those with `M!`. A statement runs on the others as well as it can without.
const SOME_SERVERS: [(&str, &[&str]); 8] = [
    (UTF8MB4_COLLATION, &["!80011"]),
    ("sql_require_primary_key", &["!80013"]),
    ("default_table_encryption", &["!80016"]),
    ("explicit_defaults_for_timestamp", &["!80000", "M!101000"]),
    ("check_constraint_checks", &["M!100201"]),
    ("sql_if_exists", &["M!100503"]),
    ("system_versioning_insert_history", &["M!101100"]),
    (CHARSET_COLLATIONS, &["M!110300"]),
];

pub(super) const UTF8MB4_COLLATION: &str = "default_collation_for_utf8mb4";
pub(super) const CHARSET_COLLATIONS: &str = "character_set_collations";
pub(super) const DATABASE_COLLATION: &str = "collation_database";
/// No value that a variable can have.
pub(super) const UNKNOWN: &[u8] = b"?";

/// Those of them that MySQL lets only some accounts set (SESSION_VARIABLES_ADMIN). Where the session has the value already, nobody needs to.
const PRIVILEGED: [&str; 2] = ["sql_require_primary_key", "default_table_encryption"];

/// One SET statement for all that differs.
pub(super) struct Changes<'a> {
    session: &'a mut Session,
    out: &'a mut Vec<u8>,
    pub(super) any: bool,
    pub(super) modes: Modes,
    /// That of the logs' server.
    pub(super) vendor: Vendor,
    /// Statements behind it.
    behind: Vec<u8>,
}

impl Changes<'_> {
    /// Servers log some variables only where they do not have the default, which a replica takes then: `Query_log_event::do_apply_event()`.
    /// A session that no statement has set `collation_database` in has that of its schema.
    pub(super) fn untold(&mut self, query: &Query<'_>) {
        let tells =
            |is_one: fn(&Setting<'_>) -> bool| query.settings().flatten().any(|setting| is_one(&setting));
        if !tells(|setting| matches!(setting, Setting::AutoIncrement(..))) {
            self.take(Setting::AutoIncrement(1, 1));
        }
        if !tells(|setting| matches!(setting, Setting::TimeNames(_))) {
            self.take(Setting::TimeNames(0)); // en_US
        }
        let was_set = self.session.set.iter().any(|(name, _)| *name == DATABASE_COLLATION);
        if was_set && !tells(|setting| matches!(setting, Setting::DatabaseCollation(_))) {
            self.set(DATABASE_COLLATION, b"DEFAULT".to_vec());
        }
    }

    pub(super) fn take(&mut self, setting: Setting<'_>) {
        let number = |number: u64| number.to_string().into_bytes();
        match setting {
            Setting::SqlMode(bits) => self.set("sql_mode", self.modes.written(bits)),
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
            Setting::DatabaseCollation(collation) => self.set_collation(DATABASE_COLLATION, collation),
            Setting::ExplicitTimestamps(is_on) => {
                self.set("explicit_defaults_for_timestamp", number(is_on.into()))
            }
            Setting::RequirePrimaryKey(is_on) => self.set("sql_require_primary_key", number(is_on.into())),
            Setting::TableEncryption(is_on) => self.set("default_table_encryption", number(is_on.into())),
            // Of these, `DefaultCollations` tells.
            Setting::Utf8mb4Collation(_)
            | Setting::CharsetCollations(_)
            | Setting::Flags(_)
            | Setting::Microseconds(_)
            | Setting::Invoker(..)
            | Setting::Xid(_)
            | Setting::AlterPhase(_)
            | Setting::Other(_) => {}
        }
    }

    /// What the bits of [`Setting::Flags`] say, of which MariaDB has more.
    pub(super) fn flags(&mut self, bits: u32, format: &Format) {
        for (bit, variable, when_set) in FLAGS {
            self.set_switch(variable, (bits & bit != 0) == when_set);
        }
        if !format.is_mariadb() {
            return;
        }
        for (bit, variable, when_set) in MARIADB_FLAGS {
            self.set_switch(variable, (bits & bit != 0) == when_set);
        }
    }

    /// MariaDB tells it with every statement, and it matters to those that define a table only. Elsewhere it would be in the way: MySQL does
    /// not set it within a transaction (1766).
    pub(super) fn explicit_timestamps(&mut self, bits: u32, query: &Query<'_>, format: &Format) {
        if format.is_mariadb() && format.is_at_least((10, 10)) && defines(query.text) {
            self.set_switch("explicit_defaults_for_timestamp", bits & EXPLICIT_TIMESTAMPS != 0);
        }
    }

    /// Servers that tell nothing of it in their logs (MySQL before 8.0, MariaDB before 10.10) give a TIMESTAMP more attributes than its
    /// definition has, unless an operator has switched that off.
    pub(super) fn untold_timestamps(&mut self, query: &Query<'_>, format: &Format) {
        let is_older =
            if format.is_mariadb() { !format.is_at_least((10, 10)) } else { !format.is_at_least((8, 0)) };
        let tells =
            || query.settings().flatten().any(|setting| matches!(setting, Setting::ExplicitTimestamps(_)));
        if is_older && !tells() && defines(query.text) && names_timestamp(query.text) {
            self.set_switch("explicit_defaults_for_timestamp", false);
        }
    }

    fn set_switch(&mut self, variable: &'static str, is_on: bool) {
        self.set(variable, if is_on { b"1".to_vec() } else { b"0".to_vec() });
    }

    pub(super) fn of<'c>(session: &'c mut Session, out: &'c mut Vec<u8>) -> Changes<'c> {
        let (modes, vendor) = (Modes::default(), Vendor::MySql);
        Changes { session, out, any: false, modes, vendor, behind: Vec::new() }
    }

    /// Sets a collation of which the logs' server told its number.
    pub(super) fn set_collation(&mut self, variable: &'static str, number: u16) {
        match numbers::name(number, self.vendor) {
            Some(name) => self.set_named(variable, &name),
            None => self.set(variable, number.to_string().into_bytes()),
        }
    }

    /// Sets a collation, or on servers that lack it the nearest. Where there is none, the server says what it lacks.
    pub(super) fn set_named(&mut self, variable: &'static str, name: &str) {
        if !self.remember(variable, name.as_bytes()) {
            return;
        }
        if let Some(known) = &self.session.collations {
            let name = on_server(name, known).unwrap_or_else(|| name.to_owned());
            return self.assign_everywhere(variable, name.as_bytes());
        }
        let told = on_all_servers(name);
        if told.first().is_none_or(|told| !told.comment.is_empty()) {
            self.assign_everywhere(variable, name.as_bytes());
        }
        for Told { comment, number } in told {
            let number = number.to_string().into_bytes();
            match comment {
                "" => self.assign_everywhere(variable, &number),
                comment => self.assign_on(&[comment], variable, &number),
            }
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

    pub(super) fn set(&mut self, variable: &'static str, value: Vec<u8>) {
        if !self.remember(variable, &value) {
            return;
        }
        let servers = SOME_SERVERS.iter().find(|(name, _)| *name == variable).map(|(_, servers)| *servers);
        match servers {
            None => self.assign_everywhere(variable, &value),
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

    fn assign_everywhere(&mut self, variable: &str, value: &[u8]) {
        self.out.extend_from_slice(if self.any { b", " } else { b"SET " });
        self.assign(variable, value);
        self.any = true;
    }

    fn assign(&mut self, variable: &str, value: &[u8]) {
        let _ = write!(self.out, "@@session.{variable} = "); // writing to a Vec cannot fail
        self.out.extend_from_slice(value);
    }

    pub(super) fn end(self) {
        if self.any {
            self.out.extend_from_slice(b";\n");
        }
        self.out.extend_from_slice(&self.behind);
    }
}
