//! Sessions that are in the way of the snapshot's lock, and those that the dump must not be in the way of.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use drover_sandbox::{Cluster, Flavour, Server, StartOptions, Topology};

use crate::client::{Session, sql, try_sql, value, wait_until};
use crate::drover::{Output, Running, drover, dump, run};
use crate::files::{manifest, manifest_path, table};
use crate::one_server::dealer::Dealer;
use crate::servers::{is_wanted, on_both, source, start};

on_both!(
    who_is_in_the_way_is_said,
    what_replication_applies_is_in_the_way,
    open_transactions_are_not_in_the_way,
    contended_rows,
    interrupted_while_waiting,
    flushed_while_tables_are_locked,
    others_go_on
);

fn impatient_dump(server: &Server) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let output = run(&mut dump(server, "locked --lock-timeout 1", dir.path()));
    assert!(started.elapsed().as_secs() < 20, "it waited for {:?}: {output}", started.elapsed());
    assert_eq!(output.code == Some(0), manifest_path(dir.path()).exists(), "{output}");
    output
}

fn prepared(flavour: Flavour) -> Server {
    let server = start(flavour, &[]);
    sql(
        &server,
        "CREATE DATABASE locked; CREATE TABLE locked.t (id INT PRIMARY KEY, v INT) ENGINE = InnoDB;
         CREATE TABLE locked.m (id INT PRIMARY KEY, v INT) ENGINE = MyISAM;
         INSERT INTO locked.t VALUES (1, 1), (2, 2); INSERT INTO locked.m VALUES (1, 1)",
    );
    server
}

fn who_is_in_the_way_is_said(flavour: Flavour) {
    let server = prepared(flavour);
    let mut session = Session::open(&server);
    session.send("UPDATE locked.m SET v = v + SLEEP(60)");
    session.wait_until_running("SLEEP(60)");
    impatient_dump(&server).refused(&["UPDATE locked.m SET v = v + SLEEP(60)", "1 s", "--lock-timeout"]);
    drop(session);

    for table in ["t", "m"] {
        let mut session = Session::open(&server);
        session.run(&format!("LOCK TABLES locked.{table} WRITE"));
        impatient_dump(&server).refused(&["root@localhost", "LOCK TABLES", "--lock-timeout"]);
    }
    // Nothing of drover's is left that would hold anybody back.
    sql(
        &server,
        "SET lock_wait_timeout = 5; UPDATE locked.t SET v = 5; UPDATE locked.m SET v = 5; CREATE TABLE locked.n (id INT)",
    );
    assert_eq!(impatient_dump(&server).code, Some(0));
}

/// It is no client, and not to be killed.
fn what_replication_applies_is_in_the_way(flavour: Flavour) {
    let options = StartOptions {
        server_options: vec!["--binlog-format=STATEMENT".into()],
        ..StartOptions::ephemeral(flavour)
    };
    let cluster = Cluster::start(Topology::Replica, &options).unwrap();
    let [source, replica] = cluster.nodes() else { panic!("two nodes") };
    sql(
        source,
        "CREATE DATABASE locked; CREATE TABLE locked.m (id INT PRIMARY KEY, v INT) ENGINE = MyISAM; INSERT INTO locked.m VALUES (1, 1)",
    );
    sql(
        source,
        format!(
            "UPDATE locked.m SET v = v + SLEEP(IF(@@GLOBAL.server_id = {}, 60, 0))",
            value(replica, "SELECT @@server_id")
        ),
    );
    let is_applied = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'system user' AND INFO LIKE 'UPDATE locked.m%'";
    wait_until("the replica applies it", || value(replica, is_applied) == "1");
    let output = impatient_dump(replica).refused(&[
        "replication, which applies a transaction of its source (connection",
        "UPDATE locked.m SET v = v + SLEEP",
        "STOP REPLICA SQL_THREAD",
        "--lock-timeout",
    ]);
    assert!(!output.stderr.contains("KILL"), "{output}");
}

fn open_transactions_are_not_in_the_way(flavour: Flavour) {
    let (server, dir) = (prepared(flavour), tempfile::tempdir().unwrap());
    let mut session = Session::open(&server);
    session
        .run("START TRANSACTION; INSERT INTO locked.t VALUES (3, 3); UPDATE locked.t SET v = 0 WHERE id = 1");
    run(&mut dump(&server, "locked --lock-timeout 5", dir.path())).done();
    assert_eq!(
        table(&manifest(dir.path()), "locked", "t")["files"][0]["rows"],
        2,
        "an uncommitted row was dumped"
    );
    session.run("COMMIT");
}

/// A writer waits for a row of a transaction whose next statement waits for MySQL's global lock, which waits for that
/// writer. No server sees that circle: the dump must let the writers go on, and come back.
fn contended_rows(flavour: Flavour) {
    let (server, dir) = (&prepared(flavour), tempfile::tempdir().unwrap());
    let (mut first, mut second) = (Session::open(server), Session::open(server));
    first.run("START TRANSACTION; UPDATE locked.t SET v = 10 WHERE id = 1");
    second.send("UPDATE locked.t SET v = 20 WHERE id = 1");
    second.wait_until_running("SET v = 20");
    let mut dumping = Running::start(&mut dump(server, "locked --lock-timeout 20", dir.path()));
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'FLUSH TABLES%'";
    wait_until("the dump waits for its lock", || dumping.has_ended() || value(server, waiting) == "1");
    let started = Instant::now();
    first.run("UPDATE locked.t SET v = 10 WHERE id = 2; COMMIT");
    assert!(started.elapsed().as_secs() < 6, "a writer was held for {:?}", started.elapsed());
    second.run("DO 0");
    dumping.finish().done();
}

/// Ctrl-C while the lock does not come through: nothing of drover's stays in the queue for it.
fn interrupted_while_waiting(flavour: Flavour) {
    let (server, dir) = (&prepared(flavour), tempfile::tempdir().unwrap());
    let mut session = Session::open(server);
    session.run("LOCK TABLES locked.m WRITE");
    let mut dumping = Running::start(&mut dump(server, "locked --lock-timeout 60", dir.path()));
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'FLUSH TABLES%' OR INFO LIKE 'LOCK TABLES%'";
    wait_until("the dump waits for its lock", || dumping.has_ended() || value(server, waiting) == "1");
    let started = Instant::now();
    dumping.signal("INT");
    dumping.finish().refused(&["stopped"]);
    assert!(started.elapsed().as_secs() < 20, "it went on for {:?}", started.elapsed());
    wait_until("nobody waits", || value(server, waiting) == "0");
    sql(server, "SET lock_wait_timeout = 5; UPDATE locked.t SET v = 5");
}

/// Somebody flushes tables, and gives up, while the dump has some locked and still asks for definitions that open them.
fn flushed_while_tables_are_locked(flavour: Flavour) {
    const VIEWS: usize = 300;
    let (server, dir) = (&prepared(flavour), tempfile::tempdir().unwrap());
    let views: String = (0..VIEWS)
        .map(|number| format!("CREATE VIEW locked.v{number} AS SELECT v FROM locked.m;\n"))
        .collect();
    sql(server, views);
    let out = dir.path().join("out");
    let mut dumping = Running::start(&mut dump(server, "locked --lock-timeout 20", &out));
    let before_views = out.join("locked/t.sql");
    dumping.freeze_when("the tables are described", || before_views.exists());
    let flushed = try_sql(server, "SET lock_wait_timeout = 1; FLUSH TABLES");
    // MariaDB's waits for nobody, and nobody for it.
    assert_eq!(flushed.is_err(), flavour == Flavour::MySql, "{flushed:?}");
    dumping.signal("CONT");
    dumping.finish().done();
    let dumped = &manifest(&out)["schemas"][0]["views"];
    assert_eq!(dumped.as_array().map(Vec::len), Some(VIEWS), "{dumped}");
    assert!(dumped.as_array().unwrap().iter().all(|view| view["broken"] != true), "{dumped}");
}

/// The server may end the dump's wait for this lock, since somebody waits for what it holds and holds what it waits for.
#[test]
fn a_deadlock_of_the_lock_on_ddl() {
    const DEADLOCK: &str = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'";
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let (server, dir) = (source(Flavour::MySql), tempfile::tempdir().unwrap());
    sql(
        server,
        "CREATE DATABASE deadlocked; CREATE TABLE deadlocked.t (id INT PRIMARY KEY); INSERT INTO deadlocked.t VALUES (1)",
    );
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, socket, out) = (Arc::clone(&count), dir.path().join("sock"), dir.path().join("out"));
    let dealer = Dealer::changing(server, &socket, move |statement| {
        let is_lock = statement == b"LOCK INSTANCE FOR BACKUP";
        (is_lock && counted.fetch_add(1, Ordering::SeqCst) == 0).then_some(DEADLOCK)
    });
    let mut command = drover("dump deadlocked --no-defaults -u root --lock-timeout 60");
    command.arg("--socket").arg(dealer.socket()).arg("--out").arg(&out);
    run(&mut command).done();
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!(table(&manifest(&out), "deadlocked", "t")["files"][0]["rows"], 1);
    sql(server, "DROP DATABASE deadlocked");
}

/// While dumps run one after the other, two of them at once, others write, make and drop tables, and no statement fails.
fn others_go_on(flavour: Flavour) {
    let (server, dir) = (&prepared(flavour), tempfile::tempdir().unwrap());
    let statements = |number: usize| {
        let one = format!(
            "CREATE TABLE other{number}.x (id INT PRIMARY KEY) ENGINE = InnoDB; INSERT INTO other{number}.x VALUES (1); \
             ALTER TABLE other{number}.x ADD COLUMN v INT; DROP TABLE other{number}.x;\n"
        );
        format!("CREATE DATABASE other{number};\n{}", one.repeat(60))
    };
    std::thread::scope(|scope| {
        let others = [statements(0), statements(1)].map(|text| scope.spawn(move || try_sql(server, &text)));
        let mut number = 0;
        while !others.iter().all(|other| other.is_finished()) {
            let dumps = [0, 1].map(|half| {
                let out = dir.path().join(format!("{number}-{half}"));
                Running::start(&mut dump(server, "locked --lock-timeout 20", &out))
            });
            dumps.into_iter().for_each(|dump| drop(dump.finish().done()));
            number += 1;
        }
        assert!(number > 1, "there was no time for two dumps: the test proves nothing");
        for other in others {
            other.join().unwrap().unwrap_or_else(|error| panic!("{error}"));
        }
    });
}
