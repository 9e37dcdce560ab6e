//! The devices below the server's files, and who orders their requests.

pub(super) mod choice;
pub(super) mod elevator;
