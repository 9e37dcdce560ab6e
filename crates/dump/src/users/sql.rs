//! The statements that make an account. All names, hashes and texts are quoted; sql_mode is one of drover's sessions'.

use drover_db::grants::{Grant, Scope, Who};
use drover_db::{Vendor, quote};

use super::model::{Account, Accounts, Factor, Limits, PasswordRules, Require, Secret};

/// How the statements are written that make an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    MariaDb,
    MySql,
    /// CREATE USER takes the password alone, and GRANT what else an account has.
    MySqlBefore57,
}

impl Form {
    /// That of the vendor's servers of today.
    pub(crate) fn of(vendor: Vendor) -> Self {
        match vendor {
            Vendor::MariaDb => Self::MariaDb,
            Vendor::MySql => Self::MySql,
        }
    }

    fn vendor(self) -> Vendor {
        match self {
            Self::MariaDb => Vendor::MariaDb,
            Self::MySql | Self::MySqlBefore57 => Vendor::MySql,
        }
    }
}

/// The statements that make all accounts, in an order in which each finds what it names; those on tables and routines last.
pub(crate) fn script(accounts: &Accounts) -> Vec<String> {
    let vendor = accounts.vendor;
    let all = &accounts.accounts;
    let (roles, users): (Vec<_>, Vec<_>) = all.iter().partition(|account| account.is_role);
    let mut statements: Vec<_> =
        roles.into_iter().chain(users).flat_map(|account| create(account, Form::of(vendor))).collect();
    statements.extend(all.iter().flat_map(|account| memberships(account, vendor)));
    let grants = |on_objects: bool| {
        let of = move |account: &Account| -> Vec<_> {
            let some = account.grants.iter().filter(|grant| is_on_object(grant) == on_objects);
            some.map(|grant| grant.statement(&account.who)).collect()
        };
        all.iter().flat_map(of)
    };
    statements.extend(grants(false).chain(grants(true)));
    statements
}

/// Whether the grant can be made only when a table or routine is there.
pub(crate) fn is_on_object(grant: &Grant) -> bool {
    matches!(grant.on, Scope::Table(..) | Scope::Routine(..))
}

/// The statements that make the account as one that may do nothing yet; they hold secrets.
pub(crate) fn create(account: &Account, form: Form) -> Vec<String> {
    let (who, vendor) = (&account.who, form.vendor());
    if who.is_public() {
        return Vec::new(); // it is always there
    }
    if account.is_role {
        return vec![format!("CREATE ROLE IF NOT EXISTS {who}")];
    }
    if form == Form::MySqlBefore57 {
        return create_and_grant(account);
    }
    let older = !account.older_password.0.is_empty();
    let mut identified = identified(account, vendor);
    let mut after = Vec::new();
    if let (true, Some(way)) = (older, account.ways.first()) {
        // The older password is the first one; the current one comes beside it.
        after.push(format!("ALTER USER {who}{identified} RETAIN CURRENT PASSWORD"));
        let first = Factor { hash: account.older_password.clone(), plugin: way.plugin.clone() };
        identified = format!(" IDENTIFIED {} {}", via(vendor), factor(&first, vendor));
    }
    if account.password.expired && account.password.lifetime.is_some() {
        after.push(format!("ALTER USER {who} PASSWORD EXPIRE")); // MariaDB does not take both at once
    }
    let lock = if account.locked { " ACCOUNT LOCK" } else { "" };
    let attribute = account.attribute.as_ref().map(|text| format!(" ATTRIBUTE {}", quote::string(text)));
    let first = format!(
        "CREATE USER IF NOT EXISTS {who}{identified}{}{}{lock}{}{}",
        require(&account.require),
        limits(&account.limits),
        password(&account.password),
        attribute.unwrap_or_default()
    );
    [first].into_iter().chain(after).collect()
}

/// The statement that drops the account. PUBLIC cannot be dropped: all is taken from it, roles too.
pub(crate) fn drop(account: &Account) -> String {
    let who = &account.who;
    match account.is_role {
        _ if who.is_public() => format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {who}"),
        true => format!("DROP ROLE {who}"),
        false => format!("DROP USER {who}"),
    }
}

fn create_and_grant(account: &Account) -> Vec<String> {
    let who = &account.who;
    // With WITH … AS the hash comes into a column that no server of then looks at: everybody is let in without a password.
    let identified = match account.ways.first() {
        Some(way) if ["mysql_native_password", "mysql_old_password"].contains(&&*way.plugin) => {
            let hash = literal(&way.hash, Vendor::MySql);
            if way.hash.0.is_empty() { String::new() } else { format!(" IDENTIFIED BY PASSWORD {hash}") }
        }
        _ => identified(account, Vendor::MySql),
    };
    let more = require(&account.require) + &limits(&account.limits);
    let grant = (!more.is_empty()).then(|| format!("GRANT USAGE ON *.* TO {who}{more}"));
    let expire = account.password.expired.then(|| format!("ALTER USER {who} PASSWORD EXPIRE"));
    [format!("CREATE USER {who}{identified}")].into_iter().chain(grant).chain(expire).collect()
}

fn identified(account: &Account, vendor: Vendor) -> String {
    if account.ways.is_empty() {
        return String::new();
    }
    let ways: Vec<_> = account.ways.iter().map(|way| factor(way, vendor)).collect();
    let further =
        account.further.iter().map(|one| format!(" AND IDENTIFIED {} {}", via(vendor), factor(one, vendor)));
    format!(" IDENTIFIED {} {}{}", via(vendor), ways.join(" OR "), further.collect::<String>())
}

fn via(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::MariaDb => "VIA",
        Vendor::MySql => "WITH",
    }
}

fn factor(factor: &Factor, vendor: Vendor) -> String {
    let plugin = quote::identifier(&factor.plugin);
    let using = match vendor {
        Vendor::MariaDb => "USING",
        Vendor::MySql => "AS",
    };
    match factor.hash.0.is_empty() {
        true => plugin,
        false => format!("{plugin} {using} {}", literal(&factor.hash, vendor)),
    }
}

/// MariaDB takes a string only, and so does MySQL before 8.0.17, whose salts are of any seven bits. The vendors' clients
/// make `\r\n` in a script `\n`.
fn literal(secret: &Secret, vendor: Vendor) -> String {
    let text = std::str::from_utf8(&secret.0).ok();
    match text.filter(|text| vendor == Vendor::MariaDb || text.is_ascii()) {
        Some(text) => quote::string(text).replace('\r', "\\r"),
        None => quote::hex(&secret.0),
    }
}

fn require(require: &Require) -> String {
    let (cipher, issuer, subject) = match require {
        Require::None => return String::new(),
        Require::Ssl => return " REQUIRE SSL".into(),
        Require::X509 => return " REQUIRE X509".into(),
        Require::Specified { cipher, issuer, subject } => (cipher, issuer, subject),
    };
    let traits = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
    let given = traits.iter().filter(|(_, value)| !value.is_empty());
    let given: Vec<_> = given.map(|(name, value)| format!("{name} {}", quote::string(value))).collect();
    format!(" REQUIRE {}", given.join(" AND "))
}

fn limits(limits: &Limits) -> String {
    let number = |value: String| Some(value).filter(|value| value != "0");
    let all = [
        ("MAX_QUERIES_PER_HOUR", number(limits.queries_per_hour.to_string())),
        ("MAX_UPDATES_PER_HOUR", number(limits.updates_per_hour.to_string())),
        ("MAX_CONNECTIONS_PER_HOUR", number(limits.connections_per_hour.to_string())),
        ("MAX_USER_CONNECTIONS", number(limits.user_connections.to_string())),
        ("MAX_STATEMENT_TIME", limits.statement_time.clone()),
    ];
    let given: Vec<_> =
        all.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?))).collect();
    if given.is_empty() { String::new() } else { format!(" WITH {}", given.join(" ")) }
}

fn password(rules: &PasswordRules) -> String {
    let days = |days: u32| format!("INTERVAL {days} DAY");
    let expire = match rules.lifetime {
        None if rules.expired => Some("EXPIRE".to_owned()),
        None => None,
        Some(0) => Some("EXPIRE NEVER".to_owned()),
        Some(lifetime) => Some(format!("EXPIRE {}", days(lifetime))),
    };
    let current = rules.require_current.map(|required| if required { "" } else { " OPTIONAL" });
    let all = [
        expire,
        rules.history.map(|count| format!("HISTORY {count}")),
        rules.reuse_interval.map(|count| format!("REUSE {}", days(count))),
        current.map(|optional| format!("REQUIRE CURRENT{optional}")),
    ];
    let mut text: String = all.into_iter().flatten().map(|rule| format!(" PASSWORD {rule}")).collect();
    if let Some((attempts, days)) = rules.failed_logins {
        let time = if days < 0 { "UNBOUNDED".to_owned() } else { days.to_string() };
        text += &format!(" FAILED_LOGIN_ATTEMPTS {attempts} PASSWORD_LOCK_TIME {time}");
    }
    text
}

/// Roles, default roles and proxies.
pub(crate) fn memberships(account: &Account, vendor: Vendor) -> Vec<String> {
    let who = &account.who;
    let roles = account.roles.iter().map(|membership| {
        let admin = if membership.admin { " WITH ADMIN OPTION" } else { "" };
        format!("GRANT {} TO {who}{admin}", membership.role)
    });
    let names: Vec<_> = account.default_roles.iter().map(Who::to_string).collect();
    let to = match vendor {
        Vendor::MariaDb => "FOR",
        Vendor::MySql => "TO",
    };
    let defaults = (!names.is_empty()).then(|| format!("SET DEFAULT ROLE {} {to} {who}", names.join(", ")));
    let proxies = account.proxies.iter().map(|proxy| {
        let option = if proxy.grant_option { " WITH GRANT OPTION" } else { "" };
        format!("GRANT PROXY ON {} TO {who}{option}", proxy.of)
    });
    roles.chain(defaults).chain(proxies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        let mut account = Account::new(Who::new("o'dd", "%"));
        account.ways = vec![Factor::new("unix_socket", b""), Factor::new("mysql_native_password", b"*0A")];
        account.require =
            Require::Specified { cipher: String::new(), issuer: "/CN='b".into(), subject: "/CN=a".into() };
        account.limits =
            Limits { user_connections: -1, statement_time: Some("1.5".into()), ..Limits::default() };
        account.password = PasswordRules { expired: true, lifetime: Some(3), ..PasswordRules::default() };
        account.locked = true;
        account
    }

    #[test]
    fn an_account_of_mariadb() {
        assert_eq!(
            create(&account(), Form::MariaDb),
            [
                "CREATE USER IF NOT EXISTS `o'dd`@`%` IDENTIFIED VIA `unix_socket` OR `mysql_native_password` USING '*0A' \
                 REQUIRE SUBJECT '/CN=a' AND ISSUER '/CN=''b' WITH MAX_USER_CONNECTIONS -1 MAX_STATEMENT_TIME 1.5 \
                 ACCOUNT LOCK PASSWORD EXPIRE INTERVAL 3 DAY",
                "ALTER USER `o'dd`@`%` PASSWORD EXPIRE"
            ]
        );
    }

    #[test]
    fn before_5_7_an_account_is_made_by_two_statements() {
        let mut account = account();
        account.ways.remove(0);
        assert_eq!(
            create(&account, Form::MySqlBefore57),
            [
                "CREATE USER `o'dd`@`%` IDENTIFIED BY PASSWORD '*0A'",
                "GRANT USAGE ON *.* TO `o'dd`@`%` REQUIRE SUBJECT '/CN=a' AND ISSUER '/CN=''b' WITH MAX_USER_CONNECTIONS -1 \
                 MAX_STATEMENT_TIME 1.5",
                "ALTER USER `o'dd`@`%` PASSWORD EXPIRE"
            ]
        );
    }

    #[test]
    fn an_account_of_mysql_with_two_passwords() {
        let mut account = Account::new(Who::new("a", "h"));
        account.ways = vec![Factor::new("caching_sha2_password", b"$A$\x01")];
        account.older_password = Secret(b"$A$\r\nB".to_vec());
        account.attribute = Some("{\"a\": \"it's\"}".into());
        account.password.failed_logins = Some((3, -1));
        assert_eq!(
            create(&account, Form::MySql),
            [
                "CREATE USER IF NOT EXISTS `a`@`h` IDENTIFIED WITH `caching_sha2_password` AS '$A$\\r\nB' \
                 FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED ATTRIBUTE '{\"a\": \"it''s\"}'",
                "ALTER USER `a`@`h` IDENTIFIED WITH `caching_sha2_password` AS '$A$\u{1}' RETAIN CURRENT PASSWORD"
            ]
        );
    }
}
