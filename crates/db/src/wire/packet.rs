//! Packets: a payload of up to 16 MiB - 1 bytes behind a four-byte header; a longer one goes on in the next packet.

use std::io::{self, Read, Write};

use super::stream::Stream;

/// What the payload of an error begins with.
pub(super) const ERROR: u8 = 0xff;

/// The longest payload of one packet; a packet of just this length is followed by another.
const MAX_PAYLOAD: usize = 0xff_ffff;

/// The longest payload that is read whole into memory, in bytes. Nothing that is not a row comes near it.
pub(super) const MAX_WHOLE: usize = 64 << 20;

/// Size of the receive buffer in bytes. A row that fits is handed out without a copy, a longer one in pieces, so this
/// bounds a connection's memory whatever the rows' size.
pub const BUFFER: usize = 512 << 10;

pub(super) struct Packets {
    stream: Stream,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    sequence: u8,
    /// Bytes of the current packet that have not been taken, where it is taken in pieces.
    left: usize,
    /// Whether the packet taken in pieces goes on in the next one.
    more: bool,
}

/// What comes next in a result.
pub(super) enum Next {
    /// A whole payload: this range of the receive buffer.
    Whole(std::ops::Range<usize>),
    /// A payload larger than the buffer, to be taken in pieces.
    Large,
}

impl Packets {
    pub(super) fn new(stream: Stream) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Self { stream, buffer, start: 0, end: 0, sequence: 0, left: 0, more: false }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Whether bytes were received that nobody has taken.
    pub(super) fn has_unread(&self) -> bool {
        self.start < self.end
    }

    /// Exchanges the stream, for the step from TCP to TLS.
    pub(super) fn map_stream<E>(self, f: impl FnOnce(Stream) -> Result<Stream, E>) -> Result<Self, E> {
        Ok(Self { stream: f(self.stream)?, ..self })
    }

    /// Starts a new command: packets are numbered from 0.
    pub(super) fn new_command(&mut self) {
        self.sequence = 0;
    }

    /// What comes next is the answer to a command of one packet.
    pub(super) fn begin_answer(&mut self) {
        self.sequence = 1;
    }

    /// Sends packets that have their headers.
    pub(super) fn write_framed(&mut self, packets: &[u8]) -> io::Result<()> {
        self.stream.write_all(packets)?;
        self.stream.flush()
    }

    /// Sends one payload, cut into packets.
    pub(super) fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut rest = payload;
        loop {
            let (now, later) = rest.split_at(rest.len().min(MAX_PAYLOAD));
            self.write_packet(now)?;
            rest = later;
            if now.len() < MAX_PAYLOAD {
                return self.stream.flush();
            }
        }
    }

    /// Sends one payload that lies in several places, cut into packets: a large one is not copied.
    pub(super) fn write_parts(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut left: usize = parts.iter().map(|part| part.len()).sum();
        let mut parts = parts.iter().copied();
        let mut rest = parts.next().unwrap_or_default();
        loop {
            let mut room = left.min(MAX_PAYLOAD);
            let is_last = room < MAX_PAYLOAD;
            left -= room;
            let header = self.header_of(room);
            self.stream.write_all(&header)?;
            while room > 0 {
                let (now, later) = rest.split_at(rest.len().min(room));
                self.stream.write_all(now)?;
                room -= now.len();
                rest = if later.is_empty() { parts.next().unwrap_or_default() } else { later };
            }
            if is_last {
                return self.stream.flush();
            }
        }
    }

    fn header_of(&mut self, length: usize) -> [u8; 4] {
        let [a, b, c, _] = (length as u32).to_le_bytes();
        let header = [a, b, c, self.sequence];
        self.sequence = self.sequence.wrapping_add(1);
        header
    }

    fn write_packet(&mut self, payload: &[u8]) -> io::Result<()> {
        let header = self.header_of(payload.len());
        // One write for small packets: two would be two segments on the network.
        if payload.len() <= 16 << 10 {
            let mut packet = Vec::with_capacity(4 + payload.len());
            packet.extend_from_slice(&header);
            packet.extend_from_slice(payload);
            return self.stream.write_all(&packet);
        }
        self.stream.write_all(&header)?;
        self.stream.write_all(payload)
    }

    /// Reads one whole payload, of up to 64 MiB, into `out`.
    pub(super) fn read(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.read_up_to(out, MAX_WHOLE)
    }

    /// Reads one whole payload, of up to `most` bytes, into `out`.
    pub(super) fn read_up_to(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<()> {
        out.clear();
        self.finish_large()?;
        let mut length = self.first_header()?;
        loop {
            if out.len() + length > most {
                return Err(malformed("a packet that is longer than any of its kind"));
            }
            self.left = length;
            while self.left > 0 {
                let piece = self.piece()?;
                out.extend_from_slice(piece);
            }
            if length < MAX_PAYLOAD {
                return Ok(());
            }
            length = self.header()?;
        }
    }

    /// Reads the next payload in place.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Next> {
        self.finish_large()?;
        let length = self.first_header()?;
        if length > BUFFER {
            self.left = length;
            self.more = length == MAX_PAYLOAD;
            return Ok(Next::Large);
        }
        self.fill(length)?;
        let range = self.start..self.start + length;
        self.start += length;
        Ok(Next::Whole(range))
    }

    #[inline]
    pub(super) fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Reads past what is left of a payload that was being taken in pieces.
    fn finish_large(&mut self) -> io::Result<()> {
        while !self.piece()?.is_empty() {}
        Ok(())
    }

    /// The next piece of the payload that is being taken in pieces; empty at its end.
    fn piece(&mut self) -> io::Result<&[u8]> {
        self.piece_up_to(usize::MAX)
    }

    /// The same, of at most so many bytes.
    pub(super) fn piece_up_to(&mut self, most: usize) -> io::Result<&[u8]> {
        while self.left == 0 {
            if !self.more {
                return Ok(&[]);
            }
            self.left = self.header()?;
            self.more = self.left == MAX_PAYLOAD;
        }
        if self.start == self.end {
            self.fill(1)?;
        }
        let length = (self.end - self.start).min(self.left).min(most);
        let range = self.start..self.start + length;
        self.start += length;
        self.left -= length;
        Ok(&self.buffer[range])
    }

    /// The first bytes of a payload that is being taken in pieces and of which few were: more than these are left in its first
    /// packet, which is larger than the buffer.
    pub(super) fn peek_large<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.fill(N)?;
        let there = self.buffer[self.start..self.end].first_chunk();
        there.copied().ok_or_else(|| malformed("less than it announced"))
    }

    /// The header of a payload's first packet.
    #[inline]
    fn first_header(&mut self) -> io::Result<usize> {
        self.fill(4)?;
        if self.buffer[self.start + 3] != self.sequence {
            self.hear_last_words()?;
        }
        self.header()
    }

    /// A server that ends a session by itself, as MySQL does after `wait_timeout`, numbers its last words from 0, whatever
    /// number is due.
    #[cold]
    fn hear_last_words(&mut self) -> io::Result<()> {
        let is_empty = self.buffer[self.start..self.start + 3] == [0; 3];
        if is_empty {
            return Ok(());
        }
        self.fill(5)?;
        if self.buffer[self.start + 4] == ERROR {
            self.sequence = self.buffer[self.start + 3];
        }
        Ok(())
    }

    #[inline]
    fn header(&mut self) -> io::Result<usize> {
        self.fill(4)?;
        let header = &self.buffer[self.start..self.start + 4];
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        if header[3] != self.sequence {
            return Err(malformed("packets out of order"));
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.start += 4;
        Ok(length)
    }

    /// Makes sure that at least `need` bytes (at most the buffer's size) lie at `start`.
    #[inline]
    fn fill(&mut self, need: usize) -> io::Result<()> {
        if self.end - self.start >= need { Ok(()) } else { self.receive(need) }
    }

    fn receive(&mut self, need: usize) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start + need > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < need {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server closed the connection",
                    ));
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A row larger than the receive buffer, taken field by field and each field in pieces.
pub struct LargeRow<'a> {
    packets: &'a mut Packets,
    /// Bytes of the current field that have not been taken.
    field: u64,
    /// Bytes that its fields may still have.
    left: u64,
}

/// The longest row, in bytes: the greatest max_allowed_packet, which the client has told the server too.
const MAX_ROW: u64 = 1 << 30;

impl<'a> LargeRow<'a> {
    pub(super) fn new(packets: &'a mut Packets) -> Self {
        Self { packets, field: 0, left: MAX_ROW }
    }

    /// Steps to the next field and gives its length in bytes, `None` for NULL.
    ///
    /// # Errors
    /// If the connection breaks or the row ends here.
    pub fn next_field(&mut self) -> io::Result<Option<u64>> {
        while !self.piece()?.is_empty() {}
        let size = match self.byte()? {
            short @ 0..=0xfa => {
                self.field = u64::from(short);
                return Ok(Some(self.field));
            }
            0xfb => return Ok(None),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            0xff => return Err(malformed("a row with a field that is none")),
        };
        let mut length = [0; 8];
        for byte in &mut length[..size] {
            *byte = self.byte()?;
        }
        self.field = u64::from_le_bytes(length);
        let left = self.left.checked_sub(self.field);
        self.left = left.ok_or_else(|| malformed("a row of more than 1 GiB"))?;
        Ok(Some(self.field))
    }

    /// The next piece of the current field; empty at its end.
    ///
    /// # Errors
    /// If the connection breaks or the row ends before the field does.
    pub fn piece(&mut self) -> io::Result<&[u8]> {
        if self.field == 0 {
            return Ok(&[]);
        }
        let most = usize::try_from(self.field).unwrap_or(usize::MAX);
        let piece = self.packets.piece_up_to(most)?;
        if piece.is_empty() {
            return Err(short_row());
        }
        self.field -= piece.len() as u64;
        Ok(piece)
    }

    fn byte(&mut self) -> io::Result<u8> {
        self.packets.piece_up_to(1)?.first().copied().ok_or_else(short_row)
    }
}

pub(super) fn short_row() -> io::Error {
    malformed("a row that ends inside a field")
}

/// An error about what the server sent, in words that follow "sent something unexpected".
pub(super) fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// A connection whose other end sends `payload` as packets.
    fn fed_with(payloads: Vec<Vec<u8>>) -> Packets {
        let (near, far) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut sender = Packets::new(Stream::unix(far));
            for payload in payloads {
                sender.write(&payload).unwrap();
            }
        });
        Packets::new(Stream::unix(near))
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn payloads_of_all_lengths_come_back() {
        let sizes = [
            0,
            1,
            BUFFER - 4,
            BUFFER,
            BUFFER + 1,
            MAX_PAYLOAD - 1,
            MAX_PAYLOAD,
            MAX_PAYLOAD + 1,
            2 * MAX_PAYLOAD,
        ];
        let mut packets = fed_with(sizes.iter().map(|&n| pattern(n)).collect());
        let mut out = Vec::new();
        for size in sizes {
            packets.read(&mut out).unwrap();
            assert!(out == pattern(size), "payload of {size} bytes");
        }
    }

    #[test]
    fn payloads_in_parts_come_back() {
        for size in [1, 1000, MAX_PAYLOAD - 1, MAX_PAYLOAD, 2 * MAX_PAYLOAD + 5] {
            let (near, far) = UnixStream::pair().unwrap();
            let whole = pattern(size);
            let sent = whole.clone();
            std::thread::spawn(move || {
                let (first, second) = sent.split_at(sent.len() / 3);
                Packets::new(Stream::unix(far)).write_parts(&[first, &[], second]).unwrap();
            });
            let mut out = Vec::new();
            Packets::new(Stream::unix(near)).read(&mut out).unwrap();
            assert!(out == whole, "payload of {size} bytes");
        }
    }

    #[test]
    fn a_row_cannot_be_longer_than_a_packet_may_be() {
        let field = |length: u64| [&[0xfe][..], &length.to_le_bytes(), &vec![b'x'; BUFFER]].concat();
        let mut packets = fed_with(vec![field(MAX_ROW + 1), field(MAX_ROW)]);
        for is_ok in [false, true] {
            assert!(matches!(packets.next().unwrap(), Next::Large));
            assert_eq!(LargeRow::new(&mut packets).next_field().is_ok(), is_ok);
        }
    }

    #[test]
    fn a_large_row_is_read_in_pieces_and_may_be_left_unread() {
        let mut row = vec![0xfb, 3, b'a', b'b', b'c', 0xfe];
        let long = pattern(MAX_PAYLOAD + 1000);
        row.extend_from_slice(&(long.len() as u64).to_le_bytes());
        row.extend_from_slice(&long);
        let mut packets = fed_with(vec![row.clone(), row, vec![9]]);

        assert!(matches!(packets.next().unwrap(), Next::Large));
        let mut large = LargeRow::new(&mut packets);
        assert_eq!(large.next_field().unwrap(), None);
        assert_eq!(large.next_field().unwrap(), Some(3));
        assert_eq!(large.next_field().unwrap(), Some(long.len() as u64));
        let mut got = Vec::new();
        loop {
            let piece = large.piece().unwrap();
            if piece.is_empty() {
                break;
            }
            got.extend_from_slice(piece);
        }
        assert!(got == long);
        assert!(large.next_field().is_err());

        assert!(matches!(packets.next().unwrap(), Next::Large));
        match packets.next().unwrap() {
            Next::Whole(range) => assert_eq!(packets.bytes(range), [9]),
            Next::Large => panic!("one byte is not large"),
        }
    }
}
