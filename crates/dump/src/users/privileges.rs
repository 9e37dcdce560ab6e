//! Privileges that the vendors, or their versions, call by other names. One is replaced only by what allows no more.

use super::facts::Facts;

/// Another name for a privilege.
struct Other {
    name: &'static str,
    /// What allows the same; of several alternatives the first that the target knows whole.
    same: &'static [&'static [&'static str]],
    /// What allows it on the other server, and more besides; the first that the target knows.
    nearest: &'static [&'static str],
}

const fn same(name: &'static str, same: &'static [&'static [&'static str]]) -> Other {
    Other { name, same, nearest: &[] }
}

const fn near(name: &'static str, nearest: &'static [&'static str]) -> Other {
    Other { name, same: &[], nearest }
}

#[rustfmt::skip]
const OTHERS: &[Other] = &[
    // MariaDB's, for MySQL
    same("BINLOG MONITOR", &[&["REPLICATION CLIENT"]]),
    same("SLAVE MONITOR", &[&["REPLICATION CLIENT"]]),
    same("REPLICATION SLAVE ADMIN", &[&["REPLICATION_SLAVE_ADMIN"]]),
    same("BINLOG ADMIN", &[&["BINLOG_ADMIN"]]),
    same("BINLOG REPLAY", &[&["REPLICATION_APPLIER"]]),
    same("CONNECTION ADMIN", &[&["CONNECTION_ADMIN"]]),
    same("SET USER", &[&["SET_ANY_DEFINER", "ALLOW_NONEXISTENT_DEFINER"], &["SET_USER_ID"]]),
    same("SHOW CREATE ROUTINE", &[&["SHOW_ROUTINE"]]),
    near("REPLICATION MASTER ADMIN", &["SYSTEM_VARIABLES_ADMIN"]),
    near("READ_ONLY ADMIN", &["CONNECTION_ADMIN"]),
    near("FEDERATED ADMIN", &["SUPER"]),
    // MySQL's, for MariaDB
    same("REPLICATION CLIENT", &[&["BINLOG MONITOR", "SLAVE MONITOR"]]),
    same("REPLICATION_SLAVE_ADMIN", &[&["REPLICATION SLAVE ADMIN"]]),
    same("BINLOG_ADMIN", &[&["BINLOG ADMIN"]]),
    same("REPLICATION_APPLIER", &[&["BINLOG REPLAY"]]),
    same("CONNECTION_ADMIN", &[&["CONNECTION ADMIN", "READ_ONLY ADMIN"]]),
    Other { name: "SET_ANY_DEFINER", same: &[&["SET USER"]], nearest: &["SET_USER_ID"] },
    same("SHOW_ROUTINE", &[&["SHOW CREATE ROUTINE"]]),
    near("ALLOW_NONEXISTENT_DEFINER", &["SET USER", "SET_USER_ID"]),
    near("CREATE ROLE", &["CREATE USER"]),
    near("DROP ROLE", &["CREATE USER"]),
    near("BACKUP_ADMIN", &["RELOAD"]),
    near("FLUSH_OPTIMIZER_COSTS", &["RELOAD"]),
    near("FLUSH_PRIVILEGES", &["RELOAD"]),
    near("FLUSH_STATUS", &["RELOAD"]),
    near("FLUSH_TABLES", &["RELOAD"]),
    near("FLUSH_USER_RESOURCES", &["RELOAD"]),
    near("PERSIST_RO_VARIABLES_ADMIN", &["SUPER"]),
    near("SESSION_VARIABLES_ADMIN", &["SUPER"]),
    near("SYSTEM_VARIABLES_ADMIN", &["SUPER"]),
    // What MariaDB, and MySQL before 8.0, let everybody do.
    same("XA_RECOVER_ADMIN", &[&[]]),
    // An older MySQL's, for a newer one and for MariaDB
    same("SET_USER_ID", &[&["SET_ANY_DEFINER", "ALLOW_NONEXISTENT_DEFINER"], &["SET USER"]]),
];

/// What a privilege is on a server that may not know it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum There {
    /// These together.
    Is(Vec<&'static str>),
    /// Nothing that allows no more; this one comes nearest.
    Nearest(&'static str),
    /// Nothing.
    Unknown,
}

/// What stands for a privilege that `facts` does not have.
pub(super) fn elsewhere(name: &str, facts: &Facts) -> There {
    let has = |name: &&str| facts.privileges.contains(*name);
    let Some(other) = OTHERS.iter().find(|other| other.name == name) else { return There::Unknown };
    match other.same.iter().find(|names| names.iter().all(has)) {
        Some(names) => There::Is(names.to_vec()),
        None => {
            other.nearest.iter().find(|name| has(name)).map_or(There::Unknown, |name| There::Nearest(name))
        }
    }
}

/// The privileges that MySQL has had since before it had roles: an account with all of them globally had ALL PRIVILEGES.
pub(super) const ALL_OF_MYSQL: [&str; 28] = [
    "ALTER",
    "ALTER ROUTINE",
    "CREATE",
    "CREATE ROUTINE",
    "CREATE TABLESPACE",
    "CREATE TEMPORARY TABLES",
    "CREATE USER",
    "CREATE VIEW",
    "DELETE",
    "DROP",
    "EVENT",
    "EXECUTE",
    "FILE",
    "INDEX",
    "INSERT",
    "LOCK TABLES",
    "PROCESS",
    "REFERENCES",
    "RELOAD",
    "REPLICATION CLIENT",
    "REPLICATION SLAVE",
    "SELECT",
    "SHOW DATABASES",
    "SHOW VIEW",
    "SHUTDOWN",
    "SUPER",
    "TRIGGER",
    "UPDATE",
];
