//! What is changed between the sessions that are compared: one thing, of which there are several values.

use crate::{Error, Result};

/// One thing and its values, the first of which the others are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vary {
    /// Nothing: the same twice, which must show no effect.
    Again,
    /// Whether sessions are encrypted.
    Tls(Vec<bool>),
    /// The authentication plugin of the account.
    Auth(Vec<String>),
    /// A variable of the server.
    Variable {
        /// Its name, with `_` between its words.
        name: String,
        /// As `SET GLOBAL` or an option of the server takes them; sizes may end in K, M, G or T.
        values: Vec<String>,
    },
}

impl Vary {
    /// Reads `again`, `tls=off,on`, `auth=PLUGIN,PLUGIN` or `VARIABLE=VALUE,VALUE`. A value that holds commas stands in quotes.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        if text == "again" {
            return Ok(Self::Again);
        }
        let example = "write NAME=VALUE,VALUE, such as read_buffer_size=128K,5M or tls=off,on";
        let (name, values) = text.split_once('=').ok_or(example)?;
        let values = split(values)?;
        if values.len() < 2 {
            return Err(format!("'{text}' has one value, and two are needed for a comparison: {example}"));
        }
        match name {
            "tls" => Ok(Self::Tls(
                values.iter().map(|value| on_or_off(value)).collect::<std::result::Result<_, _>>()?,
            )),
            "auth" => Ok(Self::Auth(values)),
            name if is_name(name) => Ok(Self::Variable { name: name.replace('-', "_"), values }),
            name => Err(format!("'{name}' cannot name a variable: {example}")),
        }
    }

    /// What is varied, in a word.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Again => "again",
            Self::Tls(_) => "tls",
            Self::Auth(_) => "auth",
            Self::Variable { name, .. } => name,
        }
    }

    /// Whether it can be done on a server that others use.
    ///
    /// # Errors
    /// If it takes a private one.
    pub(super) fn check_shared(&self) -> Result<()> {
        match self {
            Self::Again | Self::Tls(_) => Ok(()),
            Self::Auth(_) | Self::Variable { .. } => Err(Error::with_hint(
                format!("--vary {}: nothing is changed on a server that others may use", self.name()),
                "leave out --host, --socket and so on: then a private server is started, with your binary and settings",
            )),
        }
    }
}

fn on_or_off(value: &str) -> std::result::Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "1" | "yes" => Ok(true),
        "off" | "0" | "no" => Ok(false),
        _ => Err(format!("'{value}' is neither on nor off")),
    }
}

/// Names of variables, also of components and of named key caches.
fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_part)
}

/// The values between commas. Quotes around one protect the commas in it, and are no part of it.
fn split(text: &str) -> std::result::Result<Vec<String>, String> {
    let mut values = Vec::new();
    let mut rest = text;
    loop {
        let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"'));
        let (value, behind) = match quote {
            Some(quote) => {
                let inner = &rest[1..];
                inner.split_once(quote).ok_or_else(|| format!("{rest}: a quote that is not closed"))?
            }
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        values.push(value.to_owned());
        rest = match behind.strip_prefix(',') {
            Some(rest) => rest,
            None if behind.is_empty() => return Ok(values),
            None => return Err(format!("'{behind}' stands behind a quoted value")),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variable(text: &str) -> (String, Vec<String>) {
        match Vary::parse(text) {
            Ok(Vary::Variable { name, values }) => (name, values),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn each_kind() {
        assert_eq!(Vary::parse("again"), Ok(Vary::Again));
        assert_eq!(Vary::parse("tls=off,ON"), Ok(Vary::Tls(vec![false, true])));
        assert_eq!(
            Vary::parse("auth=mysql_native_password,ed25519"),
            Ok(Vary::Auth(vec!["mysql_native_password".into(), "ed25519".into()]))
        );
        assert_eq!(
            variable("read-buffer-size=128K,5M"),
            ("read_buffer_size".into(), vec!["128K".into(), "5M".into()])
        );
    }

    #[test]
    fn values_may_be_empty_and_may_hold_commas() {
        assert_eq!(variable("init_connect=,DO SLEEP(0.01)").1, ["", "DO SLEEP(0.01)"]);
        assert_eq!(variable("sql_mode='A,B',\"\"").1, ["A,B", ""]);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        for (text, told) in [
            ("nothing", "write NAME=VALUE"),
            ("tls=on", "two are needed"),
            ("tls=on,maybe", "'maybe'"),
            ("a b=1,2", "'a b'"),
            ("=1,2", "cannot name"),
            ("x='a,b", "not closed"),
            ("x='a'b,c", "'b,c' stands behind"),
        ] {
            let error = Vary::parse(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_server_of_others_is_left_as_it_is() {
        assert!(Vary::Again.check_shared().is_ok());
        let error = Vary::parse("max_connections=1,2").unwrap().check_shared().unwrap_err();
        assert!(error.to_string().contains("max_connections"), "{error}");
    }

    proptest! {
        #[test]
        fn values_come_back(values in prop::collection::vec("[a-z0-9 ,.]*", 2..5)) {
            let quoted: Vec<String> = values.iter().map(|value| format!("'{value}'")).collect();
            prop_assert_eq!(variable(&format!("x={}", quoted.join(","))).1, values);
        }
    }
}
