//! A replica that clients can write to.

use drover_db::Vendor;
use drover_units::show;

use super::cluster::Cluster;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::binlog::replicas::{channels, status};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.writable_replica",
    area: Area::Server,
    looks_for: "a replica that takes writes of clients, and transactions that began on it",
    needs: "SHOW REPLICA STATUS (REPLICATION CLIENT on MySQL, REPLICA MONITOR on MariaDB); variables read_only and super_read_only, \
            gtid_executed on MySQL, gtid_binlog_state on MariaDB",
    source: "MySQL manual, Server System Variables on read_only and super_read_only; MariaDB manual, Read-Only Replicas; both on GTIDs",
    refuted_by: "it is meant to be written: it is one of two sources, or holds schemas that are its own and are not replicated",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let status = status(facts)?;
    let sources: Vec<_> =
        channels(&status).map(|channel| channel.name()).filter(|name| !is_of_group(name)).collect();
    if sources.is_empty() {
        return Ok(Outcome::not_here("it replicates from nobody"));
    }
    let read_only = facts.variable("read_only")?;
    let superiors = facts.is_on("super_read_only");
    let mut seen = vec![format!("SHOW REPLICA STATUS: it replicates from {}", sources.join(", "))];
    seen.push(match &superiors {
        Ok(on) => format!("read_only is {read_only}, super_read_only is {}", if *on { "ON" } else { "OFF" }),
        Err(_) => format!("read_only is {read_only}"),
    });
    seen.push(match own_transactions(facts) {
        Ok(Some(told)) => told,
        Ok(None) => "no transaction in its log has begun on it".to_owned(),
        Err(unseen) => format!("whether transactions have begun on it: {unseen}"),
    });
    // Newer MariaDB has further values, each of which keeps clients from writing.
    if matches!(read_only.to_ascii_uppercase().as_str(), "OFF" | "0") {
        return Ok(Outcome::found(finding(facts, seen, superiors.is_ok())));
    }
    Ok(match superiors {
        Ok(false) => Outcome::found(privileged(seen)),
        _ => Outcome::fine(seen.join("; ")),
    })
}

/// MySQL's channels between the members of a group, which says itself who may write.
fn is_of_group(name: &str) -> bool {
    name.starts_with("group_replication_")
}

fn finding(facts: &Facts, seen: Vec<String>, has_super: bool) -> Finding {
    let name = if has_super { "super_read_only" } else { "read_only" };
    let advice = match Cluster::of(facts) {
        Some(_) => {
            "have clients write to no node of its cluster as long as one of them replicates from elsewhere"
        }
        None => "make it read-only, here and in the option file, if nobody writes to it on purpose",
    };
    let mut finding = Finding::observed(Weight::Yellow, "it is a replica, and clients can write to it", advice).effect(
        "a row that is written here is not on the source: replication stops where the source's changes meet it, or both differ unnoticed",
    );
    finding.seen = seen;
    if Cluster::of(facts).is_some() {
        return finding;
    }
    // super_read_only sets read_only, too, and not back.
    let undo = if has_super {
        "SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF"
    } else {
        "SET GLOBAL read_only = OFF"
    };
    finding.sql(format!("SET GLOBAL {name} = ON"), Some(undo.to_owned()))
}

fn privileged(seen: Vec<String>) -> Finding {
    let mut finding = Finding::observed(
        Weight::Note,
        "it is a replica, and accounts with SUPER or CONNECTION_ADMIN can write to it",
        "turn super_read_only on, here and in the option file",
    )
    .effect("a script that is run by an administrator on the wrong server makes source and replica differ")
    .sql("SET GLOBAL super_read_only = ON", Some("SET GLOBAL super_read_only = OFF".into()));
    finding.seen = seen;
    finding
}

/// What GTIDs tell of transactions that began on this server; none if there are none.
fn own_transactions(facts: &Facts) -> Seen<Option<String>> {
    const SINCE: &str = "of now, or of when it was the source";
    let told = |count: u64, set: &str| {
        (count > 0)
            .then(|| format!("{set} has {} that began on it, {SINCE}", show::things(count, "transaction")))
    };
    match facts.vendor()? {
        Vendor::MySql => {
            if facts.variable("gtid_mode")?.starts_with("OFF") {
                return Err(Unseen::NotAsked("gtid_mode is OFF".into()));
            }
            let own = facts.variable("server_uuid")?;
            Ok(told(of_source(&facts.variable("gtid_executed")?, &own), "gtid_executed"))
        }
        Vendor::MariaDb => {
            if !facts.is_on("log_bin")? {
                return Err(Unseen::NotAsked("no binary log is written".into()));
            }
            let (own, state) = (facts.variable("server_id")?, facts.variable("gtid_binlog_state")?);
            let last = last_of_server(&state, &own);
            Ok(last.map(|gtid| format!("gtid_binlog_state has {gtid}, which began on it, {SINCE}")))
        }
    }
}

/// How many transactions of a source a set of MySQL's holds: `UUID:1-5:tag:7, UUID:…`.
fn of_source(set: &str, uuid: &str) -> u64 {
    let sources = set.split(',').filter_map(|part| part.trim().split_once(':'));
    let own = sources.filter(|(source, _)| source.eq_ignore_ascii_case(uuid));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let interval = |text: &str| match text.split_once('-') {
        Some((first, last)) => Some((number(last)? + 1).saturating_sub(number(first)?)),
        None => number(text).map(|_| 1),
    };
    own.flat_map(|(_, intervals)| intervals.split(':')).filter_map(interval).sum()
}

/// The last transaction of a server in MariaDB's state of its log: `0-1-270,0-2-271`.
fn last_of_server<'a>(state: &'a str, server_id: &str) -> Option<&'a str> {
    let mut gtids = state.split(',').map(str::trim);
    gtids.find(|gtid| gtid.split('-').nth(1) == Some(server_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_of_ones_own() {
        let set =
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:1-9:tag:3-4";
        assert_eq!(of_source(set, "3E11FA47-71CA-11E1-9E33-C80AA9429562"), 6);
        assert_eq!(of_source(set, "4e11fa47-71ca-11e1-9e33-c80aa9429562"), 11);
        assert_eq!(of_source(set, "5e11fa47-71ca-11e1-9e33-c80aa9429562"), 0);
        assert_eq!(last_of_server("0-1-270,0-12-271", "12"), Some("0-12-271"));
        assert_eq!(last_of_server("0-1-270,0-12-271", "2"), None);
        assert_eq!(last_of_server("", "2"), None);
    }
}
