//! What a transaction has to wait for, as the logs tell it.

use crate::chain::Item;
use crate::event::Gtid;

use super::super::transaction::Order;

/// MariaDB tells of each transaction in which group it was committed: those of one group can be applied at once.
#[derive(Debug, Default)]
pub(super) struct GroupClock {
    group: Option<u64>,
    /// The last transaction before the group.
    before: u64,
}

impl GroupClock {
    /// The order of the transaction with this ordinal.
    pub(super) fn order(&mut self, item: &Item<'_>, gtid: Option<&Gtid<'_>>, ordinal: u64) -> Order {
        let log = item.number;
        match gtid {
            Some(Gtid::Mysql(gtid)) => gtid.clock.map_or(Order::Serial, |clock| Order::Clocked {
                log,
                sequence_number: clock.number,
                last_committed: clock.after,
            }),
            Some(Gtid::Mariadb(gtid)) => {
                if gtid.group.is_none() || gtid.group != self.group {
                    *self = Self { group: gtid.group, before: ordinal - 1 };
                }
                Order::Clocked { log: 0, sequence_number: ordinal, last_committed: self.before }
            }
            None => Order::Serial,
        }
    }
}
