//! Text of strangers in HTML.

use std::fmt::{self, Display, Formatter, Write as _};

/// Text that may stand in an element or in a quoted attribute. What would change the text around it, or could not be seen, is
/// shown by a sign of its own: control characters, and those that turn the direction of writing.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(visible(other))?,
            }
        }
        Ok(())
    }
}

/// The sign for a character that cannot stand as it is.
fn visible(character: char) -> char {
    /// Where Unicode's pictures of the control characters begin, and the one of DEL.
    const PICTURES: u32 = 0x2400;
    const PICTURE_OF_DELETE: char = '\u{2421}';
    match character {
        '\0'..='\x1f' => {
            char::from_u32(PICTURES + u32::from(character)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\x7f' => PICTURE_OF_DELETE,
        '\u{80}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{061c}' => char::REPLACEMENT_CHARACTER,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_of_a_name_acts() {
        for (name, shown) in [
            ("shop.orders", "shop.orders"),
            ("Bücher 本", "Bücher 本"),
            ("<script>alert('1')</script>", "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"),
            ("\" onload=\"x", "&quot; onload=&quot;x"),
            ("a&lt;b", "a&amp;lt;b"),
            ("a\0b\nc\x7f", "a\u{2400}b\u{240a}c\u{2421}"),
            ("a\u{202e}b\u{85}", "a\u{fffd}b\u{fffd}"),
        ] {
            assert_eq!(Escaped(name).to_string(), shown);
        }
    }

    proptest! {
        #[test]
        fn other_names_stay_other(one in any::<String>(), other in any::<String>()) {
            let escaped = Escaped(&one).to_string();
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']) && !escaped.chars().any(char::is_control));
            let plain = |text: &str| text.chars().all(|c| visible(c) == c);
            if one != other && plain(&one) && plain(&other) {
                prop_assert_ne!(escaped, Escaped(&other).to_string());
            }
        }
    }
}
