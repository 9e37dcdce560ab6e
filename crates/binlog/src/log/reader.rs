//! The events of one log, in their order, from any version of either vendor.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use super::cursor::Short;
use super::feed::Feed;
use super::format::{CHECKSUM, Format};
use super::header::Header;
use super::kind::Kind;
use crate::crypt::mariadb::{EventCipher, Start};
use crate::crypt::{Keyring, mysql};
use crate::{Error, Result};

/// An event, as far as it can be told without knowing its kind.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Where it begins in the log, in bytes.
    pub position: u64,
    /// Where the next one begins.
    pub end: u64,
    /// What it begins with.
    pub header: Header,
    /// What is in its body: that of its header, or where that one is packed, what it holds.
    pub kind: Kind,
    /// What is between its header and its checksum; unpacked where it is packed.
    pub body: &'a [u8],
    /// Whether it was inside of a transaction's payload, which is then what is between `position` and `end`.
    pub is_packed: bool,
}

/// Reads a log.
pub struct Reader {
    feed: Feed,
    name: String,
    format: Format,
    verifies: bool,
    /// Whether something may be left out, so that only the events tell where they stand.
    has_gaps: bool,
    keyring: Option<Arc<Keyring>>,
    /// Decrypts each event, behind one that says so.
    cipher: Option<EventCipher>,
    /// Of the event at hand; one of 0 bytes before the first.
    header: Header,
    /// Where the body is in the event at hand.
    body: Range<usize>,
}

/// What logs begin with.
pub(crate) const MAGIC: [u8; 4] = *b"\xfebin";
/// No event is larger: both servers hold `max_allowed_packet` to 1 GiB, and an event has a little around what came in.
const LARGEST: u32 = (1 << 30) + (1 << 20);

impl Reader {
    /// Begins to read a log from its first byte. `name` is what errors call it; `verifies` says whether checksums are
    /// compared; an encrypted log needs the keys of its server.
    ///
    /// # Errors
    /// If it cannot be read, is no binary log, or is encrypted and there is no key for it.
    pub fn new(
        name: impl Into<String>,
        input: Box<dyn Read + Send>,
        verifies: bool,
        keyring: Option<Arc<Keyring>>,
    ) -> Result<Self> {
        let name = name.into();
        let feed = Feed::new(mysql::opened(&name, input, keyring.as_deref())?);
        let mut reader = Self {
            feed,
            name,
            format: Format::unknown(),
            verifies,
            has_gaps: false,
            keyring,
            cipher: None,
            header: Header::default(),
            body: 0..0,
        };
        let magic = reader.peek(MAGIC.len())?.to_vec();
        let name = &reader.name;
        match magic {
            magic if magic == MAGIC => {}
            magic if magic.is_empty() => return Err(Error::found(format!("{name}: it is empty"))),
            _ => {
                return Err(Error::found(format!(
                    "{name}: it is no binary log, which begins with the bytes FE 62 69 6E"
                )));
            }
        }
        reader.feed.pass(MAGIC.len());
        Ok(reader)
    }

    /// Begins to read a log as a server sends it, which may leave out some of the events.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub(crate) fn of_stream(name: String, input: Box<dyn Read + Send>, verifies: bool) -> Result<Self> {
        Ok(Self { has_gaps: true, ..Self::new(name, input, verifies, None)? })
    }

    /// How the events from here on are written.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// What errors call the log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Goes on to the next event, and looks whether it is right; false at the end of the log.
    ///
    /// # Errors
    /// If the log cannot be read on, ends within an event, or holds what no server writes.
    pub fn step(&mut self) -> Result<bool> {
        self.begin_decryption()?;
        self.feed.pass(std::mem::take(&mut self.header.size) as usize);
        let Some(mut header) = self.read_header()? else { return Ok(false) };
        if self.has_gaps {
            self.feed.stand_at(header.begin(self.feed.position()));
        }
        let size = header.size as usize;
        let there = self.peek(size)?.len();
        if there < size {
            let event = self.called(&header);
            return Err(self.torn(format!("the log ends {there} bytes into {event} of {size} bytes")));
        }
        if self.cipher.is_some() {
            header = self.decrypt(&header)?;
        }
        let kind = header.kind;
        self.learn(&header)?;
        if self.verifies && self.format.has_checksums {
            self.verify(&header)?;
        }
        self.body = self.body_of(&header);
        if self.body.start > self.body.end {
            return Err(self.damaged(format!("a {kind} event of {size} bytes, which is too few")));
        }
        self.header = header;
        Ok(true)
    }

    /// The event that [`Self::step`] went to.
    pub fn event(&self) -> Event<'_> {
        let bytes = self.feed.seen(self.header.size as usize);
        let position = self.feed.position();
        Event {
            position,
            end: position + u64::from(self.header.size),
            header: self.header,
            kind: self.header.kind,
            body: bytes.get(self.body.clone()).unwrap_or_default(),
            is_packed: false,
        }
    }

    fn read_header(&mut self) -> Result<Option<Header>> {
        let needed = self.format.header_length.min(Header::LENGTH);
        let bytes = self.peek(Header::LENGTH)?;
        let there = bytes.len();
        if there == 0 {
            return Ok(None);
        }
        let Ok(header) = Header::parse(&bytes[..there.min(needed)]) else {
            return Err(self.torn(format!("the log ends {there} bytes into the header of an event")));
        };
        if (header.size as usize) < needed || header.size > LARGEST {
            let event = self.called(&header);
            return Err(self.damaged(format!("{event} of {} bytes, which no server writes", header.size)));
        }
        Ok(Some(header))
    }

    /// What errors call the event at hand, before it is decrypted.
    fn called(&self, header: &Header) -> String {
        match self.cipher {
            Some(_) => "an encrypted event".into(),
            None => format!("a {} event", header.kind),
        }
    }

    /// Decrypts the event at hand where it lies; only its size could be read before.
    fn decrypt(&mut self, encrypted: &Header) -> Result<Header> {
        let (position, size) = (self.feed.position(), encrypted.size as usize);
        let (Some(cipher), format) = (&mut self.cipher, &self.format) else { return Ok(*encrypted) };
        let event = self.feed.seen_mut(size);
        let decrypted = cipher.decrypt(position, event, |event| is_decrypted(event, position, format));
        let header = Header::parse(&event[..Header::LENGTH.min(event.len())]);
        decrypted.map_err(|what| self.damaged(what))?;
        header.map_err(|Short| self.damaged("an encrypted event that is cut short".into()))
    }

    /// Where the body is in the event.
    fn body_of(&self, header: &Header) -> Range<usize> {
        let from = match header.kind {
            Kind::FORMAT_DESCRIPTION => Header::LENGTH,
            _ => self.format.header_length,
        };
        let checksum = match header.kind {
            Kind::FORMAT_DESCRIPTION if self.format.knows_checksums => CHECKSUM,
            _ if self.format.has_checksums => CHECKSUM,
            _ => 0,
        };
        from..(header.size as usize).saturating_sub(checksum)
    }

    /// Takes in what the event at hand says about those behind it.
    fn learn(&mut self, header: &Header) -> Result<()> {
        match header.kind {
            Kind::START_V3 => self.format = Format::old(header),
            Kind::FORMAT_DESCRIPTION => {
                let event = self.peek(header.size as usize)?;
                let format = Format::described(event.get(Header::LENGTH..).unwrap_or_default());
                self.format = match format {
                    Ok(format) => format,
                    Err(_) => return Err(self.damaged("a format description that is cut short".into())),
                };
                if self.format.version != 4 || self.format.header_length < Header::LENGTH {
                    let Format { version, header_length, .. } = self.format;
                    return Err(self.damaged(format!(
                        "a format of version {version} with headers of {header_length} bytes, which no server writes"
                    )));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes ready to decrypt what follows, if the event at hand says that it is encrypted.
    fn begin_decryption(&mut self) -> Result<()> {
        // A server that sends its log decrypts it, and marks the event as one to pass over: MariaDB sql/sql_repl.cc,
        // send_format_descriptor_event().
        let Header { kind, flags, .. } = self.header;
        if kind != Kind::MARIADB_START_ENCRYPTION || flags & Header::IGNORABLE != 0 {
            return Ok(());
        }
        let event = self.event();
        if !self.format.is_mariadb() {
            let what = format!(
                "a {} event of {}, which drover cannot decrypt",
                event.kind, self.format.server_version
            );
            return Err(self.damaged(what));
        }
        let Ok(start) = Start::parse(event.body) else {
            return Err(self.damaged(format!("a {} event that is cut short", event.kind)));
        };
        self.cipher = Some(start.cipher(&self.name, event.end, self.keyring.as_deref())?);
        Ok(())
    }

    /// Compares the checksum of the event at hand.
    fn verify(&mut self, header: &Header) -> Result<()> {
        let Some((stored, found)) = checksums(self.peek(header.size as usize)?, header) else {
            return Ok(());
        };
        if stored == found {
            return Ok(());
        }
        Err(self.damaged(format!(
            "a {} event whose checksum is {found:08x} and should be {stored:08x}: its bytes were changed",
            header.kind
        )))
    }

    fn peek(&mut self, count: usize) -> Result<&[u8]> {
        let (name, position) = (&self.name, self.feed.position());
        self.feed.peek(count).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Error::Damaged {
                log: name.clone(),
                position,
                what: format!("the file it is packed in is damaged: {source}"),
                whole: None,
                is_torn: false,
            },
            _ => Error::read(name, position, source),
        })
    }

    pub(super) fn damaged(&self, what: String) -> Error {
        let (log, position) = (self.name.clone(), self.feed.position());
        Error::Damaged { log, position, what, whole: None, is_torn: false }
    }

    /// The error for an event within which the log ends.
    fn torn(&self, what: String) -> Error {
        let (log, position) = (self.name.clone(), self.feed.position());
        Error::Damaged { log, position, what, whole: None, is_torn: true }
    }
}

/// The checksum that an event ends with, and the one that it has.
fn checksums(event: &[u8], header: &Header) -> Option<(u32, u32)> {
    let (content, checksum) = event.split_last_chunk::<CHECKSUM>()?;
    Some((u32::from_le_bytes(*checksum), crc_of(content, header)))
}

/// Whether an event at that position was decrypted with the right key: its checksum says so, or else its header.
fn is_decrypted(event: &[u8], position: u64, format: &Format) -> bool {
    let Some(Ok(header)) = event.get(..Header::LENGTH).map(Header::parse) else { return false };
    if format.has_checksums {
        return checksums(event, &header).is_some_and(|(stored, found)| stored == found);
    }
    let end = (position as u32).wrapping_add(header.size);
    // In a relay log that may be a position of another log, but only of this event, which tells where that begins.
    let goes_on = header.kind == Kind::ROTATE
        && event[Header::LENGTH..].starts_with(&(MAGIC.len() as u64).to_le_bytes());
    format.post_header(header.kind).is_some() && (goes_on || [0, end].contains(&header.next_position))
}

/// The checksum of an event, its own four bytes not included. That of a format description was taken before the flag for a log
/// in use was set.
fn crc_of(content: &[u8], header: &Header) -> u32 {
    if header.kind != Kind::FORMAT_DESCRIPTION || header.flags & Header::IN_USE == 0 {
        return crc32fast::hash(content);
    }
    let mut copy = content.to_vec();
    if let Some(flags) = copy.get_mut(Header::FLAGS_AT) {
        *flags &= !(Header::IN_USE as u8);
    }
    crc32fast::hash(&copy)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::crypt::keyring_of_mariadb;

    /// An event with the header and the checksum that it should have.
    fn event(kind: Kind, body: &[u8]) -> Vec<u8> {
        let size = (Header::LENGTH + body.len() + CHECKSUM) as u32;
        let mut event = [&[0; 4][..], &[kind.0], &[1, 0, 0, 0], &size.to_le_bytes(), &[0; 6], body].concat();
        event.extend(crc32fast::hash(&event).to_le_bytes());
        event
    }

    /// What a log of MariaDB begins with, up to where it is encrypted.
    fn beginning(server_version: &[u8]) -> Vec<u8> {
        let mut format = vec![0; 2 + 50 + 4];
        format[0] = 4;
        format[2..2 + server_version.len()].copy_from_slice(server_version);
        format.push(Header::LENGTH as u8);
        format.extend([0; 171]);
        format.push(1); // CRC-32
        let start = [&[1, 1, 0, 0, 0][..], &[7; 12]].concat();
        let events =
            [event(Kind::FORMAT_DESCRIPTION, &format), event(Kind::MARIADB_START_ENCRYPTION, &start)];
        [&MAGIC[..], &events.concat()].concat()
    }

    /// How many events there are before the error.
    fn read(log: Vec<u8>) -> (u32, String) {
        let keyring = Some(Arc::new(keyring_of_mariadb(1, vec![3; 16])));
        let mut reader = Reader::new("log", Box::new(io::Cursor::new(log)), true, keyring).unwrap();
        let mut events = 0;
        loop {
            match reader.step() {
                Ok(true) => events += 1,
                Ok(false) => return (events, String::new()),
                Err(error) => return (events, error.to_string()),
            }
        }
    }

    #[test]
    fn a_log_may_end_where_it_would_be_encrypted() {
        let log = beginning(b"10.11.6-MariaDB-log");
        assert_eq!(read(log.clone()), (2, String::new()));
        let (events, error) = read([log, event(Kind::XID, &[0; 8])].concat());
        assert_eq!(
            (events, error.contains("at 296: the key 1 in keyring does not open the event")),
            (2, true),
            "{error}"
        );
        let (events, error) = read(beginning(b"5.7.20-19-log"));
        assert_eq!(
            (events, error.contains("Start_encryption event of 5.7.20-19-log, which drover cannot")),
            (2, true),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn what_cannot_be_decrypted_is_an_error(
            bytes in prop::collection::vec(any::<u8>(), 1..200),
            size in prop::option::of(0..250_u32),
        ) {
            let mut log = [beginning(b"10.11.6-MariaDB-log"), bytes].concat();
            let at = beginning(b"10.11.6-MariaDB-log").len() + 9;
            if let (Some(size), Some(place)) = (size, log.get_mut(at..at + 4)) {
                place.copy_from_slice(&size.to_le_bytes());
            }
            let (events, error) = read(log);
            prop_assert_eq!(events, 2);
            prop_assert!(error.starts_with("log: at "), "{}", error);
        }
    }
}
