//! A page of docs/, section by section, on a server as the service gives it and a plain one of the same version.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use super::Place;
use super::gate::Gate;
use super::page::Version;
use super::service::Service;
use crate::client::{rows_of, wait_until};
use crate::drover::{Output, drover, run};
use crate::files::manifest;
use crate::reach::sql;

/// What is moved: tables with and without a key, a foreign key, a view, programs of all kinds.
const SHOP: &str = "CREATE DATABASE shop; USE shop;
    CREATE TABLE visits (id INT AUTO_INCREMENT PRIMARY KEY, bot BOOLEAN NOT NULL, page VARCHAR(300), at DATETIME, share FLOAT);
    INSERT INTO visits (bot, page, at, share) VALUES (0, '/a', '2026-11-29', 0.3), (1, '/b', '2026-11-28', 1.1), (0, NULL, NULL, -0.7);
    CREATE TABLE orders (id INT PRIMARY KEY, visit INT NOT NULL, total DECIMAL(10, 2), KEY (visit),
      CONSTRAINT of_visit FOREIGN KEY (visit) REFERENCES visits (id));
    CREATE TABLE notes (at DATETIME, note VARCHAR(20)); INSERT INTO notes VALUES ('2026-11-29', 'x'), (NULL, 'y');
    CREATE VIEW people AS SELECT page FROM visits WHERE NOT bot;
    CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN 2 * a;
    CREATE PROCEDURE nothing() SELECT 1;
    CREATE TRIGGER noted BEFORE INSERT ON notes FOR EACH ROW SET NEW.note = COALESCE(NEW.note, '-');
    CREATE EVENT daily ON SCHEDULE EVERY 1 DAY DO DELETE FROM notes WHERE note = 'never'";
/// Numbers, so that copies of rows do not come out the same in another order.
const MORE_VISITS: &str = "INSERT INTO visits (bot, page, at, share) \
    SELECT bot, CONCAT(page, id), at + INTERVAL id HOUR, share / 3 FROM visits ORDER BY id";
const ORDERS: &str = "INSERT INTO orders SELECT id, id, id * 1.5 FROM visits WHERE NOT bot";

/// What comes into a log.
const CHANGES: &str =
    "DROP TABLE IF EXISTS later; UPDATE visits SET page = CONCAT(page, '!') WHERE id % 10 = 0;
    DELETE FROM orders WHERE id % 7 = 0; INSERT INTO notes (at, note) VALUES ('2026-11-30', 'new');
    CREATE TABLE later (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 7); INSERT INTO later (id) VALUES (1), (2);
    ALTER TABLE later ADD COLUMN w VARCHAR(9) DEFAULT 'w'; UPDATE later SET n = 8 WHERE id = 2";

const QUESTIONS: [&str; 7] = [
    "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, bot, page, at, share * 1e0))) FROM visits",
    "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, visit, total))) FROM orders",
    "SELECT at, note FROM notes ORDER BY note, at",
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' ORDER BY 1",
    "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shop' ORDER BY 1",
    "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop' ORDER BY 1",
    "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'shop' ORDER BY 1",
];

const ACCOUNT: &str = "An account for drover";
const OUT: &str = "Out of it";
const CATCH_UP: &str = "Catching up by its binary log";
const INTO: &str = "Into it";
const LOGS_IN: &str = "Logs into it";
const WORK: &str = "Work on it";

/// The account that the pages make, with its password, and the one that the service gives.
const MADE: (&str, &str) = ("drover", "a-long-password");
const ADMIN: (&str, &str) = ("admin", "");

pub(super) struct Walk<'a> {
    service: &'a Service,
    version: Version,
    managed: Server,
    plain: &'a Server,
    gate: Gate,
    dir: tempfile::TempDir,
    user: (&'static str, &'static str),
    /// What the schema held when it was dumped.
    dumped: Contents,
}

/// The answers to [`QUESTIONS`].
type Contents = Vec<Vec<Vec<String>>>;

impl<'a> Walk<'a> {
    pub(super) fn begin(service: &'a Service, place: Place, plain: &'a Server, more: &[&str]) -> Self {
        let managed = place.start(&[&(service.options)(place.version)[..], more].concat());
        sql(&managed, "mysql", &(service.admin)(place.version));
        as_admin(&managed, SHOP);
        let fill: Vec<_> = [MORE_VISITS; 7].into_iter().chain([ORDERS]).collect();
        as_admin(&managed, &format!("USE shop; {}", fill.join("; ")));
        let begun = time(&managed);
        let account = service.page.lines(ACCOUNT, "sql", place.version);
        assert!(account.len() > 2, "no statements: {account:#?}");
        as_admin(&managed, &account.join("\n"));
        let gate = Gate::new(managed.port(), service.refusals);
        let dir = tempfile::tempdir().unwrap();
        let walk = Self {
            service,
            version: place.version,
            managed,
            plain,
            gate,
            dir,
            user: MADE,
            dumped: Vec::new(),
        };
        walk.check_page();
        walk.make_ready();
        // Of a dump in the second in which its log was begun nothing tells which came first.
        wait_until("the log is older than the dump", || time(&walk.managed) > begun);
        walk
    }

    /// From here on as the service's own account.
    pub(super) fn as_admin(&mut self) {
        self.user = ADMIN;
        self.dir = tempfile::tempdir().unwrap();
        self.make_ready();
    }

    pub(super) fn all(&mut self) {
        self.out_of_it();
        self.catches_up();
        self.fills_it();
        self.takes_logs();
        self.work_on_it();
    }

    /// The same where the server writes no log.
    pub(super) fn all_but_logs(&mut self) {
        self.out_of_it();
        self.fills_it();
        self.takes_logs();
        self.work_on_it();
    }

    /// Nothing stands in the page that is not run, and its first commands are among the others.
    fn check_page(&self) {
        let page = self.service.page;
        let sections: Vec<_> =
            page.sections("sh").into_iter().filter(|section| !section.is_empty()).collect();
        assert_eq!(sections, [OUT, CATCH_UP, INTO, LOGS_IN, WORK]);
        assert_eq!(page.sections("sql"), [ACCOUNT]);
        let languages: BTreeSet<_> = page.languages().into_iter().collect();
        assert!(languages.is_subset(&["sh", "sql", "ini"].into()), "{languages:?}");
        let all: Vec<_> =
            sections.iter().flat_map(|section| page.lines(section, "sh", self.version)).collect();
        for first in page.lines("", "sh", self.version) {
            assert!(all.contains(&first), "not among the others: {first}");
        }
    }

    /// Option files as the page has them, and nothing of an earlier walk.
    fn make_ready(&self) {
        fs::write(self.path("db.cnf"), self.option_file()).unwrap();
        let plain = format!("[client]\nsocket = {}\nuser = root\nskip-ssl\n", self.plain.socket().display());
        for name in ["new.cnf", "old.cnf"] {
            fs::write(self.path(name), &plain).unwrap();
        }
        for server in [self.plain, &self.managed] {
            sql(
                server,
                "mysql",
                "DROP DATABASE IF EXISTS drover; DROP DATABASE IF EXISTS jobs; DROP DATABASE IF EXISTS tpcc",
            );
        }
        // Definers come along; whoever moves to another server has them there.
        let definers = [ADMIN.0, MADE.0]
            .map(|name| format!("CREATE USER IF NOT EXISTS {name}@'%'; GRANT ALL ON shop.* TO {name}@'%'"));
        sql(self.plain, "mysql", &format!("DROP DATABASE IF EXISTS shop; {}", definers.join("; ")));
    }

    /// The page's option file, with the place and the login of this server and without TLS.
    fn option_file(&self) -> String {
        let (user, password) = self.user;
        let lines = self.service.page.lines(ACCOUNT, "ini", self.version);
        let here = |line: &String| match line.split_once(" = ").map_or(line.as_str(), |(name, _)| name) {
            section if section.starts_with('[') => format!("{section}\n"),
            "host" => format!("host = 127.0.0.1\nport = {}\n", self.gate.port()),
            "user" => format!("user = {user}\n"),
            "password" => format!("password = {password}\n"),
            "ssl-ca" => "skip-ssl\n".to_owned(),
            "ssl-mode" => "ssl-mode = DISABLED\nget-server-public-key\n".to_owned(),
            other => panic!("an option that the test does not know: {other}"),
        };
        lines.iter().map(here).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn lines(&self, section: &str) -> Vec<String> {
        let lines = self.service.page.lines(section, "sh", self.version);
        assert!(!lines.is_empty(), "nothing to run: {section}");
        lines
    }

    /// A command of the page as a shell runs it, with the places of these servers.
    fn shell(&self, line: &str, log: &Path) -> Output {
        let (user, password) = self.user;
        let managed = format!(
            "{user}:{password}@127.0.0.1:{}/?ssl-mode=DISABLED&get-server-public-key=1",
            self.gate.port()
        );
        let plain = format!("root@localhost/?socket={}", self.plain.socket().display());
        let (_, of_tls) = line.split_once("@db.example/").unwrap_or_default();
        let of_tls = of_tls.split('\'').next().unwrap_or_default();
        let line = line
            .replace(&format!("drover:a-long-password@db.example/{of_tls}"), &managed)
            .replace("root:a-long-password@old.example", &plain)
            .replace("binlog.000018", &log.display().to_string())
            .replace("| mysql ", "| mariadb ")
            .replace("--seconds 60", "--seconds 1");
        assert!(!line.contains(".example"), "a place that the test does not know: {line}");
        let binary = Path::new(env!("CARGO_BIN_EXE_drover")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command.args(["-o", "pipefail", "-c", &line]).current_dir(&self.dir);
        run(command.env("PATH", path).env("HOME", self.dir.path()))
    }

    fn done(&self, line: &str) -> Output {
        self.shell(line, Path::new("")).done()
    }

    fn contents(server: &Server) -> Contents {
        QUESTIONS.iter().map(|question| sql(server, "shop", question)).collect()
    }

    /// Runs a section's commands. Each that fills a server finds the schema gone there, and leaves what `expected` says.
    fn moves(&self, section: &str, expected: impl Fn(&str) -> Contents) {
        for line in self.lines(section) {
            let is = |command: &str| line.starts_with(&format!("drover {command} "));
            if !(is("restore") || is("copy")) || line.contains("--check") {
                self.done(&line);
                continue;
            }
            let goes_in = line.contains("--to-defaults-file db.cnf") || is("restore --defaults-file db.cnf");
            let target = if goes_in { &self.managed } else { self.plain };
            sql(target, "mysql", "DROP DATABASE IF EXISTS shop");
            self.done(&line);
            assert_eq!(Self::contents(target), expected(&line), "{line}");
        }
    }

    fn out_of_it(&mut self) {
        self.moves(OUT, |_| Self::contents(&self.managed));
        self.dumped = Self::contents(&self.managed);
        if self.user == ADMIN {
            // Of all schemas that it is shown, the service's own are none of its.
            self.done("drover dump --defaults-file db.cnf --out all");
        }
        let snapshot = &manifest(&self.path("backup"))["snapshot"];
        let may_hold_commits = self.version.flavour == Flavour::MariaDb && self.user == ADMIN;
        let lock = if may_hold_commits { "BACKUP STAGE BLOCK_COMMIT" } else { "LOCK TABLES … READ" };
        assert_eq!(snapshot["lock"], lock);
        let logs = sql(&self.managed, "mysql", "SELECT @@log_bin").concat().concat() == "1";
        assert_eq!(snapshot["binlog_file"].is_string(), logs, "{snapshot}");
    }

    /// What is changed behind the dump comes to the new server.
    fn catches_up(&self) {
        sql(&self.managed, "shop", CHANGES);
        for line in self.lines(CATCH_UP) {
            self.done(&line);
        }
        self.assert_caught_up();
    }

    fn assert_caught_up(&self) {
        assert_eq!(Self::contents(&self.managed), Self::contents(self.plain));
        let rows =
            [&self.managed, self.plain].map(|server| sql(server, "shop", "SELECT * FROM later ORDER BY id"));
        assert_eq!(rows, [[["1", "7", "w"], ["2", "8", "w"]]; 2]);
    }

    fn fills_it(&self) {
        let is_restore = |line: &str| line.starts_with("drover restore ");
        self.moves(
            INTO,
            |line| if is_restore(line) { self.dumped.clone() } else { Self::contents(self.plain) },
        );
    }

    /// The plain server's log comes in: in a way for which nobody needs a privilege that the service does not give.
    fn takes_logs(&self) {
        sql(self.plain, "mysql", "FLUSH BINARY LOGS");
        let logs = sql(self.plain, "mysql", "SHOW BINARY LOGS");
        let log = self.plain.datadir().join(&logs.last().unwrap()[0]);
        sql(self.plain, "shop", CHANGES);
        let lines = self.lines(LOGS_IN);
        if !lines.iter().any(|line| line.contains("binlog replay")) {
            self.replay_is_refused(&log);
        }
        for line in lines {
            self.shell(&line, &log).done();
        }
        self.assert_caught_up();
    }

    /// In the server's words, before anything is changed.
    fn replay_is_refused(&self, log: &Path) {
        let before = Self::contents(&self.managed);
        let output = self.shell("drover binlog replay --defaults-file db.cnf binlog.000018", log);
        output.refused(&["nothing was changed", "Access denied", "hint: ", "drover binlog sql"]);
        assert_eq!(Self::contents(&self.managed), before);
        let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'drover'";
        assert_eq!(sql(&self.managed, "mysql", there), [["0"]]);
    }

    fn work_on_it(&self) {
        for line in self.lines(WORK) {
            // What is measured depends on the server, not on the account.
            if line.starts_with("drover bench ") && self.user == ADMIN {
                continue;
            }
            if !line.starts_with("drover doctor ") {
                self.done(&line);
                continue;
            }
            let output = self.shell(&line, Path::new(""));
            assert!(matches!(output.code, Some(0 | 1)), "{output}");
        }
        assert_eq!(sql(&self.managed, "shop", "SELECT COUNT(*) FROM visits WHERE bot"), [["0"]]);
        let queued = run(drover("queue stat --json -D jobs --defaults-file").arg(self.path("db.cnf"))).done();
        let kind = &queued.json()["kinds"][0];
        assert_eq!((&kind["waiting"], &kind["done"]), (&0.into(), &3.into()), "{queued}");
    }
}

/// What its clock shows, in seconds.
fn time(server: &Server) -> u64 {
    sql(server, "mysql", "SELECT UNIX_TIMESTAMP()").concat().concat().parse().unwrap()
}

/// As the account that the service gives, by the way around the gate.
fn as_admin(server: &Server, text: &str) {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-h", "127.0.0.1", "-u", ADMIN.0, "--skip-ssl", "--batch"]);
    client.arg(format!("--port={}", server.port()));
    rows_of(&mut client, text).unwrap_or_else(|error| panic!("{text}: {error}"));
}
