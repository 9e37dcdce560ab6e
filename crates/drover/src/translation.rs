//! What was written otherwise for another server, as text: many objects have the same change, which is then one line.

use std::collections::{BTreeMap, BTreeSet};

use drover_dump::{CheckReport, Refusal, RestoreReport, Rewrite};
use drover_report::plain::one_line;
use drover_units::show::{seconds, things};

use crate::report::accounts;

/// How many characters of a statement are shown.
const WIDTH: usize = 120;

pub(crate) fn check(check: &CheckReport) -> String {
    // One object may be refused for two reasons.
    let refused_objects: BTreeSet<_> = check.refused.iter().map(|one| &one.object).collect();
    let verdict = match (refused_objects.len(), check.rewrites.iter().filter(|rewrite| rewrite.loses).count())
    {
        (0, 0) => "all can be kept".to_owned(),
        (refused, lost) => format!(
            "{} cannot be made, {} lost",
            things(refused as u64, "object"),
            things(lost as u64, "detail")
        ),
    };
    let first = format!(
        "checked   {} of {} on {} in {}: {verdict}",
        things(check.objects as u64, "object"),
        check.from,
        check.server,
        seconds(check.seconds)
    );
    let lines = |word: &str, loses: bool| -> Vec<String> {
        grouped(check.rewrites.iter().filter(|rewrite| rewrite.loses == loses))
            .into_iter()
            .map(|line| format!("{word:<10}{line}"))
            .collect()
    };
    let users = check.users.iter().flat_map(|users| accounts(users, "to be created")).collect();
    let definers = crate::report::definers(check.definers_changed, "to be changed").into_iter().collect();
    [vec![first], refused(&check.refused), definers, users, lines("lost", true), lines("rewritten", false)]
        .concat()
        .join("\n")
}

/// The lines of a restore's result: what was skipped, and how much was rewritten.
pub(crate) fn restored(restore: &RestoreReport) -> Vec<String> {
    let count = restore.rewrites.len() as u64;
    let lost = restore.rewrites.iter().filter(|rewrite| rewrite.loses).count() as u64;
    let summary = format!(
        "rewritten {} for this server, {lost} of them with a loss; --check or --json lists all",
        things(count, "detail")
    );
    let summary = (count > 0).then_some(summary);
    let unsure = restore.events_unsure.iter().map(|why| format!("events    {why}"));
    let events = events_off(&restore.events_off).into_iter().chain(unsure);
    refused(&restore.refused).into_iter().chain(summary).chain(events).collect()
}

/// Which scheduled events do not run, and what would have them run.
pub(crate) fn events_off(statements: &[String]) -> Vec<String> {
    const SHOWN: usize = 5;
    if statements.is_empty() {
        return Vec::new();
    }
    let first =
        format!("events    {} off, as on a replica, until you run", things(statements.len() as u64, "event"));
    let more = match statements.len().saturating_sub(SHOWN) {
        0 => None,
        more => Some(format!("          and {more} more (--json lists all)")),
    };
    let shown = statements.iter().take(SHOWN).map(|statement| format!("          {statement};"));
    [first].into_iter().chain(shown).chain(more).collect()
}

/// A line for each kind of loss.
pub(crate) fn lost(rewrites: &[Rewrite]) -> Vec<String> {
    grouped(rewrites.iter().filter(|rewrite| rewrite.loses))
}

/// A line for each kind of change, with and without a loss.
pub(crate) fn changed(rewrites: &[Rewrite]) -> Vec<String> {
    grouped(rewrites.iter())
}

fn refused(refused: &[Refusal]) -> Vec<String> {
    let line = |one: &Refusal| format!("refused   {}: {}", one.object, one.reason);
    refused.iter().map(|one| one_line(&line(one)).into_owned()).collect()
}

fn grouped<'a>(rewrites: impl Iterator<Item = &'a Rewrite>) -> Vec<String> {
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for rewrite in rewrites {
        let change = (rewrite.from.as_str(), rewrite.to.as_str(), rewrite.reason.as_str());
        groups.entry(change).or_default().push(&rewrite.object);
    }
    let line = |((from, to, reason), objects): (&(&str, &str, &str), &Vec<&str>)| {
        let change = match *to {
            "" => format!("{} is left out", short(from)),
            to => format!("{} becomes {}", short(from), short(to)),
        };
        let more = match objects.as_slice() {
            [one] => (*one).to_owned(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
            [] => String::new(),
        };
        one_line(&format!("{more}: {change}: {reason}")).into_owned()
    };
    groups.iter().map(line).collect()
}

fn short(text: &str) -> String {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_line_of_its_own() {
        let refusal = Refusal { object: "view `a\nverified  identical`".into(), reason: "\x1b[2Jwhy".into() };
        assert_eq!(refused(&[refusal]), [r"refused   view `a\nverified  identical`: \u{1b}[2Jwhy"]);
    }

    #[test]
    fn the_same_change_is_one_line() {
        let rewrite = |object: &str, to: &str| Rewrite {
            object: object.into(),
            from: "a".into(),
            to: to.into(),
            reason: "why".into(),
            loses: true,
        };
        let rewrites = [rewrite("table 1", "b"), rewrite("table 2", "b"), rewrite("table 3", "")];
        assert_eq!(lost(&rewrites), ["table 3: a is left out: why", "table 1 and 1 more: a becomes b: why"]);
    }
}
