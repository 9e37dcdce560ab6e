//! The log as one row image would have it: rows packed into events as a server does it.

use crate::event::Rows;
use crate::log::{Header, Kind, RowChange};

use super::shape::Shape;
use super::squeeze::Squeeze;
use super::walk::{Span, Walk};

/// A log that could be: how many bytes the transaction at hand has in it.
#[derive(Debug)]
pub(super) struct Lane {
    /// Of the transaction at hand, in bytes, without compression.
    pub(super) now: u64,
    pending: Option<Pending>,
    /// Packs what the lane holds, where that is asked for: then events are made, not only counted.
    pub(super) squeeze: Option<Squeeze>,
    /// `binlog_row_event_max_size`.
    most: usize,
    body: Vec<u8>,
}

/// An event of rows to which more may be added.
#[derive(Debug)]
struct Pending {
    kind: Kind,
    table: u64,
    header: Header,
    /// What stands before the rows: as bytes only where they are needed.
    head: Vec<u8>,
    head_size: usize,
    rows: Vec<u8>,
    rows_size: usize,
    around: u64,
    /// The size of its first row, by which MariaDB tells whether to compress it.
    first_row: usize,
}

/// The event that rows come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct From<'a> {
    pub(super) header: Header,
    pub(super) kind: Kind,
    pub(super) body: &'a [u8],
    pub(super) rows: Rows<'a>,
    /// What is around the body, in bytes: header and checksum.
    pub(super) around: u64,
}

impl Lane {
    pub(super) fn new(most: usize, squeeze: Option<Squeeze>) -> Self {
        Self { now: 0, pending: None, squeeze, most, body: Vec::new() }
    }

    /// An event as it is; `text` is where in it a statement's text begins.
    pub(super) fn event(
        &mut self,
        header: &Header,
        kind: Kind,
        body: &[u8],
        around: u64,
        text: Option<usize>,
    ) {
        self.flush();
        self.emit(header, kind, body, around, text);
    }

    /// An event of rows as it is.
    pub(super) fn rows_event(&mut self, from: &From<'_>, first_row: usize) {
        self.flush();
        if let Some(squeeze) = &mut self.squeeze {
            squeeze.rows(
                &from.header,
                from.kind,
                from.body,
                from.body.len() - from.rows.rows.len(),
                first_row,
            );
        }
        self.now += from.body.len() as u64 + from.around;
    }

    fn emit(&mut self, header: &Header, kind: Kind, body: &[u8], around: u64, text: Option<usize>) {
        if let Some(squeeze) = &mut self.squeeze {
            squeeze.event(header, kind, body, text);
        }
        self.now += body.len() as u64 + around;
    }

    /// Rows of an event, of which these columns are written. Returns how many bytes the rows take.
    pub(super) fn rows(
        &mut self,
        from: &From<'_>,
        shape: &Shape,
        walk: &Walk,
        columns: &[Vec<u32>; 2],
    ) -> u64 {
        let head = head_size(from);
        let mut all = 0;
        for row in 0..walk.rows() {
            let size = row_size(from, walk, row, columns);
            all += size as u64;
            self.make_room(from, shape, columns, head, size);
            let makes_bytes = self.squeeze.is_some();
            let Some(pending) = &mut self.pending else { continue };
            pending.rows_size += size;
            if makes_bytes {
                write_row(from, walk, row, columns, &mut pending.rows);
            }
        }
        if from.rows.flags & Rows::STATEMENT_END != 0 {
            self.flush();
        }
        all
    }

    /// Sees to it that there is an event that a row of this size can be added to. Sources: MySQL `sql/binlog.cc`,
    /// `THD::binlog_prepare_pending_rows_event()`; MariaDB `sql/log.cc`, `MYSQL_BIN_LOG::prepare_pending_rows_event()`.
    fn make_room(
        &mut self,
        from: &From<'_>,
        shape: &Shape,
        columns: &[Vec<u32>; 2],
        head: usize,
        size: usize,
    ) {
        let fits = self.pending.as_ref().is_some_and(|pending| {
            (pending.kind, pending.table) == (from.kind, from.rows.table)
                && pending.head_size == head
                && pending.head_size + pending.rows_size + size <= self.most
        });
        if fits {
            return;
        }
        self.flush();
        let makes_bytes = self.squeeze.is_some();
        self.pending = Some(Pending {
            kind: from.kind,
            table: from.rows.table,
            header: from.header,
            head: if makes_bytes { head_of(from, shape, columns) } else { Vec::new() },
            head_size: head,
            rows: Vec::new(),
            rows_size: 0,
            around: from.around,
            first_row: size,
        });
    }

    fn flush(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let Pending { kind, header, head, head_size, rows, rows_size, around, first_row, .. } = pending;
        if let Some(squeeze) = &mut self.squeeze {
            self.body.clear();
            self.body.extend_from_slice(&head);
            self.body.extend_from_slice(&rows);
            squeeze.rows(&header, kind, &self.body, head.len(), first_row);
        }
        self.now += (head_size + rows_size) as u64 + around;
    }

    /// Ends the transaction at hand: returns its bytes, without compression.
    pub(super) fn end(&mut self) -> u64 {
        self.flush();
        std::mem::take(&mut self.now)
    }
}

/// What stands before the rows is as long whatever columns they hold.
fn head_size(from: &From<'_>) -> usize {
    from.body.len() - from.rows.rows.len()
}

/// The images of a change: which of a walk's it is, and which of the two lists of columns it has.
fn images(change: RowChange) -> &'static [(usize, usize)] {
    match change {
        RowChange::Insert => &[(0, 1)],
        RowChange::Update => &[(0, 0), (1, 1)],
        RowChange::Delete => &[(0, 0)],
    }
}

fn row_size(from: &From<'_>, walk: &Walk, row: usize, columns: &[Vec<u32>; 2]) -> usize {
    let mut size = walk.between(row).map_or(0, |between| between.size() as usize);
    for &(image, list) in images(from.rows.change) {
        let spans = walk.image_of(row, image);
        let mut there = 0;
        for &column in &columns[list] {
            let Some(span) = spans.get(column as usize) else { continue };
            there += usize::from(span.is_there());
            size += span.size() as usize;
        }
        size += there.div_ceil(8);
    }
    size
}

fn write_row(from: &From<'_>, walk: &Walk, row: usize, columns: &[Vec<u32>; 2], out: &mut Vec<u8>) {
    for &(image, list) in images(from.rows.change) {
        if let (1, Some(between)) = (image, walk.between(row)) {
            out.extend_from_slice(between.of(from.rows.rows));
        }
        let spans = walk.image_of(row, image);
        let there = || {
            columns[list]
                .iter()
                .filter_map(|&column| spans.get(column as usize))
                .filter(|span| span.is_there())
        };
        write_bits(there().map(|span: &Span| span.is_null()), out);
        there().for_each(|span| out.extend_from_slice(span.of(from.rows.rows)));
    }
}

fn write_bits(bits: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    let start = out.len();
    for (index, is_set) in bits.enumerate() {
        if index % 8 == 0 {
            out.push(0);
        }
        out[start + index / 8] |= u8::from(is_set) << (index % 8);
    }
}

/// What stands before the rows, for these columns.
fn head_of(from: &From<'_>, shape: &Shape, columns: &[Vec<u32>; 2]) -> Vec<u8> {
    let all = shape.widths.len();
    let head = from.body.get(..head_size(from)).unwrap_or_default();
    let bitmaps: &[(usize, &[u8])] = match from.rows.change {
        RowChange::Insert => &[(1, from.rows.before)],
        RowChange::Delete => &[(0, from.rows.before)],
        // Before 5.1.16 an update had one set of columns for both.
        RowChange::Update if from.kind == Kind::PRE_GA_UPDATE_ROWS => &[(0, from.rows.before)],
        RowChange::Update => &[(0, from.rows.before), (1, from.rows.after)],
    };
    let length: usize = bitmaps.iter().map(|(_, bits)| bits.len()).sum();
    let mut out = head.get(..head.len().saturating_sub(length)).unwrap_or_default().to_vec();
    for &(list, present) in bitmaps {
        let mut is_in = vec![false; all];
        for &column in &columns[list] {
            if let Some(is_in) = is_in.get_mut(column as usize) {
                *is_in = crate::rows::is_set(present, column as usize);
            }
        }
        write_bits(is_in.into_iter(), &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shape::Image;
    use super::*;
    use crate::log::Format;
    use crate::rows::Width;

    /// A value, or NULL: its bytes.
    type Values = Vec<Option<Vec<u8>>>;

    fn width() -> impl Strategy<Value = Width> {
        prop_oneof![(1..9_u32).prop_map(Width::Fixed), Just(Width::Told(1)), Just(Width::Told(2))]
    }

    fn value(width: Width) -> BoxedStrategy<Option<Vec<u8>>> {
        let bytes = match width {
            Width::Fixed(length) => prop::collection::vec(any::<u8>(), length as usize).boxed(),
            Width::Told(width) => prop::collection::vec(any::<u8>(), 0..40)
                .prop_map(move |bytes| {
                    [&(bytes.len() as u32).to_le_bytes()[..usize::from(width)], &bytes].concat()
                })
                .boxed(),
        };
        prop::option::of(bytes).boxed()
    }

    /// Columns, and updates of rows that change some of their values.
    fn updates() -> impl Strategy<Value = (Vec<Width>, Vec<(Values, Values)>)> {
        prop::collection::vec(width(), 1..20).prop_flat_map(|widths| {
            let values: Vec<_> =
                widths.iter().map(|&width| (value(width), value(width), any::<bool>())).collect();
            let row = values.prop_map(|values| {
                let change = |(before, after, changes): (Option<Vec<u8>>, Option<Vec<u8>>, bool)| {
                    (before.clone(), if changes { after } else { before })
                };
                values.into_iter().map(change).unzip()
            });
            (Just(widths), prop::collection::vec(row, 1..8))
        })
    }

    fn write_image(values: &Values, out: &mut Vec<u8>) {
        write_bits(values.iter().map(Option::is_none), out);
        values.iter().flatten().for_each(|value| out.extend_from_slice(value));
    }

    fn body(columns: usize, updates: &[(Values, Values)]) -> Vec<u8> {
        let mut body = vec![7, 0, 0, 0, 0, 0, 1, 0, columns as u8];
        for _ in 0..2 {
            write_bits((0..columns).map(|_| true), &mut body);
        }
        for (before, after) in updates {
            write_image(before, &mut body);
            write_image(after, &mut body);
        }
        body
    }

    fn from<'a>(body: &'a [u8], format: &Format) -> From<'a> {
        let kind = Kind::UPDATE_ROWS_V1;
        let rows = Rows::parse(kind, body, format).unwrap();
        From { header: Header::default(), kind, body, rows, around: 23 }
    }

    proptest! {
        /// A size is that of the event that would be written, and that one holds the values.
        #[test]
        fn sizes_are_those_of_what_is_written((widths, updates) in updates(), has_key in any::<bool>(), is_mariadb in any::<bool>()) {
            let format = Format::of_tests("10.11.6-MariaDB");
            let shape = Shape::of_tests(widths.clone(), if has_key { vec![0] } else { vec![] }, is_mariadb);
            let body = body(widths.len(), &updates);
            let from = from(&body, &format);
            let mut walk = Walk::default();
            walk.read(&shape, &from.rows).unwrap();
            prop_assert_eq!(walk.rows(), updates.len());
            let mut set = vec![false; widths.len()];
            walk.mark_changed(from.rows.rows, &mut set);
            for (column, set) in set.iter().enumerate() {
                prop_assert_eq!(*set, updates.iter().any(|(before, after)| before[column] != after[column]));
            }
            for image in [Image::Minimal, Image::Noblob] {
                let columns = shape.columns_of(image, RowChange::Update, &set);
                let mut written = head_of(&from, &shape, &columns);
                prop_assert_eq!(written.len(), head_size(&from));
                let mut size = written.len();
                for row in 0..walk.rows() {
                    write_row(&from, &walk, row, &columns, &mut written);
                    size += row_size(&from, &walk, row, &columns);
                    prop_assert_eq!(written.len(), size);
                }
                let mut lane = Lane::new(1 << 20, None);
                lane.rows(&from, &shape, &walk, &columns);
                prop_assert_eq!(lane.end(), size as u64 + from.around);
                if columns.iter().all(Vec::is_empty) {
                    continue;
                }
                let again = self::from(&written, &format);
                let mut read = Walk::default();
                // Rows in which nothing changed, of which nothing is written, take no bytes.
                if read.read(&shape, &again.rows).is_err() {
                    continue;
                }
                for (row, (before, after)) in updates.iter().enumerate() {
                    for (number, (values, columns)) in [before, after].into_iter().zip(&columns).enumerate() {
                        for &column in columns {
                            let span = read.image_of(row, number)[column as usize];
                            let value = (!span.is_null()).then(|| span.of(again.rows.rows).to_vec());
                            prop_assert_eq!(&value, &values[column as usize]);
                        }
                    }
                }
            }
        }

        /// Nothing that a stranger writes makes the walk go out of bounds, or on for ever.
        #[test]
        fn any_rows_are_read_or_refused((widths, updates) in updates(), garbage in prop::collection::vec(any::<u8>(), 0..100)) {
            let format = Format::of_tests("10.11.6-MariaDB");
            let shape = Shape::of_tests(widths.clone(), vec![0], true);
            let mut body = body(widths.len(), &updates[..1]);
            body.extend(garbage);
            let _ = Walk::default().read(&shape, &from(&body, &format).rows);
        }
    }

    #[test]
    fn events_are_filled_as_far_as_they_may_be() {
        let format = Format::of_tests("10.11.6-MariaDB");
        let widths = vec![Width::Fixed(8), Width::Fixed(8)];
        let shape = Shape::of_tests(widths, vec![0], true);
        let value = |number: u64| Some(number.to_le_bytes().to_vec());
        let updates: Vec<_> =
            (0..100).map(|row| (vec![value(row), value(0)], vec![value(row), value(1)])).collect();
        let body = body(2, &updates);
        let from = from(&body, &format);
        let mut walk = Walk::default();
        walk.read(&shape, &from.rows).unwrap();
        let columns = shape.columns_of(Image::Minimal, RowChange::Update, &[false, true]);
        let mut lane = Lane::new(11 + 10 * 18, None);
        lane.rows(&from, &shape, &walk, &columns);
        // Eleven bytes of a head and 23 around for each ten rows of 18 bytes.
        assert_eq!(lane.end(), 10 * (11 + 23) + 100 * 18);
    }
}
