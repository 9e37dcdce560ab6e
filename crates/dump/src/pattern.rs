//! Globs on names of tables, as `--include`, `--where` and rules of masks have them.

use globset::{Glob, GlobMatcher};

use crate::dump::catalog::Name;
use crate::{Error, Result};

/// A glob on the schema and one on the name in it, so that `shop.*` does not reach into a schema `shop.old`.
#[derive(Debug)]
pub(crate) struct Pattern {
    schema: Option<GlobMatcher>,
    name: GlobMatcher,
}

impl Pattern {
    /// Reads `SCHEMA.NAME`, or `NAME` for any schema.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let glob = |part: &str| match Glob::new(part) {
            Ok(glob) => Ok(glob.compile_matcher()),
            Err(error) => Err(Error::found(format!("glob '{text}': {error}"))),
        };
        match first_outside(text, '.') {
            Some(at) => Ok(Self { schema: Some(glob(&text[..at])?), name: glob(&text[at + 1..])? }),
            None => Ok(Self { schema: None, name: glob(text)? }),
        }
    }

    pub(crate) fn matches(&self, name: &Name) -> bool {
        self.schema.as_ref().is_none_or(|schema| schema.is_match(&name.schema))
            && self.name.is_match(&name.name)
    }
}

/// Where a glob ends: at the first of these that stands for itself and in neither brackets nor braces.
pub(crate) fn first_outside(text: &str, end: char) -> Option<usize> {
    let (mut escaped, mut depth) = (false, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ if c == end && depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_on_schema_and_name_apart() {
        let matches = |glob: &str, schema: &str, name: &str| {
            Pattern::parse(glob).unwrap().matches(&Name::new(schema, name))
        };
        assert!(matches("shop.*", "shop", "a.b") && !matches("shop.*", "shop.old", "a"));
        assert!(matches("log_?", "any", "log_1") && !matches("log_?", "log_1", "a"));
        assert!(matches("shop\\.old.*", "shop.old", "a") && !matches("shop\\.old.*", "shop", "old.a"));
        assert!(matches("{a,b.c}.t", "b.c", "t") && matches("*.[.]", "x", "."));
        assert!(matches("a.b/*", "a", "b/c/d"));
        assert!(Pattern::parse("a.[").is_err());
    }
}
