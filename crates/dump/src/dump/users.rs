//! The accounts of the server as two files of the dump: one for restore, one for people with a client program.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use drover_db::Connection;

use crate::format::digest::Digest;
use crate::format::manifest::{Script, Users};
use crate::format::script;
use crate::users::{Accounts, read, sql};
use crate::{Error, Result};

/// What the files are called; no name in a server becomes a file name with an @.
const FILE: &str = "@users.json";
const SCRIPT: &str = "@users.sql";

/// Reads all accounts and writes them into the dump.
pub(crate) fn dump(connection: &mut Connection, root: &Path) -> Result<Users> {
    let accounts = read::accounts(connection)?;
    let file = root.join(FILE);
    let mut text = serde_json::to_vec_pretty(&accounts)
        .map_err(|error| Error::found(format!("{}: {error}", file.display())))?;
    text.push(b'\n');
    Ok(Users {
        accounts: accounts.accounts.len(),
        file: write(root, FILE, &text)?,
        script: write(root, SCRIPT, &script::render("Accounts and roles", &statements(&accounts)))?,
    })
}

fn statements(accounts: &Accounts) -> Vec<String> {
    let settings = ["SET character_set_client = utf8mb4", "SET sql_mode = ''"];
    settings.into_iter().map(str::to_owned).chain(sql::script(accounts)).collect()
}

/// Writes a file that nobody else may read: it holds the hashes of passwords.
fn write(root: &Path, name: &str, text: &[u8]) -> Result<Script> {
    let path = root.join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .map_err(Error::file(&path))?;
    file.write_all(text).map_err(Error::file(&path))?;
    Ok(Script { file: name.into(), checksum: Digest::of(text) })
}
