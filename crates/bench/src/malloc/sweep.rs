//! Which sizes are allocated.

use drover_units::read::bytes;

use crate::figure;

/// The sizes of the table of 2007, in bytes: 128 K, 256 K, 1 M, 5 M, 10 M, 50 M, 500 M.
pub const TABLE: [u64; 7] = [128 << 10, 256 << 10, 1 << 20, 5 << 20, 10 << 20, 50 << 20, 500 << 20];

/// Nobody allocates more at once, in bytes: 1 TiB.
const LARGEST: u64 = 1 << 40;

/// What to allocate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// From one size to another, in bytes, by steps that are closest where thresholds usually lie.
    Range(u64, u64),
    /// These, in bytes.
    List(Vec<u64>),
}

/// Reads `16k..512M` or `128k,1M`.
///
/// # Errors
/// What to write instead.
pub(super) fn parse(text: &str) -> Result<Sizes, String> {
    let size = |text: &str| {
        let size = bytes(text.trim())?;
        let is_possible = (1..=LARGEST).contains(&size);
        is_possible.then_some(size).ok_or_else(|| "a size goes from 1 byte to 1T".to_owned())
    };
    let Some((from, to)) = text.split_once("..") else {
        return Ok(Sizes::List(text.split(',').map(size).collect::<Result<_, _>>()?));
    };
    let (from, to) = (size(from)?, size(to)?);
    if from < to { Ok(Sizes::Range(from, to)) } else { Err("write the smaller size first".to_owned()) }
}

impl Sizes {
    /// All sizes, with `also` among them, each once and from the smallest on.
    pub(super) fn steps(&self, also: &[u64]) -> Vec<u64> {
        let mut steps = match self {
            Self::Range(from, to) => range(*from, *to, also),
            Self::List(list) => list.iter().chain(also).copied().collect(),
        };
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}

/// The steps of a range. Of the table's sizes and of `also`, none is missing; a step that is close to one of them is left out.
fn range(from: u64, to: u64, also: &[u64]) -> Vec<u64> {
    let table = TABLE.into_iter().filter(|size| (from..=to).contains(size));
    let mut steps: Vec<u64> = also.iter().copied().chain(table).chain([from]).collect();
    let is_close = |one: u64, other: u64| one.abs_diff(other) * 10 < one.max(other);
    for step in grid().filter(|step| (from..to).contains(step)).chain([to]) {
        if !steps.iter().any(|taken| is_close(step, *taken)) {
            steps.push(step);
        }
    }
    steps
}

/// Sizes at equal ratios: three for each doubling from 64 KiB to 64 MiB, two below and one above.
fn grid() -> impl Iterator<Item = u64> {
    const CLOSE: std::ops::Range<u64> = 64 << 10..64 << 20;
    (0..40).map(|power| 1_u64 << power).flat_map(|base| {
        let steps = match base {
            base if CLOSE.contains(&base) => 3,
            base if base < CLOSE.start => 2,
            _ => 1,
        };
        // Sizes that a person can read, such as 81 KiB.
        let round = (base / 64).max(1);
        (0..steps).map(move |step| {
            let exact = base as f64 * 2_f64.powf(f64::from(step) / f64::from(steps));
            (exact / round as f64).round() as u64 * round
        })
    })
}

/// A size as one writes it for an allocation: in powers of 1024, such as `128 KiB`.
pub fn size_name(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "KiB", "MiB", "GiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if value.fract() == 0.0 { format!("{value} {unit}") } else { format!("{} {unit}", figure(value)) }
}

/// A time in nanoseconds with three digits or so: `21.3 ns`, `1.25 µs`, `98.1 ms`.
pub fn cost_name(ns: f64) -> String {
    let (factor, unit) = match ns {
        ns if ns < 999.5 => (1.0, "ns"),
        ns if ns < 999_500.0 => (1e3, "µs"),
        ns if ns < 999_500_000.0 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", figure(ns / factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_as_a_person_writes_them() {
        assert_eq!(parse("16k..512M"), Ok(Sizes::Range(16 << 10, 512 << 20)));
        assert_eq!(parse("128k, 1M"), Ok(Sizes::List(vec![128 << 10, 1 << 20])));
        for wrong in ["", "1M..16k", "1M..", "0", "2T", "1M,x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_table_is_always_in_the_sweep() {
        let steps = Sizes::Range(16 << 10, 512 << 20).steps(&[]);
        assert!(TABLE.iter().all(|size| steps.contains(size)), "{steps:?}");
        assert_eq!((steps[0], *steps.last().unwrap()), (16 << 10, 500 << 20));
        assert!(steps.contains(&(81 << 10)), "{steps:?}");
        assert!((35..50).contains(&steps.len()), "{steps:?}");
    }

    #[test]
    fn a_list_is_just_that_and_the_buffers() {
        let list = Sizes::List(vec![1 << 20, 64 << 10, 1 << 20]);
        assert_eq!(list.steps(&[16_384, 64 << 10]), [16_384, 64 << 10, 1 << 20]);
    }

    #[test]
    fn names() {
        let names = [1, 4096, 131_072, 82_944, 5 << 20, 3 << 30].map(size_name);
        assert_eq!(names, ["1 B", "4 KiB", "128 KiB", "81 KiB", "5 MiB", "3 GiB"]);
        assert_eq!(size_name(100_000), "97.7 KiB");
        let costs = [21.34, 1000.0, 1250.0, 98e6, 1.5e9].map(cost_name);
        assert_eq!(costs, ["21.3 ns", "1.00 µs", "1.25 µs", "98.0 ms", "1.50 s"]);
    }

    proptest! {
        #[test]
        fn steps_grow_within_their_range(from in 1_u64..1 << 39, ratio in 2_u64..1000, also in prop::collection::vec(1_u64..1 << 40, 0..5)) {
            let to = (from * ratio).min(LARGEST);
            let steps = Sizes::Range(from, to).steps(&also);
            prop_assert!(steps.is_sorted_by(|one, other| one < other), "{steps:?}");
            prop_assert!(also.iter().all(|size| steps.contains(size)));
            let own = Sizes::Range(from, to).steps(&[]);
            prop_assert_eq!(own[0], from);
            prop_assert!(own.iter().all(|step| (from..=to).contains(step)), "{own:?}");
            // From one to the next it never is more than twice as far, and a step that was left out.
            prop_assert!(own.windows(2).all(|pair| pair[1] <= pair[0] * 5 / 2 + 2), "{own:?}");
        }
    }
}
