//! The file that says which columns are masked, and how.

use std::fs;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use serde::Deserialize;

use super::apply::Key;
use crate::dump::catalog::Name;
use crate::pattern::Pattern;
use crate::{Error, Result};
use drover_format::digest::Digest;
use drover_format::manifest::Mask;

/// The shortest key that is taken, in bytes: a shorter one can be guessed.
const SHORTEST_KEY: usize = 16;

/// Not Debug, like what follows: the key may be here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Taken apart by hand: a message of the parser's would quote what it did not expect.
    key: Option<toml::Value>,
    #[serde(default)]
    rule: Vec<RuleText>,
}

/// Where the key is.
enum KeyFrom {
    Env(String),
    File(PathBuf),
    Text(String),
}

impl KeyFrom {
    fn of(value: toml::Value) -> Option<Self> {
        let toml::Value::Table(table) = value else { return None };
        let mut entries = table.into_iter();
        let (Some((name, toml::Value::String(text))), None) = (entries.next(), entries.next()) else {
            return None;
        };
        match name.as_str() {
            "env" => Some(Self::Env(text)),
            "file" => Some(Self::File(text.into())),
            "text" => Some(Self::Text(text)),
            _ => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    table: String,
    column: String,
    mask: How,
}

/// What a rule does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum How {
    Hash,
    Null,
    KeepFormat,
    Fixed(String),
}

impl How {
    /// As the manifest says it.
    pub(super) fn in_manifest(&self) -> Mask {
        match self {
            Self::Hash => Mask::Hash,
            Self::Null => Mask::Null,
            Self::KeepFormat => Mask::KeepFormat,
            Self::Fixed(_) => Mask::Fixed,
        }
    }
}

/// A rule for the columns that match two globs.
#[derive(Debug)]
pub(super) struct Rule {
    /// As it stands in the file.
    pub(super) text: String,
    pub(super) how: How,
    table: Pattern,
    column: GlobMatcher,
}

impl Rule {
    pub(super) fn is_for(&self, table: &Name, column: &str) -> bool {
        self.is_for_table(table) && self.column.is_match(in_one_case(column))
    }

    pub(super) fn is_for_table(&self, table: &Name) -> bool {
        self.table.matches(table)
    }
}

/// All rules of a file.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(super) path: PathBuf,
    pub(super) rules: Vec<Rule>,
    key: Option<Key>,
    text: Digest,
}

impl Rules {
    /// Reads a file of rules and the key that it names.
    ///
    /// # Errors
    /// If the file cannot be read, or something in it is not known, or there is no key and one is needed.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let wrong = |why: String| {
            Error::with_hint(format!("{}: {why}", path.display()), "docs/masking.md describes the file")
        };
        // The parser's own message shows the line, in which the key may stand.
        let file: File = toml::from_str(&text).map_err(|error| {
            let line =
                error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            wrong(format!("line {line}: {}", error.message()))
        })?;
        let rules: Result<Vec<_>> = file.rule.into_iter().map(|rule| compile(rule, path)).collect();
        let rules = rules?;
        let expected = || wrong("key is to be { env = … }, { file = … } or { text = … }".into());
        let key = file.key.map(|key| KeyFrom::of(key).ok_or_else(expected)).transpose()?;
        let key = key.map(|key| secret(key, path)).transpose()?;
        if rules.is_empty() {
            return Err(wrong("it has no rules".into()));
        }
        let needs_key = |rule: &&Rule| matches!(rule.how, How::Hash | How::KeepFormat);
        if let (None, Some(rule)) = (&key, rules.iter().find(needs_key)) {
            return Err(wrong(format!("rule {} needs a key, and there is none", rule.text)));
        }
        Ok(Self { path: path.to_owned(), rules, key, text: Digest::of(text.as_bytes()) })
    }

    /// The key; there is one if any rule needs it.
    pub(super) fn key(&self) -> Result<Key> {
        self.key.clone().ok_or_else(|| Error::found(format!("{}: there is no key", self.path.display())))
    }

    /// Tells rules and keys apart without telling what they are.
    pub(crate) fn fingerprint(&self) -> String {
        let key = self.key.as_ref().map(Key::check_value).unwrap_or_default();
        if self.rules.is_empty() { String::new() } else { format!("{} {key}", self.text) }
    }
}

fn compile(rule: RuleText, path: &Path) -> Result<Rule> {
    let text = format!("{}: {}", rule.table, rule.column);
    let wrong = |error: String| Error::found(format!("{}: rule {text}: {error}", path.display()));
    let column =
        Glob::new(&in_one_case(&rule.column)).map_err(|error| wrong(error.to_string()))?.compile_matcher();
    let table = Pattern::parse(&rule.table).map_err(|error| wrong(error.to_string()))?;
    Ok(Rule { text, how: rule.mask, table, column })
}

/// Both vendors take columns' names in any case. Each letter by itself, as they fold it; of a class such as `[A-Z]` both ends are
/// folded too.
fn in_one_case(name: &str) -> String {
    let folded = |letter: char| {
        let mut lower = letter.to_lowercase();
        lower.next().filter(|_| lower.next().is_none()).unwrap_or(letter)
    };
    // A letter has one more small form where it has two capital ones: ς of Σ, ſ of S.
    let upper = |letter: char| {
        let mut upper = letter.to_uppercase();
        upper.next().filter(|_| upper.next().is_none()).unwrap_or(letter)
    };
    name.chars().map(|letter| folded(upper(letter))).collect()
}

/// The key's bytes; a file's without the newline at its end.
fn secret(from: KeyFrom, path: &Path) -> Result<Key> {
    let bytes = match from {
        KeyFrom::Text(text) => text.into_bytes(),
        KeyFrom::File(file) => {
            let file = path.parent().map_or(file.clone(), |folder| folder.join(&file));
            let mut bytes = fs::read(&file).map_err(Error::file(&file))?;
            while bytes.last().is_some_and(|c| b"\r\n".contains(c)) {
                bytes.pop();
            }
            bytes
        }
        KeyFrom::Env(name) => match std::env::var(&name) {
            Ok(text) => text.into_bytes(),
            Err(_) => {
                return Err(Error::found(format!(
                    "{}: the key is to be in the environment variable {name}, which is not set",
                    path.display()
                )));
            }
        },
    };
    if bytes.len() < SHORTEST_KEY {
        return Err(Error::with_hint(
            format!("{}: the key has {} bytes: that can be guessed", path.display(), bytes.len()),
            format!("take at least {SHORTEST_KEY} random ones, such as `openssl rand -hex 32` prints"),
        ));
    }
    Ok(Key::new(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> std::result::Result<Rules, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("masks.toml");
        fs::write(&path, text).unwrap();
        Rules::load(&path).map_err(|error| error.to_string())
    }

    const KEY: &str = "key = { text = \"0123456789abcdef secret\" }\n";

    #[test]
    fn rules_and_keys() {
        let text = "[[rule]]\ntable = \"shop.*\"\ncolumn = \"e*mail\"\nmask = \"hash\"\n\
                    [[rule]]\ntable = \"t\"\ncolumn = \"c\"\nmask = { fixed = \"x\" }\n";
        let rules = load(&format!("{KEY}{text}")).unwrap();
        assert!(rules.rules[0].is_for(&Name::new("shop", "a"), "email"));
        assert!(!rules.rules[0].is_for(&Name::new("shops", "a"), "email"));
        let of_any_case = &rules.rules[0];
        assert!(
            of_any_case.is_for(&Name::new("shop", "a"), "EMail")
                && !of_any_case.is_for(&Name::new("SHOP", "a"), "email")
        );
        assert_eq!(in_one_case("ÉTÉ_Σς"), in_one_case("été_σσ"));
        assert_eq!(rules.rules[1].how, How::Fixed("x".into()));
        assert!(!format!("{rules:?}").contains("secret"));
        assert!(load(text).unwrap_err().contains("needs a key"));
        assert!(load("[[rule]]\ntable = \"t\"\ncolumn = \"c\"\nmask = \"null\"\n").is_ok());
    }

    #[test]
    fn what_is_not_known_is_an_error_that_does_not_show_the_key() {
        for (wrong, says) in [
            ("", "no rules"),
            ("[[rule]]\ntable = \"t\"\ncolumn = \"c\"\nmask = \"hsah\"\n", "line 4"),
            ("[[rule]]\ntabel = \"t\"\ncolumn = \"c\"\nmask = \"null\"\n", "line 2"),
            (r#"key = { text = "very-secret", envv = 1 }"#, "key is to be"),
            (r#"key = "very-secret""#, "key is to be"),
            (r#"key = { text = "very-secret"#, "line 1"),
            (
                "key = { text = \"very-secret\" }\n[[rule]]\ntable = \"t\"\ncolumn = \"c\"\nmask = \"hash\"\n",
                "guessed",
            ),
        ] {
            let error = load(wrong).unwrap_err();
            assert!(error.contains(says), "{wrong}: {error}");
            assert!(!error.contains("very-secret"), "{wrong}: {error}");
        }
    }
}
