//! What the server knows of the tables that a statement names, and what speaks against running it in parts.

use drover_db::grants::Held;
use drover_db::table::{ColumnFacts, Mark, Name, columns};
use drover_db::{Connection, Row, quote, server};

use crate::code::{Reference, Verb};
use crate::defaults::{self, Moment};
use crate::error::Doing;
use crate::foreign_keys;
use crate::side_effects::{self, Used};
use crate::statement::Statement;
use crate::triggers::{self, Trigger};
use crate::{Error, Result};

/// The table that is walked.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: Name,
    pub(crate) columns: Vec<ColumnFacts>,
    /// Columns that get the time whenever a row is updated.
    pub(crate) timed: Vec<String>,
    /// The server's guess.
    pub(crate) rows: u64,
    /// When it was created, as the server tells it.
    pub(crate) created: Option<String>,
    /// What stands for it in InnoDB.
    pub(crate) mark: Mark,
    /// Those that run before a row is updated.
    pub(crate) triggers: Vec<Trigger>,
    /// Defaults of it that the statement takes, and that tell the time.
    pub(crate) moments: Vec<Moment>,
}

/// What a table is in the catalogue.
pub(crate) struct Relation {
    pub(crate) name: Name,
    kind: String,
    engine: String,
    rows: u64,
    created: Option<String>,
}

impl Relation {
    /// Whether it holds rows of its own.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind.as_str(), "BASE TABLE" | "SYSTEM VERSIONED")
    }
}

/// What the options say of the tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    /// Whether removed rows are kept.
    pub(crate) archives: bool,
    /// Whether the statement is run though there may be triggers that the account does not see.
    pub(crate) allows_hidden_triggers: bool,
}

/// Looks at all tables that a statement names.
///
/// # Errors
/// If one is not there, or the statement would not come to the same in parts.
pub(crate) fn examine(
    connection: &mut Connection,
    statement: &Statement,
    given: Given,
    warnings: &mut Vec<String>,
) -> Result<Table> {
    let walked = transactional(connection, &statement.table)?;
    check_target(connection, statement, &walked.name)?;
    let reads = check_reads(connection, statement, &walked.name, warnings)?;
    check_calls(connection, statement)?;
    foreign_keys::check(connection, statement.verb, &walked.name, &reads, given.archives, warnings)?;
    let used = Used { walked: &walked.name, reads: &reads };
    let mut triggers = check_triggers(connection, statement, &used, given, warnings)?;
    triggers.retain(|trigger| trigger.is_before && statement.verb == Verb::Update);
    let target = statement.target.as_ref().map(|target| relation(connection, target)).transpose()?;
    let target = target.map(|target| target.name);
    defaults::note(connection, statement, target.as_ref().unwrap_or(&walked.name), warnings)?;
    let others: Vec<_> = reads.iter().cloned().chain(target).collect();
    let moments = defaults::moments(connection, statement, &walked.name, &others)?;
    let columns =
        columns(connection, &walked.name).doing(|| format!("reading the columns of {}", walked.name))?;
    let timed = timed_columns(connection, &walked.name)?;
    note_times(statement, &timed, warnings);
    let mark = drover_db::table::mark(connection, &walked.name)
        .doing(|| format!("asking for InnoDB's number of {}", walked.name))?;
    let (rows, created) = (walked.rows, walked.created);
    Ok(Table { name: walked.name, columns, timed, rows, created, mark, triggers, moments })
}

/// The table's full name.
fn named(connection: &mut Connection, reference: &Reference) -> Result<Name> {
    let schema = match &reference.schema {
        Some(schema) => Some(schema.clone()),
        None => connection
            .first("SELECT DATABASE()")
            .doing(|| "asking for the schema")?
            .and_then(|row| row.text(0)),
    };
    let schema = schema.ok_or_else(|| {
        Error::with_hint(
            format!("which schema is the table '{}' in?", reference.name),
            "name it with -D, or write SCHEMA.TABLE in the statement",
        )
    })?;
    Ok(Name::new(&schema, &reference.name))
}

fn relation(connection: &mut Connection, reference: &Reference) -> Result<Relation> {
    let name = named(connection, reference)?;
    find(connection, &name)?.ok_or_else(|| {
        Error::with_hint(
            format!("there is no table {name}"),
            "is it the right server and schema, and may this account see it?",
        )
    })
}

pub(crate) fn find(connection: &mut Connection, name: &Name) -> Result<Option<Relation>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), TABLE_ROWS, CREATE_TIME FROM information_schema.TABLES WHERE \
         TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote::string(&name.schema),
        quote::string(&name.name)
    );
    let rows = connection.query(sql).doing(|| format!("looking for {name}"))?;
    let folds = server::takes_any_case(connection).doing(|| "reading lower_case_table_names")?;
    // The catalogue takes `Shop` and `shop` for the same, also where the server does not.
    let is_it = |row: &&Row| folds || row.string(0) == name.schema && row.string(1) == name.name;
    Ok(rows.rows.iter().find(is_it).map(|row| Relation {
        name: Name::new(&row.string(0), &row.string(1)),
        kind: row.string(2),
        engine: row.string(3),
        rows: row.parse(4).unwrap_or(0),
        created: row.text(5),
    }))
}

/// A table whose rows a transaction changes all or none of.
fn transactional(connection: &mut Connection, reference: &Reference) -> Result<Relation> {
    let found = relation(connection, reference)?;
    if !found.is_table() {
        return Err(Error::with_hint(
            format!("{} is a {}, which has no key to go along", found.name, found.kind.to_lowercase()),
            "name the table that holds the rows",
        ));
    }
    let sql = format!(
        "SELECT TRANSACTIONS FROM information_schema.ENGINES WHERE ENGINE = {}",
        quote::string(&found.engine)
    );
    let row = connection.first(sql).doing(|| "reading what the storage engines can do")?;
    match row.is_some_and(|row| row.string(0) == "YES") {
        true => Ok(found),
        false => Err(Error::with_hint(
            format!(
                "{} is a table of {}, which has no transactions: a part that fails could not be undone",
                found.name, found.engine
            ),
            "ALTER TABLE … ENGINE = InnoDB",
        )),
    }
}

fn check_target(connection: &mut Connection, statement: &Statement, walked: &Name) -> Result<()> {
    let Some(target) = &statement.target else { return Ok(()) };
    let target = transactional(connection, target)?;
    match target.name == *walked {
        true => Err(Error::with_hint(
            format!(
                "the statement inserts into the table {walked} that it reads: later parts would read what earlier ones inserted"
            ),
            "insert into another table first",
        )),
        false => Ok(()),
    }
}

/// The tables that subqueries read.
fn check_reads(
    connection: &mut Connection,
    statement: &Statement,
    walked: &Name,
    warnings: &mut Vec<String>,
) -> Result<Vec<Name>> {
    let target = statement.target.as_ref().map(|target| named(connection, target)).transpose()?;
    let mut names = Vec::new();
    for reference in &statement.reads {
        let read = relation(connection, reference)?;
        if read.name == *walked || Some(&read.name) == target.as_ref() {
            return Err(Error::with_hint(
                format!(
                    "a subquery reads {}, which the statement changes or walks: in parts it would not come to the same",
                    read.name
                ),
                "put what it finds into a table first, and read that",
            ));
        }
        if !read.is_table() {
            return Err(Error::with_hint(
                format!(
                    "a subquery reads {}, a {}: what is behind it may be the table that is changed",
                    read.name,
                    read.kind.to_lowercase()
                ),
                "name the tables behind it",
            ));
        }
        warnings.push(format!("each part reads {} anew: it must not change meanwhile", read.name));
        names.push(read.name);
    }
    check_mentions(statement, target.iter().chain([walked]))?;
    Ok(names)
}

/// A subquery that is not understood may read a table all the same: its name must not stand in it, but before a dot.
fn check_mentions<'a>(statement: &Statement, used: impl Iterator<Item = &'a Name>) -> Result<()> {
    for table in used {
        let is_it = |name: &&Reference| name.name.to_lowercase() == table.name.to_lowercase();
        for mention in statement.mentions.iter().filter(is_it) {
            let schema = mention.schema.as_ref().map(|schema| schema.to_lowercase());
            if schema.is_none_or(|schema| schema == table.schema.to_lowercase()) {
                return Err(Error::with_hint(
                    format!(
                        "a subquery names {}, and {table} is changed or walked: in parts it would not come to the same",
                        mention.name
                    ),
                    "write a column of this name with its table before it, and give no alias this name",
                ));
            }
        }
    }
    Ok(())
}

/// Functions that somebody wrote may do anything.
fn check_calls(connection: &mut Connection, statement: &Statement) -> Result<()> {
    if statement.calls.is_empty() {
        return Ok(());
    }
    let names = statement.calls.iter().map(|call| quote::string(&call.name)).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_NAME IN ({names})"
    );
    let stored = connection.query(sql).doing(|| "looking for stored functions")?;
    let default =
        connection.first("SELECT DATABASE()").doing(|| "asking for the schema")?.and_then(|row| row.text(0));
    let is_called = |row: &Row| {
        statement.calls.iter().any(|call| {
            let schema = call.schema.as_ref().or(default.as_ref());
            call.name.eq_ignore_ascii_case(&row.string(1))
                && schema.is_some_and(|schema| schema.eq_ignore_ascii_case(&row.string(0)))
        })
    };
    let mut found = stored.rows.iter().find(|row| is_called(row)).map(|row| row.string(1));
    if found.is_none() {
        // Who may not read this list does not see them; the privilege to read it is rarely had.
        let loadable = connection.first(format!("SELECT name FROM mysql.func WHERE name IN ({names})"));
        found = loadable.ok().flatten().map(|row| row.string(0));
    }
    match found {
        None => Ok(()),
        Some(name) => Err(Error::with_hint(
            format!(
                "the statement calls the function {name}(), of which nobody knows whether it comes to the same in parts"
            ),
            "write what it computes into the statement",
        )),
    }
}

/// Those that run for each row that is changed.
fn check_triggers(
    connection: &mut Connection,
    statement: &Statement,
    used: &Used<'_>,
    given: Given,
    warnings: &mut Vec<String>,
) -> Result<Vec<Trigger>> {
    let (table, event) = match (statement.verb, &statement.target) {
        (Verb::Delete, _) => (used.walked.clone(), "DELETE"),
        (Verb::Update, _) => (used.walked.clone(), "UPDATE"),
        (Verb::Insert, Some(target)) => (relation(connection, target)?.name, "INSERT"),
        (Verb::Insert, None) => return Ok(Vec::new()),
    };
    let held = Held::of(connection).doing(|| "reading the account's privileges")?;
    if !held.on_table("TRIGGER", &table.schema, &table.name) {
        let effect = match statement.verb {
            Verb::Update => "one that changes the key would have rows changed twice",
            Verb::Delete | Verb::Insert => "one that looks at other rows would not come to the same in parts",
        };
        let reason = format!("this account may not see the triggers of {table} (TRIGGER): {effect}");
        allow_hidden(reason, &format!("GRANT TRIGGER ON {table} to the account"), given, warnings)?;
    }
    let triggers = triggers::read(connection, &table, event)?;
    for reason in side_effects::check(connection, &table, &triggers, used)? {
        let reason = format!("{reason}: it may lead back to a table that the statement uses");
        allow_hidden(reason, "use an account that may see it", given, warnings)?;
    }
    let named = |trigger: &Trigger| {
        format!("the trigger {} of {table} runs for each row: it must not look at other rows", trigger.name)
    };
    warnings.extend(triggers.iter().map(named));
    Ok(triggers)
}

/// What cannot be seen is refused, or a warning.
fn allow_hidden(reason: String, hint: &str, given: Given, warnings: &mut Vec<String>) -> Result<()> {
    if given.allows_hidden_triggers {
        warnings.push(reason);
        return Ok(());
    }
    Err(Error::with_hint(
        reason,
        format!("{hint}; or, if you know that there is no such trigger, --allow-hidden-triggers"),
    ))
}

/// Columns that get the time whenever a row is updated.
fn timed_columns(connection: &mut Connection, table: &Name) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} AND LOWER(EXTRA) LIKE \
         '%on update%'",
        quote::string(&table.schema),
        quote::string(&table.name)
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {table}"))?;
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

fn note_times(statement: &Statement, timed: &[String], warnings: &mut Vec<String>) {
    if statement.verb != Verb::Update {
        return;
    }
    let is_set = |column: &&String| statement.assigned.iter().any(|set| set.eq_ignore_ascii_case(column));
    let own = timed.iter().filter(|column| !is_set(column));
    warnings.extend(
        own.map(|column| {
            format!("the column {column} gets the time of the part that a row is in (ON UPDATE)")
        }),
    );
}
