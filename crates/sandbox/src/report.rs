//! What `drover sandbox` answers, as JSON and as text.

use std::fmt::Write;
use std::process::Command;

use serde::Serialize;

use crate::process::StopOutcome;
use crate::{Cluster, Link, LinkState, Role, SandboxInfo, SandboxName, Server, Topology};

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
    /// `link`: how the link is now.
    Link {
        /// The topology that has it.
        name: SandboxName,
        /// The link.
        #[serde(flatten)]
        link: LinkState,
    },
    /// `forward`: the link that it carried is no more.
    LinkEnded,
}

/// A server, or several, that have just come up.
#[derive(Debug, Clone, Serialize)]
pub struct StartedSandbox {
    /// The sandbox; of a topology its first node, which takes writes, under the topology's name.
    #[serde(flatten)]
    pub info: SandboxInfo,
    /// How its servers replicate.
    pub topology: Topology,
    /// The servers of a topology of several; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<StartedNode>,
    /// The link by which the replica reaches its source, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkState>,
    /// Whether it ends with the process that started it.
    pub ephemeral: bool,
    /// A command line for a POSIX shell that opens the vendor's client.
    pub client: String,
    /// The options that connect drover to it.
    pub drover_options: String,
}

/// One server of a topology.
#[derive(Debug, Clone, Serialize)]
pub struct StartedNode {
    /// The sandbox that it is.
    #[serde(flatten)]
    pub info: SandboxInfo,
    /// What it does there.
    pub role: Role,
    /// As of [`StartedSandbox`].
    pub client: String,
    /// As of [`StartedSandbox`].
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
    /// What it does in its topology now; none if it is no node, is down or has lost the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The link by which a replica reaches its source, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkState>,
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

impl StartedNode {
    fn new(node: &Server, role: Role) -> Self {
        Self::of(node.info().clone(), role, &node.client("mysql"))
    }

    fn of(info: SandboxInfo, role: Role, client: &Command) -> Self {
        let drover_options = format!("-S {} -u root", quoted(&info.socket.to_string_lossy()));
        Self { info, role, client: command_line(client), drover_options }
    }

    fn to_text(&self) -> String {
        let info = &self.info;
        let pid = info.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
        let (role, socket) = (self.role.as_str(), info.socket.display());
        format!("  {}  {role}, port {}, pid {pid}, socket {socket}\n", info.name, info.port)
    }
}

impl StartedSandbox {
    pub(crate) fn new(cluster: &Cluster, ephemeral: bool) -> Self {
        let topology = cluster.topology();
        let node = |(index, node)| StartedNode::new(node, topology.first_role(index));
        let first = node((0, cluster.first()));
        let is_single = topology == Topology::Single;
        let nodes =
            if is_single { Vec::new() } else { cluster.nodes().iter().enumerate().map(node).collect() };
        let started = Self::of_nodes(cluster.name(), topology, first, nodes, ephemeral);
        Self { link: cluster.link().map(Link::state), ..started }
    }

    fn of_nodes(
        name: &SandboxName,
        topology: Topology,
        first: StartedNode,
        nodes: Vec<StartedNode>,
        ephemeral: bool,
    ) -> Self {
        let StartedNode { info, client, drover_options, .. } = first;
        let info = SandboxInfo { name: name.clone(), membership: None, ..info };
        Self { info, topology, nodes, link: None, ephemeral, client, drover_options }
    }

    fn to_text(&self) -> String {
        let info = &self.info;
        let mut text = format!("{} is up: {} {}", info.name, info.flavour.title(), info.version);
        if !self.nodes.is_empty() {
            let _never_fails_on_a_string = write!(text, ", {} of {} nodes", self.topology, self.nodes.len());
        }
        text.push('\n');
        text.extend(self.nodes.iter().map(StartedNode::to_text));
        let mut line = |label: &str, value: String| {
            let _never_fails_on_a_string = writeln!(text, "  {label:<8} {value}");
        };
        if self.nodes.is_empty() {
            line("socket", info.socket.display().to_string());
            line("port", format!("{} on 127.0.0.1", info.port));
            line("pid", info.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()));
            line("datadir", info.datadir.display().to_string());
        }
        if let Some(link) = &self.link {
            line("link", format!("{link}, from port {} to the source", link.info.port));
        }
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
            Self::Link { name, link } => format!("{name}: {link}\n"),
            Self::LinkEnded => "the link has ended\n".to_owned(),
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

const COLUMNS: [&str; 8] = ["NAME", "STATE", "ROLE", "LINK", "SERVER", "PID", "PORT", "SOCKET"];

fn table(sandboxes: &[ListedSandbox]) -> String {
    let header = COLUMNS.map(str::to_owned);
    let rows: Vec<[String; 8]> = std::iter::once(header).chain(sandboxes.iter().map(row)).collect();
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    // Where no sandbox is a node there are no roles to show, and mostly no links.
    let is_shown = |column: usize| match COLUMNS[column] {
        "ROLE" => sandboxes.iter().any(|sandbox| sandbox.role.is_some()),
        "LINK" => sandboxes.iter().any(|sandbox| sandbox.link.is_some()),
        _ => true,
    };
    let aligned = |row: &[String; 8]| {
        let columns = row.iter().zip(widths).enumerate().filter(|(column, _)| is_shown(*column));
        let cells = columns.map(|(_, (cell, width))| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(aligned).collect()
}

fn row(sandbox: &ListedSandbox) -> [String; 8] {
    let info = &sandbox.info;
    let (state, pid) = match sandbox.state {
        SandboxState::Running => ("running", info.pid.map(|pid| pid.to_string())),
        SandboxState::Dead => ("dead", None),
    };
    [
        info.name.to_string(),
        state.to_owned(),
        sandbox.role.map_or("-", Role::as_str).to_owned(),
        sandbox.link.map_or_else(|| "-".to_owned(), |link| link.to_string()),
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
    use crate::{LinkInfo, LinkSettings};

    fn node(name: &str, role: Role) -> StartedNode {
        let mut client = Command::new("/usr/bin/mysql");
        client.args(["--no-defaults", "-S", "/a b"]);
        StartedNode::of(info(name), role, &client)
    }

    fn started(name: &str, topology: Topology, nodes: Vec<StartedNode>) -> SandboxReport {
        let first = nodes.first().cloned().unwrap_or_else(|| node(name, Role::Node));
        let name = name.parse().unwrap();
        SandboxReport::Started(Box::new(StartedSandbox::of_nodes(&name, topology, first, nodes, false)))
    }

    #[test]
    fn a_topology_says_how_to_reach_each_node() {
        let nodes = vec![node("shop-1", Role::Source), node("shop-2", Role::Replica)];
        let report = started("shop", Topology::Replica, nodes);
        let expected = "\
shop is up: MySQL 9.7.4, replica of 2 nodes
  shop-1  source, port 3307, pid 4711, socket /run/shop-1/mysql.sock
  shop-2  replica, port 3307, pid 4711, socket /run/shop-2/mysql.sock
  client   /usr/bin/mysql --no-defaults -S '/a b'
  drover   -S /run/shop-1/mysql.sock -u root
  ends     with `drover sandbox stop shop`, which removes its data
";
        assert_eq!(report.to_text(), expected);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["name"], &json["topology"]), (&"shop".into(), &"replica".into()));
        assert_eq!(
            (&json["nodes"][1]["name"], &json["nodes"][1]["role"]),
            (&"shop-2".into(), &"replica".into())
        );
    }

    #[test]
    fn a_started_server_says_how_to_reach_it() {
        let report = started("shop", Topology::Single, vec![]);
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
        let listed = |name, state| ListedSandbox { info: info(name), state, role: None, link: None };
        let mut sandboxes = vec![listed("a", SandboxState::Running), listed("long", SandboxState::Dead)];
        let expected = "\
NAME  STATE    SERVER       PID   PORT  SOCKET
a     running  MySQL 9.7.4  4711  3307  /run/a/mysql.sock
long  dead     MySQL 9.7.4  -     3307  /run/long/mysql.sock
";
        assert_eq!(SandboxReport::List { sandboxes: sandboxes.clone() }.to_text(), expected);

        sandboxes[0].role = Some(Role::Primary);
        let expected = "\
NAME  STATE    ROLE     SERVER       PID   PORT  SOCKET
a     running  primary  MySQL 9.7.4  4711  3307  /run/a/mysql.sock
long  dead     -        MySQL 9.7.4  -     3307  /run/long/mysql.sock
";
        assert_eq!(SandboxReport::List { sandboxes: sandboxes.clone() }.to_text(), expected);

        let info = LinkInfo { port: 4001, source_port: 3307, settings: LinkSettings::of_rate(250_000) };
        sandboxes[1].link = Some(LinkState { info, pid: Some(42) });
        let expected = "\
NAME  STATE    ROLE     LINK      SERVER       PID   PORT  SOCKET
a     running  primary  -         MySQL 9.7.4  4711  3307  /run/a/mysql.sock
long  dead     -        2 Mbit/s  MySQL 9.7.4  -     3307  /run/long/mysql.sock
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
