//! Waits until a node is what it should be.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::log::{ErrorLog, SHOWN_LINES};
use crate::{Error, Server, sql};

const TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// Returns when `check` says that the node is ready; else it says why not yet. An error of the server's counts as that.
pub(super) fn until(
    node: &Server,
    what: &'static str,
    check: impl Fn() -> drover_db::Result<Result<(), String>>,
) -> Result<(), Error> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let why = match check() {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => why,
            Err(error) => error.to_string(),
        };
        if !node.is_running() || Instant::now() >= deadline {
            return Err(gave_up(node, what, why));
        }
        sleep(POLL);
    }
}

/// Returns when the query's first value is this one.
pub(super) fn for_value(node: &Server, what: &'static str, query: &str, wanted: &str) -> Result<(), Error> {
    until(node, what, || {
        let value = sql::value(node.socket(), query)?;
        Ok(if value == wanted { Ok(()) } else { Err(format!("it is {value:?}")) })
    })
}

fn gave_up(node: &Server, what: &'static str, why: String) -> Error {
    let log = ErrorLog::whole(&node.error_log());
    Error::NotFormed { what, why, log: log.path(), log_tail: log.tail(SHOWN_LINES) }
        .of_node(&node.info().name)
}
