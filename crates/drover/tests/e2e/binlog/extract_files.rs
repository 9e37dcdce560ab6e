//! `drover binlog extract`: its files are there whole, or not at all.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use drover_sandbox::Flavour;
use tempfile::TempDir;

use super::extract::{create, create_table, extracted, lines, log_of, servers};
use crate::client::sql;
use crate::drover::{Running, drover, run};
use crate::failures::disk_full::SmallDisk;
use crate::files::files_in;
use crate::servers::{on_both, target};

on_both!(what_is_there_is_not_replaced, a_kill_leaves_nothing, a_full_disk);

fn what_is_there_is_not_replaced(flavour: Flavour) {
    let (source, _) = servers(flavour);
    create([&source, target(flavour)], "kept", "");
    create_table(&[&source], "kept.t");
    let files = TempDir::new().unwrap();
    let path = files.path().join("file");
    fs::write(&path, "first\n").unwrap();
    sql(&source, format!("LOAD DATA INFILE '{}' INTO TABLE kept.t (v)", path.display()));
    let (log, out) = (log_of(&source), TempDir::new().unwrap());
    let loads = extracted(&log, out.path(), "");
    let file = loads[0]["file"].as_str().unwrap();
    fs::write(file, "mine").unwrap();
    let again = run(drover("binlog extract --out").arg(out.path()).arg(&log));
    again.refused(&[file, "it is there already", "hint: name another directory with --out"]);
    assert_eq!(fs::read(file).unwrap(), b"mine");
    extracted(&log, out.path(), "--force");
    assert_eq!(fs::read(file).unwrap(), b"first\n");
    assert_eq!(files_in(out.path()).len(), 2);
    sql(target(flavour), "DROP DATABASE kept");
}

/// Whatever ends the process, there are whole files or none: here it is within the only one, since the rest of the log never comes.
fn a_kill_leaves_nothing(flavour: Flavour) {
    let (source, target) = servers(flavour);
    create([&source, &target], "k", "");
    create_table(&[&source], "k.t");
    let files = TempDir::new().unwrap();
    let (path, pipe) = (files.path().join("file"), files.path().join("pipe"));
    fs::write(&path, lines(4_000_000)).unwrap();
    sql(&source, format!("LOAD DATA INFILE '{}' INTO TABLE k.t (v)", path.display()));
    let log = fs::read(log_of(&source)).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let out = TempDir::new().unwrap();
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let (pipe, log) = (&pipe, &log);
        scope.spawn(move || {
            let mut half = OpenOptions::new().write(true).open(pipe).unwrap();
            half.write_all(&log[..2_000_000]).unwrap();
            let _no_more = ended.recv();
        });
        let mut running = Running::start(drover("binlog extract --out").arg(out.path()).arg(pipe));
        let fds = PathBuf::from(format!("/proc/{}/fd", running.pid()));
        let keeps_some = || {
            let links = fs::read_dir(&fds).into_iter().flatten().flatten();
            let mut paths = links.filter_map(|link| fs::read_link(link.path()).ok());
            paths.any(|path| path.starts_with(out.path()))
        };
        running.freeze_when("it keeps something in the directory", keeps_some);
        running.signal("CONT");
        thread::sleep(Duration::from_millis(200)); // it reads on as far as it can
        running.signal("KILL");
        assert_eq!(running.finish().code, None);
        drop(end);
    });
    assert_eq!(files_in(out.path()), Vec::<PathBuf>::new());
}

/// What fits is there; of what does not there is nothing.
fn a_full_disk(flavour: Flavour) {
    let (source, target) = servers(flavour);
    create([&source, &target], "d", "");
    let files = TempDir::new().unwrap();
    for (table, length) in [("d.small", 1_000_000), ("d.large", 8_000_000)] {
        create_table(&[&source], table);
        let path = files.path().join(table);
        fs::write(&path, lines(length)).unwrap();
        sql(&source, format!("LOAD DATA INFILE '{}' INTO TABLE {table} (v)", path.display()));
    }
    let log = log_of(&source);
    let disk = SmallDisk::mount("size=4m");
    let output = run(drover("binlog extract --out").arg(disk.path()).arg(&log));
    let place = disk.path().display().to_string();
    output.refused(&[&log.display().to_string(), &place, "No space left on device", "hint: free some space"]);
    let found = files_in(disk.path());
    let endings: Vec<_> = found.iter().map(|path| path.extension().unwrap().to_str().unwrap()).collect();
    assert_eq!(endings, ["data", "sql"]);
    assert!(fs::read(&found[0]).unwrap() == lines(1_000_000));
}
