//! What `drover sandbox` answers, as JSON and as text.

use std::fmt::Write;
use std::process::Command;

use serde::Serialize;

use crate::process::StopOutcome;
use crate::{SandboxInfo, SandboxName};

/// The answer of one command. As JSON it is an object whose `result` says which of these it is.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum SandboxReport {
    /// `start`: the server takes clients.
    Started(Box<StartedSandbox>),
    /// `stop`, and the end of `start --ephemeral`.
    Stopped {
        /// In the order asked for.
        sandboxes: Vec<StoppedSandbox>,
    },
    /// `list`.
    List {
        /// By name.
        sandboxes: Vec<ListedSandbox>,
    },
}

/// A server that has just come up.
#[derive(Debug, Clone, Serialize)]
pub struct StartedSandbox {
    /// The sandbox.
    #[serde(flatten)]
    pub info: SandboxInfo,
    /// Whether it ends with the process that started it.
    pub ephemeral: bool,
    /// A command line for a POSIX shell that opens the vendor's client.
    pub client: String,
    /// The options that connect drover to it.
    pub drover_options: String,
}

/// A sandbox that is no more.
#[derive(Debug, Clone, Serialize)]
pub struct StoppedSandbox {
    /// Its name.
    pub name: SandboxName,
    /// How its server ended.
    pub outcome: StopOutcome,
}

/// One line of `list`.
#[derive(Debug, Clone, Serialize)]
pub struct ListedSandbox {
    /// The sandbox.
    #[serde(flatten)]
    pub info: SandboxInfo,
    /// Whether its server runs.
    pub state: SandboxState,
}

/// Whether a sandbox's server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    /// Its process is there.
    Running,
    /// It ended without `stop`: a crash, a reboot, a kill.
    Dead,
}

impl StartedSandbox {
    pub(crate) fn new(info: &SandboxInfo, ephemeral: bool, client: &Command) -> Self {
        let drover_options = format!("-S {} -u root", quoted(&info.socket.to_string_lossy()));
        Self { info: info.clone(), ephemeral, client: command_line(client), drover_options }
    }

    fn to_text(&self) -> String {
        let info = &self.info;
        let mut text = format!("{} is up: {} {}\n", info.name, info.flavour.title(), info.version);
        let mut line = |label: &str, value: String| {
            let _never_fails_on_a_string = writeln!(text, "  {label:<8} {value}");
        };
        line("socket", info.socket.display().to_string());
        line("port", format!("{} on 127.0.0.1", info.port));
        line("pid", info.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()));
        line("datadir", info.datadir.display().to_string());
        line("client", self.client.clone());
        line("drover", self.drover_options.clone());
        if self.ephemeral {
            line("ends", "on Ctrl-C, with all its data".to_owned());
        } else {
            line("ends", format!("with `drover sandbox stop {}`, which removes its data", info.name));
        }
        text
    }
}

impl SandboxReport {
    /// The answer for people, with a newline at its end.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Started(started) => started.to_text(),
            Self::Stopped { sandboxes } if sandboxes.is_empty() => "there were no sandboxes\n".to_owned(),
            Self::Stopped { sandboxes } => sandboxes.iter().map(StoppedSandbox::to_text).collect(),
            Self::List { sandboxes } if sandboxes.is_empty() => "there are no sandboxes\n".to_owned(),
            Self::List { sandboxes } => table(sandboxes),
        }
    }
}

impl StoppedSandbox {
    fn to_text(&self) -> String {
        let how = match self.outcome {
            StopOutcome::Stopped => "stopped and removed",
            StopOutcome::Killed => "did not stop within 60 s; killed and removed",
            StopOutcome::WasDead => "was not running; removed",
        };
        format!("{}: {how}\n", self.name)
    }
}

fn table(sandboxes: &[ListedSandbox]) -> String {
    let header = ["NAME", "STATE", "SERVER", "PID", "PORT", "SOCKET"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(header).chain(sandboxes.iter().map(row)).collect();
    let widths: [usize; 6] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let aligned = |row: &[String; 6]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(aligned).collect()
}

fn row(sandbox: &ListedSandbox) -> [String; 6] {
    let info = &sandbox.info;
    let (state, pid) = match sandbox.state {
        SandboxState::Running => ("running", info.pid.map(|pid| pid.to_string())),
        SandboxState::Dead => ("dead", None),
    };
    [
        info.name.to_string(),
        state.to_owned(),
        format!("{} {}", info.flavour.title(), info.version),
        pid.unwrap_or_else(|| "-".to_owned()),
        info.port.to_string(),
        info.socket.display().to_string(),
    ]
}

/// The command as a person can paste it into a shell.
fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a POSIX shell where that is needed.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::info;

    #[test]
    fn a_started_server_says_how_to_reach_it() {
        let mut client = Command::new("/usr/bin/mysql");
        client.args(["--no-defaults", "-S", "/a b"]);
        let report = SandboxReport::Started(Box::new(StartedSandbox::new(&info("shop"), false, &client)));
        let expected = "\
shop is up: MySQL 9.7.4
  socket   /run/shop/mysql.sock
  port     3307 on 127.0.0.1
  pid      4711
  datadir  /run/shop/data
  client   /usr/bin/mysql --no-defaults -S '/a b'
  drover   -S /run/shop/mysql.sock -u root
  ends     with `drover sandbox stop shop`, which removes its data
";
        assert_eq!(report.to_text(), expected);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["result"], "started");
        assert_eq!(json["port"], 3307);
        assert_eq!(json["drover_options"], "-S /run/shop/mysql.sock -u root");
    }

    #[test]
    fn the_list_is_aligned() {
        let listed = |name, state| ListedSandbox { info: info(name), state };
        let sandboxes = vec![listed("a", SandboxState::Running), listed("long", SandboxState::Dead)];
        let expected = "\
NAME  STATE    SERVER       PID   PORT  SOCKET
a     running  MySQL 9.7.4  4711  3307  /run/a/mysql.sock
long  dead     MySQL 9.7.4  -     3307  /run/long/mysql.sock
";
        assert_eq!(SandboxReport::List { sandboxes }.to_text(), expected);
    }

    #[test]
    fn words_are_quoted_where_the_shell_would_split_them() {
        assert_eq!(quoted("--a=/b.c"), "--a=/b.c");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
