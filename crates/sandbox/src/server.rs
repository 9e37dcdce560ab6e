//! One sandboxed server: start, stop, kill, restart.
//!
//! ```text
//!   start ──► running ──stop/kill──► down ──restart──► running
//!                │                     │
//!                └──── drop, remove ───┴──► gone        (a named server outlives the drop)
//! ```

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;

use crate::home::{Home, default_root, template_cache};
use crate::launch::{Launched, launch};
use crate::link::LinkSettings;
use crate::log::{ErrorLog, SHOWN_LINES};
use crate::process::StopOutcome;
use crate::topology::Membership;
use crate::{Error, Flavour, SandboxInfo, SandboxName, ServerBinaries, options, ready, sql, template};

/// What to start. Make one with [`StartOptions::named`] or [`StartOptions::ephemeral`] and set the rest by field.
#[derive(Debug, Clone, Default)]
pub struct StartOptions {
    /// The vendor; `None` takes MariaDB if there is one, else MySQL.
    pub flavour: Option<Flavour>,
    /// The name; `None` takes the flavour's, with `-2`, `-3`… if that is taken.
    pub name: Option<SandboxName>,
    /// A server program or a directory that holds one; `None` searches, see [`ServerBinaries::find`].
    pub server: Option<PathBuf>,
    /// The numbers that the server's version begins with, see [`ServerBinaries::of_version`]; not with `server`.
    pub version: Option<String>,
    /// Server options beyond the sandbox's own, such as `--max-connections=17`. They come last, so they win.
    pub server_options: Vec<String>,
    /// Whether the server ends with this process and leaves nothing behind.
    pub ephemeral: bool,
    /// The directory in which the sandbox gets its own; `None` takes [`crate::default_root`] for a named
    /// one and the system's temporary directory for an ephemeral one.
    pub root: Option<PathBuf>,
    /// A link of limited rate between the nodes of a [`Cluster`](crate::Cluster) of [`Topology::Replica`](crate::Topology::Replica).
    pub link: Option<LinkSettings>,
    /// The drover program, of which a process is to carry the link of a named cluster, until it is stopped. Else threads of this
    /// process do, and the link ends with the `Cluster` value.
    pub forwarder: Option<PathBuf>,
}

impl StartOptions {
    /// A server that runs until it is stopped.
    #[must_use]
    pub fn named(flavour: Flavour) -> Self {
        Self { flavour: Some(flavour), ..Self::default() }
    }

    /// A server that ends with the [`Server`] value, or with this process however that ends.
    #[must_use]
    pub fn ephemeral(flavour: Flavour) -> Self {
        Self { ephemeral: true, ..Self::named(flavour) }
    }
}

/// A sandboxed server. Dropping an ephemeral one kills it at once and removes its files; a named one runs on.
#[derive(Debug)]
pub struct Server {
    setup: Setup,
    /// The latest launch, which may have ended. Always there between `start` and the drop.
    launched: Launched,
}

/// All there is to know before a launch.
#[derive(Debug)]
struct Setup {
    info: SandboxInfo,
    binaries: ServerBinaries,
    home: Home,
    ephemeral: bool,
    node: NodeOptions,
}

/// What a node of a topology is started with beyond what every sandbox is.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeOptions {
    /// Server options of every launch.
    pub(crate) always: Vec<OsString>,
    /// Those of the first launch only.
    pub(crate) once: Vec<OsString>,
    /// A directory of programs that the server runs, searched before PATH.
    pub(crate) programs: Option<PathBuf>,
}

impl NodeOptions {
    pub(crate) fn always(always: Vec<OsString>) -> Self {
        Self { always, ..Self::default() }
    }
}

/// How to start one node.
pub(crate) struct NodeStart<'a> {
    pub(crate) port: u16,
    pub(crate) options: &'a StartOptions,
    pub(crate) membership: Membership,
    /// Its own options, once its directory is there.
    pub(crate) own: &'a dyn Fn(&Home) -> Result<NodeOptions, Error>,
}

impl Server {
    /// Starts a server on a fresh data directory and waits until it takes clients.
    ///
    /// # Errors
    /// If no such server is found, the name is taken, or the server does not come up within 60 s. Nothing is left
    /// behind then; the error holds the end of the server's log.
    pub fn start(options: &StartOptions) -> Result<Self, Error> {
        let port = match options::fixed_port(&options.server_options) {
            Some(port) => port,
            None => free_port()?,
        };
        Self::start_on(port, options)
    }

    fn start_on(port: u16, options: &StartOptions) -> Result<Self, Error> {
        Self::start_prepared(port, options, |_| Ok(()))
    }

    /// Starts one node of a topology, which is yet to join.
    pub(crate) fn start_node(start: NodeStart<'_>) -> Result<Self, Error> {
        Self::start_prepared(start.port, start.options, |setup| {
            setup.node = (start.own)(&setup.home)?;
            setup.info.membership = Some(start.membership);
            Ok(())
        })
    }

    fn start_prepared(
        port: u16,
        options: &StartOptions,
        prepare: impl FnOnce(&mut Setup) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        options::check(&options.server_options)?;
        let binaries = match &options.version {
            Some(version) => ServerBinaries::of_version(options.flavour, version)?,
            None => ServerBinaries::find(options.flavour, options.server.as_deref())?,
        };
        let template = template::ensure(&binaries, &options.server_options, &template_cache()?)?;
        let mut setup = Setup::claim(options, binaries, port)?;
        match prepare(&mut setup).and_then(|()| setup.first_launch(&template)) {
            Ok(launched) => Ok(Self { setup, launched }),
            Err(error) => {
                setup.home.discard();
                Err(error)
            }
        }
    }

    /// Kills the server and removes everything, on the way out of an error.
    pub(crate) fn discard(mut self) {
        self.kill();
        self.setup.home.discard();
    }

    /// Runs statements as root; their error shows the end of the server's log.
    pub(crate) fn statements<S: AsRef<str>>(&self, statements: &[S]) -> Result<(), Error> {
        sql::run(self.socket(), statements).map_err(|source| self.refused(source))
    }

    /// The first value of a query as root.
    pub(crate) fn value(&self, query: &str) -> Result<String, Error> {
        sql::value(self.socket(), query).map_err(|source| self.refused(source))
    }

    pub(crate) fn refused(&self, source: drover_db::Error) -> Error {
        let log_tail = self.error_log_tail(SHOWN_LINES);
        Error::Statement { source, log: self.error_log(), log_tail }.of_node(&self.info().name)
    }

    /// Everything about the sandbox, as `sandbox.json` has it.
    #[must_use]
    pub fn info(&self) -> &SandboxInfo {
        &self.setup.info
    }

    /// The path of the server's Unix socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.setup.info.socket
    }

    /// The server's TCP port on 127.0.0.1. No account may log in there until one is made.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.setup.info.port
    }

    /// The process id of the latest launch.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.launched.process.pid()
    }

    /// The data directory.
    #[must_use]
    pub fn datadir(&self) -> &Path {
        &self.setup.info.datadir
    }

    /// The vendor.
    #[must_use]
    pub fn flavour(&self) -> Flavour {
        self.setup.info.flavour
    }

    /// The server's version, as it says it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.setup.info.version
    }

    /// The programs that the sandbox uses.
    #[must_use]
    pub fn binaries(&self) -> &ServerBinaries {
        &self.setup.binaries
    }

    /// A client program of the same vendor, connected to this server as root; see
    /// [`ServerBinaries::client_command`] for the names.
    #[must_use]
    pub fn client(&self, program: &str) -> Command {
        connected_client(&self.setup.binaries, &self.setup.info, program)
    }

    /// The path of the error log.
    #[must_use]
    pub fn error_log(&self) -> PathBuf {
        self.setup.home.error_log()
    }

    /// The last `lines` lines of the error log.
    #[must_use]
    pub fn error_log_tail(&self, lines: usize) -> String {
        ErrorLog::whole(&self.error_log()).tail(lines)
    }

    /// Whether the server runs now.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.launched.process.is_running()
    }

    /// Shuts the server down in order and keeps its files, for a later [`restart`](Self::restart). Takes as long as
    /// the server does; after 60 s it is killed.
    pub fn stop(&mut self) -> StopOutcome {
        self.launched.process.stop()
    }

    /// Kills the server as a crash would (SIGKILL) and keeps its files. Returns when they are closed.
    pub fn kill(&mut self) {
        self.launched.process.kill();
    }

    /// Starts the server again on the same files and waits until it takes clients. A server that still runs is shut
    /// down first. The port stays, unless somebody else has taken it.
    ///
    /// # Errors
    /// If the server does not come up within 60 s. Its files stay as they are.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.stop();
        let relaunched = self.setup.launch_until_ready()?;
        // The new guard is at work before the old one is told to leave the files alone.
        let old = std::mem::replace(&mut self.launched, relaunched);
        if let Some(guard) = old.guard {
            guard.dismiss();
        }
        Ok(())
    }

    /// Shuts the server down and removes everything, whether ephemeral or named.
    ///
    /// # Errors
    /// If a file can't be removed.
    pub fn remove(mut self) -> Result<StopOutcome, Error> {
        let outcome = if self.setup.ephemeral {
            self.kill();
            StopOutcome::Stopped
        } else {
            self.stop()
        };
        self.setup.home.remove().map(|()| outcome)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.setup.ephemeral {
            self.launched.process.kill();
            drop(self.launched.guard.take());
            // The guard has removed it, unless somebody killed the guard.
            self.setup.home.discard();
        }
    }
}

impl Setup {
    fn claim(options: &StartOptions, binaries: ServerBinaries, port: u16) -> Result<Self, Error> {
        let (name, home) = claim_home(options, binaries.flavour())?;
        let info = SandboxInfo {
            name,
            flavour: binaries.flavour(),
            version: binaries.version().to_owned(),
            pid: None,
            socket: home.socket(),
            port,
            datadir: home.datadir(),
            server: binaries.server().to_owned(),
            options: options.server_options.clone(),
            started_at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            membership: None,
        };
        Ok(Self { info, binaries, home, ephemeral: options.ephemeral, node: NodeOptions::default() })
    }

    fn first_launch(&mut self, template: &Path) -> Result<Launched, Error> {
        self.save()?;
        template::copy(template, &self.home.datadir())?;
        let launched = self.launch_until_ready()?;
        self.node.once.clear();
        Ok(launched)
    }

    /// Launches; once more on another port if that one was taken between its choice and its use. The other nodes of a topology know
    /// its port.
    fn launch_until_ready(&mut self) -> Result<Launched, Error> {
        match self.try_port() {
            Err(Error::PortTaken { .. }) if self.may_move() => {
                self.info.port = free_port()?;
                self.try_port()
            }
            outcome => outcome,
        }
    }

    fn may_move(&self) -> bool {
        self.info.membership.is_none() && options::fixed_port(&self.info.options).is_none()
    }

    fn try_port(&mut self) -> Result<Launched, Error> {
        self.home.remove_socket();
        let log = ErrorLog::from_here(&self.home.error_log());
        let command = self.server_command();
        let launched = launch(&command, &self.home, self.ephemeral)?;
        self.info.pid = Some(launched.process.pid());
        // Saved before the server is ready: if this process is killed meanwhile, `stop` still finds the server.
        let ready = |info: &SandboxInfo| ready::wait(&launched.process, &info.socket, info.port, &log);
        match self.save().and_then(|()| ready(&self.info)) {
            Ok(()) => Ok(launched),
            Err(error) => {
                launched.abandon();
                Err(error)
            }
        }
    }

    fn server_command(&self) -> Command {
        let info = &self.info;
        let of_node = [&self.node.always[..], &self.node.once[..]].concat();
        let mut command = self.binaries.server_command();
        command.args(options::for_launch(info.flavour, &self.home, info.port, &of_node, &info.options));
        if let Some(programs) = &self.node.programs {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let dirs = std::iter::once(programs.clone()).chain(std::env::split_paths(&path));
            // A directory with a colon in its name cannot be on PATH; a node's has none.
            command.env("PATH", std::env::join_paths(dirs).unwrap_or(path));
        }
        command
    }

    /// Nobody looks for an ephemeral sandbox, so it has no description on disk.
    fn save(&self) -> Result<(), Error> {
        if self.ephemeral { Ok(()) } else { self.info.save(&self.home) }
    }
}

fn claim_home(options: &StartOptions, flavour: Flavour) -> Result<(SandboxName, Home), Error> {
    let name = options.name.as_ref();
    if options.ephemeral {
        let home = Home::claim_ephemeral(options.root.as_deref(), flavour)?;
        return Ok((name.cloned().unwrap_or_else(|| SandboxName::default_for(flavour, 1)), home));
    }
    let root = options.root.clone().map_or_else(default_root, Ok)?;
    Home::claim_named(&root, name, flavour)
}

/// The client program `program`, connected to the sandbox by its socket as root.
pub(crate) fn connected_client(binaries: &ServerBinaries, info: &SandboxInfo, program: &str) -> Command {
    let mut client = binaries.client_command(program);
    client.arg("-S").arg(&info.socket).args(["-u", "root"]);
    client
}

/// A port that nobody listens on now. It is not held, so the server may still find it taken.
fn free_port() -> Result<u16, Error> {
    Ok(free_ports(1)?.first().copied().unwrap_or_default())
}

/// Different ports that nobody listens on now.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>, Error> {
    // All are held until all are chosen.
    let listeners = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<Vec<_>, _>>();
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    let ports = listeners.and_then(|listeners| listeners.iter().map(port).collect());
    ports.map_err(Error::io("open a port on", Path::new("127.0.0.1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_taken_meanwhile_is_replaced_once() {
        let holder = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let taken = holder.local_addr().unwrap().port();
        for flavour in [Flavour::MariaDb, Flavour::MySql] {
            let server = Server::start_on(taken, &StartOptions::ephemeral(flavour)).unwrap();
            assert_ne!(server.port(), taken);
        }
    }

    #[test]
    fn a_taken_port_that_was_asked_for_is_an_error() {
        let holder = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = holder.local_addr().unwrap().port();
        let root = tempfile::tempdir().unwrap();
        let options = StartOptions {
            server_options: vec![format!("--port={port}")],
            root: Some(root.path().to_owned()),
            ..StartOptions::ephemeral(Flavour::MariaDb)
        };
        let error = Server::start(&options).unwrap_err();
        assert!(error.to_string().contains(&format!("could not open port {port}")), "{error}");
        assert_eq!(root.path().read_dir().unwrap().count(), 0, "nothing is left of it");
    }
}
