//! Private, throw-away MySQL and MariaDB servers.
//!
//! A sandbox is a server with a data directory, a socket and a port of its own: nothing of the system is
//! touched, and no option file is read. A *named* sandbox outlives the process that made it, until
//! `drover sandbox stop`. An *ephemeral* one ends with the process that made it, even if that is killed, and leaves
//! nothing behind; the end-to-end tests run on those.
//!
//! The only account is `root@localhost` without a password, and the socket lies in a directory that only its owner
//! can enter. The server listens on 127.0.0.1, but no account may log in there until somebody makes one: on a shared
//! host, a password-less root on a port would hand the owner's files to every other user.
//!
//! ```no_run
//! use drover_sandbox::{Flavour, Server, StartOptions};
//!
//! let server = Server::start(&StartOptions::ephemeral(Flavour::MySql))?;
//! let version = server.client("mysql").args(["-e", "SELECT VERSION()"]).output();
//! # Ok::<(), drover_sandbox::Error>(())
//! ```
//!
//! A [`Cluster`] is several servers that replicate from one another, in one of the ways that [`Topology`] lists. Its nodes log in to
//! one another with an account that may come from 127.0.0.1 only and has a random password, or show a key that only they have.
//! Between a source and its replica there can be a [`Link`] of limited rate:
//!
//! ```no_run
//! use drover_sandbox::{Cluster, Flavour, LinkSettings, StartOptions, Topology};
//!
//! let link = LinkSettings::of_rate(drover_units::read::bit_rate("20Mbit")?);
//! let options = StartOptions { link: Some(link), ..StartOptions::ephemeral(Flavour::MySql) };
//! let cluster = Cluster::start(Topology::Replica, &options)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate finds servers and runs them, and makes nodes of them. It fetches none.

mod args;
mod binaries;
mod cluster;
mod error;
mod find;
mod flavour;
mod home;
mod launch;
mod link;
mod log;
mod members;
mod name;
mod options;
mod parse;
mod process;
mod ready;
mod record;
mod report;
mod run;
mod server;
mod sql;
mod template;
mod topology;

pub use args::{ForwardArgs, LinkArgs, SandboxArgs, SandboxCommand, ShellArgs, StartArgs, StopArgs};
pub use binaries::ServerBinaries;
pub use cluster::Cluster;
pub use error::Error;
pub use flavour::Flavour;
pub use home::default_root;
pub use link::{Link, LinkInfo, LinkSettings, LinkState, MAX_DELAY};
pub use name::SandboxName;
pub use process::StopOutcome;
pub use record::SandboxInfo;
pub use report::{ListedSandbox, SandboxReport, SandboxState, StartedNode, StartedSandbox, StoppedSandbox};
pub use run::{run, run_in};
pub use server::{Server, StartOptions};
pub use topology::{Membership, Role, Topology};
