//! The queue in browsers and for Prometheus: a page that is live, and documents to ask for. Async ends at the web: what talks to
//! servers are plain functions on threads of their own.

mod access;
mod actions;
mod answer;
mod door;
mod health;
mod history;
mod metrics;
mod tally;
mod watch;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_db::Stop;

pub use access::Token;
use door::{Door, Limits};

use crate::shard::Shards;
use crate::{Error, Result};

/// How a queue is shown.
#[derive(Debug)]
pub struct ServeOptions {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What those know who may change something; nobody may where there is none.
    pub token: Option<Token>,
}

/// Shows the queue until it is stopped. `ready` hears where, once it can be seen.
///
/// # Errors
/// If the address cannot be listened on, or what `ready` says.
pub fn serve(
    shards: &Shards,
    options: ServeOptions,
    stop: &Stop,
    ready: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<()> {
    const TICK: Duration = Duration::from_millis(20);
    let failed = |what: String| move |error: std::io::Error| Error::found(format!("{what}: {error}"));
    for shard in &shards.shards {
        shard.schema()?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(failed("starting threads".into()))?;
    let listening = format!("listening on {}", options.listen);
    let door = runtime
        .block_on(async { Door::open(options.listen, Limits::DEFAULT) })
        .map_err(failed(listening.clone()))?;
    let address = door.address().map_err(failed(listening))?;
    let state = Arc::new(watch::State::new(shards, options.token, address.ip().is_loopback()));
    state.start().map_err(failed("starting threads".into()))?;
    let answers = runtime.spawn(axum::serve(door, answer::router(Arc::clone(&state))).into_future());
    let result = ready(address);
    while result.is_ok() && !stop.is_requested() && !answers.is_finished() {
        std::thread::sleep(TICK);
    }
    state.close();
    runtime.shutdown_background();
    result
}
