//! Files that LOAD DATA put into a log: what comes of the events that hold their parts. Several may be under way at once, each known by
//! the number that the server gave it.
//!
//! Sources: MySQL and MariaDB `sql/sql_load.cc`, `sql/log_event.cc`.

mod spool;
mod statement;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use crate::chain::{Item, Trouble};
use crate::error::{Error, FREE_SPACE};
use crate::event::{Block, ExecuteLoad, OldLoad, file_id};
use crate::log::Kind;

pub(crate) use spool::{Keep, Spool, SpoolReader};
pub(crate) use statement::{Asked, Statement, TableName, asked, dialect};

/// So many files may be under way at once: each may hold a file open and has a little memory.
const MOST_OPEN: usize = 400;

/// The files that are under way.
#[derive(Debug)]
pub(crate) struct Loads {
    keep: Keep,
    /// By the server and its number for the file, which is good from the event that begins it to the one that loads or deletes
    /// it.
    open: BTreeMap<FileKey, Open>,
}

/// The `server_id` of the server and its number for the file.
pub(crate) type FileKey = (u32, u32);

/// A file that is under way.
#[derive(Debug)]
struct Open {
    start: Spot,
    /// Behind the last event of it that was seen.
    end: Spot,
    /// Of a server before 5.0.3, which logged it first.
    statement: Option<Statement>,
    spool: Spool,
    lacks_beginning: bool,
    is_packed: bool,
}

/// A place in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    /// What the log is called.
    pub(crate) log: Arc<str>,
    /// In bytes from its beginning.
    pub(crate) position: u64,
}

/// How a load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its rows are in the table.
    Loaded,
    /// With this error, after some rows came into a table without transactions. The server read the file up to there.
    Failed(u16),
    /// With an error before any row came in: the file was thrown away.
    Deleted,
    /// The logs end before it does, or the server went down.
    Unfinished,
}

/// A load that ended.
#[derive(Debug)]
pub(crate) struct Load {
    /// Which it was.
    pub(crate) key: FileKey,
    /// Where its first event begins.
    pub(crate) start: Spot,
    /// Where its last event ends.
    pub(crate) end: Spot,
    /// `None` where it is not in the log: that of a load from 5.0.3 on which did not come to its end.
    pub(crate) statement: Option<Statement>,
    /// The file's bytes; `None` where they are not in the log, as of MySQL 3.23.
    pub(crate) spool: Option<Spool>,
    /// How it ended.
    pub(crate) ending: Ending,
    /// Whether the file begins before the logs do.
    pub(crate) lacks_beginning: bool,
    /// Whether it is in a transaction's payload, which is then what is between `start` and `end`.
    pub(crate) is_packed: bool,
}

impl Loads {
    /// None are under way. `keep` says what becomes of their bytes.
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, open: BTreeMap::new() }
    }

    /// Takes in an event. Gives a load that ended with it, or one that is known now to never have ended, since its number is
    /// given to another.
    ///
    /// # Errors
    /// If the event is malformed, if the file's bytes cannot be kept, if too many are under way.
    pub(crate) fn see(&mut self, item: &Item<'_>) -> Result<Option<Load>, Trouble> {
        let (event, format) = (&item.event, item.format);
        let key = |file: u32| (event.header.server_id, file);
        match event.kind {
            Kind::BEGIN_LOAD_QUERY => self.begin(item, Block::parse(event.body)?, None),
            Kind::CREATE_FILE => {
                let load = OldLoad::parse(event.kind, event.body)?;
                let Some(block) = load.block else { return Err(Trouble::Malformed) };
                self.begin(item, block, Some(Statement::of_old(&load)))
            }
            Kind::APPEND_BLOCK => self.append(item, Block::parse(event.body)?).map(|()| None),
            Kind::EXECUTE_LOAD_QUERY => {
                let load = ExecuteLoad::parse(event.body, format)?;
                let ending = match load.query.error {
                    0 => Ending::Loaded,
                    code => Ending::Failed(code),
                };
                Ok(Some(self.end(item, key(load.file), Some(Statement::of(&load)?), ending)))
            }
            Kind::EXEC_LOAD => Ok(Some(self.end(item, key(file_id(event.body)?), None, Ending::Loaded))),
            Kind::DELETE_FILE => {
                let key = key(file_id(event.body)?);
                let is_known = self.open.contains_key(&key);
                Ok(is_known.then(|| self.end(item, key, None, Ending::Deleted)))
            }
            Kind::LOAD | Kind::NEW_LOAD => {
                let statement = Some(Statement::of_old(&OldLoad::parse(event.kind, event.body)?));
                let (start, end, key) = (start_of(item), end_of(item), key(0));
                let (spool, ending, lacks_beginning, is_packed) = (None, Ending::Loaded, false, false);
                Ok(Some(Load { key, start, end, statement, spool, ending, lacks_beginning, is_packed }))
            }
            _ => Ok(None),
        }
    }

    /// Those that did not end, when the logs are at their end; in the order of their beginnings.
    pub(crate) fn unfinished(self) -> impl Iterator<Item = Load> {
        self.open.into_iter().map(|(key, open)| open.ended(key, Ending::Unfinished))
    }

    fn begin(
        &mut self,
        item: &Item<'_>,
        block: Block<'_>,
        statement: Option<Statement>,
    ) -> Result<Option<Load>, Trouble> {
        let key = (item.event.header.server_id, block.file);
        let before = self.open.remove(&key).map(|open| open.ended(key, Ending::Unfinished));
        self.open(item, key, statement, false)?;
        self.append(item, block)?;
        Ok(before)
    }

    /// Takes in a block. One whose file did not begin here is kept all the same: something of the file is better than nothing.
    fn append(&mut self, item: &Item<'_>, block: Block<'_>) -> Result<(), Trouble> {
        let key = (item.event.header.server_id, block.file);
        if !self.open.contains_key(&key) {
            self.open(item, key, None, true)?;
        }
        let Some(open) = self.open.get_mut(&key) else { return Ok(()) };
        open.end = end_of(item);
        open.spool.write(block.bytes).map_err(|error| cannot_keep(&open.start, &self.keep, &error))
    }

    fn open(
        &mut self,
        item: &Item<'_>,
        key: FileKey,
        statement: Option<Statement>,
        lacks_beginning: bool,
    ) -> Result<(), Trouble> {
        if self.open.len() >= MOST_OPEN {
            let (log, position) = (item.log, item.event.position);
            let what = format!("{log}: at {position}: more than {MOST_OPEN} files are being loaded at once");
            return Err(Trouble::Other(Error::found(what)));
        }
        let (start, end) = (start_of(item), end_of(item));
        let (spool, is_packed) = (Spool::new(&self.keep), item.event.is_packed);
        self.open.insert(key, Open { start, end, statement, spool, lacks_beginning, is_packed });
        Ok(())
    }

    /// A load ends with the event. If its file did not begin here, nothing is known of it but the end.
    fn end(&mut self, item: &Item<'_>, key: FileKey, statement: Option<Statement>, ending: Ending) -> Load {
        let open = self.open.remove(&key).unwrap_or_else(|| Open {
            start: start_of(item),
            end: end_of(item),
            statement: None,
            spool: Spool::new(&self.keep),
            lacks_beginning: true,
            is_packed: item.event.is_packed,
        });
        let load = open.ended(key, ending);
        Load { end: end_of(item), statement: statement.or(load.statement), ..load }
    }
}

impl Open {
    fn ended(self, key: FileKey, ending: Ending) -> Load {
        let Self { start, end, statement, spool, lacks_beginning, is_packed } = self;
        Load { key, start, end, statement, spool: Some(spool), ending, lacks_beginning, is_packed }
    }
}

/// The error for a file for which there is no room.
pub(crate) fn cannot_keep(start: &Spot, keep: &Keep, error: &io::Error) -> Trouble {
    let (Spot { log, position }, place) = (start, keep.place().display());
    let what = format!(
        "{log}: at {position}: the file of the LOAD DATA that begins there cannot be kept in {place}: {error}"
    );
    let hint = (error.kind() == io::ErrorKind::StorageFull).then(|| FREE_SPACE.into());
    Trouble::Other(Error::Found { what, hint })
}

fn start_of(item: &Item<'_>) -> Spot {
    Spot { log: item.log.into(), position: item.event.position }
}

fn end_of(item: &Item<'_>) -> Spot {
    Spot { log: item.log.into(), position: item.event.end }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::log::{Event, Format, Header, Place};

    /// What comes of events of a kind, a server, a file's number and bytes.
    fn loads(events: &[(Kind, u32, u32, &[u8])]) -> (Vec<Load>, Vec<Load>) {
        let format = Format::of_tests("10.11.6-MariaDB");
        let mut loads = Loads::new(Keep::in_temp());
        let mut ended = Vec::new();
        for (number, &(kind, server_id, file, bytes)) in events.iter().enumerate() {
            let number = number as u64;
            let file = file.to_le_bytes();
            let body = match kind {
                Kind::EXECUTE_LOAD_QUERY => {
                    let text = b"LOAD DATA INFILE 'f' INTO TABLE t";
                    let name = [9_u32.to_le_bytes(), 25_u32.to_le_bytes()].concat();
                    [&[0; 9][..], bytes, &[0; 2], &file, &name, &[0, 0], text].concat()
                }
                Kind::NEW_LOAD => [&[0; 18][..], &[1, b',', 0, 0, 0, 0, 0, 0, 0], b"file"].concat(),
                _ => [&file, bytes].concat(),
            };
            let header = Header { kind, server_id, ..Header::default() };
            let (position, end, body) = (number * 100, number * 100 + 100, &body[..]);
            let event = Event { position, end, header, kind, body, is_packed: false };
            let item = Item { log: "log", number: 0, format: &format, event, place: Place::Only };
            ended.extend(loads.see(&item).unwrap());
        }
        (ended, loads.unfinished().collect())
    }

    fn told(load: Load) -> (u64, u64, Ending, bool, String) {
        let mut bytes = String::new();
        load.spool.unwrap().into_reader().unwrap().read_to_string(&mut bytes).unwrap();
        (load.start.position, load.end.position, load.ending, load.lacks_beginning, bytes)
    }

    const BEGIN: Kind = Kind::BEGIN_LOAD_QUERY;
    const APPEND: Kind = Kind::APPEND_BLOCK;
    const EXECUTE: Kind = Kind::EXECUTE_LOAD_QUERY;

    #[test]
    fn files_of_several_numbers_and_servers_are_kept_apart() {
        let (ended, left) = loads(&[
            (BEGIN, 1, 1, b"a"),
            (BEGIN, 1, 2, b"b"),
            (BEGIN, 2, 1, b"c"),
            (APPEND, 2, 1, b"cc"),
            (APPEND, 1, 2, b"bb"),
            (APPEND, 1, 1, b"aa"),
            (Kind::DELETE_FILE, 1, 2, b""),
            (EXECUTE, 2, 1, &[0, 0]),
            (EXECUTE, 1, 1, &[0x26, 4]),
        ]);
        let told: Vec<_> = ended.into_iter().map(told).collect();
        assert_eq!(
            told,
            [
                (100, 700, Ending::Deleted, false, "bbb".into()),
                (200, 800, Ending::Loaded, false, "ccc".into()),
                (0, 900, Ending::Failed(1062), false, "aaa".into()),
            ]
        );
        assert!(left.is_empty());
    }

    #[test]
    fn what_has_no_beginning_or_no_end_is_told_too() {
        let (ended, left) = loads(&[
            (APPEND, 1, 1, b"xx"),
            (EXECUTE, 1, 1, &[0, 0]),
            (EXECUTE, 1, 7, &[0, 0]),
            (Kind::DELETE_FILE, 1, 8, b""),
            (BEGIN, 1, 2, b"old"),
            (BEGIN, 1, 2, b"new"),
            (APPEND, 1, 2, b"er"),
        ]);
        let statements: Vec<_> = ended.iter().map(|load| load.statement.is_some()).collect();
        assert_eq!(statements, [true, true, false]);
        let ended: Vec<_> = ended.into_iter().map(told).collect();
        assert_eq!(
            ended,
            [
                (0, 200, Ending::Loaded, true, "xx".into()),
                (200, 300, Ending::Loaded, true, String::new()),
                (400, 500, Ending::Unfinished, false, "old".into()),
            ]
        );
        let left: Vec<_> = left.into_iter().map(told).collect();
        assert_eq!(left, [(500, 700, Ending::Unfinished, false, "newer".into())]);
    }

    #[test]
    fn a_load_of_which_the_log_has_no_file() {
        let (ended, _) = loads(&[(BEGIN, 1, 0, b"a"), (Kind::NEW_LOAD, 1, 0, b""), (APPEND, 1, 0, b"b")]);
        assert!(ended[0].spool.is_none() && ended[0].ending == Ending::Loaded && !ended[0].lacks_beginning);
        assert_eq!(ended.len(), 1);
    }

    #[test]
    fn too_many_at_once_are_an_error() {
        let format = Format::of_tests("10.11.6-MariaDB");
        let mut loads = Loads::new(Keep::Count);
        let mut see = |file: u32| {
            let body = file.to_le_bytes();
            let header = Header::default();
            let event = Event { position: 4, end: 8, header, kind: BEGIN, body: &body, is_packed: false };
            loads.see(&Item { log: "log", number: 0, format: &format, event, place: Place::Only }).is_ok()
        };
        assert!((0..MOST_OPEN as u32).all(&mut see));
        assert!(!see(MOST_OPEN as u32) && see(7));
    }
}
