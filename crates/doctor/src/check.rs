//! What a check is, and what it says.

use serde::{Deserialize, Serialize};

use crate::evidence::Seen;
use crate::facts::Facts;

/// What a check is about, and the word for it on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// The devices below the server's files, and who orders their requests
    Scheduler,
    /// What the server's memory is asked of, and what its sessions take
    Memory,
    /// Network interfaces that are bound together
    Bonding,
    /// The binary log, and the replicas that read it
    Binlog,
    /// What a newer server does not have
    Upgrade,
    /// The server at large
    Server,
    /// The host at large
    Host,
}

impl Area {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 7] =
        [Self::Scheduler, Self::Memory, Self::Bonding, Self::Binlog, Self::Upgrade, Self::Server, Self::Host];
}

/// One check: data, and a small function.
#[derive(Debug)]
pub struct Check {
    /// Its name, which `--ignore` takes: `host.swap`.
    pub rule: &'static str,
    /// What it is about.
    pub area: Area,
    /// What it looks for, in a line.
    pub looks_for: &'static str,
    /// What it has to see: files, views, privileges.
    pub needs: &'static str,
    /// Where the rule is from.
    pub source: &'static str,
    /// What would show that the rule is wrong here.
    pub refuted_by: &'static str,
    /// Looks. What it cannot see is an error, and told as unknown.
    pub look: fn(&Facts) -> Seen<Outcome>,
}

/// How a finding is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Its effect was measured on this machine.
    Measured,
    /// It was seen here, and what comes of it is documented or follows from what was seen.
    Observed,
    /// It is against a rule; whether that matters here nobody has measured.
    RuleOnly,
}

impl Grade {
    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured here",
            Self::Observed => "observed",
            Self::RuleOnly => "rule only",
        }
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Data or service are at stake. A finding that is known by a rule only never has this weight.
    Red,
    /// It costs something, or will.
    Yellow,
    /// Good to know.
    Note,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about, where a check looks at several: a device, a table.
    pub subject: Option<String>,
    /// How it is known.
    pub grade: Grade,
    /// How much it matters.
    pub weight: Weight,
    /// What is wrong, in a sentence.
    pub what: String,
    /// What was seen that says so, and how.
    pub seen: Vec<String>,
    /// How much it costs here, as far as that is known.
    pub effect: Option<String>,
    /// What to do.
    pub advice: String,
    /// Commands that do it.
    pub remedies: Vec<Remedy>,
    /// The command that would measure the effect here.
    pub measure: Option<String>,
}

/// A command that changes something, and the one that undoes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// Who runs it.
    pub with: Tool,
    /// The command, or the statement.
    pub run: String,
    /// What puts it back; `None` if nothing does.
    pub undo: Option<String>,
}

/// Who runs a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// A shell on the host, as root.
    Shell,
    /// A client of the server.
    Sql,
}

impl Finding {
    /// A finding that was observed.
    pub(crate) fn observed(weight: Weight, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            subject: None,
            grade: Grade::Observed,
            weight,
            what: what.into(),
            seen: Vec::new(),
            effect: None,
            advice: advice.into(),
            remedies: Vec::new(),
            measure: None,
        }
    }

    /// A finding whose effect was measured on this machine.
    pub(crate) fn measured(weight: Weight, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { grade: Grade::Measured, ..Self::observed(weight, what, advice) }
    }

    /// A finding that is known by a rule only; it is never red.
    pub(crate) fn rule_only(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { grade: Grade::RuleOnly, ..Self::observed(Weight::Note, what, advice) }
    }

    /// What it is about.
    pub(crate) fn about(self, subject: impl Into<String>) -> Self {
        Self { subject: Some(subject.into()), ..self }
    }

    /// Something that was seen.
    pub(crate) fn seen(mut self, seen: impl Into<String>) -> Self {
        self.seen.push(seen.into());
        self
    }

    /// What it costs here.
    pub(crate) fn effect(self, effect: impl Into<String>) -> Self {
        Self { effect: Some(effect.into()), ..self }
    }

    /// The command that would measure it.
    pub(crate) fn measure(self, command: impl Into<String>) -> Self {
        Self { measure: Some(command.into()), ..self }
    }

    /// A statement that cures it.
    pub(crate) fn sql(self, run: impl Into<String>, undo: Option<String>) -> Self {
        self.remedy(Tool::Sql, run.into(), undo)
    }

    /// A command that cures it.
    pub(crate) fn shell(self, run: impl Into<String>, undo: Option<String>) -> Self {
        self.remedy(Tool::Shell, run.into(), undo)
    }

    fn remedy(mut self, with: Tool, run: String, undo: Option<String>) -> Self {
        self.remedies.push(Remedy { with, run, undo });
        self
    }
}

/// What a check has found. It may look at several things, of which it sees only some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// What is not as it should be.
    pub findings: Vec<Finding>,
    /// What it looked at and found in order.
    pub fine: Vec<String>,
    /// What it could not see, and why.
    pub unknown: Vec<String>,
    /// Why there is nothing to look at.
    pub not_here: Option<String>,
}

impl Outcome {
    /// All is in order.
    pub(crate) fn fine(seen: impl Into<String>) -> Self {
        Self { fine: vec![seen.into()], ..Self::default() }
    }

    /// There is nothing of the kind.
    pub(crate) fn not_here(why: impl Into<String>) -> Self {
        Self { not_here: Some(why.into()), ..Self::default() }
    }

    /// It cannot be told.
    pub(crate) fn unknown(why: impl Into<String>) -> Self {
        Self { unknown: vec![why.into()], ..Self::default() }
    }

    /// Something is not in order.
    pub(crate) fn found(finding: Finding) -> Self {
        Self { findings: vec![finding], ..Self::default() }
    }
}
