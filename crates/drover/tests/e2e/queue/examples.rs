//! The examples do what they say.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use drover_sandbox::Flavour;

use super::{Queue, http};
use crate::client::{run_script, wait_until};
use crate::servers::on_both;

on_both!(workers, a_web_service, tasks_in_the_callers_transaction);

fn example(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/queue").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().count() < 20, "{name} is short");
    path.canonicalize().unwrap()
}

/// Works with something that fails where the payload says so.
fn try_with(flavour: Flavour, name: &str, hands: [&str; 2]) {
    let queue = Queue::new(flavour, name);
    queue.run("set --max-attempts 1").done();
    queue.run("push 1 2 text").done();
    crate::drover::run(queue.command("push 4").args(["--payload", "{\"fail\": \"as told\"}"])).done();
    let report = queue.work("", hands);
    assert_eq!((&report["done"], &report["dead"]), (&3.into(), &1.into()), "{report}");
    let dead = queue.sql("SELECT object_id, error FROM queue_dead");
    assert!(dead[0][0] == "4" && dead[0][1].contains("told"), "{dead:?}");
}

fn workers(flavour: Flavour) {
    try_with(flavour, "example_in_python", ["--json-lines", &example("worker.py").display().to_string()]);
    try_with(flavour, "example_in_shell", ["--exec", &example("worker.sh").display().to_string()]);
}

/// Killed at the end of the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _already_ended = self.0.kill();
        let _status = self.0.wait();
    }
}

fn a_web_service(flavour: Flavour) {
    let port = http::free_port();
    let mut python = Command::new("python3");
    python.arg(example("service.py")).arg(port.to_string()).stderr(Stdio::null());
    let _service = Service(python.spawn().unwrap());
    wait_until("the service listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    try_with(flavour, "example_over_http", ["--http", &format!("http://127.0.0.1:{port}/")]);
}

fn tasks_in_the_callers_transaction(flavour: Flavour) {
    let queue = Queue::new(flavour, "example_of_sql");
    let script = std::fs::read(example("enqueue.sql")).unwrap();
    run_script(queue.server, Some(&queue.schema), &script).unwrap();
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.servers/pymysql/bin/python3");
    assert!(python.exists(), "no {}: scripts/setup installs it", python.display());
    let mut enqueue = Command::new(python);
    enqueue.arg(example("enqueue.py")).arg(queue.server.socket()).arg(&queue.schema);
    assert!(enqueue.status().unwrap().success());
    let orders = queue.sql("SELECT id FROM orders ORDER BY id");
    assert_eq!(orders.len(), 2, "those that were committed");
    let worker = queue.python(
        "log.write(f\"{task['kind']} {task['object_id']} {task['payload']['mail']}\\n\")\nanswer(task)",
    );
    assert_eq!(queue.work("", ["--json-lines", &worker])["done"], 2);
    let expected: Vec<_> = orders.iter().map(|order| format!("1 {} confirmation", order[0])).collect();
    assert_eq!(queue.sorted("log"), expected);
}
