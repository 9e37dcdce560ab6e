//! Temporary tables of statements that go to disk.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.tmp_tables",
    area: Area::Server,
    looks_for: "temporary tables of statements, many of which go to disk",
    needs: "status variables Created_tmp_tables and Created_tmp_disk_tables, on newer MySQL Count_hit_tmp_table_size too; tmp_table_size",
    source: "MySQL manual, Internal Temporary Table Use in MySQL; MariaDB manual, Internal Temporary Tables, and Server System Variables \
             on tmp_memory_table_size",
    refuted_by: "as many go to disk with a larger tmp_table_size: they have columns of BLOB or TEXT, or are larger than any size that \
                 the host has the memory for",
    look,
};

/// Tables a second on disk from which on they matter, and the share of all.
const MANY: f64 = 1.0;
const SHARE: f64 = 0.25;
/// Temporary tables of doctor's own between its two looks: its questions for the time and the status.
const OWN: f64 = 2.0;
/// Seconds from which on an average since the server started tells something.
const LONG: f64 = 3600.0;
/// Each of a session's temporary tables may take so much: nothing larger is proposed.
const LARGEST: f64 = 268_435_456.0;

/// Tables a second, and those of them on disk.
#[derive(Debug, Clone, Copy)]
struct Rates {
    all: f64,
    on_disk: f64,
}

impl Rates {
    fn are_high(self) -> bool {
        self.on_disk >= MANY && self.share() >= SHARE
    }

    /// Those on disk are counted among all by neither vendor in one step, so they may be ahead.
    fn share(self) -> f64 {
        (self.on_disk / self.all.max(self.on_disk).max(f64::MIN_POSITIVE)).min(1.0)
    }

    fn told(self) -> String {
        format!(
            "{:.1} a second, {:.1} of them on disk ({:.0} %)",
            self.all,
            self.on_disk,
            self.share() * 100.0
        )
    }
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let (all, seconds) = facts.growth("Created_tmp_tables")?;
    let (on_disk, _) = facts.growth("Created_tmp_disk_tables")?;
    let of_others = |rate: f64| (rate - OWN / seconds).max(0.0);
    let now = Rates { all: of_others(all), on_disk: of_others(on_disk) };
    let uptime = facts.status("Uptime")?;
    let average = |name| Ok(facts.status(name)? / uptime.max(1.0));
    let ever = Rates { all: average("Created_tmp_tables")?, on_disk: average("Created_tmp_disk_tables")? };
    let seen = [
        format!("temporary tables over {seconds:.1} s: {}", now.told()),
        format!("in {} since the server started: {}", show::seconds(uptime), ever.told()),
    ];
    // What a server asks itself when it starts is no load.
    let lasting = (uptime >= LONG).then_some(ever);
    let Some(high) = [Some(now), lasting].into_iter().flatten().find(|rates| rates.are_high()) else {
        return Ok(Outcome::fine(seen.join("; ")));
    };
    let mut finding = Finding::observed(
        Weight::Yellow,
        format!("{:.0} % of all temporary tables go to disk", high.share() * 100.0),
        "see which statements make them (performance_schema, or the slow log, tells): an index or fewer columns of BLOB and TEXT may spare \
         them; else a larger limit, if there is the memory for it in many sessions",
    )
    .effect(format!("{} tables a day are written to and read from disk at that rate", show::count((high.on_disk * 86_400.0) as u64)));
    finding.seen = seen.into();
    let limits = limits(facts)?;
    Ok(Outcome::found(with_cause(facts, finding, &limits)))
}

/// What limits such a table in memory: names, and bytes.
fn limits(facts: &Facts) -> Seen<Vec<(&'static str, f64)>> {
    // MEMORY has a limit of its own; MySQL's TempTable does not look at it.
    let by_heap =
        !facts.variable("internal_tmp_mem_storage_engine").is_ok_and(|engine| engine == "TempTable");
    let names = ["tmp_table_size"].into_iter().chain(by_heap.then_some("max_heap_table_size"));
    names.map(|name| Ok((name, facts.number(name)?))).collect()
}

/// Newer MySQL counts why; elsewhere the limit may be why.
fn with_cause(facts: &Facts, mut finding: Finding, limits: &[(&'static str, f64)]) -> Finding {
    for (name, bytes) in limits {
        finding = finding.seen(format!("{name} is {}", show::bytes(*bytes as u64)));
    }
    let by_size = facts.status("Count_hit_tmp_table_size");
    for name in ["Count_hit_tmp_table_size", "TempTable_count_hit_max_ram"] {
        if let Ok(count) = facts.status(name) {
            finding = finding.seen(format!("{name} is {}", show::count(count as u64)));
        }
    }
    let least = limits.iter().map(|(_, bytes)| *bytes).fold(f64::MAX, f64::min);
    if by_size == Ok(0.0) || least * 2.0 > LARGEST {
        return finding;
    }
    let set = |bytes: &dyn Fn(f64) -> f64| {
        let each: Vec<_> =
            limits.iter().map(|(name, old)| format!("GLOBAL {name} = {:.0}", bytes(*old))).collect();
        format!("SET {}", each.join(", "))
    };
    finding.sql(set(&|old| old.max(least * 2.0)), Some(set(&|old| old)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_and_a_large_share() {
        let high = |all, on_disk| Rates { all, on_disk }.are_high();
        assert!(high(10.0, 5.0) && high(0.0, 5.0));
        assert!(!high(100.0, 5.0) && !high(0.8, 0.8) && !high(0.0, 0.0));
    }
}
