//! Whether there is room for what is to be written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drover_units::show;
use rustix::fs::{stat, statvfs};

use crate::{Error, Result};

/// Refuses if these directories' file systems have less space than so many bytes each; several may share one.
pub(super) fn check(needs: &[(&Path, u64)]) -> Result<()> {
    let mut by_device: BTreeMap<u64, (Vec<&Path>, u64)> = BTreeMap::new();
    for (path, bytes) in needs {
        let device = stat(*path).map_err(|errno| Error::file(path)(errno.into()))?.st_dev;
        let (paths, sum) = by_device.entry(device).or_default();
        paths.push(path);
        *sum = sum.saturating_add(with_slack(*bytes));
    }
    by_device.values().try_for_each(|(paths, needed)| on_one(paths, *needed))
}

/// With what the file system keeps of its own about a file.
fn with_slack(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 1000).saturating_add(1 << 20)
}

fn on_one(paths: &[&Path], needed: u64) -> Result<()> {
    let Some(path) = paths.first() else { return Ok(()) };
    let space = statvfs(*path).map_err(|errno| Error::file(path)(errno.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    match needed.checked_sub(free) {
        None | Some(0) => Ok(()),
        Some(missing) => Err(lacking(paths, needed, free, missing)),
    }
}

fn lacking(paths: &[&Path], needed: u64, free: u64, missing: u64) -> Error {
    let paths = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let what = format!(
        "{paths}: {} are missing: {} are needed, and {} are free",
        show::bytes(missing),
        show::bytes(needed),
        show::bytes(free)
    );
    Error::with_hint(
        what,
        "the data is written in full before it is measured: give a smaller --sweep, or another path",
    )
}

/// The paths as they are, each once.
pub(super) fn directories(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for path in paths {
        let directory = path.canonicalize().map_err(Error::file(path))?;
        if !directory.is_dir() {
            let what = format!("{} is not a directory", path.display());
            return Err(Error::with_hint(
                what,
                "give a directory on the disk, such as the point where it is mounted",
            ));
        }
        if directories.contains(&directory) {
            return Err(Error::found(format!("{} is given twice", path.display())));
        }
        directories.push(directory);
    }
    Ok(directories)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        let here = Path::new(".");
        check(&[(here, 1)]).unwrap();
        let error = check(&[(here, 900 << 40)]).unwrap_err();
        assert!(error.to_string().contains("are missing") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn directories_of_one_file_system_share_its_space() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        std::fs::create_dir(&one).unwrap();
        std::fs::create_dir(&other).unwrap();
        let space = statvfs(dir.path()).unwrap();
        let most = space.f_bavail * space.f_frsize / 100 * 60;
        let (one, other) = (one.as_path(), other.as_path());
        check(&[(one, most)]).unwrap();
        let error = check(&[(one, most), (other, most)]).unwrap_err().to_string();
        assert!(error.contains("one") && error.contains("other"), "{error}");
    }

    #[test]
    fn paths_are_directories_each_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let of =
            |paths: &[&Path]| directories(&paths.iter().map(|path| path.to_path_buf()).collect::<Vec<_>>());
        assert_eq!(of(&[dir.path()]).unwrap().len(), 1);
        assert!(of(&[&file]).unwrap_err().to_string().contains("not a directory"));
        assert!(of(&[&dir.path().join("none")]).is_err());
        assert!(of(&[dir.path(), &dir.path().join(".")]).unwrap_err().to_string().contains("twice"));
    }
}
