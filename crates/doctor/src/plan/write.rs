//! Puts planned files below a directory, to be looked at and copied.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::planned::PlannedFile;
use crate::{Error, Result};

/// Writes the files below a directory that stands for the root of a host.
///
/// # Errors
/// If the directory is the root of this host, a file is there already, or cannot be written.
pub fn write(files: &[PlannedFile], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let real = folder.canonicalize().map_err(Error::file(folder))?;
    for file in files {
        let path = real.join(file.path.strip_prefix("/").unwrap_or(&file.path));
        let parent = path.parent().unwrap_or(&real);
        refuse_live(parent, file)?;
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
        // Links may lead anywhere.
        refuse_live(&parent.canonicalize().map_err(Error::file(parent))?, file)?;
        let opened = fs::OpenOptions::new().write(true).create_new(true).mode(file.mode).open(&path);
        let mut opened = opened.map_err(Error::file(&path))?;
        opened.write_all(file.content.as_bytes()).map_err(Error::file(&path))?;
    }
    Ok(())
}

/// A network that is changed while it is in use may be gone, and with it who changes it.
fn refuse_live(folder: &Path, file: &PlannedFile) -> Result<()> {
    if Some(folder) != file.path.parent() {
        return Ok(());
    }
    Err(Error::with_hint(
        format!("{}: this host's own configuration is not written", file.path.display()),
        "name another directory with --dir, look at the files, and copy them at the console",
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn files_below_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str| PlannedFile { path: path.into(), mode: 0o600, content: "x\n".into() };
        let files = [file("/etc/netplan/60-bonds.yaml")];
        write(&files, &dir.path().join("new")).unwrap();
        let path = dir.path().join("new/etc/netplan/60-bonds.yaml");
        assert_eq!(fs::read_to_string(&path).unwrap(), "x\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // What is there already stays.
        assert!(write(&files, &dir.path().join("new")).unwrap_err().to_string().contains("60-bonds.yaml"));
        // A directory by this name would be that of a host.
        let live = file(dir.path().join("live/file").to_str().unwrap());
        let error = write(&[live], Path::new("/")).unwrap_err();
        assert!(error.to_string().contains("not written") && error.hint().is_some());
        assert!(!dir.path().join("live").exists());
    }
}
