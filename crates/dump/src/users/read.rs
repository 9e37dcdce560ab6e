//! Reading all accounts of a server. SHOW CREATE USER is not used: MySQL's leaves out the older of two passwords and does
//! not escape quotes in REQUIRE, and each vendor's has its own words. The catalogue has all of it.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::grants::{Line, Who};
use drover_db::wire::Rows;
use drover_db::{Connection, Row, Server, Vendor, er, quote, server};
use serde_json::Value;

use super::model::{
    Account, Accounts, Factor, Limits, Membership, PasswordRules, Proxy, RULING, Require, Secret,
};
use super::{columns, grants};
use crate::error::Doing;
use crate::{Error, Result};

/// Accounts that the server itself needs and makes.
const INTERNAL: [&str; 4] = ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys"];

/// All accounts and roles but the server's own.
///
/// # Errors
/// If the account may not read the schema `mysql`, or something there is not as expected.
pub(crate) fn accounts(connection: &mut Connection) -> Result<Accounts> {
    let vendor = Server::of(connection).doing(|| "asking for the server's version")?.vendor;
    let (mut accounts, passed_over) = match vendor {
        Vendor::MariaDb => (mariadb(connection)?, Vec::new()),
        Vendor::MySql => mysql(connection)?,
    };
    accounts.retain(|account| !INTERNAL.contains(&account.who.name.as_str()));
    read_roles(connection, vendor, &mut accounts)?;
    read_proxies(connection, &mut accounts)?;
    for account in &mut accounts {
        read_grants(connection, account)?;
    }
    // MariaDB keeps PUBLIC for ever, once something was granted to it.
    accounts.retain(|account| {
        !(account.who.is_public() && account.grants.is_empty() && account.roles.is_empty())
    });
    accounts.sort_by(|a, b| a.who.cmp(&b.who));
    let partial =
        server::variable(connection, "GLOBAL.partial_revokes").doing(|| "reading partial_revokes")?;
    let mut settings = settings(connection)?;
    settings.retain(|_, value| !["", "OFF"].contains(&value.as_str()));
    Ok(Accounts { vendor, partial_revokes: partial.as_deref() == Some("1"), settings, accounts, passed_over })
}

/// Those of [`RULING`] that the server has, as it prints them.
pub(crate) fn settings(connection: &mut Connection) -> Result<BTreeMap<String, String>> {
    let names = RULING.map(quote::string).join(", ");
    let rows = connection.query(format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"));
    let rows = rows.doing(|| "reading the settings that decide what accounts may do")?;
    Ok(rows.into_iter().map(|row| (row.string(0), row.string(1))).collect())
}

pub(super) fn rows(connection: &mut Connection, sql: &str, what: &str) -> Result<Rows> {
    connection.query(sql).map_err(|error| match error.code() {
        _ if error.is_denied() => Error::with_hint(
            format!("accounts cannot be read: this account has no SELECT on {what}: {error}"),
            "GRANT SELECT ON mysql.* to the account, or leave --users away",
        ),
        Some(er::NO_SUCH_TABLE) => Error::with_hint(
            format!("accounts cannot be read: the server has no {what}"),
            "of MariaDB they are read from 10.4 on, of TiDB not: leave out --users, and make the accounts on the new server by hand; SHOW CREATE USER and SHOW \
             GRANTS of the old one tell them",
        ),
        _ => Error::Server { doing: format!("reading {what}"), source: error },
    })
}

fn damaged(what: &str) -> Error {
    Error::found(format!("{what} holds something that this drover does not know"))
}

/// A row by the names of its columns.
pub(super) struct Named<'a> {
    columns: &'a Rows,
    row: &'a Row,
}

impl Named<'_> {
    fn text(&self, column: &str) -> Option<String> {
        self.row.text(self.columns.column(column)?)
    }

    pub(super) fn string(&self, column: &str) -> String {
        self.text(column).unwrap_or_default()
    }

    fn number<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        self.text(column)?.parse().ok()
    }

    fn is(&self, column: &str) -> bool {
        self.string(column) == "Y"
    }

    fn bytes(&self, column: &str) -> Vec<u8> {
        self.columns.column(column).and_then(|at| self.row.bytes(at)).unwrap_or_default().to_vec()
    }

    fn who(&self, name: &str, host: &str) -> Who {
        Who::new(&self.string(name), &self.string(host))
    }
}

pub(super) fn each(rows: &Rows) -> impl Iterator<Item = Named<'_>> {
    rows.rows.iter().map(move |row| Named { columns: rows, row })
}

/// The accounts, and those that the server passes over.
fn mysql(connection: &mut Connection) -> Result<(Vec<Account>, Vec<Who>)> {
    let rows = rows(connection, "SELECT * FROM mysql.user", "mysql.user")?;
    // Before 5.7 an empty plugin is that of the hash, which has a column of its own.
    let needs_plugin = rows.column("Password").is_none();
    let (over, all): (Vec<_>, Vec<_>) =
        each(&rows).partition(|row| needs_plugin && row.string("plugin").is_empty());
    let over = over.iter().map(|row| row.who("User", "Host")).collect();
    Ok((all.iter().map(mysql_account).collect::<Result<_>>()?, over))
}

fn mysql_account(row: &Named<'_>) -> Result<Account> {
    let mut account = Account::new(row.who("User", "Host"));
    let attributes: Value = match row.text("User_attributes") {
        None => Value::Null,
        Some(text) => serde_json::from_str(&text).map_err(|_| damaged("mysql.user.User_attributes"))?,
    };
    account.ways = vec![mysql_way(row)];
    account.further = further_factors(&attributes);
    account.older_password = Secret(text_of(&attributes["additional_password"]).into_bytes());
    account.require = match row.string("ssl_type").as_str() {
        "" => Require::None,
        "ANY" => Require::Ssl,
        "X509" => Require::X509,
        _ => Require::Specified {
            cipher: row.string("ssl_cipher"),
            issuer: row.string("x509_issuer"),
            subject: row.string("x509_subject"),
        },
    };
    account.limits = Limits {
        queries_per_hour: row.number("max_questions").unwrap_or(0),
        updates_per_hour: row.number("max_updates").unwrap_or(0),
        connections_per_hour: row.number("max_connections").unwrap_or(0),
        user_connections: row.number("max_user_connections").unwrap_or(0),
        statement_time: None,
    };
    account.locked = row.is("account_locked");
    let locking = &attributes["Password_locking"];
    let lock_days = locking["password_lock_time_days"].as_i64();
    account.password = PasswordRules {
        expired: row.is("password_expired"),
        lifetime: row.number("password_lifetime"),
        history: row.number("Password_reuse_history"),
        reuse_interval: row.number("Password_reuse_time"),
        require_current: row.text("Password_require_current").map(|value| value == "Y"),
        failed_logins: locking["failed_login_attempts"]
            .as_u64()
            .and_then(|count| Some((u32::try_from(count).ok()?, lock_days.unwrap_or(0)))),
    };
    account.attribute = attributes.get("metadata").map(Value::to_string);
    Ok(as_role(account))
}

/// Before MySQL 5.7 the hash of its own plugins is in a column of its own, and before 5.6 no plugin is named for them.
fn mysql_way(row: &Named<'_>) -> Factor {
    const OLDEST_HASH: usize = 16; // digits
    let (plugin, hash, older) =
        (row.string("plugin"), row.bytes("authentication_string"), row.bytes("Password"));
    let plugin = match &*plugin {
        "" if older.len() == OLDEST_HASH => "mysql_old_password",
        "" => "mysql_native_password",
        plugin => plugin,
    };
    let is_there = ["mysql_native_password", "mysql_old_password"].contains(&plugin);
    // Where that column is there, the server checks a password by it, not by the other one (seen on 5.5.34 and 5.6.14).
    let is_there = is_there && row.columns.column("Password").is_some();
    Factor::new(plugin, if is_there { &older } else { &hash })
}

fn further_factors(attributes: &Value) -> Vec<Factor> {
    let factors = attributes["multi_factor_authentication"].as_array().into_iter().flatten();
    let factor = |one: &Value| {
        Factor::new(&text_of(&one["plugin"]), text_of(&one["authentication_string"]).as_bytes())
    };
    factors.map(factor).collect()
}

/// MySQL keeps a role as an account that is locked and whose empty password has expired.
fn as_role(account: Account) -> Account {
    let is_role =
        account.locked && account.password.expired && account.secrets().all(|secret| secret.0.is_empty());
    if !is_role {
        return account;
    }
    let bare = Account { is_role, ..Account::new(account.who.clone()) };
    let of_an_account = Account {
        ways: account.ways.clone(),
        locked: true,
        password: PasswordRules { expired: true, ..PasswordRules::default() },
        ..Account::new(account.who.clone())
    };
    if account == of_an_account { bare } else { account }
}

fn mariadb(connection: &mut Connection) -> Result<Vec<Account>> {
    // MariaDB from 10.4 on.
    let rows = rows(connection, "SELECT Host, User, Priv FROM mysql.global_priv", "mysql.global_priv")?;
    each(&rows).map(|row| mariadb_account(&row)).collect()
}

fn mariadb_account(row: &Named<'_>) -> Result<Account> {
    let privileges: Value =
        serde_json::from_slice(&row.bytes("Priv")).map_err(|_| damaged("mysql.global_priv"))?;
    if privileges["is_role"].as_bool() == Some(true) {
        return Ok(Account { is_role: true, ..Account::new(Who::role(&row.string("User"))) });
    }
    let number = |name: &str| privileges[name].as_i64();
    let count = |name: &str| privileges[name].as_u64().unwrap_or(0);
    let text = |name: &str| text_of(&privileges[name]);
    let mut account = Account::new(row.who("User", "Host"));
    account.ways = mariadb_ways(&privileges);
    account.require = match count("ssl_type") {
        0 => Require::None,
        1 => Require::Ssl,
        2 => Require::X509,
        _ => Require::Specified {
            cipher: text("ssl_cipher"),
            issuer: text("x509_issuer"),
            subject: text("x509_subject"),
        },
    };
    account.limits = Limits {
        queries_per_hour: count("max_questions"),
        updates_per_hour: count("max_updates"),
        connections_per_hour: count("max_connections"),
        user_connections: number("max_user_connections").unwrap_or(0),
        statement_time: privileges["max_statement_time"]
            .as_f64()
            .filter(|time| *time > 0.0)
            .map(|time| time.to_string()),
    };
    account.locked = privileges["account_locked"].as_bool() == Some(true);
    account.password = PasswordRules {
        expired: number("password_last_changed") == Some(0),
        lifetime: number("password_lifetime").and_then(|days| u32::try_from(days).ok()), // -1 is the default
        ..PasswordRules::default()
    };
    let default_role = text("default_role");
    account.default_roles =
        Some(default_role).filter(|role| !role.is_empty()).iter().map(|role| Who::role(role)).collect();
    Ok(account)
}

/// In `auth_or` an empty object stands for the plugin of the account itself.
fn mariadb_ways(privileges: &Value) -> Vec<Factor> {
    let way = |of: &Value| {
        let plugin = text_of(&of["plugin"]);
        let plugin = if plugin.is_empty() { "mysql_native_password".to_owned() } else { plugin };
        Factor::new(&plugin, text_of(&of["authentication_string"]).as_bytes())
    };
    match privileges["auth_or"].as_array() {
        None => vec![way(privileges)],
        Some(ways) => {
            let one = |of: &Value| if of.get("plugin").is_some() { way(of) } else { way(privileges) };
            ways.iter().map(one).collect()
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn read_roles(connection: &mut Connection, vendor: Vendor, accounts: &mut [Account]) -> Result<()> {
    let roles: BTreeSet<Who> =
        accounts.iter().filter(|a| a.is_role).map(|account| account.who.clone()).collect();
    let mut granted: BTreeMap<Who, Vec<Membership>> = BTreeMap::new();
    let mut default: BTreeMap<Who, Vec<Who>> = BTreeMap::new();
    match vendor {
        Vendor::MariaDb => {
            let rows = rows(connection, "SELECT * FROM mysql.roles_mapping", "mysql.roles_mapping")?;
            for row in each(&rows) {
                let role = Who::role(&row.string("User"));
                let to = if row.string("Host").is_empty() && roles.contains(&role) {
                    role
                } else {
                    row.who("User", "Host")
                };
                let membership =
                    Membership { role: Who::role(&row.string("Role")), admin: row.is("Admin_option") };
                granted.entry(to).or_default().push(membership);
            }
        }
        Vendor::MySql => {
            for row in each(&rows_if_there(connection, "mysql.role_edges")?) {
                let membership = Membership {
                    role: row.who("FROM_USER", "FROM_HOST"),
                    admin: row.is("WITH_ADMIN_OPTION"),
                };
                granted.entry(row.who("TO_USER", "TO_HOST")).or_default().push(membership);
            }
            for row in each(&rows_if_there(connection, "mysql.default_roles")?) {
                let role = row.who("DEFAULT_ROLE_USER", "DEFAULT_ROLE_HOST");
                default.entry(row.who("USER", "HOST")).or_default().push(role);
            }
        }
    }
    for account in accounts {
        account.roles.extend(granted.remove(&account.who).unwrap_or_default());
        account.default_roles.extend(default.remove(&account.who).unwrap_or_default());
        account.roles.sort();
        account.default_roles.sort();
    }
    Ok(())
}

/// MySQL has roles from 8.0 on.
fn rows_if_there(connection: &mut Connection, table: &str) -> Result<Rows> {
    match connection.query(format!("SELECT * FROM {table}")) {
        Err(error) if error.code() == Some(er::NO_SUCH_TABLE) => Ok(Rows::default()),
        Err(_) => rows(connection, &format!("SELECT * FROM {table}"), table),
        Ok(rows) => Ok(rows),
    }
}

fn read_proxies(connection: &mut Connection, accounts: &mut [Account]) -> Result<()> {
    let rows = rows(connection, "SELECT * FROM mysql.proxies_priv", "mysql.proxies_priv")?;
    for row in each(&rows) {
        let who = row.who("User", "Host");
        let proxy = Proxy {
            of: row.who("Proxied_user", "Proxied_host"),
            grant_option: row.string("With_grant") == "1",
        };
        if let Some(account) = accounts.iter_mut().find(|account| account.who == who) {
            account.proxies.push(proxy);
        }
    }
    accounts.iter_mut().for_each(|account| account.proxies.sort());
    Ok(())
}

fn read_grants(connection: &mut Connection, account: &mut Account) -> Result<()> {
    let what = format!("the grants of {}", account.who);
    let lines = match connection.query(format!("SHOW GRANTS FOR {}", account.who)) {
        Err(error) if error.code() == Some(er::NONEXISTING_GRANT) => {
            return Err(Error::with_hint(
                format!(
                    "accounts cannot be read: the server passes over {}, as one of a host by name where skip_name_resolve is ON: {error}",
                    account.who
                ),
                "DROP USER it if nobody needs it, or start the server without skip_name_resolve",
            ));
        }
        Err(_) => rows(connection, &format!("SHOW GRANTS FOR {}", account.who), &what)?,
        Ok(lines) => lines,
    };
    let (mut own, mut tables) = (Vec::new(), 0);
    for row in lines {
        let line = row.bytes(0).unwrap_or_default();
        match Line::read(line, &account.who) {
            Some(Line::Grant(who, grant)) if who == account.who => own.push(grant),
            // MariaDB also lists what the account's roles may do.
            Some(Line::Grant(..) | Line::Other) => {}
            Some(Line::BareColumns) => tables += 1,
            None => return Err(not_understood(&account.who, line)),
        }
    }
    if tables > 0 {
        let found = columns::grants(connection, &account.who)?;
        if found.len() != tables {
            return Err(columns::other_tables(&account.who, tables, found.len()));
        }
        own.extend(found);
    }
    account.grants = grants::together(own);
    Ok(())
}

/// What comes behind the account may hold its password's hash, so it is not shown.
fn not_understood(who: &Who, line: &[u8]) -> Error {
    let line = String::from_utf8_lossy(line);
    let shown = line.split(" IDENTIFIED ").next().unwrap_or_default();
    Error::with_hint(
        format!("accounts cannot be read: a grant of {who} is not understood: {shown}"),
        "REVOKE it, or leave --users away; please report the line",
    )
}
