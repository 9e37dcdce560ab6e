//! What the guards look at, each over a connection of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_db::options::{self, Address, ConnectOptions, Load, ServerArgs};
use drover_db::wire::Rows;
use drover_db::{Connection, health, server};
use drover_units::read::Size;
use drover_units::show;

use super::args::GuardArgs;
use super::{Side, Work};
use crate::error::Doing;
use crate::{Error, Result};

/// What was found to be beyond its limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Reasons to pause.
    pub(super) pause: Vec<String>,
    /// Reasons to stop.
    pub(super) stop: Vec<String>,
}

/// A server that is asked again and again; a connection that is lost is made anew.
struct Watched {
    options: ConnectOptions,
    connection: Option<Connection>,
}

impl Watched {
    fn open(options: ConnectOptions) -> Result<Self> {
        let mut watched = Self { options, connection: None };
        watched.connection()?;
        Ok(watched)
    }

    fn connection(&mut self) -> Result<&mut Connection> {
        if self.connection.is_none() {
            self.connection =
                Some(Connection::open(&self.options).doing(|| "connecting to watch the server")?);
        }
        self.connection.as_mut().ok_or_else(|| Error::found("no connection to watch the server with"))
    }

    /// Asks; after an error of the connection, the next question goes over a new one.
    fn ask<T>(&mut self, question: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let answer = question(self.connection()?);
        if let Err(Error::Server { source, .. }) = &answer
            && source.code().is_none()
        {
            self.connection = None;
        }
        answer
    }
}

/// Where free space is looked for.
enum Disk {
    /// Below a path on this machine.
    Here(PathBuf),
    /// On the server, through MariaDB's plugin DISKS.
    There,
}

/// All that is watched of a server.
pub(super) struct Probes {
    /// What messages begin with.
    name: String,
    server: Watched,
    replicas: Vec<Watched>,
    max_load: Vec<Load>,
    critical_load: Vec<Load>,
    max_lag: Option<Duration>,
    max_history: Option<u64>,
    /// Whether a history that is too long can only be helped by an end.
    holds_history: bool,
    min_free: Option<u64>,
    disks: Vec<Disk>,
}

impl Probes {
    /// Finds what is to be watched, and looks at all of it once.
    ///
    /// # Errors
    /// If a value cannot be read.
    pub(super) fn new(side: &Side<'_>) -> Result<Self> {
        let Side { name, args, server, options, work } = side;
        let mut probes = Self {
            name: name.map(|name| format!("{name}: ")).unwrap_or_default(),
            server: Watched::open((*options).clone())?,
            replicas: Vec::new(),
            max_load: args.max_load.clone(),
            critical_load: args.critical_load.clone(),
            max_lag: args.max_lag.map(|lag| lag.0),
            max_history: args.max_history,
            holds_history: matches!(work, Work::Dump(_)),
            min_free: args.min_free.map(|Size(bytes)| bytes),
            disks: Vec::new(),
        };
        if args.max_lag.is_some() {
            probes.replicas = replicas(&mut probes.server, args, server)?;
        }
        if args.min_free.is_some() {
            probes.disks = disks(&mut probes.server, *work)?;
        }
        probes.look()?;
        Ok(probes)
    }

    /// Reads all values.
    pub(super) fn look(&mut self) -> Result<Findings> {
        let Findings { mut pause, mut stop } = self.findings()?;
        pause.iter_mut().chain(&mut stop).for_each(|found| found.insert_str(0, &self.name));
        Ok(Findings { pause, stop })
    }

    fn findings(&mut self) -> Result<Findings> {
        let mut found = Findings::default();
        self.look_at_load(&mut found)?;
        if let Some(most) = self.max_lag {
            for replica in &mut self.replicas {
                let lag = lag(replica)?;
                if Duration::from_secs(lag) > most {
                    let (address, most) = (&replica.options.address, show::limit(most.as_secs_f64()));
                    found.pause.push(format!("{address} is {lag} s behind > {most}"));
                }
            }
        }
        if let Some(most) = self.max_history {
            let length = self.server.ask(history)?;
            let list = if self.holds_history { &mut found.stop } else { &mut found.pause };
            list.extend((length > most).then(|| format!("InnoDB's history list length {length} > {most}")));
        }
        if let Some(least) = self.min_free {
            for disk in &self.disks {
                let (place, free) = match disk {
                    Disk::Here(path) => (path.display().to_string(), free_below(path)?),
                    Disk::There => ("the server's data directory".into(), self.server.ask(free_there)?),
                };
                let (free_mb, least_mb) = (free >> 20, least >> 20);
                found.pause.extend(
                    (free < least).then(|| format!("{free_mb} MiB free at {place} < {least_mb} MiB")),
                );
            }
        }
        Ok(found)
    }

    fn look_at_load(&mut self, found: &mut Findings) -> Result<()> {
        let Self { server, max_load, critical_load, .. } = self;
        if max_load.is_empty() && critical_load.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = max_load.iter().chain(&*critical_load).map(|load| load.name.as_str()).collect();
        let status = |connection: &mut Connection| {
            health::status(connection, &names).doing(|| "reading the server's status")
        };
        let mut values = server.ask(status)?.into_iter();
        for (loads, list) in [(&*max_load, &mut found.pause), (&*critical_load, &mut found.stop)] {
            for Load { name, most } in loads {
                let now = values.next().flatten().ok_or_else(|| no_status(name))?;
                list.extend((now > *most as f64).then(|| format!("{name} {now} > {most}")));
            }
        }
        Ok(())
    }
}

fn no_status(name: &str) -> Error {
    Error::with_hint(
        format!("the server has no status variable {name} that is a number"),
        "SHOW GLOBAL STATUS lists them",
    )
}

/// The replicas to watch: those that are named, or those that have told the source where they are; and the server itself if
/// it is a replica.
fn replicas(watched: &mut Watched, args: &GuardArgs, server: &ServerArgs) -> Result<Vec<Watched>> {
    let mut all = Vec::new();
    if watched.ask(replica_status)?.first().is_some() {
        all.push(Watched::open(watched.options.clone())?);
    }
    for url in &args.replica {
        let options =
            options::beside(server, url).map_err(|error| Error::found(format!("--replica: {error}")))?;
        all.push(Watched::open(options)?);
    }
    if args.replica.is_empty() {
        for address in watched.ask(registered)? {
            all.push(Watched::open(ConnectOptions { address, ..watched.options.clone() })?);
        }
    }
    if all.is_empty() {
        return Err(Error::with_hint(
            "--max-lag: the server is no replica and names none",
            "name the replicas with --replica mysql://HOST:PORT, or leave --max-lag out",
        ));
    }
    for replica in &mut all {
        lag(replica)?;
    }
    Ok(all)
}

fn replica_status(connection: &mut Connection) -> Result<Rows> {
    health::replica_status(connection).doing(|| "SHOW REPLICA STATUS")
}

/// Where the replicas say that they are.
fn registered(connection: &mut Connection) -> Result<Vec<Address>> {
    let replicas = health::registered_replicas(connection).doing(|| "SHOW REPLICAS")?;
    let address = |replica: health::Replica| {
        replica.address.ok_or_else(|| {
            Error::with_hint(
                format!(
                    "--max-lag: the replica with server id {} does not say where it is",
                    replica.server_id
                ),
                "name all replicas with --replica mysql://HOST:PORT, or set report_host there",
            )
        })
    };
    replicas.into_iter().map(address).collect()
}

/// Seconds that a replica is behind, the most of all its sources.
fn lag(replica: &mut Watched) -> Result<u64> {
    let rows = replica.ask(replica_status)?;
    let address = &replica.options.address;
    let column =
        ["Seconds_Behind_Source", "Seconds_Behind_Master"].into_iter().find_map(|name| rows.column(name));
    let (Some(column), Some(_)) = (column, rows.first()) else {
        return Err(Error::found(format!("--max-lag: {address} is no replica")));
    };
    let seconds = rows.rows.iter().map(|row| {
        row.parse::<u64>(column).ok_or_else(|| {
            Error::with_hint(
                format!("--max-lag: nobody knows how far {address} is behind: its replication does not run"),
                "START REPLICA there, or leave --max-lag out",
            )
        })
    });
    seconds.collect::<Result<Vec<_>>>().map(|seconds| seconds.into_iter().max().unwrap_or(0))
}

fn history(connection: &mut Connection) -> Result<u64> {
    let length =
        health::history_length(connection).doing(|| "--max-history: reading InnoDB's history list length")?;
    length.ok_or_else(|| {
        Error::found("--max-history: the server does not tell the length of InnoDB's history list")
    })
}

/// Where space must be: below the directory that is written to here, and on the server. A dump writes little there, so it
/// does without where the server's disk cannot be known.
fn disks(watched: &mut Watched, work: Work<'_>) -> Result<Vec<Disk>> {
    let writes_to = match work {
        Work::Dump(directory) => directory,
        Work::Restore => None,
    };
    let mut disks: Vec<_> = writes_to.map(|path| Disk::Here(path.to_owned())).into_iter().collect();
    let is_near = match &watched.options.address {
        Address::Socket(_) => true,
        Address::Tcp { host, .. } => ["localhost", "127.0.0.1", "::1"].contains(&host.as_str()),
    };
    let variable = |connection: &mut Connection, name: &str| {
        server::variable(connection, name).doing(|| format!("reading {name}"))
    };
    let hostname = watched.ask(|connection| variable(connection, "GLOBAL.hostname"))?;
    let datadir = watched.ask(|connection| variable(connection, "GLOBAL.datadir"))?.map(PathBuf::from);
    // A port of this machine may lead to a container or another host.
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match datadir.filter(|path| is_near && hostname.as_deref() == Some(own.trim()) && path.is_dir()) {
        Some(path) => disks.push(Disk::Here(path)),
        None if watched.ask(free_there).is_ok() => disks.push(Disk::There),
        None if writes_to.is_some() => {}
        None => {
            return Err(Error::with_hint(
                "--min-free: the free space on the server's disk cannot be known from here",
                "run drover on the server's host; or, on MariaDB, INSTALL SONAME 'disks' and grant FILE",
            ));
        }
    }
    Ok(disks)
}

/// Bytes free where the server keeps its data (MariaDB with its plugin DISKS): of the mount whose path is the longest.
fn free_there(connection: &mut Connection) -> Result<u64> {
    let sql = "SELECT Available * 1024 FROM information_schema.DISKS WHERE LEFT(@@datadir, LENGTH(Path)) = Path ORDER BY \
               LENGTH(Path) DESC LIMIT 1";
    let row = connection.first(sql).doing(|| "--min-free: reading information_schema.DISKS")?;
    row.and_then(|row| row.parse(0))
        .ok_or_else(|| Error::found("--min-free: no disk holds the data directory"))
}

/// Bytes that this user may still write below a path (statvfs(3)).
fn free_below(path: &Path) -> Result<u64> {
    let found = rustix::fs::statvfs(path).map_err(|error| Error::file(path)(error.into()))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_that_of_the_file_system() {
        let free = free_below(Path::new("/tmp")).unwrap();
        assert!(free > 0 && free < 1 << 60, "{free}");
        assert!(free_below(Path::new("/no/such/place")).is_err());
    }
}
