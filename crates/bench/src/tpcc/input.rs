//! What terminals enter: the input of each transaction, drawn by the rules of clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1.

use fastrand::Rng;

use super::kind::Kind;
use super::money::Cents;
use super::random::Constants;
use super::schema::{DISTRICTS, FEWEST_LINES, ITEMS, MOST_LINES};

/// The input of a transaction, which stays the same when it has to be tried again.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// A district, by its warehouse's number and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct District {
    pub(super) warehouse: u32,
    pub(super) number: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewOrder {
    pub(super) district: District,
    pub(super) customer: u32,
    pub(super) lines: Vec<Line>,
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) item: u32,
    /// The warehouse that supplies it.
    pub(super) warehouse: u32,
    pub(super) quantity: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Payment {
    /// Where it is paid.
    pub(super) district: District,
    /// The customer's.
    pub(super) of: District,
    pub(super) customer: Who,
    pub(super) amount: Cents,
}

/// How a customer is named.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Who {
    Number(u32),
    LastName(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OrderStatus {
    pub(super) district: District,
    pub(super) customer: Who,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Delivery {
    pub(super) warehouse: u32,
    pub(super) carrier: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StockLevel {
    pub(super) district: District,
    pub(super) threshold: u32,
}

/// An item that there is not: its order is rolled back.
const UNUSED_ITEM: u32 = ITEMS + 1;

impl NewOrder {
    /// Whether its last line has an item that there is not.
    pub(super) fn has_unused_item(&self) -> bool {
        self.lines.iter().any(|line| line.item == UNUSED_ITEM)
    }
}

/// Who draws a terminal's inputs.
#[derive(Debug)]
pub(super) struct Drawer {
    pub(super) rng: Rng,
    pub(super) constants: Constants,
    /// How many warehouses there are.
    pub(super) warehouses: u32,
    /// The terminal's own district: of its warehouse are all its transactions, of the district itself its Stock-Levels.
    pub(super) home: District,
}

impl Drawer {
    pub(super) fn draw(&mut self, kind: Kind) -> Input {
        match kind {
            Kind::NewOrder => Input::NewOrder(self.new_order()),
            Kind::Payment => Input::Payment(self.payment()),
            Kind::OrderStatus => Input::OrderStatus(OrderStatus {
                district: self.district(self.home.warehouse),
                customer: self.who(),
            }),
            Kind::Delivery => {
                Input::Delivery(Delivery { warehouse: self.home.warehouse, carrier: self.rng.u32(1..=10) })
            }
            Kind::StockLevel => {
                Input::StockLevel(StockLevel { district: self.home, threshold: self.rng.u32(10..=20) })
            }
        }
    }

    fn new_order(&mut self) -> NewOrder {
        let district = self.district(self.home.warehouse);
        let customer = self.constants.customer(&mut self.rng);
        let count = self.rng.u32(FEWEST_LINES..=MOST_LINES);
        let is_to_fail = self.rng.u32(1..=100) == 1;
        let mut lines: Vec<_> = (0..count).map(|_| self.line()).collect();
        if let Some(last) = lines.last_mut().filter(|_| is_to_fail) {
            last.item = UNUSED_ITEM;
        }
        NewOrder { district, customer, lines }
    }

    fn line(&mut self) -> Line {
        let item = self.constants.item(&mut self.rng);
        let is_remote = self.rng.u32(1..=100) == 1;
        let warehouse = if is_remote { self.other_warehouse() } else { self.home.warehouse };
        Line { item, warehouse, quantity: self.rng.u32(1..=10) }
    }

    fn payment(&mut self) -> Payment {
        let district = self.district(self.home.warehouse);
        let is_remote = self.rng.u32(1..=100) > 85 && self.warehouses > 1;
        let of = if is_remote {
            let warehouse = self.other_warehouse();
            self.district(warehouse)
        } else {
            district
        };
        Payment { district, of, customer: self.who(), amount: Cents(self.rng.i64(100..=500_000)) }
    }

    fn who(&mut self) -> Who {
        match self.rng.u32(1..=100) {
            ..=60 => Who::LastName(self.constants.last_name(&mut self.rng)),
            _ => Who::Number(self.constants.customer(&mut self.rng)),
        }
    }

    fn district(&mut self, warehouse: u32) -> District {
        District { warehouse, number: self.rng.u32(1..=DISTRICTS) }
    }

    /// Any warehouse but the home one; that one where there is no other.
    fn other_warehouse(&mut self) -> u32 {
        if self.warehouses == 1 {
            return self.home.warehouse;
        }
        let other = self.rng.u32(1..self.warehouses);
        if other >= self.home.warehouse { other + 1 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use proptest::prelude::*;

    use super::*;
    use crate::tpcc::random::c_last_of_load;

    fn drawer(warehouses: u32, home: u32, seed: u64) -> Drawer {
        Drawer {
            rng: Rng::with_seed(seed),
            constants: Constants::draw(seed, c_last_of_load(seed)),
            warehouses,
            home: District { warehouse: home, number: 3 },
        }
    }

    proptest! {
        #[test]
        fn inputs_stay_in_their_ranges(warehouses in 1..6_u32, seed in any::<u64>()) {
            let home = seed as u32 % warehouses + 1;
            let mut drawer = drawer(warehouses, home, seed);
            for _ in 0..50 {
                let Input::NewOrder(order) = drawer.draw(Kind::NewOrder) else { unreachable!() };
                prop_assert!(order.district.warehouse == home && (1..=10).contains(&order.district.number));
                prop_assert!((5..=15).contains(&order.lines.len()));
                for line in &order.lines {
                    prop_assert!((1..=warehouses).contains(&line.warehouse) && (1..=10).contains(&line.quantity));
                    prop_assert!((1..=UNUSED_ITEM).contains(&line.item));
                }
                let Input::Payment(payment) = drawer.draw(Kind::Payment) else { unreachable!() };
                prop_assert!((1..=warehouses).contains(&payment.of.warehouse) && payment.district.warehouse == home);
                prop_assert!(payment.of.warehouse != home || payment.of == payment.district);
            }
        }
    }

    #[test]
    fn another_warehouse_is_never_the_home_one_and_each_of_the_others() {
        let mut drawer = drawer(4, 2, 1);
        let mut seen: Vec<u32> = (0..200).map(|_| drawer.other_warehouse()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [1, 3, 4]);
    }
}
