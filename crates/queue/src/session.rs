//! The sessions of a queue.

use std::time::Duration;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, quote};

use crate::error::Doing;
use crate::shard::Shard;
use crate::{Error, Result};

/// Opens a session in the queue's schema; refused if the shard is closed.
pub(crate) fn open(shard: &Shard) -> Result<Connection> {
    open_watched(shard, |_| Ok(()))
}

/// The same, closed or not.
pub(crate) fn open_any(shard: &Shard) -> Result<Connection> {
    shard.schema()?;
    first_that_writes(shard, |node| node.clone(), |_| Ok(()))
}

/// Has a session wait for others for a short time only: whoever has it has more to do meanwhile. It must never be idle for long: if nothing
/// is heard of it any more, since its machine or the network is gone, the server ends it, and what it has locked is free.
pub(crate) fn brief(mut connection: Connection, shard: &Shard) -> Result<Connection> {
    for (name, seconds) in [("wait_timeout", 30), ("lock_wait_timeout", 1), ("innodb_lock_wait_timeout", 1)] {
        connection.set(name, seconds).doing(|| shard.doing("setting time-outs"))?;
    }
    Ok(connection)
}

/// As [`open`]; `opened` sees the connection before anything is done with it.
pub(crate) fn open_watched(
    shard: &Shard,
    opened: impl Fn(&Connection) -> drover_db::Result<()>,
) -> Result<Connection> {
    shard.schema()?;
    let mut connection = first_that_writes(shard, |node| node.clone(), opened)?;
    crate::state::refuse_closed(&mut connection).map_err(|error| error.of(shard))?;
    Ok(connection)
}

/// Opens a session in no schema: that of the queue may not be there.
pub(crate) fn open_outside(shard: &Shard) -> Result<Connection> {
    shard.schema()?;
    first_that_writes(shard, |node| ConnectOptions { database: None, ..node.clone() }, |_| Ok(()))
}

/// Opens a session, and makes the schema first if it is not there.
pub(crate) fn open_new(shard: &Shard) -> Result<Connection> {
    let schema = quote::identifier(shard.schema()?);
    let mut connection = open_outside(shard)?;
    for sql in [format!("CREATE DATABASE IF NOT EXISTS {schema}"), format!("USE {schema}")] {
        connection.execute(sql).doing(|| shard.doing(&format!("making schema {schema}")))?;
    }
    Ok(connection)
}

/// A session on the first node that takes writes.
fn first_that_writes(
    shard: &Shard,
    options: impl Fn(&ConnectOptions) -> ConnectOptions,
    seen: impl Fn(&Connection) -> drover_db::Result<()>,
) -> Result<Connection> {
    let mut refusals = Vec::new();
    for node in &shard.nodes {
        let opened = Connection::open(&options(node)).doing(|| "connecting").and_then(|mut connection| {
            seen(&connection).doing(|| "connecting")?;
            connection.set_up(Use::Queue).doing(|| shard.doing("setting up a session"))?;
            check_writable(&mut connection)?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => return Ok(connection),
            Err(error) if error.is_interrupted() => return Err(error),
            Err(error) => refusals.push(error),
        }
    }
    match refusals.len() {
        1 => Err(refusals.remove(0).of(shard)),
        _ => {
            let reasons: Vec<_> = refusals.iter().map(Error::to_string).collect();
            let what = format!("no node of the cluster takes writes: {}", reasons.join("; "));
            Err(Error::with_hint(
                shard.doing(&what),
                "a cluster that has lost a node needs some seconds to choose another primary",
            ))
        }
    }
}

/// A replica, a secondary of a group, or a node that lost its cluster takes no writes.
fn check_writable(connection: &mut Connection) -> Result<()> {
    let doing = || "asking whether the server takes writes";
    let row = connection.first("SELECT @@GLOBAL.read_only, @@hostname, @@port").doing(doing)?;
    let field = |at: usize| row.as_ref().map(|row| row.string(at)).unwrap_or_default();
    if !matches!(&*field(0), "0" | "OFF") {
        let what = format!("{}:{} takes no writes (read_only is on)", field(1), field(2));
        return Err(Error::with_hint(
            what,
            "name the primary, or all nodes of the cluster in a file of shards",
        ));
    }
    let ready = connection.first("SHOW STATUS LIKE 'wsrep_ready'").doing(doing)?.map(|row| row.string(1));
    match ready.as_deref() {
        Some("OFF") if is_galera(connection).doing(doing)? => {
            Err(Error::found(format!("{}:{} is not part of its cluster at the moment", field(1), field(2))))
        }
        _ => Ok(()),
    }
}

/// Servers without a cluster say that they are not ready, too.
fn is_galera(connection: &mut Connection) -> drover_db::Result<bool> {
    let on = drover_db::server::variable(connection, "wsrep_on")?;
    Ok(matches!(on.as_deref(), Some("1" | "ON")))
}

/// How often work is tried again as a rule.
const TRIES: u32 = 10;

/// Work that may be one transaction. It is tried again if another session was in the way; what it has left open is rolled back first.
pub(crate) fn retried<T>(
    connection: &mut Connection,
    work: impl FnMut(&mut Connection) -> Result<T>,
) -> Result<T> {
    tried(connection, TRIES, work)
}

/// The same with so many tries.
pub(crate) fn tried<T>(
    connection: &mut Connection,
    tries: u32,
    work: impl FnMut(&mut Connection) -> Result<T>,
) -> Result<T> {
    tried_by(connection, tries, |connection| connection, work)
}

/// The same, of somebody who has the connection.
pub(crate) fn retried_by<S, T>(
    of: &mut S,
    connection: impl Fn(&mut S) -> &mut Connection,
    work: impl FnMut(&mut S) -> Result<T>,
) -> Result<T> {
    tried_by(of, TRIES, connection, work)
}

fn tried_by<S, T>(
    of: &mut S,
    tries: u32,
    connection: impl Fn(&mut S) -> &mut Connection,
    mut work: impl FnMut(&mut S) -> Result<T>,
) -> Result<T> {
    let mut attempt = 0;
    loop {
        let error = match work(of) {
            Err(error) => error,
            done => return done,
        };
        let _not_if_it_is_lost = connection(of).execute("ROLLBACK");
        attempt += 1;
        if attempt > tries || !error.is_passing() {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(5 << (attempt - 1).min(9)));
    }
}
