//! Privileges of accounts and on columns whose names hold quotes, commas and parentheses: SHOW GRANTS of MySQL before 8.0 and of MariaDB
//! before 10.3 does not quote them. What was granted is compared by the servers' own tables of privileges.

use drover_sandbox::{Flavour, Server};

use crate::chance::{Chance, rounds};
use crate::drover::{dump, restore, run, verify};
use crate::reach::sql;
use crate::servers::{start, start_of};

fn server(flavour: Flavour, version: &str) -> Option<Server> {
    start_of(flavour, version, &["--log-bin=bin", "--server-id=1"])
}

/// What the tables of privileges hold of all accounts but those that each server has.
fn granted(server: &Server) -> Vec<Vec<String>> {
    const OF_SCHEMA: &str = "Select_priv, Insert_priv, Update_priv, Delete_priv, Create_priv, Drop_priv, Grant_priv, References_priv, Index_priv, \
        Alter_priv, Create_tmp_table_priv, Lock_tables_priv, Create_view_priv, Show_view_priv, Create_routine_priv, Alter_routine_priv, \
        Execute_priv, Event_priv, Trigger_priv";
    let of = |what: &str, table: &str| {
        let text = format!(
            "SELECT {what} FROM mysql.{table} WHERE User NOT IN ('', 'root', 'PUBLIC') AND User NOT LIKE 'm%.%'"
        );
        sql(server, "mysql", &text)
    };
    let mut all = [
        of("'user', Host, User, Process_priv, Reload_priv, Grant_priv", "user"),
        of(&format!("'schema', Host, User, Db, {OF_SCHEMA}"), "db"),
        of("'table', Host, User, Db, Table_name, Table_priv, Column_priv", "tables_priv"),
        of("'column', Host, User, Db, Table_name, Column_name, Column_priv", "columns_priv"),
        of("'routine', Host, User, Db, Routine_name, Routine_type, Proc_priv", "procs_priv"),
        of("'proxy', Host, User, Proxied_host, Proxied_user, With_grant", "proxies_priv"),
    ]
    .concat();
    all.sort();
    all
}

/// The session of what is granted here: backslashes stand for themselves.
const PLAIN: &str = "SET sql_mode = 'NO_BACKSLASH_ESCAPES'; ";

fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn account(name: &str) -> String {
    format!("'{}'@'%'", name.replace('\'', "''"))
}

fn name(chance: &mut Chance) -> String {
    const PIECES: [&str; 18] = [
        "a", "b", "'", "`", "\"", ",", ", ", "(", ")", "\\", "@", "é", "#", "-- ", "/*", " ON ", " TO '", ".",
    ];
    let mut name = "n".to_owned();
    for _ in 0..chance.below(4) {
        name += chance.one_of(&PIECES);
    }
    name + "z"
}

/// Statements, and the names in them.
struct Granted {
    schemas: Vec<String>,
    users: Vec<String>,
    text: String,
}

/// Statements that grant something to some accounts, on schemas, tables, columns and routines with names of any kind.
fn grants(chance: &mut Chance) -> Granted {
    let mut text = PLAIN.to_owned();
    let mut names = |count: usize| -> Vec<String> {
        let mut all: Vec<_> = (0..count).map(|number| format!("{}{number}", name(chance))).collect();
        all.sort();
        all
    };
    let (schemas, tables, columns, users) = (names(2), names(2), names(4), names(4));
    for schema in schemas.iter().map(|name| identifier(name)) {
        text += &format!(
            "CREATE DATABASE {schema} CHARACTER SET utf8; CREATE PROCEDURE {schema}.`p``'` () SELECT 1; "
        );
        for table in &tables {
            let columns: Vec<_> = columns.iter().map(|name| format!("{} INT", identifier(name))).collect();
            text += &format!("CREATE TABLE {schema}.{} ({}); ", identifier(table), columns.join(", "));
        }
    }
    for (number, user) in users.iter().enumerate() {
        let who = account(user);
        text += &format!("CREATE USER {who}; ");
        for schema in schemas.iter().map(|name| identifier(name)) {
            let option = chance.one_of(&["", " WITH GRANT OPTION"]);
            text += match chance.below(4) {
                0 => format!(
                    "GRANT {} ON {schema}.* TO {who}{option}; ",
                    chance.one_of(&["ALL", "SELECT, EVENT"])
                ),
                1 => format!("GRANT EXECUTE ON PROCEDURE {schema}.`p``'` TO {who}{option}; "),
                2 => format!("GRANT PROCESS, RELOAD ON *.* TO {who}{option}; "),
                _ => String::new(),
            }
            .as_str();
            for table in tables.iter().map(|name| identifier(name)) {
                let mut privileges = Vec::new();
                for privilege in ["SELECT", "INSERT", "UPDATE", "REFERENCES"] {
                    if chance.below(3) == 0 {
                        privileges.push(privilege.to_owned());
                    }
                    let some = columns.iter().filter(|_| chance.below(3) == 0).map(|name| identifier(name));
                    let some: Vec<_> = some.collect();
                    if !some.is_empty() {
                        privileges.push(format!("{privilege} ({})", some.join(", ")));
                    }
                }
                privileges.extend([chance.one_of(&["DELETE", "TRIGGER", "CREATE VIEW, ALTER"]).to_owned()]);
                let option = chance.one_of(&["", "", " WITH GRANT OPTION"]);
                text += &format!("GRANT {} ON {schema}.{table} TO {who}{option}; ", privileges.join(", "));
            }
        }
        if number > 0 {
            text += &format!("GRANT PROXY ON {} TO {who}; ", account(&users[number - 1]));
        }
    }
    Granted { schemas, users, text }
}

/// What was granted on one is granted on the other, and on the first once it was restored into itself.
fn come_over(source: &Server, targets: &[&Server], which: u64) {
    let mut chance = Chance::new(which);
    for _ in 0..rounds(2) {
        let Granted { schemas, users, text } = grants(&mut chance);
        sql(source, "mysql", &text);
        let before = granted(source);
        let dir = tempfile::tempdir().unwrap();
        let mut dumping = dump(source, "--users", dir.path());
        run(dumping.args(schemas.iter().map(|name| identifier(name)))).done();
        for target in targets.iter().copied().chain([source]) {
            run(&mut restore(target, dir.path(), "--users --drop-existing")).done();
            assert_eq!(granted(target), before, "{text}");
            run(&mut verify(target, dir.path(), "--users")).done();
        }
        let users = users.iter().map(|user| format!("DROP USER {}; ", account(user)));
        let schemas = schemas.iter().map(|name| format!("DROP DATABASE {}; ", identifier(name)));
        let drops: String = users.chain(schemas).collect();
        for server in targets.iter().copied().chain([source]) {
            sql(server, "mysql", &format!("{PLAIN}{drops}"));
        }
    }
}

#[test]
fn of_mysql_before_8() {
    for (which, version) in ["mysql-5.5", "mysql-5.6", "mysql-5.7"].into_iter().enumerate() {
        let Some(source) = server(Flavour::MySql, version) else { continue };
        come_over(&source, &[&start(Flavour::MySql, &[])], which as u64);
    }
}

#[test]
fn of_mysql_from_8_on() {
    let Some(newest) = &server(Flavour::MySql, "newest") else { return };
    for (which, version) in ["mysql-8.0", "mysql-8.0.33", "newest"].into_iter().enumerate() {
        let Some(source) = server(Flavour::MySql, version) else { continue };
        come_over(&source, &[newest], 10 + which as u64);
    }
}

#[test]
fn of_mariadb() {
    for (which, version) in ["mariadb-10.5", "newest"].into_iter().enumerate() {
        let Some(source) = server(Flavour::MariaDb, version) else { continue };
        come_over(&source, &[&start(Flavour::MariaDb, &[])], 20 + which as u64);
    }
}

/// An account whose name holds quotes may do what it may do, also where its line of SHOW GRANTS has columns of bare names.
#[test]
fn such_accounts_may_dump_what_is_theirs() {
    for (flavour, version) in [
        (Flavour::MySql, "mysql-5.5"),
        (Flavour::MySql, "mysql-5.7"),
        (Flavour::MySql, "newest"),
        (Flavour::MariaDb, "mariadb-10.1"),
        (Flavour::MariaDb, "mariadb-10.2"),
        (Flavour::MariaDb, "newest"),
    ] {
        let Some(server) = server(flavour, version) else { continue };
        sql(
            &server,
            "mysql",
            "CREATE DATABASE s; CREATE TABLE s.t (a INT, `c'd` INT, `x), SELECT, TRIGGER, INSERT (y` INT); CREATE DATABASE own; \
             CREATE TABLE own.t (a INT); CREATE TABLE s.hid (a INT, `c'd` INT); CREATE USER 'o''n'@'localhost'; \
             GRANT ALL ON own.* TO 'o''n'@'localhost'; \
             GRANT SELECT, SELECT (`c'd`), INSERT (a), TRIGGER ON s.t TO 'o''n'@'localhost'; \
             GRANT SELECT, INSERT (`c'd`) ON s.hid TO 'o''n'@'localhost'",
        );
        let dir = tempfile::tempdir().unwrap();
        let as_it =
            |what: &str, out: &str| run(dump(&server, what, &dir.path().join(out)).args(["-u", "o'n"]));
        as_it("own", "own").done();
        as_it("s.t", "t").done();
        as_it("s.hid", "hid").refused(&["does not have TRIGGER on table", "hid"]);
    }
}
