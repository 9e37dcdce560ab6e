//! The one place that writes to the terminal: results to stdout, all else to stderr.

use std::io::{self, Write as _};

use drover_binlog::LogArgs;
use drover_db::options::{ConnectOptions, ServerArgs, ask_on_terminal, without_passwords};
use drover_dump::{CheckReport, CopyReport, DumpReport, ForeignReport, RestoreReport, VerifyReport};
use drover_report::plain;
use drover_sandbox::SandboxReport;
use serde::Serialize;

use crate::failure::Failure;
use crate::report::{self, Outcome};
use crate::translation;

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

    /// Whether results are for a machine.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Whether progress is shown.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet
    }

    /// A line that tells how far the work is, where no bar can be drawn.
    pub(crate) fn status(self, line: &str) {
        said(line);
    }

    /// Where the server is; what the option files are to be warned about is printed.
    pub(crate) fn connection(self, args: &ServerArgs) -> Result<ConnectOptions, Failure> {
        self.resolved(args, "Enter password: ")
    }

    /// The same for one of two servers.
    pub(crate) fn connection_to(self, which: &str, args: &ServerArgs) -> Result<ConnectOptions, Failure> {
        self.resolved(args, &format!("Enter password for {which}: "))
            .map_err(|failure| Failure { error: format!("{which}: {}", failure.error), ..failure })
    }

    fn resolved(self, args: &ServerArgs, prompt: &str) -> Result<ConnectOptions, Failure> {
        let resolved = args.resolve(|| ask_on_terminal(prompt))?;
        resolved.warnings.iter().for_each(|warning| self.warning(warning));
        Ok(resolved.options)
    }

    /// What a person should know.
    pub(crate) fn warning(self, text: &str) {
        if !self.quiet {
            said(&format!("warning: {text}"));
        }
    }

    pub(crate) fn failure(self, failure: &Failure) {
        said(&format!("error: {}", failure.error));
        if let Some(hint) = &failure.hint {
            said(&format!("hint: {hint}"));
        }
    }

    pub(crate) fn dump(self, dump: &DumpReport) -> Result<Outcome, Failure> {
        dump.warnings.iter().for_each(|warning| self.warning(warning));
        self.result(dump, report::dump(dump))?;
        Ok(Outcome::Done)
    }

    pub(crate) fn restore(self, restore: &RestoreReport) -> Result<Outcome, Failure> {
        self.server_warnings(&restore.warnings);
        self.result(restore, report::restore(restore))?;
        Ok(self.filled(restore))
    }

    /// How a server was filled; what was lost is printed.
    fn filled(self, restore: &RestoreReport) -> Outcome {
        let lost = translation::lost(&restore.rewrites);
        lost.iter().for_each(|line| self.warning(line));
        let lacks = !lost.is_empty()
            || !restore.refused.is_empty()
            || restore.users.as_ref().is_some_and(|users| !users.not_held.is_empty());
        let proof = restore.verify.as_ref().map_or(Outcome::Done, outcome);
        if lacks { Outcome::Found } else { proof }
    }

    pub(crate) fn copy(self, copy: &CopyReport) -> Result<Outcome, Failure> {
        copy.source_warnings.iter().for_each(|warning| self.warning(warning));
        self.server_warnings(&copy.restore.warnings);
        self.result(copy, report::copy(copy))?;
        Ok(self.filled(&copy.restore))
    }

    pub(crate) fn check(self, check: &CheckReport) -> Result<Outcome, Failure> {
        self.server_warnings(&check.warnings);
        self.result(check, translation::check(check))?;
        Ok(if check.keeps_all() { Outcome::Done } else { Outcome::Found })
    }

    pub(crate) fn foreign(self, restore: &ForeignReport) -> Result<Outcome, Failure> {
        restore.left_out.iter().for_each(|what| self.warning(&format!("left out: {what}")));
        self.server_warnings(&restore.warnings);
        let changed = translation::changed(&restore.rewrites);
        changed.iter().for_each(|line| self.warning(line));
        self.result(restore, report::foreign(restore))?;
        let found = restore.row_warnings > 0
            || !restore.differences.is_empty()
            || restore.rewrites.iter().any(|rewrite| rewrite.loses);
        Ok(if found { Outcome::Found } else { Outcome::Done })
    }

    pub(crate) fn verify(self, verify: &VerifyReport) -> Result<Outcome, Failure> {
        verify.warnings.iter().for_each(|warning| self.warning(warning));
        self.result(verify, report::verify(verify))?;
        Ok(outcome(verify))
    }

    pub(crate) fn sandbox(self, sandbox: &SandboxReport) -> Result<(), Failure> {
        self.result(sandbox, sandbox.to_text())
    }

    /// Lets `write` write to stdout, piece by piece; where a log is followed, each line at once: nobody knows when the next one
    /// comes. That who reads it has seen enough is no failure.
    pub(crate) fn stream(
        self,
        logs: &LogArgs,
        write: impl FnOnce(bool, &mut dyn io::Write) -> drover_binlog::Result<()>,
    ) -> Result<(), Failure> {
        let lines = io::stdout().lock();
        let mut out: Box<dyn io::Write> = match logs.from.stream.follow {
            true => Box::new(lines),
            false => Box::new(io::BufWriter::with_capacity(1 << 16, lines)),
        };
        match write(self.json, &mut out) {
            Err(drover_binlog::Error::File { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => {
                Ok(())
            }
            written => Ok(written?),
        }
    }

    /// The server says much about old syntax: all of it only if asked for.
    fn server_warnings(self, warnings: &[String]) {
        let shown = if self.verbose { warnings.len() } else { 5 };
        warnings.iter().take(shown).for_each(|warning| self.warning(warning));
        if warnings.len() > shown {
            self.warning(&format!("and {} more (-v shows all)", warnings.len() - shown));
        }
    }

    /// What a command comes to, for a person or for a machine.
    pub(crate) fn result(self, value: &impl Serialize, text: String) -> Result<(), Failure> {
        let shown = match self.json {
            true => serde_json::to_string_pretty(value).map(|json| plain::json(&json).into_owned()),
            false => Ok(plain::lines(text.trim_end()).into_owned()),
        };
        let written = shown.map_err(io::Error::from).and_then(|shown| match shown.as_str() {
            "" => Ok(()),
            shown => writeln!(io::stdout(), "{shown}"),
        });
        match written {
            // Who reads the output has seen enough of it.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| {
                Failure::new(format!("the work is done, but its result cannot be printed: {error}"))
            }),
        }
    }
}

/// Writes a message to stderr, without passwords that stand in it; where that is closed there is nobody to tell.
pub(crate) fn said(message: &str) {
    let _ = writeln!(io::stderr(), "{}", plain::message(&without_passwords(message)));
}

fn outcome(verify: &VerifyReport) -> Outcome {
    if verify.differences.is_empty() { Outcome::Done } else { Outcome::Found }
}
