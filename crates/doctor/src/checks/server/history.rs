//! Old versions of rows that purge has not removed, and the transaction that keeps them.

use drover_db::Vendor;
use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.history",
    area: Area::Server,
    looks_for: "a transaction that keeps InnoDB from removing old versions of rows",
    needs: "information_schema.INNODB_TRX (PROCESS); the length of the history list: status variable \
            Innodb_history_list_length on MariaDB, information_schema.INNODB_METRICS on MySQL",
    source: "MySQL manual, InnoDB Multi-Versioning and Purge Configuration",
    refuted_by: "the history list does not get shorter after the oldest transaction has ended: purge itself is too slow",
    look,
};

/// Transactions that purge is behind by, from which on a reader notices: each costs a look at an older version.
const LONG: u64 = 100_000;
/// Seconds.
const OLD: u64 = 600;

const OLDEST: &str = "SELECT trx_mysql_thread_id AS id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS age \
                      FROM information_schema.INNODB_TRX ORDER BY trx_started LIMIT 1";
const LENGTH: &str = "SELECT COUNT AS length FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len' AND \
                      STATUS = 'enabled'";

fn look(facts: &Facts) -> Seen<Outcome> {
    let (length, unknown) = match length(facts) {
        Ok(length) => (Some(length), Vec::new()),
        // MySQL before 5.6 tells it in a text only.
        Err(Unseen::Missing) => (None, vec!["how long the history list is: not there".to_owned()]),
        Err(unseen) => return Err(unseen),
    };
    let oldest = facts.ask(OLDEST)?;
    let number = |column| oldest.first(column).and_then(|value| value.parse::<u64>().ok());
    let (id, age) = (number("id"), number("age").unwrap_or(0));
    let kept =
        length.map(|length| format!("{} transactions of which old rows are kept; ", show::count(length)));
    let seen = format!("{}the oldest open one is {} old", kept.unwrap_or_default(), show::span(age));
    let outcome = match judge(length.unwrap_or(0), id, age) {
        Some(finding) => Outcome::found(finding.seen(seen)),
        None => Outcome::fine(seen),
    };
    Ok(Outcome { unknown, ..outcome })
}

/// What is wrong with a history of that length, whose oldest open transaction is that of session `id`, `age` seconds old.
fn judge(length: u64, id: Option<u64>, age: u64) -> Option<Finding> {
    match id {
        // A prepared XA transaction whose client is gone belongs to no session: there is nothing to KILL.
        Some(0) if age >= OLD => Some(
            Finding::observed(
                if length >= LONG { Weight::Red } else { Weight::Yellow },
                format!("a prepared XA transaction has been waiting for {}", show::span(age)),
                "XA RECOVER CONVERT XID shows it; ask its transaction manager whether to XA COMMIT or XA ROLLBACK it: all that \
                 others change meanwhile is kept, and it keeps its locks",
            )
            .about("XA PREPARED"),
        ),
        Some(id) if age >= OLD => Some(
            Finding::observed(
                if length >= LONG { Weight::Red } else { Weight::Yellow },
                format!("session {id} has a transaction open for {}", show::span(age)),
                "end that transaction: all that others change meanwhile is kept, and read over",
            )
            .about(format!("session {id}"))
            .sql(format!("KILL {id}"), None),
        ),
        _ if length >= LONG => Some(Finding::observed(
            Weight::Yellow,
            "purge is behind",
            "see whether the list gets shorter by itself; large statements are done in parts by `drover chunk --max-history`",
        )),
        _ => None,
    }
}

fn length(facts: &Facts) -> Seen<u64> {
    match facts.vendor()? {
        Vendor::MariaDb => Ok(facts.status("Innodb_history_list_length")? as u64),
        Vendor::MySql => {
            let answer = facts.ask(LENGTH)?;
            answer.first("length").and_then(|length| length.parse().ok()).ok_or(Unseen::Missing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_was_left_open() {
        let of = |length, age| judge(length, Some(17), age).map(|finding| finding.weight);
        assert_eq!(of(200_000, 7200), Some(Weight::Red));
        assert_eq!(of(10, 7200), Some(Weight::Yellow));
        assert_eq!(of(200_000, 5), Some(Weight::Yellow));
        assert_eq!(of(10, 5), None);
        assert_eq!(judge(10, None, 0), None);
        let prepared = judge(10, Some(0), 7200).unwrap();
        assert!(prepared.remedies.is_empty() && prepared.what.contains("prepared XA"), "{prepared:?}");
    }
}
