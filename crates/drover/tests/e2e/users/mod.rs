//! `--users`: accounts and roles dumped, restored and translated. Accounts belong to the whole server, so the tests have
//! their own. What an account may do is asked of the vendor's client, and proved by logging in.

mod across;
mod existing;
mod logins;
mod names;
mod rights;
mod same;

use drover_sandbox::{Flavour, Server};

use crate::client::{rows_of, sql};
use crate::servers::start;

/// A server for one test.
fn server(flavour: Flavour) -> Server {
    let server = start(flavour, &[]);
    sql(
        &server,
        "CREATE DATABASE shop CHARACTER SET latin1 COLLATE latin1_swedish_ci;
          CREATE TABLE shop.orders (id INT PRIMARY KEY, v INT); INSERT INTO shop.orders VALUES (1, 1)",
    );
    server
}

/// What the server says to a login and a statement.
fn login(server: &Server, user: &str, password: &str, statement: &str) -> Result<String, String> {
    let mut client = server.client("mysql");
    client.args(["--batch", "--skip-column-names", "-u", user, &format!("--password={password}")]);
    rows_of(&mut client, statement).map(|rows| rows.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn logs_in(server: &Server, user: &str, password: &str) {
    let answer = login(server, user, password, "SELECT 'in'");
    assert_eq!(answer.as_deref(), Ok("in"), "{user} with {password}");
}

fn stays_out(server: &Server, user: &str, password: &str) {
    let answer = login(server, user, password, "SELECT 'in'");
    assert!(answer.is_err(), "{user} with {password}: {answer:?}");
}

/// All accounts as the server itself describes them, but for its own and root.
fn described(server: &Server) -> Vec<String> {
    let is_role = if server.flavour() == Flavour::MariaDb { "is_role" } else { "'N'" };
    let names = sql(
        server,
        format!(
            "SELECT QUOTE(User), QUOTE(Host), {is_role} FROM mysql.user WHERE User NOT LIKE 'm%.%' AND User <> 'root' ORDER BY 1, 2"
        ),
    );
    let mut lines = Vec::new();
    for name in names {
        let who = if name[2] == "Y" { name[0].clone() } else { format!("{}@{}", name[0], name[1]) };
        let create = format!("SHOW CREATE USER {who};");
        let create = if name[2] == "Y" { "" } else { &create };
        let hex =
            if server.flavour() == Flavour::MySql { "SET print_identified_with_as_hex = ON;" } else { "" };
        lines.push(format!("# {who}"));
        let mut shown = sql(server, format!("{hex}{create}SHOW GRANTS FOR {who}")).concat();
        shown.sort(); // MariaDB's order is any
        lines.extend(shown);
    }
    lines
}

fn assert_same(found: &[String], expected: &[String]) {
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|line| !those.contains(line)).cloned().collect()
    };
    assert_eq!(only(found, expected), only(expected, found));
    assert_eq!(found.len(), expected.len());
}
