//! Transactions' identifiers.

use std::fmt::{self, Write as _};

use crate::log::{Cursor, Kind, Short};

/// The identifier of a transaction, and what else the event tells with which it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gtid<'a> {
    /// Of MySQL, from 5.6 on.
    Mysql(MysqlGtid<'a>),
    /// Of MariaDB, from 10.0 on.
    Mariadb(MariadbGtid),
}

/// Of MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MysqlGtid<'a> {
    /// Whether it has an identifier: without `gtid_mode` none is given out, and the numbers here are 0.
    pub is_anonymous: bool,
    /// The UUID of the server on which it came about.
    pub source: [u8; 16],
    /// The tag (from 8.3 on); often empty.
    pub tag: &'a [u8],
    /// Its number.
    pub number: u64,
    /// When it was committed on the server that wrote this log, in microseconds since 1970 (from 8.0 on).
    pub committed: Option<u64>,
    /// How long it is in the log, this event included, in bytes (from 8.0 on).
    pub length: Option<u64>,
    /// Its place among the log's transactions (from 5.7 on); `None` where none is told.
    pub clock: Option<Clock>,
}

/// Which transactions of a log can be applied at once: one may begin when all up to `after` have been committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The number of the last transaction that it depends on (`last_committed`).
    pub after: u64,
    /// Its own number (`sequence_number`), from 1.
    pub number: u64,
}

impl Clock {
    /// Of two numbers of an event, which are 0 where the server had none to give.
    fn of(after: u64, number: u64) -> Option<Self> {
        (number > after).then_some(Self { after, number })
    }
}

/// Of MariaDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MariadbGtid {
    /// The replication domain.
    pub domain: u32,
    /// The `server_id` of the server on which it came about.
    pub server: u32,
    /// Its number.
    pub number: u64,
    /// See the constants.
    pub flags: u8,
    /// The number of the group that was committed at once, of which all may be applied at once; `None` of one by itself.
    pub group: Option<u64>,
}

impl MariadbGtid {
    /// Nothing commits it: it is one statement.
    pub const STANDALONE: u8 = 0x01;
    /// It was committed in a group.
    const GROUP_COMMIT: u8 = 0x02;
    /// It changes definitions.
    pub const DDL: u8 = 0x20;
    /// It ends prepared, by XA PREPARE.
    pub const PREPARED_XA: u8 = 0x40;
    /// It commits or rolls back what XA PREPARE prepared.
    pub const COMPLETED_XA: u8 = 0x80;

    /// The name of the transaction that begins with this event, of one that XA PREPARE ends.
    pub fn xa_name(body: &[u8]) -> Result<Option<XaName<'_>>, Short> {
        let mut at = Cursor::new(body);
        at.take(12)?;
        let flags = at.u8()?;
        if flags & Self::PREPARED_XA == 0 {
            return Ok(None);
        }
        if flags & Self::GROUP_COMMIT != 0 {
            at.u64()?;
        }
        let (format, global, branch) = (at.u32()?, at.u8()?, at.u8()?);
        Ok(Some(XaName { global: at.take(global.into())?, branch: at.take(branch.into())?, format }))
    }

    fn parse(body: &[u8], server: u32) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        let (number, domain, flags) = (at.u64()?, at.u32()?, at.u8()?);
        let group = if flags & Self::GROUP_COMMIT != 0 { at.u64().ok() } else { None };
        Ok(Self { domain, server, number, flags, group })
    }
}

/// The name of a transaction of several resource managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XaName<'a> {
    /// `gtrid`.
    pub global: &'a [u8],
    /// `bqual`.
    pub branch: &'a [u8],
    /// `formatID`.
    pub format: u32,
}

impl<'a> Gtid<'a> {
    /// Reads the body of an event that begins a transaction; `None` for other kinds. `server` is what its header says.
    pub fn parse(kind: Kind, body: &'a [u8], server: u32) -> Result<Option<Self>, Short> {
        Ok(Some(match kind {
            Kind::MARIADB_GTID => Self::Mariadb(MariadbGtid::parse(body, server)?),
            Kind::GTID | Kind::ANONYMOUS_GTID => {
                Self::Mysql(MysqlGtid::parse(body, kind == Kind::ANONYMOUS_GTID)?)
            }
            Kind::GTID_TAGGED => Self::Mysql(MysqlGtid::parse_tagged(body)?),
            _ => return Ok(None),
        }))
    }
}

impl Gtid<'_> {
    /// Whether the transaction was given no identifier.
    pub fn is_anonymous(&self) -> bool {
        matches!(self, Self::Mysql(gtid) if gtid.is_anonymous)
    }
}

/// The kind of logical clock that MySQL writes since 5.7: `Gtid_event::LOGICAL_TIMESTAMP_TYPECODE`.
const LOGICAL_CLOCK: u8 = 2;
/// Set in the number of microseconds if that on the first server follows.
const HAS_ORIGINAL: u64 = 1 << 55;

impl<'a> MysqlGtid<'a> {
    fn parse(body: &'a [u8], is_anonymous: bool) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        at.u8()?; // flags
        let mut source = [0; 16];
        source.copy_from_slice(at.take(16)?);
        let mut gtid = Self {
            is_anonymous,
            source,
            tag: &[],
            number: at.u64()?,
            committed: None,
            length: None,
            clock: None,
        };
        // Each of what follows came with a later version.
        if at.u8() != Ok(LOGICAL_CLOCK) {
            return Ok(gtid);
        }
        let (Ok(after), Ok(number)) = (at.u64(), at.u64()) else { return Ok(gtid) };
        gtid.clock = Clock::of(after, number);
        let Ok(time) = at.u56() else { return Ok(gtid) };
        gtid.committed = Some(time & !HAS_ORIGINAL);
        if time & HAS_ORIGINAL != 0 {
            at.u56()?;
        }
        gtid.length = at.packed().ok();
        Ok(gtid)
    }

    /// Reads the event as MySQL writes it from 8.3 on where a tag is given: fields behind their numbers, whole numbers of as many
    /// bytes as they need. Source: MySQL `libs/mysql/serialization/readme.md`, `Gtid_event::define_fields()`.
    fn parse_tagged(body: &'a [u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        let (version, _size, _last_needed) = (at.varied()?, at.varied()?, at.varied()?);
        if version != 1 {
            return Err(Short);
        }
        let (source, number, tag) = ([0; 16], 0, &[][..]);
        let (committed, length, clock) = (None, None, None);
        let mut gtid = Self { is_anonymous: false, source, tag, number, committed, length, clock };
        let (mut after, mut sequence) = (0, 0);
        while !at.is_empty() {
            match at.varied()? {
                1 => {
                    for byte in &mut gtid.source {
                        *byte = u8::try_from(at.varied()?).map_err(|_| Short)?;
                    }
                }
                // It has a sign, in its lowest bit.
                2 => gtid.number = at.varied()? >> 1,
                3 => {
                    let length = usize::try_from(at.varied()?).map_err(|_| Short)?;
                    gtid.tag = at.take(length)?;
                }
                // So have these.
                4 => after = at.varied()? >> 1,
                5 => sequence = at.varied()? >> 1,
                6 => gtid.committed = Some(at.varied()?),
                8 => gtid.length = Some(at.varied()?),
                0 | 7 | 9..=11 => {
                    at.varied()?;
                }
                // Nothing that is needed comes behind those.
                _ => break,
            }
        }
        gtid.clock = Clock::of(after, sequence);
        Ok(gtid)
    }
}

impl fmt::Display for Gtid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mysql(gtid) => gtid.fmt(f),
            Self::Mariadb(gtid) => gtid.fmt(f),
        }
    }
}

impl fmt::Display for MariadbGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, server, number, .. } = self;
        write!(f, "{domain}-{server}-{number}")
    }
}

impl fmt::Display for MysqlGtid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_anonymous {
            return f.write_str("ANONYMOUS");
        }
        f.write_str(&uuid_text(&self.source))?;
        if !self.tag.is_empty() {
            write!(f, ":{}", String::from_utf8_lossy(self.tag))?;
        }
        write!(f, ":{}", self.number)
    }
}

/// A server's UUID as text.
pub(crate) fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in uuid.iter().enumerate() {
        let dash = if [4, 6, 8, 10].contains(&index) { "-" } else { "" };
        let _ = write!(text, "{dash}{byte:02x}"); // writing to a String cannot fail
    }
    text
}
