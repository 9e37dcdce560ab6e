//! What an examination leaves.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::check::{Area, Check, Finding, Weight};
use crate::ignore::Ignored;
use crate::{Error, Result, fix_script, page};

/// What was found, as `--json` prints it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The version of drover that looked.
    pub drover: String,
    /// When the evidence was gathered, in UTC, by RFC 3339.
    pub looked_at: String,
    /// How the host calls itself.
    pub host: Option<String>,
    /// The server: vendor and version; `None` if none was asked.
    pub server: Option<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// All checks of the areas that were asked for, in the order of areas.
    pub checks: Vec<Checked>,
}

/// What came of a check.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checked {
    /// Its name.
    pub rule: String,
    /// What it is about.
    pub area: Area,
    /// What it looks for.
    pub looks_for: String,
    /// Where its rule is from.
    pub source: String,
    /// What would show that the rule is wrong here.
    pub refuted_by: String,
    /// What came of it.
    pub state: State,
    /// What is not as it should be, but for what is ignored.
    pub findings: Vec<Finding>,
    /// What was looked at and found in order.
    pub fine: Vec<String>,
    /// What could not be seen, and why.
    pub unknown: Vec<String>,
    /// Why there is nothing to look at.
    pub not_here: Option<String>,
    /// Findings that somebody has decided to live with.
    pub ignored: Vec<IgnoredFinding>,
}

/// What came of a check, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Something is not as it should be.
    Found,
    /// Something could not be seen, and nothing else was found.
    Unknown,
    /// All of it was seen and is in order.
    Fine,
    /// There is nothing of the kind.
    NotHere,
}

/// A finding that somebody has decided to live with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IgnoredFinding {
    /// What it is.
    pub finding: Finding,
    /// Who said so, and why.
    pub ignored: Ignored,
}

impl Checked {
    /// Runs a check's result through what is ignored.
    pub(crate) fn of(check: &Check, outcome: crate::check::Outcome, ignored: &[Ignored]) -> Self {
        let mut findings = Vec::new();
        let mut passed_over = Vec::new();
        for finding in outcome.findings {
            match ignored.iter().find(|ignored| ignored.covers(check.rule, finding.subject.as_deref())) {
                Some(ignored) => passed_over.push(IgnoredFinding { finding, ignored: ignored.clone() }),
                None => findings.push(finding),
            }
        }
        let state = match (findings.is_empty(), outcome.unknown.is_empty(), &outcome.not_here) {
            (false, ..) => State::Found,
            (_, false, _) => State::Unknown,
            (_, _, Some(_)) => State::NotHere,
            _ => State::Fine,
        };
        Self {
            rule: check.rule.to_owned(),
            area: check.area,
            looks_for: check.looks_for.to_owned(),
            source: check.source.to_owned(),
            refuted_by: check.refuted_by.to_owned(),
            state,
            findings,
            fine: outcome.fine,
            unknown: outcome.unknown,
            not_here: outcome.not_here,
            ignored: passed_over,
        }
    }
}

impl Report {
    /// All findings with the check that found them, the heaviest first.
    pub fn findings(&self) -> Vec<(&Checked, &Finding)> {
        let each = |checked| -> Vec<(&Checked, &Finding)> { all(checked) };
        let mut found: Vec<_> = self.checks.iter().flat_map(each).collect();
        found.sort_by_key(|(_, finding)| finding.weight);
        found
    }

    /// Whether anything is wrong: notes are only good to know.
    pub fn has_findings(&self) -> bool {
        self.findings().iter().any(|(_, finding)| finding.weight < Weight::Note)
    }

    /// Writes it as a page for a browser, which needs nothing else.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_page(&self, file: &Path) -> Result<()> {
        std::fs::write(file, page::page(self).to_string()).map_err(Error::file(file))
    }

    /// Writes a script that does what the findings propose, and undoes it, one at a time; it does nothing by itself.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_fix_script(&self, file: &Path) -> Result<()> {
        std::fs::write(file, fix_script::script(self)).map_err(Error::file(file))
    }

    /// How many checks came to that.
    pub fn count(&self, state: State) -> usize {
        self.checks.iter().filter(|checked| checked.state == state).count()
    }
}

fn all(checked: &Checked) -> Vec<(&Checked, &Finding)> {
    checked.findings.iter().map(|finding| (checked, finding)).collect()
}
