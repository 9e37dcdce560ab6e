//! What a schema gives to all that is made in it: its default collation, encryption and comment. One that is there already gets the dump's,
//! unless it holds more; and verify looks at it.

use drover_sandbox::Flavour;

use crate::client::{sql, value};
use crate::drover::{copy, dump, restore, run, verify};
use crate::foreign::mysqldump;
use crate::reach;
use crate::servers::{is_wanted, on_both, source, target};

on_both!(one_that_is_there, one_that_holds_more, other_tools_dumps);

const MADE: &str = "CHARACTER SET latin1 COLLATE latin1_german1_ci";

const HELD: &str = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO t VALUES (1, 'a');
    CREATE FUNCTION f(a VARCHAR(9)) RETURNS VARCHAR(9) DETERMINISTIC RETURN a";

fn collation(server: &drover_sandbox::Server, schema: &str) -> String {
    value(
        server,
        format!(
            "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{schema}'"
        ),
    )
}

fn one_that_is_there(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    let out = dir.path().join("out");
    sql(source, format!("CREATE DATABASE given {MADE}; USE given; {HELD}"));
    run(&mut dump(source, "given", &out)).done();
    let routine = "SELECT DATABASE_COLLATION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'given'";
    let same = || {
        assert_eq!([collation(target, "given"), value(target, routine)], ["latin1_german1_ci"; 2]);
        run(&mut verify(target, &out, "")).done();
        // It is told from one that somebody changes.
        for (other, named) in [("utf8mb4_bin", "utf8mb4_bin"), ("latin1_swedish_ci", "latin1_swedish_ci")] {
            sql(target, format!("ALTER DATABASE given COLLATE {other}"));
            let told = format!("its default collation is {named} instead of latin1_german1_ci");
            run(&mut verify(target, &out, "")).found(&["`given`", &told]);
        }
        sql(target, "DROP DATABASE given; CREATE DATABASE given CHARACTER SET utf8mb4");
    };
    sql(target, "CREATE DATABASE given CHARACTER SET utf8mb4");
    run(&mut restore(target, &out, "")).done();
    same();
    run(&mut copy(source, target, "given", &dir.path().join("state"))).done();
    same();
    sql(target, "USE given; CREATE TABLE t (other INT)");
    run(&mut restore(target, &out, "--drop-existing")).done();
    same();
    // A default that is not named is another than one that is.
    sql(source, "ALTER DATABASE given COLLATE latin1_swedish_ci");
    let plain = dir.path().join("plain");
    run(&mut dump(source, "given.t", &plain)).done();
    sql(target, "ALTER DATABASE given COLLATE latin1_bin");
    run(&mut restore(target, &plain, "")).done();
    assert_eq!(collation(target, "given"), "latin1_swedish_ci");
    sql(target, "ALTER DATABASE given COLLATE latin1_bin");
    run(&mut verify(target, &plain, "")).found(&["is latin1_bin instead of latin1_swedish_ci"]);
    sql(target, "DROP DATABASE given");
    run(&mut verify(target, &plain, "")).found(&["there is no such schema"]);
    sql(source, "DROP DATABASE given");
}

/// What is there was made by somebody who may count on it.
fn one_that_holds_more(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    let out = dir.path().join("out");
    sql(
        source,
        "CREATE DATABASE keeps COLLATE utf8mb4_bin; USE keeps; CREATE FUNCTION g() RETURNS INT DETERMINISTIC RETURN 1",
    );
    sql(source, format!("ALTER DATABASE keeps {MADE}; USE keeps; {HELD}"));
    run(&mut dump(source, "keeps", &out)).done();
    let told = ["schema `keeps` is as it was", "is ascii_bin instead of latin1_german1_ci", "it holds more"];
    for held in ["CREATE VIEW keeps.own AS SELECT 1", "CREATE PROCEDURE keeps.own() DO 1"] {
        sql(target, format!("CREATE DATABASE keeps COLLATE ascii_bin; {held}"));
        let restored = run(&mut restore(target, &out, "")).found(&["`keeps`: its default collation"]);
        assert!(told.iter().all(|words| restored.stderr.contains(words)), "{restored}");
        assert_eq!(collation(target, "keeps"), "ascii_bin", "{held}");
        sql(target, "DROP DATABASE keeps");
    }
    sql(source, "DROP DATABASE keeps");
}

fn other_tools_dumps(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    sql(source, format!("CREATE DATABASE of_others {MADE}; USE of_others; {HELD}"));
    let script = dir.path().join("a.sql");
    std::fs::write(&script, mysqldump(source, "--routines --databases of_others")).unwrap();
    for (before, left, warned) in
        [("", "latin1_german1_ci", false), ("CREATE TABLE of_others.own (id INT)", "utf8mb4_bin", true)]
    {
        sql(target, format!("CREATE DATABASE of_others COLLATE utf8mb4_bin; {before}"));
        let restored = run(&mut restore(target, &script, ""));
        let is_told = restored.stderr.contains("is utf8mb4_bin instead of latin1_german1_ci");
        assert_eq!((collation(target, "of_others").as_str(), is_told), (left, warned), "{restored}");
        assert_eq!(value(target, "SELECT v FROM of_others.t"), "a");
        sql(target, "DROP DATABASE of_others");
    }
    sql(source, "DROP DATABASE of_others");
}

/// An option that only one of the vendors has: `there` has it otherwise.
fn comes_into_one_that_is_there(flavour: Flavour, made: &str, there: &str, told: &str) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    sql(source, format!("CREATE DATABASE options {made}"));
    run(&mut dump(source, "options", dir.path())).done();
    sql(target, format!("CREATE DATABASE options {there}"));
    run(&mut restore(target, dir.path(), "")).done();
    sql(target, format!("ALTER DATABASE options {there}"));
    run(&mut verify(target, dir.path(), "")).found(&[told]);
    sql(target, "DROP DATABASE options");
    sql(source, "DROP DATABASE options");
}

#[test]
fn comments_of_mariadb() {
    if is_wanted(Flavour::MariaDb) {
        let told = "its comment is 'theirs' instead of 'it''s ours'";
        comes_into_one_that_is_there(Flavour::MariaDb, "COMMENT 'it''s ours'", "COMMENT 'theirs'", told);
    }
}

#[test]
fn encryption_of_mysql() {
    if is_wanted(Flavour::MySql) {
        let told = "its default encryption is 'Y' instead of 'N'";
        comes_into_one_that_is_there(Flavour::MySql, "ENCRYPTION 'N'", "ENCRYPTION 'Y'", told);
    }
}

#[test]
fn read_only_of_mysql() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let (source, target) = (source(Flavour::MySql), target(Flavour::MySql));
    let dir = tempfile::tempdir().unwrap();
    sql(
        source,
        "CREATE DATABASE still; CREATE TABLE still.t (id INT PRIMARY KEY); ALTER DATABASE still READ ONLY = 1",
    );
    run(&mut dump(source, "still", dir.path())).done();
    let restored = run(&mut restore(target, dir.path(), "")).done();
    assert!(restored.stderr.contains("ALTER DATABASE `still` READ ONLY = 1 makes it so"), "{restored}");
    sql(target, "DROP DATABASE still");
    sql(source, "ALTER DATABASE still READ ONLY = 0; DROP DATABASE still");
}

#[test]
fn across_vendors_and_versions() {
    if !(is_wanted(Flavour::MySql) && is_wanted(Flavour::MariaDb)) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let from = source(Flavour::MySql);
    sql(
        from,
        "CREATE DATABASE crossed COLLATE latin1_german1_ci; CREATE TABLE crossed.t (id INT PRIMARY KEY)",
    );
    run(&mut dump(from, "crossed", dir.path())).done();
    for to in [target(Flavour::MariaDb), &reach::old("mysql-5.7", Flavour::MySql)] {
        let sql = |text: &str| reach::sql(to, "mysql", text);
        sql("CREATE DATABASE crossed CHARACTER SET utf8");
        run(&mut restore(to, dir.path(), "")).done();
        sql("ALTER DATABASE crossed COLLATE latin1_bin");
        let told = "its default collation is latin1_bin instead of latin1_german1_ci";
        run(&mut verify(to, dir.path(), "")).found(&[told]);
        sql("DROP DATABASE crossed");
    }
    sql(from, "DROP DATABASE crossed");
}
