//! How much memory a server may take, and how much it has.

use drover_units::show;

use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

/// The most memory that a server can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limit {
    /// In bytes.
    pub(crate) bytes: u64,
    /// What sets it, and how that is known.
    pub(crate) seen: String,
}

impl Limit {
    /// The host's memory, or what the server's cgroup may have of it, if that is less.
    pub(crate) fn of_server(facts: &Facts) -> Seen<Self> {
        let pid = facts.evidence.pid()?;
        let bytes = kibibytes(&facts.evidence.text("/proc/meminfo")?, "MemTotal")?;
        let host = Self { bytes, seen: format!("/proc/meminfo: the host has {}", show::bytes(bytes)) };
        let groups = of_groups(facts, pid)?;
        Ok([host]
            .into_iter()
            .chain(groups)
            .min_by_key(|limit| limit.bytes)
            .unwrap_or(Self { bytes, seen: String::new() }))
    }
}

/// The limits of a process's cgroup and those above it: `memory.max` of version 2, `memory.limit_in_bytes` of version 1.
fn of_groups(facts: &Facts, pid: u32) -> Seen<Vec<Limit>> {
    let groups = match facts.evidence.text(format!("/proc/{pid}/cgroup")) {
        // A kernel without cgroups.
        Err(Unseen::Missing) => return Ok(Vec::new()),
        other => other?,
    };
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match kinds {
            "" => ("/sys/fs/cgroup", "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container the path may be the host's, of which only the last parts are there: what is not is passed over.
        for folder in std::path::Path::new(path).ancestors() {
            let file = format!("{root}{}/{file}", folder.display().to_string().trim_end_matches('/'));
            let text = facts.evidence.text(&file).unwrap_or_default();
            if let Ok(bytes) = text.parse::<u64>() {
                limits.push(Limit { bytes, seen: format!("{file}: {}", show::bytes(bytes)) });
            }
        }
    }
    Ok(limits)
}

/// A number of /proc/meminfo or /proc/PID/status, which are in KiB, in bytes.
pub(crate) fn kibibytes(text: &str, name: &str) -> Seen<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.map(|number| number * 1024).ok_or(Unseen::Missing)
}

/// What of a server's memory it takes as a whole, however many sessions there are, and is set: name and bytes.
pub(crate) fn shared(facts: &Facts) -> Seen<Vec<(&'static str, u64)>> {
    const NAMES: [&str; 5] = [
        "innodb_buffer_pool_size",
        "innodb_log_buffer_size",
        "key_buffer_size",
        "aria_pagecache_buffer_size",
        "query_cache_size",
    ];
    // Which of them a server has is found out; where there is none at all, none can be asked.
    facts.variable("version")?;
    let of = |name| facts.number(name).ok().map(|bytes| (name, bytes as u64));
    Ok(NAMES.into_iter().filter_map(of).filter(|(_, bytes)| *bytes > 0).collect())
}

/// The sum of [`shared`].
pub(crate) fn sum(shared: &[(&'static str, u64)]) -> u64 {
    shared.iter().map(|(_, bytes)| bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::testing::{PID, host};

    fn limit(files: &[(&str, &str)]) -> Seen<u64> {
        let dir = host(files);
        let evidence = Evidence::of(Some(dir.path()), Err(String::new()), Some(PID), String::new()).unwrap();
        Limit::of_server(&Facts::gather(evidence, std::time::Duration::ZERO)).map(|limit| limit.bytes)
    }

    #[test]
    fn the_least_of_all_limits_counts() {
        let host = ("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB");
        assert_eq!(limit(&[host]), Ok(1 << 20));
        let version2 = ("proc/42/cgroup", "0::/system.slice/mariadb.service");
        let above = ("sys/fs/cgroup/system.slice/memory.max", "4096");
        let own = ("sys/fs/cgroup/system.slice/mariadb.service/memory.max", "max");
        assert_eq!(limit(&[host, version2, above, own]), Ok(4096));
        let version1 = ("proc/42/cgroup", "5:devices:/\n4:cpu,memory:/a\n0::/");
        let none = ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712");
        assert_eq!(limit(&[host, version1, none]), Ok(1 << 20));
        let some = ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "8192");
        assert_eq!(limit(&[host, version1, some]), Ok(8192));
        assert!(limit(&[version1]).is_err());
    }
}
