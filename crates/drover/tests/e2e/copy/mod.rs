//! `drover copy`: from one server into another, with nothing between.

mod across;
mod cases;
mod failures;
mod options;
mod remembered;
mod resume;
mod rows;

use std::path::Path;

use drover_sandbox::Server;

use crate::client::run_script;
use crate::compare;

/// Tables with keys that wait, without a key, partitioned, of an engine without transactions; and objects of all kinds.
fn make(server: &Server, schema: &str, rows: u32) {
    let script = format!(
        "SET SESSION {} = 10000000; CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (0), (1), (2);
         CREATE TABLE keyed (id INT PRIMARY KEY AUTO_INCREMENT, p INT, v VARCHAR(200), w VARCHAR(200), KEY (v), UNIQUE KEY (w),
           CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent (id));
         INSERT INTO keyed WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows})
           SELECT n * 7, n % 3, SHA2(n, 512), SHA2(-n, 512) FROM s;
         CREATE TABLE keyless (v VARCHAR(200)); INSERT INTO keyless SELECT v FROM keyed;
         CREATE TABLE myisam (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE = MyISAM; INSERT INTO myisam SELECT id, v FROM keyed;
         CREATE TABLE parts (a INT, b INT, v VARCHAR(200), PRIMARY KEY (a, b)) PARTITION BY HASH (a) PARTITIONS 4;
         INSERT INTO parts SELECT id % 10, id, v FROM keyed;
         CREATE TABLE nothing (id INT PRIMARY KEY);
         CREATE VIEW all_keyed AS SELECT id FROM keyed;
         CREATE PROCEDURE p() SELECT 1; CREATE FUNCTION f() RETURNS INT NO SQL RETURN 1;
         CREATE TRIGGER tr BEFORE INSERT ON keyed FOR EACH ROW SET @x = 1;
         CREATE EVENT e ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO SET @x = 1;
         ANALYZE TABLE keyed, keyless, parts",
        recursion(server)
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

/// The setting that limits recursive CTEs.
fn recursion(server: &Server) -> &'static str {
    match server.flavour() {
        drover_sandbox::Flavour::MySql => "cte_max_recursion_depth",
        drover_sandbox::Flavour::MariaDb => "max_recursive_iterations",
    }
}

/// All is the same, and nothing that a copy needs for itself stays behind.
fn assert_same(source: &Server, target: &Server, schema: &str) {
    compare::assert_same(&compare::everything(source, schema), &compare::everything(target, schema));
}

/// The rows are the same, under another schema's name.
fn assert_same_rows(source: &Server, target: &Server, from: &str, to: &str) {
    compare::assert_same(&compare::rows(source, from), &compare::rows(target, to));
}

/// The directory says that the copy is finished.
fn assert_finished(state: &Path) {
    let there = |name: &str| state.join(name).exists();
    assert!(there("manifest.json") && there("copy.json") && !there("journal.jsonl"));
    assert!(crate::files::row_files(state).is_empty());
}
