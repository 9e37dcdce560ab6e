//! Stock-Level (clause 2.8), which changes nothing, in two round trips.

use super::input::StockLevel;
use super::statements::Statement;
use super::terminal::{Done, Terminal, key, number};
use crate::Result;

/// So many of the district's last orders are looked at.
const LAST_ORDERS: u32 = 20;

impl Terminal {
    pub(super) fn stock_level(&mut self, level: &StockLevel) -> Result<Done> {
        self.add(Statement::NextOrderNumber, &level.district.values())?;
        self.ask()?;
        let next = key(self.answer(0), 0, 0).ok_or_else(|| self.missing(level.district))?;
        let orders = [number(next.saturating_sub(LAST_ORDERS)), number(next), number(level.threshold)];
        self.add(Statement::LowStock, &[&level.district.values()[..], &orders].concat())?;
        self.add_end();
        self.ask()?;
        Ok(Done::default())
    }
}
