//! What ties a log to the one before it, so that nothing is lost between them: its name, its server, and that the one before is whole.
//!
//! A server ends a log with a Rotate or Stop event. A log without either was in use when it was copied, or its server went down; then the
//! transactions that the next log begins behind tell whether it is whole.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::event::{Gtid, Rotate};
use crate::gtid_state::{GtidState, Identifier};
use crate::log::{Event, Format, Header, Kind, MAGIC, Place, Short};
use crate::source::{Source, is_next, is_other, log_name, missing};
use crate::{Error, Result};

/// What the logs until now say of the next one.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Whether each log must follow the one before it. Otherwise any may be named, and only one that does follow is compared.
    pub(crate) is_close: bool,
    /// Logs that are taken without their end, where nothing tells whether they are whole.
    pub(crate) unclosed: Vec<String>,
    /// Whether a server sends the logs.
    pub(crate) is_stream: bool,
    /// Whether transactions are missing, as those before a GTID are.
    pub(crate) lacks_some: bool,
    /// The log at hand, without its directory.
    log: String,
    /// Where its last event ends.
    end: u64,
    /// Whether its last event is one that ends a log.
    is_closed: bool,
    /// The error for its last event, if the log ends within that: an error unless another log follows.
    torn: Option<Error>,
    /// The log that comes next, if the last event says so.
    next: Option<String>,
    /// The server that began the first log.
    server_id: Option<u32>,
    transactions: Transactions,
    /// The log before, whose end is missing, until this one tells whether something is.
    open: Option<Open>,
    /// The log before, which has its end, and the transactions until there.
    closed: Option<(String, GtidState)>,
}

/// The transactions of the logs until now.
#[derive(Debug, Default)]
struct Transactions {
    /// Those whose identifiers are known; `None` as long as no log has told which it begins behind.
    state: Option<GtidState>,
    /// Of the transaction at hand.
    gtid: Option<Identifier>,
    /// In the log at hand, how many have an identifier, and how many have none.
    known: u64,
    unknown: u64,
    /// Whether some in the logs before have none.
    were_unknown: bool,
}

/// A log without its end.
#[derive(Debug)]
struct Open {
    log: String,
    end: u64,
    transactions: Transactions,
}

/// Whether a log without its end is whole.
enum Whole {
    Yes,
    No,
    Unknown,
}

impl Link {
    /// Between the same logs, before any of them is read.
    pub(crate) fn anew(&self) -> Self {
        Self { is_close: self.is_close, unclosed: self.unclosed.clone(), ..Self::default() }
    }

    /// Between logs that a server sends. It had ended those in `unclosed` before it was asked: one that it ends later has its end, unless the logs
    /// are begun anew.
    pub(crate) fn of_stream(unclosed: Vec<String>, lacks_some: bool) -> Self {
        Self { is_stream: true, unclosed, lacks_some, ..Self::default() }
    }

    /// The first log comes behind this one, which was read before, and ended behind these transactions.
    pub(crate) fn begin_behind(&mut self, log: String, state: GtidState) {
        self.closed = Some((log, state));
    }

    /// The transactions behind which the last log ended, if it has its end and they are known.
    pub(crate) fn ended_behind(&self) -> Option<&GtidState> {
        self.transactions.state.as_ref().filter(|_| self.is_closed)
    }

    /// Checks a log that is begun, before anything of it is seen.
    pub(crate) fn follow(&mut self, log: &str) -> Result<()> {
        self.decide(Whole::Unknown)?;
        let log = log_name(Path::new(log));
        if let Some(next) = self.next.take().filter(|next| self.is_close && is_other(next, &log)) {
            return Err(missing(&self.log, &next, &log));
        }
        let is_first = self.log.is_empty();
        let before = std::mem::replace(&mut self.log, log);
        let transactions = std::mem::take(&mut self.transactions);
        self.transactions.were_unknown = transactions.were_unknown || transactions.unknown > 0;
        let is_compared = !is_first && (self.is_close || is_next(&before, &self.log));
        if self.is_closed {
            self.transactions.state.clone_from(&transactions.state);
            self.closed =
                transactions.state.clone().filter(|_| is_compared).map(|state| (before.clone(), state));
        }
        let torn = self.torn.take();
        if is_compared && !self.is_closed {
            self.open = Some(Open { log: before, end: self.end, transactions });
        } else if let Some(error) = torn {
            return Err(error);
        }
        (self.is_closed, self.end) = (false, MAGIC.len() as u64);
        Ok(())
    }

    /// Notes an event, and compares what a log's first ones say of those before it.
    pub(crate) fn see(&mut self, event: &Event<'_>, format: &Format, place: Place) -> Result<()> {
        let is_artificial = event.header.flags & Header::ARTIFICIAL != 0;
        self.next = Rotate::next_log(event, format).unwrap_or_default();
        self.is_closed = matches!(event.kind, Kind::ROTATE | Kind::STOP) && !is_artificial;
        self.end = event.end;
        let begins_behind =
            if is_artificial { None } else { GtidState::parse(event.kind, event.body).transpose() };
        match (event.kind, begins_behind) {
            (Kind::FORMAT_DESCRIPTION, _) if event.position == MAGIC.len() as u64 => {
                self.compare_server(event.header.server_id)
            }
            (Kind::FORMAT_DESCRIPTION | Kind::MARIADB_START_ENCRYPTION, _) => Ok(()),
            (_, Some(Ok(state))) => {
                if let Some((log, _)) = self.closed.take().filter(|(_, before)| !state.may_follow(before)) {
                    return Err(self.begins_behind_others(&log));
                }
                let whole = self.open.as_ref().map_or(Whole::Yes, |open| open.transactions.whole(&state));
                self.transactions.state = Some(state).filter(|_| !self.lacks_some);
                self.decide(whole)
            }
            _ if is_artificial => Ok(()),
            _ => {
                self.transactions.see(event, place);
                self.decide(Whole::Unknown)
            }
        }
    }

    /// Notes that the log at hand ends within an event. A server that crashed leaves such a log, and what was torn was never committed: MariaDB's
    /// next log begins behind what is whole (sql/log.cc, TC_LOG_BINLOG::recover()); MySQL cuts off what is not before it begins that.
    pub(crate) fn tear(&mut self, error: Error) {
        (self.is_closed, self.next) = (false, None);
        self.torn = Some(error);
    }

    /// The logs are at their end.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.decide(Whole::Unknown)?;
        self.torn.take().map_or(Ok(()), Err)
    }

    fn decide(&mut self, whole: Whole) -> Result<()> {
        let Some(Open { log, end, .. }) = self.open.take() else { return Ok(()) };
        match whole {
            Whole::Yes => Ok(()),
            Whole::No if self.is_stream && !self.unclosed.contains(&log) => Err(sent_anew(&log, &self.log)),
            Whole::No => Err(cut(&log, end, &self.log)),
            Whole::Unknown if self.unclosed.contains(&log) => Ok(()),
            Whole::Unknown if self.is_stream => Err(sent_anew(&log, &self.log)),
            Whole::Unknown => Err(unclosed(&log, end, &self.log)),
        }
    }

    /// The error for a log that does not follow the one before it, by its transactions.
    fn begins_behind_others(&self, before: &str) -> Error {
        Error::with_hint(
            format!(
                "{before} ends behind transactions that {} does not begin behind (GTIDs): they are of two servers, or the logs were begun \
                 anew between (RESET)",
                self.log
            ),
            match self.is_stream {
                true => UNSENT,
                false => {
                    "name the logs of one server only, and those from before it began them anew by themselves"
                }
            },
        )
    }

    fn compare_server(&mut self, found: u32) -> Result<()> {
        match *self.server_id.get_or_insert(found) {
            first if first == found || !self.is_close => Ok(()),
            first => Err(Error::with_hint(
                format!(
                    "{} was begun by server {found}, and the logs before it by server {first} (server_id)",
                    self.log
                ),
                "name the logs of one server only; if its server_id was changed, read those from before that by themselves",
            )),
        }
    }
}

impl Transactions {
    fn see(&mut self, event: &Event<'_>, place: Place) {
        if let Ok(Some(gtid)) = Gtid::parse(event.kind, event.body, event.header.server_id) {
            self.gtid = Identifier::of(&gtid);
        }
        if !place.ends() {
            return;
        }
        let Some(gtid) = self.gtid.take() else {
            self.unknown += 1;
            return;
        };
        self.known += 1;
        if let Some(state) = &mut self.state {
            state.add(gtid);
        }
    }

    /// Whether these are all that come before a log which begins behind `next`. Where MySQL gives out no identifiers, or only some transactions
    /// have one, nobody knows.
    fn whole(&self, next: &GtidState) -> Whole {
        match &self.state {
            Some(state) if state != next => Whole::No,
            Some(GtidState::Mariadb(_)) if self.unknown == 0 => Whole::Yes,
            Some(GtidState::Mysql(_)) if self.unknown == 0 && self.known > 0 && !self.were_unknown => {
                Whole::Yes
            }
            _ => Whole::Unknown,
        }
    }
}

const UNSENT: &str = "nobody knows what of them was not sent: fill the target anew, as from a dump";

/// The error for a log that a server sends behind one that it does not follow.
pub(crate) fn sent_anew(log: &str, next: &str) -> Error {
    Error::with_hint(
        format!(
            "the server sends {next} behind {log}, which it has not ended: it has begun its logs anew (RESET)"
        ),
        UNSENT,
    )
}

/// The error for a log that lacks transactions.
fn cut(log: &str, end: u64, next: &str) -> Error {
    Error::with_hint(
        format!(
            "{}, and the GTIDs that {next} begins with are not those that it ends with",
            without_end(log, end)
        ),
        format!(
            "copy {log} again: it was in use when it was copied, or the copy was interrupted. If it cannot be had, read the logs on either side \
             of the gap one after the other, a replay of those behind it with another --name"
        ),
    )
}

/// The error for a log that may lack transactions.
fn unclosed(log: &str, end: u64, next: &str) -> Error {
    Error::with_hint(
        format!("{}, and no GTIDs of {next} tell whether it is whole", without_end(log, end)),
        format!(
            "copy {log} again: it was in use when it was copied, or the copy was interrupted. If its server crashed there, \
             --allow-unclosed {log} takes it as it is"
        ),
    )
}

fn without_end(log: &str, end: u64) -> String {
    format!("{log}: at {end}: the log ends without a Rotate or Stop event")
}

/// A log's last event has at most so many bytes: a name, what comes before it, and a checksum.
const LONGEST_END: u64 = 1024;

/// Whether the last bytes of a file are an event that ends a log. Of a file that is packed or encrypted they do not tell.
pub(crate) fn shows_its_end(source: &Source) -> bool {
    let Source::File(path) = source else { return false };
    last_bytes(path)
        .is_ok_and(|(length, bytes)| (0..bytes.len()).any(|at| is_end(&bytes[at..], length).unwrap_or(false)))
}

fn last_bytes(path: &Path) -> io::Result<(u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_END)))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_END).read_to_end(&mut bytes)?;
    Ok((length, bytes))
}

/// Whether these bytes, with which a log ends, are one event that ends it.
fn is_end(bytes: &[u8], length: u64) -> std::result::Result<bool, Short> {
    let header = Header::parse(bytes.get(..Header::LENGTH).ok_or(Short)?)?;
    Ok(matches!(header.kind, Kind::ROTATE | Kind::STOP)
        && header.size as usize == bytes.len()
        && header.next_position == length as u32
        && header.flags & Header::ARTIFICIAL == 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::log::Grouper;

    type Made = (Kind, Vec<u8>);

    /// What a log of MariaDB begins with, behind so many transactions.
    fn beginning(before: u64) -> Vec<Made> {
        let list = [&1_u32.to_le_bytes()[..], &[0; 4], &[1, 0, 0, 0], &before.to_le_bytes()].concat();
        vec![(Kind::FORMAT_DESCRIPTION, vec![]), (Kind::MARIADB_GTID_LIST, list)]
    }

    fn transaction(number: u64, has_gtid: bool) -> Vec<Made> {
        let first = match has_gtid {
            true => (Kind::MARIADB_GTID, [&number.to_le_bytes()[..], &[0; 11]].concat()),
            false => (Kind::QUERY, [&[0; 14][..], b"BEGIN"].concat()),
        };
        vec![first, (Kind::TABLE_MAP, vec![]), (Kind::XID, vec![0; 8])]
    }

    /// Shows the events of logs called `b.000001` and so on.
    fn walk(mut link: Link, logs: &[Vec<Made>]) -> Result<()> {
        let format = Format::of_tests("10.11.6-MariaDB");
        for (number, log) in (1..).zip(logs) {
            link.follow(&format!("b.{number:06}"))?;
            let (mut grouper, mut position) = (Grouper::default(), 4);
            for (kind, body) in log {
                let header = Header { kind: *kind, server_id: 1, ..Header::default() };
                let end = position + 100;
                let event = Event { position, end, header, kind: *kind, body, is_packed: false };
                position = end;
                let place = grouper.place(&event, &format);
                link.see(&event, &format, place)?;
            }
        }
        link.end()
    }

    fn error(link: Link, logs: &[Vec<Made>]) -> String {
        walk(link, logs)
            .map_err(|error| format!("{error}\n{}", error.hint().unwrap_or_default()))
            .err()
            .unwrap_or_default()
    }

    proptest! {
        /// A log that is cut at any event is refused, unless no transaction is missing, and something says so.
        #[test]
        fn a_log_that_is_cut_is_whole_or_refused(
            transactions in 0..4_u64,
            cut in 0..20_usize,
            is_stop in any::<bool>(),
            has_gtids in any::<bool>(),
        ) {
            // Before there were identifiers no log told which transactions it begins behind.
            let begin = |before| if has_gtids { beginning(before) } else { beginning(before)[..1].to_vec() };
            let mut log = begin(7);
            (8..8 + transactions).for_each(|number| log.extend(transaction(number, has_gtids)));
            let whole = log.len();
            let end = if is_stop { (Kind::STOP, vec![]) } else { (Kind::ROTATE, [&[4, 0, 0, 0, 0, 0, 0, 0][..], b"b.000002"].concat()) };
            log.push(end);
            let cut = cut.min(log.len());
            log.truncate(cut);
            let logs = [log, begin(7 + transactions)];
            let is_known = cut == whole || transactions == 0 && cut >= 2;
            let is_right = cut > whole || has_gtids && is_known;
            for is_close in [false, true] {
                let found = error(Link { is_close, ..Link::default() }, &logs);
                prop_assert_eq!(found.is_empty(), is_right, "{}", found);
                prop_assert!(is_right || found.starts_with(&format!("b.000001: at {}: ", 4 + 100 * cut)), "{}", found);
            }
            // The last one may end anywhere.
            prop_assert_eq!(error(Link::default(), &logs[..1]), "");
        }
    }

    #[test]
    fn what_nothing_tells_may_be_allowed() {
        let unclosed = || Link { unclosed: vec!["b.000001".into()], ..Link::default() };
        let log = [beginning(7), transaction(8, false)].concat();
        let logs = [log, beginning(7)];
        let found = error(Link::default(), &logs);
        assert!(
            found.contains("no GTIDs of b.000002 tell") && found.contains("--allow-unclosed b.000001"),
            "{found}"
        );
        assert_eq!(error(unclosed(), &logs), "");
        // What is known to be missing is not.
        let found = error(unclosed(), &[beginning(7), beginning(8)]);
        assert!(found.contains("are not those that it ends with") && !found.contains("--allow"), "{found}");
        // Nor does a log tell anything whose beginning is all there is of it.
        assert!(error(Link::default(), &[beginning(7), vec![]]).contains("no GTIDs"));
        assert!(error(Link::default(), &[vec![], beginning(7)]).contains("no GTIDs"));
        // The one before it may.
        let closed = [beginning(7), vec![(Kind::STOP, vec![])]].concat();
        assert!(error(unclosed(), &[closed.clone(), vec![], beginning(8)]).contains("b.000002: at 4: "));
        assert_eq!(error(Link::default(), &[closed, vec![], beginning(7)]), "");
    }

    #[test]
    fn logs_that_begin_anew() {
        let ended = |log: Vec<Made>| [log, vec![(Kind::STOP, vec![])]].concat();
        let first = ended([beginning(7), transaction(8, true)].concat());
        assert_eq!(error(Link::default(), &[first.clone(), beginning(8)]), "");
        // A domain may be forgotten, and others may have been written elsewhere.
        assert_eq!(error(Link::default(), &[first.clone(), beginning(12)]), "");
        let found = error(Link::default(), &[first.clone(), beginning(2)]);
        assert!(found.contains("b.000001 ends behind transactions that b.000002 does not"), "{found}");
        // What a server sends ends before another comes, but for what it had ended when it was asked.
        let open = [beginning(7), transaction(8, false)].concat();
        let stream = |ended: &[&str], lacks_some| {
            Link::of_stream(ended.iter().map(|&log| log.to_owned()).collect(), lacks_some)
        };
        let anew =
            |text: &str| text.contains("the server sends b.000002 behind b.000001, which it has not ended");
        assert!(anew(&error(stream(&[], false), &[open.clone(), beginning(7)])));
        assert!(anew(&error(stream(&[], true), &[beginning(7), beginning(7)])));
        assert!(
            error(stream(&[], false), &[first.clone(), beginning(2)])
                .contains("does not begin behind (GTIDs)")
        );
        assert_eq!(error(stream(&[], true), &[first, beginning(2)]), "");
        assert_eq!(error(stream(&["b.000001"], false), &[open, beginning(7)]), "");
    }

    #[test]
    fn a_log_behind_one_that_was_read_before() {
        let behind = |number| {
            let mut link = Link::default();
            link.begin_behind("b.000000".into(), GtidState::read(&format!("mariadb:0-1-{number}")).unwrap());
            link
        };
        let next = [beginning(7), transaction(8, true), vec![(Kind::STOP, vec![])]].concat();
        assert_eq!(error(behind(7), std::slice::from_ref(&next)), "");
        assert!(
            error(behind(8), std::slice::from_ref(&next))
                .contains("b.000000 ends behind transactions that b.000001")
        );
        let mut link = behind(7);
        link.follow("b.000001").unwrap();
        assert_eq!(link.ended_behind(), None);
    }

    /// Of MySQL, a log may have transactions with GTIDs and others without.
    #[test]
    fn where_some_have_no_identifier_nobody_knows() {
        let begin = || vec![(Kind::FORMAT_DESCRIPTION, vec![]), (Kind::PREVIOUS_GTIDS, vec![0; 8])];
        let anonymous = vec![(Kind::QUERY, [&[0; 14][..], b"BEGIN"].concat()), (Kind::XID, vec![0; 8])];
        let gtid = vec![
            (Kind::GTID, [&[1; 17][..], &1_u64.to_le_bytes(), &[2; 17]].concat()),
            (Kind::XID, vec![0; 8]),
        ];
        let one = [
            &1_u64.to_le_bytes()[..],
            &[1; 16],
            &1_u64.to_le_bytes(),
            &1_u64.to_le_bytes(),
            &2_u64.to_le_bytes(),
        ]
        .concat();
        let behind = vec![(Kind::FORMAT_DESCRIPTION, vec![]), (Kind::PREVIOUS_GTIDS, one)];
        let cut = [begin(), gtid].concat();
        assert_eq!(error(Link::default(), &[cut.clone(), behind.clone()]), "");
        let before = [begin(), anonymous, vec![(Kind::STOP, vec![])]].concat();
        let found = error(Link::default(), &[before, cut, behind]);
        assert!(found.contains("no GTIDs of b.000003 tell"), "{found}");
    }

    #[test]
    fn a_log_that_ends_within_an_event() {
        let torn = |mut link: Link, log: &[Made], next: Option<(&str, &[Made])>| {
            let read = |link: &mut Link, name: &str, log: &[Made]| {
                let format = Format::of_tests("10.11.6-MariaDB");
                let mut grouper = Grouper::default();
                link.follow(name)?;
                log.iter().zip(1..).try_for_each(|((kind, body), number)| {
                    let (position, end) = (4 + 100 * (number - 1), 4 + 100 * number);
                    let header = Header { kind: *kind, server_id: 1, ..Header::default() };
                    let event = Event { position, end, header, kind: *kind, body, is_packed: false };
                    let place = grouper.place(&event, &format);
                    link.see(&event, &format, place)
                })
            };
            read(&mut link, "b.000001", log).unwrap();
            link.tear(Error::found("torn"));
            next.map_or(Ok(()), |(name, log)| read(&mut link, name, log))
                .and_then(|()| link.end())
                .map_err(|error| error.to_string())
                .err()
                .unwrap_or_default()
        };
        // Of the transaction that was torn there is the beginning.
        let log = [beginning(7), transaction(8, true), transaction(9, true)[..2].to_vec()].concat();
        assert_eq!(torn(Link::default(), &log, Some(("b.000002", &beginning(8)))), "");
        assert!(
            torn(Link::default(), &log, Some(("b.000002", &beginning(9))))
                .contains("are not those that it ends with")
        );
        assert_eq!(torn(Link::default(), &log, None), "torn");
        assert_eq!(torn(Link::default(), &log, Some(("b.000007", &beginning(8)))), "torn");
        let log = [beginning(7), transaction(8, false)].concat();
        assert!(
            torn(Link::default(), &log, Some(("b.000002", &beginning(7))))
                .contains("no GTIDs of b.000002 tell")
        );
        let unclosed = Link { unclosed: vec!["b.000001".into()], ..Link::default() };
        assert_eq!(torn(unclosed, &log, Some(("b.000002", &beginning(7)))), "");
    }

    #[test]
    fn the_last_bytes_of_a_file_show_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let shows = |content: &[u8]| {
            let path = directory.path().join("log");
            File::create(&path).unwrap().write_all(content).unwrap();
            shows_its_end(&Source::File(path))
        };
        let event = |kind: Kind, body: &[u8], before: usize, flags: u16| {
            let size = (Header::LENGTH + body.len()) as u32;
            let next = before as u32 + size;
            [
                &[0; 4][..],
                &[kind.0],
                &[1, 0, 0, 0],
                &size.to_le_bytes(),
                &next.to_le_bytes(),
                &flags.to_le_bytes(),
                body,
            ]
            .concat()
        };
        for before in [4, 900, 5000] {
            let log = |kind, body: &[u8], flags| [vec![7; before], event(kind, body, before, flags)].concat();
            let rotate = [&[4, 0, 0, 0, 0, 0, 0, 0][..], b"b.000002", &[1; 4]].concat();
            assert!(shows(&log(Kind::ROTATE, &rotate, 0)) && shows(&log(Kind::STOP, b"", 0)), "{before}");
            assert!(!shows(&log(Kind::XID, &[0; 8], 0)), "{before}");
            assert!(!shows(&log(Kind::ROTATE, &rotate, Header::ARTIFICIAL)), "{before}");
            let whole = log(Kind::ROTATE, &rotate, 0);
            assert!(!shows(&whole[..whole.len() - 1]) && !shows(&[&whole[..], &[0]].concat()), "{before}");
        }
        assert!(!shows(b"") && !shows_its_end(&Source::Stdin));
    }
}
