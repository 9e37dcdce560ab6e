//! The compliance card: which of the specification's rules a run keeps, and each that it does not keep. It says why a result is no TPC-C
//! result, and what of it can be compared with others.

use std::time::Duration;

use serde::Serialize;

use super::detail::Run;
use super::kind::Kind;
use super::pace::Load;
use super::random::Constants;
use crate::environment::Environment;

/// A line of the card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The clause of the specification, revision 5.11.
    pub clause: String,
    /// Whether it is kept.
    pub is_kept: bool,
    /// What it asks for, or what was done instead.
    pub text: String,
}

/// What the card is about.
pub(super) struct Facts<'a> {
    pub(super) environment: &'a Environment,
    pub(super) runs: &'a [Run],
    pub(super) warehouses: u32,
    pub(super) load: Load,
    pub(super) seconds: Duration,
    pub(super) constants: Constants,
}

/// The shortest time that the specification takes for a measurement (clause 5.5.2.1).
const SHORTEST: Duration = Duration::from_secs(2 * 3600);
/// Terminals of a warehouse (clause 2.2.2).
const TERMINALS: u32 = 10;

fn kept(clause: &str, text: impl Into<String>) -> Line {
    Line { clause: clause.to_owned(), is_kept: true, text: text.into() }
}

fn deviates(clause: &str, text: impl Into<String>) -> Line {
    Line { clause: clause.to_owned(), is_kept: false, text: text.into() }
}

/// The card of some runs.
pub(super) fn lines(facts: &Facts<'_>) -> Vec<Line> {
    let mut lines = always(facts.constants);
    lines.push(terminals(facts));
    lines.push(pacing(facts.load));
    lines.push(remote(facts.warehouses));
    lines.extend(durability(facts.environment));
    if facts.seconds < SHORTEST {
        let text = format!(
            "measured for {} s at a time; the specification takes 120 minutes",
            facts.seconds.as_secs()
        );
        lines.push(deviates("5.5.2", text));
    }
    lines.extend(Kind::ALL.into_iter().map(|kind| response_time(facts.runs, kind)));
    lines.sort_by_key(|line| numbers(&line.clause));
    lines
}

/// The numbers of the first clause that is named, to sort by.
fn numbers(clause: &str) -> Vec<u32> {
    let first = clause.split(' ').next().unwrap_or_default();
    first.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// What holds for each run, whatever it was told.
fn always(constants: Constants) -> Vec<Line> {
    let Constants { c_last, c_id, ol_i_id } = constants;
    vec![
        deviates(
            "0.2",
            "TPC-C-like: no price, no audit, no full disclosure; New-Orders a minute are not tpmC",
        ),
        kept(
            "2.4 to 2.8",
            "the five transactions with their inputs, and rows of all nine tables as in clause 4.3.3",
        ),
        kept(
            "2.1.6",
            format!(
                "NURand with one C for each field and run: C_LAST {c_last}, C_ID {c_id}, OL_I_ID {ol_i_id}"
            ),
        ),
        kept(
            "2.4.1.4",
            "one New-Order in a hundred, at random, has an unused item and is rolled back after its lines were worked",
        ),
        kept("5.2.4.2", "the mix is dealt from decks of 23 cards for each terminal: 10, 10, 1, 1, 1"),
        deviates(
            "2.2",
            "no terminals with forms: a connection stands for one, what it reads is not shown, and a deadlock is tried again at once with \
             the same input",
        ),
        deviates(
            "2.7.2",
            "Delivery is not queued: it is run at once, all ten districts in one transaction, its time counts to its end, and no result \
             file is written",
        ),
        deviates(
            "3.4",
            "isolation is READ COMMITTED, with rows locked before what depends on them changes; what is read without a lock is never changed \
             by the five transactions; Order-Status reads as of one moment (REPEATABLE READ)",
        ),
        deviates(
            "3.2 to 3.5",
            "atomicity, consistency, isolation and durability are not tested here; `bench tpcc check` tests consistency",
        ),
        deviates("4.2", "no space for 60 days of growth is asked for, and none is priced"),
        deviates(
            "4.3.3",
            "dates of loaded rows are one constant, so that the same seed loads the same rows; foreign keys are not declared",
        ),
        deviates(
            "2.4.2",
            "several rows of one table are read or changed by one statement where their keys are known: the items, the stock of a \
             warehouse and the lines of an order, and the orders of a Delivery",
        ),
    ]
}

fn terminals(facts: &Facts<'_>) -> Line {
    let most = facts.runs.iter().map(|run| run.connections).max().unwrap_or(0);
    let asked = facts.warehouses * TERMINALS;
    match most == asked && facts.runs.iter().all(|run| run.connections == most) {
        true => kept("2.2.2", "ten terminals for each warehouse, each with its home warehouse and district"),
        false => deviates(
            "2.2.2",
            format!(
                "{most} terminals at most for {} warehouses, each with its home warehouse; the specification has ten a warehouse, which are \
                 {asked}",
                facts.warehouses
            ),
        ),
    }
}

fn pacing(load: Load) -> Line {
    match load {
        Load::Think => kept(
            "5.2.5",
            "keying and think times; no more than 12.86 New-Orders a minute can come of a warehouse",
        ),
        Load::Closed => deviates(
            "5.2.5",
            "no keying and think times: a terminal's next transaction begins when the one before is done",
        ),
        Load::Open { rate, .. } => deviates(
            "5.2.5",
            format!(
                "no keying and think times: {rate} transactions a second are begun, whether or not earlier ones are done"
            ),
        ),
    }
}

fn remote(warehouses: u32) -> Line {
    match warehouses {
        1 => deviates("2.4.1.5", "there is one warehouse only, so nothing is ordered or paid in another one"),
        _ => kept(
            "2.4.1.5",
            "one order line in a hundred is supplied by another warehouse's stock, 15 Payments in a hundred are made elsewhere",
        ),
    }
}

/// What a crash of the server would cost, as far as its settings tell.
fn durability(environment: &Environment) -> Vec<Line> {
    let settings: &[(String, String)] = environment.server.as_ref().map_or(&[], |server| &server.settings);
    let value =
        |name: &str| settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut lines = Vec::new();
    match value("innodb_flush_log_at_trx_commit") {
        Some("1") => lines.push(kept("3.5", "the server flushes its redo log at each commit")),
        Some(other) => lines.push(deviates(
            "3.5",
            format!("innodb_flush_log_at_trx_commit is {other}: a crash of the host may lose the last second of transactions"),
        )),
        None => {}
    }
    if matches!(value("log_bin"), Some("ON" | "1")) && value("sync_binlog").is_some_and(|value| value != "1")
    {
        lines.push(deviates(
            "3.5",
            "sync_binlog is not 1: after a crash the binary log may lack what the tables hold",
        ));
    }
    if matches!(value("innodb_doublewrite"), Some("OFF" | "0")) {
        lines.push(deviates("3.5", "innodb_doublewrite is OFF: a page that was torn by a crash is lost"));
    }
    lines
}

/// Of each run, the p90 from when transactions were to begin.
fn response_time(runs: &[Run], kind: Kind) -> Line {
    let of_runs = runs.iter().filter_map(|run| run.of_kind(kind)).filter(|of_kind| of_kind.done > 0);
    let worst = of_runs.map(|of_kind| of_kind.from_intended.p90_ms).fold(0.0, f64::max) / 1000.0;
    let most = kind.most_p90().as_secs();
    let text = format!("90 of 100 {} transactions within {most} s: {worst:.3} s", kind.name());
    if worst <= most as f64 { kept("5.2.5.3", text) } else { deviates("5.2.5.3", text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::ServerFacts;

    fn facts(environment: &Environment, warehouses: u32, load: Load) -> Vec<Line> {
        let constants = Constants { c_last: 1, c_id: 2, ol_i_id: 3 };
        lines(&Facts {
            environment,
            runs: &[],
            warehouses,
            load,
            seconds: Duration::from_secs(60),
            constants,
        })
    }

    fn says(lines: &[Line], is_kept: bool, words: &str) -> bool {
        lines.iter().any(|line| line.is_kept == is_kept && line.text.contains(words))
    }

    #[test]
    fn what_deviates_is_said() {
        let settings = [("innodb_flush_log_at_trx_commit", "2"), ("log_bin", "ON"), ("sync_binlog", "0")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let server = Some(ServerFacts { settings, ..ServerFacts::default() });
        let environment = Environment { server, ..Environment::default() };
        let closed = facts(&environment, 1, Load::Closed);
        for words in [
            "no price",
            "one warehouse only",
            "trx_commit is 2",
            "sync_binlog is not 1",
            "no keying",
            "120 minutes",
        ] {
            assert!(says(&closed, false, words), "{words}");
        }
        let think = facts(&Environment::default(), 4, Load::Think);
        assert!(
            says(&think, true, "keying and think times") && says(&think, true, "another warehouse's stock")
        );
        assert!(!says(&think, false, "trx_commit"));
    }
}
