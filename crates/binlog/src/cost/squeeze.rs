//! What a log takes with one or another compression, by compressing it.

use std::io::Write as _;

use flate2::{Compress, Compression, FlushCompress};

use crate::log::{Header, Kind};

/// The limits of compression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// `max_allowed_packet`, which a transaction's payload has to fit (MySQL), in bytes.
    pub(super) payload: u64,
    /// `binlog_transaction_compression_level_zstd`.
    pub(super) level: i32,
    /// `log_bin_compress_min_len` (MariaDB), in bytes.
    pub(super) least: usize,
}

/// What the transaction at hand takes, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Squeezed {
    /// With the vendor's compression of the log.
    pub(super) log: u64,
    /// With a compressed connection.
    pub(super) wire: u64,
    /// With both.
    pub(super) both: u64,
}

/// Compresses the events of a lane in all ways that its vendor has.
pub(super) struct Squeeze {
    limits: Limits,
    is_mariadb: bool,
    checksum: u64,
    payload: Payload,
    deflate: Deflate,
    wire: Wire,
    both: Wire,
    /// Of the transaction at hand, with MariaDB's compression of events, or of what is not in MySQL's payload.
    log: u64,
    /// Whether it has what MySQL packs: rows, and an end that commits them.
    has_rows: bool,
    is_committed: bool,
    event: Vec<u8>,
    packed: Vec<u8>,
}

impl std::fmt::Debug for Squeeze {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Squeeze").finish_non_exhaustive()
    }
}

impl Squeeze {
    /// # Errors
    /// If zstd has no such level.
    pub(super) fn new(limits: Limits) -> std::io::Result<Self> {
        Ok(Self {
            limits,
            is_mariadb: false,
            checksum: 0,
            payload: Payload::new(limits.level)?,
            deflate: Deflate::new(),
            wire: Wire::new(),
            both: Wire::new(),
            log: 0,
            has_rows: false,
            is_committed: false,
            event: Vec::new(),
            packed: Vec::new(),
        })
    }

    /// Says whose log it is, and how many bytes each event has for a checksum.
    pub(super) fn of(&mut self, is_mariadb: bool, checksum: u64) {
        (self.is_mariadb, self.checksum) = (is_mariadb, checksum);
    }

    /// An event without rows; of a statement, `text` is where in the body its text begins.
    pub(super) fn event(&mut self, header: &Header, kind: Kind, body: &[u8], text: Option<usize>) {
        let text = text.filter(|&text| body.len().saturating_sub(text) >= self.limits.least);
        self.is_committed |= matches!(kind, Kind::XID | Kind::XA_PREPARE);
        self.add(header, kind, body, text);
    }

    /// An event of rows, of which so many bytes come before these; MariaDB compresses it if its first row is long enough.
    /// Source: MariaDB `sql/sql_class.cc`, `THD::binlog_write_row()`.
    pub(super) fn rows(&mut self, header: &Header, kind: Kind, body: &[u8], head: usize, first_row: usize) {
        self.has_rows = true;
        self.add(header, kind, body, Some(head).filter(|_| first_row >= self.limits.least));
    }

    fn add(&mut self, header: &Header, kind: Kind, body: &[u8], deflated_from: Option<usize>) {
        write_event(header, kind, body, &mut self.event);
        self.wire.add(&self.event, self.checksum);
        if !self.is_mariadb {
            match kind {
                Kind::GTID | Kind::ANONYMOUS_GTID | Kind::GTID_TAGGED => {
                    self.log += self.event.len() as u64 + self.checksum;
                    self.both.add(&self.event, self.checksum);
                }
                _ => {
                    // In a payload no event has a position.
                    self.event[NEXT_POSITION].fill(0);
                    self.payload.add(&self.event, self.checksum);
                }
            }
            return;
        }
        if let Some((head, rest)) = deflated_from.and_then(|from| body.split_at_checked(from)) {
            self.packed.clear();
            self.packed.extend_from_slice(head);
            // One byte, and the length in as many as it needs: MariaDB sql/log_event.cc, binlog_buf_compress().
            self.packed.resize(head.len() + 1 + bytes_of(rest.len() as u64), 0x83);
            self.deflate.add(rest, &mut self.packed);
            write_event(header, kind, &self.packed, &mut self.event);
        }
        self.log += self.event.len() as u64 + self.checksum;
        self.both.add(&self.event, self.checksum);
    }

    /// Ends the transaction at hand.
    pub(super) fn end(&mut self) -> Squeezed {
        if !self.is_mariadb {
            let is_packed = self.has_rows && self.is_committed;
            let (plain, content) = self.payload.end();
            let packed = HEAD_OF_PAYLOAD
                + packed_length(plain.without_checksums)
                + packed_length(content.len() as u64)
                + content.len() as u64
                + self.checksum;
            if is_packed && content.len() as u64 <= self.limits.payload {
                self.log += packed;
                self.both.add(content, 0);
            } else {
                self.log += plain.with_checksums;
                self.both.total += plain.with_checksums;
            }
        }
        (self.has_rows, self.is_committed) = (false, false);
        let log = std::mem::take(&mut self.log);
        Squeezed { log, wire: self.wire.end(), both: self.both.end() }
    }
}

/// Of the event that holds a payload: its header, type and length and value of the compression, type and length of two sizes, and
/// the mark behind these. Source: MySQL `libs/mysql/binlog/event/codecs/binary.cpp`.
const HEAD_OF_PAYLOAD: u64 = Header::LENGTH as u64 + 3 + 2 + 2 + 1;

/// Where an event's header has the position behind it.
const NEXT_POSITION: std::ops::Range<usize> = 13..17;

/// An event without its checksum.
fn write_event(header: &Header, kind: Kind, body: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&header.timestamp.to_le_bytes());
    out.push(kind.0);
    out.extend_from_slice(&header.server_id.to_le_bytes());
    out.extend_from_slice(&((Header::LENGTH + body.len()) as u32).to_le_bytes());
    out.extend_from_slice(&header.next_position.to_le_bytes());
    out.extend_from_slice(&header.flags.to_le_bytes());
    out.extend_from_slice(body);
}

/// How many bytes a length-encoded number takes.
pub(super) fn packed_length(number: u64) -> u64 {
    match number {
        0..251 => 1,
        251..0x1_0000 => 3,
        0x1_0000..0x100_0000 => 4,
        _ => 9,
    }
}

/// How many bytes a number has, at least one.
fn bytes_of(number: u64) -> usize {
    (64 - number.leading_zeros() as usize).div_ceil(8).max(1)
}

/// The events of a transaction, as MySQL compresses them: all in one zstd frame.
struct Payload {
    level: i32,
    whole: zstd::bulk::Compressor<'static>,
    /// What came of a transaction that is not large yet.
    events: Vec<u8>,
    /// A large one, of which the beginning is compressed already.
    large: Option<zstd::stream::write::Encoder<'static, Vec<u8>>>,
    sizes: Sizes,
    packed: Vec<u8>,
}

/// What events take that are not compressed.
#[derive(Debug, Clone, Copy, Default)]
struct Sizes {
    with_checksums: u64,
    without_checksums: u64,
}

/// A transaction of more is compressed while it comes. From here on zstd takes the same parameters for any length.
const LARGE: usize = 1 << 20;

impl Payload {
    fn new(level: i32) -> std::io::Result<Self> {
        let whole = zstd::bulk::Compressor::new(level)?;
        let (events, packed, sizes) = (Vec::new(), Vec::new(), Sizes::default());
        Ok(Self { level, whole, events, large: None, sizes, packed })
    }

    fn add(&mut self, event: &[u8], checksum: u64) {
        self.sizes.without_checksums += event.len() as u64;
        self.sizes.with_checksums += event.len() as u64 + checksum;
        if self.large.is_none() && self.events.len() + event.len() > LARGE {
            // A level that it had once it has again.
            self.large = zstd::stream::write::Encoder::new(Vec::new(), self.level).ok();
        }
        match &mut self.large {
            Some(large) => {
                // Writing to memory does not fail.
                let _ = large.write_all(&self.events);
                let _ = large.write_all(event);
                self.events.clear();
            }
            None => self.events.extend_from_slice(event),
        }
    }

    /// What the transaction takes as it is, and its frame.
    fn end(&mut self) -> (Sizes, &[u8]) {
        let sizes = std::mem::take(&mut self.sizes);
        self.packed = match self.large.take() {
            Some(large) => large.finish().unwrap_or_default(),
            None => self.whole.compress(&self.events).unwrap_or_default(),
        };
        self.events.clear();
        (sizes, &self.packed)
    }
}

/// zlib, as both servers use it.
struct Deflate {
    stream: Compress,
}

impl Deflate {
    fn new() -> Self {
        // What zlib's compress() takes.
        Self { stream: Compress::new(Compression::new(6), true) }
    }

    /// Adds what these bytes are compressed.
    fn add(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.stream.reset();
        // No stream is longer: zlib's compressBound() is less.
        out.reserve(bytes.len() + bytes.len() / 1000 + 128);
        // It fails on a stream that ended, which this one did not.
        let _ = self.stream.compress_vec(bytes, out, FlushCompress::Finish);
    }
}

/// A compressed connection: what is sent is compressed in pieces.
struct Wire {
    deflate: Deflate,
    piece: Vec<u8>,
    packed: Vec<u8>,
    total: u64,
}

/// Both servers send when so many bytes came together: `net_buffer_length`.
const PIECE: usize = 16 << 10;
/// Before each piece.
const HEAD_OF_PIECE: u64 = 7;

impl Wire {
    fn new() -> Self {
        Self { deflate: Deflate::new(), piece: Vec::new(), packed: Vec::new(), total: 0 }
    }

    fn add(&mut self, event: &[u8], checksum: u64) {
        self.piece.extend_from_slice(event);
        // A checksum cannot be compressed.
        self.total += checksum;
        while self.piece.len() >= PIECE {
            self.packed.clear();
            self.deflate.add(&self.piece[..PIECE], &mut self.packed);
            self.total += HEAD_OF_PIECE + self.packed.len() as u64;
            self.piece.drain(..PIECE);
        }
    }

    /// What was sent since this was asked last. A transaction is sent when it is there.
    fn end(&mut self) -> u64 {
        if !self.piece.is_empty() {
            self.packed.clear();
            self.deflate.add(&self.piece, &mut self.packed);
            // What would grow is sent as it is.
            self.total += HEAD_OF_PIECE + self.packed.len().min(self.piece.len()) as u64;
            self.piece.clear();
        }
        std::mem::take(&mut self.total)
    }
}
