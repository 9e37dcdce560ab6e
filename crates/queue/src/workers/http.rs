//! A web service that does the work: each task is the body of a request, and the answer's status says what came of it.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::counter::Counter;
use super::line;
use super::throttle::{Permit, Throttle};
use crate::desk::Answer;
use crate::task::{Outcome, Task};
use crate::{Error, Result};

/// How often is looked whether a task was given up.
const TICK: Duration = Duration::from_millis(50);
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(30);
/// So much of what a service says is kept with a task that failed, in bytes.
const WORDS: usize = 1000;
/// So much of an answer is read so that its connection can be used again, in bytes.
const REST: usize = 64 << 10;
/// A task is put off for no longer.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// A web service.
pub struct WebService {
    runtime: Runtime,
    client: Client,
    url: Url,
    login: Option<(String, Option<String>)>,
}

impl WebService {
    /// Reads the URL, which may hold a user and a password, and makes ready to connect.
    ///
    /// # Errors
    /// If it is none of a web service, or there is no list of authorities to trust.
    pub fn new(url: &str) -> Result<Self> {
        let wrong = |what: String| {
            let hint = "write it as http://HOST:PORT/PATH or https://HOST/PATH";
            Error::with_hint(format!("--http: {what}"), hint)
        };
        // The text itself is not told: it may hold a password.
        let mut url = Url::parse(url).map_err(|error| wrong(format!("the URL cannot be read: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(format!("a URL of {}: is none of a web service", url.scheme())));
        }
        let login = take_login(&mut url).map_err(wrong)?;
        // TLS is made by the same library as on the connections to servers; it is no error that it was chosen before.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT);
        if url.scheme() == "http" {
            client = client.tls_certs_only([]); // so that none are looked for
        }
        let client = client
            .build()
            .map_err(|error| Error::found(format!("--http: {}: {}", shown(&url), words_of(error))))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::found(format!("--http: no thread for it: {error}")))?;
        Ok(Self { runtime, client, url, login })
    }

    /// Works until there is nothing more.
    pub(super) fn work(&self, counter: &Counter<'_>, throttle: &Throttle) -> Result<()> {
        const WAIT: Duration = Duration::from_millis(100);
        loop {
            let Some(permit) = throttle.enter(WAIT) else {
                if counter.desk.take(0, Duration::ZERO).is_none() {
                    return Ok(());
                }
                continue;
            };
            let Some(tasks) = counter.desk.take(1, WAIT) else { return Ok(()) };
            for queued in tasks {
                if let Some(outcome) = self.runtime.block_on(self.run(counter, &queued.task, &permit)) {
                    counter.answer([Answer { lease: queued.task.lease, outcome }]);
                }
            }
        }
    }

    /// Makes the request; `None` if the task is given up meanwhile.
    async fn run(&self, counter: &Counter<'_>, task: &Task, permit: &Permit<'_>) -> Option<Outcome> {
        let mut request = pin!(self.request(task, permit));
        loop {
            match timeout(TICK, request.as_mut()).await {
                Ok(outcome) => return Some(outcome),
                Err(_) if counter.desk.gone([task.lease].into_iter()).is_empty() => {}
                Err(_) => return None,
            }
        }
    }

    async fn request(&self, task: &Task, permit: &Permit<'_>) -> Outcome {
        let mut body = Vec::new();
        line::push(task, &mut body);
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Drover-Id", task.id)
            .header("Drover-Kind", task.kind)
            .header("Drover-Attempt", task.attempt)
            .header("Drover-Lease", task.lease)
            .body(body);
        if let Some((user, password)) = &self.login {
            request = request.basic_auth(user, password.as_ref());
        }
        match request.send().await {
            Ok(response) => outcome(response, permit).await,
            Err(error) => {
                if error.is_connect() {
                    permit.refused(None); // nobody is there: it is of no use to hurry
                }
                Outcome::Failed(format!("{}: {}", shown(&self.url), words_of(error)))
            }
        }
    }
}

/// What a service's answer says of a task.
async fn outcome(response: Response, permit: &Permit<'_>) -> Outcome {
    let status = response.status();
    let asked = retry_after(response.headers());
    let words = beginning(response).await;
    if status.is_success() {
        permit.succeeded();
        return Outcome::Done;
    }
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        let wait = permit.refused(asked).min(LONGEST);
        return Outcome::Postponed(wait.as_millis() as u64);
    }
    let redirected = if status.is_redirection() { ": redirects are not followed" } else { "" };
    let words = if words.is_empty() { words } else { format!(": {words}") };
    Outcome::Failed(format!("HTTP {status}{redirected}{words}"))
}

/// How long to wait, as a number of seconds or a time.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    asked(headers.get(RETRY_AFTER)?.to_str().ok()?.trim())
}

/// The same of the header's text.
pub(crate) fn asked(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = SystemTime::from(jiff::fmt::rfc2822::parse(text).ok()?.timestamp());
    Some(then.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The beginning of the answer's text. The rest is read too, if it is short: then the connection can be used again.
async fn beginning(mut response: Response) -> String {
    let (mut words, mut read) = (Vec::new(), 0);
    while read < REST {
        let Ok(Some(chunk)) = response.chunk().await else { break };
        read += chunk.len();
        words.extend(chunk.iter().take(WORDS - words.len()));
    }
    String::from_utf8_lossy(&words).trim().to_owned()
}

/// Takes user and password off a URL.
fn take_login(url: &mut Url) -> std::result::Result<Option<(String, Option<String>)>, String> {
    let text = |encoded: &str| {
        decoded(encoded).ok_or_else(|| "the URL's user or password is no text in UTF-8".to_owned())
    };
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let login = (text(url.username())?, url.password().map(text).transpose()?);
    // Only URLs without a host refuse that, and those of web services have one.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    Ok(Some(login))
}

/// Undoes `%41` for `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |digit: Option<u8>| (digit? as char).to_digit(16);
        bytes.push(match byte {
            b'%' => (hex(rest.next())? * 16 + hex(rest.next())?) as u8,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A URL for an error: without what may be secret.
fn shown(url: &Url) -> String {
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// An error with its causes, but without the URL.
fn words_of(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.ends_with(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    use super::*;

    fn error_of(url: &str) -> String {
        WebService::new(url).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn urls() {
        let service = WebService::new("http://us%40er:p%3Ass@127.0.0.1:81/a/b?token=5").unwrap();
        assert_eq!(service.login, Some(("us@er".into(), Some("p:ss".into()))));
        assert_eq!(service.url.as_str(), "http://127.0.0.1:81/a/b?token=5");
        assert_eq!(shown(&service.url), "http://127.0.0.1:81/a/b");
        assert_eq!(WebService::new("http://localhost").unwrap().login, None);
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_without_it() {
        for (url, word) in [
            ("localhost:80/x", "none of a web service"),
            ("ftp://u:secret@host/", "ftp"),
            ("http://u:secret@host:port/", "port"),
            ("http://u:secret%ff@host/", "UTF-8"),
        ] {
            let error = error_of(url);
            assert!(error.contains(word) && !error.contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn times_to_wait() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            retry_after(&headers)
        };
        assert_eq!(wait("120"), Some(Duration::from_secs(120)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(100);
        let text = later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        assert!((98..=100).contains(&wait(&text).unwrap().as_secs()), "{text}");
        for text in ["", "soon", "-5", "1.5"] {
            assert_eq!(wait(text), None, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    proptest! {
        #[test]
        fn no_login_makes_it_panic(text in "[%a-f0-9é:@/]{0,20}") {
            let _ = decoded(&text);
            let _ = WebService::new(&format!("http://{text}@h/")).map(drop);
        }
    }
}
