//! What would not come to the same in parts is refused, with the reason, and before anything is changed.

use drover_sandbox::Flavour;

use super::{assert_forgotten, chunk};
use crate::client::{sql, value};
use crate::drover::run;
use crate::servers::{on_both, source, start};
use crate::throttle::replica_of;

on_both!(
    statements,
    tables,
    triggers_that_move_the_key,
    triggers_that_hand_the_key_on,
    foreign_keys_that_lead_back,
    foreign_keys_that_are_hidden,
    a_rate_that_cannot_be_measured,
    replicas_that_cannot_be_watched,
    servers_that_are_no_replicas,
    defaults_that_change,
    triggers_that_call_packages
);

fn statements(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_refused");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, a INT, u INT NOT NULL UNIQUE);
             INSERT INTO t VALUES (1, 1, 1); CREATE TABLE other (id INT PRIMARY KEY, a INT, u INT); CREATE VIEW v AS SELECT * FROM t;
             CREATE FUNCTION own(x INT) RETURNS INT DETERMINISTIC RETURN x"
        ),
    );
    let cases: &[(&str, &str)] = &[
        ("DELETE FROM t ORDER BY a", "ORDER BY"),
        ("DELETE FROM t WHERE a = 1 LIMIT 5", "LIMIT"),
        ("UPDATE t SET a = 1 ORDER BY id", "ORDER BY"),
        ("UPDATE t SET a = 1 LIMIT 1", "LIMIT"),
        ("DELETE FROM t WHERE a = 1 RETURNING id", "RETURNING"),
        ("DELETE t FROM t JOIN other USING (id)", "several tables"),
        ("DELETE FROM t USING t JOIN other USING (id)", "a join"),
        ("DELETE FROM t, other USING t JOIN other", "several tables"),
        ("UPDATE t, other SET t.a = other.a WHERE t.id = other.id", "several tables"),
        ("UPDATE t JOIN other USING (id) SET t.a = 1", "a join"),
        ("UPDATE t LEFT JOIN other USING (id) SET t.a = 1", "a join"),
        ("DELETE IGNORE FROM t", "IGNORE"),
        ("UPDATE IGNORE t SET a = 1", "IGNORE"),
        ("INSERT IGNORE INTO other SELECT * FROM t", "IGNORE"),
        ("DELETE FROM t PARTITION (p0)", "PARTITION"),
        ("DELETE FROM t WHERE a > (SELECT AVG(a) FROM t)", "a subquery reads `chunk_refused`.`t`"),
        (
            "DELETE FROM t WHERE a > (SELECT AVG(a) FROM (SELECT a FROM chunk_refused.t x) y)",
            "a subquery reads",
        ),
        ("DELETE FROM t WHERE id IN (SELECT id FROM v)", "a view"),
        ("DELETE FROM t WHERE id IN (SELECT id FROM nowhere)", "there is no table"),
        ("DELETE FROM t WHERE id IN (WITH x AS (SELECT 1 id) SELECT id FROM x)", "WITH"),
        ("DELETE FROM t WHERE id IN (SELECT id FROM other UNION TABLE t)", "TABLE"),
        ("DELETE FROM t WHERE id IN ((SELECT id FROM other) UNION ALL (TABLE `t`))", "TABLE"),
        (
            "INSERT INTO other SELECT * FROM t WHERE id NOT IN ((SELECT 1) UNION SELECT id FROM other)",
            "a subquery reads `chunk_refused`.`other`",
        ),
        ("DELETE FROM t WHERE id IN (SELECT t FROM other)", "a subquery names t"),
        ("UPDATE t SET id = id + 1, u = u + 1", "cannot be walked"),
        ("DELETE FROM t WHERE RAND() < 0.5", "RAND()"),
        ("UPDATE t SET a = uuid_short ()", "uuid_short()"),
        ("UPDATE t SET a = SYSDATE() + 0", "SYSDATE()"),
        ("DELETE FROM t WHERE ROWNUM() <= 10", "ROWNUM()"),
        ("DELETE FROM t WHERE rownum <= 10", "ROWNUM"),
        ("UPDATE t SET a = own(a)", "own()"),
        ("UPDATE t SET a = chunk_refused.own(a)", "own()"),
        ("UPDATE t SET a = pkg.n()", "pkg.n()"),
        ("DELETE FROM t WHERE a < chunk_refused . `pkg` . n (1)", "chunk_refused.`pkg`.n()"),
        ("UPDATE t SET a = s.NEXTVAL", "NEXTVAL"),
        ("UPDATE t SET a = SYSDATE", "SYSDATE"),
        ("UPDATE t SET a = PREVIOUS VALUE FOR s", "PREVIOUS VALUE FOR"),
        ("UPDATE t SET a = @x := @x + 1", "a variable"),
        ("DELETE FROM t WHERE a < @@server_id", "a variable"),
        ("DELETE FROM t WHERE a = 1; DELETE FROM t", "several statements"),
        ("DELETE FROM t WHERE a = 1) OR (a = 2", "parentheses"),
        ("DELETE FROM t WHERE /*!50000 a = 1 AND */ id = 1", "version comment"),
        ("DELETE FROM t WHERE", "nothing behind WHERE"),
        ("INSERT INTO other SELECT COUNT(*), 1, 1 FROM t", "COUNT()"),
        ("INSERT INTO other SELECT DISTINCT id, a, u FROM t", "DISTINCT"),
        ("INSERT INTO other SELECT id, a, u FROM t GROUP BY id", "GROUP BY"),
        ("INSERT INTO other SELECT ROW_NUMBER() OVER (ORDER BY id), a, u FROM t", "a window function"),
        ("INSERT INTO other SELECT * FROM t UNION SELECT * FROM t", "UNION"),
        ("INSERT INTO other SELECT * FROM t ON DUPLICATE KEY UPDATE a = 1", "ON DUPLICATE KEY"),
        ("INSERT INTO t SELECT id + 10, a, u + 10 FROM t", "inserts into the table"),
        ("INSERT INTO other SELECT * FROM t WHERE id IN (SELECT id FROM other)", "a subquery reads"),
        ("INSERT INTO other VALUES (1, 2, 3)", "INSERT with a SELECT"),
        ("INSERT INTO other SELECT 1, 2, 3", "reads from no table"),
        ("REPLACE INTO other SELECT * FROM t", "not a statement"),
        ("TRUNCATE t", "not a statement"),
        ("", "not a statement"),
        ("DELETE FROM nowhere", "there is no table"),
        ("DELETE FROM v", "a view"),
    ];
    for (statement, culprit) in cases {
        run(&mut chunk(server, schema, "", statement)).refused(&[culprit]);
    }
    assert_eq!(sql(server, format!("SELECT * FROM {schema}.t")), [["1", "1", "1"]]);
    assert_forgotten(server, schema);
}

fn tables(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_tables");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE nokey (a INT); CREATE TABLE nullable (a INT UNIQUE);
             CREATE TABLE aria (id INT PRIMARY KEY) ENGINE = MyISAM; CREATE TABLE prefix (a VARCHAR(90) NOT NULL, UNIQUE KEY (a(5)));
             CREATE TABLE parent (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES parent (id) ON DELETE CASCADE);
             CREATE TABLE shop (id INT PRIMARY KEY);
             CREATE TABLE item (id INT PRIMARY KEY, shop INT, CONSTRAINT of_shop FOREIGN KEY (shop) REFERENCES shop (id) ON DELETE SET NULL);
             CREATE TABLE log (id INT); CREATE TABLE noted (id INT PRIMARY KEY);
             CREATE TRIGGER note AFTER DELETE ON noted FOR EACH ROW INSERT INTO log VALUES (OLD.id);
             INSERT INTO shop VALUES (1); INSERT INTO item VALUES (1, 1); INSERT INTO noted VALUES (1), (2)"
        ),
    );
    let delete = |table: &str, options: &str| {
        run(&mut chunk(server, schema, options, &format!("DELETE FROM {table}")))
    };
    for (table, options, culprits) in [
        ("nokey", "", ["`chunk_tables`.`nokey`", "no primary key"]),
        ("nullable", "", ["nullable", "no primary key"]),
        ("prefix", "", ["prefix", "no primary key"]),
        ("aria", "", ["MyISAM", "no transactions"]),
        ("parent", "", ["parent", "refers to the table itself"]),
        ("shop", "--archive /nonexistent/file", ["of_shop", "archive"]),
        ("noted", "--archive /nonexistent/file", ["/nonexistent/file", "No such file"]),
        ("noted", "--key nokey", ["noted", "no key nokey"]),
        ("noted", "--max-lag 2s", ["--max-lag", "replica"]),
        ("noted", "--max-load Threads_walking=5", ["no status variable", "Threads_walking"]),
        ("noted", "--critical-load Threads_walking=5 --dry-run", ["no status variable", "Threads_walking"]),
    ] {
        delete(table, options).refused(&culprits);
    }
    assert_forgotten(server, schema);
    let output = delete("shop", "").done();
    assert!(
        output.stderr.contains("warning: the foreign key of_shop changes rows of `chunk_tables`.`item`"),
        "{output}"
    );
    let output = delete("noted", "").done();
    assert!(output.stderr.contains("warning: the trigger note of"), "{output}");
    assert_eq!(sql(server, format!("SELECT * FROM {schema}.log ORDER BY id")), [["1"], ["2"]]);
}

/// Rows would come again under another key; another key that stays can be walked.
fn triggers_that_move_the_key(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_moved");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, u INT NOT NULL UNIQUE, a INT);
             INSERT INTO t SELECT n, n, 0 FROM (SELECT 1 n UNION SELECT 2 UNION SELECT 3) s;
             CREATE TRIGGER mover BEFORE UPDATE ON t FOR EACH ROW SET NEW.id = NEW.id + 1000"
        ),
    );
    run(&mut chunk(server, schema, "--key PRIMARY", "UPDATE t SET a = a + 1"))
        .refused(&["mover", "may change id"]);
    run(&mut chunk(server, schema, "", "UPDATE t SET a = a + 1")).done();
    assert_eq!(
        value(server, format!("SELECT GROUP_CONCAT(id, ':', a ORDER BY id) FROM {schema}.t")),
        "1001:1,1002:1,1003:1"
    );
}

/// What a trigger hands its key to may change it, such as a procedure with a parameter of INOUT. A trigger that only reads it does not.
fn triggers_that_hand_the_key_on(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_handed");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, a INT); CREATE TABLE log (id INT, a INT);
             INSERT INTO t VALUES (1000, 0), (2000, 0), (3000, 0), (4000, 0);
             CREATE PROCEDURE q(INOUT x INT) SET x = x + 3501"
        ),
    );
    let bodies =
        ["CALL q(NEW.id)", "IF NEW.a = 0 THEN CALL q(NEW.id); END IF", "SET `new`.id = NEW.id + 3501"];
    let update = || run(&mut chunk(server, schema, "--chunk-size 1k", "UPDATE t SET a = a + 1"));
    for body in bodies {
        let delimited = format!(
            "USE {schema};\nDELIMITER //\nCREATE TRIGGER mover BEFORE UPDATE ON t FOR EACH ROW {body}//"
        );
        sql(server, delimited);
        update().refused(&["the trigger mover may change id"]);
        sql(server, format!("DROP TRIGGER {schema}.mover"));
    }
    assert_eq!(value(server, format!("SELECT SUM(a) FROM {schema}.t")), "0");
    assert_forgotten(server, schema);
    sql(
        server,
        format!(
            "USE {schema}; CREATE TRIGGER reader BEFORE UPDATE ON t FOR EACH ROW INSERT INTO log VALUES (ABS(NEW.id), NEW.id)"
        ),
    );
    update().done();
    assert_eq!(value(server, format!("SELECT COUNT(DISTINCT a) FROM {schema}.log WHERE a >= 1000")), "4");
}

/// A change that comes back over a second table changes rows of other parts, and what is removed may come back too.
fn foreign_keys_that_lead_back(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_back");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, up INT);
             CREATE TABLE between_them (x INT UNIQUE, CONSTRAINT there FOREIGN KEY (x) REFERENCES t (u) ON UPDATE CASCADE);
             ALTER TABLE t ADD CONSTRAINT back FOREIGN KEY (up) REFERENCES between_them (x) ON UPDATE CASCADE"
        ),
    );
    let run = |statement: &str| run(&mut chunk(server, schema, "", statement));
    run("UPDATE t SET u = u + 100").refused(&["comes back to", "back"]);
    // What SET NULL writes is followed by UPDATE rules, where these are for the column that is written.
    for (there, back, column, comes_back) in [
        ("ON DELETE CASCADE", "ON DELETE CASCADE", "x", true),
        ("ON DELETE CASCADE", "ON DELETE SET NULL", "x", true),
        ("ON DELETE CASCADE", "ON UPDATE CASCADE", "x", false),
        ("ON DELETE SET NULL", "ON UPDATE CASCADE", "x", true),
        ("ON DELETE SET NULL", "ON UPDATE CASCADE", "other", false),
        ("ON DELETE SET NULL", "ON DELETE CASCADE", "x", false),
        ("ON UPDATE CASCADE", "ON DELETE CASCADE", "x", false),
    ] {
        sql(
            server,
            format!(
                "USE {schema}; ALTER TABLE t DROP FOREIGN KEY back; DROP TABLE between_them;
                 CREATE TABLE between_them (x INT UNIQUE, other INT UNIQUE, CONSTRAINT there FOREIGN KEY (x) REFERENCES t (u) {there});
                 ALTER TABLE t ADD CONSTRAINT back FOREIGN KEY (up) REFERENCES between_them ({column}) {back}"
            ),
        );
        let output = run("DELETE FROM t WHERE up > 2");
        match comes_back {
            true => output.refused(&["comes back to", "the foreign key back to", "between_them"]),
            false => output.done(),
        };
    }
    sql(
        server,
        format!(
            "USE {schema}; ALTER TABLE t DROP FOREIGN KEY back; DROP TABLE between_them;
             CREATE TABLE read_too (x INT UNIQUE, CONSTRAINT away FOREIGN KEY (x) REFERENCES t (u) ON DELETE CASCADE)"
        ),
    );
    run("DELETE FROM t WHERE id < (SELECT MIN(x) FROM read_too)").refused(&["a subquery reads", "away"]);
}

/// Nobody sees what they remove who has no privilege on their tables.
fn foreign_keys_that_are_hidden(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_hidden");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE DATABASE {schema}_child; CREATE TABLE {schema}.t (id INT PRIMARY KEY);
             CREATE TABLE {schema}_child.c (id INT, CONSTRAINT away FOREIGN KEY (id) REFERENCES {schema}.t (id) ON DELETE CASCADE);
             INSERT INTO {schema}.t VALUES (1); INSERT INTO {schema}_child.c VALUES (1);
             CREATE USER chunk_hidden@localhost; GRANT ALL ON {schema}.* TO chunk_hidden@localhost"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    let archive = format!("--archive {}", dir.path().join("kept").display());
    let hidden = |options: &str| {
        run(&mut chunk(server, schema, &format!("-u chunk_hidden {options}"), "DELETE FROM t"))
    };
    let said = "may not see all foreign keys";
    for (options, effect) in [("", "not counted"), (archive.as_str(), "not be in the archive")] {
        let output = hidden(&format!("--dry-run {options}")).done();
        assert!(output.stderr.contains(said) && output.stderr.contains(effect), "{output}");
    }
    sql(server, "GRANT REFERENCES ON *.* TO chunk_hidden@localhost");
    let seen = hidden("--dry-run").done();
    assert!(seen.stderr.contains("away") && !seen.stderr.contains(said), "{seen}");
    hidden(&archive).refused(&["the foreign key away", "archive"]);
    sql(server, "DROP USER chunk_hidden@localhost");
}

fn a_rate_that_cannot_be_measured(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_unmeasured");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY, a INT); INSERT INTO {schema}.t VALUES (1, 1);
             CREATE USER chunk_poor@localhost; GRANT ALL ON {schema}.* TO chunk_poor@localhost"
        ),
    );
    let poor = |options: &str| {
        run(&mut chunk(server, schema, &format!("-u chunk_poor {options}"), "UPDATE t SET a = 2"))
    };
    poor("--max-rate 1M").refused(&["--max-rate", "may not see"]);
    for more in ["", "--dry-run"] {
        let options = format!("--max-lag 2s --replica mysql://root@127.0.0.1:1 {more}");
        poor(&options).refused(&["asking for the position in the binary log", "hint: grant"]);
    }
    assert_eq!(value(server, format!("SELECT a FROM {schema}.t")), "1");
    assert_forgotten(server, schema);
    poor("").done();
    sql(server, "DROP USER chunk_poor@localhost");
}

/// Nothing is begun then: what a run leaves would be in the way of the next one.
fn replicas_that_cannot_be_watched(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_itself");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY); INSERT INTO {schema}.t VALUES (1)"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("kept");
    let with_archive = format!("--archive {}", archive.display());
    for (user, by, culprit) in [
        ("root", "heartbeat", "the server which is changed itself"),
        ("root", "status", "it is no replica of this server"),
        ("nobody", "heartbeat", "refused the login of 'nobody'"),
        ("nobody", "status", "refused the login of 'nobody'"),
    ] {
        for more in ["", "--dry-run", &with_archive] {
            let options = format!("--max-lag 2s --lag-by {by} {more}");
            let mut command = chunk(server, schema, &options, "DELETE FROM t");
            command.arg("--replica").arg(format!("mysql://{user}@/?socket={}", server.socket().display()));
            run(&mut command).refused(&["cannot be watched", culprit]);
            assert_forgotten(server, schema);
            assert!(!archive.exists(), "{user} {options}");
        }
    }
    assert_eq!(value(server, format!("SELECT COUNT(*) FROM {schema}.t")), "1");
}

/// What a run would wait for in vain is told before it begins.
fn servers_that_are_no_replicas(flavour: Flavour) {
    let logged = |id: &str| start(flavour, &["--log-bin=binlog", "--binlog-format=ROW", id]);
    let (server, other, schema) = (&logged("--server-id=1"), &logged("--server-id=77"), "chunk_stranger");
    let (own, of_other) = (&replica_of(server), &replica_of(other));
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY); INSERT INTO {schema}.t VALUES (1)"
        ),
    );
    sql(own, "START REPLICA");
    sql(of_other, "START REPLICA");
    crate::client::wait_until("both are connected", || {
        [own, of_other].iter().all(|replica| crate::throttle::lag_of(replica) == Some(0))
    });
    let watched = |replica: &drover_sandbox::Server, more: &str| {
        let mut command = chunk(server, schema, &format!("--max-lag 2s {more}"), "DELETE FROM t");
        command.arg("--replica").arg(format!("mysql://root@/?socket={}", replica.socket().display()));
        run(&mut command)
    };
    for more in ["--dry-run", ""] {
        watched(other, more).refused(&[
            "cannot be watched",
            "it replicates from no server",
            "--replica names",
        ]);
        watched(of_other, more).refused(&["cannot be watched", "it replicates from", "neither the server"]);
    }
    assert_forgotten(server, schema);
    watched(own, "").done();
    assert_eq!(value(server, format!("SELECT COUNT(*) FROM {schema}.t")), "0");
}

/// The word DEFAULT hides what is refused where it is written.
fn defaults_that_change(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_defaults");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema};
             CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 5, r DOUBLE DEFAULT (RAND()), k CHAR(36) DEFAULT (UUID()),
               ts DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6));
             CREATE TABLE u (a DATETIME(6)); INSERT INTO t (id) VALUES (1), (2)"
        ),
    );
    for (statement, culprit) in [
        ("UPDATE t SET r = DEFAULT", "the default of r of"),
        ("UPDATE t SET a = 1, t.k = DEFAULT", "the default of k of"),
        ("UPDATE t SET ts = COALESCE(DEFAULT(`t`.ts), 1)", "the default of ts of"),
        ("DELETE FROM t WHERE ts < DEFAULT (ts)", "the default of ts of"),
        ("INSERT INTO u SELECT DEFAULT(ts) FROM t", "the default of ts of"),
    ] {
        run(&mut chunk(server, schema, "", statement)).refused(&[culprit, "another value in each part"]);
    }
    assert_forgotten(server, schema);
    run(&mut chunk(server, schema, "", "UPDATE t SET a = DEFAULT")).done();
    assert_eq!(value(server, format!("SELECT SUM(a) FROM {schema}.t")), "10");
}

/// No catalogue names the functions of a package: what they do is not known, where it matters.
fn triggers_that_call_packages(flavour: Flavour) {
    if flavour == Flavour::MySql {
        return;
    }
    let (server, schema) = (source(flavour), "chunk_package");
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, a INT); CREATE TABLE read_too (id INT PRIMARY KEY);
         INSERT INTO t VALUES (1, 0), (2, 0); SET sql_mode = 'ORACLE';
DELIMITER //
CREATE PACKAGE pkg AS FUNCTION n RETURN INT; END//
CREATE PACKAGE BODY pkg AS FUNCTION n RETURN INT AS BEGIN DELETE FROM read_too; RETURN 1; END; END//
CREATE TRIGGER caller BEFORE UPDATE ON t FOR EACH ROW BEGIN :NEW.a := pkg.n(); END//"
    );
    sql(server, script);
    let statement = "UPDATE t SET a = a + 1 WHERE id NOT IN (SELECT id FROM read_too)";
    run(&mut chunk(server, schema, "", statement)).refused(&["the trigger caller calls", "pkg"]);
    run(&mut chunk(server, schema, "", "UPDATE t SET a = pkg.n()")).refused(&["pkg.n()"]);
    assert_forgotten(server, schema);
}
