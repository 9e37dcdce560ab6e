//! Carries out the commands.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use drover_db::Connection;
use drover_db::options::{ConnectOptions, OneServer};
use drover_db::session::Use;

use crate::args::{CollectArgs, ExamineArgs, PlaceArgs};
use crate::check::Area;
use crate::evidence::{Evidence, Kept};
use crate::facts::Facts;
use crate::ignore::{self, Ignored};
use crate::report::Report;
use crate::{Error, Result, examine, results};

/// Looks at a host and a server. `options` say where the server is; none where none is to be asked.
///
/// # Errors
/// If what is looked at is not there, a server that is to be asked does not answer, or a file cannot be read or written.
pub fn run(args: &ExamineArgs, options: Option<&ConnectOptions>) -> Result<Report> {
    let file = args.ignore_file.clone().or_else(ignore::default_file);
    let ignored = match &file {
        Some(file) => {
            add_ignored(args, file)?;
            ignore::read(file)?
        }
        None if args.ignore.is_some() => {
            return Err(Error::with_hint(
                "nobody's home directory is known",
                "name a file with --ignore-file",
            ));
        }
        None => Vec::new(),
    };
    let begun = Instant::now();
    let areas = if args.areas.is_empty() { Area::ALL.to_vec() } else { args.areas.clone() };
    let mut facts = facts(&args.place, options)?;
    facts.target.clone_from(&args.target);
    Ok(examine::examine(&facts, &areas, &ignored, begun))
}

fn add_ignored(args: &ExamineArgs, file: &Path) -> Result<()> {
    let (Some(what), Some(because)) = (&args.ignore, &args.because) else { return Ok(()) };
    let (rule, subject) = match what.split_once('=') {
        Some((rule, subject)) => (rule, Some(subject.to_owned())),
        None => (what.as_str(), None),
    };
    if !examine::is_rule(rule) {
        return Err(Error::with_hint(
            format!("there is no rule '{rule}'"),
            "`drover doctor` names the rule of each finding",
        ));
    }
    let since = now();
    ignore::add(file, Ignored { rule: rule.to_owned(), subject, because: because.clone(), since })
}

/// Keeps what all checks look at in a file.
///
/// # Errors
/// As for [`run`].
pub fn collect(args: &CollectArgs, options: Option<&ConnectOptions>) -> Result<Report> {
    let begun = Instant::now();
    let facts = facts(&args.place, options)?;
    let report = examine::examine(&facts, &Area::ALL, &[], begun);
    let kept = serde_json::to_string_pretty(&facts.evidence.into_kept());
    let kept = kept.map_err(|error| Error::found(error.to_string()))?;
    write_private(&args.file, &(kept + "\n")).map_err(Error::file(&args.file))?;
    Ok(report)
}

/// Writes a file that nobody else may read, also where one of this name was there.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    file.write_all(text.as_bytes())
}

fn facts(place: &PlaceArgs, options: Option<&ConnectOptions>) -> Result<Facts> {
    if let Some(file) = place.root.as_deref().filter(|root| root.is_file()) {
        let text = fs::read_to_string(file).map_err(Error::file(file))?;
        let kept: Kept = serde_json::from_str(&text).map_err(|error| {
            Error::with_hint(
                format!("{}: {error}", file.display()),
                "`drover doctor collect` makes such files",
            )
        })?;
        let evidence = Evidence::kept(kept);
        results::add(&evidence, &place.results)?;
        return Ok(Facts::gather(evidence, place.interval));
    }
    let server = match options {
        Some(options) => Ok(open(options).map_err(|error| {
            let hint = "--no-server looks at this host alone";
            let hint = error.hint().map_or_else(|| hint.to_owned(), |of| format!("{of}; {hint}"));
            Error::with_hint(error.to_string(), hint)
        })?),
        None => Err("no server was asked".to_owned()),
    };
    let mut server = server;
    if let Ok(connection) = &mut server
        && drover_db::server::is_tidb(connection).map_err(|error| Error::found(error.to_string()))?
    {
        return Err(Error::with_hint(
            "the checks are of InnoDB and of the binary log, and TiDB has neither",
            "--no-server looks at this host alone",
        ));
    }
    let pid = match &server {
        Ok(connection) if place.root.is_none() => connection.peer_pid(),
        _ => None,
    };
    let root = place.root.as_deref();
    let evidence =
        Evidence::of(root, server, pid, now()).map_err(Error::file(root.unwrap_or(Path::new("/"))))?;
    results::add(&evidence, &place.results)?;
    Ok(Facts::gather(evidence, place.interval))
}

/// A session that does not get in the way: what takes longer than a few seconds, or waits for others, is given up.
fn open(options: &ConnectOptions) -> drover_db::Result<Connection> {
    // There is but this one.
    let options = &ConnectOptions { one_server: OneServer::default(), ..options.clone() };
    let mut connection = Connection::open(options)?;
    connection.set_up(Use::Doctor)?;
    Ok(connection)
}

/// The time, in UTC, by RFC 3339.
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    jiff::Timestamp::from_second(seconds as i64).map(|time| time.to_string()).unwrap_or_default()
}
