//! What a measurement leaves: numbers with their repeats, and what they were made on.

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::statistics::{self, Interval};

/// A result, as `--json` prints it. What is the bench's own (`detail`) stands beside the rest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report<D> {
    /// Which bench it is, as it is called on the command line: `tpcc run`.
    pub bench: String,
    /// The version of drover that made it.
    pub drover: String,
    /// When it began, in UTC, by RFC 3339.
    pub started_at: String,
    /// How long it took in all, in seconds.
    pub seconds: f64,
    /// What its random numbers came from. The same seed gives the same input.
    pub seed: u64,
    /// What it was made on.
    pub environment: Environment,
    /// What `bench compare` looks at.
    pub measures: Vec<Measure>,
    /// What a reader should know of these numbers.
    pub warnings: Vec<String>,
    /// What is the bench's own.
    #[serde(flatten)]
    pub detail: D,
}

/// A number that was measured, once in each repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// What it is; the same in every result of the same bench with the same options.
    pub name: String,
    /// What it is of, as one writes it behind the number: `/s`, `ms`, `MB/s`.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// One value of each repeat, in the order in which they were made.
    pub values: Vec<f64>,
    /// The one in the middle.
    pub median: f64,
    /// Where the mean lies, if there are two repeats or more.
    pub interval: Option<Interval>,
}

/// Which way a measure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The more, the better.
    Higher,
    /// The less, the better.
    Lower,
}

impl Measure {
    /// Sums up repeats.
    pub fn new(name: impl Into<String>, unit: &str, better: Better, values: Vec<f64>) -> Self {
        let (median, interval) = (statistics::median(&values), statistics::mean_interval(&values));
        Self { name: name.into(), unit: unit.to_owned(), better, values, median, interval }
    }
}

/// A measurement that has begun.
#[derive(Debug)]
pub(crate) struct Begun {
    bench: &'static str,
    started_at: jiff::Timestamp,
    seed: u64,
}

impl Begun {
    /// Notes the time.
    pub(crate) fn now(bench: &'static str, seed: u64) -> Self {
        Self { bench, started_at: jiff::Timestamp::now(), seed }
    }

    /// What came of it.
    pub(crate) fn report<D>(
        self,
        environment: Environment,
        measures: Vec<Measure>,
        warnings: Vec<String>,
        detail: D,
    ) -> Report<D> {
        let seconds = jiff::Timestamp::now().duration_since(self.started_at).as_secs_f64();
        Report {
            bench: self.bench.to_owned(),
            drover: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: format!("{:.0}", self.started_at),
            seconds,
            seed: self.seed,
            environment,
            measures,
            warnings,
            detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_flat_document() {
        #[derive(Serialize)]
        struct Detail {
            depth: u32,
        }
        let measures = vec![Measure::new("reads", "/s", Better::Higher, vec![3.0, 1.0, 2.0])];
        let report =
            Begun::now("disk", 7).report(Environment::default(), measures, Vec::new(), Detail { depth: 4 });
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["bench"], &json["depth"], &json["seed"]), (&"disk".into(), &4.into(), &7.into()));
        assert_eq!(json["measures"][0]["median"], 2.0);
        assert!(json["started_at"].as_str().unwrap().ends_with('Z'), "{json}");
    }
}
