//! What `drover bench connect` has measured of a setting, seen from the value that it has here.

use serde_json::Value;

use crate::facts::Facts;
use crate::results::Measured;

/// By how much a connect costs more with the value that a setting has here than with another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    /// The other value, as it was asked for: `128K`.
    pub(crate) other: String,
    /// The one that is set here, in the same way.
    pub(crate) here: String,
    /// What each session did: `scan`.
    pub(crate) work: String,
    /// What was measured: CPU time of the server, or a client's time where that is not known.
    quantity: &'static str,
    /// Where the difference lies, in µs a connect.
    low: f64,
    high: f64,
    /// The file that tells it.
    pub(crate) file: String,
    /// What the measurement says.
    pub(crate) verdict: Verdict,
}

/// What an interval says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The value that is set costs more.
    More,
    /// It costs less.
    Less,
    /// No effect was found.
    None,
}

/// How many connects a second there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// In the interval that was watched.
    pub(crate) per_second: f64,
    /// How long that was, in seconds.
    pub(crate) seconds: f64,
}

impl Rate {
    /// That of the server.
    pub(crate) fn of_server(facts: &Facts) -> crate::Seen<Self> {
        let (per_second, seconds) = facts.growth("Connections")?;
        Ok(Self { per_second, seconds })
    }

    /// With how it is known.
    pub(crate) fn text(self) -> String {
        format!("{:.1} connects a second over {:.1} s (Connections)", self.per_second, self.seconds)
    }
}

impl Effect {
    /// The difference, and what it comes to at this rate of connects.
    pub(crate) fn text(&self, rate: Rate) -> String {
        let Self { low, high, quantity, work, here, other, .. } = self;
        let range = format!("{} to {} µs of {quantity} a connect", signed(*low), signed(*high));
        let verdict = match self.verdict {
            Verdict::None => format!("no effect found: {range}"),
            Verdict::More | Verdict::Less => range,
        };
        let share = self.share(rate).map_or_else(String::new, |(low, high)| {
            format!("; {low:.3} to {high:.3} % of a core at {:.1} connects a second", rate.per_second)
        });
        format!("{here} against {other}, where a session does `{work}`: {verdict}{share}")
    }

    /// The difference in per cent of a core at this rate, of CPU time.
    pub(crate) fn share(&self, rate: Rate) -> Option<(f64, f64)> {
        let of = |microseconds: f64| microseconds * rate.per_second / 1e6 * 100.0;
        (self.quantity == SERVER_CPU).then(|| (of(self.low), of(self.high)))
    }
}

fn signed(microseconds: f64) -> String {
    let digits = if microseconds.abs() < 10.0 { 1 } else { 0 };
    format!("{microseconds:+.digits$}")
}

const SERVER_CPU: &str = "the server's CPU time";

/// What was measured on this machine and this version of the server of a variable at its value here, the latest of each kind of work;
/// and why other results of it do not count.
pub(crate) fn effects(facts: &Facts, variable: &str, value: f64) -> (Vec<Effect>, Vec<String>) {
    let (measured, mut others) = facts.measured("connect");
    let version = facts.variable("version").unwrap_or_default();
    let mut effects: Vec<Effect> = Vec::new();
    let is_of_variable = |result: &Measured| comparisons(&result.json, variable).next().is_some();
    for result in measured.iter().filter(|result| is_of_variable(result)) {
        let there = result.json["environment"]["server"]["version"].as_str().unwrap_or_default();
        // A private server of the same binary may name what it logs to as well: 10.11.6-MariaDB-log.
        if there.trim_end_matches("-log") != version.trim_end_matches("-log") {
            others.push(format!("{} was measured on {there}, here is {version}", result.file));
            continue;
        }
        let found: Vec<_> =
            comparisons(&result.json, variable).flat_map(|one| of_comparison(result, one, value)).collect();
        if found.is_empty() {
            others.push(format!("{} was measured with other values of {variable}", result.file));
        }
        let work = result.json["work"].as_str().unwrap_or_default();
        if effects.iter().all(|known| known.work != work) {
            effects.extend(found);
        }
    }
    (effects, others)
}

fn comparisons<'a>(json: &'a Value, variable: &str) -> impl Iterator<Item = &'a Value> {
    let all = json["comparisons"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = variable.to_owned();
    all.iter().filter(move |one| one["name"].as_str() == Some(name.as_str()))
}

/// What a comparison says of this value. All its effects are of other kinds against the first one.
fn of_comparison(result: &Measured, comparison: &Value, value: f64) -> Vec<Effect> {
    let kinds = comparison["kinds"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_here =
        |kind: &&Value| kind["actual"].as_str().and_then(|actual| actual.parse::<f64>().ok()) == Some(value);
    let Some(here) = kinds.iter().find(is_here).and_then(|kind| kind["value"].as_str()) else {
        return Vec::new();
    };
    let all = comparison["effects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |quantity: &str| all.iter().filter(|effect| effect["quantity"] == quantity).collect::<Vec<_>>();
    let (effects, quantity) = match of("server_cpu") {
        effects if effects.is_empty() => (of("time"), "a client's time"),
        effects => (effects, SERVER_CPU),
    };
    effects.into_iter().filter_map(|effect| of_effect(result, effect, here, quantity)).collect()
}

fn of_effect(result: &Measured, effect: &Value, here: &str, quantity: &'static str) -> Option<Effect> {
    let (from, to) = (effect["from"].as_str()?, effect["to"].as_str()?);
    let (low, high) = (effect["interval"]["low"].as_f64()?, effect["interval"]["high"].as_f64()?);
    let verdict = match effect["verdict"].as_str()? {
        "more" => Verdict::More,
        "less" => Verdict::Less,
        _ => Verdict::None,
    };
    let (other, low, high, verdict) = match (from == here, to == here) {
        (false, true) => (from, low, high, verdict),
        // What the other costs more, this one costs less.
        (true, false) => (to, -high, -low, verdict.reversed()),
        _ => return None,
    };
    let work = result.json["work"].as_str().unwrap_or_default().to_owned();
    let (other, here) = (other.to_owned(), here.to_owned());
    Some(Effect { other, here, work, quantity, low, high, file: result.file.clone(), verdict })
}

impl Verdict {
    fn reversed(self) -> Self {
        match self {
            Self::More => Self::Less,
            Self::Less => Self::More,
            Self::None => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: f64, verdict: &str, interval: (f64, f64)) -> Vec<Effect> {
        let json = json!({"work": "scan", "comparisons": [{
            "name": "read_buffer_size",
            "kinds": [{"value": "128K", "actual": "131072"}, {"value": "5M", "actual": "5242880"}],
            "effects": [
                {"from": "128K", "to": "5M", "quantity": "time", "verdict": "more", "interval": {"low": 9.0, "high": 9.5}},
                {"from": "128K", "to": "5M", "quantity": "server_cpu", "verdict": verdict,
                 "interval": {"low": interval.0, "high": interval.1}}
            ]
        }]});
        let result = Measured { file: "a.json".into(), started_at: String::new(), json };
        let comparison = comparisons(&result.json, "read_buffer_size").next().unwrap();
        of_comparison(&result, comparison, value)
    }

    #[test]
    fn a_value_that_costs_more() {
        let rate = Rate { per_second: 100.0, seconds: 2.0 };
        let effects = of(5_242_880.0, "more", (369.0, 487.0));
        assert_eq!(effects[0].verdict, Verdict::More);
        let text = effects[0].text(rate);
        assert!(text.contains("+369 to +487 µs") && text.contains("3.690 to 4.870 % of a core"), "{text}");
        // The same from the other side: going there would cost more.
        let effects = of(131_072.0, "more", (369.0, 487.0));
        assert_eq!((effects[0].verdict, effects[0].other.as_str()), (Verdict::Less, "5M"));
        assert!(of(1.0, "more", (369.0, 487.0)).is_empty());
    }

    #[test]
    fn no_effect_in_numbers() {
        let effects = of(5_242_880.0, "none", (-3.1, 2.8));
        let text = effects[0].text(Rate { per_second: 10.0, seconds: 2.0 });
        assert!(text.contains("no effect found: -3.1 to +2.8 µs"), "{text}");
    }
}
