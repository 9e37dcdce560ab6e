//! What a statement depends on and has before it in the log: numbers and variables.

use std::io::Write as _;

use crate::chain::Trouble;
use crate::event::{Intvar, UserValue, UserVar, rand_seeds};
use crate::log::{Event, Kind};

use super::charset;
use super::text::{push_hex, push_name};

/// What the next statement depends on, as statements.
#[derive(Debug, Default)]
pub(crate) struct Before {
    text: Vec<u8>,
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
            Kind::USER_VAR => push_variable(&UserVar::parse(event.body)?, out)?,
            _ => {}
        }
        Ok(())
    }

    /// Nothing comes before the next statement.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    /// Writes it, once.
    pub(crate) fn move_to(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.text);
    }
}

/// SET of a user's variable, of the type that it had.
fn push_variable(variable: &UserVar<'_>, out: &mut Vec<u8>) -> Result<(), Trouble> {
    out.extend_from_slice(b"SET @");
    push_name(variable.name, out);
    out.extend_from_slice(b" := ");
    match &variable.value {
        None => out.extend_from_slice(b"NULL"),
        Some(value) => push_user_value(value, out)?,
    }
    out.extend_from_slice(b";\n");
    Ok(())
}

fn push_user_value(value: &UserValue<'_>, out: &mut Vec<u8>) -> Result<(), Trouble> {
    let mut at = crate::log::Cursor::new(value.bytes);
    match value.kind {
        0 => {
            let name = charset::name(value.collation).ok_or(Trouble::Malformed)?;
            write!(out, "_{name} ")?;
            push_hex(value.bytes, out);
        }
        1 => write!(out, "{:e}", f64::from_bits(at.u64()?))?,
        2 if value.is_unsigned => write!(out, "{}", at.u64()?)?,
        2 => write!(out, "{}", at.u64()? as i64)?,
        4 => {
            let (digits, behind) = (at.u8()?, at.u8()?);
            if behind > digits || digits > 81 {
                return Err(Trouble::Malformed);
            }
            crate::rows::write_decimal(at.rest(), digits, behind, out);
        }
        _ => return Err(Trouble::Malformed),
    }
    Ok(())
}
