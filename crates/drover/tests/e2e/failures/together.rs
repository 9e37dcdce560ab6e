//! Two runs of ours in one directory or on one schema, begun and killed when chance says: whatever comes of them, what says that it is
//! done is whole, and nothing that they leave keeps another run away.

use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use super::resume_dump::make;
use crate::chance::{Chance, rounds};
use crate::client::sql;
use crate::drover::{Output, Running, copy, drover, dump, restore, run, verify};
use crate::files::manifest_path;
use crate::servers::{on_both, source, target};

on_both!(a_storm_of_two);

const SCHEMA: &str = "of_two";

fn a_storm_of_two(flavour: Flavour) {
    let (source, target) = (source(flavour), target(flavour));
    make(source, SCHEMA, 3000);
    let mut chance = Chance::new(flavour as u64);
    for _ in 0..rounds(3) {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("dump");
        dumps(source, &out, &mut chance);
        restores(target, &out, &mut chance);
        copies(source, target, dir.path(), &mut chance);
        sql(target, format!("DROP DATABASE {SCHEMA}"));
    }
    sql(source, format!("DROP DATABASE {SCHEMA}"));
}

/// Runs two commands one beside the other. Whether one of them was killed or stopped meanwhile is chance.
fn together(commands: [&mut Command; 2], chance: &mut Chance) -> [Output; 2] {
    let [first, second] = commands;
    let mut running = vec![Running::start(first)];
    std::thread::sleep(chance.millis(0, 250));
    running.push(Running::start(second));
    std::thread::sleep(chance.millis(0, 250));
    let victim = chance.below(4);
    if let Some(victim) = running.get_mut(victim)
        && !victim.has_ended()
    {
        victim.signal("KILL");
    }
    let outputs: Vec<_> = running.into_iter().map(Running::finish).collect();
    for output in &outputs {
        assert!(matches!(output.code, None | Some(0 | 2)), "{output}");
    }
    outputs.try_into().unwrap()
}

/// Which of the two says that all is done, where neither was killed: such a one left things as they should be.
fn done(outputs: &[Output; 2]) -> Option<usize> {
    let is_killed = outputs.iter().any(|output| output.code.is_none());
    outputs.iter().position(|output| output.code == Some(0)).filter(|_| !is_killed)
}

fn dumps(server: &Server, out: &Path, chance: &mut Chance) {
    let mut line = || {
        dump(
            server,
            &format!("{SCHEMA} --chunk-size 64k {}", chance.one_of(&["", "--resume", "--resume"])),
            out,
        )
    };
    let (mut first, mut second) = (line(), line());
    let outputs = together([&mut first, &mut second], chance);
    if outputs.iter().any(|output| output.code == Some(0)) || manifest_path(out).exists() {
        run(drover("verify --no-server").arg(out)).done();
    } else {
        run(&mut dump(server, &format!("{SCHEMA} --chunk-size 64k --resume"), out)).done();
    }
    run(&mut verify(server, out, "")).done();
    // One that is killed when it has published the manifest leaves the file, which nobody holds.
    let is_killed = outputs.iter().any(|output| output.code.is_none());
    assert!(is_killed || !out.join("run.lock").exists());
}

fn restores(server: &Server, out: &Path, chance: &mut Chance) {
    let mut line =
        || restore(server, out, chance.one_of(&["", "--resume", "--drop-existing", "--drop-existing"]));
    let (mut first, mut second) = (line(), line());
    let outputs = together([&mut first, &mut second], chance);
    if done(&outputs).is_some() {
        run(&mut verify(server, out, "")).done();
    }
    run(&mut restore(server, out, "--drop-existing")).done();
    run(&mut verify(server, out, "")).done();
}

fn copies(source: &Server, target: &Server, dir: &Path, chance: &mut Chance) {
    // Also with the state of both in one directory.
    let states: [PathBuf; 2] = [0, chance.below(2)].map(|number| dir.join(format!("state-{number}")));
    let mut line = |state: &Path| {
        let options = chance.one_of(&["--resume", "--drop-existing", "--drop-existing"]);
        copy(source, target, &format!("{SCHEMA} --chunk-size 64k {options}"), state)
    };
    let (mut first, mut second) = (line(&states[0]), line(&states[1]));
    let outputs = together([&mut first, &mut second], chance);
    if let Some(number) = done(&outputs) {
        run(&mut verify(target, &states[number], "")).done();
    }
    let state = dir.join("state");
    run(&mut copy(source, target, &format!("{SCHEMA} --drop-existing"), &state)).done();
    run(&mut verify(target, &state, "")).done();
}
