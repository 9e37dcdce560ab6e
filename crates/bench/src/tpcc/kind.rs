//! The five transactions' types, and what the specification says of each.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A type of transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An order of 5 to 15 lines comes in.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the last order.
    OrderStatus,
    /// The oldest order of each district is delivered.
    Delivery,
    /// The items of a district's last orders of which few are left are counted.
    StockLevel,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Its share of all transactions is at least this (clause 5.2.3).
    pub fn least_share(self) -> f64 {
        match self {
            Self::NewOrder => 0.0,
            Self::Payment => 0.43,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 0.04,
        }
    }

    /// How many cards of a deck of 23 say it (clause 5.2.4.2).
    pub(super) fn cards(self) -> usize {
        match self {
            Self::NewOrder | Self::Payment => 10,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 1,
        }
    }

    /// Of a hundred, 90 are to be answered within this time (clause 5.2.5.3).
    pub fn most_p90(self) -> Duration {
        match self {
            Self::StockLevel => Duration::from_secs(20),
            _ => Duration::from_secs(5),
        }
    }

    /// How long its input takes to be typed (clause 5.2.5.2).
    pub(super) fn keying(self) -> Duration {
        Duration::from_secs(match self {
            Self::NewOrder => 18,
            Self::Payment => 3,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2,
        })
    }

    /// The mean of the times for which its output is looked at (clause 5.2.5.7).
    pub(super) fn mean_think(self) -> Duration {
        Duration::from_secs(match self {
            Self::NewOrder | Self::Payment => 12,
            Self::OrderStatus => 10,
            Self::Delivery | Self::StockLevel => 5,
        })
    }
}
