//! The statements of the transactions. Those about several rows at once exist for some numbers of rows; what is fewer is filled up by
//! repeating the last, which changes nothing.

use super::schema::{DISTRICTS, MOST_LINES};

/// A statement that is prepared when it is first needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Statement {
    /// So many items.
    Items(usize),
    /// A customer of a New-Order, with the warehouse.
    Buyer,
    /// The stock of so many items in a warehouse, which is locked.
    Stock(usize),
    /// A district, which is locked.
    District,
    /// The stock of so many items in a warehouse is changed.
    ChangeStock(usize),
    NextOrder,
    InsertOrder,
    InsertNewOrder,
    /// So many lines; this one is not filled up.
    InsertLines(usize),
    /// Where a payment is made.
    Places,
    /// The customers of a last name, by their first names.
    Named,
    /// The customer's balance is changed by a payment.
    Pay,
    /// What a payment shows of the customer.
    Payer,
    InsertHistory,
    PayDistrict,
    PayWarehouse,
    /// What follows in this transaction is read as of one moment.
    OneSnapshot,
    /// What Order-Status shows of a customer by number.
    Asker,
    /// The same by last name, of all who have it.
    Askers,
    LastOrder,
    LinesOfLastOrder,
    OldestNewOrder,
    DeleteNewOrders,
    Recipients,
    SetCarrier,
    SetDelivered,
    Amounts,
    /// The customer's balance is changed by a delivery.
    Deliver,
    NextOrderNumber,
    LowStock,
}

/// The numbers of rows that statements about several exist for.
const SLOTS: [usize; 4] = [1, 5, 10, MOST_LINES as usize];

/// The least of these numbers that is enough.
pub(super) fn slots(rows: usize) -> usize {
    SLOTS.into_iter().find(|slots| *slots >= rows).unwrap_or(rows)
}

const OF_CUSTOMER: &str = "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

impl Statement {
    /// Its text.
    pub(super) fn sql(self) -> String {
        match self {
            Self::Items(rows) => {
                format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})", marks(rows))
            }
            Self::Stock(rows) => stock(rows),
            Self::ChangeStock(rows) => change_stock(rows),
            Self::InsertLines(rows) => insert_lines(rows),
            Self::Pay => format!(
                "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, \
                 c_data = IF(c_credit = 'BC', LEFT(CONCAT(?, c_data), 500), c_data) {OF_CUSTOMER}"
            ),
            Self::Payer => format!(
                "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, \
                 c_discount, c_balance, IF(c_credit = 'BC', LEFT(c_data, 200), '') FROM customer {OF_CUSTOMER}"
            ),
            Self::Asker => {
                format!("SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer {OF_CUSTOMER}")
            }
            Self::Deliver => {
                format!(
                    "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 {OF_CUSTOMER}"
                )
            }
            Self::DeleteNewOrders => {
                format!("DELETE FROM new_orders WHERE {}", of_districts("no_w_id", "no_d_id", "no_o_id"))
            }
            Self::Recipients => format!(
                "SELECT o_d_id, o_c_id FROM orders WHERE {}",
                of_districts("o_w_id", "o_d_id", "o_id")
            ),
            Self::SetCarrier => format!(
                "UPDATE orders SET o_carrier_id = ? WHERE {}",
                of_districts("o_w_id", "o_d_id", "o_id")
            ),
            Self::SetDelivered => {
                format!(
                    "UPDATE order_line SET ol_delivery_d = NOW() WHERE {}",
                    of_districts("ol_w_id", "ol_d_id", "ol_o_id")
                )
            }
            Self::Amounts => format!(
                "SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE {} GROUP BY ol_d_id",
                of_districts("ol_w_id", "ol_d_id", "ol_o_id")
            ),
            plain => plain.plain_sql().to_owned(),
        }
    }

    /// The text of one that is always the same.
    fn plain_sql(self) -> &'static str {
        match self {
            Self::Buyer => {
                "SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            Self::District => {
                "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE"
            }
            Self::NextOrder => {
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"
            }
            Self::InsertOrder => {
                "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
                 VALUES (?, ?, ?, ?, NOW(), NULL, ?, ?)"
            }
            Self::InsertNewOrder => "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
            Self::Places => {
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_name, d_street_1, d_street_2, d_city, d_state, d_zip \
                 FROM district JOIN warehouse ON w_id = d_w_id WHERE d_w_id = ? AND d_id = ?"
            }
            Self::Named => {
                "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first"
            }
            Self::InsertHistory => {
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)"
            }
            Self::PayDistrict => "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
            Self::PayWarehouse => "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
            Self::OneSnapshot => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            Self::Askers => {
                "SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
                 ORDER BY c_first"
            }
            Self::LastOrder => {
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                 ORDER BY o_id DESC LIMIT 1"
            }
            Self::LinesOfLastOrder => {
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = \
                 (SELECT MAX(o_id) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?)"
            }
            Self::OldestNewOrder => {
                "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE"
            }
            Self::NextOrderNumber => "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
            // The lines of the last 20 orders are few: they come first.
            Self::LowStock => {
                "SELECT COUNT(DISTINCT s_i_id) FROM order_line STRAIGHT_JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?"
            }
            _ => "",
        }
    }
}

/// So many question marks.
fn marks(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// The text for the district is one of ten columns.
fn stock(rows: usize) -> String {
    let texts: Vec<_> = (1..=DISTRICTS).map(|district| format!("s_dist_{district:02}")).collect();
    format!(
        "SELECT s_i_id, s_quantity, s_data, ELT(?, {}) FROM stock WHERE s_w_id = ? AND s_i_id IN ({}) FOR UPDATE",
        texts.join(", "),
        marks(rows)
    )
}

fn change_stock(rows: usize) -> String {
    let of_item = format!("CASE s_i_id {}END", "WHEN ? THEN ? ".repeat(rows));
    format!(
        "UPDATE stock SET s_quantity = {of_item}, s_ytd = s_ytd + {of_item}, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id IN ({})",
        marks(rows)
    )
}

fn insert_lines(rows: usize) -> String {
    let row = "(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)";
    format!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, \
         ol_dist_info) VALUES {}",
        vec![row; rows].join(", ")
    )
}

/// An order of each of ten districts.
fn of_districts(warehouse: &str, district: &str, order: &str) -> String {
    let one = format!("{district} = ? AND {order} = ?");
    format!("{warehouse} = ? AND ({})", vec![one; DISTRICTS as usize].join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Statement; 30] = [
        Statement::Items(5),
        Statement::Buyer,
        Statement::Stock(1),
        Statement::District,
        Statement::ChangeStock(10),
        Statement::NextOrder,
        Statement::InsertOrder,
        Statement::InsertNewOrder,
        Statement::InsertLines(4),
        Statement::Places,
        Statement::Named,
        Statement::Pay,
        Statement::Payer,
        Statement::InsertHistory,
        Statement::PayDistrict,
        Statement::PayWarehouse,
        Statement::OneSnapshot,
        Statement::Asker,
        Statement::Askers,
        Statement::LastOrder,
        Statement::LinesOfLastOrder,
        Statement::OldestNewOrder,
        Statement::DeleteNewOrders,
        Statement::Recipients,
        Statement::SetCarrier,
        Statement::SetDelivered,
        Statement::Amounts,
        Statement::Deliver,
        Statement::NextOrderNumber,
        Statement::LowStock,
    ];

    #[test]
    fn each_has_a_text() {
        for statement in ALL {
            assert!(statement.sql().len() > 20, "{statement:?}");
        }
    }

    #[test]
    fn rows_are_filled_up() {
        assert_eq!([1, 2, 5, 6, 11, 15].map(slots), [1, 5, 5, 10, 15, 15]);
        let values = |statement: Statement| statement.sql().matches('?').count();
        assert_eq!(values(Statement::ChangeStock(5)), 5 * 5 + 2);
        assert_eq!(values(Statement::InsertLines(4)), 9 * 4);
        assert_eq!(values(Statement::Amounts), 21);
    }
}
