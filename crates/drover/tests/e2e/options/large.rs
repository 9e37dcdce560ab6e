//! A table of more than one file: where it is cut, nothing is lost, doubled or overlooked.

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::client::sql;
use crate::compare;
use crate::drover::{dump, restore, run, verify};
use crate::files::{manifest, table};
use crate::servers::{on_both, source, target};

on_both!(a_table_of_several_files);

fn a_table_of_several_files(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    // 280 rows of half a megabyte; the key's first column sorts é with e, and A with a; its AUTO_INCREMENT column
    // is not the first, so that another key must be there before the rows.
    sql(
        server,
        "CREATE DATABASE large; USE large; SET NAMES utf8mb4;
         CREATE TABLE cut (k VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
           n INT NOT NULL AUTO_INCREMENT, v MEDIUMTEXT NOT NULL, PRIMARY KEY (k, n), KEY (n));
         INSERT INTO cut WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 280)
           SELECT ELT(1 + n % 4, 'É''t', 'et', 'Zz', '\\\\%'), n, REPEAT(CONCAT(n, 'abcdefghijklmnop'), 27000) FROM s",
    );
    run(&mut dump(server, "large", dir.path())).done();
    let files = table(&manifest(dir.path()), "large", "cut")["files"].as_array().unwrap().clone();
    assert!(files.len() > 1, "the table is too small to be cut: {files:?}");
    let total: u64 = files.iter().map(|file| file["rows"].as_u64().unwrap()).sum();
    assert_eq!(total, 280);

    let target = target(flavour);
    run(&mut restore(target, dir.path(), "--threads 4")).done();
    compare::assert_same(&compare::rows(server, "large"), &compare::rows(target, "large"));

    // The last row of the first file, and one that would be the first of the second.
    let border: Vec<_> =
        files[0]["up_to"].as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect();
    let (k, n) = (border[0], border[1]);
    let name = |file: &Value| file["file"].as_str().unwrap().to_owned();
    sql(target, format!("UPDATE large.cut SET v = CONCAT(v, 'x') WHERE k = {k} AND n = {n}"));
    let output = run(&mut verify(target, dir.path(), "")).found(&[&name(&files[0])]);
    assert!(!output.stdout.contains(&name(&files[1])), "{output}");
    sql(target, format!("UPDATE large.cut SET v = LEFT(v, LENGTH(v) - 1) WHERE k = {k} AND n = {n}"));
    sql(
        target,
        format!(
            "INSERT INTO large.cut SELECT k, {n} + 1, 'after the border' FROM large.cut WHERE k = {k} AND n = {n}"
        ),
    );
    let output = run(&mut verify(target, dir.path(), "")).found(&[&name(&files[1])]);
    assert!(!output.stdout.contains(&name(&files[0])), "{output}");
    sql(server, "DROP DATABASE large");
    sql(target, "DROP DATABASE large");
}
