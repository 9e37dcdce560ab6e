//! Live traffic: inserts single tasks into a queue's inbox at a steady rate, and tells how long each took, counted from when it was
//! to begin. It ends with its standard input.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a program for measurements")]

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use drover_db::Connection;
use drover_db::options::ServerArgs;

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Args {
    /// Inserts a second, of all connections together.
    #[arg(long, default_value_t = 60.0)]
    rate: f64,
    /// Connections, which take turns: one that waits holds up none of the others.
    #[arg(long, default_value_t = 8)]
    connections: u32,
    #[arg(long, default_value_t = 1)]
    kind: u16,
    /// The first object id.
    #[arg(long, default_value_t = 1_000_000_000)]
    first: u64,
    /// The queue's schema.
    #[arg(short = 'D', long)]
    database: String,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Default)]
struct Seen {
    /// Of each insert: when it was to begin, and how many milliseconds after that it was committed; the statement's own time.
    took: Vec<(f64, f64, f64)>,
    errors: Vec<String>,
}

fn main() {
    let args = Args::parse();
    let mut options = args.server.resolve(|| Err(std::io::Error::other("no"))).unwrap().options;
    options.database = Some(args.database.clone());
    let is_over = AtomicBool::new(false);
    let begun = Instant::now();
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.connections)
            .map(|number| {
                let connection = Connection::open(&options).unwrap();
                let (args, is_over) = (&args, &is_over);
                scope.spawn(move || insert(connection, args, number, begun, is_over))
            })
            .collect();
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        is_over.store(true, Ordering::SeqCst);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut took: Vec<_> = seen.iter().flat_map(|seen| seen.took.iter().copied()).collect();
    let errors: Vec<_> = seen.iter().flat_map(|seen| &seen.errors).collect();
    took.sort_by(|one, other| one.1.total_cmp(&other.1));
    let at = |share: f64| took.get((took.len() as f64 * share) as usize).or(took.last()).map_or(0.0, |t| t.1);
    let worst: Vec<_> = took.iter().rev().take(5).map(|(when, ms, own)| [*when, *ms, *own]).collect();
    let report = serde_json::json!({
        "inserts": took.len(), "seconds": begun.elapsed().as_secs_f64(), "p50_ms": at(0.5), "p99_ms": at(0.99),
        "p999_ms": at(0.999), "max_ms": at(1.0), "worst": worst, "errors": errors,
    });
    println!("{report}");
}

fn insert(
    mut connection: Connection,
    args: &Args,
    number: u32,
    begun: Instant,
    is_over: &AtomicBool,
) -> Seen {
    let mut seen = Seen::default();
    for turn in 0.. {
        let nth = turn * u64::from(args.connections) + u64::from(number);
        let due = begun + Duration::from_secs_f64(nth as f64 / args.rate);
        while Instant::now() < due {
            if is_over.load(Ordering::SeqCst) {
                return seen;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(Duration::from_millis(500)));
        }
        let sql =
            format!("INSERT INTO queue_inbox (kind, object_id) VALUES ({}, {})", args.kind, args.first + nth);
        let sent = Instant::now();
        match connection.execute(sql) {
            Ok(_) => {
                let millis = |since: Instant| since.elapsed().as_secs_f64() * 1000.0;
                seen.took.push(((due - begun).as_secs_f64(), millis(due), millis(sent)));
            }
            Err(error) => seen.errors.push(error.to_string()),
        }
        if is_over.load(Ordering::SeqCst) {
            return seen;
        }
    }
    seen
}
