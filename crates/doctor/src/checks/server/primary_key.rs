//! Tables without a key that tells each row.

use drover_db::{Vendor, quote};
use drover_report::size;

use super::TOLD;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::binlog::replicas;
use crate::checks::schemas::{OWN, hidden};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.primary_key",
    area: Area::Server,
    looks_for: "tables without a primary key, or a unique one without NULL: a replica looks for each row that is changed",
    needs: "information_schema.TABLES and STATISTICS (SELECT on all tables); SHOW REPLICAS",
    source: "MySQL manual, Replication and Row Searches, and Clustered and Secondary Indexes; MariaDB manual, Row-based \
             Replication With No Primary Key",
    refuted_by: "rows of the table are only added, never changed or deleted: nobody looks for them",
    look,
};

/// More are counted no further.
const MOST: usize = 1000;

/// One row for each table without a key: how many indexes it has otherwise, and about how many rows. Grouped
/// once rather than asked for each table, as MariaDB opens all tables for that.
fn query() -> String {
    format!(
        "SELECT t.TABLE_SCHEMA AS s, t.TABLE_NAME AS t, t.ENGINE AS engine, COALESCE(t.TABLE_ROWS, 0) AS n, \
         COALESCE(k.indexes, 0) AS indexes \
         FROM information_schema.TABLES t LEFT JOIN (SELECT s, t, COUNT(*) AS indexes, MAX(is_key) AS has_key FROM \
         (SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, INDEX_NAME, MAX(NON_UNIQUE) = 0 AND SUM(NULLABLE = 'YES') = 0 AS is_key \
         FROM information_schema.STATISTICS WHERE TABLE_SCHEMA NOT IN {OWN} GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME) i \
         GROUP BY s, t) k ON k.s = t.TABLE_SCHEMA AND k.t = t.TABLE_NAME \
         WHERE t.TABLE_TYPE = 'BASE TABLE' AND t.TABLE_SCHEMA NOT IN {OWN} AND COALESCE(k.has_key, 0) = 0 \
         ORDER BY n DESC LIMIT {MOST}"
    )
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let vendor = facts.vendor()?;
    let hidden = hidden(facts, &["SELECT"]);
    let answer = facts.ask(&query())?;
    let mut outcome = Outcome { unknown: hidden.into_iter().collect(), ..Outcome::default() };
    if answer.rows.is_empty() {
        if outcome.unknown.is_empty() {
            outcome.fine.push("each table has a primary key, or a unique one without NULL".to_owned());
        }
        return Ok(outcome);
    }
    let replicas = replicas(facts);
    for row in answer.rows.iter().take(TOLD) {
        let value = |column| answer.value(row, column).unwrap_or_default();
        let table = Table {
            schema: value("s"),
            name: value("t"),
            engine: value("engine"),
            rows: value("n").parse().unwrap_or(0),
            is_bare: value("indexes") == "0",
            vendor,
        };
        outcome.findings.push(table.finding(&replicas));
    }
    if answer.rows.len() > TOLD {
        outcome.findings.push(more(answer.rows.len(), &replicas));
    }
    if let Err(unseen) = &replicas {
        outcome.unknown.push(format!("whether replicas are connected: {unseen}"));
    }
    Ok(outcome)
}

/// The replicas that apply rows.
fn replicas(facts: &Facts) -> Seen<Vec<String>> {
    let logs_rows = facts.is_on("log_bin")?
        && !facts.variable("binlog_format").is_ok_and(|format| format.eq_ignore_ascii_case("STATEMENT"));
    if logs_rows { replicas::connected(facts) } else { Ok(Vec::new()) }
}

fn weight(replicas: &Seen<Vec<String>>) -> Weight {
    if replicas.as_ref().is_ok_and(|names| !names.is_empty()) { Weight::Yellow } else { Weight::Note }
}

struct Table<'a> {
    schema: &'a str,
    name: &'a str,
    engine: &'a str,
    /// About, for InnoDB.
    rows: u64,
    /// Whether it has no index at all.
    is_bare: bool,
    /// Whose the server is; and, most likely, its replicas.
    vendor: Vendor,
}

impl Table<'_> {
    fn finding(&self, replicas: &Seen<Vec<String>>) -> Finding {
        let Self { schema, name, engine, rows, .. } = self;
        let full = quote::qualified(schema, name);
        let rows = size::things(*rows, "row");
        let search = match (self.is_bare, self.vendor) {
            (true, Vendor::MySql) => {
                format!("a replica reads all of about {rows} for what is changed or deleted in one go")
            }
            (true, Vendor::MariaDb) => {
                format!("a replica reads about {rows} for each one that is changed or deleted")
            }
            (false, _) => {
                "a replica looks for each row that is changed by an index that does not tell rows apart"
                    .to_owned()
            }
        };
        let mut finding = Finding::observed(
            weight(replicas),
            format!("{schema}.{name} has no key that tells its rows apart"),
            "make what is unique there the primary key; the statement adds a column that SELECT * does not show, and rewrites the table",
        )
        .about(format!("{schema}.{name}"))
        .seen(format!("information_schema: engine {engine}, about {rows}, no primary key and no unique one without NULL"))
        .effect(search)
        .sql(
            format!("ALTER TABLE {full} ADD COLUMN row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY FIRST"),
            Some(format!("ALTER TABLE {full} DROP COLUMN row_id")),
        );
        if let Ok(names) = replicas
            && !names.is_empty()
        {
            finding = finding.seen(format!("replicas that apply rows: {}", names.join(", ")));
        }
        finding
    }
}

fn more(all: usize, replicas: &Seen<Vec<String>>) -> Finding {
    let number =
        if all < MOST { size::count(all as u64) } else { format!("{} or more", size::count(MOST as u64)) };
    Finding::observed(
        weight(replicas),
        format!("{number} tables in all have no key that tells their rows apart"),
        "begin with those that change most",
    )
    .seen("information_schema.TABLES and STATISTICS; the largest are told one by one")
}
