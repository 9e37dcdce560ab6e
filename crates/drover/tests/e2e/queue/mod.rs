//! `drover queue`, from the first table to the last task. What is in the tables is asked by the vendor's own client; what ran is in
//! files that the workers wrote.

mod building;
mod clocks;
mod counts;
mod examples;
mod exec;
mod http;
mod init;
mod json_lines;
mod keep;
mod kills;
mod large;
mod limits;
mod locks;
mod moving;
mod numbering;
mod orphans;
mod placing;
mod pushing;
mod rules;
mod schedules;
mod serve;
mod shards;
mod sharing;
mod stat;
mod stopping;
mod storm;
mod tap;
mod times;

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{self, feed};
use crate::drover::{Output, drover, drover_on, run};
use crate::servers::source;

/// A queue in a schema of its own, with a directory for its workers.
pub(crate) struct Queue {
    pub(crate) server: &'static Server,
    pub(crate) schema: String,
    pub(crate) dir: TempDir,
}

impl Queue {
    pub(crate) fn new(flavour: Flavour, name: &str) -> Self {
        let queue = Self {
            server: source(flavour),
            schema: format!("queue_of_{name}"),
            dir: tempfile::tempdir().unwrap(),
        };
        queue.run("init").done();
        queue
    }

    /// A command on this queue.
    pub(crate) fn command(&self, line: &str) -> Command {
        drover_on(self.server, &format!("queue {line} -D {}", self.schema))
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        run(&mut self.command(line))
    }

    /// Works with one of the ways to work, such as `--exec`.
    pub(crate) fn working(&self, line: &str, hands: [&str; 2]) -> Command {
        let mut command = self.command(&format!("work --json {line}"));
        command.args(hands);
        command
    }

    /// The same to the end of the queue: what it reports.
    pub(crate) fn work(&self, line: &str, hands: [&str; 2]) -> Value {
        let output = run(&mut self.working(&format!("--until-empty {line}"), hands));
        assert!(matches!(output.code, Some(0 | 1)), "{output}");
        output.json()
    }

    /// Runs a command with something on its standard input; its exit code and what it printed.
    pub(crate) fn fed(&self, line: &str, input: &str) -> (Option<i32>, String) {
        let output = feed(&mut self.command(line), input.as_bytes());
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    pub(crate) fn sql(&self, text: impl Display) -> client::Rows {
        client::sql(self.server, format!("USE {}; {text}", self.schema))
    }

    pub(crate) fn value(&self, text: impl Display) -> String {
        client::value(self.server, format!("USE {}; {text}", self.schema))
    }

    /// A file in its directory.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The lines of a file that a worker wrote, `log` as a rule; none if it wrote none.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The same, in order.
    pub(crate) fn sorted(&self, name: &str) -> Vec<String> {
        let mut lines = self.lines(name);
        lines.sort();
        lines
    }

    /// A shell's command, with the queue's directory for `@`.
    pub(crate) fn at(&self, command: &str) -> String {
        command.replace('@', &self.dir.path().display().to_string())
    }

    /// The command for a worker in Python that reads lines: `text` is done with each `task`, and may print `answer(task)`.
    pub(crate) fn python(&self, text: &str) -> String {
        let program = format!(
            "import json, os, random, sys, threading, time\nlog = open('@/log', 'a', buffering=1)\n\
             def answer(task, **more): os.write(1, (json.dumps({{'lease': task['lease'], **more}}) + '\\n').encode())\n\
             for line in sys.stdin:\n    task = json.loads(line)\n    {}\n",
            text.replace('\n', "\n    ")
        );
        let file = self.file("worker.py", &self.at(&program));
        format!("exec python3 {}", file.display())
    }

    /// A file of shards, each in a schema of its own on the queue's server. They have tables.
    pub(crate) fn shards(&self, names: &[&str], place: &str) -> PathBuf {
        let mut text = format!("place = \"{place}\"\n");
        for name in names {
            let url =
                format!("mysql://root@/{}_{name}?socket={}", self.schema, self.server.socket().display());
            text += &format!("[[shard]]\nname = \"{name}\"\nurl = \"{url}\"\n");
        }
        let file = self.file("shards.toml", &text);
        run(&mut sharded(&file, "init")).done();
        file
    }

    /// The first field of the first row, asked of one of these shards.
    pub(crate) fn value_of(&self, shard: &str, text: impl Display) -> String {
        client::value(self.server, format!("USE {}_{shard}; {text}", self.schema))
    }

    /// How many dead tasks there are.
    pub(crate) fn dead(&self) -> String {
        self.value("SELECT COUNT(*) FROM queue_dead")
    }
}

/// A command on the shards of a file.
pub(crate) fn sharded(file: &Path, line: &str) -> Command {
    let mut command = drover(&format!("queue {line} --no-defaults --shards"));
    command.arg(file);
    command
}

/// The numbers from `first` to `last`, a line each.
pub(crate) fn numbers(first: u32, last: u32) -> String {
    (first..=last).map(|number| format!("{number}\n")).collect()
}
