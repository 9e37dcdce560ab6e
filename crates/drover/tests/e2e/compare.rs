//! What a schema holds, read with nothing but the vendor's client: every value of every row, and every definition. Two
//! servers hold the same if this is the same; none of drover's own code or digests is involved.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use drover_sandbox::{Flavour, Server};

use crate::client::{Rows, client, feed, sql};
use crate::servers::{on_both, source};

/// A piece of a schema, such as `rows of t` or `TRIGGER x`, and the lines that the client prints for it.
pub(crate) type Contents = BTreeMap<String, Vec<String>>;

/// What the client says of statements that fail.
const ERRORS: &str = "errors";

/// Values longer than this many bytes are compared by their SHA-512: the result of HEX() is limited by
/// max_allowed_packet, and NULL beyond it.
const LONG: usize = 100_000;

/// Without a character set for results everything comes as the bytes that are stored.
const SETTINGS: &str =
    "SET NAMES utf8mb4; SET character_set_results = NULL; SET time_zone = '+00:00'; SET sql_mode = '';\n";

/// The rows of all tables and sequences of a schema, sorted.
pub(crate) fn rows(server: &Server, schema: &str) -> Contents {
    Catalogue::read(server, schema).rows(server)
}

/// What differs between the rows of a schema on two servers of different vendors, in the tables that both have. Of tables with
/// history the rows of now are compared, and of no table what the server computes. A value that one of them cannot hold in its own type is compared by its text.
pub(crate) fn across(source: &Server, target: &Server, schema: &str) -> Vec<String> {
    let [mut from, to] = [source, target].map(|server| Catalogue::read(server, schema));
    from.objects.retain(|object| {
        let is_there = |other: &Object| other.name == object.name && other.holds_rows();
        object.holds_rows() && object.kind != "SEQUENCE" && to.objects.iter().any(is_there)
    });
    from.objects.iter_mut().for_each(|object| object.kind = "BASE TABLE".into());
    for (table, columns) in &mut from.columns {
        let kept = to.columns.get(table).map(Vec::as_slice).unwrap_or_default();
        columns.retain(|column| kept.iter().any(|other| other.name == column.name));
        columns.retain(|column| column.generation.is_empty());
        columns
            .iter_mut()
            .filter(|column| column.data_type == "json")
            .for_each(|json| json.data_type = "uuid".into());
    }
    let [mut expected, mut found] = [from.rows(source), from.rows(target)];
    // MariaDB has no negative zero.
    let unsigned = |line: &String| -> String {
        line.split('\t').map(|field| if field == "-0" { "0" } else { field }).collect::<Vec<_>>().join("\t")
    };
    for lines in expected.values_mut().chain(found.values_mut()) {
        *lines = lines.iter().map(unsigned).collect();
        lines.sort();
    }
    differences(&expected, &found)
}

/// Rows and definitions.
pub(crate) fn everything(server: &Server, schema: &str) -> Contents {
    let catalogue = Catalogue::read(server, schema);
    let mut contents = ask(server, &[catalogue.definition_questions(), catalogue.row_questions()].concat());
    if !contents[ERRORS].is_empty() {
        // Of a definition an error is an answer, of rows it is none.
        contents = ask(server, &catalogue.definition_questions());
        contents.extend(catalogue.rows(server));
    }
    contents.insert("objects".into(), catalogue.objects.iter().map(|object| format!("{object:?}")).collect());
    contents
}

/// The same with those scheduled events on that are off as on a replica.
pub(crate) fn with_events_on(contents: Contents) -> Contents {
    let on = |line: String| {
        let off = ["DISABLE ON SLAVE", "DISABLE ON REPLICA", "REPLICA_SIDE_DISABLED", "SLAVESIDE_DISABLED"];
        off.iter()
            .fold(line, |line, off| line.replace(off, if off.contains('_') { "ENABLED" } else { "ENABLE" }))
    };
    contents.into_iter().map(|(what, lines)| (what, lines.into_iter().map(on).collect())).collect()
}

/// Panics if the contents differ.
pub(crate) fn assert_same(expected: &Contents, found: &Contents) {
    let differences = differences(expected, found);
    assert!(differences.is_empty(), "the target differs:\n{}", differences.join("\n"));
}

/// What differs, each in a few lines; empty if nothing does.
pub(crate) fn differences(expected: &Contents, found: &Contents) -> Vec<String> {
    let titles: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let differ = |title: &&&String| expected.get(**title) != found.get(**title);
    titles
        .iter()
        .filter(differ)
        .map(|title| describe(title, expected.get(*title), found.get(*title)))
        .collect()
}

fn describe(title: &str, expected: Option<&Vec<String>>, found: Option<&Vec<String>>) -> String {
    let (Some(expected), Some(found)) = (expected, found) else {
        return format!("{title}: {} on the target", if found.is_some() { "only" } else { "not" });
    };
    let only_in = |a: &[String], b: &[String]| {
        let lines =
            a.iter().filter(|line| !b.contains(line)).take(3).map(|line| line.chars().take(2000).collect());
        lines.collect::<Vec<String>>().join("\n              ")
    };
    format!(
        "{title}: {} and {} lines\n      source: {}\n      target: {}",
        expected.len(),
        found.len(),
        only_in(expected, found),
        only_in(found, expected)
    )
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    name: String,
    /// As information_schema calls it.
    kind: String,
    /// What else is to be the same: a table's engine, a trigger's place in the order.
    more: String,
}

impl Object {
    fn holds_rows(&self) -> bool {
        matches!(self.kind.as_str(), "BASE TABLE" | "SYSTEM VERSIONED" | "SEQUENCE")
    }

    /// As SHOW CREATE calls it.
    fn word(&self) -> &str {
        match self.kind.as_str() {
            "BASE TABLE" | "SYSTEM VERSIONED" => "TABLE",
            other => other,
        }
    }
}

struct Column {
    name: String,
    data_type: String,
    generation: String,
}

impl Column {
    /// Expressions that between them show every bit of a value.
    fn expressions(&self) -> String {
        let name = quoted(&self.name);
        let hex = |value: &str| {
            format!(
                "IF(LENGTH({value}) > {LONG}, CONCAT(LENGTH({value}), ' bytes ', SHA2({value}, 512)), HEX({value}))"
            )
        };
        match self.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" => name,
            "timestamp" if self.generation.eq_ignore_ascii_case("ROW END") => row_end(&name),
            "date" | "datetime" | "timestamp" | "time" | "year" => name,
            "float" => format!("CAST({name} AS DOUBLE)"),
            // With the scale that it was declared with, and without.
            "double" => format!("{name}, CAST({name} AS DOUBLE)"),
            "bit" => format!("{name} + 0"),
            "enum" => format!("{name} + 0, {}", hex(&name)),
            // Added to a number it is a DOUBLE on MySQL, which has not all of its 64 bits.
            "set" => format!("CAST({name} AS UNSIGNED), {}", hex(&name)),
            "json" => format!("JSON_TYPE({name}), {}", hex(&format!("CAST({name} AS CHAR)"))),
            "uuid" | "inet4" | "inet6" => format!("CAST({name} AS CHAR)"),
            _ => hex(&name),
        }
    }

    fn is_row_time(&self) -> bool {
        self.generation.to_ascii_uppercase().starts_with("ROW ")
    }
}

/// The last TIMESTAMP, until which a row is valid that nothing has ended, is another one from MariaDB 11.5 on.
fn row_end(name: &str) -> String {
    format!("REPLACE({name}, '2106-02-07 06:28:15.999999', '2038-01-19 03:14:07.999999')")
}

/// What is in a schema.
struct Catalogue {
    schema: String,
    objects: Vec<Object>,
    columns: BTreeMap<String, Vec<Column>>,
}

impl Catalogue {
    fn read(server: &Server, schema: &str) -> Self {
        let rows = sql(server, list(server.flavour(), schema)).into_iter();
        // The comparison in the server may not tell upper from lower case.
        let rows = rows.filter(|row| unhex(&row[0]) == schema);
        let (of_columns, of_objects): (Rows, Rows) = rows.partition(|row| row[1] == COLUMN);
        let object =
            |row: Vec<String>| Object { kind: row[1].clone(), name: unhex(&row[2]), more: row[3].clone() };
        let mut objects: Vec<_> = of_objects.into_iter().map(object).collect();
        objects.sort(); // the server's order depends on its collation
        objects.dedup(); // MySQL lists libraries among the routines, too
        let mut columns = BTreeMap::<_, Vec<_>>::new();
        for row in of_columns {
            let column =
                Column { name: unhex(&row[3]), data_type: row[4].clone(), generation: row[5].clone() };
            columns.entry(unhex(&row[2])).or_default().push(column);
        }
        Self { schema: schema.into(), objects, columns }
    }

    /// All rows. That they cannot be read on two servers would look like the same rows.
    fn rows(&self, server: &Server) -> Contents {
        let mut contents = ask(server, &self.row_questions());
        let errors = contents.remove(ERRORS);
        assert_eq!(errors, Some(Vec::new()), "the rows of {} cannot be compared", self.schema);
        contents
    }

    fn row_questions(&self) -> Vec<Question> {
        let questions = self.objects.iter().filter(|object| object.holds_rows()).map(|object| {
            let name = quoted(&object.name);
            let from = if object.kind == "SYSTEM VERSIONED" { " FOR SYSTEM_TIME ALL" } else { "" };
            let list = self.select_list(object);
            Question::new(
                format!("rows of {name}"),
                format!("SELECT {list} FROM {}.{name}{from}", quoted(&self.schema)),
            )
        });
        questions.collect()
    }

    fn select_list(&self, object: &Object) -> String {
        let columns = self.columns.get(&object.name).map(Vec::as_slice).unwrap_or_default();
        if columns.is_empty() || object.kind == "SEQUENCE" {
            return "*".into();
        }
        let mut list: Vec<_> = columns.iter().map(Column::expressions).collect();
        if object.kind == "SYSTEM VERSIONED" && !columns.iter().any(Column::is_row_time) {
            list.push(format!("row_start, {}", row_end("row_end"))); // these are in no list, and there all the same
        }
        list.join(", ")
    }

    fn definition_questions(&self) -> Vec<Question> {
        let schema = quoted(&self.schema);
        let questions = self.objects.iter().map(|object| {
            let (word, name) = (object.word(), quoted(&object.name));
            let question =
                Question::new(format!("{word} {name}"), format!("SHOW CREATE {word} {schema}.{name}"));
            // The last column of SHOW CREATE TRIGGER is the time at which it was created.
            Question { cut_last_field: word == "TRIGGER", is_definition: true, ..question }
        });
        let database = Question::new("DATABASE".into(), format!("SHOW CREATE DATABASE {schema}"));
        questions.chain([database]).collect()
    }
}

/// What stands where others have the kind of their object.
const COLUMN: &str = "COLUMN";

/// Lists a schema's objects and columns: the schema first, then the kind, names in hexadecimal.
fn list(flavour: Flavour, schema: &str) -> String {
    let literal = format!("'{}'", schema.replace('\\', "\\\\").replace('\'', "''"));
    let select = |columns: [&str; 4], table: &str| {
        let [schema, kind, name, more] = columns;
        format!(
            "SELECT HEX({schema}), {kind}, HEX({name}), {more} FROM information_schema.{table} WHERE {schema} = {literal} \
             ORDER BY {name};\n"
        )
    };
    let order = "CONCAT_WS(' ', HEX(EVENT_OBJECT_TABLE), ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER)";
    let mut text = String::from(SETTINGS);
    text += &select(["TABLE_SCHEMA", "TABLE_TYPE", "TABLE_NAME", "COALESCE(ENGINE, '')"], "TABLES");
    text += &select(["ROUTINE_SCHEMA", "ROUTINE_TYPE", "ROUTINE_NAME", "''"], "ROUTINES");
    text += &select(["TRIGGER_SCHEMA", "'TRIGGER'", "TRIGGER_NAME", order], "TRIGGERS");
    text += &select(["EVENT_SCHEMA", "'EVENT'", "EVENT_NAME", "STATUS"], "EVENTS");
    if flavour == Flavour::MySql {
        text += &select(["LIBRARY_SCHEMA", "'LIBRARY'", "LIBRARY_NAME", "''"], "LIBRARIES");
    }
    text + &format!(
        "SELECT HEX(TABLE_SCHEMA), '{COLUMN}', HEX(TABLE_NAME), HEX(COLUMN_NAME), DATA_TYPE, COALESCE(GENERATION_EXPRESSION, '') \
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {literal} ORDER BY TABLE_NAME, ORDINAL_POSITION"
    )
}

/// Something that the client is asked.
#[derive(Clone)]
struct Question {
    title: String,
    sql: String,
    cut_last_field: bool,
    is_definition: bool,
}

impl Question {
    fn new(title: String, sql: String) -> Self {
        Self { title, sql, cut_last_field: false, is_definition: false }
    }
}

/// Asks all in one session; an error is an answer, too.
fn ask(server: &Server, questions: &[Question]) -> Contents {
    let mut script = String::from(SETTINGS);
    for (index, question) in questions.iter().enumerate() {
        let _infallible = write!(script, "SELECT '=#={index}';\n{};\n", question.sql);
    }
    let output = feed(client(server).arg("--force"), script.as_bytes());
    let mut contents = Contents::new();
    let mut current: Option<&Question> = None;
    for line in lines(&output.stdout) {
        if let Some(index) = line.strip_prefix("=#=") {
            let question = &questions[index.parse::<usize>().unwrap()];
            contents.insert(question.title.clone(), Vec::new());
            current = Some(question);
        } else if let Some(question) = current {
            let cut =
                line.rsplit_once('\t').filter(|_| question.cut_last_field).map_or(&*line, |(rest, _)| rest);
            // MySQL keeps what ended a program amid several statements of one packet.
            let ended = |field: &str| field.trim_end_matches([';', ' ']).to_owned();
            let line = match question.is_definition {
                true => cut.split('\t').map(ended).collect::<Vec<_>>().join("\t"),
                false => cut.to_owned(),
            };
            contents.entry(question.title.clone()).or_default().push(line);
        }
    }
    contents.values_mut().for_each(|lines| lines.sort());
    contents.insert(ERRORS.into(), lines(&output.stderr).collect());
    contents
}

/// The lines of an output; those that are not UTF-8 with escapes for all that is not ASCII.
fn lines(output: &[u8]) -> impl Iterator<Item = String> {
    let escaped =
        |&byte: &u8| if byte.is_ascii() { char::from(byte).to_string() } else { format!("\\x{byte:02x}") };
    let text = move |line: &[u8]| match std::str::from_utf8(line) {
        Ok(text) => text.to_owned(),
        Err(_) => line.iter().map(escaped).collect(),
    };
    output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(text)
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn unhex(digits: &str) -> String {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    String::from_utf8(digits.as_bytes().chunks(2).map(byte).collect()).unwrap()
}

on_both!(finds_what_differs);

/// A comparison that finds nothing must not be one that sees nothing.
fn finds_what_differs(flavour: Flavour) {
    let server = source(flavour);
    sql(
        server,
        "CREATE DATABASE compared; USE compared; SET sql_mode = '';
         CREATE TABLE t (f FLOAT, d DOUBLE, e ENUM('', 'a'), c CHAR(5) CHARACTER SET latin1, b LONGBLOB, i INT INVISIBLE);
         INSERT INTO t (f, d, e, c, b, i) VALUES (0.1, 0.1, '', 'a', REPEAT('x', 200000), 1);
         CREATE TRIGGER one BEFORE INSERT ON t FOR EACH ROW SET @x = 1;
         CREATE TRIGGER two BEFORE INSERT ON t FOR EACH ROW SET @x = 1",
    );
    let before = everything(server, "compared");
    assert_same(&before, &everything(server, "compared"));
    for (change, undo) in [
        ("UPDATE t SET f = 0.10000001", "UPDATE t SET f = 0.1"),
        ("UPDATE t SET d = 0.1 + 1e-17 + 1e-17", "UPDATE t SET d = 0.1"),
        ("UPDATE t SET e = 0", "UPDATE t SET e = ''"),
        ("UPDATE t SET c = 'A'", "UPDATE t SET c = 'a'"),
        ("UPDATE t SET b = CONCAT(REPEAT('x', 199999), 'y')", "UPDATE t SET b = REPEAT('x', 200000)"),
        ("UPDATE t SET i = NULL", "UPDATE t SET i = 1"),
        ("DROP TRIGGER two", "CREATE TRIGGER two BEFORE INSERT ON t FOR EACH ROW SET @x = 1"),
        ("DROP TRIGGER one; CREATE TRIGGER one BEFORE INSERT ON t FOR EACH ROW SET @x = 1", "DO 0"),
    ] {
        sql(server, format!("USE compared; SET sql_mode = ''; {change}"));
        assert_ne!(differences(&before, &everything(server, "compared")), [""; 0], "{change} was not seen");
        sql(server, format!("USE compared; SET sql_mode = ''; {undo}"));
    }
}
