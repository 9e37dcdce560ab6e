//! What holds in consistent tables: the twelve conditions of clause 3.3.2, and what follows from the transactions besides.
//!
//! Each probe is one statement that compares, row by row, what two tables say of the same thing. It is written so that NULL and rows that
//! are not there are differences too: `<=>` compares, outer joins keep what has no partner, and sums of nothing are 0.

/// Something that holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    /// Its number in the specification, or a word of our own.
    pub(super) id: &'static str,
    /// What holds.
    pub(super) rule: &'static str,
}

/// The condition that only holds right after the load.
pub(super) const ONLY_AFTER_LOAD: &str = "11";

const fn condition(id: &'static str, rule: &'static str) -> Condition {
    Condition { id, rule }
}

/// All conditions.
pub(super) const CONDITIONS: [Condition; 18] = [
    condition("1", "w_ytd = sum(d_ytd) of the warehouse"),
    condition("2", "d_next_o_id - 1 = max(o_id) = max(no_o_id) of the district"),
    condition("3", "max(no_o_id) - min(no_o_id) + 1 = rows of new_orders of the district"),
    condition("4", "sum(o_ol_cnt) = rows of order_line of the district"),
    condition("5", "o_carrier_id is NULL if and only if the order is in new_orders"),
    condition("6", "o_ol_cnt = rows of order_line of the order"),
    condition("7", "ol_delivery_d is NULL if and only if o_carrier_id is"),
    condition("8", "w_ytd = sum(h_amount) of the warehouse"),
    condition("9", "d_ytd = sum(h_amount) of the district"),
    condition("10", "c_balance = sum(ol_amount) of the customer's delivered orders - sum(h_amount)"),
    condition(
        ONLY_AFTER_LOAD,
        "rows of orders - rows of new_orders = 2100 in each district, right after the load",
    ),
    condition("12", "c_balance + c_ytd_payment = sum(ol_amount) of the customer's delivered orders"),
    condition("s_ytd", "s_ytd = sum(ol_quantity) of the item's lines since the load"),
    condition("s_order_cnt", "s_order_cnt = the item's lines since the load"),
    condition(
        "s_remote_cnt",
        "s_remote_cnt = the item's lines since the load that another warehouse ordered",
    ),
    condition("c_payment_cnt", "c_payment_cnt = rows of history of the customer"),
    condition("c_delivery_cnt", "c_delivery_cnt = the customer's orders that were delivered since the load"),
    condition("rows", "warehouse, district, customer, stock and item have as many rows as were loaded"),
];

/// A statement that finds what does not hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// The table that its keys are of; empty where the first key says it.
    pub(super) table: &'static str,
    /// The names of the keys, which stand in the columns k0, k1 and so on.
    pub(super) keys: &'static [&'static str],
    /// What is compared, which stands in the columns a0, b0, a1, b1 and so on.
    pub(super) pairs: &'static [Pair],
    /// The statement, of the warehouses from {a} to {b}.
    sql: &'static str,
    /// How many warehouses it is asked about at a time. Those that read all of a table whatever warehouses they are about are asked
    /// about many.
    pub(super) at_once: u32,
}

/// Two values that are the same if a condition holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) condition: &'static str,
    pub(super) left: &'static str,
    pub(super) right: &'static str,
}

const fn pair(condition: &'static str, left: &'static str, right: &'static str) -> Pair {
    Pair { condition, left, right }
}

impl Probe {
    /// The statement for these warehouses and for the pairs of these numbers: keys, and for each pair its values and whether they are the
    /// same. It returns rows only in which some are not.
    pub(super) fn statement(&self, pairs: &[usize], first: u32, last: u32) -> String {
        let keys = (0..self.keys.len()).map(|number| format!("k{number}"));
        let values = pairs
            .iter()
            .flat_map(|pair| [format!("a{pair}"), format!("b{pair}"), format!("a{pair} <=> b{pair}")]);
        let columns: Vec<_> = keys.chain(values).collect();
        let differs: Vec<_> = pairs.iter().map(|pair| format!("NOT (a{pair} <=> b{pair})")).collect();
        let inner = self.sql.replace("{a}", &first.to_string()).replace("{b}", &last.to_string());
        format!("SELECT {} FROM ({inner}) AS compared WHERE {}", columns.join(", "), differs.join(" OR "))
    }
}

const OF_DISTRICT: &[&str] = &["d_w_id", "d_id"];
const OF_ORDER: &[&str] = &["o_w_id", "o_d_id", "o_id"];
const OF_CUSTOMER: &[&str] = &["c_w_id", "c_d_id", "c_id"];

/// All probes, those first that take longest.
pub(super) const PROBES: [Probe; 12] = [
    Probe {
        table: "customer",
        keys: OF_CUSTOMER,
        pairs: &[
            pair("10", "c_balance", "sum(ol_amount) - sum(h_amount)"),
            pair("12", "c_balance + c_ytd_payment", "sum(ol_amount)"),
            pair("c_payment_cnt", "c_payment_cnt", "rows of history"),
        ],
        sql: "SELECT c_w_id AS k0, c_d_id AS k1, c_id AS k2, \
              c_balance AS a0, COALESCE(delivered.amount, 0) - COALESCE(paid.amount, 0) AS b0, \
              c_balance + c_ytd_payment AS a1, COALESCE(delivered.amount, 0) AS b1, \
              c_payment_cnt AS a2, COALESCE(paid.payments, 0) AS b2 \
              FROM customer \
              LEFT JOIN (SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) AS amount \
              FROM orders STRAIGHT_JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE o_w_id BETWEEN {a} AND {b} GROUP BY o_w_id, o_d_id, o_c_id) AS delivered \
              ON delivered.w = c_w_id AND delivered.d = c_d_id AND delivered.c = c_id \
              LEFT JOIN (SELECT h_c_w_id AS w, h_c_d_id AS d, h_c_id AS c, SUM(h_amount) AS amount, COUNT(*) AS payments \
              FROM history WHERE h_c_w_id BETWEEN {a} AND {b} GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS paid \
              ON paid.w = c_w_id AND paid.d = c_d_id AND paid.c = c_id \
              WHERE c_w_id BETWEEN {a} AND {b}",
        at_once: 10,
    },
    Probe {
        table: "stock",
        keys: &["s_w_id", "s_i_id"],
        pairs: &[
            pair("s_ytd", "s_ytd", "sum(ol_quantity)"),
            pair("s_order_cnt", "s_order_cnt", "lines"),
            pair("s_remote_cnt", "s_remote_cnt", "lines of other warehouses"),
        ],
        sql: "SELECT s_w_id AS k0, s_i_id AS k1, s_ytd AS a0, COALESCE(sold.quantity, 0) AS b0, \
              s_order_cnt AS a1, COALESCE(sold.orders, 0) AS b1, s_remote_cnt AS a2, COALESCE(sold.remote, 0) AS b2 \
              FROM stock \
              LEFT JOIN (SELECT ol_supply_w_id AS w, ol_i_id AS i, SUM(ol_quantity) AS quantity, COUNT(*) AS orders, \
              SUM(ol_supply_w_id <> ol_w_id) AS remote \
              FROM orders STRAIGHT_JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE o_id > 3000 AND ol_supply_w_id BETWEEN {a} AND {b} GROUP BY ol_supply_w_id, ol_i_id) AS sold \
              ON sold.w = s_w_id AND sold.i = s_i_id \
              WHERE s_w_id BETWEEN {a} AND {b}",
        at_once: 10,
    },
    Probe {
        table: "warehouse",
        keys: &["w_id"],
        pairs: &[pair("8", "w_ytd", "sum(h_amount)")],
        sql: "SELECT w_id AS k0, w_ytd AS a0, COALESCE(paid.amount, 0) AS b0 FROM warehouse \
              LEFT JOIN (SELECT h_w_id AS w, SUM(h_amount) AS amount FROM history GROUP BY h_w_id) AS paid ON paid.w = w_id \
              WHERE w_id BETWEEN {a} AND {b}",
        at_once: u32::MAX,
    },
    Probe {
        table: "district",
        keys: OF_DISTRICT,
        pairs: &[pair("9", "d_ytd", "sum(h_amount)")],
        sql: "SELECT d_w_id AS k0, d_id AS k1, d_ytd AS a0, COALESCE(paid.amount, 0) AS b0 FROM district \
              LEFT JOIN (SELECT h_w_id AS w, h_d_id AS d, SUM(h_amount) AS amount FROM history GROUP BY h_w_id, h_d_id) AS paid \
              ON paid.w = d_w_id AND paid.d = d_id \
              WHERE d_w_id BETWEEN {a} AND {b}",
        at_once: u32::MAX,
    },
    Probe {
        table: "orders",
        keys: OF_ORDER,
        pairs: &[
            pair("6", "o_ol_cnt", "rows of order_line"),
            pair("7", "lines whose ol_delivery_d is NULL", "lines, if o_carrier_id is NULL, else 0"),
        ],
        sql: "SELECT o_w_id AS k0, o_d_id AS k1, o_id AS k2, MAX(o_ol_cnt) AS a0, COUNT(ol_number) AS b0, \
              SUM(ol_number IS NOT NULL AND ol_delivery_d IS NULL) AS a1, \
              IF(MAX(o_carrier_id) IS NULL, COUNT(ol_number), 0) AS b1 \
              FROM orders LEFT JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE o_w_id BETWEEN {a} AND {b} GROUP BY o_w_id, o_d_id, o_id",
        at_once: 1,
    },
    Probe {
        table: "district",
        keys: OF_DISTRICT,
        pairs: &[pair("4", "sum(o_ol_cnt)", "rows of order_line")],
        sql: "SELECT d_w_id AS k0, d_id AS k1, COALESCE(said.number, 0) AS a0, COALESCE(found.number, 0) AS b0 FROM district \
              LEFT JOIN (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS number FROM orders \
              WHERE o_w_id BETWEEN {a} AND {b} GROUP BY o_w_id, o_d_id) AS said ON said.w = d_w_id AND said.d = d_id \
              LEFT JOIN (SELECT ol_w_id AS w, ol_d_id AS d, COUNT(*) AS number FROM order_line \
              WHERE ol_w_id BETWEEN {a} AND {b} GROUP BY ol_w_id, ol_d_id) AS found ON found.w = d_w_id AND found.d = d_id \
              WHERE d_w_id BETWEEN {a} AND {b}",
        at_once: 1,
    },
    Probe {
        table: "customer",
        keys: OF_CUSTOMER,
        pairs: &[pair("c_delivery_cnt", "c_delivery_cnt", "orders with a carrier")],
        sql: "SELECT c_w_id AS k0, c_d_id AS k1, c_id AS k2, c_delivery_cnt AS a0, COALESCE(delivered.number, 0) AS b0 FROM customer \
              LEFT JOIN (SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, COUNT(*) AS number FROM orders \
              WHERE o_w_id BETWEEN {a} AND {b} AND o_id > 2100 AND o_carrier_id IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS delivered \
              ON delivered.w = c_w_id AND delivered.d = c_d_id AND delivered.c = c_id \
              WHERE c_w_id BETWEEN {a} AND {b}",
        at_once: 1,
    },
    Probe {
        table: "",
        keys: &["table", "from warehouse"],
        pairs: &[pair("rows", "rows loaded", "rows found")],
        sql: "SELECT 'warehouse' AS k0, {a} AS k1, {b} - {a} + 1 AS a0, COUNT(*) AS b0 FROM warehouse WHERE w_id BETWEEN {a} AND {b} \
              UNION ALL SELECT 'district', {a}, 10 * ({b} - {a} + 1), COUNT(*) FROM district WHERE d_w_id BETWEEN {a} AND {b} \
              UNION ALL SELECT 'customer', {a}, 30000 * ({b} - {a} + 1), COUNT(*) FROM customer WHERE c_w_id BETWEEN {a} AND {b} \
              UNION ALL SELECT 'stock', {a}, 100000 * ({b} - {a} + 1), COUNT(*) FROM stock WHERE s_w_id BETWEEN {a} AND {b} \
              UNION ALL SELECT 'item', {a}, 100000, COUNT(*) FROM item",
        at_once: 10,
    },
    Probe {
        table: "orders",
        keys: OF_ORDER,
        pairs: &[pair("5", "whether o_carrier_id is NULL", "rows of new_orders")],
        sql: "SELECT o_w_id AS k0, o_d_id AS k1, o_id AS k2, o_carrier_id IS NULL AS a0, no_o_id IS NOT NULL AS b0 FROM orders \
              LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
              WHERE o_w_id BETWEEN {a} AND {b}",
        at_once: 1,
    },
    Probe {
        table: "new_orders",
        keys: &["no_w_id", "no_d_id", "no_o_id"],
        pairs: &[pair("5", "rows of new_orders", "rows of orders")],
        sql: "SELECT no_w_id AS k0, no_d_id AS k1, no_o_id AS k2, 1 AS a0, o_id IS NOT NULL AS b0 FROM new_orders \
              LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id \
              WHERE no_w_id BETWEEN {a} AND {b}",
        at_once: 10,
    },
    Probe {
        table: "district",
        keys: OF_DISTRICT,
        pairs: &[
            pair("2", "d_next_o_id - 1", "max(o_id)"),
            pair("2", "d_next_o_id - 1", "max(no_o_id), if there is any"),
            pair("3", "max(no_o_id) - min(no_o_id) + 1", "rows of new_orders"),
            pair(ONLY_AFTER_LOAD, "rows of orders - rows of new_orders", "as loaded"),
        ],
        sql: "SELECT d_w_id AS k0, d_id AS k1, d_next_o_id - 1 AS a0, o.highest AS b0, \
              d_next_o_id - 1 AS a1, COALESCE(n.highest, d_next_o_id - 1) AS b1, \
              n.highest - n.lowest + 1 AS a2, n.number AS b2, COALESCE(o.number, 0) - COALESCE(n.number, 0) AS a3, 2100 AS b3 \
              FROM district \
              LEFT JOIN (SELECT o_w_id AS w, o_d_id AS d, MAX(o_id) AS highest, COUNT(*) AS number FROM orders \
              WHERE o_w_id BETWEEN {a} AND {b} GROUP BY o_w_id, o_d_id) AS o ON o.w = d_w_id AND o.d = d_id \
              LEFT JOIN (SELECT no_w_id AS w, no_d_id AS d, MAX(no_o_id) AS highest, MIN(no_o_id) AS lowest, COUNT(*) AS number \
              FROM new_orders WHERE no_w_id BETWEEN {a} AND {b} GROUP BY no_w_id, no_d_id) AS n ON n.w = d_w_id AND n.d = d_id \
              WHERE d_w_id BETWEEN {a} AND {b}",
        at_once: 10,
    },
    Probe {
        table: "warehouse",
        keys: &["w_id"],
        pairs: &[pair("1", "w_ytd", "sum(d_ytd)")],
        sql: "SELECT w_id AS k0, w_ytd AS a0, COALESCE(of_districts.amount, 0) AS b0 FROM warehouse \
              LEFT JOIN (SELECT d_w_id AS w, SUM(d_ytd) AS amount FROM district GROUP BY d_w_id) AS of_districts ON of_districts.w = w_id \
              WHERE w_id BETWEEN {a} AND {b}",
        at_once: u32::MAX,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_has_a_probe_and_each_probe_a_condition() {
        let probed: Vec<_> = PROBES.iter().flat_map(|probe| probe.pairs).map(|pair| pair.condition).collect();
        for condition in &CONDITIONS {
            assert!(probed.contains(&condition.id), "{}", condition.id);
        }
        assert!(probed.iter().all(|id| CONDITIONS.iter().any(|condition| condition.id == *id)));
    }

    #[test]
    fn statements_name_what_they_return() {
        for probe in &PROBES {
            let all: Vec<_> = (0..probe.pairs.len()).collect();
            let sql = probe.statement(&all, 3, 7);
            assert!(!sql.contains('{') && sql.contains("BETWEEN 3 AND 7"), "{sql}");
            let named = |name: String| probe.sql.contains(&format!(" AS {name}"));
            assert!((0..probe.keys.len()).all(|number| named(format!("k{number}"))), "{sql}");
            assert!(
                all.iter().all(|number| named(format!("a{number}")) && named(format!("b{number}"))),
                "{sql}"
            );
        }
        let first = PROBES[0].statement(&[1], 1, 1);
        assert!(
            first.starts_with("SELECT k0, k1, k2, a1, b1, a1 <=> b1 FROM (")
                && first.ends_with("WHERE NOT (a1 <=> b1)")
        );
    }
}
