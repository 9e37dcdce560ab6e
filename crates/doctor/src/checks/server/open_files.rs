//! Files that may be open at once, and tables that are opened again and again.

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.open_files",
    area: Area::Server,
    looks_for: "a table cache that overflows; a limit of open files that is nearly used up, or too small for what is configured",
    needs: "open_files_limit, table_open_cache, max_connections; status variables Opened_tables and Table_open_cache_overflows; \
            /proc/PID/fd and /proc/PID/limits (the server's user, or root)",
    source: "MySQL manual, How MySQL Opens and Closes Tables, and Server System Variables on open_files_limit; proc(5) on \
             /proc/PID/limits and /proc/PID/fd",
    refuted_by: "tables are opened by a task that looks at all of them once, such as a dump or a report on information_schema",
    look,
};

/// Shares of the limit.
const NEARLY: f64 = 0.8;
const ALL: f64 = 0.95;
/// Tables a second that are closed to open others.
const OFTEN: f64 = 1.0;

fn look(facts: &Facts) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    match cache(facts, &mut outcome) {
        // MySQL before 5.6 does not count them.
        Err(Unseen::Missing) => outcome.unknown.push("how often the table cache overflows: not there".into()),
        cache => cache?,
    }
    too_small(facts, &mut outcome)?;
    match used(facts) {
        Ok((used, limit)) => {
            let seen =
                format!("{used} files are open of {limit} that may be (/proc/PID/fd and /proc/PID/limits)");
            match share(used, limit) {
                Some(weight) => outcome.findings.push(
                    Finding::observed(
                        weight,
                        "nearly all files are open that may be",
                        "raise LimitNOFILE of its unit and open_files_limit, and restart",
                    )
                    .seen(seen)
                    .effect("at the limit no table, no session and no temporary file can be opened"),
                ),
                None => outcome.fine.push(seen),
            }
        }
        Err(unseen) => outcome.unknown.push(format!("how many files the server has open: {unseen}")),
    }
    Ok(outcome)
}

/// Tables that are closed to open others.
fn cache(facts: &Facts, outcome: &mut Outcome) -> Seen<()> {
    let size_now = facts.number("table_open_cache")?;
    let (overflows, seconds) = facts.growth("Table_open_cache_overflows")?;
    let (opened, _) = facts.growth("Opened_tables")?;
    let seen = format!(
        "{overflows:.1} overflows of the table cache and {opened:.1} opened tables a second, over {seconds:.1} s"
    );
    if overflows < OFTEN || opened < OFTEN {
        outcome.fine.push(seen);
        return Ok(());
    }
    let set = |number: f64| format!("SET GLOBAL table_open_cache = {number:.0}");
    outcome.findings.push(
        Finding::observed(
            Weight::Yellow,
            "tables are closed and opened again, as the table cache is too small",
            "make it larger, as far as the limit of open files allows",
        )
        .about("table_open_cache")
        .seen(seen)
        .seen(format!("table_open_cache is {size_now:.0}"))
        .effect(format!("{opened:.0} tables are opened each second"))
        .sql(set(size_now * 2.0), Some(set(size_now))),
    );
    Ok(())
}

/// The server takes less than was asked for where the limit is too small, and says so in its log only.
fn too_small(facts: &Facts, outcome: &mut Outcome) -> Seen<()> {
    let number = |name| facts.number(name);
    let (limit, sessions, tables) =
        (number("open_files_limit")?, number("max_connections")?, number("table_open_cache")?);
    // MyISAM and Aria have two files for a table; a session has a socket; ten are for logs and the like.
    let wanted = 10.0 + sessions + 2.0 * tables;
    let seen = format!(
        "open_files_limit is {limit:.0}; max_connections {sessions:.0} and table_open_cache {tables:.0} may need {wanted:.0}"
    );
    if limit >= wanted {
        outcome.fine.push(seen);
        return Ok(());
    }
    let advice = "raise LimitNOFILE of its unit and open_files_limit, and restart; or ask for less";
    let what = "fewer files may be open than sessions and tables may need";
    outcome.findings.push(Finding::observed(Weight::Note, what, advice).about("open_files_limit").seen(seen));
    Ok(())
}

/// Files that the server has open, and how many it may have.
fn used(facts: &Facts) -> Seen<(usize, usize)> {
    let pid = facts.evidence.pid()?;
    let used = facts.evidence.list(format!("/proc/{pid}/fd"))?.len();
    let limits = facts.evidence.text(format!("/proc/{pid}/limits"))?;
    let limit = soft_limit(&limits).ok_or(crate::Unseen::Missing)?;
    Ok((used, limit))
}

/// `Max open files  SOFT  HARD  files`.
fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn share(used: usize, limit: usize) -> Option<Weight> {
    match used as f64 / limit.max(1) as f64 {
        share if share >= ALL => Some(Weight::Red),
        share if share >= NEARLY => Some(Weight::Yellow),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_limit() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 524288  files\n";
        assert_eq!(soft_limit(limits), Some(1024));
        assert_eq!(
            [500, 900, 1000].map(|used| share(used, 1024)),
            [None, Some(Weight::Yellow), Some(Weight::Red)]
        );
    }
}
