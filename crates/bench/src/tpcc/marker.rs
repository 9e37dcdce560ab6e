//! What a load leaves beside the tables, in a small table of its own: whether it was finished, and what a run and a check have to know.

use drover_db::{Connection, er, quote};

use crate::{Error, Result};

/// The table's name.
pub(super) const NAME: &str = "drover_tpcc";

/// What is noted of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// Whether all rows are in.
    pub(super) is_loaded: bool,
    pub(super) warehouses: u32,
    pub(super) seed: u64,
    /// The constant by which last names were drawn.
    pub(super) c_last: u32,
    /// How many runs were begun since.
    pub(super) runs: u64,
    /// Whether the load made the schema too.
    pub(super) made_schema: bool,
}

impl Marker {
    /// Makes the table and notes all.
    pub(super) fn create(&self, connection: &mut Connection) -> Result<()> {
        let doing = || format!("making table {NAME}");
        let columns = "name VARCHAR(32) NOT NULL PRIMARY KEY, value VARCHAR(64) NOT NULL";
        // A collation that TiDB has, too.
        let options = "ENGINE = InnoDB CHARACTER SET ascii COLLATE ascii_bin";
        connection
            .execute(format!("CREATE TABLE {NAME} ({columns}) {options}"))
            .map_err(Error::server(doing()))?;
        let rows: Vec<_> = self
            .values()
            .iter()
            .map(|(name, value)| format!("({}, {})", quote::string(name), quote::string(value)))
            .collect();
        connection
            .execute(format!("INSERT INTO {NAME} VALUES {}", rows.join(", ")))
            .map_err(Error::server(doing()))?;
        Ok(())
    }

    fn values(&self) -> [(&'static str, String); 6] {
        [
            ("state", if self.is_loaded { "loaded" } else { "loading" }.to_owned()),
            ("warehouses", self.warehouses.to_string()),
            ("seed", self.seed.to_string()),
            ("c_last", self.c_last.to_string()),
            ("runs", self.runs.to_string()),
            ("made_schema", u8::from(self.made_schema).to_string()),
        ]
    }

    /// What is noted in the connection's schema; none if there is no such table.
    pub(super) fn find(connection: &mut Connection) -> Result<Option<Self>> {
        let rows = match connection.query(format!("SELECT name, value FROM {NAME}")) {
            Err(error) if error.code() == Some(er::NO_SUCH_TABLE) => return Ok(None),
            rows => rows.map_err(Error::server(format!("reading table {NAME}")))?,
        };
        let value = |name: &str| rows.rows.iter().find(|row| row.string(0) == name).map(|row| row.string(1));
        let number = |name: &str| value(name).and_then(|value| value.parse::<u64>().ok());
        let read = || {
            Some(Self {
                is_loaded: value("state")? == "loaded",
                warehouses: u32::try_from(number("warehouses")?).ok().filter(|warehouses| *warehouses > 0)?,
                seed: number("seed")?,
                c_last: u32::try_from(number("c_last")?).ok()?,
                runs: number("runs")?,
                made_schema: number("made_schema")? == 1,
            })
        };
        read().map(Some).ok_or_else(|| {
            let hint = "drop the tables by hand, or load again with --drop-existing";
            Error::with_hint(format!("table {NAME} does not hold what a load notes"), hint)
        })
    }

    /// The same of a load that was finished.
    pub(super) fn of_finished(connection: &mut Connection, schema: &str) -> Result<Self> {
        let hint = format!("`drover bench tpcc load -w N -D {schema} --drop-existing` loads it anew");
        match Self::find(connection)? {
            Some(marker) if marker.is_loaded => Ok(marker),
            Some(_) => Err(Error::with_hint(format!("schema {schema}: its load was not finished"), hint)),
            None => Err(Error::with_hint(
                format!("schema {schema} was not loaded by `drover bench tpcc load`: it has no table {NAME}"),
                hint,
            )),
        }
    }

    /// Notes that all rows are in.
    pub(super) fn set_loaded(connection: &mut Connection) -> Result<()> {
        set(connection, "state", "loaded")
    }

    /// Notes that a run has begun.
    pub(super) fn add_run(&self, connection: &mut Connection) -> Result<()> {
        set(connection, "runs", &(self.runs + 1).to_string())
    }
}

fn set(connection: &mut Connection, name: &str, value: &str) -> Result<()> {
    let sql =
        format!("UPDATE {NAME} SET value = {} WHERE name = {}", quote::string(value), quote::string(name));
    connection.execute(sql).map_err(Error::server(format!("noting it in table {NAME}")))?;
    Ok(())
}

/// Whether the error is that there is no such schema.
pub(super) fn is_no_schema(error: &drover_db::Error) -> bool {
    error.code() == Some(er::BAD_DB)
}
