//! Dumps that are not what they were when they were written: restore must not take them.

use std::fs;
use std::path::{Path, PathBuf};

use drover_sandbox::Flavour;

use crate::client::{sql, value};
use crate::drover::{Output, dump, restore, run};
use crate::files::{files_in, manifest_path, row_files};
use crate::servers::{on_both, source, target};

on_both!(bytes_flipped, files_cut, files_gone, scripts_damaged, no_dump_at_all);

/// A dump of one table of 500 rows; `schema` is not on the target.
fn small_dump(flavour: Flavour, schema: &str, options: &str) -> (tempfile::TempDir, PathBuf) {
    let server = source(flavour);
    sql(
        server,
        format!(
            "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema};
             CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(80) NOT NULL, n INT NOT NULL);
             INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 500)
               SELECT n, CONCAT(SHA2(n, 256), ' row'), n * 7 FROM s"
        ),
    );
    sql(target(flavour), format!("DROP DATABASE IF EXISTS {schema}"));
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(server, &format!("{schema} {options}"), dir.path())).done();
    let rows = row_files(dir.path()).remove(0);
    (dir, rows)
}

fn restored(flavour: Flavour, dir: &Path) -> Output {
    run(&mut restore(target(flavour), dir, "--drop-existing"))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn is_there(flavour: Flavour, schema: &str) -> bool {
    let count = format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{schema}'");
    value(target(flavour), count) == "1"
}

fn bytes_flipped(flavour: Flavour) {
    for compress in ["none", "zstd", "gzip", "lz4"] {
        let schema = format!("flipped_{compress}");
        let (dir, file) = small_dump(flavour, &schema, &format!("--compress {compress}"));
        let whole = fs::read(&file).unwrap();
        for at in [0, 7, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x04;
            fs::write(&file, damaged).unwrap();
            let output = restored(flavour, dir.path());
            assert_eq!(output.code, Some(2), "byte {at} of {}: {output}", whole.len());
            output.refused(&[&name_of(&file)]);
            let rows = value(target(flavour), format!("SELECT COUNT(*) FROM {schema}.t"));
            assert_eq!(rows, "0", "rows of a damaged file were kept: {}, byte {at}", file.display());
        }
        fs::write(&file, whole).unwrap();
        restored(flavour, dir.path()).done();
    }
}

/// Known before anything is changed.
fn files_cut(flavour: Flavour) {
    let (dir, file) = small_dump(flavour, "files_cut", "");
    let whole = fs::read(&file).unwrap();
    let longer = [&whole[..], b"\n"].concat();
    for content in [&whole[..whole.len() - 1], &whole[..whole.len() / 2], &[], &longer] {
        fs::write(&file, content).unwrap();
        restored(flavour, dir.path()).refused(&[&name_of(&file), &content.len().to_string()]);
        assert!(!is_there(flavour, "files_cut"), "the target was changed");
    }
    fs::write(&file, whole).unwrap();
    restored(flavour, dir.path()).done();
}

fn files_gone(flavour: Flavour) {
    let (dir, _) = small_dump(flavour, "files_gone", "");
    for file in files_in(dir.path()) {
        let aside = file.with_extension("aside");
        fs::rename(&file, &aside).unwrap();
        restored(flavour, dir.path()).refused(&[&name_of(&file)]);
        assert!(
            !is_there(flavour, "files_gone"),
            "the target was changed though {} is missing",
            file.display()
        );
        fs::rename(&aside, &file).unwrap();
    }
    restored(flavour, dir.path()).done();
}

fn scripts_damaged(flavour: Flavour) {
    let (dir, _) = small_dump(flavour, "scripts_damaged", "");
    for script in
        files_in(dir.path()).into_iter().filter(|file| file.extension().is_some_and(|end| end == "sql"))
    {
        let whole = fs::read(&script).unwrap();
        let mut flipped = whole.clone();
        let quote = whole.iter().position(|&byte| byte == b'`').unwrap();
        flipped[quote + 1] ^= 1; // still SQL, of another name
        for damaged in [&whole[..whole.len() - 10], &flipped] {
            fs::write(&script, damaged).unwrap();
            restored(flavour, dir.path()).refused(&[&name_of(&script)]);
            assert!(!is_there(flavour, "scripts_damaged"), "the target was changed: {}", script.display());
        }
        fs::write(&script, whole).unwrap();
    }
    restored(flavour, dir.path()).done();
}

fn no_dump_at_all(flavour: Flavour) {
    let (dir, _) = small_dump(flavour, "no_manifest", "");
    let manifest = manifest_path(dir.path());
    let whole = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    restored(flavour, dir.path()).refused(&["never finished", &dir.path().display().to_string()]);
    fs::write(&manifest, &whole[..whole.len() / 2]).unwrap();
    restored(flavour, dir.path()).refused(&["manifest.json"]);
    fs::write(&manifest, "").unwrap();
    restored(flavour, dir.path()).refused(&["manifest.json"]);
    let other = String::from_utf8(whole).unwrap().replace("\"rows\": ", "\"rows\": 1");
    fs::write(&manifest, other).unwrap();
    restored(flavour, dir.path()).refused(&["manifest.json", "changed after the dump"]);

    let nothing = dir.path().join("nothing");
    restored(flavour, &nothing).refused(&["nothing"]);
    fs::create_dir(&nothing).unwrap();
    restored(flavour, &nothing).refused(&["nothing"]);
    assert!(!is_there(flavour, "no_manifest"), "the target was changed");
}
