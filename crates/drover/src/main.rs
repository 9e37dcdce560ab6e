//! drover: one binary for the people who run MySQL and MariaDB. This crate reads the command line, hands the work to the
//! family's crate, and prints what comes back.

mod after;
mod bench;
mod binlog;
mod binlog_text;
mod chunk;
mod cli;
mod cost;
mod doctor;
mod failure;
mod paths;
mod printer;
mod progress;
mod queue;
mod report;
mod translation;

use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches};
use drover_db::Stop;
use drover_db::options::{hide_passwords_in_process_list, normalise_arguments, without_passwords};
use drover_db::wire::interrupt_logins;
use drover_dump::{CopyArgs, RestoreArgs};

use cli::{Cli, Command};
use drover_queue::args::QueueCommand;
use failure::Failure;
use printer::Printer;
use report::Outcome;

fn main() -> ExitCode {
    if let Some(code) = bench::child() {
        return code;
    }
    let arguments = normalise_arguments(std::env::args_os());
    hide_passwords_in_process_list();
    let matches = match Cli::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return misread(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return misread(&error.format(&mut Cli::command())),
    };
    let printer = Printer::new(cli.json, cli.quiet, cli.verbose);
    let stop = Arc::new(Stop::default());
    let listening = paths::check(&matches).and_then(|()| listen_for_signals(&stop, &cli.command));
    match listening.and_then(|()| run(&cli, &printer, &stop)) {
        Ok(outcome) => outcome.exit_code(),
        Err(failure) => {
            printer.failure(&failure);
            ExitCode::from(2)
        }
    }
}

/// Says what is wrong with the command line, or the help that was asked for. A value that is quoted may be a URL with its password.
fn misread(error: &clap::Error) -> ExitCode {
    match without_passwords(&error.to_string()) {
        // Help quotes nobody.
        _ if !error.use_stderr() => error.exit(),
        Cow::Borrowed(_) => error.exit(),
        Cow::Owned(text) => printer::said(&text),
    }
    ExitCode::from(2)
}

/// What a process ends with that a signal ended: 128 and the number of SIGINT, as shells have it.
const ENDED_BY_SIGNAL: i32 = 130;

/// The first signal asks the work to stop and ends the logins that it waits for, the second one ends the process. Where there is nothing
/// to bring to a good end the first one does.
fn listen_for_signals(stop: &Arc<Stop>, command: &Command) -> Result<(), Failure> {
    let stop = Arc::clone(stop);
    let is_stopped = looks_at_stop(command);
    let handler = move || {
        if !is_stopped {
            std::process::exit(ENDED_BY_SIGNAL);
        }
        if stop.is_requested() {
            std::process::exit(2);
        }
        stop.request();
        interrupt_logins();
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))
}

/// Whether the work of a command stops by itself. What the others do is over soon, and leaves nothing behind wherever it ends.
fn looks_at_stop(command: &Command) -> bool {
    match command {
        Command::Doctor(_) => false,
        Command::Queue(args) => matches!(
            args.command,
            QueueCommand::Build(_)
                | QueueCommand::Work(_)
                | QueueCommand::Serve(_)
                | QueueCommand::Drain(_)
                | QueueCommand::Move(_)
        ),
        _ => true,
    }
}

fn run(cli: &Cli, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    match &cli.command {
        Command::Dump(args) => {
            let options = printer.connection(&args.server)?;
            let report =
                progress::show(printer, |progress| drover_dump::dump(args, &options, stop, progress))
                    .map_err(|error| Failure::dump(error, &args.out))?;
            printer.dump(&report)
        }
        Command::Restore(args) => restore(args, printer, stop),
        Command::Copy(args) => copy(args, printer, stop),
        Command::Verify(args) => {
            let options = match args.no_server {
                true => None,
                false => Some(printer.connection(&args.server)?),
            };
            let report = progress::show(printer, |progress| {
                drover_dump::verify(args, options.as_ref(), stop, progress)
            })?;
            printer.verify(&report)
        }
        Command::Bench(args) => bench::run(args, printer, stop),
        Command::Chunk(args) => chunk::run(args, printer, stop),
        Command::Binlog(args) => binlog::run(args, printer, stop),
        Command::Doctor(args) => doctor::run(args, printer),
        Command::Queue(args) => queue::run(args, printer, stop),
        Command::Sandbox(args) => {
            let mut printed = Ok(());
            let mut ready = |report: &drover_sandbox::SandboxReport| printed = printer.sandbox(report);
            let report = drover_sandbox::run(args, stop.flag(), &mut ready)?;
            printed.and_then(|()| printer.sandbox(&report)).map(|()| Outcome::Done)
        }
    }
}

fn restore(args: &RestoreArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let options = printer.connection(&args.server)?;
    if drover_dump::is_foreign(args) {
        let work = |progress: &_| drover_dump::restore_foreign(args, &options, stop, progress);
        let report = progress::show(printer, work).map_err(Failure::restore_foreign)?;
        return printer.foreign(&report);
    }
    if args.check {
        let report = progress::show(printer, |progress| drover_dump::check(args, &options, stop, progress))?;
        return printer.check(&report);
    }
    let report = progress::show(printer, |progress| drover_dump::restore(args, &options, stop, progress));
    printer.restore(&report.map_err(Failure::restore)?)
}

fn copy(args: &CopyArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let from = printer.connection_to("the source", &args.source_server())?;
    let to = printer.connection_to("the target", &args.target_server())?;
    if args.check {
        let work = |progress: &_| drover_dump::check_copy(args, &from, &to, stop, progress);
        return printer.check(&progress::show(printer, work)?);
    }
    let report = progress::show(printer, |progress| drover_dump::copy(args, &from, &to, stop, progress));
    printer.copy(&report.map_err(Failure::copy)?)
}
