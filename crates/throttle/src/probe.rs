//! What is watched, each server over a connection of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_db::options::{self, Address, ConnectOptions, ServerArgs};
use drover_db::wire::Rows;
use drover_db::{Connection, health, server};
use drover_units::read::Size;
use drover_units::show;

use crate::{Error, Findings, Limits, Result, Side, ThrottleArgs, Work};

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
        let connection = match self.connection.take() {
            Some(open) => open,
            None => {
                Connection::open(&self.options).map_err(Error::server("connecting to watch the server"))?
            }
        };
        Ok(self.connection.insert(connection))
    }

    /// Asks; after an error of the connection, the next question goes over a new one.
    fn ask<T>(&mut self, question: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let answer = question(self.connection()?);
        if answer.as_ref().is_err_and(Error::is_lost) {
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
    limits: Limits,
    max_lag: Option<Duration>,
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
            limits: Limits {
                max_load: args.max_load.clone(),
                critical_load: args.critical_load.clone(),
                max_history: args.max_history,
                holds_history: matches!(work, Work::Dump(_)),
            },
            max_lag: args.max_lag.map(|lag| lag.0),
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
        let mut found = match self.limits.are_given() {
            true => self.server.ask(|connection| self.limits.look(connection))?,
            false => Findings::default(),
        };
        if let Some(most) = self.max_lag {
            for replica in &mut self.replicas {
                let lag = lag(replica)?;
                if Duration::from_secs(lag) > most {
                    let (address, most) = (&replica.options.address, show::limit(most.as_secs_f64()));
                    found.pause.push(format!("{address} is {lag} s behind > {most}"));
                }
            }
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
}

/// The replicas to watch: those that are named, or those that have told the source where they are; and the server itself if
/// it is a replica.
fn replicas(watched: &mut Watched, args: &ThrottleArgs, server: &ServerArgs) -> Result<Vec<Watched>> {
    let mut all = Vec::new();
    if watched.ask(replica_status)?.first().is_some() {
        all.push(Watched::open(watched.options.clone())?);
    }
    for url in &args.replica {
        let options = options::beside(server, url).map_err(|error| Error::ReplicaUrl(error.to_string()))?;
        all.push(Watched::open(options)?);
    }
    if args.replica.is_empty() {
        for address in watched.ask(registered)? {
            all.push(Watched::open(ConnectOptions { address, ..watched.options.clone() })?);
        }
    }
    if all.is_empty() {
        return Err(Error::NoReplicas);
    }
    for replica in &mut all {
        lag(replica)?;
    }
    Ok(all)
}

fn replica_status(connection: &mut Connection) -> Result<Rows> {
    health::replica_status(connection).map_err(Error::server("SHOW REPLICA STATUS"))
}

/// Where the replicas say that they are.
fn registered(connection: &mut Connection) -> Result<Vec<Address>> {
    let replicas = health::registered_replicas(connection).map_err(Error::server("SHOW REPLICAS"))?;
    let address = |replica: health::Replica| replica.address.ok_or(Error::NoAddress(replica.server_id));
    replicas.into_iter().map(address).collect()
}

/// Seconds that a replica is behind, the most of all its sources.
fn lag(replica: &mut Watched) -> Result<u64> {
    let rows = replica.ask(replica_status)?;
    let address = &replica.options.address;
    let column =
        ["Seconds_Behind_Source", "Seconds_Behind_Master"].into_iter().find_map(|name| rows.column(name));
    let (Some(column), Some(_)) = (column, rows.first()) else {
        return Err(Error::NoReplica(address.clone()));
    };
    let seconds = rows
        .rows
        .iter()
        .map(|row| row.parse::<u64>(column).ok_or_else(|| Error::UnknownLag(address.clone())));
    seconds.collect::<Result<Vec<_>>>().map(|seconds| seconds.into_iter().max().unwrap_or(0))
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
        server::variable(connection, name)
            .map_err(Error::server("--min-free: reading where the server keeps its data"))
    };
    let hostname = watched.ask(|connection| variable(connection, "GLOBAL.hostname"))?;
    let datadir = watched.ask(|connection| variable(connection, "GLOBAL.datadir"))?.map(PathBuf::from);
    // A port of this machine may lead to a container or another host.
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match datadir.filter(|path| is_near && hostname.as_deref() == Some(own.trim()) && path.is_dir()) {
        Some(path) => disks.push(Disk::Here(path)),
        None if watched.ask(free_there).is_ok() => disks.push(Disk::There),
        None if writes_to.is_some() => {}
        None => return Err(Error::UnknownSpace),
    }
    Ok(disks)
}

/// Bytes free where the server keeps its data (MariaDB with its plugin DISKS): of the mount whose path is the longest.
fn free_there(connection: &mut Connection) -> Result<u64> {
    let sql = "SELECT Available * 1024 FROM information_schema.DISKS WHERE LEFT(@@datadir, LENGTH(Path)) = Path ORDER BY \
               LENGTH(Path) DESC LIMIT 1";
    let row = connection.first(sql).map_err(Error::server("--min-free: reading information_schema.DISKS"))?;
    row.and_then(|row| row.parse(0)).ok_or(Error::NoDisk)
}

/// Bytes that this user may still write below a path (statvfs(3)).
fn free_below(path: &Path) -> Result<u64> {
    let found = rustix::fs::statvfs(path).map_err(|error| Error::disk(path)(error.into()))?;
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
