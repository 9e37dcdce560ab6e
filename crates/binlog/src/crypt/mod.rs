//! Encrypted logs, read with the keys of a file that the server's key manager wrote.
//!
//! [`Keyring`] knows the files. MySQL encrypts a log as a whole ([`mysql`]), MariaDB each event by itself ([`mariadb`]).

mod aes;
mod derive;
mod keyring;
pub(crate) mod mariadb;
pub(crate) mod mysql;
mod secret;

pub use keyring::Keyring;
#[cfg(test)]
pub(crate) use keyring::tests::of_mariadb as keyring_of_mariadb;
