//! What bytes are charged to: tables, by their rows, and kinds of statements.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::event::TableMap;
use crate::log::RowChange;

/// The number of a cause.
pub(crate) type CauseId = usize;

/// What caused bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// Rows of a table: its schema and its name.
    Table(Vec<u8>, Vec<u8>),
    /// Statements of a kind.
    Statement(String),
    /// A statement that has this number elsewhere.
    Text(usize),
}

/// A cause, and what was charged to it.
#[derive(Debug)]
pub(crate) struct Charged {
    pub(crate) cause: Cause,
    /// Bytes, its share of what is around included.
    pub(crate) bytes: u64,
    /// The part of these that rows or statements are.
    pub(crate) own_bytes: u64,
    /// Events with rows, by what happened to these; of statements, the first says how many there are.
    pub(crate) events: [u64; 3],
    /// Transactions that have to do with it.
    pub(crate) transactions: u64,
    /// Bytes in the transaction at hand, unpacked.
    weight: u64,
}

/// All causes, and which the transaction at hand has.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    all: Vec<Charged>,
    by_name: HashMap<Cause, CauseId>,
    /// By the number that a log gives a table, until it gives it to another; `None` for one that is not wanted.
    by_table_id: HashMap<u64, Option<CauseId>>,
    /// By the number of a statement.
    by_text: Vec<Option<CauseId>>,
    touched: Vec<CauseId>,
    /// Bytes in the transaction at hand that are not wanted.
    unwanted: u64,
}

impl Causes {
    /// The table that a number stands for from here on; `is_wanted` is asked whether it is.
    pub(crate) fn table(&mut self, map: &TableMap<'_>, is_wanted: impl FnOnce() -> bool) -> Option<CauseId> {
        if let Some(&Some(id)) = self.by_table_id.get(&map.id)
            && matches!(&self.all[id].cause, Cause::Table(schema, table) if schema == map.schema && table == map.table)
        {
            return Some(id);
        }
        let id = is_wanted().then(|| self.of(Cause::Table(map.schema.to_vec(), map.table.to_vec())));
        self.by_table_id.insert(map.id, id);
        id
    }

    /// The table that a number stands for, if it stands for one: `None` in that for one that is not wanted.
    pub(crate) fn by_table_id(&self, table: u64) -> Option<Option<CauseId>> {
        self.by_table_id.get(&table).copied()
    }

    /// The number of a cause.
    pub(crate) fn of(&mut self, cause: Cause) -> CauseId {
        if let Some(&id) = self.by_name.get(&cause) {
            return id;
        }
        let id = self.all.len();
        self.by_name.insert(cause.clone(), id);
        let (bytes, own_bytes, transactions, weight) = (0, 0, 0, 0);
        self.all.push(Charged { cause, bytes, own_bytes, events: [0; 3], transactions, weight });
        id
    }

    /// The number of the cause that a statement with this number is.
    pub(crate) fn of_text(&mut self, text: usize) -> CauseId {
        if let Some(&Some(id)) = self.by_text.get(text) {
            return id;
        }
        let id = self.of(Cause::Text(text));
        if self.by_text.len() <= text {
            self.by_text.resize(text + 1, None);
        }
        self.by_text[text] = Some(id);
        id
    }

    /// Notes bytes of the transaction at hand.
    pub(crate) fn weigh(&mut self, id: CauseId, bytes: u64) {
        let charged = &mut self.all[id];
        if charged.weight == 0 && bytes > 0 {
            self.touched.push(id);
        }
        charged.weight += bytes;
    }

    /// Notes bytes of the transaction at hand that are not wanted: they bear their share of what is around them.
    pub(crate) fn leave(&mut self, bytes: u64) {
        self.unwanted += bytes;
    }

    /// Notes an event with rows or a statement.
    pub(crate) fn count(&mut self, id: CauseId, change: RowChange) {
        self.all[id].events[change as usize] += 1;
    }

    /// Charges what a transaction takes in the log to its causes; returns how much that is: all but the share of what is not wanted, and
    /// nothing where it has no cause.
    pub(crate) fn charge(&mut self, bytes: u64) -> u64 {
        let unwanted = std::mem::take(&mut self.unwanted);
        let weights = self.touched.iter().map(|&id| self.all[id].weight).sum::<u64>() + unwanted;
        let Some((&last, others)) = self.touched.split_last() else { return 0 };
        let share =
            |weight: u64| (u128::from(bytes) * u128::from(weight) / u128::from(weights.max(1))) as u64;
        let charged = bytes - share(unwanted);
        let mut left = charged;
        for &id in others {
            let part = share(self.all[id].weight);
            self.all[id].settle(part, bytes, weights);
            left -= part;
        }
        self.all[last].settle(left, bytes, weights);
        self.touched.clear();
        charged
    }

    /// All causes, the largest first.
    pub(crate) fn into_sorted(self) -> Vec<Charged> {
        let mut all = self.all;
        all.sort_by_key(|charged| Reverse(charged.bytes));
        all
    }
}

impl Charged {
    /// Takes a share of a transaction of so many bytes, in which all causes have so many.
    fn settle(&mut self, share: u64, bytes: u64, weights: u64) {
        self.bytes += share;
        // Where they were packed, they take less than they weigh.
        self.own_bytes += if weights <= bytes { self.weight } else { share };
        self.transactions += 1;
        self.weight = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_parts_add_up(transactions in prop::collection::vec((prop::collection::vec((0..6_u8, 1..1000_u64), 0..20), 0..5000_u64), 0..20)) {
            let mut causes = Causes::default();
            const UNWANTED: u8 = 5;
            let (mut total, mut other) = (0, 0);
            for (parts, framing) in transactions {
                let mut bytes = framing;
                for (cause, weight) in parts {
                    match cause {
                        UNWANTED => causes.leave(weight),
                        cause => {
                            let id = causes.of(Cause::Statement(cause.to_string()));
                            causes.weigh(id, weight);
                        }
                    }
                    bytes += weight;
                }
                total += bytes;
                other += bytes - causes.charge(bytes);
            }
            let all = causes.into_sorted();
            prop_assert_eq!(all.iter().map(|charged| charged.bytes).sum::<u64>() + other, total);
            prop_assert!(all.iter().all(|charged| charged.own_bytes <= charged.bytes));
        }
    }
}
