//! A web service that does the work.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::Flavour;
use serde_json::Value;

use super::{Queue, numbers};
use crate::client::wait_until;
use crate::drover::{Running, run};
use crate::s3::make_certificate;
use crate::servers::on_both;

on_both!(
    what_a_service_gets,
    the_status_decides,
    too_much_is_postponed_and_slows_down,
    times_to_come_back,
    a_slow_service_is_given_up,
    nobody_there,
    over_tls,
    a_login_is_not_told,
);

/// A service in Python that ends with this process. `text` is done with each `task`, and calls `say(status, text, headers)`.
struct Service {
    port: u16,
    _ends_with_us: Child,
}

impl Service {
    fn start(queue: &Queue, text: &str, certificate: Option<&Path>) -> Self {
        let program = queue.at("import json, os, ssl, sys, threading, time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
log = open('@/log', 'a', buffering=1)
class Service(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *rest): pass
    def say(self, status, text='', **headers):
        self.send_response(status)
        for name, value in headers.items(): self.send_header(name.replace('_', '-'), value)
        self.send_header('Content-Length', str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        task, say, headers = json.loads(body), self.say, self.headers
        BODY
class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 100
    def handle_error(self, *rest): pass
server = Server(('127.0.0.1', int(sys.argv[1])), Service)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2] + '/cert.pem', sys.argv[2] + '/key.pem')
    server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
");
        let file =
            queue.file("service.py", &program.replace("BODY", &queue.at(text).replace('\n', "\n        ")));
        let port = free_port();
        let mut python = Command::new("python3");
        python.arg(file).arg(port.to_string()).args(certificate).stdin(Stdio::piped());
        let service = Self { port, _ends_with_us: python.spawn().unwrap() };
        wait_until("the service listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        service
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/work", self.port)
    }
}

pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn what_a_service_gets(flavour: Flavour) {
    let queue = Queue::new(flavour, "http");
    let mut push = queue.command("push --kind 3 object");
    run(push.args(["--payload", "{\"a\":1}"])).done();
    queue.fed("push --kind 3 -", &numbers(1, 200));
    let text = "log.write(json.dumps({'from': self.client_address[1], 'task': task, 'path': self.path, 'lines': body.count('\\n'),\n\
                'headers': {k.lower(): v for k, v in headers.items()}}) + '\\n')\nsay(204 if task['id'] % 2 else 200)";
    let service = Service::start(&queue, text, None);
    let report = queue.work("--procs 3", ["--http", &service.url()]);
    assert_eq!((&report["done"], &report["failed"]), (&201.into(), &0.into()), "{report}");
    let log: Vec<Value> = queue.lines("log").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = log.iter().find(|got| got["task"]["object_id"] == "object").unwrap();
    assert_eq!((&first["path"], &first["lines"]), (&"/work".into(), &1.into()));
    let (task, headers) = (&first["task"], &first["headers"]);
    assert_eq!((&task["payload"]["a"], &headers["content-type"]), (&1.into(), &"application/json".into()));
    for (header, field) in [
        ("drover-id", "id"),
        ("drover-kind", "kind"),
        ("drover-attempt", "attempt"),
        ("drover-lease", "lease"),
    ] {
        assert_eq!(headers[header], task[field].to_string(), "{header}");
    }
    // Connections are used again.
    let mut connections: Vec<_> = log.iter().map(|got| got["from"].as_u64()).collect();
    connections.sort_unstable();
    connections.dedup();
    assert!(connections.len() < 20, "{connections:?}");
}

fn the_status_decides(flavour: Flavour) {
    let queue = Queue::new(flavour, "statuses");
    queue.run("set --max-attempts 1").done();
    queue.run("push 200 201 301 302 400 404 408 418 500 502 504").done();
    let text = "say(task['object_id'], 'because ' + 'x' * 5000, Location='http://127.0.0.1:1/elsewhere')";
    let service = Service::start(&queue, text, None);
    let report = queue.work("", ["--http", &service.url()]);
    assert_eq!((&report["done"], &report["dead"]), (&2.into(), &9.into()), "{report}");
    let dead = queue.sql("SELECT object_id, error FROM queue_dead ORDER BY object_id");
    let statuses: Vec<_> = dead.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(statuses, ["301", "302", "400", "404", "408", "418", "500", "502", "504"]);
    for row in &dead {
        let (status, error) = (&row[0], &row[1]);
        assert!(error.starts_with(&format!("HTTP {status} ")) && error.contains("because x"), "{error}");
        assert!(error.len() < 1200, "{}", error.len());
        assert_eq!(error.contains("redirects are not followed"), status.starts_with('3'), "{error}");
    }
}

fn too_much_is_postponed_and_slows_down(flavour: Flavour) {
    let queue = Queue::new(flavour, "too_much");
    queue.fed("push -", &numbers(1, 40));
    // The first eight are too much; then it takes all, and tells how many there are at a time.
    let text = "g = globals(); g['seen'] = g.get('seen', 0) + 1; g['now'] = g.get('now', 0) + 1\nis_early = g['seen'] <= 8\n\
                log.write(f\"{is_early} {g['now']} {task['attempt']}\\n\")\ntime.sleep(0.05)\n\
                g['now'] -= 1\nsay(*((429, 'too much') if is_early else (200,)), **({'Retry_After': '1'} if is_early else {}))";
    let service = Service::start(&queue, text, None);
    let mut work = Running::start(&mut queue.working("--procs 8", ["--http", &service.url()]));
    wait_until("all ran", || !work.has_ended() && queue.lines("log").len() >= 48);
    wait_until("all was acknowledged", || queue.value("SELECT SUM(done) FROM queue_count") == "40");
    work.signal("INT");
    let report = work.finish().done().json();
    assert_eq!((&report["done"], &report["failed"]), (&40.into(), &0.into()), "{report}");
    let log = queue.lines("log");
    assert!(log.iter().all(|line| line.ends_with(" 1")), "no attempt is counted: {log:?}");
    let at_once = |line: &String| line.split(' ').nth(1).unwrap().parse::<u32>().unwrap();
    let after: Vec<_> = log.iter().filter(|line| line.starts_with("False")).map(at_once).collect();
    assert!(after[..3].iter().all(|&count| count <= 4), "half as many at first: {after:?}");
    assert!(after.iter().any(|&count| count > 4), "more again later: {after:?}");
}

fn times_to_come_back(flavour: Flavour) {
    let queue = Queue::new(flavour, "retry_after");
    queue.run("push seconds date none").done();
    let text = "say(503, Retry_After={'seconds': '200', 'date': formatdate(time.time() + 400, usegmt=True), 'none': 'x'}[task['object_id']])";
    let service = Service::start(&queue, text, None);
    let mut work = Running::start(&mut queue.working("--procs 3", ["--http", &service.url()]));
    let waits = "SELECT object_id, ROUND(due_ms / 1000 - UNIX_TIMESTAMP(NOW(3))), attempts FROM queue_later ORDER BY object_id";
    wait_until("all were put off", || !work.has_ended() && queue.sql(waits).len() == 3);
    let rows = queue.sql(waits);
    let wait = |at: usize| rows[at][1].parse::<f64>().unwrap();
    assert!(
        (390.0..=401.0).contains(&wait(0)) && wait(1) <= 3.0 && (190.0..=201.0).contains(&wait(2)),
        "{rows:?}"
    );
    assert!(rows.iter().all(|row| row[2] == "0"), "no attempts: {rows:?}");
    work.signal("INT");
    work.finish().done();
}

fn a_slow_service_is_given_up(flavour: Flavour) {
    let queue = Queue::new(flavour, "slow_service");
    queue.run("set --timeout 1s --backoff 0s").done();
    queue.run("push slow fine").done();
    let text = "log.write(task['object_id'] + '\\n')\nif task['object_id'] == 'slow' and task['attempt'] == 1: time.sleep(60)\nsay(200)";
    let service = Service::start(&queue, text, None);
    let begun = Instant::now();
    let report = queue.work("--procs 1", ["--http", &service.url()]);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(
        (&report["done"], &report["failed"], &report["refused"]),
        (&2.into(), &1.into(), &0.into()),
        "{report}"
    );
    assert_eq!(queue.sorted("log"), ["fine", "slow", "slow"]);
}

fn nobody_there(flavour: Flavour) {
    let queue = Queue::new(flavour, "nobody");
    queue.run("set --max-attempts 1").done();
    queue.run("push 1").done();
    let url = format!("http://user:secret@127.0.0.1:{}/work?token=secret", free_port());
    let report = queue.work("--procs 1", ["--http", &url]);
    assert_eq!(report["dead"], 1);
    let error = queue.value("SELECT error FROM queue_dead");
    assert!(error.contains("127.0.0.1") && error.contains("refused"), "{error}");
    assert!(!error.contains("secret") && !error.contains("user"), "{error}");
}

fn over_tls(flavour: Flavour) {
    let queue = Queue::new(flavour, "https");
    queue.run("set --max-attempts 1").done();
    queue.run("push 1").done();
    make_certificate(queue.dir.path());
    let service = Service::start(&queue, "say(200)", Some(queue.dir.path()));
    let url = service.url().replace("http:", "https:");
    let mut stranger = queue.working("--until-empty", ["--http", &url]);
    run(stranger
        .env("SSL_CERT_FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/options/stranger-ca.pem")));
    let error = queue.value("SELECT error FROM queue_dead");
    assert!(error.contains("certificate"), "{error}");
    queue.run("push 2").done();
    let mut work = queue.working("--until-empty", ["--http", &url]);
    let report = run(work.env("SSL_CERT_FILE", queue.dir.path().join("ca.pem"))).done().json();
    assert_eq!(report["done"], 1);
}

fn a_login_is_not_told(flavour: Flavour) {
    let queue = Queue::new(flavour, "login");
    queue.run("set --max-attempts 1").done();
    queue.run("push 1 2").done();
    let text = "import base64\nlog.write(base64.b64decode(headers['Authorization'].split()[1]).decode() + '\\n')\nsay(200 if task['object_id'] == 1 else 500)";
    let service = Service::start(&queue, text, None);
    let url = service.url().replace("127", "us%40er:se:cret@127");
    queue.work("", ["--http", &url]);
    assert_eq!(queue.lines("log"), ["us@er:se:cret"; 2]);
    assert!(!queue.value("SELECT error FROM queue_dead").contains("cret"));
    let wrong = run(&mut queue.working("", ["--http", "http://user:secret@host:port/"]))
        .refused(&["--http", "port", "hint: "]);
    assert!(!wrong.stderr.contains("secret"), "{wrong}");
}
