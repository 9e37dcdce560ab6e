//! How an event stands in the spool: the number of its scene, what is known of it, its body.

use crate::log::{Cursor, Event, Header, Kind, Short};

/// An event, and the number of the scene that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) scene: u32,
    pub(super) event: Event<'a>,
}

impl<'a> Record<'a> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let Event { position, end, header, kind, body, is_packed } = self.event;
        out.extend(self.scene.to_le_bytes());
        out.extend(position.to_le_bytes());
        out.extend(end.to_le_bytes());
        out.extend([kind.0, is_packed.into(), header.kind.0]);
        out.extend(header.flags.to_le_bytes());
        for number in [header.timestamp, header.server_id, header.size, header.next_position] {
            out.extend(number.to_le_bytes());
        }
        out.extend_from_slice(body);
    }

    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(bytes);
        let scene = at.u32()?;
        let (position, end) = (at.u64()?, at.u64()?);
        let (kind, is_packed, header_kind) = (Kind(at.u8()?), at.u8()? != 0, Kind(at.u8()?));
        let flags = at.u16()?;
        let header = Header {
            timestamp: at.u32()?,
            server_id: at.u32()?,
            size: at.u32()?,
            next_position: at.u32()?,
            kind: header_kind,
            flags,
        };
        Ok(Self { scene, event: Event { position, end, header, kind, body: at.rest(), is_packed } })
    }
}

/// Some records, each behind its length: those that stand around the rows of a transaction, which are few.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) bytes: Vec<u8>,
}

impl Records {
    pub(super) fn push(&mut self, record: &Record<'_>) {
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        record.write(&mut self.bytes);
        let length = (self.bytes.len() - at - 4) as u32; // an event has at most 1 GiB
        self.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Those in `bytes`, in their order.
    pub(super) fn of(bytes: &[u8]) -> impl Iterator<Item = Result<Record<'_>, Short>> {
        let mut at = Cursor::new(bytes);
        std::iter::from_fn(move || {
            if at.is_empty() {
                return None;
            }
            let length = at.u32().map(|length| length as usize);
            Some(length.and_then(|length| at.take(length)).and_then(Record::parse))
        })
    }
}
