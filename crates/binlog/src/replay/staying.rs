//! Statements whose changes stay when their transaction is rolled back, since they are in tables that keep no transactions.

use std::collections::{HashMap, HashSet};

use drover_db::quote;
use drover_db::sql::{Token, tokens_in_comments};

use super::destination::SideSession;
use crate::Result;
use crate::chain::Trouble;
use crate::event::Query;
use crate::loads::dialect;
use crate::objects::Table;

/// What was asked of the target, until a definition changes.
#[derive(Debug, Default)]
pub(super) struct Staying {
    /// Whether any table of it keeps no transactions.
    any: Option<bool>,
    /// Its stored functions, in small letters.
    functions: Option<HashSet<Vec<u8>>>,
    /// Whether tables have triggers.
    triggered: HashMap<(Vec<u8>, Vec<u8>), bool>,
}

/// Schemas of the server's own.
const SYSTEM: &str = "('mysql', 'information_schema', 'performance_schema', 'sys')";

impl Staying {
    /// Whether any table keeps no transactions.
    pub(super) fn has_plain_tables(&mut self, session: &mut SideSession<'_>) -> Result<bool> {
        if let Some(known) = self.any {
            return Ok(known);
        }
        let found = has_rows(
            session,
            format!(
                "SELECT 1 FROM information_schema.TABLES t JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
             WHERE t.TABLE_TYPE = 'BASE TABLE' AND e.TRANSACTIONS <> 'YES' AND t.TABLE_SCHEMA NOT IN {SYSTEM} LIMIT 1"
            ),
        )?;
        Ok(*self.any.insert(found))
    }

    pub(super) fn has_triggers(&mut self, session: &mut SideSession<'_>, table: &Table) -> Result<bool> {
        let key = (table.schema.clone(), table.name.clone());
        if let Some(known) = self.triggered.get(&key) {
            return Ok(*known);
        }
        let [schema, name] =
            [&table.schema, &table.name].map(|name| quote::string(&String::from_utf8_lossy(name)));
        let found = has_rows(
            session,
            format!(
                "SELECT 1 FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {name} LIMIT 1"
            ),
        )?;
        self.triggered.insert(key, found);
        Ok(found)
    }

    /// Whether something in the text may be a call of a stored function.
    pub(super) fn calls_function(
        &mut self,
        session: &mut SideSession<'_>,
        query: &Query<'_>,
    ) -> Result<bool, Trouble> {
        if self.functions.is_none() {
            let rows = session.rows(ASKING, format!(
                "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_SCHEMA NOT IN {SYSTEM}"
            ))?;
            let names = rows.into_iter().map(|row| row.string(0).to_ascii_lowercase().into_bytes());
            self.functions = Some(names.collect());
        }
        let Some(functions) = self.functions.as_ref().filter(|found| !found.is_empty()) else {
            return Ok(false);
        };
        let mut before = None;
        for token in tokens_in_comments(query.text, dialect(query)?).filter(Token::is_code) {
            let name = if token.is_symbol(b'(') { before.take() } else { None };
            if name.is_some_and(|name: Vec<u8>| functions.contains(&name.to_ascii_lowercase())) {
                return Ok(true);
            }
            before = token.name();
        }
        Ok(false)
    }
}

fn has_rows(session: &mut SideSession<'_>, query: String) -> Result<bool> {
    Ok(session.first(ASKING, query)?.is_some())
}

const ASKING: &str = "asking what keeps no transactions";
