//! Which shard a task goes to.

use std::collections::BTreeSet;
use std::path::Path;

use drover_sandbox::Flavour;

use super::{Queue, numbers, sharded};
use crate::client::feed;
use crate::drover::{Running, run};
use crate::servers::on_both;

on_both!(a_tenant_is_on_one_shard, random_tasks_are_spread, a_resumed_build_places_as_before);

fn push(file: &Path, lines: &str) {
    let output = feed(sharded(file, "push").arg("-"), lines.as_bytes());
    assert!(output.status.success(), "{output:?}");
}

/// The tasks of each tenant on a shard, in the inbox and in builds.
fn tenants(queue: &Queue, shard: &str) -> BTreeSet<(String, String)> {
    let sql = "SELECT tenant, COUNT(*) FROM queue_inbox GROUP BY 1 UNION ALL SELECT tenant, SUM(tasks) FROM queue_lane WHERE lane > 0 GROUP BY 1";
    let rows = crate::client::sql(queue.server, format!("USE {}_{shard}; {sql}", queue.schema));
    rows.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
}

fn a_tenant_is_on_one_shard(flavour: Flavour) {
    let queue = Queue::new(flavour, "place_tenant");
    let file = queue.shards(&["a", "b"], "tenant");
    let line = |number: u32| format!("{{\"object_id\": {number}, \"tenant\": \"t{}\"}}\n", number % 40);
    push(&file, &(0..400).map(line).collect::<String>());
    let tasks = queue.file("tasks", &(0..2000).map(line).collect::<String>());
    run(sharded(&file, "build").arg(tasks)).done();
    let (a, b) = (tenants(&queue, "a"), tenants(&queue, "b"));
    let all: BTreeSet<_> = (0..40).flat_map(|t| [10, 50].map(|n| (format!("t{t}"), n.to_string()))).collect();
    assert!(a.is_disjoint(&b), "{a:?} {b:?}");
    assert_eq!(&a | &b, all, "all tasks of a tenant");
    let names = |of: &BTreeSet<(String, String)>| {
        of.iter().map(|(tenant, _)| tenant.clone()).collect::<BTreeSet<_>>()
    };
    assert!(names(&a).is_disjoint(&names(&b)), "what is pushed lies where what is built does: {a:?} {b:?}");
    assert!((8..33).contains(&names(&a).len()), "{a:?}");
    // Those of nobody are together, too.
    push(&file, &numbers(1, 10));
    let of_nobody = |shard| queue.value_of(shard, "SELECT COUNT(*) FROM queue_inbox WHERE tenant = ''");
    let mut both = [of_nobody("a"), of_nobody("b")];
    both.sort();
    assert_eq!(both, ["0", "10"]);
}

fn random_tasks_are_spread(flavour: Flavour) {
    let queue = Queue::new(flavour, "place_random");
    let file = queue.shards(&["a", "b", "c"], "random");
    push(&file, &"7\n".repeat(3000));
    for shard in ["a", "b", "c"] {
        let count = queue.value_of(shard, "SELECT COUNT(*) FROM queue_inbox").parse::<u32>().unwrap();
        assert!((850..1150).contains(&count), "{shard}: {count}");
    }
    // One at a time, too.
    queue.fed("push 1", "");
    for _ in 0..12 {
        run(sharded(&file, "push --kind 9").arg("7")).done();
    }
    let of = |shard| queue.value_of(shard, "SELECT COUNT(*) FROM queue_inbox WHERE kind = 9");
    let counts = ["a", "b", "c"].map(of);
    assert!(!counts.contains(&"12".to_owned()), "{counts:?}");
}

/// What a build has stored on a shard: how many, and what.
fn stored(queue: &Queue, shard: &str, job: &str) -> (u64, u64) {
    let of = format!("SELECT segment FROM queue_segment JOIN queue_build USING (build) WHERE job = '{job}'");
    let rows = crate::client::sql(queue.server, format!("USE {}_{shard}; {of}", queue.schema));
    rows.iter().fold((0, 0), |(count, digest), row| {
        let sql = format!(
            "SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(object_id) << 20 ^ CRC32(CONCAT(object_id, 'x')))) FROM queue_segment_{}",
            row[0]
        );
        let text = queue.value_of(shard, sql);
        let (more, other) = text.split_once(' ').unwrap();
        (count + more.parse::<u64>().unwrap(), digest ^ other.parse::<u64>().unwrap())
    })
}

fn a_resumed_build_places_as_before(flavour: Flavour) {
    const TASKS: u32 = 600_000;
    let queue = Queue::new(flavour, "place_resumed");
    let file = queue.shards(&["a", "b"], "random");
    let tasks = queue.file("tasks", &numbers(1, TASKS));
    run(sharded(&file, "build --job whole").arg(&tasks)).done();
    let position = "SELECT COALESCE(MAX(tasks), 0) FROM queue_build WHERE job = 'broken'";
    let mut seen = 0;
    for _ in 0..2 {
        let mut build = Running::start(sharded(&file, "build --job broken").arg(&tasks));
        let stored = || queue.value_of("a", position).parse::<u32>().unwrap();
        build.freeze_when("more was stored", || stored() > seen);
        build.signal("KILL");
        drop(build);
        seen = stored();
    }
    run(sharded(&file, "build --job broken").arg(&tasks)).done();
    let mut all = 0;
    for shard in ["a", "b"] {
        let (whole, broken) = (stored(&queue, shard, "whole"), stored(&queue, shard, "broken"));
        assert_eq!(whole, broken, "{shard}");
        assert!((295_000..305_000).contains(&whole.0), "{shard}: {whole:?}");
        all += whole.0;
    }
    assert_eq!(all, u64::from(TASKS));
}
