//! Finds the statements of a script as they come, by the rules of the vendors' clients: quotes and comments hide the
//! delimiter, a line `DELIMITER x` changes it. No more than one statement is held in memory.
//!
//! Version comments (`/*!40101 … */`) are read as the code that they are for the server. Comments before a statement
//! are dropped, but for what the tools say of themselves in them ([`Notes`]).

mod bytes;
mod notes;
#[cfg(test)]
mod tests;

use std::io::{self, Read};

use drover_db::sql::{Dialect, LeadBytes, begins_line_comment};

use bytes::{CLASSES, DIGIT, HEX, LETTER, SPECIAL, begins_odd, is_introducer, is_number, is_zero};
use drover_format::kind::{self, Kind};

pub(super) use notes::{MYSQLDUMP_END, MYSQLPUMP_END, Notes};

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

/// How a statement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// At the delimiter, outside of quotes and comments.
    Delimiter,
    /// At a semicolon right before the end of a line, wherever that is: so mydumper writes programs, whose own
    /// semicolons it keeps away from there.
    Line,
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
    seen: Seen,
}

/// What of a statement was seen so far, so that rows need not be looked at a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// What stands before the rows of an INSERT.
    Head,
    /// `VALUES`, and behind it constants only.
    Rows,
    /// The same up to the middle of a hexadecimal number.
    Hex,
    /// Something else.
    Other,
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
            seen: Seen::Other,
        }
    }

    /// Whether the last statement, if it is an INSERT or REPLACE, has nothing but numbers, strings and NULL behind VALUES.
    pub(super) fn has_plain_rows(&self) -> bool {
        matches!(self.seen, Seen::Rows | Seen::Hex)
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
                    Skipped::Nothing => {
                        mode = Mode::Code;
                        let splits_words = CLASSES[usize::from(self.delimiter[0])] & (LETTER | DIGIT) != 0;
                        let is_watched = self.rule == Rule::Delimiter && !splits_words;
                        self.seen = if is_watched { Seen::Head } else { Seen::Other };
                    }
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
        if begins_line_comment(rest) {
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
            if self.seen == Seen::Hex && !self.hex(limit) {
                return None;
            }
            let byte = self.buffer[self.at];
            let stops = if self.seen == Seen::Other { SPECIAL } else { SPECIAL | LETTER };
            let class = CLASSES[usize::from(byte)] & stops;
            if class == 0 && byte != first {
                self.at += 1;
                continue;
            }
            let rest = &self.buffer[self.at..];
            if byte == first && rest.starts_with(&self.delimiter) {
                let end = self.at;
                self.at += self.delimiter.len();
                return Some(end);
            }
            if class == LETTER {
                self.word();
                continue;
            }
            *mode = match byte {
                b'\'' | b'"' | b'`' => Mode::Quote(byte),
                _ if begins_line_comment(rest) => Mode::LineComment,
                b'/' if rest.starts_with(b"/*") && !is_version_comment(rest) => Mode::BlockComment,
                _ => Mode::Code,
            };
            let in_rows = self.seen == Seen::Rows;
            let is_odd = match *mode {
                Mode::Quote(quote) => in_rows && !self.is_string(quote),
                Mode::Code => begins_odd(rest) || in_rows && class != 0 && !matches!(byte, b'-' | b'/'),
                Mode::LineComment => true,
                _ => in_rows,
            };
            let passed = if *mode == Mode::BlockComment { 2 } else { self.dialect.lead_bytes.width(rest) };
            if is_odd {
                self.seen = Seen::Other;
            }
            self.at = (self.at + passed).min(self.buffer.len());
            if *mode != Mode::Code {
                return None;
            }
        }
        None
    }

    fn is_string(&self, quote: u8) -> bool {
        quote == b'\'' || quote == b'"' && !self.dialect.ansi_quotes
    }

    /// Passes over the word that begins at `at`, or over the first letter in a number, and notes what it is.
    fn word(&mut self) {
        let statement = &self.buffer[self.start..];
        let (before, rest) = statement.split_at(self.at - self.start);
        let ahead = &rest[..rest.len().min(AHEAD)];
        if before.last().is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.seen = match ahead {
                [b'e' | b'E', b'0'..=b'9' | b'+' | b'-', ..]
                    if self.seen == Seen::Rows && is_number(before) =>
                {
                    Seen::Rows
                }
                [b'x', next, ..]
                    if self.seen == Seen::Rows && is_zero(before) && next.is_ascii_hexdigit() =>
                {
                    Seen::Hex
                }
                _ if self.seen == Seen::Head => Seen::Head,
                _ => Seen::Other,
            };
            return;
        }
        let end = ahead.iter().position(|&byte| CLASSES[usize::from(byte)] & (LETTER | DIGIT) == 0);
        let (word, behind) = ahead.split_at(end.unwrap_or(ahead.len()));
        let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
        self.seen = match self.seen {
            Seen::Head if is("VALUES") => Seen::Rows,
            Seen::Head if ["SELECT", "SET", "TABLE", "VALUE", "WITH"].iter().any(|word| is(word)) => {
                Seen::Other
            }
            Seen::Head if !before.is_empty() || is("INSERT") || is("REPLACE") => Seen::Head,
            Seen::Rows if is("NULL") && !before.ends_with(b".") || is_introducer(word, behind) => Seen::Rows,
            _ => Seen::Other,
        };
        self.at += word.len();
    }

    /// Passes over the digits of a hexadecimal number; whether it has ended.
    fn hex(&mut self, limit: usize) -> bool {
        if !self.find(limit, |byte| CLASSES[usize::from(byte)] & HEX == 0) {
            return false;
        }
        let is_name = CLASSES[usize::from(self.buffer[self.at])] & LETTER != 0;
        self.seen = if is_name { Seen::Other } else { Seen::Rows };
        true
    }

    fn quoted(&mut self, quote: u8, mode: &mut Mode, limit: usize) {
        let escapes = self.is_string(quote) && !self.dialect.no_backslash_escapes;
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
                0x80.. if wide => self.dialect.lead_bytes.width(&self.buffer[self.at..]),
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

/// Whether the rows that are taken for constants are those, looked at token by token: for the fuzzer.
pub fn plain_rows_are_plain(text: &[u8], dialect: Dialect) -> bool {
    let mut splitter = Splitter::new(text, Rule::Delimiter);
    splitter.set_dialect(dialect);
    let mut statement = Vec::new();
    while let Ok(Some(_)) = splitter.next(&mut statement) {
        let kind = Kind::of_clear(&statement, dialect);
        let is_plain = splitter.has_plain_rows() && matches!(kind, Kind::Insert(_) | Kind::InsertInOrder(_));
        let is_same = || Kind::of(&statement, dialect) == kind;
        let reads_nothing = || kind::reads(&kind, &statement, dialect).is_ok_and(|names| names.is_empty());
        if is_plain && !(is_same() && reads_nothing()) {
            return false;
        }
    }
    true
}

enum Skipped {
    Some,
    Nothing,
}

fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
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
