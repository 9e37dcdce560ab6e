//! URLs where a path is asked for: a server's would become a tree of directories with the password in its names.

use std::path::{Path, PathBuf};

use clap::ArgMatches;

use crate::failure::Failure;

/// Refuses a path that is a URL, but for those of object stores. What it was is not repeated: a password may be in it.
pub(crate) fn check(matches: &ArgMatches) -> Result<(), Failure> {
    let Some(id) = named_by_url(matches) else { return Ok(()) };
    let name = id.replace('_', "-");
    Err(Failure {
        error: format!("the path for {name} is a URL: it is not shown, as a password may be in it"),
        hint: Some(
            "name a directory or a file (./NAME if it really looks like a URL); a dump also goes to s3://BUCKET/PREFIX, and a server is \
             named with --url, --from or --to"
                .into(),
        ),
    })
}

fn named_by_url(matches: &ArgMatches) -> Option<String> {
    let is_url_there = |id: &str| {
        let paths = matches.try_get_many::<PathBuf>(id).ok().flatten();
        paths.is_some_and(|mut paths| paths.any(|path| is_other_url(path)))
    };
    let own = matches.ids().map(clap::Id::as_str).find(|id| is_url_there(id)).map(str::to_owned);
    own.or_else(|| matches.subcommand().and_then(|(_, matches)| named_by_url(matches)))
}

/// Whether it is a URL of anything but an object store. Source: RFC 3986, "Scheme".
fn is_other_url(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let Some((scheme, _)) = text.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
    is_scheme && scheme != "s3"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    fn refusal(line: &str) -> Option<Failure> {
        let matches = Cli::command().try_get_matches_from(line.split(' ')).unwrap();
        check(&matches).err()
    }

    #[test]
    fn a_url_is_no_path() {
        for line in [
            "drover dump --out mysql://boss:hunter2@host/",
            "drover restore mariadb://boss:hunter2@host/",
            "drover verify MySQL+x://boss:hunter2@host/",
            "drover copy a --from mysql://a --to mysql://b --state mysql://boss:hunter2@host/",
            "drover dump --out d --mask https://boss:hunter2@host/m.toml",
        ] {
            let failure = refusal(line).unwrap_or_else(|| panic!("{line}"));
            assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
        }
        for line in [
            "drover dump --out s3://bucket/prefix",
            "drover dump --out ./mysql://x --url mysql://boss:hunter2@host/",
            "drover restore a/b://c",
            "drover copy a --from mysql://a --to mysql://b",
        ] {
            assert!(refusal(line).is_none(), "{line}");
        }
    }
}
