//! What tells documents apart that a server calls equal: the types of their numbers and times. To MySQL 1, 1.0 and 1e0 are the same, and so
//! are 0.0 and -0.0, 1.5 and 1.50, a DATETIME and a TIMESTAMP.

use super::Invalid;
use super::binary::{Bounds, Container, Value};
use super::opaque::{self, column_type};
use super::quote::make_literal;
use super::text::{all_or_nothing, write_string};

/// Appends a condition that a column of this name meets where its document equals this one and has the same types. False if every equal
/// document has: then nothing is appended.
///
/// # Errors
/// If the bytes are not a document. Nothing is appended then.
pub(crate) fn write_types(binary: &[u8], column: &[u8], out: &mut Vec<u8>) -> Result<bool, Invalid> {
    let (value, mut bounds) = Value::of(binary)?;
    let mut types = Types { column, path: b"$".to_vec(), asked: Vec::new(), right: Vec::new(), count: 0 };
    types.add(value, &mut bounds)?;
    if types.count == 0 {
        return Ok(false);
    }
    all_or_nothing(out, |out| {
        let is_list = types.count > 1;
        out.extend_from_slice(if is_list { b"CONCAT_WS(','" } else { b"" });
        out.extend_from_slice(if is_list { &types.asked } else { &types.asked[b", ".len()..] });
        out.extend_from_slice(if is_list { b") = '" } else { b" = '" });
        out.extend_from_slice(&types.right);
        out.push(b'\'');
        Ok(())
    })?;
    Ok(true)
}

/// What is asked of the column, each behind a comma, and the answers.
struct Types<'a> {
    column: &'a [u8],
    path: Vec<u8>,
    asked: Vec<u8>,
    right: Vec<u8>,
    count: usize,
}

impl Types<'_> {
    fn add(&mut self, value: Value<'_>, bounds: &mut Bounds) -> Result<(), Invalid> {
        match value {
            Value::Null | Value::Bool(_) | Value::Text(_) => {}
            Value::Int(_) => self.is_of("INTEGER"),
            Value::Uint(_) => self.is_of("UNSIGNED INTEGER"),
            Value::Double(number) => {
                self.is_of("DOUBLE");
                if number == 0.0 {
                    let sign = if number.is_sign_negative() { b"-" } else { b"0" };
                    self.ask("LEFT(CAST(", " AS CHAR), 1)", sign);
                }
            }
            Value::Opaque(column_type::NEWDECIMAL, bytes) => {
                self.is_of("DECIMAL");
                let mut text = Vec::new();
                opaque::write_number(bytes, &mut text)?;
                self.ask("CAST(", " AS CHAR)", &text);
            }
            Value::Opaque(column_type::DATETIME, _) => self.is_of("DATETIME"),
            Value::Opaque(column_type::TIMESTAMP, _) => self.is_of("TIMESTAMP"),
            Value::Opaque(..) => {}
            Value::Array(..) | Value::Object(..) => self.add_all(value, bounds)?,
        }
        Ok(())
    }

    fn add_all(&mut self, value: Value<'_>, bounds: &mut Bounds) -> Result<(), Invalid> {
        let container = Container::enter(value, bounds)?;
        let length = self.path.len();
        for index in 0..container.len {
            if container.is_object {
                self.path.push(b'.');
                write_string(container.key(index, bounds)?, &mut self.path);
            } else {
                self.path.extend_from_slice(format!("[{index}]").as_bytes());
            }
            self.add(container.value(index, bounds)?, bounds)?;
            self.path.truncate(length);
        }
        bounds.leave();
        Ok(())
    }

    fn is_of(&mut self, name: &str) {
        self.ask("JSON_TYPE(", ")", name.as_bytes());
    }

    fn ask(&mut self, before: &str, behind: &str, right: &[u8]) {
        self.asked.extend_from_slice(b", ");
        self.asked.extend_from_slice(before.as_bytes());
        self.asked.extend_from_slice(b"JSON_EXTRACT(");
        self.asked.extend_from_slice(self.column);
        self.asked.extend_from_slice(b", ");
        let start = self.asked.len();
        self.asked.extend_from_slice(&self.path);
        make_literal(start, &mut self.asked);
        self.asked.push(b')');
        self.asked.extend_from_slice(behind.as_bytes());
        self.right.extend_from_slice(if self.count > 0 { b"," } else { b"" });
        self.right.extend_from_slice(right);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::Doc;
    use super::*;

    fn types(doc: &Doc) -> String {
        let mut out = Vec::new();
        assert_eq!(write_types(&doc.to_binary(), b"`c`", &mut out), Ok(!out.is_empty()));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_and_times_have_types() {
        let object = |values: Vec<(&str, Doc)>| {
            Doc::Object(values.into_iter().map(|(key, value)| (key.into(), value)).collect())
        };
        let decimal = Doc::Opaque(column_type::NEWDECIMAL, vec![3, 2, 0x81, 50]);
        let time = Doc::Opaque(column_type::TIMESTAMP, vec![0; 8]);
        for (doc, right) in [
            (Doc::Array(vec![Doc::Null, Doc::Text("1".into()), Doc::Bool(true)]), ""),
            (Doc::Int(1), "JSON_TYPE(JSON_EXTRACT(`c`, '$')) = 'INTEGER'"),
            (
                Doc::Array(vec![Doc::Uint(1), time]),
                "CONCAT_WS(',', JSON_TYPE(JSON_EXTRACT(`c`, '$[0]')), JSON_TYPE(JSON_EXTRACT(`c`, '$[1]'))) = \
                 'UNSIGNED INTEGER,TIMESTAMP'",
            ),
            (
                object(vec![("a'\"", Doc::Array(vec![decimal]))]),
                r#"CONCAT_WS(',', JSON_TYPE(JSON_EXTRACT(`c`, '$."a\'\\""[0]')), CAST(JSON_EXTRACT(`c`, '$."a\'\\""[0]') AS CHAR)) = 'DECIMAL,1.50'"#,
            ),
            (
                Doc::Double(-0.0),
                "CONCAT_WS(',', JSON_TYPE(JSON_EXTRACT(`c`, '$')), LEFT(CAST(JSON_EXTRACT(`c`, '$') AS CHAR), 1)) = 'DOUBLE,-'",
            ),
        ] {
            assert_eq!(types(&doc), right);
        }
    }
}
