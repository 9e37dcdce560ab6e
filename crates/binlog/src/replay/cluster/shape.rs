//! The engine of a table and the keys that tell its rows apart, as statements of the logs make and change them. A table is left out
//! where a statement does not tell them.

use drover_db::sql::{Dialect, Kind, Token, tokens_in_comments};

/// What a table is like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// `None` for the target's default.
    pub(super) engine: Option<String>,
    pub(super) columns: Vec<Column>,
    /// Those that let no two rows have the same values.
    pub(super) keys: Vec<Key>,
    pub(super) is_uncertain: bool,
}

/// A column. Names of columns and keys are in lower case: servers take them in any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// True for one that is computed when it is read, too: neither lets a key tell all rows apart.
    pub(super) takes_null: bool,
}

/// A primary or a unique key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// Whether its columns are whole ones, with no beginning and no expression among them.
    pub(super) is_whole: bool,
    /// Whether the server has named it: which number the name ends with depends on the other keys.
    pub(super) has_made_name: bool,
}

/// What the primary key is called, in lower case.
pub(super) const PRIMARY: &str = "primary";

/// Words that a definition begins with which is no column's.
const NO_COLUMN: [&str; 9] =
    ["CONSTRAINT", "PRIMARY", "UNIQUE", "INDEX", "KEY", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK"];

impl Shape {
    /// One of which nothing is said.
    pub(super) fn uncertain() -> Self {
        Self { is_uncertain: true, ..Self::default() }
    }

    /// Of a CREATE TABLE that is neither LIKE another one nor makes a temporary one.
    pub(super) fn created(text: &[u8], dialect: Dialect) -> Self {
        let code = code(text, dialect);
        let (mut shape, mut options) = (Self::default(), behind_name(&code));
        // CREATE TABLE t (SELECT …) has no columns of its own.
        let is_select = options.get(1).is_some_and(|token| token.is_word("SELECT"));
        let list = if is_select { &[] } else { within(options) };
        if !list.is_empty() {
            items(list).for_each(|item| shape.add(item));
            options = &options[list.len() + 2..];
        }
        let ends = options.iter().position(|token| token.is_word("AS") || token.is_word("SELECT"));
        shape.set_engine(&options[..ends.unwrap_or(options.len())]);
        shape
    }

    /// What an ALTER TABLE makes of it, but for its name.
    pub(super) fn alter(&mut self, text: &[u8], dialect: Dialect) {
        let code = code(text, dialect);
        let mut rest = behind(behind_name(&code), &["NOWAIT"]);
        if rest.first().is_some_and(|token| token.is_word("WAIT")) {
            rest = rest.get(2..).unwrap_or_default();
        }
        items(rest).for_each(|change| self.change(change));
    }

    /// A CREATE INDEX.
    pub(super) fn create_index(&mut self, text: &[u8], dialect: Dialect) {
        let code = code(text, dialect);
        let index = code.iter().position(|token| token.is_word("INDEX")).unwrap_or(code.len());
        if !code[..index].iter().any(|token| token.is_word("UNIQUE")) {
            return;
        }
        let rest = behind(behind(&code[index..], &["INDEX"]), &["IF", "NOT", "EXISTS"]);
        let list = rest.iter().position(|token| token.is_symbol(b'(')).unwrap_or(rest.len());
        self.add_key(name(rest), &rest[list..]);
    }

    /// A DROP INDEX.
    pub(super) fn drop_index(&mut self, text: &[u8], dialect: Dialect) {
        let code = code(text, dialect);
        let index = code.iter().position(|token| token.is_word("INDEX")).unwrap_or(code.len());
        self.drop_key(behind(behind(&code[index..], &["INDEX"]), &["IF", "EXISTS"]));
    }

    /// Whether it has a primary key, or a unique one of whole columns without NULLs, which serves as one.
    pub(super) fn has_key(&self) -> bool {
        let takes_no_null = |name: &String| self.columns.iter().any(|c| c.name == *name && !c.takes_null);
        self.keys
            .iter()
            .any(|key| key.name == PRIMARY || key.is_whole && key.columns.iter().all(takes_no_null))
    }

    /// A column, a key or a constraint of a list or behind ADD.
    fn add(&mut self, item: &[Token<'_>]) {
        let is = |words: &[&str]| item.first().is_some_and(|token| words.iter().any(|w| token.is_word(w)));
        let is_followed =
            |words: &[&str]| item.get(1).is_some_and(|token| words.iter().any(|w| token.is_word(w)));
        match () {
            () if is(&["CONSTRAINT"]) => {
                let rest = &item[1..];
                let is_named = !rest.first().is_some_and(|token| NO_COLUMN.iter().any(|w| token.is_word(w)));
                let symbol = name(rest).filter(|_| is_named);
                self.add_constraint(&rest[usize::from(symbol.is_some())..], symbol);
            }
            () if is(&NO_COLUMN) => self.add_constraint(item, None),
            // PERIOD FOR, SYSTEM VERSIONING, PARTITION (…), VECTOR INDEX: of MariaDB.
            () if is(&["PERIOD"]) && is_followed(&["FOR"]) => {}
            () if is(&["SYSTEM"]) && is_followed(&["VERSIONING"]) => {}
            () if is(&["VECTOR"]) && is_followed(&["INDEX", "KEY"]) => {}
            () if is(&["PARTITION"]) => {}
            () => self.add_column(item),
        }
    }

    fn add_constraint(&mut self, item: &[Token<'_>], symbol: Option<String>) {
        let list = item.iter().position(|token| token.is_symbol(b'(')).unwrap_or(item.len());
        match item.first() {
            Some(first) if first.is_word("PRIMARY") => self.add_key(Some(PRIMARY.into()), &item[list..]),
            Some(first) if first.is_word("UNIQUE") => {
                let rest = behind(behind(&item[1..list], &["INDEX"]), &["KEY"]);
                let rest = behind(rest, &["IF", "NOT", "EXISTS"]);
                let is_named = !rest.first().is_some_and(|token| token.is_word("USING"));
                self.add_key(name(rest).filter(|_| is_named).or(symbol), &item[list..]);
            }
            _ => {}
        }
    }

    /// A key of the columns in these parentheses.
    fn add_key(&mut self, name: Option<String>, list: &[Token<'_>]) {
        let (mut columns, mut is_whole) = (Vec::new(), true);
        for item in items(within(list)) {
            match self::name(item) {
                Some(column) => columns.push(column),
                None => is_whole = false,
            }
            is_whole &= !item.get(1).is_some_and(|token| token.is_symbol(b'('));
        }
        if name.as_deref() == Some(PRIMARY) {
            self.columns.iter_mut().filter(|c| columns.contains(&c.name)).for_each(|c| c.takes_null = false);
        }
        // Columns of a SELECT: nobody knows.
        self.is_uncertain |= columns.iter().any(|name| !self.columns.iter().any(|c| c.name == *name));
        let has_made_name = name.is_none();
        let name = name.or_else(|| columns.first().cloned()).unwrap_or_default();
        self.keys.push(Key { name, columns, is_whole, has_made_name });
    }

    fn add_column(&mut self, item: &[Token<'_>]) {
        let Some(name) = name(item) else { return };
        if self.columns.iter().any(|column| column.name == name) {
            return; // ADD COLUMN IF NOT EXISTS
        }
        self.columns.push(Column { name: name.clone(), takes_null: true });
        self.set_column(&name, &item[1..]);
    }

    /// The type and the attributes of a column.
    fn set_column(&mut self, name: &str, item: &[Token<'_>]) {
        let words: Vec<_> = outside(item).collect();
        let is = |at: usize, word: &str| words.get(at).is_some_and(|token| token.is_word(word));
        let has = |one: &str, other: &str| (0..words.len()).any(|at| is(at, one) && is(at + 1, other));
        let is_serial = is(0, "SERIAL") || has("SERIAL", "DEFAULT");
        // The first TIMESTAMP may be NOT NULL by itself.
        let takes_no_null = is_serial || has("NOT", "NULL") || is(0, "TIMESTAMP");
        let any = |names: &[&str]| words.iter().any(|token| names.iter().any(|name| token.is_word(name)));
        let is_virtual = any(&["AS"]) && !any(&["STORED", "PERSISTENT"]);
        let is_unique = is_serial || words.iter().any(|token| token.is_word("UNIQUE"));
        let is_primary = (0..words.len())
            .any(|at| is(at, "KEY") && !at.checked_sub(1).is_some_and(|before| is(before, "UNIQUE")));
        let is_in_primary =
            self.keys.iter().any(|key| key.name == PRIMARY && key.columns.iter().any(|c| c == name));
        if let Some(column) = self.columns.iter_mut().find(|column| column.name == name) {
            column.takes_null = is_virtual || !(takes_no_null || is_primary || is_in_primary);
        }
        let key = |index: &str| Key {
            name: index.into(),
            columns: vec![name.into()],
            is_whole: true,
            has_made_name: index != PRIMARY,
        };
        self.keys.extend(is_primary.then(|| key(PRIMARY)));
        self.keys.extend(is_unique.then(|| key(name)));
    }

    /// One of the changes of an ALTER TABLE.
    fn change(&mut self, change: &[Token<'_>]) {
        let Some((first, rest)) = change.split_first() else { return };
        let is = |words: &[&str]| words.iter().any(|word| first.is_word(word));
        match () {
            () if is(&["ADD"]) => self.add_behind(rest),
            () if is(&["DROP"]) => self.drop_one(rest),
            () if is(&["MODIFY"]) => {
                let rest = behind(behind(rest, &["COLUMN"]), &["IF", "EXISTS"]);
                if let Some(name) = name(rest) {
                    self.set_column(&name, &rest[1..]);
                }
            }
            () if is(&["CHANGE"]) => {
                let rest = behind(behind(rest, &["COLUMN"]), &["IF", "EXISTS"]);
                if let (Some(old), Some(new)) = (name(rest), name(rest.get(1..).unwrap_or_default())) {
                    self.rename_column(&old, &new);
                    self.set_column(&new, &rest[2..]);
                }
            }
            () if is(&["RENAME"]) => self.rename_one(rest),
            () if is(&["ALTER"]) => {}
            () => self.set_engine(change),
        }
    }

    fn add_behind(&mut self, rest: &[Token<'_>]) {
        let rest = behind(behind(rest, &["COLUMN"]), &["IF", "NOT", "EXISTS"]);
        match rest.first().is_some_and(|token| token.is_symbol(b'(')) {
            true => items(within(rest)).for_each(|item| self.add(item)),
            false => self.add(rest),
        }
    }

    fn drop_one(&mut self, rest: &[Token<'_>]) {
        let Some(first) = rest.first() else { return };
        let is = |words: &[&str]| words.iter().any(|word| first.is_word(word));
        match () {
            () if is(&["PRIMARY"]) => self.keys.retain(|key| key.name != PRIMARY),
            () if is(&["INDEX", "KEY", "CONSTRAINT"]) => self.drop_key(behind(&rest[1..], &["IF", "EXISTS"])),
            () if is(&["FOREIGN", "CHECK", "PARTITION"]) => {}
            () => {
                let rest = behind(behind(rest, &["COLUMN"]), &["IF", "EXISTS"]);
                self.drop_column(&name(rest).unwrap_or_default());
            }
        }
    }

    /// Of one whose name the server has made it may be another one that goes.
    fn drop_key(&mut self, rest: &[Token<'_>]) {
        let name = name(rest).unwrap_or_default();
        self.is_uncertain |= self.keys.iter().any(|key| key.name == name && key.has_made_name);
        self.keys.retain(|key| key.name != name);
    }

    /// Keys lose it, and go with the last of theirs.
    fn drop_column(&mut self, name: &str) {
        self.columns.retain(|column| column.name != name);
        self.keys.iter_mut().for_each(|key| key.columns.retain(|column| column != name));
        self.keys.retain(|key| !key.columns.is_empty() || !key.is_whole);
    }

    fn rename_one(&mut self, rest: &[Token<'_>]) {
        let word = |at: usize| rest.get(at..).and_then(name);
        let (Some(first), Some(old), Some(new)) = (rest.first(), word(1), word(3)) else { return };
        if first.is_word("COLUMN") {
            self.rename_column(&old, &new);
        } else if first.is_word("INDEX") || first.is_word("KEY") {
            let keys = self.keys.iter_mut().filter(|key| key.name == old);
            keys.for_each(|key| new.clone_into(&mut key.name));
        }
    }

    fn rename_column(&mut self, old: &str, new: &str) {
        let names = self.columns.iter_mut().map(|column| &mut column.name);
        let in_keys = self.keys.iter_mut().flat_map(|key| &mut key.columns);
        names.chain(in_keys).filter(|name| *name == old).for_each(|name| new.clone_into(name));
    }

    /// The engine among a table's options; partitions name theirs within parentheses.
    fn set_engine(&mut self, options: &[Token<'_>]) {
        let options: Vec<_> = outside(options).collect();
        let Some(at) = options.iter().position(|token| token.is_word("ENGINE")) else { return };
        let mut rest = options[at + 1..].iter().filter(|token| !token.is_symbol(b'='));
        let name = rest.next().and_then(|token| match token.kind {
            Kind::String => token.within_quotes().map(<[u8]>::to_vec),
            _ => token.name(),
        });
        self.engine = name.map(|name| String::from_utf8_lossy(&name).into_owned()).or(self.engine.take());
    }
}

fn code(text: &[u8], dialect: Dialect) -> Vec<Token<'_>> {
    tokens_in_comments(text, dialect).filter(Token::is_code).collect()
}

/// What stands between the parentheses that it begins with; nothing if it begins with none, or they are not closed.
fn within<'c, 't>(code: &'c [Token<'t>]) -> &'c [Token<'t>] {
    let mut depth = 0_usize;
    let is_end = |token: &Token<'_>| {
        depth += usize::from(token.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        depth == 0
    };
    code.iter().position(is_end).and_then(|end| code.get(1..end)).unwrap_or_default()
}

/// The parts between commas outside of parentheses.
fn items<'c, 't>(code: &'c [Token<'t>]) -> impl Iterator<Item = &'c [Token<'t>]> {
    let mut depth = 0_usize;
    code.split(move |token| {
        depth += usize::from(token.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        depth == 0 && token.is_symbol(b',')
    })
}

/// What stands outside of parentheses.
fn outside<'c, 't>(code: &'c [Token<'t>]) -> impl Iterator<Item = &'c Token<'t>> {
    let mut depth = 0_usize;
    code.iter().filter(move |token| {
        depth += usize::from(token.is_symbol(b'('));
        let is_outside = depth == 0;
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        is_outside
    })
}

/// What follows these words, if they are there.
fn behind<'c, 't>(code: &'c [Token<'t>], words: &[&str]) -> &'c [Token<'t>] {
    let are_there = words.iter().enumerate().all(|(at, word)| code.get(at).is_some_and(|t| t.is_word(word)));
    if are_there { &code[words.len()..] } else { code }
}

/// What follows the name behind TABLE.
fn behind_name<'c, 't>(code: &'c [Token<'t>]) -> &'c [Token<'t>] {
    let table = code.iter().position(|token| token.is_word("TABLE")).unwrap_or(code.len());
    let rest = behind(&code[table..], &["TABLE"]);
    let rest = behind(behind(rest, &["IF", "NOT", "EXISTS"]), &["IF", "EXISTS"]);
    let is_qualified = rest.get(1).is_some_and(|token| token.is_symbol(b'.'));
    rest.get(if is_qualified { 3 } else { 1 }..).unwrap_or_default()
}

/// The name that it begins with, in lower case.
fn name(code: &[Token<'_>]) -> Option<String> {
    let name = code.first()?.name()?;
    Some(String::from_utf8_lossy(&name).to_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn created(text: &str) -> Shape {
        Shape::created(text.as_bytes(), Dialect::default())
    }

    /// Of a table of a primary key `id`, a unique one `u` without NULLs, and another one `n` with them.
    fn altered(changes: &str) -> Shape {
        let mut shape =
            created("CREATE TABLE t (id INT PRIMARY KEY, u INT NOT NULL, n INT, UNIQUE u (u), UNIQUE n (n))");
        shape.alter(format!("ALTER TABLE d.t {changes}").as_bytes(), Dialect::default());
        shape
    }

    #[test]
    fn keys_of_new_tables() {
        for text in [
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "CREATE TABLE IF NOT EXISTS `d`.`t` (`id` int NOT NULL, `v` text, PRIMARY KEY (`id`)) ENGINE=InnoDB",
            "CREATE TABLE t (id INT KEY COMMENT 'none', v INT)",
            "CREATE TABLE t (b BLOB, CONSTRAINT PRIMARY KEY USING BTREE (b(10)))",
            "CREATE TABLE t (id SERIAL)",
            "CREATE TABLE t (id BIGINT SERIAL DEFAULT VALUE)",
            "CREATE TABLE t (id INT NOT NULL UNIQUE KEY)",
            "CREATE OR REPLACE TABLE d.t (a INT NOT NULL, b INT NOT NULL, CONSTRAINT c UNIQUE KEY k USING BTREE (b DESC, a))",
            "CREATE TABLE t (UNIQUE (a), a INT NOT NULL)",
            "CREATE TABLE t (/*!50001 id INT PRIMARY KEY */)",
            "CREATE TABLE t (PRIMARY KEY (id)) AS SELECT 1 AS id",
        ] {
            assert!(created(text).has_key() || created(text).is_uncertain, "{text}");
        }
        for text in [
            "CREATE TABLE t (id INT)",
            "CREATE TABLE t (`primary` INT, `key` INT NOT NULL, KEY (`primary`), INDEX (`key`))",
            "CREATE TABLE t (id INT COMMENT 'PRIMARY KEY', v INT DEFAULT (1 + 2))",
            "CREATE TABLE t (id INT UNIQUE)",
            "CREATE TABLE t (a INT NOT NULL, b INT, UNIQUE (a, b))",
            "CREATE TABLE t (v VARCHAR(9) NOT NULL, UNIQUE (v(3)))",
            "CREATE TABLE t (a INT NOT NULL, UNIQUE ((a + 1)))",
            "CREATE TABLE t (a INT, v INT AS (a + 1) VIRTUAL NOT NULL UNIQUE)",
            "CREATE TABLE t (a INT NOT NULL, FOREIGN KEY (a) REFERENCES u (id) ON DELETE SET NULL)",
            "CREATE TABLE t AS SELECT id FROM u",
            "CREATE TABLE t (SELECT id FROM u)",
            "CREATE TABLE `t` (\n  `id` int NOT NULL\n) START TRANSACTION",
        ] {
            let shape = created(text);
            assert!(!shape.has_key() && !shape.is_uncertain, "{text}: {shape:?}");
        }
    }

    #[test]
    fn engines() {
        let engine = |text: &str| created(text).engine.unwrap_or_default();
        assert_eq!(engine("CREATE TABLE t (engine INT) COMMENT='ENGINE=y' ENGINE=MyISAM"), "MyISAM");
        assert_eq!(engine("CREATE TABLE t (a INT) /*!50100 ENGINE = 'Aria' */ AS SELECT 1"), "Aria");
        assert_eq!(engine("CREATE TABLE t ENGINE MEMORY SELECT engine FROM u"), "MEMORY");
        assert_eq!(engine("CREATE TABLE t (a INT) PARTITION BY HASH (a) (PARTITION p ENGINE = Aria)"), "");
        assert_eq!(engine("CREATE TABLE t AS SELECT engine FROM u"), "");
        assert_eq!(
            altered("COMMENT = 'x' ENGINE = MyISAM, ADD COLUMN engine INT").engine.as_deref(),
            Some("MyISAM")
        );
        assert_eq!(altered("ADD COLUMN engine INT").engine, None);
    }

    #[test]
    fn keys_that_are_changed() {
        for changes in [
            "DROP PRIMARY KEY",
            "DROP COLUMN id",
            "DROP id",
            "DROP INDEX u",
            "DROP PRIMARY KEY, ADD PRIMARY KEY (n), DROP KEY u",
            "DROP PRIMARY KEY, DROP CONSTRAINT u, ADD UNIQUE (id)",
            "DROP PRIMARY KEY, RENAME COLUMN u TO w, MODIFY w BIGINT NOT NULL",
            "DROP PRIMARY KEY, CHANGE COLUMN u w BIGINT NOT NULL",
            "DROP PRIMARY KEY, RENAME INDEX u TO w",
            "WAIT 5 DROP COLUMN IF EXISTS id, MODIFY COLUMN n INT PRIMARY KEY",
            "DROP PRIMARY KEY, DROP u, ADD (x INT, y INT NOT NULL UNIQUE)",
            "ADD PARTITION (PARTITION p VALUES LESS THAN (5)), ADD CHECK (n > 0)",
        ] {
            assert!(altered(changes).has_key(), "{changes}: {:?}", altered(changes));
        }
        for changes in [
            "DROP PRIMARY KEY, DROP INDEX u",
            "DROP COLUMN id, DROP COLUMN u",
            "DROP PRIMARY KEY, MODIFY u INT",
            "DROP PRIMARY KEY, RENAME KEY u TO w, DROP KEY w",
            "DROP PRIMARY KEY, CHANGE u n2 INT NULL",
            "DROP PRIMARY KEY, DROP INDEX IF EXISTS u, ADD UNIQUE (n)",
        ] {
            let shape = altered(changes);
            assert!(!shape.has_key() && !shape.is_uncertain, "{changes}: {shape:?}");
        }
        assert!(altered("DROP PRIMARY KEY, DROP INDEX u, ADD UNIQUE (id), DROP INDEX id").is_uncertain);
    }

    #[test]
    fn indexes_by_statements_of_their_own() {
        let mut shape = created("CREATE TABLE t (id INT NOT NULL)");
        shape.create_index(b"CREATE INDEX i ON t (id)", Dialect::default());
        assert!(!shape.has_key());
        shape.create_index(b"CREATE UNIQUE INDEX i ON t (id)", Dialect::default());
        assert!(shape.has_key());
        shape.drop_index(b"DROP INDEX `I` ON t", Dialect::default());
        assert!(!shape.has_key() && !shape.is_uncertain);
        let mut shape = created("CREATE TABLE t (id INT PRIMARY KEY)");
        shape.drop_index(b"DROP INDEX `PRIMARY` ON t", Dialect::default());
        assert!(!shape.has_key());
    }

    proptest! {
        #[test]
        fn any_text_is_read(words in prop::collection::vec(prop_oneof![
            Just("CREATE"), Just("TABLE"), Just("t"), Just("ALTER"), Just("("), Just(")"), Just(","), Just("ADD"), Just("DROP"), Just("PRIMARY"),
            Just("KEY"), Just("UNIQUE"), Just("INDEX"), Just("CONSTRAINT"), Just("ENGINE"), Just("="), Just("`"), Just("'"), Just("MODIFY"),
            Just("CHANGE"), Just("RENAME"), Just("COLUMN"), Just("TO"), Just("WAIT"), Just("SELECT"), Just("."), Just("IF"), Just("EXISTS"),
        ], 0..20)) {
            let text = words.join(" ");
            let mut shape = Shape::created(text.as_bytes(), Dialect::default());
            shape.alter(text.as_bytes(), Dialect::default());
            shape.create_index(text.as_bytes(), Dialect::default());
            shape.drop_index(text.as_bytes(), Dialect::default());
        }
    }
}
