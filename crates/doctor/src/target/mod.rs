//! What the servers take that somebody may move to: snapshots that `scripts/snapshot-target` took of real ones, and which of them an
//! examination compares with.

mod choice;
mod snapshot;

use std::sync::OnceLock;

pub(crate) use choice::Choice;
pub use snapshot::{DEFAULTS, Snapshot};

use crate::evidence::{Seen, Unseen};

/// All that are known, by the names that `--target` takes; of a vendor the oldest first.
const FILES: [(&str, &str); 3] = [
    ("mariadb-10.11", include_str!("../../data/mariadb-10.11.json")),
    ("mariadb-11.8", include_str!("../../data/mariadb-11.8.json")),
    ("mysql-9.7", include_str!("../../data/mysql-9.7.json")),
];

/// What `--target` takes.
pub fn names() -> [&'static str; FILES.len()] {
    FILES.map(|(name, _)| name)
}

/// All that are known.
pub fn known() -> Seen<&'static [Snapshot]> {
    static KNOWN: OnceLock<Result<Vec<Snapshot>, String>> = OnceLock::new();
    let read = |(name, text): &(&str, &str)| {
        serde_json::from_str(text).map_err(|error| format!("what is known of {name}: {error}"))
    };
    let known = KNOWN.get_or_init(|| FILES.iter().map(read).collect());
    known.as_deref().map_err(|why| Unseen::Failed(why.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_called_after_their_servers() {
        let known: Vec<_> = known().unwrap().iter().map(Snapshot::name).collect();
        assert_eq!(known, names());
    }
}
