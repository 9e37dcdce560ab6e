//! Which schemas, tables and views a person asked for.

use std::collections::BTreeSet;

use drover_db::sql::{Dialect, Kind, tokens};

use super::args::SourceArgs;
use super::catalog::{Name, Relation};
use crate::pattern::Pattern;
use crate::restore::scratch::is_scratch;
use crate::restore::steps::is_any_note;
use crate::{Error, Result};
use drover_db::schemas::{is_odd, is_system};

/// What to dump.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    pub(crate) relations: Vec<Relation>,
    /// Schemas of which everything is dumped: routines and events too.
    pub(crate) whole: BTreeSet<String>,
    /// Schemas that are left out unless they are named, and why.
    pub(crate) left_out: Vec<(String, LeftOut)>,
    /// Tables that are left out unless they are named: a restore or a copy into their schemas has not come to its end, as they note.
    pub(crate) unfinished: Vec<Name>,
}

/// Why a schema is not dumped unless it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// A directory, such as `lost+found`, that the server takes for a schema.
    OddDirectory,
    /// What drover makes to try definitions in.
    Scratch,
    /// Where replays into this server note their positions: of no use to another one.
    ReplayPositions,
}

impl LeftOut {
    fn of(schema: &str, all: &[Relation]) -> Option<Self> {
        let mut held = all.iter().filter(|relation| relation.name.schema == schema);
        match schema {
            // No CREATE DATABASE of a server since 5.1 could have made it.
            _ if is_odd(schema) && held.next().is_none() => Some(Self::OddDirectory),
            _ if is_scratch(schema) => Some(Self::Scratch),
            "drover"
                if held.next().is_some_and(|first| first.name.name == "replay") && held.next().is_none() =>
            {
                Some(Self::ReplayPositions)
            }
            _ => None,
        }
    }
}

impl Selected {
    /// The schemas of all that is chosen.
    pub(crate) fn schemas(&self) -> BTreeSet<String> {
        let of_relations = self.relations.iter().map(|relation| relation.name.schema.clone());
        self.whole.iter().cloned().chain(of_relations).collect()
    }
}

/// Picks from all that the account can see.
pub(crate) fn select(args: &SourceArgs, schemas: &[String], all: Vec<Relation>) -> Result<Selected> {
    let mut names = Names::default();
    for text in &args.what {
        names.add(text, schemas, &all)?;
    }
    let mut left_out = Vec::new();
    if args.what.is_empty() {
        for schema in schemas.iter().filter(|schema| !is_system(schema)) {
            match LeftOut::of(schema, &all) {
                Some(why) => left_out.push((schema.clone(), why)),
                None => drop(names.whole.insert(schema.clone())),
            }
        }
    }
    let (include, exclude) = (patterns(&args.include)?, patterns(&args.exclude)?);
    let chosen = |relation: &Relation| {
        let named = names.whole.contains(&relation.name.schema)
            || names.single.contains(&(relation.name.schema.clone(), relation.name.name.clone()));
        let matches = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(&relation.name));
        named && (args.include.is_empty() || matches(&include)) && !matches(&exclude)
    };
    let is_named = |name: &Name| {
        names.single.iter().any(|(schema, table)| *schema == name.schema && *table == name.name)
    };
    let (notes, relations): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(chosen)
        .partition(|relation| is_any_note(&relation.name.name) && !is_named(&relation.name));
    let unfinished = notes.into_iter().map(|relation| relation.name).collect();
    let filtered = !args.include.is_empty();
    let accounts_alone = args.users && args.what.is_empty() && !filtered;
    if relations.is_empty() && (names.whole.is_empty() || filtered) && !accounts_alone {
        return Err(Error::with_hint(
            "there is nothing to dump",
            "no schema but the server's own is visible to this account, or --include and --exclude leave none",
        ));
    }
    let whole = if filtered { BTreeSet::new() } else { names.whole };
    Ok(Selected { relations, whole, left_out, unfinished })
}

fn patterns(texts: &[String]) -> Result<Vec<Pattern>> {
    texts.iter().map(|text| Pattern::parse(text)).collect()
}

#[derive(Debug, Default)]
struct Names {
    whole: BTreeSet<String>,
    single: BTreeSet<(String, String)>,
}

impl Names {
    /// Takes `text` as the name of a schema if there is such a schema, else as SCHEMA.TABLE.
    fn add(&mut self, text: &str, schemas: &[String], all: &[Relation]) -> Result<()> {
        let readings = readings(text);
        for (schema, table) in &readings {
            if is_system(schema) {
                return Err(Error::found(format!("'{schema}' is the server's own schema: it is not dumped")));
            }
            match table {
                None if schemas.contains(schema) => {
                    self.whole.insert(schema.clone());
                    return Ok(());
                }
                Some(table) if all.iter().any(|r| r.name.schema == *schema && r.name.name == *table) => {
                    self.single.insert((schema.clone(), table.clone()));
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(Error::with_hint(
            format!("there is no schema or table '{text}' that this account can see"),
            "letter case counts; tables are named DB.TABLE, and an account sees only what it has a privilege on",
        ))
    }
}

/// The ways in which `text` can be read as a schema, or a schema and a table.
fn readings(text: &str) -> Vec<(String, Option<String>)> {
    if let Some(quoted) = quoted(text) {
        return vec![quoted];
    }
    let mut readings = vec![(text.to_owned(), None)];
    let dots = text.match_indices('.');
    readings.extend(dots.map(|(at, _)| (text[..at].to_owned(), Some(text[at + 1..].to_owned()))));
    readings
}

/// Reads names in backticks.
fn quoted(text: &str) -> Option<(String, Option<String>)> {
    let parts: Vec<_> = tokens(text.as_bytes(), Dialect::default()).collect();
    let name =
        |index: usize| parts.get(index).and_then(|t| t.name()).and_then(|name| String::from_utf8(name).ok());
    let any_quoted = parts.iter().any(|token| token.kind == Kind::Quoted);
    match parts.len() {
        1 if any_quoted => Some((name(0)?, None)),
        3 if any_quoted && parts[1].is_symbol(b'.') => Some((name(0)?, Some(name(2)?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_read_in_more_than_one_way() {
        let pair = |schema: &str, table: &str| (schema.to_owned(), Some(table.to_owned()));
        assert_eq!(readings("shop"), [("shop".to_owned(), None)]);
        assert_eq!(readings("a.b.c"), [("a.b.c".to_owned(), None), pair("a", "b.c"), pair("a.b", "c")]);
        assert_eq!(readings("`a.b`.c"), [pair("a.b", "c")]);
        assert_eq!(readings("`a``b`"), [("a`b".to_owned(), None)]);
    }
}
