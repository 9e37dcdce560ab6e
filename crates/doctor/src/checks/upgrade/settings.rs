//! The variables that somebody has set.

use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

/// MariaDB tells of each variable where its value is from. AUTO is what the server works out by itself.
const MARIADB: &str = "\
    SELECT LOWER(VARIABLE_NAME) AS name, GLOBAL_VALUE_ORIGIN AS origin, GLOBAL_VALUE_PATH AS place FROM \
    information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO') LIMIT 1000";
/// Before 10.5 it does not tell the file.
const OLD_MARIADB: &str = "\
    SELECT LOWER(VARIABLE_NAME) AS name, GLOBAL_VALUE_ORIGIN AS origin, NULL AS place FROM information_schema.SYSTEM_VARIABLES \
    WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO') LIMIT 1000";
/// MySQL lists those of a session too, such as `timestamp`, which each client sets for itself: they have no global value.
const MYSQL: &str = "\
    SELECT LOWER(VARIABLE_NAME) AS name, VARIABLE_SOURCE AS origin, VARIABLE_PATH AS place FROM \
    performance_schema.variables_info JOIN performance_schema.global_variables USING (VARIABLE_NAME) \
    WHERE VARIABLE_SOURCE <> 'COMPILED' LIMIT 1000";

/// A variable that somebody has set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// Its name, in small letters.
    pub(super) name: String,
    pub(super) origin: Origin,
}

/// Where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// When the server was started: in this file, or on the command line.
    Start(Option<String>),
    /// By SET PERSIST; MySQL keeps it in its data directory.
    Persisted,
    /// Since the server was started.
    Running,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Origin::Start(Some(file)) => write!(f, "{} in {file}", self.name),
            Origin::Start(None) => write!(f, "{} at the start", self.name),
            Origin::Persisted => write!(f, "{} by SET PERSIST", self.name),
            Origin::Running => write!(f, "{} since the start", self.name),
        }
    }
}

/// All of them.
pub(super) fn settings(facts: &Facts) -> Seen<Vec<Setting>> {
    let mut answer = Err(Unseen::Missing);
    for sql in [MARIADB, OLD_MARIADB, MYSQL] {
        answer = facts.ask(sql);
        // MySQL has no such table in information_schema.
        if !matches!(answer, Err(Unseen::Missing)) {
            break;
        }
    }
    let answer = answer?;
    let setting = |row: &Vec<Option<String>>| {
        let place = answer.value(row, "place").filter(|place| !place.is_empty());
        let origin = match answer.value(row, "origin")? {
            "PERSISTED" => Origin::Persisted,
            "DYNAMIC" | "SQL" => Origin::Running,
            _ => Origin::Start(place.map(ToOwned::to_owned)),
        };
        Some(Setting { name: answer.value(row, "name")?.to_owned(), origin })
    };
    Ok(answer.rows.iter().filter_map(setting).collect())
}
