//! What a statement reads besides its own values: tables, and sequences that it moves. Of functions only those of the servers' own that
//! change nothing and read no files may be called; a stored one may do anything.

use drover_db::sql::{Dialect, Kind as TokenKind, Token, tokens_in_comments};

use super::{Kind, Qualified, UNCLEAR, UNKNOWN, words};

/// Why a function is not called.
const CALLS: &str = "rows are made of constants and of the server's own functions that change nothing: another one may do anything";

/// Functions that rows are made with.
const FUNCTIONS: &str = "abs acos adddate addtime aes_decrypt aes_encrypt ascii asin atan atan2 avg bin bin_to_uuid bit_and bit_count \
    bit_length bit_or bit_xor cast ceil ceiling char char_length character_length charset coalesce collation column_create column_get \
    compress concat concat_ws conv convert convert_tz cos cot count crc32 curdate current_date current_time current_timestamp \
    current_user curtime database date date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear default \
    degrees elt exp export_set extract field find_in_set floor format from_base64 from_days from_unixtime \
    geomcollfromtext geomcollfromwkb geometrycollection geometrycollectionfromtext geometrycollectionfromwkb geometryfromtext \
    geometryfromwkb geomfromtext geomfromwkb greatest group_concat hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert \
    instr isnull json_array json_array_append json_array_insert json_arrayagg json_contains json_extract \
    json_insert json_keys json_length json_merge json_merge_patch json_merge_preserve json_object json_objectagg \
    json_pretty json_quote json_remove json_replace json_set json_type json_unquote json_valid json_value last_day \
    last_insert_id lcase least left length linefromtext linefromwkb linestring linestringfromtext linestringfromwkb ln localtime \
    localtimestamp locate log log10 log2 lower lpad ltrim make_set makedate maketime max md5 microsecond mid min minute mlinefromtext \
    mlinefromwkb mod month monthname mpointfromtext mpointfromwkb mpolyfromtext mpolyfromwkb multilinestring multilinestringfromtext \
    multilinestringfromwkb multipoint multipointfromtext multipointfromwkb multipolygon multipolygonfromtext multipolygonfromwkb \
    now nullif oct octet_length old_password ord password period_add period_diff pi point pointfromtext \
    pointfromwkb polyfromtext polyfromwkb polygon polygonfromtext polygonfromwkb position pow power quarter quote radians rand \
    random_bytes regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right round row rpad rtrim \
    schema sec_to_time second session_user sha sha1 sha2 sign sin soundex space sqrt st_aswkb st_geomcollfromtext \
    st_geomcollfromwkb st_geometrycollectionfromtext st_geometrycollectionfromwkb st_geometryfromtext st_geometryfromwkb \
    st_geomfromgeojson st_geomfromtext st_geomfromwkb st_linefromtext st_linefromwkb st_linestringfromtext st_linestringfromwkb \
    st_mlinefromtext st_mlinefromwkb st_mpointfromtext st_mpointfromwkb st_mpolyfromtext st_mpolyfromwkb st_multilinestringfromtext \
    st_multilinestringfromwkb st_multipointfromtext st_multipointfromwkb st_multipolygonfromtext st_multipolygonfromwkb \
    st_pointfromtext st_pointfromwkb st_polyfromtext st_polyfromwkb st_polygonfromtext st_polygonfromwkb st_srid st_swapxy std stddev \
    str_to_date strcmp string_to_vector subdate substr substring substring_index subtime sum swap_xy sysdate system_user tan time \
    time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_days to_seconds to_vector trim truncate \
    ucase uncompress unhex unix_timestamp upper user utc_date utc_time utc_timestamp uuid uuid_short uuid_to_bin \
    values variance vec_fromtext vec_totext vector_to_string version week weekday weekofyear year yearweek";

/// Words that may stand before a parenthesis and call nothing.
const KEYWORDS: &str = "all and any as between binary by case distinct div else end exists from group having in index inner \
    interval is join key like limit mod not null offset on or order partition regexp return rlike select set some then \
    union update using value values varbinary varchar when where xor decimal char nchar double float signed unsigned datetime time";

/// The tables and sequences that a statement of this kind reads.
///
/// # Errors
/// Why it is refused, if it calls what may do anything, or it cannot be told what it reads.
pub fn reads(kind: &Kind, text: &[u8], dialect: Dialect) -> Result<Vec<Qualified>, &'static str> {
    let found = read(kind, text, dialect)?;
    let has_rows = match kind {
        Kind::Insert(_) | Kind::InsertInOrder(_) | Kind::ChangeRows(_) => true,
        Kind::Load(..) | Kind::CreateTableFrom(_) => true,
        _ => !found.is_empty(),
    };
    match !has_rows || words::is_clear(text, dialect) {
        true => Ok(found),
        false => Err(UNCLEAR),
    }
}

fn read(kind: &Kind, text: &[u8], dialect: Dialect) -> Result<Vec<Qualified>, &'static str> {
    let code = tokens(text, dialect);
    let behind = |words: &[&str]| {
        let begin = code.iter().position(|token| words.iter().any(|word| token.is(word)));
        begin.map_or(&code[code.len()..], |at| &code[at..])
    };
    match kind {
        Kind::Insert(_) | Kind::InsertInOrder(_) => {
            Reading::of(behind(&["VALUES", "VALUE", "SELECT", "SET", "WITH", "TABLE"]))
        }
        Kind::ChangeRows(_) => Reading::of(behind(&["SET", "WHERE", "ORDER", "LIMIT", "RETURNING"])),
        Kind::Load(..) => {
            let is_set = |at: usize| code[at].is("SET") && !(at > 0 && code[at - 1].is("CHARACTER"));
            let begin = (0..code.len()).find(|&at| is_set(at));
            begin.map_or(Ok(Vec::new()), |at| Reading::of(&code[at..]))
        }
        Kind::CreateTableFrom(_) => match (pattern(&code), behind(&["SELECT"])) {
            (Some(pattern), _) => Ok(vec![qualified(pattern).ok_or(UNKNOWN)?.0]),
            (None, []) => Err("a table is made of columns, of another table or of a SELECT"),
            (None, query) => Reading::of(query),
        },
        Kind::CreateTable(_) | Kind::AlterTable(_) => sequences(&code),
        _ => Ok(Vec::new()),
    }
}

/// A token of code.
struct Code<'a> {
    token: Token<'a>,
    /// Whether white space or a comment stands before it.
    is_apart: bool,
}

impl Code<'_> {
    fn is(&self, word: &str) -> bool {
        self.token.is_word(word)
    }

    fn symbol(&self, symbol: u8) -> bool {
        self.token.is_symbol(symbol)
    }

    fn is_one_of(&self, words: &str) -> bool {
        self.token.kind == TokenKind::Word && words.split_ascii_whitespace().any(|word| self.is(word))
    }

    /// Whether it may be the name of something: numbers and strings are none.
    fn is_name(&self) -> bool {
        self.token.kind == TokenKind::Quoted
            || self.token.kind == TokenKind::Word && !is_number(self.token.text)
    }
}

/// Whether a word is a number: `1e` and `0x` may be names.
fn is_number(word: &[u8]) -> bool {
    let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if let Some(digits) = word.strip_prefix(b"0x") {
        return !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    }
    let mut parts = word.splitn(2, |byte| byte.eq_ignore_ascii_case(&b'e'));
    parts.all(are_digits)
}

fn tokens(text: &[u8], dialect: Dialect) -> Vec<Code<'_>> {
    let mut is_apart = false;
    let code = tokens_in_comments(text, dialect).filter_map(|token| {
        let is_code = token.is_code();
        let found = is_code.then_some(Code { token, is_apart });
        is_apart = !is_code;
        found
    });
    code.collect()
}

/// The name that the tokens begin with, and how many of them it takes.
fn qualified(code: &[Code<'_>]) -> Option<(Qualified, usize)> {
    let name = |at: usize| {
        let token = &code.get(at)?.token;
        Some(String::from_utf8_lossy(&token.name()?).into_owned())
    };
    match code.get(1).is_some_and(|next| next.symbol(b'.')) {
        true => Some((Qualified { schema: Some(name(0)?), name: name(2)? }, 3)),
        false => Some((Qualified { schema: None, name: name(0)? }, 1)),
    }
}

/// What stands behind LIKE in `CREATE TABLE IF NOT EXISTS schema.name (LIKE …)`.
fn pattern<'c, 't>(code: &'c [Code<'t>]) -> Option<&'c [Code<'t>]> {
    let at = code.iter().position(|token| token.is("TABLE"))? + 1;
    let at = at + if code.get(at)?.is("IF") { 3 } else { 0 };
    let at = at + qualified(code.get(at..)?)?.1;
    let at = at + usize::from(code.get(at)?.symbol(b'('));
    code.get(at)?.is("LIKE").then_some(&code[at + 1..])
}

/// The sequences that the defaults of columns ask.
fn sequences(code: &[Code<'_>]) -> Result<Vec<Qualified>, &'static str> {
    let mut reading = Reading::default();
    for at in 0..code.len() {
        reading.sequence(&code[..at], &code[at..])?;
    }
    Ok(reading.found)
}

/// What stands within a pair of parentheses.
#[derive(Default, Clone, Copy)]
struct Level {
    selects: bool,
    /// Whether a FROM of a SELECT came last.
    in_from: bool,
    /// Whether a table comes next.
    expects_table: bool,
}

/// Follows the tokens of expressions and queries.
#[derive(Default)]
struct Reading {
    found: Vec<Qualified>,
    levels: Vec<Level>,
    level: Level,
}

impl Reading {
    fn of(code: &[Code<'_>]) -> Result<Vec<Qualified>, &'static str> {
        let mut reading = Self::default();
        let mut at = 0;
        while at < code.len() {
            at += reading.take(&code[..at], &code[at..])?;
        }
        Ok(reading.found)
    }

    /// Takes the next of the tokens; gives how many it has taken.
    fn take(&mut self, before: &[Code<'_>], code: &[Code<'_>]) -> Result<usize, &'static str> {
        let [token, ..] = code else { return Ok(1) };
        if token.token.kind == TokenKind::Word && !token.token.text.is_ascii() {
            return Err("a name beyond ASCII stands there without quotes");
        }
        self.sequence(before, code)?;
        if self.level.expects_table && token.is_name() && !token.is("LATERAL") && !token.is("SELECT") {
            return self.table(code);
        }
        if ["INTO", "TABLE", "WITH", "PROCEDURE"].iter().any(|word| token.is(word)) {
            return Err("it cannot be told what it reads or writes");
        }
        check_call(before, code)?;
        self.step(before, code);
        Ok(1)
    }

    fn step(&mut self, before: &[Code<'_>], code: &[Code<'_>]) {
        let [token, ..] = code else { return };
        let level = &mut self.level;
        if token.symbol(b'(') {
            let inner = Level { expects_table: level.expects_table, ..Level::default() };
            self.levels.push(*level);
            self.level = inner;
        } else if token.symbol(b')') {
            *level = self.levels.pop().unwrap_or_default();
            level.expects_table = false;
        } else if token.is("SELECT") {
            *level = Level { selects: true, ..Level::default() };
        } else if token.is("FROM") && level.selects {
            // Not of IS DISTINCT FROM.
            level.in_from = !before.last().is_some_and(|last| last.is("DISTINCT"));
            level.expects_table = level.in_from;
        } else if token.is_one_of("where group having order limit union") || is_on_duplicate_key(before, code)
        {
            // Reserved words: none of them is the other name of a table.
            level.in_from = false;
        } else if token.symbol(b',') || token.is("JOIN") || token.is("STRAIGHT_JOIN") {
            level.expects_table = level.in_from || level.expects_table;
        }
    }

    fn table(&mut self, code: &[Code<'_>]) -> Result<usize, &'static str> {
        let (name, length) = qualified(code).ok_or(UNKNOWN)?;
        self.level.expects_table = false;
        self.level.in_from = true;
        if code.get(length).is_some_and(|next| next.symbol(b'(') || next.symbol(b'.')) {
            return Err(CALLS);
        }
        if !code[0].is("DUAL") {
            self.found.push(name);
        }
        Ok(length)
    }

    /// Notes a sequence that is asked for a value here.
    fn sequence(&mut self, before: &[Code<'_>], code: &[Code<'_>]) -> Result<(), &'static str> {
        let [token, next, ..] = code else { return Ok(()) };
        let is_function = token.is_one_of("nextval lastval setval") && next.symbol(b'(');
        let is_phrase = token.is_one_of("next previous") && next.is("VALUE");
        let is_member =
            token.is_one_of("nextval currval") && before.last().is_some_and(|last| last.symbol(b'.'));
        let name = match (is_function, is_phrase) {
            _ if is_member => return Err("a sequence is asked in Oracle's way"),
            (true, _) => qualified(&code[2..]),
            (_, true) => code.get(3..).and_then(qualified),
            _ => return Ok(()),
        };
        self.found.push(name.ok_or(UNKNOWN)?.0);
        Ok(())
    }
}

fn is_on_duplicate_key(before: &[Code<'_>], code: &[Code<'_>]) -> bool {
    let [token, next, ..] = code else { return false };
    before.last().is_some_and(|last| last.is("ON")) && token.is("DUPLICATE") && next.is("KEY")
}

/// Refuses a name with a parenthesis behind it that is no known function of the server's own.
fn check_call(before: &[Code<'_>], code: &[Code<'_>]) -> Result<(), &'static str> {
    let [token, next, ..] = code else { return Ok(()) };
    if !next.symbol(b'(') || !token.is_name() {
        return Ok(());
    }
    let is_member = before.last().is_some_and(|last| last.symbol(b'.'));
    // With a space between, some servers look for a stored function of that name.
    let is_own = token.is_one_of(FUNCTIONS) && !next.is_apart || token.is_one_of("nextval lastval setval");
    match !is_member && (is_own || token.is_one_of(KEYWORDS)) {
        true => Ok(()),
        false => Err(CALLS),
    }
}
