//! What can be asked of a copy, and what it says.

use drover_sandbox::Flavour;

use super::{assert_finished, assert_same_rows, make};
use crate::client::{sql, value};
use crate::drover::{copy, drover, run, verify};
use crate::servers::{on_both, source, target};

on_both!(json, parts_of_it, rows_only, onto_itself, accounts, nothing_to_copy);

fn json(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_json", 1000);
    let output = run(copy(source, target, "cp_json", dir.path()).arg("--json")).done();
    let json = output.json();
    for (field, expected) in [("schemas", 1), ("tables", 6), ("rows", 4003), ("sent_again", 0)] {
        assert_eq!(json[field].as_u64(), Some(expected), "{field}: {output}");
    }
    for field in ["from", "server", "snapshot", "verify", "state", "threads", "load_seconds", "rewrites"] {
        assert!(!json[field].is_null(), "{field}: {output}");
    }
    assert_finished(dir.path());
}

fn parts_of_it(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_parts", 1000);
    let rules = dir.path().join("rules.toml");
    std::fs::write(&rules, "[[rule]]\ntable = \"cp_parts.myisam\"\ncolumn = \"v\"\nmask = \"null\"\n")
        .unwrap();
    let state = dir.path().join("state");
    let mut copy = copy(source, target, "cp_parts --exclude parts --no-verify", &state);
    let copy = copy.args(["--where", "cp_parts.keyed:id <= 70"]).arg("--mask").arg(&rules);
    run(copy).done();
    let count = |what: &str| value(target, format!("SELECT COUNT(*) FROM cp_parts.{what}"));
    assert_eq!([count("keyed"), count("keyless"), count("myisam WHERE v IS NULL")], ["10", "1000", "1000"]);
    run(&mut verify(target, &state, "")).done();
    let there = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'cp_parts' AND TABLE_NAME = 'parts'";
    assert_eq!(value(target, there), "0");
}

/// Definitions first, rows later: into tables that are there, empty, and of another engine.
fn rows_only(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_rows", 3000);
    let copied = |state: &str, options: &str| {
        run(&mut copy(
            source,
            target,
            &format!("cp_rows --chunk-size 64k {options}"),
            &dir.path().join(state),
        ))
    };
    let output = copied("definitions", "--no-data").done();
    assert!(output.stdout.contains("rows not compared"), "{output}");
    sql(
        target,
        "USE cp_rows; DROP TRIGGER tr; ALTER TABLE keyed DROP FOREIGN KEY to_parent; ALTER TABLE keyed ENGINE = MyISAM",
    );
    sql(target, "INSERT INTO cp_rows.parent VALUES (9)");
    copied("rows", "--no-schema").refused(&["`cp_rows`.`parent`", "holds rows already"]);
    sql(target, "DELETE FROM cp_rows.parent");
    copied("rows", "--no-schema --resume").done();
    let rows = |server| crate::compare::rows(server, "cp_rows");
    crate::compare::assert_same(&rows(source), &rows(target));
}

/// A schema is never copied onto itself, whatever the addresses look like.
fn onto_itself(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    make(server, "cp_self", 1000);
    // Others dump from this server, and their locks would wait for that of this table.
    sql(server, "ALTER TABLE cp_self.myisam ENGINE = InnoDB");
    let state = dir.path().join("state");
    run(&mut copy(server, server, "cp_self --drop-existing", &state)).refused(&["same server", "'cp_self'"]);
    sql(server, "CREATE USER cp_tcp IDENTIFIED BY 'not-shown'; GRANT ALL ON *.* TO cp_tcp");
    let tcp = format!("mysql://cp_tcp:not-shown@127.0.0.1:{}/", server.port());
    let socket = format!("mysql://root@/?socket={}", server.socket().display());
    let mut by_address = drover("copy --no-defaults cp_self --drop-existing");
    by_address.args(["--from", &socket, "--to", &tcp, "--state"]).arg(&state);
    run(&mut by_address).refused(&["same server", "'cp_self'"]);
    run(&mut copy(server, server, "cp_self --into cp_self=cp_self_2", &state)).done();
    assert_same_rows(server, server, "cp_self", "cp_self_2");
    assert_eq!(value(server, "SELECT COUNT(*) FROM cp_self_2.all_keyed"), "1000");
    sql(server, "DROP DATABASE cp_self_2; DROP USER cp_tcp");
}

fn accounts(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_accounts", 10);
    sql(
        source,
        "CREATE USER cp_ann@localhost IDENTIFIED BY 'not-shown'; GRANT SELECT ON cp_accounts.* TO cp_ann@localhost",
    );
    let output = run(&mut copy(source, target, "cp_accounts --users --drop-existing", dir.path()));
    assert!(matches!(output.code, Some(0 | 1)), "{output}");
    assert!(!format!("{output}").contains("not-shown"));
    let grants = value(target, "SHOW GRANTS FOR cp_ann@localhost");
    assert!(grants.contains("cp_ann"), "{grants}");
    for server in [source, target] {
        sql(server, "DROP USER cp_ann@localhost");
    }
}

fn nothing_to_copy(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    run(&mut copy(source, target, "cp_no_such", dir.path())).refused(&["'cp_no_such'"]);
    let url = format!("mysql://root@/mysql?socket={}", source.socket().display());
    let mut named = drover("copy --no-defaults");
    run(named.args(["--from", &url, "--to", &url])).refused(&["with the schema 'mysql'", "--into"]);
    let secret = "mysql://root:not-shown@/?socket=/nonexistent/s";
    let mut nowhere = drover("copy --no-defaults");
    let output = run(nowhere.args(["--from", secret, "--to", secret]).env("HOME", dir.path()));
    let output = output.refused(&["cannot connect"]);
    assert!(!format!("{}{}", output.stdout, output.stderr).contains("not-shown"));
}
