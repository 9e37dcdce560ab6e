//! `drover bench disk`, on the disk that the tests are built on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::client::wait_until;
use crate::drover::{Output, Running, drover, run};
use crate::files::files_in;

const MIB: u64 = 1 << 20;

/// An empty directory on a disk; the place for temporary files may lie in memory.
fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A measurement of the disk that `path` lies on.
fn disk(path: &Path, line: &str) -> Command {
    let mut command = drover(&format!("--json bench disk {line}"));
    command.arg(path);
    command
}

fn measured(path: &Path, line: &str) -> Value {
    run(&mut disk(path, line)).done().json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn all(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// What measurements have for themselves in a directory.
fn places(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// How many requests of a kind a run counted.
fn count(run: &Value, kind: &str) -> f64 {
    run[kind]["count"].as_f64().unwrap_or(0.0)
}

/// Checks what one repeat says of itself: blocks of 16 KiB, 60 % reads, an fsync after every 100.
fn check_run(run: &Value) {
    let [reads, writes, fsyncs] = ["read", "write", "fsync"].map(|kind| count(run, kind));
    let (requests, iops) = (reads + writes, number(&run["iops"]));
    assert!((iops * 16_384.0 / 1e6 / number(&run["mb_per_second"]) - 1.0).abs() < 1e-9, "{run}");
    assert!((iops * number(&run["seconds"]) - requests).abs() < 0.01, "{run}");
    assert!(requests > 100.0, "{run}");
    // Five standard deviations of a binomial count.
    assert!((reads / requests - 0.6).abs() < 5.0 * (0.24 / requests).sqrt(), "{run}");
    assert!((fsyncs - requests / 100.0).abs() <= 3.0 + requests / 1000.0, "{run}");
    for kind in ["read", "write", "fsync"] {
        let of = ["p50_ms", "p90_ms", "p99_ms", "p99_9_ms", "max_ms"].map(|name| number(&run[kind][name]));
        assert!(of[0] > 0.0 && of.is_sorted(), "{kind}: {run}");
    }
}

#[test]
fn the_figures_agree_with_each_other_by_both_engines() {
    let (dir, results) = (on_disk(), tempfile::tempdir().unwrap());
    for engine in ["io-uring", "threads"] {
        let line = format!("--sweep 16M,64M --depth 4 --seconds 1 --repeat 2 --seed 7 --engine {engine}");
        let report = measured(dir.path(), &line);
        assert_eq!(
            (&report["bench"], &report["engine"], &report["seed"]),
            (&"disk".into(), &engine.into(), &7.into())
        );
        let points = all(&report["points"]);
        let sizes: Vec<_> = points.iter().map(|point| point["size_bytes"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [16 * MIB, 64 * MIB]);
        let runs: Vec<&Value> = points.iter().flat_map(|point| all(&point["runs"])).collect();
        runs.iter().for_each(|run| check_run(run));
        let mut turns: Vec<_> = runs.iter().map(|run| run["turn"].as_u64().unwrap()).collect();
        turns.sort_unstable();
        assert_eq!(turns, [1, 2, 3, 4]);
        for point in points {
            let of_runs: f64 = all(&point["runs"]).iter().map(|run| count(run, "read")).sum();
            assert_eq!(count(point, "read"), of_runs, "{point}");
        }
        let measures: Vec<_> =
            all(&report["measures"]).iter().map(|measure| measure["name"].clone()).collect();
        let names = ["throughput", "read p99", "write p99"];
        let expected: Vec<Value> = ["16 MiB, depth 4", "64 MiB, depth 4"]
            .iter()
            .flat_map(|at| names.map(|name| Value::from(format!("{name}, {at}"))))
            .collect();
        assert_eq!(measures, expected);
        assert!(report["environment"]["storage"][0]["file_system"].is_string(), "{report}");
        assert!(places(dir.path()).is_empty(), "{:?}", places(dir.path()));
        fs::write(results.path().join(engine), report.to_string()).unwrap();
    }
    let mut compare = drover("--json bench compare");
    compare.args([results.path().join("io-uring"), results.path().join("threads")]);
    let comparison = run(&mut compare).json();
    assert_eq!(
        (all(&comparison["measures"]).len(), all(&comparison["left_out"]).len()),
        (6, 0),
        "{comparison}"
    );
}

#[test]
fn depths_and_paths_have_a_curve_each() {
    let (one, other) = (on_disk(), on_disk());
    let line = "--sweep 4M..16M --depths 1,8 --seconds 0.2 --warm-up 0.1 --repeat 2 --fsync never --mix 1:1";
    let report = run(disk(one.path(), line).arg(other.path())).done().json();
    assert_eq!((all(&report["points"]).len(), all(&report["curves"]).len()), (2 * 2 * 3, 4));
    assert_eq!(all(&report["measures"]).len(), 12 * 3);
    assert!(report["measures"][0]["name"].as_str().unwrap().ends_with(&one.path().display().to_string()));
    // Both paths are measured in both repeats, one among the other.
    let turns = |path: &Path| -> Vec<u64> {
        let points = all(&report["points"]).iter().filter(|point| point["path"] == path.to_str().unwrap());
        points.flat_map(|point| all(&point["runs"])).map(|run| run["turn"].as_u64().unwrap()).collect()
    };
    for mut turns in [turns(one.path()), turns(other.path())] {
        turns.sort_unstable();
        assert!(turns.len() == 12 && turns[5] <= 12 && turns[6] > 12, "{turns:?}");
        assert!(turns[5] - turns[0] > 5 && turns[11] - turns[6] > 5, "{turns:?}");
    }
    assert!(places(one.path()).is_empty() && places(other.path()).is_empty());
}

#[test]
fn what_there_is_no_room_for_is_refused() {
    let dir = on_disk();
    let output =
        run(&mut disk(dir.path(), "--sweep 1G..900T")).refused(&["are missing", "are needed", "are free"]);
    assert!(output.error().contains("hint: "), "{output}");
    assert!(places(dir.path()).is_empty());
}

#[test]
fn memory_and_what_is_no_directory_are_refused() {
    let output = run(&mut disk(Path::new("/dev/shm"), "--sweep 16M")).refused(&["/dev/shm", "tmpfs"]);
    assert!(output.error().contains("hint: "), "{output}");
    assert!(
        !places(Path::new("/dev/shm")).iter().any(|path| path.display().to_string().contains("drover-bench"))
    );
    let dir = on_disk();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    run(&mut disk(&file, "--sweep 16M")).refused(&["not a directory"]);
    run(&mut disk(&dir.path().join("none"), "--sweep 16M")).refused(&["none"]);
    run(disk(dir.path(), "--sweep 16M").arg(dir.path().join("."))).refused(&["given twice"]);
}

#[test]
fn options_that_do_not_fit_are_refused_before_anything_is_written() {
    let dir = on_disk();
    run(&mut disk(dir.path(), "--block 1000 --sweep 16M")).refused(&["--block 1000", "multiples"]);
    run(&mut disk(dir.path(), "--block 64M --depth 32 --sweep 1G")).refused(&["--block", "buffers"]);
    run(&mut disk(dir.path(), "--html /nonexistent/page.html --sweep 16M")).refused(&["--html"]);
    assert!(places(dir.path()).is_empty());
}

/// A measurement that has written its file and goes on for a minute.
fn at_work(path: &Path) -> Running {
    let before = places(path);
    let running = Running::start(&mut disk(path, "--sweep 8M --seconds 60"));
    let is_filled = |place: &PathBuf| {
        use std::os::unix::fs::MetadataExt as _;
        !before.contains(place)
            && fs::metadata(place.join("data")).is_ok_and(|data| data.blocks() * 512 >= 8 * MIB)
    };
    wait_until("the file is there", || places(path).iter().any(is_filled));
    // It is reserved before it is filled, which takes a moment.
    std::thread::sleep(Duration::from_millis(500));
    running
}

#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    for signal in ["INT", "TERM"] {
        let dir = on_disk();
        let running = at_work(dir.path());
        running.signal(signal);
        running.finish().refused(&["stopped"]);
        assert!(places(dir.path()).is_empty(), "{signal}");
    }
    // Also while the file is written.
    let dir = on_disk();
    let mut running = Running::start(&mut disk(dir.path(), "--sweep 4G"));
    wait_until("the file is there", || !files_in(dir.path()).is_empty() || running.has_ended());
    running.signal("INT");
    running.finish().refused(&["stopped"]);
    assert!(places(dir.path()).is_empty());
}

#[test]
fn the_next_one_removes_what_a_killed_one_left_and_not_what_is_in_use() {
    let dir = on_disk();
    let in_use = at_work(dir.path());
    let kept = places(dir.path());
    let killed = at_work(dir.path());
    killed.signal("KILL");
    assert_eq!(killed.finish().code, None);
    let left: Vec<_> = places(dir.path()).into_iter().filter(|place| !kept.contains(place)).collect();
    assert_eq!((kept.len(), left.len()), (1, 1), "{left:?}");
    let report = measured(dir.path(), "--sweep 4M --seconds 0.2 --repeat 1");
    let name = left[0].display().to_string();
    let removed = |warning: &&Value| warning.as_str().unwrap().contains(&format!("removed {name}"));
    assert_eq!(all(&report["warnings"]).iter().filter(removed).count(), 1, "{report}");
    assert_eq!(places(dir.path()), kept);
    in_use.signal("INT");
    in_use.finish().refused(&["stopped"]);
    assert!(places(dir.path()).is_empty());
}

/// All files below a directory, with what they hold.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files_in(dir).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn nothing_is_written_outside_of_the_path() {
    let dir = on_disk();
    let [path, beside, here, temporary] =
        ["path", "beside", "here", "temporary"].map(|name| dir.path().join(name));
    for directory in [&path, &beside, &here, &temporary] {
        fs::create_dir(directory).unwrap();
    }
    // What looks like a leftover but leads elsewhere.
    fs::write(beside.join("data"), "precious").unwrap();
    std::os::unix::fs::symlink(&beside, path.join("drover-bench-disk-trap")).unwrap();
    let before = contents(dir.path());
    let mut command = disk(&path, "--sweep 8M --seconds 0.2 --repeat 1");
    run(command.current_dir(&here).env("TMPDIR", &temporary)).done();
    assert_eq!(contents(dir.path()), before);
    assert_eq!(fs::read_to_string(beside.join("data")).unwrap(), "precious");
    assert_eq!(places(&path), [path.join("drover-bench-disk-trap")]);
}

#[test]
fn what_is_required_is_answered() {
    let dir = on_disk();
    let line = |rate: &str| format!("--sweep 4M,8M --depth 4 --seconds 0.2 --repeat 2 --require {rate}");
    let easy = measured(dir.path(), &line("1kB/s"));
    let required = &easy["curves"][0]["required"];
    assert_eq!((&required["reach"], number(&required["mb_per_second"])), (&"beyond_the_sweep".into(), 0.001));
    assert!(easy["warnings"].to_string().contains("a larger --sweep tells"), "{easy}");
    let hard = run(&mut disk(dir.path(), &line("900GB/s"))).found(&[]).json();
    assert_eq!(hard["curves"][0]["required"]["reach"], "below_the_sweep");
    assert_eq!(hard["curves"][0]["knee"]["finding"], "too_few_sizes");
    let mut plain = drover(&format!("bench disk {}", line("1kB/s")));
    let text = run(plain.arg(dir.path())).done();
    assert!(text.stdout.contains("depth 4: 0.001 MB/s at all sizes of the sweep"), "{text}");
    assert!(text.stderr.contains("warning: ") && text.stdout.contains("8 MiB"), "{text}");
}

/// Runs a program with io_uring forbidden, as in most containers: its system call, which has this number on all machines but Alpha,
/// fails with EPERM.
const WITHOUT_IO_URING: &str = r"
import ctypes, os, struct, sys
SETUP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER, EPERM = 425, 22, 38, 2, 1
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, SETUP), (0x06, 0, 0, 0x00050000 | EPERM), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *rule) for rule in rules))
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('rules', ctypes.c_void_p)]
program = Program(len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

fn without_io_uring(path: &Path, line: &str) -> Output {
    let command = disk(path, line);
    let mut python = Command::new("python3");
    python.args(["-c", WITHOUT_IO_URING]).arg(command.get_program()).args(command.get_args());
    run(&mut python)
}

#[test]
fn threads_do_it_where_io_uring_is_forbidden() {
    let dir = on_disk();
    let line = "--sweep 8M --seconds 0.5 --repeat 1";
    let report = without_io_uring(dir.path(), line).done().json();
    assert_eq!(report["engine"], "threads");
    assert!(
        report["warnings"].to_string().contains("the kernel refuses io_uring (Operation not permitted"),
        "{report}"
    );
    check_run(&report["points"][0]["runs"][0]);
    let refused = without_io_uring(dir.path(), &format!("{line} --engine io-uring")).refused(&["io_uring"]);
    assert!(refused.error().contains("--engine threads"), "{refused}");
    assert!(places(dir.path()).is_empty());
}

#[test]
fn the_page_is_shown_in_a_browser() {
    let (dir, kept) = (on_disk(), tempfile::tempdir().unwrap());
    let page = kept.path().join("disk.html");
    let line =
        "--sweep 1M..16M --depths 1,4 --seconds 0.2 --warm-up 0.1 --fsync every:10 --require 1MB/s --html";
    let mut command = drover(&format!("--json bench disk {line}"));
    run(command.arg(&page).arg(dir.path())).done();
    let mut browser = Browser::open(kept.path(), &format!("file://{}", page.display()));
    browser.wait_for("h1", "How the disk bears random reads and writes");
    browser.assert_fits();
    // Throughput, and a chart of each kind of requests; two curves each.
    assert_eq!(browser.value("document.querySelectorAll('svg.chart').length"), 4);
    assert_eq!(browser.value("document.querySelectorAll('svg.chart path.curve').length"), 8);
    assert_eq!(browser.value("document.querySelector('text.level').textContent"), "1 MB/s required");
    assert_eq!(browser.value("performance.getEntriesByType('resource').length"), 0, "it asks for something");
    browser.wait_for("main", "Largest size at 1 MB/s");
    browser.wait_for("main", "depth 4");
}
