//! Tables of engines that do not survive a crash.

use drover_db::quote;
use drover_report::size;

use super::TOLD;
use super::cluster::Cluster;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::{OWN, hidden};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.myisam",
    area: Area::Server,
    looks_for: "tables of MyISAM, MERGE, or Aria with TRANSACTIONAL=0, which a crash may corrupt",
    needs: "information_schema.TABLES (SELECT on all tables)",
    source: "MySQL manual, Corrupted MyISAM Tables; MariaDB manual, Aria Storage Engine, on TRANSACTIONAL; MySQL manual, \
             Group Replication Requirements; MariaDB manual, Galera Cluster - Known Limitations",
    refuted_by: "the tables are made anew from elsewhere, or are never written",
    look,
};

/// More are counted no further.
const MOST: usize = 1000;

fn query() -> String {
    format!(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, ENGINE AS engine, COALESCE(TABLE_ROWS, 0) AS n, CREATE_OPTIONS AS options, \
         COALESCE(DATA_LENGTH, 0) + COALESCE(INDEX_LENGTH, 0) AS bytes FROM information_schema.TABLES \
         WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN {OWN} AND (ENGINE IN ('MyISAM', 'MRG_MyISAM') OR \
         (ENGINE = 'Aria' AND CREATE_OPTIONS LIKE '%transactional=0%')) ORDER BY bytes DESC LIMIT {MOST}"
    )
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let hidden = hidden(facts, &["SELECT"]);
    let answer = facts.ask(&query())?;
    let mut outcome = Outcome { unknown: hidden.into_iter().collect(), ..Outcome::default() };
    let number = |row: &[Option<String>], column| {
        answer.value(row, column).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0)
    };
    let cluster = Cluster::of(facts);
    for row in answer.rows.iter().take(TOLD) {
        let text = |column| answer.value(row, column).unwrap_or_default();
        let told = finding(
            text("s"),
            text("t"),
            text("engine"),
            text("options"),
            number(row, "n"),
            number(row, "bytes"),
        );
        outcome.findings.push(in_cluster(told, cluster));
    }
    if answer.rows.len() > TOLD {
        let bytes = answer.rows.iter().map(|row| number(row, "bytes")).sum();
        let what = format!(
            "{} such tables in all, of {}",
            size::count(answer.rows.len() as u64),
            size::bytes(bytes)
        );
        let advice = "begin with those that are written most";
        outcome
            .findings
            .push(Finding::observed(Weight::Yellow, what, advice).seen("information_schema.TABLES"));
    }
    if outcome == Outcome::default() {
        outcome.fine.push("no table of MyISAM, MERGE, or Aria with TRANSACTIONAL=0".to_owned());
    }
    Ok(outcome)
}

/// A cluster keeps rows of InnoDB alike, and no others.
fn in_cluster(finding: Finding, cluster: Option<Cluster>) -> Finding {
    let effect = match cluster {
        None => return finding,
        Some(Cluster::GroupReplication) => "Group Replication refuses each change of it (error 3098)",
        Some(Cluster::Galera) => {
            "Galera does not replicate changes of it, unless wsrep_mode has REPLICATE_MYISAM or REPLICATE_ARIA (before 10.6 \
             wsrep_replicate_myisam): rows differ from node to node"
        }
    };
    Finding { weight: Weight::Red, ..finding.effect(effect) }
}

fn finding(schema: &str, name: &str, engine: &str, options: &str, rows: u64, bytes: u64) -> Finding {
    let full = quote::qualified(schema, name);
    let finding = Finding::observed(
        Weight::Yellow,
        format!(
            "{schema}.{name} is a table of {engine}: a crash may corrupt it, and each change locks all of it"
        ),
        "make it one of InnoDB: the statement rewrites it, and nobody writes it meanwhile",
    )
    .about(format!("{schema}.{name}"))
    .seen(format!(
        "information_schema.TABLES: engine {engine}, {}, {}",
        size::things(rows, "row"),
        size::bytes(bytes)
    ));
    if engine.eq_ignore_ascii_case("MRG_MyISAM") {
        // It holds no rows: those of MyISAM below it do.
        return finding;
    }
    let mut back = if engine == "Aria" { "Aria TRANSACTIONAL=0" } else { engine }.to_owned();
    let mut other = "InnoDB".to_owned();
    if let Some(format) = row_format(options) {
        // InnoDB takes no other engine's format, such as FIXED.
        other += " ROW_FORMAT=DEFAULT";
        back += &format!(" ROW_FORMAT={format}");
    }
    finding
        .sql(format!("ALTER TABLE {full} ENGINE={other}"), Some(format!("ALTER TABLE {full} ENGINE={back}")))
}

/// The format that the table was made with, if one was given: `row_format=FIXED`.
fn row_format(options: &str) -> Option<&str> {
    options.split_whitespace().find_map(|option| option.strip_prefix("row_format="))
}
