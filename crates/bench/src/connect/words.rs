//! The result in words, for the terminal and for the page alike.

use drover_units::show::{count, seconds, things};

use super::cost::{Effect, Quantity, Verdict};
use super::report::{Comparison, ConnectDetail, Kind, Rate};
use super::variation::How;
use crate::figure;
use crate::statistics::Interval;

/// What the sessions were: `MariaDB … over a Unix socket, one at a time, each runs SELECT 1`.
pub fn sessions(detail: &ConnectDetail) -> String {
    let server = if detail.is_private { "A private server" } else { "A server that runs already" };
    let work = match &detail.statement {
        Some(statement) => format!("each runs `{statement}`"),
        None => "with nothing between login and end".to_owned(),
    };
    let clients = things(u64::from(detail.clients), "client");
    format!("{server}, reached by {}; sessions of {clients}, {work}.", detail.way)
}

/// How a comparison was made.
pub fn rounds(comparison: &Comparison) -> String {
    let how = match comparison.how {
        How::Plain => String::new(),
        How::Again => "The same twice, which must show no effect. ".to_owned(),
        How::Tls => "Over TCP, with TLS and without. ".to_owned(),
        How::Account => "By accounts that log in by different plugins. ".to_owned(),
        How::SetGlobal => "Set by SET GLOBAL before each block. ".to_owned(),
        How::AtStart => "A server for each value, started with it. ".to_owned(),
    };
    let servers = if comparison.restarts { ", each on new servers" } else { "" };
    let kinds = if comparison.kinds.len() > 1 { ", there and back through all values" } else { "" };
    let enough = if comparison.is_narrow { "" } else { "; the intervals are wider than --precision asks" };
    let rounds = things(comparison.rounds as u64, "round");
    format!("{how}{rounds}{servers}{kinds}, in {}{enough}.", seconds(comparison.seconds))
}

/// What a kind is called.
pub fn kind(kind: &Kind) -> &str {
    value(&kind.value)
}

/// What a value is called.
pub fn value(value: &str) -> &str {
    if value.is_empty() { "(empty)" } else { value }
}

/// Lines of a table of costs and times: what it is, and a text for each kind.
pub fn kinds(comparison: &Comparison, rate: Rate) -> Vec<(String, Vec<String>)> {
    let kinds = &comparison.kinds;
    let row =
        |name: &str, text: &dyn Fn(&Kind) -> String| (name.to_owned(), kinds.iter().map(text).collect());
    let known = |quantity: Quantity| kinds.iter().any(|kind| kind.cost(quantity).is_some());
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for quantity in Quantity::ALL.into_iter().filter(|quantity| known(*quantity)) {
        rows.push(row(quantity.name(), &|kind| cost(kind, quantity)));
    }
    if known(Quantity::ServerCpu) {
        let name = format!("of a core at {} connects/s", figure(rate.per_second));
        rows.push(row(&name, &|kind| {
            let share = kind.cost(Quantity::ServerCpu).and_then(|cost| cost.per_cent_of_a_core);
            share.map_or_else(String::new, |share| format!("{} %", figure(share)))
        }));
    }
    rows.push(row("time, 50 % within", &|kind| micros(kind.session.p50)));
    rows.push(row("time, 99 % within", &|kind| micros(kind.session.p99)));
    rows.push(row("login, 50 % within", &|kind| micros(kind.login.p50)));
    rows.push(row("login, 99 % within", &|kind| micros(kind.login.p99)));
    rows.push(row("connects", &|kind| count(kind.connects)));
    rows.push(row("connects/s", &|kind| figure(kind.per_second)));
    rows
}

fn cost(kind: &Kind, quantity: Quantity) -> String {
    let Some(cost) = kind.cost(quantity) else { return "not known".to_owned() };
    let unit = if quantity == Quantity::PageFaults { "" } else { " µs" };
    let half = cost.interval.map(|interval| format!(" ± {}", figure(half(interval)))).unwrap_or_default();
    format!("{}{half}{unit}", figure(cost.mean))
}

fn micros(value: f64) -> String {
    format!("{} µs", figure(value))
}

/// An effect, and what is known of it: `+0.30 ± 0.10 % of a core` and `at 100 connects/s; +20 to +40 µs per connect, +14 to +28 %`.
pub fn effect(effect: &Effect, rate: f64) -> (String, String) {
    let unit = effect.quantity.unit();
    // A per cent of hardly any faults says nothing.
    let part = effect.relative.filter(|_| effect.quantity != Quantity::PageFaults);
    let relative = part.map(|part| format!(", {}", range(scaled(part, 100.0), "%"))).unwrap_or_default();
    let per_connect = format!("{} per connect{relative}", range(effect.interval, unit));
    match effect.per_cent_of_a_core {
        Some(share) => {
            let at = format!("at {} connects/s: {per_connect}", figure(rate));
            (found(effect.verdict, share, "% of a core"), at)
        }
        None => (found(effect.verdict, effect.interval, unit), per_connect),
    }
}

/// `+0.30 ± 0.10 %`, or `no effect found: at most ±0.10 %`.
fn found(verdict: Verdict, interval: Interval, unit: &str) -> String {
    match verdict {
        Verdict::None => {
            let most = interval.low.abs().max(interval.high.abs());
            format!("no effect found: at most ±{} {unit}", figure(most))
        }
        Verdict::More | Verdict::Less => {
            let middle = f64::midpoint(interval.low, interval.high);
            format!("{} ± {} {unit}", signed(middle), figure(half(interval)))
        }
    }
}

fn range(interval: Interval, unit: &str) -> String {
    format!("{} to {} {unit}", signed(interval.low), signed(interval.high))
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", figure(value)) } else { figure(value).replacen('-', "−", 1) }
}

fn half(interval: Interval) -> f64 {
    (interval.high - interval.low) / 2.0
}

fn scaled(interval: Interval, by: f64) -> Interval {
    Interval { low: interval.low * by, high: interval.high * by }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(quantity: Quantity, low: f64, high: f64, verdict: Verdict) -> (String, String) {
        let interval = Interval { low, high };
        let told = Effect {
            from: "128K".into(),
            to: "5M".into(),
            quantity,
            difference: f64::midpoint(low, high),
            interval,
            relative: Some(scaled(interval, 0.01)),
            per_cent_of_a_core: quantity.is_cpu().then(|| scaled(interval, 0.01)),
            verdict,
        };
        effect(&told, 100.0)
    }

    #[test]
    fn effects_in_words() {
        let (found, note) = of(Quantity::ServerCpu, 20.0, 40.0, Verdict::More);
        assert_eq!(found, "+0.300 ± 0.100 % of a core");
        assert_eq!(note, "at 100 connects/s: +20.0 to +40.0 µs per connect, +20.0 to +40.0 %");
        let (none, note) = of(Quantity::Time, -2.0, 1.0, Verdict::None);
        assert_eq!(none, "no effect found: at most ±2.00 µs");
        assert_eq!(note, "−2.00 to +1.00 µs per connect, −2.00 to +1.00 %");
        assert_eq!(of(Quantity::PageFaults, -3.0, -1.0, Verdict::Less).0, "−2.00 ± 1.00 faults");
    }
}
