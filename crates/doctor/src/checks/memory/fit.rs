//! Whether what the server is set to take as a whole is there.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::memory::{Limit, kibibytes, shared, sum};

pub(crate) const CHECK: Check = Check {
    rule: "memory.fit",
    area: Area::Memory,
    looks_for: "a buffer pool and other caches that are larger than the memory that the server may have",
    needs: "the server's variables; /proc/meminfo, /proc/PID/status, /proc/PID/cgroup and the limits in /sys/fs/cgroup",
    source: "MySQL manual, How MySQL Uses Memory; Documentation/admin-guide/cgroup-v2.rst on memory.max and \
             cgroup-v1/memory.rst on memory.limit_in_bytes; proc(5) on overcommit_memory and CommitLimit",
    refuted_by: "the caches never fill: Innodb_buffer_pool_pages_free stays high for days",
    look,
};

/// The share of all memory from which on caches leave too little for sessions, stacks and the kernel.
const MUCH: f64 = 0.95;

/// What is compared.
struct Memory {
    /// What caches are set to, in bytes.
    caches: u64,
    pool: u64,
    /// What the server has now, in bytes.
    resident: u64,
    limit: Limit,
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let pid = facts.evidence.pid()?;
    let caches = shared(facts)?;
    let status = facts.evidence.text(format!("/proc/{pid}/status"))?;
    let memory = Memory {
        caches: sum(&caches),
        pool: facts.number("innodb_buffer_pool_size").unwrap_or(0.0) as u64,
        resident: kibibytes(&status, "VmRSS")?,
        limit: Limit::of_server(facts)?,
    };
    let list =
        caches.iter().map(|(name, bytes)| format!("{name} {}", show::bytes(*bytes))).collect::<Vec<_>>();
    let mut outcome = of_memory(&memory, &list.join(", "));
    match commit(facts) {
        Ok(finding) => outcome.findings.extend(finding),
        Err(unseen) => outcome.unknown.push(format!("how much memory may be promised: {unseen}")),
    }
    Ok(outcome)
}

fn of_memory(memory: &Memory, list: &str) -> Outcome {
    let Memory { caches, pool, resident, limit } = memory;
    let has = format!("the server has {} now (VmRSS); {}", show::bytes(*resident), limit.seen);
    let seen = format!("{} for caches: {list}", show::bytes(*caches));
    let share = |bytes: u64| bytes as f64 / limit.bytes as f64;
    let room = (limit.bytes as f64 * 0.7) as u64;
    let smaller = |finding: Finding| match *pool > room {
        true => finding.sql(
            format!("SET GLOBAL innodb_buffer_pool_size = {room}"),
            Some(format!("SET GLOBAL innodb_buffer_pool_size = {pool}")),
        ),
        false => finding,
    };
    let finding = if share(*caches) > 1.0 {
        Finding::observed(
            Weight::Red,
            "caches are set to more than the memory that there is",
            "make the buffer pool smaller, or the memory larger: when they fill, the kernel swaps or kills the server",
        )
        .effect(format!("{} are missing once they are full", show::bytes(caches - limit.bytes)))
    } else if share(*caches).max(share(*resident)) > MUCH {
        Finding::observed(
            Weight::Yellow,
            "caches leave next to nothing for sessions and the kernel",
            "make the buffer pool smaller, or the memory larger, before sessions take what is left",
        )
        .effect(format!("{} are left", show::bytes(limit.bytes.saturating_sub(*caches.max(resident)))))
    } else {
        return Outcome::fine(format!("{seen}; {has}"));
    };
    Outcome::found(smaller(finding.seen(seen).seen(has)))
}

/// Where the kernel promises no more than it has (overcommit_memory 2): whether next to nothing is left to promise.
fn commit(facts: &Facts) -> Seen<Option<Finding>> {
    let mode = match facts.evidence.text("/proc/sys/vm/overcommit_memory") {
        Err(Unseen::Missing) => return Ok(None),
        other => other?,
    };
    if mode != "2" {
        return Ok(None);
    }
    let memory = facts.evidence.text("/proc/meminfo")?;
    Ok(of_commit(kibibytes(&memory, "CommitLimit")?, kibibytes(&memory, "Committed_AS")?))
}

fn of_commit(limit: u64, committed: u64) -> Option<Finding> {
    let left = limit.saturating_sub(committed);
    ((left as f64) < limit as f64 * (1.0 - MUCH)).then(|| {
        Finding::observed(
            Weight::Yellow,
            "the kernel is about to refuse memory, though some may be free",
            "raise vm.overcommit_ratio, or add swap: sessions end with 'out of memory' when nothing is left to promise",
        )
        .seen(format!(
            "/proc/sys/vm/overcommit_memory: 2; /proc/meminfo: {} of {} are promised",
            show::bytes(committed),
            show::bytes(limit)
        ))
        .effect(format!("{} are left", show::bytes(left)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(caches: u64, resident: u64, bytes: u64) -> Vec<Weight> {
        let limit = Limit { bytes, seen: "a limit".into() };
        let outcome = of_memory(&Memory { caches, pool: caches, resident, limit }, "");
        outcome.findings.iter().map(|finding| finding.weight).collect()
    }

    #[test]
    fn caches_and_memory() {
        assert_eq!(weights(64 << 30, 1 << 30, 32 << 30), [Weight::Red]);
        assert_eq!(weights(31 << 30, 1 << 30, 32 << 30), [Weight::Yellow]);
        assert_eq!(weights(20 << 30, 31 << 30, 32 << 30), [Weight::Yellow]);
        assert_eq!(weights(20 << 30, 21 << 30, 32 << 30), []);
    }

    #[test]
    fn memory_that_is_promised() {
        assert!(of_commit(100 << 20, 99 << 20).is_some());
        assert!(of_commit(100 << 20, 200 << 20).is_some());
        assert!(of_commit(100 << 20, 50 << 20).is_none());
    }
}
