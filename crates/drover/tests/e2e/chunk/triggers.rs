//! Triggers that cannot be seen, and those that lead to a table that the statement uses: both are refused before the first row.

use drover_sandbox::{Flavour, Server};

use super::{assert_forgotten, chunk};
use crate::client::{sql, value};
use crate::drover::run;
use crate::servers::{on_both, source};

on_both!(
    that_are_hidden,
    that_are_hidden_and_move_the_key,
    that_lead_to_what_a_subquery_reads,
    that_lead_elsewhere,
    that_lead_back_to_the_walked_table,
    that_change_by_hidden_foreign_keys,
    that_call_what_is_hidden
);

/// Nobody sees triggers who may not have them.
fn that_are_hidden(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_unseen");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, a INT); CREATE TABLE other (id INT PRIMARY KEY, a INT);
             CREATE TABLE log (id INT); CREATE TRIGGER noter AFTER DELETE ON t FOR EACH ROW INSERT INTO log VALUES (OLD.id);
             CREATE USER chunk_unseen@localhost; GRANT REFERENCES ON *.* TO chunk_unseen@localhost;
             GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON {schema}.* TO chunk_unseen@localhost"
        ),
    );
    let statements =
        [("DELETE FROM t", "t"), ("UPDATE t SET a = 1", "t"), ("INSERT INTO other SELECT * FROM t", "other")];
    let unseen = |options: &str, statement: &str| {
        run(&mut chunk(server, schema, &format!("-u chunk_unseen --dry-run {options}"), statement))
    };
    for (statement, table) in statements {
        let said = format!("may not see the triggers of `{schema}`.`{table}` (TRIGGER)");
        let hint = format!("GRANT TRIGGER ON `{schema}`.`{table}`");
        unseen("", statement).refused(&[&said, &hint, "--allow-hidden-triggers"]);
        let allowed = unseen("--allow-hidden-triggers", statement).done();
        assert!(allowed.stderr.contains(&format!("warning: this account {said}")), "{allowed}");
    }
    sql(server, format!("GRANT TRIGGER ON {schema}.t TO chunk_unseen@localhost"));
    sql(server, format!("GRANT TRIGGER ON {schema}.other TO chunk_unseen@localhost"));
    for (statement, _) in statements {
        let seen = unseen("", statement).done();
        assert!(!seen.stderr.contains("may not see"), "{seen}");
    }
    sql(server, "DROP USER chunk_unseen@localhost");
}

/// Rows were changed up to three times.
fn that_are_hidden_and_move_the_key(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_unseen_key");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE pk (id INT PRIMARY KEY, v INT);
             INSERT INTO pk WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n * 10, 1 FROM s;
             CREATE TRIGGER tr BEFORE UPDATE ON pk FOR EACH ROW SET NEW.id = NEW.id + 3331;
             CREATE USER chunk_ow@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON {schema}.* TO chunk_ow@localhost"
        ),
    );
    let update = || {
        let options = "-u chunk_ow --chunk-size 2k --chunk-time 1ms -q";
        run(&mut chunk(server, schema, options, "UPDATE pk SET v = v + 1"))
    };
    update().refused(&["may not see the triggers", "--allow-hidden-triggers"]);
    sql(server, format!("GRANT TRIGGER ON {schema}.* TO chunk_ow@localhost"));
    update().refused(&["the trigger tr may change id"]);
    assert_eq!(value(server, format!("SELECT SUM(v) FROM {schema}.pk")), "1000");
    assert_forgotten(server, schema);
    sql(server, "DROP USER chunk_ow@localhost");
}

/// Tables `a`, `b` whose key refers to that of `a`, `c`, `log` and `t`, of 100 rows each.
fn make_chain(server: &Server, schema: &str) {
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT);
             CREATE TABLE a (id INT PRIMARY KEY, n INT); CREATE TABLE c (id INT PRIMARY KEY, n INT); CREATE TABLE log (id INT, n INT);
             CREATE TABLE b (id INT PRIMARY KEY, CONSTRAINT of_a FOREIGN KEY (id) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE);
             INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 100) SELECT n, 0, 0 FROM s;
             INSERT INTO a SELECT id, 0 FROM t; INSERT INTO b SELECT id FROM t; INSERT INTO c SELECT id, 0 FROM t;
             CREATE VIEW of_c AS SELECT * FROM c; CREATE VIEW shown AS SELECT * FROM a;
             CREATE TRIGGER removed AFTER DELETE ON c FOR EACH ROW DELETE FROM a WHERE id = OLD.id;
             CREATE TRIGGER added AFTER INSERT ON log FOR EACH ROW UPDATE c SET n = 1 WHERE id = NEW.id"
        ),
    );
    let routines = "
        CREATE PROCEDURE remove(i INT) BEGIN IF i > 0 THEN DELETE FROM a WHERE id = i; END IF; END//
        CREATE PROCEDURE deeper(i INT) CALL remove(i)//
        CREATE FUNCTION removing(i INT) RETURNS INT DETERMINISTIC BEGIN DELETE FROM a WHERE id = i; RETURN 1; END//
        CREATE FUNCTION counted() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM b)//";
    sql(server, format!("USE {schema};\nDELIMITER //\n{routines}"));
}

fn with_trigger<T>(server: &Server, schema: &str, body: &str, then: impl FnOnce() -> T) -> T {
    let trigger = format!("CREATE TRIGGER tt AFTER UPDATE ON t FOR EACH ROW {body}//");
    sql(server, format!("USE {schema};\nDELIMITER //\n{trigger}"));
    let done = then();
    sql(server, format!("DROP TRIGGER {schema}.tt"));
    done
}

const READS_B: &str = "UPDATE t SET w = w + 1 WHERE (SELECT COUNT(*) FROM b) > 50";

fn that_lead_to_what_a_subquery_reads(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_led");
    make_chain(server, schema);
    let of_b = "a subquery reads `chunk_led`.`b`, which the trigger tt changes";
    let unknown = "the trigger tt changes `chunk_led`.`shown`, which is a view";
    for (body, said) in [
        ("DELETE FROM a WHERE id = NEW.id", of_b),
        ("DELETE x FROM a AS x JOIN c ON c.id = x.id WHERE x.id = NEW.id", of_b),
        ("REPLACE INTO chunk_led.a VALUES (NEW.id, 1)", of_b),
        ("UPDATE a SET id = id + 1000 WHERE id = NEW.id", of_b),
        ("INSERT INTO a VALUES (NEW.id, 1) ON DUPLICATE KEY UPDATE id = NEW.id + 1000", of_b),
        ("DELETE FROM b WHERE id = NEW.id", of_b),
        ("IF NEW.id > 1000 THEN INSERT INTO b VALUES (NEW.id); END IF", of_b),
        ("DELETE FROM c WHERE id = NEW.id", of_b),
        ("CALL remove(NEW.id)", of_b),
        ("CALL chunk_led.deeper(NEW.id)", of_b),
        ("SET @x = removing(NEW.id)", of_b),
        ("DELETE FROM shown WHERE id = NEW.id", unknown),
    ] {
        with_trigger(server, schema, body, || {
            run(&mut chunk(server, schema, "", READS_B)).refused(&[said]);
        });
    }
    assert_eq!(value(server, format!("SELECT SUM(w) FROM {schema}.t")), "0");
    let of_c = "a subquery reads `chunk_led`.`c`, which the trigger tt changes";
    let by_insert = "INSERT INTO target SELECT id, v FROM t WHERE (SELECT SUM(n) FROM c) < 50";
    sql(
        server,
        format!(
            "USE {schema}; CREATE TABLE target (id INT PRIMARY KEY, v INT);
             CREATE TRIGGER tt AFTER INSERT ON target FOR EACH ROW INSERT INTO log VALUES (NEW.id, 1)"
        ),
    );
    run(&mut chunk(server, schema, "", by_insert)).refused(&[of_c]);
    assert_eq!(value(server, format!("SELECT COUNT(*) FROM {schema}.target")), "0");
    assert_forgotten(server, schema);
}

/// What a trigger only reads, or changes in columns that no key refers to, is no reason.
fn that_lead_elsewhere(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_elsewhere");
    make_chain(server, schema);
    let bodies = [
        "INSERT INTO log SELECT id, NEW.id + counted() FROM b WHERE id = NEW.id",
        "UPDATE c JOIN b USING (id) SET c.n = UNIX_TIMESTAMP() + 1 WHERE c.id = NEW.id",
        "UPDATE a SET n = REPLACE(n, 'DELETE FROM b', '') WHERE id = NEW.id",
        "BEGIN SELECT COUNT(*) INTO @x FROM b; INSERT INTO log (id, n) VALUES (NEW.id, @x); END",
    ];
    for body in bodies {
        with_trigger(server, schema, body, || {
            let output = run(&mut chunk(server, schema, "", READS_B)).done();
            assert!(output.stderr.contains("warning: the trigger tt of"), "{output}");
        });
    }
    assert_eq!(value(server, format!("SELECT SUM(w) FROM {schema}.t")), "400");
    // Where no subquery reads it, it may be changed.
    with_trigger(server, schema, "CALL deeper(NEW.id)", || {
        run(&mut chunk(server, schema, "", "UPDATE t SET w = w + 1")).done();
    });
    assert_eq!(value(server, format!("SELECT COUNT(*) FROM {schema}.b")), "0");
    assert_eq!(value(server, format!("SELECT SUM(w) FROM {schema}.t")), "500");
}

/// The walked key is moved by its own foreign key.
fn that_lead_back_to_the_walked_table(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_led_back");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE par (id INT PRIMARY KEY, total INT); CREATE TABLE aux (id INT PRIMARY KEY);
             CREATE TABLE chi (id INT PRIMARY KEY, v INT, CONSTRAINT of_par FOREIGN KEY (id) REFERENCES par (id) ON UPDATE CASCADE);
             INSERT INTO par WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n, 0 FROM s;
             INSERT INTO chi SELECT id, 0 FROM par; INSERT INTO aux SELECT id FROM par;
             CREATE TRIGGER tr AFTER UPDATE ON chi FOR EACH ROW DELETE FROM aux WHERE id = NEW.id;
             CREATE TRIGGER trx AFTER DELETE ON aux FOR EACH ROW UPDATE par SET id = id + 100000 WHERE id = OLD.id + 500"
        ),
    );
    let update = || run(&mut chunk(server, schema, "", "UPDATE chi SET v = v + 1"));
    let said = "the trigger tr changes rows of `chunk_led_back`.`chi` by the foreign key of_par to `chunk_led_back`.`par`";
    update().refused(&[said]);
    // A sum that is kept in the parent moves nothing, but where a trigger of the parent does.
    sql(
        server,
        format!(
            "USE {schema}; DROP TRIGGER tr; DROP TRIGGER trx;
             CREATE TRIGGER tr AFTER UPDATE ON chi FOR EACH ROW UPDATE par SET total = total + 1 WHERE id = 1;
             CREATE TRIGGER mover BEFORE UPDATE ON par FOR EACH ROW SET NEW.id = NEW.id + 100000"
        ),
    );
    update().refused(&[said]);
    assert_eq!(value(server, format!("SELECT SUM(v) FROM {schema}.chi")), "0");
    sql(server, format!("DROP TRIGGER {schema}.mover"));
    update().done();
    assert_eq!(value(server, format!("SELECT SUM(v) FROM {schema}.chi WHERE v = 1")), "1000");
    assert_forgotten(server, schema);
}

/// On MariaDB nobody sees the foreign keys of a table who may only read it.
fn that_change_by_hidden_foreign_keys(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_only_read");
    make_chain(server, schema);
    sql(
        server,
        format!(
            "CREATE TABLE {schema}.plain (id INT); CREATE USER chunk_only_read@localhost;
             GRANT SELECT ON {schema}.* TO chunk_only_read@localhost;
             GRANT UPDATE, TRIGGER ON {schema}.t TO chunk_only_read@localhost;
             GRANT TRIGGER ON {schema}.a TO chunk_only_read@localhost; GRANT TRIGGER ON {schema}.plain TO chunk_only_read@localhost"
        ),
    );
    let update = || run(&mut chunk(server, schema, "-u chunk_only_read --dry-run", READS_B));
    let said = match flavour {
        Flavour::MariaDb => "may not see the foreign keys of `chunk_only_read`.`b`",
        Flavour::MySql => "a subquery reads `chunk_only_read`.`b`",
    };
    with_trigger(server, schema, "DELETE FROM a WHERE id = NEW.id", || {
        update().refused(&["the trigger tt changes", said]);
    });
    with_trigger(server, schema, "INSERT INTO plain VALUES (NEW.id)", || update().done());
    sql(server, "DROP USER chunk_only_read@localhost");
}

/// A procedure whose text the account may not see may change anything; so may triggers of a table that another one changes.
fn that_call_what_is_hidden(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_called");
    make_chain(server, schema);
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}_away; CREATE TABLE {schema}_away.log (id INT); CREATE USER chunk_called@localhost;
             GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON {schema}.* TO chunk_called@localhost;
             GRANT TRIGGER ON {schema}.t TO chunk_called@localhost"
        ),
    );
    for (body, said) in [
        ("CALL deeper(NEW.id)", "the trigger tt calls `chunk_called`.`deeper`, whose text"),
        ("SET @x = counted()", "the trigger tt calls `chunk_called`.`counted`, whose text"),
        ("INSERT INTO log VALUES (NEW.id, 1)", "the trigger tt changes `chunk_called`.`log`, whose triggers"),
        ("INSERT INTO chunk_called_away.log VALUES (NEW.id)", "which is a view or cannot be seen"),
    ] {
        with_trigger(server, schema, body, || {
            let called = |options: &str, statement: &str| {
                run(&mut chunk(server, schema, &format!("-u chunk_called {options}"), statement))
            };
            called("", READS_B).refused(&[said, "--allow-hidden-triggers"]);
            let allowed = called("--dry-run --allow-hidden-triggers", READS_B).done();
            assert!(allowed.stderr.contains(said), "{allowed}");
            let unread = called("--dry-run", "UPDATE t SET w = w + 1").done();
            assert!(!unread.stderr.contains(said), "{unread}");
        });
    }
    with_trigger(server, schema, "SET @x = CONCAT(NOW(), ABS(NEW.id))", || {
        run(&mut chunk(server, schema, "-u chunk_called --dry-run", READS_B)).done();
    });
    sql(server, "DROP USER chunk_called@localhost");
}
