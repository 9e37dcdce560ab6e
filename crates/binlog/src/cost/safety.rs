//! Whether a statement may be logged as a statement: the servers' own reasons against it, as far as the text tells.
//!
//! The servers look at the parsed statement and at the tables; a text tells what is in it, not what a trigger does or which keys a
//! table has. What hangs on these is told as unknown. Sources: MySQL and MariaDB `sql/sql_lex.h`, `enum_binlog_stmt_unsafe`, and
//! where it is set, mostly `sql/sql_yacc.yy`, `sql/item_create.cc`, `sql/sql_class.cc` and `sql/binlog.cc`.

use drover_db::sql::{Dialect, Kind, Token, tokens_in_comments};
use serde::Serialize;

/// What is known of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SafetyVerdict {
    /// What it is.
    pub safety: Safety,
    /// Why it is unsafe: the server's names of the reasons, `BINLOG_STMT_UNSAFE_…`.
    pub reasons: Vec<&'static str>,
    /// What else may make it unsafe, for which the text is not enough.
    pub unsure: Vec<&'static str>,
}

/// Whether a statement is safe to be logged as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Safety {
    /// It is.
    Safe,
    /// It is not.
    Unsafe,
    /// The text does not tell, or there is none.
    Unknown,
}

impl SafetyVerdict {
    /// Of rows whose statement is not in the log.
    pub(super) fn not_logged() -> Self {
        Self { safety: Safety::Unknown, reasons: Vec::new(), unsure: vec![NOT_LOGGED] }
    }
}

const NOT_LOGGED: &str = "the statement is not in the log: binlog_rows_query_log_events (MySQL) or binlog_annotate_row_events (MariaDB) was off";
const TWO_KEYS: &str = "whether the table has more than one unique key (BINLOG_STMT_UNSAFE_INSERT_TWO_KEYS)";
const AUTOINC: &str =
    "whether the table has an AUTO_INCREMENT column (BINLOG_STMT_UNSAFE_WRITE_AUTOINC_SELECT)";
const FUNCTION: &str = "what the functions do that it calls (BINLOG_STMT_UNSAFE_UDF and others)";
const PROGRAM: &str = "what the procedure does that it calls";

/// Functions whose value depends on where they run. MySQL `sql/item_create.cc` and `sql/item_func.cc`; MariaDB `sql/item_create.cc` and
/// `sql/sql_yacc.yy`.
const SYSTEM_FUNCTIONS: &str = " CURRENT_USER FOUND_ROWS GET_LOCK ICU_VERSION IS_FREE_LOCK IS_USED_LOCK LOAD_FILE MASTER_POS_WAIT SOURCE_POS_WAIT \
    RAND RELEASE_ALL_LOCKS RELEASE_LOCK ROW_COUNT SESSION_USER SLEEP SYSDATE SYSTEM_USER USER UUID UUID_SHORT VERSION \
    WAIT_FOR_EXECUTED_GTID_SET ";
/// Those that MariaDB has on top.
const OF_MARIADB: &str = " CURRENT_ROLE JSON_TABLE MASTER_GTID_WAIT RANDOM_BYTES SYS_GUID ";
/// Those of these that need no parentheses.
const BARE_FUNCTIONS: [&str; 2] = ["CURRENT_ROLE", "CURRENT_USER"];

/// Variables that are logged with a statement, so that it finds the same value wherever it runs: those of which neither MariaDB 10.11 nor
/// MySQL 9.7 warns.
const LOGGED_VARIABLES: [&str; 21] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "character_set_client",
    "character_set_connection",
    "character_set_database",
    "character_set_server",
    "collation_connection",
    "collation_database",
    "collation_server",
    "default_collation_for_utf8mb4",
    "foreign_key_checks",
    "identity",
    "last_insert_id",
    "lc_time_names",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "sql_auto_is_null",
    "time_zone",
    "timestamp",
    "unique_checks",
];

/// What the servers bring, as far as it is called in statements that change rows; any other function may be a person's own.
const BUILT_IN: &str = " ABS ACOS ADDDATE ADDTIME ASCII ASIN ATAN AVG BIN BIN_TO_UUID BIT_AND BIT_COUNT BIT_LENGTH BIT_OR BIT_XOR CAST \
    CEIL CEILING CHAR CHAR_LENGTH CHARACTER_LENGTH CHARSET COALESCE COLLATION COMPRESS CONCAT CONCAT_WS CONNECTION_ID CONV CONVERT \
    CONVERT_TZ COS COT COUNT CRC32 BENCHMARK JSON_TABLE RANDOM_BYTES RELEASE_ALL_LOCKS CURDATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURTIME DATABASE DATE DATE_ADD \
    DATE_FORMAT DATE_SUB DATEDIFF DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEFAULT DEGREES DENSE_RANK ELT EXP EXPORT_SET EXTRACT \
    FIELD FIND_IN_SET FIRST_VALUE FLOOR FORMAT FROM_BASE64 FROM_DAYS FROM_UNIXTIME GREATEST GROUP_CONCAT HEX HOUR IF IFNULL INET6_ATON \
    INET6_NTOA INET_ATON INET_NTOA INSERT INSTR INTERVAL ISNULL JSON_ARRAY JSON_ARRAYAGG JSON_ARRAY_APPEND JSON_ARRAY_INSERT \
    JSON_CONTAINS JSON_CONTAINS_PATH JSON_DEPTH JSON_EXTRACT JSON_INSERT JSON_KEYS JSON_LENGTH JSON_MERGE JSON_MERGE_PATCH \
    JSON_MERGE_PRESERVE JSON_OBJECT JSON_OBJECTAGG JSON_OVERLAPS JSON_PRETTY JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SEARCH JSON_SET \
    JSON_TYPE JSON_UNQUOTE JSON_VALID JSON_VALUE LAG LAST_DAY LAST_INSERT_ID LAST_VALUE LCASE LEAD LEAST LEFT LENGTH LN LOCALTIME \
    LOCALTIMESTAMP LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAKEDATE MAKETIME MAKE_SET MAX MD5 MICROSECOND MID MIN MINUTE MOD MONTH \
    MONTHNAME NOW NTH_VALUE NTILE NULLIF NVL NVL2 OCT OCTET_LENGTH ORD PERIOD_ADD PERIOD_DIFF PI POINT POSITION POW POWER QUARTER QUOTE \
    RADIANS RANK REGEXP_INSTR REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR REPEAT REPLACE REVERSE RIGHT ROUND ROW ROW_NUMBER RPAD RTRIM \
    SCHEMA SECOND SEC_TO_TIME SHA SHA1 SHA2 SIGN SIN SOUNDEX SPACE SQRT STD STDDEV STRCMP STR_TO_DATE ST_ASTEXT ST_GEOMFROMTEXT SUBDATE \
    SUBSTR SUBSTRING SUBSTRING_INDEX SUBTIME SUM TAN TIME TIMEDIFF TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TIME_FORMAT TIME_TO_SEC TO_BASE64 \
    TO_DAYS TO_SECONDS TRIM TRUNCATE UCASE UNCOMPRESS UNHEX UNIX_TIMESTAMP UPPER UTC_DATE UTC_TIME UTC_TIMESTAMP UUID_TO_BIN VALUES VALUE \
    VARIANCE VERSION WEEK WEEKDAY WEEKOFYEAR WEIGHT_STRING YEAR YEARWEEK ";
/// Words before a parenthesis that call nothing.
const NO_CALLS: &str = " ALL AND ANY AS BETWEEN BY CASE DISTINCT DIV DUPLICATE ELSE EXISTS FROM FOR HAVING IN INDEX INTO IS JOIN KEY LIKE LIMIT \
    NOT OFFSET ON OR ORDER OVER PARTITION REGEXP RLIKE SELECT SET SOME TABLE THEN UNION USING WHEN WHERE WITH XOR TO EXCEPT INTERSECT \
    AGAINST MATCH DECIMAL VARCHAR BINARY SIGNED UNSIGNED UPDATE RETURNING LATERAL RECURSIVE WINDOW INT BIGINT DATETIME ";

/// What its text tells of a statement.
pub(super) fn judge(text: &[u8], is_mariadb: bool) -> SafetyVerdict {
    let code: Vec<_> = tokens_in_comments(text, Dialect::default()).filter(Token::is_code).collect();
    let statement = Code { code: &code, is_mariadb };
    let mut reasons = statement.reasons();
    let mut unsure = statement.unsure(&reasons);
    reasons.dedup();
    if !reasons.is_empty() {
        unsure.clear();
    }
    let safety = match (reasons.is_empty(), unsure.is_empty()) {
        (false, _) => Safety::Unsafe,
        (true, true) => Safety::Safe,
        (true, false) => Safety::Unknown,
    };
    SafetyVerdict { safety, reasons, unsure }
}

/// The tokens of a statement that mean something.
struct Code<'c, 'a> {
    code: &'c [Token<'a>],
    is_mariadb: bool,
}

impl Code<'_, '_> {
    fn reasons(&self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        let mut add = |is_so: bool, reason| {
            if is_so {
                reasons.push(reason);
            }
        };
        let (is_select, is_ignore) = (self.reads_tables(), self.has("IGNORE"));
        let is_insert = self.begins_with("INSERT");
        add(self.has("LIMIT") && self.writes(), "BINLOG_STMT_UNSAFE_LIMIT");
        add(self.names_system_table(), "BINLOG_STMT_UNSAFE_SYSTEM_TABLE");
        add(self.has_system_variable(), "BINLOG_STMT_UNSAFE_SYSTEM_VARIABLE");
        add(self.has_system_function(), "BINLOG_STMT_UNSAFE_SYSTEM_FUNCTION");
        add(is_insert && is_select && is_ignore, "BINLOG_STMT_UNSAFE_INSERT_IGNORE_SELECT");
        add(is_insert && is_select && self.has("DUPLICATE"), "BINLOG_STMT_UNSAFE_INSERT_SELECT_UPDATE");
        add(self.begins_with("REPLACE") && is_select, "BINLOG_STMT_UNSAFE_REPLACE_SELECT");
        let creates_from_select = self.begins_with("CREATE") && is_select;
        add(creates_from_select && is_ignore, "BINLOG_STMT_UNSAFE_CREATE_IGNORE_SELECT");
        add(creates_from_select && self.creates_with_replace(), "BINLOG_STMT_UNSAFE_CREATE_REPLACE_SELECT");
        add(self.begins_with("UPDATE") && is_ignore, "BINLOG_STMT_UNSAFE_UPDATE_IGNORE");
        add(self.has_pair("SKIP", "LOCKED"), "BINLOG_STMT_UNSAFE_SKIP_LOCKED");
        add(self.writes() && self.has("NOWAIT"), "BINLOG_STMT_UNSAFE_NOWAIT");
        reasons
    }

    /// What the text is not enough for.
    fn unsure(&self, reasons: &[&str]) -> Vec<&'static str> {
        let mut unsure = Vec::new();
        if self.begins_with("INSERT") && self.has("DUPLICATE") && reasons.is_empty() {
            unsure.push(TWO_KEYS);
        }
        if (self.begins_with("INSERT") || self.begins_with("REPLACE")) && self.reads_tables() {
            unsure.push(AUTOINC);
        }
        if self.calls().any(|name| !is_in(BUILT_IN, &name) && !self.is_system_function(&name)) {
            unsure.push(FUNCTION);
        }
        if self.begins_with("CALL") {
            unsure.push(PROGRAM);
        }
        unsure
    }

    fn begins_with(&self, word: &str) -> bool {
        self.code.first().is_some_and(|first| first.is_word(word))
    }

    fn has(&self, word: &str) -> bool {
        self.code.iter().any(|token| token.is_word(word))
    }

    fn has_pair(&self, first: &str, second: &str) -> bool {
        self.code.windows(2).any(|pair| pair[0].is_word(first) && pair[1].is_word(second))
    }

    fn writes(&self) -> bool {
        ["INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "WITH", "LOAD"]
            .iter()
            .any(|verb| self.begins_with(verb))
    }

    /// Whether rows come out of other tables.
    fn reads_tables(&self) -> bool {
        self.has("SELECT") && self.has("FROM")
            || self.code.windows(2).any(|pair| pair[0].is_word("TABLE") && pair[1].name().is_some())
                && !self.begins_with("CREATE")
    }

    /// CREATE TABLE … REPLACE SELECT; not CREATE OR REPLACE.
    fn creates_with_replace(&self) -> bool {
        let is_one = |pair: &[Token<'_>]| !pair[0].is_word("OR") && pair[1].is_word("REPLACE");
        self.code.windows(2).any(is_one)
    }

    fn names_system_table(&self) -> bool {
        self.code.windows(2).any(|pair| {
            let schema = pair[0].name().unwrap_or_default().to_ascii_lowercase();
            pair[1].is_symbol(b'.') && matches!(&schema[..], b"mysql" | b"performance_schema")
        })
    }

    fn has_system_variable(&self) -> bool {
        let mut rest = self.code;
        while let Some(at) =
            rest.windows(2).position(|pair| pair[0].is_symbol(b'@') && pair[1].is_symbol(b'@'))
        {
            rest = &rest[at + 2..];
            // @@session.sql_mode, @@global.x: a global one is never logged.
            let word = |index: usize| {
                rest.get(index)
                    .and_then(Token::name)
                    .map(|name| String::from_utf8_lossy(&name).to_ascii_lowercase())
            };
            let scope = rest.get(1).filter(|dot| dot.is_symbol(b'.')).and_then(|_| word(0));
            let name = if scope.is_some() { word(2) } else { word(0) }.unwrap_or_default();
            if scope.as_deref() == Some("global") || !LOGGED_VARIABLES.contains(&&*name) {
                return true;
            }
        }
        false
    }

    fn has_system_function(&self) -> bool {
        BARE_FUNCTIONS.iter().any(|name| self.has(name) && self.is_system_function(name))
            || self.calls().any(|name| self.is_system_function(&name))
    }

    fn is_system_function(&self, name: &str) -> bool {
        is_in(SYSTEM_FUNCTIONS, name) || self.is_mariadb && is_in(OF_MARIADB, name)
    }

    /// The functions that are called, in upper case.
    fn calls(&self) -> impl Iterator<Item = String> {
        let call = move |(index, pair): (usize, &[Token<'_>])| {
            if !pair[1].is_symbol(b'(') || pair[0].kind == Kind::Symbol || pair[0].kind == Kind::String {
                return None;
            }
            let name = String::from_utf8_lossy(&pair[0].name()?).to_ascii_uppercase();
            let before = index.checked_sub(1).and_then(|before| self.code.get(before));
            // INSERT INTO t (…), WITH a (…), CREATE TABLE t (…), alias (…): a name of a table.
            let table = [
                "INTO", "TABLE", "WITH", "UPDATE", "JOIN", "FROM", "AS", "EXISTS", "INSERT", "REPLACE",
                "IGNORE",
            ];
            let is_table = before.is_some_and(|token| {
                table.iter().any(|word| token.is_word(word))
                    || token.is_symbol(b'.') && self.is_insert_into(index)
            });
            let is_value = name.bytes().next().is_some_and(|first| first.is_ascii_digit());
            (!is_table && !is_value && !is_in(NO_CALLS, &name)).then_some(name)
        };
        self.code.windows(2).enumerate().filter_map(call)
    }

    /// Whether the name at that place, behind a dot, is the table that an INSERT names.
    fn is_insert_into(&self, index: usize) -> bool {
        (self.begins_with("INSERT") || self.begins_with("REPLACE")) && index <= 6
    }
}

/// Whether a word stands in a list of words with spaces around them.
fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_texts_tell() {
        for (text, safety, reasons) in [
            ("INSERT INTO t VALUES (1)", Safety::Safe, &[][..]),
            ("INSERT INTO s.t (a, b) VALUES (1, NOW())", Safety::Safe, &[]),
            ("UPDATE t SET a = 'LIMIT 1' -- LIMIT 1", Safety::Safe, &[]),
            ("DELETE FROM t LIMIT 1", Safety::Unsafe, &["LIMIT"]),
            (
                "INSERT INTO t VALUES (UUID(), @@hostname)",
                Safety::Unsafe,
                &["SYSTEM_VARIABLE", "SYSTEM_FUNCTION"],
            ),
            ("INSERT INTO t VALUES (@@session.time_zone, @@timestamp)", Safety::Safe, &[]),
            ("INSERT INTO t VALUES (@@global.sql_mode)", Safety::Unsafe, &["SYSTEM_VARIABLE"]),
            ("INSERT IGNORE INTO t SELECT * FROM u", Safety::Unsafe, &["INSERT_IGNORE_SELECT"]),
            ("INSERT INTO t SELECT * FROM u", Safety::Unknown, &[]),
            ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", Safety::Unknown, &[]),
            ("INSERT INTO t VALUES (my_own(1))", Safety::Unknown, &[]),
            ("UPDATE IGNORE t SET a = 1", Safety::Unsafe, &["UPDATE_IGNORE"]),
            ("REPLACE INTO t SELECT * FROM mysql.user", Safety::Unsafe, &["SYSTEM_TABLE", "REPLACE_SELECT"]),
            ("CREATE OR REPLACE TABLE t SELECT 1", Safety::Safe, &[]),
        ] {
            let verdict = judge(text.as_bytes(), true);
            let reasons: Vec<_> =
                reasons.iter().map(|reason| format!("BINLOG_STMT_UNSAFE_{reason}")).collect();
            assert_eq!(
                (verdict.safety, verdict.reasons),
                (safety, reasons.iter().map(|r| &**r).collect()),
                "{text}"
            );
        }
    }
}
