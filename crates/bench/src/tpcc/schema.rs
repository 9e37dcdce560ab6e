//! The tables. Their names are those that tpcc-mysql gave them, and their columns' names the specification's, so that other tools'
//! checks run on them.
//!
//! Source: TPC Benchmark C, revision 5.11, clauses 1.3 (columns) and 4.3.3 (what is in them at first).

use drover_db::wire::ParameterKind;

/// Rows of `item`.
pub(super) const ITEMS: u32 = 100_000;
/// Districts of a warehouse.
pub(super) const DISTRICTS: u32 = 10;
/// Customers of a district.
pub(super) const CUSTOMERS: u32 = 3000;
/// Orders of a district at first: each customer has one.
pub(super) const ORDERS: u32 = 3000;
/// The first of these that is not delivered yet.
pub(super) const FIRST_NEW_ORDER: u32 = 2101;
/// The most lines of an order; the fewest are [`FEWEST_LINES`].
pub(super) const MOST_LINES: u32 = 15;
/// The fewest lines of an order.
pub(super) const FEWEST_LINES: u32 = 5;

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Columns and primary key.
    columns: &'static str,
    /// A further index, made when the rows are in.
    pub(super) index: Option<&'static str>,
}

/// All tables, in the order in which they are made.
pub(super) const TABLES: [Table; 9] = [
    Table {
        name: "warehouse",
        columns: "w_id SMALLINT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), \
                  w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id)",
        index: None,
    },
    Table {
        name: "district",
        columns: "d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), \
                  d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, \
                  PRIMARY KEY (d_w_id, d_id)",
        index: None,
    },
    Table {
        name: "customer",
        columns: "c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), \
                  c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), \
                  c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), \
                  c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT, c_data VARCHAR(500), \
                  PRIMARY KEY (c_w_id, c_d_id, c_id)",
        index: Some("ADD INDEX idx_customer (c_w_id, c_d_id, c_last, c_first)"),
    },
    Table {
        name: "history",
        columns: "h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, h_date DATETIME, h_amount DECIMAL(6,2), \
                  h_data VARCHAR(24)",
        index: None,
    },
    Table {
        name: "new_orders",
        columns: "no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
        index: None,
    },
    Table {
        name: "orders",
        columns: "o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, o_entry_d DATETIME, o_carrier_id TINYINT, \
                  o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id)",
        index: Some("ADD INDEX idx_orders (o_w_id, o_d_id, o_c_id, o_id)"),
    },
    Table {
        name: "order_line",
        columns: "ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, ol_number TINYINT NOT NULL, ol_i_id INT, \
                  ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), \
                  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
        index: None,
    },
    Table {
        name: "item",
        columns: "i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id)",
        index: None,
    },
    Table {
        name: "stock",
        columns: "s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), s_dist_02 CHAR(24), \
                  s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), \
                  s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt SMALLINT, s_remote_cnt SMALLINT, s_data VARCHAR(50), \
                  PRIMARY KEY (s_w_id, s_i_id)",
        index: None,
    },
];

impl Table {
    /// The statement that makes it. The character set is the same on all servers, and compares bytes.
    pub(super) fn create(&self) -> String {
        format!(
            "CREATE TABLE {} ({}) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            self.name, self.columns
        )
    }
}

/// What the columns of a table hold, in their order.
pub(super) fn kinds(table: &str) -> Vec<ParameterKind> {
    let definition = TABLES.iter().filter(|one| one.name == table).flat_map(|one| one.columns.split(", "));
    // The columns of the key stand alone.
    let types = definition.filter_map(|part| part.split_once(' ')).filter(|(name, _)| *name != "PRIMARY");
    types.map(|(_, of_type)| kind(of_type)).collect()
}

fn kind(of_type: &str) -> ParameterKind {
    match of_type.split([' ', '(']).next() {
        Some("TINYINT" | "SMALLINT" | "INT") => ParameterKind::Int,
        Some("DECIMAL") => ParameterKind::Decimal,
        Some("DATETIME") => ParameterKind::Moment,
        _ => ParameterKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_of_kinds() {
        use ParameterKind::{Decimal, Int, Text};
        assert_eq!(kinds("item"), [Int, Int, Text, Decimal, Text]);
        assert_eq!(kinds("new_orders"), [Int; 3]);
    }

    #[test]
    fn columns_have_the_prefix_of_their_table() {
        for (table, prefix) in TABLES.iter().zip(["w_", "d_", "c_", "h_", "no_", "o_", "ol_", "i_", "s_"]) {
            let columns =
                table.columns.split(", ").filter(|part| part.contains(' ') && !part.starts_with("PRIMARY"));
            columns.for_each(|column| assert!(column.starts_with(prefix), "{}: {column}", table.name));
        }
    }
}
