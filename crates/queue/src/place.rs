//! Which shard a task goes to.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::shard::{Place, Shard, Shards};

/// Gives tasks to shards by rendezvous hashing: each shard draws a number for the key, and the highest one has it. So a shard that
/// is added takes its share from all others, and nothing else moves.
#[derive(Debug)]
pub(crate) struct Placement {
    /// By shard; `None` for one that takes no more tasks.
    seeds: Vec<Option<u64>>,
    place: Place,
}

impl Placement {
    pub(crate) fn new(shards: &Shards) -> Self {
        let seed = |shard: &Shard| (!shard.is_draining).then(|| xxh3_64_with_seed(shard.name.as_bytes(), 0));
        Self { seeds: shards.shards.iter().map(seed).collect(), place: shards.place }
    }

    /// The shard for a task; `None` if all are being drained. `number` is one that is drawn for the task.
    pub(crate) fn of(&self, object_id: &str, tenant: &str, number: u64) -> Option<usize> {
        if let [Some(_)] = &*self.seeds {
            return Some(0);
        }
        let number = number.to_le_bytes();
        let key = match self.place {
            Place::Object => object_id.as_bytes(),
            Place::Tenant => tenant.as_bytes(),
            Place::Random => &number[..],
        };
        let draws = self
            .seeds
            .iter()
            .enumerate()
            .filter_map(|(at, seed)| Some((xxh3_64_with_seed(key, (*seed)?), at)));
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
        Placement::new(&Shards { shards: names.iter().map(shard).collect(), place: Place::Object })
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
}
