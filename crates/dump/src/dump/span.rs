//! Ranges of a table whose key begins with a whole number. The numbers tell where a range can be cut, so that nobody steps
//! over half of its rows to find out: a statement gives rows up to a number, its ceiling, and every row with a greater one is
//! sure to lie behind it. The numbers may lie as they like: the distance between two rows is learned from the statements, and
//! a border is looked for by halves, with the server's own guess of the rows before and behind it.
//!
//! Where it can, the reader itself holds to the ceiling, and the statement does not name it: a second condition costs MySQL a
//! fifth of all that it does for a row. The reader leaves a row beyond the ceiling, and those after it, unless it may raise it.

use drover_db::Connection;
use drover_db::table::keys;

use super::catalog::Name;
use super::tables::Bounds;
use crate::Result;
use crate::error::Doing;
use drover_format::manifest::Table;

/// Which numbers a range has, and how far it was read.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// Rows up to this number were read.
    at: i128,
    /// Of the last row, as far as is known.
    highest: i128,
    /// No row with a greater number is taken of the statement at work; `None` for one that reads to the range's end.
    ceiling: Option<i128>,
    /// From one row's number to that of the next, on average.
    gap: f64,
}

impl Span {
    /// The numbers behind `at`, of so many rows.
    pub(crate) fn new(at: i128, highest: i128, rows: u64) -> Self {
        Self { at, highest, ceiling: None, gap: (highest - at).max(1) as f64 / rows.max(1) as f64 }
    }

    /// Begins a statement of at most `limit` rows; gives its ceiling.
    pub(crate) fn aim(&mut self, limit: u64) -> Option<i128> {
        /// Somewhat more than the rows are expected to need: few statements are to end at their ceiling.
        const MARGIN: f64 = 1.25;
        let width = (limit as f64 * self.gap * MARGIN).ceil().clamp(1.0, u64::MAX as f64) as i128;
        self.ceiling = Some(self.at + width).filter(|&ceiling| ceiling < self.highest);
        self.ceiling
    }

    /// Notes that the statement gave all rows up to `at`.
    pub(crate) fn has_read(&mut self, rows: u64, at: i128) {
        /// Never so little that it cannot grow again soon.
        const LEAST: f64 = 1e-6;
        // Where there are no rows for long, each statement looks further than the one before, but not at once everywhere.
        let gap = (at - self.at).max(0) as f64 / rows.max(1) as f64;
        self.gap = gap.min(self.gap * 4.0).max(LEAST);
        self.at = at;
    }

    /// Lets the statement at work go on to a row beyond its ceiling; gives the new one. It may not where that could come to
    /// the range's end, which another worker has perhaps made.
    pub(crate) fn raise(&mut self, number: i128) -> Option<i128> {
        self.ceiling?;
        // As far again as it has come: where rows are far apart, few are asked about.
        let ceiling = Some(number + (number - self.at)).filter(|&ceiling| ceiling < self.highest)?;
        self.ceiling = Some(ceiling);
        self.ceiling
    }

    pub(crate) fn ceiling(&self) -> Option<i128> {
        self.ceiling
    }

    /// Cuts off what lies behind a number.
    pub(crate) fn cut(&mut self, border: i128) -> Self {
        let behind = Self { at: border, ceiling: None, ..self.clone() };
        self.highest = border;
        behind
    }
}

/// A place to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Middle {
    /// Behind this number, with the server's guess of the rows before and behind it.
    At { number: i128, before: u64, behind: u64 },
    /// There are about so many rows, too few to cut.
    Few(u64),
    /// One number has most of the rows.
    Nowhere,
}

/// Where to cut the rows that lie behind the ceiling, so that no part has less than a quarter of them.
///
/// `guess` gives about how many rows have a number that is greater than the first one, and not greater than the second, if
/// there is one. Rows that are fewer than `least` are not cut.
pub(crate) fn middle(
    span: &Span,
    least: u64,
    mut guess: impl FnMut(i128, Option<i128>) -> Result<u64>,
) -> Result<Middle> {
    let Some(ceiling) = span.ceiling else { return Ok(Middle::Nowhere) };
    let (mut low, mut high) = (ceiling, span.highest);
    while high - low >= 2 {
        let number = low + (high - low) / 2;
        let (before, behind) = (guess(ceiling, Some(number))?, guess(number, None)?);
        if before + behind < least {
            return Ok(Middle::Few(before + behind));
        }
        if before <= behind * 3 && behind <= before * 3 {
            return Ok(Middle::At { number, before, behind });
        }
        if before < behind { low = number } else { high = number }
    }
    Ok(Middle::Nowhere)
}

/// The number at the beginning of a border.
pub(crate) fn first(border: &[String]) -> Option<i128> {
    border.first()?.parse().ok()
}

/// The numbers of the first row and of the last one, if there is one.
pub(crate) fn ends(
    connection: &mut Connection,
    table: &Table,
    name: &Name,
    bounds: Bounds<'_>,
) -> Result<Option<(i128, i128)>> {
    let Some(key) = &table.key else { return Ok(None) };
    let column = drover_db::quote::identifier(&key.columns[0].name);
    let mut end = |order: &str| -> Result<Option<i128>> {
        let sql = format!("SELECT {column} {} ORDER BY {order} LIMIT 1", bounds.from(table, name));
        let row = connection.first(sql).doing(|| format!("looking for the ends of {name}"))?;
        Ok(row.and_then(|row| row.parse(0)))
    };
    let (lowest, highest) = (end(&keys::order(key))?, end(&format!("{column} DESC"))?);
    Ok(lowest.zip(highest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How rows are read in a test.
    #[derive(Clone, Copy)]
    struct How<'r> {
        /// All rows of the table.
        rows: &'r [i128],
        /// The most that a statement gives.
        limit: u64,
        /// Whether the reader holds to the ceiling, and not the statement.
        open: bool,
    }

    /// Reads a range as a worker does, while others cut it amid some of the statements; gives all numbers that were read.
    fn read(mut span: Span, mut end: i128, how: How<'_>, cuts: &mut impl Iterator<Item = bool>) -> Vec<i128> {
        let How { rows, limit, open } = how;
        let mut all = Vec::new();
        let mut at = span.at;
        loop {
            let up_to = match span.aim(limit) {
                Some(_) if open => i128::MAX,
                Some(ceiling) => ceiling,
                None => end,
            };
            let given = rows.iter().filter(|&&row| row > at && row <= up_to).take(limit as usize);
            let given: Vec<_> = given.copied().collect();
            let mut taken = 0;
            for index in 0..=given.len() {
                if index == given.len() / 2 && cuts.next() == Some(true) {
                    let guess = |above: i128, to: Option<i128>| {
                        let up_to = to.unwrap_or(end);
                        Ok(rows.iter().filter(|&&row| row > above && row <= up_to).count() as u64)
                    };
                    if let Middle::At { number, .. } = middle(&span, limit, guess).unwrap() {
                        let border = rows.iter().copied().find(|&row| row > number).unwrap();
                        assert!(Some(border) > span.ceiling() && border <= end);
                        all.extend(read(span.cut(border), end, how, cuts));
                        end = border;
                    }
                }
                let Some(&row) = given.get(index) else { break };
                if span.ceiling().is_some_and(|ceiling| row > ceiling) && span.raise(row).is_none() {
                    break;
                }
                all.push(row);
                taken += 1;
            }
            match (taken == limit, span.ceiling()) {
                (true, _) => at = all[all.len() - 1],
                (false, Some(ceiling)) => at = ceiling,
                (false, None) => return all,
            }
            span.has_read(taken, at);
        }
    }

    proptest! {
        #[test]
        fn every_row_is_read_once(
            numbers in prop::collection::btree_set(
                prop_oneof![-50i128..200, i128::from(i64::MIN)..i128::from(u64::MAX)], 1..300),
            limit in 1u64..40,
            guessed in 0u64..1000,
            open in any::<bool>(),
            cuts in prop::collection::vec(any::<bool>(), 0..60),
        ) {
            let rows: Vec<_> = numbers.into_iter().collect();
            let span = Span::new(rows[0] - 1, rows[rows.len() - 1], guessed);
            let mut found = read(span, i128::MAX, How { rows: &rows, limit, open }, &mut cuts.into_iter());
            found.sort_unstable();
            prop_assert_eq!(found, rows);
        }
    }

    #[test]
    fn the_middle_of_rows_that_lie_together() {
        // A million rows from 1 on, and one far away.
        let rows = |above: i128, to: Option<i128>| {
            let up_to = |to: i128| to.clamp(0, 1_000_000) as u64;
            Ok(to.map_or(1_000_001, up_to).saturating_sub(up_to(above)))
        };
        let mut span = Span::new(0, 4_000_000_000, 1_000_001);
        span.has_read(1000, 1000);
        span.aim(1000);
        let Middle::At { before, behind, .. } = middle(&span, 1000, rows).unwrap() else {
            panic!("no middle")
        };
        assert!(before > 200_000 && behind > 200_000, "{before} {behind}");
        assert_eq!(
            middle(&span, 10_000_000, rows).unwrap(),
            Middle::Few(1_000_001 - span.ceiling().unwrap() as u64)
        );
    }

    #[test]
    fn a_ceiling_is_raised_but_not_to_the_end() {
        let mut span = Span::new(0, 1_000_000, 1_000_000);
        assert_eq!(span.aim(1000), Some(1250));
        assert_eq!(span.raise(1300), Some(2600));
        assert_eq!(span.raise(400_000), Some(800_000));
        assert_eq!((span.raise(800_001), span.ceiling()), (None, Some(800_000)));
    }

    #[test]
    fn numbers_that_are_far_apart_are_not_looked_for_one_by_one() {
        let mut span = Span::new(0, i128::from(u64::MAX), 1_000_000);
        span.has_read(1000, 1000);
        let mut statements = 0;
        while let Some(ceiling) = span.aim(1000) {
            span.has_read(0, ceiling);
            statements += 1;
        }
        assert!(statements < 40, "{statements}");
    }
}
