//! `check`: whether the tables are consistent, by statements that return what is not.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::wire::{RawRow, next_field};
use drover_db::{Connection, Stop};
use serde::Serialize;

use super::args::{CheckArgs, threads};
use super::conditions::{CONDITIONS, ONLY_AFTER_LOAD, PROBES, Probe};
use super::marker::Marker;
use super::session::{Place, set_up, unless_stopped};
use crate::{Error, Progress, Result};

/// So many violations of a condition are shown.
const EXAMPLES: usize = 5;

/// What a check found.
#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    /// The schema.
    pub schema: String,
    /// How many warehouses it holds.
    pub warehouses: u32,
    /// Runs that were begun since the load.
    pub runs: u64,
    /// How long it took.
    pub seconds: f64,
    /// Each condition.
    pub conditions: Vec<Checked>,
}

/// What became of a condition.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// Its number in the specification, or a word of our own.
    pub id: String,
    /// What is to hold.
    pub rule: String,
    /// Why it was not checked; absent if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_checked: Option<String>,
    /// In how many rows it does not hold.
    pub violations: u64,
    /// The first of them.
    pub examples: Vec<Violation>,
}

/// A row in which a condition does not hold.
#[derive(Debug, Clone, Serialize)]
pub struct Violation {
    /// The table.
    pub table: String,
    /// The row's key: names and values of its columns.
    pub key: Vec<(String, String)>,
    /// What is compared.
    pub left: Compared,
    /// What it should be the same as.
    pub right: Compared,
}

/// One of two values that should be the same.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// What it is.
    pub what: String,
    /// The value; none for NULL.
    pub value: Option<String>,
}

impl CheckReport {
    /// Conditions that do not hold.
    pub fn violated(&self) -> impl Iterator<Item = &Checked> {
        self.conditions.iter().filter(|condition| condition.violations > 0)
    }

    /// Conditions that were checked.
    pub fn checked(&self) -> usize {
        self.conditions.iter().filter(|condition| condition.not_checked.is_none()).count()
    }
}

/// Checks all conditions. Nothing else must write to the tables meanwhile.
///
/// # Errors
/// If the schema holds no finished load's tables, the server refuses a statement, or a signal stopped the work.
pub fn check(
    args: &CheckArgs,
    options: &ConnectOptions,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<CheckReport> {
    unless_stopped(checked(args, options, stop, progress), stop)
}

fn checked(
    args: &CheckArgs,
    options: &ConnectOptions,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<CheckReport> {
    let place = Place::of(options)?;
    let begun = Instant::now();
    let (mut connection, _watched) = place.open(stop)?;
    let marker = Marker::of_finished(&mut connection, place.schema)?;
    let since_load = since_load(&mut connection, &marker)?;
    let conditions = CONDITIONS.map(|condition| Checked {
        id: condition.id.to_owned(),
        rule: condition.rule.to_owned(),
        not_checked: since_load.clone().filter(|_| condition.id == ONLY_AFTER_LOAD),
        violations: 0,
        examples: Vec::new(),
    });
    let steps = steps(marker.warehouses, since_load.is_none());
    progress.phase("checking", None);
    let work = Work {
        place,
        stop,
        progress,
        all: steps.len(),
        left: Mutex::new(steps),
        found: Mutex::new(conditions.into()),
        first_error: Mutex::new(None),
        has_failed: AtomicBool::new(false),
    };
    let found = work.run(threads(args.threads))?;
    Ok(CheckReport {
        schema: place.schema.to_owned(),
        warehouses: marker.warehouses,
        runs: marker.runs,
        seconds: begun.elapsed().as_secs_f64(),
        conditions: found,
    })
}

/// Why the tables are not as they were loaded; none if they are, as far as that can be told.
fn since_load(connection: &mut Connection, marker: &Marker) -> Result<Option<String>> {
    if marker.runs > 0 {
        let times =
            if marker.runs == 1 { "one run was".to_owned() } else { format!("{} runs were", marker.runs) };
        return Ok(Some(format!("{times} begun since the load")));
    }
    let sql = "SELECT COUNT(*) FROM district WHERE d_next_o_id > 3001";
    let row = connection.first(sql).map_err(Error::server("reading table district"))?;
    let is_as_loaded = row.is_some_and(|row| row.string(0) == "0");
    Ok((!is_as_loaded).then(|| "orders came in since the load".to_owned()))
}

/// A probe about some warehouses.
#[derive(Debug, Clone)]
struct Step {
    probe: Probe,
    /// The pairs that are compared.
    pairs: Vec<usize>,
    first: u32,
    last: u32,
}

/// All probes about all warehouses.
fn steps(warehouses: u32, is_as_loaded: bool) -> VecDeque<Step> {
    let of_probe = |probe: Probe| {
        let is_wanted = |pair: &usize| is_as_loaded || probe.pairs[*pair].condition != ONLY_AFTER_LOAD;
        let pairs: Vec<_> = (0..probe.pairs.len()).filter(is_wanted).collect();
        let each = probe.at_once.min(warehouses);
        (1..=warehouses).step_by(each as usize).map(move |first| {
            let last = (first + each - 1).min(warehouses);
            Step { probe, pairs: pairs.clone(), first, last }
        })
    };
    PROBES.into_iter().flat_map(of_probe).collect()
}

/// What the threads of a check share.
struct Work<'a> {
    place: Place<'a>,
    stop: &'a Arc<Stop>,
    progress: &'a Progress,
    all: usize,
    left: Mutex<VecDeque<Step>>,
    found: Mutex<Vec<Checked>>,
    first_error: Mutex<Option<Error>>,
    has_failed: AtomicBool,
}

impl Work<'_> {
    fn run(self, threads: usize) -> Result<Vec<Checked>> {
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.all) {
                scope.spawn(|| {
                    if let Err(error) = self.take_steps() {
                        self.has_failed.store(true, Ordering::Relaxed);
                        self.first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                });
            }
        });
        match self.first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(self.found.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn take_steps(&self) -> Result<()> {
        let (mut connection, _watched) = self.place.open(self.stop)?;
        set_up(&mut connection, Use::TpccCheck)?;
        while !self.has_failed.load(Ordering::Relaxed) {
            let (step, left) = {
                let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(step) = left.pop_front() else { return Ok(()) };
                (step, left.len())
            };
            self.progress.figure(format!("step {} of {}", self.all - left, self.all));
            step.take(&mut connection, &self.found)?;
        }
        Ok(())
    }
}

impl Step {
    fn take(&self, connection: &mut Connection, found: &Mutex<Vec<Checked>>) -> Result<()> {
        let what = || format!("checking {}, warehouses {} to {}", self.conditions(), self.first, self.last);
        let mut rows = connection
            .stream(self.probe.statement(&self.pairs, self.first, self.last))
            .map_err(Error::server(what()))?;
        while let Some(row) = rows.next_row().map_err(Error::server(what()))? {
            let fields =
                fields(row).ok_or_else(|| Error::found(format!("{}: a row that cannot be read", what())))?;
            self.note(&fields, &mut found.lock().unwrap_or_else(PoisonError::into_inner));
        }
        Ok(())
    }

    fn conditions(&self) -> String {
        let mut ids: Vec<_> = self.pairs.iter().map(|pair| self.probe.pairs[*pair].condition).collect();
        ids.dedup();
        ids.join(", ")
    }

    /// Notes what a row violates: behind its keys stand the values of each pair and whether they are the same.
    fn note(&self, fields: &[Option<String>], found: &mut [Checked]) {
        let keys = self.probe.keys.len();
        for (place, pair) in self.pairs.iter().map(|pair| self.probe.pairs[*pair]).enumerate() {
            let Some([left, right, is_same]) =
                fields.get(keys + 3 * place..).and_then(|rest| rest.first_chunk::<3>())
            else {
                continue;
            };
            let checked = found.iter_mut().find(|checked| checked.id == pair.condition);
            let Some(checked) = checked.filter(|_| is_same.as_deref() != Some("1")) else { continue };
            checked.violations += 1;
            if checked.examples.len() < EXAMPLES {
                let key = self.probe.keys.iter().zip(fields).map(|(name, value)| {
                    ((*name).to_owned(), value.clone().unwrap_or_else(|| "NULL".to_owned()))
                });
                let table = if self.probe.table.is_empty() {
                    fields[0].clone().unwrap_or_default()
                } else {
                    self.probe.table.to_owned()
                };
                let compared = |what: &str, value: &Option<String>| Compared {
                    what: what.to_owned(),
                    value: value.clone(),
                };
                checked.examples.push(Violation {
                    table,
                    key: key.collect(),
                    left: compared(pair.left, left),
                    right: compared(pair.right, right),
                });
            }
        }
    }
}

/// A row's fields as text; none if it cannot be read.
fn fields(row: RawRow<'_>) -> Option<Vec<Option<String>>> {
    let RawRow::Whole(mut payload) = row else { return None };
    let mut fields = Vec::new();
    while !payload.is_empty() {
        let field = next_field(&mut payload)?;
        fields.push(field.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_about_all_warehouses_once() {
        for warehouses in [1, 7, 23] {
            let steps = steps(warehouses, true);
            for probe in PROBES {
                let of_probe = steps
                    .iter()
                    .filter(|step| step.probe.statement(&[0], 1, 1) == probe.statement(&[0], 1, 1));
                let covered: Vec<_> = of_probe.flat_map(|step| step.first..=step.last).collect();
                assert_eq!(covered, (1..=warehouses).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_condition_of_the_load_is_left_out_afterwards() {
        let wanted = |is_as_loaded| {
            let steps = steps(1, is_as_loaded);
            steps.iter().any(|step| step.conditions().contains(ONLY_AFTER_LOAD))
        };
        assert!(wanted(true) && !wanted(false));
    }

    #[test]
    fn a_row_may_violate_some_of_its_conditions() {
        let mut found: Vec<_> = CONDITIONS
            .iter()
            .map(|condition| Checked {
                id: condition.id.to_owned(),
                rule: String::new(),
                not_checked: None,
                violations: 0,
                examples: Vec::new(),
            })
            .collect();
        let step = Step { probe: PROBES[0], pairs: vec![0, 1, 2], first: 1, last: 1 };
        let row = ["1", "2", "3", "-10.00", "5.00", "0", "0.00", "0.00", "1", "2", "1", "0"];
        let row: Vec<_> = row.into_iter().map(|field| Some(field.to_owned())).collect();
        (0..7).for_each(|_| step.note(&row, &mut found));
        let violated: Vec<_> = found.iter().filter(|checked| checked.violations > 0).collect();
        assert_eq!(
            violated.iter().map(|checked| (checked.id.as_str(), checked.violations)).collect::<Vec<_>>(),
            [("10", 7), ("c_payment_cnt", 7)]
        );
        assert_eq!(violated[0].examples.len(), EXAMPLES);
        let example = &violated[0].examples[0];
        assert_eq!(
            (example.table.as_str(), example.key.len(), example.left.value.as_deref()),
            ("customer", 3, Some("-10.00"))
        );
    }
}
