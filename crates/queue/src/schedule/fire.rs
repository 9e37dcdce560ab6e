//! What is due is pushed: in one transaction, which holds the row of the intake, its task goes into the inbox and its next time into
//! its row. So each time is kept once, whoever is killed when, and however many shepherds there are.

use std::fmt;
use std::time::{Duration, Instant};

use drover_db::{Connection, quote};

use super::cron::Cron;
use super::table::{hold_due, is_too_old, read};
use super::{Schedule, in_utc, time};
use crate::Result;
use crate::clock::Clock;
use crate::error::Doing;
use crate::intake::hold_intake;

/// So many are pushed in one transaction.
const MOST: usize = 100;
/// So many times that passed are counted; beyond that it is at least so many.
const MOST_MISSED: u64 = 10_000;
/// When is looked again at the latest: the server's clock may have been set.
pub(crate) const LATEST: Duration = Duration::from_secs(60);

/// What is to be changed in a schedule whose time has come.
struct Step {
    name: String,
    next_ms: Option<u64>,
    /// How many more of its times have passed.
    missed: u64,
    error: Option<String>,
}

/// What came of a look at schedules.
#[derive(Debug, Default)]
pub(crate) struct Fired {
    /// Whether tasks were pushed.
    pub(crate) any: bool,
    /// In how long is to be looked again.
    pub(crate) wait: Duration,
    /// Those whose next time was put right.
    pub(crate) strays: Vec<Stray>,
}

/// A schedule whose next time is not the next one that its expression gives: the server's clock was ahead when it was reckoned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    name: String,
    was_ms: u64,
    next_ms: u64,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, was_ms, next_ms } = self;
        let there = |millis| time(millis).map(in_utc).unwrap_or_default();
        let (was, next) = (there(*was_ms), there(*next_ms));
        write!(
            f,
            "schedule '{name}': its next time was {was}, reckoned while the server's clock was ahead; it is {next} now"
        )
    }
}

/// Pushes what is due; if it `looks_at_all`, the others are put right that stray.
pub(crate) fn fire(connection: &mut Connection, shepherd: u32, looks_at_all: bool) -> Result<Fired> {
    let (wait, strays) = match looks_at_all {
        true => look(connection, shepherd)?,
        false => (wait(connection)?, Vec::new()),
    };
    if !wait.is_zero() {
        return Ok(Fired { any: false, wait, strays });
    }
    let fired = at_once(connection, shepherd)?;
    Ok(Fired { any: fired > 0, wait: self::wait(connection)?.max(Duration::from_millis(1)), strays })
}

/// Looks at all schedules and puts those right that stray; in how long the next one is due.
fn look(connection: &mut Connection, shepherd: u32) -> Result<(Duration, Vec<Stray>)> {
    let doing = || "setting the next times of schedules";
    let all = read(connection, false)?;
    let now_ms = Clock::of(connection)?.millis(Instant::now());
    let strays: Vec<_> = all.iter().filter_map(|schedule| Stray::of(schedule, now_ms)).collect();
    if strays.is_empty() {
        let next = all.iter().filter_map(|schedule| schedule.next_ms).min();
        let wait = next.map(|next| Duration::from_millis(next.saturating_sub(now_ms)));
        return Ok((wait.map_or(LATEST, |wait| wait.min(LATEST)), strays));
    }
    connection.execute("START TRANSACTION").doing(doing)?;
    hold_intake(connection, shepherd)?;
    for Stray { name, was_ms, next_ms } in &strays {
        let name = quote::string(name);
        let sql = format!(
            "UPDATE queue_schedule SET next_ms = {next_ms} WHERE name = {name} AND next_ms = {was_ms}"
        );
        connection.execute(sql).doing(doing)?;
    }
    connection.execute("COMMIT").doing(doing)?;
    Ok((wait(connection)?, strays))
}

impl Stray {
    fn of(schedule: &Schedule, now_ms: u64) -> Option<Self> {
        let was_ms = schedule.next_ms?;
        let cron = Cron::parse(&schedule.cron, &schedule.timezone).ok()?;
        let next_ms = cron.next(now_ms).filter(|next| *next < was_ms)?;
        let ahead = schedule.last_ms.unwrap_or(0).saturating_sub(now_ms);
        let has_come = (1..=cron.comes_once_within_ms()).contains(&ahead);
        (!has_come).then(|| Self { name: schedule.name.clone(), was_ms, next_ms })
    }
}

/// In how long the next one is due.
fn wait(connection: &mut Connection) -> Result<Duration> {
    let sql = "SELECT CAST(MIN(next_ms) AS SIGNED) - CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) FROM queue_schedule \
               WHERE next_ms IS NOT NULL";
    let row = match connection.first(sql).doing(|| "reading queue_schedule") {
        Err(error) if is_too_old(&error) => return Ok(LATEST),
        other => other?,
    };
    let millis = row.and_then(|row| row.parse::<i64>(0));
    Ok(millis.map_or(LATEST, |millis| Duration::from_millis(millis.max(0).unsigned_abs()).min(LATEST)))
}

fn at_once(connection: &mut Connection, shepherd: u32) -> Result<usize> {
    let doing = || "pushing tasks of schedules";
    connection.execute("START TRANSACTION").doing(doing)?;
    let now_ms = hold_intake(connection, shepherd)?;
    let due = hold_due(connection, now_ms, MOST)?;
    let steps: Vec<_> = due.iter().map(|schedule| Step::of(schedule, now_ms)).collect();
    let pushed: Vec<_> =
        steps.iter().filter(|step| step.error.is_none()).map(|step| quote::string(&step.name)).collect();
    if !pushed.is_empty() {
        let sql = format!(
            "INSERT INTO queue_inbox (kind, object_id, payload, priority, tenant) SELECT kind, object_id, payload, priority, tenant \
             FROM queue_schedule WHERE name IN ({}) ORDER BY next_ms, name",
            pushed.join(", ")
        );
        connection.execute(sql).doing(doing)?;
    }
    for step in &steps {
        connection.execute(step.sql(now_ms)).doing(doing)?;
    }
    connection.execute("COMMIT").doing(doing)?;
    Ok(pushed.len())
}

impl Step {
    fn of(schedule: &Schedule, now_ms: u64) -> Self {
        let mut step = Self { name: schedule.name.clone(), next_ms: None, missed: 0, error: None };
        match Cron::parse(&schedule.cron, &schedule.timezone) {
            Ok(cron) => {
                step.next_ms = cron.next(now_ms);
                let mut passed = schedule.next_ms.and_then(|due| cron.next(due));
                while passed.is_some_and(|passed| passed <= now_ms) && step.missed < MOST_MISSED {
                    step.missed += 1;
                    passed = passed.and_then(|passed| cron.next(passed));
                }
            }
            // Somebody wrote it by hand, or with a drover that takes more than this one.
            Err(error) => step.error = Some(error.to_string()),
        }
        step
    }

    fn sql(&self, now_ms: u64) -> String {
        let name = quote::string(&self.name);
        if let Some(error) = &self.error {
            let error: String = error.chars().take(500).collect();
            let error = quote::string(&error);
            return format!("UPDATE queue_schedule SET next_ms = NULL, error = {error} WHERE name = {name}");
        }
        let next = self.next_ms.map_or_else(|| "NULL".to_owned(), |next| next.to_string());
        format!(
            "UPDATE queue_schedule SET next_ms = {next}, last_ms = {now_ms}, fired = fired + 1, missed = missed + {} WHERE name = {name}",
            self.missed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(cron: &str, due_ms: u64, now_ms: u64) -> Step {
        let schedule = Schedule {
            cron: cron.into(),
            timezone: "UTC".into(),
            next_ms: Some(due_ms),
            ..Schedule::default()
        };
        Step::of(&schedule, now_ms)
    }

    #[test]
    fn times_that_passed_are_one() {
        let minute = 60_000;
        for (now, next, missed) in [
            (minute, 2 * minute, 0),
            (2 * minute - 1, 2 * minute, 0),
            (2 * minute, 3 * minute, 1),
            (60 * minute + 5, 61 * minute, 59),
        ] {
            let step = step("* * * * *", minute, now);
            assert_eq!((step.next_ms, step.missed), (Some(next), missed), "{now}");
        }
        let long = step("* * * * * *", 1000, 1_000_000_000);
        assert_eq!((long.next_ms, long.missed), (Some(1_000_001_000), MOST_MISSED));
    }

    #[test]
    fn times_that_were_reckoned_ahead_are_reckoned_anew() {
        const HOUR: u64 = 3_600_000;
        let stray = |cron: &str, next_ms: u64, last_ms: Option<u64>, now_ms: u64| {
            let schedule = Schedule {
                cron: cron.into(),
                timezone: "UTC".into(),
                next_ms: Some(next_ms),
                last_ms,
                ..Schedule::default()
            };
            Stray::of(&schedule, now_ms).map(|stray| stray.next_ms)
        };
        let often = "*/5 * * * * *";
        assert_eq!(
            stray(often, 10 * HOUR + 5000, Some(10 * HOUR), 9 * HOUR + 11_000),
            Some(9 * HOUR + 15_000)
        );
        assert_eq!(stray(often, 10 * HOUR + 5000, Some(10 * HOUR), 10 * HOUR + 100), None);
        assert_eq!(stray(often, 10 * HOUR + 5000, Some(10 * HOUR), 10 * HOUR - 100), None, "it has come");
        assert_eq!(stray(often, 10 * HOUR, None, HOUR), Some(HOUR + 5000), "it was set then");
        // 03:00 has come, and the clock went back.
        let (daily, tomorrow) = ("0 3 * * *", 27 * HOUR);
        assert_eq!(stray(daily, tomorrow, Some(3 * HOUR), 2 * HOUR), None);
        assert_eq!(stray(daily, tomorrow + 240 * HOUR, Some(243 * HOUR), 2 * HOUR), Some(3 * HOUR));
        assert_eq!(stray(daily, tomorrow, Some(3 * HOUR), 4 * HOUR), None);
    }

    #[test]
    fn one_that_cannot_be_read_is_put_aside() {
        let broken = step("99 * * * *", 0, 1);
        assert_eq!(broken.next_ms, None);
        assert!(broken.sql(1).contains("error = ") && broken.error.unwrap().contains("99"));
    }
}
