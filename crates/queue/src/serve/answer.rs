//! What is answered to whom.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State as Shared};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::future::join_all;
use futures_util::stream::{self, Stream};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::access;
use super::actions::{self, Filter, Pause, Previewed};
use super::history::History;
use super::metrics;
use super::watch::{LIMIT, State, Watched};

/// So many browsers may listen.
const MOST_LISTENERS: usize = 256;
/// The longest body of a request.
const LONGEST_BODY: usize = 16 * 1024;
/// So long shards are waited for that are only looked at.
const GLANCE: Duration = Duration::from_millis(150);
/// What the token is sent in. A stranger's page cannot send it, not even to a browser that is logged in: nothing is.
const TOKEN: &str = "x-drover-token";

/// What comes with every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The page and what it loads: path, media type, text.
const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/report.css", "text/css; charset=utf-8", drover_report::STYLE),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/words.js", "text/javascript; charset=utf-8", include_str!("page/words.js")),
    ("/charts.js", "text/javascript; charset=utf-8", include_str!("page/charts.js")),
    ("/dead.js", "text/javascript; charset=utf-8", include_str!("page/dead.js")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
];

type Answer = Result<Response, Refusal>;

/// All paths.
pub(crate) fn router(state: Arc<State>) -> Router {
    let mut router = Router::new();
    for &(path, kind, text) in FILES {
        router = router.route(path, get(move || async move { ([(header::CONTENT_TYPE, kind)], text) }));
    }
    router
        .route("/metrics", get(prometheus))
        .route("/api/stat", get(stat))
        .route("/api/events", get(events))
        .route("/api/history", get(history))
        .route("/api/dead", get(dead))
        .route("/api/dead/retry", post(retry))
        .route("/api/dead/drop", post(drop_dead))
        .route("/api/pause", post(pause))
        .route("/api/token", post(token))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(from_fn_with_state(Arc::clone(&state), guard))
        .with_state(state)
}

/// Refuses what was sent to another name, and adds what comes with every answer.
async fn guard(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let mut response = match state.checks_host && !host.is_some_and(access::is_own) {
        true => {
            Refusal(StatusCode::MISDIRECTED_REQUEST, "this server is called localhost".into()).into_response()
        }
        false => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn prometheus(Shared(state): Shared<Arc<State>>) -> Response {
    state.refresh().await;
    ([(header::CONTENT_TYPE, metrics::TYPE)], metrics::text(&state.snapshot())).into_response()
}

async fn stat(Shared(state): Shared<Arc<State>>) -> Answer {
    state.refresh().await;
    json(&state.snapshot().stat)
}

async fn history(Shared(state): Shared<Arc<State>>, uri: Uri) -> Answer {
    let kind = filter(&uri)?.kind;
    state.refresh().await;
    json(&History::of(&state, kind))
}

/// A snapshot at once, and then one a second.
async fn events(Shared(state): Shared<Arc<State>>) -> Answer {
    let Some(listener) = state.listen(MOST_LISTENERS) else {
        return Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, "too many browsers look already".into()));
    };
    let later = state.events();
    state.refresh().await;
    let first = serde_json::to_string(&state.snapshot()).map_err(Refusal::own)?;
    let stream = snapshots(first, later, listener);
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}

fn snapshots(
    first: String,
    later: tokio::sync::watch::Receiver<Arc<str>>,
    listener: super::watch::Listener,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((Some(first), later, listener), |(first, mut later, listener)| async move {
        let event = match first {
            Some(first) => Event::default().data(first),
            None => {
                later.changed().await.ok()?;
                let text = Arc::clone(&later.borrow_and_update());
                Event::default().data(text)
            }
        };
        Some((Ok(event), (None, later, listener)))
    })
}

/// The dead tasks of all shards that answer soon.
async fn dead(Shared(state): Shared<Arc<State>>, uri: Uri) -> Answer {
    #[derive(Serialize)]
    struct Dead {
        shards: Vec<actions::Preview>,
        /// Shards of which nothing is known, and why.
        missing: Vec<Missing>,
    }
    let filter = filter(&uri)?;
    state.refresh().await;
    let previews = state.shards.iter().enumerate().map(|(at, _)| {
        let filter = filter.clone();
        actions::call(&state, at, GLANCE, move |shard| actions::preview(shard, &filter))
    });
    let previews = join_all(previews).await;
    let (mut shards, mut missing) = (Vec::new(), Vec::new());
    for (watched, preview) in state.shards.iter().zip(previews) {
        match preview {
            Ok(preview) => shards.push(preview),
            Err(error) => missing.push(Missing::new(watched, error)),
        }
    }
    json(&Dead { shards, missing })
}

/// A shard that did not do what was asked for.
#[derive(Serialize)]
struct Missing {
    shard: String,
    error: String,
}

impl Missing {
    fn new(watched: &Watched, error: String) -> Self {
        Self { shard: watched.shard.name.clone(), error }
    }
}

async fn retry(state: Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Answer {
    change(&state, &headers, &body, true).await
}

async fn drop_dead(state: Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Answer {
    change(&state, &headers, &body, false).await
}

async fn change(state: &Arc<State>, headers: &HeaderMap, body: &[u8], again: bool) -> Answer {
    #[derive(Serialize)]
    struct Changed {
        tasks: u64,
    }
    allow(state, headers).await?;
    let seen: Previewed = parse(body)?;
    state.refresh().await;
    let at = state.shards.iter().position(|watched| watched.shard.name == seen.shard);
    let at = at.ok_or_else(|| Refusal::asked("there is no such shard".into()))?;
    let changed = actions::call(state, at, LIMIT, move |shard| actions::change(shard, &seen, again)).await;
    json(&Changed { tasks: changed.map_err(|error| Refusal(StatusCode::BAD_GATEWAY, error))? })
}

async fn pause(Shared(state): Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Answer {
    #[derive(Serialize)]
    struct Paused {
        /// Shards that have not heard of it, and why.
        missing: Vec<Missing>,
    }
    allow(&state, &headers).await?;
    let wanted: Pause = parse(&body)?;
    state.refresh().await;
    let calls = state
        .shards
        .iter()
        .enumerate()
        .map(|(at, _)| actions::call(&state, at, LIMIT, move |shard| actions::pause(shard, wanted)));
    let done = join_all(calls).await;
    let missing = state.shards.iter().zip(done);
    let missing = missing.filter_map(|(watched, done)| Some(Missing::new(watched, done.err()?))).collect();
    json(&Paused { missing })
}

/// Tells the page whether what a person typed is the token.
async fn token(Shared(state): Shared<Arc<State>>, headers: HeaderMap) -> Answer {
    allow(&state, &headers).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Lets those through who know the token. Who does not waits a little.
async fn allow(state: &State, headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(token) = &state.token else {
        let why = "nothing can be changed: the server was started without --token-file";
        return Err(Refusal(StatusCode::FORBIDDEN, why.into()));
    };
    match headers.get(TOKEN) {
        None => Err(Refusal(StatusCode::UNAUTHORIZED, "this takes the token".into())),
        Some(offered) if token.is(offered.as_bytes()) => Ok(()),
        Some(_) => {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Err(Refusal(StatusCode::FORBIDDEN, "that is not the token".into()))
        }
    }
}

/// What a query asks for.
fn filter(uri: &Uri) -> Result<Filter, Refusal> {
    let mut filter = Filter::default();
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match (name.as_ref(), value.as_ref()) {
            ("kind" | "error", "") => {}
            ("kind", kind) => {
                let kind =
                    kind.parse().map_err(|_| Refusal::asked("kind is a number from 0 to 65535".into()))?;
                filter.kind = Some(kind);
            }
            ("error", error) => filter.error = Some(error.to_owned()),
            _ => return Err(Refusal::asked("only kind and error can be asked for".into())),
        }
    }
    Ok(filter)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::asked(error.to_string()))
}

fn json(value: &impl Serialize) -> Answer {
    let text = serde_json::to_string(value).map_err(Refusal::own)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// Why something was not done.
struct Refusal(StatusCode, String);

impl Refusal {
    /// Something else has to be asked for.
    fn asked(why: String) -> Self {
        Self(StatusCode::BAD_REQUEST, why)
    }

    fn own(error: serde_json::Error) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = serde_json::json!({ "error": self.1 }).to_string();
        (self.0, [(header::CONTENT_TYPE, "application/json")], text).into_response()
    }
}
