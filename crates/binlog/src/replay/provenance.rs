//! Where logs come from. Files of two servers may have the same names: a replay that goes on with those of another one would leave out
//! what that one did before the same position.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read as _;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::event::Gtid;
use crate::gtid_set::GtidSet;
use crate::gtid_state::GtidState;
use crate::log::{Header, Kind};
use crate::source::{Counter, Source, are_of_one_list, log_number};

use super::selection::{EXCLUDING, INCLUDING, Names, goes_on_from, parts};

/// The beginning of a log, which is where a replay begins that is told nothing.
const FIRST: &str = "--start-position 4";

/// What is known of the server, and of its logs that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Provenance {
    /// The server's own name for itself, where it could be asked: server_uuid.
    server: Option<String>,
    /// What of the logs was wanted, as options say it.
    selection: Option<String>,
    /// Whether the target was filled anew before, so that what it had done until then does not count.
    pub(super) is_anew: bool,
    /// Where the first run was told to begin, as options say it.
    start: Option<String>,
    /// The schemas of the dump that it began behind, in quotes and lower case; none if there was none, or an older release noted none.
    pub(super) holds: BTreeSet<String>,
    /// Schemas whose rows were changed, in quotes.
    pub(super) touched: BTreeSet<String>,
    /// Names of the logs, in quotes, where the target may take two of them for the same.
    pub(super) named: BTreeSet<String>,
    /// Schemas that were filled anew since, as the target keeps their names.
    pub(super) filled: Vec<String>,
    /// The transactions behind which the last log ended, where the next one is where to go on.
    pub(super) ends: Option<GtidState>,
    /// The logs that were read, in that order.
    logs: Vec<Log>,
}

/// What tells a log from another of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Log {
    name: String,
    server_id: u32,
    /// When it was begun, in seconds since 1970.
    begun: u32,
}

/// The `server_id` of a file's log, and when it was begun; others, such as an encrypted one, are looked at when they are read.
fn head(source: &Source) -> Option<(u32, u32)> {
    let mut head = [0; 4 + Header::LENGTH];
    source.open(&Counter::default()).ok()?.read_exact(&mut head).ok()?;
    let number = |at: usize| head[at..at + 4].iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
    let is_head = head.starts_with(b"\xfebin") && Kind(head[8]) == Kind::FORMAT_DESCRIPTION;
    is_head.then(|| (number(9), number(4)))
}

/// Waits until the second is over in which a server's first log was begun: if the server begins it anew (RESET) within that second, the other
/// one has the same name and time, and nothing would tell which of them was applied.
pub(super) fn outlast(sources: &[Source]) {
    let first = sources.first().filter(|source| log_number(&source.log_name()) == 1);
    let Some((_, begun)) = first.filter(|source| matches!(source, Source::File(_))).and_then(head) else {
        return;
    };
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    while now() == u64::from(begun) {
        thread::sleep(Duration::from_millis(20));
    }
}

/// A schema's name, as it is compared.
pub(super) fn quoted(schema: &str) -> String {
    format!("{schema:?}").to_lowercase()
}

impl Provenance {
    /// Looks at the first event of each file, those too that are not read as an earlier run has: they must be the ones that it read.
    pub(super) fn check(&self, sources: &[Source]) -> Result<(), String> {
        let mut seen = self.clone();
        for source in sources.iter().filter(|source| matches!(source, Source::File(_))) {
            if let Some((server_id, begun)) = head(source) {
                seen.see_log(&source.log_name(), server_id, begun)?;
            }
        }
        Ok(())
    }

    /// Takes in the server that logs are read from. Why it cannot be the one of before, if it is not.
    pub(super) fn see_server(&mut self, server: &str) -> Result<(), String> {
        match &self.server {
            Some(known) if known != server => Err(format!(
                "the logs come from the server {server}, and those that were applied from {known}"
            )),
            _ => {
                self.server = Some(server.to_owned());
                Ok(())
            }
        }
    }

    /// Takes in what of the logs is wanted. Why that cannot be, if earlier runs wanted something else: what one of these left out is behind
    /// where this one begins.
    pub(super) fn see_selection(&mut self, selection: &str) -> Result<(), String> {
        let words =
            |selection: &str| if selection.is_empty() { "all".to_owned() } else { selection.to_owned() };
        match &self.selection {
            Some(known) if !goes_on_from(known, selection) => Err(format!(
                "of the logs {} was applied until now, and now {} is asked for",
                words(known),
                words(selection)
            )),
            _ => {
                self.selection = Some(selection.to_owned());
                Ok(())
            }
        }
    }

    /// The first schema, in quotes, that was filled anew since and of which something may be wanted; `schemas` are the only ones that are.
    pub(super) fn filled_since(&self, selection: &str, schemas: Option<&BTreeSet<Vec<u8>>>) -> Option<&str> {
        let schemas = schemas.map(|schemas| {
            schemas.iter().map(|schema| quoted(&String::from_utf8_lossy(schema))).collect::<BTreeSet<_>>()
        });
        let wanted = Names::of(parts(selection).1);
        let is_wanted = |schema: &&String| {
            let filled = Names::of_schema(schema);
            schemas.as_ref().is_none_or(|schemas| schemas.contains(&schema.to_lowercase()))
                && wanted.as_ref().is_none_or(|wanted| filled.is_none_or(|filled| filled.meets(wanted)))
        };
        self.filled.iter().find(is_wanted).map(String::as_str)
    }

    /// Takes in a log; the time is 0 where nobody knows. Why it cannot be one of those of before, or follow them, if it does not.
    pub(super) fn see_log(&mut self, name: &str, server_id: u32, begun: u32) -> Result<(), String> {
        let same = self.logs.iter().find(|log| log.name == name);
        if let Some(log) = same
            && log.begun != begun
            && log.begun != 0
            && begun != 0
        {
            return Err(format!(
                "this is another log than the {name} that was applied: it was begun at {begun}, that one at {} (seconds since 1970)",
                log.begun
            ));
        }
        if let Some(other) = self.logs.iter().find(|log| log.server_id != server_id) {
            return Err(format!(
                "{name} is of the server with server_id {server_id}, and {}, which was applied, of {}",
                other.name, other.server_id
            ));
        }
        if same.is_none() {
            if let Some(first) = self.logs.first().filter(|first| first.begun != 0 && begun > first.begun)
                && self.came_before(name)
            {
                return Err(format!(
                    "{name} was begun at {begun}, and {}, the first that was applied, at {} (seconds since 1970): logs were begun anew",
                    first.name, first.begun
                ));
            }
            self.logs.push(Log { name: name.to_owned(), server_id, begun });
        }
        Ok(())
    }

    /// Takes in where the options say to begin. Why that cannot be, if the first run of the replay was told something else. Where nothing was
    /// applied until now (`begins`), they have to say it again.
    pub(super) fn see_start(&mut self, start: &str, begins: bool) -> Result<(), String> {
        match &self.start {
            Some(known) if begins && start.is_empty() && !known.is_empty() && known != FIRST => {
                Err(format!("nothing was applied until now, and the replay was to begin at {known}"))
            }
            Some(known) if known != start && !start.is_empty() => Err(format!(
                "{start} is another beginning than that of the replay that goes on{}",
                if known.is_empty() { String::new() } else { format!(", {known}") }
            )),
            _ => {
                self.start.get_or_insert_with(|| start.to_owned());
                Ok(())
            }
        }
    }

    /// For a replay of which nothing was applied yet: its first log must be the one that its first run began with, or what is in that one
    /// would be left out. If it is not, says so, and names that one.
    pub(super) fn check_first(&self, name: &str, server_id: u32, begun: u32) -> Result<(), (String, String)> {
        let Some(first) = self.logs.first() else { return Ok(()) };
        // Two logs may have been begun within one second: then only their numbers differ.
        let is_it = self.log(name, server_id, begun) == Some(&first.name)
            && log_number(name) == log_number(&first.name);
        match is_it {
            true => Ok(()),
            false => Err((
                format!("nothing was applied until now, and the replay was to begin with {}", first.name),
                first.name.clone(),
            )),
        }
    }

    /// The last log that was read, and when it was begun.
    pub(super) fn last(&self) -> Option<(&str, u32)> {
        self.logs.last().map(|log| (log.name.as_str(), log.begun))
    }

    /// Whether the log may be one of those that are being read: not if these are of another server, or have another log of its name.
    pub(super) fn may_come_to(&self, name: &str, server_id: u32, begun: u32) -> bool {
        let is_other = |log: &Log| log.name == name && log.begun != 0 && begun != 0 && log.begun != begun;
        self.logs.iter().any(|log| log.server_id == server_id) && !self.logs.iter().any(is_other)
    }

    /// Whether a log comes behind another: in the order in which they were read, which one that was not read is behind.
    pub(super) fn is_later(&self, log: &str, than: &str) -> bool {
        let key = |log: &str| (log_number(log), log.to_owned());
        match (self.place(log), self.place(than)) {
            (Some(log), Some(than)) => log > than,
            (None, Some(_)) => !self.came_before(log),
            (Some(_), None) => self.came_before(than),
            (None, None) => key(log) > key(than),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.logs.iter().position(|log| log.name == name)
    }

    /// Whether a log that was not read is from before the first that was, by its number.
    fn came_before(&self, name: &str) -> bool {
        let first = self.logs.first().map(|log| log.name.as_str());
        first.is_some_and(|first| are_of_one_list(first, name) && log_number(name) < log_number(first))
    }

    /// Whether a log is from before the dump that the replay began behind, which was taken in the first log that it read.
    pub(super) fn came_before_dump(&self, name: &str, server_id: u32, begun: u32) -> bool {
        let is_behind_dump =
            self.selection.as_deref().is_some_and(|selection| !parts(selection).0.is_empty());
        let came_before = |first: &Log| match (begun, first.begun) {
            (begun, first) if begun == 0 || first == 0 || begun == first => self.came_before(name),
            (begun, first) => begun < first,
        };
        is_behind_dump
            && self.logs.first().is_some_and(|first| first.server_id == server_id && came_before(first))
    }

    /// Whether a transaction is one that was wanted, by its GTID.
    pub(super) fn takes(&self, gtid: Option<&Gtid<'_>>) -> bool {
        let Some(gtid) = gtid else { return true };
        let options = self.selection.as_deref().unwrap_or_default().split(" --");
        let mut sets = options.map(|option| option.strip_prefix("--").unwrap_or(option));
        sets.all(|option| {
            let set = |of: &str| option.strip_prefix(&of["--".len()..])?.parse::<GtidSet>().ok();
            set(INCLUDING).is_none_or(|set| set.contains(gtid))
                && set(EXCLUDING).is_none_or(|set| !set.contains(gtid))
        })
    }

    /// The name under which a log was read. A log is known by its server and the time at which it was begun; where the time is not known, by its
    /// name. Of two logs that were begun within one second, the numbers in their names tell which is which.
    pub(super) fn log(&self, name: &str, server_id: u32, begun: u32) -> Option<&str> {
        let is_same = |log: &&Log| {
            log.name == name || log.begun != 0 && log.begun == begun && !are_of_one_list(&log.name, name)
        };
        let is_other = |log: &&Log| log.begun != 0 && begun != 0 && log.begun != begun;
        let logs = self.logs.iter().filter(|log| log.server_id == server_id && !is_other(log));
        let mut logs: Vec<_> = logs.filter(is_same).map(|log| log.name.as_str()).collect();
        logs.sort_by_key(|known| *known != name);
        logs.first().copied()
    }

    /// Whether something may be wanted by this selection that was wanted before: not behind two dumps that have no schema in common, and not
    /// where both name schemas or tables, and no name is among both. `holds` are the schemas of the dump.
    pub(super) fn may_share(&self, selection: &str, holds: &BTreeSet<String>) -> bool {
        let known = self.selection.as_deref().unwrap_or_default();
        let [(_, known), (_, wanted)] = [known, selection].map(parts);
        let are_of_two = !self.holds.is_empty() && !holds.is_empty() && self.holds.is_disjoint(holds);
        let [known, wanted] = [known, wanted].map(Names::of);
        !are_of_two && known.is_none_or(|known| wanted.is_none_or(|wanted| known.meets(&wanted)))
    }

    /// As the target keeps it.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(server) = &self.server {
            let _ = writeln!(text, "server {server}"); // writing to a String cannot fail
        }
        if let Some(selection) = &self.selection {
            let _ = writeln!(text, "wanted {selection}");
        }
        if let Some(start) = &self.start {
            let _ = writeln!(text, "begins {start}");
        }
        if self.is_anew {
            text.push_str("anew\n");
        }
        if let Some(ends) = &self.ends {
            let _ = writeln!(text, "ends {}", ends.text());
        }
        for schema in &self.holds {
            let _ = writeln!(text, "holds {schema}");
        }
        for schema in &self.touched {
            let _ = writeln!(text, "touched {schema}");
        }
        for name in &self.named {
            let _ = writeln!(text, "named {name}");
        }
        for Log { name, server_id, begun } in &self.logs {
            let _ = writeln!(text, "log {server_id} {begun} {name}");
        }
        text
    }

    /// What an earlier run kept.
    pub(super) fn read(text: &str) -> Self {
        let mut read = Self::default();
        for line in text.lines() {
            if let Some(server) = line.strip_prefix("server ") {
                read.server = Some(server.to_owned());
            }
            if let Some(selection) = line.strip_prefix("wanted ") {
                read.selection = Some(selection.to_owned());
            }
            if let Some(start) = line.strip_prefix("begins ") {
                read.start = Some(start.to_owned());
            }
            read.is_anew |= line == "anew";
            if let Some(ends) = line.strip_prefix("ends ") {
                read.ends = GtidState::read(ends);
            }
            read.holds.extend(line.strip_prefix("holds ").map(str::to_owned));
            read.named.extend(line.strip_prefix("named ").map(str::to_owned));
            read.touched.extend(line.strip_prefix("touched ").map(str::to_owned));
            let mut parts = line.strip_prefix("log ").unwrap_or_default().splitn(3, ' ');
            let mut number = || parts.next().and_then(|number| number.parse().ok());
            if let (Some(server_id), Some(begun)) = (number(), number())
                && let Some(name) = parts.next()
            {
                read.logs.push(Log { name: name.to_owned(), server_id, begun });
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MariadbGtid;

    #[test]
    fn logs_of_another_server_are_told() {
        let mut known = Provenance::default();
        known.see_server("a-b").unwrap();
        known.see_log("bin.000001", 1, 100).unwrap();
        known.see_log("bin 2.000002", 1, 200).unwrap();
        let mut read = Provenance::read(&known.text());
        assert_eq!(read, known);
        read.see_log("bin 2.000002", 1, 200).unwrap();
        read.see_log("bin 2.000002", 1, 0).unwrap();
        assert!(read.see_log("bin 2.000002", 1, 201).unwrap_err().contains("another log"));
        assert!(read.see_log("bin.000003", 2, 300).unwrap_err().contains("server_id 2"));
        assert!(read.see_selection("--database 'a b'").is_ok());
        let mut read = Provenance::read(&read.text());
        assert!(read.see_selection("--database 'a b'").is_ok());
        assert!(read.see_selection("").unwrap_err().contains("now all is asked for"));
        assert!(read.see_selection("--database 'a b' --exclude-gtids 0-1-3").is_ok());
        assert!(read.see_selection("--database 'a b' --exclude-gtids 0-1-3,0-1-7").is_ok());
        for other in
            ["--database 'a b'", "--database 'a b' --exclude-gtids 0-1-7", "--exclude-gtids 0-1-3,0-1-7"]
        {
            assert!(read.see_selection(other).is_err(), "{other}");
        }
        assert!(read.see_server("c").unwrap_err().contains("a-b"));
    }

    #[test]
    fn logs_by_other_names() {
        let mut known = Provenance { is_anew: true, ..Provenance::default() };
        known.see_log("bin.000001", 1, 100).unwrap();
        known.see_log("bin.000002", 1, 0).unwrap();
        known.see_log("bin.000010", 1, 300).unwrap();
        known.see_log("bin.000011", 1, 300).unwrap();
        let known = Provenance::read(&known.text());
        assert!(known.is_anew);
        for (name, server_id, begun, right) in [
            ("x", 1, 100, Some("bin.000001")),
            ("bin.000001", 1, 101, None),
            ("bin.000001", 2, 100, None),
            ("bin.000002", 1, 7, Some("bin.000002")),
            ("x.000002", 1, 7, None),
            ("bin.000001", 1, 0, Some("bin.000001")),
            // Of one second.
            ("bin.000003", 1, 100, None),
            ("bin.000010", 1, 300, Some("bin.000010")),
            ("bin.000012", 1, 300, None),
            ("y.000012", 1, 300, Some("bin.000010")),
        ] {
            assert_eq!(known.log(name, server_id, begun), right, "{name} {server_id} {begun}");
        }
    }

    #[test]
    fn selections_that_share() {
        let dump = "--after a dump of b.000001 at 4";
        for (known, wanted, right) in [
            ("", "", true),
            ("", "--database \"d\"", true),
            ("--database \"d\"", "--database \"e\"", false),
            ("--database \"d\"", "--database \"d\"", true),
            (dump, "", true),
            (dump, "--database \"d\"", true),
            (dump, "--after a dump of b.000001 at 9", true),
            ("--after a dump of b.000001 at 4 --table \"d.t\"", "--table \"d.u\"", false),
            ("--after a dump of b.000001 at 4 --table \"d.t\"", dump, true),
            ("--table \"d.t\"", "--database \"D\"", true),
            ("--table \"d.t\"", "--database \"e\" --table \"d.u\"", false),
            ("--table \"d.t\"", "--database \"e\" --table \"d.T\"", true),
            ("--table \"t\"", "--database \"e\"", true),
            ("--database \"d*\"", "--database \"e\"", true),
            ("--server-id 3", "--database \"e\"", true),
            ("--database \"d\" --server-id 3", "--database \"e\"", true),
        ] {
            let mut provenance = Provenance::default();
            provenance.see_selection(known).unwrap();
            assert_eq!(provenance.may_share(wanted, &BTreeSet::new()), right, "{known} / {wanted}");
        }
        let holds = |schema: &str| BTreeSet::from([quoted(schema)]);
        let known = Provenance { holds: holds("d"), ..Provenance::default() };
        let known = Provenance::read(&known.text());
        assert!(known.may_share(dump, &holds("D")) && known.may_share("", &BTreeSet::new()));
        assert!(!known.may_share(dump, &holds("e")));
    }

    #[test]
    fn logs_are_in_the_order_in_which_they_were_read() {
        let mut known = Provenance::default();
        for (number, name) in ["old", "new", "b.000007", "b.000009", "a.000001"].into_iter().enumerate() {
            known.see_log(name, 1, 100 + u32::try_from(number).unwrap()).unwrap();
        }
        assert!(known.is_later("new", "old") && !known.is_later("old", "new"));
        assert!(known.is_later("a.000001", "b.000009") && !known.is_later("b.000009", "b.000009"));
        // The next one, which nobody has read.
        assert!(known.is_later("a.000002", "b.000009") && !known.is_later("b.000009", "a.000002"));
        let mut known = Provenance::default();
        known.see_log("b.000007", 1, 100).unwrap();
        assert!(known.is_later("b.000007", "b.000006") && !known.is_later("b.000006", "b.000007"));
        assert!(known.see_log("b.000001", 1, 101).unwrap_err().contains("begun anew"));
        let known = Provenance::default();
        assert!(known.is_later("b.1000000", "b.999999"));
    }

    #[test]
    fn schemas_that_were_filled_since() {
        let filled = |schemas: &[&str]| Provenance {
            filled: schemas.iter().map(|&schema| schema.to_owned()).collect(),
            ..Provenance::default()
        };
        let read = filled(&["\"d\"", "\"a\\nb\""]);
        for (wanted, right) in [
            ("", Some("\"d\"")),
            ("--after a dump of b.000001 at 4", Some("\"d\"")),
            ("--after a dump of b.000001 at 4 --database \"D\"", Some("\"d\"")),
            ("--table \"d.t\"", Some("\"d\"")),
            // Nobody reads names that have to be escaped.
            ("--database \"e\"", Some("\"a\\nb\"")),
        ] {
            assert_eq!(read.filled_since(wanted, None), right, "{wanted}");
        }
        let read = filled(&["\"d\""]);
        assert_eq!(read.filled_since("--database \"e\"", None), None);
        assert_eq!(read.filled_since("", Some(&BTreeSet::from([b"e".to_vec()]))), None);
        assert_eq!(read.filled_since("", Some(&BTreeSet::from([b"D".to_vec()]))), Some("\"d\""));
        assert_eq!(Provenance::default().filled_since("", None), None);
    }

    #[test]
    fn logs_from_before_a_dump() {
        let mut known = Provenance::default();
        known.see_log("b.000005", 1, 100).unwrap();
        assert!(!known.came_before_dump("b.000004", 1, 90));
        known.see_selection("--after a dump of b.000005 at 4").unwrap();
        for (name, server_id, begun, right) in [
            ("b.000004", 1, 90, true),
            ("b.000004", 1, 0, true),
            ("renamed", 1, 90, true),
            ("b.000004", 2, 90, false),
            ("b.000006", 1, 110, false),
            // Begun anew since.
            ("b.000004", 1, 110, false),
        ] {
            assert_eq!(known.came_before_dump(name, server_id, begun), right, "{name} {server_id} {begun}");
        }
    }

    #[test]
    fn logs_that_are_being_read() {
        let mut known = Provenance::default();
        known.see_log("bin.000001", 1, 100).unwrap();
        for (name, server_id, begun, right) in [
            ("bin.000001", 1, 100, true),
            ("bin.000002", 1, 200, true),
            ("bin.000001", 1, 101, false),
            ("bin.000002", 2, 200, false),
        ] {
            assert_eq!(known.may_come_to(name, server_id, begun), right, "{name} {server_id} {begun}");
        }
    }

    #[test]
    fn transactions_that_were_wanted() {
        let gtid =
            |number| Gtid::Mariadb(MariadbGtid { domain: 0, server: 1, number, flags: 0, group: None });
        for (selection, right) in [
            ("", [true, true]),
            ("--include-gtids 0-1-3", [true, false]),
            ("--after a dump of b.000001 at 4 --exclude-gtids 0-1-3", [false, true]),
        ] {
            let mut known = Provenance::default();
            known.see_selection(selection).unwrap();
            assert_eq!([3, 4].map(|number| known.takes(Some(&gtid(number)))), right, "{selection}");
            assert!(known.takes(None));
        }
    }

    #[test]
    fn where_the_first_run_began_stays() {
        let mut known = Provenance::default();
        known.see_start("--start-position 4", false).unwrap();
        let mut known = Provenance::read(&known.text());
        assert!(known.see_start("", false).is_ok() && known.see_start("--start-position 4", false).is_ok());
        assert!(known.see_start("--start-position 9", false).unwrap_err().contains("--start-position 4"));
        let mut known = Provenance::default();
        known.see_start("", false).unwrap();
        assert!(Provenance::read(&known.text()).see_start("--start-position 9", false).is_err());
        // Where nothing was applied it has to be said again, unless it is where a replay begins anyhow.
        for (first, again, right) in [
            ("--start-position 9", "", false),
            ("--start-position 9", "--start-position 9", true),
            (FIRST, "", true),
            ("", "", true),
        ] {
            let mut known = Provenance::default();
            known.see_start(first, false).unwrap();
            assert_eq!(known.see_start(again, true).is_ok(), right, "{first} {again}");
        }
    }
}
