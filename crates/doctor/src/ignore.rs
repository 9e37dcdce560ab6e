//! What somebody has decided to live with, and why: a file that `--ignore` adds to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A rule, or a rule for one subject, whose findings are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// The rule's name.
    pub rule: String,
    /// What it is ignored for; `None` for all that the rule looks at.
    pub subject: Option<String>,
    /// Why.
    pub because: String,
    /// Since when, in UTC, by RFC 3339.
    pub since: String,
}

impl Ignored {
    /// Whether it covers a finding of a rule.
    pub(crate) fn covers(&self, rule: &str, subject: Option<&str>) -> bool {
        self.rule == rule && (self.subject.is_none() || self.subject.as_deref() == subject)
    }
}

/// The file, in `$XDG_CONFIG_HOME` or `~/.config`.
pub fn default_file() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    Some(folder.or_else(home)?.join("drover/doctor-ignore.json"))
}

/// Reads the file; none is as good as an empty one.
///
/// # Errors
/// If it cannot be read, or is not what [`add`] writes.
pub fn read(file: &Path) -> Result<Vec<Ignored>> {
    let text = match fs::read_to_string(file) {
        // Accounts of services have homes such as /dev/null.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        other => other.map_err(Error::file(file))?,
    };
    serde_json::from_str(&text).map_err(|error| {
        Error::with_hint(
            format!("{}: {error}", file.display()),
            "it holds what --ignore has kept; mend it, or move it away",
        )
    })
}

/// Adds to the file, in the place of an earlier entry for the same.
///
/// # Errors
/// If it cannot be read or written.
pub fn add(file: &Path, ignored: Ignored) -> Result<()> {
    let mut all = read(file)?;
    all.retain(|known| (&known.rule, &known.subject) != (&ignored.rule, &ignored.subject));
    all.push(ignored);
    let mut text = serde_json::to_string_pretty(&all).map_err(|error| Error::found(error.to_string()))?;
    text.push('\n');
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    let new = file.with_extension("new");
    fs::write(&new, text).map_err(Error::file(&new))?;
    fs::rename(&new, file).map_err(Error::file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_kept_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/ignore.json");
        let of = |rule: &str, subject: Option<&str>, because: &str| Ignored {
            rule: rule.into(),
            subject: subject.map(Into::into),
            because: because.into(),
            since: "2026-01-01T00:00:00Z".into(),
        };
        assert_eq!(read(&file).unwrap(), []);
        assert_eq!(read(Path::new("/dev/null/ignore.json")).unwrap(), []);
        add(&file, of("host.swap", None, "a test machine")).unwrap();
        add(&file, of("server.no-key", Some("a.b"), "small")).unwrap();
        add(&file, of("host.swap", None, "still one")).unwrap();
        let all = read(&file).unwrap();
        assert_eq!(all, [of("server.no-key", Some("a.b"), "small"), of("host.swap", None, "still one")]);
        assert!(all[1].covers("host.swap", Some("x")) && !all[0].covers("server.no-key", Some("a.c")));
        fs::write(&file, "{").unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("ignore.json"));
    }
}
