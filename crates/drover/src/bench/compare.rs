//! `drover bench compare`.

use drover_bench::args::CompareArgs;
use drover_bench::compare::{Comparison, Verdict, compare};
use drover_bench::figure;

use super::shown::columns;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) fn run(args: &CompareArgs, printer: &Printer) -> Result<Outcome, Failure> {
    let comparison = compare(&args.a, &args.b)?;
    for (name, a, b) in &comparison.differences {
        printer.warning(&format!("not measured on the same: {name} was {a}, and then {b}"));
    }
    for name in &comparison.left_out {
        printer.warning(&format!("only one of them has '{name}'"));
    }
    printer.result(&comparison, text(&comparison))?;
    Ok(if comparison.is_worse() { Outcome::Found } else { Outcome::Done })
}

fn text(comparison: &Comparison) -> String {
    let rows: Vec<_> = comparison
        .measures
        .iter()
        .map(|measure| {
            let change = measure.change.filter(|_| measure.verdict != Verdict::TooFewRepeats);
            let change = change.map_or_else(String::new, |change| {
                format!("{:+.1} % to {:+.1} %", change.low * 100.0, change.high * 100.0)
            });
            [
                measure.name.clone(),
                format!("{} {}", figure(measure.a), measure.unit),
                format!("{} {}", figure(measure.b), measure.unit),
                change,
                verdict(measure.verdict).to_owned(),
            ]
        })
        .collect();
    format!("{}\n\n{}", columns(&rows), certainty(comparison))
}

/// How far the verdicts can be trusted.
fn certainty(comparison: &Comparison) -> String {
    let measures = match comparison.measures.len() {
        1 => "1 measure".to_owned(),
        count => format!("{count} measures together"),
    };
    format!(
        "Intervals hold for {measures} in {:.0} % of comparisons: if A and B are equal, the chance of any claimed difference is \
         at most {:.0} %.",
        100.0 - comparison.chance_of_false_claim * 100.0,
        comparison.chance_of_false_claim * 100.0
    )
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Same => "no difference beyond the noise",
        Verdict::TooFewRepeats => "too few repeats to tell: twice or half as much may be noise",
        Verdict::Unknown => "not known: --repeat 2 or more tells the noise",
    }
}
