//! A link that goes on when the command that started it has returned, as named servers do: a process of drover's own carries it.
//!
//! ```text
//! ROOT/NAME/link.json   its ports and settings, for all who ask, and read again and again by the process, which ends without it
//! ROOT/NAME/link.pid    the process, as soon as it listens
//! ROOT/NAME/link.log    what it said
//! ```

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::forwarder::listening;
use super::{LinkInfo, LinkState};
use crate::home::write_whole;
use crate::launch::detach;
use crate::log::{ErrorLog, SHOWN_LINES};
use crate::process::{ProcessState, ServerProcess};
use crate::{Error, SandboxName};

const FILE_NAME: &str = "link.json";
const PID_NAME: &str = "link.pid";
const LOG_NAME: &str = "link.log";

/// The hidden command of `drover sandbox` that the process runs, before the path of its `link.json`.
const COMMAND: &str = "forward";

/// How often the process looks whether it was told something else.
const LOOK: Duration = Duration::from_millis(100);
/// How long the process may take until it listens; it takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// Where a link is described that a process carries.
#[derive(Debug)]
pub(crate) struct LinkFiles {
    dir: PathBuf,
}

impl LinkFiles {
    /// Those of the topology of that name.
    pub(crate) fn of(root: &Path, name: &SandboxName) -> Self {
        Self::in_dir(&root.join(name.as_str()))
    }

    /// Those in a topology's directory.
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(FILE_NAME)
    }

    /// Describes the link, and so tells the process how it is to be.
    pub(crate) fn write(&self, info: &LinkInfo) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(info).map_err(io::Error::from);
        text.map_err(Error::io("write", &self.path())).and_then(|text| write_whole(&self.path(), &text))
    }

    /// The description; none if there is no link.
    fn read(&self) -> Result<Option<LinkInfo>, Error> {
        let read = match fs::read(self.path()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.and_then(|text| Ok(serde_json::from_slice(&text)?)),
        };
        read.map(Some).map_err(Error::io("read", &self.path()))
    }

    /// The link as it is now; none if there is none.
    pub(crate) fn state(&self) -> Result<Option<LinkState>, Error> {
        Ok(self.read()?.map(|info| LinkState { info, pid: self.pid() }))
    }

    /// The process that carries it, if that runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.noted_pid().filter(|pid| self.process(*pid).is_running())
    }

    fn noted_pid(&self) -> Option<u32> {
        fs::read_to_string(self.dir.join(PID_NAME)).ok()?.trim().parse().ok()
    }

    fn process(&self, pid: u32) -> ServerProcess {
        ServerProcess::with_argument(pid, self.path().into())
    }

    /// Starts the process, which is a drover, and waits until it listens.
    pub(crate) fn launch(&self, program: &Path) -> Result<(), Error> {
        let (log, deadline) = (ErrorLog::from_here(&self.dir.join(LOG_NAME)), Instant::now() + TIMEOUT);
        let mut command = Command::new(program);
        command.args(["sandbox", COMMAND]).arg(self.path());
        let pid = detach(&command, &log.path()).map_err(Error::io("start", program))?;
        let process = self.process(pid);
        while self.noted_pid() != Some(pid) {
            if process.state() == ProcessState::Gone || Instant::now() >= deadline {
                process.kill();
                return Err(Error::NoForwarder { log: log.path(), log_tail: log.tail(SHOWN_LINES) });
            }
            sleep(POLL);
        }
        Ok(())
    }

    /// Ends the process and removes the files; nothing to do where there is no link.
    pub(crate) fn end(&self) {
        // First, as it ends also one that has not noted its number yet.
        let _may_be_gone = fs::remove_file(self.path());
        if let Some(pid) = self.noted_pid() {
            self.process(pid).kill();
        }
        for name in [PID_NAME, LOG_NAME] {
            let _may_be_gone = fs::remove_file(self.dir.join(name));
        }
    }
}

/// Carries the link that is described in this `link.json`, until that is gone or `interrupted` is set.
pub(crate) fn serve(path: &Path, interrupted: &AtomicBool) -> Result<(), Error> {
    let files = LinkFiles::in_dir(path.parent().unwrap_or(Path::new("")));
    let Some(mut info) = files.read()? else { return Ok(()) };
    let forwarder = listening(info.port, info.source_port, info.settings)?;
    write_whole(&files.dir.join(PID_NAME), std::process::id().to_string().as_bytes())?;
    while !interrupted.load(Ordering::Relaxed) {
        sleep(LOOK);
        match files.read() {
            Ok(None) => break,
            Ok(Some(told)) if told != info => {
                forwarder.set(told.settings);
                info = told;
            }
            // Somebody may be editing it by hand.
            Ok(Some(_)) | Err(_) => {}
        }
    }
    Ok(())
}
