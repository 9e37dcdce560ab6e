//! The queue in the text format of Prometheus.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};

use super::watch::{ServerNow, Snapshot};
use crate::counts::{BUCKETS, Count, Histogram};
use crate::schedule::Schedule;
use crate::stat::{KindStat, ShardStat};

/// The media type of that format.
pub(crate) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A number of each kind of each shard.
type OfKind = (&'static str, &'static str, &'static str, fn(&KindStat) -> f64);
/// A number of each shard.
type OfShard = (&'static str, &'static str, &'static str, fn(&ShardStat) -> f64);
/// A number of each schedule, if there is one.
type OfSchedule = (&'static str, &'static str, &'static str, fn(&Schedule) -> Option<f64>);
/// A number of a shard's server, if it is known.
type OfServer = (&'static str, &'static str, &'static str, fn(&ServerNow) -> Option<f64>);

const OF_KINDS: &[OfKind] = &[
    ("waiting", "gauge", "Tasks that are ready or running.", |kind| kind.waiting as f64),
    ("later", "gauge", "Tasks that wait for a time.", |kind| kind.later as f64),
    ("dead", "gauge", "Tasks that failed for the last time.", |kind| kind.dead as f64),
    ("done_total", "counter", "Tasks done.", |kind| kind.done as f64),
    ("failed_total", "counter", "Attempts that failed.", |kind| kind.failed as f64),
    ("merged_total", "counter", "Tasks left out, since their object had an unfinished one.", |kind| {
        kind.merged as f64
    }),
    ("rate", "gauge", "Tasks done a second, over the last one to two minutes.", |kind| kind.rate),
    ("oldest_waiting_seconds", "gauge", "How long the oldest waiting task has been there.", |kind| {
        kind.oldest_seconds
    }),
];

const OF_SHARDS: &[OfShard] = &[
    ("inbox", "gauge", "Tasks that no shepherd has taken yet; beyond 10000 reckoned from ids.", |shard| {
        shard.inbox as f64
    }),
    ("draining", "gauge", "1 if the shard takes no more tasks.", |shard| f64::from(shard.is_draining)),
    ("in_transit", "gauge", "Tasks on their way to other shards.", |shard| shard.in_transit as f64),
    ("shepherds", "gauge", "Shepherds whose lease runs.", |shard| alive(shard).count() as f64),
    ("workers", "gauge", "Tasks that these can run at once.", |shard| {
        alive(shard).map(|one| f64::from(one.workers)).sum()
    }),
    ("workers_busy", "gauge", "Tasks that these run.", |shard| {
        alive(shard).map(|one| f64::from(one.running.min(one.workers))).sum()
    }),
    ("builds_loading", "gauge", "Builds that load.", |shard| loading(shard).count() as f64),
    ("builds_loading_tasks", "gauge", "Tasks that builds have stored and not published.", |shard| {
        loading(shard).map(|build| build.tasks as f64).sum()
    }),
];

const OF_SCHEDULES: &[OfSchedule] = &[
    ("fired_total", "counter", "Tasks that came of the schedule.", |one| Some(one.fired as f64)),
    ("missed_total", "counter", "Times for which another one's task came.", |one| Some(one.missed as f64)),
    ("next_timestamp_seconds", "gauge", "When its next task comes; absent if none does.", |one| {
        Some(one.next_ms? as f64 / 1000.0)
    }),
    ("last_timestamp_seconds", "gauge", "When its last task came; absent if none did.", |one| {
        Some(one.last_ms? as f64 / 1000.0)
    }),
];

const OF_SERVERS: &[OfServer] = &[
    ("history_list_length", "gauge", "Changes whose old rows InnoDB still keeps.", |server| {
        server.health.as_ref()?.history_list.value()
    }),
    (
        "oldest_transaction_seconds",
        "gauge",
        "How long the oldest transaction has been open; 0 if none is.",
        |server| match &server.health.as_ref()?.oldest_transaction_seconds {
            super::health::Reading::None(_) => Some(0.0),
            other => other.value(),
        },
    ),
    ("deadlocks_total", "counter", "Deadlocks since the server was started.", |server| {
        server.health.as_ref()?.deadlocks.value()
    }),
    (
        "replica_lag_seconds",
        "gauge",
        "How far the server is behind its source, where it is a replica.",
        |server| server.health.as_ref()?.replica_lag_seconds.value(),
    ),
];

fn alive(shard: &ShardStat) -> impl Iterator<Item = &crate::stat::ShepherdStat> {
    shard.shepherds.iter().filter(|shepherd| !shepherd.is_late)
}

fn loading(shard: &ShardStat) -> impl Iterator<Item = &crate::stat::BuildStat> {
    shard.builds.iter().filter(|build| build.state == "loading")
}

/// So many kinds of a shard are told of one by one: a kind takes some 6 kB, and there may be 65,536.
const MOST_KINDS: usize = 200;

/// What is told of as a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    One(u16),
    /// All kinds together that are not told of one by one.
    Others,
}

impl Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(kind) => kind.fmt(f),
            Self::Others => f.write_str("others"),
        }
    }
}

/// Which kinds of a shard are told of one by one: those with the most tasks, done and not.
struct Told(Option<BTreeSet<u16>>);

impl Told {
    fn of(shard: &ShardStat) -> Self {
        if shard.kinds.len() <= MOST_KINDS {
            return Self(None);
        }
        let mut kinds: Vec<_> = shard.kinds.iter().collect();
        let tasks = |kind: &KindStat| kind.done + kind.waiting + kind.later + kind.dead;
        kinds.sort_by_key(|kind| (Reverse(tasks(kind)), kind.kind));
        Self(Some(kinds.iter().take(MOST_KINDS).map(|kind| kind.kind).collect()))
    }

    fn name(&self, kind: u16) -> Of {
        match &self.0 {
            Some(told) if !told.contains(&kind) => Of::Others,
            _ => Of::One(kind),
        }
    }

    /// A number of each kind, and what `join` makes of the others'.
    fn values<'k>(
        &self,
        kinds: impl Iterator<Item = (u16, f64)> + 'k,
        join: fn(f64, f64) -> f64,
    ) -> BTreeMap<Of, f64> {
        let mut values = BTreeMap::new();
        for (kind, value) in kinds {
            values
                .entry(self.name(kind))
                .and_modify(|before| *before = join(*before, value))
                .or_insert(value);
        }
        values
    }
}

/// All that is known now.
pub(crate) fn text(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let told: Vec<_> = snapshot.stat.shards.iter().map(Told::of).collect();
    let reached_told = || snapshot.stat.shards.iter().zip(&told).filter(|(shard, _)| shard.error.is_none());
    let reached = || snapshot.stat.shards.iter().filter(|shard| shard.error.is_none());
    head(&mut out, "drover_queue_up", "gauge", "Whether the shard answers.");
    for shard in &snapshot.stat.shards {
        let up = if shard.error.is_none() { 1.0 } else { 0.0 };
        sample(&mut out, "drover_queue_up", &Labels(&shard.name, None, None), up);
    }
    for (name, kind, help, value) in OF_SHARDS {
        let name = format!("drover_queue_{name}");
        head(&mut out, &name, kind, help);
        reached().for_each(|shard| sample(&mut out, &name, &Labels(&shard.name, None, None), value(shard)));
    }
    let left_out = "Kinds that are told of together as kind=\"others\", since there are too many.";
    head(&mut out, "drover_queue_kinds_left_out", "gauge", left_out);
    for (shard, told) in reached_told() {
        let others = shard.kinds.iter().filter(|kind| told.name(kind.kind) == Of::Others).count();
        sample(&mut out, "drover_queue_kinds_left_out", &Labels(&shard.name, None, None), others as f64);
    }
    for (name, kind, help, value) in OF_KINDS {
        let join = if *name == "oldest_waiting_seconds" { f64::max } else { |one, other| one + other };
        let name = format!("drover_queue_{name}");
        head(&mut out, &name, kind, help);
        for (shard, told) in reached_told() {
            for (of, value) in told.values(shard.kinds.iter().map(|stat| (stat.kind, value(stat))), join) {
                sample(&mut out, &name, &Labels(&shard.name, Some(of), None), value);
            }
        }
    }
    for (name, kind, help, value) in OF_SCHEDULES {
        let name = format!("drover_queue_schedule_{name}");
        head(&mut out, &name, kind, help);
        for (shard, one) in reached().flat_map(|shard| shard.schedules.iter().map(move |one| (shard, one))) {
            if let Some(value) = value(one) {
                let labels =
                    format!("{{shard=\"{}\",schedule=\"{}\"}}", escaped(&shard.name), escaped(&one.name));
                sample(&mut out, &name, &labels, value);
            }
        }
    }
    servers(&mut out, snapshot, &told);
    let (waits, runs) = ("drover_queue_wait_seconds", "drover_queue_run_seconds");
    let waited = "From being pushed to being begun, of tasks that are done.";
    histograms(&mut out, snapshot, &told, waits, waited, 1e-3, |count| (&count.waits, count.wait_ms));
    let ran = "How long tasks ran that are done.";
    histograms(&mut out, snapshot, &told, runs, ran, 1e-6, |count| (&count.runs, count.run_us));
    out
}

fn servers(out: &mut String, snapshot: &Snapshot, told: &[Told]) {
    let both = || snapshot.stat.shards.iter().zip(&snapshot.servers);
    head(out, "drover_queue_paused", "gauge", "Whether no tasks of the kind are begun.");
    for ((shard, server), told) in both().zip(told).filter(|((shard, _), _)| shard.error.is_none()) {
        let paused = |kind: &KindStat| (kind.kind, f64::from(server.paused.holds(kind.kind)));
        for (of, paused) in told.values(shard.kinds.iter().map(paused), f64::max) {
            sample(out, "drover_queue_paused", &Labels(&shard.name, Some(of), None), paused);
        }
    }
    for (name, kind, help, value) in OF_SERVERS {
        let name = format!("drover_queue_server_{name}");
        head(out, &name, kind, help);
        for (shard, server) in both() {
            if let Some(value) = value(server) {
                sample(out, &name, &Labels(&shard.name, None, None), value);
            }
        }
    }
}

fn histograms(
    out: &mut String,
    snapshot: &Snapshot,
    told: &[Told],
    name: &str,
    help: &str,
    unit: f64,
    of: impl Fn(&Count) -> (&Histogram, i64),
) {
    head(out, name, "histogram", help);
    for ((shard, server), told) in snapshot.stat.shards.iter().zip(&snapshot.servers).zip(told) {
        let mut counts: BTreeMap<Of, (Histogram, i64)> = BTreeMap::new();
        for (kind, count) in &server.totals {
            let (histogram, sum) = of(count);
            let joined = counts.entry(told.name(*kind)).or_default();
            joined.0.join(histogram);
            joined.1 = joined.1.saturating_add(sum);
        }
        for (kind, (histogram, sum)) in &counts {
            let labels = |le| Labels(&shard.name, Some(*kind), le);
            let mut below = 0;
            for at in 0..BUCKETS - 1 {
                below += histogram.buckets().get(at).copied().unwrap_or(0);
                let border = (1u64 << at) as f64 * unit;
                sample(out, &format!("{name}_bucket"), &labels(Some(border)), below as f64);
            }
            below += histogram.buckets().get(BUCKETS - 1).copied().unwrap_or(0);
            sample(out, &format!("{name}_bucket"), &labels(Some(f64::INFINITY)), below as f64);
            sample(out, &format!("{name}_sum"), &labels(None), *sum as f64 * unit);
            sample(out, &format!("{name}_count"), &labels(None), below as f64);
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Writes a value; that of no summands is -0 without the addition.
fn sample(out: &mut String, name: &str, labels: &impl Display, value: f64) {
    let _ = writeln!(out, "{name}{labels} {}", value + 0.0);
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The shard, the kind, and the upper end of a bucket.
struct Labels<'a>(&'a str, Option<Of>, Option<f64>);

impl Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(shard, kind, le) = self;
        write!(f, "{{shard=\"{}\"", escaped(shard))?;
        if let Some(kind) = kind {
            write!(f, ",kind=\"{kind}\"")?;
        }
        match le {
            Some(le) if le.is_infinite() => f.write_str(",le=\"+Inf\"")?,
            Some(le) => write!(f, ",le=\"{}\"", (le * 1e6).round() / 1e6)?,
            None => {}
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::serve::watch::Paused;
    use crate::stat::StatReport;

    fn snapshot() -> Snapshot {
        let mut count = Count::default();
        count.done(3, Duration::from_micros(1500));
        count.done(900, Duration::from_secs(1 << 40));
        let kind = KindStat { kind: 7, waiting: 20_000_000, rate: 12.5, ..KindStat::default() };
        let daily = Schedule {
            name: "the \"daily\" one".into(),
            next_ms: Some(1_500),
            missed: 3,
            ..Schedule::default()
        };
        let name = "a\"b\\\n".into();
        let good = ShardStat { name, kinds: vec![kind], schedules: vec![daily], ..ShardStat::default() };
        let bad = ShardStat { name: "gone".into(), error: Some("why".into()), ..ShardStat::default() };
        let server = |totals| ServerNow {
            reached_ms: None,
            is_draining: false,
            paused: Paused::default(),
            health: None,
            totals,
        };
        Snapshot {
            at_ms: 0,
            takes_token: false,
            stat: StatReport::of(vec![good, bad]),
            servers: vec![server([(7, count)].into()), server([].into())],
        }
    }

    #[test]
    fn lines() {
        let text = text(&snapshot());
        for line in [
            "# TYPE drover_queue_waiting gauge",
            r#"drover_queue_up{shard="a\"b\\\n"} 1"#,
            r#"drover_queue_up{shard="gone"} 0"#,
            r#"drover_queue_waiting{shard="a\"b\\\n",kind="7"} 20000000"#,
            r#"drover_queue_schedule_missed_total{shard="a\"b\\\n",schedule="the \"daily\" one"} 3"#,
            r#"drover_queue_schedule_next_timestamp_seconds{shard="a\"b\\\n",schedule="the \"daily\" one"} 1.5"#,
            r#"drover_queue_rate{shard="a\"b\\\n",kind="7"} 12.5"#,
            r#"drover_queue_wait_seconds_bucket{shard="a\"b\\\n",kind="7",le="0.002"} 0"#,
            r#"drover_queue_wait_seconds_bucket{shard="a\"b\\\n",kind="7",le="0.004"} 1"#,
            r#"drover_queue_wait_seconds_bucket{shard="a\"b\\\n",kind="7",le="1.024"} 2"#,
            r#"drover_queue_wait_seconds_sum{shard="a\"b\\\n",kind="7"} 0.903"#,
            r#"drover_queue_run_seconds_bucket{shard="a\"b\\\n",kind="7",le="0.002048"} 1"#,
            r#"drover_queue_run_seconds_bucket{shard="a\"b\\\n",kind="7",le="1073.741824"} 1"#,
            r#"drover_queue_run_seconds_bucket{shard="a\"b\\\n",kind="7",le="+Inf"} 2"#,
            r#"drover_queue_run_seconds_count{shard="a\"b\\\n",kind="7"} 2"#,
        ] {
            assert!(text.lines().any(|found| found == line), "no line {line}:\n{text}");
        }
        assert!(!text.contains("shard=\"gone\",kind"), "nothing is known of it");
    }

    /// The sums stay right, and the text short.
    #[test]
    fn very_many_kinds_are_told_of_together() {
        let mut snapshot = snapshot();
        let kind = |kind| KindStat { kind, done: if kind == 9000 { 100 } else { 1 }, ..KindStat::default() };
        snapshot.stat.shards[0] =
            ShardStat { name: "a".into(), kinds: (0..10_000).map(kind).collect(), ..ShardStat::default() };
        let mut count = Count::default();
        count.done(3, Duration::from_micros(1500));
        snapshot.servers[0].totals = (0..10_000).map(|kind| (kind, count.clone())).collect();
        let text = text(&snapshot);
        assert!(text.len() < 2 << 20, "{}", text.len());
        for line in [
            r#"drover_queue_kinds_left_out{shard="a"} 9800"#,
            r#"drover_queue_done_total{shard="a",kind="9000"} 100"#,
            r#"drover_queue_done_total{shard="a",kind="others"} 9800"#,
            r#"drover_queue_wait_seconds_count{shard="a",kind="others"} 9800"#,
        ] {
            assert!(text.lines().any(|found| found == line), "no line {line}");
        }
    }

    #[test]
    fn each_name_is_told_of_once_before_its_samples() {
        let text = text(&snapshot());
        let mut told = Vec::new();
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => {
                    let name = rest.split(' ').next().unwrap();
                    assert!(!told.contains(&name), "{name} twice");
                    told.push(name);
                }
                None if line.starts_with('#') => {}
                None => assert!(line.starts_with(told.last().unwrap()), "{line} is not below its head"),
            }
        }
    }
}
