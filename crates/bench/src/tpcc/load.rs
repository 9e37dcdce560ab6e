//! `load`: the tables, filled in parallel by LOAD DATA from streams that are made as they are sent.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Server, Stop, Vendor, er, quote, server};
use drover_units::show;
use serde::Serialize;

use super::args::{LoadArgs, threads};
use super::intake::{self, Intake, Way};
use super::marker::{self, Marker};
use super::random::c_last_of_load;
use super::rows::{Part, Scale};
use super::schema::TABLES;
use super::session::{Place, set_up, unless_stopped};
use crate::report::Begun;
use crate::{Better, Error, Measure, Progress, Report, Result};

/// What a load leaves beside what all results have.
#[derive(Debug, Clone, Serialize)]
pub struct LoadDetail {
    /// The schema.
    pub schema: String,
    /// How many warehouses.
    pub warehouses: u32,
    /// Connections that loaded at once.
    pub threads: usize,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes that were sent for them.
    pub bytes: u64,
    /// How long the rows took.
    pub rows_seconds: f64,
    /// How long indexes and statistics took.
    pub indexes_seconds: f64,
}

/// Makes the tables and fills them.
///
/// # Errors
/// If the schema holds such tables already, the server refuses something, or a signal stopped the work. What was made is removed
/// then.
pub fn load(
    args: &LoadArgs,
    options: &ConnectOptions,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Report<LoadDetail>> {
    let mut left = Ok(());
    let loaded = unless_stopped(loaded(args, options, stop, progress, &mut left), stop);
    left.and(loaded)
}

/// `left` becomes why what was made could not be removed.
fn loaded(
    args: &LoadArgs,
    options: &ConnectOptions,
    stop: &Arc<Stop>,
    progress: &Progress,
    left: &mut Result<()>,
) -> Result<Report<LoadDetail>> {
    let place = Place::of(options)?;
    let begun = Begun::now("tpcc load", args.seed);
    progress.phase("making tables", None);
    let marker = Marker {
        is_loaded: false,
        warehouses: args.warehouses,
        seed: args.seed,
        c_last: c_last_of_load(args.seed),
        runs: 0,
        made_schema: false,
    };
    let (mut connection, _watched) = place.open_outside(stop)?;
    let takes_files = intake::takes_files(&mut connection)?;
    let marker = prepare_place(&mut connection, place.schema, marker, args.drop_existing)?;
    let load = Load { place, marker, threads: threads(args.threads), takes_files, stop, progress };
    let filled = make_tables(&mut connection, &marker).and_then(|()| load.fill(&mut connection));
    let detail = match filled {
        Ok(detail) => detail,
        Err(error) => {
            let told = |why| Error::found(format!("{error}; what was made could not be removed: {why}"));
            *left = load.remove().map_err(told);
            return Err(error);
        }
    };
    let environment = place.environment(&mut connection)?;
    let seconds = detail.rows_seconds + detail.indexes_seconds;
    let measures = vec![
        Measure::new("load", "s", Better::Lower, vec![seconds]),
        Measure::new("rows", "/s", Better::Higher, vec![detail.rows as f64 / detail.rows_seconds.max(1e-9)]),
    ];
    let warnings = if takes_files { Vec::new() } else { vec![NO_FILES.to_owned()] };
    Ok(begun.report(environment, measures, warnings, detail))
}

/// What a person is told where rows come as statements.
const NO_FILES: &str = "the server takes no files from its clients (local_infile is OFF): rows were sent as INSERT statements, \
                        so this load does not compare with one by LOAD DATA";

/// Makes the schema if it is not there, and room for the tables; the connection is in it then.
fn prepare_place(connection: &mut Connection, schema: &str, marker: Marker, drops: bool) -> Result<Marker> {
    let name = quote::identifier(schema);
    let doing = format!("making schema {schema}");
    let exists =
        format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}", quote::string(schema));
    let made_schema = connection.first(exists).map_err(Error::server(doing.as_str()))?.is_none();
    if made_schema {
        connection.execute(format!("CREATE DATABASE {name}")).map_err(Error::server(doing.as_str()))?;
    }
    connection.execute(format!("USE {name}")).map_err(Error::server(doing))?;
    let there = existing_tables(connection)?;
    if !there.is_empty() && !drops {
        let what = format!("schema {schema} holds such tables already: {}", there.join(", "));
        return Err(Error::with_hint(what, "--drop-existing drops them first, or name another schema"));
    }
    // Who made the schema may drop it in the end.
    let earlier = if there.iter().any(|table| table == marker::NAME) {
        Marker::find(connection).ok().flatten()
    } else {
        None
    };
    drop_tables(connection)?;
    Ok(Marker { made_schema: made_schema || earlier.is_some_and(|earlier| earlier.made_schema), ..marker })
}

/// Those of our names that the connection's schema has.
fn existing_tables(connection: &mut Connection) -> Result<Vec<String>> {
    let names: Vec<_> = names().map(quote::string).collect();
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({})",
        names.join(", ")
    );
    let rows = connection.query(sql).map_err(Error::server("listing tables"))?;
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

/// The names of all tables that a load makes.
fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name).chain([marker::NAME])
}

/// Drops them in the connection's schema, the one that notes what was loaded last.
pub(super) fn drop_tables(connection: &mut Connection) -> Result<()> {
    names().try_for_each(|name| {
        connection
            .execute(format!("DROP TABLE IF EXISTS {name}"))
            .map(drop)
            .map_err(Error::server(format!("dropping table {name}")))
    })
}

/// The note that something is loaded comes first: whatever happens from here on, a table says that it is not whole.
fn make_tables(connection: &mut Connection, marker: &Marker) -> Result<()> {
    marker.create(connection)?;
    TABLES.iter().try_for_each(|table| {
        let made = connection.execute(table.create());
        made.map(drop).map_err(Error::server(format!("making table {}", table.name)))
    })
}

/// A load at work.
struct Load<'a> {
    place: Place<'a>,
    marker: Marker,
    threads: usize,
    takes_files: bool,
    stop: &'a Arc<Stop>,
    progress: &'a Progress,
}

/// What the threads of a load share.
struct Shared {
    parts: Mutex<VecDeque<Part>>,
    rows: AtomicU64,
    bytes: AtomicU64,
    expected_rows: u64,
    begun: Instant,
    vendor: Vendor,
    is_near: bool,
    has_failed: AtomicBool,
}

impl Load<'_> {
    fn fill(&self, connection: &mut Connection) -> Result<LoadDetail> {
        let vendor = Server::of(connection).map_err(Error::server("reading the server's version"))?.vendor;
        let parts = Part::all(self.marker.warehouses);
        let shared = Shared {
            expected_rows: parts.iter().map(|part| part.expected_rows()).sum(),
            parts: Mutex::new(parts.into()),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            begun: Instant::now(),
            vendor,
            is_near: server::is_near(connection).map_err(Error::server("asking the server"))?,
            has_failed: AtomicBool::new(false),
        };
        self.progress.phase("loading rows", None);
        self.in_threads(self.threads, |_| self.load_parts(&shared))?;
        let rows_seconds = shared.begun.elapsed().as_secs_f64();
        self.progress.phase("building indexes", None);
        let begun = Instant::now();
        let indexed: Vec<_> = TABLES.iter().filter_map(|table| Some((table.name, table.index?))).collect();
        self.in_threads(indexed.len(), |number| self.build_index(indexed[number]))?;
        analyze(connection)?;
        Marker::set_loaded(connection)?;
        Ok(LoadDetail {
            schema: self.place.schema.to_owned(),
            warehouses: self.marker.warehouses,
            threads: self.threads,
            rows: shared.rows.into_inner(),
            bytes: shared.bytes.into_inner(),
            rows_seconds,
            indexes_seconds: begun.elapsed().as_secs_f64(),
        })
    }

    /// Runs `work` in so many threads, which are numbered from 0; the first error that is told is that of the thread that failed first.
    fn in_threads(&self, threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let first = Mutex::new(None);
        std::thread::scope(|scope| {
            for number in 0..threads {
                let (work, first) = (&work, &first);
                scope.spawn(move || {
                    if let Err(error) = work(number) {
                        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                });
            }
        });
        first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn load_parts(&self, shared: &Shared) -> Result<()> {
        let (mut connection, _watched) = self.place.open(self.stop)?;
        set_up(&mut connection, Use::TpccLoad)?;
        connection.leave_untimed().map_err(Error::server("setting up a session"))?;
        loop {
            let next = shared.parts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(part) = next.filter(|_| !shared.has_failed.load(Ordering::Relaxed)) else {
                return Ok(());
            };
            let loaded = self.load_part(&mut connection, part, shared);
            if loaded.is_err() {
                shared.has_failed.store(true, Ordering::Relaxed);
                return loaded;
            }
        }
    }

    fn load_part(&self, connection: &mut Connection, part: Part, shared: &Shared) -> Result<()> {
        let doing = || format!("loading {}", part.table());
        let way = match (self.takes_files, shared.vendor) {
            (false, _) => Way::Statements { is_near: shared.is_near },
            // Only for MySQL it is less work to be told that the text is what the columns hold.
            (true, Vendor::MySql) => Way::File("utf8mb4"),
            (true, Vendor::MariaDb) => Way::File("binary"),
        };
        let (table, scale) = (part.table(), Scale { seed: self.marker.seed, c_last: self.marker.c_last });
        let mut intake = Intake::begin(connection, way, table).map_err(Error::server(doing()))?;
        let mut rows = 0;
        let made = part.make(scale, &mut |lines| {
            if shared.has_failed.load(Ordering::Relaxed) {
                return Err(Error::found("another part could not be loaded"));
            }
            intake.send(connection, lines).map_err(Error::server(doing()))?;
            rows += lines.rows;
            shared.bytes.fetch_add(lines.bytes.len() as u64, Ordering::Relaxed);
            let so_far = shared.rows.fetch_add(lines.rows, Ordering::Relaxed) + lines.rows;
            self.progress.figure(shared.figure(so_far));
            Ok(())
        });
        // The connection of a load that was broken off is not used again.
        made?;
        let (affected, warnings) = intake.end(connection).map_err(Error::server(doing()))?;
        if affected != rows || warnings > 0 {
            let (loaded, warnings) = (show::count(affected), show::things(warnings.into(), "warning"));
            return Err(Error::found(format!(
                "{}: {loaded} of {} rows are in, {warnings}",
                doing(),
                show::count(rows)
            )));
        }
        Ok(())
    }

    fn build_index(&self, (table, index): (&str, &str)) -> Result<()> {
        let (mut connection, _watched) = self.place.open(self.stop)?;
        set_up(&mut connection, Use::TpccLoad)?;
        let built = connection.execute(format!("ALTER TABLE {table} {index}"));
        built.map(drop).map_err(Error::server(format!("building the index of {table}")))
    }

    /// Removes what was made, over a connection of its own: the others are broken, or the server is still busy with what they sent.
    fn remove(&self) -> Result<()> {
        self.progress.phase("removing what was made", None);
        let mut connection = self.place.open_to_the_end()?;
        let schema = quote::identifier(self.place.schema);
        connection.execute(format!("USE {schema}")).map_err(Error::server("removing what was made"))?;
        drop_tables(&mut connection)?;
        if self.marker.made_schema {
            drop_empty_schema(&mut connection, self.place.schema)?;
        }
        Ok(())
    }
}

impl Shared {
    fn figure(&self, rows: u64) -> String {
        let percent = (rows * 100 / self.expected_rows.max(1)).min(99);
        let rate = rows as f64 / self.begun.elapsed().as_secs_f64().max(1e-3);
        format!(
            "{percent} % of {} rows, {} a second",
            show::count(self.expected_rows),
            show::count(rate as u64)
        )
    }
}

/// Statistics are made at once; by itself the server makes them some seconds later, amid what is measured.
fn analyze(connection: &mut Connection) -> Result<()> {
    let tables: Vec<_> = TABLES.iter().map(|table| table.name).collect();
    let tables = tables.join(", ");
    let computed = match connection.execute(format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {tables}")) {
        // TiDB has no such log.
        Err(error) if error.code() == Some(er::NOT_SUPPORTED_YET) => {
            connection.execute(format!("ANALYZE TABLE {tables}"))
        }
        other => other,
    };
    computed.map(drop).map_err(Error::server("computing statistics"))
}

/// Drops a schema if nothing is left in it; whether it did.
pub(super) fn drop_empty_schema(connection: &mut Connection, schema: &str) -> Result<bool> {
    let doing = format!("dropping schema {schema}");
    let literal = quote::string(schema);
    let left = format!(
        "SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {literal}) + \
         (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {literal}) + \
         (SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {literal})"
    );
    let left = connection.first(left).map_err(Error::server(doing.as_str()))?.map(|row| row.string(0));
    if left.as_deref() != Some("0") {
        return Ok(false);
    }
    connection
        .execute(format!("DROP DATABASE {}", quote::identifier(schema)))
        .map_err(Error::server(doing))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_is_dropped_last() {
        assert_eq!(names().last(), Some(marker::NAME));
        assert_eq!(names().count(), 10);
    }
}
