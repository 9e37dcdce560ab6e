//! The lines that workers and the shepherd exchange.

use std::borrow::Cow;
use std::io::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::desk::Answer;
use crate::record::wrong_in_line;
use crate::task::{ObjectId, Outcome, Task};

/// Writes a task as a line of JSON.
pub(crate) fn push(task: &Task, out: &mut Vec<u8>) {
    let _ =
        write!(out, "{{\"id\":{},\"lease\":{},\"kind\":{},\"object_id\":", task.id, task.lease, task.kind);
    match &task.object_id {
        ObjectId::Number(number) => drop(write!(out, "{number}")),
        ObjectId::Text(text) => push_text(text, out),
    }
    let _ = write!(out, ",\"attempt\":{},\"payload\":", task.attempt);
    match &task.payload {
        None => out.extend_from_slice(b"null"),
        Some(payload) => push_payload(payload, out),
    }
    if !task.tenant.is_empty() {
        out.extend_from_slice(b",\"tenant\":");
        push_text(&task.tenant, out);
    }
    out.extend_from_slice(b"}\n");
}

/// A payload that is JSON goes as it is, but for line ends between its parts; any other one as a text.
fn push_payload(payload: &str, out: &mut Vec<u8>) {
    match serde_json::from_str::<&RawValue>(payload) {
        // Within texts JSON has no line ends, so these stand between its parts.
        Ok(raw) => {
            out.extend(raw.get().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }))
        }
        Err(_) => push_text(payload, out),
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, text); // a Vec takes all, and a text is always JSON
}

/// What a worker says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// What came of a task.
    Answer(Answer),
    /// It is still at it.
    Beat(u64),
}

#[derive(Deserialize)]
struct Line<'a> {
    lease: u64,
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
    #[serde(default)]
    retry_after: Option<f64>,
    #[serde(default)]
    heartbeat: bool,
}

/// Reads a line of a worker's.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(line: &[u8]) -> Result<Said, String> {
    let Line { lease, error, retry_after, heartbeat } =
        serde_json::from_slice(line).map_err(|error| wrong_in_line(&error))?;
    let outcome = match (retry_after, error) {
        _ if heartbeat => return Ok(Said::Beat(lease)),
        (Some(seconds), _) => Outcome::Postponed((seconds.clamp(0.0, 86_400.0 * 365.0) * 1000.0) as u64),
        (None, Some(error)) => Outcome::Failed(error.into_owned()),
        (None, None) => Outcome::Done,
    };
    Ok(Said::Answer(Answer { lease, outcome }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(object_id: &str, payload: Option<&str>) -> Task {
        Task {
            id: 7,
            lease: 9,
            kind: 16,
            object_id: ObjectId::parse(object_id),
            payload: payload.map(Into::into),
            attempt: 1,
            tenant: "".into(),
        }
    }

    fn line(task: &Task) -> String {
        let mut out = Vec::new();
        push(task, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines() {
        assert_eq!(
            line(&task("42", None)),
            "{\"id\":7,\"lease\":9,\"kind\":16,\"object_id\":42,\"attempt\":1,\"payload\":null}\n"
        );
        assert!(
            line(&task("a\"b", Some("{\"x\":\n1}")))
                .contains("\"object_id\":\"a\\\"b\",\"attempt\":1,\"payload\":{\"x\": 1}}")
        );
        assert!(line(&task("1", Some("no json"))).contains("\"payload\":\"no json\"}"));
    }

    #[test]
    fn answers() {
        let said = |text: &str| parse(text.as_bytes()).unwrap();
        let answer = |outcome| Said::Answer(Answer { lease: 9, outcome });
        assert_eq!(said("{\"id\":7,\"lease\":9}"), answer(Outcome::Done));
        assert_eq!(said("{\"lease\":9,\"error\":null}"), answer(Outcome::Done));
        assert_eq!(said("{\"lease\":9,\"error\":\"a\\nb\"}"), answer(Outcome::Failed("a\nb".into())));
        assert_eq!(said("{\"lease\":9,\"retry_after\":1.5}"), answer(Outcome::Postponed(1500)));
        assert_eq!(said("{\"lease\":9,\"heartbeat\":true}"), Said::Beat(9));
        assert!(parse(b"lease").is_err());
    }

    proptest! {
        #[test]
        fn an_echo_is_done(object in ".{0,12}", payload in prop::option::of(".{0,30}")) {
            let line = line(&task(&object, payload.as_deref()));
            prop_assert_eq!(line.matches('\n').count(), 1);
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            if let serde_json::Value::String(text) = &value["object_id"] {
                prop_assert_eq!(text, &object);
            }
            prop_assert_eq!(parse(line.as_bytes()).unwrap(), Said::Answer(Answer { lease: 9, outcome: Outcome::Done }));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse(&bytes);
        }
    }
}
