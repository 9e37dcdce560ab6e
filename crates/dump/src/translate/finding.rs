//! What a trial found, as a run notes it on the target: one that goes on where nothing can be tried again takes it from there.

use super::Ignored;
use drover_format::digest::Digest;

/// What a target does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// An object, by the file of its script.
    Refused { file: String, reason: String },
    /// A key or constraint of a table, by the digest of its text.
    LeftOut { file: String, item: String, reason: String },
    /// The same of what the target takes and does not keep, or not as it is.
    Ignored { file: String, item: String, loses: bool, reason: String, kept: String },
}

const REFUSED: &str = "refused";
const LEFT_OUT: &str = "left out";
const IGNORED: &str = "ignored";
const LOST: &str = "lost";
const CHANGED: &str = "changed";

impl Finding {
    pub(crate) fn refused(file: &str, reason: &str) -> Self {
        Self::Refused { file: file.to_owned(), reason: reason.to_owned() }
    }

    pub(crate) fn left_out(file: &str, item: &[u8], reason: &str) -> Self {
        Self::LeftOut { file: file.to_owned(), item: digest(item), reason: reason.to_owned() }
    }

    pub(crate) fn ignored(file: &str, ignored: &Ignored) -> Self {
        let Ignored { asked, kept, reason, loses } = ignored;
        let (file, item, kept) = (file.to_owned(), digest(asked.as_bytes()), super::one_line(kept));
        Self::Ignored { file, item, loses: *loses, reason: reason.clone(), kept }
    }

    /// One line.
    pub(crate) fn to_text(&self) -> String {
        let (words, last) = match self {
            Self::Refused { file, reason } => (vec![REFUSED, file], reason),
            Self::LeftOut { file, item, reason } => (vec![LEFT_OUT, file, item], reason),
            Self::Ignored { file, item, loses, reason, kept } => {
                (vec![IGNORED, file, item, if *loses { LOST } else { CHANGED }, reason], kept)
            }
        };
        format!("{}\t{}", words.join("\t"), super::one_line(last))
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
            IGNORED => {
                let words: Vec<_> = rest.splitn(4, '\t').map(str::to_owned).collect();
                let [item, loses, reason, kept] = words.try_into().ok()?;
                Some(Self::Ignored { file: file.into(), item, loses: loses == LOST, reason, kept })
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
            Finding::ignored(
                "shop/t.sql",
                &Ignored { asked: "KEY".into(), kept: "(`a`)".into(), reason: "so".into(), loses: false },
            ),
            Finding::ignored(
                "shop/t.sql",
                &Ignored { asked: "CHECK".into(), kept: String::new(), reason: "none".into(), loses: true },
            ),
        ];
        for finding in all {
            assert_eq!(Finding::parse(&finding.to_text()), Some(finding));
        }
        assert_eq!(Finding::parse("refused"), None);
        assert_eq!(Finding::parse("left out\tfile"), None);
    }
}
