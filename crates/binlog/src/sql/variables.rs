//! Variables of a session that a statement depends on.

use std::io::Write as _;

use crate::chain::Trouble;
use crate::event::{UserValue, UserVar};
use crate::log::{Cursor, Format};

use super::charset;
use super::session::Session;
use super::text::{push_hex, push_name};

/// The collation of bytes.
const BINARY: u32 = 63;

/// Writes SET of a user's variable, of the type that it had; text of the collation that it had, for which the session's may have to be
/// another one before.
pub(super) fn push_variable(
    variable: &UserVar<'_>,
    format: &Format,
    session: &mut Session,
    out: &mut Vec<u8>,
) -> Result<(), Trouble> {
    if let Some(UserValue { kind: 0, collation, .. }) = variable.value
        && collation != BINARY
    {
        let number = u16::try_from(collation).map_err(|_| Trouble::Malformed)?;
        session.collation(number, format.vendor(), out);
    }
    out.extend_from_slice(b"SET @");
    push_name(variable.name, out);
    out.extend_from_slice(b" := ");
    match &variable.value {
        None => out.extend_from_slice(b"NULL"),
        Some(value) => push_value(value, out)?,
    }
    out.extend_from_slice(b";\n");
    Ok(())
}

fn push_value(value: &UserValue<'_>, out: &mut Vec<u8>) -> Result<(), Trouble> {
    let mut at = Cursor::new(value.bytes);
    match value.kind {
        0 => {
            let name = charset::name(value.collation).ok_or(Trouble::Malformed)?;
            let is_text = value.collation != BINARY;
            // What CAST gives has the session's collation; COLLATE would need its name.
            out.extend_from_slice(if is_text { b"CAST(" } else { b"" });
            write!(out, "_{name} ")?;
            push_hex(value.bytes, out);
            out.extend_from_slice(if is_text { b" AS CHAR)" } else { b"" });
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
