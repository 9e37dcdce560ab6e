//! What a statement depends on and has before it in the log: numbers and variables.

use std::io::Write as _;

use crate::chain::Trouble;
use crate::event::{Intvar, Query, UserVar, rand_seeds};
use crate::log::{Event, Format, Header, Kind};

use super::session::Session;
use super::variables::push_variable;

/// What the next statement depends on.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// Numbers, as statements.
    text: Vec<u8>,
    /// The bodies of events that set variables.
    variables: Vec<Vec<u8>>,
}

impl Before {
    /// Takes in an event of a number or a variable; others are nothing to it.
    ///
    /// # Errors
    /// If it is malformed.
    pub(crate) fn note(&mut self, event: &Event<'_>) -> Result<(), Trouble> {
        let out = &mut self.text;
        match event.kind {
            Kind::INTVAR => match Intvar::parse(event.body)? {
                Intvar::InsertId(value) => writeln!(out, "SET INSERT_ID = {value};")?,
                Intvar::LastInsertId(value) => writeln!(out, "SET LAST_INSERT_ID = {value};")?,
                Intvar::Other(..) => return Err(Trouble::Malformed),
            },
            Kind::RAND => {
                let (first, second) = rand_seeds(event.body)?;
                writeln!(out, "SET @@session.rand_seed1 = {first}, @@session.rand_seed2 = {second};")?;
            }
            Kind::USER_VAR => self.variables.push(event.body.to_vec()),
            _ => {}
        }
        Ok(())
    }

    /// Nothing comes before the next statement.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.variables.clear();
    }

    /// Writes all that must come before a statement, once: the settings of its session, and what it depends on.
    ///
    /// # Errors
    /// If something of it is malformed.
    pub(crate) fn prepare(
        &mut self,
        session: &mut Session,
        query: &Query<'_>,
        header: &Header,
        format: &Format,
        out: &mut Vec<u8>,
    ) -> Result<(), Trouble> {
        session.prepare(query, header, format, out)?;
        for body in std::mem::take(&mut self.variables) {
            push_variable(&UserVar::parse(&body)?, format, session, out)?;
        }
        // The variables may have changed the collation.
        session.prepare(query, header, format, out)?;
        out.append(&mut self.text);
        Ok(())
    }
}
