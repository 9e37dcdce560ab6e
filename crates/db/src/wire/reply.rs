//! What a server says in place of rows: that a statement was done, or why not.

use super::fields::next_integer;
use crate::ServerError;
use crate::er;

/// What the server said of a statement that returns no rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows that were changed.
    pub affected: u64,
    /// Warnings, as the protocol counts them: 65535 stands for that many or more.
    pub warnings: u16,
    /// The server's summary, such as `Records: 3  Deleted: 0  Skipped: 0  Warnings: 0`; often empty.
    pub info: String,
    /// Whether a transaction is open behind it.
    pub in_transaction: bool,
}

/// Reads the packet that says so.
pub(super) fn outcome(payload: &[u8]) -> Outcome {
    let (affected, warnings, status, mut info) = counts(payload);
    // MySQL sends the text with its length before it, MariaDB sends it bare.
    let mut counted = info;
    if next_integer(&mut counted) == Some(counted.len() as u64) {
        info = counted;
    }
    let in_transaction = status & SERVER_STATUS_IN_TRANS != 0;
    Outcome { affected, warnings, info: String::from_utf8_lossy(info).into_owned(), in_transaction }
}

const SERVER_STATUS_IN_TRANS: u16 = 1;

/// What the packet counts, rows that were changed and warnings, the session's status, and the bytes of its text.
pub(super) fn counts(payload: &[u8]) -> (u64, u16, u16, &[u8]) {
    let mut rest = payload.get(1..).unwrap_or_default();
    let affected = next_integer(&mut rest).unwrap_or_default();
    let _insert_id = next_integer(&mut rest);
    let number = |at| rest.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let (status, warnings) = (number(0), number(2));
    (affected, warnings, status, rest.get(4..).unwrap_or_default())
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
    let message = String::from_utf8_lossy(&message[..message.len().min(MAX_MESSAGE)]).into_owned();
    let code = if code == er::UNKNOWN_ERROR { code_inside(&message).unwrap_or(code) } else { code };
    ServerError { code, state: String::from_utf8_lossy(state).into_owned(), message }
}

/// The code that TiDB writes into the text of an error that it has no number of MySQL's for: `[kv:9007]Write conflict, …`, or
/// `ERROR 1231 (42000): Variable 'sql_mode' can't be set …`.
fn code_inside(message: &str) -> Option<u16> {
    let as_client = message.strip_prefix("ERROR ").and_then(|rest| rest.split_once(" ("));
    if let Some(code) = as_client.and_then(|(code, _)| code.parse().ok()) {
        return Some(code);
    }
    let inside = message.split('[').skip(1).filter_map(|text| text.split_once(']'));
    let mut codes = inside.filter_map(|(inside, _)| {
        let (class, code) = inside.split_once(':')?;
        let is_class =
            !class.is_empty() && class.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        code.parse().ok().filter(|code| is_class && *code != er::UNKNOWN_ERROR)
    });
    codes.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_inside_an_unknown_error_is_its_code() {
        let code = |code: u16, message: &str| {
            let mut payload = vec![0xff];
            payload.extend(code.to_le_bytes());
            payload.extend(b"#HY000");
            payload.extend(message.as_bytes());
            server_error(&payload).code
        };
        assert_eq!(code(1105, "[kv:9007]Write conflict, txnStartTS=1"), 9007);
        assert_eq!(code(1105, "failed to commit: [tikv:9005]Region is unavailable"), 9005);
        assert_eq!(code(1105, "[executor:1105]other [a] [:1] [x:y] [key: 17]"), 1105);
        assert_eq!(code(1105, "ERROR 1231 (42000): Variable 'sql_mode' can't be set"), 1231);
        assert_eq!(code(1105, "ERROR reading (42000): 17"), 1105);
        assert_eq!(code(1205, "[kv:9007]Write conflict"), 1205);
    }

    #[test]
    fn an_ok_packet_with_and_without_a_counted_text() {
        let text = b"Records: 3  Deleted: 0  Skipped: 0  Warnings: 1";
        let bare = [&[0, 3, 0, 2, 0, 1, 0][..], text].concat();
        let counted = [&[0, 3, 0, 2, 0, 1, 0, text.len() as u8][..], text].concat();
        for payload in [bare, counted] {
            let outcome = outcome(&payload);
            assert_eq!((outcome.affected, outcome.warnings, outcome.in_transaction), (3, 1, false));
            assert_eq!(outcome.info.as_bytes(), text);
        }
    }

    #[test]
    fn an_ok_packet_tells_whether_a_transaction_is_open() {
        assert!(outcome(&[0, 3, 0, 3, 0, 0, 0]).in_transaction);
        assert!(!outcome(&[0, 3, 0, 2, 0, 0, 0]).in_transaction);
        assert!(!outcome(&[0]).in_transaction);
    }

    #[test]
    fn an_error_packet() {
        let error = server_error(b"\xff\x7a\x04#42S02Table 'a.b' doesn't exist");
        assert_eq!((error.code, error.state.as_str()), (1146, "42S02"));
        assert_eq!(server_error(b"\xff\x10\x04Too many connections").message, "Too many connections");
    }
}
