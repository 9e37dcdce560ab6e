//! Runs the checks.

use std::time::Instant;

use crate::check::{Area, Check, Outcome};
use crate::checks;
use crate::evidence::Unseen;
use crate::facts::Facts;
use crate::ignore::Ignored;
use crate::report::{Checked, Report};

/// Runs the checks of some areas, on what was gathered from `begun` on.
pub(crate) fn examine(facts: &Facts, areas: &[Area], ignored: &[Ignored], begun: Instant) -> Report {
    let chosen = checks::all().filter(|check| areas.contains(&check.area));
    let checks = chosen.map(|check| Checked::of(check, run(check, facts), ignored)).collect();
    Report {
        drover: env!("CARGO_PKG_VERSION").to_owned(),
        looked_at: facts.evidence.looked_at(),
        host: facts.evidence.text("/proc/sys/kernel/hostname").ok(),
        server: server(facts),
        seconds: begun.elapsed().as_secs_f64(),
        checks,
    }
}

/// Whether there is a check of that name.
pub(crate) fn is_rule(name: &str) -> bool {
    checks::all().any(|check| check.rule == name)
}

fn run(check: &Check, facts: &Facts) -> Outcome {
    (check.look)(facts).unwrap_or_else(|unseen| match unseen {
        Unseen::Missing => Outcome::unknown(format!("not there: {}", check.needs)),
        other => Outcome::unknown(other.to_string()),
    })
}

fn server(facts: &Facts) -> Option<String> {
    Some(format!("{} {}", facts.vendor().ok()?, facts.variable("version").ok()?))
}
