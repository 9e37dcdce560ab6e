//! Results as text.

use std::process::ExitCode;

use drover_dump::{DumpReport, RestoreReport, VerifyReport};

use crate::size::{bytes, rate, seconds, things};

/// How a command ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Done,
    /// It found something that a person should look at.
    Found,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(u8::from(self == Self::Found))
    }
}

pub(crate) fn dump(dump: &DumpReport) -> String {
    let snapshot = &dump.snapshot;
    let position = match (&snapshot.binlog_file, snapshot.binlog_position) {
        (Some(file), Some(position)) => format!("{file}:{position}"),
        _ => "not known (no binary log, or no privilege to ask)".into(),
    };
    let gtid = snapshot.gtid_set.as_deref().unwrap_or("none").replace('\n', "");
    format!(
        "dumped    {} of {} from {}, {}\n\
         text      {} in {} ({})\n\
         stored    {} in {}\n\
         snapshot  {} under {}, writers held for {} ms\n\
         binlog    {position}\n\
         gtid      {gtid}",
        things(dump.tables as u64, "table"),
        things(dump.schemas as u64, "schema"),
        dump.server,
        things(dump.rows, "row"),
        bytes(dump.bytes),
        seconds(dump.seconds),
        rate(dump.bytes, dump.seconds),
        bytes(dump.stored_bytes),
        dump.directory.display(),
        snapshot.taken_at,
        snapshot.lock,
        snapshot.lock_held_ms,
    )
}

pub(crate) fn restore(restore: &RestoreReport) -> String {
    let loaded = format!(
        "restored  {} into {}, {}\n\
         text      {} in {} ({})",
        things(restore.tables as u64, "table"),
        restore.server,
        things(restore.rows, "row"),
        bytes(restore.bytes),
        seconds(restore.load_seconds),
        rate(restore.bytes, restore.load_seconds),
    );
    match &restore.verify {
        Some(report) => format!("{loaded}\n{}", verify(report)),
        None => format!("{loaded}\nverified  no: --no-verify was given"),
    }
}

pub(crate) fn verify(verify: &VerifyReport) -> String {
    let verdict = match verify.differences.len() {
        0 => "identical".to_owned(),
        found => things(found as u64, "difference"),
    };
    let definitions = match verify.definitions {
        0 => "definitions not compared: another vendor or version writes them differently".to_owned(),
        definitions => things(definitions as u64, "definition"),
    };
    let first = format!(
        "verified  {verdict}: {} of {} read back in {}; {definitions}",
        things(verify.rows, "row"),
        things(verify.tables as u64, "table"),
        seconds(verify.seconds),
    );
    [first].into_iter().chain(differences(verify)).collect::<Vec<_>>().join("\n")
}

/// A line for each difference, up to a number that a person still reads.
fn differences(verify: &VerifyReport) -> Vec<String> {
    const SHOWN: usize = 50;
    let line = |difference: &drover_dump::Difference| match &difference.file {
        Some(file) => format!("differs   {} ({file}): {}", difference.object, difference.what),
        None => format!("differs   {}: {}", difference.object, difference.what),
    };
    let mut lines: Vec<_> = verify.differences.iter().take(SHOWN).map(line).collect();
    if verify.differences.len() > SHOWN {
        lines.push(format!("          and {} more (--json lists all)", verify.differences.len() - SHOWN));
    }
    lines
}
