//! Which allocator a server has, and what sets it.

use crate::Seen;
use crate::evidence::Unseen;
use crate::facts::Facts;

/// Those that one finds in distributions: what they are called, and what the names of their libraries hold.
const KNOWN: [(&str, &str); 3] =
    [("jemalloc", "libjemalloc"), ("tcmalloc", "libtcmalloc"), ("mimalloc", "libmimalloc")];
/// What glibc's malloc is called here.
pub(crate) const GLIBC: &str = "glibc";
/// Names of glibc's file, since 2.34 and before.
const GLIBC_FILES: [&str; 2] = ["libc.so.6", "libc-2."];

/// An allocator that a server has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allocator {
    /// What it is called: `jemalloc`, [`GLIBC`].
    pub(crate) name: String,
    /// How that is known.
    pub(crate) seen: String,
}

/// What an allocator is called of which a library, or its name alone, is given: `tcmalloc`, /usr/lib/libjemalloc.so.2.
pub(crate) fn name_of(library: &str) -> String {
    let file = library.rsplit('/').next().unwrap_or(library);
    let known = KNOWN.into_iter().find(|(name, begin)| file.starts_with(begin) || file.starts_with(name));
    known.map_or_else(|| file.to_owned(), |(name, _)| name.to_owned())
}

impl Allocator {
    /// That of the server: by what its process has mapped, or by what it says itself, which is how one that is linked into it is known.
    pub(crate) fn of_server(facts: &Facts) -> Seen<Self> {
        // MariaDB's `version_malloc_library`: "system", or name and version.
        let said = facts.variable("version_malloc_library").ok().filter(|said| !said.is_empty());
        let mapped = facts.evidence.pid().and_then(|pid| {
            let file = format!("/proc/{pid}/maps");
            in_maps(&facts.evidence.text(&file)?)
                .map(|(name, library)| Self { name, seen: format!("{file}: {library}") })
        });
        let by_word = said.map(|said| {
            let known = said.split_whitespace().map(str::to_ascii_lowercase).find(|word| is_known(word));
            Self {
                name: known.unwrap_or_else(|| GLIBC.to_owned()),
                seen: format!("version_malloc_library: {said}"),
            }
        });
        match (mapped, by_word) {
            (Ok(mapped), Some(said)) if mapped.name == GLIBC && said.name != GLIBC => Ok(said),
            (Ok(mapped), _) => Ok(mapped),
            (Err(_), Some(said)) => Ok(said),
            (Err(unseen), None) => Err(unseen),
        }
    }

    /// Whether it is glibc's.
    pub(crate) fn is_glibc(&self) -> bool {
        self.name == GLIBC
    }
}

fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name)
}

/// The allocator that a process has by its /proc/PID/maps, and the library: what is loaded beside the C library's, or else that.
fn in_maps(maps: &str) -> Seen<(String, String)> {
    // address perms offset device inode path (proc(5))
    let libraries = || maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let file = |library: &&str| library.rsplit('/').next().unwrap_or_default().to_owned();
    let other = libraries().find(|library| KNOWN.iter().any(|(_, begin)| file(library).starts_with(begin)));
    let glibc =
        || libraries().find(|library| GLIBC_FILES.iter().any(|begin| file(library).starts_with(begin)));
    match (other, glibc()) {
        (Some(library), _) => Ok((name_of(library), library.to_owned())),
        (None, Some(library)) => Ok((GLIBC.to_owned(), library.to_owned())),
        (None, None) => {
            Err(Unseen::Failed("no allocator that is known is among the server's libraries".into()))
        }
    }
}

/// From which size on glibc gives an allocation a mapping of its own, at first: mallopt(3), M_MMAP_THRESHOLD.
const MMAP_THRESHOLD: u64 = 128 << 10;

/// From which size on the server's allocations have mappings of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Threshold {
    /// In bytes.
    pub(crate) bytes: u64,
    /// Whether it stays: else glibc moves it up to the size of what was freed, up to 32 MiB.
    pub(crate) is_fixed: bool,
    /// How it is known.
    pub(crate) seen: String,
}

impl Threshold {
    /// That of an allocator; none if it has none.
    pub(crate) fn of(facts: &Facts, allocator: &Allocator) -> Option<Self> {
        if !allocator.is_glibc() {
            return None;
        }
        let environment =
            facts.evidence.pid().and_then(|pid| facts.evidence.text(format!("/proc/{pid}/environ")));
        let set = environment.ok().and_then(|text| set_by(&text));
        if let Some(bytes) = set {
            return Some(Self {
                bytes,
                is_fixed: true,
                seen: format!("the server's environment sets {bytes} bytes"),
            });
        }
        let (measured, _) = facts.measured("malloc");
        let own = measured.iter().find(|result| result.json["allocator"]["name"] == GLIBC);
        let told =
            own.and_then(|result| Some((result.json["mmap_threshold"].as_u64()?, result.file.clone())));
        Some(match told {
            Some((bytes, file)) => {
                Self { bytes, is_fixed: false, seen: format!("{file}: {bytes} bytes, measured here") }
            }
            None => Self {
                bytes: MMAP_THRESHOLD,
                is_fixed: false,
                seen: "mallopt(3): 128 KiB at first".to_owned(),
            },
        })
    }
}

/// The threshold that an environment sets.
fn set_by(environment: &str) -> Option<u64> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        match name {
            "MALLOC_MMAP_THRESHOLD_" => value.parse().ok(),
            "GLIBC_TUNABLES" => value
                .split(':')
                .find_map(|one| one.strip_prefix("glibc.malloc.mmap_threshold=")?.parse().ok()),
            _ => None,
        }
    };
    environment.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_in_memory() {
        let glibc = "7f00-7f01 r--p 00000000 08:01 42    /usr/lib/x86_64-linux-gnu/libc.so.6\n";
        let other = "7f02-7f03 r-xp 00000000 08:01 43    /usr/lib/libtcmalloc_minimal.so.4.5.10\n";
        assert_eq!(in_maps(glibc).unwrap().0, "glibc");
        assert_eq!(in_maps(&format!("{glibc}{other}")).unwrap().0, "tcmalloc");
        assert!(in_maps("7f04-7f05 rw-p 00000000 00:00 0").is_err());
    }

    #[test]
    fn names_and_libraries() {
        assert_eq!(
            ["jemalloc", "/a/libmimalloc.so.2", "/a/mine.so"].map(name_of),
            ["jemalloc", "mimalloc", "mine.so"]
        );
    }

    #[test]
    fn thresholds_of_environments() {
        assert_eq!(
            set_by("GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=1048576"),
            Some(1 << 20)
        );
        assert_eq!(set_by("LD_PRELOAD=x\nMALLOC_MMAP_THRESHOLD_=4096"), Some(4096));
        assert_eq!(set_by("MALLOC_ARENA_MAX=2"), None);
    }
}
