//! The commands that the README begins with, on servers as their vendors ship them: by root, and by the owner of some schemas, to whom a
//! hoster gave all rights on these and no other. What the owner may not do is refused by the name of what is lacking.

use std::path::{Path, PathBuf};

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, value};
use crate::drover::{copy_as, drover, drover_on, dump, restore, run, verify};
use crate::servers::{on_both, stock};

on_both!(by_root, by_an_owner);

const SHOP: &str = "CREATE DATABASE shop; USE shop;
    CREATE TABLE visits (id INT AUTO_INCREMENT PRIMARY KEY, bot BOOLEAN NOT NULL, page VARCHAR(100), at DATETIME, share FLOAT);
    INSERT INTO visits (bot, page, at, share) WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 900)
      SELECT n % 3 = 0, CONCAT('/p/', n), '2026-11-29' + INTERVAL n MINUTE, n / 7 FROM s;
    CREATE VIEW people AS SELECT page FROM visits WHERE NOT bot";

const ROWS: &str =
    "SELECT CONCAT_WS(' ', COUNT(*), SUM(CRC32(CONCAT_WS(',', id, bot, page, at, share)))) FROM shop.visits";

struct Stock {
    servers: [Server; 2],
    dir: tempfile::TempDir,
    user: &'static str,
}

impl Stock {
    fn new(flavour: Flavour, user: &'static str) -> Self {
        let servers = [stock(flavour), stock(flavour)];
        for server in &servers {
            let schemas =
                ["shop", "jobs", "tpcc"].map(|schema| format!("GRANT ALL ON {schema}.* TO owner@localhost"));
            sql(server, format!("CREATE USER owner@localhost; {}", schemas.join("; ")));
        }
        sql(&servers[0], SHOP);
        Self { servers, dir: tempfile::tempdir().unwrap(), user }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Rows go from server to server, through files and without.
    fn moves(&self) {
        let ([source, target], user) = (&self.servers, self.user);
        let (backup, expected) = (&self.path("backup"), value(source, ROWS));
        run(&mut dump(source, &format!("shop -u {user}"), backup)).done();
        run(&mut restore(target, backup, &format!("-u {user}"))).done();
        run(&mut verify(target, backup, &format!("-u {user}"))).done();
        assert_eq!(value(target, ROWS), expected);
        sql(target, "DROP DATABASE shop");
        run(&mut copy_as((user, source), (user, target), "shop", &self.path("copy"))).done();
        assert_eq!(value(target, ROWS), expected);
        assert_eq!(value(target, "SELECT COUNT(*) FROM shop.people"), "600");
    }

    /// The queue, the load and a change in parts need no more than their schemas.
    fn works(&self) {
        let on = |line: &str| {
            let mut command = drover_on(&self.servers[1], &format!("{line} -u {}", self.user));
            move |last: &[&str]| run(command.args(last)).done()
        };
        on("queue init -D jobs")(&[]);
        on("queue push -D jobs --kind 1")(&["1", "2", "3"]);
        let worked = on("queue work --json -D jobs --until-empty --json-lines cat")(&[]);
        assert_eq!(worked.json()["done"], 3);
        on("bench tpcc load -D tpcc -w 1")(&[]);
        on("bench tpcc run -D tpcc -c 2 --seconds 1")(&[]);
        on("bench tpcc check -D tpcc")(&[]);
        on("chunk -D shop")(&["UPDATE visits SET bot = 0 WHERE id = 3"]);
        assert_eq!(value(&self.servers[1], "SELECT COUNT(*) FROM shop.people"), "601");
    }

    /// The source's newest log.
    fn log(&self) -> PathBuf {
        self.servers[0].datadir().join(value(&self.servers[0], "SHOW BINARY LOGS"))
    }

    fn logs_are_read(&self, log: &Path) {
        run(drover("binlog stat").arg(self.servers[0].datadir())).done();
        run(drover("binlog cost --link 10Mbit").arg(log)).done();
    }

    fn on_target(&self, line: &str, last: &[&str]) -> std::process::Command {
        let mut command = drover_on(&self.servers[1], &format!("{line} -u {}", self.user));
        command.args(last);
        command
    }
}

const DELETE: &str = "DELETE FROM visits WHERE bot";

fn by_root(flavour: Flavour) {
    let stock = Stock::new(flavour, "root");
    stock.moves();
    stock.works();
    let log = stock.log();
    stock.logs_are_read(&log);
    // There is nothing whose lag could be watched.
    run(&mut stock.on_target("chunk -D shop --max-lag 2s", &[DELETE])).refused(&["knows of no replica"]);
    run(&mut stock.on_target("chunk -D shop", &[DELETE])).done();
    assert_eq!(value(&stock.servers[1], "SELECT COUNT(*) FROM shop.visits"), "601");
    sql(&stock.servers[1], "DROP DATABASE shop; DROP USER owner@localhost");
    run(&mut stock.on_target("binlog replay", &[log.to_str().unwrap()])).done();
    assert_eq!(value(&stock.servers[1], ROWS), value(&stock.servers[0], ROWS));
}

fn by_an_owner(flavour: Flavour) {
    let stock = Stock::new(flavour, "owner");
    let root = [&stock.servers[0], &stock.servers[1]];
    // Views belong to the owner, who made them.
    sql(root[0], "DROP VIEW shop.people");
    let mut client = root[0].client("mysql");
    client.args([
        "-u",
        "owner",
        "-e",
        "CREATE VIEW shop.people AS SELECT page FROM shop.visits WHERE NOT bot",
    ]);
    assert!(client.status().unwrap().success());
    stock.moves();
    stock.works();
    let (log, before) = (stock.log(), value(root[1], ROWS));
    stock.logs_are_read(&log);
    run(&mut stock.on_target("binlog replay", &[log.to_str().unwrap()])).refused(&["hint:"]);
    run(&mut stock.on_target("chunk -D shop --max-lag 2s", &[DELETE])).refused(&["REPLICATION"]);
    assert_eq!(value(root[1], ROWS), before);
}
