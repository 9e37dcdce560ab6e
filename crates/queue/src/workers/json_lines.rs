//! Processes that live on: a line for each task goes to their input, a line for each result comes from their output, in any
//! order. How many lines a process has at a time follows from how fast it answers: some milliseconds' worth, so that a slow one
//! keeps nothing from the others.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::counter::Counter;
use super::exec;
use super::line::{self, Said};
use crate::desk::{Answer, Hand};
use crate::task::Outcome;
use crate::{Error, Result};

/// How much work a process has before it, about.
const AHEAD: Duration = Duration::from_millis(20);
const MOST: usize = 4096;
/// An answer that is longer is none, in bytes.
const LONGEST_LINE: u64 = 16 << 20;
/// How often is looked whether tasks were given up, or the process ended.
const TICK: Duration = Duration::from_millis(100);
/// How often is looked whether a process that is starting reads its input.
const START_TICK: Duration = Duration::from_millis(10);
/// A process is starting until it reads its first line, but for no longer than this.
const LONGEST_START: Duration = Duration::from_secs(60);
/// A process that ends so many times in a row without having answered anything ends the work.
const MOST_FUTILE: u32 = 5;

/// Works until there is nothing more.
pub(super) fn work(counter: &Counter<'_>, command: &str) -> Result<()> {
    let mut futile = 0;
    while counter.desk.take(0, Duration::ZERO).is_some() {
        let process = Process::start(command)?;
        let End { answered, why } = process.run(counter);
        let error = match why {
            Why::Over => return Ok(()),
            Why::Hung => continue,
            Why::Ended(error) => error,
        };
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
    Ok(())
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

/// How a process ended.
struct End {
    answered: u64,
    why: Why,
}

enum Why {
    /// There will be no more tasks.
    Over,
    /// A task of its was given up, so that it was ended.
    Hung,
    /// By itself, or since it said what makes no sense.
    Ended(String),
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
    /// How long its first line is, once that is written whole.
    first: Option<usize>,
    /// Whether its output ended.
    is_ended: bool,
    /// Whether it was ended, since it hung.
    is_hung: bool,
    /// Whether nothing more is sent to it.
    is_left: bool,
    /// What it said that makes no sense.
    nonsense: Option<String>,
}

impl State {
    /// How many more lines it may have.
    fn room(&self) -> usize {
        let most = ((self.rate * AHEAD.as_secs_f64()) as usize).clamp(1, MOST);
        most.saturating_sub(self.has.len())
    }

    /// Whether the process has read something of its first line. Until it has answered once it has no other.
    fn has_read(&self, pipe: &OwnedFd) -> bool {
        let unread = rustix::io::ioctl_fionread(pipe); // an error: there is no way to know
        self.answered > 0
            || self
                .first
                .is_some_and(|sent| unread.is_ok_and(|unread| unread < sent as u64) || unread.is_err())
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
    left: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let why = std::thread::scope(|scope| {
            let (process, shared) = (child.id(), &shared);
            let pipe = input.as_fd().try_clone_to_owned().ok();
            let reader = scope.spawn(|| read(counter, &mut output, shared));
            scope.spawn(move || watch(counter, process, pipe, shared));
            let why = write(counter, process.into(), &mut input, shared);
            shared.lock().is_left = true;
            shared.left.notify_all();
            drop(input); // at the end of its input the process is to end
            let ends = match why {
                Why::Over => ends_by_itself(&mut child, PATIENCE),
                Why::Hung => false,
                Why::Ended(_) => ends_by_itself(&mut child, PATIENCE / 50), // so that its own status is seen
            };
            if !ends {
                exec::end_group(&mut child);
            }
            exec::kill_group(process); // what it started may go on, and hold its output open
            drop(reader.join());
            why
        });
        let status = child.wait().ok();
        let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let answered = state.answered;
        let why = match why {
            Why::Ended(_) => Why::Ended(state.error(status)),
            other => other,
        };
        counter.answer(state.left(&why, status));
        End { answered, why }
    }
}

/// Exit statuses of which no task is the cause: it ended as it should, or the shell has no such command, or none that it may run.
const BLAMELESS: [i32; 3] = [0, 126, 127];

impl State {
    /// Why the process was of no more use.
    fn error(&self, status: Option<ExitStatus>) -> String {
        match (&self.nonsense, status) {
            (Some(nonsense), _) => nonsense.clone(),
            (None, Some(status)) => exec::ended(status),
            (None, None) => "ended".into(),
        }
    }

    /// Answers for what it has. If it broke down, that is a failure of the task that it has had longest: otherwise one that ends
    /// whoever takes it would come again and again. Nobody has begun the others.
    fn left(&self, why: &Why, status: Option<ExitStatus>) -> Vec<Answer> {
        let is_blameless =
            status.and_then(|status| status.code()).is_some_and(|code| BLAMELESS.contains(&code));
        let error = match why {
            Why::Ended(error) if self.nonsense.is_some() || !is_blameless => Some(error),
            _ => None,
        };
        let first = self.has.iter().min_by_key(|(lease, sent)| (**sent, **lease)).map(|(lease, _)| *lease);
        let outcome = |lease| match error {
            Some(error) if Some(lease) == first => {
                Outcome::Failed(format!("the worker that had it ended: {error}"))
            }
            _ => Outcome::Returned,
        };
        self.has.keys().map(|&lease| Answer { lease, outcome: outcome(lease) }).collect()
    }
}

/// How long a process may take to end after its input did.
const PATIENCE: Duration = Duration::from_secs(5);

/// Gives a process some time to end.
fn ends_by_itself(child: &mut Child, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Holds time-outs back while the process is starting, and ends it if one of its tasks is given up: it hangs in that, and may not
/// even read its input any more.
fn watch(counter: &Counter<'_>, process: u32, pipe: Option<OwnedFd>, shared: &Shared) {
    let begun = Instant::now();
    let mut starting = pipe;
    let mut state = shared.lock();
    while !state.is_left {
        if let Some(pipe) = &starting {
            for lease in state.has.keys() {
                counter.desk.beat(*lease);
            }
            if begun.elapsed() > LONGEST_START || state.has_read(pipe) {
                starting = None; // and the pipe is closed here, so that its end is seen
            }
        }
        let gone = counter.desk.gone(state.has.keys().copied());
        if gone.into_iter().any(|lease| state.has.remove(&lease).is_some()) {
            state.is_hung = true;
            exec::kill_group(process); // nobody has waited for its end yet
            return;
        }
        let tick = if starting.is_some() { START_TICK } else { TICK };
        state = shared.left.wait_timeout(state, tick).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Sends tasks, until there are no more or the process is of no more use.
fn write(counter: &Counter<'_>, hand: Hand, input: &mut ChildStdin, shared: &Shared) -> Why {
    let mut lines = Vec::new();
    let (mut is_closed, mut is_broken, mut is_first) = (false, false, true);
    loop {
        let state = shared.lock();
        if state.is_hung {
            return Why::Hung;
        }
        if state.is_ended || is_broken {
            return Why::Ended(String::new());
        }
        if is_closed && state.has.is_empty() {
            return Why::Over;
        }
        let room = state.room();
        if room == 0 || is_closed {
            drop(shared.room.wait_timeout(state, TICK));
            continue;
        }
        drop(state);
        let Some(tasks) = counter.desk.take_for(hand, room, TICK) else {
            is_closed = true;
            continue;
        };
        if tasks.is_empty() {
            continue;
        }
        let now = Instant::now();
        let mut state = shared.lock();
        lines.clear();
        for queued in &tasks {
            state.has.insert(queued.task.lease, now);
            line::push(&queued.task, &mut lines);
        }
        drop(state);
        is_broken = input.write_all(&lines).is_err();
        if is_first {
            shared.lock().first = Some(lines.len());
            is_first = false;
        }
    }
}

/// Reads answers until the process's output ends.
fn read(counter: &Counter<'_>, output: &mut ChildStdout, shared: &Shared) {
    let mut reader = BufReader::with_capacity(256 << 10, output);
    let mut answers = Vec::new();
    let nonsense = loop {
        let bytes = match reader.fill_buf() {
            Ok([]) | Err(_) => break None,
            Ok(bytes) => bytes,
        };
        let Some(last) = memchr::memrchr(b'\n', bytes) else {
            let mut line = Vec::new();
            if reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).is_err() {
                break None;
            }
            if let Err(error) = hear(counter, &line, &mut answers) {
                break Some(error);
            }
            give(counter, shared, &mut answers);
            continue;
        };
        let heard =
            bytes[..last].split(|&byte| byte == b'\n').try_for_each(|line| hear(counter, line, &mut answers));
        reader.consume(last + 1);
        give(counter, shared, &mut answers);
        if let Err(error) = heard {
            break Some(error);
        }
    };
    let mut state = shared.lock();
    (state.is_ended, state.nonsense) = (true, nonsense);
    drop(state);
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
    let mut state = shared.lock();
    for answer in answers.iter() {
        state.has.remove(&answer.lease);
    }
    state.answered += answers.len() as u64;
    state.reckon(Instant::now());
    drop(state);
    shared.room.notify_all();
    counter.answer(answers.drain(..));
}
