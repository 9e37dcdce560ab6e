//! The columns that foreign keys refer to: the keys on them cannot wait for the rows, as the servers take a foreign key only
//! where such a key is there.

use std::collections::BTreeMap;

use drover_db::sql::{Token, tokens_in_comments};

use super::script::Statement;
use crate::Result;
use crate::dump::catalog::Name;
use drover_format::kind::Qualified;

/// Lists of columns by the table that they are in, by its name in the dump.
#[derive(Debug, Default, Clone)]
pub(super) struct References(BTreeMap<Name, Vec<Vec<Vec<u8>>>>);

impl References {
    /// Notes what the foreign keys in a statement refer to.
    pub(super) fn add(&mut self, statement: &Statement) -> Result<()> {
        let code = tokens_in_comments(&statement.text, statement.dialect).filter(Token::is_code);
        let mut tokens = code.peekable();
        while let Some(token) = tokens.next() {
            if !token.is_word("REFERENCES") {
                continue;
            }
            let Some(first) = name(tokens.next()) else { continue };
            let table = match tokens.next_if(|token| token.is_symbol(b'.')) {
                Some(_) => Qualified { schema: Some(first), name: name(tokens.next()).unwrap_or_default() },
                None => Qualified { schema: None, name: first },
            };
            if tokens.next_if(|token| token.is_symbol(b'(')).is_none() {
                continue;
            }
            let columns = tokens.by_ref().take_while(|token| !token.is_symbol(b')'));
            let columns = columns.filter_map(|token| Some(token.name()?.to_ascii_lowercase())).collect();
            self.0.entry(statement.name(&table)?).or_default().push(columns);
        }
        Ok(())
    }

    pub(super) fn extend(&mut self, other: Self) {
        for (table, columns) in other.0 {
            self.0.entry(table).or_default().extend(columns);
        }
    }

    /// Whether a foreign key refers to the first columns of a key of this table.
    pub(super) fn need(&self, table: &Name, key: &[Vec<u8>]) -> bool {
        let begins = |columns: &Vec<Vec<u8>>| {
            key.get(..columns.len()).is_some_and(|first| columns.iter().all(|column| first.contains(column)))
        };
        self.0.get(table).is_some_and(|lists| lists.iter().any(begins))
    }
}

fn name(token: Option<Token<'_>>) -> Option<String> {
    Some(String::from_utf8_lossy(&token?.name()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_format::kind::Kind;

    #[test]
    fn keys_on_columns_that_are_referred_to() {
        let statement = Statement {
            file: "a.sql".into(),
            line: 1,
            text: b"CREATE TABLE c (x int REFERENCES p (`B`), y int COMMENT 'REFERENCES q (b)', \
                    FOREIGN KEY (x, y) REFERENCES `s`.`q` (`a`, `b`) ON DELETE CASCADE)"
                .to_vec(),
            kind: Kind::CreateTable(Qualified { schema: None, name: "c".into() }),
            reads: Vec::new(),
            schema: Some("d".into()),
            dialect: Default::default(),
            sets_mode: true,
            dumped: None,
        };
        let mut references = References::default();
        references.add(&statement).unwrap();
        let need = |schema: &str, table: &str, key: &[&[u8]]| {
            references
                .need(&Name::new(schema, table), &key.iter().map(|name| name.to_vec()).collect::<Vec<_>>())
        };
        assert!(need("d", "p", &[b"b", b"c"]) && !need("d", "p", &[b"c", b"b"]));
        assert!(need("s", "q", &[b"b", b"a"]) && !need("s", "q", &[b"b"]) && !need("d", "q", &[b"a", b"b"]));
    }
}
