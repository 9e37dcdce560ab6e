//! What triggers change in other tables, and where that leads: by what they call, by triggers of those tables, and by foreign keys.
//! Rows that a foreign key changes run no triggers, on both vendors. A table that the statement uses is changed so only by a foreign
//! key: anything else ends with error 1442, but possibly behind the first parts.

use std::collections::BTreeSet;

use drover_db::grants::Held;
use drover_db::sql::Dialect;
use drover_db::table::{Name, columns};
use drover_db::{Connection, Row, quote};

use crate::code::Reference;
use crate::error::Doing;
use crate::foreign_keys::{self, Cascade, Change};
use crate::functions;
use crate::program::{Effect, effects};
use crate::table;
use crate::triggers::{self, Trigger};
use crate::{Error, Result};

/// The tables that must not be changed beside the statement.
pub(crate) struct Used<'a> {
    pub(crate) walked: &'a Name,
    /// What subqueries read.
    pub(crate) reads: &'a [Name],
}

/// The text of a trigger or of what it calls.
struct Program {
    /// The trigger of the statement's table with which it begins.
    trigger: String,
    /// In which names without a schema are.
    schema: String,
    text: String,
    dialect: Dialect,
}

/// Follows the triggers of a table; returns what could not be followed.
///
/// # Errors
/// If they lead to a table that the statement uses.
pub(crate) fn check(
    connection: &mut Connection,
    table: &Name,
    triggers: &[Trigger],
    used: &Used<'_>,
) -> Result<Vec<String>> {
    if triggers.is_empty() {
        return Ok(Vec::new());
    }
    let held = Held::of(connection).doing(|| "reading the account's privileges")?;
    let mut hidden = Vec::new();
    for table in used.reads.iter().chain([used.walked]) {
        if foreign_keys::may_be_hidden(connection, &held, table)? {
            hidden.push(table);
        }
    }
    let is_safe = used.reads.is_empty() && hidden.is_empty();
    if is_safe && !foreign_keys::is_changed_by_any(connection, used.walked)? {
        return Ok(Vec::new());
    }
    let (seen, ahead, unknown) = Default::default();
    let mut search = Search { connection, held, used, hidden, seen, ahead, unknown };
    for trigger in triggers {
        search.add(&trigger.name, table, trigger);
    }
    while let Some(program) = search.ahead.pop() {
        search.follow(&program)?;
    }
    Ok(search.unknown)
}

struct Search<'a> {
    connection: &'a mut Connection,
    held: Held,
    used: &'a Used<'a>,
    /// Those whose foreign keys the account may not see.
    hidden: Vec<&'a Name>,
    seen: BTreeSet<(String, Option<Change>)>,
    ahead: Vec<Program>,
    unknown: Vec<String>,
}

impl Search<'_> {
    fn add(&mut self, first: &str, table: &Name, trigger: &Trigger) {
        self.ahead.push(Program {
            trigger: first.into(),
            schema: table.schema.clone(),
            text: trigger.text.clone(),
            dialect: trigger.dialect,
        });
    }

    fn follow(&mut self, program: &Program) -> Result<()> {
        for effect in effects(&program.text, program.dialect) {
            match effect {
                Effect::Changes(table, change) => self.change(program, &table, change)?,
                Effect::Calls(routine) => self.call(program, &routine, true)?,
                Effect::Asks(function) => self.call(program, &function, false)?,
            }
        }
        Ok(())
    }

    fn change(&mut self, program: &Program, table: &Reference, change: Change) -> Result<()> {
        let first = &program.trigger;
        let name = named(program, table);
        let found = table::find(self.connection, &name)?.filter(|found| found.is_table());
        let Some(name) = found.map(|found| found.name) else {
            self.unknown
                .push(format!("the trigger {first} changes {name}, which is a view or cannot be seen"));
            return Ok(());
        };
        if !self.seen.insert((name.to_string(), Some(change.clone()))) {
            return Ok(());
        }
        if self.is_used(&name) {
            return Err(self.refused(first, &name, None));
        }
        if !self.held.on_table("TRIGGER", &name.schema, &name.name) {
            self.unknown.push(format!(
                "the trigger {first} changes {name}, whose triggers this account may not see (TRIGGER)"
            ));
        }
        let triggers = triggers::read(self.connection, &name, change.event())?;
        let change = self.with_own(&name, change, &triggers)?;
        for trigger in &triggers {
            self.add(first, &name, trigger);
        }
        let change_goes_on = change != Change::Inserted;
        let cascades = foreign_keys::all_cascades(self.connection, &name, change)?;
        if change_goes_on {
            self.unknown.extend(self.hidden.iter().map(|hidden| {
                format!(
                    "the trigger {first} changes {name}, and this account may not see the foreign keys of {hidden} (REFERENCES)"
                )
            }));
        }
        match cascades.iter().find(|cascade| self.is_used(&cascade.child)) {
            Some(cascade) => Err(self.refused(first, &cascade.child, Some(cascade))),
            None => Ok(()),
        }
    }

    /// With the columns that follow others or that a trigger sets before the row is written.
    fn with_own(&mut self, table: &Name, change: Change, triggers: &[Trigger]) -> Result<Change> {
        let Change::Updated(Some(mut set)) = change else { return Ok(change) };
        let all = columns(self.connection, table).doing(|| format!("reading the columns of {table}"))?;
        let more = all.into_iter().filter(|column| {
            !column.generation.is_empty()
                || triggers.iter().any(|trigger| trigger.is_before && trigger.may_set(&column.name))
        });
        set.extend(more.map(|column| column.name.to_lowercase()));
        Ok(Change::Updated(Some(set)))
    }

    fn call(&mut self, program: &Program, routine: &Reference, is_procedure: bool) -> Result<()> {
        let name = named(program, routine);
        if !self.seen.insert((name.to_string(), None)) {
            return Ok(());
        }
        let sql = format!(
            "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_BODY, ROUTINE_DEFINITION, SQL_MODE FROM information_schema.ROUTINES WHERE \
             ROUTINE_SCHEMA = {} AND ROUTINE_NAME = {}",
            quote::string(&name.schema),
            quote::string(&name.name)
        );
        let rows = self.connection.query(sql).doing(|| format!("reading the routine {name}"))?;
        let is_hidden = rows.rows.is_empty() && (is_procedure || self.may_be_hidden(routine, &name));
        let body = |row: &Row| row.text(3).filter(|_| row.string(2) == "SQL");
        if is_hidden || rows.rows.iter().any(|row| body(row).is_none()) {
            let what = match rows.rows.is_empty() && routine.schema.is_some() {
                true => "which is a function of a package, or one that this account may not see",
                false => "whose text this account may not see",
            };
            self.unknown.push(format!("the trigger {} calls {name}, {what}", program.trigger));
        }
        self.ahead.extend(rows.rows.iter().filter_map(|row| {
            let (trigger, schema) = (program.trigger.clone(), row.string(0));
            Some(Program {
                trigger,
                schema,
                text: body(row)?,
                dialect: Dialect::of(&row.string(4), "utf8mb4"),
            })
        }));
        Ok(())
    }

    /// Whether it may be a stored function that is not shown. Who has EXECUTE on a schema is shown all of them.
    fn may_be_hidden(&self, function: &Reference, name: &Name) -> bool {
        let is_known = triggers::is_known(&function.name) || functions::is_known(&function.name);
        // What is called `a.b()` may be a function of a package (MariaDB), which the catalogue does not name.
        function.schema.is_some() || !is_known && !self.held.on_schema("EXECUTE", &name.schema)
    }

    fn is_used(&self, table: &Name) -> bool {
        table == self.used.walked || self.used.reads.contains(table)
    }

    fn refused(&self, trigger: &str, table: &Name, by: Option<&Cascade>) -> Error {
        let by = by.map_or_else(String::new, |Cascade { parent, constraint, rule, .. }| {
            format!(" by the foreign key {constraint} to {parent} ({rule})")
        });
        let reason = match table == self.used.walked {
            true => format!(
                "the trigger {trigger} changes rows of {table}{by}: a part would change rows of others"
            ),
            false => format!(
                "a subquery reads {table}, which the trigger {trigger} changes{by}: in parts it would not come to the same"
            ),
        };
        Error::with_hint(reason, "drop the trigger for the time of the change, or run the statement as it is")
    }
}

fn named(program: &Program, reference: &Reference) -> Name {
    Name::new(reference.schema.as_ref().unwrap_or(&program.schema), &reference.name)
}
