//! Directories that mydumper wrote: which file is what, by its name, and what the metadata says. Layouts from version 0.6
//! on are read: docs/foreign-dumps.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::splitter::Rule;
use super::tables::{File, check_names, is_of_dump, listed, unpacked};
use crate::{Error, Result};

/// What a file holds, and the ending that tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Schema,
    Sequence,
    Table,
    Rows,
    Programs,
    View,
    Triggers,
    Events,
}

const ENDINGS: [(&str, Part); 9] = [
    ("-schema-create.sql", Part::Schema),
    ("-schema-sequence.sql", Part::Sequence),
    ("-schema-view.sql", Part::View),
    ("-schema-triggers.sql", Part::Triggers),
    ("-schema-events.sql", Part::Events),
    ("-schema-routines.sql", Part::Programs),
    // Up to version 0.19: routines and events.
    ("-schema-post.sql", Part::Programs),
    ("-schema.sql", Part::Table),
    (".sql", Part::Rows),
];

impl Part {
    /// Programs are written without delimiters of their own.
    fn rule(self) -> Rule {
        match self {
            Self::Programs | Self::Triggers | Self::Events => Rule::Line,
            _ => Rule::Delimiter,
        }
    }
}

/// A file of the dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) part: Part,
    pub(super) file: File,
    /// The schema and, for what belongs to one, the table, as file names have them.
    pub(super) schema: String,
    pub(super) table: Option<String>,
}

/// What the metadata says of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) rows: Option<u64>,
    /// What CHECKSUM TABLE said.
    pub(super) checksum: Option<u64>,
}

/// A directory of mydumper's.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) pieces: Vec<Piece>,
    /// By schema and table, as file names have them.
    pub(super) said: BTreeMap<(String, String), Said>,
    /// Whether rows are in files that LOAD DATA reads.
    pub(super) has_row_files: bool,
    /// What else lies there.
    pub(super) others: Vec<String>,
    /// What nothing tells to be right or wrong.
    pub(super) doubts: Vec<String>,
}

/// Whether mydumper wrote the directory.
pub(super) fn is_one(dir: &Path) -> bool {
    let is_its = |name: &str| {
        matches!(name, "metadata" | "metadata.partial") || unpacked(name).ends_with("-schema-create.sql")
    };
    listed(dir).is_ok_and(|files| files.iter().any(|(name, _)| is_its(name)))
}

/// Which file is what.
///
/// # Errors
/// If mydumper did not finish, or a file is missing or there twice.
pub(super) fn layout(dir: &Path) -> Result<Layout> {
    let files = listed(dir)?;
    check_names(&files)?;
    let mut layout = Layout { said: metadata(dir, &files)?, ..Layout::default() };
    let schemas = schemas(&files);
    let tables: Vec<_> = files
        .iter()
        .filter_map(|(name, _)| unpacked(name).strip_suffix("-schema.sql").map(str::to_owned))
        .collect();
    let mut numbers = Numbers::default();
    for (name, path) in &files {
        is_of_dump(dir, name)?;
        let plain = unpacked(name);
        if let Some(stem) = plain.strip_suffix("-metadata") {
            let (schema, table) = split(stem, &schemas);
            let rows = read(path)?.trim().parse().ok();
            layout.said.entry((schema, table.unwrap_or_default())).or_default().rows = rows;
        } else if let Some(stem) = plain.strip_suffix(".dat") {
            if !files.iter().any(|(other, _)| unpacked(other).strip_suffix(".sql") == Some(stem)) {
                return Err(Error::with_hint(
                    format!("{}: the script that loads these rows is missing", path.display()),
                    "copy the whole directory, or make the dump again",
                ));
            }
            layout.has_row_files = true;
        } else if let Some((stem, part)) = part(plain) {
            let whole = stem;
            let stem = if part == Part::Rows { table_of(stem, &tables) } else { stem };
            let (schema, table) = split(stem, &schemas);
            if part == Part::Rows {
                let number = whole[stem.len()..].trim_start_matches('.').to_owned();
                numbers.entry((schema.clone(), table.clone().unwrap_or_default())).or_default().push(number);
            }
            let file = File::new(path.clone(), part.rule(), None)?;
            layout.pieces.push(Piece { part, file, schema, table });
        } else if !plain.starts_with("metadata") {
            layout.others.push(path.display().to_string());
        }
    }
    layout.doubts = gaps(&numbers, &layout.said);
    match numbers.iter().find(|(_, numbers)| numbers.len() > 1 && numbers.iter().any(String::is_empty)) {
        None => Ok(layout),
        Some(((schema, table), numbers)) => Err(Error::with_hint(
            format!(
                "{}: rows of {schema}.{table} in one file without a number and in {} with numbers: they are of different dumps",
                dir.display(),
                numbers.len() - 1
            ),
            "remove the files of the earlier dump, or make the dump again into an empty directory",
        )),
    }
}

/// What stands behind the table's name in the names of its files of rows, by schema and table.
type Numbers = BTreeMap<(String, String), Vec<String>>;

/// Tables whose files of rows are not numbered one after the other: mydumper leaves out files of ranges without rows, so that only the
/// number of rows tells whether others are missing.
fn gaps(numbers: &Numbers, said: &BTreeMap<(String, String), Said>) -> Vec<String> {
    let is_known = |table: &(String, String)| said.get(table).is_some_and(|said| said.rows.is_some());
    let unknown = numbers.iter().filter(|(table, _)| !is_known(table));
    let with_gap = unknown.filter_map(|((schema, table), numbers)| {
        let mut numbers: Vec<u64> = numbers.iter().map(|number| number.parse().ok()).collect::<Option<_>>()?;
        numbers.sort_unstable();
        let after = numbers.windows(2).find(|pair| pair[0] + 1 < pair[1])?[0];
        Some(format!(
            "{schema}.{table}: there is no file of rows with the number {:05}, and the dump tells no number of rows: nothing tells \
             whether it was empty or is missing",
            after + 1
        ))
    });
    with_gap.collect()
}

fn part(name: &str) -> Option<(&str, Part)> {
    if name.ends_with("-schema-create-tablespace.sql") {
        return None;
    }
    ENDINGS.iter().find_map(|(ending, part)| Some((name.strip_suffix(ending)?, *part)))
}

/// The schemas' names, the longest first: a name may hold a dot.
fn schemas(files: &[(String, PathBuf)]) -> Vec<String> {
    let mut names: Vec<_> = files
        .iter()
        .filter_map(|(name, _)| unpacked(name).strip_suffix("-schema-create.sql").map(str::to_owned))
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names
}

/// A schema, and behind a dot a table.
fn split(stem: &str, schemas: &[String]) -> (String, Option<String>) {
    let known = schemas.iter().find_map(|schema| match stem.strip_prefix(schema.as_str())? {
        "" => Some((schema.clone(), None)),
        rest => Some((schema.clone(), Some(rest.strip_prefix('.')?.to_owned()))),
    });
    known.unwrap_or_else(|| match stem.split_once('.') {
        Some((schema, table)) => (schema.to_owned(), Some(table.to_owned())),
        None => (stem.to_owned(), None),
    })
}

/// `schema.table` of a file of rows: one or two numbers may follow. A table's own name may end in numbers, too: then it is
/// the longest that there is a definition of.
fn table_of<'a>(stem: &'a str, tables: &[String]) -> &'a str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut candidates = vec![stem];
    while let Some((rest, number)) = candidates.last().and_then(|last| last.rsplit_once('.')) {
        if !is_number(number) || candidates.len() == 3 {
            break;
        }
        candidates.push(rest);
    }
    let known = candidates.iter().find(|candidate| tables.iter().any(|table| table == *candidate));
    known.or(candidates.last()).copied().unwrap_or(stem)
}

fn read(path: &Path) -> Result<String> {
    let (dir, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let bytes = drover_store::read_whole(dir, &name.to_string_lossy()).map_err(Error::file(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the metadata says of the tables; an unfinished dump is refused.
fn metadata(dir: &Path, files: &[(String, PathBuf)]) -> Result<BTreeMap<(String, String), Said>> {
    let unfinished = || {
        Error::with_hint(
            format!("{}: mydumper did not finish this dump: its metadata has no end", dir.display()),
            "make the dump again",
        )
    };
    // Beside the metadata of an earlier dump into the same directory, too.
    if files.iter().any(|(name, _)| name == "metadata.partial") {
        return Err(unfinished());
    }
    let text = match files.iter().find(|(name, _)| name == "metadata") {
        Some((_, path)) => read(path)?,
        None => return Ok(BTreeMap::new()),
    };
    if !text.lines().any(|line| line.trim_start_matches(['#', ' ']).starts_with("Finished dump at")) {
        return Err(unfinished());
    }
    Ok(sections(&text))
}

/// The sections of the newer metadata, such as `` [`shop`.`orders`] ``.
fn sections(text: &str) -> BTreeMap<(String, String), Said> {
    let mut said = BTreeMap::new();
    let mut section = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']')) {
            section = table_name(name);
            continue;
        }
        let (Some(table), Some((key, value))) = (&section, line.split_once('=')) else { continue };
        let entry: &mut Said = said.entry(table.clone()).or_default();
        match key.trim().to_ascii_lowercase().as_str() {
            "rows" => entry.rows = value.trim().parse().ok(),
            "data_checksum" => entry.checksum = value.trim().parse().ok(),
            _ => {}
        }
    }
    said
}

/// The two names of `` `schema`.`table` ``, quoted as the dump quotes names.
fn table_name(section: &str) -> Option<(String, String)> {
    let quote = section.chars().next().filter(|c| matches!(c, '`' | '"'))?;
    let inner = section.strip_prefix(quote)?.strip_suffix(quote)?;
    let (schema, table) = inner.split_once(&format!("{quote}.{quote}"))?;
    Some((schema.to_owned(), table.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn dir(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(dir.path().join(name), text).unwrap());
        dir
    }

    const FINISHED: (&str, &str) = ("metadata", "Started dump at: x\nFinished dump at: y\n");

    #[test]
    fn names_of_files() {
        let dir = dir(&[
            FINISHED,
            ("shop-schema-create.sql", ""),
            ("shop-schema-post.sql", ""),
            ("shop.a-schema.sql.gz", ""),
            ("shop.a.sql.gz", ""),
            ("shop.b.2020-schema.sql", ""),
            ("shop.b.2020.00001.sql", ""),
            ("shop.b.2020.00001.00002.sql.zst", ""),
            ("shop.v-schema-view.sql", ""),
            ("shop.a-schema-triggers.sql", ""),
            ("all-schema-create-tablespace.sql", ""),
            ("shop.a-metadata", "17"),
        ]);
        let layout = layout(dir.path()).unwrap();
        let found: Vec<_> = layout
            .pieces
            .iter()
            .map(|p| (p.part, p.schema.as_str(), p.table.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            found,
            [
                (Part::Schema, "shop", "-"),
                (Part::Programs, "shop", "-"),
                (Part::Triggers, "shop", "a"),
                (Part::Table, "shop", "a"),
                (Part::Rows, "shop", "a"),
                (Part::Table, "shop", "b.2020"),
                (Part::Rows, "shop", "b.2020"),
                (Part::Rows, "shop", "b.2020"),
                (Part::View, "shop", "v"),
            ]
        );
        assert_eq!(layout.others.len(), 1, "{:?}", layout.others);
        assert_eq!(layout.said[&("shop".into(), "a".into())].rows, Some(17));
    }

    #[test]
    fn the_newer_metadata_tells_rows() {
        let text = "# Started dump at: x\n[config]\nquote-character = BACKTICK\n\n[`shop`.`or``ders`]\nreal_table_name=or`ders\n\
                    rows = 7\ndata_checksum = 3187537694\n\n[`shop`]\nschema_checksum = 95DC8DDE\n# Finished dump at: y\n";
        let dir = dir(&[("metadata", text), ("shop.a.sql", "")]);
        let said = layout(dir.path()).unwrap().said;
        let expected = Said { rows: Some(7), checksum: Some(3_187_537_694) };
        assert_eq!(said, BTreeMap::from([(("shop".into(), "or``ders".into()), expected)]));
    }

    #[test]
    fn an_unfinished_dump_is_refused() {
        let partial = ("metadata.partial", "# Started");
        for files in [&[("metadata", "Started dump at: x\n")][..], &[partial], &[FINISHED, partial]] {
            let dir = dir(files);
            assert!(is_one(dir.path()));
            assert!(layout(dir.path()).unwrap_err().to_string().contains("did not finish"));
        }
    }

    #[test]
    fn files_that_are_there_twice() {
        for other in ["s.t.00000.sql.gz", "s.t-schema.sql.zst"] {
            let dir = dir(&[FINISHED, ("s.t-schema.sql", ""), ("s.t.00000.sql", ""), (other, "")]);
            let error = layout(dir.path()).unwrap_err().to_string();
            assert!(error.contains(other) && error.contains("there twice"), "{error}");
        }
    }

    #[test]
    fn numbers_of_files() {
        let files = |names: &[&str]| {
            let files: Vec<_> =
                names.iter().map(|name| (*name, "")).chain([FINISHED, ("s.t-schema.sql", "")]).collect();
            layout(dir(&files).path()).map(|layout| layout.doubts).map_err(|error| error.to_string())
        };
        assert_eq!(files(&["s.t.sql"]), Ok(Vec::new()));
        assert_eq!(files(&["s.t.00001.sql", "s.t.00002.sql"]), Ok(Vec::new()));
        assert_eq!(files(&["s.t.00001.00000.sql", "s.t.00003.00000.sql"]), Ok(Vec::new()));
        let doubts = files(&["s.t.00000.sql", "s.t.00002.sql", "s.t.00003.sql"]).unwrap();
        assert!(
            doubts.len() == 1 && doubts[0].contains("s.t: ") && doubts[0].contains("00001"),
            "{doubts:?}"
        );
        let told = files(&["s.t.00000.sql", "s.t.00002.sql", "s.t-metadata"]);
        assert_eq!(told.unwrap().len(), 1, "an empty file tells no number");
        let error = files(&["s.t.sql", "s.t.00000.sql"]).unwrap_err();
        assert!(error.contains("s.t in one file without a number"), "{error}");
    }

    #[test]
    fn rows_that_no_script_loads() {
        let dir =
            dir(&[FINISHED, ("s.t.00000.sql.gz", ""), ("s.t.00000.dat", ""), ("s.t.00001.dat.zst", "")]);
        let error = layout(dir.path()).unwrap_err().to_string();
        assert!(error.contains("s.t.00001.dat.zst: the script"), "{error}");
    }

    #[test]
    fn rows_of_a_table_whose_definition_is_not_there() {
        assert_eq!(table_of("s.t.00001", &[]), "s.t");
        assert_eq!(table_of("s.t.00001.00002", &[]), "s.t");
        assert_eq!(table_of("s.t", &[]), "s.t");
        assert_eq!(split("a.b.c", &["a.b".into(), "a".into()]), ("a.b".into(), Some("c".into())));
    }
}
