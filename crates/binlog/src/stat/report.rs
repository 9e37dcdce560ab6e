//! What `drover binlog stat` found.

use std::cmp::Reverse;

use serde::Serialize;

use crate::log::Kind;

use super::causes::{Cause, Charged};
use super::rate::Span;

/// What fills some logs. All of `by_table`, `by_statement` and `other_bytes` add up to `bytes`.
#[derive(Debug, Serialize)]
pub struct StatReport {
    /// The logs, in their order.
    pub logs: Vec<LogReport>,
    /// Of all logs.
    pub bytes: u64,
    /// How many transactions.
    pub transactions: u64,
    /// By type of event, the largest first.
    pub by_event: Vec<KindReport>,
    /// The events in transactions' payloads, with their size when unpacked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_payloads: Vec<KindReport>,
    /// What rows take, by table.
    pub by_table: Vec<TableReport>,
    /// What statements take, by kind.
    pub by_statement: Vec<StatementReport>,
    /// What belongs to no transaction, or to one with neither rows nor statements.
    pub other_bytes: u64,
    /// The transactions with the most bytes.
    pub largest: Vec<TransactionReport>,
    /// The transactions that took the most time.
    pub longest: Vec<TransactionReport>,
    /// How much was written when.
    pub rate: RateReport,
}

/// A log.
#[derive(Debug, Serialize)]
pub struct LogReport {
    /// What it is called.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// The server that wrote it; empty before MySQL 5.0.
    pub server_version: String,
    /// The time of its first event, in seconds since 1970.
    pub first: Option<u32>,
    /// The time of its last event.
    pub last: Option<u32>,
}

/// Events of one type.
#[derive(Debug, Clone, Serialize)]
pub struct KindReport {
    /// What the vendors' programs call it.
    pub event: String,
    /// How many.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What rows of a table take.
#[derive(Debug, Serialize)]
pub struct TableReport {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// Bytes in the log, the share of what is around its rows included.
    pub bytes: u64,
    /// The part that its rows and their descriptions are.
    pub own_bytes: u64,
    /// Events with rows that came in.
    pub insert_events: u64,
    /// Events with rows that were changed.
    pub update_events: u64,
    /// Events with rows that went.
    pub delete_events: u64,
    /// Transactions that changed it.
    pub transactions: u64,
}

/// What statements of a kind take.
#[derive(Debug, Serialize)]
pub struct StatementReport {
    /// Its first words, such as `INSERT` or `CREATE TABLE`.
    pub statement: String,
    /// Bytes in the log, the share of what is around them included.
    pub bytes: u64,
    /// The part that the statements are, with files that they load.
    pub own_bytes: u64,
    /// How many.
    pub statements: u64,
    /// Transactions with such statements.
    pub transactions: u64,
}

/// A transaction.
#[derive(Debug, Clone, Serialize)]
pub struct TransactionReport {
    /// The log it begins in.
    pub log: String,
    /// Where in it.
    pub position: u64,
    /// Where it ends.
    pub end: u64,
    /// When its first statement began, in seconds since 1970.
    pub time: u32,
    /// Its identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gtid: Option<String>,
    /// Its bytes in the log.
    pub bytes: u64,
    /// Its events.
    pub events: u64,
    /// From when its first statement began to when its last event was made.
    pub seconds: u32,
}

/// How much was written when.
#[derive(Debug, Serialize)]
pub struct RateReport {
    /// The length of the spans.
    pub span_seconds: u32,
    /// Those in which a transaction began.
    pub spans: Vec<Span>,
}

impl KindReport {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { event: kind.to_string(), events: 0, bytes: 0 }
    }

    pub(crate) fn count(&mut self, bytes: u64) {
        self.events += 1;
        self.bytes += bytes;
    }
}

impl LogReport {
    pub(crate) fn new(name: &str, bytes: u64) -> Self {
        Self { name: name.to_owned(), bytes, server_version: String::new(), first: None, last: None }
    }
}

impl StatReport {
    pub(crate) fn new(
        logs: Vec<LogReport>,
        (mut by_event, mut in_payloads): (Vec<KindReport>, Vec<KindReport>),
        causes: Vec<Charged>,
        other_bytes: u64,
        transactions: u64,
        (largest, longest): (Vec<TransactionReport>, Vec<TransactionReport>),
        (span_seconds, spans): (u32, Vec<Span>),
    ) -> Self {
        by_event.sort_by_key(|kind| Reverse(kind.bytes));
        in_payloads.sort_by_key(|kind| Reverse(kind.bytes));
        let (mut by_table, mut by_statement) = (Vec::new(), Vec::new());
        for charged in causes {
            match charged.cause.clone() {
                Cause::Table(schema, table) => by_table.push(TableReport::new(&schema, &table, &charged)),
                Cause::Statement(kind) => by_statement.push(StatementReport::new(kind, &charged)),
                // Of these nothing is charged here.
                Cause::Text(_) => {}
            }
        }
        let bytes = logs.iter().map(|log| log.bytes).sum();
        let rate = RateReport { span_seconds, spans };
        Self {
            logs,
            bytes,
            transactions,
            by_event,
            in_payloads,
            by_table,
            by_statement,
            other_bytes,
            largest,
            longest,
            rate,
        }
    }
}

impl TableReport {
    fn new(schema: &[u8], table: &[u8], charged: &Charged) -> Self {
        let Charged {
            bytes,
            own_bytes,
            events: [insert_events, update_events, delete_events],
            transactions,
            ..
        } = *charged;
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let (schema, table) = (text(schema), text(table));
        Self { schema, table, bytes, own_bytes, insert_events, update_events, delete_events, transactions }
    }
}

impl StatementReport {
    fn new(statement: String, charged: &Charged) -> Self {
        let Charged { bytes, own_bytes, events: [statements, _, _], transactions, .. } = *charged;
        Self { statement, bytes, own_bytes, statements, transactions }
    }
}
