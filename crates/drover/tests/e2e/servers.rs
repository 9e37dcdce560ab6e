//! The servers that the tests run on. Each vendor has two that all tests share, one to dump from and one to restore
//! into; a test keeps to schemas of its own there. One that kills its server, changes a global setting or holds a
//! global lock for long starts a private one.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use drover_sandbox::{Flavour, Server, StartOptions};

/// Defines the tests `mariadb::NAME` and `mysql::NAME` for functions that take a [`Flavour`].
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod mariadb {
            $(#[test] fn $name() { crate::servers::run(drover_sandbox::Flavour::MariaDb, super::$name); })*
        }
        mod mysql {
            $(#[test] fn $name() { crate::servers::run(drover_sandbox::Flavour::MySql, super::$name); })*
        }
    };
}
pub(crate) use on_both;

/// Runs a test if its vendor is asked for.
pub(crate) fn run(flavour: Flavour, test: fn(Flavour)) {
    if is_wanted(flavour) {
        test(flavour);
    }
}

/// Whether tests may use this vendor's server; then it must be there.
pub(crate) fn is_wanted(flavour: Flavour) -> bool {
    let named = std::env::var("DROVER_TEST_FLAVOURS").unwrap_or_else(|_| "mariadb,mysql".into());
    let wanted = named.split(',').map(|name| match name.trim().parse::<Flavour>() {
        Ok(flavour) => flavour,
        Err(error) => panic!("DROVER_TEST_FLAVOURS: {error}"),
    });
    // All names are read, so that a wrong one is an error wherever it stands.
    wanted.collect::<Vec<_>>().contains(&flavour)
}

/// One server per vendor, started when it is first asked for.
type PerFlavour = [OnceLock<Server>; 2];

/// The shared server to dump from.
pub(crate) fn source(flavour: Flavour) -> &'static Server {
    static SERVERS: PerFlavour = [const { OnceLock::new() }; 2];
    SERVERS[flavour as usize]
        .get_or_init(|| start_unsynced(flavour, &["--max-connections=400", "--default-time-zone=+05:30"]))
}

/// The shared server to restore into. Its time zone is another one than the source's: no value may depend on it.
pub(crate) fn target(flavour: Flavour) -> &'static Server {
    static SERVERS: PerFlavour = [const { OnceLock::new() }; 2];
    SERVERS[flavour as usize]
        .get_or_init(|| start_unsynced(flavour, &["--max-connections=400", "--default-time-zone=-08:00"]))
}

/// A private server, gone when the value is dropped.
pub(crate) fn start(flavour: Flavour, options: &[&str]) -> Server {
    start_at(flavour, None, options)
}

/// The same, for thousands of definitions: it leaves out what is there for a loss of power, which takes the longest of them. Never for a
/// test that kills its server, or looks at what a server syncs.
pub(crate) fn start_unsynced(flavour: Flavour, options: &[&str]) -> Server {
    start(flavour, &[unsynced(flavour), options].concat())
}

fn unsynced(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::MariaDb => &["--innodb-flush-method=nosync", "--debug-no-sync", "--sync-frm=0"],
        Flavour::MySql => &["--innodb-flush-method=nosync"],
    }
}

/// The same of a MariaDB of the next series.
pub(crate) fn start_mariadb_11(options: &[&str]) -> Server {
    start_at(Flavour::MariaDb, Some(place("mariadb-11.8")), &[unsynced(Flavour::MariaDb), options].concat())
}

/// Where `scripts/servers` puts a server that is not found by itself.
pub(crate) fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.servers/more").join(name)
}

/// Whether tests may use a server of this name, or the `newest`, which is found by itself; then it must be there. `scripts/servers` fetches
/// some of them only if it is asked to: `scripts/test` says which the tests go without.
pub(crate) fn is_wanted_of(flavour: Flavour, name: &str) -> bool {
    let without = std::env::var("DROVER_TEST_WITHOUT").unwrap_or_default();
    is_wanted(flavour) && !without.split(',').any(|one| one == name)
}

/// A private server of that name, if tests may use it.
pub(crate) fn start_of(flavour: Flavour, name: &str, options: &[&str]) -> Option<Server> {
    let start = || start_at(flavour, (name != "newest").then(|| place(name)), options);
    is_wanted_of(flavour, name).then(start)
}

/// What one vendor's servers let their clients do by default and the other's do not, so that tests are the same on both; and a redo log that
/// MySQL makes in a quarter of the time. [`stock`] has none of it.
const ALLOWED: [&str; 3] =
    ["--local-infile=1", "--max-allowed-packet=64M", "--loose-innodb-redo-log-capacity=128M"];

/// A private server as its vendor ships it.
pub(crate) fn stock(flavour: Flavour) -> Server {
    Server::start(&StartOptions::ephemeral(flavour)).unwrap()
}

/// The same as [`start`] of the server at that place, or else of the one that is found by itself.
pub(crate) fn start_at(flavour: Flavour, server: Option<PathBuf>, options: &[&str]) -> Server {
    let server_options = ALLOWED.iter().chain(options).map(|&option| option.to_owned()).collect();
    Server::start(&StartOptions { server, server_options, ..StartOptions::ephemeral(flavour) })
        .unwrap_or_else(|error| panic!("no {} server: {error}", flavour.title()))
}
