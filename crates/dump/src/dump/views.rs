//! The text of views. SHOW CREATE VIEW is the best source, but not for a view that cannot be used at the moment, because its
//! definer or something it reads is missing: MySQL may refuse to show it, and MariaDB shows it wrong (`group by 1` as
//! `group by ''`). The catalogue has the text as it was stored.

use drover_db::wire::Rows;
use drover_db::{Connection, Row, quote};

use super::catalog::Name;
use super::programs::{converted, definition};
use crate::error::Doing;
use crate::{Error, Result};

/// A view's text, twice.
pub(crate) struct View {
    /// The statements that create it.
    pub(crate) statements: Vec<Vec<u8>>,
    /// Its CREATE statement put together from the catalogue, to compare by where SHOW CREATE VIEW cannot be trusted. JSON
    /// duality views are not in the catalogue of views.
    pub(crate) catalogue: Option<String>,
    /// Why it cannot be used at the moment, if so.
    pub(crate) broken: Option<String>,
}

/// Reads a view.
pub(crate) fn read(connection: &mut Connection, name: &Name, schema_collation: &str) -> Result<View> {
    let looked = connection.query(format!("SELECT * FROM {name} LIMIT 0"));
    let broken = match looked.doing(|| format!("looking at view {name}")) {
        Ok(_) => None,
        Err(error) => Some(error.refusal()?),
    };
    let stored = Stored::read(connection, name)?;
    let catalogue = stored.as_ref().map(|stored| stored.create(name, ""));
    let shown = match definition(connection, "VIEW", name, schema_collation) {
        Err(error) if broken.is_some() && error.is_refusal() => None,
        shown => Some(shown?),
    };
    let statements = match (shown, &stored) {
        (Some(statements), Some(stored)) if broken.is_none() || !stored.is_mariadb() => statements,
        (_, Some(stored)) => stored.statements(connection, name)?,
        (Some(statements), None) => statements,
        (None, None) => return Err(Error::found(format!("the server can neither show nor use view {name}"))),
    };
    Ok(View { statements, catalogue, broken })
}

/// The CREATE statement put together from the catalogue.
pub(crate) fn from_catalogue(connection: &mut Connection, name: &Name) -> Result<Option<String>> {
    Ok(Stored::read(connection, name)?.map(|stored| stored.create(name, "")))
}

/// A view's row in the catalogue.
struct Stored {
    columns: Rows,
    row: Row,
}

impl Stored {
    fn read(connection: &mut Connection, name: &Name) -> Result<Option<Self>> {
        let sql = format!("SELECT * FROM information_schema.VIEWS WHERE {}", name.condition());
        let rows = connection.query(sql).doing(|| format!("reading view {name} from the catalogue"))?;
        let at = |column: &str| rows.column(column).unwrap_or(usize::MAX);
        let (own, schema) = (at("TABLE_NAME"), at("TABLE_SCHEMA"));
        let is_it = |row: &&Row| row.string(own) == name.name && row.string(schema) == name.schema;
        let row = rows.rows.iter().find(is_it).cloned();
        Ok(row.map(|row| Self { columns: Rows { columns: rows.columns, rows: Vec::new() }, row }))
    }

    fn text(&self, column: &str) -> Option<String> {
        self.row.text(self.columns.column(column)?)
    }

    /// Only MariaDB's catalogue has this column; MySQL tells the algorithm in SHOW CREATE VIEW alone.
    fn is_mariadb(&self) -> bool {
        self.columns.column("ALGORITHM").is_some()
    }

    fn create(&self, name: &Name, column_list: &str) -> String {
        let text = |column: &str| self.text(column).unwrap_or_default();
        let definer = text("DEFINER");
        let (user, host) = definer.rsplit_once('@').unwrap_or((&definer, "%"));
        let check = match text("CHECK_OPTION").as_str() {
            option @ ("CASCADED" | "LOCAL") => format!(" WITH {option} CHECK OPTION"),
            _ => String::new(),
        };
        format!(
            "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW {}{column_list} AS {}{check}",
            self.text("ALGORITHM").unwrap_or_else(|| "UNDEFINED".into()),
            quote::identifier(user),
            quote::identifier(host),
            text("SECURITY_TYPE"),
            quote::identifier(&name.name),
            text("VIEW_DEFINITION"),
        )
    }

    /// The catalogue's text is in UTF-8, whatever the view was written in.
    fn statements(&self, connection: &mut Connection, name: &Name) -> Result<Vec<Vec<u8>>> {
        let columns = if self.is_mariadb() { String::new() } else { column_list(connection, name)? };
        let create = self.create(name, &columns);
        let character_set = self.text("CHARACTER_SET_CLIENT").unwrap_or_else(|| "utf8mb4".into());
        let mut statements = vec![
            format!("SET character_set_client = {character_set}").into_bytes(),
            format!("SET collation_connection = {}", self.text("COLLATION_CONNECTION").unwrap_or_default())
                .into_bytes(),
            b"SET sql_mode = ''".to_vec(),
        ];
        statements.push(match character_set.starts_with("utf8") {
            true => create.as_bytes().to_vec(),
            false => converted(connection, &create, &character_set)?,
        });
        Ok(statements)
    }
}

/// MySQL's catalogue keeps the names of a view's columns apart from its text.
fn column_list(connection: &mut Connection, name: &Name) -> Result<String> {
    let columns = super::catalog::columns(connection, name)?;
    match columns.is_empty() {
        true => Ok(String::new()),
        false => Ok(format!(" ({})", quote::identifiers(columns.iter().map(|column| column.name.as_str())))),
    }
}
