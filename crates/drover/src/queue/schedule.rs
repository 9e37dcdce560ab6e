//! `drover queue schedule`.

use std::fmt::Write as _;

use drover_queue::args::{ScheduleCommand, ScheduleSetArgs};
use drover_queue::schedule::{self, Schedule};
use drover_queue::{NewSchedule, Record};
use drover_report::plain::one_line;
use drover_units::show::{count, things};

use super::shards;
use crate::failure::Failure;
use crate::printer::Printer;

pub(super) fn run(command: &ScheduleCommand, printer: &Printer) -> Result<(), Failure> {
    match command {
        ScheduleCommand::Set(args) => set(args, printer)?,
        ScheduleCommand::List(args) => {
            let all = schedule::list(&shards(&args.place, printer)?)?;
            printer.result(&all, list_text(&all))?;
        }
        ScheduleCommand::Drop(args) => schedule::drop_schedule(&shards(&args.place, printer)?, &args.name)?,
        ScheduleCommand::Pause(args) => schedule::pause(&shards(&args.place, printer)?, &args.name)?,
        ScheduleCommand::Resume(args) => schedule::resume(&shards(&args.place, printer)?, &args.name)?,
    }
    Ok(())
}

fn set(args: &ScheduleSetArgs, printer: &Printer) -> Result<(), Failure> {
    let new = NewSchedule {
        name: args.name.clone(),
        cron: args.cron.clone(),
        timezone: args.timezone.clone(),
        task: Record {
            object_id: args.object_id.clone(),
            kind: Some(args.task.kind),
            payload: args.payload.clone(),
            priority: Some(args.task.priority),
            tenant: Some(args.task.tenant.clone()),
            not_before_ms: None,
        },
    };
    let set = schedule::set(&shards(&args.place, printer)?, &new)?;
    let text = match set.next_there() {
        Some(next) => format!("next at {next}"),
        None => "it is paused".to_owned(),
    };
    printer.result(&set, text)
}

fn list_text(all: &[Schedule]) -> String {
    if all.is_empty() {
        return "no schedules".to_owned();
    }
    let shard = if all.iter().any(|one| !one.shard.is_empty()) { "shard" } else { "" };
    let heads = ["name", "cron", "zone", "kind", "object", "next", "last", "came", "missed", shard];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(all.iter().map(row));
    let mut text = table(&rows);
    for one in all {
        if let Some(error) = &one.error {
            let _ = writeln!(text, "'{}' does not come any more: {error}", one.name);
        }
    }
    text
}

fn row(one: &Schedule) -> [String; 10] {
    let dash = || "-".to_owned();
    let next = match (one.next_there(), one.is_paused) {
        (Some(next), _) => next,
        (None, true) => "paused".to_owned(),
        (None, false) => "never".to_owned(),
    };
    [
        one.name.clone(),
        one.cron.clone(),
        one.timezone.clone(),
        one.kind.to_string(),
        one.object_id.clone(),
        next,
        one.last_there().unwrap_or_else(dash),
        count(one.fired),
        count(one.missed),
        one.shard.clone(),
    ]
}

/// Columns as wide as what they hold.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(line, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A line for all schedules of a shard.
pub(super) fn shard_text(schedules: &[Schedule], text: &mut String) {
    let Some(first) = schedules.iter().filter(|one| one.next_ms.is_some()).min_by_key(|one| one.next_ms)
    else {
        if !schedules.is_empty() {
            let _ = writeln!(text, "{}, none of which comes", things(schedules.len() as u64, "schedule"));
        }
        return;
    };
    let _ = writeln!(
        text,
        "{}: '{}' is next at {}",
        things(schedules.len() as u64, "schedule"),
        one_line(&first.name),
        first.next_there().unwrap_or_default()
    );
}
