//! Accounts and roles: read from a server into a model, written as statements for either vendor, translated where the
//! target is of the other one, and compared. What a target cannot hold is listed, never dropped without a word.

pub(crate) mod authentication;
mod columns;
pub(crate) mod compare;
pub(crate) mod facts;
pub(crate) mod grants;
pub(crate) mod model;
mod privileges;
pub(crate) mod read;
pub(crate) mod sql;
pub(crate) mod translate;

pub(crate) use model::{Account, Accounts};
