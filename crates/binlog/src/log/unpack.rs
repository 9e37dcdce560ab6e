//! Events as they were before they were compressed: what is in a transaction's payload (MySQL from 8.0.20 on, with
//! `binlog_transaction_compression`), and in compressed events (MariaDB from 10.2 on, with `log_bin_compress`).

use std::io::{self, Cursor as Bytes, Read};

use super::cursor::{Cursor, Short};
use super::feed::Feed;
use super::format::Format;
use super::header::Header;
use super::kind::Kind;
use super::reader::{Event, Reader};
use crate::{Error, Result};

/// Reads a log, with everything in it unpacked.
pub struct Unpacked {
    reader: Reader,
    /// What is left of a payload, while its events are given.
    payload: Option<Payload>,
    /// The body of an event that was compressed.
    body: Vec<u8>,
    at: At,
}

/// Which event was gone to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The reader's, as it is.
    Stored,
    /// The reader's, of this kind when unpacked.
    Compressed(Kind),
    /// The payload's.
    Payload,
}

/// The largest body that a compressed event may unpack to, in bytes: no event is larger.
const LARGEST: u64 = 1 << 30;

impl Unpacked {
    /// Reads this log.
    pub fn new(reader: Reader) -> Self {
        Self { reader, payload: None, body: Vec::new(), at: At::Stored }
    }

    /// How the events from here on are written.
    pub fn format(&self) -> &Format {
        self.reader.format()
    }

    /// What errors call the log.
    pub fn name(&self) -> &str {
        self.reader.name()
    }

    /// Goes on to the next event; false at the end of the log. A payload comes first as it is, then what is in it.
    ///
    /// # Errors
    /// As of [`Reader::step`], and if something cannot be unpacked.
    pub fn step(&mut self) -> Result<bool> {
        if let Some(payload) = &mut self.payload {
            match payload.step() {
                Ok(true) => {
                    self.at = At::Payload;
                    return Ok(true);
                }
                Ok(false) => self.payload = None,
                Err(what) => return Err(self.reader.damaged(format!("a transaction's payload: {what}"))),
            }
        }
        if !self.reader.step()? {
            return Ok(false);
        }
        self.at = At::Stored;
        let event = self.reader.event();
        let unpacked = match event.kind {
            Kind::TRANSACTION_PAYLOAD => {
                Payload::begin(event.body).map(|payload| self.payload = Some(payload))
            }
            kind => match kind.uncompressed() {
                None => Ok(()),
                Some(plain) => {
                    self.at = At::Compressed(plain);
                    let head = head_of(kind, event.body, self.reader.format());
                    head.map_err(|Short| "it is cut short".into())
                        .and_then(|head| inflate(event.body, head, &mut self.body))
                }
            },
        };
        unpacked.map(|()| true).map_err(|what: String| {
            self.reader
                .damaged(format!("a {} event that cannot be unpacked: {what}", self.reader.event().kind))
        })
    }

    /// The event that [`Self::step`] went to.
    pub fn event(&self) -> Event<'_> {
        let stored = self.reader.event();
        match (self.at, &self.payload) {
            (At::Compressed(kind), _) => Event { kind, body: &self.body, ..stored },
            (At::Payload, Some(payload)) => {
                let (header, body) = payload.event();
                Event { header, kind: header.kind, body, is_packed: true, ..stored }
            }
            _ => stored,
        }
    }

    /// An error at the event at hand.
    pub fn damaged(&self, what: impl Into<String>) -> Error {
        self.reader.damaged(what.into())
    }
}

/// What is left of the events in a transaction's payload.
struct Payload {
    feed: Feed,
    header: Header,
}

/// Fields before a payload. Source: MySQL `libs/mysql/binlog/event/codecs/binary.cpp`.
mod field {
    pub(super) const END: u64 = 0;
    pub(super) const COMPRESSION: u64 = 2;
}

/// Compressions of a payload. Source: MySQL `libs/mysql/binlog/event/compression/base.h`.
mod compression {
    pub(super) const ZSTD: u64 = 0;
    pub(super) const NONE: u64 = 255;
}

impl Payload {
    fn begin(body: &[u8]) -> std::result::Result<Self, String> {
        let (kind, content) = Self::head(body).map_err(|Short| "it is cut short".to_owned())?;
        let content = Bytes::new(content.to_vec());
        let input: Box<dyn Read + Send> = match kind {
            compression::ZSTD => {
                Box::new(zstd::Decoder::with_buffer(content).map_err(|error| error.to_string())?)
            }
            compression::NONE => Box::new(content),
            other => return Err(format!("its compression has the number {other}, which nobody knows")),
        };
        Ok(Self { feed: Feed::new(input), header: Header::default() })
    }

    /// How the payload is compressed, and its bytes.
    fn head(body: &[u8]) -> std::result::Result<(u64, &[u8]), Short> {
        let mut at = Cursor::new(body);
        let mut kind = compression::ZSTD;
        loop {
            let field = at.packed()?;
            if field == field::END {
                return Ok((kind, at.rest()));
            }
            let length = at.packed()?;
            let value = at.take(usize::try_from(length).map_err(|_| Short)?)?;
            if field == field::COMPRESSION {
                kind = Cursor::new(value).packed()?;
            }
        }
    }

    fn step(&mut self) -> std::result::Result<bool, String> {
        let told = |error: io::Error| error.to_string();
        self.feed.pass(std::mem::take(&mut self.header.size) as usize);
        let head = self.feed.peek(Header::LENGTH).map_err(told)?;
        if head.is_empty() {
            return Ok(false);
        }
        let header =
            Header::parse(head).map_err(|Short| "it ends within the header of an event".to_owned())?;
        let size = header.size as usize;
        let there = self.feed.peek(size).map_err(told)?.len();
        if size < Header::LENGTH || there < size {
            return Err(format!("a {} event of {size} bytes, of which {there} are there", header.kind));
        }
        self.header = header;
        Ok(true)
    }

    fn event(&self) -> (Header, &[u8]) {
        let bytes = self.feed.seen(self.header.size as usize);
        (self.header, bytes.get(Header::LENGTH..).unwrap_or_default())
    }
}

/// How much of the body stands before what is compressed.
fn head_of(kind: Kind, body: &[u8], format: &Format) -> std::result::Result<usize, Short> {
    if kind == Kind::MARIADB_QUERY_COMPRESSED {
        return crate::event::Query::head_length(body, format);
    }
    crate::event::rows_head_length(kind, body, format)
}

/// Unpacks a body of which so many bytes are not compressed. What follows these is one byte, of which the lowest three bits say
/// how many bytes the length has that comes next, with its highest byte first; then a zlib stream. Source: MariaDB
/// `sql/log_event.cc`, `binlog_buf_uncompress()`.
fn inflate(body: &[u8], head: usize, into: &mut Vec<u8>) -> std::result::Result<(), String> {
    let cut_short = |Short| "it is cut short".to_owned();
    let mut at = Cursor::new(body);
    let head = at.take(head).map_err(cut_short)?;
    let first = at.u8().map_err(cut_short)?;
    if first & 0xe0 != 0x80 {
        return Err(format!("its compression is {first:02x}, which nobody knows"));
    }
    let digits = at.take(usize::from(first & 0x07)).map_err(cut_short)?;
    let length = digits.iter().fold(0, |length, &byte| length << 8 | u64::from(byte));
    if length > LARGEST {
        return Err(format!("it says it would have {length} bytes"));
    }
    into.clear();
    into.extend_from_slice(head);
    // A byte more than it says would be seen.
    let mut stream = flate2::bufread::ZlibDecoder::new(at.rest()).take(length + 1);
    let found = stream.read_to_end(into).map_err(|error| error.to_string())? as u64;
    if found == length { Ok(()) } else { Err(format!("it has {found} bytes and says {length}")) }
}
