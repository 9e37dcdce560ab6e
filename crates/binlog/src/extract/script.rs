//! The file with the statement that loads another file again, as the vendors' clients take it.

use std::path::Path;

use jiff::tz::TimeZone;

use crate::chain::{Item, Trouble};
use crate::loads::{Ending, Load, Spot, Statement};
use crate::log::Header;
use crate::sql::{Before, Session, push_statement};
use crate::time::shown;

use drover_db::ErrorKind;

/// What goes before a statement: where it comes from, and how it is run.
pub(super) fn head(what: &str, start: &Spot, end: &Spot, header: &Header, out: &mut Vec<u8>) {
    let time = shown(header.timestamp, &TimeZone::system());
    let log = start.log.replace(|letter: char| letter.is_control(), " ");
    let (start, end, server) = (start.position, end.position, header.server_id);
    out.extend_from_slice(
        format!(
            "-- {what} at {start} to {end} in {log}, {time}, server {server}\n\
             -- Run this file with `mysql --local-infile=1` or `mariadb --local-infile=1`; the server needs local_infile = ON.\n"
        )
        .as_bytes(),
    );
}

/// The statement of a load that ended with the event, for the file at this path.
pub(super) fn of_load(
    item: &Item<'_>,
    load: &Load,
    statement: &Statement,
    before: &mut Before,
    file: &Path,
) -> Result<Vec<u8>, Trouble> {
    let mut out = Vec::new();
    let name = file.as_os_str().as_encoded_bytes();
    head("LOAD DATA", &load.start, &load.end, &item.event.header, &mut out);
    if let Ending::Failed(code) = load.ending {
        push_failure(code, statement, name, &mut out);
    }
    let (query, header) = (statement.query(), &item.event.header);
    before.prepare(&mut Session::default(), &query, header, item.format, &mut out)?;
    push_statement(&statement.for_file(name, true), &mut out);
    out.extend_from_slice(b"COMMIT;\n");
    Ok(out)
}

/// What to know of a load that failed: LOCAL makes warnings of errors in rows.
fn push_failure(code: u16, statement: &Statement, name: &[u8], out: &mut Vec<u8>) {
    // From outside, not from a row.
    if matches!(ErrorKind::of(code), ErrorKind::Ended | ErrorKind::TimedOut) {
        out.extend_from_slice(
            format!(
                "-- It was STOPPED (error {code}) after some of the rows had come in, and the server read the file up to there only. The log\n\
                 -- does not tell which row was the last one: of this file, all rows come in.\n"
            )
            .as_bytes(),
        );
        return;
    }
    out.extend_from_slice(
        format!(
            "-- It FAILED with error {code} after some of the rows had come in, and the server read the file up to there only.\n\
             -- A server passes over rows with errors when it loads a LOCAL file, and takes in those behind them. To stop at the error as\n\
             -- it did then, let the server read the file itself:\n"
        )
        .as_bytes(),
    );
    for line in statement.for_file(name, false).split(|&byte| byte == b'\n' || byte == b'\r') {
        out.extend_from_slice(b"--   ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
}
