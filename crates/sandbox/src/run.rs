//! The commands `start`, `stop`, `list`, `shell` and `link`.

use std::collections::HashSet;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crate::args::{LinkArgs, SandboxArgs, SandboxCommand, ShellArgs, StartArgs, StopArgs};
use crate::home::{absolute, default_root};
use crate::link::{self, LinkFiles};
use crate::log::{ErrorLog, SHOWN_LINES};
use crate::process::StopOutcome;
use crate::record;
use crate::report::{ListedSandbox, SandboxReport, SandboxState, StartedSandbox, StoppedSandbox};
use crate::server::connected_client;
use crate::{
    Cluster, Error, LinkInfo, LinkState, SandboxInfo, SandboxName, Server, ServerBinaries, StartOptions,
    cluster, members,
};

/// How often an ephemeral sandbox looks whether it is to end.
const POLL: Duration = Duration::from_millis(100);

/// Carries out one command in the user's own sandboxes, see [`default_root`].
///
/// `on_ready` gets the report of a server that `start --ephemeral` has brought up. That command then stays until
/// `interrupted` is set (by the caller's handler of SIGINT and SIGTERM), the calling process ends or the server dies;
/// only then it returns, with another report. For all other commands `on_ready` is not called.
///
/// `shell` replaces this process by the client, so it returns only with an error. `start --link` and `link` need this process to be
/// a drover: they start the same program once more, to carry the link.
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
        SandboxCommand::Link(args) => change_link(&root, args),
        SandboxCommand::Forward(args) => {
            link::serve(&args.description, interrupted).map(|()| SandboxReport::LinkEnded)
        }
    }
}

fn start_named(root: PathBuf, args: &StartArgs) -> Result<SandboxReport, Error> {
    let forwarder = args.link.map(|_| this_program()).transpose()?;
    let options = StartOptions { root: Some(root), forwarder, ..StartOptions::from(args) };
    let cluster = Cluster::start(args.topology, &options)?;
    Ok(SandboxReport::Started(Box::new(StartedSandbox::new(&cluster, false))))
}

fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::io("find", Path::new("the drover program")))
}

fn start_ephemeral(
    args: &StartArgs,
    interrupted: &AtomicBool,
    on_ready: &mut dyn FnMut(&SandboxReport),
) -> Result<SandboxReport, Error> {
    // `PR_SET_PDEATHSIG` would also fire when only the thread that started this process ends.
    let parent = parent_id();
    let cluster = Cluster::start(args.topology, &StartOptions::from(args))?;
    on_ready(&SandboxReport::Started(Box::new(StartedSandbox::new(&cluster, true))));
    while !interrupted.load(Ordering::Relaxed) && parent_id() == parent {
        // Of several one may be killed, to see what comes of it.
        if cluster.nodes().iter().all(|server| !server.is_running()) {
            return Err(died(&cluster));
        }
        sleep(POLL);
    }
    let stopped = cluster.remove()?.into_iter().map(|(name, outcome)| StoppedSandbox { name, outcome });
    Ok(SandboxReport::Stopped { sandboxes: stopped.collect() })
}

fn died(cluster: &Cluster) -> Error {
    let log = cluster.nodes().first().map(Server::error_log).unwrap_or_default();
    let log_tail = ErrorLog::whole(&log).tail(SHOWN_LINES);
    Error::Died { name: cluster.name().clone(), log, log_tail }
}

fn stop(root: &Path, args: &StopArgs) -> Result<SandboxReport, Error> {
    let sandboxes = if args.all { record::all(root)? } else { named(root, &args.names)? };
    // All are asked before any is waited for: they shut down side by side.
    let asked: Vec<_> = sandboxes.iter().map(|info| (info, ask_to_stop(info))).collect();
    let stopped = asked.into_iter().map(|(info, was_running)| finish(root, info, was_running));
    let stopped = stopped.collect::<Result<_, _>>()?;
    let topologies =
        sandboxes.iter().filter_map(|info| info.membership.as_ref()).map(|member| &member.member_of);
    topologies.chain(&args.names).try_for_each(|name| members::release(root, name))?;
    Ok(SandboxReport::Stopped { sandboxes: stopped })
}

/// The sandboxes of these names, each once: a node may be named beside its topology.
fn named(root: &Path, names: &[SandboxName]) -> Result<Vec<SandboxInfo>, Error> {
    let found = names.iter().map(|name| members::named(root, name)).collect::<Result<Vec<_>, _>>()?;
    let mut sandboxes: Vec<SandboxInfo> = found.into_iter().flatten().collect();
    let mut seen = HashSet::new();
    sandboxes.retain(|info| seen.insert(info.name.clone()));
    Ok(sandboxes)
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
        let link = link_of(root, &info)?;
        Ok(ListedSandbox { role: cluster::role(&info), link, info, state })
    };
    let sandboxes = record::all(root)?.into_iter().map(listed).collect::<Result<_, Error>>()?;
    Ok(SandboxReport::List { sandboxes })
}

/// The link by which a replica reaches its source.
fn link_of(root: &Path, info: &SandboxInfo) -> Result<Option<LinkState>, Error> {
    match &info.membership {
        Some(member) if !member.is_first(&info.name) => LinkFiles::of(root, &member.member_of).state(),
        _ => Ok(None),
    }
}

/// Changes a link, and starts its process again if that has ended.
fn change_link(root: &Path, args: &LinkArgs) -> Result<SandboxReport, Error> {
    members::named(root, &args.name)?;
    let files = LinkFiles::of(root, &args.name);
    let no_link = || Error::NoLink { name: args.name.clone() };
    let now = files.state()?.ok_or_else(no_link)?;
    let settings = args.change(now.info.settings);
    if settings != now.info.settings {
        files.write(&LinkInfo { settings, ..now.info })?;
    }
    if now.pid.is_none() {
        files.launch(&this_program()?)?;
    }
    // Somebody else's `stop` may have been faster.
    let link = files.state()?.ok_or_else(no_link)?;
    Ok(SandboxReport::Link { name: args.name.clone(), link })
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
    let candidates = members::named(root, &args.name)?;
    let found = candidates.iter().find(|info| cluster::is_writable(info));
    let found = found.or_else(|| candidates.iter().find(|info| info.is_running()));
    let info = found.ok_or_else(|| Error::NotRunning { name: args.name.clone() })?;
    let binaries = ServerBinaries::find(Some(info.flavour), Some(&info.server))?;
    let mut client = connected_client(&binaries, info, "mysql");
    client.args(&args.client_args);
    Ok(client)
}
