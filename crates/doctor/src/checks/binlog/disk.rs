//! How long the space for binary logs lasts.

use drover_host::Space;
use drover_units::show;

use super::logs;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::places;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.disk",
    area: Area::Binlog,
    looks_for: "a file system of binary logs that is full within a day at the rate at which they grow now",
    needs: "SHOW BINARY LOG STATUS (REPLICATION CLIENT on MySQL, BINLOG MONITOR on MariaDB), twice; the file system's free space",
    source: "MySQL manual, How MySQL Handles a Full Disk; binlog_error_action, which MySQL alone has: a log that cannot be \
             written ends the server",
    refuted_by: "the rate is that of a few minutes, or logs expire as fast as new ones come",
    look,
};

/// Seconds.
const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

fn look(facts: &Facts) -> Seen<Outcome> {
    if !facts.is_on("log_bin")? {
        return Ok(Outcome::not_here("it writes no binary log"));
    }
    let (rate, seconds) = logs::growth(facts)?;
    let folder = match places::of_binary_log(facts) {
        // MySQL before 5.6 does not tell where they are.
        Err(Unseen::Missing) => {
            let grew = show::rate((rate * seconds) as u64, seconds);
            let unknown = vec!["how full their file system is: not there".to_owned()];
            let seen = format!("the log grew by {grew} over {seconds:.1} s");
            return Ok(Outcome { unknown, ..Outcome::fine(seen) });
        }
        folder => folder?,
    };
    let space = facts.evidence.space(&folder)?;
    let seen = [
        format!("the log grew by {} over {seconds:.1} s", show::rate((rate * seconds) as u64, seconds)),
        format!(
            "{} of {} are free at {}",
            show::bytes(space.free),
            show::bytes(space.bytes),
            folder.display()
        ),
    ];
    let Some((weight, what)) = judge(space, rate) else { return Ok(Outcome::fine(seen.join("; "))) };
    let mut finding = Finding::observed(
        weight,
        what,
        "remove logs that all replicas and backups have, by PURGE BINARY LOGS and never by hand; then see what writes so much with \
         `drover binlog cost`",
    )
    .about(folder.display().to_string())
    .effect("when it is full each change waits, or the server ends")
    .measure("drover binlog cost --from-server");
    finding.seen = seen.into();
    Ok(Outcome::found(finding))
}

/// How much it matters, and what it is.
fn judge(space: Space, rate: f64) -> Option<(Weight, String)> {
    let left = space.free as f64 / rate.max(f64::MIN_POSITIVE);
    let at_this_rate =
        || format!("at this rate the binary logs' file system is full in {}", show::seconds(left));
    if left < HOUR {
        Some((Weight::Red, at_this_rate()))
    } else if let Some(weight) = places::lack(space) {
        Some((weight, "the binary logs' file system is nearly full".to_owned()))
    } else if left < DAY {
        Some((Weight::Yellow, at_this_rate()))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_it_lasts() {
        let space = Space { bytes: 100_000_000_000, free: 36_000_000_000 };
        let of = |rate| judge(space, rate).map(|(weight, _)| weight);
        assert_eq!(of(0.0), None);
        assert_eq!(of(100_000.0), None);
        assert_eq!(of(1e6), Some(Weight::Yellow));
        assert_eq!(of(1e7 + 1.0), Some(Weight::Red));
        let full = Space { free: 2_000_000_000, ..space };
        assert_eq!(judge(full, 0.0).map(|(weight, _)| weight), Some(Weight::Yellow));
    }
}
