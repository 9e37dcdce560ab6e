//! `drover chunk`: what comes of a statement in parts is compared with what the vendor's own client makes of it as a whole.

mod kills;
mod refused;
mod same;
mod throttle;
mod triggers;

use std::process::Command;

use drover_sandbox::Server;

use crate::client::{sql, value};
use crate::drover::drover_on;

/// `drover chunk` of a statement in parts as small as they can be told to be.
fn chunk(server: &Server, schema: &str, options: &str, statement: &str) -> Command {
    let mut command = drover_on(server, &format!("chunk -D {schema} --chunk-size 1k {options}"));
    command.arg(statement);
    command
}

/// Makes a schema with a table `t` of so many thousands of rows.
fn make(server: &Server, schema: &str, thousands: u32) {
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema};
             CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, v VARCHAR(40), KEY (a));
             INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
               SELECT n, n % 10, CONCAT('row ', n) FROM s;
             INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {thousands})
               SELECT id + n * 1000, a, v FROM t, s WHERE {thousands} > 1 AND n < {thousands}"
        ),
    );
}

/// Nothing of a run is left.
fn assert_forgotten(server: &Server, schema: &str) {
    let left = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME LIKE 'drover%'"
    );
    assert_eq!(value(server, left), "0", "a run was not forgotten");
}

/// How many parts a run has done that is under way; 0 as long as it has not begun.
fn parts_done(server: &Server, schema: &str) -> u64 {
    let name = value(
        server,
        format!(
            "SELECT COALESCE(MAX(TABLE_NAME), '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' AND \
             TABLE_NAME LIKE 'drover%'"
        ),
    );
    if name.is_empty() {
        return 0;
    }
    let number =
        crate::client::try_sql(server, &format!("SELECT number FROM {schema}.{name} WHERE part = 'state'"));
    number.ok().and_then(|rows| rows.first()?.first()?.parse().ok()).unwrap_or(0)
}
