//! What an object store answered when it did not do what it was asked for, in a line that a person can read.

use std::error::Error as StdError;
use std::io;

/// Why a request to an object store failed, also after it was tried again.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    what: String,
    hint: Option<&'static str>,
}

const KEYS: &str = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN) say who asks: they must be right, and may \
                    list, read, write and delete below the prefix";
const BUCKET: &str = "the bucket must be there: make it first, or look at its name and at --s3-endpoint";
const REGION: &str = "AWS_REGION must be the bucket's region";
const ADDRESS: &str = "--s3-endpoint, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL say where the object store is, if it is not Amazon's";

const REDIRECT: &str = "no other host gets what is meant for this one: name that one by --s3-endpoint, or set AWS_REGION to the \
                        bucket's region";

const CERTIFICATE: &str = "the authority that signed it must be one that this system trusts, or stand in a file that SSL_CERT_FILE \
                           names";

/// Most characters of a message from outside that are shown.
const SHOWN: usize = 300;

impl Failure {
    /// The failure within an error, if that came from an object store.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }

    /// What is said of a request that is no longer waited for.
    pub(crate) fn halted() -> io::Error {
        io::Error::other(Self { what: "given up, since other work has failed".into(), hint: None })
    }

    /// What is said where another run has taken the prefix.
    pub(crate) fn taken() -> io::Error {
        io::Error::other(Self {
            what: "another run has taken this prefix, and this one writes nothing more there".into(),
            hint: Some("let one run at a time write below a prefix; the other one goes on"),
        })
    }

    /// Whether an answer broke off after it had begun.
    pub(crate) fn is_amid_answer(error: &object_store::Error) -> bool {
        let text = all(error);
        let is_answer = text.contains("Server returned") || text.contains("error sending request");
        matches!(error, object_store::Error::Generic { .. }) && !is_answer
    }

    /// The error of a request as one of reading or writing.
    pub(crate) fn io(error: object_store::Error) -> io::Error {
        use object_store::Error as E;
        let text = all(&error);
        let code = between(&text, "<Code>", "</Code>").unwrap_or_default();
        let kind = match &error {
            E::NotFound { .. } if code != "NoSuchBucket" => io::ErrorKind::NotFound,
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
            _ => io::ErrorKind::Other,
        };
        let what = match (code, between(&text, "<Message>", "</Message>")) {
            ("", _) => innermost(&error),
            (code, None | Some("")) => code.to_owned(),
            (code, Some(message)) => format!("{code}: {message}"),
        };
        io::Error::new(kind, Self { what: one_line(&what), hint: hint(code, kind, &text) })
    }
}

fn hint(code: &str, kind: io::ErrorKind, text: &str) -> Option<&'static str> {
    match code {
        "NoSuchBucket" => Some(BUCKET),
        "AccessDenied" | "ExpiredToken" | "InvalidAccessKeyId" | "InvalidToken" | "SignatureDoesNotMatch" => {
            Some(KEYS)
        }
        "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => {
            Some(REGION)
        }
        _ if text.contains("non-2xx status code: 30") => Some(REDIRECT),
        _ if kind == io::ErrorKind::PermissionDenied => Some(KEYS),
        _ if text.contains("peer certificate") => Some(CERTIFICATE),
        _ if text.contains("incorrectly configured region") => Some(REGION),
        _ if text.contains("HTTP error") || text.contains("error sending request") => Some(ADDRESS),
        _ => None,
    }
}

fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// All that an error and its causes say.
fn all(error: &(dyn StdError + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The last cause: what the system or the protocol said, without the request around it.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    text.trim().trim_end_matches(':').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(body: &str) -> io::Error {
        Failure::io(object_store::Error::Generic { store: "S3", source: body.to_owned().into() })
    }

    #[test]
    fn an_answer_becomes_its_code_and_its_message() {
        let error = failed(
            "a\n<Error><Code>NoSuchBucket</Code><Message>It is\nnot there</Message><Key>k</Key></Error>",
        );
        assert_eq!(error.to_string(), "NoSuchBucket: It is not there");
        assert_eq!(Failure::of(&error).unwrap().hint, Some(BUCKET));
        assert_eq!(failed("<Code>SlowDown</Code>").to_string(), "SlowDown");
    }

    #[test]
    fn without_an_answer_the_last_cause_is_said() {
        assert_eq!(failed("connection refused").to_string(), "connection refused");
        assert_eq!(failed(&"x".repeat(5000)).to_string().len(), SHOWN);
    }

    #[test]
    fn a_missing_object_is_not_a_missing_bucket() {
        let missing =
            |body: &str| object_store::Error::NotFound { path: "k".into(), source: body.to_owned().into() };
        assert_eq!(Failure::io(missing("404")).kind(), io::ErrorKind::NotFound);
        assert_eq!(Failure::io(missing("<Code>NoSuchBucket</Code>")).kind(), io::ErrorKind::Other);
    }
}
