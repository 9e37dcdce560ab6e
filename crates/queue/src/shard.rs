//! The servers of a queue: one, or those that a file names.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;

use drover_db::options::{ConnectOptions, OneServer, Secret, ServerArgs, without_passwords};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::error::Error;
use crate::private::open_to_others;

/// One part of a queue: its tables in a schema of a server.
#[derive(Debug, Clone)]
pub struct Shard {
    /// What it is called; empty where there is only one.
    pub name: String,
    /// Where it is; the database is the queue's schema. Of a cluster, all nodes: the first one that takes writes is used.
    pub nodes: Vec<ConnectOptions>,
    /// Whether it takes no more tasks.
    pub is_draining: bool,
}

impl Error {
    /// The same, with the name of the shard it is about.
    pub(crate) fn of(self, shard: &Shard) -> Self {
        match self {
            Self::Server { doing, source } => Self::Server { doing: shard.doing(&doing), source },
            Self::Found { what, hint } => Self::Found { what: shard.doing(&what), hint },
            other => other,
        }
    }
}

impl Shard {
    /// What is being done there, for an error.
    pub(crate) fn doing(&self, what: &str) -> String {
        match self.name.is_empty() {
            true => what.to_owned(),
            false => format!("shard {}: {what}", self.name),
        }
    }

    /// The schema that holds the queue's tables.
    ///
    /// # Errors
    /// If none was named.
    pub(crate) fn schema(&self) -> Result<&str> {
        self.nodes.first().and_then(|node| node.database.as_deref()).ok_or_else(|| {
            Error::with_hint(
                self.doing("no schema is named for the queue's tables"),
                "name it with -D SCHEMA, or in the URL: mysql://host/SCHEMA",
            )
        })
    }
}

/// How tasks are given to shards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// By the object id: the tasks of one object are all on one shard.
    #[default]
    Object,
    /// By the tenant: the tasks of one tenant are all on one shard.
    Tenant,
    /// Anywhere, by a number that is drawn for each task or build.
    Random,
}

/// All shards of a queue.
#[derive(Debug, Clone)]
pub struct Shards {
    /// In the order of the file.
    pub shards: Vec<Shard>,
    /// How tasks are given to them.
    pub place: Place,
    /// What a person should know about the file.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    place: Place,
    shard: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    url: Urls,
    #[serde(default)]
    drain: bool,
}

/// One address, or those of a cluster's nodes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Urls {
    One(String),
    Many(Vec<String>),
}

impl Shards {
    /// A queue that is on one server.
    pub fn one(options: ConnectOptions) -> Self {
        let shard = Shard { name: String::new(), nodes: vec![options], is_draining: false };
        Self { shards: vec![shard], place: Place::default(), warnings: Vec::new() }
    }

    /// The shards that a file names. What a URL leaves out comes from the command line and the option files; `schema` wins over
    /// those in the URLs.
    ///
    /// # Errors
    /// If the file cannot be read, or does not hold shards with different names.
    pub fn load(path: &Path, base: &ServerArgs, schema: Option<&str>) -> Result<Self> {
        let mut file = std::fs::File::open(path).map_err(Error::file(path))?;
        let about = file.metadata().map_err(Error::file(path))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(Error::file(path))?;
        let shards = Self::parse(path, &text, base, schema)?;
        let has_passwords = matches!(without_passwords(&text), Cow::Owned(_));
        let mode = open_to_others(&about).filter(|_| has_passwords);
        let warning = mode.map(|mode| {
            let path = path.display();
            format!("{path}: others may read its passwords (mode {mode:04o}): chmod 600 {path}")
        });
        Ok(Self { warnings: warning.into_iter().collect(), ..shards })
    }

    /// Reads the text of such a file.
    pub(crate) fn parse(path: &Path, text: &str, base: &ServerArgs, schema: Option<&str>) -> Result<Self> {
        let file: File = toml::from_str(text).map_err(|error| {
            // The text around the error may hold a password, and so may a value under a wrong key: the line is told, and no value.
            let what = match error.message() {
                message if message.contains(['"', '\'']) || message.starts_with("unknown variant") => "a wrong value",
                message => message,
            };
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count());
            Error::with_hint(
                format!("{}: line {line}: {what}", path.display()),
                "a shard is written as [[shard]] with name = \"…\" and url = \"mysql://user:password@host/schema\"",
            )
        })?;
        let mut shards: Vec<Shard> = Vec::new();
        for entry in file.shard {
            if entry.name.is_empty() || shards.iter().any(|shard| shard.name == entry.name) {
                return Err(Error::found(format!(
                    "{}: shard '{}': each shard needs a name of its own",
                    path.display(),
                    entry.name
                )));
            }
            shards.push(shard(path, entry, base, schema)?);
        }
        if shards.is_empty() {
            return Err(Error::found(format!("{}: it names no shard", path.display())));
        }
        Ok(Self { shards, place: file.place, warnings: Vec::new() })
    }
}

fn shard(path: &Path, entry: Entry, base: &ServerArgs, schema: Option<&str>) -> Result<Shard> {
    let urls = match entry.url {
        Urls::One(url) => vec![url],
        Urls::Many(urls) => urls,
    };
    let wrong = |what: String, hint| Error::Found {
        what: format!("{}: shard '{}': {what}", path.display(), entry.name),
        hint,
    };
    if urls.is_empty() {
        return Err(wrong("it has no url".into(), None));
    }
    let node = |url: String| {
        let args = ServerArgs { url: Some(Secret::from(url)), ..base.clone() };
        let no_terminal = || Err(std::io::Error::other("a file of shards holds the passwords"));
        let resolved = args.resolve(no_terminal).map_err(|error| wrong(error.to_string(), error.hint()))?;
        let database = schema.map(str::to_owned).or(resolved.options.database);
        Ok(ConnectOptions { database, one_server: OneServer::that_may_move(), ..resolved.options })
    };
    let nodes = urls.into_iter().map(node).collect::<Result<_>>()?;
    Ok(Shard { name: entry.name, nodes, is_draining: entry.drain })
}
