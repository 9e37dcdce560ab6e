//! `drover doctor`: runs it, and what its report looks like on a terminal.

use std::fmt::Write as _;

use drover_db::options::ConnectOptions;
use drover_doctor::args::{DoctorArgs, DoctorCommand, PlaceArgs};
use drover_doctor::{Checked, Finding, Report, State, Weight};
use drover_report::size::{seconds, things};

use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(crate) fn run(args: &DoctorArgs, printer: &Printer) -> Result<Outcome, Failure> {
    match &args.command {
        None => {
            let options = server(&args.examine.place, printer)?;
            let report = drover_doctor::run(&args.examine, options.as_ref())?;
            if let Some(file) = &args.examine.html {
                report.write_page(file)?;
            }
            if let Some(file) = &args.examine.fix_script {
                report.write_fix_script(file)?;
            }
            printer.doctor(&report, text(&report))?;
            Ok(if report.has_findings() { Outcome::Found } else { Outcome::Done })
        }
        Some(DoctorCommand::Collect(args)) => {
            let options = server(&args.place, printer)?;
            let report = drover_doctor::collect(args, options.as_ref())?;
            let told = format!(
                "kept      what {} looked at, in {}\n",
                things(report.checks.len() as u64, "check"),
                args.file.display()
            );
            printer.doctor(&report, told)?;
            Ok(Outcome::Done)
        }
    }
}

/// Where the server is; none if none is to be asked, or what it said is kept in a file.
fn server(place: &PlaceArgs, printer: &Printer) -> Result<Option<ConnectOptions>, Failure> {
    let is_kept = place.root.as_deref().is_some_and(std::path::Path::is_file);
    if place.no_server || is_kept { Ok(None) } else { printer.connection(&place.server).map(Some) }
}

/// The report as a person reads it: what was found, the heaviest first, then what could not be seen.
fn text(report: &Report) -> String {
    let mut out = String::new();
    for (checked, finding) in report.findings() {
        found(&mut out, checked, finding);
    }
    for checked in report.checks.iter().filter(|checked| !checked.unknown.is_empty()) {
        let _ = writeln!(out, "unknown   {}: {}", checked.rule, checked.unknown.join("; "));
    }
    for passed in report.checks.iter().flat_map(|checked| &checked.ignored) {
        let _ = writeln!(out, "ignored   {}: {}", passed.finding.what, passed.ignored.because);
    }
    let _ = writeln!(
        out,
        "{} in {}: {} found something, {} fine, {} unknown, {} with nothing to look at",
        things(report.checks.len() as u64, "check"),
        seconds(report.seconds),
        report.count(State::Found),
        report.count(State::Fine),
        report.count(State::Unknown),
        report.count(State::NotHere),
    );
    out
}

fn found(out: &mut String, checked: &Checked, finding: &Finding) {
    let word = match finding.weight {
        Weight::Red => "RED",
        Weight::Yellow => "yellow",
        Weight::Note => "note",
    };
    let subject = finding.subject.as_ref().map(|subject| format!("{subject}: ")).unwrap_or_default();
    let _ = writeln!(out, "{word:<9} {subject}{} ({}, {})", finding.what, checked.rule, finding.grade.name());
    let mut line = |name: &str, text: &str| {
        let _ = writeln!(out, "          {name:<8} {text}");
    };
    finding.seen.iter().for_each(|seen| line("seen", seen));
    finding.effect.iter().for_each(|effect| line("effect", effect));
    line("do", &finding.advice);
    finding.remedies.iter().for_each(|remedy| line("run", &remedy.run));
    finding.measure.iter().for_each(|measure| line("measure", measure));
    line("source", &checked.source);
}
