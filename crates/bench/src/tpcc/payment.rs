//! Payment (clause 2.5), in three round trips: who pays where; what is written, the warehouse's row last, as all Payments of a warehouse
//! wait for it; the end.

use drover_db::wire::Value;

use super::input::{Payment, Who};
use super::statements::Statement;
use super::terminal::{Done, Terminal, key, middle, number};
use crate::Result;

impl Terminal {
    pub(super) fn payment(&mut self, payment: &Payment) -> Result<Done> {
        self.add(Statement::Places, &payment.district.values())?;
        if let Who::LastName(name) = &payment.customer {
            self.add(Statement::Named, &payment.of.named(name))?;
        }
        self.ask()?;
        let customer = self.payer(payment)?;
        let data = self.history_data(payment)?;
        self.write_payment(payment, customer, &data)?;
        self.commit()?;
        Ok(Done::default())
    }

    fn payer(&self, payment: &Payment) -> Result<u32> {
        let customer = match &payment.customer {
            Who::Number(number) => Some(*number),
            Who::LastName(_) => key(self.answer(1), middle(self.answer(1).rows()), 0),
        };
        customer.ok_or_else(|| self.missing(format_args!("{} of {}", payment.customer, payment.of)))
    }

    /// The names of warehouse and district, four spaces apart.
    fn history_data(&self, payment: &Payment) -> Result<Vec<u8>> {
        let places = self.answer(0);
        match (places.bytes(0, 0), places.bytes(0, 6)) {
            (Some(warehouse), Some(district)) => Ok([warehouse, b"    ", district].concat()),
            _ => Err(self.missing(payment.district)),
        }
    }

    fn write_payment(&mut self, payment: &Payment, customer: u32, data: &[u8]) -> Result<()> {
        let (of, at) = (payment.of, payment.district);
        let text = payment.amount.text();
        let amount = Value::Decimal(text.as_bytes());
        let note = format!(
            "{customer} {} {} {} {} {}|",
            of.number,
            of.warehouse,
            at.number,
            at.warehouse,
            String::from_utf8_lossy(text.as_bytes())
        );
        let paid = [amount, amount, Value::Text(note.as_bytes())];
        self.add(Statement::Pay, &[paid, of.customer(customer)].concat())?;
        self.add(Statement::Payer, &of.customer(customer))?;
        let history = [
            number(customer),
            number(of.number),
            number(of.warehouse),
            number(at.number),
            number(at.warehouse),
        ];
        self.add(Statement::InsertHistory, &[&history[..], &[amount, Value::Text(data)]].concat())?;
        self.add(Statement::PayDistrict, &[&[amount][..], &at.values()].concat())?;
        self.add(Statement::PayWarehouse, &[amount, number(at.warehouse)])?;
        self.ask()?;
        // A payment of nobody would be one of money that nobody has.
        match self.answer(1).rows() {
            0 => Err(self.missing(format_args!("customer {customer} of {of}"))),
            _ => Ok(()),
        }
    }
}
