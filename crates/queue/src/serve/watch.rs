//! Watching shards: each by a thread of its own, once a second while somebody looks. What a browser is told is what these threads
//! found last; nobody waits for a server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drover_db::Connection;
use drover_db::wire::Breaker;
use serde::Serialize;
use tokio::sync::watch;

use super::access::Token;
use super::health::{Doctor, Health};
use super::tally::{Fresh, Tally};
use crate::counts::Count;
use crate::error::Doing;
use crate::identity::Identities;
use crate::kinds::Kinds;
use crate::shard::{Shard, Shards};
use crate::stat::{self, ShardStat, StatReport};
use crate::{Result, schema, session};

/// How often shards are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How often the server's health is.
const HEALTH: Duration = Duration::from_secs(5);
/// A shard that has not answered in this time is not reached: its connection is broken.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);
/// So long somebody who asks waits for shards.
const PATIENCE: Duration = Duration::from_millis(120);
/// So long a connection is kept that nobody needs.
const IDLE: Duration = Duration::from_secs(60);

/// What all threads and all who ask share.
pub(crate) struct State {
    pub(crate) shards: Vec<Watched>,
    pub(crate) token: Option<Token>,
    identities: Identities,
    /// Whether only names of this machine are taken for its own.
    pub(crate) checks_host: bool,
    /// How many browsers listen.
    listeners: AtomicUsize,
    /// When somebody asked last.
    asked: Mutex<Option<Instant>>,
    wake: Condvar,
    closing: AtomicBool,
    /// Changes whenever a shard has been looked at.
    looks: watch::Sender<()>,
    /// The latest snapshot as JSON.
    events: watch::Sender<Arc<str>>,
}

/// A shard that is watched.
pub(crate) struct Watched {
    pub(crate) shard: Shard,
    seen: Mutex<Seen>,
    tally: Mutex<Tally>,
    /// Calls that somebody makes beside the watching.
    pub(crate) calls: AtomicUsize,
}

/// What was seen of a shard last.
#[derive(Default)]
struct Seen {
    stat: ShardStat,
    totals: BTreeMap<u16, Count>,
    paused: Paused,
    health: Option<Health>,
    /// When it answered, by this machine's clock, in milliseconds since 1970.
    reached_ms: Option<u64>,
    /// When a look ended that began then, however it went.
    looked: Option<Instant>,
    /// When the look began that is under way, and what ends it.
    begun: Option<(Instant, Option<Breaker>)>,
}

/// What is paused on a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Paused {
    /// Kinds that do not say otherwise.
    all: bool,
    /// What the others say.
    kinds: BTreeMap<u16, bool>,
}

impl Paused {
    /// Whether tasks of this kind are begun no more.
    pub(crate) fn holds(&self, kind: u16) -> bool {
        self.kinds.get(&kind).copied().unwrap_or(self.all)
    }
}

/// All that is known at a moment.
#[derive(Serialize)]
pub(crate) struct Snapshot {
    /// By this machine's clock, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// Whether anything can be changed with a token.
    pub(crate) takes_token: bool,
    /// As `queue stat` tells it.
    #[serde(flatten)]
    pub(crate) stat: StatReport,
    /// What else is known of the shards, in the same order.
    pub(crate) servers: Vec<ServerNow>,
}

/// What is known of a shard beside its tasks.
#[derive(Clone, Serialize)]
pub(crate) struct ServerNow {
    /// When it last answered; absent if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reached_ms: Option<u64>,
    /// Whether it takes no more tasks.
    pub(crate) is_draining: bool,
    pub(crate) paused: Paused,
    /// Absent where the shard is not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) health: Option<Health>,
    #[serde(skip)]
    pub(crate) totals: BTreeMap<u16, Count>,
}

/// A browser that listens, until this is dropped.
pub(crate) struct Listener(Arc<State>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::SeqCst);
    }
}

impl State {
    pub(crate) fn new(shards: &Shards, token: Option<Token>, checks_host: bool) -> Self {
        let watched = |shard: &Shard| {
            let mut shard = shard.clone();
            for node in &mut shard.nodes {
                node.connect_timeout = node.connect_timeout.min(Duration::from_secs(3));
            }
            let seen = Mutex::new(Seen::default());
            Watched { shard, seen, tally: Mutex::default(), calls: AtomicUsize::new(0) }
        };
        Self {
            shards: shards.shards.iter().map(watched).collect(),
            token,
            identities: Identities::default(),
            checks_host,
            listeners: AtomicUsize::new(0),
            asked: Mutex::new(None),
            wake: Condvar::new(),
            closing: AtomicBool::new(false),
            looks: watch::Sender::new(()),
            events: watch::Sender::new(Arc::from("")),
        }
    }

    /// Starts the threads. They end after [`State::close`], but for those that wait for a server.
    pub(crate) fn start(self: &Arc<Self>) -> std::io::Result<()> {
        for at in 0..self.shards.len() {
            let state = Arc::clone(self);
            std::thread::Builder::new().name(format!("shard {at}")).spawn(move || {
                if let Some(watched) = state.shards.get(at) {
                    state.watch(watched);
                }
            })?;
        }
        let state = Arc::clone(self);
        std::thread::Builder::new().name("snapshots".into()).spawn(move || state.tell()).map(drop)
    }

    /// Ends the threads.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.wake.notify_all();
        self.shards.iter().for_each(|watched| watched.give_up(Duration::ZERO));
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// A browser begins to listen; `None` if too many do.
    pub(crate) fn listen(self: &Arc<Self>, most: usize) -> Option<Listener> {
        let before = self.listeners.fetch_add(1, Ordering::SeqCst);
        let listener = Listener(Arc::clone(self));
        self.ask();
        (before < most).then_some(listener)
    }

    /// The snapshots, as they are made.
    pub(crate) fn events(&self) -> watch::Receiver<Arc<str>> {
        self.events.subscribe()
    }

    fn ask(&self) {
        *locked(&self.asked) = Some(Instant::now());
        self.wake.notify_all();
    }

    /// Waits a little until all shards have been looked at lately; those that are slow keep what was seen of them before.
    pub(crate) async fn refresh(&self) {
        let since = Instant::now();
        let mut looks = self.looks.subscribe();
        let is_fresh =
            |watched: &Watched| locked(&watched.seen).looked.is_some_and(|looked| looked + EVERY > since);
        self.ask();
        let all = async { while !self.shards.iter().all(is_fresh) && looks.changed().await.is_ok() {} };
        let _slow_ones_are_left = tokio::time::timeout(PATIENCE, all).await;
    }

    /// All that is known now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let (stats, servers) = self.shards.iter().map(Watched::now).unzip();
        Snapshot { at_ms: now_ms(), takes_token: self.token.is_some(), stat: StatReport::of(stats), servers }
    }

    /// What happened minute by minute on all shards, of one kind or of all, and the minute that has begun.
    pub(crate) fn history(&self, kind: Option<u16>) -> (BTreeMap<u32, Count>, u32) {
        let (mut all, mut this) = (BTreeMap::<u32, Count>::new(), 0);
        for watched in &self.shards {
            let tally = locked(&watched.tally);
            this = this.max(tally.minute());
            for (minute, count) in tally.history(kind) {
                all.entry(minute).or_default().join(&count);
            }
        }
        (all, this)
    }

    /// Makes a snapshot a second while browsers listen, and gives up looks that take too long.
    fn tell(&self) {
        while !self.is_closing() {
            let begun = Instant::now();
            if self.listeners.load(Ordering::SeqCst) > 0
                && let Ok(text) = serde_json::to_string(&self.snapshot())
            {
                self.events.send_replace(text.into());
            }
            self.shards.iter().for_each(|watched| watched.give_up(LIMIT));
            self.pause(begun + EVERY, false);
        }
    }

    /// Waits until then, or until it is to end; `or_asked`, also until somebody asks.
    fn pause(&self, until: Instant, or_asked: bool) {
        let mut asked = locked(&self.asked);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_closing() || (or_asked && asked.is_some_and(is_recent)) {
                return;
            }
            asked = self.wake.wait_timeout(asked, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn is_wanted(&self) -> bool {
        self.listeners.load(Ordering::SeqCst) > 0 || locked(&self.asked).is_some_and(is_recent)
    }

    /// Watches a shard.
    fn watch(&self, watched: &Watched) {
        let mut eye: Option<Eye> = None;
        let mut idle = Instant::now();
        while !self.is_closing() {
            let begun = Instant::now();
            if self.is_wanted() {
                idle = begun;
                if let Err(error) = look(watched, &mut eye, &self.identities) {
                    eye = None;
                    watched.failed(begun, &error);
                }
                self.looks.send_replace(());
                self.pause(begun + EVERY, false);
            } else {
                if idle.elapsed() > IDLE {
                    eye = None;
                }
                self.pause(begun + IDLE, true);
            }
        }
    }
}

/// A connection with which a shard is watched.
struct Eye {
    connection: Connection,
    doctor: Doctor,
    health: Option<(Instant, Health)>,
}

fn look(watched: &Watched, eye: &mut Option<Eye>, identities: &Identities) -> Result<()> {
    let begun = Instant::now();
    locked(&watched.seen).begun = Some((begun, None));
    let eye = match eye {
        Some(eye) => {
            watched.breaks_with(&eye.connection).doing(|| "watching")?;
            eye
        }
        None => eye.insert(Eye::open(watched, identities)?),
    };
    let open = locked(&watched.tally).open(); // and unlocked here: nobody who asks waits for the server
    let fresh = Fresh::read(&mut eye.connection, open)?;
    let totals = {
        let mut tally = locked(&watched.tally);
        tally.take(fresh);
        tally.totals()
    };
    let stat = stat::look(&mut eye.connection, &watched.shard, |connection, kinds| {
        let worked = stat::worked(connection)?;
        locked(&watched.tally).tell(&totals, worked, kinds);
        Ok(())
    })?;
    let (all, kinds) = Kinds::load(&mut eye.connection)?.paused();
    let health = eye.health().doing(|| watched.shard.doing("looking at the server's health"))?;
    let mut seen = locked(&watched.seen);
    *seen = Seen {
        stat,
        totals,
        paused: Paused { all, kinds },
        health: Some(health),
        reached_ms: Some(now_ms()),
        looked: Some(begun),
        begun: None,
    };
    Ok(())
}

impl Eye {
    fn open(watched: &Watched, identities: &Identities) -> Result<Self> {
        let opened = |connection: &Connection| watched.breaks_with(connection);
        let mut connection = session::open_watched(&watched.shard, opened)?;
        schema::check(&mut connection)?;
        identities.enter(&mut connection, &watched.shard)?;
        Ok(Self { connection, doctor: Doctor::default(), health: None })
    }

    fn health(&mut self) -> drover_db::Result<Health> {
        if let Some((at, health)) = &self.health
            && at.elapsed() < HEALTH
        {
            return Ok(health.clone());
        }
        let health = self.doctor.look(&mut self.connection)?;
        self.health = Some((Instant::now(), health.clone()));
        Ok(health)
    }
}

impl Watched {
    /// What is known of it. If it has not answered for too long, that is said instead of old numbers.
    fn now(&self) -> (ShardStat, ServerNow) {
        let seen = locked(&self.seen);
        let name = self.shard.name.clone();
        let hangs = seen.begun.as_ref().is_some_and(|(begun, _)| begun.elapsed() > LIMIT);
        let silent = match (hangs, seen.looked) {
            (true, _) => Some(format!("it has not answered for {} seconds", LIMIT.as_secs())),
            (false, None) => Some("it has not answered yet".to_owned()),
            (false, Some(_)) => None,
        };
        let stat = match silent {
            Some(silent) => ShardStat { name, error: Some(silent), ..ShardStat::default() },
            None => seen.stat.clone(),
        };
        let is_reached = stat.error.is_none();
        let server = ServerNow {
            reached_ms: seen.reached_ms,
            is_draining: self.shard.is_draining || stat.is_draining,
            paused: seen.paused.clone(),
            health: seen.health.clone().filter(|_| is_reached),
            totals: if is_reached { seen.totals.clone() } else { BTreeMap::new() },
        };
        (stat, server)
    }

    /// Whether it answers.
    pub(crate) fn is_reached(&self) -> bool {
        self.now().0.error.is_none()
    }

    /// The look that began then failed.
    fn failed(&self, begun: Instant, error: &crate::Error) {
        if error.code().is_some() {
            *locked(&self.tally) = Tally::default(); // the tables may not be those of before
        }
        let mut seen = locked(&self.seen);
        let name = self.shard.name.clone();
        let error = match seen.begun.as_ref().is_some_and(|(begun, _)| begun.elapsed() > LIMIT) {
            true => format!("it has not answered for {} seconds", LIMIT.as_secs()),
            false => error.to_string(),
        };
        seen.stat = ShardStat { name, error: Some(error), ..ShardStat::default() };
        (seen.looked, seen.begun) = (Some(begun), None);
    }

    fn breaks_with(&self, connection: &Connection) -> drover_db::Result<()> {
        let breaker = connection.breaker()?;
        if let Some((_, waits)) = &mut locked(&self.seen).begun {
            *waits = Some(breaker);
        }
        Ok(())
    }

    /// Breaks the connection of a look that takes longer.
    fn give_up(&self, limit: Duration) {
        if let Some((begun, Some(breaker))) = &locked(&self.seen).begun
            && begun.elapsed() > limit
        {
            breaker.break_connection();
        }
    }
}

/// Whether what was asked for then is still wanted.
fn is_recent(at: Instant) -> bool {
    at.elapsed() < 2 * EVERY
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// A thread that panicked leaves nothing half done behind these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
