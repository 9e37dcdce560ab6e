//! What a definition of a table says of where its rows will be, before it is made.

use drover_db::sql::{Kind as TokenKind, Token, tokens_in_comments};

use super::script::Statement;
use drover_format::kind::Kind;

/// A table that keeps rows of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    /// The file, the line and how the statement begins.
    pub(super) place: String,
    /// The engine that the statement names.
    pub(super) engine: Option<String>,
    /// Whether it is made as another table is, with that one's engine.
    pub(super) is_like: bool,
    /// Whether it may have a primary key.
    pub(super) may_have_key: bool,
    /// Whether it is made only if it is not there.
    pub(super) if_not_exists: bool,
}

impl Definition {
    pub(super) fn of(statement: &Statement) -> Self {
        let tokens = || tokens_in_comments(&statement.text, statement.dialect).filter(Token::is_code);
        let begins = tokens().take_while(|token| !token.is_symbol(b'('));
        let if_not_exists = begins.take(8).any(|token| token.is_word("EXISTS"));
        let may_have_key =
            tokens().any(|token| ["PRIMARY", "UNIQUE", "LIKE"].iter().any(|word| token.is_word(word)));
        let is_from = matches!(statement.kind, Kind::CreateTableFrom(_));
        let is_like = is_from && !tokens().any(|token| token.is_word("SELECT"));
        Self { place: statement.place(), engine: engine(tokens()), is_like, may_have_key, if_not_exists }
    }
}

/// The engine among the options behind the columns; partitions name theirs within parentheses.
fn engine<'t>(tokens: impl Iterator<Item = Token<'t>>) -> Option<String> {
    let (mut depth, mut is_next) = (0usize, false);
    for token in tokens {
        depth += usize::from(token.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        match () {
            () if is_next && token.is_symbol(b'=') => {}
            () if is_next => {
                let name = match token.kind {
                    TokenKind::String => token.within_quotes()?.to_vec(),
                    _ => token.name()?,
                };
                return Some(String::from_utf8_lossy(&name).into_owned());
            }
            () => is_next = depth == 0 && token.is_word("ENGINE"),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(text: &str) -> Definition {
        let (text, kind) = (text.as_bytes().to_vec(), Kind::of(text.as_bytes(), Default::default()));
        let (file, dialect, reads) = ("a.sql".into(), Default::default(), Vec::new());
        Definition::of(&Statement {
            file,
            line: 1,
            text,
            kind,
            reads,
            schema: None,
            dialect,
            sets_mode: false,
            dumped: None,
        })
    }

    #[test]
    fn engines() {
        let engine = |text: &str| definition(text).engine.unwrap_or_default();
        assert_eq!(
            engine(
                "CREATE TABLE t (a int COMMENT 'ENGINE=x') COMMENT='ENGINE=y' ENGINE=MyISAM DEFAULT CHARSET=latin1"
            ),
            "MyISAM"
        );
        assert_eq!(engine("CREATE TABLE t (a int) /*!50100 ENGINE = 'Aria' */"), "Aria");
        assert_eq!(engine("CREATE TABLE t (a int) engine memory"), "memory");
        assert_eq!(engine("CREATE TABLE t (a int) ENGINE='"), "");
        assert_eq!(
            engine("CREATE TABLE t (engine int) PARTITION BY HASH (engine) (PARTITION p ENGINE = Aria)"),
            ""
        );
    }

    #[test]
    fn tables_like_others() {
        let is_like = |text: &str| definition(text).is_like;
        assert!(is_like("CREATE TABLE t LIKE u") && is_like("CREATE TABLE t (LIKE u)"));
        assert!(!is_like("CREATE TABLE t SELECT a FROM u WHERE a LIKE 'x'"));
        assert!(!is_like("CREATE TABLE t (a int CHECK (a LIKE 'x'))"));
    }

    #[test]
    fn keys_and_conditions() {
        let plain = definition("CREATE TABLE t (a int COMMENT 'PRIMARY')");
        assert!(!plain.may_have_key && !plain.if_not_exists);
        let other = definition("CREATE TABLE IF NOT EXISTS `t` (a int, PRIMARY KEY (a))");
        assert!(other.may_have_key && other.if_not_exists);
    }
}
