//! The threads that watch: one marks the primary's log, one for each replica looks how far it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::wire::Rows;
use drover_db::{Connection, Stop, Watched, er, health, server};
use drover_throttle::{Findings, Limits};

use crate::args::LagBy;
use crate::clock::{LogClock, Place};
use crate::error::Doing;
use crate::flow::{Flow, Mark};
use crate::lineage;
use crate::state::State;
use crate::{Error, Result};

/// How often the primary's log is marked.
const MARK_EVERY: Duration = Duration::from_millis(100);
/// How often a replica is asked.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// How often the primary's load is looked at.
const LOAD_EVERY: Duration = Duration::from_secs(1);

/// A server that is asked again and again; a connection that is lost is made anew.
pub(crate) struct Session {
    stop: Arc<Stop>,
    options: ConnectOptions,
    connection: Option<(Connection, Watched<'static>)>,
}

impl Session {
    fn new(stop: &Arc<Stop>, options: &ConnectOptions) -> Self {
        Self { stop: Arc::clone(stop), options: options.clone(), connection: None }
    }

    fn ask<T>(&mut self, question: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let (mut connection, watched) = match self.connection.take() {
            Some(open) => open,
            None => {
                let (mut connection, watched) = self.stop.connect(&self.options).doing(|| "connecting")?;
                // A snapshot of the past would tell nothing of the lag.
                connection.set("autocommit", 1).doing(|| "setting autocommit")?;
                (connection, watched)
            }
        };
        let answer = question(&mut connection);
        let is_lost = matches!(&answer, Err(Error::Server { source, .. }) if source.code().is_none());
        if !is_lost {
            self.connection = Some((connection, watched));
        }
        answer
    }
}

/// What marks the primary's log, and looks at its load.
pub(crate) struct Marker<'a> {
    session: Session,
    flow: &'a Flow,
    limits: Limits,
    /// The table of heartbeats, if they are asked for.
    state: Option<&'a State>,
    /// Whether replicas are looked at.
    marks: bool,
    clock: LogClock,
    number: u64,
    load_at: Option<Instant>,
}

impl<'a> Marker<'a> {
    pub(crate) fn new(
        stop: &Arc<Stop>,
        options: &ConnectOptions,
        flow: &'a Flow,
        limits: Limits,
        marks: bool,
        state: Option<&'a State>,
    ) -> Self {
        let session = Session::new(stop, options);
        Self { session, flow, limits, state, marks, clock: LogClock::default(), number: 0, load_at: None }
    }

    /// Does it once, so that what cannot be done is an error at once.
    ///
    /// # Errors
    /// If the log cannot be marked, or the load not be read.
    pub(crate) fn step(&mut self) -> Result<()> {
        if self.limits.are_given() && self.load_at.is_none_or(|at| at.elapsed() >= LOAD_EVERY) {
            let Findings { pause, stop } =
                self.session.ask(|connection| self.limits.look(connection).map_err(Error::from))?;
            self.flow.load(pause, stop);
            self.load_at = Some(Instant::now());
        }
        if self.marks {
            let (state, clock) = (self.state, &mut self.clock);
            let number = match self.number {
                0 => first_number(&mut self.session, state)?,
                number => number + 1,
            };
            // The time is that before the heartbeat: the lag is rather told too long than too short.
            let at = Instant::now();
            let bytes = self.session.ask(|connection| {
                state.map_or(Ok(()), |state| state.beat(connection, number))?;
                clock.read(connection)
            })?;
            self.number = number;
            self.flow.mark(Mark { number, at, bytes: bytes.unwrap_or(0), place: self.clock.place() });
        }
        Ok(())
    }

    /// Does it again and again until `is_over`.
    pub(crate) fn run(mut self, is_over: &dyn Fn() -> bool) {
        let every = if self.marks { MARK_EVERY } else { LOAD_EVERY };
        let mut next = Instant::now();
        while !is_over() {
            if let Err(error) = self.step() {
                self.flow.primary_problem(format!("the server cannot be asked: {error}"));
            }
            next = (next + every).max(Instant::now());
            rest(next, is_over);
        }
    }
}

/// Numbers grow from run to run, so that an old heartbeat is not taken for a new one.
fn first_number(session: &mut Session, state: Option<&State>) -> Result<u64> {
    state.map_or(Ok(1), |state| session.ask(|connection| state.last_beat(connection)).map(|last| last + 1))
}

/// Sleeps until then, or until it is over.
fn rest(until: Instant, is_over: &dyn Fn() -> bool) {
    while !is_over() && Instant::now() < until {
        std::thread::sleep(until.saturating_duration_since(Instant::now()).min(ASK_EVERY));
    }
}

/// What looks at a replica.
pub(crate) struct Watcher<'a> {
    session: Session,
    flow: &'a Flow,
    replica: usize,
    how: How<'a>,
}

pub(crate) enum How<'a> {
    Heartbeat(&'a State),
    /// By the position of what was applied from the server with this id.
    Status(u64),
}

/// Connects to a replica, before anything is begun; `source_id` is that of what it is to be a replica of.
///
/// # Errors
/// If it is not there, or cannot be asked.
pub(crate) fn reach(
    stop: &Arc<Stop>,
    options: &ConnectOptions,
    by: LagBy,
    source_id: u64,
    source: &mut Connection,
) -> Result<Session> {
    let mut session = Session::new(stop, options);
    let asked = session.ask(|connection| match by {
        LagBy::Status => applied(connection, source_id).map(drop),
        LagBy::Heartbeat if server::is_same(connection, source).doing(|| "asking which server it is")? => {
            Err(Error::found("that is the server which is changed itself"))
        }
        // Whether the heartbeat arrives is waited for: the replica may be far behind.
        LagBy::Heartbeat => lineage::check(connection, source, source_id),
    });
    asked.map(|()| session).map_err(|error| {
        Error::with_hint(
            format!("the replica {} cannot be watched: {error}", options.address),
            error
                .hint()
                .unwrap_or_else(|| "--replica names the replicas; without --max-lag none is watched".into()),
        )
    })
}

impl<'a> Watcher<'a> {
    /// Of a replica that was reached.
    pub(crate) fn new(session: Session, flow: &'a Flow, replica: usize, how: How<'a>) -> Self {
        Self { session, flow, replica, how }
    }

    /// Asks again and again until `is_over`.
    pub(crate) fn run(mut self, is_over: &dyn Fn() -> bool) {
        let mut next = Instant::now();
        while !is_over() {
            if let Err(error) = self.step() {
                self.flow.replica_problem(self.replica, error.to_string());
            }
            next = (next + ASK_EVERY).max(Instant::now());
            rest(next, is_over);
        }
    }

    fn step(&mut self) -> Result<()> {
        match self.how {
            How::Heartbeat(state) => match self.session.ask(|connection| state.last_beat(connection)) {
                Ok(number) => self.flow.seen(self.replica, number, Instant::now()),
                // ER_NO_SUCH_TABLE, ER_BAD_DB_ERROR
                Err(error) if matches!(error.code(), Some(er::NO_SUCH_TABLE | er::BAD_DB)) => {
                    return Err(Error::found("it has not heard of this run yet"));
                }
                Err(error) => return Err(error),
            },
            How::Status(id) => {
                let place = self.session.ask(|connection| applied(connection, id))?;
                self.flow.applied(self.replica, &place, Instant::now());
            }
        }
        Ok(())
    }
}

/// Up to where a replica has applied the log of the server with that id.
fn applied(connection: &mut Connection, server_id: u64) -> Result<Place> {
    let rows = health::replica_status(connection).doing(|| "asking for the replica's status")?;
    let column = |names: [&str; 2]| names.into_iter().find_map(|name| rows.column(name));
    let of_source = |rows: &Rows| {
        let at = column(["Source_Server_Id", "Master_Server_Id"])?;
        rows.rows.iter().find(|row| row.parse::<u64>(at) == Some(server_id)).cloned()
    };
    let row = of_source(&rows).ok_or_else(|| {
        Error::with_hint(
            "it is no replica of this server",
            "--lag-by heartbeat also reaches replicas of replicas",
        )
    })?;
    let text = |names: [&str; 2]| column(names).map(|at| row.string(at)).unwrap_or_default();
    for (names, what) in [
        (["Replica_IO_Running", "Slave_IO_Running"], "it does not receive"),
        (["Replica_SQL_Running", "Slave_SQL_Running"], "it does not apply what it receives"),
    ] {
        if text(names) != "Yes" {
            return Err(Error::found(format!("its lag is not known: {what}")));
        }
    }
    let position = text(["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"]).parse().unwrap_or(0);
    Ok(Place { file: text(["Relay_Source_Log_File", "Relay_Master_Log_File"]), position })
}
