//! What of the logs is wanted, in one line, as a replay notes it on the target and compares it with what another one wanted.

use crate::gtid_set::GtidSet;

/// The options that choose transactions, as a selection has them before a set of GTIDs.
pub(super) const INCLUDING: &str = "--include-gtids ";
pub(super) const EXCLUDING: &str = "--exclude-gtids ";

/// The dump that a selection names, and what else it does.
pub(super) fn parts(selection: &str) -> (&str, &str) {
    match selection.strip_prefix("--after ") {
        None => ("", selection),
        Some(after) => after.split_once(" --").unwrap_or((after, "")),
    }
}

/// Whether it is the same selection, or one that leaves out more transactions: what an earlier run left out stays so.
pub(super) fn goes_on_from(known: &str, selection: &str) -> bool {
    let parts = |text: &'_ str| match text.rsplit_once(EXCLUDING) {
        Some((rest, set)) => Some((rest.trim_end().to_owned(), set.parse::<GtidSet>().ok()?)),
        None => Some((text.to_owned(), GtidSet::default())),
    };
    let is_wider = || {
        let ((rest, set), (known_rest, known_set)) = (parts(selection)?, parts(known)?);
        Some(rest == known_rest && set.contains_all(&known_set))
    };
    known == selection || is_wider().unwrap_or(false)
}

/// What stands in quotes, if it is a name and no pattern.
fn plain(quoted: &str) -> Option<&str> {
    let name = quoted.strip_prefix('"')?.strip_suffix('"')?;
    (!name.contains(['*', '?', '[', '{', '\\', '"'])).then_some(name)
}

/// The schemas and tables that a selection names, each with its table if it names one.
pub(super) struct Names<'a>(Vec<(&'a str, Option<&'a str>)>);

impl<'a> Names<'a> {
    /// None if anything may be wanted: it names none, has patterns, or chooses otherwise too.
    pub(super) fn of(selection: &'a str) -> Option<Self> {
        let selection = selection.strip_prefix("--").unwrap_or(selection);
        let name = |option: &'a str| match option.split_once(' ')? {
            ("database", value) => Some((plain(value)?, None)),
            ("table", value) => {
                let (schema, table) = plain(value)?.split_once('.')?;
                (!table.contains('.')).then_some((schema, Some(table)))
            }
            _ => None,
        };
        selection.split(" --").map(name).collect::<Option<_>>().map(Self)
    }

    /// A schema, in quotes.
    pub(super) fn of_schema(quoted: &'a str) -> Option<Self> {
        plain(quoted).map(|name| Self(vec![(name, None)]))
    }

    pub(super) fn meets(&self, other: &Self) -> bool {
        let is_same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
        self.0.iter().any(|(schema, table)| {
            other.0.iter().any(|(its, its_table)| {
                is_same(schema, its)
                    && table.is_none_or(|table| its_table.is_none_or(|its_table| is_same(table, its_table)))
            })
        })
    }
}
