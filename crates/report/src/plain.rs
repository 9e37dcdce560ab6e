//! Text for a terminal. Names, errors and values come from servers, logs and tasks of strangers: what would move the cursor, change
//! colours, hide characters or begin a line of its own is shown as an escape, such as `\u{1b}`.

use std::borrow::Cow;

/// As it stands, but without anything that a terminal would not just show, and in one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    shown(text, |c| c.escape_default().to_string(), |_| false)
}

/// The same of a text whose lines are meant.
pub fn lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| c.escape_default().to_string(), |c| matches!(c, '\n' | '\t'))
}

/// The same of a message: lines after the first are indented, so that none of them looks like another message.
pub fn message(text: &str) -> String {
    let mut all = lines(text).trim_end().split('\n').map(str::to_owned).collect::<Vec<_>>();
    for line in all.iter_mut().skip(1).filter(|line| !line.starts_with("  ")) {
        line.insert_str(0, "  ");
    }
    all.join("\n")
}

/// The same JSON: such characters stand in its strings only, where they may be written as numbers.
pub fn json(text: &str) -> Cow<'_, str> {
    let unit = |unit: &u16| format!("\\u{unit:04x}");
    shown(text, |c| c.encode_utf16(&mut [0; 2]).iter().map(unit).collect(), |c| matches!(c, '\n' | '\t'))
}

fn shown(text: &str, escaped: impl Fn(char) -> String, is_meant: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_bad = |c: char| is_hidden(c) && !is_meant(c);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bad(c) { out.push_str(&escaped(c)) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Control characters, with those of C1, which terminals obey in UTF-8 too; and what turns text around or cannot be seen (Unicode,
/// "Bidirectional formatting characters", "Line and paragraph separator", tags). Joiners within words stay.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(one_line("a\x1b[2Jb\u{9b}31mc\u{202e}d\r\n"), r"a\u{1b}[2Jb\u{9b}31mc\u{202e}d\r\n");
        assert_eq!(one_line("`grün`.`表` 👩\u{200d}🚀"), "`grün`.`表` 👩\u{200d}🚀");
        assert_eq!(lines("a\n\tb\x07"), "a\n\tb\\u{7}");
    }

    #[test]
    fn no_line_of_a_message_is_one_of_ours() {
        assert_eq!(message("broken\nhint: rm -rf /\n  seen\r\n"), "broken\n  hint: rm -rf /\n  seen\\r");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>(), odd in "[\\x00-\\x1f\\x7f-\\x9f\u{202e}\u{2028}a]{0,8}") {
            let text = format!("{text}{odd}");
            prop_assert!(!one_line(&text).contains(is_hidden));
            prop_assert!(!lines(&text).contains(|c| is_hidden(c) && c != '\n' && c != '\t'));
            prop_assert!(message(&text).lines().skip(1).all(|line| line.starts_with("  ")));
            let value = serde_json::json!({ "text": text });
            let shown = json(&serde_json::to_string_pretty(&value).unwrap()).into_owned();
            prop_assert!(!shown.contains(|c| is_hidden(c) && c != '\n'));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
