//! How the target logs what is applied to it. Where it logs statements (`binlog_format` = STATEMENT, the default before MySQL 5.7.7 and
//! MariaDB 10.2.4) it takes no rows of a log (error 1666), and InnoDB no change at READ COMMITTED (error 1665).

use drover_db::{Connection, server};

use super::report::Problem;

const STATEMENT: &str = "STATEMENT";

/// Has a session log rows where it would log statements, if its account may say so.
pub(super) fn log_rows(connection: &mut Connection) -> drover_db::Result<()> {
    if format(connection)?.as_deref() != Some(STATEMENT) {
        return Ok(());
    }
    connection.set_if_taken("binlog_format", "'ROW'").map(drop)
}

/// That the target logs statements all the same.
pub(super) fn refusal(connection: &mut Connection) -> drover_db::Result<Option<Problem>> {
    let is_on = server::variable(connection, "log_bin")?.is_some_and(|value| value == "1" || value == "ON");
    let is_refused = is_on && format(connection)?.as_deref() == Some(STATEMENT);
    Ok(is_refused.then(|| Problem {
        at: String::new(),
        what: "the target logs statements (binlog_format=STATEMENT), so it takes no rows of a log, and this account may not have its \
               sessions log rows"
            .into(),
        hint: "SET GLOBAL binlog_format = 'ROW' on the target holds for sessions from then on; or GRANT the account what lets it set \
               binlog_format: SESSION_VARIABLES_ADMIN on MySQL from 8.0.14 on, BINLOG ADMIN on MariaDB from 10.5 on, SUPER before"
            .into(),
    }))
}

fn format(connection: &mut Connection) -> drover_db::Result<Option<String>> {
    server::variable(connection, "SESSION.binlog_format")
}
