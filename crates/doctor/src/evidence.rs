//! What checks look at: files of a host and answers of a server, as they are now or as `doctor collect` has kept them.
//!
//! Whatever is asked for is remembered, also that it could not be had. So a bundle holds what the checks of the drover that made it
//! look at and no more, and checks cannot tell a bundle from a host.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_db::grants::Held;
use drover_db::{Connection, ErrorKind, Row};
use drover_host::{Clock, Files, Here, Space, Tree};
use serde::{Deserialize, Serialize};

use crate::secret;

/// Why something is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// A host or a server does not have it.
    Missing,
    /// This user, or this account, may not see it.
    Denied(String),
    /// It could not be read.
    Failed(String),
    /// Nobody looked: no server was named, or a bundle does not hold it.
    NotAsked(String),
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("not there"),
            Self::Denied(why) | Self::Failed(why) | Self::NotAsked(why) => f.write_str(why),
        }
    }
}

/// What was asked for, or why it is not known.
pub type Seen<T> = Result<T, Unseen>;

/// The answer to a query, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows; `None` stands for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// The value of a column in a row of this answer; `None` for NULL, and where there is no such column.
    pub fn value<'a>(&self, row: &'a [Option<String>], column: &str) -> Option<&'a str> {
        let at = self.columns.iter().position(|name| name.eq_ignore_ascii_case(column))?;
        row.get(at)?.as_deref()
    }

    /// The value of a column in the first row.
    pub fn first(&self, column: &str) -> Option<&str> {
        self.rows.first().and_then(|row| self.value(row, column))
    }
}

/// All that was looked at, as a bundle keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// When it was looked at, in UTC, by RFC 3339.
    pub looked_at: String,
    /// The process of the server, where it is one of this host.
    pub pid: Option<u32>,
    /// The texts of files.
    pub files: BTreeMap<PathBuf, Seen<String>>,
    /// What is in directories, in the order of the names.
    pub folders: BTreeMap<PathBuf, Seen<Vec<String>>>,
    /// Where paths lead when all symbolic links are followed.
    pub links: BTreeMap<PathBuf, Seen<PathBuf>>,
    /// How full the file systems are that paths lie on.
    pub spaces: BTreeMap<PathBuf, Seen<Space>>,
    /// What the kernel thinks of its clock.
    pub clock: Option<Seen<Clock>>,
    /// What a server answered.
    pub answers: BTreeMap<String, Seen<Answer>>,
    /// What the account may do that has asked the server.
    pub privileges: Option<Seen<Held>>,
    /// What `drover bench` and `drover binlog cost` have measured, by the names of their files.
    pub results: BTreeMap<String, serde_json::Value>,
}

/// The ends of the interval over which something is seen to grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Its beginning.
    Before,
    /// Its end.
    After,
}

impl Moment {
    /// The word that tells what was seen then from what was seen at the other end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// Where files come from.
#[derive(Debug)]
enum Source {
    Here,
    Tree(Tree),
    Bundle,
    /// The server that is asked may run on another host than this one.
    Elsewhere,
}

/// Where answers come from.
#[derive(Debug)]
enum Server {
    Live(RefCell<Connection>),
    Bundle,
    /// There is none to ask.
    None(String),
}

/// What checks look at.
#[derive(Debug)]
pub struct Evidence {
    files: Source,
    server: Server,
    kept: RefCell<Kept>,
}

impl Evidence {
    /// Of this host, or of the copy of one in a directory, and of a server, if one can be asked; else why not.
    ///
    /// # Errors
    /// If the directory is not there.
    pub fn of(
        root: Option<&Path>,
        server: Result<Connection, String>,
        pid: Option<u32>,
        looked_at: String,
    ) -> io::Result<Self> {
        let files = match (root, &server) {
            (Some(root), _) => Source::Tree(Tree::at(root)?),
            (None, Ok(connection)) if !connection.is_by_socket() => Source::Elsewhere,
            (None, _) => Source::Here,
        };
        let server = match server {
            Ok(connection) => Server::Live(RefCell::new(connection)),
            Err(why) => Server::None(why),
        };
        Ok(Self { files, server, kept: RefCell::new(Kept { looked_at, pid, ..Kept::default() }) })
    }

    /// Of what was kept.
    pub fn kept(kept: Kept) -> Self {
        Self { files: Source::Bundle, server: Server::Bundle, kept: RefCell::new(kept) }
    }

    /// All that was looked at so far.
    pub fn into_kept(self) -> Kept {
        self.kept.into_inner()
    }

    /// When it is, or was, looked at.
    pub fn looked_at(&self) -> String {
        self.kept.borrow().looked_at.clone()
    }

    /// The process of the server, where it is one of this host.
    pub fn pid(&self) -> Seen<u32> {
        let unknown = || {
            Unseen::NotAsked(
                "the server's process is not known: it is reached by its socket on its own host only".into(),
            )
        };
        self.kept.borrow().pid.ok_or_else(unknown)
    }

    /// Whether files are those of the machine that this runs on.
    pub fn is_this_host(&self) -> bool {
        matches!(self.files, Source::Here)
    }

    /// Whether a server is asked now.
    pub fn is_live(&self) -> bool {
        matches!(self.server, Server::Live(_))
    }

    /// What the kernel tells in a file below /proc or /sys, without white space around it; of command lines and environments what checks
    /// look at. All paths are those on the host, from its root. Files of settings are read by [`Self::setting`].
    pub fn text(&self, path: impl AsRef<Path>) -> Seen<String> {
        let read = |files: &dyn Files, path: &Path| {
            let not_the_kernels = || io::Error::other("nothing was chosen of this file");
            secret::of_kernel(path, files.text(path)?).ok_or_else(not_the_kernels)
        };
        self.look(path.as_ref(), |kept| &mut kept.files, read)
    }

    /// What a reader wants of a file of settings, written such that it can be read in its place. Nothing else of the file is kept: there
    /// may be passwords anywhere, in comments too.
    pub fn setting(
        &self,
        path: impl AsRef<Path>,
        wanted: impl Fn(&str) -> Result<String, String>,
    ) -> Seen<String> {
        let read = |files: &dyn Files, path: &Path| wanted(&files.text(path)?).map_err(io::Error::other);
        self.look(path.as_ref(), |kept| &mut kept.files, read)
    }

    /// The text of a file at one of several moments; each is read once.
    pub fn text_at(&self, path: impl AsRef<Path>, moment: Moment) -> Seen<String> {
        let key = PathBuf::from(format!("{}#{}", path.as_ref().display(), moment.name()));
        if let Some(known) = self.kept.borrow().files.get(&key) {
            return known.clone();
        }
        let told = |error: io::Error| unseen(path.as_ref(), &error);
        let text = match &self.files {
            Source::Here => Here.text(path.as_ref()).map_err(told),
            Source::Tree(_) => Err(Unseen::NotAsked("a copy of a host does not change".into())),
            Source::Bundle => Err(not_kept()),
            Source::Elsewhere => Err(elsewhere()),
        };
        self.kept.borrow_mut().files.insert(key, text.clone());
        text
    }

    /// The names in a directory, sorted.
    pub fn list(&self, path: impl AsRef<Path>) -> Seen<Vec<String>> {
        self.look(path.as_ref(), |kept| &mut kept.folders, |files, path| files.list(path))
    }

    /// Where a path leads when all symbolic links are followed.
    pub fn real(&self, path: impl AsRef<Path>) -> Seen<PathBuf> {
        self.look(path.as_ref(), |kept| &mut kept.links, |files, path| files.real(path))
    }

    /// How full the file system is that a path lies on.
    pub fn space(&self, path: impl AsRef<Path>) -> Seen<Space> {
        let path = path.as_ref();
        if let Some(known) = self.kept.borrow().spaces.get(path) {
            return known.clone();
        }
        let space = match &self.files {
            Source::Here => drover_host::space(path).map_err(|error| unseen(path, &error)),
            Source::Tree(_) => Err(Unseen::NotAsked("a copy of a host does not tell how full it is".into())),
            Source::Bundle => Err(not_kept()),
            Source::Elsewhere => Err(elsewhere()),
        };
        self.kept.borrow_mut().spaces.insert(path.to_owned(), space.clone());
        space
    }

    /// What the kernel thinks of its clock.
    pub fn clock(&self) -> Seen<Clock> {
        if let Some(known) = &self.kept.borrow().clock {
            return known.clone();
        }
        let clock = match &self.files {
            Source::Here => drover_host::clock().map_err(|error| Unseen::Failed(error.to_string())),
            Source::Tree(_) => Err(Unseen::NotAsked("a copy of a host has no clock".into())),
            Source::Bundle => Err(not_kept()),
            Source::Elsewhere => Err(elsewhere()),
        };
        self.kept.borrow_mut().clock = Some(clock.clone());
        clock
    }

    /// Adds what was measured, by the name of its file.
    pub fn add_result(&self, file: String, result: serde_json::Value) {
        self.kept.borrow_mut().results.insert(file, result);
    }

    /// What was measured, by the names of the files.
    pub fn results(&self) -> BTreeMap<String, serde_json::Value> {
        self.kept.borrow().results.clone()
    }

    /// What a server answers to a statement that changes nothing.
    pub fn ask(&self, sql: &str) -> Seen<Answer> {
        if let Some(known) = self.kept.borrow().answers.get(sql) {
            return known.clone();
        }
        let answer = match &self.server {
            Server::Live(connection) => query(&mut connection.borrow_mut(), sql),
            Server::Bundle => Err(not_kept()),
            Server::None(why) => Err(Unseen::NotAsked(why.clone())),
        };
        self.kept.borrow_mut().answers.insert(sql.to_owned(), answer.clone());
        answer
    }

    /// What the account may do that asks the server.
    pub fn held(&self) -> Seen<Held> {
        if let Some(known) = &self.kept.borrow().privileges {
            return known.clone();
        }
        let held = match &self.server {
            Server::Live(connection) => {
                Held::of(&mut connection.borrow_mut()).map_err(|error| untold(&error))
            }
            Server::Bundle => Err(not_kept()),
            Server::None(why) => Err(Unseen::NotAsked(why.clone())),
        };
        self.kept.borrow_mut().privileges = Some(held.clone());
        held
    }

    fn look<T: Clone>(
        &self,
        path: &Path,
        of: fn(&mut Kept) -> &mut BTreeMap<PathBuf, Seen<T>>,
        read: impl Fn(&dyn Files, &Path) -> io::Result<T>,
    ) -> Seen<T> {
        if let Some(known) = of(&mut self.kept.borrow_mut()).get(path) {
            return known.clone();
        }
        let told = |error: io::Error| unseen(path, &error);
        let seen = match &self.files {
            Source::Here => read(&Here, path).map_err(told),
            Source::Tree(tree) => read(tree, path).map_err(told),
            Source::Bundle => Err(not_kept()),
            Source::Elsewhere => Err(elsewhere()),
        };
        of(&mut self.kept.borrow_mut()).insert(path.to_owned(), seen.clone());
        seen
    }
}

/// For what is written for files of any kind.
impl Files for Evidence {
    fn text(&self, path: &Path) -> io::Result<String> {
        Self::text(self, path).map_err(io::Error::from)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        Self::list(self, path).map_err(io::Error::from)
    }

    fn real(&self, path: &Path) -> io::Result<PathBuf> {
        Self::real(self, path).map_err(io::Error::from)
    }
}

impl From<Unseen> for io::Error {
    fn from(unseen: Unseen) -> Self {
        let kind = match unseen {
            Unseen::Missing => io::ErrorKind::NotFound,
            Unseen::Denied(_) => io::ErrorKind::PermissionDenied,
            Unseen::Failed(_) | Unseen::NotAsked(_) => io::ErrorKind::Other,
        };
        Self::new(kind, unseen.to_string())
    }
}

fn elsewhere() -> Unseen {
    Unseen::NotAsked(
        "the server is reached over TCP, so its host may be another one: run drover doctor there with --socket, or look at \
         this host with --no-server"
            .into(),
    )
}

fn not_kept() -> Unseen {
    Unseen::NotAsked("the bundle does not hold it".into())
}

fn unseen(path: &Path, error: &io::Error) -> Unseen {
    let told = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unseen::Missing,
        io::ErrorKind::PermissionDenied => Unseen::Denied(told),
        _ => Unseen::Failed(told),
    }
}

/// How often it is asked again for what the server cannot show at the moment.
const TRIES: usize = 5;
/// When it is asked again. What InnoDB tells of its transactions is of one moment for all that ask within 100 ms
/// (storage/innobase/trx/trx0i_s.cc, CACHE_MIN_IDLE_TIME_NS).
const PAUSE: Duration = Duration::from_millis(150);

fn query(connection: &mut Connection, sql: &str) -> Seen<Answer> {
    let mut result = connection.query(sql);
    for _ in 0..TRIES {
        if !result.as_ref().is_err_and(|error| error.hidden_transactions().is_some()) {
            break;
        }
        std::thread::sleep(PAUSE);
        result = connection.query(sql);
    }
    let rows = result.map_err(|error| untold(&error))?;
    Ok(without_secrets(Answer { rows: rows.rows.iter().map(values).collect(), columns: rows.columns }))
}

/// Why the server did not tell.
fn untold(error: &drover_db::Error) -> Unseen {
    match error.kind() {
        Some(ErrorKind::Denied) => Unseen::Denied(error.to_string()),
        Some(ErrorKind::Missing) => Unseen::Missing,
        Some(ErrorKind::TimedOut) => Unseen::Failed("the server takes too long to tell".into()),
        _ => Unseen::Failed(error.hidden_transactions().map_or_else(|| error.to_string(), str::to_owned)),
    }
}

fn values(row: &Row) -> Vec<Option<String>> {
    let mut values: Vec<_> = (0..row.len()).map(|index| row.text(index)).collect();
    if let [Some(name), value] = values.as_mut_slice()
        && secret::is_named(name)
    {
        *value = Some(secret::HIDDEN.into());
    }
    values
}

/// SHOW REPLICAS has a column of passwords, with `show-replica-auth-info`.
fn without_secrets(mut answer: Answer) -> Answer {
    for (column, _) in answer.columns.iter().enumerate().filter(|(_, name)| secret::is_named(name)) {
        for value in answer.rows.iter_mut().filter_map(|row| row.get_mut(column)?.as_mut()) {
            secret::HIDDEN.clone_into(value);
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_passwords() {
        let columns = ["Server_Id", "User", "Password"].map(str::to_owned).to_vec();
        let row = |password: Option<&str>| {
            vec![Some("2".to_owned()), Some("repl".to_owned()), password.map(str::to_owned)]
        };
        let answer = without_secrets(Answer { columns, rows: vec![row(Some("a-secret")), row(None)] });
        assert_eq!(answer.rows, [row(Some(secret::HIDDEN)), row(None)]);
    }
}
