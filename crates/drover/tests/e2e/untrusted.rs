//! A dump of drover's own that somebody changed, with checksums that fit: it has a server run nothing that drover does not
//! write, neither in a restore nor in a verification.

use std::fs;
use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};
use serde_json::{Value, json};

use crate::client::{sql, value};
use crate::drover::{dump, restore, run, verify};
use crate::files::{change_manifest, files_in};
use crate::servers::{on_both, source, target};

on_both!(
    scripts,
    scripts_in_disguise,
    sql_in_the_manifest,
    links_and_pipes,
    more_than_the_manifest_says,
    files_that_are_too_large
);

fn make(server: &Server, schema: &str) {
    let create = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE t (id INT PRIMARY KEY, f FLOAT, e ENUM('a', 'b'), j JSON, v VARCHAR(20) CHARACTER SET latin1);
         INSERT INTO t VALUES (1, 0.1, 'a', '[1]', 'x'), (2, NULL, 'b', NULL, '');
         CREATE VIEW v AS SELECT id FROM t; CREATE PROCEDURE p() SELECT 1; CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1;
         CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.id = 1; CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1"
    );
    sql(server, create);
}

/// The target's own, and nothing of the dump.
fn assert_unchanged(server: &Server, own: &str, schema: &str) {
    assert_eq!(value(server, format!("SELECT GROUP_CONCAT(id) FROM {own}.t")), "7");
    let there = format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{schema}'");
    assert_eq!(value(server, there), "0");
}

/// Changes each mention of a script's checksum.
fn replace_checksum(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::String(text) if text == old => *text = new.to_owned(),
        Value::Array(list) => list.iter_mut().for_each(|item| replace_checksum(item, old, new)),
        Value::Object(map) => map.values_mut().for_each(|item| replace_checksum(item, old, new)),
        _ => {}
    }
}

/// Writes a script anew, and its checksum into the manifest.
fn change_script(dir: &Path, file: &Path, text: &str) {
    let checksum = |text: &[u8]| format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text));
    let old = checksum(&fs::read(file).unwrap());
    fs::write(file, text).unwrap();
    change_manifest(dir, |manifest| replace_checksum(manifest, &old, &checksum(text.as_bytes())));
}

fn scripts(flavour: Flavour) {
    let (server, target, schema, own) = (source(flavour), target(flavour), "un_scripts", "un_scripts_own");
    make(server, schema);
    sql(
        target,
        format!("CREATE DATABASE {own}; CREATE TABLE {own}.t (id INT); INSERT INTO {own}.t VALUES (7)"),
    );
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(server, schema, &out)).done();
    let scripts: Vec<_> =
        files_in(&out).into_iter().filter(|path| path.extension().is_some_and(|end| end == "sql")).collect();
    assert!(scripts.len() >= 7, "{scripts:?}");
    for script in &scripts {
        let name = script.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(script).unwrap();
        // A delimiter of its own is at the script's beginning and end.
        let delimiter =
            text.lines().find_map(|line| line.strip_prefix("DELIMITER ")).unwrap_or(";").to_owned();
        let end = text.rfind("DELIMITER ;").unwrap_or(text.len());
        for statement in [
            format!("DELETE FROM {own}.t"),
            format!("DROP TABLE {own}.t"),
            "SET GLOBAL max_connections = 400".into(),
        ] {
            let changed = format!("{}{statement}{delimiter}\n{}", &text[..end], &text[end..]);
            change_script(&out, script, &changed);
            for options in ["", "--drop-existing", "--check"] {
                run(&mut restore(target, &out, options)).refused(&[&name, "not written by drover"]);
            }
            run(&mut verify(target, &out, "")).refused(&[&name, "not written by drover"]);
            assert_unchanged(target, own, schema);
        }
        change_script(&out, script, &text);
    }
    run(&mut restore(target, &out, "")).done();
    run(&mut verify(target, &out, "")).done();
    [server, target].into_iter().for_each(|server| drop(sql(server, format!("DROP DATABASE {schema}"))));
    sql(target, format!("DROP DATABASE {own}"));
}

/// Scripts that create what the manifest names only at first sight.
fn scripts_in_disguise(flavour: Flavour) {
    let (server, target, schema, own) = (source(flavour), target(flavour), "un_guise", "un_guise_own");
    make(server, schema);
    sql(
        target,
        format!(
            "CREATE DATABASE {own}; CREATE TABLE {own}.t (id INT) ENGINE=MyISAM; INSERT INTO {own}.t VALUES (7);
             CREATE PROCEDURE {own}.p() SELECT 'own'"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(server, schema, &out)).done();
    let connections = value(target, "SELECT @@GLOBAL.max_connections");
    for (file, text) in [
        ("t.sql", "CREATE OR REPLACE TABLE `T` (id INT);\n".to_owned()),
        ("t.sql", "CREATE OR REPLACE TABLE `t` (id INT);\n".to_owned()),
        ("t.sql", "CREATE TABLE `UN_GUISE`.`t` (id INT);\n".to_owned()),
        ("t.sql", format!("CREATE TABLE t (id INT) ENGINE=MRG_MyISAM UNION=({own}.t) INSERT_METHOD=LAST;\n")),
        ("v.view.sql", format!("CREATE OR REPLACE DEFINER=view PROCEDURE {own}.p() SELECT 'other';\n")),
        ("v.view.sql", format!("CREATE --\x7f VIEW v AS SELECT 1\n OR REPLACE TABLE {own}.t (a INT);\n")),
        (
            "v.view.sql",
            "SET @a = 1 --\x7f + (1\n , GLOBAL max_connections = 66;\nCREATE VIEW v AS SELECT 1;\n".into(),
        ),
        (
            "v.view.sql",
            "SET sql_mode = '';\nSET @@sql_mode = 'ANSI_QUOTES';\nCREATE VIEW v AS SELECT 1;\n".into(),
        ),
        ("tr.trigger.sql", format!("CREATE TRIGGER tr BEFORE INSERT ON {own}.t FOR EACH ROW SET @a = 1;\n")),
    ] {
        let script = files_in(&out).into_iter().find(|path| path.ends_with(file)).expect(file);
        let whole = fs::read_to_string(&script).unwrap();
        change_script(&out, &script, &text);
        for options in ["", "--drop-existing", "--check", "--check --into un_guise=un_guise_new"] {
            run(&mut restore(target, &out, options)).refused(&[file, "not written by drover"]);
        }
        run(&mut verify(target, &out, "")).refused(&[file, "not written by drover"]);
        assert_unchanged(target, own, schema);
        assert_eq!(value(target, "SELECT @@GLOBAL.max_connections"), connections, "{text}");
        let body = "SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'un_guise_own'";
        assert_eq!(value(target, body), "SELECT 'own'");
        change_script(&out, &script, &whole);
    }
    run(&mut restore(target, &out, "")).done();
    [server, target].into_iter().for_each(|server| drop(sql(server, format!("DROP DATABASE {schema}"))));
    sql(target, format!("DROP DATABASE {own}"));
}

fn sql_in_the_manifest(flavour: Flavour) {
    let (server, target, schema, own) = (source(flavour), target(flavour), "un_sql", "un_sql_own");
    make(server, schema);
    sql(
        target,
        format!("CREATE DATABASE {own}; CREATE TABLE {own}.t (id INT); INSERT INTO {own}.t VALUES (7)"),
    );
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(server, schema, &out)).done();
    let whole = fs::read(out.join("manifest.json")).unwrap();
    let table = |manifest: &mut Value| manifest["schemas"][0]["tables"][0].take();
    let file = tempfile::tempdir().unwrap();
    let written = file.path().join("written");
    let into = format!("1) INTO OUTFILE '{}' -- (", written.display());
    let changes: [(&str, Value); 4] = [
        ("/schemas/0/tables/0/files/0/up_to", json!([into])),
        ("/schemas/0/tables/0/columns/0/read", json!("LOAD_FILE('/etc/passwd')")),
        ("/schemas/0/tables/0/columns/0/load", json!("SLEEP(1)")),
        ("/schemas/0/tables/0/condition", json!(into)),
    ];
    for (pointer, value) in changes {
        change_manifest(&out, |manifest| {
            let (place, name) = pointer.rsplit_once('/').unwrap();
            manifest.pointer_mut(place).unwrap()[name] = value;
        });
        run(&mut restore(target, &out, "")).refused(&["manifest.json", "not written by drover"]);
        for server in [server, target] {
            run(&mut verify(server, &out, "")).refused(&["manifest.json", "not written by drover"]);
            run(&mut verify(server, &out, "--source")).refused(&["manifest.json", "not written by drover"]);
        }
        assert!(!written.exists());
        assert_unchanged(target, own, schema);
        fs::write(out.join("manifest.json"), &whole).unwrap();
    }
    // The server's own schemas.
    for name in ["mysql", "sys", "MySQL"] {
        change_manifest(&out, |manifest| manifest["schemas"][0]["name"] = json!(name));
        run(&mut restore(target, &out, "--drop-existing")).refused(&["manifest.json", "the server's own"]);
        fs::write(out.join("manifest.json"), &whole).unwrap();
    }
    let mut manifest: Value = serde_json::from_slice(&whole).unwrap();
    assert!(
        table(&mut manifest)["columns"].to_string().contains("read"),
        "some columns are read by an expression"
    );
    run(&mut restore(target, &out, "")).done();
    [server, target].into_iter().for_each(|server| drop(sql(server, format!("DROP DATABASE {schema}"))));
    sql(target, format!("DROP DATABASE {own}"));
}

fn links_and_pipes(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "un_links");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(server, schema, &out)).done();
    for file in files_in(&out).into_iter().filter(|file| file.parent() != Some(&out)) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let moved = dir.path().join("elsewhere");
        fs::rename(&file, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &file).unwrap();
        run(&mut restore(target, &out, "")).refused(&[&name, "leads out"]);
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(made.success());
        run(&mut restore(target, &out, "")).refused(&[&name, "no regular file"]);
        fs::remove_file(&file).unwrap();
        fs::rename(&moved, &file).unwrap();
    }
    // The directory itself may be a link.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&out, &link).unwrap();
    run(&mut restore(target, &link, "")).done();
    [server, target].into_iter().for_each(|server| drop(sql(server, format!("DROP DATABASE {schema}"))));
}

/// Packed, a file of rows may give any amount of text.
fn more_than_the_manifest_says(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "un_more");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(server, schema, &out)).done();
    let rows = files_in(&out).into_iter().find(|file| file.to_string_lossy().contains(".tsv")).unwrap();
    let bomb = "3\t1\ta\t\\N\tx\n".repeat(1_000_000);
    let packed =
        crate::client::feed(std::process::Command::new("zstd").args(["-q", "-c"]), bomb.as_bytes()).stdout;
    fs::write(&rows, &packed).unwrap();
    let checksum = format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&packed));
    change_manifest(&out, |manifest| {
        let file = &mut manifest["schemas"][0]["tables"][0]["files"][0];
        (file["checksum"], file["stored_bytes"]) = (json!(checksum), json!(packed.len()));
    });
    let name = rows.file_name().unwrap().to_string_lossy().into_owned();
    run(&mut restore(target, &out, "")).refused(&[&name, "it holds more than"]);
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.t")), "0");
    [server, target].into_iter().for_each(|server| drop(sql(server, format!("DROP DATABASE {schema}"))));
}

/// What is held in memory as a whole has a limit; nothing of a larger file is read.
fn files_that_are_too_large(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "un_large");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(server, schema, &out)).done();
    for name in ["un_large/t.sql", "manifest.json"] {
        let file = out.join(name);
        let whole = fs::read(&file).unwrap();
        fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(600 << 20).unwrap();
        for command in [restore(target, &out, ""), restore(target, &out, "--check"), verify(server, &out, "")]
        {
            run(&mut limited(&command)).refused(&[name, "larger than 512 MiB"]);
        }
        fs::write(&file, whole).unwrap();
    }
    sql(server, format!("DROP DATABASE {schema}"));
}

/// The same with less memory than such a file takes.
fn limited(command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 500000; exec \"$@\"", "sh"]).arg(command.get_program());
    limited.args(command.get_args());
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
}
