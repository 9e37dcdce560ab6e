//! A query cache that is on, and how often it helps.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.query_cache",
    area: Area::Server,
    looks_for: "a query cache that is on: its one mutex is taken by each SELECT and each change, and how often it has an answer",
    needs: "variables query_cache_type and query_cache_size, status variables Qcache_*; performance_schema for waits on its mutex",
    source: "MariaDB manual, Query Cache; MySQL 5.7 manual, The MySQL Query Cache; MySQL 8.0 manual, What Is New: removed",
    refuted_by: "the same load takes longer without it: few sessions, large answers to the same statements, few changes",
    look,
};

const MUTEX: &str = "SELECT COUNT_STAR AS waits, SUM_TIMER_WAIT / 1e12 AS seconds FROM \
                     performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_NAME LIKE \
                     'wait/synch/mutex/sql/Query_cache::structure_guard_mutex'";

fn look(facts: &Facts) -> Seen<Outcome> {
    let Ok(kind) = facts.variable("query_cache_type") else {
        // Whether it has none or nobody was asked, the version tells.
        facts.version()?;
        return Ok(Outcome::not_here("this server has no query cache"));
    };
    let bytes = facts.number("query_cache_size")?;
    if matches!(kind.to_ascii_uppercase().as_str(), "OFF" | "0") || bytes == 0.0 {
        return Ok(Outcome::fine(format!("query_cache_type is {kind}, query_cache_size {bytes:.0}")));
    }
    let counts = Counts {
        hits: facts.status("Qcache_hits")?,
        inserts: facts.status("Qcache_inserts")?,
        not_cached: facts.status("Qcache_not_cached")?,
        prunes: facts.status("Qcache_lowmem_prunes")?,
    };
    let uptime = facts.status("Uptime")?;
    let finding = Finding::observed(
        counts.weight(),
        counts.what(),
        "turn it off, here and in the option file, and measure the load again",
    )
    .seen(format!("query_cache_type is {kind}, query_cache_size {}", show::bytes(bytes as u64)))
    .seen(format!("in {} since the server started: {}", show::seconds(uptime), counts.told()))
    .effect(mutex(facts))
    .sql(
        "SET GLOBAL query_cache_type = OFF, GLOBAL query_cache_size = 0",
        Some(format!("SET GLOBAL query_cache_size = {bytes:.0}, GLOBAL query_cache_type = {kind}")),
    );
    Ok(Outcome::found(finding))
}

/// What the cache has done since the server started.
#[derive(Debug, Clone, Copy)]
struct Counts {
    /// SELECTs that it had the answer to.
    hits: f64,
    /// Answers that were put into it.
    inserts: f64,
    /// SELECTs that cannot be cached.
    not_cached: f64,
    /// Answers that were thrown out to make room.
    prunes: f64,
}

impl Counts {
    fn selects(self) -> f64 {
        self.hits + self.inserts + self.not_cached
    }

    /// Where an answer is used more often than it is put in, it gives something back.
    fn weight(self) -> Weight {
        if self.selects() > 0.0 && self.hits < self.inserts + self.prunes {
            Weight::Yellow
        } else {
            Weight::Note
        }
    }

    fn what(self) -> String {
        let selects = self.selects();
        match selects > 0.0 {
            true => format!(
                "the query cache is on, and has answered {:.1} % of all SELECTs",
                self.hits / selects * 100.0
            ),
            false => "the query cache is on, and nobody has selected anything yet".to_owned(),
        }
    }

    fn told(self) -> String {
        let [hits, inserts, not_cached, prunes] =
            [self.hits, self.inserts, self.not_cached, self.prunes].map(|number| show::count(number as u64));
        format!(
            "{hits} hits, {inserts} inserts, {prunes} of these pruned for lack of memory, {not_cached} not cached"
        )
    }
}

/// What sessions wait for its mutex, where the server has timed that.
fn mutex(facts: &Facts) -> String {
    let timed = facts.ask(MUTEX).ok().and_then(|told| {
        let number = |column| told.first(column)?.parse::<f64>().ok();
        Some((number("waits").filter(|waits| *waits > 0.0)?, number("seconds")?))
    });
    match timed {
        Some((waits, seconds)) => format!(
            "its mutex was taken {} times, which took sessions {} since the server started",
            show::count(waits as u64),
            show::seconds(seconds)
        ),
        None => "each SELECT and each change of a table takes its one mutex; how long sessions wait for it is unknown, as \
                 performance_schema has not timed it"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_used_or_not() {
        let of = |hits, inserts, prunes| Counts { hits, inserts, not_cached: 10.0, prunes }.weight();
        assert_eq!(of(1000.0, 100.0, 50.0), Weight::Note);
        assert_eq!(of(90.0, 100.0, 0.0), Weight::Yellow);
        assert_eq!(of(110.0, 100.0, 90.0), Weight::Yellow);
        assert_eq!(Counts { hits: 0.0, inserts: 0.0, not_cached: 0.0, prunes: 0.0 }.weight(), Weight::Note);
    }
}
