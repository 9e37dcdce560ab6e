//! `drover binlog extract`: what servers logged of LOAD DATA gives the files back, byte for byte, and the statements beside them fill
//! the same tables on another server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use drover_sandbox::{Flavour, Server};
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Session, client, feed, run_script, sql, try_sql};
use crate::drover::{drover, run};
use crate::files::files_in;
use crate::servers::{on_both, start, target};

on_both!(every_clause, every_size, loads_that_fail, loads_at_the_same_time, blocks_that_interleave);

/// A server that logs statements, and one that takes the files; both may read any file.
pub(super) fn servers(flavour: Flavour) -> (Server, Server) {
    servers_with(flavour, "--binlog-checksum=NONE")
}

/// The same with one more option for the server that logs.
fn servers_with(flavour: Flavour, option: &'static str) -> (Server, Server) {
    let files = ["--secure-file-priv=", "--local-infile=1"];
    let logs = ["--log-bin", "--binlog-format=STATEMENT", option];
    (start(flavour, &[&files[..], &logs].concat()), start(flavour, &files))
}

/// The server's only log that counts.
pub(super) fn log_of(server: &Server) -> PathBuf {
    let logs = sql(server, "FLUSH BINARY LOGS; SHOW BINARY LOGS");
    server.datadir().join(&logs[0][0])
}

/// Everything there is, on both servers: each table's definition is the same, and nothing is logged of it.
pub(super) fn create(servers: [&Server; 2], schema: &str, ddl: &str) {
    for server in servers {
        let create = format!("SET sql_log_bin = 0; CREATE DATABASE {schema}; USE {schema}; {ddl}");
        sql(server, create);
    }
}

/// Runs statements with the client's option for LOCAL.
fn local(server: &Server, script: &[u8]) -> Result<(), String> {
    let output = feed(client(server).args(["--local-infile=1", "--binary-mode"]), script);
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// The loads in a log, in their order; their files are written into the directory.
pub(super) fn extracted(log: &Path, directory: &Path, options: &str) -> Vec<Value> {
    let output =
        run(drover(&format!("binlog extract --json {options}")).arg("--out").arg(directory).arg(log));
    output.done().json()["loads"].as_array().unwrap().clone()
}

/// Two tables hold the same, and something.
pub(super) fn assert_same(source: &Server, target: &Server, table: &str) {
    let [expected, found] = [source, target]
        .map(|server| sql(server, format!("SELECT COUNT(*) FROM {table}; CHECKSUM TABLE {table}")));
    assert_eq!(expected, found, "{table}");
    assert_ne!(expected[0][0], "0", "{table} is empty");
}

/// A table, a file for it, and how it is loaded: `{file}` stands for `[LOCAL] INFILE '…'`.
struct Clauses {
    table: &'static str,
    before: &'static str,
    load: &'static str,
    file: &'static [u8],
}

const TWO: &str = "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(60), c VARCHAR(60) DEFAULT 'none')";

const CLAUSES: [Clauses; 15] = [
    Clauses {
        table: TWO,
        before: "",
        load: r#"LOAD DATA {file} INTO TABLE t FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '!'
            LINES STARTING BY '>>' TERMINATED BY '\r\n' IGNORE 2 LINES (a, @x, c) SET b = CONCAT(UPPER(@x), ';')"#,
        file: b"head\r\nmore\r\n>>1,\"a,b\",c\r\nxx>>2,!N,\"!\"q\"\r\n>>3,'\\,;\r\n",
    },
    Clauses {
        table: TWO,
        before: "",
        load: r"LOAD DATA {file} INTO TABLE t FIELDS ENCLOSED BY '''' ESCAPED BY '' LINES TERMINATED BY '\n\n'",
        file: b"'1'\t'it''s'\t'\\'\n\n'2'\t'b\n'\t''\n\n",
    },
    Clauses {
        table: "CREATE TABLE t (a CHAR(3) PRIMARY KEY, b CHAR(5)) CHARACTER SET latin1",
        before: "",
        load: "LOAD DATA {file} INTO TABLE t FIELDS TERMINATED BY '' ENCLOSED BY ''",
        file: b"abc12345\ndef67890\n",
    },
    Clauses {
        table: TWO,
        before: "INSERT INTO t VALUES (1, 'there', 'x'), (2, 'there', 'x')",
        load: "LOAD DATA LOW_PRIORITY {file} REPLACE INTO TABLE t (a, b)",
        file: b"2\tnew\n3\tnew\n2\tnewer\n",
    },
    Clauses {
        table: TWO,
        before: "INSERT INTO t VALUES (1, 'there', 'x'), (2, 'there', 'x')",
        load: "LOAD DATA CONCURRENT {file} IGNORE INTO TABLE t (a, b) SET c = b",
        file: b"2\tnew\n3\tnew\n2\tnewer\nno number\ty\n",
    },
    Clauses {
        table: "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(60), c DOUBLE, d DATETIME(6), e BIGINT, f TEXT)",
        before: "INSERT INTO t (b) VALUES ('first'); SET @add := 7.25, @text := _latin1 X'FC', @nothing := NULL, @n := 1e300;
            SET timestamp = 1234567.891; SELECT LAST_INSERT_ID(99)",
        load: "LOAD DATA {file} INTO TABLE t (b) SET c = RAND() + @add, d = NOW(6), e = LAST_INSERT_ID(), f = CONCAT(@text, @n)",
        file: b"a\nb\nc\n",
    },
    Clauses {
        table: "CREATE TABLE t (a VARCHAR(60) CHARACTER SET utf8mb4 PRIMARY KEY, b VARCHAR(60) CHARACTER SET latin1)",
        before: "",
        load: "LOAD DATA {file} INTO TABLE t CHARACTER SET latin1",
        file: b"gr\xfc\xdfe\t\xa4\xff\nb\t\x80\n",
    },
    Clauses {
        table: "CREATE TABLE t (a VARCHAR(60) CHARACTER SET utf8mb4 PRIMARY KEY, b VARCHAR(60) CHARACTER SET latin1)",
        before: "",
        load: "LOAD DATA {file} INTO TABLE t CHARACTER SET utf8mb4 FIELDS TERMINATED BY 'ü→'",
        file: "grüße😀ü→ä\nbü→ß\n".as_bytes(),
    },
    Clauses {
        table: "ALTER DATABASE CHARACTER SET latin1; CREATE TABLE t (a VARCHAR(60) CHARACTER SET utf8mb4 PRIMARY KEY)",
        before: "",
        load: "LOAD DATA {file} INTO TABLE t",
        file: b"gr\xfc\xdfe\n",
    },
    Clauses {
        table: "CREATE TABLE t (a VARCHAR(60) CHARACTER SET utf8mb4 PRIMARY KEY)",
        before: "SET character_set_database = cp1251",
        load: "LOAD DATA {file} INTO TABLE t",
        file: b"\xcf\xf0\xe8\xe2\xe5\xf2\n",
    },
    Clauses {
        table: TWO,
        before: "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'",
        load: r#"LOAD DATA {file} INTO TABLE "t" FIELDS TERMINATED BY '	' ESCAPED BY '\' (a, "b") SET "c" = '\'"#,
        file: b"1\ta\\tb\n2\t\\N\n",
    },
    Clauses {
        table: "CREATE DATABASE `od``d 'n;ame`; CREATE TABLE `od``d 'n;ame`.`ta.b;le` (a INT PRIMARY KEY, `c;o``l` INT);
            CREATE VIEW t AS SELECT * FROM `od``d 'n;ame`.`ta.b;le`",
        before: "",
        load: "LOAD DATA {file} INTO TABLE `od``d 'n;ame`.`ta.b;le` (a, `c;o``l`)",
        file: b"1\t2\n",
    },
    Clauses {
        table: "CREATE TABLE t (a VARBINARY(300) PRIMARY KEY)",
        before: "",
        load: r"LOAD DATA {file} INTO TABLE t CHARACTER SET binary FIELDS TERMINATED BY 'next' ESCAPED BY '' LINES TERMINATED BY 'end'",
        file: &{
            let mut bytes = [0; 259];
            let mut at = 0;
            while at < 256 {
                bytes[at] = at as u8;
                at += 1;
            }
            (bytes[256], bytes[257], bytes[258]) = (b'e', b'n', b'd');
            bytes
        },
    },
    Clauses {
        table: "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9)) ENGINE = MyISAM",
        before: "SET NAMES latin1; SET sql_mode = ''",
        load: "load /* not a ';' */ data {file} -- no end\n into table t lines terminated by ';'",
        file: b"1\ttoo long for it;x\ty",
    },
    Clauses {
        table: TWO,
        before: "SET autocommit = 0",
        load: "LOAD DATA {file} INTO TABLE t FIELDS TERMINATED BY '|' (a, b); COMMIT",
        file: b"1|x\n",
    },
];

/// Clauses, character sets, modes and variables, with the file on the server and with LOCAL.
fn every_clause(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let files = TempDir::new().unwrap();
    let mut expected = Vec::new();
    for (number, Clauses { table, before, load, file }) in CLAUSES.iter().enumerate() {
        for word in ["", "LOCAL "] {
            let schema = format!("c_{number}{}", word.trim().to_lowercase());
            let of_schema = |text: &str| text.replace("n;ame", &format!("n;ame{schema}"));
            create([&source, &target], &schema, &of_schema(table));
            let path = files.path().join(&schema);
            fs::write(&path, file).unwrap();
            let load = load.replace("{file}", &format!("{word}INFILE '{}'", path.display()));
            // What is there before is not the load's.
            let there: Vec<_> = before.split(';').filter(|part| part.contains("INSERT")).collect();
            sql(&target, format!("USE {schema}; {};", there.join(";")));
            let script = format!("USE {schema}; {before}; {};", of_schema(&load));
            local(&source, script.as_bytes()).unwrap_or_else(|error| panic!("{script}: {error}"));
            expected.push((schema, *file));
        }
    }
    let out = TempDir::new().unwrap();
    let loads = extracted(&log_of(&source), out.path(), "");
    assert_eq!(loads.len(), expected.len(), "{loads:#?}");
    let mut wrong = String::new();
    for (load, (schema, file)) in loads.iter().zip(&expected) {
        let path = load["file"].as_str().unwrap();
        assert_eq!(fs::read(path).unwrap(), *file, "{load:#?}");
        assert_eq!((load["size"].as_u64(), &load["ended"]), (Some(file.len() as u64), &"loaded".into()));
        let statement = fs::read(load["statement_file"].as_str().unwrap()).unwrap();
        if let Err(error) = local(&target, &statement) {
            let _ = writeln!(wrong, "{schema}: {error}: {}", String::from_utf8_lossy(&statement));
            continue;
        }
        let [expected, found] =
            [&source, &target].map(|server| sql(server, format!("CHECKSUM TABLE {schema}.t")));
        let [expected, found] = if expected[0][1] == "NULL" || schema.starts_with("c_11") {
            [&source, &target].map(|server| sql(server, format!("SELECT * FROM {schema}.t")))
        } else {
            [expected, found]
        };
        if expected != found || expected.is_empty() {
            let _ =
                writeln!(wrong, "{schema}: {expected:?} {found:?} {}", String::from_utf8_lossy(&statement));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    takes_what_was_asked_for(&log_of(&source), &loads);
}

/// By position, by table, by schema; nothing is written without a directory.
fn takes_what_was_asked_for(log: &Path, loads: &[Value]) {
    let listed = |options: &str| {
        let list = run(drover(&format!("binlog extract --json {options}")).arg(log)).done().json();
        list["loads"]
            .as_array()
            .unwrap()
            .iter()
            .map(|load| load["start"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    let start = |index: usize| loads[index]["start"].as_u64().unwrap();
    let all: Vec<_> = (0..loads.len()).map(start).collect();
    assert_eq!(listed(""), all);
    assert_eq!(listed(&format!("--stop-position {}", start(3))), all[..4]);
    assert_eq!(listed(&format!("--start-position {}", start(3))), all[4..]);
    assert_eq!(listed("--table c_3.t --table c_3local.t"), all[6..8]);
    assert_eq!(listed("--table 'ta.b*' --database c_1"), [0; 0]);
    assert_eq!(listed("--table *.ta.b;le").len(), 2);
    assert_eq!(listed("--database c_1"), all[2..3]);
    let thread = loads[5]["thread"].as_u64().unwrap();
    assert_eq!(listed(&format!("--thread {thread}")), all[5..6]);
    let text = run(drover("binlog extract --table c_0.t").arg(log)).done().stdout;
    assert!(text.contains(" c_0.t ") && text.contains("STATEMENT") && text.lines().count() == 3, "{text}");
}

/// A file of lines of a thousand bytes; the last one may be short.
pub(super) fn lines(length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 1000);
    for number in 0.. {
        if bytes.len() >= length {
            break;
        }
        bytes.extend_from_slice(format!("{number:0>999}\n").as_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// From nothing to 50 MB, around the size of the server's blocks; nothing is logged of a file without a byte.
fn every_size(flavour: Flavour) {
    let (source, target) = servers(flavour);
    create([&source, &target], "sizes", "");
    let files = TempDir::new().unwrap();
    let mut expected = Vec::new();
    for length in [0, 1, 131_071, 131_072, 131_073, 50_000_000] {
        for word in ["", "LOCAL "] {
            let table = format!("sizes.t{length}{}", word.trim());
            create_table(&[&source, &target], &table);
            let path = files.path().join(&table);
            fs::write(&path, lines(length)).unwrap();
            let load = format!("LOAD DATA {word}INFILE '{}' INTO TABLE {table} (v);", path.display());
            local(&source, load.as_bytes()).unwrap();
            if length > 0 {
                expected.push((table, path));
            }
        }
    }
    let out = TempDir::new().unwrap();
    let loads = extracted(&log_of(&source), out.path(), "");
    assert_eq!(loads.len(), expected.len(), "{loads:#?}");
    for (load, (table, original)) in loads.iter().zip(&expected) {
        let found = fs::read(load["file"].as_str().unwrap()).unwrap();
        assert!(found == fs::read(original).unwrap(), "{load:#?}");
        local(&target, &fs::read(load["statement_file"].as_str().unwrap()).unwrap()).unwrap();
        assert_same(&source, &target, table);
    }
    assert_eq!(files_in(out.path()).len(), 2 * expected.len());
}

pub(super) fn create_table(servers: &[&Server], table: &str) {
    let ddl = format!("CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000))");
    servers.iter().for_each(|server| drop(sql(server, format!("SET sql_log_bin = 0; {ddl}"))));
}

/// A load that fails half way into a table without transactions keeps what came in; one that fails at once is thrown away; one into
/// a table with transactions is not logged at all.
fn loads_that_fail(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let files = TempDir::new().unwrap();
    let mut file = Vec::new();
    for number in 0..100_000 {
        // The same key again, in the third of five blocks.
        let key = if number == 40_000 { 17 } else { number };
        file.extend_from_slice(format!("{key}\t{number}\n").as_bytes());
    }
    let path = files.path().join("file");
    fs::write(&path, &file).unwrap();
    for engine in ["MyISAM", "InnoDB"] {
        let ddl = format!("CREATE TABLE {engine} (a INT PRIMARY KEY, b INT) ENGINE = {engine}");
        if engine == "MyISAM" {
            create([&source, &target], "f", &ddl)
        } else {
            use_and_run(&[&source, &target], &ddl)
        }
        let load = format!("LOAD DATA INFILE '{}' INTO TABLE f.{engine}", path.display());
        assert!(try_sql(&source, &load).unwrap_err().contains("Duplicate entry '17'"));
    }
    fs::write(files.path().join("second"), b"17\t1\n").unwrap();
    let second = format!("LOAD DATA INFILE '{}' INTO TABLE f.MyISAM", files.path().join("second").display());
    assert!(try_sql(&source, &second).unwrap_err().contains("Duplicate entry '17'"));

    let out = TempDir::new().unwrap();
    let loads = extracted(&log_of(&source), out.path(), "");
    let told: Vec<_> =
        loads.iter().map(|load| (load["ended"].as_str().unwrap(), load["error"].as_u64())).collect();
    assert_eq!(told, [("failed", Some(1062)), ("failed", None)]);
    let found = fs::read(loads[0]["file"].as_str().unwrap()).unwrap();
    // The server reads a block at a time, up to the one with the error.
    assert!(file.starts_with(&found) && found.len() > 400_000 && found.len() < file.len(), "{}", found.len());
    assert_eq!(fs::read(loads[1]["file"].as_str().unwrap()).unwrap(), b"17\t1\n");
    assert_eq!(loads[1]["statement_file"], Value::Null);
    let statement = fs::read_to_string(loads[0]["statement_file"].as_str().unwrap()).unwrap();
    assert!(
        statement.contains("-- It FAILED with error 1062") && statement.contains("\n--   LOAD DATA INFILE '")
    );
    let on_server = statement.replace("LOAD DATA LOCAL INFILE", "LOAD DATA INFILE");
    assert!(run_script(&target, None, on_server.as_bytes()).unwrap_err().contains("Duplicate entry '17'"));
    assert_same(&source, &target, "f.MyISAM");
}

fn use_and_run(servers: &[&Server], ddl: &str) {
    servers.iter().for_each(|server| drop(sql(server, format!("SET sql_log_bin = 0; USE f; {ddl}"))));
}

/// Three sessions, with and without transactions, in a compressed log.
fn loads_at_the_same_time(flavour: Flavour) {
    let compression = match flavour {
        Flavour::MySql => "--binlog-transaction-compression=ON",
        Flavour::MariaDb => "--log-bin-compress",
    };
    let (source, target) = servers_with(flavour, compression);
    create([&source, &target], "p", "");
    let files = TempDir::new().unwrap();
    let tables = ["p.a", "p.b", "p.c"];
    let mut sessions: Vec<_> = tables.iter().map(|_| Session::open(&source)).collect();
    for (index, table) in tables.iter().enumerate() {
        let engine = if index == 2 { "MyISAM" } else { "InnoDB" };
        create_table(&[&source, &target], table);
        let alter = format!("SET sql_log_bin = 0; ALTER TABLE {table} ENGINE = {engine}");
        [&source, &target].iter().for_each(|server| drop(sql(server, &alter)));
        fs::write(files.path().join(table), lines(3_000_000 + 1_000_000 * index)).unwrap();
    }
    // Twice each, in one transaction where there are any.
    sessions.iter_mut().for_each(|session| session.run("BEGIN"));
    for _ in 0..2 {
        for (session, table) in sessions.iter_mut().zip(tables) {
            session.send(&format!(
                "LOAD DATA INFILE '{}' INTO TABLE {table} (v)",
                files.path().join(table).display()
            ));
        }
    }
    sessions.iter_mut().for_each(|session| session.run("COMMIT"));
    let out = TempDir::new().unwrap();
    let loads = extracted(&log_of(&source), out.path(), "");
    assert_eq!(loads.len(), 6);
    for load in &loads {
        let table = format!("p.{}", load["table"].as_str().unwrap());
        let found = fs::read(load["file"].as_str().unwrap()).unwrap();
        assert!(found == fs::read(files.path().join(&table)).unwrap(), "{table}");
        local(&target, &fs::read(load["statement_file"].as_str().unwrap()).unwrap()).unwrap();
    }
    tables.iter().for_each(|table| assert_same(&source, &target, table));
}

/// Servers before 5.5 wrote blocks of tables without transactions at once, so that those of several sessions stand among each
/// other. No server of today does: a log is made that has its events in such an order.
fn blocks_that_interleave(flavour: Flavour) {
    let (source, target) = servers(flavour);
    create([&source, &target], "i", "");
    let files = TempDir::new().unwrap();
    let tables = ["i.a", "i.b", "i.c"];
    for (index, table) in tables.iter().enumerate() {
        create_table(&[&source, &target], table);
        let path = files.path().join(table);
        fs::write(&path, lines(700_000 + 300_000 * index)).unwrap();
        sql(&source, format!("LOAD DATA INFILE '{}' INTO TABLE {table} (v)", path.display()));
    }
    let log = fs::read(log_of(&source)).unwrap();
    let events = events(&log);
    let blocks = |number: u32| events.iter().filter(move |event| number_of(event) == Some(number));
    let numbers: Vec<_> =
        events.iter().filter(|event| event[4] == 17).filter_map(|event| number_of(event)).collect();
    let mut mixed = [&log[..4], events[0]].concat();
    for round in 0..20 {
        for &number in &numbers {
            blocks(number).nth(round).into_iter().for_each(|event| mixed.extend_from_slice(event));
        }
    }
    let path = files.path().join("mixed.000001");
    fs::write(&path, mixed).unwrap();
    let out = TempDir::new().unwrap();
    let loads = extracted(&path, out.path(), "");
    let ended: Vec<_> = loads.iter().map(|load| load["table"].as_str().unwrap()).collect();
    assert_eq!(ended, ["a", "b", "c"]);
    let starts: Vec<_> = loads.iter().map(|load| load["start"].as_u64().unwrap()).collect();
    assert!(starts.iter().max() < loads.iter().map(|load| load["stop"].as_u64().unwrap()).min().as_ref());
    for (load, table) in loads.iter().zip(tables) {
        let found = fs::read(load["file"].as_str().unwrap()).unwrap();
        assert!(found == fs::read(files.path().join(table)).unwrap(), "{table}");
        local(&target, &fs::read(load["statement_file"].as_str().unwrap()).unwrap()).unwrap();
        assert_same(&source, &target, table);
    }
    // A log that ends too early.
    fs::write(&path, &fs::read(&path).unwrap()[..starts[2] as usize]).unwrap();
    let cut = run(drover("binlog extract --json --out").arg(out.path().join("cut")).arg(&path));
    assert_eq!(cut.code, Some(1), "{cut}");
    let document = cut.json();
    let told: Vec<_> =
        document["loads"].as_array().unwrap().iter().map(|load| load["ended"].as_str().unwrap()).collect();
    assert_eq!(told, ["unfinished", "unfinished"]);
    let part = fs::read(document["loads"][0]["file"].as_str().unwrap()).unwrap();
    assert!(lines(700_000).starts_with(&part) && part.len() == 131_072, "{}", part.len());
    assert!(
        files_in(&out.path().join("cut"))
            .iter()
            .all(|file| file.to_string_lossy().ends_with(".incomplete.data"))
    );
}

/// The events of a log without checksums.
fn events(log: &[u8]) -> Vec<&[u8]> {
    let (mut events, mut rest) = (Vec::new(), &log[4..]);
    while rest.len() >= 19 {
        let size = u32::from_le_bytes(rest[9..13].try_into().unwrap()) as usize;
        let (event, behind) = rest.split_at(size);
        events.push(event);
        rest = behind;
    }
    events
}

/// The number of the file that an event is about.
fn number_of(event: &[u8]) -> Option<u32> {
    let at = match event[4] {
        9 | 17 => 19,
        18 => 32,
        _ => return None,
    };
    Some(u32::from_le_bytes(event[at..at + 4].try_into().unwrap()))
}

/// The loads that MariaDB's developers kept, of 4.1 to 5.6: what the vendor's program extracts is the same.
#[test]
fn loads_of_old_servers() {
    const LOGS: [&str; 5] = [
        "binlog_old_version_4_1.000001",
        "ver_5_1_17.001",
        "ver_5_1_23.001",
        "ver_5_1-telco.001",
        "ver_trunk_row_v2.001",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.servers/binlogs");
    let all = files_in(&root);
    for name in LOGS {
        let log = all.iter().find(|path| path.ends_with(name)).unwrap();
        let (ours, theirs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let loads = extracted(log, ours.path(), "");
        let mut program = target(Flavour::MariaDb).client("mysqlbinlog");
        program.arg(format!("--local-load={}", theirs.path().display())).arg(log);
        assert!(feed(&mut program, b"").status.success());
        let theirs = files_in(theirs.path());
        assert_eq!((loads.len(), theirs.len()), (1, 1), "{name}");
        let [ours, theirs] = [loads[0]["file"].as_str().unwrap(), theirs[0].to_str().unwrap()]
            .map(|path| fs::read(path).unwrap());
        assert!(ours == theirs && ours.len() > 100_000, "{name}: {} {}", ours.len(), theirs.len());
        assert!(loads[0]["table"] == "t3" && loads[0]["schema"] == "test", "{name}");
        let statement = fs::read_to_string(loads[0]["statement_file"].as_str().unwrap()).unwrap();
        assert!(statement.contains(" LOCAL INFILE '") && statement.contains("INTO TABLE "), "{statement}");
    }
}
