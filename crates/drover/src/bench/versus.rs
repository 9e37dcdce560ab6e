//! `drover bench tpcc --compare`.

use std::sync::Arc;

use drover_bench::figure;
use drover_bench::tpcc::versus::args::VersusArgs;
use drover_bench::tpcc::versus::{Intent, VersusDetail, dry_run, versus};
use drover_bench::{Report, statistics::median};
use drover_db::Stop;

use super::shown::{columns, watched};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) fn run(args: &VersusArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    if let Some(intents) = dry_run(args)? {
        printer.result(&intents, dry_run_text(&intents))?;
        return Ok(Outcome::Done);
    }
    let report = watched(printer, |progress| versus(args, stop, progress))?;
    report.warnings.iter().for_each(|warning| printer.warning(warning));
    printer.result(&report, text(&report))?;
    Ok(Outcome::Done)
}

fn dry_run_text(intents: &[Intent]) -> String {
    let line = |intent: &Intent| {
        let mounts: Vec<_> = intent.mounts.iter().map(|mount| mount.display().to_string()).collect();
        format!(
            "would switch {} from {} to {} in turns, and back; on it lie {}\n",
            intent.device,
            intent.scheduler,
            intent.to.join(", "),
            mounts.join(", ")
        )
    };
    let lines: String = intents.iter().map(line).collect();
    format!(
        "{lines}Nothing was changed. --yes does it; --loop SIZE does it on a loop device, which nobody else uses."
    )
}

fn text(report: &Report<VersusDetail>) -> String {
    let head = [report.detail.changed, "New-Orders/min", "p99", "against the first one"].map(str::to_owned);
    let rows = report.detail.variants.iter().map(|variant| {
        [
            variant.name.clone(),
            figure(median(&variant.nopm)),
            format!("{} ms", figure(median(&variant.new_order_p99_ms))),
            variant.words(),
        ]
    });
    let table = columns(&[head].into_iter().chain(rows).collect::<Vec<_>>());
    if report.detail.to_keep.is_empty() {
        return table;
    }
    let rules = report.detail.to_keep.join("\n");
    format!("{table}\n\nTo keep it over a boot, put this into /etc/udev/rules.d/60-scheduler.rules:\n{rules}")
}
