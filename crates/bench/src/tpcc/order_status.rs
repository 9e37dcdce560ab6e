//! Order-Status (clause 2.6), which changes nothing: in one round trip, or in two where the customer is named by last name. All is read as
//! of one moment.

use super::input::{District, OrderStatus, Who};
use super::statements::Statement;
use super::terminal::{Done, Terminal, key, middle};
use crate::Result;

impl Terminal {
    pub(super) fn order_status(&mut self, status: &OrderStatus) -> Result<Done> {
        let district = status.district;
        self.add(Statement::OneSnapshot, &[])?;
        match &status.customer {
            Who::Number(customer) => {
                self.add(Statement::Asker, &district.customer(*customer))?;
                self.add_last_order(district, *customer)?;
                self.ask()?;
                self.check_order(status, self.answer(1).rows() == 1, 2)
            }
            Who::LastName(name) => {
                self.add(Statement::Askers, &district.named(name))?;
                self.ask()?;
                let customers = self.answer(1);
                let customer = key(customers, middle(customers.rows()), 0);
                let customer = customer
                    .ok_or_else(|| self.missing(format_args!("{} of {district}", status.customer)))?;
                self.add_last_order(district, customer)?;
                self.ask()?;
                self.check_order(status, true, 0)
            }
        }
    }

    fn add_last_order(&mut self, district: District, customer: u32) -> Result<()> {
        let values = district.customer(customer);
        self.add(Statement::LastOrder, &values)?;
        self.add(Statement::LinesOfLastOrder, &[&district.values()[..], &values].concat())?;
        self.add_end();
        Ok(())
    }

    /// Each customer has an order, and each order has lines.
    fn check_order(&self, status: &OrderStatus, has_customer: bool, order: usize) -> Result<Done> {
        if has_customer && self.answer(order).rows() == 1 && self.answer(order + 1).rows() > 0 {
            return Ok(Done::default());
        }
        Err(self.missing(format_args!("{} of {}, or the last order", status.customer, status.district)))
    }
}
