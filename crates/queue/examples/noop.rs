//! Builds tasks that do nothing and works them off, through the library: what the queue itself takes. Prints one object of JSON.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a program for measurements"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use drover_db::Stop;
use drover_db::options::ServerArgs;
use drover_queue::{BuildOptions, BuildProgress, Hands, Outcome, Record, Shards, Totals, WorkOptions};

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Args {
    #[arg(long, default_value_t = 1_000_000)]
    tasks: u64,
    #[arg(long, default_value_t = 2)]
    workers: u32,
    #[arg(long)]
    json_lines: Option<String>,
    #[arg(long)]
    exec: Option<String>,
    /// The servers' processes, whose time is told.
    #[arg(long, value_delimiter = ',', required = true)]
    pid: Vec<u32>,
    /// The queue's servers; if not given, the one that the options of a connection say.
    #[arg(long)]
    shards: Option<PathBuf>,
    /// Whether the build pauses for live traffic.
    #[arg(long)]
    pauses: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Seconds of CPU that processes have used.
fn cpu(pids: &[u32]) -> f64 {
    let of = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
    };
    pids.iter().map(of).sum()
}

/// Waits until the servers have written what the build left to be written, so that it is not counted as work.
fn wait_for_calm(pids: &[u32]) {
    const LONGEST: u32 = 60;
    /// Of a core, each.
    const CALM: f64 = 0.03;
    for _ in 0..LONGEST {
        let before = cpu(pids);
        std::thread::sleep(Duration::from_secs(1));
        if cpu(pids) - before <= CALM * pids.len() as f64 {
            return;
        }
    }
}

fn main() {
    const SCHEMA: &str = "noop";
    let args = Args::parse();
    let shards = match &args.shards {
        Some(file) => Shards::load(file, &args.server, Some(SCHEMA)).unwrap(),
        None => {
            let mut options = args.server.resolve(|| Err(std::io::Error::other("no"))).unwrap().options;
            options.database = Some(SCHEMA.into());
            Shards::one(options)
        }
    };
    drover_queue::init(&shards).unwrap();
    let (begun, before) = (Instant::now(), cpu(&args.pid));
    let build = BuildOptions {
        job: drover_queue::new_job(16),
        kind: 16,
        priority: 0,
        tenant: String::new(),
        source: SCHEMA.into(),
        pauses: args.pauses,
    };
    let records = (0..args.tasks).map(|id| Ok(Record { object_id: id.to_string(), ..Record::default() }));
    let stop = Stop::default();
    let report = drover_queue::build(&shards, &build, records, &BuildProgress::default(), &stop).unwrap();
    let built = (begun.elapsed().as_secs_f64(), cpu(&args.pid) - before);
    wait_for_calm(&args.pid);
    let before = cpu(&args.pid);
    let work = WorkOptions {
        name: SCHEMA.into(),
        workers: args.workers,
        until_empty: true,
        grace: Duration::from_secs(5),
        lease: drover_queue::LEASE,
    };
    let done = |_: &drover_queue::Task| Outcome::Done;
    let hands = match (&args.json_lines, &args.exec) {
        (Some(command), _) => Hands::JsonLines(command),
        (_, Some(command)) => Hands::Exec(command),
        _ => Hands::Closure(&done),
    };
    let trouble = |text: &str| eprintln!("trouble: {text}");
    let worked = drover_queue::work(&shards, &work, &hands, &Totals::default(), &stop, &trouble).unwrap();
    let busy = cpu(&args.pid) - before;
    let thousands = args.tasks as f64 / 1000.0;
    let report = serde_json::json!({
        "tasks": report.tasks, "done": worked.done, "refused": worked.refused,
        "build_per_s": args.tasks as f64 / built.0, "build_cpu_per_1000": built.1 / thousands,
        "per_s": args.tasks as f64 / worked.seconds, "cpu_per_1000": busy / thousands, "seconds": worked.seconds,
    });
    println!("{report}");
}
