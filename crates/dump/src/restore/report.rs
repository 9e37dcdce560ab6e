//! What came of a restore.

use drover_db::Server;
use drover_format::{Refusal, Rewrite};
use serde::Serialize;

use super::users::UsersReport;
use super::verified::VerifyReport;

/// What came of a restore.
#[derive(Debug, Clone, Serialize)]
pub struct RestoreReport {
    /// The server that was filled.
    pub server: Server,
    /// Tables that were restored.
    pub tables: usize,
    /// Rows that were loaded.
    pub rows: u64,
    /// Bytes of the rows' text.
    pub bytes: u64,
    /// Those of them that an earlier run had loaded.
    pub there_bytes: u64,
    /// Wall-clock time of the whole command, in seconds.
    pub seconds: f64,
    /// The part of it in which the throttle let the work wait.
    pub paused_seconds: f64,
    /// The part of it in which rows were loaded and indexes built, in seconds.
    pub load_seconds: f64,
    /// Views and stored programs that got another definer: `--definer`.
    pub definers_changed: usize,
    /// Of which moments the rows are, if they are of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<String>,
    /// What the server warned of when objects were created.
    pub warnings: Vec<String>,
    /// What became of the accounts; absent without `--users`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<UsersReport>,
    /// For scheduled events that run where they come from and are off here, the statement that switches each on.
    pub events_off: Vec<String>,
    /// Why scheduled events that run perhaps should not: whether the target is a replica is not shown to this account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_unsure: Option<String>,
    /// What was written otherwise for this server, or left out.
    pub rewrites: Vec<Rewrite>,
    /// What the server cannot hold, which was skipped.
    pub refused: Vec<Refusal>,
    /// The proof; absent if `--no-verify` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyReport>,
}

/// The same warning of many scripts becomes one; those that name their objects stay as they are.
pub(crate) fn grouped(warnings: &[String]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for warning in warnings {
        // No script's name holds a colon or a backtick.
        let of_script =
            warning.split_once(": ").filter(|(script, _)| script.contains(".sql") && !script.contains('`'));
        let (script, message) = of_script.unwrap_or(("", warning));
        match groups.iter_mut().find(|(known, _)| *known == message) {
            Some((_, scripts)) if !scripts.contains(&script) => scripts.push(script),
            Some(_) => {}
            None => groups.push((message, vec![script])),
        }
    }
    let show = |(message, scripts): &(&str, Vec<&str>)| match scripts.as_slice() {
        [""] => (*message).to_owned(),
        [one] => format!("{one}: {message}"),
        [first, rest @ ..] => format!("{first} and {} more: {message}", rest.len()),
        [] => (*message).to_owned(),
    };
    groups.iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_many_scripts_become_one() {
        let warnings = ["a.sql: x", "b.sql: y: z", "c.sql: x", "a.sql: x", "view `a.sql`: x", "view `b`: x"];
        let expected = ["a.sql and 1 more: x", "b.sql: y: z", "view `a.sql`: x", "view `b`: x"];
        assert_eq!(grouped(&warnings.map(str::to_owned)), expected);
    }
}
