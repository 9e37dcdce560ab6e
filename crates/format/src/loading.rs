//! A manifest is read and proved to be drover's own, and written so that it is there whole or not at all.

use std::path::Path;

use drover_db::schemas::is_system;
use drover_store::{Store, StoreArgs};

use crate::digest::Digest;
use crate::manifest::{Chunk, Column, FILE_NAME, FORMAT, Manifest, Schema, Script};
use crate::missing::{check_script, missing, no_rows};
use crate::trusted::Creates;
use crate::{Error, Result, known_sql, names, script};

/// What the line with the manifest's own checksum begins with.
const CHECKSUM: &str = "  \"checksum\": \"";

impl Manifest {
    /// Reads the manifest of the dump in a directory or at `s3://BUCKET/PREFIX`, and checks that the files it names are there in full; scripts also by
    /// their checksums, row files when they are read.
    ///
    /// # Errors
    /// If the dump was never finished, is damaged or of a newer format, or lacks a file or part of one.
    pub fn load(place: &Path) -> Result<Self> {
        Self::read(&Store::open(place, &StoreArgs::default())?)
    }

    /// The same of a dump in a store.
    ///
    /// # Errors
    /// As for [`Manifest::load`].
    pub fn read(store: &Store) -> Result<Self> {
        let manifest = Self::read_alone(store)?;
        manifest.check_sizes(store)?;
        manifest.check_scripts(store)?;
        Ok(manifest)
    }

    /// The same without a look at the files that it names.
    ///
    /// # Errors
    /// If the dump was never finished, or the manifest is damaged or of a newer format.
    pub fn read_alone(store: &Store) -> Result<Self> {
        let path = store.path(FILE_NAME);
        let text = store.read_if_there(FILE_NAME)?.ok_or_else(|| missing(store))?;
        let damaged = |why: String| Error::NotAManifest { path: path.clone(), why };
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        if format.is_some_and(|format| format > u64::from(FORMAT)) {
            return Err(Error::Newer(path));
        }
        check_text(&path, &text)?;
        let mut manifest: Self = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        let tables = manifest.schemas.iter_mut().flat_map(|schema| &mut schema.tables);
        tables.flat_map(|table| &mut table.columns).for_each(Column::read_anywhere);
        manifest.check_sums().ok_or_else(|| damaged("more rows or bytes than there can be".into()))?;
        manifest.check_contents().map_err(damaged)?;
        manifest.check_paths(&path)?;
        manifest.check_names(&path)?;
        known_sql::check(&manifest).map_err(|what| foreign(&path, &what))?;
        Ok(manifest)
    }

    /// The manifest of a dump whose rows are to be had.
    ///
    /// # Errors
    /// As for reading it, and if the rows went elsewhere.
    pub fn with_rows(store: &Store) -> Result<Self> {
        let manifest = Self::read(store)?;
        if manifest.copied { Err(no_rows(store)) } else { Ok(manifest) }
    }

    /// Writes the manifest so that it is there whole or not at all, also after a power cut.
    pub fn store(&self, store: &Store) -> Result<()> {
        let text = self.to_text().map_err(Error::Unwritable)?;
        Ok(store.publish(FILE_NAME, &text)?)
    }

    /// As the file holds it: JSON in which the first field is the checksum of all other lines.
    fn to_text(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        let first = format!("{CHECKSUM}{}\",\n", Digest::of(text.as_bytes()));
        text.insert_str("{\n".len(), &first);
        Ok(text.into_bytes())
    }

    /// Sums of rows and bytes are made in many places: here it is proved that they do not overflow.
    fn check_sums(&self) -> Option<()> {
        const MOST: u64 = 1 << 56;
        let files = || self.tables().flat_map(|(_, table)| &table.files);
        let sums: [fn(&Chunk) -> u64; 3] = [|f| f.rows, |f| f.bytes, |f| f.stored_bytes];
        sums.iter()
            .all(|of| {
                files().try_fold(0u64, |sum, file| sum.checked_add(of(file))).is_some_and(|sum| sum < MOST)
            })
            .then_some(())
    }

    fn scripts(&self) -> impl Iterator<Item = &Script> {
        let users = self.users.iter().flat_map(|users| [&users.file, &users.script]);
        users.chain(&self.by_hand).chain(self.schemas.iter().flat_map(|schema| {
            let objects =
                [&schema.sequences, &schema.views, &schema.routines, &schema.triggers, &schema.events];
            std::iter::once(&schema.script)
                .chain(schema.tables.iter().map(|table| &table.script))
                .chain(objects.into_iter().flatten().map(|object| &object.script))
                .filter(|script| self.contents.has_definitions() || !script.is_absent())
        }))
    }

    /// Whether it has scripts and files just where it says that it has.
    fn check_contents(&self) -> std::result::Result<(), String> {
        if !self.contents.has_rows() && self.tables().any(|(_, table)| !table.files.is_empty()) {
            return Err("it says that it holds definitions only, and names files of rows".into());
        }
        let has_script = |schema: &Schema| {
            let objects =
                [&schema.sequences, &schema.views, &schema.routines, &schema.triggers, &schema.events];
            !schema.script.is_absent()
                || schema.tables.iter().any(|table| !table.script.is_absent())
                || objects.into_iter().any(|objects| !objects.is_empty())
        };
        if !self.contents.has_definitions() && self.schemas.iter().any(has_script) {
            return Err("it says that it holds rows only, and names scripts".into());
        }
        Ok(())
    }

    /// A manifest from a stranger must not lead out of its directory.
    fn check_paths(&self, path: &Path) -> Result<()> {
        let files = self.tables().flat_map(|(_, table)| table.files.iter().map(|file| file.file.as_str()));
        let scripts = self.scripts().map(|script| script.file.as_str());
        match scripts.chain(files).find(|file| !names::is_inside(file)) {
            Some(file) => Err(Error::Outside { path: path.to_owned(), file: file.to_owned() }),
            None => Ok(()),
        }
    }

    /// The server's own schemas are never dumped: what is in them says who may do what.
    fn check_names(&self, path: &Path) -> Result<()> {
        match self.schemas.iter().find(|schema| is_system(&schema.name)) {
            Some(schema) => Err(foreign(path, &format!("schema {} is the server's own", schema.name))),
            None => Ok(()),
        }
    }

    /// Whether each script is as it was written, and creates what it is there for and nothing else.
    fn check_scripts(&self, store: &Store) -> Result<()> {
        let users = self.users.iter().flat_map(|users| [&users.file, &users.script]);
        users.into_iter().try_for_each(|script| check_script(store, script).map(drop))?;
        if !self.contents.has_definitions() {
            return Ok(());
        }
        for (creates, script) in self.schemas.iter().flat_map(Creates::all) {
            let text = check_script(store, script)?;
            let path = store.path(&script.file);
            if let Some(why) = creates.refusal(&script::parse(&path, &text)?) {
                return Err(foreign(&path, &why));
            }
        }
        Ok(())
    }

    fn check_sizes(&self, store: &Store) -> Result<()> {
        let files = || self.tables().filter(|_| !self.copied).flat_map(|(_, table)| &table.files);
        let sizes = store.sizes(files().map(|file| file.file.as_str()))?;
        for (file, size) in files().zip(sizes) {
            if size != file.stored_bytes {
                let path = store.path(&file.file);
                return Err(Error::ChangedSize { path, has: size, says: file.stored_bytes });
            }
        }
        Ok(())
    }
}

/// The error for what drover writes into no dump.
fn foreign(path: &Path, what: &str) -> Error {
    Error::Foreign { path: path.to_owned(), what: what.to_owned() }
}

/// Checks the manifest's text against the checksum in its second line.
fn check_text(path: &Path, text: &[u8]) -> Result<()> {
    let mut lines: Vec<_> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let line = if lines.len() > 1 { lines.remove(1) } else { &[] };
    let checksum = Digest::of(&lines.concat());
    let says = line.strip_prefix(CHECKSUM.as_bytes()).and_then(|rest| rest.strip_suffix(b"\",\n"));
    if says == Some(checksum.to_string().as_bytes()) {
        return Ok(());
    }
    let says = String::from_utf8_lossy(says.unwrap_or(b"nothing"));
    Err(Error::ChangedManifest { path: path.to_owned(), is: checksum, says: says.into_owned() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use drover_db::Server;

    use super::*;
    use crate::files::Compression;
    use crate::manifest::{Contents, Object, RowFormat, Snapshot, Table};

    const SCHEMA: &[u8] = b"CREATE DATABASE `s`;\n";
    const TABLE: &[u8] = b"CREATE TABLE `t` (a int);\n";

    fn manifest(file: &str) -> Manifest {
        let chunk = Chunk { file: file.into(), rows: 1, bytes: 2, stored_bytes: 2, ..Chunk::default() };
        let table = Table {
            name: "t".into(),
            script: Script::of("s/t.sql".into(), TABLE),
            engine: "InnoDB".into(),
            columns: vec![],
            generated: vec![],
            computed: vec![],
            rows_elsewhere: false,
            with_history: false,
            key: None,
            partitions: vec![],
            condition: None,
            masks: BTreeMap::new(),
            files: vec![chunk],
        };
        let schema = Schema {
            name: "s".into(),
            script: Script::of("s/@schema.sql".into(), SCHEMA),
            tables: vec![table],
            sequences: vec![],
            views: vec![],
            routines: vec![],
            triggers: vec![],
            events: vec![],
        };
        Manifest {
            format: FORMAT,
            drover: "0".into(),
            server: Server { vendor: drover_db::Vendor::MySql, version: "9".into(), comment: String::new() },
            settings: BTreeMap::new(),
            snapshot: Snapshot::default(),
            earlier_snapshots: vec![],
            started_at: String::new(),
            finished_at: String::new(),
            compression: Compression::None,
            row_format: RowFormat::Tsv,
            contents: Contents::All,
            copied: false,
            schemas: vec![schema],
            users: None,
            by_hand: None,
            warnings: vec![],
            target: None,
        }
    }

    fn dump(file: &str) -> (tempfile::TempDir, Manifest) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("s")).unwrap();
        for (name, text) in [("s/@schema.sql", SCHEMA), ("s/t.sql", TABLE), ("s/t.tsv", b"1\n")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let manifest = manifest(file);
        manifest.store(&Store::Directory(dir.path().to_owned())).unwrap();
        (dir, manifest)
    }

    #[test]
    fn it_comes_back() {
        let (dir, manifest) = dump("s/t.tsv");
        assert_eq!(Manifest::load(dir.path()).unwrap(), manifest);
    }

    #[test]
    fn a_cut_file_is_named() {
        let (dir, _) = dump("s/t.tsv");
        std::fs::write(dir.path().join("s/t.tsv"), "1").unwrap();
        let error = Manifest::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("s/t.tsv: the file has 1 bytes, the manifest says 2"), "{error}");
    }

    #[test]
    fn any_change_of_the_manifest_itself_is_seen() {
        let (dir, manifest) = dump("s/t.tsv");
        let path = dir.path().join(FILE_NAME);
        let text = manifest.to_text().unwrap();
        for at in 0..text.len() {
            let mut flipped = text.clone();
            flipped[at] ^= 1;
            std::fs::write(&path, flipped).unwrap();
            assert!(Manifest::load(dir.path()).is_err(), "byte {at}");
        }
    }

    #[test]
    fn more_rows_than_there_can_be_are_refused() {
        let (dir, mut manifest) = dump("s/t.tsv");
        manifest.schemas[0].tables[0].files[0].rows = u64::MAX;
        manifest.store(&Store::Directory(dir.path().to_owned())).unwrap();
        let error = Manifest::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("more rows or bytes"), "{error}");
    }

    #[test]
    fn a_changed_script_is_named() {
        let (dir, _) = dump("s/t.tsv");
        std::fs::write(dir.path().join("s/t.sql"), "2\n").unwrap();
        let error = Manifest::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("s/t.sql: the script was changed"), "{error}");
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        for file in ["../t.tsv", "/etc/passwd", "s/../../t.tsv", ""] {
            let (dir, _) = dump(file);
            let error = Manifest::load(dir.path()).unwrap_err().to_string();
            assert!(error.contains("outside of the dump"), "{file}: {error}");
        }
    }

    /// With another checksum a changed manifest is whole: it may still not say everything.
    #[test]
    fn what_drover_does_not_write_is_refused() {
        let refused = |change: fn(&mut Manifest)| {
            let (dir, mut manifest) = dump("s/t.tsv");
            change(&mut manifest);
            manifest.store(&Store::Directory(dir.path().to_owned())).unwrap();
            let error = Manifest::load(dir.path()).unwrap_err().to_string();
            assert!(error.contains("not written by drover"), "{error}");
        };
        refused(|manifest| manifest.schemas[0].name = "MySQL".into());
        refused(|manifest| manifest.schemas[0].tables[0].files[0].up_to = Some(vec!["f()".into()]));
        refused(|manifest| {
            manifest.schemas[0].tables[0].condition = Some("1) INTO OUTFILE '/tmp/x' -- (".into())
        });
        refused(|manifest| {
            let read = Some("LOAD_FILE('/etc/passwd')".into());
            manifest.schemas[0].tables[0].columns = vec![Column { name: "a".into(), read, load: None }];
        });
        refused(|manifest| {
            let script = Script::of("s/t.sql".into(), TABLE);
            let (kind, name) = ("TABLE x; DROP TABLE".into(), "t".into());
            manifest.schemas[0].views = vec![Object { kind, name, script, broken: false, catalogue: None }];
        });
        let (dir, mut manifest) = dump("s/t.tsv");
        let script = b"CREATE TABLE `t` (a int);\nDROP TABLE other.t;\n";
        std::fs::write(dir.path().join("s/t.sql"), script).unwrap();
        manifest.schemas[0].tables[0].script = Script::of("s/t.sql".into(), script);
        manifest.store(&Store::Directory(dir.path().to_owned())).unwrap();
        let error = Manifest::load(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("s/t.sql: not written by drover") && error.contains("DROP TABLE other.t"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_file_in_the_dump_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("t.tsv"), "1\n").unwrap();
        let (dir, _) = dump("s/t.tsv");
        let file = dir.path().join("s/t.tsv");
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(outside.path().join("t.tsv"), &file).unwrap();
        let error = Manifest::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("s/t.tsv") && error.contains("leads out"), "{error}");
        // A link that stays in the dump is none of these.
        std::fs::write(dir.path().join("s/elsewhere"), "1\n").unwrap();
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("elsewhere", &file).unwrap();
        assert!(Manifest::load(dir.path()).is_ok());
        // Nobody would ever write into it.
        std::fs::remove_file(dir.path().join("s/t.sql")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(dir.path().join("s/t.sql")).status().unwrap();
        assert!(made.success());
        let error = Manifest::load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("s/t.sql") && error.contains("no regular file"), "{error}");
    }

    #[test]
    fn an_unfinished_dump_is_called_so() {
        let (dir, _) = dump("s/t.tsv");
        std::fs::remove_file(dir.path().join(FILE_NAME)).unwrap();
        assert!(Manifest::load(dir.path()).unwrap_err().to_string().contains("never finished"));
        std::fs::write(dir.path().join(FILE_NAME), "{\"format\": 99}").unwrap();
        assert!(Manifest::load(dir.path()).unwrap_err().to_string().contains("newer format"));
        std::fs::write(dir.path().join(FILE_NAME), "{\"format\": 1").unwrap();
        assert!(Manifest::load(dir.path()).unwrap_err().to_string().contains("not a manifest"));
    }
}
