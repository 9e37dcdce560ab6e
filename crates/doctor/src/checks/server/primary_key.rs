//! Tables without a key that tells each row.

use drover_db::{Vendor, quote};
use drover_units::show;

use super::cluster::Cluster;
use super::told::TOLD;
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
             Replication With No Primary Key; MySQL manual, Group Replication Requirements; MariaDB manual, Galera Cluster - \
             Known Limitations",
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
         COALESCE(k.indexes, 0) AS indexes, COALESCE(t.CREATE_OPTIONS LIKE '%partitioned%', 0) AS partitioned \
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
    let (replicas, cluster) = (replicas(facts), Cluster::of(facts));
    for row in answer.rows.iter().take(TOLD) {
        let value = |column| answer.value(row, column).unwrap_or_default();
        let table = Table {
            schema: value("s"),
            name: value("t"),
            engine: value("engine"),
            rows: value("n").parse().unwrap_or(0),
            is_bare: value("indexes") == "0",
            is_partitioned: value("partitioned") == "1",
            vendor,
        };
        outcome.findings.push(table.finding(&replicas, cluster, table.cure(facts)));
    }
    if answer.rows.len() > TOLD {
        outcome.findings.push(more(answer.rows.len(), weight(&replicas, cluster)));
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

fn weight(replicas: &Seen<Vec<String>>, cluster: Option<Cluster>) -> Weight {
    match cluster {
        Some(Cluster::GroupReplication) => return Weight::Red,
        Some(Cluster::Galera) => return Weight::Yellow,
        None => {}
    }
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
    is_partitioned: bool,
    /// Whose the server is; and, most likely, its replicas.
    vendor: Vendor,
}

impl Table<'_> {
    fn finding(&self, replicas: &Seen<Vec<String>>, cluster: Option<Cluster>, cure: Cure) -> Finding {
        let Self { schema, name, engine, rows, .. } = self;
        let rows = show::things(*rows, "row");
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
            weight(replicas, cluster),
            format!("{schema}.{name} has no key that tells its rows apart"),
            format!("make what is unique there the primary key; {}", cure.advice),
        )
        .about(format!("{schema}.{name}"))
        .seen(format!("information_schema: engine {engine}, about {rows}, no primary key and no unique one without NULL"))
        .effect(match cluster {
            Some(Cluster::GroupReplication) => "Group Replication refuses each change of it (error 3098)".to_owned(),
            Some(Cluster::Galera) => {
                format!("Galera does not support DELETE without a key, and nodes may keep rows in another order; {search}")
            }
            None => search,
        });
        if let Some((run, undo)) = cure.statements {
            finding = finding.sql(run, Some(undo));
        }
        if let Ok(names) = replicas
            && !names.is_empty()
        {
            finding = finding.seen(format!("replicas that apply rows: {}", names.join(", ")));
        }
        finding
    }
}

/// What gives a table a key.
struct Cure {
    advice: &'static str,
    /// What does it, and what undoes it.
    statements: Option<(String, String)>,
}

impl Table<'_> {
    /// A column of its own, where the table can have one more: nobody's column may have that name, or undoing it would drop theirs.
    fn cure(&self, facts: &Facts) -> Cure {
        let none = |advice| Cure { advice, statements: None };
        if self.is_partitioned {
            return none("it must hold the columns that the table is partitioned by (error 1503)");
        }
        let [schema, name] = [self.schema, self.name].map(quote::string);
        let columns = format!(
            "SELECT COLUMN_NAME AS c, EXTRA AS extra FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} AND \
             TABLE_NAME = {name}"
        );
        let Ok(columns) = facts.ask(&columns) else { return none("a column of its own will do, too") };
        let has = |column: &str, what: &str| {
            columns.rows.iter().any(|row| {
                columns.value(row, column).is_some_and(|value| value.to_lowercase().contains(what))
            })
        };
        if has("extra", "auto_increment") {
            return none(
                "its AUTO_INCREMENT column is not unique by itself, and a table has one such column only (error 1075)",
            );
        }
        let names =
            (1..).map(|number| if number == 1 { "row_id".to_owned() } else { format!("row_id_{number}") });
        let is_free = |name: &String| {
            let mut taken = columns.rows.iter().filter_map(|row| columns.value(row, "c"));
            !taken.any(|column| column.eq_ignore_ascii_case(name))
        };
        let column = names.into_iter().find(is_free).unwrap_or_default();
        let (hidden, advice) = match has_invisible_columns(facts) {
            true => (
                " INVISIBLE",
                "the statement adds a column that SELECT * does not show, and rewrites the table",
            ),
            false => ("", "the statement adds a column, which SELECT * shows, and rewrites the table"),
        };
        let full = quote::qualified(self.schema, self.name);
        let run = format!(
            "ALTER TABLE {full} ADD COLUMN {column} BIGINT UNSIGNED NOT NULL AUTO_INCREMENT{hidden} PRIMARY KEY FIRST"
        );
        Cure { advice, statements: Some((run, format!("ALTER TABLE {full} DROP COLUMN {column}"))) }
    }
}

/// MySQL has them from 8.0.23 on (manual, Invisible Columns), MariaDB from 10.3.3 on (manual, Invisible Columns).
fn has_invisible_columns(facts: &Facts) -> bool {
    let since = match facts.vendor() {
        Ok(Vendor::MySql) => (8, 0, 23),
        Ok(Vendor::MariaDb) => (10, 3, 3),
        Err(_) => return false,
    };
    facts.version().is_ok_and(|version| version >= since)
}

fn more(all: usize, weight: Weight) -> Finding {
    let number =
        if all < MOST { show::count(all as u64) } else { format!("{} or more", show::count(MOST as u64)) };
    Finding::observed(
        weight,
        format!("{number} tables in all have no key that tells their rows apart"),
        "begin with those that change most",
    )
    .seen("information_schema.TABLES and STATISTICS; the largest are told one by one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_server;

    #[test]
    fn in_a_cluster_such_a_table_weighs_more() {
        let weights = |variables: &[(&str, &str)]| {
            let server = [&[("version", "10.11.14-MariaDB")], variables].concat();
            let table = [
                ("s", "d"),
                ("t", "bare"),
                ("engine", "InnoDB"),
                ("n", "2"),
                ("indexes", "0"),
                ("partitioned", "0"),
            ];
            let found = look(&on_server(&server, &[(&query(), &table)])).unwrap().findings;
            found
                .iter()
                .map(|finding| (finding.weight, finding.effect.clone().unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        let [(weight, _)] = &weights(&[("log_bin", "OFF")])[..] else { panic!() };
        assert_eq!(*weight, Weight::Note);
        let [(weight, effect)] = &weights(&[("group_replication_group_name", "aaaa")])[..] else { panic!() };
        assert!(*weight == Weight::Red && effect.contains("3098"), "{effect}");
        let galera = [("wsrep_on", "ON"), ("wsrep_provider", "/usr/lib/libgalera_smm.so")];
        let [(weight, effect)] = &weights(&galera)[..] else { panic!() };
        assert!(*weight == Weight::Yellow && effect.contains("DELETE without a key"), "{effect}");
    }
}
