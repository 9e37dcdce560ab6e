//! Dates and times, as row events hold them. Sources: MySQL `sql-common/my_time.cc`; for the formats of before 5.6.4,
//! `sql/field.cc` of 5.5.

use super::digits::push_digits;
use crate::log::{Cursor, Short};

/// A date; parts may be 0, as in `0000-00-00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// A time of the day, or a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Whether it is below zero.
    pub is_negative: bool,
    /// 0 to 838.
    pub hours: u16,
    /// 0 to 59.
    pub minutes: u8,
    /// 0 to 59.
    pub seconds: u8,
    /// Of a second, 0 to 999,999.
    pub micros: u32,
    /// How many digits of the second's fraction the column has.
    pub digits: u8,
}

/// A date and a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    /// The date.
    pub date: Date,
    /// The time.
    pub time: Time,
}

impl Date {
    /// Of three bytes.
    pub(super) fn parse(at: &mut Cursor<'_>) -> Result<Self, Short> {
        let bits = at.u24()?;
        Ok(Self { year: (bits >> 9) as u16, month: (bits >> 5 & 15) as u8, day: (bits & 31) as u8 })
    }

    /// So many days behind 1970-01-01, in the Gregorian calendar. Years are those of a TIMESTAMP, 1970 to 2106.
    fn of_day(days: u32) -> Self {
        // Counted in eras of 400 years, which begin on the first of March.
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let of_month = day - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        Self { year: (year + era * 400 + next) as u16, month: month as u8, day: of_month as u8 }
    }

    /// Writes it as `2026-11-22`.
    pub fn write(self, out: &mut Vec<u8>) {
        push_digits(out, u32::from(self.year), 4);
        out.push(b'-');
        push_digits(out, u32::from(self.month), 2);
        out.push(b'-');
        push_digits(out, u32::from(self.day), 2);
    }
}

impl Time {
    /// Of before 5.6.4: three bytes, a number whose digits are the time's.
    pub(super) fn parse_old(at: &mut Cursor<'_>) -> Result<Self, Short> {
        let number = (at.u24()? << 8) as i32 >> 8;
        let time = Self { is_negative: number < 0, ..Self::of_digits(number.unsigned_abs().into()) };
        if time.hours > 838 { Err(Short) } else { time.if_it_is_one() }
    }

    /// Digits that make no time are of another format, which MariaDB logs as if it were this one: that of columns with digits of the
    /// second's fraction and `mysql56_temporal_format=OFF`.
    fn if_it_is_one(self) -> Result<Self, Short> {
        if self.minutes > 59 || self.seconds > 59 { Err(Short) } else { Ok(self) }
    }

    fn of_digits(number: u64) -> Self {
        let part = |number: u64| (number % 100) as u8;
        let (hours, minutes, seconds) = ((number / 10_000) as u16, part(number / 100), part(number));
        Self { is_negative: false, hours, minutes, seconds, micros: 0, digits: 0 }
    }

    /// Three bytes and those of the fraction, together one number with the highest byte first.
    pub(super) fn parse(at: &mut Cursor<'_>, digits: u8) -> Result<Self, Short> {
        let (number, fraction) = big_endian(at, 3, digits)?;
        let zero = 0x80_0000_u64 << (8 * fraction);
        let distance = number.abs_diff(zero);
        let whole = distance >> (8 * fraction);
        let rest = distance & ((1 << (8 * fraction)) - 1);
        Ok(Self {
            is_negative: number < zero,
            micros: micros(rest, fraction),
            digits,
            ..Self::of_bits(whole)
        })
    }

    fn of_bits(bits: u64) -> Self {
        let (hours, minutes, seconds) =
            ((bits >> 12 & 0x3ff) as u16, (bits >> 6 & 63) as u8, (bits & 63) as u8);
        Self { is_negative: false, hours, minutes, seconds, micros: 0, digits: 0 }
    }

    /// Writes it as `-838:59:59.000`, with the column's digits.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.is_negative {
            out.push(b'-');
        }
        push_digits(out, u32::from(self.hours), if self.hours > 99 { 3 } else { 2 });
        out.push(b':');
        push_digits(out, u32::from(self.minutes), 2);
        out.push(b':');
        push_digits(out, u32::from(self.seconds), 2);
        if self.digits > 0 {
            out.push(b'.');
            let beyond = 10_u32.pow(6 - u32::from(self.digits.min(6)));
            push_digits(out, self.micros / beyond, usize::from(self.digits));
        }
    }
}

impl DateTime {
    /// Whether a row that is valid until then is valid until further notice: `TIMESTAMP_MAX_VALUE`, which is 2106-02-07 06:28:15.999999
    /// from MariaDB 11.5 on, and was 2038-01-19 03:14:07.999999.
    pub(crate) fn is_unending(self) -> bool {
        let Self { date, time } = self;
        let parts = (date.year, date.month, date.day, time.hours, time.minutes, time.seconds, time.micros);
        matches!(parts, (2038, 1, 19, 3, 14, 7, 999_999) | (2106, 2, 7, 6, 28, 15, 999_999))
    }

    /// Of before 5.6.4: eight bytes, a number whose digits are the date's and the time's.
    pub(super) fn parse_old(at: &mut Cursor<'_>) -> Result<Self, Short> {
        let number = at.u64()?;
        let (date, time) = (number / 1_000_000, number % 1_000_000);
        let (month, day) = ((date / 100 % 100) as u8, (date % 100) as u8);
        let time = Time::of_digits(time).if_it_is_one()?;
        match u16::try_from(date / 10_000) {
            Ok(year @ ..10_000) if month < 13 && day < 32 && time.hours < 24 => {
                Ok(Self { date: Date { year, month, day }, time })
            }
            _ => Err(Short),
        }
    }

    /// Five bytes and those of the fraction.
    pub(super) fn parse(at: &mut Cursor<'_>, digits: u8) -> Result<Self, Short> {
        let (number, fraction) = big_endian(at, 5, digits)?;
        let rest = number & ((1 << (8 * fraction)) - 1);
        // Negative ones are never stored.
        let bits = (number >> (8 * fraction)).saturating_sub(0x80_0000_0000);
        let months = bits >> 22;
        let (year, month, day) = ((months / 13) as u16, (months % 13) as u8, (bits >> 17 & 31) as u8);
        let time = Time { micros: micros(rest, fraction), digits, ..Time::of_bits(bits & 0x1_ffff) };
        Ok(Self { date: Date { year, month, day }, time })
    }

    /// A TIMESTAMP: seconds since 1970, in UTC. 0 is `0000-00-00 00:00:00`.
    pub(super) fn of_timestamp(seconds: u32, micros: u32, digits: u8) -> Self {
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        let (hours, minutes, seconds_left) =
            ((rest / 3600) as u16, (rest / 60 % 60) as u8, (rest % 60) as u8);
        let is_zero = seconds == 0 && micros == 0;
        let date = if is_zero { Date { year: 0, month: 0, day: 0 } } else { Date::of_day(days) };
        let time = Time { is_negative: false, hours, minutes, seconds: seconds_left, micros, digits };
        Self { date, time }
    }

    /// A TIMESTAMP of four bytes and those of the fraction.
    pub(super) fn parse_timestamp(at: &mut Cursor<'_>, digits: u8) -> Result<Self, Short> {
        let (number, fraction) = big_endian(at, 4, digits)?;
        let rest = number & ((1 << (8 * fraction)) - 1);
        Ok(Self::of_timestamp((number >> (8 * fraction)) as u32, micros(rest, fraction), digits))
    }

    /// Writes it as `2026-11-22 03:15:00.000`, with the column's digits.
    pub fn write(self, out: &mut Vec<u8>) {
        self.date.write(out);
        out.push(b' ');
        self.time.write(out);
    }
}

/// A number of so many bytes and those of the fraction, which the number of these comes back with; the highest byte is first.
fn big_endian(at: &mut Cursor<'_>, bytes: usize, digits: u8) -> Result<(u64, u32), Short> {
    let fraction = digits.div_ceil(2);
    let bytes = at.take(bytes + usize::from(fraction))?;
    Ok((bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)), u32::from(fraction)))
}

/// Microseconds of a fraction in so many bytes: hundredths, ten thousandths or millionths of a second.
fn micros(rest: u64, bytes: u32) -> u32 {
    let unit = match bytes {
        1 => 10_000,
        2 => 100,
        _ => 1,
    };
    (rest * unit) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_day_of_a_timestamp_has_its_date() {
        for days in (0..49_710).chain([11_016, 19_782]) {
            let seconds = days * 86_400 + 86_399;
            let shown = written(|out| DateTime::of_timestamp(seconds, 0, 0).write(out));
            let right = jiff::Timestamp::from_second(i64::from(seconds)).unwrap();
            assert_eq!(shown, right.strftime("%Y-%m-%d %H:%M:%S").to_string());
        }
        assert_eq!(written(|out| DateTime::of_timestamp(0, 0, 3).write(out)), "0000-00-00 00:00:00.000");
    }

    #[test]
    fn times_below_zero() {
        // 00:00:00 is 80 00 00; one hundredth less is 7f ff ff ff, as MySQL's my_time_packed_to_binary() has it.
        let time = |bytes: &[u8], digits| {
            written(|out| Time::parse(&mut Cursor::new(bytes), digits).unwrap().write(out))
        };
        assert_eq!(time(&[0x80, 0, 0], 0), "00:00:00");
        assert_eq!(time(&[0x7f, 0xff, 0xff, 0xff], 2), "-00:00:00.01");
        assert_eq!(time(&[0x7f, 0xff, 0xff], 0), "-00:00:01");
        assert_eq!(time(&[0xb4, 0x6e, 0xfb], 0), "838:59:59");
    }
}
