use super::*;
use crate::kinds::Kind;
use crate::task::{ObjectId, Task};

const NOW: Duration = Duration::ZERO;

fn queued(kind: u16, priority: i8, tenant: &str, seq: u32) -> Queued {
    let task = Task {
        id: u64::from(seq),
        lease: 0,
        kind,
        object_id: ObjectId::Number(i64::from(seq)),
        payload: None,
        attempt: 1,
        tenant: tenant.into(),
    };
    Queued { shard: 0, lane: 1, seq, priority, created_ms: 0, task }
}

fn ids(tasks: &[Arc<Queued>]) -> Vec<u64> {
    tasks.iter().map(|queued| queued.task.id).collect()
}

fn ruled(kind: Kind) -> Desk {
    let desk = Desk::new(1);
    desk.rule(0, Kinds::all(kind));
    desk
}

fn done(lease: u64) -> Answer {
    Answer { lease, outcome: Outcome::Done }
}

#[test]
fn the_highest_priority_goes_first() {
    let desk = Desk::new(1);
    desk.put([queued(1, 0, "", 1), queued(1, 5, "", 2), queued(2, -5, "", 3), queued(1, 5, "", 4)]);
    assert_eq!(ids(&desk.take(3, NOW).unwrap()), [2, 4, 1]);
    assert_eq!(ids(&desk.take(3, NOW).unwrap()), [3]);
    assert!(desk.take(3, NOW).unwrap().is_empty());
}

#[test]
fn tenants_take_turns() {
    let desk = Desk::new(1);
    desk.put((0..1000).map(|seq| queued(1, 0, "large", seq)));
    desk.put((1000..1010).map(|seq| queued(1, 0, "small", seq)));
    let first: Vec<u64> = (0..20).flat_map(|_| ids(&desk.take(1, NOW).unwrap())).collect();
    assert_eq!(first.iter().filter(|&&id| id >= 1000).count(), 10, "{first:?}");
    let many = desk.take(100, NOW).unwrap();
    assert_eq!(many.len(), 100, "one tenant alone has all");
}

#[test]
fn no_more_run_at_once_than_may() {
    let desk = ruled(Kind { concurrency: Some(3), ..Kind::default() });
    desk.put((0..10).map(|seq| queued(1, 0, "", seq)));
    desk.put([queued(2, 0, "", 10)]);
    let taken = desk.take(10, NOW).unwrap();
    assert_eq!(taken.len(), 4, "three of one kind, and one of the other");
    assert!(desk.take(10, NOW).unwrap().is_empty());
    assert_eq!(desk.answer([done(taken[0].task.lease)]), 0);
    assert_eq!(desk.take(10, NOW).unwrap().len(), 1);
}

#[test]
fn each_shard_has_its_rules_and_all_have_one_limit() {
    let desk = Desk::new(2);
    let limited = |most| Kinds::all(Kind { concurrency: Some(most), ..Kind::default() });
    desk.rule(0, limited(3));
    desk.rule(1, Kinds::all(Kind { is_paused: true, ..Kind::default() }));
    let there = |seq| Queued { shard: 1, ..queued(1, 0, "", seq) };
    desk.put((0..10).map(|seq| queued(1, 0, "", seq)).chain((10..20).map(there)));
    assert_eq!(ids(&desk.take(10, NOW).unwrap()), [0, 1, 2]);
    desk.rule(1, limited(5));
    assert_eq!(ids(&desk.take(10, NOW).unwrap()), [10, 11], "the three of the other shard count");
}

#[test]
fn a_rate_is_kept() {
    let desk = ruled(Kind { rate: Some(100.0), ..Kind::default() });
    desk.put((0..1000).map(|seq| queued(1, 0, "", seq)));
    let begun = Instant::now();
    let mut taken = 0;
    while begun.elapsed() < Duration::from_millis(500) {
        taken += desk.take(1000, Duration::from_millis(5)).unwrap().len();
    }
    // A second's worth at once, and then so many a second.
    let most = 101.0 + begun.elapsed().as_secs_f64() * 100.0;
    assert!(taken >= 140 && taken as f64 <= most, "{taken} in {:?}", begun.elapsed());
}

#[test]
fn nothing_of_a_paused_kind_is_begun() {
    let desk = ruled(Kind { is_paused: true, ..Kind::default() });
    desk.put([queued(1, 0, "", 1)]);
    assert!(desk.take(1, NOW).unwrap().is_empty());
    desk.rule(0, Kinds::default());
    assert_eq!(desk.take(1, NOW).unwrap().len(), 1);
}

#[test]
fn what_is_overdue_is_given_up_and_its_answer_refused() {
    let desk = ruled(Kind { timeout: Duration::from_millis(20), ..Kind::default() });
    desk.put([queued(1, 0, "", 1), queued(1, 0, "", 2)]);
    let taken = desk.take(2, NOW).unwrap();
    let (late, heard) = (taken[0].task.lease, taken[1].task.lease);
    std::thread::sleep(Duration::from_millis(15));
    assert!(desk.beat(heard));
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(desk.expire(), [late]);
    assert_eq!(desk.answer([done(late), done(heard), done(heard), done(999)]), 3);
    let finished = desk.mail(0, NOW, Instant::now()).finished;
    assert!(matches!(finished[0].outcome, Outcome::Failed(_)) && finished[1].outcome == Outcome::Done);
    assert_eq!((finished.len(), desk.running()), (2, 0));
}

#[test]
fn little_waits_for_more_to_be_acknowledged_with_it() {
    let desk = ruled(Kind::default());
    desk.put((0..=MANY as u32).map(|seq| queued(1, 0, "", seq)));
    let leases: Vec<_> = desk.take(MANY + 1, NOW).unwrap().iter().map(|task| task.task.lease).collect();
    desk.answer([done(leases[0])]);
    let (begun, later) = (Instant::now(), Instant::now() + Duration::from_millis(50));
    let told = desk.mail(0, Duration::from_secs(60), later);
    assert!(told.taken && told.finished.is_empty(), "tasks are read ahead meanwhile");
    assert_eq!(desk.mail(0, Duration::from_secs(60), later).finished.len(), 1);
    assert!(begun.elapsed() >= Duration::from_millis(50));
    desk.answer(leases[1..].iter().map(|lease| done(*lease)));
    let hour = Instant::now() + Duration::from_secs(3600);
    assert_eq!(desk.mail(0, Duration::from_secs(60), hour).finished.len(), MANY);
}

#[test]
fn a_time_out_that_changes_holds_for_what_runs() {
    let desk = ruled(Kind { timeout: Duration::from_secs(1000), ..Kind::default() });
    desk.put([queued(1, 0, "", 1)]);
    let lease = desk.take(1, NOW).unwrap()[0].task.lease;
    assert!(desk.expire().is_empty());
    desk.rule(0, Kinds::all(Kind { timeout: Duration::ZERO, ..Kind::default() }));
    assert_eq!(desk.expire(), [lease]);
}

#[test]
fn of_one_hand_that_hangs_one_task_has_failed() {
    let desk = ruled(Kind { timeout: Duration::from_millis(50), ..Kind::default() });
    desk.put((0..5).map(|seq| queued(1, 0, "", seq)));
    let hung = desk.take_for(7, 2, NOW).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    desk.take_for(7, 1, NOW).unwrap(); // later, and with the same one
    desk.take_for(8, 1, NOW).unwrap();
    std::thread::sleep(Duration::from_millis(25));
    assert_eq!(desk.expire().len(), 3);
    let finished = desk.mail(0, NOW, Instant::now()).finished;
    let failed: Vec<_> = finished.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_))).collect();
    assert!(failed.len() == 1 && failed[0].queued.task.lease == hung[0].task.lease, "{finished:?}");
    assert_eq!(desk.running(), 1);
}

#[test]
fn nothing_is_left_of_a_shard_that_is_forgotten() {
    let desk = Desk::new(2);
    desk.put([queued(1, 0, "", 1), queued(1, 0, "", 2), Queued { shard: 1, ..queued(1, 0, "", 3) }]);
    let taken = desk.take(1, NOW).unwrap();
    desk.forget(0);
    assert_eq!(desk.answer([done(taken[0].task.lease)]), 1);
    assert_eq!(ids(&desk.take(5, NOW).unwrap()), [3]);
    assert!(desk.mail(0, NOW, Instant::now()).finished.is_empty());
}

#[test]
fn heavy_tasks_count_as_several() {
    let desk = Desk::new(2);
    let weight = || desk.ready(0).values().sum::<usize>();
    let heavy = |seq| {
        let mut queued = queued(1, 0, "", seq);
        queued.task.payload = Some("x".repeat(40_960).into());
        queued
    };
    desk.put((0..4).map(heavy));
    desk.put([queued(1, 0, "", 4)]);
    assert_eq!(weight(), 4 * 11 + 1);
    let taken = desk.take(1, NOW).unwrap();
    assert_eq!(weight(), 3 * 11 + 1, "what is given out is not ready");
    desk.put([taken[0].again()]);
    assert_eq!(weight(), 4 * 11 + 1);
    desk.halve(0, 1, 1, 5);
    assert_eq!(weight(), 3 * 11);
    desk.withdraw(0, |_| true);
    assert_eq!(weight(), 0);
    desk.put((0..4).map(heavy));
    desk.forget(0);
    assert_eq!(weight(), 0);
}

#[test]
fn lanes_are_withdrawn() {
    let desk = Desk::new(1);
    desk.put([queued(1, 0, "", 1), Queued { lane: 2, ..queued(1, 0, "", 2) }]);
    assert_eq!(desk.withdraw(0, |lane| lane == 1).len(), 1);
    assert_eq!(desk.ready(0).values().sum::<usize>(), 1);
    assert_eq!(ids(&desk.take(5, NOW).unwrap()), [2]);
    assert_eq!(desk.busy(0), HashMap::from([(2, 3)]));
}

#[test]
fn a_lane_is_busy_until_its_answers_were_fetched() {
    let desk = Desk::new(1);
    desk.put((0..3).map(|seq| queued(1, 0, "", seq)));
    let taken = desk.take(2, NOW).unwrap();
    desk.answer([done(taken[1].task.lease)]);
    assert_eq!(desk.busy(0), HashMap::from([(1, 2)]));
    assert_eq!(desk.halve(0, 1, 0, 10), Some(6), "behind what was answered, too");
    assert_eq!(desk.mail(0, NOW, Instant::now()).finished.len(), 1);
    assert_eq!(desk.busy(0), HashMap::from([(1, 1)]));
}

#[test]
fn a_lane_is_halved_behind_what_runs() {
    let desk = Desk::new(1);
    desk.put((0..6).map(|seq| queued(1, 0, "", seq)));
    desk.take(2, NOW).unwrap(); // 0 and 1 run, 2 to 5 are ready, 6 to 9 were not read
    assert_eq!(desk.halve(0, 1, 0, 10), Some(6));
    assert_eq!(desk.ready_by_lane(0), HashMap::from([(1, 4)]));
    assert_eq!(desk.halve(0, 1, 0, 6), Some(4));
    assert_eq!(ids(&desk.take(9, NOW).unwrap()), [2, 3]);
    assert_eq!(desk.halve(0, 1, 0, 5), None, "one is too little");
}

#[test]
fn a_worker_that_waits_gets_what_comes() {
    let desk = Desk::new(1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| desk.take(1, Duration::from_secs(30)));
        std::thread::sleep(Duration::from_millis(20));
        desk.put([queued(1, 0, "", 1)]);
        assert_eq!(waiting.join().unwrap().unwrap().len(), 1);
        let waiting = scope.spawn(|| desk.take(1, Duration::from_secs(30)));
        desk.close();
        assert!(waiting.join().unwrap().is_none());
    });
}
