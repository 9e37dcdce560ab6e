//! An offline task queue in tables of MySQL and MariaDB: tens of millions of tasks beside live traffic, on any number of servers.

pub mod args;
mod bell;
mod build;
mod claims;
mod clock;
mod counts;
mod dead;
mod desk;
mod drain;
mod error;
mod exact;
#[doc(hidden)]
pub mod fuzz;
mod identity;
mod incoming;
mod inserts;
mod intake;
mod keeper;
mod kinds;
mod lane;
mod lapse;
mod lease;
mod moving;
mod orphans;
mod place;
mod private;
mod probe;
mod progress;
mod push;
mod record;
mod renewal;
mod rows;
pub mod schedule;
mod schema;
mod segments;
mod serve;
mod session;
mod settings;
mod settle;
mod shard;
mod shepherd;
mod stat;
mod state;
mod task;
mod totals;
mod workers;

use identity::Identities;

pub use build::{BuildOptions, BuildProgress, BuildReport, QueryRows, build, cancel, new_job};
pub use dead::{DeadTask, Which, dead, drop_dead, retry};
pub use drain::{Drain, DrainProgress, DrainReport, drain};
pub use error::{Error, Result};
pub use kinds::Kind;
pub use lease::LEASE;
pub use moving::{MoveProgress, MoveReport, Moved, move_tasks};
pub use probe::slow_commits;
pub use push::{Defaults, Pusher};
pub use record::{Record, lines, not_before};
pub use schedule::{NewSchedule, Schedule};
pub use serve::{ServeOptions, Token, serve};
pub use settings::{Change, pause, set};
pub use shard::{Place, Shard, Shards};
pub use shepherd::{WorkOptions, WorkReport, work};
pub use stat::{BuildStat, KindStat, Latency, ShardStat, ShepherdStat, StatReport, stat};
pub use task::{ObjectId, Outcome, Task};
pub use totals::Totals;
pub use workers::{Hands, WebService, Work};

/// Makes the queue's tables on every shard; those that are there stay as they are.
///
/// # Errors
/// If a server refuses that, or cannot hold a queue.
pub fn init(shards: &Shards) -> Result<()> {
    let identities = Identities::default();
    // What is refused changes nothing, on no shard.
    for shard in &shards.shards {
        probe::beforehand(&mut session::open_outside(shard)?, shard)?;
    }
    for shard in &shards.shards {
        let mut connection = session::open_new(shard)?;
        schema::create(&mut connection)?;
        probe::probe(&mut connection, shard)?;
        identities.enter(&mut connection, shard)?;
    }
    Ok(())
}
