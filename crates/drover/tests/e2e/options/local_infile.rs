//! The one global setting that a restore may change, and puts back. The servers here refuse files from their clients.

use std::fs;

use drover_sandbox::{Flavour, Server};

use crate::big::big_dump;
use crate::client::{sql, value, wait_until};
use crate::drover::{Running, dump, restore, run};
use crate::files::{manifest, row_files};
use crate::servers::{on_both, start};

on_both!(switched_on_and_back);

fn is_off(server: &Server) -> bool {
    value(server, "SELECT @@GLOBAL.local_infile") == "0"
}

fn switched_on_and_back(flavour: Flavour) {
    let (server, dir) = (start(flavour, &["--local-infile=0"]), tempfile::tempdir().unwrap());
    sql(
        &server,
        "CREATE DATABASE one; CREATE TABLE one.t (id INT PRIMARY KEY); INSERT INTO one.t VALUES (1); CREATE DATABASE two",
    );
    let schemas = |dir| {
        manifest(dir)["schemas"]
            .as_array()
            .unwrap()
            .iter()
            .map(|schema| schema["name"].clone())
            .collect::<Vec<_>>()
    };
    run(&mut dump(&server, "", dir.path())).done();
    assert_eq!(
        schemas(dir.path()),
        ["one", "two"],
        "without names all schemas are dumped but the server's own"
    );
    let restored = |options: &str| run(&mut restore(&server, dir.path(), options));

    restored("--into one=new --into two=new2").refused(&["local_infile", "hint: --enable-local-infile"]);
    assert_eq!(
        value(&server, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'new%'"),
        "0"
    );

    restored("--enable-local-infile --into one=new --into two=new2").done();
    assert!(is_off(&server));

    let file = row_files(dir.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, [&whole[..1], &[whole[1] ^ 1], &whole[2..]].concat()).unwrap();
    restored("--enable-local-infile --drop-existing").refused(&["one/t.00001"]);
    assert!(is_off(&server), "it is still on after a restore that failed");
    fs::write(&file, whole).unwrap();

    // An account that may not change the setting.
    sql(
        &server,
        "CREATE USER poor@localhost; GRANT ALL ON one.* TO poor@localhost; GRANT ALL ON two.* TO poor@localhost",
    );
    restored("--enable-local-infile --drop-existing -u poor").refused(&["local_infile"]);
    interrupted(&server);
}

fn interrupted(server: &Server) {
    let mut restore = Running::start(&mut restore(
        server,
        &big_dump(server.flavour()),
        "--enable-local-infile --threads 1",
    ));
    let tablespace = server.datadir().join("big/wide.ibd");
    restore
        .freeze_when("rows are loaded", || fs::metadata(&tablespace).is_ok_and(|file| file.len() > 4 << 20));
    assert!(!is_off(server));
    restore.signal("INT");
    restore.signal("CONT");
    restore.finish().refused(&["stopped"]);
    wait_until("it is off after a restore that was stopped", || is_off(server));
}
