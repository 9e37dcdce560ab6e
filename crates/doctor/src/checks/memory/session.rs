//! What sessions really take, and whether as many as are allowed would fit.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Answer, Seen, Unseen};
use crate::facts::Facts;
use crate::memory::{Limit, shared, sum};

pub(crate) const CHECK: Check = Check {
    rule: "memory.session",
    area: Area::Memory,
    looks_for: "sessions that would not fit into memory if as many came as are allowed, by what they really take",
    needs: "what each session takes: information_schema.PROCESSLIST on MariaDB (PROCESS), performance_schema.threads on MySQL \
            (SELECT on performance_schema); /proc/meminfo and cgroup limits of the server's host",
    source: "MariaDB documentation, Information Schema PROCESSLIST (MEMORY_USED, MAX_MEMORY_USED); MySQL manual, The threads Table \
             (TOTAL_MEMORY, MAX_TOTAL_MEMORY) and Memory Summary Tables",
    refuted_by: "the largest session is one of its kind, and there are never more of them",
    look,
};

/// The most that is asked for: what each session takes, the largest first. Which of these a server has is found out.
const SESSIONS: [&str; 3] = [
    "SELECT ID AS id, MEMORY_USED AS bytes, MAX_MEMORY_USED AS peak FROM information_schema.PROCESSLIST \
     WHERE COMMAND <> 'Daemon' ORDER BY MAX_MEMORY_USED DESC LIMIT 10000",
    "SELECT PROCESSLIST_ID AS id, TOTAL_MEMORY AS bytes, MAX_TOTAL_MEMORY AS peak FROM performance_schema.threads \
     WHERE PROCESSLIST_ID IS NOT NULL AND TYPE = 'FOREGROUND' AND PROCESSLIST_COMMAND <> 'Daemon' \
     ORDER BY MAX_TOTAL_MEMORY DESC LIMIT 10000",
    "SELECT t.PROCESSLIST_ID AS id, SUM(m.CURRENT_NUMBER_OF_BYTES_USED) AS bytes, SUM(m.CURRENT_NUMBER_OF_BYTES_USED) AS peak \
     FROM performance_schema.threads t JOIN performance_schema.memory_summary_by_thread_by_event_name m USING (THREAD_ID) \
     WHERE t.PROCESSLIST_ID IS NOT NULL GROUP BY t.PROCESSLIST_ID ORDER BY peak DESC LIMIT 10000",
];

/// What sessions take, in bytes.
#[derive(Debug, Clone, PartialEq)]
struct Sessions {
    count: u64,
    average: f64,
    /// The largest that one of them has had, and its number.
    largest: f64,
    id: String,
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let sessions = Sessions::of(&asked(facts)?)?;
    let connected = facts.status("Threads_connected")? as u64;
    let text = sessions.text();
    // An account without the right to see others sees its own.
    if sessions.count * 2 < connected {
        let count = sessions.count;
        return Ok(Outcome::unknown(format!(
            "what sessions take: this account sees {count} of {connected} (GRANT PROCESS shows all)"
        )));
    }
    let limit = match Limit::of_server(facts) {
        Ok(limit) => limit,
        Err(unseen) => {
            let mut outcome = Outcome::unknown(format!("how much memory there is: {unseen}"));
            outcome.fine.push(text);
            return Ok(outcome);
        }
    };
    let allowed = facts.number("max_connections")?;
    let most = facts.status("Max_used_connections").unwrap_or(0.0);
    let caches = sum(&shared(facts)?);
    Ok(judged(&sessions, &Crowd { allowed, most, caches, limit }))
}

fn asked(facts: &Facts) -> Seen<Answer> {
    for sql in SESSIONS {
        match facts.ask(sql) {
            Err(Unseen::Missing) => {}
            other => return other,
        }
    }
    Err(Unseen::Missing)
}

impl Sessions {
    fn of(answer: &Answer) -> Seen<Self> {
        let number = |row: &[Option<String>], column| answer.value(row, column)?.parse::<f64>().ok();
        let each: Vec<(f64, f64)> = answer
            .rows
            .iter()
            .filter_map(|row| Some((number(row, "bytes")?, number(row, "peak")?)))
            .collect();
        let largest = each.iter().map(|(bytes, peak)| peak.max(*bytes)).fold(0.0, f64::max);
        if largest <= 0.0 {
            let why = "the server does not count what sessions take: performance_schema=ON in its option file lets it";
            return Err(Unseen::NotAsked(why.into()));
        }
        let average = each.iter().map(|(bytes, _)| bytes).sum::<f64>() / each.len() as f64;
        Ok(Self {
            count: each.len() as u64,
            average,
            largest,
            id: answer.first("id").unwrap_or("?").to_owned(),
        })
    }

    fn text(&self) -> String {
        format!(
            "{}: {} each on average; the most that one had was {} (session {})",
            show::things(self.count, "session"),
            show::bytes(self.average as u64),
            show::bytes(self.largest as u64),
            self.id
        )
    }
}

/// How many sessions there may be, how many there were, and what there is for them, in bytes.
struct Crowd {
    allowed: f64,
    most: f64,
    caches: u64,
    limit: Limit,
}

fn judged(sessions: &Sessions, crowd: &Crowd) -> Outcome {
    let Crowd { allowed, most, caches, limit } = crowd;
    let with = |count: f64, bytes: f64| *caches as f64 + count * bytes;
    let room = format!(
        "caches take {}; {}; max_connections is {allowed}, and {most} were there at once",
        show::bytes(*caches),
        limit.seen
    );
    let beyond = |bytes: f64| bytes > limit.bytes as f64;
    let average = with(*allowed, sessions.average);
    let (weight, whose, bytes) = if beyond(average) {
        (Weight::Yellow, "the average one", average)
    } else if beyond(with(*most, sessions.largest)) {
        (Weight::Yellow, "the largest one, as many as there were at once", with(*most, sessions.largest))
    } else if beyond(with(*allowed, sessions.largest)) {
        (Weight::Note, "the largest one", with(*allowed, sessions.largest))
    } else {
        return Outcome::fine(format!("{}; {room}", sessions.text()));
    };
    let fit = ((limit.bytes.saturating_sub(*caches)) as f64 / sessions.average.max(1.0)).min(*allowed) as u64;
    let finding = Finding::observed(
        weight,
        format!("max_connections = {allowed} allows more sessions than memory has room for, if they are like {whose}"),
        "allow fewer sessions, or find out what the largest one does: without room the kernel swaps or kills the server",
    )
    .seen(sessions.text())
    .seen(room)
    .effect(format!("{} would be needed, {} are there; {fit} like the average one fit", show::bytes(bytes as u64), show::bytes(limit.bytes)));
    let fewer = (most * 2.0).max(100.0);
    Outcome::found(match fewer < *allowed {
        true => finding.sql(
            format!("SET GLOBAL max_connections = {fewer}"),
            Some(format!("SET GLOBAL max_connections = {allowed}")),
        ),
        false => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_fit_or_do_not() {
        let of = |average: f64, largest: f64, most: f64| {
            let limit = Limit { bytes: 1 << 30, seen: String::new() };
            let sessions = Sessions { count: 10, average, largest, id: "7".into() };
            let outcome = judged(&sessions, &Crowd { allowed: 1000.0, most, caches: 100 << 20, limit });
            outcome.findings.first().map(|finding| finding.weight)
        };
        assert_eq!(of(1e5, 2e5, 20.0), None);
        assert_eq!(of(1e5, 1e7, 20.0), Some(Weight::Note));
        assert_eq!(of(1e5, 1e8, 20.0), Some(Weight::Yellow));
        assert_eq!(of(2e6, 2e6, 20.0), Some(Weight::Yellow));
    }
}
