//! `drover doctor`: runs it, and what its report looks like on a terminal.

mod scheduler;

use std::fmt::Write as _;

use drover_db::options::ConnectOptions;
use drover_doctor::args::{BondingCommand, DoctorArgs, DoctorCommand, ExamineArgs, PlaceArgs, PlanArgs};
use drover_doctor::{Area, Checked, Finding, Report, State, Weight};
use drover_report::plain::one_line;
use drover_units::show::{seconds, things};

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
            printer.result(&report, told)?;
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
    printer.result(&report, text(&report, columns()))?;
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
    printer.result(&planned, told)?;
    Ok(Outcome::Done)
}

/// Where the server is; none if none is to be asked, or what it said is kept in a file.
fn server(place: &PlaceArgs, printer: &Printer) -> Result<Option<ConnectOptions>, Failure> {
    let is_kept = place.root.as_deref().is_some_and(std::path::Path::is_file);
    if place.no_server || is_kept { Ok(None) } else { printer.connection(&place.server).map(Some) }
}

/// How wide the terminal is; `None` where there is none, and lines may be as long as they are.
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    // Some terminals tell none.
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The report as a person reads it: what was found, the heaviest first, then what could not be seen.
fn text(report: &Report, columns: Option<usize>) -> String {
    let mut out = Lines { text: String::new(), columns };
    for (checked, finding) in report.findings() {
        found(&mut out, checked, finding);
    }
    for checked in report.checks.iter().filter(|checked| !checked.unknown.is_empty()) {
        out.add("unknown", &format!("{}: {}", checked.rule, checked.unknown.join("; ")));
    }
    for passed in report.checks.iter().flat_map(|checked| &checked.ignored) {
        out.add("ignored", &format!("{}: {}", passed.finding.what, passed.ignored.because));
    }
    let _ = writeln!(
        out.text,
        "{} in {}: {} found something, {} fine, {} unknown, {} with nothing to look at",
        things(report.checks.len() as u64, "check"),
        seconds(report.seconds),
        report.count(State::Found),
        report.count(State::Fine),
        report.count(State::Unknown),
        report.count(State::NotHere),
    );
    out.text
}

/// Lines of a word and a text. A terminal would break the text within words.
struct Lines {
    text: String,
    columns: Option<usize>,
}

impl Lines {
    /// Column at which texts begin.
    const TEXT: usize = 10;
    /// The same, of lines that belong to the one before them.
    const BELOW: usize = 19;

    fn add(&mut self, word: &str, text: &str) {
        let word = format!("{word:<width$}", width = Self::TEXT);
        self.wrap(&word, text, Self::TEXT);
    }

    fn add_below(&mut self, word: &str, text: &str) {
        let word = format!("{:TEXT$}{word:<8} ", "", TEXT = Self::TEXT);
        self.wrap(&word, text, Self::BELOW);
    }

    /// As it is, to be copied; what goes on in another line begins where the first one does.
    fn add_command(&mut self, word: &str, text: &str) {
        let text = text.replace('\n', &format!("\n{:BELOW$}", "", BELOW = Self::BELOW));
        let _ = writeln!(self.text, "{:TEXT$}{word:<8} {text}", "", TEXT = Self::TEXT);
    }

    fn wrap(&mut self, word: &str, text: &str, indent: usize) {
        let text = one_line(text);
        let mut line = word.to_owned();
        let mut is_begun = false;
        for part in text.split(' ') {
            let length = line.chars().count() + usize::from(is_begun) + part.chars().count();
            if is_begun && self.columns.is_some_and(|columns| length > columns) {
                let _ = writeln!(self.text, "{line}");
                line = " ".repeat(indent);
            } else if is_begun {
                line.push(' ');
            }
            line.push_str(part);
            is_begun = true;
        }
        let _ = writeln!(self.text, "{line}");
    }
}

fn found(out: &mut Lines, checked: &Checked, finding: &Finding) {
    let word = match finding.weight {
        Weight::Red => "RED",
        Weight::Yellow => "yellow",
        Weight::Note => "note",
    };
    let subject = finding.subject.as_ref().map(|subject| format!("{subject}: ")).unwrap_or_default();
    out.add(word, &format!("{subject}{} ({}, {})", finding.what, checked.rule, finding.grade.name()));
    finding.seen.iter().for_each(|seen| out.add_below("seen", seen));
    finding.effect.iter().for_each(|effect| out.add_below("effect", effect));
    out.add_below("do", &finding.advice);
    for remedy in &finding.remedies {
        out.add_command("run", &remedy.run);
        remedy.undo.iter().for_each(|undo| out.add_command("undo", undo));
    }
    finding.measure.iter().for_each(|measure| out.add_command("measure", measure));
    out.add_below("source", &checked.source);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_wide_as_the_terminal() {
        let of = |columns| {
            let mut lines = Lines { text: String::new(), columns };
            lines.add("note", "one two three");
            lines.add_below("seen", "a-word-that-is-longer-than-the-line x");
            lines.add_command("run", "SET GLOBAL a = 1");
            lines.text
        };
        let whole = "note      one two three\n          seen     a-word-that-is-longer-than-the-line x\n          run      SET GLOBAL a = 1\n";
        assert_eq!(of(None), whole);
        assert_eq!(
            of(Some(18)),
            "note      one two\n          three\n          seen     a-word-that-is-longer-than-the-line\n                   x\n          run      SET GLOBAL a = 1\n"
        );
    }
}
