//! What was committed, and is gone after a crash.

use super::replicas;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.sync",
    area: Area::Binlog,
    looks_for: "settings with which a crash loses what was committed: sync_binlog, innodb_flush_log_at_trx_commit, \
                innodb_doublewrite, innodb_flush_method",
    needs: "the server's variables; who replicates: SHOW REPLICAS (REPLICATION SLAVE on MySQL, REPLICATION MASTER ADMIN on MariaDB)",
    source: "MySQL manual, Binary Logging Options and Variables, and InnoDB Startup Options and System Variables; MariaDB \
             manual, Group Commit for the Binary Log, and InnoDB Flush Method",
    refuted_by: "what is lost can be had again from elsewhere, as on a server for tests; or the storage has a cache with a battery and \
                 the host never crashes",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    let replicas = if facts.is_on("log_bin")? { replicas::connected(facts) } else { Ok(Vec::new()) };
    for (variable, loss) in
        [(SYNC, log_loss as Loss), (FLUSH, redo_loss), (DOUBLEWRITE, torn_pages), (METHOD, nothing_synced)]
    {
        let value = match facts.variable(variable) {
            Err(Unseen::Missing) => continue,
            value => value?,
        };
        match loss(facts, &value)? {
            Some(finding) => outcome.findings.push(with_replicas(finding, variable, &value, &replicas)),
            None => outcome.fine.push(format!("{variable} is {value}")),
        }
    }
    if let (false, Err(unseen)) = (outcome.findings.is_empty(), &replicas) {
        outcome.unknown.push(format!("whether replicas are connected: {unseen}"));
    }
    Ok(outcome)
}

const SYNC: &str = "sync_binlog";
const FLUSH: &str = "innodb_flush_log_at_trx_commit";
const DOUBLEWRITE: &str = "innodb_doublewrite";
const METHOD: &str = "innodb_flush_method";

/// What a value of a variable loses.
type Loss = fn(&Facts, &str) -> Seen<Option<Finding>>;

fn log_loss(facts: &Facts, value: &str) -> Seen<Option<Finding>> {
    if value == "1" || !facts.is_on("log_bin")? {
        return Ok(None);
    }
    let finding = Finding::observed(
        Weight::Yellow,
        "the binary log is not on disk when a commit is answered",
        "set it to 1, here and in the option file, unless what is lost can be had again from elsewhere",
    );
    let lost = match value {
        "0" => "what the kernel had not written yet".to_owned(),
        commits => format!("the last {commits} groups of commits, at most"),
    };
    let lost = format!(
        "a crash of the host loses {lost}: a replica may have it, and the data may, while the log does not"
    );
    Ok(Some(dynamic(finding.effect(lost), SYNC, value)))
}

fn redo_loss(facts: &Facts, value: &str) -> Seen<Option<Finding>> {
    if value == "1" {
        return Ok(None);
    }
    let crash = if value == "0" { "a crash of the server or the host" } else { "a crash of the host" };
    let rate = match facts.growth("Handler_commit") {
        Ok((commits, seconds)) => {
            format!("; there were {commits:.0} commits of engines a second, over {seconds:.1} s")
        }
        Err(_) => String::new(),
    };
    let finding = Finding::observed(
        Weight::Yellow,
        "InnoDB's redo log is not on disk when a commit is answered",
        "set it to 1, here and in the option file, unless what is lost can be had again from elsewhere",
    )
    .effect(format!("{crash} loses about a second of what was committed{rate}"));
    Ok(Some(dynamic(finding, FLUSH, value)))
}

fn dynamic(finding: Finding, variable: &str, now: &str) -> Finding {
    finding.sql(format!("SET GLOBAL {variable} = 1"), Some(format!("SET GLOBAL {variable} = {now}")))
}

fn torn_pages(_: &Facts, value: &str) -> Seen<Option<Finding>> {
    if !matches!(value.to_ascii_uppercase().as_str(), "OFF" | "0" | "DETECT_ONLY") {
        return Ok(None);
    }
    let finding = Finding::observed(
        Weight::Yellow,
        "pages are not written twice",
        "turn it on in the option file, unless the file system never writes parts of a page, as ZFS with records of at least a page",
    );
    Ok(Some(
        finding.effect("a page that is written when the power fails may be torn, and nothing repairs it"),
    ))
}

fn nothing_synced(_: &Facts, value: &str) -> Seen<Option<Finding>> {
    if !value.eq_ignore_ascii_case("nosync") {
        return Ok(None);
    }
    let finding = Finding::observed(
        Weight::Red,
        "InnoDB syncs nothing",
        "take innodb_flush_method from the option file and restart: nosync is for tests only",
    );
    Ok(Some(finding.effect("after a crash of the host all tables may be unreadable")))
}

/// With replicas, source and replica differ after the crash, and nobody notices.
fn with_replicas(finding: Finding, variable: &str, value: &str, replicas: &Seen<Vec<String>>) -> Finding {
    let mut finding = finding.about(variable).seen(format!("{variable} is {value}"));
    if let Ok(names) = replicas
        && !names.is_empty()
        && [SYNC, FLUSH].contains(&variable)
    {
        finding.weight = Weight::Red;
        finding = finding
            .seen(format!("connected to it: {}; after a crash they have what it has lost", names.join(", ")));
    }
    finding
}
