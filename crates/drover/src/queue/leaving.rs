//! `drover queue drain` and `move`: what is said of shards that are left.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use drover_db::Stop;
use drover_queue::args::{DrainArgs, MoveArgs};
use drover_queue::{Drain, DrainProgress, DrainReport, MoveProgress, MoveReport};
use drover_report::plain::one_line;
use drover_units::show::{count, duration, things};

use super::{shards, watched};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) fn drain(args: &DrainArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let shards = shards(&args.place, printer)?;
    let what = match args {
        DrainArgs { undo: true, .. } => Drain::Undo,
        DrainArgs { close: true, .. } => Drain::Close,
        DrainArgs { wait: true, .. } => Drain::Wait,
        _ => Drain::Begin,
    };
    let progress = DrainProgress::default();
    let line = |_: f64| {
        let [left, running] =
            [&progress.left, &progress.running].map(|number| number.load(Ordering::Relaxed));
        format!("draining: {} left, {} running", things(left, "task"), count(running))
    };
    let report = watched(printer, line, || {
        drover_queue::drain(&shards, args.shard.as_deref(), what, &progress, stop)
    })?;
    printer.result(&report, drain_text(&report))?;
    Ok(if args.wait && report.dead > 0 { Outcome::Found } else { Outcome::Done })
}

fn drain_text(report: &DrainReport) -> String {
    let name = match report.shard.is_empty() {
        true => "the queue".to_owned(),
        false => format!("shard {}", report.shard),
    };
    if report.is_closed {
        return format!("{name} is closed: copy its schema, name the new URL, and open it there with --undo");
    }
    let takes = if report.is_draining { "takes no more tasks" } else { "takes tasks" };
    let mut text = format!(
        "{name} {takes}: {} waiting ({} running), {} later, {} dead",
        count(report.waiting),
        count(report.running),
        count(report.later),
        count(report.dead)
    );
    if let Some(seconds) = report.eta_seconds {
        let _ = write!(text, "; what waits is done in {}", duration(Duration::from_secs_f64(seconds)));
    }
    if report.in_transit > 0 {
        let _ = write!(
            text,
            "\n{} on their way to other shards: let `drover queue move` come to its end",
            things(report.in_transit, "task")
        );
    }
    builds(&report.builds, &mut text);
    text
}

fn builds(names: &[String], text: &mut String) {
    for name in names {
        let name = one_line(name);
        let _ = write!(text, "\nbuild '{name}' is not published: its tasks come with that");
    }
}

pub(super) fn move_tasks(args: &MoveArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let shards = shards(&args.place, printer)?;
    let progress = MoveProgress::default();
    let line = |seconds: f64| {
        let [moved, running] =
            [&progress.moved, &progress.running].map(|number| number.load(Ordering::Relaxed));
        let rate = count((moved as f64 / seconds.max(0.001)) as u64);
        format!("moving: {}, {rate}/s; {} still with shepherds", things(moved, "task"), count(running))
    };
    let report = watched(printer, line, || {
        drover_queue::move_tasks(&shards, &args.from, args.to.as_deref(), &progress, stop)
    })?;
    printer.result(&report, move_text(&report))?;
    Ok(if report.builds.is_empty() { Outcome::Done } else { Outcome::Found })
}

fn move_text(report: &MoveReport) -> String {
    let mut text = format!(
        "{} moved from shard {} in {}",
        things(report.tasks, "task"),
        report.from,
        duration(Duration::from_secs_f64(report.seconds))
    );
    for target in &report.targets {
        let _ = write!(text, "\nto shard {}: {}", target.shard, count(target.tasks));
    }
    if report.merged > 0 {
        let _ =
            write!(text, "\n{} left out: their objects have unfinished ones", things(report.merged, "task"));
    }
    builds(&report.builds, &mut text);
    text
}
