//! Which transactions are wanted, and what of them.

mod args;
mod names;
mod wants;

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::chain::Item;
use crate::event::{Gtid, Query};
use crate::gtid_set::GtidSet;
use crate::log::{Header, Kind, Short};
use crate::objects::Objects;
use crate::shortened::shortened;
use crate::{Error, Result};

pub use args::{EventType, FilterArgs};
pub use names::NameGlob;
use names::{Names, Schemas};
pub use wants::Verdict;
pub(crate) use wants::{DOUBT_HINT, PARTLY, Wants};

/// Decides of one event after the other.
#[derive(Debug, Clone)]
pub struct Filter<'a> {
    args: &'a FilterArgs,
    /// How many logs are read.
    logs: usize,
    /// Whether the transaction at hand is wanted.
    wants: bool,
    /// The schemas that are wanted, of those that --database and --table take; all where this is not said.
    schemas: Option<Schemas>,
    /// A name that is wanted if the logs' server takes names in any case, which nothing tells.
    doubt: RefCell<Option<String>>,
}

impl<'a> Filter<'a> {
    /// For so many logs.
    pub fn new(args: &'a FilterArgs, logs: usize) -> Self {
        Self { args, logs, wants: false, schemas: None, doubt: RefCell::default() }
    }

    /// Of these schemas only, and of those that are made.
    pub(crate) fn of_schemas(self, schemas: Option<BTreeSet<Vec<u8>>>) -> Self {
        Self { schemas: schemas.map(|schemas| schemas.into_iter().collect()), ..self }
    }

    /// Takes a schema that a statement makes to those that are wanted, and tells it if it was none of them.
    pub(crate) fn learn_schema(&mut self, query: &Query<'_>) -> std::result::Result<Option<Vec<u8>>, Short> {
        let folds = self.args.lower_case_table_names.is_some_and(|value| value != 0);
        let Some(schemas) = &mut self.schemas else { return Ok(None) };
        let made = Objects::made_schema(query)?.filter(|schema| !schemas.contains(schema, folds));
        if let Some(schema) = &made {
            schemas.insert(schema.clone());
        }
        Ok(made)
    }

    /// Whether a schema is none of those that are wanted, whatever --database and --table say.
    pub(crate) fn leaves_out(&self, schema: &[u8]) -> bool {
        self.judge(|names| names.leave_out(schema), || shown(schema))
    }

    /// What is wanted by names, as the logs' server compares them. Where that is not known, case counts, and a name is noted with which it
    /// would come out otherwise if it did not.
    fn judge<T: PartialEq>(&self, judge: impl Fn(&Names<'_>) -> T, name: impl FnOnce() -> String) -> T {
        let by = |folds| judge(&Names::of(self.args, self.schemas.as_ref(), folds));
        let known = self.args.lower_case_table_names.map(|value| value != 0);
        let judged = by(known == Some(true));
        if known.is_none() && self.looks_at_names() && judged != by(true) {
            self.doubt.borrow_mut().get_or_insert_with(name);
        }
        judged
    }

    fn looks_at_names(&self) -> bool {
        self.names_tables() || self.schemas.is_some()
    }

    /// A name in the event at hand of which nobody knows whether it is one of those that are wanted: it differs from them in its case.
    pub(crate) fn take_doubt(&self) -> Option<String> {
        let name = self.doubt.take()?;
        Some(format!(
            "{name}: what --database, --table or --after names differs from this in its case only, and files of logs do not tell whether it is \
             the same"
        ))
    }

    /// Refuses such a name.
    ///
    /// # Errors
    /// If there is one.
    pub(crate) fn refuse_doubt(&self, log: &str, position: u64) -> Result<()> {
        match self.take_doubt() {
            None => Ok(()),
            Some(doubt) => Err(Error::with_hint(format!("{log}: at {position}: {doubt}"), DOUBT_HINT)),
        }
    }

    /// Whether the event's transaction is wanted.
    ///
    /// # Errors
    /// If it is too short for what it should hold.
    pub fn verdict(&mut self, item: &Item<'_>) -> std::result::Result<Verdict, Short> {
        use crate::log::Place;
        let verdict = match item.place {
            Place::Inside | Place::Last => {
                return Ok(if self.wants { Verdict::Take } else { Verdict::Leave });
            }
            Place::Outside => self.range(item, None),
            Place::First | Place::Only => {
                let event = &item.event;
                let gtid = Gtid::parse(event.kind, event.body, event.header.server_id)?;
                match self.range(item, gtid.as_ref()) {
                    Verdict::Take if !self.wants_transaction(item, gtid.as_ref()) => Verdict::Leave,
                    verdict => verdict,
                }
            }
        };
        if item.place != Place::Outside {
            self.wants = verdict == Verdict::Take;
        }
        Ok(verdict)
    }

    /// Whether positions and times include what begins with the event.
    fn range(&self, item: &Item<'_>, gtid: Option<&Gtid<'_>>) -> Verdict {
        let FilterArgs { start_position, stop_position, start_datetime, stop_datetime, .. } = self.args;
        let position = item.event.position;
        if item.number + 1 >= self.logs && stop_position.is_some_and(|stop| position >= stop) {
            return Verdict::Stop;
        }
        if item.number == 0 && start_position.is_some_and(|start| position < start) {
            return Verdict::Leave;
        }
        let Some(time) = time_of(item, gtid) else { return Verdict::Take };
        if stop_datetime.is_some_and(|stop| !stop.is_after(time)) {
            return Verdict::Stop;
        }
        if start_datetime.is_some_and(|start| start.is_after(time)) {
            return Verdict::Leave;
        }
        Verdict::Take
    }

    fn wants_transaction(&self, item: &Item<'_>, gtid: Option<&Gtid<'_>>) -> bool {
        let FilterArgs { include_gtids, exclude_gtids, server_id, .. } = self.args;
        let is_in = |set: &GtidSet| gtid.is_some_and(|gtid| set.contains(gtid));
        include_gtids.as_ref().is_none_or(is_in)
            && !exclude_gtids.as_ref().is_some_and(is_in)
            && (server_id.is_empty() || server_id.contains(&item.event.header.server_id))
    }

    /// Whether anything is asked of what is in a transaction.
    pub fn looks_inside(&self) -> bool {
        let FilterArgs { database, table, thread, event, .. } = self.args;
        let takes_all = database.is_empty() && table.is_empty() && thread.is_empty() && event.is_empty();
        !takes_all || self.schemas.is_some()
    }

    /// Whether tables or schemas were named.
    pub fn names_tables(&self) -> bool {
        !self.args.table.is_empty() || !self.args.database.is_empty()
    }

    /// Whether events of this kind are wanted.
    pub fn wants_kind(&self, kind: Kind) -> bool {
        let wanted = &self.args.event;
        wanted.is_empty() || wanted.iter().any(|types| types.contains(kind))
    }

    /// Whether rows of this table are wanted.
    pub fn wants_table(&self, schema: &[u8], table: &[u8]) -> bool {
        let takes = |names: &Names<'_>| names.take_table(schema, table);
        self.args.thread.is_empty() && self.judge(takes, || shown_table(schema, table))
    }

    /// Whether a load of a file into this table by this session is wanted; `thread` is `None` where nobody knows it.
    pub fn wants_load(&self, thread: Option<u32>, schema: &[u8], table: &[u8]) -> bool {
        let threads = &self.args.thread;
        (threads.is_empty() || thread.is_some_and(|thread| threads.contains(&thread)))
            && self.judge(|names| names.name(schema, table), || shown_table(schema, table))
    }

    /// Whether a statement is wanted.
    ///
    /// # Errors
    /// If its settings are cut off.
    pub(crate) fn wants_statement(&self, query: &Query<'_>) -> std::result::Result<Wants, Short> {
        let threads = &self.args.thread;
        if !threads.is_empty() && !threads.contains(&query.thread) {
            return Ok(Wants::No);
        }
        if !self.looks_at_names() {
            return Ok(Wants::Yes);
        }
        let objects = Objects::of(query)?;
        Ok(self.judge(|names| names.want(query.schema, &objects), || shortened(query.text)))
    }

    /// The header of a statement that is run: the session's schema need not be there where only others' statements are wanted, and is
    /// left out if the statement does not need it.
    pub(crate) fn header_of(&self, query: &Query<'_>, header: &Header) -> std::result::Result<Header, Short> {
        let mut header = *header;
        if self.looks_at_names() && Objects::needs_no_schema(query)? {
            header.flags |= Header::SUPPRESS_USE;
        }
        Ok(header)
    }
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn shown_table(schema: &[u8], table: &[u8]) -> String {
    format!("{}.{}", shown(schema), shown(table))
}

/// When what begins with an event was done, in microseconds since 1970: when it was committed where that is told, else when the
/// statement began.
fn time_of(item: &Item<'_>, gtid: Option<&Gtid<'_>>) -> Option<u64> {
    if let Some(Gtid::Mysql(gtid)) = gtid
        && let Some(committed) = gtid.committed
    {
        return Some(committed);
    }
    let seconds = item.event.header.timestamp;
    (seconds != 0 && item.event.kind != Kind::FORMAT_DESCRIPTION).then(|| u64::from(seconds) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_by_glob() {
        let glob = |text: &str| vec![text.parse::<NameGlob>().unwrap()];
        let args = FilterArgs { table: glob("shop.ord*"), ..FilterArgs::default() };
        let filter = Filter::new(&args, 1);
        assert!(filter.wants_table(b"shop", b"orders") && !filter.wants_table(b"other", b"orders"));
        let args = FilterArgs { table: glob("orders"), database: glob("s*"), ..FilterArgs::default() };
        let filter = Filter::new(&args, 1);
        assert!(filter.wants_table(b"shop", b"orders") && !filter.wants_table(b"other", b"orders"));
        let args = FilterArgs { thread: vec![7], ..FilterArgs::default() };
        let filter = Filter::new(&args, 1);
        let wants = |thread| {
            let query =
                Query { thread, seconds: 0, error: 0, status: &[], schema: b"", text: b"DROP TABLE a.b" };
            filter.wants_statement(&query).unwrap()
        };
        assert!(wants(7) == Wants::Yes && wants(8) == Wants::No && !filter.wants_table(b"a", b"b"));
        assert!(filter.wants_load(Some(7), b"a", b"b") && !filter.wants_load(None, b"a", b"b"));
    }
    #[test]
    fn statements_by_what_they_change() {
        use Wants::{Along, No, Partly, Untold, Yes};
        let glob = |text: &str| vec![text.parse::<NameGlob>().unwrap()];
        let by_schema = FilterArgs { database: glob("lg"), ..FilterArgs::default() };
        let by_table = FilterArgs { table: glob("lg.a*"), ..FilterArgs::default() };
        for (schema, text, [of_schema, of_table]) in [
            ("", "CREATE TABLE lg.a (id INT)", [Yes, Yes]),
            ("x", "ALTER TABLE lg.b ADD c INT", [Yes, No]),
            ("lg", "DROP TABLE x.a", [No, No]),
            ("lg", "TRUNCATE a", [Yes, Yes]),
            ("x", "RENAME TABLE lg.a TO x.a", [Partly, Partly]),
            ("x", "CREATE TABLE lg.a LIKE y.b", [Partly, Partly]),
            ("x", "CREATE DATABASE lg", [Yes, Untold]),
            ("lg", "DROP DATABASE x", [No, No]),
            ("x", "CREATE FUNCTION lg.f() RETURNS INT RETURN 1", [Yes, No]),
            ("x", "DROP TRIGGER lg.t", [Yes, Untold]),
            ("x", "INSERT INTO lg.a SELECT * FROM lg.b", [Yes, Partly]),
            ("lg", "INSERT INTO x.a SELECT * FROM b", [Untold, Untold]),
            ("lg", "GRANT ALL ON x.* TO a", [Yes, No]),
            ("x", "SAVEPOINT a", [Along, Along]),
            ("x", "CALL lg.p()", [Untold, Untold]),
        ] {
            let (schema, text) = (schema.as_bytes(), text.as_bytes());
            let query = Query { thread: 1, seconds: 0, error: 0, status: &[], schema, text };
            let wants = |args| Filter::new(args, 1).wants_statement(&query).unwrap();
            let shown = String::from_utf8_lossy(text);
            assert_eq!([wants(&by_schema), wants(&by_table)], [of_schema, of_table], "{shown}");
        }
    }

    #[test]
    fn names_in_another_case() {
        let statement = |filter: &Filter<'_>, text: &str| {
            let text = text.as_bytes();
            let query = Query { thread: 1, seconds: 0, error: 0, status: &[], schema: b"x", text };
            filter.wants_statement(&query).unwrap()
        };
        let glob = |text: &str| vec![text.parse::<NameGlob>().unwrap()];
        // Of a server where it counts, of one where it does not, and of files alone.
        for (case, takes, doubts) in
            [(Some(0), false, false), (Some(1), true, false), (Some(2), true, false), (None, false, true)]
        {
            let named = FilterArgs { lower_case_table_names: case, ..FilterArgs::default() };
            let by_schema = FilterArgs { database: glob("shop"), ..named.clone() };
            let by_table = FilterArgs { table: glob("shop.Orders"), ..named.clone() };
            let of_dump = Filter::new(&named, 1).of_schemas(Some([b"shop".to_vec()].into()));
            for filter in [Filter::new(&by_schema, 1), Filter::new(&by_table, 1), of_dump] {
                assert_eq!(statement(&filter, "ALTER TABLE SHOP.orderS ADD a INT").is_taken(), takes);
                assert_eq!(filter.refuse_doubt("b.1", 4).is_err(), doubts, "{case:?}");
                assert_eq!(filter.wants_table(b"Shop", b"ORDERS"), takes);
                assert_eq!(filter.refuse_doubt("b.1", 4).is_err(), doubts, "{case:?}");
                // These are in either case what they are.
                assert!(filter.wants_table(b"shop", b"Orders") && !filter.wants_table(b"other", b"o"));
                assert_eq!(statement(&filter, "INSERT INTO other.o VALUES (1)"), Wants::Untold);
                assert!(filter.refuse_doubt("b.1", 4).is_ok());
            }
        }
        let all = FilterArgs::default();
        let filter = Filter::new(&all, 1);
        assert!(filter.wants_table(b"Shop", b"a") && filter.refuse_doubt("b.1", 4).is_ok());
        let folding = FilterArgs { lower_case_table_names: Some(1), ..FilterArgs::default() };
        let mut filter = Filter::new(&folding, 1).of_schemas(Some([b"shop".to_vec()].into()));
        let text = b"CREATE DATABASE IF NOT EXISTS SHOP";
        let query = Query { thread: 1, seconds: 0, error: 0, status: &[], schema: b"", text };
        assert_eq!(filter.learn_schema(&query), Ok(None));
    }

    #[test]
    fn schemas_of_a_dump_and_those_made_since() {
        let args = FilterArgs::default();
        let mut filter = Filter::new(&args, 1).of_schemas(Some([b"one".to_vec()].into()));
        let query = |text: &'static str| {
            let text = text.as_bytes();
            Query { thread: 1, seconds: 0, error: 0, status: &[], schema: b"two", text }
        };
        let wants = |filter: &Filter<'_>, text| filter.wants_statement(&query(text)).unwrap();
        assert!(filter.looks_inside() && !filter.leaves_out(b"one") && filter.leaves_out(b"three"));
        assert_eq!(filter.learn_schema(&query("DROP DATABASE three")), Ok(None));
        assert_eq!(filter.learn_schema(&query("CREATE DATABASE three")), Ok(Some(b"three".to_vec())));
        assert_eq!(filter.learn_schema(&query("CREATE DATABASE three")), Ok(None));
        assert!(filter.wants_table(b"three", b"t") && !filter.wants_table(b"two", b"t"));
        for (text, right) in [
            ("CREATE TABLE t (a INT)", Wants::No),
            ("CREATE TABLE one.t (a INT)", Wants::Yes),
            ("INSERT INTO one.t SELECT 1 FROM information_schema.TABLES", Wants::Yes),
            ("INSERT INTO one.t SELECT 1 FROM two.t", Wants::Partly),
            ("GRANT SELECT ON one.* TO a", Wants::Yes),
        ] {
            assert_eq!(wants(&filter, text), right, "{text}");
        }
    }
}
