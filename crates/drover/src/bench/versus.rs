//! `drover bench tpcc --compare`.

use std::sync::Arc;

use drover_bench::figure;
use drover_bench::tpcc::versus::args::VersusArgs;
use drover_bench::tpcc::versus::{VersusDetail, versus};
use drover_bench::{Report, statistics::median};
use drover_db::Stop;

use super::{columns, watched};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) fn run(args: &VersusArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let report = watched(printer, |progress| versus(args, stop, progress))?;
    report.warnings.iter().for_each(|warning| printer.warning(warning));
    printer.bench(&report, text(&report))?;
    Ok(Outcome::Done)
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
    columns(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}
