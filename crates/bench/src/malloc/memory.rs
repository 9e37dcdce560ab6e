//! How much may be allocated without hurting who else needs memory.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// How much may be there at once, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// With its pages written to: half of what is available.
    pub touched: u64,
    /// Allocated only.
    pub allocated: u64,
}

/// More does not make a result better, in bytes.
const ENOUGH_TOUCHED: u64 = 256 << 20;
const ENOUGH_ALLOCATED: u64 = 4 << 30;
/// So many blocks are wanted of each size, whatever that is.
const LEAST: u64 = 3;

impl Limits {
    /// As they are now.
    pub(super) fn now() -> Self {
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let available = kibibytes(&memory, "MemAvailable:").unwrap_or(0);
        let of_group = left_in_groups(Path::new("/sys/fs/cgroup"), &groups).unwrap_or(u64::MAX);
        let allocated =
            [Resource::As, Resource::Data].into_iter().filter_map(|kind| getrlimit(kind).current).min();
        let strict =
            fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "2");
        let uncommitted = strict.then(|| uncommitted(&memory)).flatten();
        let allocated = allocated.unwrap_or(u64::MAX).min(uncommitted.unwrap_or(u64::MAX));
        Self { touched: available.min(of_group).min(allocated) / 2, allocated: allocated / 2 }
    }

    /// How many blocks of a size may be there at once where none is freed; at least 1, which may still be too many.
    pub(super) fn most(&self, bytes: u64, touched: bool) -> u64 {
        let (limit, enough) = match touched {
            true => (self.touched, ENOUGH_TOUCHED),
            false => (self.allocated, ENOUGH_ALLOCATED),
        };
        let bytes = bytes.max(1);
        let wanted = enough.max(bytes.saturating_mul(LEAST));
        (wanted.min(limit) / bytes).max(1)
    }

    /// Why a block of this size is not to be touched, if so.
    pub(super) fn objection(&self, bytes: u64, touched: bool) -> Option<String> {
        (touched && bytes > self.touched).then(|| {
            let half = super::size_name(self.touched);
            format!("it would take more than half of the memory that is available, which is {half}")
        })
    }
}

/// What may still be promised where the kernel promises no more than it has (proc(5), overcommit_memory).
fn uncommitted(memory: &str) -> Option<u64> {
    Some(kibibytes(memory, "CommitLimit:")?.saturating_sub(kibibytes(memory, "Committed_AS:")?))
}

/// How much memory is left to this process's groups, by the tightest of them; none if none has a limit. Both hierarchies are known
/// (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
fn left_in_groups(root: &Path, groups: &str) -> Option<u64> {
    let group = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let of_memory = controllers.split(',').any(|controller| controller == "memory");
        match controllers {
            "" => Some((root.join(path), ["memory.max", "memory.current", "inactive_file "])),
            _ if of_memory => {
                let files = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];
                Some((root.join("memory").join(path), files))
            }
            _ => None,
        }
    };
    groups.lines().filter_map(group).filter_map(|(place, files)| left_above(root, &place, files)).min()
}

/// What is left in a group and in those that it is in. In a container the path may be one that is seen outside only: then the root
/// is the container's group.
fn left_above(root: &Path, place: &Path, [limit, usage, inactive]: [&str; 3]) -> Option<u64> {
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let left = |place: &Path| {
        let (limit, usage) = (number(place.join(limit))?, number(place.join(usage))?);
        let stat = fs::read_to_string(place.join("memory.stat")).unwrap_or_default();
        let line = stat.lines().find_map(|line| line.strip_prefix(inactive));
        // Files that were not used of late give way.
        let cached = line.and_then(|number| number.trim().parse().ok()).unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(cached)))
    };
    place.ancestors().take_while(|place| place.starts_with(root)).filter_map(left).min()
}

/// `name:   24576 kB`
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_memory_for_this_test() {
        let limits = Limits::now();
        assert!(limits.touched > 1 << 20 && limits.allocated > 1 << 20, "{limits:?}");
    }

    #[test]
    fn blocks_are_fewer_the_larger_they_are() {
        let limits = Limits { touched: 1 << 30, allocated: u64::MAX };
        assert_eq!(limits.most(1 << 20, true), 256);
        assert_eq!(limits.most(200 << 20, true), 3);
        assert_eq!(limits.most(400 << 20, true), 2);
        assert_eq!(limits.most(500 << 20, false), 8);
        assert_eq!(limits.most(1 << 40, false), 3);
        assert_eq!(limits.most(2 << 30, true), 1);
        assert!(limits.objection(2 << 30, true).is_some_and(|why| why.contains("1 GiB")));
        assert_eq!(limits.objection(2 << 30, false), None);
    }

    #[test]
    fn the_tightest_group_decides() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("a/b");
        fs::create_dir_all(&group).unwrap();
        let write = |place: &Path, name: &str, text: &str| fs::write(place.join(name), text).unwrap();
        write(&group, "memory.max", "max\n");
        write(&group, "memory.current", "10\n");
        assert_eq!(left_in_groups(root.path(), "0::/a/b\n"), None);
        let above = root.path().join("a");
        write(&above, "memory.max", "1000\n");
        write(&above, "memory.current", "400\n");
        write(&above, "memory.stat", "anon 1\ninactive_file 100\n");
        assert_eq!(left_in_groups(root.path(), "0::/a/b\n"), Some(700));
        write(&group, "memory.max", "500\n");
        assert_eq!(left_in_groups(root.path(), "1:cpu:/x\n0::/a/b\n"), Some(490));
    }

    #[test]
    fn the_older_hierarchy() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("memory/x");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("memory.limit_in_bytes"), "800").unwrap();
        fs::write(group.join("memory.usage_in_bytes"), "300").unwrap();
        fs::write(group.join("memory.stat"), "inactive_file 7\ntotal_inactive_file 50\n").unwrap();
        assert_eq!(left_in_groups(root.path(), "4:memory:/x\n"), Some(550));
    }
}
