//! What an account is, whichever vendor's server it comes from. `@users.json` holds this.

use std::collections::BTreeMap;
use std::fmt;

use drover_db::Vendor;
use drover_db::grants::{Grant, Who};
use serde::{Deserialize, Serialize};

/// The accounts and roles of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Accounts {
    /// Whose words privileges, plugins and hosts are.
    pub(crate) vendor: Vendor,
    /// MySQL's `partial_revokes`: `_` and `%` in the schema names of grants stand for themselves.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) partial_revokes: bool,
    /// What else decides what accounts may do: those of MySQL's global settings [`RULING`] that are not at their default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) settings: BTreeMap<String, String>,
    /// Sorted by name and host.
    pub(crate) accounts: Vec<Account>,
    /// Accounts that the server passes over, as MySQL from 5.7 on does if their plugin is empty: nobody can log in, and it does not tell what
    /// they may do.
    #[serde(skip)]
    pub(crate) passed_over: Vec<Who>,
}

/// MySQL's global settings that decide what accounts may do, beside `partial_revokes`. MariaDB has none of them.
pub(crate) const RULING: [&str; 5] = [
    "mandatory_roles",
    "activate_all_roles_on_login",
    "check_proxy_users",
    "mysql_native_password_proxy_users",
    "sha256_password_proxy_users",
];

/// An account or a role with all that it may do. A field is absent where the server's own default applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) who: Who,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) is_role: bool,
    /// Each of them alone lets the user in (MariaDB's `OR`); empty for roles.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) ways: Vec<Factor>,
    /// What is asked for besides (MySQL's `AND`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) further: Vec<Factor>,
    /// The older password that still holds (MySQL's `RETAIN CURRENT PASSWORD`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) older_password: Secret,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) require: Require,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) limits: Limits,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) locked: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) password: PasswordRules,
    /// A JSON object (MySQL): `ATTRIBUTE`, which holds the `COMMENT` too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) attribute: Option<String>,
    /// Sorted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) roles: Vec<Membership>,
    /// Sorted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) default_roles: Vec<Who>,
    /// Whom it may act for, sorted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) proxies: Vec<Proxy>,
    /// Sorted by what they are on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) grants: Vec<Grant>,
}

impl Account {
    pub(crate) fn new(who: Who) -> Self {
        Self {
            who,
            is_role: false,
            ways: Vec::new(),
            further: Vec::new(),
            older_password: Secret::default(),
            require: Require::None,
            limits: Limits::default(),
            locked: false,
            password: PasswordRules::default(),
            attribute: None,
            roles: Vec::new(),
            default_roles: Vec::new(),
            proxies: Vec::new(),
            grants: Vec::new(),
        }
    }

    /// All password hashes and the like, none of which may be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.ways.iter().chain(&self.further).map(|factor| &factor.hash).chain([&self.older_password])
    }
}

/// One way to prove who one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Factor {
    pub(crate) plugin: String,
    /// What the plugin compares with: a password's hash, a user of the system; empty for no password.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) hash: Secret,
}

impl Factor {
    pub(crate) fn new(plugin: &str, hash: &[u8]) -> Self {
        Self { plugin: plugin.into(), hash: Secret(hash.to_vec()) }
    }
}

/// Bytes that are never shown; in the file they are hexadecimal.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "hidden" })
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&digits)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<_>> = digits.as_bytes().chunks(2).map(byte).collect();
        match bytes {
            Some(bytes) if digits.len() % 2 == 0 => Ok(Self(bytes)),
            // The text itself is a secret too, so it is not in the message.
            _ => Err(serde::de::Error::custom("a hash that is not hexadecimal")),
        }
    }
}

/// What is asked of the connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Require {
    #[default]
    None,
    /// TLS.
    Ssl,
    /// TLS with a certificate of the client's.
    X509,
    /// Such a certificate with these traits; those that are empty may be any.
    Specified { cipher: String, issuer: String, subject: String },
}

/// Limits; 0 for none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Limits {
    pub(crate) queries_per_hour: u64,
    pub(crate) updates_per_hour: u64,
    pub(crate) connections_per_hour: u64,
    /// Negative for none at all (MariaDB).
    pub(crate) user_connections: i64,
    /// In seconds, with decimals (MariaDB).
    pub(crate) statement_time: Option<String>,
}

/// When a password must be changed, and into what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PasswordRules {
    /// It must be changed before anything else is done.
    pub(crate) expired: bool,
    /// In days; 0 for ever.
    pub(crate) lifetime: Option<u32>,
    /// How many earlier passwords may not come again.
    pub(crate) history: Option<u32>,
    /// For how many days an earlier password may not come again.
    pub(crate) reuse_interval: Option<u32>,
    /// Whether the current one must be named when it is changed.
    pub(crate) require_current: Option<bool>,
    /// After how many wrong passwords the account is locked, and for how many days; -1 for ever.
    pub(crate) failed_logins: Option<(u32, i64)>,
}

/// A role that is granted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Membership {
    pub(crate) role: Who,
    /// Whether it may be granted on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) admin: bool,
}

/// An account that one may act for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Proxy {
    pub(crate) of: Who,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) grant_option: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_not_shown() {
        let mut account = Account::new(Who::new("a", "%"));
        account.ways = vec![Factor::new("p", b"*hash")];
        assert!(!format!("{account:?}").contains("hash: *") && format!("{account:?}").contains("hidden"));
        let wrong = serde_json::from_str::<Secret>("\"2a68617\"").unwrap_err().to_string();
        assert!(!wrong.contains("2a68"), "{wrong}");
    }

    proptest! {
        #[test]
        fn secrets_come_back(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let secret = Secret(bytes);
            let text = serde_json::to_string(&secret).unwrap();
            prop_assert_eq!(serde_json::from_str::<Secret>(&text).unwrap(), secret);
        }
    }
}
