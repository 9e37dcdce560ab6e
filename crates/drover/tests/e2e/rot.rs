//! Dumps whose files are no longer as they were written: each such file is found and named, with a server and without one.

use std::fs;
use std::path::PathBuf;

use drover_sandbox::Flavour;

use crate::client::sql;
use crate::drover::{drover, dump, run, verify};
use crate::files::files_in;
use crate::servers::{on_both, source};

on_both!(a_rotten_dump);

fn a_rotten_dump(flavour: Flavour) {
    let server = source(flavour);
    let rows = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3";
    sql(
        server,
        format!(
            "CREATE DATABASE rot; USE rot; CREATE TABLE t (id INT PRIMARY KEY, v TEXT); \
             INSERT INTO t SELECT a.`1`, REPEAT('x', 900) FROM ({rows}) a; \
             CREATE VIEW v AS SELECT id FROM t; CREATE TABLE bare (id INT PRIMARY KEY)"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    for format in ["tsv --compress none", "tsv --compress zstd", "sql --compress gzip", "csv"] {
        let out = dir.path().join(format.replace(' ', "-"));
        run(&mut dump(server, &format!("rot --users --format {format}"), &out)).done();
        let alone = || run(drover("verify --no-server").arg(&out));
        run(&mut verify(server, &out, "")).done();
        let said = alone().done();
        assert!(said.stdout.contains("as written: "), "{said}");
        // Scripts that only help to run the others by hand are not in the manifest.
        let manifest = fs::read_to_string(out.join("manifest.json")).unwrap();
        let is_named = |file: &PathBuf| {
            let name = file.strip_prefix(&out).unwrap().display().to_string();
            manifest.contains(&format!("\"{name}\""))
        };
        let files: Vec<_> = files_in(&out).into_iter().filter(is_named).collect();
        assert!(files.len() > 4, "{files:?}");
        let by_hand = files.contains(&out.join("restore.sh"));
        assert_eq!(by_hand, format.starts_with("sql"), "{files:?}");
        for file in &files {
            let name = file.strip_prefix(&out).unwrap().display().to_string();
            let whole = fs::read(file).unwrap();
            if whole.is_empty() {
                continue;
            }
            for at in [whole.len() / 2, whole.len() - 1] {
                let mut rotten = whole.clone();
                rotten[at] ^= 4;
                fs::write(file, rotten).unwrap();
                alone().found(&[&name]);
            }
            fs::write(file, &whole[..whole.len() - 1]).unwrap();
            alone().found(&[&name]);
            fs::remove_file(file).unwrap();
            alone().found(&[&name, "cannot be read"]);
            fs::write(file, whole).unwrap();
        }
        alone().done();
        if format != "sql --compress gzip" {
            let holds_rows = |file: &&PathBuf| {
                let is_script = file.extension().is_some_and(|kind| kind == "sql" || kind == "json");
                !is_script && fs::metadata(file).unwrap().len() > 0
            };
            let rows = files.iter().find(holds_rows).unwrap();
            let mut rotten = fs::read(rows).unwrap();
            let at = rotten.len() - 2;
            rotten[at] ^= 1;
            fs::write(rows, rotten).unwrap();
            run(&mut verify(server, &out, "")).found(&["the file is damaged"]);
            run(&mut verify(server, &out, "--no-files")).done();
        }
    }
    sql(server, "DROP DATABASE rot");
}
