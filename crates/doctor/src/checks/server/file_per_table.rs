//! Tables of InnoDB in the system tablespace, which does not give back what they took.

use drover_db::Vendor;
use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::binlog::replicas::first_known;
use crate::evidence::{Answer, Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.file_per_table",
    area: Area::Server,
    looks_for: "innodb_file_per_table=OFF, and tables in the system tablespace: dropping them frees nothing on the disk",
    needs: "variable innodb_file_per_table; information_schema.INNODB_TABLES on MySQL, INNODB_SYS_TABLES on MariaDB (PROCESS)",
    source: "MySQL manual, File-Per-Table Tablespaces and The System Tablespace; MariaDB manual, InnoDB File-Per-Table Tablespaces",
    refuted_by: "the system tablespace lies on a device of its own that is given to it, and tables are never dropped or rebuilt",
    look,
};

const NAME: &str = "innodb_file_per_table";
/// More are counted no further.
const MOST: usize = 1000;
/// How many names a message lists.
const TOLD: usize = 5;

/// MySQL's view, and that of MariaDB and of MySQL before 8.0. InnoDB's own tables there belong to no schema.
fn tables(facts: &Facts) -> Seen<Vec<String>> {
    let query = |view: &str| {
        format!(
            "SELECT NAME AS name FROM information_schema.{view} WHERE SPACE = 0 AND NAME LIKE '%/%' ORDER BY NAME LIMIT {MOST}"
        )
    };
    let views = ["INNODB_TABLES", "INNODB_SYS_TABLES"].map(query);
    let answer = first_known(facts, &[&views[0], &views[1]])?;
    let names = answer.rows.iter().filter_map(|row| answer.value(row, "name"));
    Ok(names.filter(|name| !is_part_of_index(name)).map(|name| name.replacen('/', ".", 1)).collect())
}

/// Of an index of FULLTEXT: `d/fts_0000000000000428_being_deleted`.
fn is_part_of_index(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|table| table.to_ascii_lowercase().starts_with("fts_0"))
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let is_on = match facts.is_on(NAME) {
        // A server that cannot do otherwise.
        Err(Unseen::Missing) => true,
        other => other?,
    };
    let tables = tables(facts);
    let mut outcome = Outcome::default();
    match &tables {
        Ok(names) if is_on && names.is_empty() => {
            outcome.fine.push(format!("{NAME} is ON, and no table lies in the system tablespace"));
        }
        Ok(names) => outcome.findings.push(finding(facts, is_on, names)),
        Err(unseen) => {
            outcome.unknown.push(format!("tables in the system tablespace: {unseen}"));
            outcome.findings.extend((!is_on).then(|| finding(facts, is_on, &[])));
        }
    }
    Ok(outcome)
}

fn finding(facts: &Facts, is_on: bool, names: &[String]) -> Finding {
    let how = mover(facts);
    let many = show::things(names.len() as u64, "table");
    let finding = if is_on {
        Finding::observed(Weight::Note, format!("the system tablespace holds {many}"), how)
    } else {
        let what = "each new table of InnoDB goes into the system tablespace";
        Finding::observed(Weight::Yellow, what, format!("turn it on, here and in the option file; {how}"))
            .sql(format!("SET GLOBAL {NAME} = ON"), Some(format!("SET GLOBAL {NAME} = OFF")))
    };
    let mut finding = finding.seen(format!("{NAME} is {}", if is_on { "ON" } else { "OFF" }));
    if !names.is_empty() {
        let first = names.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join(", ");
        let rest = if names.len() > TOLD { ", …" } else { "" };
        finding = finding.seen(format!("{many} in it: {first}{rest}"));
    }
    let now =
        file_size(facts).map(|bytes| format!("it has {} now; ", show::bytes(bytes))).unwrap_or_default();
    finding.effect(format!(
        "{now}what a dropped or rebuilt table leaves there is not given back to the file system"
    ))
}

/// MySQL keeps a table in the tablespace that it is in, unless it is told another one.
fn mover(facts: &Facts) -> &'static str {
    match facts.vendor() {
        Ok(Vendor::MySql) => {
            "ALTER TABLE … TABLESPACE = innodb_file_per_table moves a table into a file of its own; the system tablespace stays as large as \
             it is"
        }
        _ => {
            "ALTER TABLE … ENGINE = InnoDB moves a table into a file of its own; the system tablespace stays as large as it is"
        }
    }
}

/// Of the system tablespace's files: MySQL's views tell it, or MariaDB's.
fn file_size(facts: &Facts) -> Option<u64> {
    let bytes = |answer: Seen<Answer>| answer.ok()?.first("bytes")?.parse().ok();
    bytes(facts.ask("SELECT CAST(SUM(TOTAL_EXTENTS * EXTENT_SIZE) AS UNSIGNED) AS bytes FROM information_schema.FILES WHERE TABLESPACE_NAME = 'innodb_system'"))
        .or_else(|| bytes(facts.ask("SELECT FILE_SIZE AS bytes FROM information_schema.INNODB_SYS_TABLESPACES WHERE SPACE = 0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_people() {
        assert!(is_part_of_index("d/fts_0000000000000428_being_deleted"));
        assert!(is_part_of_index("d/FTS_0000000000000428_CONFIG"));
        assert!(!is_part_of_index("d/fts_results") && !is_part_of_index("fts_0/t"));
    }
}
