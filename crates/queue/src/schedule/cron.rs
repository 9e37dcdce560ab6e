//! Times that come again and again, as cron writes them: five fields, or six with the seconds before them, in a time zone.
//!
//! A library reads the fields, and is asked as if all zones were UTC: it says what a clock on the wall has to show. What happens
//! where that clock is put forward or back is decided here, in the way of Vixie's cron.

use cronexpr::{Crontab, MakeTimestamp};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::{Error, Result};

/// The longest expression and the longest zone's name, in bytes.
pub(crate) const LONGEST_CRON: usize = 190;
pub(crate) const LONGEST_ZONE: usize = 64;

/// What the fields are called, and what may stand there.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0-59"),
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of the month", "1-31"),
    ("month", "1-12 or JAN-DEC"),
    ("day of the week", "0-7 or SUN-SAT, where 0 and 7 are Sunday"),
];

/// Names for some expressions.
const NAMES: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// A point in time, or what a clock on the wall shows as if its zone were UTC: in seconds since 1970.
type Seconds = i64;

/// Times that come again and again.
#[derive(Debug, Clone)]
pub(crate) struct Cron {
    minutes: Crontab,
    /// The seconds of such a minute.
    seconds: Vec<Seconds>,
    /// Whether its seconds, minutes or hours begin with `*`: then it goes by the time that passes. Else it is for certain times of
    /// the day, of which none is to be left out or to come twice because the clock is changed.
    is_frequent: bool,
    zone: TimeZone,
}

impl Cron {
    /// Reads an expression and the name of a zone.
    ///
    /// # Errors
    /// What is wrong with which field, or with the zone.
    pub(crate) fn parse(text: &str, zone: &str) -> Result<Self> {
        if text.len() > LONGEST_CRON {
            return Err(Error::found(format!("the cron expression has more than {LONGEST_CRON} characters")));
        }
        let six = fields(text)?;
        for (field, at) in six.iter().zip(0..) {
            check(field, at)?;
        }
        let [second, minute, hour, ..] = six;
        let is_frequent = [second, minute, hour].iter().any(|field| field.starts_with('*'));
        let minutes = read(&six[1..].join(" ")).map_err(|why| Error::found(format!("'{text}': {why}")))?;
        // What stands for seconds is what may stand for minutes.
        let of_an_hour = read(&format!("{second} * * * *")).map_err(Error::found)?;
        let is_one = |second: &Seconds| {
            at(second * 60).is_some_and(|time| of_an_hour.matches(time).unwrap_or_default())
        };
        let seconds = (0..60).filter(is_one).collect();
        Ok(Self { minutes, seconds, is_frequent, zone: find_zone(zone)? })
    }

    /// The first of its times after this one, in milliseconds since 1970; none if none comes within four years.
    pub(crate) fn next(&self, after_ms: u64) -> Option<u64> {
        let after = i64::try_from(after_ms / 1000).ok()?;
        let next = self.next_second(after)?;
        u64::try_from(next).ok()?.checked_mul(1000)
    }

    /// For how long a time that came does not come again where a clock is put back. As with daylight saving, one of certain times of the
    /// day comes once; a clock that is put back by more was wrong before.
    pub(crate) fn comes_once_within_ms(&self) -> u64 {
        const MINUTE: u64 = 60_000;
        if self.is_frequent { MINUTE } else { 3 * 60 * MINUTE }
    }

    fn next_second(&self, after: Seconds) -> Option<Seconds> {
        let mut from = after;
        let mut shown = self.shown_until(after)?;
        // Between two changes of the clock what it shows is the time and an offset.
        loop {
            let offset = self.offset(from)?;
            let wall = self.next_shown(shown)?;
            let Some(change) = self.zone.following(timestamp(from)?).next() else {
                return Some(wall - offset);
            };
            let changed = change.timestamp().as_second();
            if wall - offset < changed {
                return Some(wall - offset);
            }
            let (before, after) = (changed + offset, changed + self.offset(changed)?);
            if !self.is_frequent && wall < after {
                return Some(changed); // it is left out: its time is that of the change
            }
            let is_over = if self.is_frequent { after } else { before.max(after) };
            (from, shown) = (changed, is_over - 1);
        }
    }

    /// What the clock has shown at this time, as far as that matters: of an hour that comes twice both are one.
    fn shown_until(&self, at: Seconds) -> Option<Seconds> {
        let shown = at + self.offset(at)?;
        let last =
            self.zone.preceding(timestamp(at + 1)?).next().map(|change| change.timestamp().as_second());
        match last {
            Some(changed) if !self.is_frequent => Some(shown.max(changed + self.offset(changed - 1)? - 1)),
            _ => Some(shown),
        }
    }

    /// What the clock has to show next after it showed this.
    fn next_shown(&self, shown: Seconds) -> Option<Seconds> {
        let (minute, second) = (shown - shown.rem_euclid(60), shown.rem_euclid(60));
        if let Some(later) = self.seconds.iter().find(|later| **later > second)
            && self.minutes.matches(at(minute)?).ok()?
        {
            return Some(minute + later);
        }
        let next = self.minutes.find_next(at(minute)?).ok()?;
        Some(next.timestamp().as_second() + self.seconds.first()?)
    }

    /// How far the clock is ahead of UTC.
    fn offset(&self, at: Seconds) -> Option<Seconds> {
        Some(self.zone.to_offset(timestamp(at)?).seconds().into())
    }
}

/// The library adds years to times, and panics where there are no more.
fn timestamp(at: Seconds) -> Option<Timestamp> {
    const LAST: Seconds = 200_000_000_000; // in the year 8307
    Timestamp::from_second(at).ok().filter(|_| at < LAST)
}

fn at(seconds: Seconds) -> Option<MakeTimestamp> {
    timestamp(seconds).map(MakeTimestamp)
}

/// The name of a zone as the database of zones writes it.
pub(crate) fn zone_name(name: &str) -> Result<String> {
    let zone = find_zone(name)?;
    Ok(zone.iana_name().unwrap_or(name).to_owned())
}

fn find_zone(name: &str) -> Result<TimeZone> {
    let found = (name.len() <= LONGEST_ZONE).then(|| TimeZone::get(name).ok()).flatten();
    found.filter(|zone| !zone.is_unknown()).ok_or_else(|| {
        Error::with_hint(
            format!("'{name}' is no time zone"),
            "write one as the IANA database of time zones does, such as Europe/Zurich or UTC",
        )
    })
}

/// The six fields of an expression; without seconds it is the beginning of a minute.
fn fields(text: &str) -> Result<[&str; 6]> {
    let name = text.trim();
    let text = match NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, text)) => text,
        None if name.starts_with('@') => {
            let known: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
            return Err(Error::with_hint(
                format!("'{name}' is no name of a cron expression"),
                format!("there are {}", known.join(", ")),
            ));
        }
        None => text,
    };
    let fields: Vec<_> = text.split_ascii_whitespace().collect();
    match *fields {
        [minute, hour, day, month, weekday] => Ok(["0", minute, hour, day, month, weekday]),
        [second, minute, hour, day, month, weekday] => Ok([second, minute, hour, day, month, weekday]),
        _ => Err(Error::with_hint(
            format!("the cron expression '{text}' has {} fields", fields.len()),
            "it takes five: minute, hour, day of the month, month, day of the week, such as '30 3 * * MON-FRI'; or six, with the \
             seconds before them",
        )),
    }
}

/// Whether a field, all others left open, is right.
fn check(field: &str, at: usize) -> Result<()> {
    let Some((name, values)) = FIELDS.get(at) else { return Ok(()) };
    let why = if field.split([',', '-', '/']).all(is_word) {
        let mut five = ["*"; 5];
        if let Some(place) = five.get_mut(at.saturating_sub(1)) {
            *place = field;
        }
        read(&five.join(" ")).err()
    } else {
        Some("it cannot be read".into())
    };
    match why {
        None => Ok(()),
        Some(why) => Err(Error::with_hint(
            format!("the {name} '{field}' is wrong: {why}"),
            format!(
                "for the {name} write {values}, a list such as 1,3 of it, a range such as 1-5, or a step such as */2"
            ),
        )),
    }
}

/// The library knows more than these: `L`, `W`, `#` and `H`. Of them it takes the last day of December for none.
fn is_word(word: &str) -> bool {
    let all = |is: fn(&u8) -> bool| word.bytes().all(|byte| is(&byte));
    word == "*"
        || (!word.is_empty() && all(u8::is_ascii_digit))
        || (word.len() == 3 && all(u8::is_ascii_alphabetic))
}

/// Reads five fields; else tells why that cannot be done, in a line.
fn read(five: &str) -> std::result::Result<Crontab, String> {
    cronexpr::parse_crontab(&format!("{five} UTC")).map_err(|error| {
        let text = error.to_string();
        let why = text.rsplit_once("^ ").map_or(&*text, |(_, why)| why);
        if why == "malformed expression" { "it cannot be read".into() } else { why.to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn millis(time: &str) -> u64 {
        u64::try_from(time.parse::<Timestamp>().unwrap().as_millisecond()).unwrap()
    }

    /// The times after `from`, as clocks in the zone show them.
    fn times(cron: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let cron = Cron::parse(cron, zone).unwrap();
        let mut at = millis(from);
        let mut times = Vec::new();
        for _ in 0..count {
            at = cron.next(at).unwrap();
            let time = Timestamp::from_millisecond(at as i64).unwrap().to_zoned(cron.zone.clone());
            times.push(time.strftime("%m-%d %H:%M:%S%z").to_string());
        }
        times
    }

    #[test]
    fn lists_ranges_steps_and_names() {
        for (cron, expected) in [
            ("*/20 9-10 * * *", ["01-01 09:00", "01-01 09:20", "01-01 09:40", "01-01 10:00"]),
            ("0 9 * * MON,wed", ["01-05 09:00", "01-07 09:00", "01-12 09:00", "01-14 09:00"]),
            ("5/25 0 1 jan-MAR/2 *", ["01-01 00:05", "01-01 00:30", "01-01 00:55", "03-01 00:05"]),
            ("0 0 * * 5-7", ["01-02 00:00", "01-03 00:00", "01-04 00:00", "01-09 00:00"]),
            ("0 0 31 * *", ["01-31 00:00", "03-31 00:00", "05-31 00:00", "07-31 00:00"]),
            ("@hourly", ["01-01 01:00", "01-01 02:00", "01-01 03:00", "01-01 04:00"]),
            ("@daily", ["01-02 00:00", "01-03 00:00", "01-04 00:00", "01-05 00:00"]),
            (" @Weekly ", ["01-04 00:00", "01-11 00:00", "01-18 00:00", "01-25 00:00"]),
            ("@monthly", ["02-01 00:00", "03-01 00:00", "04-01 00:00", "05-01 00:00"]),
            ("@yearly", ["01-01 00:00", "01-01 00:00", "01-01 00:00", "01-01 00:00"]),
        ] {
            let expected = expected.map(|time| format!("{time}:00+0000"));
            assert_eq!(times(cron, "UTC", "2026-01-01T00:00:00Z", 4), expected, "{cron}");
        }
    }

    #[test]
    fn seconds_may_come_first() {
        let from = "2026-01-01T00:00:30.5Z";
        assert_eq!(
            times("*/20 * * * * *", "UTC", from, 3),
            ["01-01 00:00:40+0000", "01-01 00:01:00+0000", "01-01 00:01:20+0000"]
        );
        assert_eq!(
            times("15,30 0 12 * * *", "UTC", from, 3),
            ["01-01 12:00:15+0000", "01-01 12:00:30+0000", "01-02 12:00:15+0000"]
        );
        assert_eq!(times("* * * * * *", "UTC", from, 2), ["01-01 00:00:31+0000", "01-01 00:00:32+0000"]);
    }

    /// The 13th and each Friday; but if one of them begins with `*`, days that are both.
    #[test]
    fn days_of_the_month_or_of_the_week() {
        let days = |cron, expected: [&str; 4]| {
            let expected = expected.map(|day| format!("{day} 00:00:00+0000"));
            assert_eq!(times(cron, "UTC", "2026-01-01T00:00:00Z", 4), expected, "{cron}");
        };
        days("0 0 13 * FRI", ["01-02", "01-09", "01-13", "01-16"]);
        days("0 0 * * FRI", ["01-02", "01-09", "01-16", "01-23"]);
        days("0 0 13 * *", ["01-13", "02-13", "03-13", "04-13"]);
        days("0 0 */12 * FRI", ["02-13", "03-13", "05-01", "09-25"]);
        days("0 0 1-31 * FRI", ["01-02", "01-03", "01-04", "01-05"]);
    }

    /// In 2026 the clocks of Zurich go from 2:00 to 3:00 on March 29.
    #[test]
    fn what_an_hour_holds_that_is_left_out_comes_at_its_end() {
        let zurich = |cron, count| times(cron, "Europe/Zurich", "2026-03-28T12:00:00Z", count);
        assert_eq!(zurich("30 2 * * *", 2), ["03-29 03:00:00+0200", "03-30 02:30:00+0200"]);
        assert_eq!(zurich("10,30,50 2 * * *", 2), ["03-29 03:00:00+0200", "03-30 02:10:00+0200"]);
        assert_eq!(
            zurich("30 1,2,3 * * *", 4),
            ["03-29 01:30:00+0100", "03-29 03:00:00+0200", "03-29 03:30:00+0200", "03-30 01:30:00+0200"]
        );
        assert_eq!(zurich("0 2,3 * * *", 2), ["03-29 03:00:00+0200", "03-30 02:00:00+0200"]);
        assert_eq!(zurich("0 12 * * *", 1), ["03-29 12:00:00+0200"]);
        // What goes by the time that passes goes on.
        let late = |cron| times(cron, "Europe/Zurich", "2026-03-29T00:45:00Z", 2);
        assert_eq!(late("*/30 * * * *"), ["03-29 03:00:00+0200", "03-29 03:30:00+0200"]);
        assert_eq!(late("*/30 2 * * *"), ["03-30 02:00:00+0200", "03-30 02:30:00+0200"]);
    }

    /// From 3:00 to 2:00 on October 25.
    #[test]
    fn what_an_hour_holds_that_comes_twice_comes_once() {
        let zurich = |cron, from, count| times(cron, "Europe/Zurich", from, count);
        let before = "2026-10-24T12:00:00Z";
        assert_eq!(zurich("30 2 * * *", before, 2), ["10-25 02:30:00+0200", "10-26 02:30:00+0100"]);
        assert_eq!(
            zurich("0 2,3 * * *", before, 3),
            ["10-25 02:00:00+0200", "10-25 03:00:00+0100", "10-26 02:00:00+0100"]
        );
        assert_eq!(zurich("30 2 * * *", "2026-10-25T01:10:00Z", 1), ["10-26 02:30:00+0100"]);
        assert_eq!(
            zurich("*/30 2 * * *", before, 5),
            [
                "10-25 02:00:00+0200",
                "10-25 02:30:00+0200",
                "10-25 02:00:00+0100",
                "10-25 02:30:00+0100",
                "10-26 02:00:00+0100"
            ]
        );
        assert_eq!(
            zurich("0 * * * *", "2026-10-24T23:30:00Z", 3),
            ["10-25 02:00:00+0200", "10-25 02:00:00+0100", "10-25 03:00:00+0100"]
        );
    }

    /// Half an hour; midnight; and a day that was left out.
    #[test]
    fn stranger_changes_of_the_clock() {
        let lord_howe = |cron, from| times(cron, "Australia/Lord_Howe", from, 2);
        assert_eq!(
            lord_howe("15 2 * * *", "2026-10-03T00:00:00Z"),
            ["10-04 02:30:00+1100", "10-05 02:15:00+1100"]
        );
        assert_eq!(
            lord_howe("45 1 * * *", "2026-04-04T00:00:00Z"),
            ["04-05 01:45:00+1100", "04-06 01:45:00+1030"]
        );
        assert_eq!(
            times("0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", 2),
            ["09-06 01:00:00-0300", "09-07 00:00:00-0300"]
        );
        assert_eq!(
            times("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", 3),
            ["12-29 12:00:00-1000", "12-31 00:00:00+1400", "12-31 12:00:00+1400"]
        );
    }

    #[test]
    fn leap_days_come_and_others_never() {
        assert_eq!(times("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", 1), ["02-29 00:00:00+0000"]);
        assert_eq!(Cron::parse("0 0 30 2 *", "UTC").unwrap().next(millis("2026-01-01T00:00:00Z")), None);
        assert_eq!(Cron::parse("* * * * *", "UTC").unwrap().next(u64::MAX), None);
    }

    #[test]
    fn zones_are_known_where_the_system_has_none() {
        let bundled = jiff::tz::TimeZoneDatabase::bundled();
        for zone in ["Europe/Zurich", "America/New_York", "Asia/Kolkata"] {
            assert!(bundled.get(zone).is_ok(), "{zone}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (cron, zone, word) in [
            ("", "UTC", "0 fields"),
            ("* * * *", "UTC", "4 fields"),
            ("1 2 3 4 5 6 7", "UTC", "7 fields"),
            ("60 * * * *", "UTC", "the minute '60'"),
            ("60 * * * * *", "UTC", "the second '60'"),
            ("0 24 * * *", "UTC", "the hour '24'"),
            ("0 0 0 * *", "UTC", "the day of the month '0'"),
            ("0 0 L * *", "UTC", "the day of the month 'L'"),
            ("0 0 15W * *", "UTC", "the day of the month '15W'"),
            ("0 0 * 13 *", "UTC", "the month '13'"),
            ("0 0 * FOO *", "UTC", "the month 'FOO'"),
            ("0 0 * * 8", "UTC", "the day of the week '8'"),
            ("0 0 * * 5#3", "UTC", "the day of the week '5#3'"),
            ("0 0 * * FRI-MON", "UTC", "the day of the week 'FRI-MON'"),
            ("H * * * *", "UTC", "the minute 'H'"),
            ("*/0 * * * *", "UTC", "the minute '*/0'"),
            ("? * * * *", "UTC", "the minute '?'"),
            ("1,,2 * * * *", "UTC", "the minute '1,,2'"),
            ("-5 * * * *", "UTC", "the minute '-5'"),
            ("é * * * *", "UTC", "the minute 'é'"),
            ("@reboot", "UTC", "@reboot"),
            ("* * * * *", "Europe/Zurch", "'Europe/Zurch'"),
            ("* * * * *", "", "''"),
        ] {
            let error = Cron::parse(cron, zone).unwrap_err();
            assert!(error.to_string().contains(word) && error.hint().is_some(), "{cron}: {error}");
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
        assert_eq!(zone_name("europe/zurich").unwrap(), "Europe/Zurich");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(cron in ".{0,30}|([0-9*,/A-Z-]{1,5} ){4,5}[0-9*,/A-Z-]{1,5}", zone in ".{0,20}", after in any::<u64>()) {
            if let Ok(cron) = Cron::parse(&cron, "Europe/Zurich") {
                prop_assert!(cron.next(after).is_none_or(|next| next > after));
            }
            let _ = Cron::parse("* * * * *", &zone);
        }

        /// Minute by minute around the changes of the clock: each time that the clock shows what is asked for, and no other.
        #[test]
        fn what_is_frequent_comes_whenever_the_clock_shows_it(
            minute in 1i64..30, hour in 0i64..6, zone in 0usize..3, autumn in any::<bool>(), of_minute in any::<bool>(),
        ) {
            let zone = ["Europe/Zurich", "America/New_York", "Africa/Cairo"][zone];
            let text = if of_minute { format!("*/{minute} {hour} * * *") } else { format!("{minute} */{} * * *", hour + 1) };
            let cron = Cron::parse(&text, zone).unwrap();
            let (from, to) = match (autumn, zone) {
                (false, "Europe/Zurich") => ("2026-03-28T22:00:00Z", "2026-03-29T06:00:00Z"),
                (true, "Europe/Zurich") => ("2026-10-24T22:00:00Z", "2026-10-25T06:00:00Z"),
                (false, "America/New_York") => ("2026-03-08T04:00:00Z", "2026-03-08T12:00:00Z"),
                (true, "America/New_York") => ("2026-11-01T03:00:00Z", "2026-11-01T12:00:00Z"),
                (false, _) => ("2026-04-23T18:00:00Z", "2026-04-24T04:00:00Z"),
                (true, _) => ("2026-10-29T18:00:00Z", "2026-10-30T04:00:00Z"),
            };
            let (from, to) = (millis(from) as i64 / 1000, millis(to) as i64 / 1000);
            let shows = |at: &i64| {
                let shown = at + cron.offset(*at).unwrap();
                cron.minutes.matches(super::at(shown).unwrap()).unwrap()
            };
            let expected: Vec<i64> = (from + 60..to).step_by(60).filter(shows).collect();
            let mut found = Vec::new();
            let mut last = from;
            while let Some(next) = cron.next_second(last).filter(|next| *next < to) {
                found.push(next);
                last = next;
            }
            prop_assert_eq!(found, expected, "{} in {}", text, zone);
        }
    }
}
