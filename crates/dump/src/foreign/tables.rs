//! Directories of scripts, one a table: `SRC/table.sql`, `SRC/schema-table.sql` (mysqlpdump), `SRC/schema/table.sql`, each
//! perhaps compressed; and those of `mysqldump --tab`, where the rows are in a `.txt` file beside the script.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::splitter::Rule;
use crate::{Error, Result};

/// What may stand behind the names of files.
pub(super) const PACKED: [&str; 4] = ["", ".gz", ".zst", ".lz4"];

/// A script of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) rule: Rule,
    /// The default schema, where the script itself names none.
    pub(super) schema: Option<String>,
    /// Rows that are in no script.
    pub(super) rows: Option<PathBuf>,
    /// Bytes on disk, those of the rows too.
    pub(super) bytes: u64,
}

impl File {
    pub(super) fn new(path: PathBuf, rule: Rule, schema: Option<String>) -> Result<Self> {
        let bytes = std::fs::metadata(&path).map_err(Error::file(&path))?.len();
        Ok(Self { path, rule, schema, rows: None, bytes })
    }
}

/// The name without what says how the file is packed.
pub(super) fn unpacked(name: &str) -> &str {
    PACKED.iter().skip(1).find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The files in a directory and their names, by name.
pub(super) fn listed(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(Error::file(dir))? {
        let path = entry.map_err(Error::file(dir))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(Error::found(format!("{}: a name that is not UTF-8", path.display())));
        };
        files.push((name.to_owned(), path));
    }
    files.sort();
    Ok(files)
}

/// Refuses files of a dump that are there twice, packed and unpacked, and what seems to be a file of it and is not read: pieces,
/// files that were not written to their end, other kinds of compression.
pub(super) fn check_names(files: &[(String, PathBuf)]) -> Result<()> {
    let scripts: BTreeSet<_> =
        files.iter().filter_map(|(name, _)| unpacked(name).strip_suffix(".sql")).collect();
    let is_part = |name: &str| {
        let rows = [".txt", ".dat"].iter().find_map(|end| name.strip_suffix(end));
        name.ends_with(".sql") || rows.is_some_and(|stem| scripts.contains(stem))
    };
    let mut seen: BTreeMap<&str, &Path> = BTreeMap::new();
    for (name, path) in files.iter().filter(|(_, path)| !path.is_dir()) {
        let plain = unpacked(name);
        if is_part(plain) {
            if let Some(other) = seen.insert(plain, path) {
                return Err(Error::with_hint(
                    format!("{} and {}: one file of the dump, there twice", other.display(), path.display()),
                    "remove the one that is not to be loaded",
                ));
            }
        } else if is_unread_part(name, is_part) {
            return Err(Error::with_hint(
                format!("{}: it seems to be a part of the dump, and cannot be read as it is", path.display()),
                "unpack it or put its pieces together, or move it out of the directory",
            ));
        }
    }
    Ok(())
}

/// Whether something stands behind the name of a file of the dump; checksums and signatures hold no rows.
fn is_unread_part(name: &str, is_part: impl Fn(&str) -> bool) -> bool {
    let holds_none = |end: &str| ["md5", "sha", "sig"].iter().any(|begin| end.starts_with(begin));
    let mut dots = name.match_indices('.');
    dots.any(|(at, _)| is_part(unpacked(&name[..at]))) && !name.rsplit('.').next().is_some_and(holds_none)
}

/// Refuses what is no file in the directory: a link to what lies elsewhere would be restored with the dump.
pub(super) fn is_of_dump(dir: &Path, name: &str) -> Result<()> {
    let found = match dir.join(name).is_dir() {
        true => drover_store::not_outside(dir, name),
        false => drover_store::inside(dir, name),
    };
    found.map(drop).map_err(|source| Error::File { path: dir.join(name), source })
}

/// The file in which the rows of a script's table would be, if they are beside it as in all of this directory.
pub(super) fn missing_rows(file: &File, files: &[File]) -> Option<PathBuf> {
    let is_beside = |other: &File| other.rows.is_some() && other.path.parent() == file.path.parent();
    if file.rows.is_some() || !files.iter().any(is_beside) {
        return None;
    }
    let name = file.path.file_name()?.to_str()?;
    Some(file.path.with_file_name(format!("{}.txt", unpacked(name).strip_suffix(".sql")?)))
}

fn is_script(name: &str) -> bool {
    unpacked(name).ends_with(".sql")
}

/// Whether there are scripts in the directory or one below.
pub(super) fn is_one(dir: &Path) -> bool {
    let has = |dir: &Path| {
        listed(dir).is_ok_and(|files| files.iter().any(|(name, path)| is_script(name) && path.is_file()))
    };
    has(dir) || listed(dir).is_ok_and(|files| files.iter().any(|(_, path)| path.is_dir() && has(path)))
}

/// The scripts of a directory; what else lies there is added to `others`.
pub(super) fn layout(dir: &Path, default: Option<&str>, others: &mut Vec<String>) -> Result<Vec<File>> {
    let mut files = in_one(dir, default, others)?;
    for (name, path) in listed(dir)?.into_iter().filter(|(_, path)| path.is_dir()) {
        is_of_dump(dir, &name)?;
        files.extend(in_one(&path, Some(&name), others)?);
    }
    Ok(files)
}

fn in_one(dir: &Path, schema: Option<&str>, others: &mut Vec<String>) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let all: Vec<_> = listed(dir)?.into_iter().filter(|(_, path)| !path.is_dir()).collect();
    check_names(&all)?;
    let stem_of = |name: &str, end: &str| unpacked(name).strip_suffix(end).map(str::to_owned);
    for (name, path) in &all {
        is_of_dump(dir, name)?;
        if let Some(stem) = stem_of(name, ".sql") {
            let mut file = File::new(path.clone(), Rule::Delimiter, schema.map(str::to_owned))?;
            let rows = all.iter().find(|(other, _)| stem_of(other, ".txt").as_ref() == Some(&stem));
            if let Some((_, rows)) = rows {
                file.bytes += std::fs::metadata(rows).map_err(Error::file(rows))?.len();
                file.rows = Some(rows.clone());
            }
            files.push(file);
            continue;
        }
        let stem = stem_of(name, ".txt");
        if stem.is_none() || !all.iter().any(|(other, _)| stem_of(other, ".sql") == stem) {
            others.push(path.display().to_string());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_link_that_leads_out_is_refused() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("a.txt"), "x").unwrap();
        fs::write(dir.path().join("a.sql"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path().join("a.txt"), dir.path().join("a.txt")).unwrap();
        let error = layout(dir.path(), None, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("a.txt") && error.contains("leads out"), "{error}");
    }

    fn named(names: &[&str]) -> std::result::Result<(), String> {
        let files: Vec<_> = names.iter().map(|name| ((*name).to_owned(), PathBuf::from(name))).collect();
        check_names(&files).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_that_is_there_twice() {
        for names in [["b.sql", "b.sql.gz"], ["b.sql.lz4", "b.sql.zst"]] {
            let dir = tempfile::tempdir().unwrap();
            names.iter().for_each(|name| fs::write(dir.path().join(name), "x").unwrap());
            let error = layout(dir.path(), None, &mut Vec::new()).unwrap_err().to_string();
            assert!(names.iter().all(|name| error.contains(&format!("/{name}"))), "{error}");
        }
        assert!(
            named(&["t.sql", "t.txt", "t.txt.gz"]).is_err()
                && named(&["s.t.sql", "s.t.dat", "s.t.dat.zst"]).is_err()
        );
        assert_eq!(named(&["t.sql", "notes.txt", "notes.txt.gz", "u.sql.gz", "t.txt"]), Ok(()));
    }

    #[test]
    fn what_seems_to_be_a_part_of_the_dump() {
        for name in ["a.sql.00", "a.sql.gz.aa", "a.sql.partial", "a.sql.xz", "t.txt.bz2", "a.sql.zst.gpg"] {
            let error = named(&["t.sql", name]).unwrap_err();
            assert!(error.contains(name) && error.contains("cannot be read"), "{error}");
        }
        for name in ["a.sql.md5", "a.sql.gz.sha256", "t.txt.md5", "notes.txt.bz2", "sql.md", "a.sql.b.sql"] {
            assert_eq!(named(&["t.sql", name]), Ok(()));
        }
    }

    #[test]
    fn scripts_and_their_rows() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("shop")).unwrap();
        for name in ["a.sql", "a.txt", "b.sql.gz", "notes.md", "shop/c.sql.zst", "shop/d.txt"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let mut others = Vec::new();
        let files = layout(dir.path(), Some("given"), &mut others).unwrap();
        let found: Vec<_> = files
            .iter()
            .map(|file| {
                let path = file.path.strip_prefix(dir.path()).unwrap().display().to_string();
                (path, file.schema.clone().unwrap(), file.rows.is_some(), file.bytes)
            })
            .collect();
        let expected = [
            ("a.sql", "given", true, 2),
            ("b.sql.gz", "given", false, 1),
            ("shop/c.sql.zst", "shop", false, 1),
        ];
        assert_eq!(
            found,
            expected.map(|(path, schema, rows, bytes)| (path.to_owned(), schema.to_owned(), rows, bytes))
        );
        assert_eq!(others.len(), 2, "{others:?}");
    }
}
