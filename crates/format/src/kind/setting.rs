//! SET, as far as dumps have it: settings of the session that are known, to values that are written there, kept in a
//! variable of the session or made of these by a few functions.

use drover_db::sql::Kind as TokenKind;

use super::words::Words;
use super::{Kind, change};

/// Settings of the session that dumps set. None of them changes anything outside of the session.
const KNOWN: &[&str] = &[
    "alter_algorithm",
    "autocommit",
    "big_tables",
    "block_encryption_mode",
    "bulk_insert_buffer_size",
    "character_set_client",
    "character_set_collations",
    "character_set_connection",
    "character_set_database",
    "character_set_filesystem",
    "character_set_results",
    "character_set_server",
    "check_constraint_checks",
    "collation_connection",
    "collation_database",
    "collation_server",
    "column_compression_threshold",
    "default_collation_for_utf8mb4",
    "default_regex_flags",
    "default_storage_engine",
    "default_table_encryption",
    "default_tmp_storage_engine",
    "default_week_format",
    "div_precision_increment",
    "explicit_defaults_for_timestamp",
    "foreign_key_checks",
    "group_concat_max_len",
    "information_schema_stats_expiry",
    "innodb_compression_default",
    "innodb_ddl_buffer_size",
    "innodb_ddl_threads",
    "innodb_default_encryption_key_id",
    "innodb_ft_enable_stopword",
    "innodb_lock_wait_timeout",
    "innodb_parallel_read_threads",
    "innodb_strict_mode",
    "insert_id",
    "interactive_timeout",
    "join_buffer_size",
    "last_insert_id",
    "lc_messages",
    "lc_time_names",
    "lock_wait_timeout",
    "low_priority_updates",
    "max_allowed_packet",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_statement_time",
    "myisam_sort_buffer_size",
    "net_read_timeout",
    "net_write_timeout",
    "note_verbosity",
    "old_alter_table",
    "old_mode",
    "optimizer_switch",
    "print_identified_with_as_hex",
    "query_cache_type",
    "read_buffer_size",
    "restrict_fk_on_non_standard_key",
    "show_create_table_skip_secondary_engine",
    "show_gipk_in_create_table_and_information_schema",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_mode",
    "sql_notes",
    "sql_quote_show_create",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_warnings",
    "storage_engine",
    "system_versioning_alter_history",
    "system_versioning_asof",
    "system_versioning_insert_history",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "unique_checks",
    "use_secondary_engine",
    "wait_timeout",
    "windowing_use_high_precision",
];

/// Settings of engines that forks bring.
const KNOWN_BEGINNINGS: [&str; 2] = ["rocksdb_", "tokudb_"];

/// Functions that values are made with.
const FUNCTIONS: [&str; 12] = [
    "IF",
    "IFNULL",
    "NULLIF",
    "COALESCE",
    "CONCAT",
    "CONCAT_WS",
    "REPLACE",
    "CAST",
    "CONVERT",
    "LOWER",
    "UPPER",
    "TRIM",
];

/// What a SET does.
pub(super) fn set(words: &mut Words<'_>) -> Kind {
    if words.is("STATEMENT") {
        return Kind::Refused("it runs another statement");
    }
    if words
        .peek()
        .is_some_and(|token| ["DEFAULT", "PASSWORD", "ROLE", "RESOURCE"].iter().any(|w| token.is_word(w)))
        && !words.peek_at(1).is_some_and(|token| token.is_symbol(b'.'))
    {
        return Kind::Server;
    }
    let mut worst = Kind::Session;
    loop {
        let found = assignment(words);
        let is_worse = match &found {
            Kind::Server => true,
            Kind::Refused(_) => worst == Kind::Session,
            _ => false,
        };
        if is_worse {
            worst = found;
        }
        if !words.symbol(b',') {
            break;
        }
    }
    match words.peek() {
        None => worst,
        Some(_) if worst == Kind::Server => worst,
        Some(_) => Kind::Refused(ODD),
    }
}

const ODD: &str = "it is no SET of settings of the session";
const UNKNOWN: &str = "it sets what is not known to be a setting of the session only";
const VALUE: &str = "it sets a value that is no constant, variable or known function of these";

/// One of the things that are set.
fn assignment(words: &mut Words<'_>) -> Kind {
    if words.symbol(b'@') {
        if words.symbol(b'@') {
            return system_variable(words);
        }
        // A variable of the session's own, whose name may be in quotes of any kind.
        return match words.next() {
            Some(_) => value(words),
            None => Kind::Refused(ODD),
        };
    }
    if words.is_any(&["GLOBAL", "PERSIST", "PERSIST_ONLY"]) {
        let _ = value(words);
        return Kind::Server;
    }
    let _ = words.is_any(&["SESSION", "LOCAL"]);
    if words.is("TRANSACTION") {
        return characteristics(words);
    }
    if words.is("NAMES") || words.is("CHARSET") {
        return names(words);
    }
    if words.is("CHARACTER") {
        return if words.is("SET") { names(words) } else { Kind::Refused(ODD) };
    }
    known(words)
}

/// What stands behind `@@`.
fn system_variable(words: &mut Words<'_>) -> Kind {
    if words.peek_at(1).is_some_and(|token| token.is_symbol(b'.')) {
        let scope = words.word().unwrap_or_default();
        words.next();
        if matches!(scope.as_str(), "GLOBAL" | "PERSIST" | "PERSIST_ONLY") {
            let _ = value(words);
            return Kind::Server;
        }
        if !matches!(scope.as_str(), "SESSION" | "LOCAL") {
            return Kind::Refused(UNKNOWN);
        }
    }
    known(words)
}

/// A setting by its name.
fn known(words: &mut Words<'_>) -> Kind {
    let Some(name) = words.name() else { return Kind::Refused(ODD) };
    let name = name.to_ascii_lowercase();
    let is_known =
        KNOWN.contains(&name.as_str()) || KNOWN_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    if name.ends_with("storage_engine") {
        return engine(words);
    }
    match value(words) {
        Kind::Session if !is_known => Kind::Refused(UNKNOWN),
        other => other,
    }
}

/// The character set and collation behind NAMES.
fn names(words: &mut Words<'_>) -> Kind {
    let is_name = |kind| matches!(kind, TokenKind::Word | TokenKind::String | TokenKind::Quoted);
    let _ = words.symbol(b'=');
    if !words.next().is_some_and(|token| is_name(token.kind)) {
        return Kind::Refused(ODD);
    }
    match !words.is("COLLATE") || words.next().is_some_and(|token| is_name(token.kind)) {
        true => Kind::Session,
        false => Kind::Refused(ODD),
    }
}

/// The isolation level and access mode behind TRANSACTION.
fn characteristics(words: &mut Words<'_>) -> Kind {
    const PARTS: [&str; 10] = [
        "ISOLATION",
        "LEVEL",
        "READ",
        "WRITE",
        "ONLY",
        "COMMITTED",
        "UNCOMMITTED",
        "REPEATABLE",
        "SERIALIZABLE",
        "SNAPSHOT",
    ];
    while words.is_any(&PARTS) {}
    Kind::Session
}

/// `=` and the name of an engine that keeps its rows itself: tables may name none.
fn engine(words: &mut Words<'_>) -> Kind {
    let _ = words.symbol(b':');
    let is_one = words.symbol(b'=') && words.next().is_some_and(|name| !change::is_elsewhere(&name));
    match is_one && words.peek().is_none_or(|next| next.is_symbol(b',')) {
        true => Kind::Session,
        false => {
            Kind::Refused("it sets an engine that is unknown, or whose tables keep their rows elsewhere")
        }
    }
}

/// `=` and a value, up to a comma outside of parentheses or the end.
fn value(words: &mut Words<'_>) -> Kind {
    let _ = words.symbol(b':');
    if !words.symbol(b'=') {
        return Kind::Refused(ODD);
    }
    let (mut depth, mut result) = (0usize, Kind::Session);
    while let Some(token) = words.peek().filter(|token| depth > 0 || !token.is_symbol(b',')) {
        words.next();
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
        let is_number = token.text.first().is_some_and(u8::is_ascii_digit);
        let calls = is_name && words.peek().is_some_and(|next| next.is_symbol(b'('));
        let is_function = FUNCTIONS.iter().any(|function| token.is_word(function));
        let is_qualified = is_name && !is_number && words.peek().is_some_and(|next| next.is_symbol(b'.'));
        let is_scope = ["GLOBAL", "SESSION", "LOCAL"].iter().any(|scope| token.is_word(scope));
        // NEXT VALUE FOR changes a sequence.
        let is_statement = token.is_word("SELECT") || token.is_word("FOR");
        if is_statement || calls && !is_function || is_qualified && !is_scope {
            result = Kind::Refused(VALUE);
        }
        depth += usize::from(token.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
    }
    result
}
