//! What a trial found, as a run notes it on the target: one that goes on where nothing can be tried again takes it from there.

use crate::format::digest::Digest;

/// What a target does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// An object, by the file of its script.
    Refused { file: String, reason: String },
    /// A key or constraint of a table, by the digest of its text.
    LeftOut { file: String, item: String, reason: String },
}

const REFUSED: &str = "refused";
const LEFT_OUT: &str = "left out";

impl Finding {
    pub(crate) fn refused(file: &str, reason: &str) -> Self {
        Self::Refused { file: file.to_owned(), reason: reason.to_owned() }
    }

    pub(crate) fn left_out(file: &str, item: &[u8], reason: &str) -> Self {
        Self::LeftOut { file: file.to_owned(), item: digest(item), reason: reason.to_owned() }
    }

    /// One line.
    pub(crate) fn to_text(&self) -> String {
        let (words, reason) = match self {
            Self::Refused { file, reason } => (vec![REFUSED, file], reason),
            Self::LeftOut { file, item, reason } => (vec![LEFT_OUT, file, item], reason),
        };
        format!("{}\t{}", words.join("\t"), super::one_line(reason))
    }

    /// Its inverse, but for a reason's line breaks; a reason may have lost its end.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('\t')?;
        let (file, rest) = rest.split_once('\t')?;
        match kind {
            REFUSED => Some(Self::refused(file, rest)),
            LEFT_OUT => {
                let (item, reason) = rest.split_once('\t')?;
                Some(Self::LeftOut { file: file.into(), item: item.into(), reason: reason.into() })
            }
            _ => None,
        }
    }
}

/// What tells an item of a table from the others.
pub(super) fn digest(item: &[u8]) -> String {
    Digest::of(item).to_string()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_back() {
        let all = [
            Finding::refused("shop/odd.routine.sql", "You have an error near 'x'"),
            Finding::refused("a b.sql", ""),
            Finding::left_out("shop/t.sql", b"KEY `k` (`a`)", "too long: 5 > 3, so it is"),
        ];
        for finding in all {
            assert_eq!(Finding::parse(&finding.to_text()), Some(finding));
        }
        assert_eq!(Finding::parse("refused"), None);
        assert_eq!(Finding::parse("left out\tfile"), None);
    }
}
