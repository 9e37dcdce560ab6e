//! What goes wrong must be said: exit code 2, `error:` and the culprit's name, and nothing half-done that passes for done.

mod asked;
mod damage;
pub(crate) mod disk_full;
mod gives_way;
mod locks;
mod login;
mod mid_dump;
mod mid_restore;
mod privileges;
mod refused;
mod resume_dump;
mod resume_restore;
mod together;

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::drover::{restore, run};
use crate::files::manifest_path;
use crate::servers::target;

/// The dump in `dir` was never finished, and restore knows.
fn assert_unfinished(flavour: Flavour, dir: &Path) {
    assert!(!manifest_path(dir).exists(), "{} has a manifest", dir.display());
    run(&mut restore(target(flavour), dir, "")).refused(&[&dir.display().to_string()]);
}

/// Waits until no client of drover's is left on the server.
fn wait_until_alone(server: &Server, user: &str) {
    let count = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{user}'");
    crate::client::wait_until("drover's connections are gone", || {
        crate::client::value(server, &count) == "0"
    });
}
