//! Who replicates from the server, and from whom it replicates. Not a check.

use crate::evidence::{Answer, Seen, Unseen};
use crate::facts::Facts;

/// The answer to the first of these statements that the server knows.
pub(crate) fn first_known(facts: &Facts, statements: &[&str]) -> Seen<Answer> {
    let mut last = Err(Unseen::Missing);
    for statement in statements {
        last = facts.ask(statement);
        // What a server does not know is an error of syntax, or of a name.
        if !matches!(last, Err(Unseen::Failed(_) | Unseen::Missing)) {
            break;
        }
    }
    last
}

/// The replicas that are connected now: their server ids, and where they say that they are.
pub(crate) fn connected(facts: &Facts) -> Seen<Vec<String>> {
    let rows = first_known(facts, &["SHOW REPLICAS", "SHOW REPLICA HOSTS", "SHOW SLAVE HOSTS"])?;
    let name = |row: &Vec<Option<String>>| {
        let id = rows.value(row, "Server_Id").unwrap_or("?");
        match rows.value(row, "Host").filter(|host| !host.is_empty()) {
            Some(host) => format!("{host} (server id {id})"),
            None => format!("server id {id}"),
        }
    };
    Ok(rows.rows.iter().map(name).collect())
}

/// One source that this server replicates from.
#[derive(Debug)]
pub(crate) struct Channel<'a> {
    answer: &'a Answer,
    row: &'a [Option<String>],
}

/// What the server says of its replication, a row for each source.
pub(crate) fn status(facts: &Facts) -> Seen<Answer> {
    first_known(facts, &["SHOW ALL REPLICAS STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"])
}

/// Those sources.
pub(crate) fn channels(status: &Answer) -> impl Iterator<Item = Channel<'_>> {
    status.rows.iter().map(|row| Channel { answer: status, row })
}

impl Channel<'_> {
    /// A column; the older name is found by the newer: `Replica_IO_Running`, `Seconds_Behind_Source`.
    pub(crate) fn value(&self, column: &str) -> Option<&str> {
        let older = || column.replace("Replica", "Slave").replace("Source", "Master");
        self.answer.value(self.row, column).or_else(|| self.answer.value(self.row, &older()))
    }

    /// A column that is a number.
    pub(crate) fn number(&self, column: &str) -> Option<u64> {
        self.value(column)?.parse().ok()
    }

    /// What to call it: its name, or where its source is.
    pub(crate) fn name(&self) -> String {
        let named = self.value("Connection_name").or_else(|| self.value("Channel_Name"));
        match named.filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None => self.value("Source_Host").unwrap_or("its source").to_owned(),
        }
    }

    /// What statements add to be about it: nothing, or its name in MariaDB's or MySQL's way.
    pub(crate) fn clause(&self) -> (String, String) {
        let quoted = |name: &str| format!(" '{}'", name.replace('\'', "''"));
        match (self.value("Connection_name"), self.value("Channel_Name")) {
            (Some(name), _) if !name.is_empty() => (quoted(name), String::new()),
            (_, Some(name)) if !name.is_empty() => (String::new(), format!(" FOR CHANNEL{}", quoted(name))),
            _ => Default::default(),
        }
    }
}
