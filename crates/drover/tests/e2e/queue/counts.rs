//! Counts of long ago.

use drover_sandbox::Flavour;

use crate::client::{sql, value};
use crate::drover::{drover, run};
use crate::servers::{on_both, start};

on_both!(old_minutes_become_hours);

/// Five hours of minutes of two shepherds and two kinds, three days ago, become ten rows that hold the same.
fn old_minutes_become_hours(flavour: Flavour) {
    let server = start(flavour, &[]);
    let place = format!("--no-defaults -u root -D jobs -S {}", server.socket().display());
    run(&mut drover(&format!("queue init {place}"))).done();
    let now: u64 = value(&server, "SELECT FLOOR(UNIX_TIMESTAMP() / 60)").parse().unwrap();
    let first = (now - 3 * 24 * 60) / 60 * 60;
    let row = |minute: u64, shepherd: u64, kind: u64| {
        format!("({minute},{shepherd},{kind},5,{},1,0,0,-1,70,900,'1,2,{minute}','0,0,3')", minute % 7)
    };
    let of = |shepherd: u64| move |minute: u64| (1..=2).map(move |kind| row(minute, shepherd, kind));
    let rows: Vec<_> = (0..2).flat_map(|shepherd| (first..first + 300).flat_map(of(shepherd))).collect();
    let recent = row(now - 60, 9, 1);
    sql(&server, format!("INSERT INTO jobs.queue_count VALUES {}, {recent}", rows.join(",")));
    let sums = "SELECT kind, SUM(taken), SUM(done), SUM(failed), SUM(later), SUM(wait_ms), SUM(run_us) FROM jobs.queue_count GROUP BY kind";
    let waits = "SELECT SUM(SUBSTRING_INDEX(waits, ',', 1)), SUM(SUBSTRING_INDEX(waits, ',', -1)) FROM jobs.queue_count";
    let before = (sql(&server, sums), sql(&server, waits));
    run(drover(&format!("queue work {place} --until-empty --json-lines")).arg("cat")).done();
    assert_eq!((sql(&server, sums), sql(&server, waits)), before);
    assert_eq!(
        value(&server, "SELECT COUNT(*) FROM jobs.queue_count"),
        "11",
        "five hours of two kinds, and one minute"
    );
}
