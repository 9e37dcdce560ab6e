//! `drover queue serve`: what it shows, to whom, and what it lets them do.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::{Flavour, Server};
use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::client::{Session, sql, value, wait_until};
use crate::drover::{Output, drover, run};
use crate::servers::{on_both, source, start};

on_both!(
    what_the_queue_holds_is_shown,
    what_an_account_may_not_see_is_unknown,
    nothing_is_changed_without_the_token,
    a_shard_that_hangs_holds_up_nobody,
    the_page_shows_it_in_a_browser,
);

const TOKEN: &str = "correct-horse-battery-staple";
/// Every answer comes sooner, on a machine that does much else, too; one that waited for a shard that hangs would take five seconds.
const SOON: Duration = Duration::from_secs(3);

/// A queue in schemas of its own.
struct Queue {
    dir: TempDir,
    flavour: Flavour,
    schema: String,
}

impl Queue {
    fn new(flavour: Flavour, schema: &str) -> Self {
        Self::on(flavour, schema, &[("one", source(flavour))])
    }

    fn on(flavour: Flavour, schema: &str, shards: &[(&str, &Server)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut text = String::new();
        for (name, server) in shards {
            let socket = server.socket().display();
            text +=
                &format!("[[shard]]\nname = \"{name}\"\nurl = \"mysql://root@/{schema}?socket={socket}\"\n");
        }
        std::fs::write(dir.path().join("shards"), text).unwrap();
        let token = dir.path().join("token");
        std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
        std::fs::set_permissions(token, Permissions::from_mode(0o600)).unwrap();
        let queue = Self { dir, flavour, schema: schema.into() };
        queue.run("init").done();
        queue
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        // Words of `push` that follow its first object are objects.
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut command = drover(&format!("queue {verb} --no-defaults --json --shards"));
        command.arg(self.path("shards")).args(rest.split_whitespace());
        command
    }

    fn run(&self, line: &str) -> Output {
        run(&mut self.command(line))
    }

    fn schedule(&self, words: &str) {
        let mut command = drover(&format!("queue schedule {words} --no-defaults --shards"));
        run(command.arg(self.path("shards"))).done();
    }

    /// Fails so many tasks of a kind for good.
    fn kill(&self, kind: u16, tasks: usize) {
        self.run(&format!("set --kind {kind} --max-attempts 1")).done();
        let ids: Vec<_> = (1..=tasks).map(|id| format!("object-{id}")).collect();
        self.run(&format!("push --kind {kind} {}", ids.join(" "))).done();
        let mut work = self.command("work --until-empty --procs 2");
        work.args(["--exec", "echo '<b>no disk</b> for' $DROVER_OBJECT_ID >&2; exit 3"]);
        run(&mut work).found(&[]);
    }

    fn serve(&self, token: bool) -> Site {
        let mut command = self.command("serve --listen 127.0.0.1:0");
        if token {
            command.arg("--token-file").arg(self.path("token"));
        }
        Site::start(&mut command)
    }
}

/// A server that runs, until this is dropped.
struct Site {
    child: Child,
    address: String,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// What came back.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{self:?}");
        self
    }
}

impl Site {
    fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while !text.contains('}') {
            assert!(lines.read_line(&mut text).unwrap() > 0, "it ended: {text}");
        }
        let said: Value = serde_json::from_str(&text).unwrap();
        let url = said["url"].as_str().unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Self { child, address }
    }

    fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host =
            if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        let length = body.len();
        let mut stream = self.connect(&format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    fn post(&self, path: &str, token: Option<&str>, body: &Value) -> Answer {
        let token = token.map(|token| format!("X-Drover-Token: {token}\r\n")).unwrap_or_default();
        self.send("POST", path, &token, &body.to_string())
    }

    /// So many snapshots, as they come.
    fn events(&self, count: usize) -> Vec<Value> {
        let stream = self.connect(&format!("GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address));
        let lines = BufReader::new(stream).lines();
        let data = lines.filter_map(|line| line.unwrap().strip_prefix("data: ").map(str::to_owned));
        data.take(count).map(|text| serde_json::from_str(&text).unwrap()).collect()
    }

    /// Waits until the health of the first shard is known to be so.
    fn wait_for_health(&self, what: &str, is_so: impl Fn(&Value) -> bool) {
        wait_until(what, || is_so(&self.events(1)[0]["servers"][0]["health"]));
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id();
        assert!(
            Command::new("sh").args(["-c", &format!("kill -s {name} {pid}")]).status().unwrap().success()
        );
    }
}

fn what_the_queue_holds_is_shown(flavour: Flavour) {
    let queue = Queue::new(flavour, "serve_shown");
    queue.run("push --kind 6 --not-before 1h a b").done();
    queue.kill(5, 3);
    queue.schedule("set nightly report --kind 5 --cron @daily");
    let mut site = queue.serve(false);
    let page = site.get("/").ok();
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{page:?}");
    for file in ["report.css", "page.css", "page.js"] {
        assert!(page.body.contains(&format!("\"{file}\"")), "{file} is not asked for");
        site.get(&format!("/{file}")).ok();
    }
    for file in ["words.js", "charts.js", "dead.js"] {
        assert!(site.get(&format!("/{file}")).ok().head.contains("text/javascript"));
    }
    let (shown, told) = (site.get("/api/stat").ok().json(), queue.run("stat").json());
    for field in ["kind", "waiting", "later", "dead", "done", "failed"] {
        for at in 0..2 {
            assert_eq!(shown["kinds"][at][field], told["kinds"][at][field], "{field}: {shown}");
        }
    }
    assert_eq!((&shown["kinds"][0]["dead"], &shown["kinds"][0]["failed"]), (&3.into(), &3.into()));
    assert_eq!(shown["shards"][0]["schedules"], told["shards"][0]["schedules"]);
    assert_eq!(shown["shards"][0]["schedules"][0]["name"], "nightly");
    check_metrics(&site.get("/metrics").ok().body);
    let begun = Instant::now();
    let snapshots = site.events(3);
    assert!(begun.elapsed() > Duration::from_millis(1500), "one a second, not {:?}", begun.elapsed());
    assert!(snapshots.iter().all(|now| now["kinds"][0]["dead"] == 3), "{snapshots:?}");
    let history = site.get("/api/history?kind=5").ok().json();
    assert_eq!(history["done"].as_array().unwrap().len(), history["wait_p50_ms"].as_array().unwrap().len());
    let strange = site.send("GET", "/api/stat", "Host: example.com\r\n", "");
    assert_eq!(strange.status, 421, "{strange:?}");
    assert_eq!(site.post("/api/pause", Some(TOKEN), &serde_json::json!({"is_paused": true})).status, 403);
    site.signal("INT");
    let begun = Instant::now();
    wait_until("it ends", || site.child.try_wait().unwrap().is_some());
    assert!(begun.elapsed() < SOON && site.child.wait().unwrap().success());
}

/// Each line is a comment or a sample, and the tasks are among these.
fn check_metrics(text: &str) {
    for line in text.lines() {
        if line.starts_with("# HELP drover_queue_") || line.starts_with("# TYPE drover_queue_") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
        assert!(series.starts_with("drover_queue_") && series.ends_with('}'), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    for line in [
        "drover_queue_up{shard=\"one\"} 1",
        "drover_queue_dead{shard=\"one\",kind=\"5\"} 3",
        "drover_queue_failed_total{shard=\"one\",kind=\"5\"} 3",
        "drover_queue_later{shard=\"one\",kind=\"6\"} 2",
        "drover_queue_wait_seconds_bucket{shard=\"one\",kind=\"5\",le=\"+Inf\"} 0",
        "drover_queue_schedule_fired_total{shard=\"one\",schedule=\"nightly\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line}: {text}");
    }
    assert!(text.contains("drover_queue_server_history_list_length{shard=\"one\"} "), "{text}");
}

fn what_an_account_may_not_see_is_unknown(flavour: Flavour) {
    // On a server that others use there may be an older one.
    let server = &start(flavour, &["--default-time-zone=-07:00"]);
    let queue = Queue::on(flavour, "serve_unseen", &[("one", server)]);
    // Zones must not be mixed up: the server's own is not that of the sessions.
    let mut open = Session::open(server);
    open.run("CREATE TABLE serve_unseen.held (id INT PRIMARY KEY) ENGINE = InnoDB");
    open.run("START TRANSACTION");
    open.run("INSERT INTO serve_unseen.held VALUES (1)");
    let site = queue.serve(false);
    let is_age = |age: &Value| age["value"].as_f64().is_some_and(|age| (1.0..600.0).contains(&age));
    site.wait_for_health("the transaction's age is known", |health| {
        is_age(&health["oldest_transaction_seconds"])
    });
    let health = site.events(1)[0]["servers"][0]["health"].clone();
    assert_eq!(health["version"].as_str().unwrap(), value(server, "SELECT VERSION()"));
    assert!(
        health["history_list"]["value"].is_number() && health["deadlocks"]["value"].is_number(),
        "{health}"
    );
    assert!(health["deadlocks_per_minute"]["unknown"].is_string(), "{health}");
    assert_eq!(health["replica_lag_seconds"]["none"], "no replica", "{health}");
    drop(site);
    sql(
        server,
        "DROP USER IF EXISTS serve_poor@localhost; CREATE USER serve_poor@localhost; \
         GRANT ALL ON serve_unseen.* TO serve_poor@localhost",
    );
    let shards = std::fs::read_to_string(queue.path("shards")).unwrap();
    std::fs::write(queue.path("shards"), shards.replace("root@", "serve_poor@")).unwrap();
    let health = queue.serve(false).events(1)[0]["servers"][0]["health"].clone();
    let unknown =
        |field: &str| health[field]["unknown"].as_str().is_some_and(|why| why.contains("privilege"));
    assert!(unknown("oldest_transaction_seconds") && unknown("replica_lag_seconds"), "{health}");
    assert_eq!(unknown("history_list"), queue.flavour == Flavour::MySql, "{health}");
}

fn nothing_is_changed_without_the_token(flavour: Flavour) {
    let queue = Queue::new(flavour, "serve_token");
    queue.kill(5, 4);
    let site = queue.serve(true);
    // A shard that is busy is left out after 150 ms, and one looks again.
    let look = |path: &str| {
        let mut answer = Value::Null;
        wait_until("the shard answers in time", || {
            answer = site.get(path).ok().json();
            answer["missing"] == serde_json::json!([])
        });
        answer
    };
    let preview = look("/api/dead?kind=5&error=no%20disk");
    let shard = &preview["shards"][0];
    assert_eq!((&shard["matching"], shard["tasks"].as_array().unwrap().len()), (&4.into(), 4), "{preview}");
    assert!(shard["tasks"][0]["error"].as_str().unwrap().contains("<b>no disk</b> for object-"));
    assert_eq!(look("/api/dead?error=other")["shards"][0]["matching"], 0);
    let first = shard["tasks"][3]["id"].clone();
    let mut wanted = serde_json::json!({
        "shard": "one", "filter": {"kind": 5, "error": "no disk"}, "task": first, "from": shard["from"], "to": shard["to"],
    });
    for (token, status) in [(None, 401), (Some("correct-horse-battery-stapl"), 403), (Some(TOKEN), 200)] {
        let answer = site.post("/api/dead/retry", token, &wanted);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(!answer.body.contains(TOKEN), "{answer:?}");
    }
    let count = |state: &str| site.get("/api/stat").ok().json()["kinds"][0][state].as_u64().unwrap();
    wait_until("one is tried again", || (count("later") + count("waiting"), count("dead")) == (1, 3));
    // What died after the preview was not seen, and is not dropped.
    run(queue.command("work --until-empty").args(["--exec", "echo no disk >&2; exit 1"])).found(&[]);
    wanted["task"] = Value::Null;
    let dropped = site.post("/api/dead/drop", Some(TOKEN), &wanted).ok().json();
    assert_eq!(dropped["tasks"], 3);
    wait_until("one dead task is left", || count("dead") == 1);
    let paused = |is_paused: bool| serde_json::json!({"kind": 5, "is_paused": is_paused});
    assert_eq!(site.post("/api/pause", None, &paused(true)).status, 401);
    let answer = site.post("/api/pause", Some(TOKEN), &paused(true)).ok();
    assert_eq!(answer.json()["missing"], serde_json::json!([]));
    assert_eq!(value(source(flavour), "SELECT is_paused FROM serve_token.queue_kind WHERE kind = 5"), "1");
    let pid = site.child.id();
    let line = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains(TOKEN));
    let serve = || run(queue.command("serve --listen 127.0.0.1:0 --token-file").arg(queue.path("token")));
    std::fs::set_permissions(queue.path("token"), Permissions::from_mode(0o640)).unwrap();
    serve().refused(&["others may read this token", "0640", "hint: chmod 600"]);
    std::fs::set_permissions(queue.path("token"), Permissions::from_mode(0o600)).unwrap();
    std::fs::write(queue.path("token"), "too short").unwrap();
    let refused = serve();
    let refused = refused.refused(&["fewer than 16"]);
    assert!(!refused.stderr.contains("too short"), "{refused}");
    assert_eq!(queue.schema, "serve_token");
}

fn a_shard_that_hangs_holds_up_nobody(flavour: Flavour) {
    let hangs = start(flavour, &[]);
    let queue = Queue::on(flavour, "serve_hangs", &[("one", source(flavour)), ("two", &hangs)]);
    let site = queue.serve(true);
    let state = |at: usize| site.get("/api/stat").ok().json()["shards"][at]["error"].clone();
    wait_until("both are seen", || state(0).is_null() && state(1).is_null());
    let server = |name: &str| {
        let kill = format!("kill -s {name} {}", hangs.pid());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    };
    server("STOP");
    wait_until("the other one is missed", || {
        let begun = Instant::now();
        let error = state(1);
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        let begun = Instant::now();
        site.get("/api/history").ok();
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        error.as_str().is_some_and(|error| error.contains("not answered") || error.contains("two"))
    });
    assert!(state(0).is_null());
    // Nor does a page say of what it has not seen that there is nothing.
    let fresh = queue.serve(false);
    let mut browser = Browser::open(queue.dir.path(), &format!("http://{}/", fresh.address));
    browser.wait_for("#missing", "two: not reached yet");
    browser.wait_for("#kinds", "Not known: not all shards have answered.");
    // One that is busy is missed too, for once.
    wait_until("one answers, and two does not", || {
        let begun = Instant::now();
        let preview = site.get("/api/dead").ok().json();
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        (&preview["shards"][0]["shard"], &preview["missing"][0]["shard"]) == (&"one".into(), &"two".into())
    });
    let now = &site.events(1)[0];
    assert!(now["servers"][1]["reached_ms"].as_u64() < now["servers"][0]["reached_ms"].as_u64(), "{now}");
    assert!(site.get("/metrics").ok().body.contains("drover_queue_up{shard=\"two\"} 0"));
    let pause = site.post("/api/pause", Some(TOKEN), &serde_json::json!({"is_paused": true})).ok().json();
    assert_eq!(pause["missing"][0]["shard"], "two", "{pause}");
    server("CONT");
    wait_until("it is back", || state(1).is_null());
    browser.wait_for("#kinds", "No task was ever pushed");
}

/// The page's own scripts, in the browser that `scripts/setup` installs.
fn the_page_shows_it_in_a_browser(flavour: Flavour) {
    let queue = Queue::new(flavour, "serve_browser");
    queue.kill(4711, 3);
    queue.schedule("set nightly <b>report</b> --cron @daily");
    queue.schedule("set paused report --cron @weekly");
    queue.schedule("pause paused");
    let site = queue.serve(true);
    let mut browser = Browser::open(queue.dir.path(), &format!("http://{}/", site.address));
    browser.wait_for("#status", "live at ");
    browser.wait_for("#figures", "Dead\n3\n");
    browser.wait_for("#kinds", "4711");
    browser.wait_for("#charts", "Wait until begun");
    browser.wait_for("#schedules", "<b>report</b>");
    browser.wait_for("#schedules", "00:00");
    browser.wait_for("#schedules", "paused");
    assert_eq!(browser.value("document.documentElement.scrollWidth"), 390, "it is wider than a phone");
    browser.click("#filter button");
    browser.wait_for("#dead-said", "3 dead tasks match");
    browser.wait_for("#dead-tasks", "<b>no disk</b> for object-2");
    assert_eq!(browser.value("document.querySelectorAll('b').length"), 0, "text became an element");
    browser.click("#retry");
    browser.wait_for("#dialog", "Allow changes");
    for (token, title, words) in [
        ("correct-horse-battery", "#dialog-text", "not the token"),
        (TOKEN, "#dialog-title", "Retry 3 dead tasks?"),
    ] {
        browser.value(&format!("document.querySelector('#token').value = '{token}'"));
        browser.click("#dialog-yes");
        browser.wait_for(title, words);
    }
    browser.click("#dialog-yes");
    browser.wait_for("#dead-said", "0 dead tasks match");
    browser.wait_for("#figures", "Dead\n0\n");
    assert_eq!(value(source(flavour), "SELECT COUNT(*) FROM serve_browser.queue_dead"), "0");
    assert_eq!(browser.value("localStorage.length + sessionStorage.length + document.cookie.length"), 0);
}
