//! The accounts of the server as two files of the dump: one for restore, one for people with a client program.

use drover_db::grants::Who;
use drover_db::{Connection, quote};
use drover_store::Store;

use crate::translate::one_line;
use crate::users::{Accounts, read, sql};
use crate::{Error, Result};
use drover_format::manifest::{Script, Users};
use drover_format::script;

/// What the files are called; no name in a server becomes a file name with an @.
const FILE: &str = "@users.json";
const SCRIPT: &str = "@users.sql";

/// Makes sure that they can be read, before anything is written.
///
/// # Errors
/// As for [`read::accounts`].
pub(crate) fn check(connection: &mut Connection) -> Result<()> {
    read::accounts(connection).map(drop)
}

/// Reads all accounts and writes them into the dump; of those that it has to leave out `warnings` tell.
pub(crate) fn dump(connection: &mut Connection, store: &Store, warnings: &mut Vec<String>) -> Result<Users> {
    let accounts = read::accounts(connection)?;
    warnings.extend(accounts.passed_over.iter().map(passed_over));
    let mut text = serde_json::to_vec_pretty(&accounts)
        .map_err(|error| Error::found(format!("{}: {error}", store.path(FILE).display())))?;
    text.push(b'\n');
    Ok(Users {
        accounts: accounts.accounts.len(),
        file: write(store, FILE, &text)?,
        script: write(store, SCRIPT, &script::render(&comment(&accounts), None, &statements(&accounts)))?,
    })
}

fn passed_over(who: &Who) -> String {
    let named = format!(
        "User = {} AND Host = {}",
        quote::string(&who.name),
        quote::string(who.host.as_deref().unwrap_or_default())
    );
    format!(
        "account {who} is left out: its plugin is empty in mysql.user, so the server lets nobody log in to it and does not tell what it may do. DROP \
         USER {who} drops it; UPDATE mysql.user SET plugin = 'mysql_native_password' WHERE {named}; FLUSH PRIVILEGES mends it"
    )
}

/// What the script says at its head. Settings of the server are not among its statements: they decide for all accounts that there are.
fn comment(accounts: &Accounts) -> String {
    let settings: Vec<_> =
        accounts.settings.iter().map(|(name, value)| format!("{name} = '{}'", one_line(value))).collect();
    match settings.is_empty() {
        true => "Accounts and roles".to_owned(),
        false => format!("Accounts and roles. What they may do also depends on {}", settings.join(", ")),
    }
}

fn statements(accounts: &Accounts) -> Vec<String> {
    let settings = ["SET character_set_client = utf8mb4", "SET sql_mode = ''"];
    settings.into_iter().map(str::to_owned).chain(sql::script(accounts)).collect()
}

/// Writes a file that nobody else may read: it holds the hashes of passwords.
fn write(store: &Store, name: &str, text: &[u8]) -> Result<Script> {
    store.write(name, text)?;
    Ok(Script::of(name.into(), text))
}
