//! Names of schemas and tables that one of the servers takes for the same in any case, and the other does not: two tables of the logs would
//! become one, or a statement would name what the target has under another name, which IF EXISTS passes over.

use std::collections::{HashMap, HashSet};

use drover_db::sql::{Token, tokens_in_comments};
use drover_db::{Connection, quote, server};

use super::destination::SideSession;
use super::provenance::Provenance;
use crate::Result;
use crate::chain::Trouble;
use crate::event::Query;
use crate::filter::{DOUBT_HINT, FilterArgs};
use crate::loads::dialect;
use crate::log::Short;
use crate::objects::{Object, Objects};

const OF_SERVERS: [&str; 2] = ["information_schema", "performance_schema"];

/// How the servers compare names, and what the logs have named.
#[derive(Debug)]
pub(super) struct Names {
    /// Whether the logs' server takes them in any case; `None` where nothing tells.
    source_folds: Option<bool>,
    target_folds: bool,
    /// Whether nothing is applied.
    is_dry_run: bool,
    /// In lower case, with the first name as the logs have it.
    named: HashMap<String, String>,
    /// Those that the logs have made.
    made: HashSet<String>,
    /// Whether the provenance has one more.
    has_new: bool,
    /// Those that were looked at since the last definition.
    seen: HashSet<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Names {
    /// `None` where both servers are known to compare alike. `provenance` has what earlier runs have met.
    pub(super) fn of(
        args: &FilterArgs,
        is_dry_run: bool,
        provenance: &Provenance,
        connection: &mut Connection,
    ) -> drover_db::Result<Option<Self>> {
        let source_folds = args.lower_case_table_names.map(|value| value != 0);
        let target_folds = server::takes_any_case(connection)?;
        let named = provenance.named.iter().map(|name| (name.to_lowercase(), name.clone())).collect();
        let (made, seen) = (HashSet::new(), HashSet::new());
        let names = Self { source_folds, target_folds, is_dry_run, named, made, has_new: false, seen };
        Ok((source_folds != Some(target_folds)).then_some(names))
    }

    /// What the logs have named before that differs in its case only.
    fn twin(&mut self, name: &str) -> Option<String> {
        let first = self.named.entry(name.to_lowercase()).or_insert_with(|| name.to_owned());
        (first != name).then(|| first.clone())
    }

    /// What to say of a name and its twin, and what can be done.
    fn problem(&self, name: &str, twin: &str) -> (String, &'static str) {
        let what = match self.target_folds {
            true => {
                format!("it names {name}, and the logs name {twin} too, which the target takes for the same")
            }
            false => {
                format!("it names {name}, and the target has {twin}, which it does not take for the same")
            }
        };
        match (self.source_folds, self.target_folds) {
            (None, _) => (format!("{what}: files of logs do not tell whether it is"), DOUBT_HINT),
            (Some(_), true) => (
                format!("{what} (lower_case_table_names is not 0): rows of two tables would get into one"),
                "apply them to a server with lower_case_table_names = 0; --database or --table takes one of them, from the beginning on",
            ),
            (Some(_), false) => (
                format!("{what} (lower_case_table_names = 0), as the logs' server does"),
                "apply them to a server with lower_case_table_names = 1; or leave the transaction out with --exclude-gtids, and run \
                 the statement with the name that the target has",
            ),
        }
    }

    /// Whether the provenance has names that were not noted; they are from then on.
    pub(super) fn takes_new(&mut self) -> bool {
        std::mem::take(&mut self.has_new)
    }

    /// Definitions change what the target has.
    pub(super) fn forget(&mut self) {
        self.seen.clear();
    }
}

/// Who sees names: the target is asked for those that it has, and the provenance keeps those that were met.
pub(super) struct Looking<'n, 'a> {
    pub(super) names: &'n mut Names,
    pub(super) session: &'n mut SideSession<'a>,
    pub(super) provenance: &'n mut Provenance,
}

/// What is wrong with a name, and what can be done.
pub(super) type Misnamed = (String, &'static str);

impl Looking<'_, '_> {
    /// A statement is to be applied: what is wrong with the names in it.
    pub(super) fn see_names(&mut self, query: &Query<'_>) -> Result<Vec<Misnamed>, Trouble> {
        let Objects::Named { changed, read, .. } = Objects::of(query)? else { return Ok(Vec::new()) };
        let is_made = is_made(query)?;
        let mut wrong = Vec::new();
        for object in changed {
            match object {
                Object::Table(table) if is_made => {
                    wrong.extend(self.see_name(&table.schema, None)?);
                    wrong.extend(self.see_made(&table.schema, Some(&table.name))?);
                }
                Object::Schema(schema) if is_made => wrong.extend(self.see_made(&schema, None)?),
                Object::Table(table) => wrong.extend(self.see_name(&table.schema, Some(&table.name))?),
                Object::Program(schema) | Object::Trigger(schema) | Object::Schema(schema) => {
                    wrong.extend(self.see_name(&schema, None)?);
                }
            }
        }
        for table in read {
            wrong.extend(self.see_name(&table.schema, Some(&table.name))?);
        }
        Ok(wrong)
    }

    /// A schema, or a table of it, is made that was not there on the logs' server: what the target has in another case is not the same.
    fn see_made(&mut self, schema: &[u8], table: Option<&[u8]>) -> Result<Vec<Misnamed>> {
        if self.names.source_folds.is_some() || self.names.target_folds {
            return self.see_name(schema, table);
        }
        let [schema, table] = [Some(schema), table].map(|name| name.map(String::from_utf8_lossy));
        let schema = schema.unwrap_or_default();
        let name = match table {
            Some(table) => quote::qualified(&schema, &table),
            None => quote::identifier(&schema),
        };
        let name = name.escape_debug().to_string();
        self.names.named.entry(name.to_lowercase()).or_insert_with(|| name.clone());
        self.names.made.insert(name);
        Ok(Vec::new())
    }

    /// A schema, or a table of it, is to be changed or read.
    pub(super) fn see_name(&mut self, schema: &[u8], table: Option<&[u8]>) -> Result<Vec<Misnamed>> {
        // These the servers' own SQL takes in any case.
        let is_of_server = OF_SERVERS.iter().any(|own| schema.eq_ignore_ascii_case(own.as_bytes()));
        if schema.is_empty()
            || is_of_server
            || !self.names.seen.insert((schema.to_vec(), table.map(<[u8]>::to_vec)))
        {
            return Ok(Vec::new());
        }
        let [schema, table] =
            [schema, table.unwrap_or_default()].map(|name| String::from_utf8_lossy(name).into_owned());
        let mut wrong = Vec::new();
        wrong.extend(self.see_spelling(&quote::identifier(&schema), &schemas(&schema), &schema)?);
        if !table.is_empty() {
            let whole = quote::qualified(&schema, &table);
            wrong.extend(self.see_spelling(&whole, &tables(&schema, &table), &table)?);
        }
        Ok(wrong)
    }

    /// A name, in quotes; `like` asks the target for names that differ from `plain` in their case at most.
    fn see_spelling(&mut self, name: &str, like: &str, plain: &str) -> Result<Option<Misnamed>> {
        let name = &*name.escape_debug().to_string();
        let mut twin = self.names.twin(name);
        if self.names.target_folds {
            if twin.is_none() {
                self.names.has_new |= self.provenance.named.insert(name.to_owned());
            }
        } else {
            let there: Vec<_> =
                self.session.rows("asking for names", like)?.into_iter().map(|row| row.string(0)).collect();
            let is_twin = |other: &&String| other.to_lowercase() == plain.to_lowercase();
            let others = there.iter().find(is_twin).map(|other| quote::identifier(other));
            twin = match self.names.made.contains(name) || there.iter().any(|other| other == plain) {
                true => None,
                // What the logs make is not there in a dry run.
                false => others.or(twin.filter(|_| self.names.is_dry_run)),
            };
        }
        Ok(twin.map(|twin| self.names.problem(name, &twin)))
    }
}

/// Whether a statement makes something that was not there before.
fn is_made(query: &Query<'_>) -> Result<bool, Short> {
    let code = tokens_in_comments(query.text, dialect(query)?).filter(Token::is_code);
    let begins: Vec<_> = code.take_while(|token| !token.is_symbol(b'(')).take(20).collect();
    let is_unsure = |token: &Token<'_>| token.is_word("EXISTS") || token.is_word("REPLACE");
    Ok(query.error == 0
        && begins.first().is_some_and(|token| token.is_word("CREATE"))
        && !begins.iter().any(is_unsure))
}

fn schemas(schema: &str) -> String {
    let schema = quote::string(schema);
    format!("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE LOWER(SCHEMA_NAME) = LOWER({schema})")
}

fn tables(schema: &str, table: &str) -> String {
    let (schema, table) = (quote::string(schema), quote::string(table));
    format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND LOWER(TABLE_NAME) = LOWER({table})"
    )
}
