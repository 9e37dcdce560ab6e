//! Option files, read as the mysql client reads them: which files, in which order, and their syntax. What the
//! options mean is not decided here.
//!
//! Source: "Using Option Files" in the MySQL manual; where it leaves something open, `mysys/my_default.cc`.
//! Three differences: a file that exists and cannot be read is reported, where the client says nothing; one that
//! was named and that anyone can write to is an error, where the client goes on without it; and `~/.mylogin.cnf`
//! is not read.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::{OptionError, Origin};

/// How deep `!include` and `!includedir` may nest (`max_recursion_level` in the client).
const MAX_DEPTH: u32 = 10;

/// The files that every client reads, in this order; the user's own comes after them.
pub(super) const GLOBAL_FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];

/// What to read.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// The files in order; later ones override earlier ones.
    pub(super) files: Vec<SourceFile>,
    /// The groups to take options from, without brackets. Case doesn't matter.
    pub(super) groups: Vec<String>,
    /// What `~` stands for.
    pub(super) home: Option<PathBuf>,
}

/// One file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    /// Whether it is an error if the file can't be read.
    pub(super) required: bool,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error("anyone can write to it")]
    AnyoneWrites,
}

/// One option as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileOption {
    pub(super) group: String,
    /// As written.
    pub(super) name: String,
    /// Without quotes and escapes; `None` if there is no `=`.
    pub(super) value: Option<String>,
    pub(super) origin: Origin,
}

/// The options of the groups that were asked for, in the order in which they were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileOptions {
    pub(super) options: Vec<FileOption>,
    /// What a person should know although it is no error, one sentence each.
    pub(super) warnings: Vec<String>,
}

/// Reads all files of `request`. A file that does not exist is an error only if it is required.
///
/// # Errors
/// Fails if a required file can't be read or anyone can write to it, if an included directory can't be read, and
/// on lines that are no option file syntax.
pub(super) fn read(request: &Request) -> Result<FileOptions, OptionError> {
    let mut reader = Reader { request, found: FileOptions::default() };
    for file in &request.files {
        reader.source(file)?;
    }
    Ok(reader.found)
}

struct Reader<'a> {
    request: &'a Request,
    found: FileOptions,
}

impl Reader<'_> {
    fn source(&mut self, file: &SourceFile) -> Result<(), OptionError> {
        let path = self.expand_home(&file.path);
        match self.file(&path, 0)? {
            Ok(()) => Ok(()),
            Err(Unread::System(source)) if file.required => Err(OptionError::File { path, source }),
            Err(Unread::AnyoneWrites) if file.required => Err(OptionError::AnyoneWrites { path }),
            // The second where the account's home is no folder (/dev/null).
            Err(Unread::System(source))
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                Ok(())
            }
            Err(reason) => {
                self.warn(format!("option file {} is ignored: {reason}", path.display()));
                Ok(())
            }
        }
    }

    /// Reads one file. The inner result says whether it could be read, the outer one is that of the syntax.
    fn file(&mut self, path: &Path, depth: u32) -> Result<Result<(), Unread>, OptionError> {
        match read_trusted(path) {
            Ok(bytes) => self.text(path, &bytes, depth).map(Ok),
            Err(reason) => Ok(Err(reason)),
        }
    }

    fn text(&mut self, path: &Path, bytes: &[u8], depth: u32) -> Result<(), OptionError> {
        let mut group = None;
        for (line, number) in bytes.split(|&b| b == b'\n').zip(1..) {
            let origin = Origin::File { path: path.to_owned(), line: number };
            let line = trim_start(line);
            match line.first() {
                None | Some(b'#' | b';') => {}
                Some(b'!') => self.directive(trim(&line[1..]), origin, depth)?,
                Some(b'[') => group = Some(group_name(&line[1..], origin)?),
                Some(_) => self.option(group.as_deref(), line, origin)?,
            }
        }
        Ok(())
    }

    fn option(&mut self, group: Option<&str>, line: &[u8], origin: Origin) -> Result<(), OptionError> {
        let Some(group) = group else { return Err(OptionError::NoGroup(origin)) };
        if !self.request.groups.iter().any(|wanted| wanted.eq_ignore_ascii_case(group)) {
            return Ok(());
        }
        let Ok(line) = str::from_utf8(line) else { return Err(OptionError::NotUtf8(origin)) };
        let (name, value) = split_option(line);
        self.found.options.push(FileOption {
            group: group.to_owned(),
            name: name.to_owned(),
            value: value.map(unescape),
            origin,
        });
        Ok(())
    }

    /// `!include FILE` and `!includedir DIRECTORY`. The client ignores any other word in silence.
    fn directive(&mut self, line: &[u8], origin: Origin, depth: u32) -> Result<(), OptionError> {
        let end = line.iter().position(|&b| is_space(b)).unwrap_or(line.len());
        let (word, argument) = line.split_at(end);
        let path = self.expand_home(Path::new(OsStr::from_bytes(trim(argument))));
        match word {
            b"include" | b"includedir" if depth == MAX_DEPTH => {
                self.warn(format!("{origin}: not included because files nest more than {MAX_DEPTH} deep"));
                Ok(())
            }
            b"include" => self.include(&path, &origin, depth + 1),
            b"includedir" => self.include_directory(&path, origin, depth + 1),
            _ => {
                self.warn(format!("{origin}: this line is ignored; only !include and !includedir are known"));
                Ok(())
            }
        }
    }

    fn include(&mut self, path: &Path, origin: &Origin, depth: u32) -> Result<(), OptionError> {
        if let Err(reason) = self.file(path, depth)? {
            self.warn(format!("{origin}: the included file {} is ignored: {reason}", path.display()));
        }
        Ok(())
    }

    /// On Unix the clients take only `*.cnf`; `*.ini` is for Windows (`f_extensions` in the client).
    fn include_directory(&mut self, path: &Path, origin: Origin, depth: u32) -> Result<(), OptionError> {
        let files = match files_ending(path, b".cnf") {
            Ok(files) => files,
            Err(source) => {
                return Err(OptionError::IncludeDirectory { origin, directory: path.to_owned(), source });
            }
        };
        files.iter().try_for_each(|file| self.include(file, &origin, depth))
    }

    fn expand_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.request.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    fn warn(&mut self, warning: String) {
        self.found.warnings.push(warning);
    }
}

/// The file's bytes, unless any user could have written them. As in the client that holds for files alone: what
/// comes through a pipe, the shell has set up.
fn read_trusted(path: &Path) -> Result<Vec<u8>, Unread> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o002 != 0 {
        return Err(Unread::AnyoneWrites);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn files_ending(directory: &Path, ending: &[u8]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.as_os_str().as_bytes().ends_with(ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The name up to the bracket. As in the client, space is cut off at its end only.
fn group_name(line: &[u8], origin: Origin) -> Result<String, OptionError> {
    match line.iter().position(|&b| b == b']') {
        Some(end) => Ok(String::from_utf8_lossy(trim_end(&line[..end])).into_owned()),
        None => Err(OptionError::BadGroup(origin)),
    }
}

/// Splits a line into the option's name and its value, which is still quoted and escaped.
fn split_option(line: &str) -> (&str, Option<&str>) {
    let line = strip_comment(line);
    match line.split_once('=') {
        Some((name, value)) => (name.trim_matches(is_space_char), Some(value.trim_matches(is_space_char))),
        None => (line.trim_matches(is_space_char), None),
    }
}

/// Cuts off a `#` comment that does not stand in quotes. A backslash protects a quote only within quotes.
fn strip_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (position, byte) in line.bytes().enumerate() {
        match byte {
            b'\'' | b'"' if !escaped && quote.is_none() => quote = Some(byte),
            b'\'' | b'"' if !escaped && quote == Some(byte) => quote = None,
            b'#' if quote.is_none() => return &line[..position],
            _ => {}
        }
        escaped = quote.is_some() && byte == b'\\' && !escaped;
    }
    line
}

/// Removes the quotes around a value and resolves its escapes. A backslash before any other character stays.
fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = unquote(value).chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => push_escape(&mut text, characters.next()),
            other => text.push(other),
        }
    }
    text
}

fn push_escape(text: &mut String, escaped: Option<char>) {
    match escaped {
        Some('b') => text.push('\u{8}'),
        Some('t') => text.push('\t'),
        Some('n') => text.push('\n'),
        Some('r') => text.push('\r'),
        Some('s') => text.push(' '),
        Some(plain @ ('\\' | '"' | '\'')) => text.push(plain),
        Some(other) => text.extend(['\\', other]),
        None => text.push('\\'),
    }
}

fn unquote(value: &str) -> &str {
    let between = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(value)
}

fn is_space(byte: u8) -> bool {
    byte == b'\x0b' || byte.is_ascii_whitespace()
}

fn is_space_char(character: char) -> bool {
    u8::try_from(character).is_ok_and(is_space)
}

fn trim_start(mut line: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = line
        && is_space(*first)
    {
        line = rest;
    }
    line
}

fn trim_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., last] = line
        && is_space(*last)
    {
        line = rest;
    }
    line
}

fn trim(line: &[u8]) -> &[u8] {
    trim_end(trim_start(line))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use proptest::prelude::*;

    use super::*;

    /// A directory of option files that vanishes at the end of the test.
    struct Directory(PathBuf);

    impl Directory {
        fn new() -> Directory {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let name = format!("options-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            Directory(path)
        }

        fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn request(&self, names: &[&str]) -> Request {
            let file = |name: &&str| SourceFile { path: self.0.join(name), required: true };
            Request {
                files: names.iter().map(file).collect(),
                groups: vec!["client".into(), "drover".into()],
                home: Some(self.0.clone()),
            }
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn read_text(text: impl AsRef<[u8]>) -> Result<FileOptions, OptionError> {
        let directory = Directory::new();
        directory.file("my.cnf", text);
        read(&directory.request(&["my.cnf"]))
    }

    /// `name=value` or `name` for each option.
    fn shown(options: &FileOptions) -> Vec<String> {
        let show = |o: &FileOption| o.value.as_ref().map_or(o.name.clone(), |v| format!("{}={v}", o.name));
        options.options.iter().map(show).collect()
    }

    fn value_of(line: &str) -> String {
        let found = read_text(format!("[client]\n{line}\n")).unwrap();
        found.options[0].value.clone().unwrap()
    }

    #[test]
    fn the_manuals_example_of_a_user_file() {
        let text = "[client]\n# The following password is sent to all standard MySQL clients\n\
                    password=\"my password\"\n\n[mysql]\nno-auto-rehash\nconnect_timeout=2\n";
        assert_eq!(shown(&read_text(text).unwrap()), ["password=my password"]);
    }

    #[test]
    fn the_manuals_examples_of_escapes() {
        for line in [
            r#"basedir="C:\Program Files\MySQL\MySQL Server 9.7""#,
            r#"basedir="C:\\Program Files\\MySQL\\MySQL Server 9.7""#,
            r"basedir=C:\\Program\sFiles\\MySQL\\MySQL\sServer\s9.7",
        ] {
            assert_eq!(value_of(line), r"C:\Program Files\MySQL\MySQL Server 9.7");
        }
    }

    /// Each expectation is what `my_print_defaults` of MariaDB 10.11 and of MySQL 9.7 prints.
    #[test]
    fn values_are_read_as_the_client_reads_them() {
        for (line, expected) in [
            ("k=bob # comment", "bob"),
            ("k=a;b", "a;b"),
            (r##"k="a#b"   # c"##, "a#b"),
            (r##"k = 'a"b#c' x"##, r##"'a"b#c' x"##),
            (r"k='it\'s'", "it's"),
            ("k=it's # no", "it's # no"),
            (r#"k="open # x"#, r#""open # x"#),
            (r#"k="""#, ""),
            (r#"k=""#, "\""),
            ("k=", ""),
            (r"k=a\sb\tc\nd\qe\\f\", "a b\tc\nd\\qe\\f\\"),
            (r#"k="a\"b""#, "a\"b"),
            ("k=  sp aced   ", "sp aced"),
            ("k=a=b", "a=b"),
            (r##"k="a\\"#b"##, "a\\"),
            (r"k=\#x", "\\"),
            (r"k=a\'#b", "a'#b"),
            ("k=cr\r", "cr"),
        ] {
            assert_eq!(value_of(line), expected, "{line}");
        }
    }

    #[test]
    fn groups_and_comments() {
        let text = " # c\n;c\n\n  [client]  trailing\n  user = a\nflag\n[ client ]\nuser=b\n\
                    [Client ]x\nuser=c\n[clients]\nuser=d\n[drover]\nuser=e\n=f\n";
        let found = read_text(text).unwrap();
        assert_eq!(shown(&found), ["user=a", "flag", "user=c", "user=e", "=f"]);
        assert_eq!(found.options[3].group, "drover");
        assert!(found.options[2].origin.to_string().ends_with("my.cnf:10"));
    }

    #[test]
    fn broken_lines_name_file_and_line() {
        let error = |text: &[u8]| read_text(text).unwrap_err().to_string();
        assert!(error(b"\nuser=a\n").ends_with("my.cnf:2: an option stands before the first [group] line"));
        assert!(error(b"[client\n").ends_with("my.cnf:1: a group line has no closing ]"));
        assert!(error(b"[client]\nuser=\xff\n").ends_with("my.cnf:2 is not valid UTF-8"));
    }

    #[test]
    fn foreign_bytes_elsewhere_do_no_harm() {
        let text = b"# f\xfcr alle\n[mysqld]\nx=\xff\n[\xff]\n[client]\nuser=a\n";
        assert_eq!(shown(&read_text(text).unwrap()), ["user=a"]);
    }

    #[test]
    fn includes_keep_the_group_and_the_order() {
        let directory = Directory::new();
        let one = directory.file("one.cnf", "[client]\nuser=one\n[other]\n");
        directory.file("d/z.cnf", "[client]\nuser=z\n");
        directory.file("d/a.cnf", "[client]\nuser=a\n");
        for ignored in ["d/x.ini", "d/a.cnf.bak", "d/cnf"] {
            directory.file(ignored, "[client]\nuser=wrong\n");
        }
        let text = format!("[client]\n! include {}\nhost=h\n!includedir ~/d\nport=1\n", one.display());
        directory.file("my.cnf", text);
        let found = read(&directory.request(&["my.cnf"])).unwrap();
        assert_eq!(shown(&found), ["user=one", "host=h", "user=a", "user=z", "port=1"]);
        assert!(found.warnings.is_empty());
    }

    #[test]
    fn a_file_that_includes_itself_ends() {
        let directory = Directory::new();
        directory.file("my.cnf", "[client]\n!include ~/my.cnf\nuser=a\n");
        let found = read(&directory.request(&["my.cnf"])).unwrap();
        assert_eq!(found.options.len(), 11);
        assert!(found.warnings[0].ends_with("my.cnf:2: not included because files nest more than 10 deep"));
    }

    #[test]
    fn includes_of_nothing() {
        let directory = Directory::new();
        directory.file("my.cnf", "!include ~/nothing\n!includeall x\n");
        let warnings = read(&directory.request(&["my.cnf"])).unwrap().warnings;
        assert!(warnings[0].contains("my.cnf:1: the included file "), "{warnings:?}");
        assert!(warnings[1].contains("my.cnf:2: this line is ignored"), "{warnings:?}");
        directory.file("my.cnf", "!includedir ~/nothing\n");
        let error = read(&directory.request(&["my.cnf"])).unwrap_err();
        assert!(error.to_string().contains("my.cnf:1: cannot read the directory "), "{error}");
    }

    #[test]
    fn missing_files() {
        let directory = Directory::new();
        let mut request = directory.request(&["none.cnf"]);
        let error = read(&request).unwrap_err();
        assert!(error.to_string().contains("none.cnf"), "{error}");
        assert!(error.hint().unwrap().starts_with("check the path"));
        request.files[0].required = false;
        assert_eq!(read(&request).unwrap(), FileOptions::default());
    }

    #[test]
    fn a_file_that_anyone_can_write_to_is_ignored_with_a_warning_or_an_error_if_it_was_named() {
        let directory = Directory::new();
        let path = directory.file("my.cnf", "[client]\nuser=evil\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let mut request = directory.request(&["my.cnf"]);
        let error = read(&request).unwrap_err();
        let path = path.display();
        assert_eq!(error.to_string(), format!("cannot use option file {path}: anyone can write to it"));
        assert!(error.hint().unwrap().starts_with(&format!("chmod o-w {path}")));

        request.files[0].required = false;
        let found = read(&request).unwrap();
        let warning = format!("option file {path} is ignored: anyone can write to it");
        assert_eq!((found.options, found.warnings), (vec![], vec![warning]));

        directory.file("named.cnf", "[client]\n!include ~/my.cnf\nuser=a\n");
        let found = read(&directory.request(&["named.cnf"])).unwrap();
        assert_eq!(shown(&found), ["user=a"]);
        assert!(found.warnings[0].ends_with("my.cnf is ignored: anyone can write to it"));
    }

    #[test]
    fn an_unreadable_default_file_is_reported() {
        let directory = Directory::new();
        let mut request = directory.request(&["."]);
        request.files[0].required = false;
        let warnings = read(&request).unwrap().warnings;
        assert!(warnings[0].contains(" is ignored: "), "{warnings:?}");
    }

    /// Writes a value as a careful person would.
    fn quoted(value: &str, quote: char) -> String {
        let mut text = String::from(quote);
        for character in value.chars() {
            match character {
                '\u{8}' => text.push_str("\\b"),
                '\t' => text.push_str("\\t"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\\' | '\'' | '"' => text.extend(['\\', character]),
                other => text.push(other),
            }
        }
        text.push(quote);
        text
    }

    proptest! {
        #[test]
        fn a_quoted_value_is_read_back(
            value in r#"([ -~]|[\\"'#;=\t\n\r]|\PC|[\x00-\x1f])*"#,
            quote in prop_oneof![Just('"'), Just('\'')],
            spaces in " {0,2}",
        ) {
            let line = format!("password{spaces}={spaces}{}{spaces}# comment", quoted(&value, quote));
            let (name, read) = split_option(&line);
            prop_assert_eq!((name, read.map(unescape)), ("password", Some(value)));
        }

        #[test]
        fn any_bytes_end_in_options_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let request = Request { groups: vec!["client".into()], ..Request::default() };
            let mut reader = Reader { request: &request, found: FileOptions::default() };
            let text = [b"[client]\n".as_slice(), &bytes].concat();
            let _ = reader.text(Path::new("x"), &text, MAX_DEPTH);
        }
    }
}
