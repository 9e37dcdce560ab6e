//! What mysqldump and mariadb-dump write.

use drover_sandbox::{Flavour, Server};

use super::{
    Beyond, CASES, assert_same_rows, by_client, create_schema, drop_schema, mysqldump, mysqldump_command,
    only_user, restored, restored_as_tools_do, servers, set_up_for, written,
};
use crate::client::{feed, sql, value};
use crate::compare;
use crate::drover::{restore, run};
use crate::servers::on_both;

on_both!(hard_cases, usual_options, many_rows, several_schemas, all_databases, piped_in, two_byte_characters);

const ALL: &str = "--routines --events --triggers --single-transaction";

/// Its search for a delimiter that is not in the event's text (create_delimiter) counts the wrong variable up: where two
/// semicolons are in the text, it does not end.
const BEYOND: [Beyond; 1] =
    [Beyond { case: "events", without: "DROP EVENT `odd ``event.name é`", ends: false }];

/// As the vendor's client restores it, drover does.
fn hard_cases(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let _only = only_user(flavour);
    let dir = tempfile::tempdir().unwrap();
    for case in CASES {
        let schema = set_up_for(source, case, &BEYOND, &|schema| {
            let mut command = mysqldump_command(source);
            command.args(ALL.split_whitespace()).arg(schema);
            command
        });
        let script = mysqldump(source, &format!("{ALL} {schema}"));
        by_client(target, &schema, &script);
        let expected = compare::everything(target, &schema);
        create_schema(target, &schema);
        restored_as_tools_do(target, &written(&dir, &format!("{case}.sql"), &script), case);
        let differences = compare::differences(&expected, &compare::everything(target, &schema));
        assert!(differences.is_empty(), "{case}: {}", differences.join("\n"));
        drop_schema(target, &schema);
    }
}

/// A schema with a bit of everything.
fn make(server: &Server, schema: &str) {
    let script = format!(
        "CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema};
         CREATE TABLE parent (id INT PRIMARY KEY, note TEXT, raw VARBINARY(20));
         INSERT INTO parent VALUES (1, 'it''s; \\\\ -- x\\n/* y */ # \"q\" `b` \\r\\t', X'00FF27225C0A1A'), (2, 'DELIMITER ;;', NULL),
           (3, '', ''), (0, '\u{1F600} é', X'95');
         CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, parent INT, d DOUBLE, f FLOAT, t TIMESTAMP NULL, KEY (parent),
           CONSTRAINT fk_{schema} FOREIGN KEY (parent) REFERENCES parent (id));
         INSERT INTO a VALUES (7, 1, 1e300, 0.1, '2020-01-01 00:00:00'), (9, NULL, -0.0, NULL, NULL);
         CREATE TABLE old (id INT, KEY (id)) ENGINE = MyISAM; INSERT INTO old VALUES (1), (1), (2);
         CREATE TABLE nothing (id INT PRIMARY KEY);
         CREATE VIEW second AS SELECT a.id, parent.note FROM a JOIN parent ON parent.id = a.parent;
         CREATE VIEW first AS SELECT id FROM second;
         DELIMITER //
         CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN /* ; */ SET NEW.d = 5; END//
         CREATE PROCEDURE p() BEGIN SELECT ';;' FROM parent; END//
         DELIMITER ;"
    );
    crate::client::run_script(server, None, script.as_bytes()).unwrap();
}

fn usual_options(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let (schema, dir) = ("md_options", tempfile::tempdir().unwrap());
    make(source, schema);
    let position = if flavour == Flavour::MySql { "--source-data=1" } else { "--master-data=1" };
    let all = [
        ALL,
        "--hex-blob --complete-insert",
        "--extended-insert=FALSE --no-autocommit",
        "--skip-comments",
        "--skip-add-locks --skip-disable-keys --skip-add-drop-table",
        "--add-drop-database --databases",
        "--insert-ignore",
        "--replace",
        "--skip-tz-utc",
        "--default-character-set=latin1 --where=id<1000",
        "--compact --skip-triggers",
        position,
    ];
    for options in all {
        let script = mysqldump(source, &format!("{options} {schema}"));
        by_client(target, schema, &script_for_client(&script));
        let expected = compare::rows(target, schema);
        drop_schema(target, schema);
        let path = written(&dir, "a.sql", &script);
        // Without comments the dump does not say where it belongs.
        let output = run(restore(target, &path, "").args(["--url", &format!("mysql:///{schema}")]));
        assert_eq!(output.code, Some(0), "{options}: {output}");
        assert_same_rows(&expected, target, schema);
        assert!(output.stdout.contains("verified  no"), "{output}");
    }
    drop_schema(target, schema);
}

/// Without what would make the target a replica.
fn script_for_client(script: &[u8]) -> Vec<u8> {
    let lines = script.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !line.starts_with(b"CHANGE ")).flatten().copied().collect()
}

/// Tables large enough for their keys to be added afterwards, and to be loaded by several workers.
fn many_rows(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let (schema, dir) = ("md_many", tempfile::tempdir().unwrap());
    let rows = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
                SELECT a.n * 1000 + b.n, b.n, SHA2(a.n * 1000 + b.n, 512) FROM s a JOIN s b WHERE a.n <= 35";
    sql(
        source,
        format!(
            "CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema}; CREATE TABLE one (id INT PRIMARY KEY, k INT, c VARCHAR(200), KEY k (k),
               UNIQUE KEY c (c), FULLTEXT KEY f (c));
             CREATE TABLE two LIKE one; CREATE TABLE three (id INT, k INT, c VARCHAR(200), KEY k (k)) ENGINE = MyISAM;
             INSERT INTO one {rows}; INSERT INTO two {rows}; INSERT INTO three {rows};
             ALTER TABLE two ADD CONSTRAINT fk_many FOREIGN KEY (id) REFERENCES one (id)"
        ),
    );
    let expected = compare::everything(source, schema);
    let script = mysqldump(source, schema);
    for (options, extension) in
        [("--threads 4", "sql"), ("--threads 1", "sql.zst"), ("--threads 3", "sql.gz")]
    {
        create_schema(target, schema);
        let path = written(&dir, &format!("a.{extension}"), &packed(&script, extension));
        let output = run(restore(target, &path, options).arg("--json")).done().json();
        assert_eq!((&output["rows"], &output["verified"]), (&105_000.into(), &false.into()));
        compare::assert_same(&expected, &compare::everything(target, schema));
    }
    drop_schema(source, schema);
    drop_schema(target, schema);
}

fn packed(script: &[u8], extension: &str) -> Vec<u8> {
    let program = match extension {
        "sql.gz" => "gzip",
        "sql.zst" => "zstd",
        _ => return script.to_vec(),
    };
    feed(std::process::Command::new(program).arg("-c"), script).stdout
}

fn several_schemas(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    for schema in ["md_several_a", "md_several_b"] {
        make(source, schema);
    }
    sql(source, "CREATE VIEW md_several_a.across AS SELECT id FROM md_several_b.parent");
    let script = mysqldump(source, &format!("{ALL} --databases md_several_a md_several_b"));
    let path = written(&dir, "a.sql", &script);
    restored(target, &path, "");
    for schema in ["md_several_a", "md_several_b"] {
        compare::assert_same(&compare::everything(source, schema), &compare::everything(target, schema));
    }
    restored(target, &path, "--into md_several_a=md_new --into md_several_b=md_other");
    assert_same_rows(&compare::rows(source, "md_several_a"), target, "md_new");
    sql(target, "DROP DATABASE md_several_a; DROP DATABASE md_several_b");
    assert_eq!(value(target, "SELECT COUNT(*) FROM md_new.across"), "4");
    assert_eq!(value(target, "SELECT COUNT(*) FROM md_other.first"), "1");
    run(&mut restore(target, &path, "--into elsewhere=x")).refused(&["'elsewhere'"]);
    run(&mut restore(target, &path, "--into md_several_a=md_several_b")).refused(&["md_several_b"]);
}

/// The server's own schemas are not the dump's to replace, neither are its settings.
fn all_databases(flavour: Flavour) {
    let (source, target) = (crate::servers::start(flavour, &[]), crate::servers::start(flavour, &[]));
    let dir = tempfile::tempdir().unwrap();
    make(&source, "md_all");
    let gtid = if flavour == Flavour::MySql { " --set-gtid-purged=ON" } else { "" };
    sql(&source, "CREATE USER nobody@localhost IDENTIFIED BY 'secret-word'");
    let script = mysqldump(&source, &format!("--all-databases --routines --events --flush-privileges{gtid}"));
    let output = restored(&target, &written(&dir, "a.sql", &script), "");
    assert!(output.stderr.contains("left out: everything in schema mysql"), "{output}");
    compare::assert_same(&compare::everything(&source, "md_all"), &compare::everything(&target, "md_all"));
    assert_eq!(value(&target, "SELECT COUNT(*) FROM mysql.user WHERE user = 'nobody'"), "0");
}

fn piped_in(flavour: Flavour) {
    let (source, target) = servers(flavour);
    make(source, "md_piped");
    let script = mysqldump(source, &format!("{ALL} md_piped"));
    let pipe = |options: &str, script: &[u8]| {
        let mut command = restore(target, std::path::Path::new("-"), options);
        let output = feed(&mut command, script);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    create_schema(target, "md_piped");
    assert_eq!(pipe("", &script).0, Some(0));
    compare::assert_same(&compare::everything(source, "md_piped"), &compare::everything(target, "md_piped"));
    sql(target, "DELETE FROM md_piped.old");
    let (code, said) = pipe("", &script);
    assert!(code == Some(2) && said.contains("already has `md_piped`.`a`"), "{said}");
    assert_eq!(value(target, "SELECT COUNT(*) FROM md_piped.a"), "2");
    assert_eq!(pipe("--drop-existing", &script).0, Some(0));
    compare::assert_same(&compare::everything(source, "md_piped"), &compare::everything(target, "md_piped"));
    let (code, said) = pipe("--into md_piped=x", &script);
    assert!(code == Some(2) && said.contains("twice"), "{said}");
    let (code, said) = pipe("--drop-existing", &script[..script.len() - 60]);
    assert!(code == Some(2) && said.contains("standard input"), "{said}");
}

/// A backslash may be the second byte of a character.
fn two_byte_characters(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let (schema, dir) = ("md_gbk", tempfile::tempdir().unwrap());
    sql(
        source,
        format!(
            "CREATE DATABASE {schema} CHARACTER SET utf8mb4; CREATE TABLE {schema}.t (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET gbk);
             INSERT INTO {schema}.t VALUES (1, X'955C'), (2, CONCAT(X'955C', '''')), (3, 'x')"
        ),
    );
    let script = mysqldump(source, &format!("--default-character-set=gbk {schema}"));
    assert!(script.windows(3).any(|bytes| bytes == b"\x95\x5c'"), "no such character in the dump");
    create_schema(target, schema);
    restored(target, &written(&dir, "a.sql", &script), "");
    compare::assert_same(&compare::everything(source, schema), &compare::everything(target, schema));
}
