//! Values that JSON has no type for: they keep their column type. Decimals, dates and times have a text of their own; of all
//! others the server shows the bytes.

use super::text::{Era, write_string};
use super::{Invalid, number};
use crate::rows::{Date, DateTime, Time, decimal};

/// The numbers of column types: MySQL `include/field_types.h`, `enum_field_types`.
pub(super) mod column_type {
    pub(in super::super) const TIMESTAMP: u8 = 7;
    pub(in super::super) const DATE: u8 = 10;
    pub(in super::super) const TIME: u8 = 11;
    pub(in super::super) const DATETIME: u8 = 12;
    pub(in super::super) const BIT: u8 = 16;
    pub(in super::super) const NEWDECIMAL: u8 = 246;
    pub(in super::super) const TINY_BLOB: u8 = 249;
    pub(in super::super) const MEDIUM_BLOB: u8 = 250;
    pub(in super::super) const LONG_BLOB: u8 = 251;
    pub(in super::super) const BLOB: u8 = 252;
    /// Text in UTF-16 or UTF-32; what is in no character set has other types.
    pub(in super::super) const VAR_STRING: u8 = 253;
    pub(in super::super) const STRING: u8 = 254;
}

/// Appends a value's text: a number or a string of JSON.
pub(super) fn write_text(era: Era, column_type: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    match column_type {
        column_type::NEWDECIMAL => write_number(bytes, out)?,
        column_type::DATE | column_type::TIME | column_type::DATETIME | column_type::TIMESTAMP => {
            out.push(b'"');
            write_temporal(column_type, bytes, out)?;
            out.push(b'"');
        }
        _ => match str::from_utf8(bytes) {
            // The server takes it for UTF-8, whatever it is; only where it is not, bytes are shown in place of broken text.
            Ok(text) if column_type == column_type::VAR_STRING && era == Era::Today => {
                write_string(text, out)
            }
            _ => {
                out.extend_from_slice(b"\"base64:type");
                number::write_uint(column_type.into(), out);
                out.push(b':');
                write_base64(bytes, out);
                out.push(b'"');
            }
        },
    }
    Ok(())
}

/// Appends a decimal. Its bytes begin with how many digits it has, and how many of them behind the point.
pub(super) fn write_number(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    match *bytes {
        [digits, behind, ref number @ ..]
            if behind <= digits && decimal::size(digits, behind) == number.len() =>
        {
            decimal::write(number, digits, behind, out);
            Ok(())
        }
        _ => Err(Invalid::Opaque(column_type::NEWDECIMAL)),
    }
}

/// Appends a date, a time or both, with six digits of the second's fraction.
pub(super) fn write_temporal(column_type: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let invalid = Invalid::Opaque(column_type);
    let packed = i64::from_le_bytes(bytes.try_into().map_err(|_| invalid)?);
    let time = time_of(packed);
    let is_time = time.minutes <= 59 && time.seconds <= 59 && time.micros <= 999_999;
    if column_type == column_type::TIME && is_time {
        time.write(out);
        return Ok(());
    }
    // The bits of the hours beyond those of a day are the date's.
    let time = Time { hours: time.hours & 31, ..time };
    match date_of(packed) {
        Some(date) if column_type == column_type::DATE => date.write(out),
        Some(date) if column_type != column_type::TIME && is_time && time.hours <= 23 => {
            DateTime { date, time }.write(out)
        }
        _ => return Err(invalid),
    }
    Ok(())
}

/// The part of a packed value that the time is. Source: MySQL `sql-common/my_time.cc`, `TIME_from_longlong_time_packed()`.
fn time_of(packed: i64) -> Time {
    let bits = packed.unsigned_abs();
    Time {
        is_negative: packed < 0,
        hours: (bits >> 36 & 0x3ff) as u16,
        minutes: (bits >> 30 & 63) as u8,
        seconds: (bits >> 24 & 63) as u8,
        micros: (bits & 0xff_ffff) as u32,
        digits: 6,
    }
}

/// The part that the date is. Source: there, `TIME_from_longlong_datetime_packed()`.
fn date_of(packed: i64) -> Option<Date> {
    let bits = u64::try_from(packed).ok()?;
    let (months, day) = (bits >> 46, (bits >> 41 & 31) as u8);
    let (year, month) = ((months / 13) as u16, (months % 13) as u8);
    (months < 13 * 10_000).then_some(Date { year, month, day })
}

/// Appends bytes as base64 in a string of JSON. The server breaks its lines. Source: MySQL `include/base64.h`.
fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    /// In bytes that are encoded.
    const LINE: usize = 57;
    for (index, line) in bytes.chunks(LINE).enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\n");
        }
        for triple in line.chunks(3) {
            let byte = |at: usize| u32::from(triple.get(at).copied().unwrap_or(0));
            let number = byte(0) << 16 | byte(1) << 8 | byte(2);
            for digit in 0..4 {
                let value = (number >> (18 - 6 * digit)) as usize & 63;
                out.push(if digit > triple.len() { b'=' } else { DIGITS[value] });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text_of(column_type: u8, bytes: &[u8]) -> Result<String, Invalid> {
        let mut out = Vec::new();
        write_text(Era::Today, column_type, bytes, &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    fn date(year: i64, month: i64, day: i64, clock: i64) -> i64 {
        ((year * 13 + month) << 5 | day) << 41 | clock
    }

    fn clock(hour: i64, minute: i64, second: i64, micros: i64) -> i64 {
        (hour << 12 | minute << 6 | second) << 24 | micros
    }

    #[test]
    fn dates_and_times() {
        let packed = date(2015, 1, 15, clock(23, 24, 25, 120)).to_le_bytes();
        assert_eq!(text_of(column_type::DATETIME, &packed), Ok("\"2015-01-15 23:24:25.000120\"".into()));
        assert_eq!(text_of(column_type::TIMESTAMP, &packed), Ok("\"2015-01-15 23:24:25.000120\"".into()));
        assert_eq!(text_of(column_type::DATE, &packed), Ok("\"2015-01-15\"".into()));
        assert_eq!(text_of(column_type::DATE, &[0; 8]), Ok("\"0000-00-00\"".into()));
        let time = clock(838, 59, 59, 0);
        assert_eq!(text_of(column_type::TIME, &time.to_le_bytes()), Ok("\"838:59:59.000000\"".into()));
        let time = -clock(0, 0, 1, 5);
        assert_eq!(text_of(column_type::TIME, &time.to_le_bytes()), Ok("\"-00:00:01.000005\"".into()));
    }

    #[test]
    fn dates_and_times_that_cannot_be() {
        for column_type in
            [column_type::DATE, column_type::DATETIME, column_type::TIMESTAMP, column_type::TIME]
        {
            assert_eq!(text_of(column_type, &[0; 7]), Err(Invalid::Opaque(column_type)));
        }
        for packed in [-1, i64::MAX, date(10_000, 1, 1, 0), date(2015, 1, 1, clock(24, 0, 0, 0))] {
            let wanted = Err(Invalid::Opaque(column_type::DATETIME));
            assert_eq!(text_of(column_type::DATETIME, &packed.to_le_bytes()), wanted);
        }
        for packed in [clock(1, 60, 0, 0), clock(1, 0, 60, 0), clock(1, 0, 0, 1_000_000)] {
            let wanted = Err(Invalid::Opaque(column_type::TIME));
            assert_eq!(text_of(column_type::TIME, &packed.to_le_bytes()), wanted);
        }
    }

    #[test]
    fn decimals() {
        assert_eq!(text_of(column_type::NEWDECIMAL, &[3, 2, 0x81, 50]), Ok("1.50".into()));
        for bytes in [&[][..], &[3], &[3, 2], &[3, 2, 0x81], &[2, 3, 0x81, 50]] {
            assert_eq!(text_of(column_type::NEWDECIMAL, bytes), Err(Invalid::Opaque(246)));
        }
    }

    #[test]
    fn bytes() {
        for (bytes, text) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("\u{ff}", "w78=")] {
            assert_eq!(text_of(15, bytes.as_bytes()), Ok(format!("\"base64:type15:{text}\"")));
        }
        assert_eq!(text_of(column_type::VAR_STRING, b"\0a"), Ok("\"\\u0000a\"".into()));
        assert_eq!(text_of(column_type::VAR_STRING, b"\0\xe9"), Ok("\"base64:type253:AOk=\"".into()));
        assert_eq!(text_of(16, &[0; 57]), Ok(format!("\"base64:type16:{}\"", "A".repeat(76))));
        assert_eq!(text_of(16, &[0; 58]), Ok(format!("\"base64:type16:{}\\nAA==\"", "A".repeat(76))));
    }

    proptest! {
        #[test]
        fn no_bytes_lead_astray(column_type: u8, bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Ok(text) = text_of(column_type, &bytes) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
            }
        }
    }
}
