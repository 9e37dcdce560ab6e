//! Times in the format of a server that has another one than the server of the log: that of before MySQL 5.6.4 and MariaDB 10.1, or that
//! of these and later ones. What a server makes itself of the other format is not always the same time (found with 5.6, 5.7 and MariaDB
//! 10.11: `2000-02-31` became `0000-00-00`), and MySQL 9.7 calls events with the former one corrupted.

use super::column::ColumnType;
use super::temporal::{Date, DateTime, Time};
use super::value::Value;

/// The type of a column's times where its server keeps them in the former format, or in the later one; `None` if that is the log's.
pub(super) fn retimed(kind: ColumnType, is_former: bool) -> Option<ColumnType> {
    match (kind, is_former) {
        (ColumnType::OldTime, false) => Some(ColumnType::Time(0)),
        (ColumnType::OldDateTime, false) => Some(ColumnType::DateTime(0)),
        (ColumnType::OldTimestamp, false) => Some(ColumnType::Timestamp(0)),
        // Digits of the second's fraction had no place in it.
        (ColumnType::Time(0), true) => Some(ColumnType::OldTime),
        (ColumnType::DateTime(0), true) => Some(ColumnType::OldDateTime),
        (ColumnType::Timestamp(0), true) => Some(ColumnType::OldTimestamp),
        _ => None,
    }
}

/// Writes a time, of these bytes in the log, as one of the other format. False if it is none that has one.
pub(super) fn push_retimed(value: &Value<'_>, bytes: &[u8], to: ColumnType, out: &mut Vec<u8>) -> bool {
    match (to, *value) {
        (ColumnType::Time(0), Value::Time(time)) => {
            let zero = 0x80_0000_i64;
            out.extend_from_slice(&(zero + signed(bits(time), time.is_negative)).to_be_bytes()[5..]);
        }
        (ColumnType::OldTime, Value::Time(time)) => {
            out.extend_from_slice(&signed(digits(time), time.is_negative).to_le_bytes()[..3]);
        }
        (ColumnType::DateTime(0), Value::DateTime(DateTime { date, time })) => {
            let months = i64::from(date.year) * 13 + i64::from(date.month);
            let all = (months << 5 | i64::from(date.day)) << 17 | bits(time);
            out.extend_from_slice(&(0x80_0000_0000 + all).to_be_bytes()[3..]);
        }
        (ColumnType::OldDateTime, Value::DateTime(DateTime { date, time })) => {
            let Date { year, month, day } = date;
            let date = i64::from(year) * 10_000 + i64::from(month) * 100 + i64::from(day);
            out.extend_from_slice(&(date * 1_000_000 + digits(time)).to_le_bytes());
        }
        // The seconds, with the highest byte first, and last.
        (ColumnType::Timestamp(0) | ColumnType::OldTimestamp, Value::Timestamp(_)) => {
            out.extend(bytes.iter().rev());
        }
        _ => return false,
    }
    true
}

fn bits(time: Time) -> i64 {
    i64::from(time.hours) << 12 | i64::from(time.minutes) << 6 | i64::from(time.seconds)
}

/// The number whose digits are the time's.
fn digits(time: Time) -> i64 {
    i64::from(time.hours) * 10_000 + i64::from(time.minutes) * 100 + i64::from(time.seconds)
}

fn signed(number: i64, is_negative: bool) -> i64 {
    if is_negative { -number } else { number }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::Cursor;

    fn retimed_to(kind: ColumnType, bytes: &[u8], to: ColumnType) -> Vec<u8> {
        let value = Value::parse(kind, &mut Cursor::new(bytes)).unwrap();
        let mut out = Vec::new();
        assert!(push_retimed(&value, bytes, to, &mut out), "{kind:?} {bytes:?}");
        assert_eq!(format!("{:?}", Value::parse(to, &mut Cursor::new(&out)).unwrap()), format!("{value:?}"));
        out
    }

    /// There, and back again.
    fn comes_back(kind: ColumnType, bytes: &[u8]) {
        let to = retimed(kind, false).unwrap();
        assert_eq!(retimed(to, true), Some(kind));
        assert_eq!(retimed_to(to, &retimed_to(kind, bytes, to), kind), bytes, "{kind:?}");
    }

    #[test]
    fn no_date_is_lost() {
        let bytes = |number: i64| number.to_le_bytes();
        for number in [0, 20_000_231_235_959, 20_000_001_000_000, 99_991_231_235_959, 10_100_000_000] {
            comes_back(ColumnType::OldDateTime, &bytes(number));
        }
        for number in [0, 1, -1, 8_385_959, -8_385_959, -100] {
            comes_back(ColumnType::OldTime, &bytes(number)[..3]);
        }
        let later = retimed_to(ColumnType::OldTime, &bytes(-1)[..3], ColumnType::Time(0));
        assert_eq!(later, [0x7f, 0xff, 0xff]);
        assert_eq!(retimed(ColumnType::DateTime(3), true), None);
    }

    proptest! {
        #[test]
        fn any_time_comes_back(
            (year, month, day) in (0_i64..10_000, 0_i64..13, 0_i64..32),
            (hour, minute, second) in (0_i64..24, 0_i64..60, 0_i64..60),
            (hours, is_negative, seconds) in (0_i64..839, any::<bool>(), any::<u32>()),
        ) {
            let time = minute * 100 + second;
            let number = (year * 10_000 + month * 100 + day) * 1_000_000 + hour * 10_000 + time;
            comes_back(ColumnType::OldDateTime, &number.to_le_bytes());
            comes_back(ColumnType::OldTime, &signed(hours * 10_000 + time, is_negative).to_le_bytes()[..3]);
            comes_back(ColumnType::OldTimestamp, &seconds.to_le_bytes());
        }
    }
}
