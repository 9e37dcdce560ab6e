//! The rows that tables hold at first, by clause 4.3.3.1, as lines of a file for LOAD DATA. A part of a table's rows depends on nothing but
//! the seed and the part, so parts can be made in any order and by any number of threads.

use std::ops::RangeInclusive;

use fastrand::Rng;

use super::money::Cents;
use super::random::{Purpose, generator, last_name, last_name_number, text};
use super::schema::{CUSTOMERS, DISTRICTS, FEWEST_LINES, FIRST_NEW_ORDER, ITEMS, MOST_LINES, ORDERS};
use crate::Result;

/// When all rows were made, as they say: the same for each load, so that the same seed gives the same rows.
const LOADED_AT: &str = "2026-01-01 00:00:00";
/// A buffer of lines is passed on at this size, in bytes.
const PASSED_ON: usize = 256 << 10;
/// What begins or ends the same everywhere.
const ZIP_END: &str = "11111";
const ORIGINAL: &[u8] = b"ORIGINAL";

/// Some of the rows of a table, which one statement loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Items,
    /// All of them, of a scale of so many.
    Warehouses(u32),
    Districts(u32),
    /// Those of one warehouse.
    Stock(u32),
    Customers(u32),
    History(u32),
    Orders(u32),
    NewOrders(u32),
    Lines(u32),
}

/// What all parts have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) seed: u64,
    pub(super) c_last: u32,
}

impl Part {
    /// All parts of a scale, those first that take longest, and neighbours of different tables.
    pub(super) fn all(warehouses: u32) -> Vec<Self> {
        let of_warehouse = |w| {
            [
                Self::Lines(w),
                Self::Stock(w),
                Self::Customers(w),
                Self::Orders(w),
                Self::History(w),
                Self::NewOrders(w),
            ]
        };
        let places = [Self::Items, Self::Districts(warehouses), Self::Warehouses(warehouses)];
        (1..=warehouses).flat_map(of_warehouse).chain(places).collect()
    }

    /// The table.
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Items => "item",
            Self::Warehouses(_) => "warehouse",
            Self::Districts(_) => "district",
            Self::Stock(_) => "stock",
            Self::Customers(_) => "customer",
            Self::History(_) => "history",
            Self::Orders(_) => "orders",
            Self::NewOrders(_) => "new_orders",
            Self::Lines(_) => "order_line",
        }
    }

    /// About how many rows it has: an order has ten lines on the average.
    pub(super) fn expected_rows(self) -> u64 {
        let of_district = u64::from(DISTRICTS);
        match self {
            Self::Items | Self::Stock(_) => ITEMS.into(),
            Self::Warehouses(all) => all.into(),
            Self::Districts(all) => of_district * u64::from(all),
            Self::Customers(_) | Self::History(_) => of_district * u64::from(CUSTOMERS),
            Self::Orders(_) => of_district * u64::from(ORDERS),
            Self::NewOrders(_) => of_district * u64::from(ORDERS + 1 - FIRST_NEW_ORDER),
            Self::Lines(_) => of_district * u64::from(ORDERS * (FEWEST_LINES + MOST_LINES) / 2),
        }
    }

    /// Makes its lines and passes them on, some at a time.
    ///
    /// # Errors
    /// Those of `pass_on`, which ends the work.
    pub(super) fn make(self, scale: Scale, pass_on: &mut dyn FnMut(&Lines) -> Result<()>) -> Result<()> {
        let mut lines = Lines::default();
        let mut whole_row = |lines: &mut Lines| -> Result<()> {
            lines.end_row();
            if lines.bytes.len() < PASSED_ON {
                return Ok(());
            }
            pass_on(lines)?;
            lines.clear();
            Ok(())
        };
        match self {
            Self::Items => items(scale, &mut lines, &mut whole_row),
            Self::Warehouses(all) => warehouses(scale, all, &mut lines, &mut whole_row),
            Self::Districts(all) => districts(scale, all, &mut lines, &mut whole_row),
            Self::Stock(w) => stock(scale, w, &mut lines, &mut whole_row),
            Self::Customers(w) => customers(scale, w, &mut lines, &mut whole_row),
            Self::History(w) => history(scale, w, &mut lines, &mut whole_row),
            Self::Orders(w) => orders(scale, w, &mut lines, &mut whole_row),
            Self::NewOrders(w) => new_orders(w, &mut lines, &mut whole_row),
            Self::Lines(w) => order_lines(scale, w, &mut lines, &mut whole_row),
        }?;
        pass_on(&lines)
    }
}

/// Ends a row, and passes lines on where there are many.
type WholeRow<'a> = &'a mut dyn FnMut(&mut Lines) -> Result<()>;

/// Lines of fields.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    /// How many lines these are.
    pub(super) rows: u64,
}

impl Lines {
    fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
    }

    fn end_field(&mut self) {
        self.bytes.push(b'\t');
    }

    /// The last field of a row ends with it.
    fn end_row(&mut self) {
        if let Some(last) = self.bytes.last_mut() {
            *last = b'\n';
        }
        self.rows += 1;
    }

    fn number(&mut self, number: u32) {
        let (mut digits, mut start, mut rest) = ([0; 10], 10, number);
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[start..]);
        self.end_field();
    }

    fn numbers(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|number| self.number(*number));
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.end_field();
    }

    fn null(&mut self) {
        self.text("\\N");
    }

    fn cents(&mut self, cents: Cents) {
        self.bytes.extend_from_slice(cents.text().as_bytes());
        self.end_field();
    }

    /// A rate of so many ten-thousandths, below 1.
    fn rate(&mut self, rng: &mut Rng, most: u32) {
        let rate = 10_000 + rng.u32(0..=most);
        self.number(rate);
        // The 1 before the four digits gives way to the point.
        let at = self.bytes.len() - 6;
        self.bytes[at] = b'.';
    }

    /// Letters and digits, of a length in this range.
    fn random(&mut self, rng: &mut Rng, length: RangeInclusive<usize>) {
        let length = rng.usize(length);
        text(rng, length, &mut self.bytes);
        self.end_field();
    }

    /// The same, with the word ORIGINAL somewhere in a tenth of all cases.
    fn data(&mut self, rng: &mut Rng) {
        let start = self.bytes.len();
        self.random(rng, 26..=50);
        if rng.u32(0..10) == 0 {
            let length = self.bytes.len() - 1 - start;
            let at = start + rng.usize(0..=length - ORIGINAL.len());
            self.bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
    }

    /// Two streets, city, state and zip code.
    fn address(&mut self, rng: &mut Rng) {
        (0..3).for_each(|_| self.random(rng, 10..=20));
        (0..2).for_each(|_| self.bytes.push(rng.u8(b'A'..=b'Z')));
        self.end_field();
        self.digits(rng, 4);
        self.bytes.extend_from_slice(ZIP_END.as_bytes());
        self.end_field();
    }

    fn digits(&mut self, rng: &mut Rng, count: usize) {
        (0..count).for_each(|_| self.bytes.push(rng.u8(b'0'..=b'9')));
    }
}

fn items(scale: Scale, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    let mut rng = generator(scale.seed, Purpose::Items, [0, 0]);
    for item in 1..=ITEMS {
        lines.numbers(&[item, rng.u32(1..=10_000)]);
        lines.random(&mut rng, 14..=24);
        lines.cents(Cents(rng.i64(100..=10_000)));
        lines.data(&mut rng);
        whole_row(lines)?;
    }
    Ok(())
}

fn warehouses(scale: Scale, all: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    for w in 1..=all {
        let mut rng = generator(scale.seed, Purpose::Warehouses, [w, 0]);
        lines.number(w);
        lines.random(&mut rng, 6..=10);
        lines.address(&mut rng);
        lines.rate(&mut rng, 2000);
        lines.text("300000.00");
        whole_row(lines)?;
    }
    Ok(())
}

fn districts(scale: Scale, all: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    for (w, d) in (1..=all).flat_map(|w| (1..=DISTRICTS).map(move |d| (w, d))) {
        let mut rng = generator(scale.seed, Purpose::Districts, [w, d]);
        lines.numbers(&[d, w]);
        lines.random(&mut rng, 6..=10);
        lines.address(&mut rng);
        lines.rate(&mut rng, 2000);
        lines.text("30000.00");
        lines.number(ORDERS + 1);
        whole_row(lines)?;
    }
    Ok(())
}

fn stock(scale: Scale, w: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    let mut rng = generator(scale.seed, Purpose::Stock, [w, 0]);
    for item in 1..=ITEMS {
        lines.numbers(&[item, w, rng.u32(10..=100)]);
        (0..DISTRICTS).for_each(|_| lines.random(&mut rng, 24..=24));
        lines.numbers(&[0, 0, 0]);
        lines.data(&mut rng);
        whole_row(lines)?;
    }
    Ok(())
}

fn customers(scale: Scale, w: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    for d in 1..=DISTRICTS {
        let mut rng = generator(scale.seed, Purpose::Customers, [w, d]);
        for customer in 1..=CUSTOMERS {
            // Each of the thousand names is there.
            let name = if customer <= 1000 { customer - 1 } else { last_name_number(&mut rng, scale.c_last) };
            lines.numbers(&[customer, d, w]);
            lines.random(&mut rng, 8..=16);
            lines.text("OE");
            lines.text(&last_name(name));
            lines.address(&mut rng);
            lines.digits(&mut rng, 16);
            lines.end_field();
            lines.text(LOADED_AT);
            lines.text(if rng.u32(0..10) == 0 { "BC" } else { "GC" });
            lines.text("50000.00");
            lines.rate(&mut rng, 5000);
            lines.text("-10.00");
            lines.text("10.00");
            lines.numbers(&[1, 0]);
            lines.random(&mut rng, 300..=500);
            whole_row(lines)?;
        }
    }
    Ok(())
}

fn history(scale: Scale, w: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    for d in 1..=DISTRICTS {
        let mut rng = generator(scale.seed, Purpose::History, [w, d]);
        for customer in 1..=CUSTOMERS {
            lines.numbers(&[customer, d, w, d, w]);
            lines.text(LOADED_AT);
            lines.text("10.00");
            lines.random(&mut rng, 12..=24);
            whole_row(lines)?;
        }
    }
    Ok(())
}

/// What an order and its lines both depend on.
struct Head {
    customer: u32,
    carrier: u32,
    lines: u32,
}

/// The orders of a district: its customers in random order have one each.
fn heads(scale: Scale, w: u32, d: u32) -> impl Iterator<Item = (u32, Head)> {
    let mut rng = generator(scale.seed, Purpose::Orders, [w, d]);
    let mut customers: Vec<u32> = (1..=CUSTOMERS).collect();
    rng.shuffle(&mut customers);
    (1..=ORDERS).zip(customers).map(move |(order, customer)| {
        (order, Head { customer, carrier: rng.u32(1..=10), lines: rng.u32(FEWEST_LINES..=MOST_LINES) })
    })
}

fn orders(scale: Scale, w: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    for d in 1..=DISTRICTS {
        for (order, head) in heads(scale, w, d) {
            lines.numbers(&[order, d, w, head.customer]);
            lines.text(LOADED_AT);
            if order < FIRST_NEW_ORDER {
                lines.number(head.carrier)
            } else {
                lines.null()
            }
            lines.numbers(&[head.lines, 1]);
            whole_row(lines)?;
        }
    }
    Ok(())
}

fn new_orders(w: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    for d in 1..=DISTRICTS {
        for order in FIRST_NEW_ORDER..=ORDERS {
            lines.numbers(&[order, d, w]);
            whole_row(lines)?;
        }
    }
    Ok(())
}

fn order_lines(scale: Scale, w: u32, lines: &mut Lines, whole_row: WholeRow<'_>) -> Result<()> {
    for d in 1..=DISTRICTS {
        let mut rng = generator(scale.seed, Purpose::Lines, [w, d]);
        for (order, head) in heads(scale, w, d) {
            for number in 1..=head.lines {
                lines.numbers(&[order, d, w, number, rng.u32(1..=ITEMS), w]);
                let is_delivered = order < FIRST_NEW_ORDER;
                if is_delivered {
                    lines.text(LOADED_AT)
                } else {
                    lines.null()
                }
                lines.number(5);
                lines.cents(if is_delivered { Cents(0) } else { Cents(rng.i64(1..=999_999)) });
                lines.random(&mut rng, 24..=24);
                whole_row(lines)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale = Scale { seed: 1, c_last: 100 };

    fn made(part: Part, scale: Scale) -> (String, u64) {
        let (mut bytes, mut rows) = (Vec::new(), 0);
        let mut pass_on = |lines: &Lines| -> Result<()> {
            bytes.extend_from_slice(&lines.bytes);
            rows += lines.rows;
            Ok(())
        };
        part.make(scale, &mut pass_on).unwrap();
        (String::from_utf8(bytes).unwrap(), rows)
    }

    fn fields(line: &str) -> Vec<&str> {
        line.split('\t').collect()
    }

    #[test]
    fn parts_have_their_rows_and_fields() {
        for (part, columns) in [
            (Part::Items, 5),
            (Part::Warehouses(3), 9),
            (Part::Districts(3), 11),
            (Part::Stock(2), 17),
            (Part::Customers(2), 21),
            (Part::History(2), 8),
            (Part::Orders(2), 8),
            (Part::NewOrders(2), 3),
        ] {
            let (text, rows) = made(part, SCALE);
            assert_eq!(
                (text.lines().count() as u64, rows),
                (part.expected_rows(), part.expected_rows()),
                "{part:?}"
            );
            assert!(
                text.ends_with('\n') && text.lines().all(|line| line.split('\t').count() == columns),
                "{part:?}"
            );
            assert!(text == made(part, SCALE).0, "{part:?}");
        }
        assert!(made(Part::Items, SCALE) != made(Part::Items, Scale { seed: 2, ..SCALE }));
        assert_eq!(Part::all(2).len(), 15);
    }

    #[test]
    fn an_order_has_as_many_lines_as_it_says() {
        let (orders, _) = made(Part::Orders(1), SCALE);
        let (lines, rows) = made(Part::Lines(1), SCALE);
        assert_eq!(orders.lines().map(|order| fields(order)[6].parse::<u64>().unwrap()).sum::<u64>(), rows);
        assert!(rows.abs_diff(Part::Lines(1).expected_rows()) < 5000, "{rows}");
        for line in lines.lines().map(fields) {
            let is_new = line[0].parse::<u32>().unwrap() >= FIRST_NEW_ORDER;
            assert_eq!((line.len(), line[6] == "\\N", line[8] != "0.00"), (10, is_new, is_new));
        }
        let undelivered = orders.lines().filter(|order| fields(order)[5] == "\\N").count();
        assert_eq!(undelivered as u64, Part::NewOrders(1).expected_rows());
    }

    #[test]
    fn values_are_as_the_specification_has_them() {
        let (items, _) = made(Part::Items, SCALE);
        let original = items.lines().filter(|item| fields(item)[4].contains("ORIGINAL")).count();
        assert!((9_500..10_500).contains(&original), "{original}");
        let (text, _) = made(Part::Customers(1), SCALE);
        let customers: Vec<_> = text.lines().map(fields).collect();
        let bad = customers.iter().filter(|customer| customer[13] == "BC").count();
        assert!((2_800..3_200).contains(&bad), "{bad}");
        for customer in &customers[..1000] {
            assert!(customer[15].starts_with('.') && customer[15].len() == 5, "{}", customer[15]);
            assert!(
                (300..=500).contains(&customer[20].len())
                    && customer[10].len() == 9
                    && customer[11].len() == 16
            );
        }
        assert_eq!(customers[370][5], "PRICALLYBAR");
    }
}
