//! Takes snapshots of servers: what they take, found out by trying it on them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Vendor, quote};
use drover_doctor::target::{DEFAULTS, Snapshot};
use drover_sandbox::{Flavour, Server};

use super::old::OLD_VARIABLES;

type Names = BTreeSet<String>;

/// An option that no server has: the way in which options are tried must find that out.
const NOT_AN_OPTION: &str = "drover_knows_no_such_option";

/// What a server takes. `variables` and `collations` are those of all servers that are known.
pub(super) fn take(server: &Server, variables: &Names, collations: &Names) -> Snapshot {
    let mut connection = connect(server);
    let vendor = drover_db::Server::of(&mut connection).unwrap().vendor;
    let (major, minor, patch) = drover_db::Server::of(&mut connection).unwrap().numbers();
    let own = own_variables(&mut connection);
    let others = variables.iter().cloned().chain(OLD_VARIABLES.iter().map(|&name| name.to_owned()));
    let options = Options::try_all(server, others.filter(|name| !own.contains(name)).collect());
    let keywords = keywords(&mut connection);
    connection.execute("CREATE DATABASE snapshot").unwrap();
    connection.execute("USE snapshot").unwrap();
    let taken = Snapshot {
        vendor,
        version: format!("{major}.{minor}.{patch}"),
        variables: own,
        options: options.listed,
        ignored: options.ignored,
        refused: options.refused,
        defaults: defaults(&mut connection, vendor),
        sql_modes: sql_modes(&mut connection),
        authentication: column(
            &mut connection,
            "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = 'ACTIVE'",
        ),
        reserved_words: keywords.iter().filter(|word| is_reserved(&mut connection, word)).cloned().collect(),
        types: types(&mut connection, &keywords),
        tables: tables(&mut connection),
        engines: column(
            &mut connection,
            "SELECT UPPER(ENGINE) FROM information_schema.ENGINES WHERE SUPPORT IN ('YES', 'DEFAULT')",
        ),
        character_sets: column(
            &mut connection,
            "SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS",
        ),
        collations: collations.iter().filter(|name| has_collation(&mut connection, name)).cloned().collect(),
    };
    connection.execute("DROP DATABASE snapshot").unwrap();
    taken
}

pub(super) fn connect(server: &Server) -> Connection {
    Connection::open(&ConnectOptions::by_socket("root", server.socket())).unwrap()
}

fn column(connection: &mut Connection, sql: &str) -> Names {
    connection
        .query(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
        .into_iter()
        .map(|row| row.string(0))
        .collect()
}

pub(super) fn own_variables(connection: &mut Connection) -> Names {
    column(connection, "SHOW GLOBAL VARIABLES").iter().map(|name| name.to_lowercase()).collect()
}

/// MariaDB lists some collations once for all the character sets that they serve, and their full names in a column of its own.
pub(super) fn own_collations(connection: &mut Connection) -> Names {
    const TABLE: &str = "information_schema.COLLATION_CHARACTER_SET_APPLICABILITY";
    let name = |name: &str| format!("SELECT {name} FROM {TABLE}");
    match connection.query(name("FULL_COLLATION_NAME")) {
        Ok(rows) => rows.into_iter().map(|row| row.string(0)).collect(),
        Err(_) => column(connection, &name("COLLATION_NAME")),
    }
}

fn has_collation(connection: &mut Connection, name: &str) -> bool {
    let set = name.split('_').next().unwrap();
    connection.query(format!("SELECT CONVERT('a' USING {set}) COLLATE {}", quote::string(name))).is_ok()
}

/// What a server says to options that are no variables of it.
#[derive(Default)]
struct Options {
    listed: Names,
    ignored: Names,
    refused: Names,
}

impl Options {
    /// Tried in one run, with `loose-` in front of each: the server warns of those that it does not know.
    fn try_all(server: &Server, names: Names) -> Self {
        let help = said(server.binaries().server_command().args(["--user=root", "--verbose", "--help"]));
        let listed: Names = help.lines().filter_map(option_of).collect();
        let (listed, others): (Names, Names) = names.into_iter().partition(|name| listed.contains(name));
        // The beginning of an option's name stands for the option; of several, it ends the run.
        let is_short =
            |name: &String| help.lines().filter_map(option_of).any(|long| long.starts_with(name.as_str()));
        let others: Names = others.into_iter().filter(|name| !is_short(name)).collect();
        let mut command = server.binaries().server_command();
        command.arg("--user=root");
        match server.flavour() {
            // It reads and judges its options, and prints its help instead of starting.
            Flavour::MariaDb => command.args(["--verbose", "--help"]),
            Flavour::MySql => {
                command.args(["--validate-config", "--log-error-verbosity=2", "--secure-file-priv="])
            }
        };
        let tried = others.iter().map(String::as_str).chain([NOT_AN_OPTION]);
        let said = said(command.args(tried.map(|name| format!("--loose_{name}=1"))));
        let unknown: Names = said.lines().filter_map(unknown_of).collect();
        assert!(unknown.contains(NOT_AN_OPTION), "{said}");
        let (refused, ignored) = others.into_iter().partition(|name| unknown.contains(name));
        Self { listed, ignored, refused }
    }
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The name in a line of the help, such as `  -P, --port=#  Port number`.
fn option_of(line: &str) -> Option<String> {
    let line = line.strip_prefix("  ").filter(|line| line.starts_with('-'))?;
    let (_, long) = line.split_once("--")?;
    let name: String = long.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    (!name.is_empty()).then(|| name.replace('-', "_"))
}

fn unknown_of(line: &str) -> Option<String> {
    let (_, rest) =
        line.split_once("unknown variable '").or_else(|| line.split_once("unknown option '--"))?;
    let name = rest.split(['=', '\'']).next()?;
    Some(name.strip_prefix("loose_")?.to_owned())
}

/// The values where nobody sets them. What the sandbox sets is set back; what cannot be is left out.
fn defaults(connection: &mut Connection, vendor: Vendor) -> BTreeMap<String, String> {
    let set = match vendor {
        Vendor::MariaDb => {
            "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', \
             'AUTO')"
        }
        Vendor::MySql => {
            "SELECT VARIABLE_NAME FROM performance_schema.variables_info WHERE VARIABLE_SOURCE <> 'COMPILED'"
        }
    };
    let set = column(connection, set);
    let mut defaults = BTreeMap::new();
    for (name, _) in DEFAULTS {
        if set.contains(name) && connection.execute(format!("SET GLOBAL {name} = DEFAULT")).is_err() {
            continue;
        }
        if let Some(row) = connection.first(format!("SHOW GLOBAL VARIABLES LIKE '{name}'")).unwrap() {
            defaults.insert(name.to_owned(), row.string(1));
        }
    }
    defaults
}

/// A mode is a bit: each that the server takes is named by it.
fn sql_modes(connection: &mut Connection) -> Names {
    let mut modes = Names::new();
    for bit in 0..63 {
        if connection.execute(format!("SET SESSION sql_mode = {}", 1u64 << bit)).is_ok() {
            modes.extend(
                connection
                    .first("SELECT @@sql_mode")
                    .unwrap()
                    .unwrap()
                    .string(0)
                    .split(',')
                    .map(ToOwned::to_owned),
            );
        }
    }
    modes.retain(|mode| {
        connection.execute(format!("SET SESSION sql_mode = '{mode}'")).is_ok() && !mode.is_empty()
    });
    connection.execute("SET SESSION sql_mode = DEFAULT").unwrap();
    modes
}

fn keywords(connection: &mut Connection) -> Names {
    let words = column(connection, "SELECT UPPER(WORD) FROM information_schema.KEYWORDS");
    let is_word = |word: &String| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    words.into_iter().filter(is_word).collect()
}

/// Whether it is a syntax error as the name of a column, or of a table.
fn is_reserved(connection: &mut Connection, word: &str) -> bool {
    [format!("CREATE TABLE t ({word} INT)"), format!("SELECT 1 FROM {word}")].iter().any(|sql| {
        let prepared = connection.execute(format!("PREPARE tried FROM {}", quote::string(sql)));
        matches!(prepared, Err(error) if error.code() == Some(1064))
    })
}

/// Types that are no keywords of MariaDB, or of old versions.
const TYPES: [&str; 11] = [
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
    "geomcollection",
    "vector",
    "xmltype",
];

/// Each keyword is tried as a type, and what plugins bring.
fn types(connection: &mut Connection, keywords: &Names) -> Names {
    let plugins = column(
        connection,
        "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_TYPE = 'DATA TYPE'",
    );
    let words = keywords.iter().chain(&plugins).map(|word| word.to_lowercase());
    let candidates = words.chain(TYPES.map(ToOwned::to_owned));
    let mut is_type = |word: &String| {
        ["", "(3)", "('a')"].iter().any(|rest| {
            let made = connection.execute(format!("CREATE TEMPORARY TABLE t (c {word}{rest})")).is_ok();
            connection.execute("DROP TEMPORARY TABLE IF EXISTS t").unwrap();
            made
        })
    };
    candidates.filter(|word| is_type(word)).collect()
}

/// What kinds of tables can be made.
fn tables(connection: &mut Connection) -> Names {
    for sql in [
        "CREATE TABLE base (c INT)",
        "CREATE VIEW view_of AS SELECT 1",
        "CREATE SEQUENCE numbers",
        "CREATE TABLE versioned (c INT) WITH SYSTEM VERSIONING",
    ] {
        let _the_other_vendor_refuses = connection.execute(sql);
    }
    column(
        connection,
        "SELECT DISTINCT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'snapshot'",
    )
}
