//! AUTO_INCREMENT columns that come near the largest value of their type.

use std::collections::BTreeMap;

use drover_db::quote;
use drover_units::show;

use super::told::TOLD;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::{OWN, hidden};
use crate::evidence::{Answer, Seen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.auto_increment",
    area: Area::Server,
    looks_for: "AUTO_INCREMENT columns that have used most values of their type, and when they reach its end",
    needs: "information_schema.TABLES and COLUMNS (SELECT on all tables); for when they end, \
            performance_schema.table_io_waits_summary_by_table (off by default on MariaDB)",
    source: "MySQL manual, Using AUTO_INCREMENT, Integer Types, and AUTO_INCREMENT Handling in InnoDB; MariaDB manual, AUTO_INCREMENT; \
             MySQL manual, Table I/O and Lock Wait Summary Tables",
    refuted_by: "values are not taken one by one: somebody has set AUTO_INCREMENT high, or has inserted one large value; nothing is \
                 inserted any more",
    look,
};

/// The share of a type's values from which on it is a finding.
const NEAR: f64 = 0.75;
/// Days up to the end from which on service is at stake: to widen a large table takes preparation.
const SOON: f64 = 30.0;
/// Tables and columns that are looked at.
const MOST: usize = 20_000;
const DAY: f64 = 86_400.0;

fn tables() -> String {
    format!(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, AUTO_INCREMENT AS next FROM information_schema.TABLES WHERE TABLE_TYPE = \
         'BASE TABLE' AND TABLE_SCHEMA NOT IN {OWN} AND AUTO_INCREMENT IS NOT NULL ORDER BY AUTO_INCREMENT DESC LIMIT {MOST}"
    )
}

/// Not joined with the other: MariaDB has no index on either.
fn columns() -> String {
    format!(
        "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, COLUMN_NAME AS c, DATA_TYPE AS type, COLUMN_TYPE AS full FROM \
         information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN {OWN} AND EXTRA LIKE '%auto_increment%' LIMIT {MOST}"
    )
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let hidden = hidden(facts, &["SELECT"]);
    let (tables, columns) = (facts.ask(&tables())?, facts.ask(&columns())?);
    let mut outcome = Outcome { unknown: hidden.into_iter().collect(), ..Outcome::default() };
    if tables.rows.len().max(columns.rows.len()) == MOST {
        outcome.unknown.push(format!("tables beyond the first {}", show::count(MOST as u64)));
    }
    let counters = counters(&tables, &columns);
    let near = counters.iter().take_while(|counter| counter.share() >= NEAR).count();
    for counter in &counters[..near.min(TOLD)] {
        outcome.findings.push(counter.finding(inserts(facts, counter)));
    }
    if near > TOLD {
        outcome.findings.push(more(near));
    }
    if outcome == Outcome::default() {
        outcome.fine.push(match counters.first() {
            Some(first) => format!(
                "of {} with AUTO_INCREMENT, {} has used most: {}",
                show::things(counters.len() as u64, "column"),
                first.name(),
                first.used()
            ),
            None => "no column has AUTO_INCREMENT".to_owned(),
        });
    }
    Ok(outcome)
}

fn more(all: usize) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("{} such columns in all", show::count(all as u64)),
        "begin with those that rows are inserted into most",
    )
    .seen("information_schema.TABLES and COLUMNS; the fullest are listed")
}

/// A column that the server gives values to.
#[derive(Debug, Clone, PartialEq)]
struct Counter {
    schema: String,
    table: String,
    column: String,
    /// As in its definition.
    of_type: String,
    /// The value that is given next, and the largest of the type.
    next: u64,
    largest: u64,
}

/// The fullest first.
fn counters(tables: &Answer, columns: &Answer) -> Vec<Counter> {
    let of = |answer: &Answer, row: &[Option<String>], column| answer.value(row, column).map(str::to_owned);
    let key = |answer: &Answer, row: &[Option<String>]| Some((of(answer, row, "s")?, of(answer, row, "t")?));
    let next = |row: &Vec<Option<String>>| {
        Some((key(tables, row)?, tables.value(row, "next")?.parse::<u64>().ok()?))
    };
    let next: BTreeMap<_, _> = tables.rows.iter().filter_map(next).collect();
    let counter = |row: &Vec<Option<String>>| {
        let (schema, table) = key(columns, row)?;
        let of_type = of(columns, row, "full")?;
        let largest = largest(columns.value(row, "type")?, of_type.contains("unsigned"))?;
        let next = *next.get(&(schema.clone(), table.clone()))?;
        Some(Counter { schema, table, column: of(columns, row, "c")?, of_type, next, largest })
    };
    let mut counters: Vec<_> = columns.rows.iter().filter_map(counter).collect();
    counters.sort_by(|a, b| b.share().total_cmp(&a.share()));
    counters
}

/// The largest value that a column of the type is given. Of FLOAT and DOUBLE the largest up to which each whole number is one of theirs
/// (storage/innobase/handler/ha_innodb.cc, get_int_col_max_value).
fn largest(data_type: &str, unsigned: bool) -> Option<u64> {
    let bits = match data_type.to_ascii_lowercase().as_str() {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" => 32,
        "bigint" => 64,
        "float" => return Some(1 << 24),
        "double" => return Some(1 << 53),
        _ => return None,
    };
    Some(u64::MAX >> (64 - bits + u32::from(!unsigned)))
}

impl Counter {
    fn name(&self) -> String {
        format!("{}.{}.{}", self.schema, self.table, self.column)
    }

    fn taken(&self) -> u64 {
        self.next.saturating_sub(1).min(self.largest)
    }

    fn share(&self) -> f64 {
        // What is at its end stays at the largest value, whether that was given or not.
        if self.is_at_end() { 1.0 } else { self.taken() as f64 / self.largest as f64 }
    }

    fn is_at_end(&self) -> bool {
        self.next >= self.largest
    }

    fn used(&self) -> String {
        format!(
            "{:.1} % of what {} holds ({} of {})",
            self.share() * 100.0,
            self.of_type,
            show::count(self.taken()),
            show::count(self.largest)
        )
    }

    fn finding(&self, inserts: Option<Inserts>) -> Finding {
        let days = inserts.and_then(|inserts| inserts.days(self.largest - self.taken()));
        let at_stake = self.is_at_end() || days.is_some_and(|days| days < SOON);
        let what = match self.is_at_end() {
            true => format!("{} is at the end of its type {}", self.name(), self.of_type),
            false => format!("{} has used {}", self.name(), self.used()),
        };
        let finding =
            Finding::observed(if at_stake { Weight::Red } else { Weight::Yellow }, what, self.advice())
                .about(self.name())
                .seen(format!(
                    "information_schema: AUTO_INCREMENT is {}, the column is {}",
                    show::count(self.next),
                    self.of_type
                ));
        match inserts {
            Some(inserts) => finding.seen(inserts.told()),
            None => finding,
        }
        .effect(self.effect(inserts, days))
    }

    fn advice(&self) -> &'static str {
        match self.largest {
            u64::MAX => {
                "see who has inserted the large value, delete that row if it is none of yours, and set AUTO_INCREMENT anew"
            }
            _ => {
                "make it a BIGINT UNSIGNED, with the columns that refer to it: the statement rewrites the table, and clients must be able \
                 to hold the larger values"
            }
        }
    }

    fn effect(&self, inserts: Option<Inserts>, days: Option<f64>) -> String {
        const THEN: &str = "an INSERT that is to be given a value fails (error 1062, 1467 or 167)";
        match (self.is_at_end(), inserts, days) {
            (true, ..) => format!("no value is left, or one: then {THEN}"),
            (_, _, Some(days)) => {
                format!("at that rate no value is left in {} days: then {THEN}", show::count(days as u64))
            }
            (_, Some(_), None) => {
                format!("nothing was inserted since then; when no value is left, {THEN}")
            }
            (_, None, None) => format!(
                "when it ends cannot be seen, as performance_schema has not counted its rows; then {THEN}"
            ),
        }
    }
}

/// Rows that were inserted since the server started, and how long that is, in seconds.
#[derive(Debug, Clone, Copy)]
struct Inserts {
    rows: f64,
    seconds: f64,
}

impl Inserts {
    /// Days until so many more are inserted; none where nothing was.
    fn days(self, left: u64) -> Option<f64> {
        (self.rows > 0.0).then(|| left as f64 * self.seconds / self.rows / DAY)
    }

    fn told(self) -> String {
        format!(
            "performance_schema: {} inserted in the {} since the server started",
            show::things(self.rows as u64, "row"),
            show::seconds(self.seconds)
        )
    }
}

/// None where nobody counts them.
fn inserts(facts: &Facts, counter: &Counter) -> Option<Inserts> {
    let [schema, table] = [&counter.schema, &counter.table].map(|name| quote::string(name));
    let query = format!(
        "SELECT COUNT_INSERT AS n FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_TYPE = 'TABLE' AND \
         OBJECT_SCHEMA = {schema} AND OBJECT_NAME = {table}"
    );
    let rows = facts.ask(&query).ok()?.first("n")?.parse().ok()?;
    Some(Inserts { rows, seconds: facts.status("Uptime").ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(next: u64) -> Counter {
        let name = |name: &str| name.to_owned();
        Counter {
            schema: name("d"),
            table: name("t"),
            column: name("id"),
            of_type: name("int"),
            next,
            largest: largest("int", false).unwrap(),
        }
    }

    #[test]
    fn what_types_hold() {
        let of = |name, unsigned| largest(name, unsigned).unwrap();
        assert_eq!((of("tinyint", false), of("tinyint", true)), (127, 255));
        assert_eq!((of("mediumint", false), of("mediumint", true)), (8_388_607, 16_777_215));
        assert_eq!((of("bigint", false), of("bigint", true)), (i64::MAX as u64, u64::MAX));
        assert_eq!(largest("decimal", false), None);
    }

    #[test]
    fn when_it_ends() {
        let weight = |next, rows| {
            let inserts = Inserts { rows, seconds: DAY };
            counter(next).finding(Some(inserts)).weight
        };
        // A million a day: 147 days, and 20.
        assert_eq!(weight(2_000_000_000, 1e6), Weight::Yellow);
        assert_eq!(weight(2_127_000_000, 1e6), Weight::Red);
        assert_eq!(weight(2_127_000_000, 0.0), Weight::Yellow);
        assert_eq!(counter(2_147_483_647).finding(None).weight, Weight::Red);
        let told = counter(2_000_000_000).finding(None).effect.unwrap();
        assert!(told.contains("cannot be seen"), "{told}");
    }
}
