//! Builds tasks that do nothing and works them off, through the library: what the queue itself takes.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a program for measurements")]

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

fn main() {
    let args = Args::parse();
    let mut options = args.server.resolve(|| Err(std::io::Error::other("no"))).unwrap().options;
    options.database = Some("noop".into());
    let shards = Shards::one(options);
    drover_queue::init(&shards).unwrap();
    let (begun, before) = (Instant::now(), cpu(args.pid));
    let build = BuildOptions {
        job: format!("{}", std::process::id()),
        kind: 16,
        priority: 0,
        tenant: String::new(),
        source: "noop".into(),
    };
    let records = (0..args.tasks).map(|id| Ok(Record { object_id: id.to_string(), ..Record::default() }));
    let stop = Stop::default();
    let report = drover_queue::build(&shards, &build, records, &BuildProgress::default(), &stop).unwrap();
    let built = (begun.elapsed().as_secs_f64(), cpu(args.pid) - before);
    std::thread::sleep(Duration::from_secs(1));
    let before = cpu(args.pid);
    let work = WorkOptions {
        name: "noop".into(),
        workers: args.workers,
        until_empty: true,
        grace: Duration::from_secs(5),
    };
    let done = |_: &drover_queue::Task| Outcome::Done;
    let hands = match (&args.json_lines, &args.exec) {
        (Some(command), _) => Hands::JsonLines(command),
        (_, Some(command)) => Hands::Exec(command),
        _ => Hands::Closure(&done),
    };
    let worked = drover_queue::work(&shards, &work, &hands, &Totals::default(), &stop, &|text| {
        println!("trouble: {text}")
    })
    .unwrap();
    let busy = cpu(args.pid) - before;
    let n = args.tasks as f64;
    println!(
        "built {} at {:.0}/s, {:.4} s/1000; worked {} at {:.0}/s, {:.4} s/1000; together {:.4} s/1000; {worked:?}",
        report.tasks,
        n / built.0,
        built.1 * 1000.0 / n,
        worked.done,
        n / worked.seconds,
        busy * 1000.0 / n,
        (busy + built.1) * 1000.0 / n
    );
}
