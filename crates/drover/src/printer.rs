//! The one place that writes to the terminal: results to stdout, all else to stderr.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use drover_db::options::{ConnectOptions, ServerArgs, ask_on_terminal};
use drover_dump::{DumpReport, RestoreReport, VerifyReport};
use drover_sandbox::SandboxReport;
use serde::Serialize;

use crate::failure::Failure;
use crate::report::{self, Outcome};

/// How and how much to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    verbose: bool,
}

impl Printer {
    pub(crate) fn new(json: bool, quiet: bool, verbose: bool) -> Self {
        Self { json, quiet, verbose }
    }

    /// Whether progress is shown.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet
    }

    /// A line that tells how far the work is, where no bar can be drawn.
    pub(crate) fn status(self, line: &str) {
        eprintln!("{line}");
    }

    /// Where the server is; what the option files are to be warned about is printed.
    pub(crate) fn connection(self, args: &ServerArgs) -> Result<ConnectOptions, Failure> {
        let resolved = args.resolve(|| ask_on_terminal("Enter password: "))?;
        resolved.warnings.iter().for_each(|warning| self.warning(warning));
        Ok(resolved.options)
    }

    fn warning(self, text: &str) {
        if !self.quiet {
            eprintln!("warning: {text}");
        }
    }

    pub(crate) fn failure(self, failure: &Failure) {
        eprintln!("error: {}", failure.error);
        if let Some(hint) = &failure.hint {
            eprintln!("hint: {hint}");
        }
    }

    pub(crate) fn dump(self, dump: &DumpReport) -> Outcome {
        dump.warnings.iter().for_each(|warning| self.warning(warning));
        self.result(dump, report::dump(dump));
        Outcome::Done
    }

    pub(crate) fn restore(self, restore: &RestoreReport) -> Outcome {
        self.server_warnings(&restore.warnings);
        self.result(restore, report::restore(restore));
        restore.verify.as_ref().map_or(Outcome::Done, |verify| self.differences(verify))
    }

    pub(crate) fn verify(self, verify: &VerifyReport) -> Outcome {
        self.result(verify, report::verify(verify));
        self.differences(verify)
    }

    pub(crate) fn sandbox(self, sandbox: &SandboxReport) {
        self.result(sandbox, sandbox.to_text());
    }

    /// The server says much about old syntax: all of it only if asked for.
    fn server_warnings(self, warnings: &[String]) {
        let shown = if self.verbose { warnings.len() } else { 5 };
        warnings.iter().take(shown).for_each(|warning| self.warning(warning));
        if warnings.len() > shown {
            self.warning(&format!("and {} more (-v shows all)", warnings.len() - shown));
        }
    }

    fn differences(self, verify: &VerifyReport) -> Outcome {
        if verify.differences.is_empty() {
            return Outcome::Done;
        }
        if !self.json {
            for line in report::differences(verify) {
                println!("{line}");
            }
        }
        Outcome::Found
    }

    fn result(self, value: &impl Serialize, text: String) {
        if self.json {
            match serde_json::to_string_pretty(value) {
                Ok(json) => println!("{json}"),
                Err(error) => eprintln!("error: the result cannot be written as JSON: {error}"),
            }
        } else if !text.is_empty() {
            println!("{}", text.trim_end());
        }
    }
}
