//! Indexes that another one makes superfluous.

use drover_db::quote;
use drover_units::show;

use super::index::{self, Index};
use super::told::TOLD;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::{OWN, hidden};
use crate::evidence::{Answer, Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.duplicate_index",
    area: Area::Server,
    looks_for: "indexes that are the same as another one of their table, or its left part",
    needs: "information_schema.STATISTICS (SELECT on all tables); mysql.innodb_index_stats for what they take",
    source: "MySQL manual, Multiple-Column Indexes: any leftmost prefix of an index can be used; CREATE INDEX",
    refuted_by: "statements sort by the primary key after the index's columns, which InnoDB appends to the shorter one only; or name \
                 the index in a hint",
    look,
};

/// Columns of indexes that are looked at.
const MOST: usize = 20_000;
/// Bytes of an index below which it is only good to know.
const LARGE: u64 = 10 << 20;

/// Names of expressions and of what hides an index are those of MySQL, of MariaDB, or of older servers, which have neither.
fn query(more: &str) -> String {
    format!(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, INDEX_NAME AS i, NON_UNIQUE AS non_unique, COLUMN_NAME AS c, COLLATION AS direction, \
         SUB_PART AS part, INDEX_TYPE AS type{more} FROM information_schema.STATISTICS WHERE TABLE_SCHEMA NOT IN {OWN} \
         ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX LIMIT {MOST}"
    )
}

fn ask(facts: &Facts) -> Seen<Answer> {
    let forms =
        [", EXPRESSION AS expression, IS_VISIBLE = 'NO' AS hidden", ", IGNORED = 'YES' AS hidden", ""];
    let mut answer = Err(Unseen::Missing);
    for form in forms {
        answer = facts.ask(&query(form));
        if answer != Err(Unseen::Missing) {
            break;
        }
    }
    answer
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let hidden = hidden(facts, &["SELECT"]);
    let answer = ask(facts)?;
    let mut outcome = Outcome { unknown: hidden.into_iter().collect(), ..Outcome::default() };
    if answer.rows.len() == MOST {
        outcome.unknown.push(format!("indexes beyond the first {} columns of all", show::count(MOST as u64)));
    }
    let indexes = index::of(&answer);
    let found = index::superfluous(&indexes);
    for (index, by) in found.iter().take(TOLD) {
        outcome.findings.push(finding(facts, index, by));
    }
    if found.len() > TOLD {
        let what = format!("{} such indexes in all", show::count(found.len() as u64));
        let advice = "begin with the largest, and those of tables that are written most";
        outcome
            .findings
            .push(Finding::observed(Weight::Note, what, advice).seen("information_schema.STATISTICS"));
    }
    if outcome == Outcome::default() {
        outcome
            .fine
            .push(format!("of {} indexes none is part of another", show::count(indexes.len() as u64)));
    }
    Ok(outcome)
}

fn finding(facts: &Facts, index: &Index, by: &Index) -> Finding {
    let (schema, table) = (&index.schema, &index.table);
    let full = quote::qualified(schema, table);
    let bytes = bytes(facts, index);
    let relation = if index.parts == by.parts { "has the same columns as" } else { "is the left part of" };
    let finding = Finding::observed(
        // Nobody knows whether one of unknown size is large.
        if bytes.is_some_and(|bytes| bytes < LARGE) { Weight::Note } else { Weight::Yellow },
        format!("the index {} of {schema}.{table} {relation} {}", index.name, by.name),
        "drop it, if no statement names it and none sorts by the primary key after its columns",
    )
    .about(format!("{schema}.{table}.{}", index.name))
    .seen(format!(
        "information_schema.STATISTICS: {} ({}) and {} ({})",
        index.name,
        index.columns(),
        by.name,
        by.columns()
    ));
    let effect = match bytes {
        Some(bytes) => format!("{}; each change of its columns writes it too", show::bytes(bytes)),
        None => "each change of its columns writes it too".to_owned(),
    };
    finding.effect(effect).sql(
        format!("ALTER TABLE {full} DROP INDEX {}", quote::identifier(&index.name)),
        definition(facts, &full, &index.name).map(|line| format!("ALTER TABLE {full} ADD {line}")),
    )
}

/// The index as the server itself writes it, with its comment, its parser, and whether it is hidden.
fn definition(facts: &Facts, table: &str, index: &str) -> Option<String> {
    let created = facts.ask(&format!("SHOW CREATE TABLE {table}")).ok()?;
    let name = format!("KEY {} ", quote::identifier(index));
    let lines = created.first("Create Table")?.lines();
    let mut keys = lines.map(|line| line.trim().trim_end_matches(','));
    let is_it = |line: &&str| {
        ["", "UNIQUE ", "FULLTEXT ", "SPATIAL "]
            .iter()
            .any(|kind| line.strip_prefix(kind).is_some_and(|rest| rest.starts_with(&name)))
    };
    keys.find(is_it).map(str::to_owned)
}

/// What an index of InnoDB takes, of when its statistics were made last.
fn bytes(facts: &Facts, index: &Index) -> Option<u64> {
    let [schema, table, name] = [&index.schema, &index.table, &index.name].map(|name| quote::string(name));
    let query = format!(
        "SELECT stat_value * @@innodb_page_size AS bytes FROM mysql.innodb_index_stats WHERE database_name = {schema} AND table_name = \
         {table} AND index_name = {name} AND stat_name = 'size'"
    );
    facts.ask(&query).ok()?.first("bytes")?.parse().ok()
}
