//! The accounts of the server as two files of the dump: one for restore, one for people with a client program.

use drover_db::Connection;

use crate::format::manifest::{Script, Users};
use crate::format::script;
use crate::store::Store;
use crate::users::{Accounts, read, sql};
use crate::{Error, Result};

/// What the files are called; no name in a server becomes a file name with an @.
const FILE: &str = "@users.json";
const SCRIPT: &str = "@users.sql";

/// Reads all accounts and writes them into the dump.
pub(crate) fn dump(connection: &mut Connection, store: &Store) -> Result<Users> {
    let accounts = read::accounts(connection)?;
    let mut text = serde_json::to_vec_pretty(&accounts)
        .map_err(|error| Error::found(format!("{}: {error}", store.path(FILE).display())))?;
    text.push(b'\n');
    Ok(Users {
        accounts: accounts.accounts.len(),
        file: write(store, FILE, &text)?,
        script: write(store, SCRIPT, &script::render("Accounts and roles", None, &statements(&accounts)))?,
    })
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
