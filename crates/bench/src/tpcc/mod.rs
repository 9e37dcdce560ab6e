//! TPC-C-like load: five transactions on nine tables, as TPC Benchmark C, revision 5.11, describes them.
//!
//! [`load()`] makes the tables, [`run()`] has terminals work on them and measures, [`check()`] tells whether they are consistent, [`clean()`]
//! drops them. What a run does otherwise than the specification has it, stands on its compliance card.

pub mod args;
mod audit;
mod card;
mod check;
mod clean;
mod conditions;
mod deck;
mod delivery;
mod detail;
mod input;
mod intake;
mod kind;
mod latency;
mod load;
mod marker;
mod money;
mod new_order;
mod order_status;
mod pace;
mod page;
mod payment;
mod processor;
mod random;
mod rows;
mod run;
mod schema;
mod session;
mod statements;
mod stock_level;
mod tally;
mod terminal;
pub mod versus;
mod worker;

pub use audit::{Audited, Verdict};
pub use card::Line;
pub use check::{CheckReport, Checked, Compared, Violation, check};
pub use clean::{CleanReport, clean};
pub use detail::{OfKind, Refusals, Run, RunDetail};
pub use kind::Kind;
pub use latency::Percentiles;
pub use load::{LoadDetail, load};
pub use pace::Load;
pub use processor::ClientCpu;
pub use random::Constants;
pub use run::run;
pub use tally::Retries;
