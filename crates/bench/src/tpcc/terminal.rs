//! A terminal: a connection and what it has prepared. Each transaction's steps stand in a file of their own.
//!
//! Every statement of a step whose input is known is sent at once, as a batch. A COMMIT never goes with statements that may fail: behind
//! one that did, the server would commit what is left of the transaction, or what had been begun anew.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use drover_db::session::Isolation;
use drover_db::wire::{Answer, Batch, Prepared, Value};
use drover_db::{Connection, Stop, Watched, er};

use super::input::{District, Input, Who};
use super::kind::Kind;
use super::session::Place;
use super::statements::Statement;
use crate::{Error, Result};

/// A terminal's connection.
pub(super) struct Terminal {
    connection: Connection,
    _watched: Watched<'static>,
    prepared: HashMap<Statement, Prepared>,
    batch: Batch,
    answers: Vec<Answer>,
    /// What is being done, for errors.
    doing: &'static str,
}

/// How a transaction ended that the server did not refuse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// As the specification has it for one New-Order in a hundred.
    pub(super) is_rolled_back: bool,
    /// Districts that had nothing to deliver.
    pub(super) skipped: u32,
}

impl Terminal {
    /// Opens a session.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses a setting.
    pub(super) fn open(place: &Place<'_>, stop: &Arc<Stop>) -> Result<Self> {
        let (mut connection, watched) = place.open(stop)?;
        connection.set("autocommit", 0).map_err(Error::server("setting autocommit"))?;
        let level = Isolation::ReadCommitted;
        connection.set_isolation(level).map_err(Error::server("setting the isolation level"))?;
        Ok(Self {
            connection,
            _watched: watched,
            prepared: HashMap::new(),
            batch: Batch::default(),
            answers: Vec::new(),
            doing: "",
        })
    }

    /// Runs a transaction.
    ///
    /// # Errors
    /// What the server said. [`Terminal::roll_back`] must come before the next transaction then.
    pub(super) fn run(&mut self, input: &Input) -> Result<Done> {
        self.doing = input.kind().name();
        match input {
            Input::NewOrder(input) => self.new_order(input),
            Input::Payment(input) => self.payment(input),
            Input::OrderStatus(input) => self.order_status(input),
            Input::Delivery(input) => self.delivery(input),
            Input::StockLevel(input) => self.stock_level(input),
        }
    }

    /// Adds a statement to the batch.
    pub(super) fn add(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<()> {
        let prepared = match self.prepared.entry(statement) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let prepared = self.connection.prepare_query(statement.sql());
                place.insert(prepared.map_err(|source| explained(self.doing, source))?)
            }
        };
        self.batch.execute(prepared, values).map_err(Error::server(self.doing))
    }

    /// Adds the end of a transaction that changed nothing.
    pub(super) fn add_end(&mut self) {
        self.batch.query("COMMIT");
    }

    /// Sends the batch and reads all answers.
    ///
    /// # Errors
    /// What the server said to the first command that it refused.
    pub(super) fn ask(&mut self) -> Result<()> {
        let commands = self.batch.commands();
        if self.answers.len() < commands {
            self.answers.resize_with(commands, Answer::default);
        }
        let mut outcome = self.connection.send_batch(&mut self.batch);
        if outcome.is_ok() {
            for answer in &mut self.answers[..commands] {
                match self.connection.next_answer(answer) {
                    Ok(()) => {}
                    // Those behind it are answered all the same.
                    Err(error @ drover_db::Error::Server(_)) => outcome = outcome.and(Err(error)),
                    Err(error) => return Err(Error::server(self.doing)(error)),
                }
            }
        }
        outcome.map_err(|source| explained(self.doing, source))
    }

    /// The answer to a command of the batch, counted from 0.
    pub(super) fn answer(&self, number: usize) -> &Answer {
        &self.answers[number]
    }

    /// Ends the transaction.
    pub(super) fn commit(&mut self) -> Result<()> {
        self.batch.query("COMMIT");
        self.ask()
    }

    /// Undoes what was done of the transaction.
    pub(super) fn roll_back(&mut self) -> Result<()> {
        self.batch = Batch::default();
        self.batch.query("ROLLBACK");
        self.ask()
    }

    /// The error for rows that ought to be there.
    pub(super) fn missing(&self, what: impl std::fmt::Display) -> Error {
        let hint = "`drover bench tpcc check` tells what else is wrong";
        Error::with_hint(format!("{}: {what} is not there, or holds NULL", self.doing), hint)
    }
}

fn explained(doing: &str, source: drover_db::Error) -> Error {
    match source.code() {
        Some(er::BINLOG_STMT_MODE_AND_ROW_ENGINE) => Error::with_hint(
            format!("{doing}: {source}"),
            "set the server's binlog_format to MIXED or ROW for this measurement",
        ),
        Some(er::MAX_PREPARED_STMT_COUNT_REACHED) => Error::with_hint(
            format!("{doing}: {source}"),
            "raise max_prepared_stmt_count: a connection prepares up to 50 statements",
        ),
        _ => Error::server(doing)(source),
    }
}

impl Input {
    /// Its type.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus(_) => Kind::OrderStatus,
            Self::Delivery(_) => Kind::Delivery,
            Self::StockLevel(_) => Kind::StockLevel,
        }
    }
}

impl District {
    /// Warehouse and number, as statements take them.
    pub(super) fn values(self) -> [Value<'static>; 2] {
        [number(self.warehouse), number(self.number)]
    }

    /// These and a customer's number.
    pub(super) fn customer(self, customer: u32) -> [Value<'static>; 3] {
        [number(self.warehouse), number(self.number), number(customer)]
    }

    /// These and a last name.
    pub(super) fn named(self, name: &str) -> [Value<'_>; 3] {
        [number(self.warehouse), number(self.number), Value::Text(name.as_bytes())]
    }
}

impl std::fmt::Display for District {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "district {} of warehouse {}", self.number, self.warehouse)
    }
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "customer {number}"),
            Self::LastName(name) => write!(f, "a customer called {name}"),
        }
    }
}

/// A whole number as a value.
pub(super) fn number(number: u32) -> Value<'static> {
    Value::Int(number.into())
}

/// A row's whole number that is none of a person's choice: a key.
pub(super) fn key(answer: &Answer, row: usize, column: usize) -> Option<u32> {
    answer.integer(row, column).and_then(|number| u32::try_from(number).ok())
}

/// Of so many customers with one last name, by their first names, the one in the middle, rounded up (clause 2.5.2.2); counted from 0.
pub(super) fn middle(customers: usize) -> usize {
    customers.div_ceil(2).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_in_the_middle() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(middle), [0, 0, 0, 1, 1, 2]);
    }
}
