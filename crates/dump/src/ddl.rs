//! CREATE TABLE statements as the servers print them, taken apart: which indexes and foreign keys can wait until the
//! rows are in.

use drover_db::quote;
use drover_db::sql::{Dialect, Kind, Token, tokens};

/// A CREATE TABLE statement in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreateTable {
    /// Up to the opening parenthesis.
    head: Vec<u8>,
    /// Columns, keys and constraints.
    pub(crate) items: Vec<Vec<u8>>,
    /// From the closing parenthesis on.
    pub(crate) tail: Vec<u8>,
}

/// A CREATE TABLE without what can wait, and what waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) create: Vec<u8>,
    /// Key definitions for one ALTER TABLE.
    pub(crate) keys: Vec<Vec<u8>>,
    /// Foreign key constraints for another one.
    pub(crate) foreign_keys: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Column { auto_increment: bool },
    Primary,
    Unique,
    Plain,
    Fulltext,
    ForeignKey,
    Other,
}

impl CreateTable {
    /// Takes the statement apart; `None` if it has no list in parentheses.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let (mut depth, mut at) = (0usize, 0usize);
        let (mut open, mut start) = (None, 0);
        let mut items = Vec::new();
        for token in tokens(text, Dialect::default()) {
            let end = at + token.text.len();
            match token.text {
                b"(" if token.kind == Kind::Symbol => {
                    depth += 1;
                    if depth == 1 && open.is_none() {
                        (open, start) = (Some(end), end);
                    }
                }
                b"," if token.kind == Kind::Symbol && depth == 1 => {
                    items.push(trim(&text[start..at]));
                    start = end;
                }
                b")" if token.kind == Kind::Symbol => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        items.push(trim(&text[start..at]));
                        return Some(Self { head: text[..open?].to_vec(), items, tail: text[at..].to_vec() });
                    }
                }
                _ => {}
            }
            at = end;
        }
        None
    }

    /// The statement, put together again.
    pub(crate) fn to_text(&self) -> Vec<u8> {
        [&self.head, b"\n  ".as_slice(), &self.items.join(&b",\n  "[..]), b"\n", &self.tail].concat()
    }

    /// The table without the items at these places.
    pub(crate) fn without(&self, places: &[usize]) -> Self {
        let kept = self.items.iter().enumerate().filter(|(place, _)| !places.contains(place));
        Self { items: kept.map(|(_, item)| item.clone()).collect(), ..self.clone() }
    }

    /// Whether the table keeps its history (MariaDB), so that a key is not simply added.
    pub(crate) fn is_versioned(&self) -> bool {
        let words: Vec<_> = code(&self.tail).collect();
        words.windows(2).any(|pair| pair[0].is_word("SYSTEM") && pair[1].is_word("VERSIONING"))
    }

    fn column(&self, name: &str) -> Option<usize> {
        let is_it = |item: &Vec<u8>| {
            let first = code(item).next().filter(|token| token.kind == Kind::Quoted);
            first.and_then(|token| token.name()).is_some_and(|found| found == name.as_bytes())
        };
        self.items.iter().position(is_it)
    }

    /// Whether the definition of a column has such a token.
    pub(crate) fn column_has(&self, name: &str, wanted: impl Fn(&Token<'_>) -> bool) -> bool {
        self.column(name).is_some_and(|index| code(&self.items[index]).any(|token| wanted(&token)))
    }

    /// Replaces tokens in the definition of a column; `change` also sees the code token before.
    pub(crate) fn change_column(
        &mut self,
        name: &str,
        mut change: impl FnMut(Option<&Token<'_>>, &Token<'_>) -> Option<Vec<u8>>,
    ) {
        let Some(index) = self.column(name) else { return };
        let (mut changed, mut before) = (Vec::new(), None);
        for token in tokens(&self.items[index], Dialect::default()) {
            match change(before.as_ref(), &token) {
                Some(text) => changed.extend(text),
                None => changed.extend_from_slice(token.text),
            }
            if token.is_code() {
                before = Some(token);
            }
        }
        self.items[index] = changed;
    }

    /// Takes out the foreign keys, and the secondary keys too if `defer_keys`.
    pub(crate) fn split(self, defer_keys: bool) -> Split {
        let kinds: Vec<_> = self.items.iter().map(|item| classify(item)).collect();
        let defer = if defer_keys { deferrable(&kinds) } else { |_| false };
        self.take_out(&kinds, defer, |_| false)
    }

    /// Takes out the foreign keys, and the secondary keys but for those whose columns, in small letters, are needed.
    pub(crate) fn split_but(self, is_needed: impl Fn(&[Vec<u8>]) -> bool) -> Split {
        let kinds: Vec<_> = self.items.iter().map(|item| classify(item)).collect();
        self.take_out(&kinds, deferrable(&kinds), is_needed)
    }

    fn take_out(
        self,
        kinds: &[Item],
        defer: fn(Item) -> bool,
        is_needed: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Split {
        let stays: Vec<_> = (0..kinds.len())
            .filter(|&index| defer(kinds[index]) && is_needed(&self.key_columns(index)))
            .chain(self.auto_increment_key(kinds))
            .collect();
        // Keys of its kind before it stay too: else they would come to stand behind it.
        let goes = |index: usize| !stays.iter().any(|&stays| kinds[stays] == kinds[index] && index <= stays);
        let (mut keep, mut keys, mut foreign_keys) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (item, &kind)) in self.items.into_iter().zip(kinds).enumerate() {
            if kind == Item::ForeignKey {
                foreign_keys.push(item);
            } else if defer(kind) && goes(index) {
                keys.push(item);
            } else {
                keep.push(item);
            }
        }
        let create = Self { head: self.head, items: keep, tail: self.tail }.to_text();
        Split { create, keys, foreign_keys }
    }

    /// The columns of a key in small letters.
    fn key_columns(&self, index: usize) -> Vec<Vec<u8>> {
        let (mut depth, mut columns) = (0usize, Vec::new());
        for token in code(&self.items[index]).skip_while(|token| !token.is_symbol(b'(')) {
            match token.text {
                b"(" => depth += 1,
                b")" if depth == 1 => break,
                b")" => depth = depth.saturating_sub(1),
                _ if depth == 1 && token.kind == Kind::Quoted => {
                    columns.extend(token.name().map(|name| name.to_ascii_lowercase()));
                }
                _ => {}
            }
        }
        columns
    }

    /// Takes the collation out of columns that have it from their table: MySQL shows such a column's collation without its
    /// character set, and would take it for the column's own if it were given.
    pub(crate) fn inherit_collations(&mut self) {
        for item in &mut self.items {
            if matches!(classify(item), Item::Column { .. }) {
                *item = without_inherited_collation(item);
            }
        }
    }

    /// The secondary key that an AUTO_INCREMENT column needs: the first that begins with it, as InnoDB wants one. If no key
    /// does, which MyISAM allows, the first that holds it. `None` if that is the primary key.
    fn auto_increment_key(&self, kinds: &[Item]) -> Option<usize> {
        let column = kinds.iter().position(|kind| *kind == Item::Column { auto_increment: true })?;
        let name = code(&self.items[column]).next()?.name()?;
        let is_key = |index: &usize| matches!(kinds[*index], Item::Primary | Item::Unique | Item::Plain);
        let parts = |index: usize| code(&self.items[index]).skip_while(|t| !t.is_symbol(b'(')).skip(1);
        let is_it = |token: Token<'_>| token.name().as_ref() == Some(&name);
        let keys = || (0..kinds.len()).filter(is_key);
        let begins = keys().find(|&index| parts(index).next().is_some_and(is_it));
        let lead = begins.or_else(|| keys().find(|&index| parts(index).any(is_it)));
        lead.filter(|&index| kinds[index] != Item::Primary)
    }
}

/// Which keys may be added later without changing what SHOW CREATE TABLE says: the servers list unique keys before the
/// others and full-text keys last, each kind in the order in which it was made.
fn deferrable(kinds: &[Item]) -> fn(Item) -> bool {
    let has = |kind| kinds.contains(&kind);
    if has(Item::Other) {
        return |_| false;
    }
    // Without a primary key, InnoDB clusters the rows by the first unique key: that one cannot wait.
    if has(Item::Primary) {
        |kind| matches!(kind, Item::Unique | Item::Plain)
    } else {
        |kind| kind == Item::Plain
    }
}

/// The same for a whole statement, if it can be taken apart.
pub(crate) fn with_inherited_collations(create: &[u8]) -> Vec<u8> {
    let Some(mut parts) = CreateTable::parse(create) else { return create.to_vec() };
    parts.inherit_collations();
    parts.to_text()
}

fn without_inherited_collation(item: &[u8]) -> Vec<u8> {
    let all: Vec<_> = tokens(item, Dialect::default()).collect();
    let (mut depth, mut collate) = (0usize, None);
    for (index, token) in all.iter().enumerate() {
        match token.text {
            b"(" if token.kind == Kind::Symbol => depth += 1,
            b")" if token.kind == Kind::Symbol => depth = depth.saturating_sub(1),
            _ if depth == 0 && token.is_word("CHARACTER") => return item.to_vec(),
            _ if depth == 0 && collate.is_none() && token.is_word("COLLATE") => collate = Some(index),
            _ => {}
        }
    }
    // The word, the space behind it, the collation's name and the space behind that one.
    let cut = collate.map_or(0..0, |at| at..(at + 4).min(all.len()));
    let kept = all.iter().enumerate().filter(|(index, _)| !cut.contains(index));
    let kept: Vec<u8> = kept.flat_map(|(_, token)| token.text.iter().copied()).collect();
    kept.trim_ascii_end().to_vec()
}

fn classify(item: &[u8]) -> Item {
    let words: Vec<_> = code(item).take(8).collect();
    let Some(first) = words.first() else { return Item::Other };
    if first.kind == Kind::Quoted {
        let auto_increment = code(item).any(|token| token.is_word("AUTO_INCREMENT"));
        return Item::Column { auto_increment };
    }
    let is = |index: usize, word: &str| words.get(index).is_some_and(|token| token.is_word(word));
    match () {
        () if is(0, "PRIMARY") => Item::Primary,
        () if is(0, "UNIQUE") => Item::Unique,
        () if is(0, "KEY") => Item::Plain,
        () if is(0, "FULLTEXT") => Item::Fulltext,
        () if is(0, "CONSTRAINT") && is(2, "FOREIGN") => Item::ForeignKey,
        // A CHECK stands behind the keys in both servers' output and is no key.
        () if is(0, "CONSTRAINT") && is(2, "CHECK") => Item::Column { auto_increment: false },
        () => Item::Other,
    }
}

fn code(text: &[u8]) -> impl Iterator<Item = Token<'_>> {
    tokens(text, Dialect::default()).filter(Token::is_code)
}

fn trim(text: &[u8]) -> Vec<u8> {
    text.trim_ascii().to_vec()
}

/// Where the option with the next AUTO_INCREMENT value begins, with the space before it, among the tokens of a table's end.
fn auto_increment_option(tail: &[Token<'_>]) -> Option<usize> {
    tail.windows(4)
        .position(|w| w[1].is_word("AUTO_INCREMENT") && w[2].is_symbol(b'=') && w[3].kind == Kind::Word)
}

/// The next AUTO_INCREMENT value.
pub(crate) fn auto_increment(create: &[u8]) -> Option<u64> {
    let parts = CreateTable::parse(create)?;
    let tail: Vec<_> = tokens(&parts.tail, Dialect::default()).collect();
    let value = tail.get(auto_increment_option(&tail)? + 3)?;
    std::str::from_utf8(value.text).ok()?.parse().ok()
}

/// The definition without the next AUTO_INCREMENT value, which changes with every row that is inserted, and without what TiDB
/// notes for AUTO_RANDOM in the same way.
pub(crate) fn without_auto_increment(create: &[u8]) -> Vec<u8> {
    let Some(parts) = CreateTable::parse(create) else { return create.to_vec() };
    let tail: Vec<_> = tokens(&parts.tail, Dialect::default()).collect();
    let mut changing = vec![false; tail.len()];
    if let Some(at) = auto_increment_option(&tail) {
        changing[at..at + 4].fill(true);
    }
    if let Some(at) = tail.iter().position(|token| token.text.starts_with(b"/*T![auto_rand_base]")) {
        changing[at.saturating_sub(1)..=at].fill(true); // with the space before it
    }
    let kept = tail.iter().zip(&changing).filter(|(_, changing)| !**changing);
    let before = &create[..create.len() - parts.tail.len()];
    before.iter().copied().chain(kept.flat_map(|(token, _)| token.text.iter().copied())).collect()
}

/// The first line in which two definitions differ.
pub(crate) fn first_difference(now: &[Vec<u8>], then: &[Vec<u8>]) -> String {
    let lines = |statements: &[Vec<u8>]| -> Vec<String> {
        let text = String::from_utf8_lossy(&statements.join(&b"\n"[..])).into_owned();
        text.lines().map(|line| line.trim().to_owned()).collect()
    };
    let (now, then) = (lines(now), lines(then));
    let at = now.iter().zip(&then).position(|(a, b)| a != b).unwrap_or(now.len().min(then.len()));
    let line = |lines: &[String]| lines.get(at).map_or("nothing".to_owned(), |line| quote::string(line));
    format!("{} instead of {}", line(&now), line(&then))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "CREATE TABLE `t,(` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `a)` varchar(10) DEFAULT 'x,(' COMMENT 'KEY `no` (`a`)',
  `b` int(11) GENERATED ALWAYS AS (`id` + (1)) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`a)`),
  KEY `k` (`b`,`id`) /*!80000 INVISIBLE */,
  FULLTEXT KEY `f` (`a)`),
  CONSTRAINT `fk` FOREIGN KEY (`b`) REFERENCES `p` (`id`) ON DELETE CASCADE,
  CONSTRAINT `c` CHECK (`id` > 0)
) ENGINE=InnoDB AUTO_INCREMENT=42 DEFAULT CHARSET=utf8mb4 COMMENT='a AUTO_INCREMENT=1'";

    fn texts(items: &[Vec<u8>]) -> Vec<String> {
        items.iter().map(|item| String::from_utf8(item.clone()).unwrap()).collect()
    }

    #[test]
    fn keys_and_foreign_keys_are_taken_out() {
        let split = CreateTable::parse(TABLE.as_bytes()).unwrap().split(true);
        assert_eq!(texts(&split.keys), ["UNIQUE KEY `u` (`a)`)", "KEY `k` (`b`,`id`) /*!80000 INVISIBLE */"]);
        assert_eq!(split.foreign_keys.len(), 1);
        let create = String::from_utf8(split.create).unwrap();
        assert!(
            create.contains("FULLTEXT KEY") && create.contains("CHECK") && !create.contains("`u`"),
            "{create}"
        );
        assert!(create.ends_with("COMMENT='a AUTO_INCREMENT=1'"));
    }

    #[test]
    fn what_stays_in_place_is_the_statement_itself() {
        let without_fk = TABLE
            .replace("  CONSTRAINT `fk` FOREIGN KEY (`b`) REFERENCES `p` (`id`) ON DELETE CASCADE,\n", "");
        let split = CreateTable::parse(TABLE.as_bytes()).unwrap().split(false);
        assert_eq!(String::from_utf8(split.create).unwrap(), without_fk);
        assert!(split.keys.is_empty());
    }

    #[test]
    fn the_key_of_an_auto_increment_column_stays() {
        let deferred = |primary: &str| {
            let text = format!(
                "CREATE TABLE `t` (\n  `a` int AUTO_INCREMENT,\n  `b` int,\n  PRIMARY KEY ({primary}),\n  \
                 UNIQUE KEY `u` (`b`,`a`),\n  KEY `x` (`b`),\n  KEY `y` (`a`),\n  KEY `z` (`b`)\n)"
            );
            texts(&CreateTable::parse(text.as_bytes()).unwrap().split(true).keys)
        };
        let all = ["UNIQUE KEY `u` (`b`,`a`)", "KEY `x` (`b`)", "KEY `y` (`a`)", "KEY `z` (`b`)"];
        assert_eq!(deferred("`a`"), all);
        for primary in ["`b`", "`b`,`a`"] {
            assert_eq!(deferred(primary), ["UNIQUE KEY `u` (`b`,`a`)", "KEY `z` (`b`)"], "{primary}");
        }
    }

    #[test]
    fn keys_that_are_needed_stay() {
        let parsed = CreateTable::parse(TABLE.as_bytes()).unwrap();
        let keys = |needed: &'static [u8]| {
            texts(
                &parsed
                    .clone()
                    .split_but(|columns| columns.first().is_some_and(|first| first == needed))
                    .keys,
            )
        };
        assert_eq!(keys(b"a)"), ["KEY `k` (`b`,`id`) /*!80000 INVISIBLE */"]);
        assert_eq!(keys(b"b"), ["UNIQUE KEY `u` (`a)`)"]);
        assert_eq!(keys(b"x").len(), 2);
    }

    #[test]
    fn without_a_primary_key_unique_keys_stay() {
        let text = "CREATE TABLE `t` (\n  `a` int NOT NULL,\n  UNIQUE KEY `u` (`a`),\n  KEY `k` (`a`)\n)";
        assert_eq!(texts(&CreateTable::parse(text.as_bytes()).unwrap().split(true).keys), ["KEY `k` (`a`)"]);
    }

    #[test]
    fn a_collation_of_the_tables_own_is_left_to_the_table() {
        let cut = |text: &str| String::from_utf8(without_inherited_collation(text.as_bytes())).unwrap();
        assert_eq!(cut("`a` varchar(9) COLLATE latin1_bin NOT NULL"), "`a` varchar(9) NOT NULL");
        let own = "`a` varchar(9) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT 'x COLLATE y'";
        assert_eq!(cut(own), own);
        let computed = "`a` varchar(9) GENERATED ALWAYS AS ((`b` collate utf8mb4_bin)) VIRTUAL";
        assert_eq!(cut(computed), computed);
    }

    #[test]
    fn the_next_auto_increment_is_no_part_of_a_definition() {
        let expected = TABLE.replace(" AUTO_INCREMENT=42", "");
        assert_eq!(String::from_utf8(without_auto_increment(TABLE.as_bytes())).unwrap(), expected);
        assert_eq!(without_auto_increment(expected.as_bytes()), expected.as_bytes());
        assert_eq!((auto_increment(TABLE.as_bytes()), auto_increment(expected.as_bytes())), (Some(42), None));
        let tidb = expected.replace(" COMMENT=", " /*T![auto_rand_base] AUTO_RANDOM_BASE=30001 */ COMMENT=");
        assert_eq!(String::from_utf8(without_auto_increment(tidb.as_bytes())).unwrap(), expected);
    }

    #[test]
    fn text_without_a_list_is_no_table() {
        for text in ["", "CREATE TABLE t", "CREATE TABLE t (a", "CREATE TABLE )("] {
            assert_eq!(CreateTable::parse(text.as_bytes()), None, "{text}");
        }
    }
}
