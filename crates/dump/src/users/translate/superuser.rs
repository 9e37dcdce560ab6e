//! SUPER, which is not the same everywhere. MariaDB took READ_ONLY ADMIN out of it with 10.11 and all that has a privilege of its own with
//! 11.0; its upgrade grants these to who had SUPER (seen by `version_id` in `mysql.global_priv` on 10.5, 10.11, 11.4 and 11.8). MySQL's lets
//! an account grant any role from 8.0 on, and no longer see XA transactions, which its upgrade makes up for by XA_RECOVER_ADMIN
//! (`mysql_system_tables_fix.sql`).

use drover_db::Vendor;
use drover_db::grants::{Grant, Privilege, Scope, Who};

use super::Work;
use super::rights::holds_globally;
use crate::users::privileges::{There, elsewhere};

type Version = (u32, u32, u32);

/// What SUPER allows besides what nothing else does, in MariaDB's words; the first left it before the others.
const PARTS: [&str; 10] = [
    "READ_ONLY ADMIN",
    "BINLOG ADMIN",
    "BINLOG MONITOR",
    "BINLOG REPLAY",
    "CONNECTION ADMIN",
    "FEDERATED ADMIN",
    "REPLICATION MASTER ADMIN",
    "REPLICATION SLAVE ADMIN",
    "SET USER",
    "SLAVE MONITOR",
];

/// MySQL's first version with roles.
const ROLES_OF_MYSQL: Version = (8, 0, 0);

fn parts(vendor: Vendor, version: Version) -> &'static [&'static str] {
    match vendor {
        Vendor::MariaDb if version >= (11, 0, 0) => &[],
        Vendor::MariaDb if version >= (10, 11, 0) => &PARTS[1..],
        _ => &PARTS,
    }
}

impl Work<'_> {
    /// The privileges that come to what SUPER was, of all that was granted to the account.
    pub(super) fn superuser(&mut self, who: &Who, granted: &[Grant]) -> Vec<&'static str> {
        let before = parts(self.from.vendor, self.source);
        let there = parts(self.facts.vendor, self.facts.version);
        let has = |part: &&&str| before.contains(*part) || holds_globally(granted, part);
        let mut more: Vec<_> = there.iter().filter(|part| !has(part)).copied().collect();
        if self.knows("ROLE_ADMIN") && self.from.vendor == Vendor::MariaDb {
            more.push("granting any role");
        }
        let mut found = Vec::new();
        if more.is_empty() {
            found.push("SUPER");
            found.extend(before.iter().filter(|part| !there.contains(part) && self.knows(part)));
            self.without_any_role(who);
        } else {
            found.extend(before.iter().flat_map(|part| self.part(part)));
            if PARTS.iter().all(|part| has(&part)) && self.knows("SYSTEM_VARIABLES_ADMIN") {
                found.push("SYSTEM_VARIABLES_ADMIN");
            }
            self.without_super(who, &more, &found);
        }
        if self.knows("XA_RECOVER_ADMIN") && !self.has_roles_of_mysql() {
            found.push("XA_RECOVER_ADMIN");
        }
        found
    }

    fn knows(&self, name: &str) -> bool {
        self.facts.privileges.contains(name)
    }

    /// Whether the source is a MySQL whose SUPER grants any role.
    fn has_roles_of_mysql(&self) -> bool {
        self.from.vendor == Vendor::MySql && self.source >= ROLES_OF_MYSQL
    }

    fn part(&self, name: &'static str) -> Vec<&'static str> {
        match elsewhere(name, self.facts) {
            _ if self.knows(name) => vec![name],
            There::Is(names) => names,
            _ => Vec::new(),
        }
    }

    fn without_any_role(&mut self, who: &Who) {
        if self.has_roles_of_mysql() && self.facts.vendor == Vendor::MariaDb {
            let what = "its SUPER also granted any role, for which MariaDB has no privilege: it takes WITH ADMIN OPTION of each role";
            self.lost(who, what, None);
        }
    }

    fn without_super(&mut self, who: &Who, more: &[&str], found: &[&str]) {
        let nearer = ["SYSTEM_VARIABLES_ADMIN", "SUPER"];
        let nearest = nearer.into_iter().find(|name| self.knows(name) && !found.contains(name));
        let statement = nearest.map(|name| {
            let privileges = vec![Privilege::new(name)];
            Grant { on: Scope::Global, privileges, grant_option: false, revoked: false }.statement(who)
        });
        let (major, minor, _) = self.facts.version;
        let what = format!(
            "SUPER of {} {major}.{minor} also allows what it could not do ({}): not granted; the statement comes nearest, and allows more",
            self.facts.vendor,
            more.join(", ")
        );
        self.lost(who, what, statement);
    }
}
