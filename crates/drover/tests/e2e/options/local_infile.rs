//! The one global setting that a restore may change, and puts back. The servers here refuse files from their clients.

use std::fs;

use drover_sandbox::{Flavour, Server};

use crate::big::big_dump;
use crate::client::{sql, value, wait_until};
use crate::drover::{Running, dump, restore, run};
use crate::files::{manifest, row_files};
use crate::servers::{on_both, start};

on_both!(switched_on_and_back, values_in_binary_and_as_text);

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

    let words = ["local_infile is OFF", "INSERT statements", "--enable-local-infile"];
    let checked = restored("--check").done();
    assert!(words.iter().all(|words| checked.stderr.contains(words)), "{checked}");
    let checked = restored("--check --enable-local-infile").done();
    assert!(!checked.stderr.contains("local_infile"), "{checked}");
    let output = restored("--into one=new --into two=new2").done();
    assert!(words.iter().all(|words| output.to_string().contains(words)), "{output}");
    assert_eq!(value(&server, "SELECT GROUP_CONCAT(id) FROM new.t"), "1");
    assert!(is_off(&server));

    restored("--enable-local-infile --drop-existing --into one=new --into two=new2").done();
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
    restored("--drop-existing -u poor").done();
    long_rows(flavour);
    interrupted(&server);
}

/// A row may be longer than a packet as a statement, and not as a file: it is told which, and nothing of it is kept.
fn long_rows(flavour: Flavour) {
    let options = ["--local-infile=0", "--max-allowed-packet=1M"];
    let (server, dir) = (start(flavour, &options), tempfile::tempdir().unwrap());
    sql(
        &server,
        "CREATE DATABASE one; CREATE TABLE one.t (id INT PRIMARY KEY, a LONGBLOB, b LONGBLOB);
         INSERT INTO one.t VALUES (1, 'x', 'y'), (2, REPEAT('a', 600000), REPEAT('\\'', 600000)), (3, REPEAT('\\0', 400000), 'z')",
    );
    run(&mut dump(&server, "one", dir.path())).done();
    let refused = run(&mut restore(&server, dir.path(), "--into one=two"));
    refused.refused(&[
        "row 2 is longer",
        "max_allowed_packet: 1048576",
        "hint: SET GLOBAL max_allowed_packet",
    ]);
    run(&mut restore(&server, dir.path(), "--into one=two --drop-existing --enable-local-infile")).done();
    sql(&server, "SET GLOBAL max_allowed_packet = 8388608");
    run(&mut restore(&server, dir.path(), "--into one=three")).done();
    assert_eq!(value(&server, "SELECT SUM(LENGTH(a) + LENGTH(b)) FROM three.t"), "1600003");
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

/// What came by prepared statements until now.
fn executed(server: &Server) -> u64 {
    sql(server, "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")[0][1].parse().unwrap()
}

/// Tables whose values are the same in binary without a doubt come so to MySQL, unless a row is too large; all others as text.
fn values_in_binary_and_as_text(flavour: Flavour) {
    let server = start(flavour, &["--local-infile=0"]);
    let tables = [
        (
            "plain",
            "n DECIMAL(20,5), d DOUBLE, at DATETIME(6), v VARCHAR(60), b BLOB",
            "s.n / 7, s.n / 3, '2026-11-30 01:02:03.000004', CONCAT('é', s.n), UNHEX('00FF')",
        ),
        ("large", "v LONGTEXT", "REPEAT('x', IF(s.n = 500, 400000, 10))"),
        ("words", "e ENUM('a', 'b'), y YEAR, t TIME(3)", "1 + s.n % 2, 2000 + s.n % 100, '-01:02:03.004'"),
    ];
    for (name, columns, values) in tables {
        sql(
            &server,
            format!(
                "CREATE DATABASE {name}; USE {name}; CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, {columns}) DEFAULT CHARSET = utf8mb4; \
                 INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 999) SELECT s.n, {values} FROM s"
            ),
        );
        let (dir, before) = (tempfile::tempdir().unwrap(), executed(&server));
        run(&mut dump(&server, name, dir.path())).done();
        run(&mut restore(&server, dir.path(), &format!("--into {name}=back --drop-existing"))).done();
        let checksums = sql(&server, format!("CHECKSUM TABLE {name}.t, back.t"));
        assert_eq!(checksums[0][1], checksums[1][1], "{name}");
        if flavour == Flavour::MySql {
            assert_eq!(executed(&server) > before, name != "words", "{name}");
        }
    }
}
