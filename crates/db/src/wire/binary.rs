//! Values in the binary form of prepared statements: of parameters, and of rows' columns.
//!
//! Source: MySQL Internals, "Client/Server Protocol", "Binary Protocol Value"; MariaDB Knowledge Base, "Binary Resultset Row".

use mysql_common::constants::ColumnType;

use super::fields::{Field, next_field};

/// Of a parameter's type, that it has no sign.
const UNSIGNED: u8 = 0x80;
/// Of a column's flags.
const UNSIGNED_COLUMN: u8 = 0x20;

/// A value of a statement's parameter, or of a row's column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A whole number of a type without a sign.
    Unsigned(u64),
    /// A number with a floating point.
    Double(f64),
    /// A decimal number as text, such as `-12.30`.
    Decimal(&'a [u8]),
    /// Text in the character set of the connection. Rows' texts come as [`Value::Bytes`].
    Text(&'a [u8]),
    /// Bytes, or a row's text.
    Bytes(&'a [u8]),
    /// A date with a time of day.
    Moment(Moment),
    /// A length of time in microseconds, as the type TIME has it.
    Span(i64),
}

/// A date with a time of day, as it stands in a column: in no time zone that one could see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// 0 to 999999.
    pub microsecond: u32,
}

/// What a parameter's values are, each as the [`Value`] of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // as of Value
pub enum ParameterKind {
    Null,
    Int,
    Unsigned,
    Double,
    Decimal,
    Text,
    Bytes,
    Moment,
    Span,
}

impl ParameterKind {
    /// How a parameter's type is told to the server.
    pub(super) fn parameter_type(self) -> [u8; 2] {
        let (kind, sign) = match self {
            Self::Null => (ColumnType::MYSQL_TYPE_NULL, 0),
            Self::Int => (ColumnType::MYSQL_TYPE_LONGLONG, 0),
            Self::Unsigned => (ColumnType::MYSQL_TYPE_LONGLONG, UNSIGNED),
            Self::Double => (ColumnType::MYSQL_TYPE_DOUBLE, 0),
            Self::Decimal => (ColumnType::MYSQL_TYPE_NEWDECIMAL, 0),
            Self::Text => (ColumnType::MYSQL_TYPE_VAR_STRING, 0),
            Self::Bytes => (ColumnType::MYSQL_TYPE_BLOB, 0),
            Self::Moment => (ColumnType::MYSQL_TYPE_DATETIME, 0),
            Self::Span => (ColumnType::MYSQL_TYPE_TIME, 0),
        };
        [kind as u8, sign]
    }
}

impl Value<'_> {
    /// What it is.
    pub(super) fn kind(&self) -> ParameterKind {
        match self {
            Self::Null => ParameterKind::Null,
            Self::Int(_) => ParameterKind::Int,
            Self::Unsigned(_) => ParameterKind::Unsigned,
            Self::Double(_) => ParameterKind::Double,
            Self::Decimal(_) => ParameterKind::Decimal,
            Self::Text(_) => ParameterKind::Text,
            Self::Bytes(_) => ParameterKind::Bytes,
            Self::Moment(_) => ParameterKind::Moment,
            Self::Span(_) => ParameterKind::Span,
        }
    }

    /// Its bytes; none for NULL, of which a bit elsewhere tells.
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Unsigned(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Decimal(bytes) | Self::Text(bytes) | Self::Bytes(bytes) => append_bytes(bytes, out),
            Self::Moment(moment) => moment.append(out),
            Self::Span(microseconds) => append_span(*microseconds, out),
        }
    }
}

/// Bytes with their length before them.
fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let length = bytes.len() as u64;
    let (first, size) = match length {
        0..=0xfa => (length as u8, 0),
        0xfb..=0xffff => (0xfc, 2),
        0x1_0000..=0xff_ffff => (0xfd, 3),
        _ => (0xfe, 8),
    };
    out.push(first);
    out.extend_from_slice(&length.to_le_bytes()[..size]);
    out.extend_from_slice(bytes);
}

fn append_span(microseconds: i64, out: &mut Vec<u8>) {
    let size = microseconds.unsigned_abs();
    let (seconds, rest) = (size / 1_000_000, (size % 1_000_000) as u32);
    let (days, second) = ((seconds / 86_400) as u32, seconds % 86_400);
    out.extend_from_slice(&[12, u8::from(microseconds < 0)]);
    out.extend_from_slice(&days.to_le_bytes());
    out.extend_from_slice(&[(second / 3600) as u8, (second / 60 % 60) as u8, (second % 60) as u8]);
    out.extend_from_slice(&rest.to_le_bytes());
}

impl Moment {
    fn append(&self, out: &mut Vec<u8>) {
        out.push(11);
        out.extend_from_slice(&self.year.to_le_bytes());
        out.extend_from_slice(&[self.month, self.day, self.hour, self.minute, self.second]);
        out.extend_from_slice(&self.microsecond.to_le_bytes());
    }

    /// What is zero at the end is not sent.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut moment = Self::default();
        let (date, rest) = match bytes {
            [] => return Some(moment),
            _ => bytes.split_first_chunk::<4>()?,
        };
        moment.year = u16::from_le_bytes([date[0], date[1]]);
        (moment.month, moment.day) = (date[2], date[3]);
        if rest.is_empty() {
            return Some(moment);
        }
        let ([hour, minute, second], rest) = rest.split_first_chunk::<3>()?;
        (moment.hour, moment.minute, moment.second) = (*hour, *minute, *second);
        moment.microsecond = if rest.is_empty() { 0 } else { u32::from_le_bytes(rest.try_into().ok()?) };
        Some(moment)
    }
}

/// A length of time: its sign, days, hours, minutes, seconds and, if there are any, microseconds.
fn read_span(bytes: &[u8]) -> Option<i64> {
    let Some((&[is_negative, a, b, c, d, hour, minute, second], rest)) = bytes.split_first_chunk::<8>()
    else {
        return bytes.is_empty().then_some(0);
    };
    let microseconds = if rest.is_empty() { 0 } else { u32::from_le_bytes(rest.try_into().ok()?) };
    let hours = i64::from(u32::from_le_bytes([a, b, c, d])) * 24 + i64::from(hour);
    let seconds = (hours * 60 + i64::from(minute)) * 60 + i64::from(second);
    let size = seconds * 1_000_000 + i64::from(microseconds);
    Some(if is_negative == 0 { size } else { -size })
}

/// What a column's values are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    kind: ColumnType,
    is_unsigned: bool,
}

/// A value of a row: what has bytes has them where the row was put.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stored {
    Null,
    Int(i64),
    Unsigned(u64),
    Double(f64),
    Decimal(usize, usize),
    Bytes(usize, usize),
    Moment(Moment),
    Span(i64),
}

impl Stored {
    /// The value, of a row that was put there.
    pub(super) fn value(self, bytes: &[u8]) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(number),
            Self::Unsigned(number) => Value::Unsigned(number),
            Self::Double(number) => Value::Double(number),
            Self::Decimal(start, end) => Value::Decimal(&bytes[start..end]),
            Self::Bytes(start, end) => Value::Bytes(&bytes[start..end]),
            Self::Moment(moment) => Value::Moment(moment),
            Self::Span(microseconds) => Value::Span(microseconds),
        }
    }
}

impl Column {
    /// Of the packet that describes it only its end is looked at, which is of one length.
    pub(super) fn described_by(payload: &[u8]) -> Option<Self> {
        // The length of what follows, character set, length, type, flags, decimals, and two bytes that mean nothing.
        let &[12, _, _, _, _, _, _, kind, flags, _, _, _, _] = payload.last_chunk::<13>()? else {
            return None;
        };
        Some(Self { kind: ColumnType::try_from(kind).ok()?, is_unsigned: flags & UNSIGNED_COLUMN != 0 })
    }

    /// Takes a value of this column off the front of what is left of a row; the row ends there.
    pub(super) fn stored(self, rest: &mut &[u8], end: usize) -> Option<Stored> {
        use ColumnType as T;
        Some(match self.kind {
            T::MYSQL_TYPE_TINY => self.integer::<1>(rest)?,
            T::MYSQL_TYPE_SHORT | T::MYSQL_TYPE_YEAR => self.integer::<2>(rest)?,
            T::MYSQL_TYPE_LONG | T::MYSQL_TYPE_INT24 => self.integer::<4>(rest)?,
            T::MYSQL_TYPE_LONGLONG => self.integer::<8>(rest)?,
            T::MYSQL_TYPE_FLOAT => Stored::Double(f32::from_le_bytes(taken(rest)?).into()),
            T::MYSQL_TYPE_DOUBLE => Stored::Double(f64::from_le_bytes(taken(rest)?)),
            T::MYSQL_TYPE_NULL => Stored::Null,
            T::MYSQL_TYPE_DATE | T::MYSQL_TYPE_DATETIME | T::MYSQL_TYPE_TIMESTAMP => {
                Stored::Moment(Moment::read(counted(rest)?)?)
            }
            T::MYSQL_TYPE_TIME => Stored::Span(read_span(counted(rest)?)?),
            kind => {
                let length = counted(rest)?.len();
                let end = end - rest.len();
                match kind {
                    T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => Stored::Decimal(end - length, end),
                    _ => Stored::Bytes(end - length, end),
                }
            }
        })
    }

    fn integer<const N: usize>(self, rest: &mut &[u8]) -> Option<Stored> {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&taken::<N>(rest)?);
        let number = u64::from_le_bytes(bytes);
        if self.is_unsigned {
            return Some(Stored::Unsigned(number));
        }
        // The sign is the highest bit of those that were sent.
        let unused = 64 - 8 * N as u32;
        Some(Stored::Int((number << unused).cast_signed() >> unused))
    }
}

fn taken<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

/// Bytes with their length before them.
fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    match next_field(rest)? {
        Field::Bytes(bytes) => Some(bytes),
        Field::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moment() -> impl Strategy<Value = Moment> {
        let date = (0..=9999_u16, 0..=12_u8, 0..=31_u8);
        let time = (0..24_u8, 0..60_u8, 0..60_u8, 0..1_000_000_u32);
        (date, time).prop_map(|((year, month, day), (hour, minute, second, microsecond))| Moment {
            year,
            month,
            day,
            hour,
            minute,
            second,
            microsecond,
        })
    }

    /// A value as a row's column of the type that it has as a parameter.
    fn read_back(value: Value<'_>) -> Value<'static> {
        let mut bytes = Vec::new();
        value.append(&mut bytes);
        let [kind, sign] = value.kind().parameter_type();
        let column = Column { kind: ColumnType::try_from(kind).unwrap(), is_unsigned: sign != 0 };
        let mut rest = &bytes[..];
        let stored = column.stored(&mut rest, bytes.len()).unwrap();
        assert!(rest.is_empty());
        stored.value(bytes.leak())
    }

    proptest! {
        #[test]
        fn values_read_back(number in any::<i64>(), length in prop_oneof![8 => 0..300_usize, 1 => 0xfff0..0x1_0010_usize], moment in moment(),
                            span in -3_020_399_999_999_i64..=3_020_399_999_999) {
            let text = vec![b'x'; length];
            let values = [Value::Int(number), Value::Unsigned(number.cast_unsigned()), Value::Double(number as f64), Value::Decimal(&text),
                          Value::Bytes(&text), Value::Moment(moment), Value::Span(span)];
            for value in values {
                prop_assert_eq!(read_back(value), value);
            }
            prop_assert_eq!(read_back(Value::Text(&text)), Value::Bytes(&text));
        }

        #[test]
        fn no_bytes_make_it_panic(kind in any::<u8>(), is_unsigned in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(kind) = ColumnType::try_from(kind) {
                let mut rest = &bytes[..];
                if let Some(stored) = (Column { kind, is_unsigned }).stored(&mut rest, bytes.len()) {
                    stored.value(&bytes);
                }
            }
            let _ = Column::described_by(&bytes);
        }
    }

    #[test]
    fn numbers_of_all_sizes_have_their_sign() {
        let read = |kind, is_unsigned, mut bytes: &[u8]| {
            let length = bytes.len();
            Column { kind, is_unsigned }.stored(&mut bytes, length).unwrap().value(&[])
        };
        assert_eq!(read(ColumnType::MYSQL_TYPE_TINY, false, &[0xfe]), Value::Int(-2));
        assert_eq!(read(ColumnType::MYSQL_TYPE_TINY, true, &[0xfe]), Value::Unsigned(254));
        assert_eq!(read(ColumnType::MYSQL_TYPE_SHORT, false, &[0xff, 0x7f]), Value::Int(32_767));
        assert_eq!(read(ColumnType::MYSQL_TYPE_INT24, false, &[0, 0, 0x80, 0xff]), Value::Int(-0x80_0000));
        assert_eq!(read(ColumnType::MYSQL_TYPE_FLOAT, false, &1.5_f32.to_le_bytes()), Value::Double(1.5));
    }

    #[test]
    fn what_is_zero_at_the_end_of_a_time_is_not_sent() {
        let date = Moment { year: 2026, month: 3, day: 1, ..Moment::default() };
        assert_eq!(Moment::read(&[]), Some(Moment::default()));
        assert_eq!(Moment::read(&[0xea, 0x07, 3, 1]), Some(date));
        assert_eq!(
            Moment::read(&[0xea, 0x07, 3, 1, 4, 5, 6]),
            Some(Moment { hour: 4, minute: 5, second: 6, ..date })
        );
        assert_eq!(Moment::read(&[0xea, 0x07, 3]), None);
        assert_eq!((read_span(&[]), read_span(&[1, 1, 0, 0, 0, 2, 0, 1])), (Some(0), Some(-93_601_000_000)));
        assert_eq!(read_span(&[1, 2]), None);
    }
}
