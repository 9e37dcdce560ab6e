//! Replays of the same logs: one after the other and two at once, by other names, from files and from the server, killed and resumed. Now and then
//! the target is filled anew. No row comes twice, and none is left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Flavour, Server};
use tempfile::TempDir;

use super::gaps::with_and_without_gtids;
use super::origin::with_input;
use super::sql::logs_of;
use crate::chance::{Chance, rounds};
use crate::client::{sql, try_sql, value, wait_until};
use crate::drover::{Output, Running, drover_on, dump, restore, run};
use crate::files::gzip;
use crate::servers::{on_both, start_unsynced};

on_both!(a_storm_of_replays);

/// In each transaction.
const ROWS: usize = 3;
/// After so many commands the target is empty again.
const COMMANDS: usize = 10;

struct Storm {
    source: Server,
    target: Server,
    dir: TempDir,
    chance: Chance,
    /// The last row of each log, by its path, and of all.
    ends: Vec<(PathBuf, usize)>,
    written: usize,
    /// The dump that the target was filled with last, and how many rows it has.
    filled: Option<(PathBuf, usize)>,
    /// Whether it was filled since the last replay.
    may_restart: bool,
    /// How many commands were done, refused and killed.
    ended: [usize; 3],
    /// What was run, for messages.
    story: Vec<String>,
}

fn a_storm_of_replays(flavour: Flavour) {
    for (number, (options, _)) in with_and_without_gtids(flavour).into_iter().enumerate() {
        let source = start_unsynced(flavour, &options);
        sql(&source, "CREATE DATABASE d; CREATE TABLE d.t (id INT) ENGINE = InnoDB");
        let mut storm = Storm {
            source,
            target: start_unsynced(flavour, &["--skip-log-bin"]),
            dir: tempfile::tempdir().unwrap(),
            chance: Chance::new(flavour as u64 + 10 * number as u64),
            ends: Vec::new(),
            written: 0,
            filled: None,
            may_restart: false,
            ended: [0; 3],
            story: Vec::new(),
        };
        for _ in 0..rounds(2) {
            storm.live();
        }
        assert!(storm.ended[0] > 0, "nothing was done: {:?}", storm.ended);
    }
}

impl Storm {
    /// A target from its first row on.
    fn live(&mut self) {
        self.forget_prepared();
        sql(&self.target, "DROP DATABASE IF EXISTS d; DROP DATABASE IF EXISTS drover");
        (self.filled, self.may_restart) = (None, false);
        self.story.clear();
        let mut before = 0;
        for _ in 0..COMMANDS {
            self.write();
            if self.chance.below(6) == 0 {
                before = self.fill();
            }
            before = self.replay(before);
        }
    }

    fn write(&mut self) {
        for _ in 0..self.chance.below(4) {
            let before = self.written;
            self.written += ROWS;
            let ids: Vec<_> = (before + 1..=self.written).map(|id| format!("({id})")).collect();
            let insert = format!("INSERT INTO d.t VALUES {}", ids.join(", "));
            let (flush, kind) = (self.chance.below(2) == 0, self.chance.below(5));
            let (first, last) = match kind {
                0 => (format!("CREATE TABLE d.x (id INT) ENGINE = InnoDB; {insert}"), "DROP TABLE d.x"),
                // Another session commits it.
                1 => (format!("XA START 'x'; {insert}; XA END 'x'; XA PREPARE 'x'"), "XA COMMIT 'x'"),
                _ => (insert, ""),
            };
            sql(&self.source, first);
            if flush {
                sql(&self.source, "FLUSH BINARY LOGS");
            }
            self.note(if kind == 1 { before } else { self.written });
            if !last.is_empty() {
                sql(&self.source, last);
            }
            self.note(self.written);
        }
        if self.chance.below(3) == 0 {
            sql(&self.source, "FLUSH BINARY LOGS");
        }
        self.note(self.written);
    }

    /// Notes that the logs which are there now go up to this row: those that were ended before stay.
    fn note(&mut self, row: usize) {
        for log in logs_of(&self.source) {
            match self.ends.iter().position(|(known, _)| *known == log) {
                Some(at) if at + 1 == self.ends.len() => self.ends[at].1 = row,
                Some(_) => {}
                None => self.ends.push((log, row)),
            }
        }
    }

    /// What is prepared on the target holds its tables.
    fn forget_prepared(&self) {
        for prepared in sql(&self.target, "XA RECOVER") {
            sql(&self.target, format!("XA ROLLBACK '{}'", prepared[3]));
        }
    }

    /// Fills the target once more; how many rows it has then.
    fn fill(&mut self) -> usize {
        if self.filled.is_none() || self.chance.below(3) == 0 {
            let out = self.dir.path().join(format!("dump-{}", self.written));
            let _ = fs::remove_dir_all(&out); // one of the same rows, which may have been taken in another log
            run(&mut dump(&self.source, "d", &out)).done();
            self.filled = Some((out, self.written));
        }
        let (out, rows) = self.filled.clone().unwrap();
        self.forget_prepared();
        run(&mut restore(&self.target, &out, "--drop-existing")).done();
        self.may_restart = true;
        self.story.push(format!("filled with {rows} rows"));
        rows
    }

    /// Runs a command, or two at once; how many rows the target has then.
    fn replay(&mut self, before: usize) -> usize {
        let count = if self.chance.below(6) == 0 { 2 } else { 1 };
        let dry = self.chance.below(8) == 0;
        let mut begun: Vec<_> = (0..count).map(|_| self.command(dry)).collect();
        let mut running = Vec::new();
        for (command, _) in &mut begun {
            running.push(Running::start(command));
            if self.chance.below(3) == 0 {
                std::thread::sleep(self.chance.millis(0, 200));
                running.last().unwrap().signal("KILL");
            }
        }
        let outputs: Vec<Output> = running.into_iter().map(Running::finish).collect();
        self.story.extend(outputs.iter().map(ToString::to_string));
        // What a killed one has sent may come to its end yet.
        let others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root' AND ID <> CONNECTION_ID()";
        wait_until("no replay is left", || value(&self.target, others) == "0");
        let rows = self.rows();
        let reached = outputs.iter().zip(&begun).filter(|(output, _)| output.code == Some(0) && !dry);
        let reached = reached.map(|(_, (_, reaches))| *reaches).max().unwrap_or(0);
        let story = || self.story.join("\n\n");
        for output in &outputs {
            // A dry run tells with 1 what a real one is refused with.
            let code = output.code.map(|code| if dry && code == 1 { 2 } else { code });
            let known = [Some(0), Some(2), None].iter().position(|known| *known == code);
            self.ended[known.unwrap_or_else(|| panic!("{}", story()))] += 1;
        }
        assert!(!dry || rows == before, "{rows} rows behind a dry run, {before} before\n{}", story());
        assert!(
            rows >= before && rows >= reached,
            "{rows} rows, {reached} said, {before} before\n{}",
            story()
        );
        rows
    }

    /// How many rows the target has: all from the first one on, each once, and whole transactions.
    fn rows(&self) -> usize {
        let Ok(rows) = try_sql(&self.target, "SELECT id FROM d.t ORDER BY id") else { return 0 };
        let right = (1..=rows.len()).map(|id| vec![id.to_string()]);
        assert!(rows.iter().cloned().eq(right), "{rows:?}\n{}", self.story.join("\n\n"));
        assert!(rows.len().is_multiple_of(ROWS), "{} rows\n{}", rows.len(), self.story.join("\n\n"));
        rows.len()
    }

    /// A replay, and up to which row all is there if it comes to its end.
    fn command(&mut self, dry: bool) -> (Command, usize) {
        let mut options = vec![
            self.chance.one_of(&["", "--name a", "--name a", "--name b"]),
            self.chance.one_of(&["", "--workers 1", "--workers 3"]),
            self.chance.one_of(&["", "--resume", "--resume", "--resume"]),
        ];
        if dry {
            options.push("--dry-run");
        } else if std::mem::take(&mut self.may_restart) && self.chance.below(2) == 0 {
            options[2] = "--restart";
        }
        let mut command = drover_on(&self.target, &format!("binlog replay {}", options.join(" ")));
        if let Some((dump, _)) = &self.filled {
            command.arg("--after").arg(dump);
        }
        // One that goes on may name the logs from there on, or from elsewhere.
        let first = if options[2] == "--resume" { self.chance.below(self.ends.len()) } else { 0 };
        let last = first + self.chance.below(self.ends.len() - first);
        let logs: Vec<_> = self.ends[first..=last].iter().map(|(log, _)| log.clone()).collect();
        let (command, all) = self.name(command, &logs);
        (command, if all { self.written } else { self.ends[last].1 })
    }

    /// Names logs in one of the ways in which they can be; whether it is all that the server has.
    fn name(&mut self, mut command: Command, logs: &[PathBuf]) -> (Command, bool) {
        let from = format!("mysql://root@/?socket={}", self.source.socket().display());
        let name = |log: &Path| log.file_name().unwrap().to_string_lossy().into_owned();
        match self.chance.below(8) {
            0 | 1 => drop(command.args(logs)),
            2 => drop(command.arg("--from").arg(from).args(logs.iter().map(|log| name(log)))),
            3 => {
                command.arg("--from").arg(from);
                return (command, true);
            }
            4 => drop(command.arg(self.copies(logs, |log, bytes| (name(log), bytes)).0)),
            5 => drop(command.args(self.copies(logs, |log, bytes| (format!("copy-{}", name(log)), bytes)).1)),
            6 => {
                let packed = |log: &Path, bytes: Vec<u8>| (format!("{}.gz", name(log)), gzip(&bytes));
                command.args(self.copies(logs, packed).1);
            }
            _ if logs.len() == 1 => command = with_input(command.arg("-"), &logs[0]),
            _ => drop(
                command.args(self.copies(logs, |log, bytes| (name(log).replace("bin", "other"), bytes)).1),
            ),
        }
        (command, false)
    }

    /// Copies of logs in a directory of their own, and what they are called.
    fn copies(
        &self,
        logs: &[PathBuf],
        copy: impl Fn(&Path, Vec<u8>) -> (String, Vec<u8>),
    ) -> (PathBuf, Vec<PathBuf>) {
        let dir = tempfile::tempdir_in(self.dir.path()).unwrap().keep();
        let copied = logs.iter().map(|log| {
            let (name, bytes) = copy(log, fs::read(log).unwrap());
            let path = dir.join(name);
            fs::write(&path, bytes).unwrap();
            path
        });
        (dir.clone(), copied.collect())
    }
}
