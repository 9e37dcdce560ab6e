//! What fills some logs, as a page with charts.

use drover_report::{Block, Cell, Column, Figures, Page, Parts, Section, Table, Timeline};
use drover_units::Unit;
use drover_units::show::{bytes, count, rate, span, things};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::time::shown;

use super::rate::Span;
use super::report::{KindReport, StatReport, TransactionReport};

impl StatReport {
    /// A page that shows it, with times in the zone of this machine.
    pub fn page(&self) -> Page {
        self.page_in(&TimeZone::system())
    }

    /// With times on the clock that the zone had at the end of the last log: one clock for the whole page.
    fn page_in(&self, zone: &TimeZone) -> Page {
        let end = self.last().and_then(|last| Timestamp::from_second(last.into()).ok());
        let view = View { stat: self, offset: end.map_or(Offset::UTC, |end| zone.to_offset(end)) };
        let mut page = Page::new("What fills the binary logs")
            .subtitle(view.subtitle())
            .section(Section::new("").with(view.figures()))
            .section(view.causes());
        page = view.over_time().into_iter().fold(page, Page::section);
        page = page.section(view.events());
        page = view.transactions().into_iter().fold(page, Page::section);
        page.section(view.logs()).foot(format!(
            "Made by drover {} from its binlog stat. Sizes are in powers of 1000, times are UTC{}.",
            env!("CARGO_PKG_VERSION"),
            view.offset_name()
        ))
    }

    fn first(&self) -> Option<u32> {
        self.logs.iter().filter_map(|log| log.first).min()
    }

    fn last(&self) -> Option<u32> {
        self.logs.iter().filter_map(|log| log.last).max()
    }
}

/// What is shown, and on which clock.
struct View<'a> {
    stat: &'a StatReport,
    offset: Offset,
}

impl View<'_> {
    /// Which logs of which servers.
    fn subtitle(&self) -> String {
        let names = match &self.stat.logs[..] {
            [] => return "no log".into(),
            [one] => file_name(&one.name).to_owned(),
            [first, .., last] => format!("{} to {}", file_name(&first.name), file_name(&last.name)),
        };
        let mut versions: Vec<&str> = self.stat.logs.iter().map(|log| log.server_version.as_str()).collect();
        versions.dedup();
        versions.retain(|version| !version.is_empty());
        match versions[..] {
            [] => names,
            [version] => format!("{names}, written by {version}"),
            [first, .., last] => format!("{names}, written by {first} to {last}"),
        }
    }

    fn figures(&self) -> Figures {
        let stat = self.stat;
        let logs = format!("in {}", things(stat.logs.len() as u64, "log"));
        let mean = stat.bytes.checked_div(stat.transactions).map(|mean| format!("{} each", bytes(mean)));
        let mut figures = Figures::new().with("Size", bytes(stat.bytes), logs).with(
            "Transactions",
            count(stat.transactions),
            mean.unwrap_or_default(),
        );
        if let (Some(first), Some(last)) = (stat.first(), stat.last()) {
            let length = f64::from(last.saturating_sub(first));
            let note = format!("{}\nto {}", self.time(first), self.time(last));
            figures = figures.with("Time", Unit::Seconds.text(length), note);
            if length > 0.0 {
                let note = format!("{} transactions/s", number(stat.transactions as f64 / length));
                figures = figures.with("On average", rate(stat.bytes, length), note);
            }
        }
        match self.spans().max_by_key(|span| span.bytes) {
            Some(peak) if self.spans().nth(1).is_some() => {
                let width = stat.rate.span_seconds;
                let note = format!("in the {} from\n{}", span(width.into()), self.time(peak.start));
                figures.with("At most", rate(peak.bytes, width.into()), note)
            }
            _ => figures,
        }
    }

    /// What fills the logs: all causes in one chart, and each sort in a table of its own.
    fn causes(&self) -> Section {
        let mut parts = Parts::new(Unit::Bytes, &["Rows, by table", "Statements, by kind"]);
        for table in &self.stat.by_table {
            parts.add(0, format!("{}.{}", table.schema, table.table), table.bytes);
        }
        for statement in &self.stat.by_statement {
            parts.add(1, statement.statement.as_str(), statement.bytes);
        }
        parts.rest("neither rows nor statements", self.stat.other_bytes);
        let mut section = Section::new("By cause").note(
            "Every byte is charged to what caused it: what is around rows and statements (identifiers, descriptions \
             of tables, commits) to these, by their size.",
        );
        section = section.with(parts);
        if !self.stat.by_table.is_empty() {
            section = section.with(Block::Folded("All tables".into(), self.tables()));
        }
        if !self.stat.by_statement.is_empty() {
            section = section.with(Block::Folded("All kinds of statements".into(), self.statements()));
        }
        section
    }

    fn tables(&self) -> Table {
        let mut table = Table::new(
            "",
            [
                Column::text("Table"),
                Column::amount("Bytes", Unit::Bytes).with_bars(),
                Column::amount("Share", Unit::Share),
                Column::amount("Rows alone", Unit::Bytes),
                Column::amount("Transactions", Unit::Count),
                Column::amount("Insert events", Unit::Count),
                Column::amount("Update events", Unit::Count),
                Column::amount("Delete events", Unit::Count),
            ],
        );
        for one in &self.stat.by_table {
            let events = [one.insert_events, one.update_events, one.delete_events].map(Cell::from);
            let sizes =
                [one.bytes.into(), self.share(one.bytes), one.own_bytes.into(), one.transactions.into()];
            let name = Cell::from(format!("{}.{}", one.schema, one.table));
            table.row([name].into_iter().chain(sizes).chain(events));
        }
        table
    }

    fn statements(&self) -> Table {
        let mut table = Table::new(
            "",
            [
                Column::text("Statements"),
                Column::amount("Bytes", Unit::Bytes).with_bars(),
                Column::amount("Share", Unit::Share),
                Column::amount("Text alone", Unit::Bytes),
                Column::amount("Transactions", Unit::Count),
                Column::amount("Statements", Unit::Count),
            ],
        );
        for one in &self.stat.by_statement {
            table.row([
                one.statement.as_str().into(),
                one.bytes.into(),
                self.share(one.bytes),
                one.own_bytes.into(),
                one.transactions.into(),
                one.statements.into(),
            ]);
        }
        table
    }

    /// Bytes and transactions over time; nothing where all came in one span.
    fn over_time(&self) -> Option<Section> {
        self.spans().nth(1)?;
        let rate = &self.stat.rate;
        let timeline = Timeline::new(rate.span_seconds, self.offset.seconds());
        let mut timeline = timeline.measure("Bytes", Unit::Bytes).measure("Transactions", Unit::Count);
        for span in self.spans() {
            timeline.span(span.start.into(), &[span.bytes as f64, span.transactions as f64]);
        }
        let mut note = "A transaction counts when its first statement began.".to_owned();
        let unknown = rate.spans.iter().filter(|span| span.start == 0).map(|span| span.transactions).sum();
        if unknown > 0 {
            note += &format!(" Not shown: {}, whose time is not known.", things(unknown, "transaction"));
        }
        Some(Section::new("Over time").note(note).with(timeline))
    }

    /// The spans whose time is known.
    fn spans(&self) -> impl Iterator<Item = &Span> {
        self.stat.rate.spans.iter().filter(|span| span.start > 0)
    }

    fn events(&self) -> Section {
        let section = Section::new("By type of event").with(self.kinds("", &self.stat.by_event));
        if self.stat.in_payloads.is_empty() {
            return section;
        }
        section.with(self.kinds("In compressed transactions, as large as unpacked", &self.stat.in_payloads))
    }

    fn kinds(&self, title: &str, kinds: &[KindReport]) -> Table {
        let all: u64 = kinds.iter().map(|kind| kind.bytes).sum();
        let mut table = Table::new(
            title,
            [
                Column::text("Event"),
                Column::amount("Bytes", Unit::Bytes).with_bars(),
                Column::amount("Share", Unit::Share),
                Column::amount("Events", Unit::Count),
                Column::amount("Bytes each", Unit::Bytes),
            ],
        );
        for kind in kinds {
            let each = kind.bytes.checked_div(kind.events);
            table.row([
                kind.event.as_str().into(),
                kind.bytes.into(),
                part(kind.bytes, all),
                kind.events.into(),
                each.into(),
            ]);
        }
        table
    }

    /// The largest and the longest transactions; nothing where none were asked for or found.
    fn transactions(&self) -> Option<Section> {
        let stat = self.stat;
        if stat.largest.is_empty() && stat.longest.is_empty() {
            return None;
        }
        let bytes = Column::amount("Bytes", Unit::Bytes);
        let took = Column::amount("Took", Unit::Seconds);
        let mut section = Section::new("Single transactions").note(
            "How long one took is from when its first statement began to when its last event was made. \
             The positions can be given to drover binlog ls.",
        );
        if !stat.largest.is_empty() {
            let columns = [bytes.clone().with_bars(), took.clone()];
            section = section.with(self.list("The largest", columns, &stat.largest));
        }
        if !stat.longest.is_empty() {
            section = section.with(self.list("The longest", [bytes, took.with_bars()], &stat.longest));
        }
        Some(section)
    }

    fn list(&self, title: &str, [bytes, took]: [Column; 2], transactions: &[TransactionReport]) -> Table {
        let has_gtids = transactions.iter().any(|one| one.gtid.is_some());
        let columns = [
            Column::text("Begun"),
            bytes,
            took,
            Column::amount("Events", Unit::Count),
            Column::text("Log"),
            Column::digits("Position"),
            Column::digits("End"),
        ];
        let mut table = Table::new(title, columns.into_iter().chain(has_gtids.then(|| Column::text("GTID"))));
        for one in transactions {
            let cells = [
                self.time(one.time).into(),
                one.bytes.into(),
                one.seconds.into(),
                one.events.into(),
                self.log(&one.log).into(),
                one.position.into(),
                one.end.into(),
            ];
            table.row(cells.into_iter().chain(has_gtids.then(|| one.gtid.as_deref().into())));
        }
        table
    }

    fn logs(&self) -> Section {
        let mut table = Table::new(
            "",
            [
                Column::text("Log"),
                Column::amount("Bytes", Unit::Bytes).with_bars(),
                Column::text("First event"),
                Column::text("Last event"),
                Column::text("Server"),
            ],
        );
        for log in &self.stat.logs {
            let time = |time: Option<u32>| time.map(|time| self.time(time)).into();
            let server = Cell::from(log.server_version.as_str());
            table.row([log.name.as_str().into(), log.bytes.into(), time(log.first), time(log.last), server]);
        }
        Section::new("The logs").with(table)
    }

    /// A log's name, without its directory where that leaves no doubt which it is.
    fn log<'b>(&self, name: &'b str) -> &'b str {
        let short = file_name(name);
        let same = self.stat.logs.iter().filter(|log| file_name(&log.name) == short);
        if same.count() > 1 { name } else { short }
    }

    fn share(&self, bytes: u64) -> Cell {
        part(bytes, self.stat.bytes)
    }

    fn time(&self, seconds: u32) -> String {
        shown(seconds, &TimeZone::fixed(self.offset))
    }

    /// Such as `+01:00`; nothing where there is no difference to UTC.
    fn offset_name(&self) -> String {
        let minutes = self.offset.seconds().abs() / 60;
        match self.offset.seconds() {
            0 => String::new(),
            seconds => {
                format!("{}{:02}:{:02}", if seconds < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
            }
        }
    }
}

/// Without the directory it is in.
fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn part(bytes: u64, of: u64) -> Cell {
    if of == 0 { Cell::Missing } else { Cell::Amount(bytes as f64 / of as f64) }
}

/// Large numbers without decimals.
fn number(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { count(value as u64) }
}

#[cfg(test)]
mod tests {
    use super::super::rate::Span;
    use super::super::report::{LogReport, RateReport, StatementReport, TableReport};
    use super::*;

    fn transaction(bytes: u64) -> TransactionReport {
        TransactionReport {
            log: "binlog.000001".into(),
            position: 4_123_456,
            end: 4_123_456 + bytes,
            time: 1_795_313_700,
            gtid: Some("0-1-17".into()),
            bytes,
            events: 4,
            seconds: 12,
        }
    }

    fn table(name: &str, bytes: u64) -> TableReport {
        TableReport {
            schema: "shop".into(),
            table: name.into(),
            bytes,
            own_bytes: bytes / 2,
            insert_events: 12_345,
            update_events: 0,
            delete_events: 1,
            transactions: 300,
        }
    }

    fn report() -> StatReport {
        let log = |number: u32, bytes| LogReport {
            name: format!("/var/lib/mysql/binlog.{number:06}"),
            bytes,
            server_version: "10.11.14-MariaDB".into(),
            first: Some(1_795_313_700),
            last: Some(1_795_313_700 + 600 * number),
        };
        let span = |number: u32| Span {
            start: 1_795_313_700 + 60 * number,
            bytes: 1000 * u64::from(number),
            transactions: 3,
        };
        StatReport {
            logs: vec![log(1, 6_000_000), log(2, 4_000_000)],
            bytes: 10_000_000,
            transactions: 5000,
            by_event: vec![KindReport { event: "Write_rows".into(), events: 3, bytes: 9_999_992 }],
            in_payloads: Vec::new(),
            by_table: vec![table("orders", 6_000_000), table("<b>&", 3_000_000)],
            by_statement: vec![StatementReport {
                statement: "CREATE TABLE".into(),
                bytes: 900_000,
                own_bytes: 800_000,
                statements: 7,
                transactions: 7,
            }],
            other_bytes: 100_000,
            largest: vec![transaction(1_000_000), transaction(500)],
            longest: Vec::new(),
            rate: RateReport { span_seconds: 60, spans: [0, 1, 2, 7].map(span).into() },
        }
    }

    #[test]
    fn a_page_shows_what_was_found() {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let html = report().page_in(&zone).to_string();
        for text in [
            "binlog.000001 to binlog.000002, written by 10.11.14-MariaDB",
            ">10.0 MB<",
            ">5,000<",
            ">to 2026-11-22 03:35:00<",
            ">20 min 00 s<",
            ">8.33 kB/s<",
            ">in the minute from<",
            "shop.orders",
            "shop.&lt;b&gt;&amp;",
            "60.0 %",
            "CREATE TABLE",
            "neither rows nor statements",
            "Bytes in each minute",
            "0-1-17",
            ">4123456<",
            "times are UTC+01:00",
        ] {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert!(!html.contains("The longest") && !html.contains("compressed transactions"));
    }

    #[test]
    fn a_page_of_next_to_nothing() {
        let mut stat = report();
        stat.logs.clear();
        stat.by_event.clear();
        stat.by_table.clear();
        stat.by_statement.clear();
        stat.largest.clear();
        stat.rate.spans = vec![Span { start: 0, bytes: 5, transactions: 0 }];
        (stat.bytes, stat.transactions, stat.other_bytes) = (0, 0, 0);
        let html = stat.page_in(&TimeZone::UTC).to_string();
        let unknown = "Not shown: 2 transactions";
        assert!(!html.contains(unknown));
        stat.rate.spans = [0, 1, 2].map(|start| Span { start, bytes: 5, transactions: 2 }).into();
        assert!(stat.page_in(&TimeZone::UTC).to_string().contains(unknown));
        assert!(html.contains("no log") && !html.contains("Over time") && !html.contains("NaN"), "{html}");
    }
}
