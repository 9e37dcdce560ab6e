//! The ways of rows into a table, which of them a server takes, and the statements for each.

use std::collections::BTreeMap;

use drover_db::table::ValueKind;
use drover_db::wire::ParameterKind;
use drover_db::{Cluster, Connection, Row, Server, Vendor, quote, server};
use drover_format::files::Compression;
use drover_format::manifest::{Column, Table};

use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::{Error, Result};

/// Bytes of values that are sent at a time, about.
pub(super) const BATCH: usize = 256 << 10;
/// Lines are taken apart in pieces of this many bytes.
pub(super) const PIECE: usize = 64 << 10;
/// The longest row that is sent as values, in bytes.
pub(super) const LONGEST_ROW: usize = 256 << 10;
/// What the server must take in one packet for these, in bytes; the default is 16 times as much.
const PACKET: usize = 1 << 20;

/// How lines come into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// As the values of a prepared INSERT. The table must be one that forgets them if anything goes wrong.
    Values,
    /// As a file in this character set.
    File(Charset),
    /// As INSERT statements of at most so many bytes, where the server takes no files.
    Inserts(usize),
}

impl Way {
    /// The way for columns that hold bytes.
    pub(crate) fn of_bytes(self) -> Self {
        match self {
            Self::Inserts(most) => Self::Inserts(most),
            Self::Values | Self::File(_) => Self::File(Charset::Binary),
        }
    }
}

/// What a file's bytes are to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// Bytes, which a column takes as text of its own character set: right for all columns.
    Binary,
    /// Text in the character set that all columns have. MySQL need not convert it.
    Utf8mb4,
}

/// What of these a server takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Takes {
    values: bool,
    /// Whether a value may stand within an expression.
    converted: bool,
    files: bool,
    /// Bytes of a statement.
    packet: usize,
    /// Whether it takes the values of many rows at once in one command.
    bulk: bool,
    /// Whether values may come by prepared statements.
    prepares: bool,
    /// Whether its transactions are limited, so that rows are committed in parts.
    is_limited: bool,
    /// Whether it answers at once.
    pub(crate) is_near: bool,
}

/// Before it, CONVERT of a value is NULL for all rows behind a NULL of the same statement. Found with MariaDB 10.2.11, and not with 10.5.23.
const KEEPS_VALUES_BEHIND_NULL: (u32, u32, u32) = (10, 5, 0);

impl Takes {
    /// Asks; `files` says whether the server takes these.
    pub(crate) fn of(connection: &mut Connection, files: bool) -> Result<Self> {
        let most =
            server::variable(connection, "max_allowed_packet").doing(|| "reading max_allowed_packet")?;
        let packet = most.and_then(|most| most.parse().ok()).unwrap_or(PACKET);
        // A node of Galera whose table another node changes (ALTER TABLE) rolls prepared statements back, says that they came in, and in the end
        // hangs with them (10.11.19, 2 of 6 restores).
        let cluster = Cluster::of(connection).doing(|| "asking for the target's cluster")?;
        let prepares = cluster != Some(Cluster::Galera);
        let bulk = connection.takes_bulk();
        let values = bulk && prepares && packet >= PACKET;
        let server = Server::of(connection).doing(|| "asking for the server's version")?;
        let converted = server.numbers() >= KEEPS_VALUES_BEHIND_NULL;
        let is_near = server::is_near(connection).doing(|| "asking the server")?;
        let is_limited = server.is_tidb();
        Ok(Self { values, converted, files, packet, bulk, prepares, is_limited, is_near })
    }

    /// Whether a table with these columns takes values.
    pub(crate) fn values(self, columns: &[Column]) -> bool {
        self.values
            && has_values(columns)
            && (self.converted || columns.iter().all(|column| column.load.is_none()))
    }

    /// Whether tables whose columns are of known kinds take values by many prepared statements.
    pub(crate) fn many_values(self) -> bool {
        !self.files && !self.bulk && self.prepares && !self.is_limited && self.packet >= PACKET
    }

    /// Whether rows come as statements where they do not come as values.
    pub(crate) fn takes_no_files(self) -> bool {
        !self.files
    }

    /// As statements, if the table's rows can come so.
    pub(crate) fn inserts(self, table: &Table) -> Option<Way> {
        table.columns.iter().all(is_used_once).then_some(Way::Inserts(self.packet))
    }

    /// The way for what cannot come as values, if files come in this character set.
    ///
    /// # Errors
    /// If the table's rows can come as a file only, and the server takes none.
    pub(crate) fn otherwise(self, charset: Charset, table: &Table, target: &Name) -> Result<Way> {
        if self.files {
            return Ok(Way::File(charset));
        }
        match table.columns.iter().find(|column| !is_used_once(column)) {
            None => Ok(Way::Inserts(self.packet)),
            Some(column) => Err(Error::with_hint(
                format!(
                    "{target}: column '{}' is loaded by an expression that needs a file, and the server takes none (local_infile is OFF)",
                    column.name
                ),
                "--enable-local-infile switches it on meanwhile",
            )),
        }
    }
}

/// The character set in which files for a table are loaded fastest.
pub(crate) fn charset(
    connection: &mut Connection,
    vendor: Vendor,
    table: &Table,
    target: &Name,
) -> Result<Charset> {
    // Only for MySQL it is less work.
    if vendor != Vendor::MySql || table.columns.iter().any(|column| column.load.is_some()) {
        return Ok(Charset::Binary);
    }
    let all = kinds(connection, target)?.into_values().all(|holds| is_utf8mb4(holds.value));
    Ok(if all { Charset::Utf8mb4 } else { Charset::Binary })
}

/// What a column of a table holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holds {
    value: ValueKind,
    /// What its values are in binary, if they are the same as in text without a doubt.
    binary: Option<ParameterKind>,
}

/// What the columns hold that a table's rows have; `None` for one that is loaded by an expression.
pub(crate) fn holds(connection: &mut Connection, table: &Table, target: &Name) -> Result<Vec<Option<Holds>>> {
    let kinds = kinds(connection, target)?;
    let of_column = |column: &Column| kinds.get(&column.name).copied().filter(|_| column.load.is_none());
    Ok(table.columns.iter().map(of_column).collect())
}

/// For each column, whether its values can stand in a statement as text, which is UTF-8: a server reads a string that is marked as bytes
/// more slowly.
pub(crate) fn as_text(columns: &[Option<Holds>]) -> Vec<bool> {
    columns.iter().map(|column| column.is_some_and(|holds| is_utf8mb4(holds.value))).collect()
}

/// What the columns' values are in binary, if that is known of all.
pub(crate) fn in_binary(columns: &[Option<Holds>]) -> Option<Vec<ParameterKind>> {
    columns.iter().map(|column| column.and_then(|holds| holds.binary)).collect()
}

fn is_utf8mb4(kind: ValueKind) -> bool {
    matches!(kind, ValueKind::Number | ValueKind::Word | ValueKind::Utf8)
}

/// What the columns of a table hold.
fn kinds(connection: &mut Connection, target: &Name) -> Result<BTreeMap<String, Holds>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, DATA_TYPE, CHARACTER_SET_NAME, COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE {}",
        target.condition()
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {target}"))?;
    let kind = |row: Row| {
        let data_type = row.string(2).to_ascii_lowercase();
        let value = ValueKind::of(&data_type, row.text(3).as_deref());
        let is_unsigned = row.string(5).to_ascii_lowercase().contains("unsigned");
        (row.string(4), Holds { value, binary: binary(&data_type, is_unsigned, value) })
    };
    Ok(rows.into_iter().filter(|row| target.begins(row)).map(kind).collect())
}

/// What the values of a type are in binary. Of others, such as BIT, ENUM, YEAR and TIME, servers have their own ideas.
fn binary(data_type: &str, is_unsigned: bool, value: ValueKind) -> Option<ParameterKind> {
    match (data_type, value) {
        ("tinyint" | "smallint" | "mediumint" | "int" | "bigint", _) => {
            Some(if is_unsigned { ParameterKind::Unsigned } else { ParameterKind::Int })
        }
        ("decimal", _) => Some(ParameterKind::Decimal),
        ("float" | "double", _) => Some(ParameterKind::Double),
        ("date" | "datetime" | "timestamp", _) => Some(ParameterKind::Moment),
        ("char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext", ValueKind::Utf8) => {
            Some(ParameterKind::Text)
        }
        ("binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob", _) => {
            Some(ParameterKind::Bytes)
        }
        _ => None,
    }
}

/// What comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The columns that the lines have.
    pub(crate) columns: &'a [Column],
    /// Those that the server computes.
    pub(crate) computed: &'a [String],
    pub(crate) target: &'a Name,
    /// The name of the file or chunk, for the server's own messages.
    pub(crate) file: &'a str,
    /// Which columns' values stand in a statement as text: see [`as_text`]. Those beyond it as bytes.
    pub(crate) as_text: &'a [bool],
    /// What the columns' values are in binary, where they come so: see [`in_binary`].
    pub(crate) kinds: &'a [ParameterKind],
    /// Whether the server answers at once.
    pub(crate) is_near: bool,
}

/// Whether lines can come as values.
pub(crate) fn has_values(columns: &[Column]) -> bool {
    !columns.is_empty() && columns.iter().all(is_used_once)
}

/// Whether a value stands in its column's expression just once.
fn is_used_once(column: &Column) -> bool {
    column.load.as_ref().is_none_or(|load| load.matches("@value").count() == 1)
}

impl Rows<'_> {
    /// The statement that takes values.
    pub(super) fn insert(self) -> String {
        let value =
            |column: &Column| column.load.as_ref().map_or("?".into(), |load| load.replace("@value", "?"));
        let values: Vec<_> = self.columns.iter().map(value).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", self.target, self.names(), values.join(", "))
    }

    /// The columns' names, as a statement has them.
    pub(super) fn names(self) -> String {
        quote::identifiers(self.columns.iter().map(|column| column.name.as_str()))
    }

    /// What a statement of literals begins with. IGNORE makes warnings of what does not come in as it was sent, as LOAD DATA LOCAL does.
    pub(super) fn insert_head(self) -> Vec<u8> {
        format!("INSERT IGNORE INTO {} ({}) VALUES ", self.target, self.names()).into_bytes()
    }

    /// The statement that takes a file.
    pub(super) fn load_data(self, charset: Charset) -> String {
        let (mut fields, mut assignments) = (Vec::new(), Vec::new());
        for (index, column) in self.columns.iter().enumerate() {
            let name = quote::identifier(&column.name);
            match &column.load {
                None => fields.push(name),
                Some(expression) => {
                    let variable = format!("@v{index}");
                    assignments.push(format!("{name} = {}", expression.replace("@value", &variable)));
                    fields.push(variable);
                }
            }
        }
        if fields.is_empty() {
            fields.push("@unused".into());
        }
        assignments.extend(self.computed.iter().map(|name| format!("{} = DEFAULT", quote::identifier(name))));
        let set =
            if assignments.is_empty() { String::new() } else { format!(" SET {}", assignments.join(", ")) };
        let charset = match charset {
            Charset::Binary => "binary",
            Charset::Utf8mb4 => "utf8mb4",
        };
        // TiDB unpacks what a packed file's name promises: the rows come unpacked.
        let file = self.file.strip_suffix(Compression::of(self.file).extension()).unwrap_or(self.file);
        format!(
            "LOAD DATA LOCAL INFILE {} INTO TABLE {} CHARACTER SET {charset} FIELDS TERMINATED BY '\\t' ESCAPED BY \
             '\\\\' LINES TERMINATED BY '\\n' ({}){set}",
            quote::string(file),
            self.target,
            fields.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, load: Option<&str>) -> Column {
        Column { name: name.into(), read: None, load: load.map(Into::into) }
    }

    #[test]
    fn a_file_goes_into_columns_and_expressions() {
        let columns = [column("a", None), column("j", Some("CONVERT(@value USING utf8mb4)"))];
        let target = Name::new("s", "t");
        let computed = ["g".to_owned()];
        let rows = Rows {
            columns: &columns,
            computed: &computed,
            target: &target,
            file: "s/t.00001.tsv.zst",
            as_text: &[],
            kinds: &[],
            is_near: true,
        };
        let sql = rows.load_data(Charset::Binary);
        assert!(
            sql.starts_with("LOAD DATA LOCAL INFILE 's/t.00001.tsv' INTO TABLE `s`.`t` CHARACTER SET binary"),
            "{sql}"
        );
        let end = r"LINES TERMINATED BY '\n' (`a`, @v1) SET `j` = CONVERT(@v1 USING utf8mb4), `g` = DEFAULT";
        assert!(sql.ends_with(end), "{sql}");
        let rows = Rows { columns: &[], computed: &[], ..rows };
        assert!(rows.load_data(Charset::Utf8mb4).ends_with("(@unused)"));
    }

    #[test]
    fn values_go_into_the_same() {
        let columns = [column("a", None), column("j", Some("CONVERT(@value USING utf8mb4)"))];
        let target = &Name::new("s", "t");
        let (as_text, kinds, is_near) = (&[], &[], true);
        let rows = Rows { columns: &columns, computed: &[], target, file: "", as_text, kinds, is_near };
        assert_eq!(rows.insert(), "INSERT INTO `s`.`t` (`a`, `j`) VALUES (?, CONVERT(? USING utf8mb4))");
        assert!(has_values(&columns));
        assert!(!has_values(&[]));
        assert!(!has_values(&[column("a", Some("IF(@value = '', NULL, @value)"))]));
    }
}
