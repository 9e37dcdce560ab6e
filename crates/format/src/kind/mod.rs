//! What a statement of a dump does: told by its first words, with version comments read as the code that they are. A list
//! of what dumps hold; all else is refused.

mod change;
mod reads;
mod setting;
mod statement;
#[cfg(test)]
mod tests;
mod words;

pub use reads::reads;
pub(crate) use statement::replaces;

/// A name that may have a schema before it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Qualified {
    /// The schema, where the statement names one.
    pub schema: Option<String>,
    /// The name in it.
    pub name: String,
}

impl Qualified {
    fn parts(&self) -> Vec<&str> {
        self.schema.iter().chain([&self.name]).map(String::as_str).collect()
    }
}

/// What a statement is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Sets something of the session only.
    Session,
    /// Changes or asks something of the server itself: replication, accounts, global settings. Not a part of the data.
    Server,
    /// USE.
    Use(String),
    /// CREATE DATABASE.
    CreateSchema(String),
    /// ALTER DATABASE.
    AlterSchema(String),
    /// DROP DATABASE.
    DropSchema(String),
    /// A table whose rows are its own.
    CreateTable(Qualified),
    /// A table that is made from another one or from rows: its order among the others counts.
    CreateTableFrom(Qualified),
    /// A table that shows rows which are kept in other tables or servers.
    CreateTableElsewhere(Qualified),
    /// CREATE VIEW.
    CreateView(Qualified),
    /// CREATE SEQUENCE.
    CreateSequence(Qualified),
    /// A program: the word for DROP, and the name.
    CreateProgram(&'static str, Qualified),
    /// CREATE TRIGGER.
    CreateTrigger {
        /// Its name.
        name: Qualified,
        /// The table on which it is.
        table: Qualified,
    },
    /// DROP TABLE, VIEW or SEQUENCE.
    Drop(Vec<Qualified>),
    /// DROP of a program or trigger: the word for it, and the name.
    DropProgram(&'static str, Qualified),
    /// TRUNCATE, and DELETE without a condition.
    Empty(Qualified),
    /// UPDATE, or DELETE with a condition, of one table.
    ChangeRows(Qualified),
    /// LOCK TABLES and UNLOCK TABLES.
    Lock,
    /// BEGIN, START TRANSACTION and COMMIT.
    Transaction,
    /// What is of no use here: questions, and what forks of mysqldump do for engines of theirs.
    PassedOver,
    /// ALTER TABLE … DISABLE KEYS.
    DisableKeys(Qualified),
    /// ALTER TABLE … ENABLE KEYS.
    EnableKeys(Qualified),
    /// ALTER TABLE that adds to a table or changes its columns, and CREATE INDEX.
    AlterTable(Qualified),
    /// The value that a sequence goes on from.
    SetValue(Qualified),
    /// INSERT INTO … VALUES, whose order among others of the kind does not count.
    Insert(Qualified),
    /// INSERT IGNORE, REPLACE and INSERT … SELECT, whose order does.
    InsertInOrder(Qualified),
    /// LOAD DATA LOCAL INFILE: the file and the table.
    Load(String, Qualified),
    /// Nothing that a dump holds: why it is not run.
    Refused(&'static str),
}

/// Why most statements are refused.
const UNKNOWN: &str = "dumps hold no such statements";
const UNCLEAR: &str = "a version comment makes it another statement on another server";

impl Kind {
    /// The names in it that matter here.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Use(name) | Self::CreateSchema(name) | Self::AlterSchema(name) | Self::DropSchema(name) => {
                vec![name]
            }
            Self::CreateTrigger { name, table } => [name.parts(), table.parts()].concat(),
            Self::Drop(names) => names.iter().flat_map(Qualified::parts).collect(),
            _ => self.object().map(Qualified::parts).unwrap_or_default(),
        }
    }

    /// The table, view, sequence or program that it makes, changes or fills.
    pub fn object(&self) -> Option<&Qualified> {
        match self {
            Self::CreateTable(name)
            | Self::CreateTableFrom(name)
            | Self::CreateTableElsewhere(name)
            | Self::CreateView(name)
            | Self::CreateSequence(name)
            | Self::CreateProgram(_, name)
            | Self::CreateTrigger { name, .. }
            | Self::DropProgram(_, name)
            | Self::Empty(name)
            | Self::ChangeRows(name)
            | Self::DisableKeys(name)
            | Self::EnableKeys(name)
            | Self::AlterTable(name)
            | Self::SetValue(name)
            | Self::Insert(name)
            | Self::InsertInOrder(name)
            | Self::Load(_, name) => Some(name),
            _ => None,
        }
    }

    /// Whether it puts rows into a table.
    pub fn is_data(&self) -> bool {
        matches!(self, Self::Insert(_) | Self::InsertInOrder(_) | Self::Load(..))
    }
}
