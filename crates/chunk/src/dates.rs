//! Dates that no calendar has, such as 2021-04-31, which ALLOW_INVALID_DATES lets in: other modes take no literal of them, but one of a
//! date beside them in the same order.

/// For a date that is no day of its month, one behind which no other of these days of that month comes; `None` for all others. Days
/// and months of zero are literals in modes without NO_ZERO_IN_DATE.
pub(crate) fn beside_invalid(value: &[u8], descending: bool) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let last = last_day(year, month)?;
    if day <= last {
        return None;
    }
    // December has all days, so that the next month is of the same year.
    Some(match (descending, text.contains(':')) {
        (false, _) => format!("{year:04}-{:02}-00", month + 1),
        (true, false) => format!("{year:04}-{month:02}-{last:02}"),
        (true, true) => format!("{year:04}-{month:02}-{last:02} 23:59:59"),
    })
}

/// As the servers count: the year 0 has no leap day.
fn last_day(year: u32, month: u32) -> Option<u32> {
    let is_leap =
        year > 0 && year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => Some(if is_leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_that_no_month_has() {
        let beside = |value: &str, descending| beside_invalid(value.as_bytes(), descending);
        for value in [
            "2021-04-30",
            "2024-02-29",
            "2000-02-29",
            "0000-00-00",
            "2021-00-31",
            "2021-04-00",
            "2021-12-31",
            "x",
            "",
        ] {
            assert_eq!(beside(value, false), None, "{value}");
        }
        assert_eq!(beside("2021-04-31", false).as_deref(), Some("2021-05-00"));
        assert_eq!(beside("1900-02-29 10:00:00.5", false).as_deref(), Some("1900-03-00"));
        assert_eq!(beside("2021-02-30", true).as_deref(), Some("2021-02-28"));
        assert_eq!(beside("0000-02-29 10:00:00", true).as_deref(), Some("0000-02-28 23:59:59"));
    }
}
