//! The time of a statement: asked once, and written into the text, so that all parts have the same, also after a pause of a day. (SET
//! timestamp would do so too, but it is what a replica counts its lag from.)

use drover_db::{Connection, quote};

use crate::Result;
use crate::defaults::Moment;
use crate::error::Doing;

/// The text with values in place of what tells the time.
///
/// # Errors
/// What the server said.
pub(crate) fn fixed(connection: &mut Connection, text: &str, moments: &[Moment]) -> Result<String> {
    if moments.is_empty() {
        return Ok(text.to_owned());
    }
    let calls: Vec<_> = moments.iter().map(|(_, call)| call.as_str()).collect();
    let sql = format!("SELECT {}", calls.join(", "));
    let row = connection.first(&sql).doing(|| "asking for the time of the statement")?;
    let mut out = String::with_capacity(text.len() + 32 * moments.len());
    let mut done = 0;
    for (index, (range, _)) in moments.iter().enumerate() {
        let value = row.as_ref().and_then(|row| row.text(index)).unwrap_or_default();
        out.push_str(&text[done..range.start]);
        out.push_str(&literal(&value));
        done = range.end;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

/// A value of the type that its text tells.
fn literal(value: &str) -> String {
    match (value.contains(':'), value.contains('-')) {
        (true, true) => format!("TIMESTAMP{}", quote::string(value)),
        (true, false) => format!("TIME{}", quote::string(value)),
        (false, true) => format!("DATE{}", quote::string(value)),
        (false, false) => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn values_keep_their_types() {
        assert_eq!(literal("2026-11-25 01:02:03.250"), "TIMESTAMP'2026-11-25 01:02:03.250'");
        assert_eq!(
            (literal("01:02:03"), literal("2026-11-25")),
            ("TIME'01:02:03'".into(), "DATE'2026-11-25'".into())
        );
        assert_eq!(literal("1764032523"), "1764032523");
    }
}
