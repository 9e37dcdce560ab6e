//! What a server says in place of rows: that a statement was done, or why not.

use super::fields::next_integer;
use crate::ServerError;

/// What the server said of a statement that returns no rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows that were changed.
    pub affected: u64,
    /// Warnings, as the protocol counts them: 65535 stands for that many or more.
    pub warnings: u16,
    /// The server's summary, such as `Records: 3  Deleted: 0  Skipped: 0  Warnings: 0`; often empty.
    pub info: String,
}

/// Reads the packet that says so.
pub(super) fn outcome(payload: &[u8]) -> Outcome {
    let (affected, warnings, mut info) = counts(payload);
    // MySQL sends the text with its length before it, MariaDB sends it bare.
    let mut counted = info;
    if next_integer(&mut counted) == Some(counted.len() as u64) {
        info = counted;
    }
    Outcome { affected, warnings, info: String::from_utf8_lossy(info).into_owned() }
}

/// What the packet counts, rows that were changed and warnings, and the bytes of its text.
pub(super) fn counts(payload: &[u8]) -> (u64, u16, &[u8]) {
    let mut rest = payload.get(1..).unwrap_or_default();
    let affected = next_integer(&mut rest).unwrap_or_default();
    let _insert_id = next_integer(&mut rest);
    let warnings = rest.get(2..4).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    (affected, warnings, rest.get(4..).unwrap_or_default())
}

/// The most of an error's text that is kept, in bytes: servers write 512 at most (MYSQL_ERRMSG_SIZE).
const MAX_MESSAGE: usize = 4096;

/// Reads the packet with an error.
pub(super) fn server_error(payload: &[u8]) -> ServerError {
    let code = payload.get(1..3).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let rest = payload.get(3..).unwrap_or_default();
    // Before login is done the SQLSTATE may be missing.
    let (state, message) = match rest.split_first() {
        Some((b'#', rest)) => rest.split_at_checked(5).unwrap_or((b"HY000", rest)),
        _ => (&b"HY000"[..], rest),
    };
    ServerError {
        code,
        state: String::from_utf8_lossy(state).into_owned(),
        message: String::from_utf8_lossy(&message[..message.len().min(MAX_MESSAGE)]).into_owned(),
    }
}
