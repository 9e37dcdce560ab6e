//! Times of MariaDB that other servers do not have: a TIMESTAMP has ended in 2106 since MariaDB 11.5, and ends in 2038 elsewhere; a TIME ends at
//! 838:59:59.999999, and on MySQL at 838:59:59.

use crate::event::Rows;
use crate::log::{Format, Short};

use super::column::ColumnType;
use super::image::{Field, Row, RowReader};
use super::table::Table;
use super::temporal::{DateTime, Time};
use super::value::Value;

/// What a server lacks of these times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// A TIMESTAMP behind 2038-01-19 03:14:07.
    pub(crate) later_timestamps: bool,
    /// A TIME above 838:59:59.
    pub(crate) last_fraction: bool,
}

impl Lacks {
    /// Of a server that nobody knows.
    pub(crate) const ALL: Self = Self { later_timestamps: true, last_fraction: true };

    /// Whether rows of this table may have such times.
    fn may_be_in(self, table: &Table, format: &Format) -> bool {
        let may_be = |kind: ColumnType| match kind {
            ColumnType::Timestamp(_) => self.later_timestamps && format.is_at_least((11, 5)),
            ColumnType::Time(digits) => self.last_fraction && digits > 0,
            _ => false,
        };
        format.is_mariadb() && table.columns.iter().any(|column| may_be(column.kind))
    }

    fn is(self, value: &Value<'_>) -> bool {
        match *value {
            Value::Timestamp(time) => self.later_timestamps && time.is_beyond_2038(),
            Value::Time(time) => self.last_fraction && time.is_beyond_the_last_second(),
            _ => false,
        }
    }

    /// The first such value of rows, and its column; `passes` says of which columns nothing matters.
    pub(crate) fn first_in(
        self,
        table: &Table,
        rows: Rows<'_>,
        format: &Format,
        passes: impl Fn(usize) -> bool,
    ) -> Result<Option<(usize, String)>, Short> {
        if !self.may_be_in(table, format) {
            return Ok(None);
        }
        let (mut reader, mut row) = (RowReader::new(table, rows)?, Row::default());
        while reader.next(&mut row)? {
            for (index, field) in row.after.iter().enumerate().chain(row.before.iter().enumerate()) {
                if let Field::Value(value) = field
                    && self.is(value)
                    && !passes(index)
                {
                    return Ok(Some((index, shown(value))));
                }
            }
        }
        Ok(None)
    }
}

/// Whether a FLOAT or DOUBLE of these columns is -0 in one of the rows that come in or are changed: the first such column.
pub(crate) fn negative_zero(
    table: &Table,
    rows: Rows<'_>,
    columns: &[usize],
) -> Result<Option<usize>, Short> {
    let is_one = |field: Option<&Field<'_>>| match field {
        Some(Field::Value(Value::Double(number))) => *number == 0.0 && number.is_sign_negative(),
        Some(Field::Value(Value::Float(number))) => *number == 0.0 && number.is_sign_negative(),
        _ => false,
    };
    let (mut reader, mut row) = (RowReader::new(table, rows)?, Row::default());
    while reader.next(&mut row)? {
        if let Some(&column) = columns.iter().find(|&&index| is_one(row.after.get(index))) {
            return Ok(Some(column));
        }
    }
    Ok(None)
}

fn shown(value: &Value<'_>) -> String {
    let mut text = Vec::new();
    match value {
        Value::Timestamp(time) => time.write(&mut text),
        Value::Time(time) => time.write(&mut text),
        _ => {}
    }
    String::from_utf8_lossy(&text).into_owned()
}

impl DateTime {
    /// Whether it is behind the last second that 31 bits count from 1970 on.
    fn is_beyond_2038(self) -> bool {
        let Self { date, time } = self;
        let parts = (date.year, date.month, date.day, time.hours, time.minutes, time.seconds);
        parts > (2038, 1, 19, 3, 14, 7)
    }
}

impl Time {
    fn is_beyond_the_last_second(self) -> bool {
        (self.hours, self.minutes, self.seconds) >= (838, 59, 59) && self.micros > 0
    }
}
