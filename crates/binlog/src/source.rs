//! Where logs are: files, packed or not, directories of them, standard input.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drover_host::Unzstd;

use crate::{Error, Result};

/// A log that can be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// What comes in on standard input.
    Stdin,
}

impl Source {
    /// The logs that were named: `-` is standard input, a file is a log or the index of some, a directory stands for the logs that
    /// its index names, or without one for those that are numbered.
    ///
    /// # Errors
    /// If something named is not there, or a directory holds no log, or those of several servers.
    pub fn find(named: &[PathBuf]) -> Result<Vec<Self>> {
        let mut sources = Vec::new();
        for path in named {
            match path {
                path if path.as_os_str() == "-" => sources.push(Self::Stdin),
                path if path.is_dir() => sources.extend(in_directory(path)?),
                path if path.extension().is_some_and(|end| end == "index") => sources.extend(in_index(path)?),
                path => sources.push(Self::File(path.clone())),
            }
        }
        Ok(sources)
    }

    /// What errors and reports call it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "standard input".into(),
        }
    }

    /// The log's name, wherever it lies and however it is packed.
    pub fn log_name(&self) -> String {
        match self {
            Self::File(path) => log_name(path),
            Self::Stdin => self.name(),
        }
    }

    /// How many bytes it has as it lies there; 0 where nobody knows.
    pub fn size(&self) -> u64 {
        match self {
            Self::File(path) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Self::Stdin => 0,
        }
    }

    /// Its bytes, unpacked if they are packed; `counter` is told how many were read of it as it lies there.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(&self, counter: &Counter) -> Result<Box<dyn Read + Send>> {
        match self {
            Self::File(path) => {
                let opened = File::open(path).and_then(|file| unpacked(counter.counted(file)));
                opened.map_err(Error::file(path))
            }
            Self::Stdin => {
                unpacked(counter.counted(io::stdin())).map_err(Error::file(Path::new("standard input")))
            }
        }
    }
}

/// Counts bytes that are read.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// How many there were.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The same input, of which each byte is counted.
    pub(crate) fn counted<R: Read>(&self, input: R) -> impl Read + use<R> {
        Counted { input, counter: self.clone() }
    }
}

struct Counted<R> {
    input: R,
    counter: Counter,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.counter.0.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The name of the log in a file.
pub(crate) fn log_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    without_packing(&name).to_owned()
}

/// The number at the end of a log's name; 0 where there is none.
pub(crate) fn log_number(log: &str) -> u64 {
    log.rsplit_once('.').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// Whether two names are those of different logs of one server: they differ in their numbers only.
pub(crate) fn are_of_one_list(one: &str, other: &str) -> bool {
    let base = |log: &str| log.rsplit_once('.').map(|(base, _)| base.to_owned());
    base(one) == base(other) && log_number(one) != log_number(other)
}

fn without_packing(name: &str) -> &str {
    name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name)
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Looks at the first bytes, not at the name: a log that was packed may be called anything.
fn unpacked(mut input: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut first = Vec::new();
    input.by_ref().take(4).read_to_end(&mut first)?;
    let is_gzip = first.starts_with(GZIP);
    let is_zstd = first.starts_with(ZSTD);
    let whole = io::Cursor::new(first).chain(input);
    Ok(match (is_gzip, is_zstd) {
        (true, _) => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
        (_, true) => Box::new(Unzstd::new(BufReader::with_capacity(1 << 16, whole))?),
        _ => Box::new(whole),
    })
}

fn in_directory(directory: &Path) -> Result<Vec<Source>> {
    let names = names_in(directory)?;
    let indexes: Vec<_> =
        names.iter().filter(|name| name.ends_with(".index")).map(|name| directory.join(name)).collect();
    let mut logs: Vec<_> = names
        .iter()
        .filter_map(|name| {
            numbered(name).map(|(base, number)| (base.to_owned(), number, directory.join(name)))
        })
        .collect();
    match &indexes[..] {
        [] => {}
        [index] => return in_index(index),
        several => {
            let names: Vec<_> = several.iter().map(|path| path.display().to_string()).collect();
            let what =
                format!("{}: there are several indexes in it: {}", directory.display(), names.join(", "));
            return Err(Error::with_hint(what, "name the one to read"));
        }
    }
    logs.sort();
    let (Some(first), Some(last)) = (logs.first(), logs.last()) else {
        let what = format!("{}: there is neither an index nor a numbered log in it", directory.display());
        return Err(Error::with_hint(what, "name the logs themselves"));
    };
    if first.0 != last.0 {
        let what = format!(
            "{}: there are logs of several names in it: {}, {}",
            directory.display(),
            first.0,
            last.0
        );
        return Err(Error::with_hint(what, "name the logs to read, in their order"));
    }
    let known: Vec<_> = logs.iter().map(|(base, number, _)| (base.as_str(), *number)).collect();
    match names.iter().find(|name| is_left_out(name, &known)) {
        None => Ok(logs.into_iter().map(|(_, _, path)| Source::File(path)).collect()),
        Some(odd) => Err(Error::with_hint(
            format!("{}: {odd} lies among the logs, and no {} is there", directory.display(), of_log(odd)),
            "logs are read plain, packed with gzip (.gz) or with zstd (.zst): unpack it, or name the logs to read, in their order",
        )),
    }
}

fn names_in(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::file(directory))? {
        names.push(entry.map_err(Error::file(directory))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The beginning of a file's name that is a log's: `binlog.000017` of `binlog.000017.xz`; all of it otherwise.
fn of_log(name: &str) -> &str {
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    ends.map(|end| &name[..end]).find(|begin| numbered(begin).is_some()).unwrap_or(name)
}

/// Whether a file is a log with something behind its name, packed in another way perhaps, of a list in which no log has its number.
fn is_left_out(name: &str, known: &[(&str, u64)]) -> bool {
    let log = of_log(name);
    let is_known = |(base, number): (&str, u64)| {
        !known.contains(&(base, number)) && known.iter().any(|log| log.0 == base)
    };
    without_packing(name) != log && numbered(log).is_some_and(is_known)
}

/// Refuses logs of which one is missing in the middle, or that are not in their order, by their numbers.
///
/// # Errors
/// If they are not one after the other.
pub(crate) fn check_order(sources: &[Source]) -> Result<()> {
    let names: Vec<_> = sources.iter().map(Source::log_name).collect();
    names.windows(2).try_for_each(|pair| check_next(&pair[0], &pair[1]))
}

/// Which of these logs is the one where to go on, so that those before it are left out unread; none if it is not among them.
///
/// # Errors
/// If one of those comes behind it, by their numbers.
pub(crate) fn place(names: &[String], log: &str) -> Result<Option<usize>> {
    let place = names.iter().position(|name| name == log);
    let left_out = names.get(..place.unwrap_or(0)).unwrap_or_default();
    let is_behind = |name: &&String| are_of_one_list(name, log) && log_number(name) > log_number(log);
    left_out.iter().find(is_behind).map_or(Ok(place), |name| Err(misplaced(name, log)))
}

fn misplaced(log: &str, next: &str) -> Error {
    Error::with_hint(
        format!("{next} comes before {log}, and is named behind it"),
        "name the logs in the order of their numbers",
    )
}

/// Refuses `next` behind `log` if their numbers say that it is another log that comes there.
pub(crate) fn check_next(log: &str, next: &str) -> Result<()> {
    let (Some((base, number)), Some((next_base, next_number))) = (numbered(log), numbered(next)) else {
        return Ok(());
    };
    if base != next_base || next_number == number + 1 {
        return Ok(());
    }
    Err(match next_number {
        after if after > number + 1 => missing(log, &with_number(log, number + 1), next),
        same if same == number => {
            Error::with_hint(format!("{log} is named twice"), "name each log once, in their order")
        }
        _ => misplaced(log, next),
    })
}

/// The name of the next log, as the copy of the one at hand is called: copies may have another base, or a prefix.
pub(crate) fn as_named(log: &str, next: &str) -> String {
    match (numbered(log), numbered(next)) {
        (Some((base, _)), Some((next_base, number))) if base != next_base => with_number(log, number),
        _ => next.to_owned(),
    }
}

/// Whether a log is another one than the name says, by its number: copies may have another base.
pub(crate) fn is_other(name: &str, log: &str) -> bool {
    matches!((numbered(name), numbered(log)), (Some((_, expected)), Some((_, found))) if expected != found)
}

/// Whether a log is the one behind another, by their numbers.
pub(crate) fn is_next(log: &str, next: &str) -> bool {
    matches!((numbered(log), numbered(next)), (Some((base, number)), Some((next_base, next_number)))
        if base == next_base && next_number == number + 1)
}

/// The error for a log that is not there, between two that are.
pub(crate) fn missing(log: &str, missing: &str, next: &str) -> Error {
    Error::with_hint(
        format!("{missing} is missing: it comes behind {log}, and {next} is what was named there"),
        "name it too; without it what it holds would be lost. If that is meant, read the logs on either side of it one after the other, a replay of \
         those behind it with another --name",
    )
}

/// The name of a log with another number, as long as it was.
fn with_number(log: &str, number: u64) -> String {
    let Some((base, digits)) = log.rsplit_once('.') else { return log.to_owned() };
    format!("{base}.{number:0width$}", width = digits.len())
}

/// The name before a log's number, and the number: `binlog.000017`, also as `binlog.000017.gz`.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let name = without_packing(name);
    let (base, digits) = name.rsplit_once('.')?;
    let is_number = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Some((base, digits.parse().ok()?)) } else { None }
}

/// The logs that an index names. In a copy of a directory they lie beside the index, whatever path it has: there may be another
/// server's by now. So if one of them lies beside it, all of them must.
fn in_index(index: &Path) -> Result<Vec<Source>> {
    let text = fs::read_to_string(index).map_err(Error::file(index))?;
    let directory = index.parent().unwrap_or(Path::new("."));
    let beside = |line: &str| directory.join(Path::new(line).file_name().unwrap_or_default());
    let lines = || text.lines().filter(|line| !line.is_empty());
    let are_beside = lines().any(|line| beside(line).is_file());
    let mut sources = Vec::new();
    for line in lines() {
        let path = match are_beside {
            true => beside(line),
            false => directory.join(line.strip_prefix("./").unwrap_or(line)),
        };
        if !path.is_file() {
            let place = if are_beside { "not beside it, as others are" } else { "not there" };
            return Err(Error::with_hint(
                format!("{}: it names {line}, which is {place}", index.display()),
                "name the logs themselves, in their order",
            ));
        }
        sources.push(Source::File(path));
    }
    if sources.is_empty() {
        return Err(Error::found(format!("{}: it names no log", index.display())));
    }
    let named: Vec<_> = sources.iter().map(Source::log_name).collect();
    let known: Vec<_> = named.iter().filter_map(|name| numbered(name)).collect();
    let is_unnamed = |name: &&String| {
        let log = numbered(without_packing(name));
        is_left_out(name, &known)
            || log.is_some_and(|log| !known.contains(&log) && known.iter().any(|known| known.0 == log.0))
    };
    let beside = if are_beside { names_in(directory)? } else { Vec::new() };
    match beside.iter().find(is_unnamed) {
        None => Ok(sources),
        Some(name) => Err(Error::with_hint(
            format!(
                "{}: {name} lies beside it, and it does not name that: it is older or newer than the copies",
                index.display()
            ),
            "copy the index again, or name the logs to read, in their order",
        )),
    }
}

/// The log to resume at is not among those that are named.
pub(crate) fn not_named(log: &str) -> Error {
    Error::with_hint(
        format!("{log} is where to go on, and it is not among the logs that are named"),
        "name it, and those behind it",
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn directory(names: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(directory.path().join(name), "").unwrap();
        }
        directory
    }

    fn found(directory: &Path) -> std::result::Result<Vec<String>, String> {
        let sources = Source::find(&[directory.to_owned()]).map_err(|error| error.to_string())?;
        let strip = |name: String| name.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(sources.iter().map(|source| strip(source.name())).collect())
    }

    #[test]
    fn logs_of_a_directory_come_in_the_order_of_their_numbers() {
        let some =
            directory(&["bin.1000000", "bin.000009.gz", "bin.999999", "ibdata1", "bin.00001", "x.frm"]);
        assert_eq!(found(some.path()).unwrap(), ["bin.000009.gz", "bin.999999", "bin.1000000"]);
        assert!(
            found(directory(&["ibdata1"]).path())
                .unwrap_err()
                .contains("neither an index nor a numbered log")
        );
        assert!(found(directory(&["a.000001", "b.000001"]).path()).unwrap_err().contains("several names"));
        // What lies among them and is no log that can be read.
        let whole = directory(&[
            "a.000001",
            "a.000001.sha256",
            "a.000002.gz",
            "a.000002.md5",
            "b.000003.xz",
            "a.~rec~",
        ]);
        assert_eq!(found(whole.path()).unwrap(), ["a.000001", "a.000002.gz"]);
        let found = found(directory(&["a.000001", "a.000002.xz"]).path()).unwrap_err();
        assert!(found.contains("a.000002.xz lies among the logs, and no a.000002 is there"), "{found}");
    }

    #[test]
    fn an_index_says_which_logs_there_are() {
        let some = directory(&["bin.000002", "bin.000003", "relay.000001", "bin.000003.sha256"]);
        let index = some.path().join("bin.index");
        fs::write(&index, "./bin.000002\n/elsewhere/bin.000003\n").unwrap();
        assert_eq!(found(some.path()).unwrap(), ["bin.000002", "bin.000003"]);
        // What it does not name is left out in no case without a word.
        for odd in ["bin.000004", "bin.000004.gz", "bin.000004.xz", "bin.000001"] {
            fs::write(some.path().join(odd), "").unwrap();
            assert!(found(some.path()).unwrap_err().contains(&format!("{odd} lies beside it")), "{odd}");
            fs::remove_file(some.path().join(odd)).unwrap();
        }
        // A copy is not mixed with what lies at the old path.
        let old = directory(&["bin.000004"]);
        fs::write(&index, format!("{0}/bin.000003\n{0}/bin.000004\n", old.path().display())).unwrap();
        assert!(found(some.path()).unwrap_err().contains("bin.000004, which is not beside it"));
        fs::write(&index, format!("{0}/bin.000004\n", old.path().display())).unwrap();
        assert_eq!(found(some.path()).unwrap(), ["bin.000004"]);
        fs::remove_file(some.path().join("bin.000002")).unwrap();
        fs::write(old.path().join("bin.000003"), "old").unwrap();
        fs::write(&index, format!("{}/bin.000003\n", old.path().display())).unwrap();
        let path = some.path().join("bin.000003");
        assert_eq!(Source::find(&[some.path().to_owned()]).unwrap(), [Source::File(path)]);
        fs::write(&index, "./bin.000004\n").unwrap();
        assert!(found(some.path()).unwrap_err().contains("it names ./bin.000004, which is not there"));
        fs::write(&index, "").unwrap();
        assert!(found(some.path()).unwrap_err().contains("names no log"));
        fs::write(some.path().join("relay.index"), "").unwrap();
        assert!(found(some.path()).unwrap_err().contains("several indexes"));
    }

    #[test]
    fn logs_come_one_after_the_other() {
        let check = |names: &[&str]| {
            let sources: Vec<_> = names.iter().map(|name| Source::File(name.into())).collect();
            check_order(&sources).map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        for good in [
            &["a.000009", "a.000010"][..],
            &["x", "y"],
            &["a.000003", "b.000001"],
            &["bin.000001.gz", "d/bin.000002"],
        ] {
            assert_eq!(check(good), "", "{good:?}");
        }
        assert!(check(&["a.000001", "a.000003"]).contains("a.000002 is missing"));
        assert!(check(&["a.000999", "a.001002.zst"]).contains("a.001000 is missing"));
        assert!(check(&["a.000002", "a.000001"]).contains("a.000001 comes before a.000002"));
        assert!(check(&["a.000002", "x/a.000002"]).contains("named twice"));
    }

    #[test]
    fn the_next_log_is_called_as_this_one() {
        for (log, next, right) in [
            ("b.000009", "b.000010", "b.000010"),
            ("copy-b.000009", "b.000010", "copy-b.000010"),
            ("copy", "b.000010", "b.000010"),
            ("b.999999", "c.000001", "b.000001"),
        ] {
            assert_eq!(as_named(log, next), right, "{log} {next}");
        }
    }

    #[test]
    fn packed_files_are_unpacked_whatever_they_are_called() {
        let directory = tempfile::tempdir().unwrap();
        let content = b"\xfebin and what follows".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&content).unwrap();
        let packed = [gzip.finish().unwrap(), zstd::encode_all(&content[..], 1).unwrap(), content.clone()];
        for (number, bytes) in packed.iter().enumerate() {
            let path = directory.path().join(number.to_string());
            fs::write(&path, bytes).unwrap();
            let mut read = Vec::new();
            Source::File(path).open(&Counter::default()).unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(read, content, "{number}");
        }
    }

    #[test]
    fn a_window_beyond_the_limit_is_named() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.write_all(b"\xfebin").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bin.000001.zst");
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        let mut chain = crate::chain::Chain::new(vec![Source::File(path)], true, None);
        let error = chain.step().unwrap_err();
        assert!(error.to_string().contains("window of more than 128 MiB"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("zstd -d --long=31 ")), "{:?}", error.hint());
    }
}
