//! What several checks of tables share. Not a check.

use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

/// Schemas that are the server's own, as a list of SQL.
pub(super) const SYSTEM: &str = "('mysql', 'information_schema', 'performance_schema', 'sys', 'ndbinfo')";
/// How many tables or indexes are told one by one.
pub(super) const TOLD: usize = 10;

/// Those of this account alone. A role's privileges are not among them.
const SELECT: &str = "SELECT COUNT(*) AS granted FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'SELECT' AND \
                      REPLACE(GRANTEE, '''', '') = CURRENT_USER()";

/// What to say of tables that may be there and are not seen: the server lists those that the account has a privilege on, and no others.
pub(super) fn hidden(facts: &Facts) -> Seen<Option<String>> {
    let granted = facts.ask(SELECT)?;
    match granted.first("granted") {
        Some("0") => Ok(Some("tables that this account may not see: it has no SELECT ON *.*".to_owned())),
        Some(_) => Ok(None),
        None => Err(Unseen::Missing),
    }
}
