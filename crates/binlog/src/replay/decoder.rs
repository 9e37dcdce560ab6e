//! What the events of the logs say, in their own terms: nothing here asks a server.

use std::sync::Arc;

use crate::chain::{Item, Trouble};
use crate::event::{Query, TableMap, incident};
use crate::filter::{Filter, Verdict};
use crate::loads::{Keep, Load, Loads};
use crate::log::{Header, Kind, Place};
use crate::rows::Tables;
use crate::sql::{Before, xa_prepare};

use super::position;

/// Takes in one event after the other.
pub(super) struct Decoder<'f> {
    pub(super) filter: Filter<'f>,
    /// The tables that the logs describe.
    pub(super) tables: Tables,
    loads: Loads,
    /// What events tell of the statement behind them.
    pub(super) before: Before,
    /// The name of the log at hand, without a path, and its number.
    pub(super) log: Arc<str>,
    number: usize,
}

/// What is known of an event before it is looked into.
pub(super) struct Seen {
    /// Whether it is in a transaction that is wanted, or between transactions in a range that is.
    pub(super) is_wanted: bool,
    /// Whether it is the first of a log.
    pub(super) enters: bool,
    /// The file that is whole with it.
    pub(super) load: Option<Load>,
}

/// What an event of a transaction says.
pub(super) enum Step<'e> {
    /// Nothing to be applied.
    Nothing,
    /// The description of a table whose rows follow.
    Table(TableMap<'e>),
    /// Rows of such a table.
    Rows,
    /// The transaction ends prepared (XA); this statement begins it.
    Prepares(Vec<u8>),
    /// This statement ends the transaction, in place of COMMIT.
    EndsWith(Vec<u8>),
    /// A statement that was run.
    Statement(Query<'e>),
    /// A file that was loaded.
    Load(Load),
    /// Something that nobody can apply.
    Problem {
        /// What it is.
        what: String,
        /// What a person can do about it; may be empty.
        hint: String,
    },
}

impl<'f> Decoder<'f> {
    /// `filter` says what is wanted, `tables` may know more of tables than the logs tell.
    pub(super) fn new(filter: Filter<'f>, tables: Tables) -> Self {
        let loads = Loads::new(Keep::in_temp());
        Self { filter, tables, loads, before: Before::default(), log: "".into(), number: usize::MAX }
    }

    /// Looks at where an event stands; `None` behind all that is wanted.
    pub(super) fn see(&mut self, item: &Item<'_>) -> Result<Option<Seen>, Trouble> {
        let verdict = self.filter.verdict(item)?;
        if verdict == Verdict::Stop {
            return Ok(None);
        }
        let load = self.loads.see(item)?;
        let enters = item.number != self.number;
        if enters {
            (self.number, self.log) = (item.number, crate::source::log_name(item.log.as_ref()).into());
        }
        Ok(Some(Seen { is_wanted: verdict == Verdict::Take, enters, load }))
    }

    /// Looks into an event of a transaction that is wanted.
    pub(super) fn step<'e>(&mut self, item: &Item<'e>, load: Option<Load>) -> Result<Step<'e>, Trouble> {
        let (event, format) = (&item.event, item.format);
        Ok(match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                self.tables.learn(&map, event.body, format)?;
                Step::Table(map)
            }
            kind if kind.row_change().is_some() => Step::Rows,
            Kind::QUERY => self.query(item, Query::parse(event.body, format)?)?,
            Kind::EXECUTE_LOAD_QUERY | Kind::EXEC_LOAD | Kind::LOAD | Kind::NEW_LOAD => {
                load.map_or(Step::Nothing, Step::Load)
            }
            Kind::INTVAR | Kind::RAND | Kind::USER_VAR => {
                self.before.note(event)?;
                Step::Nothing
            }
            Kind::BEGIN_LOAD_QUERY | Kind::APPEND_BLOCK => {
                self.before.clear();
                Step::Nothing
            }
            Kind::XA_PREPARE => Step::EndsWith(xa_prepare(event.body)?),
            Kind::INCIDENT => {
                let message = String::from_utf8_lossy(incident(event.body)?);
                let what = format!("the server says that events may be missing here: {message}");
                let at = event.position;
                let hint = format!(
                    "to apply what is there all the same: --stop-position {at}, then --start-position {at}"
                );
                Step::Problem { what, hint }
            }
            Kind::MARIADB_PARTIAL_ROW_DATA => {
                problem("a row in parts, which drover cannot put together".into())
            }
            kind if kind.name().is_none() && event.header.flags & Header::IGNORABLE == 0 => {
                problem(format!("an event of {kind}, which nobody knows"))
            }
            _ => Step::Nothing,
        })
    }

    fn query<'e>(&mut self, item: &Item<'e>, query: Query<'e>) -> Result<Step<'e>, Trouble> {
        if query.changes_nothing_yet()? {
            self.before.clear();
            return Ok(Step::Nothing);
        }
        if query.is_begin() {
            return Ok(match query.text.eq_ignore_ascii_case(b"BEGIN") {
                true => Step::Nothing,
                false => Step::Prepares(query.text.to_vec()),
            });
        }
        if query.is_end() && item.place == Place::Last {
            return Ok(Step::EndsWith(query.text.to_vec()));
        }
        if position::is_own_statement(query.text) {
            self.before.clear();
            return Ok(Step::Nothing);
        }
        Ok(Step::Statement(query))
    }
}

fn problem(what: String) -> Step<'static> {
    Step::Problem { what, hint: String::new() }
}
