//! How old the last backup is, as far as the server knows of it.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.backup",
    area: Area::Server,
    looks_for: "the age of the last backup that has left a note on the server, and whether the binary logs reach back to it",
    needs: "SELECT on mysql.backup_history (MySQL Enterprise Backup), mysql.mariadb_backup_history or PERCONA_SCHEMA.xtrabackup_history \
            (mariadb-backup and xtrabackup with --history); dumps, also drover's, and snapshots leave no note",
    source: "MySQL Enterprise Backup manual, Using the MySQL Enterprise Backup Logs; mariadb-backup manual and Percona XtraBackup manual, \
             --history; MySQL manual, Point-in-Time (Incremental) Recovery",
    refuted_by: "a younger backup was made that leaves no note here: a dump, a snapshot, a copy of another server, or without --history",
    look,
};

/// Days.
const OLD: u64 = 7;
const DAY: u64 = 86_400;

/// A table of backups that a tool keeps: its name, and which of its rows are of backups that hold all and have succeeded.
struct History {
    table: &'static str,
    whole: &'static str,
}

/// An incremental backup is as good as a full one, as it goes back to one.
const HISTORIES: [History; 3] = [
    History {
        table: "mysql.backup_history",
        whole: "exit_state = 'SUCCESS' AND backup_type IN ('FULL', 'INCREMENTAL')",
    },
    History { table: "mysql.mariadb_backup_history", whole: "partial = 'N'" },
    History { table: "PERCONA_SCHEMA.xtrabackup_history", whole: "partial = 'N'" },
];

/// The last whole backup of a table; none if there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Last {
    table: &'static str,
    ended: String,
    /// Seconds.
    age: u64,
}

impl History {
    /// The tools write the server's own time.
    fn last(&self, facts: &Facts) -> Seen<Option<Last>> {
        let Self { table, whole } = self;
        let answer = facts.ask(&format!(
            "SELECT MAX(end_time) AS ended, GREATEST(TIMESTAMPDIFF(SECOND, MAX(end_time), NOW()), 0) AS age FROM {table} WHERE {whole}"
        ))?;
        let last = || {
            Some(Last {
                table,
                ended: answer.first("ended")?.to_owned(),
                age: answer.first("age")?.parse().ok()?,
            })
        };
        Ok(last())
    }
}

fn look(facts: &Facts) -> Seen<Outcome> {
    // Whether anybody is asked at all.
    facts.version()?;
    let mut outcome = Outcome::default();
    let (mut backups, mut empty) = (Vec::new(), Vec::new());
    for history in &HISTORIES {
        match history.last(facts) {
            Ok(Some(last)) => backups.push(last),
            Ok(None) => empty.push(history.table),
            Err(Unseen::Missing) => {}
            Err(unseen) => outcome.unknown.push(format!("{}: {unseen}", history.table)),
        }
    }
    match backups.into_iter().min_by_key(|last| last.age) {
        Some(last) => judged(facts, &last, &mut outcome),
        None if !empty.is_empty() => outcome.findings.push(none_in(&empty)),
        None if outcome.unknown.is_empty() => outcome.unknown.push(
            "when the last backup was made: no tool has left a note of one on this server; dumps and snapshots leave none".to_owned(),
        ),
        None => {}
    }
    Ok(outcome)
}

fn judged(facts: &Facts, last: &Last, outcome: &mut Outcome) {
    let Last { table, ended, age } = last;
    let kept = logs_kept(facts);
    let told = format!("{table}: the last whole backup ended {ended}, {} ago", days(*age));
    let is_old = *age >= OLD * DAY;
    let cannot_reach = kept.is_some_and(|kept| kept < *age);
    if !is_old && !cannot_reach {
        // That another history cannot be seen matters no more: this backup is young enough.
        outcome.unknown.clear();
        outcome.fine.push(told);
        return;
    }
    let lost = match kept {
        Some(0) => {
            "no binary log is written: all that was changed since then is lost with the server".to_owned()
        }
        Some(kept) if cannot_reach => format!(
            "binary logs are kept for {} only: what was changed between the backup and the oldest of them cannot be restored",
            show::span(kept)
        ),
        _ => format!(
            "to restore it takes the binary logs of {}, which lie on the same server unless they are kept elsewhere too",
            days(*age)
        ),
    };
    let finding = Finding::observed(
        Weight::Yellow,
        format!("the last backup that is known here is {} old", days(*age)),
        "look whether the job that makes backups still runs, and restore one to see that it can be; `drover dump` makes one, too",
    );
    outcome.findings.push(finding.seen(told).effect(lost));
}

/// A length of time in days, or in hours where it is short.
fn days(seconds: u64) -> String {
    if seconds < 2 * DAY { show::seconds(seconds as f64) } else { show::things(seconds / DAY, "day") }
}

fn none_in(tables: &[&str]) -> Finding {
    Finding::observed(
        Weight::Yellow,
        "a tool has noted backups on this server, but no whole one that has succeeded",
        "look what the tool says of its last run",
    )
    .seen(format!("{} without a row of a whole backup", tables.join(", ")))
}

/// How long binary logs are kept, in seconds: 0 where none is written, none where they are kept for ever, or where nobody tells.
fn logs_kept(facts: &Facts) -> Option<u64> {
    if !facts.is_on("log_bin").ok()? {
        return Some(0);
    }
    let seconds = facts.number("binlog_expire_logs_seconds").ok().filter(|seconds| *seconds > 0.0);
    let days = || facts.number("expire_logs_days").ok().map(|days| days * DAY as f64);
    seconds.or_else(days).filter(|seconds| *seconds > 0.0).map(|seconds| seconds as u64)
}
