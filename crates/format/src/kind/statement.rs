//! What a statement is, by its first words.

use drover_db::schemas::is_odd;
use drover_db::sql::{Dialect, Kind as TokenKind, Token};

use super::words::{self, Words};
use super::{Kind, Qualified, UNCLEAR, UNKNOWN, change, setting};

const UNCLEAR_BYTES: &str =
    "servers do not agree where its comments end: it has a NUL, or \"--\" before a byte of 0x7f or above";
const REPLACES_SCHEMA: &str = "it would drop the schema that is there";
const FILLS_ELSEWHERE: &str = "its rows would go into other tables";
const ODD_NAME: &str = "no dump has such a name";

impl Kind {
    /// What a statement is.
    pub fn of(text: &[u8], dialect: Dialect) -> Self {
        Self::of_own(text, dialect).with_plain_names()
    }

    /// The same of a statement whose bytes mean the same to every server.
    pub fn of_clear(text: &[u8], dialect: Dialect) -> Self {
        Self::with_any_names(text, dialect).with_plain_names()
    }

    /// What a statement of drover's own dumps is: these may hold schemas that servers call by their directories.
    pub(crate) fn of_own(text: &[u8], dialect: Dialect) -> Self {
        match words::has_unclear_bytes(text, dialect) {
            true => Self::Refused(UNCLEAR_BYTES),
            false => Self::with_any_names(text, dialect),
        }
    }

    fn with_any_names(text: &[u8], dialect: Dialect) -> Self {
        let mut words = Words::new(text, dialect);
        let kind = Self::read(&mut words);
        let relies_on_rest =
            matches!(kind, Self::CreateTable(_) | Self::CreateTableFrom(_) | Self::CreateTableElsewhere(_));
        match kind {
            Self::Refused(_) => kind,
            _ if words.is_unclear() || relies_on_rest && !words::ends_are_clear(text, dialect) => {
                Self::Refused(UNCLEAR)
            }
            _ => kind,
        }
    }

    /// Refuses what servers call by its name on disk.
    fn with_plain_names(self) -> Self {
        match self.names().iter().any(|name| is_odd(name)) {
            true => Self::Refused(ODD_NAME),
            false => self,
        }
    }

    fn read(words: &mut Words<'_>) -> Self {
        let Some(first) = words.word() else { return Self::Refused(UNKNOWN) };
        match first.as_str() {
            "SET" => setting::set(words),
            "USE" => words.name().map_or(Self::Refused(UNKNOWN), Self::Use),
            "CREATE" => create(words),
            "DROP" => drop_(words),
            "ALTER" => change::alter(words),
            "LOCK" | "UNLOCK" => Self::Lock,
            "TRUNCATE" => {
                let _ = words.is("TABLE");
                change::empty(words)
            }
            "DELETE" if words.is("FROM") => change::delete(words),
            "UPDATE" => change::update(words),
            // MariaDB has blocks of statements, too: BEGIN NOT ATOMIC … END, and in its mode for Oracle also without NOT.
            "BEGIN" if words.end_after(&["WORK"]) => Self::Transaction,
            "COMMIT" => Self::Transaction,
            "START" if words.is("TRANSACTION") => Self::Transaction,
            "ROLLBACK" => Self::Refused("a dump takes nothing back"),
            "INSERT" | "REPLACE" => insert(words, first == "INSERT"),
            "LOAD" => load(words),
            "SELECT" | "DO" if words.is("SETVAL") => change::set_value(words),
            "SELECT" | "PREPARE" | "EXECUTE" | "DEALLOCATE" | "SHOW" => change::passed_over(&first, words),
            "RENAME" if words.is_any(&["TABLE", "TABLES"]) => Self::Refused(UNKNOWN),
            "CHANGE" | "START" | "STOP" | "RESET" | "FLUSH" | "PURGE" | "GRANT" | "REVOKE" | "INSTALL"
            | "UNINSTALL" | "SHUTDOWN" | "KILL" | "RENAME" | "CLONE" => Self::Server,
            _ => Self::Refused(UNKNOWN),
        }
    }
}

/// Whether a statement replaces what is there.
pub(crate) fn replaces(text: &[u8], dialect: Dialect) -> bool {
    let mut words = Words::new(text, dialect);
    words.are(&["CREATE", "OR", "REPLACE"])
}

const OBJECTS: [&str; 18] = [
    "TABLE",
    "DATABASE",
    "SCHEMA",
    "VIEW",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "PACKAGE",
    "EVENT",
    "SEQUENCE",
    "LIBRARY",
    "USER",
    "ROLE",
    "SERVER",
    "INDEX",
    "TABLESPACE",
    "LOGFILE",
    "RESOURCE",
];

fn create(words: &mut Words<'_>) -> Kind {
    let replaces = words.is("OR");
    if replaces && !words.is("REPLACE") {
        return Kind::Refused(UNKNOWN);
    }
    if words.is("TEMPORARY") {
        return Kind::Refused("what is temporary is gone with the connection");
    }
    if !attributes(words) {
        return Kind::Refused(UNKNOWN);
    }
    if words.are(&["SPATIAL", "REFERENCE"]) || words.are(&["UNDO", "TABLESPACE"]) {
        return Kind::Server;
    }
    if words.is_any(&["UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"]) {
        return if words.is("INDEX") { change::index(words) } else { Kind::Refused(UNKNOWN) };
    }
    let Some(what) = words.one_of(&OBJECTS) else { return Kind::Refused(UNKNOWN) };
    let what = if what == "PACKAGE" && words.is("BODY") { "PACKAGE BODY" } else { what };
    match what {
        "USER" | "ROLE" | "SERVER" | "TABLESPACE" | "LOGFILE" | "RESOURCE" => return Kind::Server,
        "INDEX" => return change::index(words),
        "DATABASE" | "SCHEMA" if replaces => return Kind::Refused(REPLACES_SCHEMA),
        _ => words.if_exists(),
    }
    if matches!(what, "DATABASE" | "SCHEMA") {
        return words.name().map_or(Kind::Refused(UNKNOWN), Kind::CreateSchema);
    }
    let Some(name) = words.qualified() else { return Kind::Refused(UNKNOWN) };
    match what {
        "TABLE" => create_table(name, words),
        "VIEW" => Kind::CreateView(name),
        "SEQUENCE" => Kind::CreateSequence(name),
        "TRIGGER" => trigger(name, words),
        // One that a library of the server's host provides.
        "FUNCTION" if words.is("RETURNS") => Kind::Server,
        _ => Kind::CreateProgram(what, name),
    }
}

/// Passes over what may stand before the word for what is created: `DEFINER=view` is an account.
fn attributes(words: &mut Words<'_>) -> bool {
    if words.is("ALGORITHM") && !(words.symbol(b'=') && words.name().is_some()) {
        return false;
    }
    if words.is("DEFINER") && !(words.symbol(b'=') && words.account()) {
        return false;
    }
    if words.is("SQL") && !(words.is("SECURITY") && words.name().is_some()) {
        return false;
    }
    while words.is_any(&["AGGREGATE", "JSON", "RELATIONAL", "DUALITY"]) {}
    true
}

/// A table whose definition is a list of columns and nothing else.
fn create_table(name: Qualified, words: &mut Words<'_>) -> Kind {
    words.bear_version_comments();
    let is_list = words.symbol(b'(');
    let is_like = words.peek().is_some_and(|token| token.is_word("LIKE"));
    let (mut depth, mut is_from, mut is_elsewhere) = (usize::from(is_list), is_like, false);
    let mut engine = change::Engine::default();
    let mut is_first = is_list;
    while let Some(token) = words.next() {
        if depth == 0 && change::is_unclear_word(&token) {
            return Kind::Refused(UNKNOWN);
        }
        depth += usize::from(token.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        // WITH also begins a common table expression.
        let is_versioned = token.is_word("WITH") && words.peek().is_some_and(|next| next.is_word("SYSTEM"));
        let begins_query = ["SELECT", "WITH", "AS", "VALUES"].iter().any(|word| token.is_word(word));
        is_from |= (depth == 0 || is_first) && begins_query && !is_versioned;
        let has_versions = words.has_versions();
        is_elsewhere |= !is_from && engine.is_elsewhere(&token, depth > 0, has_versions);
        is_first = is_first && token.is_symbol(b'(');
    }
    match (is_elsewhere, is_from) {
        (true, true) => Kind::Refused(FILLS_ELSEWHERE),
        (_, true) if words.has_versions() => Kind::Refused(UNCLEAR),
        (true, false) => Kind::CreateTableElsewhere(name),
        (false, true) => Kind::CreateTableFrom(name),
        (false, false) if !is_list => Kind::Refused("it has no columns"),
        (false, false) => Kind::CreateTable(name),
    }
}

fn trigger(name: Qualified, words: &mut Words<'_>) -> Kind {
    let is_timed = words.is_any(&["BEFORE", "AFTER"]) && words.up_to("ON");
    match is_timed.then(|| words.qualified()).flatten() {
        Some(table) => Kind::CreateTrigger { name, table },
        None => Kind::Refused(UNKNOWN),
    }
}

fn drop_(words: &mut Words<'_>) -> Kind {
    const PROGRAMS: [&str; 6] = ["PROCEDURE", "FUNCTION", "EVENT", "TRIGGER", "PACKAGE", "LIBRARY"];
    let _ = words.is("TEMPORARY");
    if words.is_any(&["DATABASE", "SCHEMA"]) {
        words.if_exists();
        return words.name().map_or(Kind::Refused(UNKNOWN), Kind::DropSchema);
    }
    if words.is_any(&["USER", "ROLE", "SERVER"]) {
        return Kind::Server;
    }
    if let Some(word) = PROGRAMS.iter().find(|word| words.is(word)) {
        let word = if *word == "PACKAGE" && words.is("BODY") { "PACKAGE BODY" } else { word };
        words.if_exists();
        return words.qualified().map_or(Kind::Refused(UNKNOWN), |name| Kind::DropProgram(word, name));
    }
    if !words.is_any(&["TABLE", "TABLES", "VIEW", "SEQUENCE"]) {
        return Kind::Refused(UNKNOWN);
    }
    words.if_exists();
    let mut names = Vec::new();
    while let Some(name) = words.qualified() {
        names.push(name);
        if !words.symbol(b',') {
            break;
        }
    }
    match words.end_after(&["RESTRICT", "CASCADE"]) {
        true => Kind::Drop(names),
        false => Kind::Refused(UNKNOWN),
    }
}

fn insert(words: &mut Words<'_>, is_insert: bool) -> Kind {
    let plain = is_insert && words.is("INTO");
    while !plain && words.is_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"]) {}
    let Some(name) = words.qualified() else { return Kind::Refused(UNKNOWN) };
    if words.symbol(b'(') {
        while words.next().is_some_and(|token| !token.is_symbol(b')')) {}
    }
    let values = words.is_any(&["VALUES", "VALUE"]);
    if plain && values { Kind::Insert(name) } else { Kind::InsertInOrder(name) }
}

fn load(words: &mut Words<'_>) -> Kind {
    if !words.is_any(&["DATA", "XML"]) {
        return Kind::Refused(UNKNOWN);
    }
    let _ = words.is_any(&["LOW_PRIORITY", "CONCURRENT"]);
    if !words.are(&["LOCAL", "INFILE"]) {
        return Kind::Refused("it reads a file of the server's host");
    }
    let file = words.next().and_then(|token| literal(&token));
    let _ = words.is_any(&["REPLACE", "IGNORE"]);
    let table = words.are(&["INTO", "TABLE"]).then(|| words.qualified()).flatten();
    match (file, table) {
        (Some(file), Some(table)) => Kind::Load(file, table),
        _ => Kind::Refused(UNKNOWN),
    }
}

/// A string literal without escapes, as file names are.
fn literal(token: &Token<'_>) -> Option<String> {
    let text = std::str::from_utf8(token.text).ok()?;
    let inner = text.strip_prefix(['\'', '"'])?.strip_suffix(['\'', '"'])?;
    (token.kind == TokenKind::String).then(|| inner.to_owned())
}
