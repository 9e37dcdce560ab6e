//! Statements that look like what a dump makes of its own, and would change what is the target's: by bytes that servers read otherwise,
//! by names in another case, through tables, functions and sequences of others.

use drover_sandbox::{Flavour, Server};

use super::strangers::{HELD, held, make, refused, refused_behind};
use super::{drop_schema, restored, servers, written};
use crate::client::{feed, sql, value};
use crate::drover::{restore, run};
use crate::servers::on_both;

on_both!(
    comments_for_some,
    tables_made_of_others,
    accounts_called_like_objects,
    programs_in_another_case,
    functions_and_rows_of_others,
    rows_of_its_own,
    rows_under_a_new_name,
    triggers_on_others
);

fn comments_for_some(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "dis_comments";
    make(target, schema);
    let connections = || value(target, "SELECT @@GLOBAL.max_connections");
    let before = connections();
    for statement in [
        &b"CREATE --\x7f TABLE made (a INT)\n OR REPLACE TABLE dis_comments.t (a INT)"[..],
        b"SET NAMES latin1; CREATE --\xa0 TABLE made (a INT)\n OR REPLACE TABLE dis_comments.t (a INT)",
        b"CREATE --\x7f VIEW made AS SELECT 1\n OR REPLACE VIEW dis_comments.v AS SELECT 2",
        b"SET @a = 1 --\x7f + (1\n , GLOBAL max_connections = 77",
        b"CREATE TABLE made (a INT); CREATE --\x7f INDEX q ON made\n INDEX q ON dis_comments.t (id)",
        b"CREATE TABLE made (a INT); DROP TABLE made --\x7f\n, dis_comments.t",
        b"LOAD DATA --\x7f LOCAL INFILE 'f' INTO TABLE made\n INFILE '/etc/hostname' INTO TABLE made",
        b"SET NAMES latin1; CREATE OR REPLACE\xa0TABLE dis_comments.t (a INT)",
        b"CREATE TABLE made (a INT); DELETE FROM made \0 WHERE a = 1",
    ] {
        // What stands on the same line before it is harmless.
        let at = statement.windows(2).position(|pair| pair == b"; ").map_or(0, |at| at + 2);
        let (first, rest) = statement.split_at(at);
        refused_behind(target, schema, std::str::from_utf8(first).unwrap(), rest);
    }
    assert_eq!(connections(), before);
    drop_schema(target, schema);
}

fn tables_made_of_others(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "dis_tables";
    make(target, schema);
    let more = "CREATE TABLE dis_tables.m (a INT) ENGINE=MyISAM; INSERT INTO dis_tables.m VALUES (1), (2);
                CREATE TABLE dis_tables.mm (a INT) ENGINE=MRG_MyISAM UNION=(dis_tables.m) INSERT_METHOD=LAST";
    sql(target, format!("CREATE DATABASE dis_merge; {}", more.replace("dis_tables", "dis_merge")));
    let merged = || value(target, "SELECT COUNT(*) FROM dis_merge.m");
    let partitioned =
        "CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (0)); ";
    let own = "CREATE TABLE own (a INT) ENGINE=MRG_MyISAM UNION=(dis_merge.m) INSERT_METHOD=LAST; ";
    for (before, statement) in [
        (partitioned, "ALTER TABLE p CONVERT TABLE dis_tables.none TO PARTITION p1 VALUES LESS THAN (100)"),
        (partitioned, "ALTER TABLE p CONVERT PARTITION p0 TO TABLE dis_tables.y"),
        ("", "CREATE TABLE made LIKE dis_merge.mm"),
        (own, "CREATE TABLE made (LIKE own)"),
        (
            "",
            "CREATE TABLE made (a INT) ENGINE=MRG_MyISAM UNION=(dis_merge.m) INSERT_METHOD=LAST SELECT 5 AS a",
        ),
        ("", "SET default_storage_engine = MRG_MyISAM"),
    ] {
        refused_behind(target, schema, before, statement);
        assert_eq!(merged(), "2", "{statement}");
    }
    drop_schema(target, "dis_merge");
    drop_schema(target, schema);
}

/// Views, routines and events of the target as they are.
fn programs(server: &Server, schema: &str) -> String {
    let all = format!(
        "SELECT GROUP_CONCAT(text ORDER BY text) FROM (
           SELECT CONCAT(ROUTINE_NAME, ROUTINE_DEFINITION) text FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{schema}'
           UNION SELECT CONCAT(EVENT_NAME, EVENT_DEFINITION) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{schema}'
           UNION SELECT CONCAT(TABLE_NAME, VIEW_DEFINITION) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '{schema}') x"
    );
    value(server, all)
}

/// What the target has already is not replaced, whatever a script is called by whom it is read.
fn assert_kept(server: &Server, schema: &str, statements: &[&str]) {
    let (dir, before) = (tempfile::tempdir().unwrap(), programs(server, schema));
    for statement in statements {
        let script = format!(
            "CREATE DATABASE {schema}_new;\nUSE {schema}_new;\nCREATE TABLE a (a INT);\n{statement};\n"
        );
        let path = written(&dir, "a.sql", script.as_bytes());
        run(&mut restore(server, &path, "")).refused(&["already has", "nothing was changed"]);
        let piped = feed(&mut restore(server, std::path::Path::new("-"), ""), script.as_bytes());
        let said = String::from_utf8_lossy(&piped.stderr).into_owned();
        assert!(piped.status.code() == Some(2) && said.contains("already has"), "{statement}: {said}");
        assert_eq!(programs(server, schema), before, "{statement}");
        drop_schema(server, &format!("{schema}_new"));
    }
    assert_eq!(held(server, schema), HELD);
}

fn accounts_called_like_objects(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "dis_accounts";
    make(target, schema);
    let statements = [
        "CREATE OR REPLACE DEFINER=view PROCEDURE dis_accounts.p() SELECT 'other'",
        "CREATE OR REPLACE DEFINER=sequence VIEW dis_accounts.v AS SELECT 'other'",
        "CREATE OR REPLACE DEFINER=event VIEW dis_accounts.v AS SELECT 'other'",
    ];
    assert_kept(target, schema, &statements);
    drop_schema(target, schema);
}

fn programs_in_another_case(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "dis_case";
    make(target, schema);
    sql(
        target,
        "CREATE EVENT dis_case.e ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @a = 1; CREATE EVENT dis_case.`café` ON SCHEDULE EVERY 1 YEAR DISABLE DO SET @a = 2",
    );
    let replace = match flavour {
        Flavour::MariaDb => "OR REPLACE",
        Flavour::MySql => "",
    };
    let statements = [
        format!("CREATE {replace} PROCEDURE dis_case.P() SELECT 'other'"),
        format!("CREATE {replace} EVENT dis_case.E ON SCHEDULE EVERY 1 DAY DISABLE DO SET @b = 1"),
        format!("CREATE {replace} EVENT dis_case.CAFE ON SCHEDULE EVERY 1 DAY DISABLE DO SET @b = 1"),
        "CREATE PROCEDURE IF NOT EXISTS dis_case.P() SELECT 1;\nDROP PROCEDURE dis_case.P".into(),
    ];
    assert_kept(target, schema, &statements.each_ref().map(String::as_str));
    // Another one is another one.
    let dir = tempfile::tempdir().unwrap();
    let script = "USE dis_case;\nCREATE PROCEDURE q() SELECT 1;\nCREATE EVENT cave ON SCHEDULE EVERY 1 DAY DISABLE DO SET @b = 1;\n";
    restored(target, &written(&dir, "a.sql", script.as_bytes()), "");
    drop_schema(target, schema);
}

fn functions_and_rows_of_others(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "dis_rows";
    make(target, schema);
    sql(
        target,
        "CREATE DATABASE dis_boom; CREATE TABLE dis_boom.log (a INT); INSERT INTO dis_boom.log VALUES (1);
         DELIMITER //
         CREATE FUNCTION dis_boom.boom() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN DELETE FROM dis_boom.log; RETURN 1; END//",
    );
    let made = "CREATE TABLE a (a TEXT); ";
    let mut statements = vec![
        "INSERT INTO a VALUES (dis_boom.boom())",
        "INSERT INTO a VALUES (1), (`dis_boom` . `boom` ( ))",
        "INSERT IGNORE INTO a (a) VALUES (dis_boom.boom())",
        "REPLACE INTO a SET a = dis_boom.boom()",
        "UPDATE a SET a = dis_boom.boom()",
        "INSERT INTO a VALUES (SLEEP(0))",
        "INSERT INTO a VALUES (LOAD_FILE('/etc/hostname'))",
        "INSERT INTO a SELECT id FROM dis_rows.t",
        "INSERT INTO a SELECT authentication_string FROM mysql.user",
        "INSERT INTO a VALUES ((SELECT COUNT(*) FROM dis_rows.t))",
        "CREATE TABLE b AS SELECT id FROM dis_rows.t",
        "UPDATE a SET a = (SELECT MAX(id) FROM dis_rows.t)",
    ];
    if flavour == Flavour::MariaDb {
        sql(target, "CREATE SEQUENCE dis_boom.s");
        statements.extend([
            "INSERT INTO a VALUES (SETVAL(dis_boom.s, 5000)), (NEXTVAL(dis_boom.s))",
            "INSERT INTO a VALUES (NEXT VALUE FOR dis_boom.s)",
            "CREATE TABLE b (a INT, b INT DEFAULT (NEXTVAL(dis_boom.s)))",
        ]);
    }
    for statement in statements {
        refused_behind(target, schema, made, statement);
        assert_eq!(value(target, "SELECT COUNT(*) FROM dis_boom.log"), "1", "{statement}");
    }
    refused_behind(
        target,
        schema,
        "CREATE TABLE a (a INT); CREATE VIEW w AS SELECT dis_boom.boom() AS a; ",
        "INSERT INTO a SELECT a FROM w",
    );
    if flavour == Flavour::MariaDb {
        assert_eq!(value(target, "SELECT next_not_cached_value FROM dis_boom.s"), "1");
    }
    drop_schema(target, "dis_boom");
    drop_schema(target, schema);
}

/// What dumps and scripts written by hand have in their rows.
fn rows_of_its_own(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "dis_own");
    let mut script = "CREATE DATABASE dis_own;\nUSE dis_own;\nCREATE TABLE a (id INT PRIMARY KEY, v VARBINARY(200), d DATETIME);\n\
         INSERT INTO a VALUES (1,0x4142,NULL),(2,_binary 'f(',NOW()),(3,UNHEX('43'),CURRENT_TIMESTAMP);\n\
         INSERT INTO a (id, v) VALUES (4, CONCAT('a', 'b')), (5, CONVERT('x' USING latin1)) ON DUPLICATE KEY UPDATE v = VALUES(v);\n\
         CREATE TABLE b LIKE a;\nINSERT INTO b SELECT a.* FROM a LEFT JOIN b AS c ON a.id = c.id WHERE a.id IN (1, 2);\n\
         CREATE TABLE c AS SELECT COUNT(*) AS n FROM b;\nUPDATE a SET id = (SELECT n FROM c) + 10 WHERE id = 5;\n"
        .to_owned();
    if flavour == Flavour::MariaDb {
        script += "CREATE SEQUENCE s;\nCREATE TABLE d (a INT DEFAULT (NEXTVAL(s)));\nINSERT INTO d VALUES (NEXT VALUE FOR s), (DEFAULT);\n";
    }
    let check = || {
        assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM dis_own.a"), "1,2,3,4,12");
        assert_eq!(value(target, "SELECT GROUP_CONCAT(v ORDER BY id) FROM dis_own.b"), "AB,f(");
        drop_schema(target, schema);
    };
    restored(target, &written(&dir, "a.sql", script.as_bytes()), "");
    check();
    let piped = feed(&mut restore(target, std::path::Path::new("-"), ""), script.as_bytes());
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    check();
}

/// What rows read comes from the dump's own tables, also where the target has others of their old names.
fn rows_under_a_new_name(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    sql(target, "CREATE DATABASE dis_old; CREATE TABLE dis_old.x (a INT); INSERT INTO dis_old.x VALUES (77)");
    let mut script =
        "CREATE DATABASE dis_old;\nUSE dis_old;\nCREATE TABLE x (a INT);\nINSERT INTO x VALUES (1);\n\
         CREATE TABLE t (a INT);\nINSERT INTO t VALUES ((SELECT MAX(a) FROM dis_old.x));\n"
            .to_owned();
    if flavour == Flavour::MariaDb {
        sql(target, "CREATE SEQUENCE dis_old.s START WITH 500");
        script +=
            "CREATE SEQUENCE s;\nINSERT INTO t VALUES (NEXTVAL(dis_old.s)), (NEXT VALUE FOR dis_old.s);\n";
    }
    let path = written(&dir, "a.sql", script.as_bytes());
    restored(target, &path, "--into dis_old=dis_new");
    let expected = if flavour == Flavour::MariaDb { "1,1,2" } else { "1" };
    assert_eq!(value(target, "SELECT GROUP_CONCAT(a ORDER BY a) FROM dis_new.t"), expected);
    if flavour == Flavour::MariaDb {
        assert_eq!(value(target, "SELECT next_not_cached_value FROM dis_old.s"), "500");
    }
    drop_schema(target, "dis_old");
    drop_schema(target, "dis_new");
}

fn triggers_on_others(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "dis_triggers";
    make(target, schema);
    for table in ["t", "none"] {
        refused(
            target,
            schema,
            format!("CREATE TRIGGER {schema}.tr BEFORE INSERT ON {schema}.{table} FOR EACH ROW SET @a = 1"),
        );
    }
    // On what it fills it may.
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "USE {schema};\nINSERT INTO `none` VALUES (1);\nCREATE TRIGGER tr BEFORE INSERT ON `none` FOR EACH ROW SET @a = 1;\n"
    );
    restored(target, &written(&dir, "a.sql", script.as_bytes()), "");
    assert_eq!(held(target, schema), "3 1 1 1 1");
    drop_schema(target, schema);
}
