//! Points in time, as people write and read them: in the zone of this machine.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Timestamp);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Moment {
    /// Whether a time in microseconds since 1970 is before it.
    pub(crate) fn is_after(self, microseconds: u64) -> bool {
        i128::from(microseconds) < i128::from(self.0.as_microsecond())
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return Ok(Self(timestamp));
        }
        let civil = text.parse::<DateTime>();
        let zoned = civil.and_then(|civil| civil.to_zoned(TimeZone::system()));
        zoned.map(|zoned| Self(zoned.timestamp())).map_err(|_| {
            "expected a time such as '2026-11-22 03:15:00' here, or 2026-11-22T02:15:00Z anywhere".to_owned()
        })
    }
}

/// A time in seconds since 1970, as `2026-11-22 03:15:00` in the zone of this machine; nothing where there is none.
pub(crate) fn shown(seconds: u32, zone: &TimeZone) -> String {
    match Timestamp::from_second(i64::from(seconds)) {
        Ok(timestamp) if seconds != 0 => {
            timestamp.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let moment: Moment = "2026-11-22T02:15:00Z".parse().unwrap();
        assert_eq!(moment, "2026-11-22 03:15:00+01".parse().unwrap());
        let microseconds = 1_795_313_700_000_000;
        assert!(moment.is_after(microseconds - 1) && !moment.is_after(microseconds));
        assert_eq!(shown(1_795_313_700, &TimeZone::UTC), "2026-11-22 02:15:00");
        assert_eq!(shown(0, &TimeZone::UTC), "");
        let here = TimeZone::system();
        assert_eq!(shown(1_795_313_700, &here).parse::<Moment>().unwrap(), moment);
        for text in ["", "yesterday", "2026-13-01 00:00:00", "2026-11-22 25:00:00"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
