//! Views that read functions and views of definers that the target has, whatever these may do there.

use drover_sandbox::{Flavour, Server};

use crate::across::both;
use crate::client::{sql, value};
use crate::drover::{copy, dump, restore, run, verify};
use crate::servers::{on_both, source, target};

on_both!(definers_are_no_reason_to_refuse_views);

/// The definer may do all in the schema of this name, and nothing in others.
fn account(server: &Server, schema: &str) {
    sql(
        server,
        format!(
            "CREATE USER IF NOT EXISTS {schema}@localhost; GRANT ALL ON {schema}.* TO {schema}@localhost"
        ),
    );
}

/// The first view that is made reads the others.
fn make(server: &Server, schema: &str) {
    account(server, schema);
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema};
             CREATE TABLE a (id INT PRIMARY KEY, n INT); CREATE TABLE b (id INT PRIMARY KEY, m INT);
             INSERT INTO a VALUES (1, 10), (2, 20); INSERT INTO b VALUES (1, 1), (2, 2);
             CREATE DEFINER = {schema}@localhost FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x * 2;
             CREATE DEFINER = {schema}@localhost VIEW joined AS SELECT a.id, a.n, b.m FROM a JOIN b USING (id);
             CREATE DEFINER = {schema}@localhost VIEW calls AS SELECT id, f(n) AS twice FROM a;
             CREATE DEFINER = {schema}@localhost VIEW sums AS SELECT m, SUM(f(n)) AS total FROM joined GROUP BY m"
        ),
    );
}

fn sums(server: &Server, schema: &str) -> String {
    value(server, format!("SELECT GROUP_CONCAT(total ORDER BY m) FROM {schema}.sums"))
}

fn definers_are_no_reason_to_refuse_views(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "definers");
    account(target, "definers");
    run(&mut dump(source, "definers", dir.path())).done();
    let checked = run(&mut restore(target, dir.path(), "--check")).done();
    assert!(checked.stdout.contains("all can be kept"), "{checked}");
    run(&mut restore(target, dir.path(), "")).done();
    for options in ["--skip-refused --drop-existing", "--skip-refused --resume"] {
        let restored = run(&mut restore(target, dir.path(), options)).done();
        assert!(!restored.stdout.contains("refused"), "{restored}");
        assert_eq!(sums(target, "definers"), "20,40");
    }

    let into = "--into definers=definers_new";
    run(&mut restore(target, dir.path(), into)).done();
    run(&mut verify(target, dir.path(), into)).done();
    sql(target, "GRANT ALL ON definers_new.* TO definers@localhost");
    assert_eq!(sums(target, "definers_new"), "20,40");
}

#[test]
fn to_the_other_vendor() {
    let Some([mariadb, mysql]) = both() else { return };
    for (source, target, schema) in [(&mariadb, &mysql, "definers_m"), (&mysql, &mariadb, "definers_y")] {
        make(source, schema);
        account(target, schema);
        let state = tempfile::tempdir().unwrap();
        let copied =
            run(&mut copy(source, target, &format!("{schema} --into {schema}={schema}_new"), state.path()));
        assert!(matches!(copied.code, Some(0 | 1)) && !copied.stdout.contains("refused"), "{copied}");
        sql(target, format!("GRANT ALL ON {schema}_new.* TO {schema}@localhost"));
        assert_eq!(sums(target, &format!("{schema}_new")), "20,40");
    }
}
