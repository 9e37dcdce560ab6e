//! mydumper's directories. Debian's mydumper is version 0.10; the newer layouts are made by hand as its documentation and
//! source describe them.

use std::fs;
use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use super::{
    Beyond, count, drop_schema, only_user, restored, restored_as_tools_do, servers, set_up_for, tool,
};
use crate::client::{sql, value};
use crate::compare;
use crate::drover::{restore, run};
use crate::servers::on_both;

on_both!(
    hard_cases,
    chunks_and_compression,
    rows_in_files_of_their_own,
    names_made_up,
    what_the_metadata_tells,
    missing_files,
    unfinished
);

fn mydumper_command(server: &Server, schema: &str, dir: &Path, options: &str) -> Command {
    let mut command = Command::new("mydumper");
    command.arg("-S").arg(server.socket()).args(["-u", "root", "-B", schema, "-o"]).arg(dir);
    command.args(options.split_whitespace());
    command
}

fn mydumper(server: &Server, schema: &str, dir: &Path, options: &str) {
    let said = tool(&mut mydumper_command(server, schema, dir, options));
    assert!(!said.contains("CRITICAL"), "{said}");
}

fn myloader_command(server: &Server, dir: &Path) -> Command {
    let mut command = Command::new("myloader");
    command.arg("-S").arg(server.socket()).args(["-u", "root", "-d"]).arg(dir);
    command
}

/// MySQL from 8.4 on refuses foreign keys to columns that are no key, which it dumps; drover's sessions let them in.
fn load_by_myloader(server: &Server, dir: &Path) {
    let restrict = |value: &str| {
        if server.flavour() == Flavour::MySql {
            sql(server, format!("SET GLOBAL restrict_fk_on_non_standard_key = {value}"));
        }
    };
    restrict("OFF");
    tool(&mut myloader_command(server, dir));
    restrict("ON");
}

/// Version 0.10 finds no character sets in what MySQL 9 says of routines, and writes a file that is no SQL.
fn no_program_loads(target: &Server, dir: &Path, schema: &str) {
    let loader = myloader_command(target, dir).output().unwrap();
    assert!(!loader.status.success(), "myloader can load it");
    drop_schema(target, schema);
    let culprit = format!("{schema}-schema-post.sql, line ");
    run(&mut restore(target, dir, "")).refused(&[&culprit, "SET character_set_client ="]);
    drop_schema(target, schema);
}

/// Version 0.10 ends with a segmentation fault at a program whose name has a backtick: it takes the server's error for a
/// definition. It does not tell the sql_mode of programs, without which these have another syntax.
const BEYOND: [Beyond; 3] = [
    Beyond {
        case: "events",
        without: "DROP EVENT `odd ``event.name é`; DROP EVENT `mode \"ansi`",
        ends: true,
    },
    Beyond {
        case: "routines",
        without: "DROP PROCEDURE `odd ``routine.name é;`; DROP FUNCTION `mode \"ansi`",
        ends: true,
    },
    Beyond {
        case: "triggers",
        without: "DROP TRIGGER `odd ``trigger.name é`; DROP TRIGGER m_ansi; DROP TRIGGER `m_\"ansi`; DROP TRIGGER m_backslash; DROP TRIGGER m_space",
        ends: true,
    },
];

/// What mydumper 0.10 keeps of a case, drover restores as myloader does.
fn hard_cases(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let _only = only_user(flavour);
    let cases = [
        "bytes-all",
        "enum-set",
        "events",
        "foreign-keys",
        "routines",
        "text-specials",
        "triggers",
        "views-nested",
    ];
    for case in cases {
        let dir = tempfile::tempdir().unwrap();
        let in_vain = dir.path().join("in vain");
        let schema = set_up_for(source, case, &BEYOND, &|schema| {
            mydumper_command(source, schema, &in_vain, "-G -E -R")
        });
        let out = dir.path().join("dump");
        mydumper(source, &schema, &out, "-G -E -R");
        drop_schema(target, &schema);
        let programs =
            |name: &str| fs::read_to_string(out.join(format!("{schema}{name}"))).unwrap_or_default();
        let text = programs("-schema-post.sql") + &programs("-schema-triggers.sql");
        assert!(!text.to_lowercase().contains("sql_mode"), "{case}: mydumper tells the sql_mode");
        if flavour == Flavour::MySql && text.contains("\nSET character_set_client = ;") {
            no_program_loads(target, &out, &schema);
            continue;
        }
        load_by_myloader(target, &out);
        let mut expected = compare::everything(target, &schema);
        // It does not tell the time zone of events either: myloader takes UTC for it, drover the server's own.
        let events = expected.iter_mut().filter(|(title, _)| title.starts_with("EVENT "));
        for line in events.flat_map(|(_, lines)| lines) {
            *line = line.replace("\t+00:00\t", "\t-08:00\t");
        }
        drop_schema(target, &schema);
        restored_as_tools_do(target, &out, case);
        let differences = compare::differences(&expected, &compare::everything(target, &schema));
        assert!(differences.is_empty(), "{case}: {}", differences.join("\n"));
        drop_schema(target, &schema);
    }
}

fn make(server: &Server, schema: &str) {
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE many (id INT PRIMARY KEY, k INT, c VARCHAR(200), KEY k (k));
             INSERT INTO many WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
               SELECT a.n * 1000 + b.n, b.n, SHA2(a.n * 1000 + b.n, 512) FROM s a JOIN s b WHERE a.n <= 40;
             CREATE TABLE few (id INT PRIMARY KEY, t TIMESTAMP NULL); INSERT INTO few VALUES (1, '2020-01-01 00:00:00'), (2, NULL);
             CREATE TABLE nothing (id INT PRIMARY KEY);
             CREATE VIEW b_view AS SELECT id FROM few; CREATE VIEW a_view AS SELECT id FROM b_view"
        ),
    );
}

fn chunks_and_compression(flavour: Flavour) {
    let (source, target) = servers(flavour);
    make(source, "my_chunks");
    let expected = compare::everything(source, "my_chunks");
    // In version 0.10 --rows asks the server for an estimate in a way that MySQL 9 answers otherwise.
    let rows = if flavour == Flavour::MariaDb { "-r 5000" } else { "" };
    for options in [format!("-c {rows}"), rows.to_owned(), "-F 1 --complete-insert".to_owned()] {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("dump");
        mydumper(source, "my_chunks", &out, &options);
        drop_schema(target, "my_chunks");
        let output = run(restore(target, &out, "--threads 4").arg("--json")).done().json();
        assert_eq!(output["rows"], 40_002, "{options}");
        compare::assert_same(&expected, &compare::everything(target, "my_chunks"));
        run(&mut restore(target, &out, "")).refused(&["already has", "my_chunks"]);
        restored(target, &out, "--into my_chunks=my_elsewhere");
        assert_eq!(count(target, "my_elsewhere.a_view"), 2);
        drop_schema(target, "my_elsewhere");
    }
}

/// A directory with these files, and the metadata of a dump that was finished.
fn by_hand(files: &[(&str, &str)], metadata: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(dir.path().join(name), text).unwrap());
    let text = format!(
        "# Started dump at: 2026-01-01 00:00:00\n[config]\nquote-character = BACKTICK\n{metadata}\n# Finished dump at: 2026-01-01 00:00:01\n"
    );
    fs::write(dir.path().join("metadata"), text).unwrap();
    dir
}

const HEAD: &str = "/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\
                    /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES'*/;\n/*!40103 SET TIME_ZONE='+00:00' */;\n";

/// `--load-data`, from version 0.12 on.
fn rows_in_files_of_their_own(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let load = "LOAD DATA LOCAL INFILE 'my_load.t.00000.dat' INTO TABLE `t` CHARACTER SET binary FIELDS TERMINATED BY '\\t' \
                ENCLOSED BY '' ESCAPED BY '\\\\' LINES STARTING BY '' TERMINATED BY '\\n' (`id`,`a`);\n";
    let create = format!(
        "{HEAD}CREATE TABLE IF NOT EXISTS `t` (\n  `id` int NOT NULL,\n  `a` varchar(20),\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB;\n"
    );
    let dir = by_hand(
        &[
            (
                "my_load-schema-create.sql",
                &format!("{HEAD}CREATE DATABASE /*!32312 IF NOT EXISTS*/ `my_load`;\n"),
            ),
            ("my_load.t-schema.sql", &create),
            ("my_load.t.00000.sql", &format!("{HEAD}{load}")),
            ("my_load.t.00000.dat", "1\ta\\tb\n2\t\\N\n3\t\\\\\n"),
        ],
        "[`my_load`.`t`]\nreal_table_name=t\nrows = 3\n",
    );
    restored(target, dir.path(), "--enable-local-infile");
    assert_eq!(value(target, "SELECT GROUP_CONCAT(HEX(a) ORDER BY id) FROM my_load.t"), "610962,5C");
    fs::remove_file(dir.path().join("my_load.t.00000.dat")).unwrap();
    let options = "--enable-local-infile --drop-existing";
    run(&mut restore(target, dir.path(), options))
        .refused(&["my_load.t.00000.sql, line 5", "my_load.t.00000.dat"]);
}

/// Names that do not fit a file's are replaced by numbered ones.
fn names_made_up(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let create = format!("{HEAD}CREATE TABLE `odd.table` (\n  `id` int NOT NULL\n) ENGINE=InnoDB;\n");
    let triggers = format!(
        "{HEAD}CREATE TRIGGER `tr` BEFORE INSERT ON `odd.table` FOR EACH ROW BEGIN\n  SET NEW.id = NEW.id + 1; \nEND;\n"
    );
    let dir = by_hand(
        &[
            ("mydumper_0-schema-create.sql", "CREATE DATABASE IF NOT EXISTS `my.odd`;\n"),
            ("mydumper_0.mydumper_1-schema.sql", &create),
            (
                "mydumper_0.mydumper_1.00000.sql",
                &format!("{HEAD}INSERT INTO `odd.table` VALUES(1)\n,(2)\n;\n"),
            ),
            ("mydumper_0.mydumper_1-schema-triggers.sql", &triggers),
            (
                "mydumper_0-schema-routines.sql",
                "CREATE FUNCTION `f`() RETURNS int DETERMINISTIC BEGIN\n  RETURN 1; \nEND;\n",
            ),
            (
                "mydumper_0-schema-events.sql",
                "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DISABLE DO DELETE FROM `odd.table`;\n",
            ),
        ],
        "[`mydumper_0`.`mydumper_1`]\nreal_table_name=odd.table\nrows = 2\n",
    );
    restored(target, dir.path(), "");
    assert_eq!(value(target, "SELECT SUM(id) + `my.odd`.f() FROM `my.odd`.`odd.table`"), "4");
    sql(target, "INSERT INTO `my.odd`.`odd.table` VALUES (10)");
    assert_eq!(value(target, "SELECT MAX(id) FROM `my.odd`.`odd.table`"), "11");
    restored(target, dir.path(), "--into my.odd=my_even");
    assert_eq!(count(target, "my_even.`odd.table`"), 2);
}

fn what_the_metadata_tells(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let files = |schema: &str| {
        [
            (
                format!("{schema}.t-schema.sql"),
                format!("{HEAD}CREATE TABLE `t` (\n  `id` int NOT NULL\n) ENGINE=InnoDB;\n"),
            ),
            (format!("{schema}.t.00000.sql"), format!("{HEAD}INSERT INTO `t` VALUES(1)\n,(2);\n")),
        ]
    };
    for (schema, rows, checksum) in
        [("my_three", "rows = 3", ""), ("my_two", "Rows = 2", "data_checksum = 1")]
    {
        let files = files(schema);
        let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let dir = by_hand(&files, &format!("[`{schema}`.`t`]\n{rows}\n{checksum}\n"));
        let output = run(&mut restore(target, dir.path(), ""));
        if schema == "my_three" {
            output.found(&["`my_three`.`t`: the dump tells 3 rows, the server took 2"]);
        } else {
            assert!(output.done().stderr.contains("CHECKSUM"));
        }
    }
}

/// A table of which the metadata tells rows, and no file is there.
fn missing_files(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let dir = by_hand(
        &[("my_gone-schema-create.sql", "CREATE DATABASE `my_gone`;\n")],
        "[`my_gone`.`t`]\nrows = 3\n\n[`my_gone`.`empty`]\nrows = 0\n",
    );
    let output = run(&mut restore(target, dir.path(), ""));
    output.found(&["`my_gone`.`t`: the dump tells 3 rows, the server took 0"]);
    // Without numbers of rows, those of the files are all that there is.
    let rows = "INSERT INTO `t` VALUES (1);\n";
    let dir = by_hand(
        &[
            ("my_gap-schema-create.sql", "CREATE DATABASE `my_gap`;\n"),
            ("my_gap.t-schema.sql", "CREATE TABLE `t` (id INT);\n"),
            ("my_gap.t.00000.sql", rows),
            ("my_gap.t.00002.sql", rows),
        ],
        "",
    );
    let output = run(&mut restore(target, dir.path(), "")).done();
    assert!(output.stderr.contains("my_gap.t: there is no file of rows with the number 00001"), "{output}");
    fs::write(dir.path().join("my_gap.t.sql"), rows).unwrap();
    run(&mut restore(target, dir.path(), "--drop-existing"))
        .refused(&["my_gap.t in one file without a number"]);
    assert_eq!(count(target, "my_gap.t"), 2, "nothing was changed");
}

fn unfinished(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let dir = by_hand(
        &[("my_un-schema-create.sql", "CREATE DATABASE `my_un`;\n"), ("my_un.t-schema.sql", HEAD)],
        "",
    );
    run(&mut restore(target, dir.path(), "")).refused(&["my_un.t-schema.sql", "definition is missing"]);
    fs::rename(dir.path().join("metadata"), dir.path().join("metadata.partial")).unwrap();
    run(&mut restore(target, dir.path(), "")).refused(&["did not finish"]);
    assert_eq!(
        value(target, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'my_un'"),
        "0"
    );
}
