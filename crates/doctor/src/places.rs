//! Where the server's files lie, and how full it is there.

use std::path::{Path, PathBuf};

use drover_host::Space;

use crate::check::Weight;
use crate::evidence::Seen;
use crate::facts::Facts;

/// Variables that name directories or files of the server, and what for.
const PLACES: [(&str, &str); 7] = [
    ("datadir", "data"),
    ("innodb_data_home_dir", "system tablespace"),
    ("innodb_log_group_home_dir", "redo log"),
    ("innodb_undo_directory", "undo log"),
    ("log_bin_basename", "binary log"),
    ("relay_log_basename", "relay log"),
    ("tmpdir", "temporary files"),
];
/// What the names of such variables end with that name the beginning of files' names.
const OF_FILES: &str = "_basename";

/// A directory of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// What lies there.
    pub(crate) of: &'static str,
    /// Its path on the server's host.
    pub(crate) folder: PathBuf,
}

/// The directories of a server of this host.
pub(crate) fn places(facts: &Facts) -> Seen<Vec<Place>> {
    // The paths of another host would be looked for here.
    facts.evidence.pid()?;
    let datadir = PathBuf::from(facts.variable("datadir")?);
    let mut found = Vec::new();
    for (variable, of) in PLACES {
        let Ok(value) = facts.variable(variable) else { continue };
        // Several directories for temporary files are possible.
        for value in value.split(':').filter(|value| !value.is_empty()) {
            found.push(Place { of, folder: folder(&datadir, variable, value) });
        }
    }
    Ok(found)
}

/// The directory of the binary logs, if it is one of this host.
pub(crate) fn of_binary_log(facts: &Facts) -> Seen<PathBuf> {
    facts.evidence.pid()?;
    let datadir = PathBuf::from(facts.variable("datadir")?);
    Ok(folder(&datadir, "log_bin_basename", &facts.variable("log_bin_basename")?))
}

/// Paths are told from the data directory.
fn folder(datadir: &Path, variable: &str, value: &str) -> PathBuf {
    let path = datadir.join(value);
    let folder = if variable.ends_with(OF_FILES) { path.parent().unwrap_or(&path) } else { &path };
    // `DATADIR/.` asks for the right to search the directory, `DATADIR` does not.
    folder.components().collect()
}

/// The mount that a path lies on, of the text of /proc/self/mountinfo.
pub(crate) fn mount_of(mounts: &str, path: &Path) -> Option<PathBuf> {
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    let points = points.map(|point| PathBuf::from(point.replace("\\040", " ")));
    points.filter(|point| path.starts_with(point)).max_by_key(|point| point.components().count())
}

/// What is left of a file system below which its end is near, as shares of its size.
const NEARLY_FULL: f64 = 0.05;
const FULL: f64 = 0.01;
/// The same in bytes, where the file system is larger than twice that.
const LITTLE: u64 = 1 << 30;

/// How much it matters that there is so little space; `None` if there is enough.
pub(crate) fn lack(space: Space) -> Option<Weight> {
    let share = space.free as f64 / space.bytes.max(1) as f64;
    if share < FULL {
        Some(Weight::Red)
    } else if share < NEARLY_FULL || (space.free < LITTLE && space.bytes > 2 * LITTLE) {
        Some(Weight::Yellow)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_server() {
        let of = |variable, value| folder(Path::new("/data/"), variable, value);
        assert_eq!(of("innodb_log_group_home_dir", "./").as_os_str(), "/data");
        assert_eq!(of("log_bin_basename", "/logs/binlog"), Path::new("/logs"));
        assert_eq!(of("log_bin_basename", "binlog"), Path::new("/data"));
        assert_eq!(of("tmpdir", "/tmp"), Path::new("/tmp"));
    }

    #[test]
    fn the_mount_of_a_path() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /my\\040data rw - xfs /dev/sdb rw";
        let of = |path| mount_of(mounts, Path::new(path)).unwrap();
        assert_eq!((of("/my data/x"), of("/mydata")), (PathBuf::from("/my data"), PathBuf::from("/")));
    }

    #[test]
    fn how_much_is_enough() {
        let of = |gibibytes: u64, free: u64| lack(Space { bytes: gibibytes << 30, free: free << 20 });
        assert_eq!(of(100, 20 << 10), None);
        assert_eq!(of(100, 4 << 10), Some(Weight::Yellow));
        assert_eq!(of(10, 900), Some(Weight::Yellow));
        assert_eq!(of(1, 900), None);
        assert_eq!(of(100, 500), Some(Weight::Red));
    }
}
