//! Running the binary under test.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use drover_sandbox::Server;

/// No command of a test takes as long, in any circumstances; `DROVER_TEST_PATIENCE` says otherwise, in seconds, for tests that were
/// told to do more.
static PATIENCE: LazyLock<Duration> = LazyLock::new(|| {
    let seconds = std::env::var("DROVER_TEST_PATIENCE").map_or(300, |seconds| seconds.parse().unwrap());
    Duration::from_secs(seconds)
});

/// A home where nothing can be kept, not by root either: what is kept for a person is not seen by another test.
pub(crate) const NO_HOME: &str = "/dev/null/home";

/// drover with the words of `line` as arguments, and no option files but those named there.
pub(crate) fn drover(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drover"));
    command.args(line.split_whitespace()).env("HOME", NO_HOME);
    command
}

/// drover as root of `server`, or as the user that `line` names.
pub(crate) fn drover_on(server: &Server, line: &str) -> Command {
    let mut command = drover(&with_default(line, "-u root"));
    command.args(["--no-defaults", "-S"]).arg(server.socket());
    command
}

/// `drover dump` into `dir`. Of the tests that run at the same time one may hold the locks that another needs.
pub(crate) fn dump(server: &Server, what: &str, dir: &Path) -> Command {
    let line = with_default(&with_default(what, "--threads 2"), "--lock-timeout 60");
    let mut command = drover_on(server, &format!("dump {line}"));
    command.arg("--out").arg(dir);
    command
}

/// `drover restore` from `dir`.
pub(crate) fn restore(server: &Server, dir: &Path, options: &str) -> Command {
    let mut command = drover_on(server, &format!("restore {}", with_default(options, "--threads 2")));
    command.arg(dir);
    command
}

/// `drover copy` as root on both servers, with its state in `state`.
pub(crate) fn copy(source: &Server, target: &Server, what: &str, state: &Path) -> Command {
    copy_as(("root", source), ("root", target), what, state)
}

/// The same as other users.
pub(crate) fn copy_as(
    (reader, source): (&str, &Server),
    (writer, target): (&str, &Server),
    what: &str,
    state: &Path,
) -> Command {
    let url = |user: &str, server: &Server| format!("mysql://{user}@/?socket={}", server.socket().display());
    let line = with_default(&with_default(what, "--threads 2"), "--lock-timeout 60");
    let mut command = drover(&format!("copy --no-defaults {line}"));
    command.args(["--from", &url(reader, source), "--to", &url(writer, target), "--state"]).arg(state);
    command
}

/// `drover verify` of `dir`.
pub(crate) fn verify(server: &Server, dir: &Path, options: &str) -> Command {
    let mut command = drover_on(server, &format!("verify {}", with_default(options, "--threads 2")));
    command.arg(dir);
    command
}

/// Adds an option and its value, unless `line` gives it another value.
fn with_default(line: &str, option: &str) -> String {
    let name = option.split(' ').next();
    if line.split_whitespace().any(|word| Some(word) == name) {
        line.into()
    } else {
        format!("{line} {option}")
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Output {
    Running::start(command).finish()
}

/// A command at work. It is killed if the value is dropped before it ended.
pub(crate) struct Running {
    child: Child,
    stdout: Option<Collector>,
    stderr: Option<Collector>,
    line: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Self {
            child,
            stdout: stdout.map(Collector::of),
            stderr: stderr.map(Collector::of),
            line: format!("{command:?}"),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let status =
            Command::new("sh").args(["-c", &format!("kill -s {name} {}", self.pid())]).status().unwrap();
        assert!(status.success(), "{name} to {}", self.line);
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Whether it has written this to stderr until now.
    pub(crate) fn has_said(&self, words: &str) -> bool {
        self.stderr.as_ref().is_some_and(|stderr| stderr.so_far().contains(words))
    }

    /// Polls for `condition` and stops the process (SIGSTOP) as soon as it holds.
    pub(crate) fn freeze_when(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + *PATIENCE;
        while !condition() {
            if self.has_ended() {
                let stderr = self.take_stderr();
                panic!("{} ended before {what}: {stderr}", self.line);
            }
            assert!(Instant::now() < deadline, "{}: waited in vain for {what}", self.line);
            std::thread::sleep(Duration::from_micros(500));
        }
        self.signal("STOP");
        assert!(!self.has_ended(), "{} ended right after {what}: use more rows", self.line);
    }

    /// Waits for the end.
    pub(crate) fn finish(mut self) -> Output {
        let deadline = Instant::now() + *PATIENCE;
        while !self.has_ended() {
            assert!(Instant::now() < deadline, "{} still runs after {:?}", self.line, *PATIENCE);
            std::thread::sleep(Duration::from_millis(2));
        }
        let code = self.child.wait().unwrap().code();
        let stdout = self.stdout.take().map(Collector::whole).unwrap_or_default();
        let stderr = self.take_stderr();
        Output { code, stdout, stderr, line: self.line.clone() }
    }

    fn take_stderr(&mut self) -> String {
        self.stderr.take().map(Collector::whole).unwrap_or_default()
    }

    /// Waits until it has said so on stderr.
    pub(crate) fn wait_for(&self, words: &str) {
        let deadline = Instant::now() + *PATIENCE;
        let stderr = self.stderr.as_ref().unwrap();
        loop {
            let is_whole = stderr.reader.is_finished();
            let said = stderr.so_far();
            if said.contains(words) {
                return;
            }
            assert!(!is_whole, "{} ended without {words:?}: {said}", self.line);
            assert!(Instant::now() < deadline, "{}: waited in vain for {words:?}: {said}", self.line);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Reads what a command prints, while it runs.
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Collector {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                match pipe.read(&mut buffer).unwrap() {
                    0 => break,
                    count => shared.lock().unwrap().extend_from_slice(&buffer[..count]),
                }
            }
        });
        Self { bytes, reader }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn whole(self) -> String {
        self.reader.join().unwrap();
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Output {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    line: String,
}

impl Output {
    fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// It did all that was asked for.
    pub(crate) fn done(self) -> Self {
        self.ended_with(0)
    }

    /// It ran, and found a difference that names `what`.
    pub(crate) fn found(self, what: &[&str]) -> Self {
        let output = self.ended_with(1);
        for what in what {
            assert!(output.stdout.contains(what), "no word of {what:?}: {output}");
        }
        output
    }

    /// It could not do it, and says so first, naming each of `culprits`.
    pub(crate) fn refused(self, culprits: &[&str]) -> Self {
        let output = self.ended_with(2);
        let error = output.error();
        for culprit in culprits {
            assert!(error.contains(culprit), "no word of {culprit:?}: {output}");
        }
        output
    }

    /// What stands on stderr, but for lines of progress: it must begin with `error:`.
    pub(crate) fn error(&self) -> String {
        let lines: Vec<_> = self.stderr.lines().filter(|line| !line.contains(", ETA ")).collect();
        assert!(lines.first().is_some_and(|line| line.starts_with("error: ")), "no error first: {self}");
        lines.join("\n")
    }

    /// What `--json` printed.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON: {error}: {self}"))
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, line } = self;
        write!(f, "{line}\nexit code {code:?}\nstdout:\n{stdout}\nstderr:\n{stderr}")
    }
}
