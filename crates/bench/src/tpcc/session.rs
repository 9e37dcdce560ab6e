//! Sessions: how they are opened, and what of their errors a person can do something about.

use std::sync::Arc;

use drover_db::options::{Address, ConnectOptions};
use drover_db::session::Use;
use drover_db::{Connection, Stop, Watched};

use super::marker;
use crate::environment::Environment;
use crate::{Error, Result};

/// The tables' place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    options: &'a ConnectOptions,
    pub(super) schema: &'a str,
}

impl<'a> Place<'a> {
    /// The schema that the options name.
    ///
    /// # Errors
    /// If they name none.
    pub(super) fn of(options: &'a ConnectOptions) -> Result<Self> {
        match options.database.as_deref() {
            Some(schema) => Ok(Self { options, schema }),
            None => Err(Error::with_hint("no schema is named", "-D SCHEMA says which one holds the tables")),
        }
    }

    /// A session in the schema, which ends when all is to stop.
    ///
    /// # Errors
    /// If there is no such schema, or the server cannot be reached.
    pub(super) fn open(&self, stop: &Arc<Stop>) -> Result<(Connection, Watched<'static>)> {
        let (connection, watched) =
            stop.connect(self.options).map_err(|error| match marker::is_no_schema(&error) {
                true => Error::with_hint(
                    format!("there is no schema {}", self.schema),
                    format!("`drover bench tpcc load -w N -D {}` makes it", self.schema),
                ),
                false => Error::server("connecting")(error),
            })?;
        Ok((ready(connection)?, watched))
    }

    /// A session in no schema, which ends when all is to stop.
    pub(super) fn open_outside(&self, stop: &Arc<Stop>) -> Result<(Connection, Watched<'static>)> {
        let options = ConnectOptions { database: None, ..self.options.clone() };
        let (connection, watched) = stop.connect(&options).map_err(Error::server("connecting"))?;
        Ok((ready(connection)?, watched))
    }

    /// A session in no schema that does not end with the others: what was made is removed by it.
    pub(super) fn open_to_the_end(&self) -> Result<Connection> {
        let options = ConnectOptions { database: None, ..self.options.clone() };
        Connection::open(&options).map_err(Error::server("connecting")).and_then(ready)
    }

    /// On what it is measured.
    pub(super) fn environment(&self, connection: &mut Connection) -> Result<Environment> {
        let environment = Environment::of_machine().with_server(connection, Some(self.is_local()))?;
        if !self.is_local() {
            return Ok(environment);
        }
        // The server may run in a container of its own: then its directory is not there.
        let row = connection.first("SELECT @@GLOBAL.datadir").map_err(Error::server("reading datadir"))?;
        let path = row.map(|row| std::path::PathBuf::from(row.string(0)));
        match path.filter(|path| path.is_dir()) {
            Some(path) => environment.with_paths([path.as_path()]),
            None => Ok(environment),
        }
    }

    /// Whether the server shares the processors with this process.
    fn is_local(&self) -> bool {
        match &self.options.address {
            Address::Socket(_) => true,
            Address::Tcp { host, .. } => matches!(host.as_str(), "127.0.0.1" | "::1" | "localhost"),
        }
    }
}

fn ready(mut connection: Connection) -> Result<Connection> {
    set_up(&mut connection, Use::Tpcc)?;
    Ok(connection)
}

pub(super) fn set_up(connection: &mut Connection, what: Use) -> Result<()> {
    connection.set_up(what).map_err(Error::server("setting up a session"))
}

/// An error of work that was asked to stop is that it stopped: its connections were broken.
pub(super) fn unless_stopped<T>(result: Result<T>, stop: &Stop) -> Result<T> {
    match result {
        Err(_) if stop.is_requested() => Err(Error::Stopped),
        result => result,
    }
}
