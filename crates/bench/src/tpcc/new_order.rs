//! New-Order (clause 2.4), in three round trips: what is read, with the rows locked that will change; what is written; the end.
//!
//! All New-Orders lock stock in the order of its key and their district behind it, so that no two of them wait for each other in a circle.

use drover_db::wire::{Answer, Value};

use super::input::{self, NewOrder};
use super::money::Cents;
use super::statements::{Statement, slots};
use super::terminal::{Done, Terminal, key, number};
use crate::Result;

/// A line at work.
struct Line {
    item: u32,
    warehouse: u32,
    quantity: i64,
    /// None as long as it is not known, and for an item that there is not.
    price: Option<Cents>,
    /// How many there are, and then how many will be left.
    in_stock: Option<i64>,
    text: Vec<u8>,
}

/// Lines that one statement reads or changes the stock of: of one warehouse, and each of another item.
struct Group {
    warehouse: u32,
    lines: Vec<usize>,
}

impl Line {
    fn new(line: &input::Line) -> Self {
        let quantity = line.quantity.into();
        Self {
            item: line.item,
            warehouse: line.warehouse,
            quantity,
            price: None,
            in_stock: None,
            text: Vec::new(),
        }
    }

    fn is_of_same_stock(&self, other: &Self) -> bool {
        (self.item, self.warehouse) == (other.item, other.warehouse)
    }
}

impl Terminal {
    pub(super) fn new_order(&mut self, order: &NewOrder) -> Result<Done> {
        let mut lines: Vec<Line> = order.lines.iter().map(Line::new).collect();
        let groups = groups(&lines);
        let order_number = self.read_order(order, &mut lines, &groups)?;
        take_from_stock(&mut lines, &groups);
        self.write_order(order, order_number, &lines, &groups)?;
        let is_rolled_back = lines.iter().any(|line| line.price.is_none());
        if is_rolled_back {
            self.roll_back()?;
        } else {
            self.commit()?;
        }
        Ok(Done { is_rolled_back, skipped: 0 })
    }

    /// Reads all that is needed and returns the order's number.
    fn read_order(&mut self, order: &NewOrder, lines: &mut [Line], groups: &[Group]) -> Result<u32> {
        let items: Vec<_> = lines.iter().map(|line| line.item).collect();
        let count = slots(items.len());
        self.add(Statement::Items(count), &filled(&items, count))?;
        self.add(Statement::Buyer, &order.district.customer(order.customer))?;
        for group in groups {
            let items: Vec<_> = group.lines.iter().map(|line| lines[*line].item).collect();
            let count = slots(items.len());
            let place = [number(order.district.number), number(group.warehouse)];
            self.add(Statement::Stock(count), &[&place[..], &filled(&items, count)].concat())?;
        }
        self.add(Statement::District, &order.district.values())?;
        self.ask()?;
        take_prices(lines, self.answer(0));
        if self.answer(1).rows() == 0 {
            return Err(self.missing(format_args!("customer {} of {}", order.customer, order.district)));
        }
        for (index, group) in groups.iter().enumerate() {
            take_stock(lines, group, self.answer(2 + index));
        }
        if let Some(line) = lines.iter().find(|line| line.price.is_some() && line.in_stock.is_none()) {
            return Err(
                self.missing(format_args!("stock of item {} in warehouse {}", line.item, line.warehouse))
            );
        }
        key(self.answer(2 + groups.len()), 0, 0).ok_or_else(|| self.missing(order.district))
    }

    /// Writes what there is of the order, also where it will be rolled back.
    fn write_order(
        &mut self,
        order: &NewOrder,
        order_number: u32,
        lines: &[Line],
        groups: &[Group],
    ) -> Result<()> {
        let home = order.district.warehouse;
        for group in groups {
            let found: Vec<_> =
                group.lines.iter().map(|line| &lines[*line]).filter(|line| line.price.is_some()).collect();
            if !found.is_empty() {
                let count = slots(found.len());
                let values = stock_values(&found, group.warehouse, group.warehouse != home, count);
                self.add(Statement::ChangeStock(count), &values)?;
            }
        }
        self.add(Statement::NextOrder, &order.district.values())?;
        let all_local = lines.iter().all(|line| line.warehouse == home);
        let key = [number(order_number), number(order.district.number), number(home)];
        let rest = [number(order.customer), number(lines.len() as u32), number(all_local.into())];
        self.add(Statement::InsertOrder, &[key, rest].concat())?;
        self.add(Statement::InsertNewOrder, &key)?;
        self.add_lines(key, lines)?;
        self.ask()
    }

    fn add_lines(&mut self, key: [Value<'_>; 3], lines: &[Line]) -> Result<()> {
        let found = || lines.iter().enumerate().filter_map(|(index, line)| Some((index, line, line.price?)));
        let amounts: Vec<_> = found().map(|(_, line, price)| Cents(price.0 * line.quantity).text()).collect();
        if amounts.is_empty() {
            return Ok(());
        }
        let mut values = Vec::with_capacity(9 * amounts.len());
        for ((index, line, _), amount) in found().zip(&amounts) {
            values.extend(key);
            values.extend([
                number(index as u32 + 1),
                number(line.item),
                number(line.warehouse),
                Value::Int(line.quantity),
            ]);
            values.extend([Value::Decimal(amount.as_bytes()), Value::Text(&line.text)]);
        }
        self.add(Statement::InsertLines(amounts.len()), &values)
    }
}

/// Values for so many slots: what is fewer is filled up by the last.
fn filled(items: &[u32], slots: usize) -> Vec<Value<'static>> {
    let last = items.last().copied().unwrap_or(0);
    items.iter().copied().chain(std::iter::repeat(last)).take(slots).map(number).collect()
}

/// The lines in the order in which their stock is locked, as few statements as there can be.
fn groups(lines: &[Line]) -> Vec<Group> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|index| (lines[*index].warehouse, lines[*index].item));
    let mut groups: Vec<Group> = Vec::new();
    for index in order {
        let line = &lines[index];
        let takes = |group: &&mut Group| {
            group.warehouse == line.warehouse
                && group.lines.iter().all(|other| lines[*other].item != line.item)
        };
        match groups.iter_mut().find(takes) {
            Some(group) => group.lines.push(index),
            None => groups.push(Group { warehouse: line.warehouse, lines: vec![index] }),
        }
    }
    groups
}

fn take_prices(lines: &mut [Line], items: &Answer) {
    for row in 0..items.rows() {
        let price = items.bytes(row, 1).and_then(Cents::parse);
        lines
            .iter_mut()
            .filter(|line| key(items, row, 0) == Some(line.item))
            .for_each(|line| line.price = price);
    }
}

fn take_stock(lines: &mut [Line], group: &Group, stock: &Answer) {
    for row in 0..stock.rows() {
        let item = key(stock, row, 0);
        if let Some(index) = group.lines.iter().find(|index| Some(lines[**index].item) == item) {
            lines[*index].in_stock = stock.integer(row, 1);
            lines[*index].text = stock.bytes(row, 3).unwrap_or_default().to_vec();
        }
    }
}

/// How many will be left: where fewer than ten would be, 91 more come in. An item may stand in two lines of an order.
fn take_from_stock(lines: &mut [Line], groups: &[Group]) {
    for index in groups.iter().flat_map(|group| &group.lines) {
        let Some(in_stock) = lines[*index].in_stock else { continue };
        let left = in_stock - lines[*index].quantity;
        lines[*index].in_stock = Some(if left >= 10 { left } else { left + 91 });
        let Some(left) = lines[*index].in_stock else { continue };
        let later = groups.iter().flat_map(|group| &group.lines).skip_while(|other| *other != index).skip(1);
        for other in later {
            if lines[*other].is_of_same_stock(&lines[*index]) {
                lines[*other].in_stock = Some(left);
            }
        }
    }
}

/// What `Statement::ChangeStock` takes: twice a value for each item, whether it is remote, and which rows they are.
fn stock_values(lines: &[&Line], warehouse: u32, is_remote: bool, slots: usize) -> Vec<Value<'static>> {
    let last = lines[lines.len() - 1];
    let all = || lines.iter().copied().chain(std::iter::repeat(last)).take(slots);
    let mut values = Vec::with_capacity(5 * slots + 2);
    values.extend(all().flat_map(|line| [number(line.item), Value::Int(line.in_stock.unwrap_or(0))]));
    values.extend(all().flat_map(|line| [number(line.item), Value::Int(line.quantity)]));
    values.extend([number(is_remote.into()), number(warehouse)]);
    values.extend(all().map(|line| number(line.item)));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(item: u32, warehouse: u32, quantity: u32) -> Line {
        Line::new(&input::Line { item, warehouse, quantity })
    }

    #[test]
    fn stock_is_locked_in_the_order_of_its_key() {
        let lines = [line(7, 2, 1), line(9, 1, 1), line(3, 2, 1), line(7, 2, 1), line(5, 1, 1)];
        let groups = groups(&lines);
        let shown: Vec<_> = groups.iter().map(|group| (group.warehouse, group.lines.clone())).collect();
        assert_eq!(shown, [(1, vec![4, 1]), (2, vec![2, 0]), (2, vec![3])]);
    }

    #[test]
    fn what_is_left_of_an_item_that_stands_in_two_lines() {
        let mut lines = [line(7, 1, 5), line(8, 1, 10), line(7, 1, 4)];
        for line in &mut lines {
            line.in_stock = Some(20);
        }
        let groups = groups(&lines);
        take_from_stock(&mut lines, &groups);
        assert_eq!(lines.map(|line| line.in_stock), [Some(15), Some(10), Some(11)]);
        let mut few = [line(7, 1, 5)];
        few[0].in_stock = Some(14);
        let one = [Group { warehouse: 1, lines: vec![0] }];
        take_from_stock(&mut few, &one);
        assert_eq!(few[0].in_stock, Some(100));
    }

    #[test]
    fn values_are_filled_up_by_the_last() {
        assert_eq!(filled(&[3, 4], 5), [3, 4, 4, 4, 4].map(number));
        let lines = [line(7, 1, 5), line(8, 1, 6)];
        let values = stock_values(&lines.iter().collect::<Vec<_>>(), 1, true, 5);
        assert_eq!(values.len(), 27);
        assert_eq!(values[20..22], [number(1), number(1)]);
        assert_eq!(values[22..], [7, 8, 8, 8, 8].map(number));
    }
}
