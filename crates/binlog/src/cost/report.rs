//! What `drover binlog cost` found.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stat::{Cause, Charged, LogReport, Span, StatReport, TransactionReport};

use super::cures::{Basis, COUNT, Cure};
use super::link::{LagReport, LagSpan};
use super::model::Model;
use super::safety::SafetyVerdict;
use super::shape::KeySource;
use super::text::Statement;

/// What some logs cost, and what they would cost.
#[derive(Debug, Serialize)]
pub struct CostReport {
    /// The logs, in their order.
    pub logs: Vec<LogReport>,
    /// Of all logs, by table.
    pub bytes: Bytes,
    /// How many transactions.
    pub transactions: u64,
    /// What their rows take, the tables with the most bytes first.
    pub tables: Vec<TableCost>,
    /// By statement, those with the most bytes first. All of these and `without_statement` add up to all bytes.
    pub statements: Vec<StatementCost>,
    /// What belongs to no statement, in bytes.
    pub without_statement: u64,
    /// The transactions with the most bytes.
    pub largest: Vec<TransactionReport>,
    /// How much was committed when.
    pub minutes: Minutes,
    /// What the logs would take, as they are first.
    pub cures: Vec<CureReport>,
    /// The lag of a link, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkReport>,
    /// Whether the logs' server is MariaDB.
    pub is_mariadb: bool,
}

/// Bytes of logs. All of `by_table` and `other` add up to `total`.
#[derive(Debug, Serialize)]
pub struct Bytes {
    /// The logs' length.
    pub total: u64,
    /// What rows take, with their share of what is around them, by `SCHEMA.TABLE`.
    pub by_table: BTreeMap<String, u64>,
    /// What is no table's: statements that were logged as such, and what belongs to no transaction.
    pub other: u64,
}

/// What rows of a table take, without what is around them.
#[derive(Debug, Serialize)]
pub struct TableCost {
    /// `SCHEMA.TABLE`.
    pub table: String,
    /// Whether it is known which columns tell the row.
    pub key: KeySource,
    /// Whether there are such.
    pub has_key: bool,
    /// What its rows take, in bytes, not compressed.
    pub rows_bytes: u64,
    /// What they would take with the row image MINIMAL.
    pub minimal_rows_bytes: u64,
    /// The same with NOBLOB.
    pub noblob_rows_bytes: u64,
}

impl Default for TableCost {
    fn default() -> Self {
        let (table, key, has_key) = (String::new(), KeySource::Assumed, false);
        Self { table, key, has_key, rows_bytes: 0, minimal_rows_bytes: 0, noblob_rows_bytes: 0 }
    }
}

/// What a statement takes.
#[derive(Debug, Serialize)]
pub struct StatementCost {
    /// Its text, without values.
    pub text: String,
    /// Bytes in the logs, with their share of what is around.
    pub bytes: u64,
    /// How often it was run.
    pub count: u64,
    /// Transactions that it is in.
    pub transactions: u64,
    /// Whether it is safe to be logged as a statement.
    #[serde(flatten)]
    pub verdict: SafetyVerdict,
}

/// How much was committed in each minute.
#[derive(Debug, Serialize)]
pub struct Minutes {
    /// The length of the spans: 60, or more of logs of more than a month.
    pub span_seconds: u32,
    /// Those in which something was committed.
    pub spans: Vec<Span>,
}

/// What the logs would take.
#[derive(Debug, Serialize)]
pub struct CureReport {
    /// Its name, which stays.
    pub cure: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What to set.
    pub settings: Vec<&'static str>,
    /// What the logs would take, in bytes; with a compressed connection, what goes over it.
    pub bytes: u64,
    /// What is saved of what they take, from 0 to 1; less than 0 where they would grow.
    pub saved: f64,
    /// How far that is to be trusted.
    pub basis: Basis,
    /// Why it is estimated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<&'static str>,
    /// The lag of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<LagReport>,
}

/// The lag that a link would have had.
#[derive(Debug, Serialize)]
pub struct LinkReport {
    /// What it carries, in bytes a second.
    pub bytes_per_second: u64,
    /// The length of the spans, in seconds.
    pub span_seconds: u32,
    /// The longest lag in each span, in seconds, for each of `cures`, in their order; spans without lag are left out.
    pub spans: Vec<LagSpan>,
}

impl CostReport {
    pub(super) fn new(mut model: Model, compresses: bool, rate: Option<u64>) -> Self {
        model.finish();
        let has_definitions = model.has_definitions();
        let Model {
            tally,
            texts,
            statements,
            without_statement,
            minutes,
            mut sizes,
            link,
            tables,
            is_mariadb,
            doubts,
            ..
        } = model;
        let stat = tally.into_report();
        let magic = stat.bytes.saturating_sub(sizes[Cure::Today as usize]);
        sizes.iter_mut().for_each(|size| *size += magic);
        let (lags, span_seconds, spans) = link.map(super::link::Link::into_report).unwrap_or_default();
        let changes =
            |cure: &Cure| *cure == Cure::Today || sizes[*cure as usize] != sizes[Cure::Today as usize];
        let applies = |cure: &Cure| cure.applies(is_mariadb, compresses, &doubts) && changes(cure);
        let shown: Vec<Cure> = Cure::ALL.into_iter().filter(applies).collect();
        let cures = shown.iter().map(|&cure| {
            let (basis, why) = cure.basis(&doubts, has_definitions);
            let bytes = sizes[cure as usize];
            CureReport {
                cure: cure.name(),
                title: cure.title(),
                settings: cure.settings(is_mariadb),
                bytes,
                saved: 1.0 - bytes as f64 / sizes[0].max(1) as f64,
                basis,
                why,
                lag: lags.get(cure as usize).cloned(),
            }
        });
        let link = rate.map(|bytes_per_second| LinkReport {
            bytes_per_second,
            span_seconds,
            spans: spans.into_iter().map(|span| span.only(&shown)).collect(),
        });
        let (span_seconds, minutes) = minutes.into_spans();
        Self {
            cures: cures.collect(),
            link,
            statements: costs_of(statements.into_sorted(), texts.all),
            without_statement: without_statement + magic,
            minutes: Minutes { span_seconds, spans: minutes },
            tables: sorted(tables, &stat),
            bytes: Bytes::of(&stat),
            transactions: stat.transactions,
            largest: stat.largest,
            logs: stat.logs,
            is_mariadb,
        }
    }
}

/// What the statements cost, the dearest first.
fn costs_of(charged: Vec<Charged>, mut texts: Vec<Statement>) -> Vec<StatementCost> {
    let cost = |charged: Charged| {
        let Cause::Text(id) = charged.cause else { return None };
        let statement = texts.get_mut(id)?;
        Some(StatementCost {
            text: std::mem::take(&mut statement.text),
            bytes: charged.bytes,
            count: charged.events.iter().sum(),
            transactions: charged.transactions,
            verdict: statement.verdict.clone(),
        })
    };
    charged.into_iter().filter_map(cost).collect()
}

impl LagSpan {
    /// With the logs that are shown.
    fn only(self, shown: &[Cure]) -> Self {
        let lag = shown.iter().map(|&cure| self.lag.get(cure as usize).copied().unwrap_or(0.0)).collect();
        Self { lag, ..self }
    }
}

impl Bytes {
    fn of(stat: &StatReport) -> Self {
        let mut by_table = BTreeMap::new();
        for table in &stat.by_table {
            // Names that are no UTF-8 may be shown the same.
            *by_table.entry(format!("{}.{}", table.schema, table.table)).or_insert(0) += table.bytes;
        }
        let of_tables: u64 = by_table.values().sum();
        Self { total: stat.bytes, by_table, other: stat.bytes - of_tables }
    }
}

/// In the order of what they take.
fn sorted(mut tables: Vec<TableCost>, _: &StatReport) -> Vec<TableCost> {
    tables.retain(|table| table.rows_bytes > 0);
    tables.sort_by_key(|table| std::cmp::Reverse(table.rows_bytes));
    tables
}

const _: () = assert!(Cure::ALL.len() == COUNT);
