//! Partial updates: what a statement changed in a JSON column, in place of the whole document
//! (`binlog_row_value_options=PARTIAL_JSON`). Source: MySQL `sql-common/json_diff.h`.

use super::Invalid;
use super::binary::utf8;
use super::quote::write_literal;
use super::sql::write_argument;
use super::text::{all_or_nothing, write_string, write_text};
use crate::log::Cursor;

/// A list of changes, each in the document that the one before it left; often of one, and of none where a statement set what was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diffs<'a> {
    rest: &'a [u8],
}

/// A change of one value in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diff<'a> {
    /// Where, as JSON functions take it; it names one place, without `*` or `**`.
    pub path: &'a str,
    /// What.
    pub change: Change<'a>,
}

/// What happens at a place; values are documents themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// The value there becomes this.
    Replace(&'a [u8]),
    /// This comes in: into an array before the value that is there, or at its end; into an object that has no such key.
    Insert(&'a [u8]),
    /// The value there goes.
    Remove,
}

impl<'a> Diffs<'a> {
    /// The changes in these bytes: the value of a column of a partial update, without its length.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether nothing changed: the document is the same before and after.
    pub fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    /// Appends an SQL expression of what becomes of the column of this name, which is written as it is given. Functions change
    /// nothing where a path is not there, and take a value that is no array for one of itself; a replica stops there with an error.
    ///
    /// # Errors
    /// If the bytes are no changes. Nothing is appended then.
    pub fn write_sql(self, column: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
        all_or_nothing(out, |out| {
            // One call does what follows on each other of one kind, from the left to the right; the last call is the outermost.
            let mut calls = Vec::new();
            for diff in self {
                let function = diff?.function();
                if calls.last() != Some(&function) {
                    calls.push(function);
                }
            }
            for function in calls.iter().rev() {
                out.extend_from_slice(function.as_bytes());
                out.push(b'(');
            }
            out.extend_from_slice(column);
            self.write_arguments(out)
        })
    }

    fn write_arguments(self, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let mut open = None;
        for diff in self {
            let diff = diff?;
            let function = diff.function();
            if open.is_some_and(|open| open != function) {
                out.push(b')');
            }
            open = Some(function);
            out.extend_from_slice(b", ");
            write_literal(diff.path, out);
            if let Some(value) = diff.value() {
                out.extend_from_slice(b", ");
                write_argument(value, out)?;
            }
        }
        out.extend(open.map(|_| b')'));
        Ok(())
    }

    /// Appends the changes as a list of JSON: `[{"op":"replace","path":"$.a","value":1}]`, where `op` is `replace`, `insert` or
    /// `remove`, which has no value.
    ///
    /// # Errors
    /// As of [`Self::write_sql`].
    pub fn write_json(self, out: &mut Vec<u8>) -> Result<(), Invalid> {
        all_or_nothing(out, |out| {
            out.push(b'[');
            for (index, diff) in self.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                diff?.write_json(out)?;
            }
            out.push(b']');
            Ok(())
        })
    }

    fn read(&mut self) -> Result<Diff<'a>, Invalid> {
        let mut at = Cursor::new(self.rest);
        let operation = at.u8()?;
        let path = utf8(block(&mut at)?)?;
        if !path.starts_with('$') {
            return Err(Invalid::Path);
        }
        let change = match operation {
            0 => Change::Replace(block(&mut at)?),
            1 => Change::Insert(block(&mut at)?),
            2 => Change::Remove,
            unknown => return Err(Invalid::Change(unknown)),
        };
        self.rest = at.rest();
        Ok(Diff { path, change })
    }
}

/// Bytes behind their length.
fn block<'a>(at: &mut Cursor<'a>) -> Result<&'a [u8], Invalid> {
    let length = usize::try_from(at.packed()?).map_err(|_| Invalid::Short)?;
    Ok(at.take(length)?)
}

impl<'a> Iterator for Diffs<'a> {
    type Item = Result<Diff<'a>, Invalid>;

    /// The next change; nothing more behind an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        Some(self.read().inspect_err(|_| self.rest = &[]))
    }
}

impl<'a> Diff<'a> {
    /// The value that it brings, a document.
    pub fn value(&self) -> Option<&'a [u8]> {
        match self.change {
            Change::Replace(value) | Change::Insert(value) => Some(value),
            Change::Remove => None,
        }
    }

    /// The SQL function that does the same.
    fn function(&self) -> &'static str {
        match self.change {
            Change::Replace(_) => "JSON_REPLACE",
            // A name that ends so is in quotes.
            Change::Insert(_) if self.path.ends_with(']') => "JSON_ARRAY_INSERT",
            Change::Insert(_) => "JSON_INSERT",
            Change::Remove => "JSON_REMOVE",
        }
    }

    fn write_json(&self, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let name: &[u8] = match self.change {
            Change::Replace(_) => b"replace",
            Change::Insert(_) => b"insert",
            Change::Remove => b"remove",
        };
        out.extend_from_slice(b"{\"op\":\"");
        out.extend_from_slice(name);
        out.extend_from_slice(b"\",\"path\":");
        write_string(self.path, out);
        if let Some(value) = self.value() {
            out.extend_from_slice(b",\"value\":");
            write_text(value, out)?;
        }
        out.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::made::{Doc, docs};
    use super::*;

    fn bytes_of(changes: &[(u8, &str, Option<Doc>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let block = |bytes: &mut Vec<u8>, block: &[u8]| {
            bytes.push(0xfc);
            bytes.extend((block.len() as u16).to_le_bytes());
            bytes.extend(block);
        };
        for (operation, path, value) in changes {
            bytes.push(*operation);
            block(&mut bytes, path.as_bytes());
            if let Some(value) = value {
                block(&mut bytes, &value.to_binary());
            }
        }
        bytes
    }

    fn sql_of(changes: &[(u8, &str, Option<Doc>)]) -> String {
        let mut out = Vec::new();
        Diffs::new(&bytes_of(changes)).write_sql(b"`doc`", &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn json_of(changes: &[(u8, &str, Option<Doc>)]) -> String {
        let mut out = Vec::new();
        Diffs::new(&bytes_of(changes)).write_json(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_change_is_what_a_function_does() {
        assert_eq!(sql_of(&[]), "`doc`");
        assert!(Diffs::new(&[]).is_empty());
        assert_eq!(sql_of(&[(0, "$.a", Some(Doc::Int(1)))]), "JSON_REPLACE(`doc`, '$.a', 1)");
        assert_eq!(sql_of(&[(1, "$.a", Some(Doc::Null))]), "JSON_INSERT(`doc`, '$.a', NULL)");
        assert_eq!(sql_of(&[(1, "$.a[3]", Some(Doc::Null))]), "JSON_ARRAY_INSERT(`doc`, '$.a[3]', NULL)");
        assert_eq!(sql_of(&[(1, "$.\"a[3]\"", Some(Doc::Null))]), "JSON_INSERT(`doc`, '$.\"a[3]\"', NULL)");
        assert_eq!(sql_of(&[(2, "$.it's", None)]), r"JSON_REMOVE(`doc`, '$.it\'s')");
    }

    #[test]
    fn changes_follow_on_each_other() {
        let changes = [
            (0, "$.a", Some(Doc::Int(1))),
            (0, "$.b", Some(Doc::Text("x".into()))),
            (2, "$.c", None),
            (2, "$.d", None),
            (0, "$.é", Some(Doc::Array(vec![]))),
        ];
        let wanted = "JSON_REPLACE(JSON_REMOVE(JSON_REPLACE(`doc`, '$.a', 1, '$.b', 'x'), '$.c', '$.d'), \
                      _utf8mb4'$.é', CAST('[]' AS JSON))";
        assert_eq!(sql_of(&changes), wanted);
    }

    #[test]
    fn changes_as_json() {
        assert_eq!(json_of(&[]), "[]");
        let changes = [
            (0, "$.\"a b\"", Some(Doc::Array(vec![Doc::Int(1), Doc::Int(2)]))),
            (1, "$[0]", Some(Doc::Null)),
            (2, "$.c", None),
        ];
        let wanted = r#"[{"op":"replace","path":"$.\"a b\"","value":[1, 2]},"#.to_owned()
            + r#"{"op":"insert","path":"$[0]","value":null},{"op":"remove","path":"$.c"}]"#;
        assert_eq!(json_of(&changes), wanted);
    }

    #[test]
    fn bytes_that_are_no_changes() {
        let read = |bytes: &[u8]| Diffs { rest: bytes }.collect::<Result<Vec<_>, _>>().err();
        assert_eq!(read(b"\x03\x01$"), Some(Invalid::Change(3)));
        assert_eq!(read(b"\x02\x01a"), Some(Invalid::Path));
        assert_eq!(read(b"\x02\x00"), Some(Invalid::Path));
        assert_eq!(read(b"\x02\x02$\xff"), Some(Invalid::Text));
        for bytes in
            [&b"\x00"[..], b"\x00\x01$", b"\x00\x01$\x02a", b"\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff$"]
        {
            assert_eq!(read(bytes), Some(Invalid::Short), "{bytes:?}");
        }
        let mut out = b"before".to_vec();
        // The first one is right, the value of the second has no type.
        let bytes = b"\x02\x03$.a\x00\x03$.b\x01\x0d";
        assert_eq!(Diffs::new(bytes).write_sql(b"doc", &mut out), Err(Invalid::Type(13)));
        assert_eq!(Diffs::new(bytes).write_json(&mut out), Err(Invalid::Type(13)));
        assert_eq!(out, b"before");
    }

    proptest! {
        #[test]
        fn no_bytes_lead_astray(doc in docs(), at: prop::sample::Index, with: u8) {
            let mut bytes = bytes_of(&[(0, "$.a", Some(doc.clone())), (2, "$.b", None), (1, "$.c[0]", Some(doc))]);
            let at = at.index(bytes.len());
            bytes[at] = with;
            let (mut sql, mut json) = (Vec::new(), Vec::new());
            let written = Diffs::new(&bytes).write_sql(b"doc", &mut sql).is_ok();
            prop_assert_eq!(written, Diffs::new(&bytes).write_json(&mut json).is_ok());
            if written {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&json).is_ok());
            }
        }
    }
}
