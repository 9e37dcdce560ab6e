//! Dumps of one vendor's server, restored into the other's.

pub(crate) mod cases;
mod check;
mod restored;

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, value, wait_until};
use crate::servers::{is_wanted, start};

/// A private server of each vendor; `None` if the tests are to do without one of them. Either is the other's target.
pub(crate) fn both() -> Option<[Server; 2]> {
    let flavours = [Flavour::MariaDb, Flavour::MySql];
    let wanted = flavours.iter().all(|flavour| is_wanted(*flavour));
    wanted.then(|| flavours.map(|flavour| start(flavour, &["--max-connections=400", "--local-infile=ON"])))
}

/// That nothing of a check is left; another test's may be at work at the moment.
fn assert_no_scratch(server: &Server) {
    let left = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'drover\\_check%'";
    wait_until("no check has left anything", || value(server, left) == "0");
}

/// Makes a schema and what is in it.
pub(crate) fn make(server: &Server, schema: &str, statements: &str) {
    sql(server, format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema}; {statements}"));
}
