//! `drover bench malloc`.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::browser::Browser;
use crate::client::{value, wait_until};
use crate::drover::{Output, Running, drover, drover_on, run};
use crate::servers::{on_both, source};

on_both!(the_buffers_of_a_server_lie_on_the_curve);

/// `drover --json bench malloc` on a heap that nobody has set up otherwise.
fn malloc(line: &str) -> Command {
    let mut command = drover(&format!("--json bench malloc --warm-up 0 {line}"));
    command.env_remove("GLIBC_TUNABLES").env_remove("LD_PRELOAD");
    command
}

/// The curve of this allocator, in this way.
fn curve<'a>(result: &'a Value, allocator: &str, way: &str, touched: bool) -> &'a Value {
    let mut curves = result["curves"].as_array().unwrap().iter();
    let is_it = |curve: &&Value| {
        curve["allocator"] == allocator && curve["way"] == way && curve["touched"] == touched
    };
    curves.find(is_it).unwrap_or_else(|| panic!("no curve '{allocator} {way}' in {result}"))
}

/// The point of a size.
fn point(curve: &Value, bytes: u64) -> &Value {
    let mut points = curve["points"].as_array().unwrap().iter();
    points.find(|point| point["bytes"] == bytes).unwrap_or_else(|| panic!("no {bytes} in {curve}"))
}

fn sizes(result: &Value) -> Vec<u64> {
    result["sizes"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).collect()
}

#[test]
fn each_of_ten_planted_thresholds_is_found() {
    let planted = [65_536, 98_304, 131_072, 200_000, 393_216, 1 << 20, 1_500_000, 3 << 20, 8 << 20, 16 << 20];
    for threshold in planted {
        let mut command = malloc("--ways cold --sizes 32k..32M --repeat 1");
        command.env("GLIBC_TUNABLES", format!("glibc.malloc.mmap_threshold={threshold}"));
        let result = run(&mut command).done().json();
        assert_eq!(result["tunables"][0][0], "GLIBC_TUNABLES", "{}", result["tunables"]);

        // The threshold is of blocks with their headers: these are smaller by up to 8 bytes and what rounding adds.
        let exact = result["mmap_threshold"].as_u64().unwrap();
        assert!((threshold - 32..=threshold).contains(&exact), "{exact} for {threshold}");

        let jumps = curve(&result, "glibc", "cold", false)["jumps"].as_array().unwrap();
        let jump = jumps.iter().find(|jump| jump["cause"] == "mmap_threshold").unwrap();
        let sizes = sizes(&result);
        let step = |bytes: u64| sizes.iter().position(|size| *size >= bytes).unwrap();
        let found = step(jump["from_bytes"].as_u64().unwrap());
        assert!(found.abs_diff(step(threshold)) <= 1, "{jump} for {threshold}");
    }
}

#[test]
fn what_was_found_is_said_in_words() {
    let mut command = drover("bench malloc --warm-up 0 --ways cold,fixed --sizes 64k,96k,256k,1M --repeat 2");
    command.env("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=524288");
    let text = run(&mut command).done().stdout;
    for words in [
        "mmap threshold: from 524,2",
        "each allocation is a mapping of its own",
        "glibc cold: mmap threshold: from 1 MiB on",
        "glibc fixed: mmap threshold: from 256 KiB on",
        "2007",
        "9.80 µs",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    // Each size that was named, in both tables: of those that the text's table has not, too.
    for size in ["64 KiB", "96 KiB", "256 KiB", "1 MiB"] {
        assert_eq!(
            text.lines().filter(|line| line.starts_with(&format!("{size} "))).count(),
            2,
            "{size}: {text}"
        );
    }
}

#[test]
fn each_way_is_what_it_is_called() {
    let line = "--ways cold,dynamic,fixed,no-mmap --sizes 64k,1M,64M --repeat 2";
    let result = run(&mut malloc(line)).done().json();
    let share = |way: &str, bytes: u64, name: &str| {
        let point = point(curve(&result, "glibc", way, false), bytes);
        point[name].as_f64().unwrap_or_else(|| panic!("no {name} in {point}"))
    };
    let (small, large, largest) = (64 << 10, 1 << 20, 64 << 20);
    assert!(share("cold", small, "mappings") < 0.5 && share("cold", large, "mappings") > 0.9);
    // What was freed once is a mapping no longer, but above 32 MiB.
    assert_eq!([large, largest].map(|bytes| share("dynamic", bytes, "mappings")), [0.0, 1.0]);
    assert_eq!([small, large].map(|bytes| share("fixed", bytes, "mappings")), [0.0, 1.0]);
    // Without mappings the heap grows and shrinks instead.
    assert_eq!([large, largest].map(|bytes| share("no-mmap", bytes, "mappings")), [0.0, 0.0]);
    assert_eq!([small, large].map(|bytes| share("no-mmap", bytes, "given_back")), [0.0, 1.0]);

    // The pages of a block that is always the same one are there; those of a mapping never are.
    let touched =
        |way: &str, name: &str| point(curve(&result, "glibc", way, true), large)[name].as_f64().unwrap();
    assert!(touched("fixed", "faults") >= 256.0 && touched("dynamic", "faults") < 1.0);
    let (mapped, kept) = (touched("fixed", "median_ns"), touched("dynamic", "median_ns"));
    assert!(mapped > 3.0 * kept, "{mapped} and {kept} ns");
}

#[test]
fn a_result_is_compared_with_itself_and_holds_the_table() {
    let output = run(&mut malloc("--ways dynamic --sizes 100k..300k --repeat 3 --count 700 --seed 7")).done();
    let result = output.json();
    assert_eq!((&result["bench"], &result["seed"]), (&"malloc".into(), &7.into()));
    assert!(!result["environment"]["transparent_huge_pages"].as_str().unwrap().is_empty());
    let measures = result["measures"].as_array().unwrap();
    let names: Vec<_> = measures.iter().map(|measure| measure["name"].as_str().unwrap()).collect();
    let wanted = [
        "glibc dynamic: 128 KiB",
        "glibc dynamic: 256 KiB",
        "glibc dynamic, touched: 128 KiB",
        "glibc dynamic, touched: 256 KiB",
    ];
    assert_eq!(names, wanted);
    assert_eq!(measures[0]["values"].as_array().unwrap().len(), 3);
    assert_eq!(point(curve(&result, "glibc", "dynamic", false), 128 << 10)["allocations"], 2100);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.json");
    fs::write(&file, &output.stdout).unwrap();
    let compared = run(drover("--json bench compare").args([&file, &file])).done().json();
    let nothing_claimed = |verdict: &Value| verdict == "same" || verdict == "too_few_repeats";
    assert!(
        compared["measures"].as_array().unwrap().iter().all(|measure| nothing_claimed(&measure["verdict"]))
    );
}

/// The allocators that `scripts/setup` installs.
#[test]
fn other_allocators_are_measured_through_ld_preload() {
    let result = run(&mut malloc("--ways dynamic,preload --sizes 128k,1M,40M --repeat 1")).done().json();
    assert_eq!(result["not_installed"], serde_json::json!([]), "scripts/setup installs them");
    for allocator in ["jemalloc", "tcmalloc", "mimalloc"] {
        for touched in [false, true] {
            let curve = curve(&result, allocator, "preload", touched);
            assert_eq!(curve["points"].as_array().unwrap().len(), 3, "{curve}");
            // What glibc tells of its own blocks says nothing of others.
            assert!(point(curve, 1 << 20)["mappings"].is_null(), "{curve}");
            assert!(point(curve, 1 << 20)["median_ns"].as_f64().unwrap() > 0.0, "{curve}");
        }
    }
    let mut preloaded = malloc("--ways cold,fixed --sizes 1M --repeat 1");
    let library = result["curves"][2]["allocator"].as_str().unwrap();
    assert_eq!(library, "jemalloc");
    let path = fs::read_dir(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH)).unwrap().flatten();
    let is_jemalloc = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("libjemalloc.so");
    let path = path.filter(|file| is_jemalloc(&file.file_name())).map(|file| file.path()).next().unwrap();
    let output = run(preloaded.env("LD_PRELOAD", path)).done();
    let result = output.json();
    assert_eq!(result["allocator"]["name"], "jemalloc");
    assert!(output.stderr.contains("'fixed' was left out"), "{output}");
    assert_eq!(result["curves"].as_array().unwrap().len(), 2);
}

fn the_buffers_of_a_server_lie_on_the_curve(flavour: Flavour) {
    let server = source(flavour);
    let line = "--json bench malloc --server --warm-up 0 --ways cold,dynamic --sizes 64k..1M --repeat 1";
    let mut command = drover_on(server, line);
    let output = run(command.env_remove("GLIBC_TUNABLES").env_remove("LD_PRELOAD")).done();
    let result = output.json();
    let memory = &result["server"];
    assert_eq!((&memory["is_local"], &memory["unknown_because"]), (&true.into(), &Value::Null), "{memory}");
    let pid = memory["process"]["pid"].as_u64().unwrap();
    assert_eq!(pid, u64::from(server.pid()));
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let library = memory["process"]["allocator"]["library"].as_str().unwrap();
    assert!(maps.lines().any(|line| line.ends_with(library)), "{library}");
    assert!(memory["process"]["tunables"].is_array(), "{memory}");

    let buffers = memory["buffers"].as_array().unwrap();
    for name in [
        "read_buffer_size",
        "read_rnd_buffer_size",
        "sort_buffer_size",
        "join_buffer_size",
        "net_buffer_length",
    ] {
        let buffer = buffers
            .iter()
            .find(|buffer| buffer["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {memory}"));
        let bytes = buffer["bytes"].as_u64().unwrap();
        assert_eq!(bytes.to_string(), value(server, format!("SELECT @@GLOBAL.{name}")));
        let costs = buffer["costs"].as_array().unwrap();
        assert_eq!(costs.len(), 4, "cold and dynamic, touched and not: {buffer}");
        let cold = &costs[0];
        assert_eq!(cold["curve"], "glibc cold", "{buffer}");
        let exact = result["mmap_threshold"].as_u64().unwrap();
        assert_eq!(cold["is_above_jump"], bytes >= exact, "{buffer} beside {exact}");
    }
    assert!(result["environment"]["server"]["version"].as_str().is_some());
}

#[test]
fn what_there_is_no_memory_for_is_not_measurable() {
    // In KiB: less than 500 MiB.
    let limit = "ulimit -v 500000 && exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    let inner = malloc("--ways cold,dynamic,fixed,no-mmap --sizes 1M,500M --repeat 1");
    command.args(["-c", limit]).arg(inner.get_program()).args(inner.get_args());
    let output: Output = run(command.env_remove("GLIBC_TUNABLES").env_remove("LD_PRELOAD")).done();
    assert!(output.stderr.contains("warning: not measurable: 500 MiB"), "{output}");
    let result = output.json();
    let curves = result["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 8);
    for curve in curves {
        assert_eq!(curve["points"].as_array().unwrap().len(), 1, "{curve}");
        assert_eq!(curve["not_measurable"][0]["bytes"], 500 << 20, "{curve}");
    }
    let why = curve(&result, "glibc", "cold", false)["not_measurable"][0]["why"].as_str().unwrap();
    assert!(why.contains("malloc returned null"), "{why}");
}

#[test]
fn a_signal_ends_it_and_what_it_started() {
    // A size that nobody else allocates, by which the process is found.
    let mut running =
        Running::start(&mut malloc("--ways fixed --sizes 7654321 --count 1000000000 --repeat 1"));
    let measuring = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains("\"bytes\":7654321")).count()
    };
    wait_until("it measures", || measuring() > 0);
    let begun = Instant::now();
    running.signal("INT");
    wait_until("it has ended", || running.has_ended());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    running.finish().refused(&["stopped by a signal"]);
    assert_eq!(measuring(), 0);
}

#[test]
fn wrong_options_are_refused() {
    run(&mut malloc("--socket /nowhere")).refused(&["--socket is given", "--server"]);
    let output = run(&mut malloc("--sizes 1M..64k"));
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("the smaller size first"), "{output}");
    let help = run(&mut drover("bench malloc --help")).done().stdout;
    assert!(help.contains("--ways") && !help.contains("--child"), "{help}");
}

#[test]
fn the_page_reads_well_on_a_phone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("malloc.html");
    let mut command = malloc("--ways cold,dynamic,fixed,preload --sizes 64k..4M --repeat 2");
    run(command.arg("--html").arg(&file)).done();
    let mut browser = Browser::open(dir.path(), &format!("file://{}", file.display()));
    for words in ["What an allocation costs", "Beside 2007", "mmap threshold: from", "Transparent huge pages"]
    {
        browser.wait_for("body", words);
    }
    assert!(browser.value("document.querySelectorAll('svg.chart').length").as_u64() >= Some(4));
    browser.assert_fits();
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
}
