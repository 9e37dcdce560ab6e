//! The report as a page.

use drover_report::{Block, Cell, Column, Figures, Page, Section, Table, Terms};

use crate::check::{Finding, Weight};
use crate::report::{Checked, Report, State};

/// What a browser shows of a report.
pub(crate) fn page(report: &Report) -> Page {
    let of = [report.host.as_deref(), report.server.as_deref()];
    let of = of.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let page = Page::new("What is wrong, and how that is known")
        .subtitle(format!("{of}; looked at {} by drover {}", report.looked_at, report.drover))
        .section(Section::new("").with(figures(report)));
    let found = report.findings();
    let page =
        found.into_iter().fold(page, |page, (checked, finding)| page.section(section(checked, finding)));
    [unseen(report), ignored(report), in_order(report)].into_iter().flatten().fold(page, Page::section).foot(
        "Measured here: its effect was measured on this machine. Observed: it was seen here. Rule only: it is against a rule, and \
         nobody has measured whether that matters here. What could not be seen is not in order: it is unknown.",
    )
}

fn figures(report: &Report) -> Figures {
    let findings = report.findings();
    let weighing =
        |weight| findings.iter().filter(|(_, finding)| finding.weight == weight).count().to_string();
    Figures::new()
        .with("Red", weighing(Weight::Red), "data or service are at stake")
        .with("Yellow", weighing(Weight::Yellow), "costs something, or will")
        .with("Notes", weighing(Weight::Note), "good to know")
        .with("Fine", report.count(State::Fine).to_string(), "checks")
        .with("Unknown", report.count(State::Unknown).to_string(), "checks")
}

fn section(checked: &Checked, finding: &Finding) -> Section {
    let word = match finding.weight {
        Weight::Red => "Red",
        Weight::Yellow => "Yellow",
        Weight::Note => "Note",
    };
    let subject = finding.subject.as_ref().map(|subject| format!("{subject}: ")).unwrap_or_default();
    Section::new(&format!("{word}: {subject}{}", finding.what))
        .note(format!("{}, {}", checked.rule, finding.grade.name()))
        .with(terms(checked, finding))
}

fn terms(checked: &Checked, finding: &Finding) -> Terms {
    let terms = finding.seen.iter().fold(Terms::new(), |terms, seen| terms.text("seen", seen));
    let terms = finding.effect.iter().fold(terms, |terms, effect| terms.text("effect", effect));
    let terms = terms.text("do", &finding.advice);
    let terms = finding.remedies.iter().fold(terms, |terms, remedy| {
        let terms = terms.code("run", &remedy.run);
        match &remedy.undo {
            Some(undo) => terms.code("undo", undo),
            None => terms.text("undo", "nothing does"),
        }
    });
    let terms = finding.measure.iter().fold(terms, |terms, command| terms.code("measure", command));
    terms.text("source", &checked.source).text("wrong if", &checked.refuted_by)
}

fn table<'a>(columns: [&str; 2], rows: impl Iterator<Item = (&'a str, String)>) -> Option<Table> {
    let mut rows = rows.peekable();
    rows.peek()?;
    let mut table = Table::new("", columns.map(Column::text)).whole();
    rows.for_each(|(name, text)| table.row([Cell::from(name), Cell::from(text)]));
    Some(table)
}

fn unseen(report: &Report) -> Option<Section> {
    let each = |checked: &Checked| (!checked.unknown.is_empty()).then(|| checked.unknown.join("; "));
    let rows = report.checks.iter().filter_map(|checked| Some((checked.rule.as_str(), each(checked)?)));
    Some(Section::new("What could not be seen").with(table(["check", "why"], rows)?))
}

fn ignored(report: &Report) -> Option<Section> {
    let all = report.checks.iter().flat_map(|checked| &checked.ignored);
    let rows = all.map(|passed| (passed.finding.what.as_str(), passed.ignored.because.clone()));
    Some(Section::new("What somebody has decided to live with").with(table(["finding", "because"], rows)?))
}

fn in_order(report: &Report) -> Option<Section> {
    let seen = |checked: &Checked| {
        checked
            .not_here
            .clone()
            .into_iter()
            .chain(checked.fine.iter().cloned())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let rows = report
        .checks
        .iter()
        .filter(|checked| matches!(checked.state, State::Fine | State::NotHere))
        .map(|checked| (checked.rule.as_str(), seen(checked)));
    let table = table(["check", "seen"], rows)?;
    let many = report.count(State::Fine) + report.count(State::NotHere);
    Some(Section::new("What is in order").with(Block::Folded(format!("{many} checks"), table)))
}
