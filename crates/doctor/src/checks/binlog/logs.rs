//! The binary logs that a server has, and how fast the last one grows. Not a check.

use crate::evidence::{Answer, Moment, Seen, Unseen};
use crate::facts::Facts;

/// A binary log: its name and its length in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Log {
    /// Its name.
    pub(crate) name: String,
    /// Its length.
    pub(crate) bytes: u64,
}

/// All of them, the oldest first.
pub(crate) fn all(facts: &Facts) -> Seen<Vec<Log>> {
    let answer = facts.ask("SHOW BINARY LOGS")?;
    let log = |row: &Vec<Option<String>>| {
        Some(Log {
            name: answer.value(row, "Log_name")?.to_owned(),
            bytes: answer.value(row, "File_size")?.parse().ok()?,
        })
    };
    Ok(answer.rows.iter().filter_map(log).collect())
}

/// What is added to the log each second of the interval, in bytes, and the interval in seconds.
pub(crate) fn growth(facts: &Facts) -> Seen<(f64, f64)> {
    let end = |moment| end_of(&facts.log_end_at(moment)?).ok_or(Unseen::Missing);
    let (before, after) = (end(Moment::Before)?, end(Moment::After)?);
    let logs = if before.name == after.name { Vec::new() } else { all(facts)? };
    let grown = grown(&before, &after, &logs)
        .ok_or_else(|| Unseen::Failed(format!("{} was removed meanwhile", before.name)))?;
    let (_, seconds) = facts.growth("Uptime")?;
    Ok((grown as f64 / seconds, seconds))
}

/// Where the log ended.
fn end_of(answer: &Answer) -> Option<Log> {
    Some(Log { name: answer.first("File")?.to_owned(), bytes: answer.first("Position")?.parse().ok()? })
}

/// By how much the log has grown from one end to the other; `logs` are those there are, where another one was begun between.
fn grown(before: &Log, after: &Log, logs: &[Log]) -> Option<u64> {
    if before.name == after.name {
        return after.bytes.checked_sub(before.bytes);
    }
    let since = logs.iter().skip_while(|log| log.name != before.name);
    let closed = since.take_while(|log| log.name != after.name).map(|log| log.bytes).collect::<Vec<_>>();
    match closed.is_empty() {
        true => None,
        false => (closed.iter().sum::<u64>() + after.bytes).checked_sub(before.bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_over_several_logs() {
        let log = |name: &str, bytes| Log { name: name.into(), bytes };
        let logs = [log("a.1", 500), log("a.2", 1000), log("a.3", 300), log("a.4", 70)];
        assert_eq!(grown(&log("a.4", 20), &log("a.4", 70), &[]), Some(50));
        assert_eq!(grown(&log("a.2", 900), &log("a.4", 50), &logs), Some(100 + 300 + 50));
        assert_eq!(grown(&log("a.0", 900), &log("a.4", 50), &logs), None);
        assert_eq!(grown(&log("a.4", 90), &log("a.4", 50), &logs), None);
    }
}
