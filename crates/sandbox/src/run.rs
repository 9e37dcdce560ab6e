//! The commands `start`, `stop`, `list` and `shell`.

use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crate::args::{SandboxArgs, SandboxCommand, ShellArgs, StartArgs, StopArgs};
use crate::home::{absolute, default_root};
use crate::log::SHOWN_LINES;
use crate::process::StopOutcome;
use crate::record;
use crate::report::{ListedSandbox, SandboxReport, SandboxState, StartedSandbox, StoppedSandbox};
use crate::server::connected_client;
use crate::{Error, SandboxInfo, Server, ServerBinaries, StartOptions};

/// How often an ephemeral sandbox looks whether it is to end.
const POLL: Duration = Duration::from_millis(100);

/// Carries out one command in the user's own sandboxes, see [`default_root`].
///
/// `on_ready` gets the report of a server that `start --ephemeral` has brought up. That command then stays until
/// `interrupted` is set (by the caller's handler of SIGINT and SIGTERM), the calling process ends or the server dies;
/// only then it returns, with another report. For all other commands `on_ready` is not called.
///
/// `shell` replaces this process by the client, so it returns only with an error.
///
/// # Errors
/// Whatever kept the command from being carried out. `stop` checks that all names exist before it stops any.
pub fn run(
    args: &SandboxArgs,
    interrupted: &AtomicBool,
    on_ready: &mut dyn FnMut(&SandboxReport),
) -> Result<SandboxReport, Error> {
    run_in(&default_root()?, args, interrupted, on_ready)
}

/// As [`run`], with sandboxes kept in `root`.
///
/// # Errors
/// As `run`.
pub fn run_in(
    root: &Path,
    args: &SandboxArgs,
    interrupted: &AtomicBool,
    on_ready: &mut dyn FnMut(&SandboxReport),
) -> Result<SandboxReport, Error> {
    let root = absolute(root)?;
    match &args.command {
        SandboxCommand::Start(args) if args.ephemeral => start_ephemeral(args, interrupted, on_ready),
        SandboxCommand::Start(args) => start_named(root, args),
        SandboxCommand::Stop(args) => stop(&root, args),
        SandboxCommand::List => list(&root),
        SandboxCommand::Shell(args) => Err(shell(&root, args)),
    }
}

fn start_named(root: PathBuf, args: &StartArgs) -> Result<SandboxReport, Error> {
    let server = Server::start(&StartOptions { root: Some(root), ..StartOptions::from(args) })?;
    Ok(started(&server, false))
}

fn started(server: &Server, ephemeral: bool) -> SandboxReport {
    SandboxReport::Started(Box::new(StartedSandbox::new(server.info(), ephemeral, &server.client("mysql"))))
}

fn start_ephemeral(
    args: &StartArgs,
    interrupted: &AtomicBool,
    on_ready: &mut dyn FnMut(&SandboxReport),
) -> Result<SandboxReport, Error> {
    // `PR_SET_PDEATHSIG` would also fire when only the thread that started this process ends.
    let parent = parent_id();
    let server = Server::start(&StartOptions::from(args))?;
    on_ready(&started(&server, true));
    while !interrupted.load(Ordering::Relaxed) && parent_id() == parent {
        if !server.is_running() {
            return Err(died(&server));
        }
        sleep(POLL);
    }
    let name = server.info().name.clone();
    let outcome = server.remove()?;
    Ok(SandboxReport::Stopped { sandboxes: vec![StoppedSandbox { name, outcome }] })
}

fn died(server: &Server) -> Error {
    let log_tail = server.error_log_tail(SHOWN_LINES);
    Error::Died { name: server.info().name.clone(), log: server.error_log(), log_tail }
}

fn stop(root: &Path, args: &StopArgs) -> Result<SandboxReport, Error> {
    let sandboxes = if args.all {
        record::all(root)?
    } else {
        args.names.iter().map(|name| record::named(root, name)).collect::<Result<_, _>>()?
    };
    // All are asked before any is waited for: they shut down side by side.
    let asked: Vec<_> = sandboxes.iter().map(|info| (info, ask_to_stop(info))).collect();
    let stopped = asked.into_iter().map(|(info, was_running)| finish(root, info, was_running));
    Ok(SandboxReport::Stopped { sandboxes: stopped.collect::<Result<_, _>>()? })
}

fn ask_to_stop(info: &SandboxInfo) -> bool {
    info.process().is_some_and(|process| process.ask_to_stop())
}

fn finish(root: &Path, info: &SandboxInfo, was_running: bool) -> Result<StoppedSandbox, Error> {
    let outcome = info.process().map_or(StopOutcome::WasDead, |process| process.wait_stopped(was_running));
    info.home(root).remove()?;
    Ok(StoppedSandbox { name: info.name.clone(), outcome })
}

fn list(root: &Path) -> Result<SandboxReport, Error> {
    let listed = |info: SandboxInfo| {
        let state = if info.is_running() { SandboxState::Running } else { SandboxState::Dead };
        ListedSandbox { info, state }
    };
    Ok(SandboxReport::List { sandboxes: record::all(root)?.into_iter().map(listed).collect() })
}

/// Becomes the client, unless that fails.
fn shell(root: &Path, args: &ShellArgs) -> Error {
    match shell_command(root, args) {
        Ok(mut client) => {
            let source = client.exec();
            Error::io("run", Path::new(client.get_program()))(source)
        }
        Err(error) => error,
    }
}

fn shell_command(root: &Path, args: &ShellArgs) -> Result<std::process::Command, Error> {
    let info = record::named(root, &args.name)?;
    if !info.is_running() {
        return Err(Error::NotRunning { name: info.name });
    }
    let binaries = ServerBinaries::find(Some(info.flavour), Some(&info.server))?;
    let mut client = connected_client(&binaries, &info, "mysql");
    client.args(&args.client_args);
    Ok(client)
}
