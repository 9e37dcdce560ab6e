//! Settings of the whole server that decide what accounts may do. They are never changed, but listed where they are not as they were.

use drover_db::{Vendor, quote};

use drover_format::NotHeld;

use super::Work;
use crate::users::model::RULING;

/// What a setting decides.
fn effect(name: &str) -> &'static str {
    match name {
        "mandatory_roles" => "which roles all accounts have",
        "activate_all_roles_on_login" => "whether all roles of an account are active when it logs in",
        _ => "whether the server looks for a proxy user by itself",
    }
}

/// What MariaDB has in a setting's place.
fn on_mariadb(name: &str) -> &'static str {
    match name {
        "mandatory_roles" => "GRANT … TO PUBLIC comes nearest, from 10.11 on",
        "activate_all_roles_on_login" => "an account has one default role",
        _ => "only plugins map accounts to others",
    }
}

impl Work<'_> {
    pub(super) fn settings(&mut self) {
        RULING.iter().for_each(|name| self.setting(name));
    }

    fn setting(&mut self, name: &str) {
        let default = if name == "mandatory_roles" { "" } else { "OFF" };
        let before = self.from.settings.get(name).map_or(default, String::as_str);
        let there = self.facts.settings.get(name).map(String::as_str);
        if there.unwrap_or(default) == before || !self.matters(name) {
            return;
        }
        let was = format!("it was {}, and decides {}", shown(before), effect(name));
        let (what, statement) = match there {
            Some(there) => {
                let set = if self.facts.lacks_roles() { "GLOBAL" } else { "PERSIST" };
                (
                    format!("{was}: here it is {}", shown(there)),
                    Some(format!("SET {set} {name} = {}", shown(before))),
                )
            }
            None if self.facts.vendor == Vendor::MariaDb => {
                (format!("{was}: MariaDB has no such setting; {}", on_mariadb(name)), None)
            }
            None => (format!("{was}: this server has no such setting"), None),
        };
        self.not_held.push(NotHeld { account: name.to_owned(), what, statement });
    }

    /// Settings for proxies matter where there is one, beside root's.
    fn matters(&self, name: &str) -> bool {
        let is_proxy =
            |account: &crate::users::Account| account.who.name != "root" && !account.proxies.is_empty();
        !name.ends_with("proxy_users") || self.from.accounts.iter().any(is_proxy)
    }
}

fn shown(value: &str) -> String {
    if ["ON", "OFF"].contains(&value) { value.to_owned() } else { quote::string(value) }
}
