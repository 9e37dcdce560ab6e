//! Tasks as people write them: a line with an object id, or with a JSON object.

use std::borrow::Cow;
use std::io::{self, BufRead, Read as _};

use serde::Deserialize;
use serde_json::value::RawValue;

/// The longest object id, in characters, and the longest tenant.
const LONGEST_ID: usize = 190;
const LONGEST_TENANT: usize = 64;

/// A line that is longer is none: the largest payload, and what may stand around it.
const LONGEST_LINE: usize = (16 << 20) + (64 << 10);

/// The lines of a text, with their ends. One that is too long to be a task is an error, and is not read to its end.
pub fn lines(mut reader: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(LONGEST_LINE) if !line.ends_with(b"\n") => Some(Err(wrong("it has more than 16 MiB"))),
            Ok(_) => Some(String::from_utf8(line).map_err(|_| wrong("it is not UTF-8"))),
            Err(error) => Some(Err(error)),
        }
    })
}

/// A task that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// What it is about.
    pub object_id: String,
    /// What kind it is, if that is not what all are.
    pub kind: Option<u16>,
    /// JSON.
    pub payload: Option<String>,
    /// The higher, the sooner.
    pub priority: Option<i8>,
    /// Whose it is.
    pub tenant: Option<String>,
    /// From when on it may be begun, in milliseconds since 1970.
    pub not_before_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    object_id: &'a RawValue,
    kind: Option<u16>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    priority: Option<i8>,
    #[serde(borrow)]
    tenant: Option<Cow<'a, str>>,
    #[serde(borrow)]
    not_before: Option<Cow<'a, str>>,
}

/// What is wrong with the JSON of one line: which of many it is, is said by who reads them.
pub(crate) fn wrong_in_line(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    error.to_string().replace(&format!(" at line {line} column {column}"), &format!(" at column {column}"))
}

impl Record {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Self, String> {
        let record = match line.starts_with('{') {
            true => Self::of_json(line)?,
            false => Self { object_id: line.to_owned(), ..Self::default() },
        };
        record.check()?;
        Ok(record)
    }

    fn of_json(line: &str) -> Result<Self, String> {
        let line: Line<'_> = serde_json::from_str(line).map_err(|error| wrong_in_line(&error))?;
        let object_id = line.object_id.get();
        let object_id = match object_id.as_bytes().first() {
            Some(b'"') => serde_json::from_str(object_id).map_err(|error| wrong_in_line(&error))?,
            Some(b'-' | b'0'..=b'9') if !object_id.contains(['.', 'e', 'E']) => object_id.to_owned(),
            _ => return Err("object_id has to be a whole number or a text".into()),
        };
        let payload = line.payload.map(|raw| raw.get().to_owned()).filter(|text| text != "null");
        let not_before_ms = line.not_before.as_deref().map(parse_time).transpose()?;
        Ok(Self {
            object_id,
            kind: line.kind,
            payload,
            priority: line.priority,
            tenant: line.tenant.map(Cow::into_owned),
            not_before_ms,
        })
    }

    /// Whether the tables can hold it.
    ///
    /// # Errors
    /// If not, why.
    pub fn check(&self) -> Result<(), String> {
        if self.object_id.is_empty() {
            return Err("the object id is empty".into());
        }
        let too_long = |text: &str, most: usize| text.len() > most && text.chars().count() > most;
        if too_long(&self.object_id, LONGEST_ID) {
            return Err(format!("the object id has more than {LONGEST_ID} characters"));
        }
        if self.tenant.as_deref().is_some_and(|tenant| too_long(tenant, LONGEST_TENANT)) {
            return Err(format!("the tenant has more than {LONGEST_TENANT} characters"));
        }
        if self.payload.as_ref().is_some_and(|payload| payload.len() > 16_777_215) {
            return Err("the payload has more than 16 MiB".into());
        }
        Ok(())
    }
}

/// A time of day somewhere, such as `2026-03-01T04:05:06Z` or with another offset.
///
/// # Errors
/// If it is none.
pub(crate) fn parse_time(text: &str) -> Result<u64, String> {
    let time: jiff::Timestamp =
        text.parse().map_err(|_| format!("'{text}' is no time such as 2026-03-01T04:05:06Z"))?;
    u64::try_from(time.as_millisecond()).map_err(|_| format!("'{text}' is before 1970"))
}

/// From when on a task may be begun, in milliseconds since 1970: a time, or how long from now.
///
/// # Errors
/// If the text is neither.
pub fn not_before(text: &str) -> Result<u64, String> {
    match drover_units::read::duration(text) {
        Ok(wait) => {
            let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
            Ok(now + wait.as_millis() as u64)
        }
        Err(_) => parse_time(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines() {
        assert_eq!(Record::parse("42").unwrap(), Record { object_id: "42".into(), ..Record::default() });
        let full = r#"{"object_id":"user:7","kind":3,"payload":{"a":[1]},"priority":-5,"tenant":"t","not_before":"1970-01-01T00:00:01Z"}"#;
        let expected = Record {
            object_id: "user:7".into(),
            kind: Some(3),
            payload: Some("{\"a\":[1]}".into()),
            priority: Some(-5),
            tenant: Some("t".into()),
            not_before_ms: Some(1000),
        };
        assert_eq!(Record::parse(full).unwrap(), expected);
        assert_eq!(
            Record::parse(r#"{"object_id":18446744073709551616}"#).unwrap().object_id,
            "18446744073709551616"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, word) in [
            ("", "empty"),
            ("{}", "object_id"),
            (r#"{"object_id":1.5}"#, "whole number"),
            (r#"{"object_id":true}"#, "whole number"),
            (r#"{"object_id":1,"prio":3}"#, "prio"),
            ("{x:1}", "key must be a string at column 2"),
            (r#"{"object_id":1,"priority":300}"#, "300"),
            (r#"{"object_id":1,"not_before":"soon"}"#, "soon"),
        ] {
            let error = Record::parse(line).unwrap_err();
            assert!(error.contains(word) && !error.contains("line"), "{line}: {error}");
        }
        assert!(Record::parse(&"x".repeat(191)).is_err() && Record::parse(&"é".repeat(190)).is_ok());
    }

    #[test]
    fn an_endless_line_is_not_read_to_its_end() {
        let mut read = super::lines(io::BufReader::new(io::repeat(b'x')));
        assert!(read.next().unwrap().unwrap_err().to_string().contains("16 MiB"));
        let text: Vec<_> = super::lines(&b"a\n\xff\nb"[..]).map(Result::ok).collect();
        assert_eq!(text, [Some("a\n".to_owned()), None, Some("b".to_owned())]);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in ".{0,60}|\\{\"object_id\":.{0,40}") {
            let _ = Record::parse(&line);
        }
    }
}
