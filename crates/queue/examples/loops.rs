//! The ways in which people work off tasks in a table, to be measured beside the queue. Prints one object of JSON.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a program for measurements")]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use drover_db::options::{ConnectOptions, ServerArgs};
use drover_db::wire::next_field;
use drover_db::{Connection, wire::RawRow};

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Args {
    /// rows, batches, state, owner, segment
    way: String,
    #[arg(long, default_value_t = 100_000)]
    tasks: u64,
    #[arg(long, default_value_t = 8)]
    threads: u64,
    #[arg(long, default_value_t = 100)]
    batch: u64,
    /// The server's process, whose time is told.
    #[arg(long)]
    pid: u32,
    #[command(flatten)]
    server: ServerArgs,
}

fn cpu(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn open(options: &ConnectOptions) -> Connection {
    let mut connection = Connection::open(options).unwrap();
    connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").unwrap();
    let _ = connection.execute("SET SESSION binlog_row_image = MINIMAL");
    connection.execute("USE loops").unwrap();
    connection
}

fn ids(connection: &mut Connection, sql: &str) -> drover_db::Result<Vec<u64>> {
    let mut stream = connection.stream(sql)?;
    let mut ids = Vec::new();
    while let Some(row) = stream.next_row()? {
        let RawRow::Whole(mut row) = row else { unreachable!() };
        let text = next_field(&mut row).unwrap().bytes().unwrap();
        ids.push(text.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')));
    }
    Ok(ids)
}

fn list(ids: &[u64]) -> String {
    let mut text = String::new();
    for id in ids {
        let _ = write!(text, "{}{id}", if text.is_empty() { "" } else { "," });
    }
    text
}

fn fill(connection: &mut Connection, table: &str, tasks: u64) {
    let mut next = 1;
    while next <= tasks {
        let end = (next + 10_000).min(tasks + 1);
        let mut sql = format!("INSERT INTO {table} (object_id, kind, payload) VALUES ");
        for id in next..end {
            let _ = write!(sql, "{}({id},16,NULL)", if id == next { "" } else { "," });
        }
        connection.execute(sql).unwrap();
        next = end;
    }
}

const COLUMNS: &str = "kind SMALLINT UNSIGNED NOT NULL, object_id VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, payload MEDIUMTEXT NULL";

fn main() {
    let args = Args::parse();
    let options = args.server.resolve(|| Err(std::io::Error::other("no"))).unwrap().options;
    let mut connection = Connection::open(&options).unwrap();
    connection.execute("DROP DATABASE IF EXISTS loops").unwrap();
    connection.execute("CREATE DATABASE loops").unwrap();
    let mut connection = open(&options);
    let table = match &*args.way {
        "state" => format!(
            "CREATE TABLE jobs (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, {COLUMNS}, state TINYINT NOT NULL DEFAULT 0, owner INT NULL, KEY (state, id))"
        ),
        "segment" => "CREATE TABLE jobs (lane INT UNSIGNED NOT NULL DEFAULT 1, seq INT UNSIGNED NOT NULL, \
             task BIGINT UNSIGNED NULL, object_id VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
             payload MEDIUMTEXT NULL, PRIMARY KEY (lane, seq))"
            .to_owned(),
        _ => format!("CREATE TABLE jobs (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, {COLUMNS})"),
    };
    connection.execute(table).unwrap();
    let (begun, cpu_before) = (Instant::now(), cpu(args.pid));
    if args.way == "segment" {
        connection.execute("CREATE TABLE lane (lane INT UNSIGNED NOT NULL PRIMARY KEY, settled INT UNSIGNED NOT NULL, owner INT NOT NULL, bits VARBINARY(4096) NOT NULL)").unwrap();
        connection.execute("INSERT INTO lane VALUES (1, 0, 7, '')").unwrap();
        let mut next = 1;
        while next <= args.tasks {
            let end = (next + 10_000).min(args.tasks + 1);
            let mut sql = "INSERT INTO jobs (lane, seq, object_id, payload) VALUES ".to_owned();
            for id in next..end {
                let _ = write!(sql, "{}(1,{id},{id},NULL)", if id == next { "" } else { "," });
            }
            connection.execute(sql).unwrap();
            next = end;
        }
    } else {
        fill(&mut connection, "jobs", args.tasks);
    }
    let filled = (begun.elapsed().as_secs_f64(), cpu(args.pid) - cpu_before);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let (begun, cpu_before) = (Instant::now(), cpu(args.pid));
    let (done, errors) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..args.threads {
            let (args, options, done, errors) = (&args, &options, &done, &errors);
            scope.spawn(move || {
                let mut c = open(options);
                let mut low = 0;
                loop {
                    match turn(&mut c, args, thread, &mut low) {
                        Ok(0) => break,
                        Ok(n) => drop(done.fetch_add(n, Ordering::Relaxed)),
                        Err(error) if matches!(error.code(), Some(1213 | 1205 | 1020)) => {
                            errors.fetch_add(1, Ordering::Relaxed);
                            let _ = c.execute("ROLLBACK");
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    if args.way == "segment" {
        connection.execute("DROP TABLE jobs").unwrap();
    }
    let (seconds, busy) = (begun.elapsed().as_secs_f64(), cpu(args.pid) - cpu_before);
    let done = done.into_inner();
    let thousands = done as f64 / 1000.0;
    std::thread::sleep(std::time::Duration::from_secs(2)); // for what the server removes afterwards
    let report = serde_json::json!({
        "way": args.way, "done": done, "errors": errors.into_inner(), "per_s": done as f64 / seconds, "cpu_per_1000": busy / thousands,
        "cpu_with_purge_per_1000": (cpu(args.pid) - cpu_before) / thousands,
        "fill_per_s": args.tasks as f64 / filled.0, "fill_cpu_per_1000": filled.1 * 1000.0 / args.tasks as f64,
    });
    println!("{report}");
}

fn turn(c: &mut Connection, args: &Args, thread: u64, low: &mut u64) -> drover_db::Result<u64> {
    let batch = args.batch;
    match &*args.way {
        "rows" => {
            c.execute("BEGIN")?;
            let ids = ids(
                c,
                "SELECT id, kind, object_id, payload FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
            )?;
            if ids.is_empty() {
                c.execute("COMMIT")?;
                return Ok(0);
            }
            c.execute(format!("DELETE FROM jobs WHERE id = {}", ids[0]))?;
            c.execute("COMMIT")?;
            Ok(1)
        }
        "batches" => {
            c.execute("BEGIN")?;
            let ids = ids(
                c,
                &format!(
                    "SELECT id, kind, object_id, payload FROM jobs ORDER BY id LIMIT {batch} FOR UPDATE SKIP LOCKED"
                ),
            )?;
            if !ids.is_empty() {
                c.execute(format!("DELETE FROM jobs WHERE id IN ({})", list(&ids)))?;
            }
            c.execute("COMMIT")?;
            Ok(ids.len() as u64)
        }
        "state" => {
            c.execute("BEGIN")?;
            let ids = ids(
                c,
                &format!(
                    "SELECT id, kind, object_id, payload FROM jobs WHERE state = 0 ORDER BY id LIMIT {batch} FOR UPDATE SKIP LOCKED"
                ),
            )?;
            if ids.is_empty() {
                c.execute("COMMIT")?;
                return Ok(0);
            }
            c.execute(format!("UPDATE jobs SET state = 1, owner = {thread} WHERE id IN ({})", list(&ids)))?;
            c.execute("COMMIT")?;
            c.execute(format!("UPDATE jobs SET state = 2 WHERE id IN ({})", list(&ids)))?;
            Ok(ids.len() as u64)
        }
        "owner" => {
            let ids = ids(
                c,
                &format!(
                    "SELECT id, kind, object_id, payload FROM jobs WHERE id > {low} ORDER BY id LIMIT {batch}"
                ),
            )?;
            let Some(last) = ids.last() else { return Ok(0) };
            c.execute(format!("DELETE FROM jobs WHERE id BETWEEN {} AND {last}", ids[0]))?;
            *low = *last;
            Ok(ids.len() as u64)
        }
        "ownerin" => {
            let ids = ids(
                c,
                &format!(
                    "SELECT id, kind, object_id, payload FROM jobs WHERE id > {low} ORDER BY id LIMIT {batch}"
                ),
            )?;
            let Some(last) = ids.last() else { return Ok(0) };
            c.execute(format!("DELETE FROM jobs WHERE id IN ({})", list(&ids)))?;
            *low = *last;
            Ok(ids.len() as u64)
        }
        "segment" => {
            let ids = ids(
                c,
                &format!(
                    "SELECT seq, task, object_id, payload FROM jobs WHERE lane = 1 AND seq > {low} ORDER BY seq LIMIT {batch}"
                ),
            )?;
            let Some(last) = ids.last() else { return Ok(0) };
            c.execute(format!(
                "UPDATE lane SET settled = {last}, bits = REPEAT('x', {}) WHERE lane = 1 AND owner = 7",
                last % 1024
            ))?;
            *low = *last;
            Ok(ids.len() as u64)
        }
        other => panic!("{other}?"),
    }
}
