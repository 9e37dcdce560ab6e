//! Foreign keys by which a change goes on into other tables, and back: a server follows them below the statement, row by row.

use std::collections::BTreeSet;

use drover_db::grants::Held;
use drover_db::server::{Server, Vendor};
use drover_db::table::Name;
use drover_db::{Connection, Row, quote};

use crate::code::Verb;
use crate::error::Doing;
use crate::{Error, Result};

/// Looks at all foreign keys that a statement's changes follow.
///
/// # Errors
/// If they lead back to the table that is walked or to one that a subquery reads, or change what an archive should hold.
pub(crate) fn check(
    connection: &mut Connection,
    verb: Verb,
    walked: &Name,
    reads: &[Name],
    archives: bool,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let change = match verb {
        Verb::Delete => Change::Removed,
        Verb::Update => Change::Updated(None),
        Verb::Insert => return Ok(()),
    };
    note_hidden_keys(connection, walked, archives, warnings)?;
    let cascades = all_cascades(connection, walked, change)?;
    for cascade in &cascades {
        check_cascade(cascade, walked, reads)?;
    }
    for Cascade { child, constraint, rule, .. } in cascades {
        if archives {
            return Err(Error::with_hint(
                format!(
                    "the foreign key {constraint} of {child} has {rule}: what it removes or changes there would not be in the archive"
                ),
                "delete from that table first, with an archive of its own",
            ));
        }
        warnings.push(format!(
            "the foreign key {constraint} changes rows of {child} with it ({rule}); those are not counted"
        ));
    }
    Ok(())
}

/// A change that comes back would remove rows of other parts, move their key, or change them twice.
fn check_cascade(cascade: &Cascade, walked: &Name, reads: &[Name]) -> Result<()> {
    let Cascade { parent, child, constraint, rule, .. } = cascade;
    let reason = if child != walked {
        if !reads.contains(child) {
            return Ok(());
        }
        format!(
            "a subquery reads {child}, which the foreign key {constraint} changes ({rule}): in parts it would not come to the same"
        )
    } else if parent == walked {
        format!(
            "the foreign key {constraint} of {walked} refers to the table itself, with {rule}: a part would change rows of others"
        )
    } else {
        format!(
            "a change comes back to {walked} by the foreign key {constraint} to {parent} ({rule}): a part would change rows of others"
        )
    };
    Err(Error::with_hint(reason, "drop the key for the time of the change, or run the statement as it is"))
}

/// Whether a table that is read may have foreign keys that the account does not see: MariaDB shows them for any privilege but SELECT.
pub(crate) fn may_be_hidden(connection: &mut Connection, held: &Held, table: &Name) -> Result<bool> {
    const SHOWING: [&str; 9] =
        ["REFERENCES", "DELETE", "INSERT", "UPDATE", "TRIGGER", "CREATE", "DROP", "ALTER", "INDEX"];
    let server = Server::of(connection).doing(|| "asking for the version")?;
    let is_shown = SHOWING.iter().any(|privilege| held.on_table(privilege, &table.schema, &table.name));
    Ok(server.vendor == Vendor::MariaDb && !is_shown)
}

/// The catalogue leaves out the foreign keys of tables that the account may not see.
fn note_hidden_keys(
    connection: &mut Connection,
    walked: &Name,
    archives: bool,
    warnings: &mut Vec<String>,
) -> Result<()> {
    // On all schemas each of these shows all of them; SELECT does so on MySQL only.
    const SHOWING: [&str; 4] = ["REFERENCES", "DELETE", "INSERT", "UPDATE"];
    let held = Held::of(connection).doing(|| "reading the account's privileges")?;
    let is_on_all = |privilege: &str| held.on_all(privilege).is_some_and(|but| but.is_empty());
    if SHOWING.iter().any(|privilege| is_on_all(privilege)) {
        return Ok(());
    }
    let effect = if archives { "would not be in the archive" } else { "is not counted" };
    warnings.push(format!(
        "this account may not see all foreign keys to {walked} (REFERENCES on *.*): what one with CASCADE removes or changes in other \
         tables {effect}"
    ));
    Ok(())
}

/// What happens to rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Inserted,
    Removed,
    /// These columns, in small letters, or any.
    Updated(Option<BTreeSet<String>>),
}

impl Change {
    /// The event of its triggers.
    pub(crate) fn event(&self) -> &'static str {
        match self {
            Self::Inserted => "INSERT",
            Self::Removed => "DELETE",
            Self::Updated(_) => "UPDATE",
        }
    }
}

/// A foreign key by which a change goes on into another table.
pub(crate) struct Cascade {
    pub(crate) parent: Name,
    pub(crate) child: Name,
    pub(crate) constraint: String,
    pub(crate) rule: String,
    /// What it does to rows of the child.
    change: Change,
}

/// In the order that they are reached. What SET NULL does when a row is removed is an update, which other keys may follow.
pub(crate) fn all_cascades(
    connection: &mut Connection,
    table: &Name,
    change: Change,
) -> Result<Vec<Cascade>> {
    let mut found = Vec::<Cascade>::new();
    let mut seen = BTreeSet::from([(table.to_string(), change.clone())]);
    let mut ahead = vec![(table.clone(), change)];
    while let Some((parent, change)) = ahead.pop() {
        for cascade in cascades(connection, &parent, &change)? {
            if seen.insert((cascade.child.to_string(), cascade.change.clone())) {
                ahead.push((cascade.child.clone(), cascade.change.clone()));
            }
            if !found.iter().any(|one| one.child == cascade.child && one.constraint == cascade.constraint) {
                found.push(cascade);
            }
        }
    }
    Ok(found)
}

/// Rules by which a change goes on.
const CHANGING: &str = "('CASCADE', 'SET NULL', 'SET DEFAULT')";

/// Whether a foreign key of a table changes its rows when those of another table are changed.
pub(crate) fn is_changed_by_any(connection: &mut Connection, table: &Name) -> Result<bool> {
    let sql = format!(
        "SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = {} AND TABLE_NAME = {} AND \
         (DELETE_RULE IN {CHANGING} OR UPDATE_RULE IN {CHANGING})",
        quote::string(&table.schema),
        quote::string(&table.name)
    );
    let row = connection.first(sql).doing(|| format!("reading the foreign keys of {table}"))?;
    Ok(row.is_some())
}

fn cascades(connection: &mut Connection, parent: &Name, change: &Change) -> Result<Vec<Cascade>> {
    let rule = match change {
        Change::Inserted => return Ok(Vec::new()),
        Change::Removed => "DELETE_RULE",
        Change::Updated(_) => "UPDATE_RULE",
    };
    let sql = format!(
        "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, {rule} FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE \
         UNIQUE_CONSTRAINT_SCHEMA = {} AND REFERENCED_TABLE_NAME = {} AND {rule} IN {CHANGING}",
        quote::string(&parent.schema),
        quote::string(&parent.name)
    );
    let rows = connection.query(sql).doing(|| format!("reading the foreign keys to {parent}"))?;
    let mut cascades = Vec::new();
    for row in rows {
        let (child, constraint) = (Name::new(&row.string(0), &row.string(1)), row.string(2));
        let rule = row.string(3);
        let (own, referenced) = key_columns(connection, &child, &constraint)?;
        // Columns that the account may not see may be any.
        let follows = match change {
            Change::Updated(Some(columns)) => referenced.is_empty() || !columns.is_disjoint(&referenced),
            Change::Updated(None) | Change::Removed | Change::Inserted => true,
        };
        if follows {
            let change = match change {
                Change::Removed if rule == "CASCADE" => Change::Removed,
                _ => Change::Updated((!own.is_empty()).then_some(own)),
            };
            cascades.push(Cascade { parent: parent.clone(), child, constraint, rule, change });
        }
    }
    Ok(cascades)
}

/// A foreign key's own columns, and those that it refers to.
fn key_columns(
    connection: &mut Connection,
    child: &Name,
    constraint: &str,
) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let sql = format!(
        "SELECT COLUMN_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
         AND CONSTRAINT_NAME = {} AND REFERENCED_COLUMN_NAME IS NOT NULL",
        quote::string(&child.schema),
        quote::string(&child.name),
        quote::string(constraint)
    );
    let rows =
        connection.query(sql).doing(|| format!("reading the columns of the foreign key {constraint}"))?;
    let columns = |row: Row| (row.string(0).to_lowercase(), row.string(1).to_lowercase());
    Ok(rows.into_iter().map(columns).unzip())
}
