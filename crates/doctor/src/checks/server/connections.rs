//! Sessions that are refused, or soon will be.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.connections",
    area: Area::Server,
    looks_for: "clients that are refused because there are too many, and how near that was",
    needs: "status variables Max_used_connections and Connection_errors_max_connections; max_connections",
    source: "MySQL manual, Too many connections; MariaDB manual, Handling Too Many Connections",
    refuted_by: "the many sessions came from one mishap since which the status was not flushed",
    look,
};

/// The share of max_connections.
const NEAR: f64 = 0.9;

fn look(facts: &Facts) -> Seen<Outcome> {
    let most = facts.number("max_connections")?;
    let used = facts.status("Max_used_connections")?;
    // MySQL before 5.6 does not count them.
    let refused = facts.status("Connection_errors_max_connections");
    let (rate, seconds) = match facts.growth("Connection_errors_max_connections") {
        Err(Unseen::Missing) => (0.0, 0.0),
        growth => growth?,
    };
    let seen = format!("there were up to {used:.0} sessions at a time; max_connections is {most:.0}");
    let now = facts.status("Threads_connected")?;
    if rate == 0.0 && used < NEAR * most {
        let unknown = refused.err().map(|unseen| format!("how many clients were refused: {unseen}"));
        return Ok(Outcome { unknown: unknown.into_iter().collect(), ..Outcome::fine(seen) });
    }
    let refused = match refused {
        Ok(refused) => format!("; {} were refused since the server started", show::count(refused as u64)),
        Err(_) => String::new(),
    };
    let finding = if rate > 0.0 {
        Finding::observed(
            Weight::Red,
            "clients are refused: there are too many sessions",
            "see in the list of processes who holds them: idle ones of a pool, or ones that wait for a lock; \
             more sessions need more memory",
        )
        .effect(format!("{:.0} were refused over {seconds:.1} s", rate * seconds))
    } else {
        Finding::observed(
            Weight::Yellow,
            "nearly all sessions that are allowed were in use at once",
            "make pools of clients smaller, or allow more, if there is the memory for them",
        )
    };
    let more = (most * 1.5).ceil();
    Ok(Outcome::found(finding.seen(seen).seen(format!("{now:.0} are connected now{refused}")).sql(
        format!("SET GLOBAL max_connections = {more:.0}"),
        Some(format!("SET GLOBAL max_connections = {most:.0}")),
    )))
}
