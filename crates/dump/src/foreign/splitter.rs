//! Finds the statements of a script as they come, by the rules of the vendors' clients: quotes and comments hide the
//! delimiter, a line `DELIMITER x` changes it. No more than one statement is held in memory.
//!
//! Version comments (`/*!40101 … */`) are read as the code that they are for the server. Comments before a statement
//! are dropped, but for what the tools say of themselves in them ([`Notes`]).

use std::io::{self, Read};

use drover_db::sql::{Dialect, LeadBytes};

/// Text is read in pieces of this many bytes.
const PIECE: usize = 256 << 10;
/// What is to be seen of the text behind a byte to know what the byte means.
const AHEAD: usize = 64;
/// No server takes a longer statement: the largest max_allowed_packet.
const LONGEST: usize = 1 << 30;
/// A statement of this many bytes is not copied, but given out with the memory that it was read into.
const LARGE: usize = 1 << 20;

/// Of a comment of one line so many bytes are kept: what the tools say in theirs is shorter.
const LINE: usize = 4 << 10;
/// What editors put before text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How the last line of a whole dump begins.
pub(super) const MYSQLDUMP_END: &str = "-- Dump completed";
pub(super) const MYSQLPUMP_END: &str = "-- Dump end time";

/// How a statement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// At the delimiter, outside of quotes and comments.
    Delimiter,
    /// At a semicolon right before the end of a line, wherever that is: so mydumper writes programs, whose own
    /// semicolons it keeps away from there.
    Line,
}

/// What the comments of a dump say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// That mysqldump or mariadb-dump wrote it.
    pub(super) is_dump: bool,
    /// That mysqlpump did.
    pub(super) is_pump: bool,
    /// The only schema that was dumped.
    pub(super) database: Option<String>,
    /// That it was written to its end.
    pub(super) is_completed: bool,
    /// How many dumps begin here: files of several are put together with `cat`.
    pub(super) heads: usize,
    /// The line where a dump begins before the end of the one before it.
    pub(super) cut_before: Option<u64>,
}

impl Notes {
    fn read(&mut self, line: &[u8], number: u64) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.starts_with("-- MySQL dump ") || text.starts_with("-- MariaDB dump ") {
            if self.is_dump && !self.is_completed {
                self.cut_before.get_or_insert(number);
            }
            (self.is_dump, self.is_completed, self.database) = (true, false, None);
            self.heads += 1;
        } else if text.starts_with("-- Dump created by MySQL pump utility") {
            (self.is_pump, self.is_completed) = (true, false);
        } else if text.starts_with(MYSQLDUMP_END) || text.starts_with(MYSQLPUMP_END) {
            self.is_completed = true;
        } else if let Some((_, name)) =
            text.strip_prefix("-- Host: ").and_then(|t| t.split_once("Database: "))
        {
            self.database = Some(name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
        }
    }
}

/// Why there is no next statement.
#[derive(Debug)]
pub(super) enum Broken {
    /// The text could not be read.
    Read(io::Error),
    /// The text ends in the middle of a statement, or a statement does not end.
    Unfinished {
        /// The line where the statement begins, from 1.
        line: u64,
        /// What it ends in.
        within: &'static str,
    },
    /// A statement is longer than what can be run.
    TooLong {
        line: u64,
        /// How long it is, unless it is beyond what any server takes.
        bytes: Option<usize>,
        most: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Before the first byte of a statement.
    Start,
    Code,
    Quote(u8),
    LineComment,
    BlockComment,
}

/// The statements of a text.
pub(super) struct Splitter<R> {
    input: R,
    /// The longest statement that can be run, in bytes: a quote that is never closed must not fill the memory.
    longest: usize,
    buffer: Vec<u8>,
    /// The first byte that was not given out.
    start: usize,
    /// The first byte that was not looked at.
    at: usize,
    ended: bool,
    /// The line of the byte at `start`, from 1.
    line: u64,
    delimiter: Vec<u8>,
    rule: Rule,
    dialect: Dialect,
    notes: Notes,
}

impl<R: Read> Splitter<R> {
    pub(super) fn new(input: R, rule: Rule) -> Self {
        Self {
            input,
            longest: LONGEST,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            ended: false,
            line: 1,
            delimiter: b";".to_vec(),
            rule,
            dialect: Dialect::default(),
            notes: Notes::default(),
        }
    }

    /// How the statements from here on are to be read.
    pub(super) fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// How long the statements from here on may be, in bytes.
    pub(super) fn set_longest(&mut self, longest: usize) {
        self.longest = longest.min(LONGEST);
    }

    /// What the comments said so far.
    pub(super) fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Puts the next statement into `text`, without its delimiter, and gives the line where it begins; `None` at the end.
    pub(super) fn next(&mut self, text: &mut Vec<u8>) -> Result<Option<u64>, Broken> {
        text.clear();
        let (mut mode, mut first) = (Mode::Start, None);
        // Bytes of a statement that is too long, which were let go of.
        let mut gone = 0;
        loop {
            if self.buffer.len() - self.at <= AHEAD && !self.ended {
                self.fill()?;
                continue;
            }
            if mode == Mode::Start {
                match self.skip()? {
                    Skipped::Some => continue,
                    Skipped::Nothing if self.at == self.buffer.len() => return Ok(None),
                    Skipped::Nothing => mode = Mode::Code,
                }
            }
            let begins = *first.get_or_insert(self.line);
            let end = self.scan(&mut mode);
            if end == Some(self.start) && gone == 0 {
                // A semicolon alone on its line.
                self.give_out();
                (mode, first) = (Mode::Start, None);
                continue;
            }
            let length = gone + end.unwrap_or(self.at) - self.start;
            if length > self.longest && (end.is_some() || length > LONGEST) {
                let bytes = end.map(|_| length);
                return Err(Broken::TooLong { line: begins, bytes, most: self.longest });
            }
            if let Some(end) = end {
                self.give_out_text(end, text);
                return Ok(Some(begins));
            }
            if self.at >= self.buffer.len() && self.ended {
                return match self.rule {
                    // A file may end without a newline behind the last semicolon.
                    Rule::Line if gone == 0 && self.buffer[self.start..].ends_with(b";") => {
                        text.extend_from_slice(&self.buffer[self.start..self.buffer.len() - 1]);
                        self.at = self.buffer.len();
                        self.give_out();
                        // Or with a semicolon alone.
                        Ok((!text.is_empty()).then_some(begins))
                    }
                    _ => Err(Broken::Unfinished { line: begins, within: within(mode) }),
                };
            }
            if length > self.longest {
                // It is looked at up to its end only to tell how long it is.
                gone = length;
                self.give_out();
            }
        }
    }

    /// Gives out the statement up to `end`, and lets go of what ends it.
    fn give_out_text(&mut self, end: usize, text: &mut Vec<u8>) {
        if end - self.start < LARGE {
            text.extend_from_slice(&self.buffer[self.start..end]);
            return self.give_out();
        }
        self.line += lines(&self.buffer[self.start..self.at]);
        let rest = self.buffer.split_off(self.at);
        self.buffer.truncate(end);
        self.buffer.drain(..self.start);
        *text = std::mem::replace(&mut self.buffer, rest);
        (self.start, self.at) = (0, 0);
    }

    /// Reads more text behind what is there; bytes that were given out make room.
    fn fill(&mut self) -> Result<(), Broken> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.at -= self.start;
            self.start = 0;
        }
        let filled = self.buffer.len();
        self.buffer.resize(filled + PIECE, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(filled + read.as_ref().unwrap_or(&0));
        self.ended = matches!(read, Ok(0));
        read.map(drop).map_err(Broken::Read)
    }

    /// Lets go of the bytes up to `at`.
    fn give_out(&mut self) {
        self.line += lines(&self.buffer[self.start..self.at]);
        self.start = self.at;
    }

    /// Passes over one thing that may stand before a statement.
    fn skip(&mut self) -> Result<Skipped, Broken> {
        let rest = &self.buffer[self.at..];
        if rest.starts_with(BYTE_ORDER_MARK) {
            self.at += BYTE_ORDER_MARK.len();
            self.give_out();
            return Ok(Skipped::Some);
        }
        let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if space > 0 {
            self.at += space;
            self.give_out();
            return Ok(Skipped::Some);
        }
        if is_line_comment(rest) {
            let number = self.line;
            let line = self.rest_of_line()?;
            self.notes.read(&line, number);
            return Ok(Skipped::Some);
        }
        if is_plain_comment(rest) {
            self.skip_comment()?;
            return Ok(Skipped::Some);
        }
        let word = b"DELIMITER";
        let is_command = rest.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
            && rest.get(word.len()).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if is_command && self.rule == Rule::Delimiter {
            let line = self.rest_of_line()?;
            let new = line[word.len()..].trim_ascii();
            if !new.is_empty() && new.len() < AHEAD {
                self.delimiter = new.to_vec();
            }
            return Ok(Skipped::Some);
        }
        // A delimiter without a statement before it.
        if self.rule == Rule::Delimiter && rest.starts_with(&self.delimiter) {
            self.at += self.delimiter.len();
            self.give_out();
            return Ok(Skipped::Some);
        }
        Ok(Skipped::Nothing)
    }

    /// Takes the line that begins at `at`, however long; gives its first bytes.
    fn rest_of_line(&mut self) -> Result<Vec<u8>, Broken> {
        let mut line = Vec::new();
        loop {
            let rest = &self.buffer[self.at..];
            let end = rest.iter().position(|&byte| byte == b'\n');
            let piece = &rest[..end.unwrap_or(rest.len())];
            line.extend_from_slice(&piece[..piece.len().min(LINE - line.len())]);
            self.at += end.map_or(rest.len(), |end| end + 1);
            self.give_out();
            if end.is_some() || self.ended {
                return Ok(line);
            }
            self.fill()?;
        }
    }

    /// Passes over the comment that begins at `at`, however long.
    fn skip_comment(&mut self) -> Result<(), Broken> {
        let line = self.line;
        self.at += 2;
        loop {
            let rest = &self.buffer[self.at..];
            if let Some(at) = rest.windows(2).position(|pair| pair == b"*/") {
                self.at += at + 2;
                self.give_out();
                return Ok(());
            }
            // The last byte may be the first one of the end.
            self.at += rest.len().saturating_sub(1);
            self.give_out();
            if self.ended {
                return Err(Broken::Unfinished { line, within: within(Mode::BlockComment) });
            }
            self.fill()?;
        }
    }

    /// Goes on until a statement ends, whose end it gives, or more text is needed.
    fn scan(&mut self, mode: &mut Mode) -> Option<usize> {
        if self.rule == Rule::Line {
            return self.scan_lines();
        }
        let limit = if self.ended { self.buffer.len() } else { self.buffer.len() - AHEAD };
        while self.at < limit {
            match *mode {
                Mode::Start | Mode::Code => {
                    if let Some(end) = self.code(mode, limit) {
                        return Some(end);
                    }
                }
                Mode::Quote(quote) => self.quoted(quote, mode, limit),
                Mode::LineComment => match self.find(limit, |byte| byte == b'\n') {
                    true => *mode = Mode::Code,
                    false => return None,
                },
                Mode::BlockComment => match self.find(limit, |byte| byte == b'*') {
                    true if self.buffer[self.at..].starts_with(b"*/") => {
                        self.at += 2;
                        *mode = Mode::Code;
                    }
                    true => self.at += 1,
                    false => return None,
                },
            }
        }
        None
    }

    /// Moves to the next byte that is wanted; whether there is one.
    fn find(&mut self, limit: usize, wanted: impl Fn(u8) -> bool) -> bool {
        let found = self.buffer[self.at..limit].iter().position(|&byte| wanted(byte));
        self.at = found.map_or(limit, |at| self.at + at);
        found.is_some()
    }

    fn code(&mut self, mode: &mut Mode, limit: usize) -> Option<usize> {
        let first = self.delimiter[0];
        while self.at < limit {
            let byte = self.buffer[self.at];
            let is_special =
                byte == first || matches!(byte, b'\'' | b'"' | b'`' | b'#' | b'-' | b'/') || byte >= 0x80;
            if !is_special {
                self.at += 1;
                continue;
            }
            let rest = &self.buffer[self.at..];
            if byte == first && rest.starts_with(&self.delimiter) {
                let end = self.at;
                self.at += self.delimiter.len();
                return Some(end);
            }
            *mode = match byte {
                b'\'' | b'"' | b'`' => Mode::Quote(byte),
                _ if is_line_comment(rest) => Mode::LineComment,
                b'/' if rest.starts_with(b"/*") && !is_version_comment(rest) => Mode::BlockComment,
                _ => Mode::Code,
            };
            let passed = if *mode == Mode::BlockComment { 2 } else { width(self.dialect, byte) };
            self.at = (self.at + passed).min(self.buffer.len());
            if *mode != Mode::Code {
                return None;
            }
        }
        None
    }

    fn quoted(&mut self, quote: u8, mode: &mut Mode, limit: usize) {
        let is_string = quote == b'\'' || quote == b'"' && !self.dialect.ansi_quotes;
        let escapes = is_string && !self.dialect.no_backslash_escapes;
        let wide = self.dialect.lead_bytes != LeadBytes::None;
        while self.at < limit {
            let byte = self.buffer[self.at];
            if byte == quote {
                // A doubled quote ends one string and begins another: to us that is the same.
                self.at += 1;
                *mode = Mode::Code;
                return;
            }
            self.at += match byte {
                b'\\' if escapes => 2,
                0x80.. if wide => width(self.dialect, byte),
                _ => 1,
            };
        }
        self.at = self.at.min(self.buffer.len());
    }

    fn scan_lines(&mut self) -> Option<usize> {
        let found = self.buffer[self.at..].windows(2).position(|pair| pair == b";\n");
        match found {
            Some(at) => {
                let end = self.at + at;
                self.at = end + 2;
                Some(end)
            }
            None => {
                // The last byte may be the semicolon.
                self.at = if self.ended { self.buffer.len() } else { self.at.max(self.buffer.len() - 1) };
                None
            }
        }
    }
}

/// The statements of a text with the lines where they begin, until one does not end: for the fuzzer.
pub fn statements(text: &[u8], by_line: bool, dialect: Dialect) -> Vec<(u64, Vec<u8>)> {
    let mut splitter = Splitter::new(text, if by_line { Rule::Line } else { Rule::Delimiter });
    splitter.set_dialect(dialect);
    let (mut found, mut statement) = (Vec::new(), Vec::new());
    while let Ok(Some(line)) = splitter.next(&mut statement) {
        found.push((line, statement.clone()));
    }
    found
}

enum Skipped {
    Some,
    Nothing,
}

fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

fn width(dialect: Dialect, byte: u8) -> usize {
    let two = match dialect.lead_bytes {
        LeadBytes::None => false,
        LeadBytes::Gbk => matches!(byte, 0x81..=0xfe),
        LeadBytes::Sjis => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
    };
    1 + usize::from(two)
}

/// `#`, or `--` before white space, a control character or the end.
fn is_line_comment(text: &[u8]) -> bool {
    text.starts_with(b"#") || text.starts_with(b"--") && text.get(2).is_none_or(|&byte| byte <= b' ')
}

fn is_version_comment(text: &[u8]) -> bool {
    text.starts_with(b"/*!") || text.starts_with(b"/*M!")
}

/// A comment that no server reads: also the line by which newer dumps of MariaDB tell the client to be careful, whose
/// version is one that there will never be.
fn is_plain_comment(text: &[u8]) -> bool {
    let is_sandbox = text.starts_with(b"/*!999999") || text.starts_with(b"/*M!999999");
    text.starts_with(b"/*") && !text.starts_with(b"/*+") && (!is_version_comment(text) || is_sandbox)
}

fn within(mode: Mode) -> &'static str {
    match mode {
        Mode::Quote(b'`') => "a quoted name",
        Mode::Quote(_) => "a string",
        Mode::BlockComment => "a comment",
        Mode::Start | Mode::Code | Mode::LineComment => "a statement",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hands out a text in pieces of the given sizes, again and again.
    struct Chunked<'a> {
        text: &'a [u8],
        sizes: Vec<usize>,
        next: usize,
    }

    impl Read for Chunked<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.sizes[self.next % self.sizes.len()].min(self.text.len()).min(buffer.len());
            self.next += 1;
            buffer[..size].copy_from_slice(&self.text[..size]);
            self.text = &self.text[size..];
            Ok(size)
        }
    }

    fn split_as(
        text: &[u8],
        rule: Rule,
        dialect: Dialect,
        sizes: &[usize],
    ) -> Result<Vec<(u64, String)>, Broken> {
        let mut splitter = Splitter::new(Chunked { text, sizes: sizes.to_vec(), next: 0 }, rule);
        splitter.set_dialect(dialect);
        let (mut found, mut statement) = (Vec::new(), Vec::new());
        while let Some(line) = splitter.next(&mut statement)? {
            found.push((line, String::from_utf8_lossy(&statement).into_owned()));
        }
        Ok(found)
    }

    fn split(text: &str) -> Vec<(u64, String)> {
        split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &[1000]).unwrap()
    }

    fn texts(text: &str) -> Vec<String> {
        split(text).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn statements_and_their_lines() {
        let text = "-- c; d\n\nSELECT 1;\n# x;\nSELECT ';\n' ; /* ; \n */ SELECT\r\n2;\r\n;;";
        let expected = [(3, "SELECT 1"), (5, "SELECT ';\n' "), (7, "SELECT\r\n2")];
        assert_eq!(split(text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn delimiters_comments_and_quotes() {
        assert_eq!(
            texts("DELIMITER ;;\nBEGIN a; END;;\r\ndelimiter ;\r\n/*!50003 CREATE x 'a*/;' */;"),
            ["BEGIN a; END", "/*!50003 CREATE x 'a*/;' */"]
        );
        assert_eq!(texts("/*M!999999\\- enable the sandbox mode */ \n-- x\nUSE `a;b`;"), ["USE `a;b`"]);
        assert_eq!(
            texts("SELECT 1 -- it's;\n, 2 /* it's; */, 3--1, \"a;\\\";\";"),
            ["SELECT 1 -- it's;\n, 2 /* it's; */, 3--1, \"a;\\\";\""]
        );
    }

    #[test]
    fn the_sql_mode_and_the_character_set_count() {
        let one =
            |text: &[u8], dialect| split_as(text, Rule::Delimiter, dialect, &[3]).map(|found| found.len());
        let plain = Dialect { no_backslash_escapes: true, ..Dialect::default() };
        assert_eq!(one(br"SELECT '\'; SELECT 2;", plain).unwrap(), 2);
        let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
        assert_eq!(one(br#"SELECT "\"; SELECT 2;"#, ansi).unwrap(), 2);
        let gbk = Dialect { lead_bytes: LeadBytes::Gbk, ..Dialect::default() };
        assert_eq!(one(b"SELECT '\x95\x5c'; SELECT 2;", gbk).unwrap(), 2);
        assert!(one(b"SELECT '\x95\x5c'; SELECT 2;", Dialect::default()).is_err());
    }

    #[test]
    fn programs_of_mydumper_end_with_their_line() {
        let text = b";\nSET a;\nCREATE x BEGIN a; \n b 'it; END;\nSET b;";
        let found = split_as(text, Rule::Line, Dialect::default(), &[5]).unwrap();
        let expected = [(2, "SET a"), (3, "CREATE x BEGIN a; \n b 'it; END"), (5, "SET b")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        let found = split_as(b"SET a;\n;", Rule::Line, Dialect::default(), &[5]).unwrap();
        assert_eq!(found, [(1, "SET a".to_owned())]);
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        for (text, expected) in [
            ("SELECT 1;\nINSERT 'a", (2, "a string")),
            ("\nSELECT `", (2, "a quoted name")),
            ("SELECT 1", (1, "a statement")),
            ("/* x", (1, "a comment")),
            ("SELECT /* x", (1, "a comment")),
        ] {
            match split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &[2]) {
                Err(Broken::Unfinished { line, within }) => assert_eq!((line, within), expected, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_statement_that_no_server_takes() {
        for (text, rule) in [
            ("SELECT 1;\n\nSELECT 'a;\n', 23;\nx;\n", Rule::Delimiter),
            ("SELECT 1;\n\nSELECT 'a\n', 23;\nx;\n", Rule::Line),
        ] {
            let input = Chunked { text: text.as_bytes(), sizes: vec![1], next: 0 };
            let mut splitter = Splitter::new(input, rule);
            splitter.set_longest(10);
            let mut statement = Vec::new();
            assert_eq!(splitter.next(&mut statement).unwrap(), Some(1));
            match splitter.next(&mut statement) {
                Err(Broken::TooLong { line: 3, bytes: Some(bytes), most: 10 }) => {
                    assert_eq!(bytes, text.len() - "SELECT 1;\n\n".len() - ";\nx;\n".len());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn large_statements_and_what_follows() {
        let large = format!("SELECT '{}\n'", "x;".repeat(LARGE / 2));
        let text = format!("SELECT 1;{large};\n{large}; SELECT 2;");
        let found = split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &[70_000]).unwrap();
        let expected = [(1, "SELECT 1"), (1, &*large), (3, &*large), (4, "SELECT 2")];
        assert!(found == expected.map(|(line, text)| (line, text.to_owned())), "{:?}", found.len());
    }

    #[test]
    fn notes_of_the_tools() {
        let text = "-- MariaDB dump 10.19  Distrib 10.11\n--\n-- Host: localhost    Database: a b\n-- Dump completed on 2026";
        let mut splitter = Splitter::new(text.as_bytes(), Rule::Delimiter);
        assert!(splitter.next(&mut Vec::new()).unwrap().is_none());
        let expected = Notes {
            is_dump: true,
            is_pump: false,
            database: Some("a b".into()),
            is_completed: true,
            heads: 1,
            cut_before: None,
        };
        assert_eq!(splitter.notes(), &expected);
        let mut none = Notes::default();
        none.read(b"-- Host: localhost    Database: ", 1);
        assert_eq!(none.database, None);
    }

    proptest! {
        #[test]
        fn statements_come_back_however_the_text_is_cut(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("'a;\\'b'".to_owned()), Just("`x;\n`".to_owned()), Just("\"d;\"".to_owned()),
                    Just("/* ;' */".to_owned()), Just("-- ;'\n".to_owned()), Just("''';'".to_owned()),
                    "[a-z0-9 (),\n]{1,20}", Just("/*!40101 x*/".to_owned())
                ], 1..40),
            every in 1..6usize,
            end in prop_oneof![Just(";"), Just(";;"), Just("$$")],
            sizes in prop::collection::vec(1..90usize, 1..6),
        ) {
            let statements: Vec<String> = parts.chunks(every).map(|parts| format!("SELECT {}", parts.concat())).collect();
            let text: String = statements.iter().map(|text| format!("{text}{end}\n")).collect();
            let text = format!("DELIMITER {end}\n{text}");
            let found = split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &sizes).unwrap();
            let lines = found.iter().map(|(line, _)| *line);
            let mut expected_line = 2;
            for (statement, line) in statements.iter().zip(lines) {
                prop_assert_eq!(line, expected_line);
                expected_line += statement.matches('\n').count() as u64 + 1;
            }
            prop_assert_eq!(found.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), statements);
        }

        #[test]
        fn the_same_however_it_is_cut(
            text in prop::collection::vec(prop_oneof![Just(b'\''), Just(b';'), Just(b'\\'), Just(b'\n'), Just(b'-'),
                Just(b'/'), Just(b'*'), Just(b'`'), Just(b' '), Just(0x95u8), Just(b'a')], 0..300),
            sizes in prop::collection::vec(1..70usize, 1..6), wide: bool, plain: bool, by_line: bool,
        ) {
            let lead_bytes = if wide { LeadBytes::Sjis } else { LeadBytes::None };
            let dialect = Dialect { ansi_quotes: false, no_backslash_escapes: plain, lead_bytes };
            let rule = if by_line { Rule::Line } else { Rule::Delimiter };
            let found = |sizes: &[usize]| format!("{:?}", split_as(&text, rule, dialect, sizes));
            prop_assert_eq!(found(&sizes), found(&[100_000]));
        }
    }
}
