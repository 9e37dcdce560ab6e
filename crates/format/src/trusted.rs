//! The scripts of a dump, before any of their statements is run: settings of the session, and one statement that creates just
//! what the manifest says. So a script from elsewhere changes nothing of the target's own.

use std::collections::BTreeSet;

use drover_db::sql::{Dialect, Kind as TokenKind, tokens, tokens_in_comments};

use super::manifest::{Column, Schema, Table};
use super::script;
use crate::kind::{self, Kind, Qualified};

/// What a script creates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Creates<'a> {
    /// As `DROP` calls it.
    pub(super) kind: &'a str,
    /// The schema that it is in.
    pub(super) schema: &'a str,
    /// Its name; that of the schema for a schema.
    pub(super) name: &'a str,
    /// The tables of the schema, on which triggers may be made.
    pub(super) tables: &'a [Table],
    /// Whether rows are put into it, and the columns that they have values of.
    pub(super) has_rows: bool,
    pub(super) columns: &'a [Column],
}

/// Settings before a statement, each at most once. How what follows is read depends on them.
const SETTINGS: [&str; 6] = [
    "character_set_client",
    "collation_connection",
    "foreign_key_checks",
    "innodb_strict_mode",
    "sql_mode",
    "time_zone",
];

impl<'a> Creates<'a> {
    /// What all scripts of a schema create, with their scripts.
    pub(super) fn all(schema: &'a Schema) -> impl Iterator<Item = (Self, &'a script::Script)> {
        let of = |kind: &'a str, name: &'a str| {
            let (schema, tables) = (schema.name.as_str(), schema.tables.as_slice());
            Self { kind, schema, name, tables, has_rows: false, columns: &[] }
        };
        let own = [(of("DATABASE", &schema.name), &schema.script)];
        let tables = schema.tables.iter().map(move |table| {
            let (has_rows, columns) = (!table.files.is_empty(), table.columns.as_slice());
            (Self { has_rows, columns, ..of("TABLE", &table.name) }, &table.script)
        });
        let objects = [&schema.sequences, &schema.views, &schema.routines, &schema.triggers, &schema.events];
        let objects = objects.into_iter().flatten();
        own.into_iter()
            .chain(tables)
            .chain(objects.map(move |object| (of(&object.kind, &object.name), &object.script)))
    }

    /// Why the statements are not those of such a script, if they are not.
    pub(super) fn refusal(&self, statements: &[Vec<u8>]) -> Option<String> {
        let dialect = script::dialect(statements);
        let (mut created, mut set) = (0, BTreeSet::new());
        for statement in statements {
            let kind = Kind::of_own(statement, dialect);
            let is_known = match &kind {
                Kind::Session => setting(statement).is_some_and(|name| set.insert(name)) && created == 0,
                // As a program that remembers another collation of its schema is made.
                Kind::AlterSchema(name) => name == self.schema,
                // Where a sequence goes on from.
                Kind::Insert(name) => {
                    self.kind == "SEQUENCE" && self.is_it(name) && has_numbers_only(statement)
                }
                Kind::SetValue(name) => self.kind == "SEQUENCE" && self.is_it(name),
                kind => {
                    created += 1;
                    self.is_created_by(kind)
                        && !kind::replaces(statement, dialect)
                        && !(self.has_rows && self.asks_sequence(statement, dialect))
                }
            };
            if !is_known {
                let begin: String = String::from_utf8_lossy(statement).chars().take(100).collect();
                return Some(format!(
                    "it holds another statement than one that creates {} {}: {begin}",
                    self.kind, self.name
                ));
            }
        }
        (created != 1).then(|| format!("it holds {created} statements that create something"))
    }

    fn is_created_by(&self, kind: &Kind) -> bool {
        match (self.kind, kind) {
            ("DATABASE", Kind::CreateSchema(name)) => name == self.schema,
            ("TABLE", Kind::CreateTableElsewhere(name)) => self.is_it(name) && !self.has_rows,
            ("TABLE", Kind::CreateTable(name))
            | ("SEQUENCE", Kind::CreateTable(name) | Kind::CreateSequence(name))
            | ("VIEW", Kind::CreateView(name)) => self.is_it(name),
            ("TRIGGER", Kind::CreateTrigger { name, table }) => self.is_it(name) && self.has_table(table),
            (word, Kind::CreateProgram(of, name)) => word == *of && self.is_it(name),
            _ => false,
        }
    }

    /// Whether a sequence, which may be the target's own, is asked for each row: by a column that the rows have no value of. drover's own
    /// dumps have one of each column that is not generated.
    fn asks_sequence(&self, statement: &[u8], dialect: Dialect) -> bool {
        let is_given =
            |name: &[u8]| self.columns.iter().any(|column| column.name.as_bytes().eq_ignore_ascii_case(name));
        let (mut depth, mut begins, mut given, mut is_next) = (0, false, false, false);
        // Whether a sequence is asked at all, and whether servers may differ in what is an item of the list: by a version comment.
        let (mut asks, mut commented, mut is_unclear) = (false, false, false);
        for token in tokens_in_comments(statement, dialect) {
            if !token.is_code() {
                let opens = token.text.starts_with(b"/*!") || token.text.starts_with(b"/*M!");
                is_unclear |= opens && begins;
                commented = opens || commented && token.text != b"*/";
                continue;
            }
            if begins {
                given = token.name().is_some_and(|name| is_given(&name));
            }
            is_unclear |= commented && token.kind == TokenKind::Symbol;
            depth += i32::from(token.is_symbol(b'(')) - i32::from(token.is_symbol(b')'));
            begins = depth == 1 && (token.is_symbol(b'(') || token.is_symbol(b','));
            // MySQL prints names of partitions without quotes: one may be called NEXT, and VALUES follows.
            is_next |= token.is_word("NEXT") || token.is_word("PREVIOUS");
            let is_function = ["NEXTVAL", "LASTVAL", "SETVAL"].iter().any(|word| token.is_word(word));
            if is_function || is_next && token.is_word("VALUE") {
                (asks, is_next) = (true, false);
                if !given {
                    return true;
                }
            }
        }
        asks && is_unclear
    }

    fn is_it(&self, name: &Qualified) -> bool {
        let is_same = match self.kind {
            "TABLE" | "SEQUENCE" => name.name == self.name,
            // A name beyond ASCII is in the character set of the one who made it; what is not replaced does no harm.
            _ => is_same(&name.name, self.name) || !name.name.is_ascii() && !self.name.is_ascii(),
        };
        is_same && self.is_in(name)
    }

    /// Triggers are printed as they were written, where servers may take schemas in any case.
    fn is_in(&self, name: &Qualified) -> bool {
        let Some(schema) = name.schema.as_deref() else { return true };
        schema == self.schema || self.kind == "TRIGGER" && is_same(schema, self.schema)
    }

    fn has_table(&self, name: &Qualified) -> bool {
        let is_it = |table: &Table| {
            is_same(&table.name, &name.name) || !table.name.is_ascii() && !name.name.is_ascii()
        };
        self.is_in(name) && self.tables.iter().any(is_it)
    }
}

/// Whether it is the same name. The servers' own rules for letters' case differ.
fn is_same(written: &str, name: &str) -> bool {
    written.to_lowercase() == name.to_lowercase()
}

/// The name of a setting, if it is set as drover does it.
fn setting(statement: &[u8]) -> Option<&'static str> {
    let (name, _) = std::str::from_utf8(statement).ok()?.strip_prefix("SET ")?.split_once(" = ")?;
    SETTINGS.into_iter().find(|known| *known == name)
}

/// Whether the values of an INSERT are numbers.
fn has_numbers_only(statement: &[u8]) -> bool {
    let code = tokens(statement, Dialect::default()).filter(|token| token.is_code());
    let mut values = code.skip_while(|token| !token.is_word("VALUES")).skip(1);
    values.all(|token| match token.kind {
        TokenKind::Word => token.text.iter().all(u8::is_ascii_digit),
        _ => token.kind == TokenKind::Symbol && b"(),-".contains(&token.text[0]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(kind: &str, name: &str, statements: &[&str]) -> Option<String> {
        let statements: Vec<_> = statements.iter().map(|text| text.as_bytes().to_vec()).collect();
        let table = |name: &str| Table {
            name: name.into(),
            script: script::Script::default(),
            engine: "InnoDB".into(),
            columns: Vec::new(),
            generated: Vec::new(),
            computed: Vec::new(),
            rows_elsewhere: false,
            with_history: false,
            key: None,
            partitions: Vec::new(),
            condition: None,
            masks: Default::default(),
            files: Vec::new(),
        };
        let tables = [table("t")];
        let columns = [Column { name: "a".into(), read: None, load: None }];
        let has_rows = name != "elsewhere";
        Creates { kind, schema: "s", name, tables: &tables, has_rows, columns: &columns }.refusal(&statements)
    }

    #[test]
    fn what_drover_writes() {
        let versioned = "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB WITH SYSTEM VERSIONING\n PARTITION BY RANGE (`a`)\n(PARTITION `p` VALUES LESS THAN (1))";
        for (kind, name, statements) in [
            (
                "DATABASE",
                "s",
                &[
                    "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */",
                ][..],
            ),
            ("TABLE", "t", &["SET character_set_client = utf8mb4", "SET foreign_key_checks = 0", versioned]),
            (
                "SEQUENCE",
                "q",
                &["CREATE TABLE `q` (`a` int) ENGINE=InnoDB SEQUENCE=1", "INSERT INTO `q` VALUES (1, -5, 0)"],
            ),
            (
                "VIEW",
                "v",
                &[
                    "SET sql_mode = ''",
                    "CREATE ALGORITHM=UNDEFINED DEFINER=`r`@`%` SQL SECURITY DEFINER VIEW `v` AS select 1",
                ],
            ),
            (
                "TRIGGER",
                "Tr",
                &["CREATE DEFINER=`r`@`%` TRIGGER s.tr BEFORE INSERT ON S.t FOR EACH ROW SET NEW.a = 1"],
            ),
            (
                "FUNCTION",
                "f",
                &[
                    "ALTER DATABASE `s` COLLATE = latin1_bin",
                    "CREATE DEFINER=`r`@`%` FUNCTION `f`() RETURNS int RETURN 1",
                    "ALTER DATABASE `s` COLLATE = utf8mb4_bin",
                ],
            ),
            (
                "PACKAGE BODY",
                "p",
                &[
                    "SET sql_mode = 'ANSI_QUOTES,ORACLE'",
                    "CREATE DEFINER=\"r\"@\"%\" PACKAGE BODY \"p\" AS END",
                ],
            ),
            (
                "EVENT",
                "e",
                &["SET time_zone = 'SYSTEM'", "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO DELETE FROM t"],
            ),
            ("TABLE", "elsewhere", &["CREATE TABLE `elsewhere` (`a` int) ENGINE=MRG_MyISAM UNION=(`x`)"]),
            (
                "TABLE",
                "t",
                &[
                    "CREATE TABLE `t` (\n  `a` int(11) /*M!100301 COMPRESSED*/ DEFAULT (nextval(`other`.`q`)),\n  `g` int AS (`a` + 1)\n)",
                ],
            ),
            ("TABLE", "elsewhere", &["CREATE TABLE `elsewhere` (`b` int DEFAULT nextval(`other`.`q`))"]),
            (
                "TABLE",
                "t",
                &[
                    "CREATE TABLE `t` (`a` int) /*!50100 PARTITION BY RANGE (`a`) (PARTITION next VALUES LESS THAN (1)) */",
                ],
            ),
            ("LIBRARY", "l", &["CREATE LIBRARY `l` LANGUAGE JAVASCRIPT AS $$ f() $$"]),
        ] {
            assert_eq!(refusal(kind, name, statements), None, "{statements:?}");
        }
    }

    #[test]
    fn all_else_is_refused() {
        let view = "CREATE VIEW `v` AS select 1";
        for (kind, name, statements) in [
            ("VIEW", "v", &[view, "DROP TABLE other.t"][..]),
            ("VIEW", "v", &["UPDATE other.t SET a = 1", view]),
            ("VIEW", "v", &["SET GLOBAL general_log = 1", view]),
            ("VIEW", "v", &[view, view]),
            ("VIEW", "v", &["CREATE VIEW `w` AS select 1"]),
            ("VIEW", "v", &["CREATE VIEW `other`.`v` AS select 1"]),
            ("VIEW", "v", &["CREATE TABLE `v` (a int)"]),
            ("VIEW", "v", &["SET sql_mode = ''"]),
            ("TABLE", "t", &["CREATE TABLE `t` AS SELECT 1"]),
            ("TABLE", "t", &["CREATE TABLE `T` (a int)"]),
            ("TABLE", "größe", &["CREATE TABLE `höhe` (a int)"]),
            ("TABLE", "t", &["CREATE TABLE `S`.`t` (a int)"]),
            ("TABLE", "t", &["CREATE OR REPLACE TABLE `t` (a int)"]),
            ("TABLE", "t", &["CREATE TABLE `t` LIKE other.mm"]),
            ("TABLE", "t", &["CREATE TABLE t (a int) ENGINE=MRG_MyISAM UNION=(other.m) INSERT_METHOD=LAST"]),
            ("TABLE", "t", &["CREATE TABLE `t` (`a` int, `b` decimal(9,2) DEFAULT nextval(`other`.`q`))"]),
            (
                "TABLE",
                "t",
                &["CREATE TABLE `t` (`a` int /*!100000 , `b` int DEFAULT (NEXT VALUE FOR other.q) */)"],
            ),
            ("TABLE", "t", &["CREATE TABLE `t` (/*!99999 `a` */ `b` int DEFAULT nextval(`other`.`q`))"]),
            (
                "TABLE",
                "t",
                &["CREATE TABLE `t` (`a` int /*!99999 , `a` x( */ , `b` int DEFAULT nextval(`other`.`q`))"],
            ),
            ("PROCEDURE", "p", &["CREATE OR REPLACE DEFINER=view PROCEDURE p() SELECT 1"]),
            ("VIEW", "v", &["CREATE --\x7f VIEW v AS SELECT 1\n OR REPLACE TABLE other.x (a int)"]),
            ("VIEW", "v", &["SET @a = 1 --\x7f + (1\n , GLOBAL max_connections=66", view]),
            ("VIEW", "v", &["SET sql_mode = ''", "SET sql_mode = 'ANSI_QUOTES'", view]),
            ("VIEW", "v", &["SET sql_mode = ''", "SET @@sql_mode = 'ANSI_QUOTES'", view]),
            ("TRIGGER", "t", &["CREATE TRIGGER `t` BEFORE INSERT ON x FOR EACH ROW SET @a = 1"]),
            ("TRIGGER", "t", &["CREATE TRIGGER `t` BEFORE INSERT ON other.x FOR EACH ROW SET @a = 1"]),
            ("FUNCTION", "f", &["CREATE FUNCTION `f` RETURNS STRING SONAME 'x.so'"]),
            (
                "FUNCTION",
                "f",
                &[
                    "ALTER DATABASE `other` COLLATE = latin1_bin",
                    "CREATE FUNCTION `f`() RETURNS int RETURN 1",
                ],
            ),
            ("SEQUENCE", "q", &["CREATE SEQUENCE `q`", "INSERT INTO `q` VALUES (f())"]),
            ("SEQUENCE", "q", &["CREATE SEQUENCE `q`", "INSERT INTO other.q VALUES (1)"]),
            ("DATABASE", "s", &["CREATE DATABASE `other`"]),
            ("EVENT", "e", &["CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO DELETE FROM t", "DROP EVENT x"]),
        ] {
            assert!(refusal(kind, name, statements).is_some(), "{statements:?}");
        }
    }
}
