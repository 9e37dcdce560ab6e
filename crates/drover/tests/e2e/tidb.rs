//! TiDB, where `DROVER_TEST_TIDB` says where its server is (scripts/tidb builds one, in five minutes). Without it these tests are ignored, and
//! shown as such; see CONTRIBUTING.md.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::Flavour;
use tempfile::TempDir;

use crate::client::{self, Rows, rows_of};
use crate::drover::{Running, drover, dump, restore, run};
use crate::servers;

/// A server with a store of its own, which ends with the test, however that ends.
struct TiDb {
    port: u16,
    dir: TempDir,
    guard: Child,
    /// The guard reads from it: its end is the server's end.
    _pipe: ChildStdin,
}

/// Up to when rows of the past may be gone. A cluster notes it by itself; the built-in store collects no garbage and notes nothing, and
/// without it `tidb_snapshot` is refused. TiDB's own tests do the same (pkg/executor/test/simpletest, `tikv_gc_safe_point`).
const SAFE_POINT: &str =
    "INSERT IGNORE INTO mysql.tidb VALUES ('tikv_gc_safe_point', '20160102-15:04:05 -0700', '')";

/// Ends the server when its own input ends.
const GUARD: &str =
    "\"$@\" </dev/null >/dev/null 2>\"$LOG\" & server=$!; read -r line; kill -9 $server; wait $server";

impl TiDb {
    fn start() -> Self {
        let program = std::env::var("DROVER_TEST_TIDB").expect("DROVER_TEST_TIDB: the path of tidb-server");
        let dir = tempfile::tempdir().unwrap();
        let (port, status) = (free_port(), free_port());
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "sh", &program, "-store", "unistore", "-path"])
            .arg(dir.path().join("data"))
            .args([
                "-host",
                "127.0.0.1",
                "-L",
                "warn",
                "-P",
                &port.to_string(),
                "-status",
                &status.to_string(),
            ])
            .arg("-socket")
            .arg(dir.path().join("tidb.sock"))
            .arg("-log-file")
            .arg(dir.path().join("tidb.log"))
            .env("LOG", dir.path().join("stderr"))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = guard.stdin.take().unwrap();
        let server = Self { port, dir, guard, _pipe: pipe };
        let deadline = Instant::now() + Duration::from_secs(180);
        while let Err(error) = server.try_sql("SELECT 1") {
            assert!(Instant::now() < deadline, "TiDB does not answer: {error}\n{}", server.log());
            std::thread::sleep(Duration::from_millis(100));
        }
        server.sql(SAFE_POINT);
        server
    }

    fn log(&self) -> String {
        let text = |name: &str| std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        text("stderr") + &text("tidb.log")
    }

    fn client(&self) -> Command {
        let mut client = servers::source(Flavour::MariaDb).client("mysql");
        client.args(["--protocol=tcp", "-h", "127.0.0.1", "-u", "root", "--batch"]);
        client.args(["--skip-column-names", "--comments", "--default-character-set=utf8mb4"]);
        client.args(["-P", &self.port.to_string()]);
        client
    }

    fn try_sql(&self, text: &str) -> Result<Rows, String> {
        TcpStream::connect(("127.0.0.1", self.port)).map_err(|error| error.to_string())?;
        rows_of(&mut self.client(), text)
    }

    fn sql(&self, text: &str) -> Rows {
        self.try_sql(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn url(&self, schema: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{schema}", self.port)
    }

    fn drover(&self, line: &str) -> Command {
        let mut command = drover(line);
        command.args(["--no-defaults", "--url", &self.url("")]);
        command
    }
}

impl Drop for TiDb {
    fn drop(&mut self) {
        let _already_ended = self.guard.stdin.take();
        let _ended = Command::new("pkill").args(["-9", "-P", &self.guard.id().to_string()]).status();
        let _already_ended = self.guard.kill();
        let _status = self.guard.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Of each schema's table all rows, by their bytes, in the order of its first column.
const ROWS: &str = "SELECT id, HEX(a), HEX(b), c, d, e FROM shop.goods ORDER BY id";

const GOODS: &str = "CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop; \
    CREATE TABLE goods (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, a VARBINARY(64), b VARCHAR(64), c DECIMAL(20,4), \
    d DATETIME(6), e JSON, KEY (c), UNIQUE KEY (b)); \
    INSERT INTO goods (a, b, c, d, e) VALUES (0x00ff0a5c, 'ä€😀', -1.5, '2024-02-29 23:59:59.999999', '{\"a\": [1, null]}'), \
    ('', '', 0, '1000-01-01', 'null'), (NULL, NULL, NULL, NULL, NULL); \
    INSERT INTO goods (a, b, c) SELECT CONCAT(x.id, y.id), CONCAT('n', x.id, '-', y.id, '-', z.id, '-', w.id), x.id * y.id FROM goods x, goods y, goods z, goods w;";

fn fill(server: &TiDb) {
    server.sql(GOODS);
    for n in 0..3 {
        server.sql(&format!(
            "INSERT INTO shop.goods (a, b, c) SELECT a, CONCAT('{n}-', id), c FROM shop.goods"
        ));
    }
}

#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn a_dump_is_restored_and_verified() {
    let (server, dir) = (TiDb::start(), tempfile::tempdir().unwrap());
    fill(&server);
    server.sql(
        "USE shop; CREATE TABLE spread (id BIGINT AUTO_RANDOM(5) PRIMARY KEY, v INT); INSERT INTO spread (v) VALUES (1), (2), (3); \
         CREATE TABLE heap (id INT PRIMARY KEY NONCLUSTERED, v INT); INSERT INTO heap VALUES (2, 1), (1, 2); \
         CREATE TABLE no_key (v INT, w VARCHAR(10)); INSERT INTO no_key VALUES (1, 'x'), (1, 'x'), (NULL, NULL); \
         CREATE SEQUENCE numbers START WITH 10 INCREMENT BY 5 NOCACHE; SELECT NEXTVAL(numbers), NEXTVAL(numbers); \
         CREATE SEQUENCE down START WITH 10 MINVALUE -100 MAXVALUE 10 INCREMENT BY -3 CACHE 2; SELECT NEXTVAL(down); \
         CREATE SEQUENCE unused START WITH 7; \
         CREATE TABLE western (v VARCHAR(20)) CHARACTER SET latin1; INSERT INTO western VALUES ('caf\u{e9}'); \
         CREATE TABLE old (at DATETIME) TTL = at + INTERVAL 3 MONTH; INSERT INTO old VALUES (NOW()); \
         CREATE VIEW dear AS SELECT id, c FROM goods WHERE c > 1",
    );
    let definitions = "USE shop; SHOW CREATE TABLE goods; SHOW CREATE TABLE spread; SHOW CREATE TABLE heap; SHOW CREATE TABLE no_key; \
                       SHOW CREATE TABLE old; SHOW CREATE VIEW dear; SHOW CREATE SEQUENCE numbers; SHOW CREATE SEQUENCE down; SHOW CREATE TABLE western";
    let (rows, before) = (server.sql(ROWS), server.sql(definitions));
    let out = dir.path().join("dump");
    let dumped = run(server.drover("dump shop --threads 3 --json").arg("--out").arg(&out)).done();
    assert!(dumped.json()["snapshot"]["tso"].as_u64().unwrap() > 0, "{dumped}");
    run(server.drover("verify").arg(&out)).done();
    server.sql("DELETE FROM shop.goods WHERE id = 2");
    run(server.drover("verify").arg(&out)).found(&["goods"]);
    server.sql("DROP DATABASE shop");
    run(server.drover("restore --threads 3").arg(&out)).done();
    assert_eq!(server.sql(ROWS), rows);
    assert_eq!(without_counters(server.sql(definitions)), without_counters(before));
    let next: i64 = server.sql("SELECT NEXTVAL(shop.numbers)")[0][0].parse().unwrap();
    assert!(next >= 20 && next % 5 == 0, "{next}");
    let next: i64 = server.sql("SELECT NEXTVAL(shop.down)")[0][0].parse().unwrap();
    assert!(next <= 7 && (10 - next) % 3 == 0, "{next}");
    assert_eq!(server.sql("SELECT NEXTVAL(shop.unused)"), [["7"]]);
    assert_eq!(server.sql("SELECT HEX(v) FROM shop.western"), [["636166C3A9"]]);
}

/// What a server draws ahead for ids moves on with every start and every row.
fn without_counters(definitions: Rows) -> Rows {
    let mut definitions = definitions;
    for text in definitions.iter_mut().flatten() {
        for counter in ["AUTO_INCREMENT=", "AUTO_RANDOM_BASE="] {
            if let Some((before, after)) = text.split_once(counter) {
                *text = format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()));
            }
        }
    }
    definitions
}

/// What has no place on another server is said, and what is there keeps its values.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn what_only_tidb_has_is_said() {
    let (server, dir) = (TiDb::start(), tempfile::tempdir().unwrap());
    server.sql(
        "CREATE PLACEMENT POLICY near FOLLOWERS = 1; CREATE DATABASE own; USE own; CREATE SEQUENCE q; SELECT NEXTVAL(q); \
         CREATE TABLE spread (id BIGINT AUTO_RANDOM(5) PRIMARY KEY, at DATETIME) PLACEMENT POLICY = near TTL = at + INTERVAL 3 MONTH; \
         INSERT INTO spread (at) VALUES (NOW()), (NOW()); \
         CREATE TABLE western (v VARCHAR(20)) CHARACTER SET latin1; INSERT INTO western VALUES ('caf\u{e9}')",
    );
    let out = dir.path().join("dump");
    run(server.drover("dump own").arg("--out").arg(&out)).done();
    let target = servers::target(Flavour::MySql);
    client::sql(target, "DROP DATABASE IF EXISTS own");
    run(&mut restore(target, &out, "")).refused(&["sequence `own`.`q`"]);
    let restored = run(&mut restore(target, &out, "--skip-refused")).found(&["sequence `own`.`q`"]);
    for lost in ["AUTO_RANDOM(5)", "PLACEMENT POLICY", "TTL="] {
        assert!(restored.stderr.contains(lost), "no word of {lost}: {restored}");
    }
    assert!(!restored.stdout.contains("CLUSTERED"), "{restored}");
    let rows = "SELECT * FROM own.spread ORDER BY id; SELECT v FROM own.western";
    assert_eq!(client::sql(target, rows), server.sql(rows));
    let collation =
        "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'own'";
    assert_eq!(client::sql(target, collation), [["utf8mb4_bin"]]);
    client::sql(target, "DROP DATABASE own");
}

/// What it takes and does not keep is told, and the whole server can be dumped.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn what_it_takes_and_does_not_keep_is_said() {
    let (server, dir) = (TiDb::start(), tempfile::tempdir().unwrap());
    let source = servers::source(Flavour::MySql);
    client::sql(
        source,
        "DROP DATABASE IF EXISTS ignored; CREATE DATABASE ignored; USE ignored; CREATE TABLE words (id INT PRIMARY KEY, t TEXT, n INT, FULLTEXT KEY found (t), \
         KEY down (n DESC)); INSERT INTO words VALUES (1, 'a', 1); \
         CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 \
         (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20)); INSERT INTO parts VALUES (1), (2), (11);
         CREATE VIEW checked AS SELECT id FROM parts WHERE id < 15 WITH CASCADED CHECK OPTION",
    );
    let out = dir.path().join("dump");
    run(&mut dump(source, "ignored", &out)).done();
    client::sql(source, "DROP DATABASE ignored");
    let restored = run(server.drover("restore").arg(&out)).found(&["verified  identical: 4 rows"]);
    for lost in ["FULLTEXT KEY `found`", "SUBPARTITION BY", "WITH CASCADED CHECK OPTION"] {
        assert!(restored.stderr.contains(lost), "no word of {lost}: {restored}");
    }
    assert!(!restored.stderr.contains("`down`"), "{restored}");
    run(server.drover("verify").arg(&out)).done();
    run(server.drover("dump --users ignored").arg("--out").arg(dir.path().join("users")))
        .refused(&["accounts of TiDB are not read"]);
    assert!(!dir.path().join("users").exists());
    run(server.drover("dump").arg("--out").arg(dir.path().join("whole"))).done();
}

/// A table that is larger than a transaction may be comes in parts, each of which is below the limit.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn a_file_larger_than_a_transaction_comes_in_parts() {
    let (server, dir) = (TiDb::start(), tempfile::tempdir().unwrap());
    let source = servers::source(Flavour::MySql);
    client::sql(
        source,
        "DROP DATABASE IF EXISTS large; CREATE DATABASE large; USE large; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(1000)); \
         SET cte_max_recursion_depth = 60000; INSERT INTO t WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 60000) \
         SELECT n, CONCAT(n, '\n', REPEAT('\\\\x', 400)) FROM n",
    );
    let out = dir.path().join("dump");
    run(&mut dump(source, "large", &out)).done();
    let rows = "SELECT COUNT(*), SUM(CRC32(CONCAT(id, ',', HEX(v)))) FROM large.t";
    let expected = client::sql(source, rows);
    // As large as a part, and far smaller than the file, which as one transaction is refused.
    server.sql("SET GLOBAL tidb_mem_quota_query = 67108864; SET GLOBAL tidb_mem_oom_action = 'CANCEL'");
    let socket = format!("mysql://root@/?socket={}", source.socket().display());
    let mut whole = drover("copy large --no-defaults --chunk-size 1G --from");
    whole.args([&socket, "--to", &server.url(""), "--state"]).arg(dir.path().join("state"));
    run(&mut whole).refused(&["memory limit"]);
    server.sql("DROP DATABASE large");
    run(server.drover("restore").arg(&out)).done();
    assert_eq!(server.sql(rows), expected);
    run(server.drover("verify").arg(&out)).done();
    client::sql(source, "DROP DATABASE large");
}

/// Rows are those of one moment, whatever is committed while they are read; nobody is held up.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn a_dump_is_of_one_moment_without_a_lock() {
    let (server, dir) = (TiDb::start(), tempfile::tempdir().unwrap());
    server.sql("CREATE DATABASE bank; CREATE TABLE bank.a (id INT PRIMARY KEY, v INT); CREATE TABLE bank.b LIKE bank.a");
    let rows = (0..500).map(|id| format!("({id}, 100)")).collect::<Vec<_>>().join(",");
    server.sql(&format!("INSERT INTO bank.a VALUES {rows}; INSERT INTO bank.b VALUES {rows}"));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                n = (n + 1) % 500;
                server.sql(&format!(
                    "BEGIN; UPDATE bank.a SET v = v - 1 WHERE id = {n}; UPDATE bank.b SET v = v + 1 WHERE id = {}; COMMIT",
                    499 - n
                ));
            }
        });
        for round in 0..5 {
            let out = dir.path().join(round.to_string());
            run(server.drover("dump bank --threads 4").arg("--out").arg(&out)).done();
            let restored = format!("bank{round}");
            run(server.drover(&format!("restore --into bank={restored}")).arg(&out)).done();
            let sum = server.sql(&format!(
                "SELECT (SELECT SUM(v) FROM {restored}.a) + (SELECT SUM(v) FROM {restored}.b)"
            ));
            assert_eq!(sum[0][0], "100000", "round {round}");
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn a_schema_is_copied_from_both_vendors_and_back() {
    let tidb = TiDb::start();
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let (source, dir) = (servers::source(flavour), tempfile::tempdir().unwrap());
        client::sql(source, format!("DROP DATABASE IF EXISTS shop; {GOODS}"));
        client::sql(
            source,
            "CREATE TABLE shop.plain (v INT) ENGINE = MyISAM; INSERT INTO shop.plain VALUES (1), (1); \
             CREATE TABLE shop.western (v VARCHAR(9)) CHARACTER SET latin1; \
             CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.plain WHERE v IS NULL; CREATE PROCEDURE shop.p() SELECT 1",
        );
        if flavour == Flavour::MariaDb {
            client::sql(source, "CREATE SEQUENCE shop.q START WITH 5 NOCACHE; SELECT NEXTVAL(shop.q)");
        }
        client::sql(
            source,
            "CREATE TRIGGER shop.t BEFORE INSERT ON shop.goods FOR EACH ROW SET NEW.c = NEW.c",
        );
        let rows = client::sql(source, ROWS);
        let copy = |from: &str, to: &str, more: &str, state: &str| {
            let mut command = drover(&format!("copy --no-defaults {more}"));
            command.args(["--from", from, "--to", to, "--state"]).arg(dir.path().join(state));
            command
        };
        let socket = format!("mysql://root@/?socket={}", source.socket().display());
        run(&mut copy(&socket, &tidb.url(""), "shop", "refused")).refused(&[
            "trigger `shop`.`t`",
            "event `shop`.`e`",
            "procedure `shop`.`p`",
            "table `shop`.`western`: it has text in latin1",
        ]);
        assert!(tidb.try_sql("USE shop").is_err(), "{flavour:?}: refused, and something was made");
        run(&mut copy(&socket, &tidb.url(""), "shop --skip-refused", "there")).found(&["trigger `shop`.`t`"]);
        assert_eq!(tidb.sql(ROWS), rows, "{flavour:?}");
        assert_eq!(tidb.sql("SELECT v FROM shop.plain"), [["1"], ["1"]]);
        assert_eq!(tidb.sql("SHOW TABLES FROM shop LIKE 'western'"), Rows::new());
        run(drover("verify --no-defaults --url").arg(tidb.url("")).arg(dir.path().join("there")))
            .found(&["not copied: refused", "86 rows of 2 tables read back"]);
        if flavour == Flavour::MariaDb {
            assert_eq!(tidb.sql("SELECT NEXTVAL(shop.q)"), [["6"]]);
            tidb.sql("DROP SEQUENCE shop.q");
        }
        run(&mut copy(&tidb.url(""), &socket, "shop --into shop=shop_back", "back")).done();
        assert_eq!(client::sql(source, ROWS.replace("shop.", "shop_back.")), rows, "{flavour:?}");
        tidb.sql("DROP DATABASE shop");
        client::sql(source, "DROP DATABASE shop; DROP DATABASE shop_back");
    }
}

/// Of some character sets it has only the collation that compares bytes: tables in these were refused, or compared so without a word.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn collations_that_compare_bytes_there() {
    let tidb = TiDb::start();
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let (source, dir) = (servers::source(flavour), tempfile::tempdir().unwrap());
        client::sql(
            source,
            "DROP DATABASE IF EXISTS bytes; CREATE DATABASE bytes CHARACTER SET ascii; USE bytes; \
             CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET ascii, w VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin, KEY (v)) CHARACTER SET utf8mb4; \
             INSERT INTO a VALUES (1, 'a', 'b'), (2, 'B', NULL); CREATE TABLE whole (v VARCHAR(9) PRIMARY KEY); INSERT INTO whole VALUES ('x'), ('Y'); \
             CREATE TABLE numbers (id INT PRIMARY KEY) CHARACTER SET latin1; INSERT INTO numbers VALUES (1); \
             CREATE TABLE digits (id INT PRIMARY KEY, h VARCHAR(9) CHARACTER SET ascii AS (HEX(id)) STORED); INSERT INTO digits (id) VALUES (255)",
        );
        let own = if flavour == Flavour::MariaDb { "u UUID, i INET6" } else { "u CHAR(36), i VARCHAR(39)" };
        let of_own = format!(
            "CREATE TABLE own (id INT PRIMARY KEY, {own}); INSERT INTO own VALUES (1, '5b7ed2a0-0000-11ee-8000-0123456789ab', '::1')"
        );
        client::sql(source, format!("USE bytes; {of_own}"));
        let socket = format!("mysql://root@/?socket={}", source.socket().display());
        let mut copy = drover("copy --no-defaults bytes");
        copy.args(["--from", &socket, "--to", &tidb.url(""), "--state"]).arg(dir.path().join("state"));
        let copied = run(&mut copy).found(&["verified  identical: 7 rows of 5 tables"]);
        let lost = |object: &str, from: &str, to: &str| {
            let is_it = |line: &str| line.contains(&format!("{from} becomes {to}")) && line.contains(object);
            assert!(copied.stderr.lines().any(is_it), "{flavour:?}: no word of {object}: {copied}");
        };
        lost("schema `bytes`", "ascii_general_ci", "ascii_bin");
        lost("table `bytes`.`numbers`", "latin1_swedish_ci", "latin1_bin");
        let of_all = "SELECT id, v, w FROM bytes.a ORDER BY id; SELECT COUNT(*) FROM bytes.whole WHERE v = 'x'; SELECT h FROM bytes.digits; \
                      SELECT id, CAST(u AS CHAR), CAST(i AS CHAR) FROM bytes.own";
        assert_eq!(tidb.sql(of_all), client::sql(source, of_all), "{flavour:?}");
        let others = "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'bytes' AND COLLATION_NAME <> 'ascii_bin'";
        let others = tidb.sql(others).remove(0).remove(0);
        assert_eq!(others, "0", "{flavour:?}");
        run(drover("verify --no-defaults --url").arg(tidb.url("")).arg(dir.path().join("state"))).found(&[
            "table `bytes`.`a`: not copied: ascii_general_ci became ascii_bin",
            "7 rows of 5 tables",
        ]);
        tidb.sql("DROP DATABASE bytes");
        client::sql(source, "DROP DATABASE bytes");
    }
}

/// What TiDB does not have is said in one sentence.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn what_it_does_not_have_is_refused() {
    let server = TiDb::start();
    fill(&server);
    let from = server.url("");
    run(drover("binlog stat --no-defaults --from-server --url").arg(&from))
        .refused(&["TiDB writes no binary log"]);
    run(&mut server.drover("doctor")).refused(&["TiDB has neither"]);
    let logs = servers::source(Flavour::MySql);
    let mut replay = drover("binlog replay --no-defaults --from");
    replay.arg(format!("mysql://root@/?socket={}", logs.socket().display())).args(["--url", &from]);
    run(&mut replay).refused(&["TiDB takes no events of a binary log"]);
    for (option, said) in
        [("--max-lag 2s", "--max-lag watches replicas"), ("--max-rate 1M", "the server writes none")]
    {
        let mut chunk = drover(&format!("chunk --no-defaults {option} --url"));
        chunk.args([&server.url("shop"), "DELETE FROM goods WHERE c > 1"]);
        run(&mut chunk).refused(&[said]);
    }
}

/// Every task runs, and is acknowledged once, although workers and coordinators are killed all the time. `DROVER_QUEUE_TASKS` says how many
/// tasks, `DROVER_QUEUE_KILLS` how many kills.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn no_task_is_lost_or_acknowledged_twice() {
    let number =
        |name: &str, default: usize| std::env::var(name).ok().map_or(default, |value| value.parse().unwrap());
    let (tasks, kills) = (number("DROVER_QUEUE_TASKS", 20_000), number("DROVER_QUEUE_KILLS", 6));
    let server = TiDb::start();
    let url = server.url("jobs");
    run(drover("queue init --no-defaults --url").arg(&url)).done();
    for from in (0..tasks).step_by(10_000) {
        let values: Vec<_> = (from..tasks.min(from + 10_000)).map(|object| format!("({object})")).collect();
        server.sql(&format!("INSERT INTO jobs.queue_inbox (object_id) VALUES {}", values.join(",")));
    }
    let worker = worker(server.dir.path());
    let work = |more: &str| {
        let mut command =
            drover(&format!("-q queue work --no-defaults --procs 2 --lease 2s {more} --json-lines"));
        command.arg(&worker).arg("--url").arg(&url);
        command
    };
    let mut two = [work(""), work("")].map(|mut command| Running::start(&mut command));
    for turn in 0..kills {
        // So that the kills are spread over all of the work.
        let share = tasks * (turn + 1) / (kills + 2);
        let deadline = Instant::now() + Duration::from_secs(300);
        let done = || -> usize {
            let done = server.sql("SELECT COALESCE(SUM(done), 0) FROM jobs.queue_count");
            done[0][0].parse().unwrap()
        };
        while done() < share {
            assert!(Instant::now() < deadline, "{} of {tasks} tasks after {turn} kills", done());
            std::thread::sleep(Duration::from_millis(50));
        }
        two[turn % 2] = Running::start(&mut work("")); // the one before is killed
    }
    drop(two);
    run(&mut work("--until-empty")).done();
    let ran = ran(server.dir.path());
    let never: Vec<_> = (0..tasks as u64).filter(|object| !ran.contains_key(object)).take(10).collect();
    assert!(never.is_empty(), "these never ran: {never:?}");
    assert_eq!(
        server.sql("SELECT SUM(taken), SUM(done) FROM jobs.queue_count"),
        [[tasks.to_string(), tasks.to_string()]]
    );
    for table in ["queue_inbox", "queue_later", "queue_dead", "queue_unique", "queue_lane WHERE lane > 0"] {
        assert_eq!(server.sql(&format!("SELECT COUNT(*) FROM jobs.{table}")), [["0"]], "{table}");
    }
}

/// Locked rows of the inbox are left where they are, and those around them are taken: TiDB ignores SKIP LOCKED.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn what_others_have_locked_waits_alone() {
    let server = TiDb::start();
    let url = server.url("jobs");
    run(drover("queue init --no-defaults --url").arg(&url)).done();
    server.sql("INSERT INTO jobs.queue_inbox (object_id) VALUES (1), (2), (3), (4), (5), (6), (7)");
    let mut holder = server.client();
    let mut holder = holder
        .args(["-e", "BEGIN; SELECT * FROM jobs.queue_inbox WHERE object_id IN (3, 4) FOR UPDATE; SELECT SLEEP(20); ROLLBACK"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let sleeps = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'";
    client::wait_until("the rows are locked", || server.sql(sleeps) == [["1"]]);
    let worker = worker(server.dir.path());
    let mut command = drover("-q queue work --no-defaults --procs 1 --json-lines");
    let working = Running::start(command.arg(&worker).arg("--url").arg(&url));
    let deadline = Instant::now() + Duration::from_secs(15);
    while ran(server.dir.path()).len() < 5 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    let objects: BTreeSet<_> = ran(server.dir.path()).into_keys().collect();
    assert!(holder.try_wait().unwrap().is_none(), "the rows were not locked for long enough");
    assert_eq!(objects, BTreeSet::from([1, 2, 5, 6, 7]));
    holder.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while ran(server.dir.path()).len() < 7 {
        assert!(Instant::now() < deadline, "{:?}", ran(server.dir.path()));
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(working);
}

/// A queue outgrows one machine in shards, each of which is a schema here: tasks go to both, and all run once.
#[test]
#[ignore = "needs TiDB: scripts/tidb builds it, DROVER_TEST_TIDB says where it is"]
fn shards_are_schemas() {
    let server = TiDb::start();
    let shards = server.dir.path().join("shards.toml");
    let shard = |name: &str| {
        format!("[[shard]]\nname = \"{name}\"\nurl = \"{}\"\n", server.url(&format!("jobs_{name}")))
    };
    std::fs::write(&shards, shard("a") + &shard("b")).unwrap();
    let queue = |line: &str| {
        let mut command = drover(&format!("queue {line} --no-defaults --shards"));
        command.arg(&shards);
        command
    };
    run(&mut queue("init")).done();
    run(queue("push").args((0..400).map(|object| object.to_string()))).done();
    let waiting = |name: &str| -> usize {
        let waiting = server.sql(&format!("SELECT COUNT(*) FROM jobs_{name}.queue_inbox"));
        waiting[0][0].parse().unwrap()
    };
    assert!(waiting("a") > 0 && waiting("b") > 0, "{} and {}", waiting("a"), waiting("b"));
    let worker = worker(server.dir.path());
    run(queue("work --procs 2 --until-empty").args(["--json-lines", &worker])).done();
    assert_eq!(ran(server.dir.path()), (0..400).map(|object| (object, 1)).collect());
}

/// A worker that notes what it was given before it answers.
fn worker(dir: &Path) -> String {
    let file = dir.join("worker.py");
    let script = "import os, sys\n\
                  log = os.open(sys.argv[1] + '/ran.%d' % os.getpid(), os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n\
                  for line in sys.stdin.buffer:\n    os.write(log, line)\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n";
    std::fs::write(&file, script).unwrap();
    format!("exec python3 {} {}", file.display(), dir.display())
}

/// The objects that ran, with the number of times.
fn ran(dir: &Path) -> BTreeMap<u64, u64> {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut ran = BTreeMap::new();
    for file in files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("ran.")) {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            // The last line of one that was killed may be cut off.
            let Ok(task) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            *ran.entry(task["object_id"].as_u64().unwrap()).or_default() += 1;
        }
    }
    ran
}
