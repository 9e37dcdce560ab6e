//! What the target takes, asked of it once.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::collations::defaults::{self, SETS, TIDB_SETS};
use drover_db::session::Use;
use drover_db::sql::partitions;
use drover_db::{Connection, Server, Vendor, er};

use crate::Result;
use crate::error::Doing;

use super::syntax::{self, Syntax};

/// Modes that some version of either vendor lacks. Others are left as they are.
const MODES: [&str; 22] = [
    "NO_AUTO_CREATE_USER",
    "IGNORE_BAD_TABLE_OPTIONS",
    "TIME_ROUND_FRACTIONAL",
    "TIME_TRUNCATE_FRACTIONAL",
    "SIMULTANEOUS_ASSIGNMENT",
    "EMPTY_STRING_IS_NULL",
    "ORACLE",
    "MSSQL",
    "POSTGRESQL",
    "DB2",
    "MAXDB",
    "MYSQL323",
    "MYSQL40",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "NO_FIELD_OPTIONS",
    "PAD_CHAR_TO_FULL_LENGTH",
    "HIGH_NOT_PRECEDENCE",
    "NO_ZERO_DATE",
    "NO_ZERO_IN_DATE",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "NO_DIR_IN_CREATE",
];

/// What is known of the server that the dump goes to.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) vendor: Vendor,
    pub(super) server: Server,
    pub(super) collations: BTreeSet<String>,
    /// Character sets, each with the collation that is its own.
    pub(super) character_sets: BTreeMap<String, String>,
    /// What it takes for a character set of [`SETS`] or [`TIDB_SETS`] that is named without a collation.
    pub(super) default_collations: BTreeMap<String, String>,
    /// Storage engines that are switched on, in capitals.
    pub(super) engines: BTreeSet<String>,
    /// Modes of [`MODES`] that it does not know.
    pub(super) unknown_modes: BTreeSet<String>,
    /// MySQL from 8.0 on partitions tables of InnoDB only: before, a plugin did it for any engine.
    pub(super) partitions_innodb_only: bool,
    /// MySQL before 5.6 reads a table as a whole only, and no partition by its name.
    pub(super) reads_partitions: bool,
    /// The tablespaces that tables can be put into by name, as far as the account sees them.
    pub(super) tablespaces: BTreeSet<String>,
    /// MySQL from 9.0 on has the type VECTOR, and MariaDB from 11.7 on.
    pub(super) has_vectors: bool,
    /// Types of [`TYPES`] that it does not know.
    pub(super) unknown_types: BTreeSet<&'static str>,
    /// Parts of CREATE TABLE that it does not read.
    pub(super) unknown_syntax: BTreeSet<Syntax>,
    /// Whether it has the function that MySQL from 8.0.4 on prints for REGEXP.
    pub(super) has_regexp_like: bool,
    /// MariaDB has it, and uuid_v4(), from 11.7 on.
    pub(super) has_uuid_v7: bool,
    /// Whether it gives a TIMESTAMP that has no default one of its own.
    pub(super) implies_timestamps: bool,
    /// Whether it lets a session write rows of the past.
    pub(super) takes_history: bool,
}

/// Whether a server lets a session write rows of the past: MariaDB from 10.11 on.
pub(crate) fn takes_history(connection: &mut Connection) -> Result<bool> {
    let known = drover_db::server::variable(connection, "system_versioning_insert_history");
    Ok(known.doing(|| "asking for system_versioning_insert_history")?.is_some())
}

/// Whether a TIMESTAMP that has no default gets one: with `explicit_defaults_for_timestamp` OFF, where this account may not set it, and on
/// servers that do not have it.
pub(crate) fn implies_timestamps(connection: &mut Connection) -> Result<bool> {
    let set = drover_db::server::variable(connection, "explicit_defaults_for_timestamp");
    Ok(set.doing(|| "asking for explicit_defaults_for_timestamp")?.as_deref() != Some("1"))
}

/// Why rows of the past are not written there.
pub(crate) fn no_history(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::MySql => "MySQL keeps no history",
        Vendor::MariaDb => {
            "MariaDB lets nobody write rows of the past before 10.11, and those of now are as of the restore"
        }
    }
}

impl Target {
    pub(crate) fn ask(connection: &mut Connection, server: &Server) -> Result<Self> {
        Ok(Self {
            vendor: server.vendor,
            server: server.clone(),
            partitions_innodb_only: server.vendor == Vendor::MySql
                && partitions::only_of_some_engines(connection)
                    .doing(|| "asking which tables may have partitions")?,
            reads_partitions: reads_partitions(connection)?,
            tablespaces: tablespaces(connection, server.vendor)?,
            collations: drover_db::collations::all(connection).doing(|| "listing collations")?,
            character_sets: character_sets(connection)?,
            default_collations: defaults::of_connection(connection, SETS.into_iter().chain(TIDB_SETS))
                .doing(|| "asking for default collations")?,
            engines: engines(connection)?,
            unknown_modes: unknown_modes(connection)?,
            has_vectors: has_vectors(connection, server.vendor)?,
            unknown_types: unknown_types(connection)?,
            unknown_syntax: syntax::unknown(connection, server.vendor)?,
            has_regexp_like: is_taken(connection, "SELECT regexp_like('a', 'a')", "asking for regexp_like")?,
            has_uuid_v7: is_taken(connection, "SELECT uuid_v7()", "asking for uuid_v7")?,
            implies_timestamps: implies_timestamps(connection)?,
            takes_history: takes_history(connection)?,
        })
    }

    pub(super) fn has_collation(&self, name: &str) -> bool {
        self.collations.contains(name)
    }

    pub(super) fn has_character_set(&self, name: &str) -> bool {
        self.character_sets.contains_key(name) || matches!(name, "utf8" | "utf8mb3")
    }

    /// The collation of a character set that is named alone.
    pub(super) fn set_default(&self, set: &str) -> Option<String> {
        let named = self.default_collations.get(&defaults::full_name(set));
        named.or_else(|| self.character_sets.get(set)).cloned()
    }

    /// Whether its events know replicas by the older word only. Sources: MySQL's manual, "What Is New in MySQL 8.2"; MariaDB's documentation,
    /// "CREATE EVENT".
    pub(super) fn names_replicas_slaves(&self) -> bool {
        self.is_mysql_before((8, 2, 0)) || self.is_mariadb_before((10, 5, 1))
    }

    /// Whether it has invisible columns. MySQL before 8.0.23 passes over the comment that they stand in. Source: MariaDB's documentation,
    /// "Invisible Columns".
    pub(super) fn hides_columns(&self) -> bool {
        self.vendor == Vendor::MySql || self.server.numbers() >= (10, 3, 3)
    }

    /// Whether a default may be an expression. Sources: MySQL's manual, "Data Type Default Values"; MariaDB's documentation, "CREATE TABLE".
    pub(super) fn takes_expressions(&self) -> bool {
        !self.is_mysql_before((8, 0, 13)) && !self.is_mariadb_before((10, 2, 1))
    }

    /// Whether it reads that part of CREATE TABLE.
    pub(super) fn reads(&self, syntax: Syntax) -> bool {
        !self.unknown_syntax.contains(&syntax)
    }

    /// Whether it is a MariaDB before that version.
    pub(super) fn is_mariadb_before(&self, version: (u32, u32, u32)) -> bool {
        self.vendor == Vendor::MariaDb && self.server.numbers() < version
    }

    /// Whether it is a MySQL before that version.
    pub(super) fn is_mysql_before(&self, version: (u32, u32, u32)) -> bool {
        self.vendor == Vendor::MySql && self.server.numbers() < version
    }

    pub(super) fn has_engine(&self, name: &str) -> bool {
        self.engines.contains(&name.to_ascii_uppercase())
    }
}

fn column(connection: &mut Connection, sql: &str) -> Result<BTreeSet<String>> {
    let rows = connection.query(sql).doing(|| sql)?;
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

fn character_sets(connection: &mut Connection) -> Result<BTreeMap<String, String>> {
    let sql = "SELECT CHARACTER_SET_NAME, DEFAULT_COLLATE_NAME FROM information_schema.CHARACTER_SETS";
    let rows = connection.query(sql).doing(|| sql)?;
    Ok(rows.into_iter().map(|row| (row.string(0), row.string(1))).collect())
}

fn engines(connection: &mut Connection) -> Result<BTreeSet<String>> {
    let sql = "SELECT UPPER(ENGINE) FROM information_schema.ENGINES WHERE SUPPORT IN ('YES', 'DEFAULT')";
    column(connection, sql)
}

/// Where the syntax is known, the table is not partitioned.
fn reads_partitions(connection: &mut Connection) -> Result<bool> {
    match connection.query("SELECT 1 FROM information_schema.ENGINES PARTITION (p) LIMIT 0") {
        Ok(_) => Ok(true),
        Err(error) if error.code().is_some() => Ok(error.code() != Some(er::PARSE_ERROR)),
        Err(error) => Err(error).doing(|| "asking for partitions"),
    }
}

/// Before 5.7 no table could be put into one; its table of them had another name there, and only an account with PROCESS sees either.
fn tablespaces(connection: &mut Connection, vendor: Vendor) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::from(["innodb_system".to_owned(), "innodb_file_per_table".to_owned()]);
    if vendor == Vendor::MariaDb {
        return Ok(names);
    }
    for table in ["INNODB_TABLESPACES", "INNODB_SYS_TABLESPACES"] {
        let sql = format!("SELECT NAME FROM information_schema.{table} WHERE SPACE_TYPE = 'General'");
        match column(connection, &sql) {
            Ok(found) => names.extend(found),
            Err(crate::Error::Server { source, .. }) if source.code().is_some() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(names)
}

/// Each mode is tried; the session is set up again afterwards.
fn unknown_modes(connection: &mut Connection) -> Result<BTreeSet<String>> {
    let mut unknown = BTreeSet::new();
    for mode in MODES {
        match connection.set("sql_mode", format_args!("'{mode}'")) {
            Ok(()) => {}
            // ER_WRONG_VALUE_FOR_VAR, ER_UNSUPPORTED_SQL_MODE
            Err(error)
                if matches!(error.code(), Some(er::WRONG_VALUE_FOR_VAR | er::UNSUPPORTED_SQL_MODE)) =>
            {
                unknown.insert(mode.to_owned());
            }
            Err(error) => return Err(error).doing(|| format!("trying the sql_mode {mode}")),
        }
    }
    crate::session::set(connection, Use::Restore)?;
    Ok(unknown)
}

fn has_vectors(connection: &mut Connection, vendor: Vendor) -> Result<bool> {
    let function = match vendor {
        Vendor::MySql => "STRING_TO_VECTOR",
        Vendor::MariaDb => "VEC_FromText",
    };
    is_taken(connection, &format!("SELECT {function}('[1]')"), "asking for vectors")
}

/// Types that not every server has, with what only those take that do.
const TYPES: [(&str, &str); 4] = [
    ("uuid", "SELECT CAST(UUID() AS UUID)"),
    ("inet6", "SELECT CAST('::1' AS INET6)"),
    ("inet4", "SELECT CAST('127.0.0.1' AS INET4)"),
    ("json", "SELECT JSON_VALID('1')"),
];

fn unknown_types(connection: &mut Connection) -> Result<BTreeSet<&'static str>> {
    let mut unknown = BTreeSet::new();
    for (name, sql) in TYPES {
        if !is_taken(connection, sql, "asking for types")? {
            unknown.insert(name);
        }
    }
    Ok(unknown)
}

fn is_taken(connection: &mut Connection, sql: &str, doing: &str) -> Result<bool> {
    match connection.query(sql) {
        Ok(_) => Ok(true),
        Err(error) if error.code().is_some() => Ok(false),
        Err(error) => Err(error).doing(|| doing),
    }
}

#[cfg(test)]
impl Target {
    /// A target as a server of the vendor without anything special.
    pub(super) fn of(vendor: Vendor) -> Self {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let common = ["utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci", "ascii_general_ci"];
        let own: &[&str] = match vendor {
            Vendor::MySql => &["utf8mb4_0900_ai_ci", "utf8mb4_0900_bin"],
            Vendor::MariaDb => &["utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_uca1400_ai_ci", "utf8mb4_nopad_bin"],
        };
        let modes: &[&str] = match vendor {
            Vendor::MySql => {
                &["NO_AUTO_CREATE_USER", "ORACLE", "EMPTY_STRING_IS_NULL", "IGNORE_BAD_TABLE_OPTIONS"]
            }
            Vendor::MariaDb => &["TIME_TRUNCATE_FRACTIONAL"],
        };
        let version = if vendor == Vendor::MySql { "9.7.4" } else { "11.8.2-MariaDB" };
        let server = Server { vendor, version: version.into(), comment: String::new() };
        Self {
            vendor,
            server: server.clone(),
            partitions_innodb_only: vendor == Vendor::MySql,
            reads_partitions: true,
            tablespaces: set(&["innodb_system", "innodb_file_per_table"]),
            collations: set(&[&common, own].concat()),
            character_sets: [
                ("utf8mb4", "utf8mb4_general_ci"),
                ("utf8mb3", "utf8mb3_general_ci"),
                ("latin1", "latin1_swedish_ci"),
                ("ascii", "ascii_general_ci"),
                ("binary", "binary"),
            ]
            .map(|(set, collation)| (set.to_owned(), collation.to_owned()))
            .into(),
            default_collations: SETS
                .into_iter()
                .chain(TIDB_SETS)
                .filter_map(|set| Some((set.to_owned(), defaults::of_server(&server, set)?)))
                .collect(),
            engines: set(match vendor {
                Vendor::MySql => &["INNODB", "MYISAM", "MEMORY", "CSV", "MRG_MYISAM", "ARCHIVE", "BLACKHOLE"],
                Vendor::MariaDb => &["INNODB", "MYISAM", "MEMORY", "CSV", "MRG_MYISAM", "ARIA"],
            }),
            unknown_modes: set(modes),
            has_vectors: vendor == Vendor::MySql,
            unknown_types: match vendor {
                Vendor::MySql => BTreeSet::from(["uuid", "inet6", "inet4"]),
                Vendor::MariaDb => BTreeSet::new(),
            },
            unknown_syntax: match vendor {
                Vendor::MySql => {
                    [Syntax::DefaultPartition, Syntax::Period, Syntax::WithoutOverlaps, Syntax::History]
                        .into()
                }
                Vendor::MariaDb => BTreeSet::new(),
            },
            has_regexp_like: vendor == Vendor::MySql,
            has_uuid_v7: vendor == Vendor::MariaDb,
            implies_timestamps: false,
            takes_history: vendor == Vendor::MariaDb,
        }
    }
}
