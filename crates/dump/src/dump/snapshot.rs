//! One consistent snapshot over all workers: while a short lock holds writers back, each worker begins a transaction and
//! the binary log's position is read; then the lock is released.

use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::wire::Rows;
use drover_db::{Connection, Stop, Vendor, Watched};

use super::catalog::Name;
use super::waits;
use crate::error::Doing;
use crate::format::manifest::{Snapshot, SourcePosition};
use crate::session::{self, Purpose};
use crate::{Error, Result};

/// What a snapshot needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) options: &'a ConnectOptions,
    pub(crate) vendor: Vendor,
    pub(crate) threads: usize,
    /// In seconds.
    pub(crate) lock_timeout: u64,
    /// All tables that will be read.
    pub(crate) tables: &'a [Name],
    /// Those of them whose engine has no transactions.
    pub(crate) without_transactions: &'a [Name],
    /// Connections of drover's own, which are in nobody's way: [`take`] adds those that it opens.
    pub(crate) own: &'a [u32],
    /// Ends the wait for a lock.
    pub(crate) stop: &'a Stop,
    /// Lists the tables once more while nobody can create, drop or rename one, where that can be had: one that was being renamed
    /// when they were listed first may have been in no list.
    pub(crate) list_again: &'a dyn Fn(&mut Connection, Listing) -> Result<()>,
}

/// How sure a list of tables is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// DDL is held off.
    Held,
    /// Somebody may change definitions meanwhile, and only the tables that were listed before are locked.
    Free,
}

/// A snapshot that was taken.
pub(crate) struct Taken {
    /// Connections that all see the same rows.
    pub(crate) workers: Vec<Connection>,
    /// Holds a read lock on the tables without transactions, and is the one to read them: another session that opens
    /// them might have to wait for a third one's global lock, which waits for this lock to go.
    pub(crate) table_locks: Option<Connection>,
    pub(crate) snapshot: Snapshot,
    pub(crate) warnings: Vec<String>,
}

/// Error numbers that say that the account may not do this, or the server does not have it: another way may work.
fn is_refusal(error: &drover_db::Error) -> bool {
    // 1044, 1045, 1142, 1227 privileges; 1064 syntax; 1235 not supported; 3 and up are the vendors' own refusals
    matches!(error.code(), Some(1044 | 1045 | 1142 | 1227 | 1064 | 1235 | 1290 | 1148))
}

enum Lock {
    /// MariaDB: commits are held back, reads and uncommitted writes go on.
    BackupStage(Connection),
    /// Everywhere else, if the account may.
    GlobalRead,
    /// Read locks on the tables that will be read.
    Tables,
}

impl Lock {
    fn name(&self) -> &'static str {
        match self {
            Self::BackupStage(_) => "BACKUP STAGE BLOCK_COMMIT",
            Self::GlobalRead => "FLUSH TABLES WITH READ LOCK",
            Self::Tables => "LOCK TABLES … READ",
        }
    }
}

/// Takes the snapshot. `coordinator` holds LOCK INSTANCE FOR BACKUP afterwards, where the server has it.
pub(crate) fn take(coordinator: &mut Connection, wish: &Wish<'_>) -> Result<Taken> {
    let mut workers = session::open_many(wish.options, Purpose::Dump, wish.threads)?;
    let needs_locks = !wish.without_transactions.is_empty();
    let mut table_locks = needs_locks.then(|| session::open(wish.options, Purpose::Dump)).transpose()?;
    let _watched = table_locks.as_ref().map(|connection| watch(connection, wish)).transpose()?;
    let own: Vec<_> =
        workers.iter().chain(&table_locks).map(Connection::id).chain([coordinator.id()]).collect();
    let wish = &Wish { own: &own, ..*wish };
    session::limit_lock_wait(coordinator, wish.lock_timeout)?;
    let mut warnings = Vec::new();
    // BLOCK_COMMIT keeps others from locking tables, a global lock waits for those who have: each in turn.
    let tables_first = wish.vendor == Vendor::MariaDb && knows_backup_stages(coordinator)?;
    if tables_first {
        lock_tables_of(table_locks.as_mut(), wish)?;
    }
    let lock = lock(coordinator, wish, &mut warnings)?;
    let (held_since, taken_at) = (Instant::now(), jiff::Timestamp::now());
    let holds_ddl = hold_ddl(coordinator)?;
    if matches!(lock, Lock::GlobalRead) && !holds_ddl {
        (wish.list_again)(coordinator, Listing::Held)?;
    }

    for worker in &mut workers {
        worker.execute(session::BEGIN_SNAPSHOT).doing(|| "starting a worker's transaction")?;
    }
    if !tables_first {
        lock_tables_of(table_locks.as_mut(), wish)?;
    }
    let mut snapshot = position(coordinator, wish.vendor, &mut warnings)?;
    snapshot.lock = lock.name().into();
    let are_tables = matches!(lock, Lock::Tables);
    release(coordinator, lock)?;
    snapshot.lock_held_ms = u64::try_from(held_since.elapsed().as_millis()).unwrap_or(u64::MAX);
    snapshot.taken_at = taken_at.to_string();
    if are_tables || holds_ddl {
        (wish.list_again)(coordinator, if are_tables { Listing::Free } else { Listing::Held })?;
    }
    prove_same(&mut workers, wish.vendor)?;
    for worker in &mut workers {
        session::limit_lock_wait(worker, wish.lock_timeout)?;
    }
    Ok(Taken { workers, table_locks, snapshot, warnings })
}

/// Lets DDL wait until the definitions have been read. MySQL has this lock from 8.0 on; without it, or without the
/// privilege, a definition that changes meanwhile is found when the rows are read. It is taken under the global lock:
/// before it, a DDL statement that waits for it would hold what the global lock waits for.
///
/// Whether it is held.
fn hold_ddl(coordinator: &mut Connection) -> Result<bool> {
    match coordinator.execute("LOCK INSTANCE FOR BACKUP") {
        Err(error) if is_refusal(&error) => Ok(false),
        other => other.map(|_| true).doing(|| "LOCK INSTANCE FOR BACKUP"),
    }
}

/// Lets DDL go on.
pub(crate) fn release_ddl(coordinator: &mut Connection) -> Result<()> {
    match coordinator.execute("UNLOCK INSTANCE") {
        Err(error) if is_refusal(&error) => Ok(()),
        other => other.map(drop).doing(|| "UNLOCK INSTANCE"),
    }
}

fn lock(coordinator: &mut Connection, wish: &Wish<'_>, warnings: &mut Vec<String>) -> Result<Lock> {
    if let Some(connection) = backup_stage(coordinator, wish)? {
        return Ok(Lock::BackupStage(connection));
    }
    if global_read_lock(coordinator, wish)? {
        return Ok(Lock::GlobalRead);
    }
    warnings.push(
        "the account may not hold back all writers (it lacks RELOAD): the tables that are dumped were locked instead"
            .into(),
    );
    session::limit_lock_wait(coordinator, wish.lock_timeout)?;
    lock_tables(coordinator, wish.tables, wish)?;
    Ok(Lock::Tables)
}

/// Tries for a second at a time, with pauses: while it waits all writers wait, and among them one may hold the row that
/// another's statement waits for, which the lock waits for. Whether the account may have it at all.
fn global_read_lock(coordinator: &mut Connection, wish: &Wish<'_>) -> Result<bool> {
    const LOCK: &str = "FLUSH TABLES WITH READ LOCK";
    let give_up = Instant::now() + Duration::from_secs(wish.lock_timeout);
    session::limit_lock_wait(coordinator, 1)?;
    loop {
        match coordinator.execute(LOCK) {
            Ok(_) => break,
            Err(error) if waits::is_timeout(&error) && Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(error) if waits::is_timeout(&error) => return Err(in_the_way(coordinator, LOCK, wish)),
            Err(error) if is_refusal(&error) => return Ok(false),
            Err(error) => return Err(error).doing(|| LOCK),
        }
    }
    session::limit_lock_wait(coordinator, wish.lock_timeout)?;
    Ok(true)
}

/// Whether the server has MariaDB's own lock for backups, which came with 10.4, allowed or not: of a stage that was not begun only
/// a server that knows none says that it cannot read the statement.
fn knows_backup_stages(coordinator: &mut Connection) -> Result<bool> {
    const PARSE_ERROR: u16 = 1064;
    match coordinator.execute("BACKUP STAGE END") {
        Err(drover_db::Error::Server(error)) => Ok(error.code != PARSE_ERROR),
        other => other.map(|_| true).doing(|| "BACKUP STAGE END"),
    }
}

/// MariaDB's own lock for backups, which needs a session for itself.
fn backup_stage(coordinator: &mut Connection, wish: &Wish<'_>) -> Result<Option<Connection>> {
    if wish.vendor != Vendor::MariaDb {
        return Ok(None);
    }
    let mut connection = session::open(wish.options, Purpose::Dump)?;
    session::limit_lock_wait(&mut connection, wish.lock_timeout)?;
    let _watched = watch(&connection, wish)?;
    for stage in ["START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"] {
        match connection.execute(format!("BACKUP STAGE {stage}")) {
            Ok(_) if stage == "BLOCK_DDL" => (wish.list_again)(coordinator, Listing::Held)?,
            Ok(_) => {}
            Err(error) if waits::is_timeout(&error) => {
                let own: Vec<_> = wish.own.iter().copied().chain([connection.id()]).collect();
                return Err(in_the_way(
                    coordinator,
                    &format!("BACKUP STAGE {stage}"),
                    &Wish { own: &own, ..*wish },
                ));
            }
            Err(error) if is_refusal(&error) => return Ok(None),
            Err(error) => return Err(error).doing(|| format!("BACKUP STAGE {stage}")),
        }
    }
    Ok(Some(connection))
}

fn watch<'a>(connection: &Connection, wish: &Wish<'a>) -> Result<Watched<'a>> {
    wish.stop.watch(connection).doing(|| "watching a connection")
}

/// Locks the tables without transactions, if there are any.
fn lock_tables_of(connection: Option<&mut Connection>, wish: &Wish<'_>) -> Result<()> {
    let Some(connection) = connection else { return Ok(()) };
    session::limit_lock_wait(connection, wish.lock_timeout)?;
    lock_tables(connection, wish.without_transactions, wish)
}

fn lock_tables(connection: &mut Connection, tables: &[Name], wish: &Wish<'_>) -> Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    let list = tables.iter().map(|table| format!("{table} READ")).collect::<Vec<_>>().join(", ");
    match connection.execute(format!("LOCK TABLES {list}")) {
        Ok(_) => Ok(()),
        Err(error) if waits::is_timeout(&error) => Err(in_the_way(connection, "LOCK TABLES … READ", wish)),
        Err(error) if is_refusal(&error) => Err(Error::with_hint(
            format!(
                "no consistent snapshot can be taken: the account may neither FLUSH TABLES nor LOCK TABLES: {error}"
            ),
            "grant it RELOAD (best, also BACKUP_ADMIN on MySQL), or LOCK TABLES on the schemas to be dumped",
        )),
        Err(error) => Err(error).doing(|| "LOCK TABLES … READ"),
    }
}

fn in_the_way(connection: &mut Connection, lock: &str, wish: &Wish<'_>) -> Error {
    let who = waits::blockers(connection, wish.own);
    Error::with_hint(
        format!("{lock} did not get through in {} s; in its way:\n  {who}", wish.lock_timeout),
        "wait until that is done or KILL it, or give --lock-timeout more seconds; all writers wait as long as it waits",
    )
}

fn release(coordinator: &mut Connection, lock: Lock) -> Result<()> {
    // If the connection that holds the lock was lost, so was the lock: then the workers may not see the same rows.
    match lock {
        Lock::BackupStage(mut connection) => connection.execute("BACKUP STAGE END").map(drop),
        Lock::GlobalRead | Lock::Tables => coordinator.execute("UNLOCK TABLES").map(drop),
    }
    .doing(|| "releasing the lock under which the snapshot was taken")
}

/// Where the snapshot lies in the binary log.
fn position(coordinator: &mut Connection, vendor: Vendor, warnings: &mut Vec<String>) -> Result<Snapshot> {
    let mut snapshot = Snapshot::default();
    match first_that_parses(coordinator, &["SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"])? {
        Some(rows) => {
            snapshot.binlog_file = rows.first_text("File");
            snapshot.binlog_position = rows.first_text("Position").and_then(|text| text.parse().ok());
            snapshot.gtid_set = rows.first_text("Executed_Gtid_Set").filter(|set| !set.is_empty());
        }
        None => {
            warnings.push("the account may not ask for the binary log's position (REPLICATION CLIENT)".into())
        }
    }
    if vendor == Vendor::MariaDb {
        snapshot.gtid_set = drover_db::server::variable(coordinator, "gtid_binlog_pos")
            .doing(|| "reading gtid_binlog_pos")?
            .filter(|set| !set.is_empty());
    }
    let replicas = first_that_parses(coordinator, &["SHOW ALL REPLICAS STATUS", "SHOW REPLICA STATUS"])?;
    snapshot.replicates_from = replicas.map(|rows| sources(&rows)).unwrap_or_default();
    Ok(snapshot)
}

/// The result of the first statement that this server has; `None` if the account may not run it.
fn first_that_parses(connection: &mut Connection, statements: &[&str]) -> Result<Option<Rows>> {
    for statement in statements {
        match connection.query(statement) {
            Ok(rows) => return Ok(Some(rows)),
            Err(error) if error.code() == Some(1064) => {}
            Err(error) if is_refusal(&error) => return Ok(None),
            Err(error) => return Err(error).doing(|| *statement),
        }
    }
    Ok(None)
}

fn sources(rows: &Rows) -> Vec<SourcePosition> {
    let column = |names: [&str; 2]| names.into_iter().find_map(|name| rows.column(name));
    let channel = column(["Channel_Name", "Connection_name"]);
    let file = column(["Relay_Source_Log_File", "Relay_Master_Log_File"]);
    let position = column(["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"]);
    let (Some(file), Some(position)) = (file, position) else { return Vec::new() };
    let source = |row: &drover_db::Row| SourcePosition {
        channel: channel.map(|at| row.string(at)).unwrap_or_default(),
        file: row.string(file),
        position: row.parse(position).unwrap_or(0),
    };
    rows.rows.iter().map(source).collect()
}

/// MariaDB tells each transaction where in the binary log its snapshot lies: they must all say the same.
fn prove_same(workers: &mut [Connection], vendor: Vendor) -> Result<()> {
    if vendor != Vendor::MariaDb {
        return Ok(());
    }
    let mut seen: Option<Vec<String>> = None;
    for worker in workers {
        let rows = worker
            .query("SHOW STATUS LIKE 'binlog_snapshot_%'")
            .doing(|| "comparing the workers' snapshots")?;
        let now: Vec<_> = rows.into_iter().map(|row| row.string(1)).collect();
        if seen.get_or_insert_with(|| now.clone()) != &now {
            return Err(Error::found(
                "the workers do not see the same snapshot: a commit passed while the lock was held",
            ));
        }
    }
    Ok(())
}
