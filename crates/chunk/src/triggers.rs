//! The triggers of a table, and what they do to the row that an UPDATE is about to change.

use drover_db::sql::{Dialect, Token, tokens_in_comments};
use drover_db::table::Name;
use drover_db::{Connection, Row, quote};

use crate::Result;
use crate::error::Doing;

/// A trigger of a table.
#[derive(Debug)]
pub(crate) struct Trigger {
    pub(crate) name: String,
    pub(crate) text: String,
    /// What its sql_mode makes of its text.
    pub(crate) dialect: Dialect,
    pub(crate) is_before: bool,
}

/// Those of an event that the account may see.
pub(crate) fn read(connection: &mut Connection, table: &Name, event: &str) -> Result<Vec<Trigger>> {
    // Since MariaDB 12 a trigger can be for several events.
    let sql = format!(
        "SELECT TRIGGER_NAME, ACTION_STATEMENT, SQL_MODE, ACTION_TIMING FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {} \
         AND EVENT_OBJECT_TABLE = {} AND EVENT_MANIPULATION LIKE '%{event}%'",
        quote::string(&table.schema),
        quote::string(&table.name)
    );
    let rows = connection.query(sql).doing(|| format!("reading the triggers of {table}"))?;
    let trigger = |row: Row| Trigger {
        name: row.string(0),
        text: row.string(1),
        dialect: Dialect::of(&row.string(2), "utf8mb4"),
        is_before: row.string(3) == "BEFORE",
    };
    Ok(rows.into_iter().map(trigger).collect())
}

/// Whether it is a word before an expression or a function of the servers'.
pub(crate) fn is_known(name: &str) -> bool {
    BEFORE_EXPRESSIONS.iter().chain(&FUNCTIONS).any(|word| word.eq_ignore_ascii_case(name))
}

/// Words that an expression in parentheses may follow. Source: the servers' grammars.
const BEFORE_EXPRESSIONS: [&str; 34] = [
    "AND", "AS", "BETWEEN", "BY", "CASE", "DIV", "ELSE", "ELSEIF", "EXISTS", "FROM", "HAVING", "IF", "IN",
    "IS", "LIKE", "LIMIT", "MOD", "NOT", "ON", "OR", "REGEXP", "RETURN", "RLIKE", "ROW", "SELECT", "THEN",
    "UNTIL", "USING", "VALUE", "VALUES", "WHEN", "WHERE", "WHILE", "XOR",
];

/// Functions of the servers', which change no argument: a stored function of MariaDB may have an OUT parameter.
const FUNCTIONS: [&str; 64] = [
    "ABS",
    "BIN_TO_UUID",
    "CAST",
    "CEIL",
    "CEILING",
    "CHAR_LENGTH",
    "COALESCE",
    "CONCAT",
    "CONCAT_WS",
    "CONV",
    "CONVERT",
    "CRC32",
    "DATE",
    "DATEDIFF",
    "DATE_ADD",
    "DATE_FORMAT",
    "DATE_SUB",
    "FIELD",
    "FLOOR",
    "FORMAT",
    "FROM_UNIXTIME",
    "GREATEST",
    "HEX",
    "IFNULL",
    "INET6_ATON",
    "INET6_NTOA",
    "INET_ATON",
    "INET_NTOA",
    "INSTR",
    "ISNULL",
    "JSON_ARRAY",
    "JSON_EXTRACT",
    "JSON_OBJECT",
    "JSON_SET",
    "JSON_UNQUOTE",
    "LEAST",
    "LEFT",
    "LENGTH",
    "LOCATE",
    "LOWER",
    "LPAD",
    "MD5",
    "MONTH",
    "NULLIF",
    "POW",
    "POWER",
    "QUOTE",
    "REPLACE",
    "RIGHT",
    "ROUND",
    "RPAD",
    "SHA1",
    "SHA2",
    "SIGN",
    "SUBSTR",
    "SUBSTRING",
    "TIMESTAMPDIFF",
    "TO_DAYS",
    "TRIM",
    "UNHEX",
    "UNIX_TIMESTAMP",
    "UPPER",
    "UUID_TO_BIN",
    "YEAR",
];

impl Trigger {
    /// Whether it may give a column of the row another value: wherever `NEW.column` stands but in an expression that only reads it. One
    /// that compares it by `=` is taken for one that sets it.
    pub(crate) fn may_set(&self, column: &str) -> bool {
        let code: Vec<_> =
            tokens_in_comments(self.text.as_bytes(), self.dialect).filter(Token::is_code).collect();
        (0..code.len()).any(|at| is_column(&code[at..], column) && !is_read(&code, at))
    }
}

/// Whether `NEW.column` stands there. NEW is a name like others, and may be quoted.
fn is_column(code: &[Token<'_>], column: &str) -> bool {
    let is = |token: &Token<'_>, name: &str| {
        token.name().is_some_and(|its| String::from_utf8_lossy(&its).to_lowercase() == name.to_lowercase())
    };
    matches!(code, [new, dot, its, ..] if is(new, "NEW") && dot.is_symbol(b'.') && is(its, column))
}

/// Whether what stands there, three tokens, is only read.
fn is_read(code: &[Token<'_>], at: usize) -> bool {
    let is_assigned = code.get(at + 3).is_some_and(|next| next.is_symbol(b'=') || next.is_symbol(b':'));
    let start = code[..at].iter().rposition(|token| token.is_symbol(b';')).map_or(0, |end| end + 1);
    let before = &code[start..at];
    !is_assigned && !may_fill(before) && !is_argument(before)
}

/// Whether a statement that begins so writes what it names next: CALL to OUT parameters, FETCH and SELECT behind INTO.
fn may_fill(before: &[Token<'_>]) -> bool {
    let fills = ["CALL", "FETCH", "DIAGNOSTICS"];
    before.iter().enumerate().any(|(at, token)| {
        fills.iter().any(|word| token.is_word(word)) || token.is_word("INTO") && !is_of_insert(&before[..at])
    })
}

/// Whether the INTO behind it is that of INSERT or REPLACE.
fn is_of_insert(before: &[Token<'_>]) -> bool {
    const BETWEEN: [&str; 4] = ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE"];
    let verb = before.iter().rfind(|token| !BETWEEN.iter().any(|word| token.is_word(word)));
    verb.is_some_and(|verb| verb.is_word("INSERT") || verb.is_word("REPLACE"))
}

/// Whether what follows is an argument of a function that somebody wrote, or of one that is not known.
fn is_argument(before: &[Token<'_>]) -> bool {
    let mut open = Vec::new();
    for (at, token) in before.iter().enumerate() {
        if token.is_symbol(b'(') {
            open.push(at);
        } else if token.is_symbol(b')') {
            open.pop();
        }
    }
    open.into_iter().any(|at| is_unknown_call(&before[..at]))
}

/// Whether the parenthesis behind it is that of a function that is not known.
fn is_unknown_call(before: &[Token<'_>]) -> bool {
    let Some(name) = before.last().filter(|token| token.name().is_some()) else { return false };
    let is_qualified = before.len() > 1 && before[before.len() - 2].is_symbol(b'.');
    is_qualified || !BEFORE_EXPRESSIONS.iter().chain(&FUNCTIONS).any(|word| name.is_word(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_set(text: &str, sql_mode: &str) -> bool {
        let dialect = Dialect::of(sql_mode, "utf8mb4");
        Trigger { name: String::new(), text: text.into(), dialect, is_before: true }.may_set("id")
    }

    #[test]
    fn triggers_that_may_set_a_column() {
        for text in [
            "SET NEW.ID = NEW.id + 1",
            "BEGIN IF OLD.a THEN SET new . `id` := 1; END IF; END",
            "SET `new`.id = 1",
            "SET NEW.a = 1, NEW.id = 2",
            "/*!50000 SET NEW.id = 1 */",
            "BEGIN SELECT 1, 2 INTO @a, NEW.id; END",
            "SELECT 1 INTO NEW.id FROM other WHERE a = 1",
            "BEGIN DECLARE c CURSOR FOR SELECT 1; OPEN c; FETCH c INTO NEW.id; CLOSE c; END",
            "CALL q(NEW.id)",
            "CALL other.q(1, NEW.id)",
            "IF NEW.a THEN CALL concat((NEW.id)); END IF",
            "BEGIN GET DIAGNOSTICS NEW.id = ROW_COUNT; END",
            "BEGIN GET CURRENT DIAGNOSTICS CONDITION 1 @a = MYSQL_ERRNO, NEW.id = RETURNED_SQLSTATE; END",
            "SET NEW.a = own(NEW.id)",
            "SET NEW.a = d.upper(1, NEW.id)",
            "SET NEW.a = `upper`(NEW.id)",
        ] {
            assert!(may_set(text, ""), "{text}");
        }
        assert!(may_set("SET NEW.\"id\" = 1", "ANSI_QUOTES"));
        assert!(!may_set("SET NEW.a = 'x\\' SET NEW.id = 1'", ""));
    }

    #[test]
    fn triggers_that_only_read_it() {
        for text in [
            "SET NEW.a = NEW.id + 1",
            "SET NEW.a = 'NEW.id = 1'",
            "SET NEW.a = UPPER(CONCAT('x', NEW.id, (NEW.id * 2)))",
            "INSERT INTO log VALUES (1, NEW.id, NOW())",
            "INSERT IGNORE INTO log (a, b) SELECT NEW.id, 2",
            "REPLACE INTO log VALUES (NEW.id)",
            "BEGIN SELECT NEW.id INTO @a; SET NEW.a = NEW.id; END",
            "IF NEW.id <> OLD.id THEN SIGNAL SQLSTATE '45000'; END IF",
            "BEGIN CALL q(NEW.a); INSERT INTO log VALUES (NEW.id); END",
            "SET NEW.a = OLD.id",
        ] {
            assert!(!may_set(text, ""), "{text}");
        }
    }
}
