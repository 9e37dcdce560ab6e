//! What `drover doctor` says of memory and allocators.

use std::fs;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drover_sandbox::{Flavour, Server};
use serde_json::{Value, json};

use super::{check, doctor, findings, state};
use crate::client::{Session, sql, try_sql};
use crate::drover::{drover, run};
use crate::loops::loops;
use crate::servers::{on_both, start};

on_both!(
    in_order,
    not_in_order,
    what_cannot_be_seen,
    a_library_that_nobody_loads,
    a_buffer_pool_beyond_the_limit_of_its_cgroup
);

const RULES: [&str; 6] =
    ["memory.fit", "memory.session", "memory.allocator", "memory.buffers", "memory.threads", "memory.thp"];

fn in_order(flavour: Flavour) {
    let server = &start(flavour, &[]);
    let _session = Session::open(server);
    let report = doctor(server, "memory");
    for rule in RULES {
        // The kernel here may make huge pages, and the server's package may have another allocator than glibc's.
        if rule != "memory.thp" || allocator(server) == "glibc" {
            assert_eq!(state(&report, rule), "fine", "{rule}: {report}");
        }
    }
    let fine = |rule: &str| check(&report, rule)["fine"].to_string();
    assert!(fine("memory.allocator").contains(&format!("{} is loaded", allocator(server))), "{report}");
    assert!(fine("memory.session").contains("sessions:") && fine("memory.fit").contains("VmRSS"), "{report}");
}

/// The allocator with which the server comes: MySQL's packages have one in a library of their own.
fn allocator(server: &Server) -> &'static str {
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
    if maps.contains("/libtcmalloc") { "tcmalloc" } else { "glibc" }
}

/// Opens and closes connections while `work` is done.
fn crowded<T>(server: &Server, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let mut stream = UnixStream::connect(server.socket()).unwrap();
                // The greeting comes from the thread that the server has for it.
                let _greeting = stream.read(&mut [0; 1024]);
                drop(stream);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

fn not_in_order(flavour: Flavour) {
    let options = [
        "--thread-cache-size=0",
        "--read-buffer-size=5M",
        "--max-connections=10000",
        "--open-files-limit=15000",
    ];
    let server = &start(flavour, &options);
    let mut session = Session::open(server);
    session.run("SET @large = REPEAT('x', 15000000)");
    let dir = tempfile::tempdir().unwrap();
    let report = crowded(server, || doctor(server, "memory"));
    let found = |report: &Value, rule: &str, weight: &str, words: &[&str]| {
        let all = findings(report, rule);
        let fits =
            |(of, text): &(String, String)| of == weight && words.iter().all(|word| text.contains(word));
        assert!(all.iter().any(fits), "no {weight} {rule} with {words:?}: {report}");
    };
    found(
        &report,
        "memory.threads",
        "yellow",
        &["threads made a second", "SET GLOBAL thread_cache_size", "observed"],
    );
    let measure = "bench connect --vary read_buffer_size=131072,5242880 --work scan";
    if allocator(server) == "glibc" {
        found(
            &report,
            "memory.buffers",
            "note",
            &["rule_only", "read_buffer_size", measure, "only where", "connects a second"],
        );
    } else {
        let fine = check(&report, "memory.buffers")["fine"].to_string();
        assert!(fine.contains("tcmalloc has no mmap threshold"), "{report}");
    }
    found(&report, "memory.session", "yellow", &["observed", "max_connections", "would be needed"]);

    let with =
        |result: &Path| crowded(server, || doctor(server, &format!("memory --results {}", result.display())));
    let real = measured(flavour, dir.path());
    // Its verdict is its own, and is told.
    let report = with(&dir.path().join("real.json"));
    let all = check(&report, "memory.buffers").to_string();
    assert!(all.contains("real.json") && all.contains("µs of the server's CPU time"), "{report}");
    assert!(!all.contains("rule_only"), "{report}");

    let edited = |name: &str, verdict: &str, low: f64, high: f64| -> PathBuf {
        let mut result = real.clone();
        for effect in result["comparisons"][0]["effects"].as_array_mut().unwrap() {
            effect["verdict"] = verdict.into();
            effect["interval"] = json!({"low": low, "high": high});
        }
        let file = dir.path().join(name);
        fs::write(&file, result.to_string()).unwrap();
        file
    };
    let report = with(&edited("more.json", "more", 369.0, 487.0));
    let words = [
        "\"measured\"",
        "+369 to +487 µs of the server's CPU time",
        "% of a core at",
        "SET GLOBAL read_buffer_size = 131072",
    ];
    let weight = findings(&report, "memory.buffers")[0].0.clone();
    found(&report, "memory.buffers", &weight, &words);
    let report = with(&edited("none.json", "none", -3.1, 2.8));
    assert_eq!(state(&report, "memory.buffers"), "fine", "{report}");
    let fine = check(&report, "memory.buffers")["fine"].to_string();
    assert!(fine.contains("no effect found: -3.1 to +2.8 µs") && fine.contains("none.json"), "{fine}");
}

/// What `drover bench connect` measures of the server's binary, in a hurry; it is in real.json of this directory then.
fn measured(flavour: Flavour, dir: &Path) -> Value {
    let line = "--vary read_buffer_size=128K,5M --block 50ms --max-time 1s";
    let mut command = drover(&format!("--json bench connect --flavour {flavour} {line}"));
    command.env("HOME", std::env::var_os("HOME").unwrap_or_default());
    let result = run(&mut command).done();
    fs::write(dir.join("real.json"), &result.stdout).unwrap();
    result.json()
}

fn what_cannot_be_seen(flavour: Flavour) {
    let server = &start(flavour, &[]);
    sql(server, "CREATE USER doctor_nobody@'%' IDENTIFIED BY 'a-secret'");
    let _sessions = [Session::open(server), Session::open(server)];
    let report = doctor(server, "memory -u doctor_nobody --password=a-secret");
    assert_eq!(state(&report, "memory.session"), "unknown", "{report}");
    // By a way that does not tell the process, nothing of it is known.
    let line = format!("--json doctor memory --interval 0s --no-defaults -h 127.0.0.1 -P {}", server.port());
    let report = run(&mut drover(&format!("{line} -u doctor_nobody --password=a-secret"))).json();
    for rule in ["memory.fit", "memory.session", "memory.allocator"] {
        assert_eq!(state(&report, rule), "unknown", "{rule}: {report}");
    }
    assert!(!report.to_string().contains("a-secret"));
    let report = run(&mut drover("--json doctor memory --no-server --interval 0s")).json();
    for rule in RULES.iter().filter(|rule| **rule != "memory.thp") {
        assert_eq!(state(&report, rule), "unknown", "{rule}: {report}");
    }
}

/// A server whose settings ask for an allocator that only mysqld_safe would load, which has not started it.
fn a_library_that_nobody_loads(flavour: Flavour) {
    let mut server = start(flavour, &[]);
    let own = allocator(&server);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.cnf");
    let words = fs::read_to_string(format!("/proc/{}/cmdline", server.pid())).unwrap();
    let words: Vec<_> = words.trim_end_matches('\0').split('\0').map(str::to_owned).collect();
    server.kill();
    // MySQL's, which takes a process that nobody has waited for yet for one that runs.
    let _ = fs::remove_file(format!("{}.lock", server.socket().display()));
    let told = format!("--defaults-file={}", file.display());
    let words: Vec<_> = words.iter().map(|word| if word == "--no-defaults" { &told } else { word }).collect();
    // Loaded by another way, or linked into the server, it is what was asked for.
    let loaded = if own == "glibc" { ("jemalloc", Some(jemalloc())) } else { (own, None) };
    for (asked, preload) in [("jemalloc", None), loaded] {
        // It is the last one that counts.
        fs::write(&file, format!("[mysqld_safe]\nmalloc-lib=none\n[mysqld_safe]\nmalloc-lib={asked}\n"))
            .unwrap();
        let is_loaded = preload.is_some() || asked == own;
        let mut process = Started::new(&words, preload);
        crate::client::wait_until("the server answers", || {
            let ended = process.0.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "{ended:?}: {}",
                fs::read_to_string(server.datadir().with_file_name("error.log")).unwrap()
            );
            try_sql(&server, "SELECT 1").is_ok()
        });
        let report = doctor(&server, "memory");
        let told = check(&report, "memory.allocator");
        let line = format!("malloc-lib={asked} in [mysqld_safe]");
        if is_loaded {
            assert_eq!(told["state"], "fine", "{told}");
            assert!(told["fine"].to_string().contains(&line), "{told}");
        } else {
            let found = &findings(&report, "memory.allocator");
            let words = [&line, &format!("the server has {own}"), "did not start this server"];
            assert!(found.len() == 1 && found[0].0 == "yellow", "{told}");
            assert!(words.iter().all(|word| found[0].1.contains(*word)), "{told}");
        }
        drop(process);
    }
}

/// Where Debian's package has it.
fn jemalloc() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").unwrap().map(|entry| entry.unwrap().path());
    let files = folders.map(|folder| folder.join("libjemalloc.so.2"));
    files.into_iter().find(|file| file.exists()).expect("jemalloc, which scripts/setup installs")
}

/// A server's process, which does not outlive the test.
struct Started(std::process::Child);

impl Started {
    fn new(words: &[&String], preload: Option<PathBuf>) -> Self {
        let mut command = std::process::Command::new(words[0]);
        command.envs(preload.map(|library| ("LD_PRELOAD", library)));
        Self(
            command
                .args(&words[1..])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group that root may make, whose processes may have so much memory together.
struct Group(PathBuf);

impl Group {
    fn limited(bytes: u64) -> Self {
        let name = format!("drover-test-{}-{:?}", std::process::id(), std::thread::current().id());
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        // Version 1 has a tree for memory alone, below the group of this process; version 2 has one for all.
        let (folder, limit) = match groups.lines().find_map(|line| line.split_once(":memory:")) {
            Some((_, own)) => (format!("/sys/fs/cgroup/memory{own}"), "memory.limit_in_bytes"),
            None => {
                fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory").unwrap();
                ("/sys/fs/cgroup".to_owned(), "memory.max")
            }
        };
        let folder = PathBuf::from(folder).join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(limit), bytes.to_string()).unwrap();
        Self(folder)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn a_buffer_pool_beyond_the_limit_of_its_cgroup(flavour: Flavour) {
    // Root's, as loop devices are.
    if loops().is_none() {
        return;
    }
    let group = Group::limited(1 << 30);
    let mut server = start(flavour, &["--innodb-buffer-pool-size=2G"]);
    assert_eq!(state(&doctor(&server, "memory"), "memory.fit"), "fine");
    fs::write(group.0.join("cgroup.procs"), server.pid().to_string()).unwrap();
    let report = doctor(&server, "memory");
    let found = findings(&report, "memory.fit");
    let words =
        ["innodb_buffer_pool_size 2.15 GB", "1.07 GB", "SET GLOBAL innodb_buffer_pool_size", "missing"];
    assert!(
        found.iter().any(|(weight, text)| weight == "red" && words.iter().all(|word| text.contains(word))),
        "{report}"
    );
    server.kill();
    crate::client::wait_until("its group is empty", || fs::remove_dir(&group.0).is_ok());
}
