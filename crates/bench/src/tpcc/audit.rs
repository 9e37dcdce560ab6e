//! What was drawn, against the limits that the specification sets for it (clauses 5.2.3 and 5.5.1.5 and the like), and against chance: so
//! few roll-backs as a short run has may lie outside by luck alone.

use serde::Serialize;

use super::input::{Input, Who};
use super::kind::Kind;

/// Counts of inputs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Drawn {
    kinds: [u64; 5],
    rolled_back: u64,
    lines: u64,
    remote_lines: u64,
    remote_payments: u64,
    payments_by_name: u64,
    statuses_by_name: u64,
    /// Districts that had nothing to deliver.
    skipped: u64,
}

/// One of the shares and means that are limited.
#[derive(Debug, Clone, Serialize)]
pub struct Audited {
    /// What it is.
    pub name: String,
    /// What it was; a share from 0 to 1, or a number of lines.
    pub value: f64,
    /// The least that is allowed.
    pub least: f64,
    /// The most that is allowed.
    pub most: f64,
    /// Of how many it is.
    pub of: u64,
    /// What that means.
    pub verdict: Verdict,
}

/// What the audit says of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Inside the limits.
    Inside,
    /// Outside, but no further from where it should be than chance has it in so few (three standard deviations).
    TooFew,
    /// Outside, and not by chance.
    Outside,
}

/// A value with what it should be, and how far a single draw lies from it (its standard deviation).
struct Draw {
    name: &'static str,
    value: f64,
    target: f64,
    deviation: f64,
    limits: (f64, f64),
    of: u64,
}

impl Drawn {
    pub(super) fn note(&mut self, input: &Input) {
        match input {
            Input::NewOrder(order) => {
                self.kinds[0] += 1;
                self.rolled_back += u64::from(order.has_unused_item());
                self.lines += order.lines.len() as u64;
                let remote =
                    order.lines.iter().filter(|line| line.warehouse != order.district.warehouse).count();
                self.remote_lines += remote as u64;
            }
            Input::Payment(payment) => {
                self.kinds[1] += 1;
                self.remote_payments += u64::from(payment.of.warehouse != payment.district.warehouse);
                self.payments_by_name += u64::from(is_name(&payment.customer));
            }
            Input::OrderStatus(status) => {
                self.kinds[2] += 1;
                self.statuses_by_name += u64::from(is_name(&status.customer));
            }
            Input::Delivery(_) => self.kinds[3] += 1,
            Input::StockLevel(_) => self.kinds[4] += 1,
        }
    }

    pub(super) fn note_skipped(&mut self, districts: u32) {
        self.skipped += u64::from(districts);
    }

    pub(super) fn add(&mut self, other: &Self) {
        (0..5).for_each(|kind| self.kinds[kind] += other.kinds[kind]);
        self.rolled_back += other.rolled_back;
        self.lines += other.lines;
        self.remote_lines += other.remote_lines;
        self.remote_payments += other.remote_payments;
        self.payments_by_name += other.payments_by_name;
        self.statuses_by_name += other.statuses_by_name;
        self.skipped += other.skipped;
    }

    /// All that is limited and was drawn at all. With one warehouse nothing is remote.
    pub(super) fn audited(&self, warehouses: u32) -> Vec<Audited> {
        let [new_orders, payments, statuses, deliveries, _] = self.kinds;
        let all: u64 = self.kinds.iter().sum();
        let mut draws: Vec<Draw> = Kind::ALL[1..]
            .iter()
            .map(|kind| {
                let number = self.kinds[*kind as usize];
                // Decks hold to the shares but for the ones that were not dealt to their end.
                Draw::share(kind.name(), number, all, kind.cards() as f64 / 23.0, (kind.least_share(), 1.0))
            })
            .collect();
        draws.push(Draw::share("New-Orders rolled back", self.rolled_back, new_orders, 0.01, (0.009, 0.011)));
        draws.push(Draw::mean_lines(self.lines, new_orders));
        draws.push(Draw::share("Payments by last name", self.payments_by_name, payments, 0.6, (0.57, 0.63)));
        draws.push(Draw::share(
            "Order-Status by last name",
            self.statuses_by_name,
            statuses,
            0.6,
            (0.57, 0.63),
        ));
        draws.push(Draw::share("Deliveries skipped", self.skipped, deliveries * 10, 0.0, (0.0, 0.01)));
        if warehouses > 1 {
            draws.push(Draw::share(
                "Order lines from other warehouses",
                self.remote_lines,
                self.lines,
                0.01,
                (0.0095, 0.0105),
            ));
            draws.push(Draw::share(
                "Payments to other warehouses",
                self.remote_payments,
                payments,
                0.15,
                (0.14, 0.16),
            ));
        }
        draws.into_iter().filter(|draw| draw.of > 0).map(Draw::audited).collect()
    }
}

fn is_name(who: &Who) -> bool {
    matches!(who, Who::LastName(_))
}

impl Draw {
    fn share(name: &'static str, number: u64, of: u64, target: f64, limits: (f64, f64)) -> Self {
        let deviation = (target * (1.0 - target)).sqrt();
        Self { name, value: number as f64 / of.max(1) as f64, target, deviation, limits, of }
    }

    /// From 5 to 15 lines, each number as often.
    fn mean_lines(lines: u64, orders: u64) -> Self {
        let deviation = 10.0_f64.sqrt();
        let value = lines as f64 / orders.max(1) as f64;
        Self { name: "Lines of an order", value, target: 10.0, deviation, limits: (9.5, 10.5), of: orders }
    }

    fn audited(self) -> Audited {
        let (least, most) = self.limits;
        let chance = 3.0 * self.deviation / (self.of as f64).sqrt();
        let verdict = if self.of == 0 {
            Verdict::TooFew
        } else if (least..=most).contains(&self.value) {
            Verdict::Inside
        } else if (self.value - self.target).abs() <= chance {
            Verdict::TooFew
        } else {
            Verdict::Outside
        };
        Audited { name: self.name.to_owned(), value: self.value, least, most, of: self.of, verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::deck::Deck;
    use crate::tpcc::input::{District, Drawer};
    use crate::tpcc::random::{Constants, Purpose, c_last_of_load, generator};

    /// What eight terminals draw in so many transactions.
    fn drawn(seed: u64, transactions: u32) -> Drawn {
        let mut drawn = Drawn::default();
        for number in 0..8 {
            let mut drawer = Drawer {
                rng: generator(seed, Purpose::Terminals, [number, 1]),
                constants: Constants::draw(seed, c_last_of_load(1)),
                warehouses: 4,
                home: District { warehouse: number % 4 + 1, number: 1 },
            };
            let mut deck = Deck::default();
            for _ in 0..transactions / 8 {
                let kind = deck.deal(&mut drawer.rng);
                drawn.note(&drawer.draw(kind));
            }
        }
        drawn
    }

    #[test]
    fn inputs_are_inside_the_limits() {
        for seed in 1..=4 {
            let audited = drawn(seed, 400_000).audited(4);
            assert_eq!(audited.len(), 11);
            for of in audited {
                assert_eq!(of.verdict, Verdict::Inside, "seed {seed}: {of:?}");
            }
        }
    }

    fn verdict(number: u64, of: u64) -> Verdict {
        Draw::share("", number, of, 0.01, (0.009, 0.011)).audited().verdict
    }

    #[test]
    fn chance_excuses_few_but_not_many() {
        assert_eq!(verdict(10, 1000), Verdict::Inside);
        assert_eq!(verdict(15, 1000), Verdict::TooFew);
        assert_eq!(verdict(0, 50), Verdict::TooFew);
        // Of none nothing is known, whatever the limits are.
        assert_eq!(Draw::share("", 0, 0, 0.0, (0.0, 0.1)).audited().verdict, Verdict::TooFew);
        assert_eq!(verdict(30, 1000), Verdict::Outside);
        assert_eq!(verdict(1500, 100_000), Verdict::Outside);
    }

    #[test]
    fn nothing_is_remote_in_one_warehouse() {
        let drawn = Drawn { kinds: [100, 100, 10, 10, 10], lines: 1000, ..Drawn::default() };
        let names = |warehouses| {
            drawn.audited(warehouses).into_iter().map(|audited| audited.name).collect::<Vec<_>>()
        };
        assert_eq!(names(2).len(), names(1).len() + 2);
        assert!(Drawn::default().audited(2).is_empty());
    }
}
