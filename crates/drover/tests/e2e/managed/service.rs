//! What the services give to the account that one gets with a server, by their documentation, and how they set the server up. The pages
//! name the sources.

use drover_sandbox::Flavour;

use super::gate::Refusal;
use super::page::{Page, Version};

pub(super) struct Service {
    pub(super) page: Page,
    /// Server options; whether it writes a binary log is said apart.
    pub(super) options: fn(Version) -> Vec<&'static str>,
    /// Makes the account `admin`.
    pub(super) admin: fn(Version) -> String,
    pub(super) refusals: &'static [Refusal],
    /// Whether there is no binary log until somebody asks for it.
    pub(super) may_lack_log: bool,
}

pub(super) const AMAZON_RDS: Service = Service {
    page: Page(include_str!("../../../../../docs/amazon-rds.md")),
    options: |_| vec!["--log-bin-trust-function-creators=1"],
    admin: rds_admin,
    refusals: &[NO_GLOBAL_LOCK, NO_LOCK_ON_SYS],
    may_lack_log: false,
};

pub(super) const AMAZON_AURORA: Service = Service {
    page: Page(include_str!("../../../../../docs/amazon-aurora.md")),
    options: |version| {
        let mut options = vec!["--log-bin-trust-function-creators=1", "--performance-schema=OFF"];
        if version.is_mysql_from(ROLES) {
            options.push("--activate-all-roles-on-login=ON");
        }
        options
    },
    admin: aurora_admin,
    refusals: &[NO_GLOBAL_LOCK, NO_LOCK_ON_SYS, NO_REPLICA_STATUS, NO_SLAVE_STATUS],
    may_lack_log: true,
};

pub(super) const GOOGLE_CLOUD_SQL: Service = Service {
    page: Page(include_str!("../../../../../docs/google-cloud-sql.md")),
    options: |version| {
        let mut options = vec!["--log-bin-trust-function-creators=1", "--local-infile=1"];
        if version.is_mysql_from(ROLES) {
            options.extend(["--partial-revokes=ON", "--activate-all-roles-on-login=ON"]);
        }
        options
    },
    admin: cloud_sql_admin,
    refusals: &[NO_GLOBAL_LOCK],
    may_lack_log: false,
};

pub(super) const AZURE: Service = Service {
    page: Page(include_str!("../../../../../docs/azure.md")),
    options: |version| {
        let mut options = vec![
            "--log-bin-trust-function-creators=1",
            "--lower-case-table-names=1",
            "--local-infile=0",
            "--disabled-storage-engines=MyISAM,BLACKHOLE,ARCHIVE,FEDERATED",
        ];
        if version.is_mysql_from(ROLES) {
            options.push("--sql-generate-invisible-primary-key=ON");
        }
        options
    },
    admin: azure_admin,
    refusals: &[NO_GLOBAL_LOCK],
    may_lack_log: false,
};

/// As public reports have them: mydumper/mydumper#1610 and #1626, pingcap/dm#1092.
const NO_GLOBAL_LOCK: Refusal = Refusal {
    begins: "FLUSH TABLES WITH READ LOCK",
    has: "",
    state: "28000",
    code: 1045,
    words: "Access denied for user ''admin''@''%'' (using password: YES)",
};
const NO_LOCK_ON_SYS: Refusal = Refusal {
    begins: "LOCK TABLES",
    has: "`sys`.",
    state: "42000",
    code: 1044,
    words: "Access denied for user ''admin''@''%'' to database ''sys''",
};
const NO_REPLICA_STATUS: Refusal = Refusal {
    begins: "SHOW REPLICA STATUS",
    has: "",
    state: "42000",
    code: 1227,
    words: "Access denied; you need (at least one of) the SUPER, REPLICATION CLIENT privilege(s) for this operation",
};
const NO_SLAVE_STATUS: Refusal = Refusal { begins: "SHOW SLAVE STATUS", ..NO_REPLICA_STATUS };

const ROLES: (u32, u32) = (8, 0);
/// Where SET_USER_ID has become SET_ANY_DEFINER.
const ANY_DEFINER: (u32, u32) = (8, 4);

const STATIC: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, PROCESS, REFERENCES, INDEX, ALTER, SHOW DATABASES, \
    CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE, REPLICATION SLAVE, REPLICATION CLIENT, CREATE VIEW, SHOW VIEW, CREATE ROUTINE, \
    ALTER ROUTINE, CREATE USER, EVENT, TRIGGER";

const CREATE_ADMIN: &str = "CREATE USER admin@'%'; GRANT SELECT ON *.* TO admin@'%'";

/// All privileges of `list` on everything, which the account may give to others.
fn with_grant_option(list: &str) -> String {
    format!("CREATE USER admin@'%'; GRANT {list} ON *.* TO admin@'%' WITH GRANT OPTION")
}

/// The same by a role, which is all that the account has.
fn by_role(role: &str, list: &str) -> String {
    format!(
        "CREATE ROLE {role}@'%'; GRANT {list} ON *.* TO {role}@'%' WITH GRANT OPTION; CREATE USER admin@'%' DEFAULT ROLE {role}@'%'; \
         GRANT {role}@'%' TO admin@'%' WITH ADMIN OPTION"
    )
}

fn rds_admin(version: Version) -> String {
    let allowed = "APPLICATION_PASSWORD_ADMIN, FLUSH_OPTIMIZER_COSTS, FLUSH_STATUS, FLUSH_TABLES, FLUSH_USER_RESOURCES, ROLE_ADMIN, \
        SENSITIVE_VARIABLES_OBSERVER, SESSION_VARIABLES_ADMIN, SHOW_ROUTINE, XA_RECOVER_ADMIN";
    match version {
        Version { flavour: Flavour::MariaDb, number } if number >= (11, 4) => {
            with_grant_option(&format!("{STATIC}, SHOW CREATE ROUTINE"))
        }
        version if version.is_mysql_from(ROLES) => {
            let definers = if version.is_mysql_from(ANY_DEFINER) { "SET_ANY_DEFINER" } else { "SET_USER_ID" };
            with_grant_option(&format!("{STATIC}, CREATE ROLE, DROP ROLE, {allowed}, {definers}"))
        }
        _ => with_grant_option(STATIC),
    }
}

fn aurora_admin(version: Version) -> String {
    if !version.is_mysql_from(ROLES) {
        return with_grant_option(STATIC);
    }
    let definers = if version.is_mysql_from(ANY_DEFINER) {
        "SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER, FLUSH_PRIVILEGES, OPTIMIZE_LOCAL_TABLE"
    } else {
        "SET_USER_ID"
    };
    let more = "APPLICATION_PASSWORD_ADMIN, CONNECTION_ADMIN, FLUSH_OPTIMIZER_COSTS, FLUSH_STATUS, FLUSH_TABLES, FLUSH_USER_RESOURCES, \
        ROLE_ADMIN, SHOW_ROUTINE, XA_RECOVER_ADMIN";
    by_role("rds_superuser_role", &format!("{STATIC}, CREATE ROLE, DROP ROLE, {more}, {definers}"))
}

/// The dynamic privileges are the fewest that public reports have; the system's schemas can only be read.
fn cloud_sql_admin(version: Version) -> String {
    if !version.is_mysql_from(ROLES) {
        return format!(
            "{CREATE_ADMIN}; GRANT ALL ON *.* TO admin@'%' WITH GRANT OPTION; REVOKE FILE, SUPER ON *.* FROM admin@'%'"
        );
    }
    let list =
        format!("{STATIC}, SHUTDOWN, CREATE TABLESPACE, CREATE ROLE, DROP ROLE, ROLE_ADMIN, SHOW_ROUTINE");
    let revoked = ["mysql", "sys"].map(|schema| {
        format!("REVOKE INSERT, UPDATE, DELETE, CREATE, DROP, ALTER ON {schema}.* FROM cloudsqlsuperuser@'%'")
    });
    format!("{}; {}", by_role("cloudsqlsuperuser", &list), revoked.join("; "))
}

fn azure_admin(version: Version) -> String {
    let more = "CREATE ROLE, DROP ROLE, REPLICATION_APPLIER, ROLE_ADMIN, SESSION_VARIABLES_ADMIN, SHOW_ROUTINE, XA_RECOVER_ADMIN";
    match version.is_mysql_from(ROLES) {
        true => with_grant_option(&format!("{STATIC}, {more}")),
        false => with_grant_option(STATIC),
    }
}
