//! Delivery (clause 2.7): the oldest order of each district of a warehouse, all in one transaction of four round trips.

use drover_db::wire::Value;

use super::input::{Delivery, District};
use super::money::Cents;
use super::schema::DISTRICTS;
use super::statements::Statement;
use super::terminal::{Done, Terminal, key, number};
use crate::Result;

impl Terminal {
    pub(super) fn delivery(&mut self, delivery: &Delivery) -> Result<Done> {
        let orders = self.oldest_orders(delivery.warehouse)?;
        let skipped = DISTRICTS - orders.len() as u32;
        if orders.is_empty() {
            self.commit()?;
            return Ok(Done { is_rolled_back: false, skipped });
        }
        self.deliver_orders(delivery, &orders)?;
        self.credit_customers(delivery.warehouse, &orders)?;
        self.commit()?;
        Ok(Done { is_rolled_back: false, skipped })
    }

    /// District and number of the oldest order of each district that has one, which are locked.
    fn oldest_orders(&mut self, warehouse: u32) -> Result<Vec<(u32, u32)>> {
        for district in 1..=DISTRICTS {
            self.add(Statement::OldestNewOrder, &District { warehouse, number: district }.values())?;
        }
        self.ask()?;
        let order = |district: u32| Some((district, key(self.answer(district as usize - 1), 0, 0)?));
        Ok((1..=DISTRICTS).filter_map(order).collect())
    }

    fn deliver_orders(&mut self, delivery: &Delivery, orders: &[(u32, u32)]) -> Result<()> {
        let last = orders[orders.len() - 1];
        let all = orders.iter().copied().chain(std::iter::repeat(last)).take(DISTRICTS as usize);
        let mut which = vec![number(delivery.warehouse)];
        which.extend(all.flat_map(|(district, order)| [number(district), number(order)]));
        let with_carrier: Vec<Value<'_>> = [&[number(delivery.carrier)][..], &which].concat();
        self.add(Statement::DeleteNewOrders, &which)?;
        self.add(Statement::Recipients, &which)?;
        self.add(Statement::SetCarrier, &with_carrier)?;
        self.add(Statement::SetDelivered, &which)?;
        self.add(Statement::Amounts, &which)?;
        self.ask()
    }

    /// Each customer owes what the lines of the order cost.
    fn credit_customers(&mut self, warehouse: u32, orders: &[(u32, u32)]) -> Result<()> {
        let mut credits = Vec::with_capacity(orders.len());
        for (district, order) in orders {
            let district = District { warehouse, number: *district };
            let found = self.in_district(1, district, |answer, row| key(answer, row, 1));
            let amount = self.in_district(4, district, |answer, row| Cents::parse(answer.bytes(row, 1)?));
            match (found, amount) {
                (Some(customer), Some(amount)) => credits.push((district, customer, amount.text())),
                _ => return Err(self.missing(format_args!("order {order} of {district}, or its lines"))),
            }
        }
        for (district, customer, amount) in &credits {
            let values = [&[Value::Decimal(amount.as_bytes())][..], &district.customer(*customer)].concat();
            self.add(Statement::Deliver, &values)?;
        }
        self.ask()
    }

    /// What an answer whose first column is the district says of one.
    fn in_district<T>(
        &self,
        answer: usize,
        district: District,
        read: impl Fn(&drover_db::wire::Answer, usize) -> Option<T>,
    ) -> Option<T> {
        let answer = self.answer(answer);
        let row = (0..answer.rows()).find(|row| key(answer, *row, 0) == Some(district.number))?;
        read(answer, row)
    }
}
