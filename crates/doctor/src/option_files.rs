//! Option files of a server: the options in them that checks read.
//!
//! Sources: MySQL Reference Manual, Using Option Files; MariaDB documentation, Configuring MariaDB with Option Files.

use std::path::{Path, PathBuf};

use crate::evidence::{Evidence, Seen, Unseen};
use crate::secret::quoted;

/// Where servers of distributions look. Both vendors have more places; what these hold is included from here.
const FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];
/// A file that includes itself is no reason to read for ever.
const DEPTH: usize = 8;

/// Options that are read. All others may be passwords.
const READ: [&str; 1] = ["malloc-lib"];

/// A line of an option file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The file.
    pub(crate) file: PathBuf,
    /// The group: `mysqld_safe`.
    pub(crate) group: String,
    /// The option, with hyphens.
    pub(crate) name: String,
    /// Its value; empty where it has none.
    pub(crate) value: String,
}

/// All settings that checks read, in the order in which they are read: later ones win. `command_line` has a line for each option that says which files
/// are read.
pub(crate) fn settings(evidence: &Evidence, command_line: &str) -> Seen<Vec<Setting>> {
    let named = |name: &str| command_line.lines().find_map(|line| line.strip_prefix(name).map(PathBuf::from));
    let mut files = match named("--defaults-file=") {
        Some(file) => vec![file],
        None if command_line.lines().any(|line| line == "--no-defaults") => Vec::new(),
        None => FILES.map(PathBuf::from).to_vec(),
    };
    files.extend(named("--defaults-extra-file="));
    let mut found = Vec::new();
    for file in files {
        read(evidence, &file, DEPTH, &mut found)?;
    }
    Ok(found)
}

/// Groups, other files, and the options that are read.
fn wanted(text: &str) -> String {
    let line = |line: &str| {
        if let Some(group) = group(line) {
            return Some(format!("[{group}]\n"));
        }
        if ["!include", "!includedir"].iter().any(|word| directive(line, word).is_some()) {
            return Some(format!("{line}\n"));
        }
        let (name, value) = option(line).filter(|(name, _)| READ.contains(&name.as_str()))?;
        Some(format!("{name}={}\n", quoted(&value)))
    };
    text.lines().map(str::trim).filter_map(line).collect()
}

fn read(evidence: &Evidence, file: &Path, depth: usize, found: &mut Vec<Setting>) -> Seen<()> {
    let text = match evidence.setting(file, |text| Ok(wanted(text))) {
        Err(Unseen::Missing) => return Ok(()),
        other => other?,
    };
    let mut group = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(folder) = directive(line, "!includedir") {
            for other in included(evidence, &folder)? {
                if depth > 0 {
                    read(evidence, &other, depth - 1, found)?;
                }
            }
        } else if let Some(other) = directive(line, "!include") {
            if depth > 0 {
                read(evidence, &other, depth - 1, found)?;
            }
        } else if let Some(name) = self::group(line) {
            name.clone_into(&mut group);
        } else if let Some((name, value)) = option(line) {
            found.push(Setting { file: file.to_owned(), group: group.clone(), name, value });
        }
    }
    Ok(())
}

fn group(line: &str) -> Option<&str> {
    Some(line.strip_prefix('[')?.split(']').next()?.trim())
}

fn directive(line: &str, word: &str) -> Option<PathBuf> {
    let rest = line.strip_prefix(word)?;
    rest.starts_with(char::is_whitespace).then(|| PathBuf::from(rest.trim()))
}

/// Files of a directory that are read on behalf of `!includedir`.
fn included(evidence: &Evidence, folder: &Path) -> Seen<Vec<PathBuf>> {
    let names = match evidence.list(folder) {
        Err(Unseen::Missing) => return Ok(Vec::new()),
        other => other?,
    };
    Ok(names.iter().filter(|name| name.ends_with(".cnf")).map(|name| folder.join(name)).collect())
}

/// `NAME = VALUE`, or `NAME` alone.
fn option(line: &str) -> Option<(String, String)> {
    if line.is_empty() || line.starts_with(['#', ';']) {
        return None;
    }
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    let name = name.split('#').next()?.trim().replace('_', "-");
    let name = name.strip_prefix("loose-").unwrap_or(&name).to_owned();
    let value = value.trim();
    let quoted = |quote: char| Some(value.strip_prefix(quote)?.split(quote).next()?.to_owned());
    let plain = || value.split(" #").next().unwrap_or_default().trim().to_owned();
    Some((name, quoted('"').or_else(|| quoted('\'')).unwrap_or_else(plain)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::host;

    fn of(files: &[(&str, &str)], command_line: &str) -> Vec<(String, String, String)> {
        let dir = host(files);
        let evidence = Evidence::of(Some(dir.path()), Err(String::new()), None, String::new()).unwrap();
        let all = settings(&evidence, command_line).unwrap();
        let kept = serde_json::to_string(&evidence.into_kept()).unwrap();
        assert!(!kept.contains("hunter2"), "{kept}");
        all.into_iter().map(|one| (one.group, one.name, one.value)).collect()
    }

    fn one(group: &str, name: &str, value: &str) -> (String, String, String) {
        (group.into(), name.into(), value.into())
    }

    #[test]
    fn files_that_include_others() {
        let files = [
            (
                "etc/my.cnf",
                "# a\n[mysqld]\nmalloc_lib = jemalloc # each\nmalloc-lib\n!includedir /etc/my.cnf.d\n",
            ),
            (
                "etc/my.cnf.d/b.cnf",
                "[client] # hunter2\npassword=hunter2\n#password=hunter2\n[mysqld_safe]\nmalloc_lib = \"/a b/libjemalloc.so.2\"\n",
            ),
            ("etc/my.cnf.d/c.cnf", "!include /etc/my.cnf\n"),
            ("etc/my.cnf.d/d.txt", "[mysqld]\nmalloc-lib=no"),
            ("srv/own.cnf", "[mysqld]\nloose-malloc-lib = 'y'\n"),
        ];
        let all = of(&files, "");
        assert_eq!(all[..2], [one("mysqld", "malloc-lib", "jemalloc"), one("mysqld", "malloc-lib", "")]);
        assert!(all.contains(&one("mysqld_safe", "malloc-lib", "/a b/libjemalloc.so.2")));
        assert!(all.len() < 100 && all.iter().all(|(_, _, value)| value != "no"));
        assert_eq!(of(&files, "--defaults-file=/srv/own.cnf"), [one("mysqld", "malloc-lib", "y")]);
        assert!(of(&files, "--no-defaults").is_empty() && of(&[], "").is_empty());
    }
}
