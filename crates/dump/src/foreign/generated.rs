//! Values of generated columns, which mariadb-dump writes. MariaDB takes them with a warning, as it computes them itself; MySQL takes
//! DEFAULT alone.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use drover_db::Connection;
use drover_db::sql::{Dialect, Token, tokens, tokens_in_comments};

use crate::Result;
use crate::dump::catalog::{self, Name};
use crate::error::Doing;

/// The generated columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Generated {
    /// In small letters.
    names: BTreeSet<String>,
    /// Their places in an INSERT that lists no columns.
    places: BTreeSet<usize>,
}

impl Generated {
    /// Those of a table; `None` if it has none.
    pub(super) fn of(connection: &mut Connection, table: &Name) -> Result<Option<Self>> {
        let columns = catalog::columns(connection, table)?;
        let computed: Vec<_> = columns.into_iter().filter(|column| !column.generation.is_empty()).collect();
        if computed.is_empty() {
            return Ok(None);
        }
        let visible = connection.query(format!("SELECT * FROM {table} LIMIT 0"));
        let visible = visible.doing(|| format!("asking for the columns of {table}"))?;
        let places = computed.iter().filter_map(|column| visible.column(&column.name)).collect();
        Ok(Some(Self { names: computed.iter().map(|column| column.name.to_lowercase()).collect(), places }))
    }

    /// An INSERT or REPLACE with DEFAULT in the place of their values.
    pub(super) fn translate<'t>(&self, text: Cow<'t, [u8]>, dialect: Dialect) -> Cow<'t, [u8]> {
        let found = self.find(&text, dialect);
        if found.is_empty() {
            return text;
        }
        let (mut out, mut done) = (Vec::with_capacity(text.len()), 0);
        for value in found {
            out.extend_from_slice(&text[done..value.start]);
            out.extend_from_slice(b"DEFAULT");
            done = value.end;
        }
        out.extend_from_slice(&text[done..]);
        out.into()
    }

    /// Where their values stand.
    fn find(&self, text: &[u8], dialect: Dialect) -> Vec<Range<usize>> {
        let mut tokens = tokens(text, dialect).scan(0, with_begin);
        let Some(places) = self.places_in(&mut tokens) else { return Vec::new() };
        if places.is_empty() {
            return Vec::new();
        }
        let (mut depth, mut field, mut start, mut found) = (0usize, 0, 0, Vec::new());
        for (at, token) in tokens.filter(|(_, token)| token.is_code()) {
            match token.text {
                b"(" => {
                    depth += 1;
                    (field, start) = if depth == 1 { (0, at + 1) } else { (field, start) };
                }
                b")" | b"," if depth == 1 => {
                    if places.contains(&field) {
                        found.push(start..at);
                    }
                    (field, start) = (field + 1, at + 1);
                    depth -= usize::from(token.is_symbol(b')'));
                }
                b")" => depth = depth.saturating_sub(1),
                b"," => {}
                // What follows the rows, as ON DUPLICATE KEY UPDATE.
                _ if depth == 0 => break,
                _ => {}
            }
        }
        found
    }

    /// Their places among those that an INSERT lists, read up to its VALUES; `None` if it has none.
    fn places_in<'t>(
        &self,
        tokens: &mut impl Iterator<Item = (usize, Token<'t>)>,
    ) -> Option<BTreeSet<usize>> {
        let (mut listed, mut places) = (None, BTreeSet::new());
        for (_, token) in tokens {
            if token.is_word("VALUES") || token.is_word("VALUE") {
                return Some(if listed.is_some() { places } else { self.places.clone() });
            }
            match &mut listed {
                None if token.is_symbol(b'(') => listed = Some(0),
                Some(count) if token.is_symbol(b',') => *count += 1,
                Some(count) if token.name().is_some_and(|name| self.has(&name)) => {
                    places.insert(*count);
                }
                _ => {}
            }
        }
        None
    }

    fn has(&self, name: &[u8]) -> bool {
        self.names.contains(&String::from_utf8_lossy(name).to_lowercase())
    }
}

/// A token with the place where it begins.
#[expect(clippy::unnecessary_wraps, reason = "scan() asks for an option")]
fn with_begin<'t>(next: &mut usize, token: Token<'t>) -> Option<(usize, Token<'t>)> {
    *next += token.text.len();
    Some((*next - token.text.len(), token))
}

/// Whether a definition may have generated columns.
pub(super) fn may_have_some(definition: &[u8], dialect: Dialect) -> bool {
    tokens_in_comments(definition, dialect).any(|token| token.is_word("AS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_of_generated_columns_become_default() {
        let generated = Generated { names: ["g".into(), "é".into()].into(), places: [1, 2].into() };
        for (text, expected) in [
            (
                "INSERT INTO `t` VALUES (1,'a,)',2.5,3),\n(NULL,f((1),2), -1 ,')')",
                "INSERT INTO `t` VALUES (1,DEFAULT,DEFAULT,3),\n(NULL,DEFAULT,DEFAULT,')')",
            ),
            (
                "REPLACE INTO t (a, `G`, b, É) VALUE (1,2,3,4)",
                "REPLACE INTO t (a, `G`, b, É) VALUE (1,DEFAULT,3,DEFAULT)",
            ),
            ("INSERT INTO t (a, b) VALUES (1,2)", "INSERT INTO t (a, b) VALUES (1,2)"),
            ("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"),
            ("INSERT INTO t SELECT 1, 2, 3", "INSERT INTO t SELECT 1, 2, 3"),
            (
                "INSERT INTO t (a,g) VALUES (1,2) ON DUPLICATE KEY UPDATE a = VALUES(a), b = f(1, 2)",
                "INSERT INTO t (a,g) VALUES (1,DEFAULT) ON DUPLICATE KEY UPDATE a = VALUES(a), b = f(1, 2)",
            ),
        ] {
            let found = generated.translate(text.as_bytes().into(), Dialect::default());
            assert_eq!(String::from_utf8_lossy(&found), expected);
        }
    }

    #[test]
    fn definitions_that_compute() {
        let may = |text: &str| may_have_some(text.as_bytes(), Dialect::default());
        assert!(may("CREATE TABLE t (g int GENERATED ALWAYS AS (a + 1))"));
        assert!(may("CREATE TABLE t (g int /*!50700 as (a + 1) */)"));
        assert!(!may("CREATE TABLE t (`as` int COMMENT 'AS')"));
    }
}
