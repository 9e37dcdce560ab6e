//! Files that are odd in another way than by what they run: several dumps in one, none, marks of editors, and tables that
//! cannot be filled or get their keys in just any order.

use std::fmt::Write as _;
use std::fs;

use drover_sandbox::{Flavour, Server};

use super::{create_schema, drop_schema, mysqldump, restored, servers, written};
use crate::client::{feed, sql, value};
use crate::compare;
use crate::drover::{Output, restore, run};
use crate::servers::{on_both, start, start_unsynced};

on_both!(
    two_dumps_in_one_file,
    rows_that_are_deleted_first,
    programs_without_a_mode,
    nothing_at_all,
    a_byte_order_mark,
    foreign_keys_to_unique_keys,
    full_text_documents_in_order,
    periods_that_may_not_overlap,
    links_out_of_a_directory,
    a_long_comment,
    a_statement_beyond_the_server,
    a_zstd_window_beyond_the_limit
);

/// Written one after the other by `cat`.
fn two_dumps_in_one_file(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    for (schema, rows) in [("odd_one", "(1)"), ("odd_two", "(2), (3)")] {
        sql(
            source,
            format!(
                "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT); INSERT INTO {schema}.t VALUES {rows}"
            ),
        );
    }
    let (one, two) = (mysqldump(source, "odd_one"), mysqldump(source, "odd_two"));
    let both = [&one[..], &two].concat();
    let path = written(&dir, "both.sql", &both);
    let check = || {
        for schema in ["odd_one", "odd_two"] {
            compare::assert_same(&compare::rows(source, schema), &compare::rows(target, schema));
            drop_schema(target, schema);
        }
    };
    restored(target, &path, "--threads 4");
    check();
    let piped = feed(&mut restore(target, std::path::Path::new("-"), ""), &both);
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    check();
    let end = |script: &[u8]| script.windows(17).rposition(|bytes| bytes == b"-- Dump completed").unwrap();
    for (name, script) in [
        ("first-cut.sql", [&one[..end(&one)], &two].concat()),
        ("second-cut.sql", [&one[..], &two[..end(&two)]].concat()),
    ] {
        run(&mut restore(target, &written(&dir, name, &script), "")).refused(&[name, "not whole"]);
        let there =
            "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('odd_one', 'odd_two')";
        assert_eq!(value(target, there), "0", "{name}: nothing was changed");
    }
    drop_schema(source, "odd_one");
    drop_schema(source, "odd_two");
}

/// HeidiSQL's "delete + insert": the target's rows are not the dump's to delete.
fn rows_that_are_deleted_first(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "odd_delete");
    create_schema(target, schema);
    sql(target, format!("CREATE TABLE {schema}.t (id INT PRIMARY KEY); INSERT INTO {schema}.t VALUES (7)"));
    for first in ["DELETE FROM `t`", "TRUNCATE TABLE `t`"] {
        let script = format!("USE {schema};\n{first};\nINSERT INTO `t` VALUES (1), (2);\n");
        for options in ["", "--drop-existing"] {
            let path = written(&dir, "a.sql", script.as_bytes());
            run(&mut restore(target, &path, options)).refused(&["has rows already"]);
            let piped = feed(&mut restore(target, std::path::Path::new("-"), options), script.as_bytes());
            assert_eq!(piped.status.code(), Some(2));
            assert_eq!(value(target, format!("SELECT GROUP_CONCAT(id) FROM {schema}.t")), "7", "{first}");
        }
    }
    sql(target, format!("DELETE FROM {schema}.t"));
    let script = format!(
        "USE {schema};\nINSERT INTO `t` VALUES (1);\nDELETE FROM `t`;\nINSERT INTO `t` VALUES (1), (2);\n"
    );
    restored(target, &written(&dir, "a.sql", script.as_bytes()), "");
    assert_eq!(value(target, format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM {schema}.t")), "1,2");
    drop_schema(target, schema);
}

/// Programs keep the sql_mode that they are made in: without a word of it that is the server's, as with the vendor's client.
fn programs_without_a_mode(flavour: Flavour) {
    let server = start(flavour, &["--sql-mode=STRICT_ALL_TABLES,PIPES_AS_CONCAT"]);
    let dir = tempfile::tempdir().unwrap();
    let programs = "CREATE TABLE t (a INT);\nCREATE PROCEDURE p() SELECT 'a' || 'b';\nCREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1;\n\
                    CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1;\n\
                    CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1;\nINSERT INTO t VALUES (5);\n";
    let modes = |schema: &str| {
        value(
            &server,
            format!(
                "SELECT GROUP_CONCAT(m ORDER BY m) FROM (
                   SELECT CONCAT(ROUTINE_NAME, SQL_MODE, COLLATION_CONNECTION) m FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{schema}'
                   UNION ALL SELECT CONCAT(TRIGGER_NAME, SQL_MODE, COLLATION_CONNECTION) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{schema}'
                   UNION ALL SELECT CONCAT(EVENT_NAME, SQL_MODE, COLLATION_CONNECTION) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{schema}') x"
            ),
        )
    };
    super::by_client(&server, "odd_client", programs.as_bytes());
    let expected = modes("odd_client");
    assert!(expected.contains("PIPES_AS_CONCAT"), "{expected}");
    let script = format!("CREATE DATABASE odd_mode;\nUSE odd_mode;\n{programs}");
    restored(&server, &written(&dir, "a.sql", script.as_bytes()), "");
    assert_eq!(modes("odd_mode"), expected);
    // What a script says counts.
    let script = format!(
        "CREATE DATABASE odd_own;\nUSE odd_own;\nSET sql_mode = 'ANSI_QUOTES';\n{}",
        programs.replace("||", "+")
    );
    restored(&server, &written(&dir, "b.sql", script.as_bytes()), "");
    let own = modes("odd_own");
    assert!(own.contains("ANSI_QUOTES") && !own.contains("PIPES_AS_CONCAT"), "{own}");
}

/// A tool that failed leaves an empty file.
fn nothing_at_all(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    let gzip = feed(std::process::Command::new("gzip").arg("-c"), b"").stdout;
    let comments = b"-- nothing\n\n/* nothing */\n;\n";
    for (name, text) in [("empty.sql", &b""[..]), ("empty.sql.gz", &gzip), ("comments.sql", comments)] {
        run(&mut restore(target, &written(&dir, name, text), "")).refused(&[name, "no statement"]);
        let piped = feed(&mut restore(target, std::path::Path::new("-"), ""), text);
        let said = String::from_utf8_lossy(&piped.stderr).into_owned();
        assert!(piped.status.code() == Some(2) && said.contains("no statement"), "{name}: {said}");
    }
    let tables = dir.path().join("tables/odd_empty");
    fs::create_dir_all(&tables).unwrap();
    fs::write(tables.join("a.sql"), "CREATE TABLE a (id INT);\n").unwrap();
    fs::write(tables.join("b.sql"), "").unwrap();
    run(&mut restore(target, &dir.path().join("tables"), "")).refused(&["b.sql", "no statement"]);
}

fn a_byte_order_mark(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "odd_mark");
    create_schema(target, schema);
    let script = format!("\u{feff}USE {schema};\nCREATE TABLE t (id INT);\nINSERT INTO t VALUES (1);\n");
    restored(target, &written(&dir, "a.sql", script.as_bytes()), "");
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.t")), "1");
    let utf16: Vec<u8> = script.encode_utf16().flat_map(u16::to_le_bytes).collect();
    run(&mut restore(target, &written(&dir, "b.sql", &utf16), "")).refused(&["b.sql", "UTF-16", "iconv"]);
    drop_schema(target, schema);
}

/// Rows of some megabytes for a table of a number and a text, in the order that is given.
fn rows(table: &str, ids: impl Iterator<Item = u32>, row: &dyn Fn(u32) -> String) -> String {
    let (mut text, mut ids) = (String::new(), ids.peekable());
    while ids.peek().is_some() {
        let rows: Vec<_> = ids.by_ref().take(500).map(row).collect();
        writeln!(text, "INSERT INTO `{table}` VALUES {};", rows.join(",")).unwrap();
    }
    text
}

const HEAD: &str = "-- MySQL dump 10.13\nSET FOREIGN_KEY_CHECKS=0;\nSET UNIQUE_CHECKS=0;\n";
const END: &str = "-- Dump completed\n";

/// Keys that foreign keys refer to cannot wait for the rows, whichever of the tables comes first.
fn foreign_keys_to_unique_keys(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let (schema, dir) = ("odd_unique", tempfile::tempdir().unwrap());
    create_schema(source, schema);
    let fill = "SELECT a.n * 1000 + b.n, a.n * 1000 + b.n, a.n * 1000 + b.n, REPEAT('x', 200)";
    sql(
        source,
        format!(
            "USE {schema}; CREATE TABLE parent (id INT PRIMARY KEY, u INT NOT NULL, v INT NOT NULL, c VARCHAR(200), KEY c (c), UNIQUE KEY u (u),
               UNIQUE KEY v (v), KEY other (v, u));
             CREATE TABLE n (n INT PRIMARY KEY); INSERT INTO n WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n FROM s;
             INSERT INTO parent {fill} FROM n a JOIN n b WHERE a.n <= 25;
             CREATE TABLE child (id INT PRIMARY KEY, u INT, v INT, c VARCHAR(200), KEY (u), KEY k (v, u),
               CONSTRAINT fk_u_{schema} FOREIGN KEY (u) REFERENCES parent (u));
             INSERT INTO child {fill} FROM n a JOIN n b WHERE a.n <= 25;
             CREATE TABLE small (id INT PRIMARY KEY, u INT, CONSTRAINT fk_s_{schema} FOREIGN KEY (u) REFERENCES parent (u));
             CREATE TABLE zelf (id INT PRIMARY KEY, u INT, v INT, c VARCHAR(200), UNIQUE KEY u (u), UNIQUE KEY v (v),
               CONSTRAINT fk_z_{schema} FOREIGN KEY (v) REFERENCES zelf (u));
             INSERT INTO zelf {fill} FROM n a JOIN n b WHERE a.n <= 25"
        ),
    );
    let expected = compare::everything(source, schema);
    create_schema(target, schema);
    restored(target, &written(&dir, "a.sql", &mysqldump(source, schema)), "--threads 4");
    compare::assert_same(&expected, &compare::everything(target, schema));
    create_schema(target, schema);
    let out = dir.path().join("dump");
    super::tool(
        std::process::Command::new("mydumper")
            .arg("-S")
            .arg(source.socket())
            .args(["-u", "root", "-B", schema, "-o"])
            .arg(&out),
    );
    restored(target, &out, "--threads 4");
    compare::assert_same(&expected, &compare::everything(target, schema));
    drop_schema(source, schema);
    drop_schema(target, schema);
}

/// InnoDB takes the numbers of full-text documents in rising order only.
fn full_text_documents_in_order(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (schema, dir) = ("odd_docs", tempfile::tempdir().unwrap());
    let create = "CREATE TABLE `t` (\n  `FTS_DOC_ID` bigint unsigned NOT NULL AUTO_INCREMENT,\n  `c` varchar(300),\n  PRIMARY KEY (`FTS_DOC_ID`),\n  \
                  FULLTEXT KEY `c` (`c`)\n) ENGINE=InnoDB;\n";
    let row = |id: u32| format!("({id},'{} word{id}')", "x".repeat(250));
    // Batches of which the workers take several at once.
    let script = format!("{HEAD}{create}{}{END}", rows("t", 1..60_000, &row));
    create_schema(target, schema);
    let path = written(&dir, "a.sql", script.as_bytes());
    let output =
        run(restore(target, &path, "--threads 4").args(["--url", &format!("mysql:///{schema}")])).done();
    assert!(output.stdout.contains("59,999 rows") && output.stdout.contains("FTS_DOC_ID"), "{output}");
    // In a directory whose files fill one table.
    let out = dir.path().join("tables");
    fs::create_dir_all(out.join(schema)).unwrap();
    fs::write(out.join(schema).join("t.sql"), create).unwrap();
    for part in 0..8 {
        let text = rows("t", part * 5000 + 1..(part + 1) * 5000 + 1, &row);
        fs::write(out.join(schema).join(format!("t.rows.{part}.sql")), text).unwrap();
    }
    let output = restored(target, &out, "--threads 4 --drop-existing");
    assert!(output.stdout.contains("40,000 rows"), "{output}");
    drop_schema(target, schema);
}

/// MariaDB looks for periods that overlap with locks on the rows around.
fn periods_that_may_not_overlap(flavour: Flavour) {
    if flavour != Flavour::MariaDb {
        return; // no other server has them
    }
    let (_, target) = servers(flavour);
    let (schema, dir) = ("odd_periods", tempfile::tempdir().unwrap());
    let create = "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `c` varchar(300),\n  `a` date NOT NULL,\n  `b` date NOT NULL,\n  PERIOD FOR `p` (`a`, `b`),\n  \
                  PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`c`,`p` WITHOUT OVERLAPS)\n) ENGINE=InnoDB;\n";
    // Neighbours of the key lie far apart in the file.
    let row =
        |id: u32| format!("({id},'{}{}','2020-01-01','2020-02-01')", id * 7919 % 30_011, "x".repeat(250));
    let script = format!("{HEAD}{create}{}{END}", rows("t", 1..30_000, &row));
    create_schema(target, schema);
    let path = written(&dir, "a.sql", script.as_bytes());
    let output =
        run(restore(target, &path, "--threads 8").args(["--url", &format!("mysql:///{schema}")])).done();
    assert!(output.stdout.contains("29,999 rows") && output.stdout.contains("OVERLAPS"), "{output}");
    drop_schema(target, schema);
}

/// What lies elsewhere is not restored with a dump, and nobody writes into a pipe.
fn links_out_of_a_directory(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), "1\tsecret\n").unwrap();
    fs::write(dir.path().join("a.sql"), "CREATE TABLE a (id INT, b TEXT);\n").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), dir.path().join("a.txt")).unwrap();
    let refused = |name: &str, why: &str| {
        let mut command = restore(target, dir.path(), "--enable-local-infile");
        run(command.args(["--url", "mysql:///odd_links"])).refused(&[name, why]);
    };
    refused("a.txt", "leads out");
    fs::remove_file(dir.path().join("a.txt")).unwrap();
    super::tool(std::process::Command::new("mkfifo").arg(dir.path().join("b.sql")));
    refused("b.sql", "no regular file");
}

/// Runs a command: the most memory that drover held meanwhile, in MB, and what it printed.
fn memory(server: &Server, path: &std::path::Path) -> (u64, Output) {
    let mut running = crate::drover::Running::start(&mut restore(server, path, ""));
    let mut most = 0;
    while !running.has_ended() {
        let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        most = most.max(line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    (most / 1000, running.finish())
}

/// Of what no server takes only its length is looked at.
fn a_statement_beyond_the_server(flavour: Flavour) {
    let server = start_unsynced(flavour, &["--max-allowed-packet=16M"]);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "odd_long");
    let filling = "x".repeat(300 << 20);
    for (begin, place) in [("SET @a = '", "line 3"), ("INSERT INTO t VALUES ('", "line 3")] {
        let script = format!("USE {schema};\nCREATE TABLE t (a LONGTEXT);\n{begin}{filling}');\n");
        let packed = feed(std::process::Command::new("gzip").args(["-1", "-c"]), script.as_bytes()).stdout;
        let (most, output) = memory(&server, &written(&dir, "a.sql.gz", &packed));
        let length = begin.len() + filling.len() + 2;
        output.refused(&[
            place,
            &format!("of {length} bytes"),
            "max_allowed_packet: 16777216 bytes",
            "SET GLOBAL",
        ]);
        assert!(most < 100, "{most} MB for {begin}");
    }
    // What the server takes is held once.
    create_schema(&server, schema);
    let (begin, filling) = ("INSERT INTO t VALUES ('", "x".repeat(15 << 20));
    let rows = format!("{begin}{filling}');\n").repeat(3);
    let script = format!("USE {schema};\nCREATE TABLE t (a LONGTEXT);\n{rows}");
    restored(&server, &written(&dir, "a.sql", script.as_bytes()), "");
    assert_eq!(value(&server, "SELECT SUM(LENGTH(a)) FROM odd_long.t"), (3 * filling.len()).to_string());
}

/// zstd's own program does not unpack it without being told to, either.
fn a_zstd_window_beyond_the_limit(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "odd_window");
    create_schema(target, schema);
    let script = format!("USE {schema};\nCREATE TABLE t (id INT);\n");
    let packed =
        feed(std::process::Command::new("zstd").args(["-1", "--long=28", "-c"]), script.as_bytes()).stdout;
    let path = written(&dir, "a.sql.zst", &packed);
    let hint = format!("zstd -dc --long=31 {}", path.display());
    let output = run(&mut restore(target, &path, ""));
    assert!(!output.stderr.contains("damaged"), "{output}");
    output.refused(&["a.sql.zst", "window of more than 128 MiB", &hint]);
    let unpacked = std::process::Command::new("sh").arg("-c").arg(hint).output().unwrap().stdout;
    assert!(feed(&mut restore(target, std::path::Path::new("-"), ""), &unpacked).status.success());
    drop_schema(target, schema);
}

/// Packed, a comment of any length is a small file: it must not fill the memory.
fn a_long_comment(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "odd_comment");
    create_schema(target, schema);
    let filling = "x".repeat(300 << 20);
    for (begin, end) in [("/* ", " */"), ("-- ", "\n")] {
        drop_schema(target, schema);
        create_schema(target, schema);
        let script = format!("{begin}{filling}{end}USE {schema};\nCREATE TABLE t (id INT);\n");
        let packed = feed(std::process::Command::new("gzip").args(["-1", "-c"]), script.as_bytes()).stdout;
        let (most, output) = memory(target, &written(&dir, "a.sql.gz", &packed));
        output.done();
        assert!(most < 100, "{most} MB for a comment {begin}");
    }
    drop_schema(target, schema);
}
