//! `drover bench connect`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use drover_sandbox::Flavour;
use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::client::{sql, value, wait_until};
use crate::drover::{Output, Running, drover, drover_on, run};
use crate::servers::{on_both, start};

on_both!(
    what_a_connect_costs,
    a_planted_delay_is_found_and_nothing_else,
    variables_are_set_or_started_with,
    tls_and_plugins,
    a_read_buffer_costs_who_uses_it,
    what_cannot_be_varied_is_named,
    a_server_that_runs_already,
    a_signal_leaves_nothing,
    functions_of_the_server,
    the_page_in_a_browser,
);

/// Where `scripts/setup` puts the plugins of MariaDB that its core package lacks.
const PLUGINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.servers/mariadb-plugins");

/// A place of its own for what a run leaves.
struct Place {
    dir: TempDir,
    flavour: Flavour,
}

impl Place {
    fn new(flavour: Flavour) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), flavour }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A run on a private server, which is to be short. Templates of data directories stay where other tests have them.
    fn command(&self, line: &str) -> Command {
        let flavour = self.flavour;
        let temporary = self.path("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        let short = "--block 100ms --warm-up 200ms --max-time 0s --no-defaults --json";
        let mut command = drover(&format!("bench connect --flavour {flavour} {short} {line}"));
        command.env("TMPDIR", temporary).env("HOME", std::env::var_os("HOME").unwrap_or_default());
        command
    }

    fn run(&self, line: &str) -> Value {
        let json = run(&mut self.command(line)).done().json();
        self.check_gone();
        json
    }

    /// Neither files nor servers are left.
    fn check_gone(&self) {
        let left: Vec<_> = self.path("tmp").read_dir().unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(processes_of(self.dir.path()), 0);
    }
}

/// How many processes have this path among their arguments.
fn processes_of(dir: &Path) -> usize {
    let dir = dir.to_str().unwrap();
    let lines = Path::new("/proc").read_dir().unwrap().flatten();
    let arguments = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    arguments.filter(|line| String::from_utf8_lossy(line).contains(dir)).count()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// What a kind of sessions cost.
fn cost<'a>(comparison: &'a Value, kind: usize, quantity: &str) -> &'a Value {
    let costs = comparison["kinds"][kind]["costs"].as_array().unwrap();
    costs.iter().find(|cost| cost["quantity"] == quantity).unwrap_or(&Value::Null)
}

/// The effect on `quantity` of the second kind.
fn effect<'a>(comparison: &'a Value, quantity: &str) -> &'a Value {
    let effects = comparison["effects"].as_array().unwrap();
    effects
        .iter()
        .find(|effect| effect["quantity"] == quantity)
        .unwrap_or_else(|| panic!("{quantity}: {comparison}"))
}

fn what_a_connect_costs(flavour: Flavour) {
    let place = Place::new(flavour);
    let file = place.path("my.cnf");
    std::fs::write(&file, "[mysqld]\nread_buffer_size = 256K\ndatadir = /nonexistent\nport = 1\n").unwrap();
    let json =
        place.run(&format!("--server-defaults {} --repeat 4 -- --sort-buffer-size=1M", file.display()));
    assert_eq!((&json["bench"], &json["statement"]), (&"connect".into(), &"SELECT 1".into()));
    for (name, unit) in [
        ("server CPU per connect", "µs"),
        ("time per connect", "µs"),
        ("page faults per connect", "faults"),
        ("connects", "/s"),
    ] {
        let measures = json["measures"].as_array().unwrap();
        let measure = measures
            .iter()
            .find(|measure| measure["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {json}"));
        assert_eq!((&measure["unit"], measure["values"].as_array().unwrap().len()), (&unit.into(), 4));
    }
    let comparison = &json["comparisons"][0];
    assert_eq!((&comparison["how"], &comparison["rounds"]), (&"plain".into(), &4.into()));
    assert!(number(&comparison["kinds"][0]["connects"]) > 50.0, "{comparison}");
    let mean = |quantity| number(&cost(comparison, 0, quantity)["mean"]);
    let (cpu, time) = (mean("server_cpu"), mean("time"));
    // A server of any kind needs more than nothing and less than a client waits on all cores.
    assert!(cpu > 5.0 && time > 10.0 && cpu < time * 64.0, "{comparison}");
    // Beside other tests the kernel's timer may meet the server not once in a short block: then the split is not known.
    let split =
        ["server_user", "server_system"].map(|quantity| cost(comparison, 0, quantity)["mean"].as_f64());
    if let [Some(user), Some(system)] = split {
        assert!((user + system - cpu).abs() < cpu * 0.01, "{comparison}");
    } else {
        assert_eq!(split, [None, None], "{comparison}");
    }
    let share = number(&cost(comparison, 0, "server_cpu")["per_cent_of_a_core"]);
    assert!((share - cpu * 100.0 / 1e4).abs() < share * 0.01, "{comparison}");
    // The settings are the operator's, but for where things are.
    let settings = json["environment"]["server"]["settings"].as_array().unwrap();
    for setting in [["read_buffer_size", "262144"], ["sort_buffer_size", "1048576"]] {
        assert!(
            settings.iter().any(|one| one[0] == setting[0] && one[1] == setting[1]),
            "{setting:?}: {settings:?}"
        );
    }
    let warnings = json["warnings"].to_string();
    assert!(warnings.contains("datadir, port"), "{warnings}");

    let result = place.path("result.json");
    std::fs::write(&result, json.to_string()).unwrap();
    let compared = run(drover("bench compare --json").arg(&result).arg(&result)).done().json();
    assert_eq!(compared["measures"].as_array().unwrap().len(), json["measures"].as_array().unwrap().len());
}

fn a_planted_delay_is_found_and_nothing_else(flavour: Flavour) {
    let place = Place::new(flavour);
    let measured = |rounds| {
        let mut command = place.command(&format!("--repeat {rounds} --vary again --vary"));
        let json = run(command.arg("init_connect=,DO SLEEP(0.01)")).done().json();
        place.check_gone();
        let (again, planted) = (&json["comparisons"][0], &json["comparisons"][1]);
        assert_eq!((&again["how"], &planted["how"]), (&"again".into(), &"set_global".into()));
        [planted, again].map(|comparison| effect(comparison, "time").clone())
    };
    let is_found = |[delay, nothing]: &[Value; 2]| {
        let found = number(&delay["difference"]);
        // A busy machine may shake the control, but not by as much as what was planted.
        let is_alone = number(&nothing["difference"]).abs() < found / 5.0;
        delay["verdict"] == "more" && (9_500.0..30_000.0).contains(&found) && is_alone
    };
    // Beside other tests a few rounds may not do: more are made until they do.
    let found = [6, 12, 24, 48].into_iter().map(measured).find(is_found);
    let [delay, _] = found.expect("10 ms were planted and not found");
    assert!(number(&delay["interval"]["low"]) > 0.0, "{delay}");
}

fn variables_are_set_or_started_with(flavour: Flavour) {
    let place = Place::new(flavour);
    let json = place.run("--repeat 2 --vary thread-cache-size=0,16 --vary performance_schema=ON,OFF");
    let (cache, schema) = (&json["comparisons"][0], &json["comparisons"][1]);
    assert_eq!((&cache["name"], &cache["how"]), (&"thread_cache_size".into(), &"set_global".into()));
    assert_eq!((&schema["name"], &schema["how"]), (&"performance_schema".into(), &"at_start".into()));
    assert_eq!((&cache["restarts"], &schema["restarts"]), (&false.into(), &true.into()));
    for (comparison, actual) in [(cache, ["0", "16"]), (schema, ["1", "0"])] {
        let told = [0, 1].map(|kind| comparison["kinds"][kind]["actual"].clone());
        assert_eq!(told, actual.map(Value::from), "{comparison}");
        let interval = &effect(comparison, "server_cpu")["interval"];
        assert!(number(&interval["low"]) <= number(&interval["high"]), "{interval}");
    }
    // What the second one varies, the first server did not keep of the first one.
    assert!(json["warnings"].as_array().unwrap().is_empty(), "{}", json["warnings"]);
}

fn tls_and_plugins(flavour: Flavour) {
    let place = Place::new(flavour);
    let (plugins, options) = match flavour {
        Flavour::MariaDb if Path::new(PLUGINS).is_dir() => {
            ("mysql_native_password,ed25519", format!("-- --plugin-dir={PLUGINS}"))
        }
        Flavour::MariaDb => ("mysql_native_password,ed25519", String::new()),
        Flavour::MySql => ("caching_sha2_password,sha256_password", String::new()),
    };
    let json = place.run(&format!("--repeat 3 --vary tls=off,on --vary auth={plugins} {options}"));
    let (tls, auth) = (&json["comparisons"][0], &json["comparisons"][1]);
    // A handshake costs more than all the rest of a login; beside other tests three rounds cannot say so.
    let encrypted = effect(tls, "server_cpu");
    assert!(number(&encrypted["interval"]["high"]) > 50.0, "{encrypted}");
    let names = [0, 1].map(|kind| auth["kinds"][kind]["value"].as_str().unwrap());
    assert_eq!(names.join(","), plugins);
    assert!(number(&auth["kinds"][1]["connects"]) > 0.0, "{auth}");
}

fn a_read_buffer_costs_who_uses_it(flavour: Flavour) {
    let place = Place::new(flavour);
    let measured = |rounds| {
        let json = place.run(&format!("--repeat {rounds} --work scan --vary read_buffer_size=128K,5M"));
        assert!(json["statement"].as_str().unwrap().contains("LIMIT 1"));
        effect(&json["comparisons"][0], "server_cpu").clone()
    };
    // MariaDB fills the buffer for a single row, 5 MiB of it; MySQL 9.7 reads each row by itself and has no buffer.
    if flavour == Flavour::MariaDb {
        // Beside other tests a few rounds tell nothing apart: more are made until they do.
        let found = [4, 8, 16, 32, 64].into_iter().map(measured).find(|cpu| cpu["verdict"] == "more");
        let cpu = found.expect("the buffer costs nothing");
        assert!(number(&cpu["difference"]) > 50.0, "{cpu}");
    } else {
        let cpu = measured(4);
        // Beside other tests a difference may be off by more than that: what it can be at least is what counts.
        assert!(number(&cpu["interval"]["low"]) < 50.0, "{cpu}");
    }
}

fn what_cannot_be_varied_is_named(flavour: Flavour) {
    let place = Place::new(flavour);
    let refused = |line: &str, culprits: &[&str]| {
        run(&mut place.command(line)).refused(culprits);
        place.check_gone();
    };
    refused("--vary no_such_thing=1,2", &["no_such_thing", "Unknown system variable"]);
    refused("--vary binlog_format=ROW,SIDEWAYS", &["binlog_format", "SIDEWAYS"]);
    refused("--vary auth=no_such_plugin,other", &["no_such_plugin", "plugin"]);
    refused("--vary tls=on", &["tls=on", "two are needed"]);
    refused("-S /nonexistent", &["at once"]);
    refused("-- --no-such-option=1", &["no-such-option"]);
}

fn a_server_that_runs_already(flavour: Flavour) {
    let server = start(flavour, &[]);
    let existing = |line: &str| {
        let mut command =
            drover_on(&server, &format!("bench connect --block 100ms --warm-up 100ms --json {line}"));
        command.env_remove("MYSQL_PWD");
        command
    };
    let json =
        run(&mut existing("--repeat 3 --max-time 0s --work connect --connections-at-once 3")).done().json();
    let comparison = &json["comparisons"][0];
    assert_eq!((&json["is_private"], &json["clients"]), (&false.into(), &3.into()));
    // The socket tells which process it is.
    assert!(number(&cost(comparison, 0, "server_cpu")["mean"]) > 0.0, "{comparison}");
    let aborted =
        "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Aborted_clients'";
    let aborted = if flavour == Flavour::MariaDb {
        aborted.replace("performance_schema", "information_schema")
    } else {
        aborted.to_owned()
    };
    assert_eq!(value(&server, aborted), "0", "sessions were not ended as the server wants it");

    sql(&server, "CREATE USER bob@'127.0.0.1' IDENTIFIED BY 'pw'");
    let mut over_tcp = drover(
        "bench connect --no-defaults --block 100ms --repeat 2 --max-time 0s --warm-up 0s --json -u bob",
    );
    over_tcp.args(["--password=pw", "-h", "127.0.0.1", "-P", &server.port().to_string()]);
    let json = run(&mut over_tcp).done().json();
    assert!(cost(&json["comparisons"][0], 0, "server_cpu").is_null(), "{json}");
    assert!(json["warnings"].to_string().contains("not known"), "{}", json["warnings"]);
    run(over_tcp.args(["--vary", "read_buffer_size=1M,2M"])).refused(&["read_buffer_size"]);
    run(&mut existing("--vary tls=off,on")).refused(&["Unix socket"]);

    let busy = Running::start(&mut existing("--max-time 20s --precision 0.0001"));
    wait_until("sessions are opened", || {
        value(&server, "SELECT COUNT(*) FROM information_schema.PROCESSLIST").parse::<u32>().unwrap() > 1
    });
    let url = format!("mysql://root@/?socket={}", server.socket().display());
    let json =
        run(&mut existing(&format!("--repeat 1 --max-time 0s --rate-of {url} --rate-over 1s"))).done().json();
    assert!(number(&json["rate"]["per_second"]) > 50.0, "{}", json["rate"]);
    assert!(number(&json["rate"]["counted_seconds"]) >= 1.0, "{}", json["rate"]);
    busy.signal("INT");
    stopped(busy.finish());
}

fn stopped(output: Output) {
    output.refused(&["stopped by a signal"]);
}

fn a_signal_leaves_nothing(flavour: Flavour) {
    let place = Place::new(flavour);
    let running = Running::start(&mut place.command("--repeat 1000 --vary again"));
    wait_until("a server runs", || processes_of(&place.path("tmp")) > 0);
    // Once while it starts or soon after, once amid the blocks.
    std::thread::sleep(Duration::from_millis(if flavour == Flavour::MariaDb { 100 } else { 4000 }));
    running.signal("INT");
    stopped(running.finish());
    place.check_gone();
}

fn functions_of_the_server(flavour: Flavour) {
    let place = Place::new(flavour);
    let json = place.run("--repeat 2 --profile");
    let probe = Command::new("perf")
        .args(["record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "--", "true"])
        .stderr(std::process::Stdio::null())
        .status();
    let profile = &json["comparisons"][0]["profile"];
    if !probe.is_ok_and(|status| status.success()) {
        assert!(profile.is_null() && json["warnings"].to_string().contains("no profile"), "{json}");
        return;
    }
    // How many there are is up to how much of the CPU other tests leave to the server.
    let samples = number(&profile["samples"][0]);
    assert!(samples >= 10.0, "{profile} {}", json["warnings"]);
    let functions = profile["functions"].as_array().unwrap();
    let shares: f64 = functions.iter().map(|function| number(&function["shares"][0])).sum();
    assert!(
        functions.len() > 2 && functions.len() as f64 <= samples && (0.1..=1.001).contains(&shares),
        "{profile}"
    );
    let objects: Vec<_> = functions.iter().map(|function| function["object"].as_str().unwrap()).collect();
    assert!(objects.iter().any(|object| object.contains("kernel")), "{objects:?}");
}

fn the_page_in_a_browser(flavour: Flavour) {
    let place = Place::new(flavour);
    let page = place.path("page.html");
    place.run(&format!("--repeat 3 --vary sort_buffer_size=256K,1M --html {}", page.display()));
    let mut browser = Browser::open(place.dir.path(), &format!("file://{}", page.display()));
    browser.wait_for("main", "sort_buffer_size");
    browser.assert_fits();
    assert_eq!(browser.value("document.querySelectorAll('figure svg.chart').length"), 2);
    browser.wait_for("main", "against 256K");
}
