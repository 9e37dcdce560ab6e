//! A redo log that is turned over many times an hour.

use drover_db::Vendor;
use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::places;

pub(crate) const CHECK: Check = Check {
    rule: "server.redo_log",
    area: Area::Server,
    looks_for: "a redo log that is turned over many times an hour: pages are written early, to make room in it",
    needs: "innodb_redo_log_capacity, or innodb_log_file_size; status variables Innodb_lsn_current and Innodb_checkpoint_age on MariaDB, \
            Innodb_redo_log_current_lsn and Innodb_redo_log_checkpoint_lsn on MySQL, Innodb_os_log_written on older servers",
    source: "MySQL manual, Optimizing InnoDB Redo Logging, and Configuring InnoDB Redo Log Capacity; MariaDB manual, InnoDB Redo Log",
    refuted_by: "over a longer --interval it is turned over seldom: what was seen was a burst; or `drover bench tpcc` is as fast with a \
                 larger one",
    look,
};

/// Turns an hour from which on it is a finding.
const MANY: f64 = 4.0;
/// The share of the log between checkpoint and end from which on InnoDB writes pages to make room: both servers let it grow to about
/// four fifths (MariaDB's Innodb_checkpoint_max_age).
const FULL: f64 = 0.6;
/// Times what it has, at most, that is proposed.
const GROWTH: f64 = 8.0;
/// The share of the free space that a larger log may take.
const OF_FREE: f64 = 0.1;

/// What the log's end is called: MariaDB's, MySQL's, and what older servers count, in which blocks that are written again count again.
const ENDS: [&str; 3] = ["Innodb_lsn_current", "Innodb_redo_log_current_lsn", "Innodb_os_log_written"];

fn look(facts: &Facts) -> Seen<Outcome> {
    let capacity = Capacity::of(facts)?;
    let (end, written, seconds) = written(facts)?;
    let turns = written * 3600.0 / capacity.bytes;
    let age = age(facts).map(|age| age / capacity.bytes);
    let mut seen = vec![
        format!(
            "{end}: {} a second over {seconds:.1} s, which turns {} over {turns:.2} times an hour",
            show::bytes(written as u64),
            show::bytes(capacity.bytes as u64)
        ),
        format!("{} is {:.0}", capacity.name, capacity.value),
    ];
    seen.extend(
        age.map(|age| format!("from the last checkpoint to its end it is {:.1} % full", age * 100.0)),
    );
    if turns < MANY {
        return Ok(Outcome::fine(seen.join("; ")));
    }
    let what = format!("the redo log is turned over {turns:.0} times an hour");
    let advice = "give it room for the writes of an hour; recovery after a crash reads it, and takes longer with more in it";
    let mut finding = match age {
        Some(age) if age >= FULL => Finding::observed(Weight::Yellow, what, advice)
            .effect("it is nearly full: InnoDB writes pages to make room in it, and changes wait for that"),
        _ => Finding::rule_only(what, advice)
            .effect("pages that change again and again are written more often; how much that costs nobody has measured here"),
    };
    finding.seen = seen;
    let finding = finding.measure("drover bench tpcc run --data DIRECTORY, once with each size");
    Ok(Outcome::found(match larger(facts, &capacity, turns) {
        Some(value) => finding.sql(capacity.set(value), Some(capacity.set(capacity.value))),
        None => finding,
    }))
}

/// Bytes a second, by the first status variable that the server has.
fn written(facts: &Facts) -> Seen<(&'static str, f64, f64)> {
    let mut last = Err(Unseen::Missing);
    for name in ENDS {
        last = facts.growth(name).map(|(bytes, seconds)| (name, bytes, seconds));
        if last != Err(Unseen::Missing) {
            break;
        }
    }
    last
}

/// Bytes between the last checkpoint and the log's end.
fn age(facts: &Facts) -> Option<f64> {
    let of_mysql = || {
        Seen::Ok(
            facts.status("Innodb_redo_log_current_lsn")? - facts.status("Innodb_redo_log_checkpoint_lsn")?,
        )
    };
    facts.status("Innodb_checkpoint_age").or_else(|_| of_mysql()).ok()
}

/// How much the log holds, and the variable that says so.
#[derive(Debug, Clone, Copy)]
struct Capacity {
    name: &'static str,
    /// The variable's value.
    value: f64,
    /// All files.
    bytes: f64,
}

impl Capacity {
    fn of(facts: &Facts) -> Seen<Self> {
        const NEW: &str = "innodb_redo_log_capacity";
        const OLD: &str = "innodb_log_file_size";
        match facts.number(NEW) {
            Ok(value) => Ok(Self {
                name: NEW,
                value,
                bytes: facts.status("Innodb_redo_log_capacity_resized").unwrap_or(value),
            }),
            Err(Unseen::Missing) => {
                let value = facts.number(OLD)?;
                let files = facts.number("innodb_log_files_in_group").unwrap_or(1.0);
                Ok(Self { name: OLD, value, bytes: value * files })
            }
            Err(unseen) => Err(unseen),
        }
    }

    /// Whether it can be set to more, and back. MySQL has the variable since it can be set (8.0.30); MariaDB sets its own from 10.9 on,
    /// but to nothing below innodb_log_buffer_size (error 1210).
    fn can_be_set(&self, facts: &Facts) -> bool {
        match facts.vendor() {
            Ok(Vendor::MySql) => self.name == "innodb_redo_log_capacity",
            Ok(Vendor::MariaDb) => {
                let has_room =
                    facts.number("innodb_log_buffer_size").is_ok_and(|buffer| self.value >= buffer);
                has_room && facts.version().is_ok_and(|version| version >= (10, 9, 0))
            }
            Err(_) => false,
        }
    }

    fn set(&self, value: f64) -> String {
        format!("SET GLOBAL {} = {value:.0}", self.name)
    }
}

/// Enough for an hour, as a multiple by a power of two, if the server takes it without a restart and there is the space for it.
fn larger(facts: &Facts, capacity: &Capacity, turns: f64) -> Option<f64> {
    let times = turns.log2().ceil().exp2().min(GROWTH);
    let places = places::places(facts).ok()?;
    let of = |what| places.iter().find(|place| place.of == what);
    let place = of("redo log").or_else(|| of("data"))?;
    let free = facts.evidence.space(&place.folder).ok()?.free as f64;
    let fits = capacity.bytes * (times - 1.0) <= free * OF_FREE;
    (fits && capacity.can_be_set(facts)).then_some(capacity.value * times)
}
