//! The list of loads, for a person or as JSON.

use std::io::{self, Write};

use drover_units::show::bytes;
use serde::Serialize;

use crate::shortened::shortened;

use super::ExtractReport;

/// A load.
#[derive(Debug, Default, Serialize)]
pub(super) struct Line {
    pub(super) log: String,
    pub(super) start: u64,
    pub(super) stop: u64,
    /// Where that is another log than it begins in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_log: Option<String>,
    /// In seconds since 1970; 0 where it is not known.
    pub(super) time: u32,
    pub(super) server_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread: Option<u32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) schema: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) table: String,
    /// In bytes; absent where the log does not have the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    pub(super) ended: Ended,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<u16>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) lacks_beginning: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_rebuilt: bool,
    /// Of one that is rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<u64>,
    /// Rows that the log does not tell as a whole.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) rows_left_out: u64,
    /// Values whose sign is not told.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) doubtful_values: u64,
    /// Whether the statement needs names of columns that the log does not tell.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) lacks_names: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) statement: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) statement_file: Option<String>,
}

/// How a load ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    #[default]
    Loaded,
    Failed,
    Unfinished,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Line {
    /// Whether what was written is all that was loaded.
    fn is_whole(&self) -> bool {
        self.ended != Ended::Unfinished
            && !self.lacks_beginning
            && !self.lacks_names
            && self.rows_left_out == 0
            && self.doubtful_values == 0
            && self.size.is_some()
    }

    /// What is to be known of it, for a person.
    fn remarks(&self) -> String {
        let mut remarks = Vec::new();
        match (self.ended, self.error) {
            (Ended::Failed, Some(code)) => remarks.push(format!("failed with error {code}")),
            (Ended::Failed, None) => remarks.push("failed before any row came in".into()),
            (Ended::Unfinished, _) => remarks.push("the log does not have its end".into()),
            (Ended::Loaded, _) => {}
        }
        if self.lacks_beginning {
            remarks.push("the log does not have its beginning".into());
        }
        if self.size.is_none() {
            remarks.push("the log does not have the file".into());
        }
        if let Some(rows) = self.rows {
            remarks.push(format!("rebuilt from {rows} rows"));
        }
        if self.rows_left_out > 0 {
            remarks.push(format!("{} rows left out", self.rows_left_out));
        }
        if self.doubtful_values > 0 {
            remarks.push(format!("{} numbers whose sign the log does not tell", self.doubtful_values));
        }
        if self.lacks_names {
            remarks.push("the log does not tell the columns' names, which the statement needs".into());
        }
        if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
    }
}

/// Where lines go.
pub(super) struct List<'a> {
    out: &'a mut dyn Write,
    is_json: bool,
    log: String,
    report: ExtractReport,
}

impl<'a> List<'a> {
    pub(super) fn new(is_json: bool, out: &'a mut dyn Write) -> Self {
        Self { out, is_json, log: String::new(), report: ExtractReport::default() }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.is_json { self.out.write_all(b"{\"loads\":[") } else { Ok(()) }
    }

    pub(super) fn end(&mut self) -> io::Result<ExtractReport> {
        if self.is_json {
            self.out.write_all(b"\n]}\n")?;
        }
        self.out.flush()?;
        Ok(self.report)
    }

    pub(super) fn line(&mut self, line: &Line) -> io::Result<()> {
        self.report.loads += 1;
        self.report.not_whole += u64::from(!line.is_whole());
        let is_first = self.report.loads == 1;
        if self.is_json {
            self.out.write_all(if is_first { b"\n" } else { b",\n" })?;
            return serde_json::to_writer(&mut *self.out, line).map_err(io::Error::from);
        }
        if self.log != line.log {
            self.log.clone_from(&line.log);
            let gap = if is_first { "" } else { "\n" };
            writeln!(self.out, "{gap}{}", line.log)?;
            writeln!(self.out, "{:>12} {:>12} {:>9}  {:<24} STATEMENT", "START", "STOP", "SIZE", "TABLE")?;
        }
        let Line { start, stop, .. } = line;
        let size = line.size.map(bytes).unwrap_or_default();
        let table = match (line.schema.as_str(), line.table.as_str()) {
            ("", table) => table.to_owned(),
            (schema, table) => format!("{schema}.{table}"),
        };
        let statement = line.statement.as_ref().map(|text| shortened(text.as_bytes())).unwrap_or_default();
        writeln!(self.out, "{start:>12} {stop:>12} {size:>9}  {table:<24} {statement}{}", line.remarks())?;
        for file in line.file.iter().chain(&line.statement_file) {
            writeln!(self.out, "{:>37}{file}", "")?;
        }
        Ok(())
    }
}
