//! `drover doctor`: runs it, and what its report looks like on a terminal.

mod scheduler;

use std::fmt::Write as _;

use drover_db::options::ConnectOptions;
use drover_doctor::args::{BondingCommand, DoctorArgs, DoctorCommand, ExamineArgs, PlaceArgs, PlanArgs};
use drover_doctor::{Area, Checked, Finding, Report, State, Weight};
use drover_report::size::{seconds, things};

use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(crate) fn run(args: &DoctorArgs, printer: &Printer) -> Result<Outcome, Failure> {
    match &args.command {
        None => examine(&args.examine, printer),
        Some(DoctorCommand::Bonding(args)) => match &args.command {
            None => examine(&args.examined(Area::Bonding), printer),
            Some(BondingCommand::Plan(args)) => plan(args, printer),
        },
        Some(DoctorCommand::Scheduler(args)) => match &args.command {
            None => examine(&args.examined(Area::Scheduler), printer),
            Some(command) => scheduler::run(command, printer),
        },
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

fn examine(args: &ExamineArgs, printer: &Printer) -> Result<Outcome, Failure> {
    let options = server(&args.place, printer)?;
    let report = drover_doctor::run(args, options.as_ref())?;
    if let Some(file) = &args.html {
        report.write_page(file)?;
    }
    if let Some(file) = &args.fix_script {
        report.write_fix_script(file)?;
    }
    printer.doctor(&report, text(&report))?;
    Ok(if report.has_findings() { Outcome::Found } else { Outcome::Done })
}

/// Plans bonds: the files are written below a directory, or told.
fn plan(args: &PlanArgs, printer: &Printer) -> Result<Outcome, Failure> {
    let planned = drover_doctor::plan::plan(args)?;
    let mut told = String::new();
    if let Some(folder) = &args.dir {
        drover_doctor::plan::write(&planned.files, folder)?;
    }
    for file in &planned.files {
        let path = file.path.display();
        let _ = match &args.dir {
            Some(folder) => writeln!(told, "wrote     {}{path} (mode {:04o})", folder.display(), file.mode),
            None => writeln!(told, "# {path} (mode {:04o})\n{}", file.mode, file.content),
        };
    }
    let mark = if args.dir.is_some() { "" } else { "# " };
    for note in &planned.notes {
        let _ = writeln!(told, "{mark}note      {note}");
    }
    let _ = writeln!(told, "{mark}apply     {}", planned.apply);
    printer.plan(&planned, told)?;
    Ok(Outcome::Done)
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
