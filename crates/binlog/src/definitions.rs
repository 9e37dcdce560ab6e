//! What a server's definitions say of columns where a log does not: names, signs, character sets, keys, what is generated.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use drover_db::options::{Secret, ServerArgs};
use drover_db::{Connection, Row, Watched, quote};

use crate::Result;
use crate::log::Format;
use crate::rows::{DefinedColumn, Definition, Table, words};
use crate::server::Origin;
use crate::sql::charset;

/// Which server has the tables.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ColumnsArgs {
    /// Take names, signs, character sets and keys of columns, where the log does not tell them, from the tables of this server as they
    /// are now: mysql://USER:PASSWORD@HOST:PORT
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(Secret))]
    pub columns_of: Option<Secret>,
}

impl ColumnsArgs {
    /// The server, if there is one.
    pub fn server(&self) -> Option<ServerArgs> {
        let url = self.columns_of.clone()?;
        Some(ServerArgs { url: Some(url), no_defaults: true, ..ServerArgs::default() })
    }
}

/// The definitions of a server's tables, asked for once each.
#[derive(Clone)]
pub(crate) struct Definitions(Arc<Mutex<Asked>>);

struct Asked {
    server: Origin,
    connection: Connection,
    /// So that a request to stop breaks the connection.
    _watched: Watched<'static>,
    known: HashMap<(Vec<u8>, Vec<u8>), Definition>,
}

impl std::fmt::Debug for Definitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Definitions").finish_non_exhaustive()
    }
}

impl Definitions {
    pub(crate) fn of(server: &Origin) -> Result<Self> {
        let (connection, watched) = server.connect()?;
        let known = HashMap::new();
        let asked = Asked { server: server.clone(), connection, _watched: watched, known };
        Ok(Self(Arc::new(Mutex::new(asked))))
    }

    /// Adds to a table what the log did not tell of it, if the server has one with such columns.
    pub(crate) fn complete(&self, table: &mut Table, format: &Format) -> Result<()> {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (table.schema.clone(), table.name.clone());
        if !asked.known.contains_key(&key) {
            let definition = asked.ask(table)?;
            asked.known.insert(key.clone(), definition);
        }
        if let Some(definition) = asked.known.get(&key) {
            definition.complete(table, format);
        }
        Ok(())
    }
}

impl Definitions {
    /// Tables may have been changed: they are asked for once more.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).known.clear();
    }
}

impl Asked {
    /// The table as it is now; without columns if there is none, or one with a history: statements would make another.
    fn ask(&mut self, table: &Table) -> Result<Definition> {
        let [schema, name] = [&table.schema, &table.name].map(|name| String::from_utf8_lossy(name));
        let of_it =
            format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", quote::string(&schema), quote::string(&name));
        let columns = format!(
            "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, EXTRA, COLUMN_KEY, COALESCE(CHARACTER_OCTET_LENGTH, 0) FROM information_schema.COLUMNS \
             WHERE {of_it} AND NOT EXISTS (SELECT 1 FROM information_schema.TABLES WHERE {of_it} AND TABLE_TYPE = 'SYSTEM VERSIONED') \
             ORDER BY ORDINAL_POSITION"
        );
        let keys = format!(
            "SELECT COLUMN_NAME, INDEX_NAME = 'PRIMARY', INDEX_TYPE = 'HASH' AND SEQ_IN_INDEX = 1 \
             AND EXISTS (SELECT 1 FROM information_schema.TABLES WHERE {of_it} AND ENGINE <> 'MEMORY') \
             FROM information_schema.STATISTICS WHERE {of_it} ORDER BY SEQ_IN_INDEX"
        );
        let failed =
            |source| self.server.failed(format!("asking for the columns of {schema}.{name}"), source);
        let columns = self.connection.query(columns).map_err(failed)?;
        // Without a primary key it is the first UNIQUE one of which no column may be NULL that a server takes for it, and shows so.
        let is_key = |row: &Row| row.string(5) == "PRI";
        let stands_in: Vec<_> =
            (0..).zip(&columns.rows).filter(|(_, row)| is_key(row)).map(|(place, _)| place).collect();
        let columns: Vec<_> = columns.into_iter().map(|row| column(&row)).collect();
        let (mut primary_key, mut hidden) = (Vec::new(), 0);
        for row in self.connection.query(keys).map_err(failed)? {
            let place = columns.iter().position(|column| column.name == row.string(0));
            primary_key.extend(place.filter(|_| row.string(1) == "1"));
            // MariaDB keeps the hashes of a UNIQUE key over long columns in a column of its own.
            hidden += usize::from(row.string(2) == "1");
        }
        if primary_key.is_empty() {
            primary_key = stands_in;
        }
        Ok(Definition { columns, primary_key, hidden })
    }
}

fn column(row: &Row) -> DefinedColumn {
    const BYTES: u16 = 63;
    let (column_type, extra) = (row.string(2), row.string(4).to_uppercase());
    let data_type = row.string(1).to_lowercase();
    DefinedColumn {
        name: row.string(0),
        most: row.parse(6).unwrap_or(0),
        is_ascii: row.string(3) == "ascii",
        is_unsigned: column_type.contains(" unsigned"),
        // DEFAULT_GENERATED, of MySQL, is a default that is an expression.
        is_generated: ["VIRTUAL", "STORED", "PERSISTENT"].iter().any(|word| extra.starts_with(word)),
        collation: row.text(3).map_or(Some(BYTES), |name| charset::number(&name)),
        words: if matches!(&*data_type, "enum" | "set") { words(&column_type) } else { Vec::new() },
        data_type,
    }
}
