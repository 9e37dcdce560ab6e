//! Payloads that do not fit into a statement of the server's, written as text, by themselves or together.

use drover_sandbox::Flavour;

use crate::client::{sql, value};
use crate::drover::{drover, run};
use crate::servers::{on_both, start_unsynced};

on_both!(payloads_larger_than_a_packet);

/// They come in, wait for a time, fail, are tried again and die like others, and hold up nobody.
fn payloads_larger_than_a_packet(flavour: Flavour) {
    const BYTES: usize = 700_000;
    let server = start_unsynced(flavour, &["--max-allowed-packet=1M"]);
    let dir = tempfile::tempdir().unwrap();
    let place = format!("--no-defaults -u root -D jobs -S {}", server.socket().display());
    run(&mut drover(&format!("queue init {place}"))).done();
    run(&mut drover(&format!("queue set --max-attempts 2 --backoff 10ms {place}"))).done();
    let large = |object: &str, not_before: &str| {
        sql(
            &server,
            format!(
                "INSERT INTO jobs.queue_inbox (object_id, payload, not_before) SELECT '{object}', REPEAT('''', {BYTES}), {not_before}"
            ),
        );
    };
    large("at once", "NULL");
    large("later", "NOW(3) + INTERVAL 100000 MICROSECOND");
    large("dies", "NULL");
    for object in 0..40 {
        sql(
            &server,
            format!(
                "INSERT INTO jobs.queue_inbox (object_id, payload) SELECT {object}, REPEAT('\\\\', 60000)"
            ),
        );
    }
    let script = dir.path().join("worker.py");
    let text = "import json, sys\nfor line in sys.stdin:\n    task = json.loads(line)\n    answer = {'lease': task['lease']}\n    \
                fails = task['object_id'] == 'dies' or task['object_id'] == 'at once' and task['attempt'] == 1\n    \
                if fails: answer['error'] = str(len(task['payload']))\n    print(json.dumps(answer), flush=True)\n";
    std::fs::write(&script, text).unwrap();
    let work = || {
        let mut work = drover(&format!("queue work --json --until-empty {place} --json-lines"));
        run(work.arg(format!("exec python3 {}", script.display())))
    };
    let waits = "SELECT COUNT(*) FROM jobs.queue_later";
    let mut done = 0;
    crate::client::wait_until("nothing is left", || {
        done += work().json()["done"].as_u64().unwrap();
        value(&server, waits) == "0"
    });
    assert_eq!(done, 42);
    let dead = sql(&server, "SELECT object_id, LENGTH(payload), attempts, error FROM jobs.queue_dead");
    assert_eq!(dead, [["dies", &BYTES.to_string(), "2", &BYTES.to_string()]]);
}
