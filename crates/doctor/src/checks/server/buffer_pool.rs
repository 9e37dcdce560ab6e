//! Pages that are read from disk because the buffer pool is too small for them.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.buffer_pool",
    area: Area::Server,
    looks_for: "a full buffer pool that misses many pages each second",
    needs: "status variables Innodb_buffer_pool_*; on MySQL performance_schema for how long reads take; /proc/meminfo",
    source: "MySQL manual, Buffer Pool, and Server Status Variables on Innodb_buffer_pool_reads; MariaDB manual, InnoDB \
             Buffer Pool",
    refuted_by: "with a larger one as many pages are read: what is read is read once, as by a dump or a report",
    look,
};

/// Reads a second from which on they matter, and the share of all that are asked for.
const MANY: f64 = 200.0;
const SHARE: f64 = 0.001;
/// The share of free pages from which on the pool is not full: it fills by itself. InnoDB keeps some free, as many as it looks at from the
/// end of each list.
const ROOM: f64 = 0.05;

const LATENCY: &str = "SELECT COUNT_READ AS reads_, SUM_TIMER_READ / 1e12 AS seconds FROM \
                       performance_schema.file_summary_by_event_name WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'";

fn look(facts: &Facts) -> Seen<Outcome> {
    let (reads, seconds) = facts.growth("Innodb_buffer_pool_reads")?;
    let (asked, _) = facts.growth("Innodb_buffer_pool_read_requests")?;
    let (free, total) =
        (facts.status("Innodb_buffer_pool_pages_free")?, facts.status("Innodb_buffer_pool_pages_total")?);
    let bytes = facts.number("innodb_buffer_pool_size")?;
    // MariaDB counts a few pages as read that no one has asked for.
    let share = (reads / asked.max(1.0)).min(1.0);
    let mut seen = vec![
        format!(
            "{reads:.0} pages a second were read from disk of {asked:.0} asked for ({:.1} %), over {seconds:.1} s",
            share * 100.0
        ),
        format!(
            "innodb_buffer_pool_size is {}; {free:.0} of its {total:.0} pages are free",
            show::bytes(bytes as u64)
        ),
    ];
    if reads < MANY || share < SHARE {
        return Ok(Outcome::fine(seen.join("; ")));
    }
    let kept = facts.number("innodb_lru_scan_depth").unwrap_or(0.0)
        * facts.number("innodb_buffer_pool_instances").unwrap_or(1.0);
    let room = ROOM * total;
    if free > room.max(kept) {
        return Ok(Outcome::fine(format!("{}: it is not full, and fills by itself", seen.join("; "))));
    }
    if free > room {
        seen.push(format!("innodb_lru_scan_depth has InnoDB keep up to {kept:.0} pages free"));
    }
    let mut finding = Finding::observed(
        Weight::Yellow,
        format!("{reads:.0} pages a second are read from disk, as the buffer pool does not hold them"),
        "see which statements read so much; make the pool larger, if the host has the memory",
    )
    .effect(cost(facts, reads));
    finding.seen = seen;
    if let Some(larger) = larger(facts, bytes) {
        let set = |bytes: f64| format!("SET GLOBAL innodb_buffer_pool_size = {bytes:.0}");
        finding = finding.sql(set(larger), Some(set(bytes)));
    }
    Ok(Outcome::found(finding))
}

/// What sessions wait for these reads, where the server has timed reads.
fn cost(facts: &Facts, reads: f64) -> String {
    let latency = facts.ask(LATENCY).ok().and_then(|told| {
        let number = |column| told.first(column)?.parse::<f64>().ok();
        Some(number("seconds")? / number("reads_").filter(|reads| *reads > 0.0)?)
    });
    match latency {
        Some(latency) => format!(
            "a read takes {:.0} µs on average since the server started: sessions wait {:.2} s in each second",
            latency * 1e6,
            latency * reads
        ),
        None => format!(
            "sessions wait {reads:.0} times a second for the disk; `drover bench disk` tells how long one takes"
        ),
    }
}

/// Twice as much, if there is the memory on this host and the server can do it without a restart.
fn larger(facts: &Facts, bytes: f64) -> Option<f64> {
    facts.evidence.pid().ok()?;
    let memory = facts.evidence.text("/proc/meminfo").ok()?;
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = available.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0;
    let most = facts.number("innodb_buffer_pool_size_max").unwrap_or(f64::MAX);
    // Half of what is available is left to others.
    (bytes * 2.0 <= most && bytes < available / 2.0).then_some(bytes * 2.0)
}
