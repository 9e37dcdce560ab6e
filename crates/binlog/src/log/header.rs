//! What every event begins with.

use super::cursor::{Cursor, Short};
use super::kind::Kind;

/// The first bytes of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
    /// When the statement began, in seconds since 1970; 0 in events that the server made up.
    pub timestamp: u32,
    /// What follows.
    pub kind: Kind,
    /// The `server_id` of the server on which the event came about.
    pub server_id: u32,
    /// Of the whole event, header and checksum included, in bytes.
    pub size: u32,
    /// The lower 32 bits of the position behind the event in the file it was first written to; 0 where nobody knows.
    pub next_position: u32,
    /// See the constants.
    pub flags: u16,
}

impl Header {
    /// Its length, in bytes, in logs of MySQL 4.0 and later.
    pub const LENGTH: usize = 19;
    /// The same in logs of MySQL 3.23.
    pub const LENGTH_V1: usize = 13;
    /// Where the flags begin.
    pub(super) const FLAGS_AT: usize = 17;
    /// The log was not closed, or is still open.
    pub const IN_USE: u16 = 0x1;
    /// The statement depends on the thread's temporary tables.
    pub const THREAD_SPECIFIC: u16 = 0x4;
    /// The default schema does not matter to the statement.
    pub const SUPPRESS_USE: u16 = 0x8;
    /// Made up for a stream; not in any file.
    pub const ARTIFICIAL: u16 = 0x20;
    /// A reader that does not know the event may pass over it.
    pub const IGNORABLE: u16 = 0x80;

    /// Reads a header of [`Self::LENGTH`] or [`Self::LENGTH_V1`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(bytes);
        let header = Self {
            timestamp: at.u32()?,
            kind: Kind(at.u8()?),
            server_id: at.u32()?,
            size: at.u32()?,
            next_position: 0,
            flags: 0,
        };
        if at.is_empty() {
            return Ok(header);
        }
        Ok(Self { next_position: at.u32()?, flags: at.u16()?, ..header })
    }

    /// Where the event begins, by what it says of itself, in a log that was read up to `position`: there, if it says nothing.
    pub(crate) fn begin(&self, position: u64) -> u64 {
        match self.next_position {
            0 => position,
            next => widened(next.wrapping_sub(self.size), position),
        }
    }
}

/// The first position at or behind `position` of which these are the lower 32 bits.
pub(crate) fn widened(low: u32, position: u64) -> u64 {
    position.saturating_add(u64::from(low.wrapping_sub(position as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_logs_of_any_length() {
        let begin = |next_position, position| {
            Header { size: 100, next_position, ..Header::default() }.begin(position)
        };
        assert_eq!(begin(0, 5000), 5000);
        assert_eq!(begin(5100, 5000), 5000);
        assert_eq!(begin(7100, 5000), 7000);
        assert_eq!(begin(50, (1 << 32) - 50), (1 << 32) - 50);
        assert_eq!(begin(150, (1 << 32) - 50), (1 << 32) + 50);
        assert_eq!(begin(1100, (3 << 32) + 1000), (3 << 32) + 1000);
    }
}
