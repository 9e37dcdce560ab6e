//! A statement.

use crate::log::{Cursor, Format, Kind, Short};

/// A statement, as it was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// The number of the session that ran it.
    pub thread: u32,
    /// How long it ran, in seconds.
    pub seconds: u32,
    /// The error it ended with; 0 for none.
    pub error: u16,
    /// Settings of the session; see [`Status`].
    pub status: &'a [u8],
    /// The default schema.
    pub schema: &'a [u8],
    /// The text.
    pub text: &'a [u8],
}

/// What the fixed part has, in bytes, before version 4: thread, seconds, the length of the schema, the error.
const OLD_HEAD: usize = 11;

impl<'a> Query<'a> {
    /// Reads the body of a Query event.
    pub fn parse(body: &'a [u8], format: &Format) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        Self::parse_head(&mut at, format, 0)
    }

    /// Reads what a statement that loads a file begins with too; `more` bytes stand before the settings.
    pub(super) fn parse_head(at: &mut Cursor<'a>, format: &Format, more: usize) -> Result<Self, Short> {
        let head = Head::parse(at, format)?;
        at.take(more)?;
        let status = at.take(head.status)?;
        let schema = at.take(head.schema)?;
        at.take(1)?; // a NUL
        let Head { thread, seconds, error, .. } = head;
        Ok(Self { thread, seconds, error, status, schema, text: at.rest() })
    }

    /// How much stands before the text.
    pub(crate) fn head_length(body: &[u8], format: &Format) -> Result<usize, Short> {
        let mut at = Cursor::new(body);
        let head = Head::parse(&mut at, format)?;
        let fixed = body.len() - at.len();
        Ok(fixed + head.status + head.schema + 1)
    }

    /// Whether it begins a transaction.
    pub fn is_begin(&self) -> bool {
        self.text.eq_ignore_ascii_case(b"BEGIN") || begins_with(self.text, b"XA START ")
    }

    /// Whether it ends a transaction that was begun, and does nothing else. A ROLLBACK TO a savepoint does not.
    pub fn is_end(&self) -> bool {
        self.text.eq_ignore_ascii_case(b"COMMIT") || self.text.eq_ignore_ascii_case(b"ROLLBACK")
    }

    /// Whether it ends a transaction that was prepared before.
    pub fn is_xa_end(&self) -> bool {
        begins_with(self.text, b"XA COMMIT ") || begins_with(self.text, b"XA ROLLBACK ")
    }

    /// Whether it is an ALTER TABLE that was logged when it began, or that came to nothing: the same statement is logged once more
    /// where it has changed the table (MariaDB from 10.8 on, with binlog_alter_two_phase).
    ///
    /// # Errors
    /// If the settings are cut off.
    pub fn changes_nothing_yet(&self) -> Result<bool, Short> {
        const STARTS_OR_FAILS: u8 = 2 | 8; // FL_START_ALTER_E1, FL_ROLLBACK_ALTER_E1
        for setting in self.settings() {
            if let Setting::AlterPhase(flags) = setting? {
                return Ok(flags & STARTS_OR_FAILS != 0);
            }
        }
        Ok(false)
    }

    /// The settings of the session.
    pub fn settings(&self) -> Status<'a> {
        Status { at: Cursor::new(self.status) }
    }
}

fn begins_with(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// The fixed part.
struct Head {
    thread: u32,
    seconds: u32,
    schema: usize,
    error: u16,
    status: usize,
}

impl Head {
    fn parse(at: &mut Cursor<'_>, format: &Format) -> Result<Self, Short> {
        let (thread, seconds, schema, error) = (at.u32()?, at.u32()?, at.u8()?, at.u16()?);
        let has_status = format.post_header(Kind::QUERY).is_none_or(|length| length > OLD_HEAD);
        let status = if has_status { usize::from(at.u16()?) } else { 0 };
        Ok(Self { thread, seconds, schema: usize::from(schema), error, status })
    }
}

/// A setting of the session that a statement depends on. Numbers as in MySQL `libs/mysql/binlog/event/statement_events.h` and
/// MariaDB `sql/log_event.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting<'a> {
    /// Bits of `sql_auto_is_null`, `autocommit`, `foreign_key_checks`, `unique_checks` and others.
    Flags(u32),
    /// `sql_mode`.
    SqlMode(u64),
    /// `auto_increment_increment` and `auto_increment_offset`.
    AutoIncrement(u16, u16),
    /// The numbers of `character_set_client`, `collation_connection` and `collation_server`.
    Charset(u16, u16, u16),
    /// `time_zone`.
    TimeZone(&'a [u8]),
    /// The number of `lc_time_names`.
    TimeNames(u16),
    /// The number of `collation_database`.
    DatabaseCollation(u16),
    /// The account as which it ran: name and host.
    Invoker(&'a [u8], &'a [u8]),
    /// Microseconds of the time at which it began.
    Microseconds(u32),
    /// `explicit_defaults_for_timestamp` (MySQL).
    ExplicitTimestamps(bool),
    /// The transaction that a statement on definitions ends (MySQL from 8.0 on, MariaDB from 10.6 on).
    Xid(u64),
    /// The number of `default_collation_for_utf8mb4` (MySQL from 8.0 on).
    Utf8mb4Collation(u16),
    /// `sql_require_primary_key` (MySQL from 8.0.13 on).
    RequirePrimaryKey(bool),
    /// `default_table_encryption` (MySQL from 8.0.16 on).
    TableEncryption(bool),
    /// `character_set_collations`: numbers of character sets' collations and of those to take (MariaDB from 11.3 on). Two bytes
    /// each.
    CharsetCollations(&'a [u8]),
    /// Flags of a MariaDB transaction: which phase of an ALTER TABLE it is.
    AlterPhase(u8),
    /// One that a statement does not depend on.
    Other(u8),
}

/// Goes through the settings of a statement's session. Ends at the first that nobody knows, as servers do.
#[derive(Debug, Clone, Copy)]
pub struct Status<'a> {
    at: Cursor<'a>,
}

impl<'a> Iterator for Status<'a> {
    type Item = Result<Setting<'a>, Short>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at.is_empty() {
            return None;
        }
        let next = setting(&mut self.at).transpose();
        if !matches!(next, Some(Ok(_))) {
            self.at = Cursor::new(&[]);
        }
        next
    }
}

fn setting<'a>(at: &mut Cursor<'a>) -> Result<Option<Setting<'a>>, Short> {
    let number = at.u8()?;
    Ok(Some(match number {
        0 => Setting::Flags(at.u32()?),
        1 => Setting::SqlMode(at.u64()?),
        2 => {
            // The catalogue, always `std`; here with a NUL behind it.
            at.short_text()?;
            at.take(1)?;
            Setting::Other(number)
        }
        3 => Setting::AutoIncrement(at.u16()?, at.u16()?),
        4 => Setting::Charset(at.u16()?, at.u16()?, at.u16()?),
        5 => Setting::TimeZone(at.short_text()?),
        6 => {
            at.short_text()?;
            Setting::Other(number)
        }
        7 => Setting::TimeNames(at.u16()?),
        8 => Setting::DatabaseCollation(at.u16()?),
        // Tables that an UPDATE of several changes.
        9 => {
            at.u64()?;
            Setting::Other(number)
        }
        // How large the event was on the server that wrote it first.
        10 => {
            at.u32()?;
            Setting::Other(number)
        }
        11 => Setting::Invoker(at.short_text()?, at.short_text()?),
        12 => {
            updated_schemas(at)?;
            Setting::Other(number)
        }
        13 | 128 => Setting::Microseconds(at.u24()?),
        16 => Setting::ExplicitTimestamps(at.u8()? != 0),
        17 | 129 => Setting::Xid(at.u64()?),
        18 => Setting::Utf8mb4Collation(at.u16()?),
        19 => Setting::RequirePrimaryKey(at.u8()? != 0),
        20 => Setting::TableEncryption(at.u8()? != 0),
        130 => Setting::AlterPhase(gtid_flags(at)?),
        131 => {
            let count = usize::from(at.u8()?);
            Setting::CharsetCollations(at.take(4 * count)?)
        }
        _ => return Ok(None),
    }))
}

/// The schemas that a statement changes, for a replica that applies several at once: 254 stands for too many to be named.
fn updated_schemas(at: &mut Cursor<'_>) -> Result<(), Short> {
    let count = at.u8()?;
    if count == 254 {
        return Ok(());
    }
    (0..count).try_for_each(|_| at.until_nul().map(drop))
}

/// Flags of a MariaDB transaction, a byte (sql/log_event.cc, Q_GTID_FLAGS3); one that ends an ALTER TABLE which was logged when it
/// began has that one's number.
fn gtid_flags(at: &mut Cursor<'_>) -> Result<u8, Short> {
    const HAS_START: u8 = 4 | 8; // FL_COMMIT_ALTER_E1, FL_ROLLBACK_ALTER_E1
    let flags = at.u8()?;
    if flags & HAS_START != 0 {
        at.u64()?;
    }
    Ok(flags)
}
