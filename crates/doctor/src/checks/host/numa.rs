//! A server whose memory lies on one node of several, which has none left.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "host.numa",
    area: Area::Host,
    looks_for: "one NUMA node without memory to spare, while others have it and the server's lies on that one",
    needs: "/sys/devices/system/node; /proc/PID/numa_maps (the server's user, or root)",
    source: "numa(7) on /proc/PID/numa_maps; Documentation/admin-guide/numastat.rst; \
             Documentation/admin-guide/mm/numa_memory_policy.rst",
    refuted_by: "neither swap nor pages that are fetched from other nodes (numa_miss) grow while the server is at work",
    look,
};

const FOLDER: &str = "/sys/devices/system/node";
/// Shares of a node's memory that can be had: too little of one node, enough of another.
const LITTLE: f64 = 0.1;
const ENOUGH: f64 = 0.3;
/// The share of the server's memory on one node, as a multiple of an even share, from which on it lies lopsided.
const LOPSIDED: f64 = 1.3;

fn look(facts: &Facts) -> Seen<Outcome> {
    let online = facts.evidence.text(format!("{FOLDER}/online"))?;
    let nodes = numbers(&online);
    if nodes.len() < 2 {
        return Ok(Outcome::not_here("it has one NUMA node"));
    }
    let nodes = nodes.into_iter().map(|node| Node::of(facts, node)).collect::<Seen<Vec<_>>>()?;
    let told: Vec<_> = nodes.iter().map(Node::told).collect();
    let short = nodes.iter().min_by(|a, b| a.share().total_cmp(&b.share())).ok_or(Unseen::Missing)?;
    if short.share() >= LITTLE || nodes.iter().all(|node| node.share() < ENOUGH) {
        return Ok(Outcome::fine(told.join("; ")));
    }
    // Only now: to list the pages of a large process takes the kernel seconds.
    let pid = facts.evidence.pid()?;
    let used = on_nodes(&facts.evidence.text(format!("/proc/{pid}/numa_maps"))?);
    let all: u64 = used.iter().map(|(_, bytes)| bytes).sum();
    let there = used.iter().find(|(node, _)| *node == short.number).map_or(0, |(_, bytes)| *bytes);
    let share = there as f64 / all.max(1) as f64;
    let of_server = format!(
        "{} of the server's {} lie on node {} (numa_maps)",
        show::bytes(there),
        show::bytes(all),
        short.number
    );
    if share * (nodes.len() as f64) < LOPSIDED {
        return Ok(Outcome::fine(format!("{}; {of_server}", told.join("; "))));
    }
    let mut finding = Finding::observed(
        Weight::Yellow,
        format!("node {} has no memory to spare, others have, and most of the server's lies there", short.number),
        "have the server's memory spread over all nodes: NUMAPolicy=interleave in its unit, or innodb_numa_interleave where the \
         server has it",
    )
    .about(format!("node {}", short.number))
    .effect("the kernel may swap, or search for memory, though there is enough of it");
    finding.seen = told;
    finding.seen.push(of_server);
    if let Ok((missed, seconds)) = facts.vmstat_growth("numa_miss") {
        finding = finding.seen(format!(
            "/proc/vmstat: {missed:.0} pages a second came from another node than was wanted, \
             over {seconds:.1} s"
        ));
    }
    Ok(Outcome::found(finding))
}

/// `0-1,3`.
fn numbers(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse::<u32>().ok()?..=to.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// A node's memory, in bytes.
struct Node {
    number: u32,
    total: u64,
    /// What is free, and what holds files' pages and can be had again.
    available: u64,
}

impl Node {
    fn of(facts: &Facts, number: u32) -> Seen<Self> {
        let text = facts.evidence.text(format!("{FOLDER}/node{number}/meminfo"))?;
        let field = |name: &str| {
            // `Node 0 MemTotal:  24685224 kB`
            let line = text.lines().find_map(|line| line.split_once(name))?;
            line.1.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
        };
        let available = ["MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:"];
        // `Inactive(file)` has `Active(file)` in it, but for the first letter.
        let available = available.into_iter().filter_map(|name| field(&format!(" {name}"))).sum();
        Ok(Self { number, total: field(" MemTotal:").ok_or(Unseen::Missing)?, available })
    }

    fn share(&self) -> f64 {
        self.available as f64 / self.total.max(1) as f64
    }

    fn told(&self) -> String {
        format!(
            "node {}: {} of {} can be had",
            self.number,
            show::bytes(self.available),
            show::bytes(self.total)
        )
    }
}

/// How much of a process lies on each node, in bytes.
fn on_nodes(maps: &str) -> Vec<(u32, u64)> {
    let mut sums = std::collections::BTreeMap::new();
    for line in maps.lines() {
        let size = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix("kernelpagesize_kB=")?.parse::<u64>().ok());
        for word in line.split_whitespace() {
            let of_node = || -> Option<(u32, u64)> {
                let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
                Some((node.parse().ok()?, pages.parse().ok()?))
            };
            if let Some((node, pages)) = of_node() {
                *sums.entry(node).or_insert(0) += pages * size.unwrap_or(4) * 1024;
            }
        }
    }
    sums.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::over_time;
    use super::*;
    use crate::evidence::Kept;
    use crate::testing::{is_fine, is_unknown, on_host, weights};

    fn nodes(kept: &mut Kept, free: [u64; 2]) {
        let mut add = |path: String, text: String| kept.files.insert(path.into(), Ok(text));
        add(format!("{FOLDER}/online"), "0-1".into());
        for (node, free) in free.into_iter().enumerate() {
            let text = format!(
                "Node {node} MemTotal: 1000000 kB\nNode {node} MemFree: {free} kB\nNode {node} Active: 7000 kB\n\
                 Node {node} Active(file): 1000 kB\nNode {node} Inactive(file): 2000 kB"
            );
            add(format!("{FOLDER}/node{node}/meminfo"), text);
        }
    }

    fn server(kept: &mut Kept, maps: &str) {
        kept.pid = Some(17);
        kept.files.insert("/proc/17/numa_maps".into(), Ok(maps.to_owned()));
    }

    #[test]
    fn a_server_on_one_node() {
        let miss = ("numa_miss 10", "numa_miss 500");
        let of = |more| over_time(&CHECK, miss.0, miss.1, more);
        let lopsided = of(|kept| {
            nodes(kept, [20_000, 600_000]);
            server(
                kept,
                "7f00 default anon=9 N0=200 N1=10 kernelpagesize_kB=4\n7f01 default anon=9 N0=2 kernelpagesize_kB=2048",
            );
        });
        assert_eq!(weights(&lopsided), [Weight::Yellow]);
        let seen = lopsided.unwrap().findings[0].seen.join("\n");
        assert!(seen.contains("node 0: 23.6 MB of 1.02 GB") && seen.contains("98 pages a second"), "{seen}");
        assert!(is_fine(&of(|kept| {
            nodes(kept, [20_000, 600_000]);
            server(kept, "7f00 default anon=9 N0=200 N1=190 kernelpagesize_kB=4");
        })));
        // Where no node is short of memory nobody asks where the server's lies.
        assert!(is_fine(&of(|kept| nodes(kept, [400_000, 600_000]))));
        assert!(is_unknown(&of(|kept| nodes(kept, [20_000, 600_000]))));
        assert!(on_host(&CHECK, &[("sys/devices/system/node/online", "0\n")]).unwrap().not_here.is_some());
        assert!(is_unknown(&on_host(&CHECK, &[])));
        assert_eq!(numbers("0-1,3"), [0, 1, 3]);
    }
}
