//! What it is that is to be restored.

use std::path::Path;

use super::{input, mydumper, tables};
use drover_format::manifest::FILE_NAME;

/// What a dump is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A script, or what is piped in.
    Script,
    /// A directory that mydumper wrote.
    Mydumper,
    /// A directory of scripts, one a table.
    Tables,
}

/// What lies at a place; `None` for a dump of drover's own, and for what is none at all.
pub(crate) fn recognise(path: &Path) -> Option<Source> {
    if input::is_stdin(path) || path.is_file() {
        return Some(Source::Script);
    }
    // An unfinished dump of drover's own lacks the manifest, and is none.
    if path.join(FILE_NAME).exists() || is_unfinished(path) {
        return None;
    }
    if mydumper::is_one(path) {
        return Some(Source::Mydumper);
    }
    tables::is_one(path).then_some(Source::Tables)
}

fn is_unfinished(dir: &Path) -> bool {
    let below = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut below = below.into_iter();
    dir.join("journal.jsonl").exists() || below.any(|entry| entry.path().join("@schema.sql").exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn directories_are_known_by_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let recognised = || recognise(dir.path());
        assert_eq!((recognised(), recognise(&dir.path().join("nothing"))), (None, None));
        fs::create_dir(dir.path().join("shop")).unwrap();
        fs::write(dir.path().join("shop/orders.sql.gz"), "").unwrap();
        assert_eq!(recognised(), Some(Source::Tables));
        fs::write(dir.path().join("shop-schema-create.sql"), "").unwrap();
        assert_eq!(recognised(), Some(Source::Mydumper));
        fs::write(dir.path().join("shop/@schema.sql"), "").unwrap();
        assert_eq!(recognised(), None, "a dump of drover's own that was not finished");
        assert_eq!(recognise(&dir.path().join("shop/orders.sql.gz")), Some(Source::Script));
        fs::remove_file(dir.path().join("shop/@schema.sql")).unwrap();
        fs::write(dir.path().join("journal.jsonl"), "").unwrap();
        assert_eq!(recognised(), None, "rows only");
        assert_eq!(recognise(Path::new("-")), Some(Source::Script));
    }
}
