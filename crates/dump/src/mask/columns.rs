//! Which masks a table's columns get, and whether their types bear them: what is masked must load again as it was written.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::sql::{Dialect, tokens};
use drover_db::table::column::members;
use drover_db::table::keys;
use drover_db::{Connection, Row, quote};

use super::apply::{HASH_DIGITS, Masker};
use super::rules::{How, Rules};
use crate::dump::catalog::{self, ColumnFacts, Name, Relation};
use crate::error::Doing;
use crate::{Error, Result};
use drover_format::manifest::Mask;

/// Digits of a hash in a unique column: with fewer, values that differ may become the same.
const UNIQUE_DIGITS: usize = 20;

/// A unique key looks at all of a column.
const WHOLE: usize = usize::MAX;

/// A column that is masked.
#[derive(Debug, Clone)]
pub(crate) struct Masked {
    pub(crate) column: String,
    pub(crate) mask: Mask,
    pub(crate) masker: Masker,
    column_type: String,
    character_set: Option<String>,
}

/// What the catalogue says of a column beyond what every dump needs.
#[derive(Debug, Default)]
struct More {
    is_nullable: bool,
    is_auto_increment: bool,
    /// In characters of text, or bytes.
    length: usize,
}

/// Looks for the columns of all rules, before anything is locked.
///
/// # Errors
/// If a rule is for no column, or for one that cannot bear it.
pub(crate) fn bind<'a>(
    connection: &mut Connection,
    rules: &Rules,
    relations: impl Iterator<Item = &'a Relation> + Clone,
) -> Result<()> {
    let mut unused: BTreeSet<usize> = (0..rules.rules.len()).collect();
    let mut masked = BTreeMap::new();
    for relation in
        relations.filter(|relation| rules.rules.iter().any(|rule| rule.is_for_table(&relation.name)))
    {
        let facts = catalog::columns(connection, &relation.name)?;
        unused.retain(|&at| !facts.iter().any(|facts| rules.rules[at].is_for(&relation.name, &facts.name)));
        masked.insert(relation.name.clone(), of_table(connection, rules, &relation.name, &facts)?);
    }
    if let Some(rule) = unused.first().map(|&at| &rules.rules[at]) {
        return Err(Error::with_hint(
            format!("{}: rule {} matches no column that is dumped", rules.path.display(), rule.text),
            "letter case counts in names of tables; a rule that does nothing may be one that was to hide something",
        ));
    }
    masked.iter().try_for_each(|(name, columns)| check_references(connection, name, columns, &masked))
}

/// The masks of one table; the first rule for a column counts.
///
/// # Errors
/// If a column cannot bear its mask.
pub(crate) fn of_table(
    connection: &mut Connection,
    rules: &Rules,
    table: &Name,
    facts: &[ColumnFacts],
) -> Result<Vec<Masked>> {
    let rule_for = |facts: &ColumnFacts| rules.rules.iter().find(|rule| rule.is_for(table, &facts.name));
    if !facts.iter().any(|facts| rule_for(facts).is_some()) {
        return Ok(Vec::new());
    }
    let (more, unique) = (more(connection, table)?, unique(connection, table)?);
    let mut masked = Vec::new();
    for facts in facts {
        let Some(rule) = rule_for(facts) else { continue };
        let name = facts.name.clone();
        let refuse = |why: String| {
            Error::with_hint(
                format!(
                    "column {} of table {table} cannot be masked by rule {}: {why}",
                    quote::identifier(&name),
                    rule.text
                ),
                "docs/masking.md says which types and keys each mask is for",
            )
        };
        let nothing = More::default();
        let more = more.get(&facts.name).unwrap_or(&nothing);
        let prefix = unique.get(&facts.name).copied();
        check_keys(facts, more, prefix, &rule.how).map_err(refuse)?;
        if let How::Fixed(text) = &rule.how {
            check_literal(connection, facts, more, text)?.map_err(refuse)?;
        }
        let masker = masker(rules, facts, more, &rule.how)?.map_err(refuse)?;
        masked.push(Masked {
            column: name.clone(),
            mask: rule.how.in_manifest(),
            masker,
            column_type: facts.column_type.clone(),
            character_set: facts.character_set.clone(),
        });
    }
    Ok(masked)
}

/// Stored and virtual columns that depend on a masked one, directly or not: what they are on the dumped server says nothing
/// of what they will be.
pub(crate) fn dependent(facts: &[ColumnFacts], masked: &[Masked]) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = masked.iter().map(|masked| masked.column.to_lowercase()).collect();
    loop {
        let before = names.len();
        for facts in facts.iter().filter(|facts| !facts.generation.is_empty()) {
            let mut used =
                tokens(facts.generation.as_bytes(), Dialect::default()).filter_map(|token| token.name());
            if used.any(|name| names.contains(&String::from_utf8_lossy(&name).to_lowercase())) {
                names.insert(facts.name.to_lowercase());
            }
        }
        if names.len() == before {
            return names;
        }
    }
}

/// `prefix` is how much of the column a unique key looks at.
fn check_keys(
    facts: &ColumnFacts,
    more: &More,
    prefix: Option<usize>,
    how: &How,
) -> std::result::Result<(), String> {
    if !facts.generation.is_empty() {
        return Err("the server computes it; mask the columns that it is computed from".into());
    }
    if more.is_auto_increment {
        return Err("it is AUTO_INCREMENT".into());
    }
    if *how == How::Null && !more.is_nullable {
        return Err("it is NOT NULL".into());
    }
    let Some(prefix) = prefix else { return Ok(()) };
    match how {
        How::Null => Ok(()), // a unique key bears any number of them
        How::Fixed(_) => Err("it is in a unique key, and all rows would have the same value".into()),
        How::Hash if is_text(facts) || is_bytes(facts) => {
            let digits = more.length.min(HASH_DIGITS).min(prefix);
            match digits >= UNIQUE_DIGITS {
                true => Ok(()),
                false => Err(format!("it is in a unique key and too short for {UNIQUE_DIGITS} characters")),
            }
        }
        How::KeepFormat if prefix != WHOLE => Err("only its beginning is in a unique key".into()),
        How::Hash | How::KeepFormat => Ok(()),
    }
}

fn is_text(facts: &ColumnFacts) -> bool {
    let types = ["char", "varchar", "tinytext", "text", "mediumtext", "longtext"];
    types.contains(&facts.data_type.as_str()) && facts.character_set.is_some()
}

fn is_bytes(facts: &ColumnFacts) -> bool {
    ["binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"].contains(&facts.data_type.as_str())
}

/// Bits of a whole number's type.
fn bits(facts: &ColumnFacts) -> Option<u32> {
    match facts.data_type.as_str() {
        "tinyint" => Some(8),
        "smallint" => Some(16),
        "mediumint" => Some(24),
        "int" => Some(32),
        "bigint" => Some(64),
        _ => None,
    }
}

fn is_unsigned(facts: &ColumnFacts) -> bool {
    facts.column_type.to_ascii_lowercase().contains("unsigned")
}

fn masker(
    rules: &Rules,
    facts: &ColumnFacts,
    more: &More,
    how: &How,
) -> Result<std::result::Result<Masker, String>> {
    let what = &facts.column_type;
    if facts.column_type.to_ascii_lowercase().contains("zerofill") && *how != How::Null {
        return Ok(Err("it is ZEROFILL".into()));
    }
    let set = facts.character_set.as_deref().unwrap_or_default();
    Ok(Ok(match how {
        How::Null => Masker::Null,
        How::Fixed(text) => Masker::Fixed(text.clone().into_bytes()),
        How::Hash if is_text(facts) && is_wide(set) => return Ok(Err(format!("no mask writes {set}"))),
        How::Hash if is_text(facts) => {
            Masker::HashText { key: rules.key()?, digits: more.length.min(HASH_DIGITS) }
        }
        How::Hash if facts.data_type == "binary" => {
            Masker::HashBytes { key: rules.key()?, length: more.length }
        }
        How::Hash if is_bytes(facts) => {
            Masker::HashText { key: rules.key()?, digits: more.length.min(HASH_DIGITS) }
        }
        How::Hash => match bits(facts) {
            Some(bits) => Masker::HashNumber {
                key: rules.key()?,
                bits: if is_unsigned(facts) { bits } else { bits - 1 },
            },
            None => return Ok(Err(format!("a hash is no {what}"))),
        },
        How::KeepFormat if is_text(facts) => match keys::is_one_byte(set) || is_utf8(set) {
            true => Masker::KeepText { key: rules.key()?, is_utf8: is_utf8(set) },
            false => return Ok(Err(format!("keep-format does not know the characters of {set}"))),
        },
        How::KeepFormat if facts.data_type == "decimal" => {
            Masker::KeepNumber { key: rules.key()?, most: u128::MAX, least: i128::MIN }
        }
        How::KeepFormat => match (bits(facts), is_unsigned(facts)) {
            (Some(bits), true) => Masker::KeepNumber { key: rules.key()?, most: (1 << bits) - 1, least: 0 },
            (Some(bits), false) => Masker::KeepNumber {
                key: rules.key()?,
                most: (1 << (bits - 1)) - 1,
                least: -(1 << (bits - 1)),
            },
            (None, _) => return Ok(Err(format!("keep-format is not for {what}"))),
        },
    }))
}

fn is_utf8(set: &str) -> bool {
    ["utf8mb4", "utf8mb3", "utf8", "ascii"].contains(&set)
}

/// Whether ASCII characters are more than a byte there.
fn is_wide(set: &str) -> bool {
    ["ucs2", "utf16", "utf16le", "utf32"].contains(&set)
}

/// Whether the server shows a literal just as it stands here when it was put into the column.
fn check_literal(
    connection: &mut Connection,
    facts: &ColumnFacts,
    more: &More,
    text: &str,
) -> Result<std::result::Result<(), String>> {
    let no = |why: &str| Ok(Err(format!("{} {why}", quote::string(text))));
    if is_text(facts) {
        let set = facts.character_set.as_deref().unwrap_or_default();
        let is_held = text.is_ascii() && !is_wide(set) || is_utf8(set) && set == "utf8mb4";
        return match () {
            () if !is_held => no(&format!("is not plain ASCII, and the column is {set}")),
            () if text.chars().count() > more.length => no("is longer than the column"),
            () if facts.data_type == "char" && text.ends_with(' ') => {
                no("ends with spaces, which CHAR does not keep")
            }
            () => Ok(Ok(())),
        };
    }
    if is_bytes(facts) {
        return match facts.data_type == "binary" && text.len() != more.length || text.len() > more.length {
            true => no("has not the column's length"),
            false => Ok(Ok(())),
        };
    }
    if facts.data_type == "enum" {
        let is_member =
            text.is_ascii() && members(&facts.column_type).iter().any(|member| member == text.as_bytes());
        return if is_member && !text.is_empty() { Ok(Ok(())) } else { no("is no member in plain ASCII") };
    }
    if let Some(bits) = bits(facts) {
        let (least, most) = match is_unsigned(facts) {
            true => (0, (1i128 << bits) - 1),
            false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        };
        let number = text.parse::<i128>().ok().filter(|number| number.to_string() == text);
        return match number.is_some_and(|number| (least..=most).contains(&number)) {
            true => Ok(Ok(())),
            false => no(&format!("is no {} as the server writes it", facts.column_type)),
        };
    }
    let Some(cast) = cast_type(facts) else {
        return no(&format!("cannot be checked for {}", facts.column_type));
    };
    let sql = format!("SELECT CAST(CAST({} AS {cast}) AS CHAR)", quote::string(text));
    let shown = connection.first(sql).doing(|| "trying a literal of a mask")?.and_then(|row| row.text(0));
    match shown.as_deref() == Some(text) {
        true => Ok(Ok(())),
        false => no(&format!("is no {} as the server writes it", facts.column_type)),
    }
}

/// A type that CAST knows and that has the column's form.
fn cast_type(facts: &ColumnFacts) -> Option<String> {
    let arguments = facts
        .column_type
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(inside, _)| inside);
    let with = |name: &str| arguments.map_or(name.to_owned(), |inside| format!("{name}({inside})"));
    match facts.data_type.as_str() {
        "date" => Some("DATE".into()),
        "datetime" | "timestamp" => Some(with("DATETIME")),
        "time" => Some(with("TIME")),
        "decimal" if !is_unsigned(facts) => Some(with("DECIMAL")),
        _ => None,
    }
}

fn more(connection: &mut Connection, table: &Name) -> Result<BTreeMap<String, More>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, IS_NULLABLE, EXTRA, CHARACTER_MAXIMUM_LENGTH FROM \
         information_schema.COLUMNS WHERE {}",
        table.condition()
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {table}"))?;
    let facts = |row: Row| {
        let more = More {
            is_nullable: row.string(3) == "YES",
            is_auto_increment: row.string(4).to_ascii_lowercase().contains("auto_increment"),
            length: row.parse(5).unwrap_or(0),
        };
        (row.string(2), more)
    };
    Ok(rows.into_iter().filter(|row| table.begins(row)).map(facts).collect())
}

/// The columns in unique keys, and the shortest beginning of each that a key looks at.
fn unique(connection: &mut Connection, table: &Name) -> Result<BTreeMap<String, usize>> {
    let rows = connection
        .query(format!("SHOW INDEX FROM {table}"))
        .doing(|| format!("reading the keys of {table}"))?;
    let at = |name: &str| rows.column(name).unwrap_or(usize::MAX);
    let (non_unique, column, part) = (at("Non_unique"), at("Column_name"), at("Sub_part"));
    let mut unique: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows.rows.iter().filter(|row| row.string(non_unique) == "0") {
        let prefix = row.parse(part).unwrap_or(WHOLE);
        let known = unique.entry(row.string(column)).or_insert(prefix);
        *known = prefix.min(*known);
    }
    Ok(unique)
}

/// Both ends of a foreign key must be masked alike, or rows would lose their parents.
fn check_references(
    connection: &mut Connection,
    table: &Name,
    columns: &[Masked],
    all: &BTreeMap<Name, Vec<Masked>>,
) -> Result<()> {
    let (schema, name) = (quote::string(&table.schema), quote::string(&table.name));
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, \
         REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND \
         (TABLE_SCHEMA = {schema} AND TABLE_NAME = {name} OR REFERENCED_TABLE_SCHEMA = {schema} AND REFERENCED_TABLE_NAME = {name})"
    );
    let rows = connection.query(sql).doing(|| format!("reading the foreign keys of {table}"))?;
    for row in &rows.rows {
        let end = |at: usize| (Name::new(&row.string(at), &row.string(at + 1)), row.string(at + 2));
        let (child, parent) = (end(0), end(3));
        let mask_of = |(table, column): &(Name, String)| {
            let masked = all.get(table).into_iter().flatten();
            masked.into_iter().find(|masked| masked.column.eq_ignore_ascii_case(column))
        };
        let (of_child, of_parent) = (mask_of(&child), mask_of(&parent));
        let is_here = |masked: &Masked| columns.iter().any(|column| column.column == masked.column);
        if !of_child.is_some_and(is_here) && !of_parent.is_some_and(is_here) {
            continue;
        }
        let alike = match (of_child, of_parent) {
            (Some(child), _) if child.mask == Mask::Null => true,
            (Some(child), Some(parent)) => {
                child.mask == parent.mask
                    && child.column_type == parent.column_type
                    && child.character_set == parent.character_set
            }
            (None, None) => true,
            _ => false,
        };
        if !alike {
            return Err(Error::with_hint(
                format!(
                    "column {} of table {} refers to {} of table {}: both must be masked alike and have the same type",
                    quote::identifier(&child.1),
                    child.0,
                    quote::identifier(&parent.1),
                    parent.0
                ),
                "give both the same rule: equal values become equal ones",
            ));
        }
    }
    Ok(())
}
