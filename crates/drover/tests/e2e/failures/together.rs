//! Two runs of ours in one directory or on one schema, begun and killed when chance says, now and then with a change of the rows between:
//! whatever comes of them, what says that it is done is whole, and nothing that they leave keeps another run away.

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
/// So many times in a round two of a kind run at once.
const PAIRS: usize = 3;

fn a_storm_of_two(flavour: Flavour) {
    let (source, target) = (source(flavour), target(flavour));
    make(source, SCHEMA, 3000);
    let mut chance = Chance::new(flavour as u64);
    for _ in 0..rounds(2) {
        let dir = tempfile::tempdir().unwrap();
        let outs = [0; PAIRS].map(|_| tempfile::tempdir_in(dir.path()).unwrap().keep().join("dump"));
        outs.iter().for_each(|out| dumps(source, out, &mut chance));
        restores(target, &outs[0], &mut chance);
        copies(source, target, dir.path(), &mut chance);
        sql(target, format!("DROP DATABASE {SCHEMA}"));
    }
    sql(source, format!("DROP DATABASE {SCHEMA}"));
}

/// Runs two commands one beside the other, and does something when the first has begun. Whether one of them is killed meanwhile is chance.
fn together(commands: [&mut Command; 2], between: impl FnOnce(), chance: &mut Chance) -> [Output; 2] {
    let [first, second] = commands;
    let mut running = vec![Running::start(first)];
    // A run takes some 150 ms.
    std::thread::sleep(chance.millis(0, 100));
    between();
    running.push(Running::start(second));
    std::thread::sleep(chance.millis(0, 250));
    let victim = chance.below(6);
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
    // As many bytes as before: only the digests tell files of two moments apart.
    let changes = chance.below(2) == 0;
    let change = || {
        if changes {
            sql(server, format!("UPDATE {SCHEMA}.keyed SET v = SHA2(v, 512)"));
        }
    };
    let outputs = together([&mut first, &mut second], change, chance);
    if outputs.iter().all(|output| output.code != Some(0)) && !manifest_path(out).exists() {
        run(&mut dump(server, &format!("{SCHEMA} --chunk-size 64k --resume"), out)).done();
    }
    run(drover("verify --no-server").arg(out)).done();
    if !changes {
        run(&mut verify(server, out, "")).done();
    }
    // One that is killed when it has published the manifest leaves the file, which nobody holds.
    let is_killed = outputs.iter().any(|output| output.code.is_none());
    assert!(is_killed || !out.join("run.lock").exists());
}

fn restores(server: &Server, out: &Path, chance: &mut Chance) {
    for _ in 0..PAIRS {
        let mut line =
            || restore(server, out, chance.one_of(&["", "--resume", "--drop-existing", "--drop-existing"]));
        let (mut first, mut second) = (line(), line());
        let outputs = together([&mut first, &mut second], || (), chance);
        if done(&outputs).is_some() {
            run(&mut verify(server, out, "")).done();
        }
    }
    run(&mut restore(server, out, "--drop-existing")).done();
    run(&mut verify(server, out, "")).done();
}

fn copies(source: &Server, target: &Server, dir: &Path, chance: &mut Chance) {
    for pair in 0..PAIRS {
        // Also with the state of both in one directory.
        let states: [PathBuf; 2] =
            [0, chance.below(2)].map(|number| dir.join(format!("state-{pair}-{number}")));
        let mut line = |state: &Path| {
            let options = chance.one_of(&["--resume", "--drop-existing", "--drop-existing"]);
            copy(source, target, &format!("{SCHEMA} --chunk-size 64k {options}"), state)
        };
        let (mut first, mut second) = (line(&states[0]), line(&states[1]));
        let outputs = together([&mut first, &mut second], || (), chance);
        if let Some(number) = done(&outputs) {
            run(&mut verify(target, &states[number], "")).done();
        }
    }
    let state = dir.join("state");
    run(&mut copy(source, target, &format!("{SCHEMA} --drop-existing"), &state)).done();
    run(&mut verify(target, &state, "")).done();
}
