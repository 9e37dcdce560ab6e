//! What a log says of itself in its first event: version, server, lengths, whether events have checksums.

use drover_db::Vendor;

use super::cursor::{Cursor, Short};
use super::header::Header;
use super::kind::Kind;

/// How the events of a log are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// 1 (MySQL 3.23), 3 (4.0, 4.1) or 4.
    pub version: u16,
    /// What the server said of its version; empty before version 4.
    pub server_version: String,
    /// When the server was started, in seconds since 1970, if that is why it began this log; else 0.
    pub started: u32,
    /// Of each event's header, in bytes.
    pub header_length: usize,
    /// Whether each event ends with a CRC-32 of what comes before it.
    pub has_checksums: bool,
    /// Whether the format description ends with a checksum, which it then does also where no other event does.
    pub(super) knows_checksums: bool,
    /// Of what comes first in the body of an event, by its kind less one; empty before version 4.
    post_headers: Vec<u8>,
}

/// Of a checksum, in bytes.
pub(super) const CHECKSUM: usize = 4;
/// The lengths of what comes first in the body of events before version 4, where there were any.
const OLD_POST_HEADERS: [(Kind, usize); 8] = [
    (Kind::QUERY, 11),
    (Kind::ROTATE, 8),
    (Kind::LOAD, 18),
    (Kind::NEW_LOAD, 18),
    (Kind::CREATE_FILE, 4),
    (Kind::APPEND_BLOCK, 4),
    (Kind::EXEC_LOAD, 4),
    (Kind::DELETE_FILE, 4),
];

impl Format {
    /// Of a log before anything is known of it: relay logs of 4.x begin without a word about it.
    pub(super) fn unknown() -> Self {
        Self {
            version: 3,
            server_version: String::new(),
            started: 0,
            header_length: Header::LENGTH,
            has_checksums: false,
            knows_checksums: false,
            post_headers: Vec::new(),
        }
    }

    /// Of a server of this version, with the lengths of MariaDB 10.11.
    #[cfg(test)]
    pub(crate) fn of_tests(server_version: &str) -> Self {
        let mut post_headers = vec![0; 171];
        for (kind, length) in [(Kind::QUERY, 13), (Kind::TABLE_MAP, 8), (Kind::XID, 0)] {
            post_headers[usize::from(kind.0) - 1] = length;
        }
        post_headers[usize::from(Kind::WRITE_ROWS_V1.0) - 1..][..3].fill(8);
        post_headers[usize::from(Kind::WRITE_ROWS.0) - 1..][..3].fill(10);
        Self { version: 4, server_version: server_version.into(), post_headers, ..Self::unknown() }
    }

    /// Of a log that begins with this event of the old kind.
    pub(super) fn old(header: &Header) -> Self {
        // MySQL 3.23 wrote its first event with a header of 13 bytes: client/mysqlbinlog.cc, check_header().
        if header.size < 75 {
            return Self { version: 1, header_length: Header::LENGTH_V1, ..Self::unknown() };
        }
        Self::unknown()
    }

    /// Of a log, or a part of it, that begins with a format description; `rest` is what follows its header.
    pub(super) fn described(rest: &[u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(rest);
        let version = at.u16()?;
        let server_version = until_nul(at.take(50)?);
        let started = at.u32()?;
        let header_length = usize::from(at.u8()?);
        let mut lengths = at.rest();
        let knows_checksums = knows_checksums(&server_version);
        let mut has_checksums = false;
        if knows_checksums {
            let (before, end) =
                lengths.split_at_checked(lengths.len().wrapping_sub(1 + CHECKSUM)).ok_or(Short)?;
            (lengths, has_checksums) = (before, end[0] == CRC32);
        }
        let post_headers = lengths.to_vec();
        Ok(Self {
            version,
            server_version,
            started,
            header_length,
            has_checksums,
            knows_checksums,
            post_headers,
        })
    }

    /// Of what comes first in the body of such an event, in bytes; `None` where the server that wrote the log did not know
    /// the event.
    pub fn post_header(&self, kind: Kind) -> Option<usize> {
        if self.version < 4 {
            return OLD_POST_HEADERS.iter().find(|(old, _)| *old == kind).map(|&(_, length)| length);
        }
        let index = usize::from(kind.0).checked_sub(1)?;
        self.post_headers.get(index).map(|&length| usize::from(length))
    }

    /// The version's first three numbers.
    pub(crate) fn numbers(&self) -> (u32, u32, u32) {
        let mut numbers = numbers_of(&self.server_version);
        let mut number = || numbers.next().unwrap_or(0);
        (number(), number(), number())
    }

    /// Whether a server of this version or a later one wrote it: the first two numbers.
    pub fn is_at_least(&self, version: (u32, u32)) -> bool {
        let mut numbers = numbers_of(&self.server_version);
        let mut number = || numbers.next().unwrap_or(0);
        (number(), number()) >= version
    }

    /// Of the server that wrote it.
    pub fn vendor(&self) -> Vendor {
        if self.is_mariadb() { Vendor::MariaDb } else { Vendor::MySql }
    }

    /// Whether MariaDB wrote it.
    pub fn is_mariadb(&self) -> bool {
        self.server_version.contains("MariaDB")
    }
}

/// The number of the only checksum there is: MySQL `binlog_event.h`, `enum_binlog_checksum_alg`.
const CRC32: u8 = 1;

fn until_nul(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The numbers in a version.
fn numbers_of(server_version: &str) -> impl Iterator<Item = u32> {
    let numbers = server_version.split(|c: char| !c.is_ascii_digit());
    numbers.map(|part| part.parse().unwrap_or(0))
}

/// Checksums came with MySQL 5.6.1 and MariaDB 5.3: only since then does a format description end with their kind.
fn knows_checksums(server_version: &str) -> bool {
    let mut numbers = numbers_of(server_version);
    let mut number = || numbers.next().unwrap_or(0);
    let version = (number(), number(), number());
    let since = if server_version.contains("MariaDB") { (5, 3, 0) } else { (5, 6, 1) };
    version >= since
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_versions_have_checksums() {
        for version in
            ["5.6.1", "5.6.1-m5-log", "5.3.0-MariaDB-alpha", "10.11.19-MariaDB-log", "9.7.4", "8.0.40-debug"]
        {
            assert!(knows_checksums(version), "{version}");
        }
        for version in
            ["5.6.0", "5.5.17-debug-log", "5.1.63-google-debug-log", "5.2.14-MariaDB", "4.1.24", "", "x.y"]
        {
            assert!(!knows_checksums(version), "{version}");
        }
    }

    #[test]
    fn a_description_cut_short_at_any_byte_is_none() {
        let mut whole = vec![0; 2 + 50 + 4 + 1 + 40];
        whole[..2].copy_from_slice(&4_u16.to_le_bytes());
        whole[2..8].copy_from_slice(b"8.0.40");
        whole.extend([CRC32, 1, 2, 3, 4]);
        assert!(Format::described(&whole).unwrap().has_checksums);
        for length in 0..62 {
            assert_eq!(Format::described(&whole[..length]), Err(Short), "{length}");
        }
    }
}
