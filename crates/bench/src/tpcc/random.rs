//! Random numbers, texts and names as clauses 2.1.6 and 4.3.2 of the specification have them, each from a generator of its own, so
//! that the same seed gives the same rows and inputs however many threads there are.

use fastrand::Rng;

use super::schema::{CUSTOMERS, ITEMS};

/// What a generator's numbers are for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Constants,
    Items,
    Warehouses,
    Stock,
    Districts,
    Customers,
    History,
    Orders,
    Lines,
    Terminals,
    Arrivals,
}

/// A generator that has nothing in common with those for other purposes or numbers.
pub(super) fn generator(seed: u64, purpose: Purpose, numbers: [u32; 2]) -> Rng {
    let [one, other] = numbers;
    let parts = [purpose as u64, one.into(), other.into()];
    Rng::with_seed(parts.into_iter().fold(mixed(seed), |state, part| mixed(state ^ mixed(part))))
}

/// The next number of the generator SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The highest number of last names, counted from 0.
const LAST_NAMES: u32 = 999;
/// The largest constant for last names, and the A of their numbers.
const LAST: u32 = 255;
const CUSTOMER: u32 = 1023;
const ITEM: u32 = 8191;

/// NURand: numbers from `low` to `high` of which some come much more often than others, which ones being decided by `c`.
fn non_uniform(rng: &mut Rng, a: u32, c: u32, low: u32, high: u32) -> u32 {
    ((rng.u32(0..=a) | rng.u32(low..=high)) + c) % (high - low + 1) + low
}

/// The constants of NURand, one for each field, which stay the same for a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Constants {
    /// That of customers' last names, 0 to 255.
    pub c_last: u32,
    /// That of customers' numbers, 0 to 1023.
    pub c_id: u32,
    /// That of items' numbers, 0 to 8191.
    pub ol_i_id: u32,
}

impl Constants {
    /// Those of a run on tables whose last names were drawn with this constant. By clause 2.1.6.1 the two constants lie 65 to 119
    /// apart, but neither 96 nor 112.
    pub(super) fn draw(seed: u64, c_last_of_load: u32) -> Self {
        let mut rng = generator(seed, Purpose::Constants, [1, 0]);
        let fits: Vec<u32> = (0..=LAST).filter(|c| is_far_enough(*c, c_last_of_load)).collect();
        Self {
            c_last: fits[rng.usize(0..fits.len())],
            c_id: rng.u32(0..=CUSTOMER),
            ol_i_id: rng.u32(0..=ITEM),
        }
    }

    /// The number of a customer of a district.
    pub(super) fn customer(&self, rng: &mut Rng) -> u32 {
        non_uniform(rng, CUSTOMER, self.c_id, 1, CUSTOMERS)
    }

    /// The number of an item.
    pub(super) fn item(&self, rng: &mut Rng) -> u32 {
        non_uniform(rng, ITEM, self.ol_i_id, 1, ITEMS)
    }

    /// A last name.
    pub(super) fn last_name(&self, rng: &mut Rng) -> String {
        last_name(last_name_number(rng, self.c_last))
    }
}

fn is_far_enough(run: u32, load: u32) -> bool {
    matches!(run.abs_diff(load), 65..=95 | 97..=111 | 113..=119)
}

/// The constant of last names for a load.
pub(super) fn c_last_of_load(seed: u64) -> u32 {
    generator(seed, Purpose::Constants, [0, 0]).u32(0..=LAST)
}

/// The number of a last name.
pub(super) fn last_name_number(rng: &mut Rng, c_last: u32) -> u32 {
    non_uniform(rng, LAST, c_last, 0, LAST_NAMES)
}

/// A last name by its number, from 0 to 999: three syllables.
pub(super) fn last_name(number: u32) -> String {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    [number / 100, number / 10, number].map(|number| SYLLABLES[number as usize % 10]).concat()
}

/// Letters and digits, as often as a byte allows.
const ALPHANUMERIC: [u8; 256] = {
    const ALL: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        table[index] = ALL[index % 62];
        index += 1;
    }
    table
};

/// Appends so many letters and digits.
pub(super) fn text(rng: &mut Rng, length: usize, out: &mut Vec<u8>) {
    let mut left = length;
    while left > 0 {
        let some = rng.u64(..).to_le_bytes();
        let now = left.min(some.len());
        out.extend(some[..now].iter().map(|byte| ALPHANUMERIC[usize::from(*byte)]));
        left -= now;
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn last_names_are_syllables() {
        assert_eq!([0, 371, 999].map(last_name), ["BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING"]);
    }

    /// The share of all draws that fall on the tenth of the numbers that is drawn most often.
    fn share_of_hottest_tenth(draw: impl FnMut() -> u32, numbers: usize) -> f64 {
        const DRAWS: u32 = 2_000_000;
        let mut counts = vec![0_u32; numbers + 1];
        std::iter::repeat_with(draw).take(DRAWS as usize).for_each(|number| counts[number as usize] += 1);
        assert_eq!(counts[0], 0);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        f64::from(counts[..numbers / 10].iter().sum::<u32>()) / f64::from(DRAWS)
    }

    #[test]
    fn some_items_and_customers_come_much_more_often() {
        let constants = Constants::draw(1, c_last_of_load(1));
        let mut rng = Rng::with_seed(1);
        let items = share_of_hottest_tenth(|| constants.item(&mut rng), ITEMS as usize);
        let customers = share_of_hottest_tenth(|| constants.customer(&mut rng), CUSTOMERS as usize);
        assert!((0.68..0.80).contains(&items), "{items}");
        assert!((0.55..0.70).contains(&customers), "{customers}");
    }

    #[test]
    fn generators_differ_and_come_again() {
        let first = |seed, purpose, numbers| generator(seed, purpose, numbers).u64(..);
        let one = first(1, Purpose::Stock, [1, 2]);
        assert_eq!(one, first(1, Purpose::Stock, [1, 2]));
        let others = [
            first(2, Purpose::Stock, [1, 2]),
            first(1, Purpose::Items, [1, 2]),
            first(1, Purpose::Stock, [2, 1]),
        ];
        assert!(!others.contains(&one));
    }

    proptest! {
        #[test]
        fn constants_keep_to_the_rule(seed in any::<u64>(), of_load in any::<u64>()) {
            let load = c_last_of_load(of_load);
            let apart = Constants::draw(seed, load).c_last.abs_diff(load);
            prop_assert!((65..=119).contains(&apart) && apart != 96 && apart != 112);
        }

        #[test]
        fn numbers_stay_in_their_range(seed in any::<u64>()) {
            let (constants, mut rng) = (Constants::draw(seed, c_last_of_load(seed)), Rng::with_seed(seed));
            for _ in 0..100 {
                prop_assert!((1..=CUSTOMERS).contains(&constants.customer(&mut rng)));
                prop_assert!((1..=ITEMS).contains(&constants.item(&mut rng)));
                prop_assert!(last_name_number(&mut rng, constants.c_last) <= LAST_NAMES);
            }
        }

        #[test]
        fn texts_have_their_length(seed in any::<u64>(), length in 0..40_usize) {
            let mut out = Vec::new();
            text(&mut Rng::with_seed(seed), length, &mut out);
            prop_assert!(out.len() == length && out.iter().all(u8::is_ascii_alphanumeric));
        }
    }
}
