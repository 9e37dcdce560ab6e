//! Which shard a task goes to.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::shard::{Place, Shard, Shards};

/// Gives tasks to shards by rendezvous hashing: each shard draws a number for the key, and the highest one has it. So a shard that
/// is added takes its share from all others, and nothing else moves.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    seeds: Vec<u64>,
    /// By shard, whether it takes tasks.
    takes: Vec<bool>,
    place: Place,
}

/// Where the tasks of a build go, as it is kept with the build: its tasks go there whenever it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Places {
    place: Place,
    shards: Vec<String>,
}

impl Places {
    /// Whether tasks go to this shard.
    pub(crate) fn has(&self, shard: &Shard) -> bool {
        self.shards.contains(&shard.name)
    }

    /// The same, but a shard that a URL names has no name, here or there.
    pub(crate) fn may_have(&self, shard: &Shard) -> bool {
        self.has(shard) || shard.name.is_empty() || self.shards.iter().any(String::is_empty)
    }
}

impl Placement {
    pub(crate) fn new(shards: &Shards) -> Self {
        let seed = |shard: &Shard| xxh3_64_with_seed(shard.name.as_bytes(), 0);
        Self {
            seeds: shards.shards.iter().map(seed).collect(),
            takes: shards.shards.iter().map(|shard| !shard.is_draining).collect(),
            place: shards.place,
        }
    }

    /// As it was noted.
    ///
    /// # Errors
    /// The name of a shard that is not among those there are.
    pub(crate) fn noted(shards: &Shards, places: &Places) -> Result<Self, String> {
        let is_there = |name: &&String| shards.shards.iter().any(|shard| shard.name == **name);
        if let Some(gone) = places.shards.iter().find(|name| !is_there(name)) {
            return Err(gone.clone());
        }
        let takes = shards.shards.iter().map(|shard| places.shards.contains(&shard.name)).collect();
        Ok(Self { takes, place: places.place, ..Self::new(shards) })
    }

    /// To be noted.
    pub(crate) fn places(&self, shards: &Shards) -> Places {
        let taking = shards.shards.iter().zip(&self.takes).filter(|(_, takes)| **takes);
        Places { place: self.place, shards: taking.map(|(shard, _)| shard.name.clone()).collect() }
    }

    /// Whether a shard takes tasks.
    pub(crate) fn takes(&self, at: usize) -> bool {
        self.takes.get(at).copied().unwrap_or(false)
    }

    /// From now on a shard takes tasks, or does not.
    pub(crate) fn set(&mut self, at: usize, takes: bool) {
        if let Some(of_shard) = self.takes.get_mut(at) {
            *of_shard = takes;
        }
    }

    /// The shard for a task; `None` if all are being drained. `number` is one that is drawn for the task.
    pub(crate) fn of(&self, object_id: &str, tenant: &str, number: u64) -> Option<usize> {
        if let [true] = &*self.takes {
            return Some(0);
        }
        let number = number.to_le_bytes();
        let key = match self.place {
            Place::Object => object_id.as_bytes(),
            Place::Tenant => tenant.as_bytes(),
            Place::Random => &number[..],
        };
        let taking = self.seeds.iter().enumerate().filter(|(at, _)| self.takes(*at));
        let draws = taking.map(|(at, seed)| (xxh3_64_with_seed(key, *seed), at));
        draws.max().map(|(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use drover_db::options::ServerArgs;

    use super::*;

    fn placement(names: &[&str]) -> Placement {
        let options = ServerArgs { no_defaults: true, ..ServerArgs::default() };
        let options = options.resolve(|| Ok(String::new())).unwrap().options;
        let shard = |name: &&str| Shard {
            name: (*name).into(),
            nodes: vec![options.clone()],
            is_draining: *name == "drained",
        };
        Placement::new(&Shards {
            shards: names.iter().map(shard).collect(),
            place: Place::Object,
            warnings: Vec::new(),
        })
    }

    #[test]
    fn a_new_shard_takes_its_share_and_moves_nothing_else() {
        let (three, four) = (placement(&["a", "b", "c"]), placement(&["a", "b", "c", "d"]));
        let mut counts = [0u32; 4];
        for object in 0..40_000u32 {
            let (before, after) =
                (three.of(&object.to_string(), "", 0).unwrap(), four.of(&object.to_string(), "", 0).unwrap());
            assert!(after == before || after == 3, "{object}: from {before} to {after}");
            counts[after] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_shard_that_is_drained_takes_none() {
        let placement = placement(&["a", "drained"]);
        assert!((0..1000u32).all(|object| placement.of(&object.to_string(), "", 0) == Some(0)));
    }

    #[test]
    fn what_was_noted_holds_whatever_drains_later() {
        let shards = |names: &[&str]| {
            let options = ServerArgs { no_defaults: true, ..ServerArgs::default() };
            let options = options.resolve(|| Ok(String::new())).unwrap().options;
            let shard = |name: &&str| Shard {
                name: (*name).into(),
                nodes: vec![options.clone()],
                is_draining: false,
            };
            Shards { shards: names.iter().map(shard).collect(), place: Place::Object, warnings: Vec::new() }
        };
        let (three, other) = (shards(&["a", "b", "c"]), shards(&["d", "c", "b"]));
        let mut before = Placement::new(&three);
        before.set(0, false);
        let places = before.places(&three);
        let after = Placement::noted(&other, &places).unwrap();
        for object in (0..1000u32).map(|object| object.to_string()) {
            let name = |placement: &Placement, shards: &Shards| {
                shards.shards[placement.of(&object, "", 0).unwrap()].name.clone()
            };
            assert_eq!(name(&before, &three), name(&after, &other));
        }
        assert_eq!(Placement::noted(&shards(&["a", "b"]), &places).unwrap_err(), "c");
    }
}
