//! The server that logs are applied to.

use std::sync::Arc;

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Row, Rows, Stop, Watched};

use crate::server::Origin;
use crate::{Error, Result};

use super::logged;

/// The server that logs are applied to, and what stops the work.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Where it is.
    pub options: ConnectOptions,
    /// A request breaks the connections: what was not committed is rolled back. Of logs that are followed it is another one than the
    /// origin's, whose request is the end of what is read.
    pub stop: Arc<Stop>,
}

impl Destination {
    /// As a server that is asked for definitions of tables.
    pub(super) fn as_origin(&self) -> Origin {
        Origin { options: self.options.clone(), stop: Arc::clone(&self.stop) }
    }

    pub(super) fn connect(&self) -> Result<(Connection, Watched<'static>)> {
        let failed = |source| self.failed("connecting", source);
        let (mut connection, watched) = self.stop.connect(&self.options).map_err(failed)?;
        logged::log_rows(&mut connection).map_err(failed)?;
        Ok((connection, watched))
    }

    pub(super) fn failed(&self, doing: impl Into<String>, source: drover_db::Error) -> Error {
        if self.stop.is_requested() {
            return Error::Stopped;
        }
        Error::Target { doing: doing.into(), source: Box::new(source) }
    }
}

/// A session with the target for questions and notes beside the work. What is asked, or done, is said in errors.
pub(super) struct SideSession<'a> {
    pub(super) destination: &'a Destination,
    pub(super) connection: Connection,
    /// So that a request to stop breaks the connection.
    _watched: Watched<'static>,
}

impl<'a> SideSession<'a> {
    pub(super) fn begin(destination: &'a Destination) -> Result<Self> {
        let (connection, watched) = destination.connect()?;
        Ok(Self { destination, connection, _watched: watched })
    }

    pub(super) fn with<T>(
        &mut self,
        doing: &str,
        ask: impl FnOnce(&mut Connection) -> drover_db::Result<T>,
    ) -> Result<T> {
        ask(&mut self.connection).map_err(|source| self.destination.failed(doing, source))
    }

    pub(super) fn rows(&mut self, asking: &str, query: impl AsRef<[u8]>) -> Result<Rows> {
        self.with(asking, |connection| connection.query(query))
    }

    pub(super) fn first(&mut self, asking: &str, query: impl AsRef<[u8]>) -> Result<Option<Row>> {
        self.with(asking, |connection| connection.first(query))
    }

    pub(super) fn execute(&mut self, doing: &str, statement: impl AsRef<[u8]>) -> Result<()> {
        self.with(doing, |connection| connection.execute(statement).map(drop))
    }
}
