//! What is refused before anything is done.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use drover_sandbox::{Flavour, Server};

use crate::client::sql;
use crate::compare;
use crate::drover::{drover, dump, restore, run};
use crate::servers::{on_both, source, target};

on_both!(
    target_has_it_already,
    unknown_names,
    unreadable_tables,
    out_directory_in_use,
    out_directory_of_all,
    into_nonsense
);

fn two_tables(server: &Server, schema: &str) {
    sql(
        server,
        format!(
            "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema}; CREATE TABLE a (id INT PRIMARY KEY); \
             INSERT INTO a VALUES (1); CREATE TABLE b (id INT PRIMARY KEY); CREATE VIEW v AS SELECT id FROM a"
        ),
    );
}

fn target_has_it_already(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    two_tables(source(flavour), "there_already");
    run(&mut dump(source(flavour), "there_already", dir.path())).done();
    let target = target(flavour);
    for (make, culprit) in [
        ("CREATE TABLE b (other INT); INSERT INTO b VALUES (7), (8)", "`b`"),
        ("CREATE VIEW v AS SELECT 5 AS five", "`v`"),
        ("CREATE TABLE v (is_a_table INT)", "`v`"),
        ("CREATE VIEW a AS SELECT 5 AS five", "`a`"),
    ] {
        sql(
            target,
            format!(
                "DROP DATABASE IF EXISTS there_already; CREATE DATABASE there_already; USE there_already; {make}"
            ),
        );
        let before = compare::everything(target, "there_already");
        run(&mut restore(target, dir.path(), "")).refused(&["already has", culprit, "hint: --drop-existing"]);
        compare::assert_same(&before, &compare::everything(target, "there_already"));
    }
}

fn unknown_names(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    two_tables(server, "unknown_names");
    let out = dir.path().join("out");
    for what in [
        "no_such_schema",
        "unknown_names.nothing",
        "unknown_names.A",
        "nowhere.a",
        "unknown_names.a.b",
        "UNKNOWN_NAMES",
    ] {
        run(&mut dump(server, what, &out)).refused(&[&format!("'{what}'")]);
        assert!(!out.exists());
    }
    for system in ["mysql", "information_schema.TABLES", "performance_schema", "sys"] {
        let schema = system.split('.').next().unwrap();
        run(&mut dump(server, system, &out)).refused(&[schema]);
    }
    run(&mut dump(server, "unknown_names --include nothing.*", &out)).refused(&["nothing to dump"]);
    run(&mut dump(server, "unknown_names --include [", &out)).refused(&["'['"]);
    assert!(!out.exists());
}

/// Tables that are listed, but that the server cannot open.
fn unreadable_tables(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    two_tables(server, "unreadable");
    sql(
        server,
        "USE unreadable; CREATE TABLE part (id INT) ENGINE = MyISAM;
         CREATE TABLE broken (id INT) ENGINE = MERGE UNION = (part); DROP TABLE part",
    );
    run(&mut dump(server, "unreadable", &dir.path().join("merge"))).refused(&["`unreadable`.`broken`"]);
    sql(server, "USE unreadable; DROP TABLE broken; CREATE TABLE gone (id INT) ENGINE = MyISAM");
    fs::remove_file(server.datadir().join("unreadable/gone.MYI")).unwrap();
    // Whoever has it open could still read it.
    sql(server, "FLUSH TABLES");
    run(&mut dump(server, "unreadable", &dir.path().join("myisam"))).refused(&["gone"]);
    sql(server, "SET sql_log_bin = 0; DROP DATABASE unreadable");
}

fn out_directory_in_use(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    two_tables(server, "out_directory");
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("something"), "mine").unwrap();
    run(&mut dump(server, "out_directory", &out)).refused(&["not empty", &out.display().to_string()]);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);

    let file = out.join("something");
    run(&mut dump(server, "out_directory", &file)).refused(&[&file.display().to_string()]);
    run(&mut dump(server, "out_directory", &file.join("below"))).refused(&["something/below"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");

    let there = dir.path().join("there");
    run(&mut dump(server, "out_directory", &there)).done();
    let mode = fs::metadata(&there).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "others may look into the dump");
    let before = fs::read(there.join("manifest.json")).unwrap();
    run(&mut dump(server, "out_directory", &there)).refused(&["there is a dump in this directory already"]);
    assert_eq!(fs::read(there.join("manifest.json")).unwrap(), before);
    run(&mut drover("dump out_directory")).refused(&["--out"]);
}

/// Nobody else may read a dump, also where others may enter the directory that it was told to take.
fn out_directory_of_all(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    two_tables(server, "open_directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    run(&mut dump(server, "open_directory", dir.path())).done();
    let (mut folders, mut files) = (vec![dir.path().to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            let is_folder = entry.file_type().unwrap().is_dir();
            assert_eq!(mode, if is_folder { 0o700 } else { 0o600 }, "{}", entry.path().display());
            if is_folder { folders.push(entry.path()) } else { files += 1 }
        }
    }
    assert!(files > 4, "{files}");
}

fn into_nonsense(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    two_tables(source(flavour), "nonsense_a");
    two_tables(source(flavour), "nonsense_b");
    run(&mut dump(source(flavour), "nonsense_a nonsense_b", dir.path())).done();
    let restored = |options: &str| run(&mut restore(target(flavour), dir.path(), options));
    restored("--into other=new").refused(&["'other'"]);
    restored("--into nonsense_a=same --into nonsense_b=same").refused(&["`same`"]);
    restored("--into nonsense_a=nonsense_b").refused(&["`nonsense_b`"]);
    restored("--into nonsense_a").refused(&["OLD=NEW"]);
}
