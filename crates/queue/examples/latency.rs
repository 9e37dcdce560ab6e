//! How long it takes from sending a task's INSERT to its start in a worker that waits: one task at a time. Prints one object of JSON.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a program for measurements"
)]

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Parser;
use drover_db::options::ServerArgs;
use drover_db::{Connection, Stop};
use drover_queue::{Hands, ObjectId, Outcome, Shards, Totals, WorkOptions};

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Args {
    #[arg(long, default_value_t = 1000)]
    pushes: i64,
    /// The queue's schema.
    #[arg(short = 'D', long)]
    database: String,
    #[command(flatten)]
    server: ServerArgs,
}

fn main() {
    let args = Args::parse();
    let mut options = args.server.resolve(|| Err(std::io::Error::other("no"))).unwrap().options;
    options.database = Some(args.database.clone());
    let shards = Shards::one(options.clone());
    drover_queue::init(&shards).unwrap();
    let started = Mutex::new(HashMap::new());
    let begin = |task: &drover_queue::Task| {
        started.lock().unwrap().insert(task.object_id.clone(), Instant::now());
        Outcome::Done
    };
    let work = WorkOptions {
        name: "latency".into(),
        workers: 2,
        until_empty: false,
        grace: Duration::from_secs(5),
        lease: drover_queue::LEASE,
    };
    let stop = Stop::default();
    let totals = Totals::default();
    let sent = std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            drover_queue::work(&shards, &work, &Hands::Closure(&begin), &totals, &stop, &|text| {
                eprintln!("{text}")
            })
            .map(drop)
        });
        let sent = push(&args, Connection::open(&options).unwrap());
        std::thread::sleep(Duration::from_secs(1));
        stop.request();
        working.join().unwrap().unwrap();
        sent
    });
    let started = started.into_inner().unwrap();
    let mut took: Vec<f64> =
        sent.iter().map(|(id, sent)| (started[id] - *sent).as_secs_f64() * 1000.0).collect();
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!(
        "{}",
        serde_json::json!({ "pushes": took.len(), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0) })
    );
}

/// Pushes at intervals that are in no step with those at which anything looks.
fn push(args: &Args, mut connection: Connection) -> Vec<(ObjectId, Instant)> {
    std::thread::sleep(Duration::from_secs(3));
    let mut sent = Vec::new();
    for number in 0..args.pushes {
        std::thread::sleep(Duration::from_micros(30_000 + 7_919 * (number as u64 * 31 % 17)));
        sent.push((ObjectId::Number(number), Instant::now()));
        connection
            .execute(format!("INSERT INTO queue_inbox (kind, object_id) VALUES (16, {number})"))
            .unwrap();
    }
    sent
}
