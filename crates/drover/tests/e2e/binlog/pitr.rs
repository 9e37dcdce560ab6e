//! A server rebuilt from a dump and its logs, by the commands of docs/binlog.md: while rows, statements, definitions and files come in,
//! it is dumped; the dump is restored on other servers, and what came behind it is replayed. One takes all of it, and what came last is
//! undone again; on the other the replay stops before that, and is killed ten times on the way.
//!
//! `DROVER_PITR_SECONDS` says how long the traffic lasts, 6 seconds by default; with more than a minute, `DROVER_TEST_PATIENCE` has to
//! be more than its 300 s.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use drover_sandbox::{Flavour, Server};

use crate::client::{client, feed, sql, try_sql, wait_until};
use crate::compare::{self, Contents};
use crate::drover::{NO_HOME, Running, run};
use crate::servers::{on_both, start};

on_both!(a_server_is_rebuilt);

const KILLS: u32 = 10;

fn a_server_is_rebuilt(flavour: Flavour) {
    let [dump, restore, dry_run, replay, resume, list, up_to, undo] = &commands()[..] else {
        panic!("docs/binlog.md has other commands: {:#?}", commands());
    };
    let logging = ["--log-bin", "--binlog-format=ROW", "--local-infile=1"];
    let source = start(flavour, &logging);
    sql(&source, SCHEMA);
    let [old, rebuilt, killed] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    options(&old, "live.cnf", &source);
    let traffic = Traffic::new(&source, old.path());
    traffic.runs(Duration::from_secs(1), &[Kind::Rows, Kind::Statements, Kind::Files], || {
        thread::sleep(Duration::from_millis(500));
        run(&mut shell(dump, &old)).done();
    });
    let dumps = fs::read_dir(old.path().join("backup")).unwrap();
    let [day] = &dumps.map(|dump| dump.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("one dump");
    };
    let [restore, dry_run, replay, resume, up_to] =
        [restore, dry_run, replay, resume, up_to].map(|line| line.replace("2026-11-29", day));
    traffic.runs(seconds(), &Kind::ALL, || ());
    let before = compare::everything(&source, "live");
    sql(&source, "FLUSH BINARY LOGS");
    traffic.runs(seconds() / 2, &[Kind::Rows], || ());
    let after = compare::everything(&source, "live");
    assert!(!compare::differences(&before, &after).is_empty(), "nothing came in");

    let servers = [&rebuilt, &killed].map(|dir| {
        let target = start(flavour, &["--local-infile=1"]);
        options(dir, "new.cnf", &target);
        std::os::unix::fs::symlink(old.path().join("backup"), dir.path().join("backup")).unwrap();
        std::os::unix::fs::symlink(source.datadir(), dir.path().join("logs")).unwrap();
        run(&mut shell(&restore, dir)).done();
        target
    });
    let log = sql(&source, "SHOW BINARY LOGS").pop().unwrap().remove(0);
    let named = |line: &str, position: &str| line.replace("binlog.000018", &log).replace("420731", position);
    let listed = run(&mut shell(&named(list, "").replace("shop.orders", "live.*"), &rebuilt)).done();
    let position = first_position(&listed.stdout);
    let [up_to, undo] = [&up_to, undo].map(|line| named(line, &position));

    run(&mut shell(&dry_run, &rebuilt)).done();
    run(&mut shell(&replay, &rebuilt)).done();
    run(&mut shell(&resume, &rebuilt)).done();
    assert_same("rebuilt", &after, &servers[0]);
    run(&mut shell(&undo, &rebuilt)).done();
    assert_same("undone", &before, &servers[0]);

    let kills = replay_killed(&up_to, &killed, &servers[1]);
    assert!(kills >= KILLS / 2, "only {kills} of {KILLS} came while there was work");
    assert_same("killed", &before, &servers[1]);
}

/// The commands that docs/binlog.md gives for it.
fn commands() -> Vec<String> {
    const DOCS: &str = include_str!("../../../../../docs/binlog.md");
    let section = DOCS.split("\n### Rebuilding a server\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("\n```\n").skip(1).step_by(2);
    let without_comment = |line: &str| line.split(" #").next().unwrap().trim_end().to_owned();
    blocks.flat_map(|block| block.lines().map(without_comment)).collect()
}

/// A command of the docs as a shell in `dir` runs it.
fn shell(line: &str, dir: &tempfile::TempDir) -> Command {
    let drover = Path::new(env!("CARGO_BIN_EXE_drover")).parent().unwrap();
    let path = format!("{}:{}", drover.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    // In place of the shell, so that it is drover that is killed.
    command.args(["-c", &format!("exec {line}")]).current_dir(dir).env("PATH", path).env("HOME", NO_HOME);
    command
}

/// Writes an option file that names the server.
fn options(dir: &tempfile::TempDir, name: &str, server: &Server) {
    let text = format!("[client]\nsocket = {}\nuser = root\n", server.socket().display());
    fs::write(dir.path().join(name), text).unwrap();
}

/// Where the first transaction begins of those that were listed.
fn first_position(listed: &str) -> String {
    let mut positions = listed.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    positions.next().unwrap_or_else(|| panic!("no transaction:\n{listed}")).to_string()
}

fn seconds() -> Duration {
    let seconds = std::env::var("DROVER_PITR_SECONDS").map_or(6, |seconds| seconds.parse().unwrap());
    Duration::from_secs(seconds)
}

fn assert_same(what: &str, expected: &Contents, server: &Server) {
    let found = compare::with_events_on(compare::everything(server, "live"));
    let differences = compare::differences(expected, &found);
    assert!(differences.is_empty(), "{what}: {}", differences.join("\n"));
}

/// The replay killed again and again, each time when it has noted another position; tells how often it was at work then.
fn replay_killed(line: &str, dir: &tempfile::TempDir, target: &Server) -> u32 {
    let noted = || try_sql(target, "SELECT * FROM drover.replay").unwrap_or_default();
    let resuming = format!("{line} --resume");
    let mut kills = 0;
    for number in 0..KILLS {
        let before = noted();
        let mut running = Running::start(&mut shell(if number == 0 { line } else { &resuming }, dir));
        wait_until("another position is noted", || noted() != before || running.has_ended());
        if running.has_ended() {
            running.finish().done();
            break;
        }
        running.signal("KILL");
        kills += u32::from(running.finish().code.is_none());
    }
    run(&mut shell(&resuming, dir)).done();
    kills
}

const SCHEMA: &str = "CREATE DATABASE live CHARACTER SET utf8mb4; USE live; SET sql_mode = '';
    CREATE TABLE kinds (id INT PRIMARY KEY, i TINYINT, u BIGINT UNSIGNED, d DECIMAL(20, 6), f FLOAT, g DOUBLE, b BIT(17), y YEAR,
        day DATE, t TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL, c CHAR(20) CHARACTER SET latin1, v VARCHAR(300), n VARBINARY(40),
        x LONGTEXT, l LONGBLOB, e ENUM('one', 'two', 'thrée'), s SET('a', 'b', 'c'), j JSON, p POINT,
        w INT AS (i + 1) STORED, KEY (v), KEY (d));
    CREATE TABLE parents (id INT PRIMARY KEY, v VARCHAR(50));
    CREATE TABLE children (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parents (id));
    CREATE TABLE no_key (a INT, b VARCHAR(100));
    CREATE TABLE counted (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), at DATETIME(6), r DOUBLE);
    CREATE TABLE sums (id INT PRIMARY KEY, total DECIMAL(30, 2));
    CREATE TABLE loaded (id INT, v VARCHAR(100), w VARCHAR(100), KEY (id));
    INSERT INTO sums SELECT 1, 0 UNION SELECT 2, 0;
    CREATE EVENT tidy ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' DO DELETE FROM no_key;";

/// What comes in.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Rows,
    Statements,
    Definitions,
    Files,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Rows, Self::Statements, Self::Definitions, Self::Files];
}

/// Says that it is over when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Clients at work.
struct Traffic<'a> {
    server: &'a Server,
    dir: &'a Path,
    /// Nothing has the same number as another.
    next: AtomicU32,
}

impl<'a> Traffic<'a> {
    fn new(server: &'a Server, dir: &'a Path) -> Self {
        Self { server, dir, next: AtomicU32::new(1) }
    }

    /// Lets a client of each kind work for so long, and does something else meanwhile.
    fn runs(&self, time: Duration, kinds: &[Kind], meanwhile: impl FnOnce()) {
        let is_over = AtomicBool::new(false);
        let began = Instant::now();
        thread::scope(|scope| {
            for &kind in kinds {
                let is_over = &is_over;
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        self.batch(kind);
                    }
                });
            }
            // Also where what is done meanwhile panics.
            let _over = Over(&is_over);
            meanwhile();
            thread::sleep(time.saturating_sub(began.elapsed()));
        });
    }

    fn batch(&self, kind: Kind) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let text = match kind {
            Kind::Rows => rows(number),
            Kind::Statements => statements(number),
            Kind::Definitions => definitions(number),
            Kind::Files => self.files(number),
        };
        let mut client = client(self.server);
        let fed = feed(client.args(["--local-infile=1", "live"]), text.as_bytes());
        assert!(fed.status.success(), "{}\n{text}", String::from_utf8_lossy(&fed.stderr));
    }

    /// LOAD DATA, logged as a statement or as rows.
    fn files(&self, number: u32) -> String {
        let format = if number.is_multiple_of(3) { "ROW" } else { "STATEMENT" };
        let mut lines = String::from("head\n");
        for line in 0..200 {
            let id = number * 1000 + line;
            writeln!(lines, "{id};'it''s {line};\\n';w{}", line % 7).unwrap();
        }
        let path = self.dir.join(format!("load {number}.csv"));
        fs::write(&path, lines).unwrap();
        let path = path.display();
        format!(
            "SET SESSION binlog_format = {format};
             LOAD DATA LOCAL INFILE '{path}' REPLACE INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ';'
             ENCLOSED BY '''' IGNORE 1 LINES (id, v, @w) SET w = CONCAT(@w, '-{number}');
             DELETE FROM loaded WHERE id BETWEEN {number} * 1000 AND {number} * 1000 + 150"
        )
    }
}

/// Rows of all types, in transactions of several tables; some are rolled back.
fn rows(number: u32) -> String {
    let mut text = String::from("SET SESSION binlog_format = ROW, sql_mode = ''; START TRANSACTION; ");
    for row in 0..20 {
        let id = number * 100 + row;
        write!(
            text,
            "INSERT INTO kinds (id, i, u, d, f, g, b, y, day, t, dt, ts, c, v, n, x, l, e, s, j, p) VALUES ({id}, {id} % 127 - 60, \
             18446744073709551615 - {id}, {id} / 7, {id} * 0.1, {id} / 3, {id} % 131071, 1970 + {id} % 80, '2026-02-01' + INTERVAL {row} DAY, \
             SEC_TO_TIME({id} % 9999) , NOW(6), NOW(2), 'größe {row}', REPEAT('ü', {row}), UNHEX('00ff27'), REPEAT('text ', {row} * 20), \
             NULLIF(REPEAT(CHAR({row} + 200), {row} * 50), ''), 1 + {id} % 3, {id} % 8, '{{\"a\": [{id}, {{\"b\": \"é{row}\"}}], \"c\": 1.50}}', \
             POINT({id}, -{row})); "
        )
        .unwrap();
    }
    let (old, older) = (number.saturating_sub(4) * 100, number.saturating_sub(40) * 100);
    let end = if number.is_multiple_of(5) { "ROLLBACK" } else { "COMMIT" };
    format!(
        "{text} UPDATE kinds SET v = CONCAT('changed ', id), j = JSON_SET(j, '$.c', id), b = b + 1, c = NULL WHERE id BETWEEN {old} AND {old} + 10;
         DELETE FROM kinds WHERE id BETWEEN {older} AND {older} + 50; {end};
         START TRANSACTION; INSERT INTO parents VALUES ({number}, 'p'); INSERT INTO children VALUES ({number}, {number});
         INSERT INTO no_key VALUES ({number}, 'one'), ({number}, 'one'), ({number}, NULL); COMMIT;
         DELETE FROM no_key WHERE a = {number} LIMIT 1; UPDATE no_key SET b = 'two' WHERE a = {number}"
    )
}

/// Statements that depend on their session.
fn statements(number: u32) -> String {
    format!(
        "SET SESSION binlog_format = STATEMENT, sql_mode = 'ANSI_QUOTES', time_zone = '+03:00', @v := 'größe {number}';
         INSERT INTO counted (v, at, r) VALUES (@v, NOW(6), RAND()), ('it''s \\\\', NOW(), RAND());
         START TRANSACTION; UPDATE sums SET total = total + {number} WHERE id = 1; SAVEPOINT a;
         UPDATE sums SET total = total - {number} WHERE id = 2; INSERT INTO counted (v) VALUES (LAST_INSERT_ID()); COMMIT;
         SET NAMES latin1; SET SESSION sql_mode = '';
         INSERT INTO counted (v, at) VALUES (CONCAT('gr\u{f6}ss', \"e\"), CURRENT_TIMESTAMP);
         UPDATE counted SET v = UPPER(v) WHERE id % 50 = {number} % 50"
    )
}

/// Definitions: of tables that come and go, views, programs, names that change places.
fn definitions(number: u32) -> String {
    let drop = number.saturating_sub(60);
    format!(
        "CREATE TABLE made_{number} (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO made_{number} VALUES (1, 'a'), (2, 'b');
         ALTER TABLE made_{number} ADD COLUMN w INT DEFAULT 7, ADD INDEX (v); UPDATE made_{number} SET w = id;
         CREATE TABLE copied_{number} AS SELECT id, v FROM made_{number};
         RENAME TABLE made_{number} TO swap_{number}, copied_{number} TO made_{number}, swap_{number} TO copied_{number};
         CREATE OR REPLACE VIEW seen AS SELECT COUNT(*) AS n, {number} AS number FROM made_{number};
         DROP PROCEDURE IF EXISTS act;
DELIMITER //
CREATE PROCEDURE act(IN p INT) BEGIN SET @x = ';'; INSERT INTO made_{number} VALUES (p, 'act'); END //
DELIMITER ;
         CALL act(3); CALL act(4);
         CREATE TRIGGER trg_{number} BEFORE INSERT ON copied_{number} FOR EACH ROW SET NEW.w = NEW.id * 2;
         INSERT INTO copied_{number} (id, v) VALUES (5, 'triggered'); TRUNCATE made_{number}; INSERT INTO made_{number} VALUES (9, 'z');
         DROP TABLE IF EXISTS made_{drop}, copied_{drop}"
    )
}
