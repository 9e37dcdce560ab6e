//! HTTP to an object store, of which no other host hears: a request has the session's token in a header that the client would
//! send along to wherever it is redirected.

use std::time::Duration;

use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector};
use reqwest::redirect::{Attempt, Policy};

/// How long one request may take: a part in it is 27 kB/s, which many workers at a slow line may come down to.
pub(super) const REQUEST: Duration = Duration::from_secs(300);

/// How long it may take until there is a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How often one request is redirected at most.
const REDIRECTS: usize = 10;

/// Makes clients that follow redirects to the same scheme, host and port only.
#[derive(Debug)]
pub(super) struct SameHost;

impl HttpConnector for SameHost {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let builder = reqwest::ClientBuilder::new()
            .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
            .timeout(REQUEST)
            .connect_timeout(CONNECT)
            .redirect(Policy::custom(follow));
        let client = builder
            .build()
            .map_err(|source| object_store::Error::Generic { store: "S3", source: source.into() })?;
        Ok(HttpClient::new(client))
    }
}

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let origin =
        |url: &reqwest::Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port());
    let is_same = attempt.previous().first().is_some_and(|first| origin(first) == origin(attempt.url()));
    match is_same && attempt.previous().len() <= REDIRECTS {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}
