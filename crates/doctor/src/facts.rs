//! What several checks ask for: the server's version, its variables, its status over an interval, its process.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::Duration;

use drover_db::Vendor;

use crate::evidence::{Answer, Evidence, Moment, Seen, Unseen};

const VARIABLES: &str = "SHOW GLOBAL VARIABLES";
/// Files that are read at both ends of the interval.
const GROWING: [&str; 2] = ["/proc/uptime", "/proc/vmstat"];
/// What the kernel's driver tells of each bond, counts of lost links among it.
pub(crate) const PROC_BONDING: &str = "/proc/net/bonding";

type Names = BTreeMap<String, String>;

/// The evidence, and what has been read out of it.
#[derive(Debug)]
pub struct Facts {
    /// What all is read from.
    pub evidence: Evidence,
    /// The version that the server is compared with; `None` for the newest known one.
    pub target: Option<String>,
    variables: OnceCell<Seen<Names>>,
}

impl Facts {
    /// Looks twice at what grows, so long apart. Nothing else is read before it is asked for.
    pub fn gather(evidence: Evidence, interval: Duration) -> Self {
        let facts = Self { evidence, target: None, variables: OnceCell::new() };
        facts.look_at_growth(Moment::Before);
        if facts.evidence.is_live() || facts.evidence.is_this_host() {
            std::thread::sleep(interval);
        }
        facts.look_at_growth(Moment::After);
        facts
    }

    fn look_at_growth(&self, moment: Moment) {
        // What cannot be seen is remembered as such, and told by who asks for it.
        drop(self.status_of(moment));
        drop(self.log_end_at(moment));
        GROWING.iter().for_each(|path| drop(self.evidence.text_at(path, moment)));
        for bond in self.evidence.list(PROC_BONDING).unwrap_or_default() {
            drop(self.evidence.text_at(format!("{PROC_BONDING}/{bond}"), moment));
        }
    }

    /// The name of the binary log that the server writes, and its length, at one end of the interval. No rows where it writes none.
    pub fn log_end_at(&self, moment: Moment) -> Seen<Answer> {
        let ask = |what: &str| self.evidence.ask(&format!("SHOW {what} STATUS /* {} */", moment.name()));
        match ask("BINARY LOG") {
            // MySQL before 8.2 knows the other name only; the message is that of a syntax error.
            Err(Unseen::Failed(_) | Unseen::Missing) => ask("MASTER"),
            other => other,
        }
    }

    /// What the server answers.
    pub fn ask(&self, sql: &str) -> Seen<Answer> {
        self.evidence.ask(sql)
    }

    /// Who makes the server.
    pub fn vendor(&self) -> Seen<Vendor> {
        let comment = self.variable("version_comment").unwrap_or_default();
        let text = format!("{} {comment}", self.variable("version")?);
        Ok(if text.to_ascii_lowercase().contains("mariadb") { Vendor::MariaDb } else { Vendor::MySql })
    }

    /// Major, minor and patch number.
    pub fn version(&self) -> Seen<(u32, u32, u32)> {
        let version = self.variable("version")?;
        let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        Ok((next(), next(), next()))
    }

    /// A global variable; [`Unseen::Missing`] if this server has none of that name.
    pub fn variable(&self, name: &str) -> Seen<String> {
        let variables = self.variables.get_or_init(|| self.evidence.ask(VARIABLES).map(|all| names(&all)));
        variables.as_ref().map_err(Clone::clone)?.get(name).cloned().ok_or(Unseen::Missing)
    }

    /// A variable that is a number.
    pub fn number(&self, name: &str) -> Seen<f64> {
        parsed(name, &self.variable(name)?)
    }

    /// Whether a variable is on, however it says so.
    pub fn is_on(&self, name: &str) -> Seen<bool> {
        Ok(matches!(self.variable(name)?.to_ascii_uppercase().as_str(), "ON" | "1" | "YES" | "TRUE"))
    }

    /// A status variable that is a number, at the end of the interval.
    pub fn status(&self, name: &str) -> Seen<f64> {
        self.status_at(Moment::After, name)
    }

    /// By how much a status variable has grown each second of the interval, and the interval in seconds.
    pub fn growth(&self, name: &str) -> Seen<(f64, f64)> {
        let time = |moment| self.status_at(moment, TIME);
        let seconds = time(Moment::After)? - time(Moment::Before)?;
        per_second(name, self.status_at(Moment::Before, name)?, self.status(name)?, seconds)
    }

    /// By how much a number of /proc/vmstat has grown each second of the interval, and the interval in seconds.
    pub fn vmstat_growth(&self, name: &str) -> Seen<(f64, f64)> {
        let at = |moment| -> Seen<(f64, f64)> {
            let uptime = self.evidence.text_at("/proc/uptime", moment)?;
            let numbers = self.evidence.text_at("/proc/vmstat", moment)?;
            let line = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
            let value = numbers.lines().find_map(line).ok_or(Unseen::Missing)?;
            let uptime = uptime.split_whitespace().next().unwrap_or_default();
            Ok((parsed("/proc/uptime", uptime)?, parsed(name, &value)?))
        };
        let ((from, before), (to, after)) = (at(Moment::Before)?, at(Moment::After)?);
        per_second(name, before, after, to - from)
    }

    fn status_at(&self, moment: Moment, name: &str) -> Seen<f64> {
        let status = self.status_of(moment)?;
        let row =
            status.rows.iter().find(|row| row.first().is_some_and(|known| known.as_deref() == Some(name)));
        parsed(name, row.and_then(|row| row.get(1)?.as_deref()).ok_or(Unseen::Missing)?)
    }

    /// The status, and the server's time as one of its variables.
    fn status_of(&self, moment: Moment) -> Seen<Answer> {
        let moment = moment.name();
        let time = self.evidence.ask(&format!("SELECT '{TIME}', UNIX_TIMESTAMP(NOW(6)) /* {moment} */"));
        let mut status = self.evidence.ask(&format!("SHOW GLOBAL STATUS /* {moment} */"))?;
        match time {
            Ok(time) => status.rows.extend(time.rows),
            // MySQL before 5.6 knows whole seconds only.
            Err(Unseen::Failed(_)) => {
                let uptime = status
                    .rows
                    .iter()
                    .find(|row| matches!(row.first(), Some(Some(name)) if name == "Uptime"));
                let uptime = uptime.and_then(|row| row.get(1)?.clone());
                status.rows.push(vec![Some(TIME.into()), uptime]);
            }
            Err(unseen) => return Err(unseen),
        }
        Ok(status)
    }
}

/// The server's time, in seconds.
const TIME: &str = "drover_time";

fn per_second(name: &str, before: f64, after: f64, seconds: f64) -> Seen<(f64, f64)> {
    match seconds > 0.0 && after >= before {
        true => Ok(((after - before) / seconds, seconds)),
        false => Err(Unseen::Failed(format!("{name} was set to 0 meanwhile"))),
    }
}

fn names(answer: &Answer) -> Names {
    let pair = |row: &Vec<Option<String>>| {
        Some((row.first()?.clone()?, row.get(1).cloned().flatten().unwrap_or_default()))
    };
    answer.rows.iter().filter_map(pair).collect()
}

fn parsed(name: &str, value: &str) -> Seen<f64> {
    value.parse().map_err(|_| Unseen::Failed(format!("{name} is no number: {value}")))
}
