//! Tables of engines that do not survive a crash.

use drover_db::quote;
use drover_units::show;

use super::cluster::Cluster;
use super::told::TOLD;
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

/// Names of InnoDB's own columns; the last one has to be of one type. Source: MySQL `storage/innobase/include/data0type.h`.
const RESERVED: [&str; 4] = ["db_row_id", "db_trx_id", "db_roll_ptr", "fts_doc_id"];
/// What a table of InnoDB has at most.
const MOST_COLUMNS: usize = 1017;

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
        let table = Table {
            schema: text("s"),
            name: text("t"),
            engine: text("engine"),
            options: text("options"),
            rows: number(row, "n"),
            bytes: number(row, "bytes"),
        };
        let told = table.finding(table.obstacle(facts));
        outcome.findings.push(in_cluster(told, cluster));
    }
    if answer.rows.len() > TOLD {
        let bytes = answer.rows.iter().map(|row| number(row, "bytes")).sum();
        let what = format!(
            "{} such tables in all, of {}",
            show::count(answer.rows.len() as u64),
            show::bytes(bytes)
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

struct Table<'a> {
    schema: &'a str,
    name: &'a str,
    engine: &'a str,
    options: &'a str,
    rows: u64,
    bytes: u64,
}

impl Table<'_> {
    fn finding(&self, obstacle: Option<&str>) -> Finding {
        let Self { schema, name, engine, .. } = self;
        let advice = match obstacle {
            None => {
                "make it one of InnoDB: the statement rewrites it, and nobody writes it meanwhile".to_owned()
            }
            Some(why) => format!("make it one of InnoDB, which it cannot be as it is: {why}"),
        };
        let finding = Finding::observed(
            Weight::Yellow,
            format!(
                "{schema}.{name} is a table of {engine}: a crash may corrupt it, and each change locks all of it"
            ),
            advice,
        )
        .about(format!("{schema}.{name}"))
        .seen(format!(
            "information_schema.TABLES: engine {engine}, {}, {}",
            show::things(self.rows, "row"),
            show::bytes(self.bytes)
        ));
        // A table of MERGE holds no rows: those of MyISAM below it do.
        if obstacle.is_some() || self.is_merge() {
            return finding;
        }
        let mut back = if *engine == "Aria" { "Aria TRANSACTIONAL=0" } else { engine }.to_owned();
        let mut other = "InnoDB".to_owned();
        if let Some(format) = row_format(self.options) {
            // InnoDB takes no other engine's format, such as FIXED.
            other += " ROW_FORMAT=DEFAULT";
            back += &format!(" ROW_FORMAT={format}");
        }
        let alter = format!("ALTER TABLE {} ENGINE=", quote::qualified(schema, name));
        finding.sql(format!("{alter}{other}"), Some(format!("{alter}{back}")))
    }

    fn is_merge(&self) -> bool {
        self.engine.eq_ignore_ascii_case("MRG_MyISAM")
    }

    /// Why InnoDB does not take the table as it is.
    fn obstacle(&self, facts: &Facts) -> Option<&'static str> {
        if self.is_merge() {
            return None;
        }
        if self.options.to_ascii_lowercase().contains("key_block_size=") {
            return Some(
                "its KEY_BLOCK_SIZE would have InnoDB compress it, or is none of InnoDB's (error 1031 or 1478)",
            );
        }
        let [schema, name] = [self.schema, self.name].map(quote::string);
        let columns = format!(
            "SELECT c.COLUMN_NAME AS c, c.EXTRA AS extra, (SELECT COUNT(*) FROM information_schema.STATISTICS s WHERE \
             s.TABLE_SCHEMA = {schema} AND s.TABLE_NAME = {name} AND s.COLUMN_NAME = c.COLUMN_NAME AND s.SEQ_IN_INDEX = 1) AS leads \
             FROM information_schema.COLUMNS c WHERE c.TABLE_SCHEMA = {schema} AND c.TABLE_NAME = {name}"
        );
        let Ok(columns) = facts.ask(&columns) else {
            return Some("its columns cannot be seen, so that it is not known whether InnoDB takes them");
        };
        let value = |row: &[Option<String>], column: &str| {
            columns.value(row, column).unwrap_or_default().to_ascii_lowercase()
        };
        let is_inner = |row: &Vec<Option<String>>| {
            value(row, "extra").contains("auto_increment") && value(row, "leads") == "0"
        };
        if columns.rows.iter().any(is_inner) {
            return Some(
                "its AUTO_INCREMENT column leads no key, and counts anew for each value before it (error 1075)",
            );
        }
        if columns.rows.iter().any(|row| RESERVED.contains(&value(row, "c").as_str())) {
            return Some("one of its columns has a name that InnoDB keeps for itself");
        }
        (columns.rows.len() > MOST_COLUMNS).then_some("it has more than 1017 columns (error 1117)")
    }
}

/// The format that the table was made with, if one was given: `row_format=FIXED`.
fn row_format(options: &str) -> Option<&str> {
    options.split_whitespace().find_map(|option| option.strip_prefix("row_format="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_server;

    #[test]
    fn in_a_cluster_such_a_table_is_worse() {
        let weight = |variables: &[(&str, &str)]| {
            let table = [
                ("s", "d"),
                ("t", "old"),
                ("engine", "MyISAM"),
                ("n", "2"),
                ("options", ""),
                ("bytes", "2048"),
            ];
            let found = look(&on_server(variables, &[(&query(), &table)])).unwrap().findings;
            let [finding] = &found[..] else { panic!("{found:?}") };
            (finding.weight, finding.effect.clone().unwrap_or_default())
        };
        assert_eq!(weight(&[]).0, Weight::Yellow);
        let (of_a_group, effect) = weight(&[("group_replication_group_name", "aaaa")]);
        assert!(of_a_group == Weight::Red && effect.contains("3098"), "{effect}");
        let galera = [("wsrep_on", "ON"), ("wsrep_provider", "/usr/lib/libgalera_smm.so")];
        let (of_galera, effect) = weight(&galera);
        assert!(of_galera == Weight::Red && effect.contains("differ from node to node"), "{effect}");
    }
}
