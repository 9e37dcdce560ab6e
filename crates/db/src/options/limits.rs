//! Sizes, times and limits as options write them.

use std::str::FromStr;

/// A number of bytes, such as `20M`; from 1k to 1024G.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let shift = match unit {
            "" => 0,
            "k" | "K" => 10,
            "m" | "M" => 20,
            "g" | "G" => 30,
            _ => return Err(format!("'{unit}' is none of the units k, M and G")),
        };
        let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        match bytes {
            Some(bytes) if (1 << 10..=1 << 40).contains(&bytes) => Ok(Self(bytes)),
            _ => Err("expected a size from 1k to 1024G, such as 128M".into()),
        }
    }
}

/// A status variable and a limit for it, such as `Threads_running=50`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The variable, as SHOW GLOBAL STATUS calls it.
    pub name: String,
    /// The most it may be.
    pub most: u64,
}

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a status variable and its limit, such as Threads_running=50".to_owned();
        let (name, most) = text.split_once('=').ok_or_else(expected)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, most) = (name.trim(), most.trim().parse().map_err(|_| expected())?);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(expected());
        }
        Ok(Self { name: name.into(), most })
    }
}

/// Seconds, written `10` or `10s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub u64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_suffix('s').unwrap_or(text);
        digits.parse().map(Self).map_err(|_| "expected seconds, such as 10s".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!("128M".parse(), Ok(Size(128 << 20)));
        assert_eq!("2048".parse(), Ok(Size(2048)));
        for wrong in ["", "M", "1023", "5T", "99999999999G", "-1M"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_are_read_as_other_tools_write_them() {
        assert_eq!("Threads_running=50".parse(), Ok(Load { name: "Threads_running".into(), most: 50 }));
        for wrong in ["", "Threads_running", "=5", "a=b", "a b=5", "a'=5", "a=-1"] {
            assert!(wrong.parse::<Load>().is_err(), "{wrong}");
        }
        assert_eq!(["10s".parse(), "10".parse()], [Ok(Seconds(10)), Ok(Seconds(10))]);
        assert!("1m".parse::<Seconds>().is_err());
    }
}
