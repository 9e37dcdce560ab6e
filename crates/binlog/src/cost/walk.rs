//! Where the values of an event's rows are, without reading them.

use crate::event::Rows;
use crate::log::{Cursor, RowChange, Short};
use crate::rows::{Width, is_set};

use super::shape::Shape;

/// Where a value is among the rows of an event, its length included that stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    const NULL: u32 = u32::MAX;
    const ABSENT: u32 = u32::MAX - 1;

    /// Its bytes; none of NULL and of what is not there.
    pub(super) fn of(self, rows: &[u8]) -> &[u8] {
        rows.get(self.start as usize..(self.start + self.size()) as usize).unwrap_or_default()
    }

    /// How many bytes it takes.
    pub(super) fn size(self) -> u32 {
        if self.length >= Self::ABSENT { 0 } else { self.length }
    }

    pub(super) fn is_null(self) -> bool {
        self.length == Self::NULL
    }

    pub(super) fn is_there(self) -> bool {
        self.length != Self::ABSENT
    }

    /// Whether two are the same value.
    fn is_same(self, other: Self, rows: &[u8]) -> bool {
        self.length == other.length && self.of(rows) == other.of(rows)
    }
}

/// The rows of an event, as spans.
#[derive(Debug, Default)]
pub(super) struct Walk {
    spans: Vec<Span>,
    /// What a partial update has between its images, by row.
    between: Vec<Span>,
    columns: usize,
    images: usize,
}

/// Set in an update's options if JSON documents may be given by what changed in them.
const PARTIAL_JSON: u64 = 1;

impl Walk {
    /// Reads an event's rows.
    pub(super) fn read(&mut self, shape: &Shape, rows: &Rows<'_>) -> Result<(), Short> {
        self.spans.clear();
        self.between.clear();
        self.columns = shape.widths.len();
        self.images = 1 + usize::from(rows.change == RowChange::Update);
        if self.columns != rows.columns || rows.rows.len() >= Span::ABSENT as usize {
            return Err(Short);
        }
        let mut at = 0;
        while at < rows.rows.len() {
            let start = at;
            if rows.change != RowChange::Insert {
                self.image(shape, rows.before, &[], rows.rows, &mut at)?;
            }
            let mut diffs: &[u8] = &[];
            if rows.is_partial {
                diffs = self.options(shape, rows.rows, &mut at)?;
            }
            if rows.change != RowChange::Delete {
                self.image(shape, rows.after, diffs, rows.rows, &mut at)?;
            }
            if at == start {
                return Err(Short); // rows that take no bytes would never end
            }
        }
        Ok(())
    }

    /// What comes before the second image of a partial update: options, and a bit for each JSON column.
    fn options<'a>(&mut self, shape: &Shape, rows: &'a [u8], at: &mut usize) -> Result<&'a [u8], Short> {
        let mut cursor = Cursor::new(rows.get(*at..).ok_or(Short)?);
        let left = cursor.len();
        let mut bits: &[u8] = &[];
        if cursor.packed()? & PARTIAL_JSON != 0 {
            let count = shape.is_json.iter().filter(|&&is_json| is_json).count();
            bits = cursor.take(count.div_ceil(8))?;
        }
        let length = left - cursor.len();
        self.between.push(Span { start: *at as u32, length: length as u32 });
        *at += length;
        Ok(bits)
    }

    /// One image: a bit for each column that is there, set if it is NULL, then the values of those that are not.
    #[inline]
    fn image(
        &mut self,
        shape: &Shape,
        present: &[u8],
        diffs: &[u8],
        rows: &[u8],
        at: &mut usize,
    ) -> Result<(), Short> {
        let there = ones(present, self.columns);
        let nulls = rows.get(*at..*at + there.div_ceil(8)).ok_or(Short)?;
        let mut end = *at + nulls.len();
        let has_all = there == self.columns;
        let has_nulls = nulls.iter().any(|&byte| byte != 0);
        let (mut number, mut json) = (0, 0);
        for (index, &width) in shape.widths.iter().enumerate() {
            let is_diff = !diffs.is_empty() && shape.is_json[index] && {
                json += 1;
                is_set(diffs, json - 1)
            };
            if !has_all && !is_set(present, index) {
                self.spans.push(Span { start: 0, length: Span::ABSENT });
                continue;
            }
            number += 1;
            if has_nulls && is_set(nulls, number - 1) {
                self.spans.push(Span { start: 0, length: Span::NULL });
                continue;
            }
            let length = match width {
                Width::Fixed(length) => length as usize,
                Width::Told(width) => told(rows, end, if is_diff { 4 } else { width })?,
            };
            self.spans.push(Span { start: end as u32, length: length as u32 });
            end += length;
        }
        if end > rows.len() {
            return Err(Short);
        }
        *at = end;
        Ok(())
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.spans.len().checked_div(self.columns * self.images).unwrap_or(0)
    }

    /// The columns of a row, in the first of its images or the second.
    pub(super) fn image_of(&self, row: usize, image: usize) -> &[Span] {
        let start = (row * self.images + image) * self.columns;
        self.spans.get(start..start + self.columns).unwrap_or_default()
    }

    /// How many bytes a row takes, both of its images together.
    pub(super) fn row_length(&self, row: usize) -> usize {
        let values = |image: usize| -> (usize, usize) {
            let spans = self.image_of(row, image);
            let there = spans.iter().filter(|span| span.is_there()).count();
            (there.div_ceil(8), spans.iter().map(|span| span.size() as usize).sum())
        };
        let images: usize = (0..self.images).map(values).map(|(bits, bytes)| bits + bytes).sum();
        images + self.between(row).map_or(0, |between| between.size() as usize)
    }

    /// What a partial update has between its images.
    pub(super) fn between(&self, row: usize) -> Option<Span> {
        self.between.get(row).copied()
    }

    /// Marks the columns that any row changes.
    pub(super) fn mark_changed(&self, rows: &[u8], changed: &mut [bool]) {
        for row in 0..self.rows() {
            let pairs = self.image_of(row, 0).iter().zip(self.image_of(row, 1));
            for ((before, after), changed) in pairs.zip(changed.iter_mut()) {
                if !*changed && after.is_there() && !before.is_same(*after, rows) {
                    *changed = true;
                }
            }
        }
    }
}

/// How many of the first bits are set.
fn ones(bits: &[u8], count: usize) -> usize {
    let (whole, rest) = bits.split_at_checked(count / 8).unwrap_or((bits, &[]));
    let last = rest.first().map_or(0, |byte| byte & ((1_u16 << (count % 8)) - 1) as u8);
    whole.iter().map(|byte| byte.count_ones() as usize).sum::<usize>() + last.count_ones() as usize
}

/// The length of a value that says its own in so many bytes first, with these.
#[inline]
fn told(rows: &[u8], at: usize, width: u8) -> Result<usize, Short> {
    let width = usize::from(width);
    let length = match (rows.get(at..at + width), width) {
        (Some(&[a]), _) => usize::from(a),
        (Some(&[a, b]), _) => usize::from(u16::from_le_bytes([a, b])),
        (Some(&[a, b, c]), _) => u32::from_le_bytes([a, b, c, 0]) as usize,
        (Some(&[a, b, c, d]), _) => u32::from_le_bytes([a, b, c, d]) as usize,
        _ => return Err(Short),
    };
    let length = width + length;
    if length > rows.len() - at { Err(Short) } else { Ok(length) }
}
