//! What a filter says of an event, and of a statement.

/// What to do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is in a transaction that is wanted, or between transactions in a range that is.
    Take,
    /// It is not wanted.
    Leave,
    /// Neither it is wanted nor what comes behind it.
    Stop,
}

/// Whether a statement is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    Yes,
    No,
    /// It goes with its transaction: what is wanted may be in that.
    Along,
    /// It changes what is wanted and what is not, or reads what is not to change what is.
    Partly,
    /// Nobody can tell.
    Untold,
}

/// The words for a statement of which only a part passes the filter.
pub(crate) const PARTLY: &str = "a statement names what is wanted and what is not";

impl Wants {
    pub(super) fn if_so(is_wanted: bool) -> Self {
        if is_wanted { Self::Yes } else { Self::No }
    }

    /// Whether it is to be done.
    pub(crate) fn is_taken(self) -> bool {
        matches!(self, Self::Yes | Self::Along)
    }

    /// Whether it is known to change something that is wanted.
    pub(crate) fn some(self) -> bool {
        matches!(self, Self::Yes | Self::Partly)
    }
}

pub(crate) const DOUBT_HINT: &str = "SELECT @@lower_case_table_names on the logs' server tells which it is: --lower-case-table-names 0, 1 or 2 says so here, \
    and with 0 case counts";
