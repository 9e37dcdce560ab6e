//! What a dump cannot hold, and what a target or the cluster that it is in cannot take: said before the first row, and left out if asked.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use drover_sandbox::{Cluster, Flavour, Server, StartOptions, Topology};

use crate::client::{feed, sql, value};
use crate::compare;
use crate::drover::{copy, dump, restore, run};
use crate::files::{manifest, table};
use crate::foreign::mysqldump;
use crate::servers::{is_wanted, on_both, source, start_mariadb_11, start_unsynced, target};

on_both!(
    refused_by_the_same_vendor,
    directories_that_are_no_schemas,
    many_small_partitions,
    keys_to_what_is_not_there,
    tables_that_a_cluster_does_not_replicate
);

/// A foreign key to another schema is made as it is; where that is not there, no row can be added.
fn keys_to_what_is_not_there(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    sql(
        source,
        "CREATE DATABASE lo_parents; CREATE TABLE lo_parents.p (id INT PRIMARY KEY); INSERT INTO lo_parents.p VALUES (1);
         CREATE DATABASE lo_children; CREATE TABLE lo_children.c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES lo_parents.p (id));
         INSERT INTO lo_children.c VALUES (1)",
    );
    run(&mut dump(source, "lo_children", &dir.path().join("dump"))).done();
    let says = "table `lo_children`.`c`: a foreign key refers to `lo_parents`.`p`";
    let checked = run(&mut restore(target, &dir.path().join("dump"), "--check")).done();
    let copied = run(&mut copy(source, target, "lo_children", &dir.path().join("state"))).done();
    for output in [checked, copied] {
        assert!(output.to_string().contains(says), "{output}");
    }
    let both = run(&mut copy(source, target, "lo_parents", &dir.path().join("parents"))).done();
    assert!(!both.to_string().contains("foreign key"), "{both}");
}

/// What only the source has: an engine, a tablespace, a place for files, a reference system, a time zone.
fn refused_by_the_same_vendor(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let (aside, out) = (dir.path().join("aside"), dir.path().join("dump"));
    fs::create_dir(&aside).unwrap();
    for place in [dir.path(), &aside] {
        fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let directories = format!("--innodb-directories={}", aside.display());
    let (for_source, for_target): (&[&str], &[&str]) = match flavour {
        Flavour::MariaDb => (&[], &["--skip-partition"]),
        Flavour::MySql => (&["--federated", &directories], &[]),
    };
    let (source, target) = (start_unsynced(flavour, for_source), start_unsynced(flavour, for_target));
    let (tables, names) = only_there(flavour);
    let in_place =
        format!("CREATE TABLE in_place (id INT PRIMARY KEY) DATA DIRECTORY = '{}'", aside.display());
    sql(
        &source,
        format!(
            "CREATE DATABASE lo_same; USE lo_same; CREATE TABLE plain (id INT PRIMARY KEY); INSERT INTO plain VALUES (1), (2); \
             {tables}; {in_place}; INSERT INTO in_place VALUES (3); {IN_ZONE}"
        ),
    );
    run(&mut dump(&source, "lo_same", &out)).done();
    if flavour == Flavour::MariaDb {
        // It would make the directory.
        fs::remove_dir_all(&aside).unwrap();
        fs::write(&aside, "").unwrap();
    }
    let mut said: Vec<_> = names.iter().map(|name| format!("refused   table `lo_same`.`{name}`")).collect();
    said.push("refused   event `lo_same`.`in_zone`".to_owned());
    // MySQL makes the table where all others are, and so is one whose tablespace is missing.
    let left = match flavour {
        Flavour::MariaDb => {
            said.push("verified  identical".to_owned());
            "plain"
        }
        Flavour::MySql => {
            let differs = |name| format!("differs   `lo_same`.`{name}`: its definition differs");
            said.extend(["apart", "in_place"].map(differs));
            "apart,in_place,plain"
        }
    };
    let said: Vec<_> = said.iter().map(String::as_str).collect();
    let tables = "SELECT GROUP_CONCAT(TABLE_NAME ORDER BY TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'lo_same'";
    run(&mut restore(&target, &out, "--skip-refused")).found(&said);
    assert_eq!(value(&target, "SELECT GROUP_CONCAT(id) FROM lo_same.plain"), "1,2");
    assert_eq!(value(&target, tables), left);
    sql(&target, "DROP DATABASE lo_same");
    run(&mut copy(&source, &target, "lo_same --skip-refused", &dir.path().join("state"))).found(&said);
    assert_eq!(value(&target, tables), left);
}

/// How they are made, and the names of those that are refused elsewhere.
fn only_there(flavour: Flavour) -> (&'static str, &'static [&'static str]) {
    match flavour {
        Flavour::MariaDb => (
            "CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2; INSERT INTO parted VALUES (3)",
            &["in_place", "parted"],
        ),
        Flavour::MySql => (
            "CREATE TABLESPACE own ADD DATAFILE 'own.ibd'; CREATE TABLE apart (id INT PRIMARY KEY) TABLESPACE own; \
             CREATE TABLE far (id INT PRIMARY KEY) ENGINE = FEDERATED CONNECTION = 'mysql://root@127.0.0.1:1/a/b'; \
             CREATE SPATIAL REFERENCE SYSTEM 990001 NAME 'own' DEFINITION 'GEOGCS[\"own\",DATUM[\"own\",SPHEROID[\"own\",\
             6378137,298.25]],PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.017453292519943278],AXIS[\"Lat\",NORTH],AXIS[\"Lon\",EAST]]'; \
             CREATE TABLE placed (id INT PRIMARY KEY, p POINT SRID 990001)",
            &["far", "placed"],
        ),
    }
}

/// An event in a zone that somebody has loaded.
const IN_ZONE: &str = "INSERT INTO mysql.time_zone VALUES (9000, 'N'); INSERT INTO mysql.time_zone_name VALUES ('Lo/Zone', 9000);
    INSERT INTO mysql.time_zone_transition_type VALUES (9000, 0, 3600, 0, 'LO'); SET time_zone = 'Lo/Zone';
    CREATE EVENT in_zone ON SCHEDULE EVERY 1 DAY DO SET @a = 1";

/// MariaDB takes each directory for a schema.
fn directories_that_are_no_schemas(flavour: Flavour) {
    let (source, dir) = (start_unsynced(flavour, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE DATABASE lo_dirs; CREATE TABLE lo_dirs.t (id INT PRIMARY KEY); INSERT INTO lo_dirs.t VALUES (1)",
    );
    for name in ["lost+found", ".snapshot"] {
        fs::create_dir(source.datadir().join(name)).unwrap();
    }
    let dumped = run(&mut dump(&source, "", dir.path())).done();
    let schemas = &manifest(dir.path())["schemas"];
    let schemas: Vec<_> =
        schemas.as_array().unwrap().iter().map(|schema| schema["name"].as_str().unwrap()).collect();
    assert!(
        schemas.contains(&"lo_dirs") && !schemas.iter().any(|name| name.contains("mysql50")),
        "{schemas:?}"
    );
    let is_said = dumped.stderr.contains("schema '#mysql50#lost+found' is not in the dump");
    assert_eq!(is_said, flavour == Flavour::MariaDb, "{dumped}");
    run(&mut restore(&start_unsynced(flavour, &[]), dir.path(), "")).done();
}

/// One that holds tables is taken along, and restored under a name that servers take.
#[test]
fn a_directory_that_holds_tables() {
    let flavour = Flavour::MariaDb;
    if !is_wanted(flavour) {
        return;
    }
    let (source, dir) = (start_unsynced(flavour, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE DATABASE odd; CREATE TABLE odd.t (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO odd.t VALUES (1); FLUSH TABLES",
    );
    fs::rename(source.datadir().join("odd"), source.datadir().join("lo-odd")).unwrap();
    run(&mut dump(&source, "", dir.path())).done();
    let target = start_unsynced(flavour, &[]);
    let (name, hint) = ("`#mysql50#lo-odd`", "--into '#mysql50#lo-odd=lo-odd' restores it as `lo-odd`");
    run(&mut restore(&target, dir.path(), "")).refused(&[name, "nothing was changed", hint]);
    run(&mut restore(&target, dir.path(), "--check")).found(&[name, hint]);
    let into = "--into #mysql50#lo-odd=lo-odd";
    run(&mut restore(&target, dir.path(), &format!("--check {into}"))).done();
    run(&mut restore(&target, dir.path(), into)).done();
    assert_eq!(value(&target, "SELECT id FROM `lo-odd`.t"), "1");
    // Where it is there already, it need not be made.
    run(&mut restore(&source, dir.path(), "--drop-existing")).done();
}

/// They are read together: the server goes through all of them for each statement, and prints all of them in each definition.
fn many_small_partitions(flavour: Flavour) {
    let (source, dir) = (start_unsynced(flavour, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE DATABASE lo_parts; CREATE TABLE lo_parts.t (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 100; \
         INSERT INTO lo_parts.t VALUES (1), (2), (3), (150), (199)",
    );
    let shown = || -> u32 {
        let status = "SHOW GLOBAL STATUS LIKE 'Com_show_create_table'";
        sql(&source, status)[0][1].parse().unwrap()
    };
    let before = shown();
    run(&mut dump(&source, "lo_parts", dir.path())).done();
    assert!(shown() - before < 10, "the definition was asked for {} times", shown() - before);
    assert_eq!(table(&manifest(dir.path()), "lo_parts", "t")["files"].as_array().unwrap().len(), 1);
    run(&mut restore(target(flavour), dir.path(), "")).done();
    compare::assert_same(&compare::rows(&source, "lo_parts"), &compare::rows(target(flavour), "lo_parts"));
}

/// Group Replication takes no change of a table without a key or without transactions, Galera keeps those of MyISAM to one node.
fn tables_that_a_cluster_does_not_replicate(flavour: Flavour) {
    let (topology, refused, words): (_, &[&str], _) = match flavour {
        Flavour::MariaDb => (Topology::Galera, &["old"], "they would be on this node only"),
        Flavour::MySql => {
            (Topology::GroupReplication, &["keyless", "kept", "old"], "with a primary key only")
        }
    };
    let (source, dir) = (source(flavour), tempfile::tempdir().unwrap());
    sql(
        source,
        "CREATE DATABASE lo_nodes; USE lo_nodes; CREATE TABLE good (id INT PRIMARY KEY); INSERT INTO good VALUES (1); \
         CREATE TABLE keyless (id INT); INSERT INTO keyless VALUES (2); \
         CREATE TABLE old (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO old VALUES (3); \
         CREATE VIEW of_old AS SELECT id FROM old",
    );
    if flavour == Flavour::MySql {
        sql(
            source,
            "CREATE TABLE lo_nodes.kept (id INT) ENGINE = ARCHIVE; INSERT INTO lo_nodes.kept VALUES (4)",
        );
    }
    run(&mut dump(source, "lo_nodes", dir.path())).done();
    let cluster = Cluster::start(topology, &StartOptions::ephemeral(flavour)).unwrap();
    let node = &cluster.nodes()[cluster.primary().unwrap()];
    let table = |name: &&str| format!("table `lo_nodes`.`{name}`");
    let tables: Vec<_> = refused.iter().map(table).collect();
    let mut said: Vec<_> = tables.iter().map(String::as_str).collect();
    said.extend([words, "view `lo_nodes`.`of_old`"]);
    run(&mut restore(node, dir.path(), "--check")).found(&said);
    run(&mut restore(node, dir.path(), ""))
        .refused(&[&said[..], &["nothing was changed", "--skip-refused"]].concat());
    let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'lo_nodes'";
    assert_eq!(value(node, there), "0");
    run(&mut restore(node, dir.path(), "--skip-refused")).found(&said);
    assert_eq!(value(node, "SELECT GROUP_CONCAT(id) FROM lo_nodes.good"), "1");
    sql(node, "DROP DATABASE lo_nodes");
    let copied = |options: &str| {
        run(&mut copy(source, node, &format!("lo_nodes {options}"), &dir.path().join("state")))
    };
    copied("").refused(&[&said[..], &["nothing was changed", "--skip-refused"]].concat());
    assert_eq!(value(node, there), "0");
    copied("--drop-existing --skip-refused").found(&said);
    assert_eq!(value(node, "SELECT GROUP_CONCAT(id) FROM lo_nodes.good"), "1");
    sql(node, "DROP DATABASE lo_nodes");
    dumps_of_other_tools(source, node, refused, words);
}

fn dumps_of_other_tools(source: &Server, node: &Server, refused: &[&str], words: &str) {
    let dir = tempfile::tempdir().unwrap();
    let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'lo_nodes'";
    let script = mysqldump(source, "lo_nodes");
    let path = dir.path().join("script.sql");
    fs::write(&path, &script).unwrap();
    let mut said: Vec<_> = refused.iter().map(|name| format!("CREATE TABLE `{name}`")).collect();
    said.extend([words, "nothing was changed", "outside of the cluster"].map(str::to_owned));
    run(&mut restore(node, &path, "")).refused(&said.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(value(node, there), "0");
    // Piped in, the first such table ends it before it has a row.
    let piped = feed(&mut restore(node, Path::new("-"), ""), &script);
    let error = String::from_utf8_lossy(&piped.stderr).into_owned();
    assert!(
        piped.status.code() == Some(2) && error.contains(words) && error.contains("rows for `lo_nodes`"),
        "{error}"
    );
    // Without an engine's name it is of the one that is set; an empty table of MyISAM that is there is none that takes rows.
    sql(
        node,
        "DROP DATABASE lo_nodes; CREATE DATABASE lo_nodes; CREATE TABLE lo_nodes.there (id INT PRIMARY KEY) ENGINE = MyISAM",
    );
    fs::write(
        &path,
        "USE lo_nodes; SET default_storage_engine = MyISAM; CREATE TABLE plain (id INT PRIMARY KEY);",
    )
    .unwrap();
    run(&mut restore(node, &path, "")).refused(&["CREATE TABLE plain", words]);
    fs::write(&path, "USE lo_nodes; CREATE TABLE fine (id INT PRIMARY KEY); INSERT INTO there VALUES (1);")
        .unwrap();
    run(&mut restore(node, &path, "")).refused(&["table `lo_nodes`.`there`", words, "nothing was changed"]);
    // What becomes a view in the end has no rows.
    let view = "USE lo_nodes; CREATE TABLE v (id INT) ENGINE = MyISAM; DROP TABLE v; CREATE VIEW v AS SELECT id FROM there;";
    fs::write(&path, view).unwrap();
    run(&mut restore(node, &path, "")).done();
}

/// Loaded, rows of the past would be rows of now: their times are numbers of transactions of another server.
#[test]
fn history_by_transactions() {
    if is_wanted(Flavour::MariaDb) {
        by_transactions(source(Flavour::MariaDb), target(Flavour::MariaDb));
    }
}

#[test]
fn history_by_transactions_of_mariadb_11() {
    if is_wanted(Flavour::MariaDb) {
        by_transactions(&start_mariadb_11(&[]), &start_mariadb_11(&[]));
    }
}

fn by_transactions(source: &Server, target: &Server) {
    let dir = tempfile::tempdir().unwrap();
    let (out, script) = (dir.path().join("dump"), dir.path().join("script.sql"));
    sql(
        source,
        "CREATE DATABASE lo_past; USE lo_past; CREATE TABLE t (id INT PRIMARY KEY, v INT, rs BIGINT UNSIGNED GENERATED ALWAYS AS ROW \
         START, re BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, KEY (v), PERIOD FOR SYSTEM_TIME (rs, re)) WITH SYSTEM VERSIONING; \
         INSERT INTO t (id, v) VALUES (1, 1), (2, 2); UPDATE t SET v = 10 WHERE id = 1; DELETE FROM t WHERE id = 2",
    );
    let said = "table `lo_past`.`t` tells its rows of the past by numbers";
    let rows_of_now = || {
        assert_eq!(value(target, "SELECT GROUP_CONCAT(id, ':', v) FROM lo_past.t"), "1:10");
        assert_eq!(value(target, "SELECT COUNT(*) FROM lo_past.t FOR SYSTEM_TIME ALL"), "1");
        sql(target, "DROP DATABASE lo_past");
    };
    let dumped = run(&mut dump(source, "lo_past", &out)).done();
    assert!(dumped.stderr.contains(said), "{dumped}");
    run(&mut restore(target, &out, "")).done();
    rows_of_now();
    let copied = run(&mut copy(source, target, "lo_past", &dir.path().join("state"))).done();
    assert!(copied.stderr.contains(said), "{copied}");
    rows_of_now();
    // The tool refuses --dump-history here: its dumps have the rows of now.
    let mut tool = Command::new("mariadb-dump");
    tool.args(["--no-defaults", "-uroot", "-S"]).arg(source.socket()).args(["--databases", "lo_past"]);
    fs::write(&script, feed(&mut tool, b"").stdout).unwrap();
    run(&mut restore(target, &script, "")).done();
    rows_of_now();
}
