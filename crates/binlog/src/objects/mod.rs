//! What a statement changes and what it reads, as far as its own text tells.
//!
//! No statement is run or checked here: the server that logged it has done so. Where the text does not tell, as of CALL, that is said too.

mod created;
mod references;

use drover_db::sql::{Token, tokens_in_comments};

use crate::event::Query;
use crate::loads::dialect;
use crate::log::Short;

pub(crate) use created::{rows_follow, without_rows};

use references::{are_qualified, references};

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Objects {
    /// It changes these, and reads those tables for it.
    Named {
        /// At least one.
        changed: Vec<Object>,
        read: Vec<Table>,
        /// Whether it changes rows: then triggers and foreign keys may change other tables' too.
        changes_rows: bool,
        /// Whether something in it may be of the session's schema.
        needs_schema: bool,
    },
    /// Nothing by itself: savepoints, what ends a transaction.
    OfTransaction,
    /// Accounts, settings, maintenance of the server.
    OfServer,
    /// The text does not tell.
    Untold,
}

/// What a statement changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Object {
    /// A table, a view, a sequence, or what belongs to a table.
    Table(Table),
    /// A routine, an event or another program in this schema.
    Program(Vec<u8>),
    /// A trigger in this schema, of a table that is not told.
    Trigger(Vec<u8>),
    /// A schema.
    Schema(Vec<u8>),
}

/// A table, with its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) schema: Vec<u8>,
    pub(crate) name: Vec<u8>,
}

impl Objects {
    /// Of a statement of a log.
    ///
    /// # Errors
    /// If its settings are cut off.
    pub(crate) fn of(query: &Query<'_>) -> Result<Self, Short> {
        let code = tokens_in_comments(query.text, dialect(query)?).filter(Token::is_code).collect();
        let mut reader = Reader { code, at: 0, schema: query.schema, needs_schema: false };
        Ok(reader.statement().unwrap_or(Self::Untold))
    }

    /// Whether the session's schema need not be the right one for it, nor be there.
    pub(crate) fn needs_no_schema(query: &Query<'_>) -> Result<bool, Short> {
        Ok(matches!(Self::of(query)?, Self::Named { needs_schema: false, .. }))
    }

    /// The schema that a statement drops, if it drops one.
    pub(crate) fn dropped_schema(query: &Query<'_>) -> Result<Option<Vec<u8>>, Short> {
        Self::schema_of("DROP", query)
    }

    /// The schema that a statement makes, if it makes one.
    pub(crate) fn made_schema(query: &Query<'_>) -> Result<Option<Vec<u8>>, Short> {
        Self::schema_of("CREATE", query)
    }

    fn schema_of(verb: &str, query: &Query<'_>) -> Result<Option<Vec<u8>>, Short> {
        let mut code = tokens_in_comments(query.text, dialect(query)?).filter(Token::is_code);
        if !code.next().is_some_and(|token| token.is_word(verb)) {
            return Ok(None);
        }
        let Self::Named { changed, .. } = Self::of(query)? else { return Ok(None) };
        Ok(changed.into_iter().find_map(|object| match object {
            Object::Schema(name) => Some(name),
            _ => None,
        }))
    }
}

/// Reads the code of a statement, token by token.
struct Reader<'a> {
    code: Vec<Token<'a>>,
    at: usize,
    /// The session's.
    schema: &'a [u8],
    needs_schema: bool,
}

/// What CREATE, ALTER and DROP make, change and drop, and what that is.
const KINDS: [(&str, Kind); 23] = [
    ("TABLE", Kind::Table),
    ("TABLES", Kind::Table),
    ("VIEW", Kind::View),
    ("SEQUENCE", Kind::Table),
    ("INDEX", Kind::Index),
    ("TRIGGER", Kind::Trigger),
    ("PROCEDURE", Kind::Program),
    ("FUNCTION", Kind::Program),
    ("EVENT", Kind::Program),
    ("PACKAGE", Kind::Program),
    ("LIBRARY", Kind::Program),
    ("DATABASE", Kind::Schema),
    ("SCHEMA", Kind::Schema),
    ("USER", Kind::Server),
    ("ROLE", Kind::Server),
    ("SERVER", Kind::Server),
    ("TABLESPACE", Kind::Server),
    ("LOGFILE", Kind::Server),
    ("UNDO", Kind::Server),
    ("RESOURCE", Kind::Server),
    ("REFERENCE", Kind::Server),
    ("INSTANCE", Kind::Server),
    ("PREPARE", Kind::Server),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    View,
    Index,
    Trigger,
    Program,
    Schema,
    Server,
}

/// Statements about the server and its accounts.
const OF_SERVER: [&str; 13] = [
    "GRANT",
    "REVOKE",
    "FLUSH",
    "RESET",
    "INSTALL",
    "UNINSTALL",
    "KILL",
    "PURGE",
    "CHANGE",
    "CACHE",
    "SHUTDOWN",
    "IMPORT",
    "BINLOG",
];
const OF_TRANSACTION: [&str; 10] =
    ["SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT", "BEGIN", "START", "XA", "LOCK", "UNLOCK", "USE"];

impl<'a> Reader<'a> {
    fn statement(&mut self) -> Option<Objects> {
        let first = self.code.first()?.text.to_ascii_uppercase();
        let first = std::str::from_utf8(&first).ok()?;
        self.at = 1;
        match first {
            "CREATE" | "ALTER" | "DROP" => self.definition(first),
            "RENAME" if self.take("USER") => Some(Objects::OfServer),
            "RENAME" => self.tables(&["TO"]),
            "TRUNCATE" => {
                self.take("TABLE");
                let table = self.table()?;
                self.changes(vec![Object::Table(table)])
            }
            "ANALYZE" | "OPTIMIZE" | "REPAIR" | "CHECK" | "CHECKSUM" => {
                let _ = self.take("NO_WRITE_TO_BINLOG") || self.take("LOCAL");
                if self.is_any(&["TABLE", "TABLES", "VIEW"]) {
                    return self.tables(&[]);
                }
                // ANALYZE UPDATE … runs it (MariaDB).
                self.code.drain(..self.at);
                self.statement()
            }
            "LOAD" if self.is("INDEX") => Some(Objects::OfServer),
            "LOAD" => {
                self.skip_to("INTO")?;
                if !self.take("TABLE") {
                    return None;
                }
                let table = self.table()?;
                Some(Objects::Named {
                    changed: vec![Object::Table(table)],
                    read: Vec::new(),
                    changes_rows: true,
                    needs_schema: true,
                })
            }
            "SET" if self.take("STATEMENT") => {
                self.skip_to("FOR")?;
                self.code.drain(..self.at);
                self.statement()
            }
            "SET" => Some(Objects::OfServer),
            "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "WITH" => self.rows(),
            first if OF_SERVER.contains(&first) => Some(Objects::OfServer),
            first if OF_TRANSACTION.contains(&first) => Some(Objects::OfTransaction),
            _ => None,
        }
    }

    /// CREATE, ALTER and DROP.
    fn definition(&mut self, verb: &str) -> Option<Objects> {
        let kind = self.kind()?;
        match kind {
            Kind::Server => return Some(Objects::OfServer),
            Kind::Table if verb == "CREATE" => return self.created_table(),
            Kind::Table if verb == "ALTER" => return self.altered_table(),
            // What a view reads is looked up when it is used, by names that are of the session's schema when it is made.
            Kind::View if verb != "DROP" => {
                self.skip_conditions();
                let view = self.table()?;
                let is_told = self.skip_to("AS").is_some() && are_qualified(self.code.get(self.at..)?);
                self.needs_schema |= !is_told;
                return self.changes(vec![Object::Table(view)]);
            }
            Kind::Table | Kind::View => return self.tables(&[]),
            Kind::Index => {
                self.skip_to("ON")?;
                let table = self.table()?;
                return self.changes(vec![Object::Table(table)]);
            }
            Kind::Schema | Kind::Trigger | Kind::Program => {}
        }
        self.take("BODY");
        self.skip_conditions();
        if kind == Kind::Schema {
            // ALTER DATABASE may leave out the name.
            const OPTIONS: [&str; 8] =
                ["DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "COMMENT", "READ", "ENCRYPTION", "UPGRADE"];
            let is_told =
                self.code.get(self.at).is_some_and(|token| !OPTIONS.iter().any(|word| token.is_word(word)));
            self.needs_schema = !is_told;
            let name = if is_told { self.name()? } else { self.schema.to_vec() };
            return self.changes(vec![Object::Schema(name)]);
        }
        let Table { schema, .. } = self.table()?;
        if kind == Kind::Trigger && verb == "CREATE" {
            self.skip_to("ON")?;
            let table = self.table()?;
            return self.changes(vec![Object::Table(table)]);
        }
        if kind == Kind::Trigger {
            return self.changes(vec![Object::Trigger(schema)]);
        }
        let mut changed = vec![Object::Program(schema)];
        if verb == "ALTER" && self.skip_to("RENAME").is_some() && self.take("TO") {
            changed.push(Object::Program(self.table()?.schema));
        }
        self.changes(changed)
    }

    /// Goes on behind the word that says what is made, changed or dropped.
    fn kind(&mut self) -> Option<Kind> {
        loop {
            let token = self.code.get(self.at)?;
            self.at += 1;
            if token.is_word("DEFINER") {
                self.definer()?;
            } else if let Some((_, kind)) = KINDS.iter().find(|(word, _)| token.is_word(word)) {
                return Some(*kind);
            }
        }
    }

    /// `= name @ host`, or CURRENT_USER; nothing behind SQL SECURITY DEFINER.
    fn definer(&mut self) -> Option<()> {
        if !self.take_symbol(b'=') {
            return Some(());
        }
        self.at += 1;
        if self.code.get(self.at)?.is_symbol(b'@') {
            self.at += 2;
        }
        Some(())
    }

    fn created_table(&mut self) -> Option<Objects> {
        self.skip_conditions();
        let table = self.table()?;
        let mut read = Vec::new();
        self.at += usize::from(self.code.get(self.at).is_some_and(|token| token.is_symbol(b'(')));
        if self.take("LIKE") {
            read.push(self.table()?);
        } else if let Some(select) =
            self.code.get(self.at..)?.iter().position(|token| token.is_word("SELECT"))
        {
            read = references(&self.code[self.at + select..], self.schema)?
                .into_iter()
                .map(|reference| reference.table)
                .collect();
        }
        let needs_schema = self.needs_schema || read.iter().any(|read| read.schema == self.schema);
        Some(Objects::Named { changed: vec![Object::Table(table)], read, changes_rows: false, needs_schema })
    }

    /// ALTER TABLE, with what it exchanges with another one or renames it to.
    fn altered_table(&mut self) -> Option<Objects> {
        self.skip_conditions();
        let table = self.table()?;
        let mut changed = vec![Object::Table(table)];
        let mut depth = 0_u32;
        while let Some(token) = self.code.get(self.at) {
            self.at += 1;
            if token.is_symbol(b'(') {
                depth += 1;
            } else if token.is_symbol(b')') {
                depth = depth.saturating_sub(1);
            }
            let is_other = depth == 0
                && (token.is_word("TABLE")
                    || token.is_word("RENAME") && !self.is_any(&["COLUMN", "INDEX", "KEY"]));
            if is_other {
                let _ = self.take("TO") || self.take("AS") || self.take_symbol(b'=');
                changed.push(Object::Table(self.table()?));
            }
        }
        self.changes(changed)
    }

    /// A list of tables behind TABLE, with commas or these words between.
    fn tables(&mut self, between: &[&str]) -> Option<Objects> {
        let _ = self.take("TABLE") || self.take("TABLES") || self.take("VIEW");
        self.skip_conditions();
        let mut changed = vec![Object::Table(self.table()?)];
        loop {
            // RENAME TABLE … WAIT 5 TO …
            let _ = self.take("NOWAIT")
                || (self.take("WAIT") && {
                    self.at += 1;
                    true
                });
            if !self.take_symbol(b',') && !between.iter().any(|word| self.take(word)) {
                return self.changes(changed);
            }
            changed.push(Object::Table(self.table()?));
        }
    }

    /// What changes rows.
    fn rows(&mut self) -> Option<Objects> {
        let (mut changed, mut read) = (Vec::new(), Vec::new());
        for reference in references(&self.code, self.schema)? {
            match reference.is_read {
                true => read.push(reference.table),
                false => changed.push(Object::Table(reference.table)),
            }
        }
        let is_told = !changed.is_empty();
        is_told.then_some(Objects::Named { changed, read, changes_rows: true, needs_schema: true })
    }

    fn changes(&self, changed: Vec<Object>) -> Option<Objects> {
        let needs_schema = self.needs_schema;
        Some(Objects::Named { changed, read: Vec::new(), changes_rows: false, needs_schema })
    }

    /// IF EXISTS, IF NOT EXISTS.
    fn skip_conditions(&mut self) {
        if self.take("IF") {
            self.take("NOT");
            self.take("EXISTS");
        }
    }

    /// Goes on behind this word, wherever it stands outside of parentheses.
    fn skip_to(&mut self, word: &str) -> Option<()> {
        let mut depth = 0_u32;
        let at = self.code.get(self.at..)?.iter().position(|token| {
            if token.is_symbol(b'(') {
                depth += 1;
            } else if token.is_symbol(b')') {
                depth = depth.saturating_sub(1);
            }
            depth == 0 && token.is_word(word)
        })?;
        self.at += at + 1;
        Some(())
    }

    fn is(&self, word: &str) -> bool {
        self.code.get(self.at).is_some_and(|token| token.is_word(word))
    }

    fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let is_there = self.is(word);
        self.at += usize::from(is_there);
        is_there
    }

    fn take_symbol(&mut self, symbol: u8) -> bool {
        let is_there = self.code.get(self.at).is_some_and(|token| token.is_symbol(symbol));
        self.at += usize::from(is_there);
        is_there
    }

    fn name(&mut self) -> Option<Vec<u8>> {
        let name = self.code.get(self.at)?.name()?;
        self.at += 1;
        Some(name)
    }

    fn table(&mut self) -> Option<Table> {
        let (table, length) = qualified(self.code.get(self.at..)?, self.schema)?;
        self.at += length;
        self.needs_schema |= length == 1;
        Some(table)
    }
}

/// A name, with its schema or of this one, and how many tokens it takes.
fn qualified(code: &[Token<'_>], schema: &[u8]) -> Option<(Table, usize)> {
    let first = code.first()?.name()?;
    if !code.get(1).is_some_and(|token| token.is_symbol(b'.')) {
        return Some((Table { schema: schema.to_vec(), name: first }, 1));
    }
    Some((Table { schema: first, name: code.get(2)?.name()? }, 3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn objects(text: &[u8]) -> Objects {
        let query = Query { thread: 1, seconds: 0, error: 0, status: &[], schema: b"here", text };
        Objects::of(&query).unwrap()
    }

    /// What is changed, and behind a `<` what is read.
    fn told(text: &str) -> String {
        let table = |Table { schema, name }: &Table| {
            [&schema[..], b".", name].concat().iter().map(|&byte| char::from(byte)).collect::<String>()
        };
        let schema = |schema: &[u8]| String::from_utf8(schema.to_vec()).unwrap();
        match objects(text.as_bytes()) {
            Objects::Named { changed, read, .. } => {
                let changed = changed.iter().map(|object| match object {
                    Object::Table(of) => table(of),
                    Object::Program(of) => format!("program in {}", schema(of)),
                    Object::Trigger(of) => format!("trigger in {}", schema(of)),
                    Object::Schema(of) => format!("schema {}", schema(of)),
                });
                let read: Vec<_> = read.iter().map(table).collect();
                let behind = if read.is_empty() { String::new() } else { format!(" < {}", read.join(" ")) };
                changed.collect::<Vec<_>>().join(" ") + &behind
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn views_that_need_no_schema() {
        let needs =
            |text: &str| matches!(objects(text.as_bytes()), Objects::Named { needs_schema: true, .. });
        for text in [
            "CREATE VIEW x.v AS select * from x.a",
            "CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW x.v (n, m) AS SELECT COUNT(*), y.f(1) FROM x.a JOIN y.b ON (1)",
            "ALTER VIEW x.v AS WITH c AS (SELECT 1 FROM x.a) SELECT * FROM c WHERE 1 IN (1)",
        ] {
            assert!(!needs(text), "{text}");
        }
        for text in [
            "CREATE VIEW v AS SELECT * FROM x.a",
            "CREATE VIEW x.v AS SELECT * FROM a",
            "CREATE VIEW x.v AS SELECT 1 FROM x.a WHERE b IN (SELECT 1 FROM c)",
            "CREATE VIEW x.v AS SELECT own(1) FROM x.a",
            "CREATE VIEW x.v AS SELECT `count`(1) FROM x.a",
        ] {
            assert!(needs(text), "{text}");
        }
    }

    #[test]
    fn definitions() {
        for (text, right) in [
            ("CREATE TABLE t (a INT)", "here.t"),
            ("create or replace table if not exists `x`.`a``b` (a INT)", "x.a`b"),
            ("CREATE TEMPORARY TABLE x.t LIKE y.u", "x.t < y.u"),
            ("CREATE TABLE x.t (LIKE u)", "x.t < here.u"),
            ("CREATE TABLE x.t (id INT) AS SELECT u.a FROM y.u JOIN v", "x.t < y.u here.v"),
            ("CREATE TABLE `t` (`select` INT, KEY (a)) COMMENT 'SELECT'", "here.t"),
            ("ALTER TABLE x.t ADD a INT AFTER b, RENAME COLUMN c TO d", "x.t"),
            ("ALTER ONLINE IGNORE TABLE x.t RENAME y.u", "x.t y.u"),
            ("ALTER TABLE x.t RENAME INDEX a TO b, RENAME TO y.u", "x.t y.u"),
            ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE y.u", "here.t y.u"),
            ("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `x`.`t`,u /* generated by server */", "x.t here.u"),
            ("DROP TABLES x.t", "x.t"),
            ("RENAME TABLE x.a TO b, c WAIT 5 TO y.d", "x.a here.b here.c y.d"),
            ("TRUNCATE x.t", "x.t"),
            ("TRUNCATE TABLE t", "here.t"),
            ("CREATE UNIQUE INDEX `ON` ON x.t (a)", "x.t"),
            ("DROP INDEX a ON x.t", "x.t"),
            (
                "CREATE ALGORITHM=MERGE DEFINER=`view`@`table` SQL SECURITY DEFINER VIEW x.v AS SELECT 1 FROM y.t",
                "x.v",
            ),
            ("CREATE DEFINER=`a`@`b` TRIGGER x.tr BEFORE INSERT ON x.t FOR EACH ROW SET @a = 1", "x.t"),
            ("DROP TRIGGER IF EXISTS x.tr", "trigger in x"),
            ("CREATE DEFINER=CURRENT_USER PROCEDURE x.p() DELETE FROM y.t", "program in x"),
            ("CREATE PACKAGE BODY x.p AS END", "program in x"),
            ("ALTER EVENT x.e ON SCHEDULE EVERY 1 DAY RENAME TO y.e", "program in x program in y"),
            ("CREATE DATABASE IF NOT EXISTS x", "schema x"),
            ("ALTER DATABASE CHARACTER SET utf8mb4", "schema here"),
            ("DROP SCHEMA x", "schema x"),
            ("CREATE USER a", "OfServer"),
            ("DROP ROLE a", "OfServer"),
            ("GRANT ALL ON x.* TO a", "OfServer"),
            ("SET STATEMENT sql_mode = '' FOR ALTER TABLE x.t ADD a INT", "x.t"),
            ("ANALYZE LOCAL TABLE x.t, u", "x.t here.u"),
            ("ANALYZE UPDATE x.t SET a = 1", "x.t"),
            ("LOAD DATA LOCAL INFILE 'into table z' INTO TABLE x.t (a)", "x.t"),
            ("SAVEPOINT a", "OfTransaction"),
            ("CALL x.p()", "Untold"),
            ("", "Untold"),
            ("CREATE", "Untold"),
        ] {
            assert_eq!(told(text), right, "{text}");
        }
    }

    #[test]
    fn rows() {
        for (text, right) in [
            ("INSERT INTO x.t VALUES (1)", "x.t"),
            (
                "INSERT IGNORE t SELECT * FROM y.u, v WHERE a IN (SELECT b FROM z.w)",
                "here.t < y.u here.v z.w",
            ),
            ("INSERT INTO t (a, b) VALUES (1, 2) ON DUPLICATE KEY UPDATE a = b", "here.t"),
            ("INSERT INTO t SET a = EXTRACT(YEAR FROM b), c = TRIM(d FROM e)", "here.t"),
            ("REPLACE INTO x.t (SELECT a FROM (SELECT 1 FROM y.u) AS s, v)", "x.t < y.u here.v"),
            ("INSERT INTO t TABLE x.u", "here.t < x.u"),
            ("UPDATE x.t SET a = (SELECT MAX(b) FROM y.u), c = 2 WHERE d = 3", "x.t < y.u"),
            (
                "UPDATE LOW_PRIORITY x.t AS a JOIN (y.u, v) ON a.b = u.c, w SET a.d = 1",
                "x.t y.u here.v here.w",
            ),
            ("DELETE QUICK FROM x.t WHERE a IN (1, 2) LIMIT 1", "x.t"),
            ("DELETE a, b.* FROM x.t AS a, y.u b WHERE a.c = b.c", "x.t y.u"),
            ("DELETE FROM a USING x.t AS a JOIN u", "x.t here.u"),
            ("WITH c AS (SELECT a FROM y.u) UPDATE x.t JOIN c SET b = 1", "x.t < y.u"),
            ("UPDATE t JOIN JSON_TABLE('[]', '$') AS j SET a = 1", "here.t"),
            ("INSERT INTO `x`.`t` VALUES ('FROM y.u')", "x.t"),
        ] {
            assert_eq!(told(text), right, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(words in prop::collection::vec(prop_oneof![
            Just("CREATE"), Just("TABLE"), Just("x.t"), Just("FROM"), Just("("), Just(")"), Just(","), Just("DELETE"), Just("UPDATE"),
            Just("WITH"), Just("AS"), Just("SELECT"), Just("INTO"), Just("INSERT"), Just("`"), Just("'"), Just("DEFINER"), Just("="),
            Just("@"), Just("RENAME"), Just("TO"), Just("."), Just("SET STATEMENT"), Just("FOR"), Just("JOIN"), Just("/*!1"), Just("*/"),
        ], 0..20)) {
            let _told = objects(words.join(" ").as_bytes());
        }
    }
}
