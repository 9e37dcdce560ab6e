//! Dumps of one vendor's server, restored into the other's.

pub(crate) mod cases;
mod check;
mod owner;
mod restored;

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, value, wait_until};
use crate::servers::{is_wanted, start_mariadb_11, start_unsynced};

/// A private server of each vendor; `None` if the tests are to do without one of them. Either is the other's target.
pub(crate) fn both() -> Option<[Server; 2]> {
    both_wanted().then(|| [Flavour::MariaDb, Flavour::MySql].map(|flavour| start_unsynced(flavour, &OPTIONS)))
}

/// The same with MariaDB 11.8.
pub(crate) fn both_with_mariadb_11() -> Option<[Server; 2]> {
    both_wanted().then(|| [start_mariadb_11(&OPTIONS), start_unsynced(Flavour::MySql, &OPTIONS)])
}

const OPTIONS: [&str; 2] = ["--max-connections=400", "--local-infile=ON"];

fn both_wanted() -> bool {
    [Flavour::MariaDb, Flavour::MySql].into_iter().all(is_wanted)
}

/// Numbers in documents of MySQL whose text a DOUBLE does not have.
pub(crate) const DOCUMENTS: &str = "CREATE TABLE t (id INT PRIMARY KEY, j JSON);
    INSERT INTO t VALUES (1, JSON_OBJECT('price', CAST('12345678901234567890.10' AS DECIMAL(30,2)))), (2, JSON_ARRAY(1.10, 3e0, -0e0)),
      (3, '[1.10]'), (4, NULL)";

/// That nothing of a check is left; another test's may be at work at the moment.
fn assert_no_scratch(server: &Server) {
    let left = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'drover\\_check%'";
    wait_until("no check has left anything", || value(server, left) == "0");
}

/// Makes a schema and what is in it.
pub(crate) fn make(server: &Server, schema: &str, statements: &str) {
    sql(server, format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema}; {statements}"));
}
