//! A dump from elsewhere changes nothing of the target's own: what it may hold is a list, and all else is refused before
//! anything is changed.

use drover_sandbox::{Flavour, Server};

use super::{create_schema, drop_schema, servers, written};
use crate::client::{feed, sql, try_sql, value};
use crate::drover::{restore, run};
use crate::servers::on_both;

on_both!(
    statements_of_others,
    statements_only_one_vendor_has,
    rows_of_others,
    rows_through_views_and_merge_tables,
    what_tools_change_of_their_own
);

/// A schema of the target's own, with a row, a view, a program.
pub(super) fn make(server: &Server, schema: &str) {
    drop_schema(server, schema);
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY) ENGINE=MyISAM;
             INSERT INTO {schema}.t VALUES (1); CREATE TABLE {schema}.none (id INT PRIMARY KEY);
             CREATE VIEW {schema}.v AS SELECT id FROM {schema}.none; CREATE PROCEDURE {schema}.p() SELECT 1"
        ),
    );
}

/// What it holds.
pub(super) fn held(server: &Server, schema: &str) -> String {
    let count = |what: &str, of: &str| {
        format!("(SELECT COUNT(*) FROM information_schema.{what} WHERE {of}_SCHEMA = '{schema}')")
    };
    value(
        server,
        format!(
            "SELECT CONCAT_WS(' ', {}, {}, {}, (SELECT COUNT(*) FROM {schema}.t), (SELECT COUNT(*) FROM {schema}.none))",
            count("TABLES", "TABLE"),
            count("ROUTINES", "ROUTINE"),
            count("TRIGGERS", "TRIGGER")
        ),
    )
}

pub(super) const HELD: &str = "3 1 0 1 0";

/// Restores a script from a file and through a pipe, each with leave to drop and without: it is refused, and nothing is changed.
pub(super) fn refused(server: &Server, schema: &str, statement: impl AsRef<[u8]>) {
    refused_behind(server, schema, "", statement);
}

/// The same with statements before it on the same line, which may be run where nothing is known before.
pub(super) fn refused_behind(server: &Server, schema: &str, before: &str, statement: impl AsRef<[u8]>) {
    let (dir, own) = (tempfile::tempdir().unwrap(), format!("{schema}_new"));
    let head = format!("CREATE DATABASE {own};\nUSE {own};\n{before}");
    let script = [head.as_bytes(), statement.as_ref(), b";\n"].concat();
    let shown = String::from_utf8_lossy(statement.as_ref());
    let path = written(&dir, "a.sql", &script);
    for options in ["", "--drop-existing"] {
        run(&mut restore(server, &path, options)).refused(&["a.sql, line 3", "hint:"]);
        let there = format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{own}'");
        assert_eq!(value(server, there), "0", "nothing is changed before {shown}");
        let output = feed(&mut restore(server, std::path::Path::new("-"), options), &script);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && said.contains("standard input, line 3"),
            "{shown}: {said}"
        );
        drop_schema(server, &own);
    }
    assert_eq!(held(server, schema), HELD, "{shown}");
}

fn statements_of_others(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "str_mine";
    make(target, schema);
    let statements = [
        "UPDATE str_mine.t SET id = 5",
        "DELETE FROM str_mine.t WHERE id = 1",
        "DELETE t FROM str_mine.t AS t",
        "RENAME TABLE str_mine.t TO str_mine.u",
        "ALTER TABLE str_mine.t ADD COLUMN a INT",
        "ALTER TABLE str_mine.t RENAME TO str_mine.u",
        "CREATE INDEX i ON str_mine.t (id)",
        "ALTER DATABASE str_mine CHARACTER SET latin1",
        "PREPARE s FROM 'DROP TABLE str_mine.t'",
        "CALL str_mine.p()",
        "DO SLEEP(0)",
        "SET @a = (SELECT COUNT(*) FROM str_mine.t)",
        "SELECT 1 INTO OUTFILE '/tmp/drover-was-here'",
        "SELECT SLEEP(0)",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE str_mine.t",
        "ALTER VIEW str_mine.v AS SELECT 1 AS id",
        // A comment to this server, and to us a statement that is harmless.
        "/*!999998 SET @a = 1 -- */ DROP TABLE str_mine.t",
    ];
    for statement in statements {
        refused(target, schema, statement);
    }
    // A partition's rows would change places with another table's.
    let exchange = "CREATE TABLE x (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2;\n\
                    ALTER TABLE x EXCHANGE PARTITION p0 WITH TABLE str_mine.none;\n";
    for last in [exchange, "CREATE TABLE x (a INT);\nALTER TABLE x RENAME TO str_mine.x;\n"] {
        let dir = tempfile::tempdir().unwrap();
        let path =
            written(&dir, "a.sql", format!("CREATE DATABASE str_new;\nUSE str_new;\n{last}").as_bytes());
        run(&mut restore(target, &path, "")).refused(&["a.sql, line 4", "ALTER TABLE"]);
    }
    assert_eq!(held(target, schema), HELD);
    // These are left out: nothing is dropped or emptied that the dump did not make.
    let dir = tempfile::tempdir().unwrap();
    let script = "CREATE DATABASE str_new;\nUSE str_new;\nCREATE TABLE a (id INT);\nDROP TABLE str_mine.t;\nDROP TABLE a, str_mine.t;\n\
                  TRUNCATE str_mine.t;\nDELETE FROM str_mine.t;\nDROP VIEW str_mine.v;\nDROP PROCEDURE str_mine.p;\n\
                  ALTER TABLE str_mine.t DISABLE KEYS;\nDROP DATABASE str_mine;\n";
    for options in ["", "--drop-existing"] {
        run(&mut restore(target, &written(&dir, "a.sql", script.as_bytes()), options)).done();
        assert_eq!(held(target, schema), HELD);
    }
    // With leave to drop, programs of the same name are replaced and no others.
    let replaced = "USE str_mine;\nCREATE OR REPLACE VIEW v AS SELECT 1 AS id;\n";
    run(&mut restore(target, &written(&dir, "a.sql", replaced.as_bytes()), ""))
        .refused(&["already has", "nothing was changed"]);
    let program = "USE str_mine;\nCREATE PROCEDURE p() SELECT 2;\n";
    let path = written(&dir, "a.sql", program.as_bytes());
    run(&mut restore(target, &path, "")).refused(&["already has", "`p`", "nothing was changed"]);
    run(&mut restore(target, &path, "--drop-existing")).done();
    drop_schema(target, "str_new");
    drop_schema(target, schema);
}

fn statements_only_one_vendor_has(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let schema = "str_vendor";
    make(target, schema);
    let statements: &[&str] = match flavour {
        Flavour::MariaDb => &[
            "SET STATEMENT max_statement_time = 5 FOR DELETE FROM str_vendor.t",
            "SET STATEMENT sql_mode = '' FOR SET GLOBAL max_connections = 10",
            "EXECUTE IMMEDIATE 'DROP TABLE str_vendor.t'",
            "DELIMITER //\nBEGIN NOT ATOMIC DELETE FROM str_vendor.t; END//\nDELIMITER ;\nSET @a = 1",
            "CREATE OR REPLACE TABLE str_vendor.t (a INT)",
        ],
        Flavour::MySql => {
            &["CLONE LOCAL DATA DIRECTORY '/tmp/drover-was-here/'", "TABLE str_vendor.t", "VALUES ROW(1)"]
        }
    };
    for statement in statements {
        match statement {
            // What asks the server itself for something is left out and said; what may be dropped is asked for.
            text if text.starts_with("CLONE") || text.starts_with("CREATE OR REPLACE TABLE") => {}
            text if text.starts_with("DELIMITER") => {
                let dir = tempfile::tempdir().unwrap();
                let path = written(&dir, "a.sql", format!("USE {schema};\n{text};\n").as_bytes());
                run(&mut restore(target, &path, "")).refused(&["a.sql, line 3", "BEGIN NOT ATOMIC"]);
            }
            text => refused(target, schema, text),
        }
        assert_eq!(held(target, schema), HELD);
    }
    drop_schema(target, schema);
}

/// Rows go only into tables that the dump makes, or that are empty.
fn rows_of_others(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (schema, dir) = ("str_rows", tempfile::tempdir().unwrap());
    make(target, schema);
    // In a directory of mydumper's the files of rows are not read before.
    let file = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    file("metadata", "# Started dump at: x\n# Finished dump at: y\n");
    file("str_dir-schema-create.sql", "CREATE DATABASE `str_dir`;\n");
    file("str_dir.a-schema.sql", "CREATE TABLE `a` (id INT);\n");
    for rows in [
        "INSERT INTO `str_rows`.`t` VALUES (7);\n",
        "INSERT INTO `str_rows`.`v` VALUES (7);\n",
        "DELETE FROM `str_rows`.`t` WHERE id = 1;\n",
        "UPDATE `str_rows`.`t` SET id = 7;\n",
    ] {
        file("str_dir.a.00000.sql", rows);
        run(&mut restore(target, dir.path(), "--drop-existing")).refused(&["str_rows"]);
        assert_eq!(held(target, schema), HELD, "{rows}");
    }
    drop_schema(target, "str_dir");
    drop_schema(target, schema);
}

/// A view, a MERGE table: rows put into them are rows of other tables.
fn rows_through_views_and_merge_tables(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (schema, dir) = ("str_through", tempfile::tempdir().unwrap());
    make(target, schema);
    drop_schema(target, "str_new");
    let head = "CREATE DATABASE str_new;\nUSE str_new;\n";
    for made in [
        "CREATE VIEW x AS SELECT id FROM str_through.none;\n",
        "CREATE TABLE x (id INT PRIMARY KEY) ENGINE=MRG_MyISAM UNION=(str_through.t) INSERT_METHOD=LAST;\n",
    ] {
        let script = format!("{head}{made}INSERT INTO x VALUES (7);\n");
        let path = written(&dir, "a.sql", script.as_bytes());
        run(&mut restore(target, &path, "")).refused(&["rows for `str_new`.`x`"]);
        assert_eq!(held(target, schema), HELD, "{made}");
        drop_schema(target, "str_new");
    }
    let path = written(&dir, "a.sql", b"USE str_through;\nINSERT INTO v VALUES (7);\n");
    run(&mut restore(target, &path, "")).refused(&["rows for `str_through`.`v`"]);
    assert_eq!(held(target, schema), HELD);
    drop_schema(target, schema);
}

/// phpMyAdmin adds keys after the rows; Percona's mysqldump asks for RocksDB; a tool deletes what it puts in.
fn what_tools_change_of_their_own(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (schema, dir) = ("str_own", tempfile::tempdir().unwrap());
    create_schema(target, schema);
    let script = "SET SQL_MODE = \"NO_AUTO_VALUE_ON_ZERO\";\nSTART TRANSACTION;\nSET time_zone = \"+00:00\";\n\
        /*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;\n\
        /*!50112 SELECT COUNT(*) INTO @is_rocksdb_supported FROM INFORMATION_SCHEMA.SESSION_VARIABLES WHERE VARIABLE_NAME='rocksdb_bulk_load' */;\n\
        /*!50112 SET @enable_bulk_load = IF (@is_rocksdb_supported, 'SET SESSION rocksdb_bulk_load = 1', 'SET @dummy = 0') */;\n\
        /*!50112 PREPARE s FROM @enable_bulk_load */;\n/*!50112 EXECUTE s */;\n/*!50112 DEALLOCATE PREPARE s */;\n\
        CREATE TABLE `p` (\n  `id` int NOT NULL,\n  `u` int\n) ENGINE=InnoDB;\nDELETE FROM `p`;\nINSERT INTO `p` (`id`, `u`) VALUES (1, 10), (2, 20);\n\
        CREATE TABLE `c` (\n  `id` int NOT NULL,\n  `u` int\n) ENGINE=InnoDB;\nINSERT INTO `c` (`id`, `u`) VALUES (1, 10);\n\
        ALTER TABLE `p`\n  ADD PRIMARY KEY (`id`),\n  ADD UNIQUE KEY `u` (`u`);\nALTER TABLE `c` ADD KEY `u` (`u`);\n\
        ALTER TABLE `p`\n  MODIFY `id` int NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=3;\n\
        ALTER TABLE `c`\n  ADD CONSTRAINT `fk_own` FOREIGN KEY (`u`) REFERENCES `p` (`u`) ON DELETE CASCADE;\nCOMMIT;\n";
    let path = written(&dir, "a.sql", script.as_bytes());
    run(restore(target, &path, "").args(["--url", &format!("mysql:///{schema}")])).done();
    sql(target, format!("INSERT INTO {schema}.p (u) VALUES (30)"));
    assert_eq!(value(target, format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM {schema}.p")), "1,2,3");
    assert!(
        try_sql(target, &format!("INSERT INTO {schema}.c VALUES (5, 99)")).is_err(),
        "there is a foreign key"
    );
    drop_schema(target, schema);
}
