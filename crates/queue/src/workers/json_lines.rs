//! Processes that live on: a line for each task goes to their input, a line for each result comes from their output, in any
//! order. How many lines a process has at a time follows from how fast it answers: some milliseconds' worth, so that a slow one
//! keeps nothing from the others.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::line::{self, Said};
use super::{Counter, exec};
use crate::desk::Answer;
use crate::task::Outcome;
use crate::{Error, Result};

/// How much work a process has before it, about.
const AHEAD: Duration = Duration::from_millis(20);
const MOST: usize = 4096;
/// How often is looked whether tasks were given up.
const TICK: Duration = Duration::from_millis(100);
/// A process that ends so many times in a row without having answered anything ends the work.
const MOST_FUTILE: u32 = 5;

/// Works until there is nothing more.
pub(super) fn work(counter: &Counter<'_>, command: &str) -> Result<()> {
    let mut futile = 0;
    loop {
        let process = Process::start(command)?;
        let End { answered, is_over, error } = process.run(counter);
        if is_over {
            return Ok(());
        }
        futile = if answered > 0 { 0 } else { futile + 1 };
        if futile >= MOST_FUTILE {
            return Err(Error::with_hint(
                format!(
                    "--json-lines: the command ended {futile} times without an answer, at last so: {error}"
                ),
                "it has to read a line of JSON for each task, and to write one with the same \"lease\" for each result",
            ));
        }
        std::thread::sleep(Duration::from_millis(50 << futile));
    }
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

/// How a process ended.
struct End {
    answered: u64,
    /// Whether there will be no more tasks.
    is_over: bool,
    error: String,
}

/// What a process has, and how fast it is.
#[derive(Default)]
struct State {
    /// By lease, the time at which it was sent.
    has: HashMap<u64, Instant>,
    answered: u64,
    /// Answers a second, about.
    rate: f64,
    reckoned: Option<(Instant, u64)>,
    ended: Option<String>,
}

impl State {
    /// How many more lines it may have.
    fn room(&self) -> usize {
        let most = ((self.rate * AHEAD.as_secs_f64()) as usize).clamp(1, MOST);
        most.saturating_sub(self.has.len())
    }

    fn reckon(&mut self, now: Instant) {
        const EVERY: Duration = Duration::from_millis(5);
        let Some((at, count)) = self.reckoned else {
            self.reckoned = Some((now, self.answered));
            return;
        };
        if now - at >= EVERY {
            let latest = (self.answered - count) as f64 / (now - at).as_secs_f64();
            // Up at once, by at most four times, and slowly down.
            self.rate =
                if latest > self.rate { latest * 2.0 } else { (self.rate * 7.0 + latest * 2.0) / 8.0 };
            self.reckoned = Some((now, self.answered));
        }
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    room: Condvar,
}

impl Process {
    fn start(command: &str) -> Result<Self> {
        let failed = |source| Error::found(format!("--json-lines: cannot run /bin/sh: {source}"));
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Self { child, input, output }),
            _ => Err(Error::found("--json-lines: the process has no pipes")),
        }
    }

    /// Until the process ends, or there are no more tasks.
    fn run(self, counter: &Counter<'_>) -> End {
        let Self { mut child, mut input, mut output } = self;
        let shared = Shared::default();
        let is_over = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read(counter, &mut output, &shared));
            let is_over = write(counter, &mut input, &shared);
            drop(input); // at the end of its input the process is to end
            if !is_over || !ends_by_itself(&mut child) {
                exec::end_group(&mut child);
            }
            drop(reader.join());
            is_over
        });
        let status = child.wait();
        let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let returned = state.has.into_keys().map(|lease| Answer { lease, outcome: Outcome::Returned });
        counter.answer(returned.collect::<Vec<_>>());
        let error = state
            .ended
            .unwrap_or_else(|| status.map_or_else(|error| error.to_string(), |status| status.to_string()));
        End { answered: state.answered, is_over, error }
    }
}

/// Gives a process some time to end.
fn ends_by_itself(child: &mut Child) -> bool {
    const PATIENCE: Duration = Duration::from_secs(5);
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Sends tasks; whether it ended because there are no more. Otherwise the process is of no more use.
fn write(counter: &Counter<'_>, input: &mut ChildStdin, shared: &Shared) -> bool {
    let mut lines = Vec::new();
    let mut looked = Instant::now();
    let mut closed = false;
    loop {
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ended.is_some() {
            return false;
        }
        if closed && state.has.is_empty() {
            return true;
        }
        if looked.elapsed() >= TICK {
            looked = Instant::now();
            if counter
                .desk
                .gone(state.has.keys().copied())
                .into_iter()
                .any(|lease| state.has.remove(&lease).is_some())
            {
                return false; // it hangs in a task that was given up
            }
        }
        let room = state.room();
        if room == 0 || closed {
            drop(shared.room.wait_timeout(state, TICK));
            continue;
        }
        drop(state);
        let Some(tasks) = counter.desk.take(room, TICK) else {
            closed = true;
            continue;
        };
        if tasks.is_empty() {
            continue;
        }
        let now = Instant::now();
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        lines.clear();
        for queued in &tasks {
            state.has.insert(queued.task.lease, now);
            line::push(&queued.task, &mut lines);
        }
        drop(state);
        if input.write_all(&lines).is_err() {
            return false;
        }
    }
}

/// Reads answers until the process's output ends.
fn read(counter: &Counter<'_>, output: &mut ChildStdout, shared: &Shared) {
    let mut reader = BufReader::with_capacity(256 << 10, output);
    let mut answers = Vec::new();
    let ended = loop {
        let bytes = match reader.fill_buf() {
            Ok([]) => break "its output ended".to_owned(),
            Ok(bytes) => bytes,
            Err(error) => break error.to_string(),
        };
        let Some(last) = memchr::memrchr(b'\n', bytes) else {
            let mut line = Vec::new();
            match reader.read_until(b'\n', &mut line) {
                Ok(_) => match hear(counter, &line, &mut answers) {
                    Ok(()) => {}
                    Err(error) => break error,
                },
                Err(error) => break error.to_string(),
            }
            give(counter, shared, &mut answers);
            continue;
        };
        let heard =
            bytes[..last].split(|&byte| byte == b'\n').try_for_each(|line| hear(counter, line, &mut answers));
        reader.consume(last + 1);
        give(counter, shared, &mut answers);
        if let Err(error) = heard {
            break error;
        }
    };
    shared.state.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(ended);
    shared.room.notify_all();
}

fn hear(counter: &Counter<'_>, line: &[u8], answers: &mut Vec<Answer>) -> std::result::Result<(), String> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    match line::parse(line) {
        Ok(Said::Answer(answer)) => answers.push(answer),
        Ok(Said::Beat(lease)) => drop(counter.desk.beat(lease)),
        Err(error) => {
            let text: String = String::from_utf8_lossy(line).chars().take(200).collect();
            return Err(format!("it answered '{text}', which is no result: {error}"));
        }
    }
    Ok(())
}

fn give(counter: &Counter<'_>, shared: &Shared, answers: &mut Vec<Answer>) {
    if answers.is_empty() {
        return;
    }
    let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    for answer in answers.iter() {
        state.has.remove(&answer.lease);
    }
    state.answered += answers.len() as u64;
    state.reckon(Instant::now());
    drop(state);
    shared.room.notify_all();
    counter.answer(answers.drain(..));
}
