//! What a connect costs, and by how much that differs between two kinds of sessions.

use serde::Serialize;

use crate::statistics::{self, Interval};

/// What is measured of a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// CPU time of the server, in µs.
    ServerCpu,
    /// The part of it that the server itself worked, as sampled.
    ServerUser,
    /// The part of it that the kernel worked for the server, as sampled.
    ServerSystem,
    /// What a client waits, from connect(2) until the server has closed the connection, in µs.
    Time,
    /// Page faults of the server that need no disk.
    PageFaults,
}

impl Quantity {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] =
        [Self::ServerCpu, Self::ServerUser, Self::ServerSystem, Self::Time, Self::PageFaults];

    /// What it is, of one connect.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerCpu => "server CPU",
            Self::ServerUser => "server CPU, user",
            Self::ServerSystem => "server CPU, system",
            Self::Time => "time",
            Self::PageFaults => "page faults",
        }
    }

    /// What it is of.
    pub fn unit(self) -> &'static str {
        match self {
            Self::PageFaults => "faults",
            Self::ServerCpu | Self::ServerUser | Self::ServerSystem | Self::Time => "µs",
        }
    }

    /// Whether so much of it at some rate is a part of a core.
    pub fn is_cpu(self) -> bool {
        matches!(self, Self::ServerCpu | Self::ServerUser | Self::ServerSystem)
    }

    /// So many µs per connect, at so many connects a second, as a part of a core in per cent.
    pub fn per_cent_of_a_core(microseconds: f64, rate: f64) -> f64 {
        microseconds * rate / 1e6 * 100.0
    }
}

/// What a connect cost in one stretch of time, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// Connects a second, of all clients.
    pub(super) per_second: f64,
    pub(super) time: f64,
    pub(super) server: Option<ServerCost>,
}

/// The server's part of it, where that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ServerCost {
    pub(super) cpu: f64,
    /// Which part of it was not the kernel's.
    pub(super) user_share: Option<f64>,
    pub(super) faults: f64,
}

impl Cost {
    /// The mean of two.
    pub(super) fn midpoint(self, other: Self) -> Self {
        let server = self.server.zip(other.server).map(|(one, two)| ServerCost {
            cpu: f64::midpoint(one.cpu, two.cpu),
            user_share: one.user_share.zip(two.user_share).map(|(one, two)| f64::midpoint(one, two)),
            faults: f64::midpoint(one.faults, two.faults),
        });
        Self {
            per_second: f64::midpoint(self.per_second, other.per_second),
            time: f64::midpoint(self.time, other.time),
            server,
        }
    }

    pub(super) fn of(&self, quantity: Quantity) -> Option<f64> {
        let server = self.server;
        match quantity {
            Quantity::Time => Some(self.time),
            Quantity::ServerCpu => Some(server?.cpu),
            Quantity::ServerUser => Some(server?.cpu * server?.user_share?),
            Quantity::ServerSystem => Some(server?.cpu * (1.0 - server?.user_share?)),
            Quantity::PageFaults => Some(server?.faults),
        }
    }
}

/// One value of each round; none if one is not known.
pub(super) fn values(rounds: &[Cost], quantity: Quantity) -> Option<Vec<f64>> {
    rounds.iter().map(|cost| cost.of(quantity)).collect()
}

/// By how much a connect of one kind differs from one of the first kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The value of the first kind.
    pub from: String,
    /// The value of the other.
    pub to: String,
    /// What differs.
    pub quantity: Quantity,
    /// By how much on average, in its unit.
    pub difference: f64,
    /// Where the difference lies, in 95 of 100 measurements like this one.
    pub interval: Interval,
    /// The same as parts of what the first kind costs; none if that is nothing.
    pub relative: Option<Interval>,
    /// The same in per cent of a core at the rate that is told, of CPU time.
    pub per_cent_of_a_core: Option<Interval>,
    /// What that means.
    pub verdict: Verdict,
}

/// What an interval says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It costs more.
    More,
    /// It costs less.
    Less,
    /// No effect was found: if there is one, the interval holds it.
    None,
}

impl Effect {
    /// The effect between rounds that were made in turns; none with fewer than two. Its interval misses the true one with this
    /// chance.
    pub(super) fn between(
        (from, from_rounds): (&str, &[Cost]),
        (to, to_rounds): (&str, &[Cost]),
        quantity: Quantity,
        rate: f64,
        chance: f64,
    ) -> Option<Self> {
        let (a, b) = (values(from_rounds, quantity)?, values(to_rounds, quantity)?);
        let interval = statistics::paired_difference(&a, &b, chance)?;
        let base = statistics::mean(&a).abs();
        let scaled = |by: f64| Interval { low: interval.low * by, high: interval.high * by };
        Some(Self {
            from: from.to_owned(),
            to: to.to_owned(),
            quantity,
            difference: statistics::mean(&b) - statistics::mean(&a),
            interval,
            relative: (base > 0.0).then(|| scaled(1.0 / base)),
            per_cent_of_a_core: quantity.is_cpu().then(|| scaled(Quantity::per_cent_of_a_core(1.0, rate))),
            verdict: verdict(interval),
        })
    }
}

fn verdict(interval: Interval) -> Verdict {
    match (interval.low > 0.0, interval.high < 0.0) {
        (true, _) => Verdict::More,
        (_, true) => Verdict::Less,
        _ => Verdict::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(cpu: &[f64]) -> Vec<Cost> {
        let cost = |&cpu: &f64| Cost {
            per_second: 1000.0,
            time: cpu * 2.0,
            server: Some(ServerCost { cpu, user_share: Some(0.25), faults: 10.0 }),
        };
        cpu.iter().map(cost).collect()
    }

    fn effect(a: &[f64], b: &[f64], quantity: Quantity) -> Effect {
        Effect::between(("a", &rounds(a)), ("b", &rounds(b)), quantity, 100.0, statistics::CHANCE).unwrap()
    }

    #[test]
    fn a_difference_that_no_noise_hides_is_an_effect() {
        let (a, b) = ([100.0, 104.0, 102.0, 98.0], [150.0, 155.0, 151.0, 149.0]);
        let more = effect(&a, &b, Quantity::ServerCpu);
        assert_eq!((more.verdict, more.difference), (Verdict::More, 50.25));
        assert!(more.interval.contains(50.25) && more.relative.unwrap().contains(50.25 / 101.0), "{more:?}");
        // 50.25 µs, a hundred times a second, are half a per cent of a core.
        assert!(more.per_cent_of_a_core.unwrap().contains(0.5025), "{more:?}");
        assert_eq!(effect(&b, &a, Quantity::Time).verdict, Verdict::Less);
        assert_eq!(effect(&a, &b, Quantity::Time).per_cent_of_a_core, None);
        assert_eq!(effect(&a, &[101.0, 102.0, 103.0, 99.0], Quantity::ServerCpu).verdict, Verdict::None);
        assert_eq!(effect(&a, &b, Quantity::PageFaults).verdict, Verdict::None);
    }

    #[test]
    fn user_and_system_add_up() {
        let cost = rounds(&[80.0])[0];
        let of = |quantity| cost.of(quantity).unwrap();
        assert_eq!((of(Quantity::ServerUser), of(Quantity::ServerSystem)), (20.0, 60.0));
        let unknown = Cost { server: None, ..cost };
        assert_eq!(unknown.of(Quantity::ServerUser), None);
        assert_eq!(values(&[cost, unknown], Quantity::ServerCpu), None);
        assert_eq!(cost.midpoint(rounds(&[100.0])[0]).of(Quantity::Time), Some(180.0));
        assert_eq!(cost.midpoint(unknown).server, None);
    }

    #[test]
    fn nothing_is_said_of_one_round() {
        let one = rounds(&[1.0]);
        assert_eq!(Effect::between(("a", &one), ("b", &one), Quantity::Time, 1.0, statistics::CHANCE), None);
    }
}
