//! Limits of status variables as options write them.

use std::str::FromStr;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_other_tools_write_them() {
        assert_eq!("Threads_running=50".parse(), Ok(Load { name: "Threads_running".into(), most: 50 }));
        for wrong in ["", "Threads_running", "=5", "a=b", "a b=5", "a'=5", "a=-1"] {
            assert!(wrong.parse::<Load>().is_err(), "{wrong}");
        }
    }
}
