//! What a statement of a dump does, as far as loading must know: told by its first words, with version comments read as
//! the code that they are.

use drover_db::sql::{Dialect, Kind as TokenKind, Token, tokens_in_comments};

/// A name that may have a schema before it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Qualified {
    pub(super) schema: Option<String>,
    pub(super) name: String,
}

impl Qualified {
    fn parts(&self) -> Vec<&str> {
        self.schema.iter().chain([&self.name]).map(String::as_str).collect()
    }
}

/// What a statement is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sets something of the session only.
    Session,
    /// Changes or asks something of the server itself: replication, accounts, global settings. Not a part of the data.
    Server,
    Use(String),
    CreateSchema(String),
    DropSchema(String),
    CreateTable(Qualified),
    /// A table that is made from another one or from rows: its order among the others counts.
    CreateTableFrom(Qualified),
    CreateView(Qualified),
    CreateSequence(Qualified),
    /// The word for DROP, and the name.
    CreateProgram(&'static str, Qualified),
    CreateTrigger {
        name: Qualified,
        table: Qualified,
    },
    /// DROP TABLE, VIEW or SEQUENCE, and TRUNCATE.
    Drop(Vec<Qualified>),
    /// DROP of a program or trigger.
    DropProgram,
    /// LOCK TABLES and UNLOCK TABLES.
    Lock,
    /// BEGIN, START TRANSACTION and COMMIT.
    Transaction,
    /// Takes back what was done, which cannot be.
    Rollback,
    /// ALTER TABLE … DISABLE KEYS.
    DisableKeys(Qualified),
    /// ALTER TABLE … ENABLE KEYS.
    EnableKeys(Qualified),
    /// INSERT INTO … VALUES, whose order among others of the kind does not count.
    Insert(Qualified),
    /// INSERT IGNORE, REPLACE and INSERT … SELECT, whose order does.
    InsertInOrder(Qualified),
    /// LOAD DATA LOCAL INFILE: the file and the table.
    Load(String, Qualified),
    Other,
}

impl Kind {
    /// The names in it that matter here.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Use(name) | Self::CreateSchema(name) | Self::DropSchema(name) => vec![name],
            Self::CreateTable(name)
            | Self::CreateTableFrom(name)
            | Self::CreateView(name)
            | Self::CreateSequence(name)
            | Self::CreateProgram(_, name)
            | Self::DisableKeys(name)
            | Self::EnableKeys(name)
            | Self::Insert(name)
            | Self::InsertInOrder(name)
            | Self::Load(_, name) => name.parts(),
            Self::CreateTrigger { name, table } => [name.parts(), table.parts()].concat(),
            Self::Drop(names) => names.iter().flat_map(Qualified::parts).collect(),
            Self::Session
            | Self::Server
            | Self::DropProgram
            | Self::Lock
            | Self::Transaction
            | Self::Rollback
            | Self::Other => Vec::new(),
        }
    }

    /// Whether it puts rows into a table.
    pub(super) fn is_data(&self) -> bool {
        matches!(self, Self::Insert(_) | Self::InsertInOrder(_) | Self::Load(..))
    }

    /// What a statement is.
    pub(super) fn of(text: &[u8], dialect: Dialect) -> Self {
        let mut words = Words { tokens: Box::new(code(text, dialect)), ahead: None };
        let Some(first) = words.word() else { return Self::Other };
        match first.as_str() {
            "SET" => set(words),
            "USE" => words.name().map_or(Self::Other, Self::Use),
            "CREATE" => create(words),
            "DROP" => drop_(words),
            "ALTER" => alter(words),
            "LOCK" | "UNLOCK" => Self::Lock,
            "TRUNCATE" => {
                let _ = words.is("TABLE");
                words.qualified().map_or(Self::Other, |name| Self::Drop(vec![name]))
            }
            // MariaDB has blocks of statements, too: BEGIN NOT ATOMIC … END.
            "BEGIN" if words.is("NOT") => Self::Other,
            "BEGIN" | "COMMIT" => Self::Transaction,
            "START" if words.is("TRANSACTION") => Self::Transaction,
            "ROLLBACK" => Self::Rollback,
            "INSERT" | "REPLACE" => insert(words, first == "INSERT"),
            "LOAD" => load(words),
            "RENAME" if words.is_any(&["TABLE", "TABLES"]) => Self::Other,
            "CHANGE" | "START" | "STOP" | "RESET" | "FLUSH" | "PURGE" | "GRANT" | "REVOKE" | "INSTALL"
            | "UNINSTALL" | "SHUTDOWN" | "KILL" | "RENAME" | "CLONE" => Self::Server,
            _ => Self::Other,
        }
    }
}

/// The tokens of a text that mean anything, those in version comments too.
fn code(text: &[u8], dialect: Dialect) -> impl Iterator<Item = Token<'_>> {
    tokens_in_comments(text, dialect).filter(Token::is_code)
}

/// The tokens of a statement, one after the other.
struct Words<'a> {
    tokens: Box<dyn Iterator<Item = Token<'a>> + 'a>,
    ahead: Option<Token<'a>>,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        self.ahead.take().or_else(|| self.tokens.next())
    }

    fn peek(&mut self) -> Option<Token<'a>> {
        if self.ahead.is_none() {
            self.ahead = self.tokens.next();
        }
        self.ahead
    }

    /// The next token as an upper-case word; names in quotes are none.
    fn word(&mut self) -> Option<String> {
        let token = self.next().filter(|token| token.kind == TokenKind::Word)?;
        Some(String::from_utf8_lossy(token.text).to_ascii_uppercase())
    }

    /// Takes the next token if it is this word.
    fn is(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_word(word));
        if found {
            self.ahead = None;
        }
        found
    }

    fn is_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.peek().is_some_and(|token| token.is_symbol(symbol));
        if found {
            self.ahead = None;
        }
        found
    }

    fn if_exists(&mut self) {
        if self.is("IF") {
            let _ = self.is("NOT");
            let _ = self.is("EXISTS");
        }
    }

    fn name(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(&self.next()?.name()?).into_owned())
    }

    fn qualified(&mut self) -> Option<Qualified> {
        let first = self.name()?;
        match self.symbol(b'.') {
            true => Some(Qualified { schema: Some(first), name: self.name()? }),
            false => Some(Qualified { schema: None, name: first }),
        }
    }

    /// Passes over tokens up to one of these words, which it takes and gives.
    fn up_to(&mut self, wanted: &[&'static str]) -> Option<&'static str> {
        loop {
            let token = self.next()?;
            if let Some(found) = wanted.iter().find(|word| token.is_word(word)) {
                return Some(found);
            }
        }
    }
}

/// Whether a SET changes only the session: `GLOBAL` and `PERSIST` stand before the name of what is set, perhaps behind `@@`.
fn set(mut words: Words<'_>) -> Kind {
    // MariaDB's SET STATEMENT … FOR runs another statement.
    if words.is("STATEMENT") {
        return Kind::Other;
    }
    let mut before_name = true;
    while let Some(token) = words.next() {
        let is_global =
            ["GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD", "ROLE"].iter().any(|word| token.is_word(word));
        if before_name && (is_global || token.is_word("DEFAULT")) {
            return Kind::Server;
        }
        before_name = token.is_symbol(b',') || before_name && token.is_symbol(b'@');
    }
    Kind::Session
}

fn create(mut words: Words<'_>) -> Kind {
    if words.is("OR") {
        let _ = words.is("REPLACE");
    }
    let what = words.up_to(&[
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
    ]);
    let Some(what) = what else { return Kind::Other };
    let what = if what == "PACKAGE" && words.is("BODY") { "PACKAGE BODY" } else { what };
    words.if_exists();
    let named = match what {
        "DATABASE" | "SCHEMA" => return words.name().map_or(Kind::Other, Kind::CreateSchema),
        "USER" | "ROLE" | "SERVER" => return Kind::Server,
        _ => words.qualified(),
    };
    let Some(name) = named else { return Kind::Other };
    match what {
        "TABLE" => create_table(name, words),
        "VIEW" => Kind::CreateView(name),
        "SEQUENCE" => Kind::CreateSequence(name),
        "TRIGGER" => trigger(name, words),
        "PROCEDURE" | "FUNCTION" | "PACKAGE" | "PACKAGE BODY" | "EVENT" | "LIBRARY" => {
            Kind::CreateProgram(what, name)
        }
        _ => Kind::Other,
    }
}

/// A table whose definition is a list of columns and nothing else.
fn create_table(name: Qualified, mut words: Words<'_>) -> Kind {
    if !words.symbol(b'(') || words.is("LIKE") || words.is("SELECT") {
        return Kind::CreateTableFrom(name);
    }
    let mut depth = 1usize;
    while let Some(token) = words.next() {
        depth += usize::from(token.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        if depth == 0 && ["SELECT", "WITH", "AS", "VALUES"].iter().any(|word| token.is_word(word)) {
            return Kind::CreateTableFrom(name);
        }
    }
    Kind::CreateTable(name)
}

fn trigger(name: Qualified, mut words: Words<'_>) -> Kind {
    match words.up_to(&["ON"]).and_then(|_| words.qualified()) {
        Some(table) => Kind::CreateTrigger { name, table },
        None => Kind::Other,
    }
}

fn drop_(mut words: Words<'_>) -> Kind {
    let _ = words.is("TEMPORARY");
    if words.is_any(&["DATABASE", "SCHEMA"]) {
        words.if_exists();
        return words.name().map_or(Kind::Other, Kind::DropSchema);
    }
    if words.is_any(&["USER", "ROLE", "SERVER"]) {
        return Kind::Server;
    }
    if words.is_any(&["PROCEDURE", "FUNCTION", "EVENT", "TRIGGER", "PACKAGE", "LIBRARY"]) {
        return Kind::DropProgram;
    }
    if !words.is_any(&["TABLE", "TABLES", "VIEW", "SEQUENCE"]) {
        return Kind::Other;
    }
    words.if_exists();
    let mut names = Vec::new();
    while let Some(name) = words.qualified() {
        names.push(name);
        if !words.symbol(b',') {
            break;
        }
    }
    Kind::Drop(names)
}

fn alter(mut words: Words<'_>) -> Kind {
    if words.is_any(&["USER", "INSTANCE", "SERVER"]) {
        return Kind::Server;
    }
    if !words.is("TABLE") {
        return Kind::Other;
    }
    let Some(name) = words.qualified() else { return Kind::Other };
    let enable = words.is("ENABLE");
    let is_keys = (enable || words.is("DISABLE")) && words.is("KEYS") && words.peek().is_none();
    match (is_keys, enable) {
        (true, true) => Kind::EnableKeys(name),
        (true, false) => Kind::DisableKeys(name),
        (false, _) => Kind::Other,
    }
}

fn insert(mut words: Words<'_>, is_insert: bool) -> Kind {
    let plain = is_insert && words.is("INTO");
    while !plain && words.is_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"]) {}
    let Some(name) = words.qualified() else { return Kind::Other };
    if words.symbol(b'(') {
        while words.next().is_some_and(|token| !token.is_symbol(b')')) {}
    }
    let values = words.is_any(&["VALUES", "VALUE"]);
    if plain && values { Kind::Insert(name) } else { Kind::InsertInOrder(name) }
}

fn load(mut words: Words<'_>) -> Kind {
    if words.up_to(&["LOCAL"]).is_none() || !words.is("INFILE") {
        return Kind::Other;
    }
    let file = words.next().and_then(|token| literal(&token));
    let table = words.up_to(&["TABLE"]).and_then(|_| words.qualified());
    match (file, table) {
        (Some(file), Some(table)) => Kind::Load(file, table),
        _ => Kind::Other,
    }
}

/// A string literal without escapes, as file names are.
fn literal(token: &Token<'_>) -> Option<String> {
    let text = std::str::from_utf8(token.text).ok()?;
    let inner = text.strip_prefix(['\'', '"'])?.strip_suffix(['\'', '"'])?;
    (token.kind == TokenKind::String).then(|| inner.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        Kind::of(text.as_bytes(), Dialect::default())
    }

    fn name(name: &str) -> Qualified {
        Qualified { schema: None, name: name.into() }
    }

    fn in_schema(schema: &str, name: &str) -> Qualified {
        Qualified { schema: Some(schema.into()), name: name.into() }
    }

    #[test]
    fn settings_of_the_session_and_of_the_server() {
        for text in [
            "/*!40101 SET NAMES utf8 */",
            "SET @@SESSION.SQL_LOG_BIN= 0",
            "SET @a = @@GLOBAL.time_zone",
            "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='GLOBAL' */",
        ] {
            assert_eq!(kind(text), Kind::Session, "{text}");
        }
        for text in [
            "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'x:1-17'",
            "/*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF */",
            "SET a = 1, GLOBAL b = 2",
            "CHANGE MASTER TO MASTER_LOG_POS=1",
            "FLUSH PRIVILEGES",
            "CREATE USER a",
        ] {
            assert_eq!(kind(text), Kind::Server, "{text}");
        }
    }

    #[test]
    fn schemas_tables_and_views() {
        assert_eq!(kind("USE `a``b`"), Kind::Use("a`b".into()));
        assert_eq!(
            kind("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `s` /*!40100 x */"),
            Kind::CreateSchema("s".into())
        );
        assert_eq!(kind("/*!40000 DROP DATABASE IF EXISTS `s`*/"), Kind::DropSchema("s".into()));
        assert_eq!(
            kind("CREATE TABLE IF NOT EXISTS `s`.`t` (\n `as` int, (x)) ENGINE=x"),
            Kind::CreateTable(in_schema("s", "t"))
        );
        assert_eq!(kind("CREATE TABLE t (a int) AS SELECT 1"), Kind::CreateTableFrom(name("t")));
        assert_eq!(kind("CREATE TABLE t LIKE u"), Kind::CreateTableFrom(name("t")));
        let view = "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */\n\
                    /*!50001 VIEW `v1` AS select '*/' */";
        assert_eq!(kind(view), Kind::CreateView(name("v1")));
        assert_eq!(kind("/*!50001 DROP VIEW IF EXISTS `v`*/"), Kind::Drop(vec![name("v")]));
        assert_eq!(kind("DROP TABLE a, s.b"), Kind::Drop(vec![name("a"), in_schema("s", "b")]));
        assert_eq!(kind("/*!50003 DROP FUNCTION IF EXISTS `f` */"), Kind::DropProgram);
        assert_eq!(kind("/*!40000 ALTER TABLE `t` DISABLE KEYS */"), Kind::DisableKeys(name("t")));
        assert_eq!(kind("ALTER TABLE `t` ENABLE KEYS"), Kind::EnableKeys(name("t")));
        assert_eq!(kind("ALTER TABLE t ADD KEY (a)"), Kind::Other);
    }

    #[test]
    fn programs() {
        let trigger = "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `tr` BEFORE INSERT ON `a` \
                       FOR EACH ROW BEGIN /* on */ SET NEW.d = 1; END */";
        assert_eq!(kind(trigger), Kind::CreateTrigger { name: name("tr"), table: name("a") });
        assert_eq!(
            kind("CREATE DEFINER=a@b FUNCTION f() RETURNS int RETURN 1"),
            Kind::CreateProgram("FUNCTION", name("f"))
        );
        assert_eq!(kind("CREATE PACKAGE BODY p AS x"), Kind::CreateProgram("PACKAGE BODY", name("p")));
        assert_eq!(
            kind("/*!50106 CREATE*/ /*!50117 DEFINER=`r`@`l`*/ /*!50106 EVENT `e` ON x */"),
            Kind::CreateProgram("EVENT", name("e"))
        );
    }

    #[test]
    fn rows() {
        assert_eq!(kind("INSERT INTO `t` VALUES (1)"), Kind::Insert(name("t")));
        assert_eq!(kind("INSERT INTO `t` (`a`, `b)`) VALUES (1)"), Kind::Insert(name("t")));
        for text in
            ["INSERT IGNORE INTO `t` VALUES (1)", "REPLACE INTO `t` VALUES (1)", "INSERT INTO t SELECT 1"]
        {
            assert_eq!(kind(text), Kind::InsertInOrder(name("t")), "{text}");
        }
        let load = "LOAD DATA LOCAL INFILE 's.t.00000.dat' REPLACE INTO TABLE `t` CHARACTER SET binary";
        assert_eq!(kind(load), Kind::Load("s.t.00000.dat".into(), name("t")));
        assert_eq!(kind("LOAD DATA INFILE '/etc/passwd' INTO TABLE t"), Kind::Other);
    }

    #[test]
    fn the_rest() {
        assert_eq!([kind("LOCK TABLES `a` WRITE"), kind("UNLOCK TABLES")], [Kind::Lock, Kind::Lock]);
        assert_eq!([kind("commit"), kind("START TRANSACTION")], [Kind::Transaction, Kind::Transaction]);
        assert_eq!([kind("START SLAVE"), kind("ROLLBACK")], [Kind::Server, Kind::Rollback]);
        let others = [
            "",
            "SET STATEMENT sql_mode = '' FOR INSERT INTO t VALUES (1)",
            "BEGIN NOT ATOMIC INSERT INTO t VALUES (1); END",
            "RENAME TABLE a TO b",
        ];
        others.iter().for_each(|text| assert_eq!(kind(text), Kind::Other, "{text}"));
        assert_eq!(kind("TRUNCATE TABLE s.t"), Kind::Drop(vec![in_schema("s", "t")]));
        assert_eq!([kind("BEGIN"), kind("BEGIN WORK")], [Kind::Transaction, Kind::Transaction]);
    }
}
