//! Lengths of time as systemd and netplan write them.

/// Milliseconds of `100ms`, `0.1s`, `1s 500ms`, or a number that counts units of so many; systemd.time(7).
pub(super) fn milliseconds(text: &str, unit: f64) -> Option<u64> {
    let (mut total, mut rest) = (0.0, text.trim());
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let unit = match name {
            "" => unit,
            "us" | "usec" => 0.001,
            "ms" | "msec" => 1.0,
            "s" | "sec" | "second" | "seconds" => 1000.0,
            "m" | "min" | "minute" | "minutes" => 60_000.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * unit;
        rest = after.trim_start();
    }
    Some(total.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        let of = |text| milliseconds(text, 1000.0);
        assert_eq!(
            (of("100ms"), of("0.1"), of("1"), of("1s 500 ms")),
            (Some(100), Some(100), Some(1000), Some(1500))
        );
        assert_eq!((of(""), of("fast"), of("1 parsec"), of("1.2.3s")), (None, None, None, None));
        assert_eq!(milliseconds("250", 1.0), Some(250));
    }
}
