//! SQL by clients that are not drover's own: a library of others for most of it, the vendor's program for what only that one does.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::{Flavour, Server};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Value};

/// Rows of fields; NULL is the text `NULL`.
pub(crate) type Rows = Vec<Vec<String>>;

/// The client as root, without headings; statements come from stdin. Comments are a part of stored programs.
pub(crate) fn client(server: &Server) -> Command {
    let mut client = server.client("mysql");
    client.args(["--batch", "--skip-column-names", "--comments", "--default-character-set=utf8mb4"]);
    client
}

/// Feeds `input` to `command` and waits for its end.
pub(crate) fn feed(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A client that stops at an error closes the pipe early: its own words count.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

/// The rows of all statements in `text`, or what the server says of the first that fails. Statements for which the vendor's client is
/// needed go through it; each start of that takes more time than most statements.
pub(crate) fn try_sql(server: &Server, text: &str) -> Result<Rows, String> {
    const OF_THE_CLIENT: [&str; 4] = ["DELIMITER", "LOCAL INFILE", "\\G", "wsrep_sync_wait"]; // the last holds from the next packet on
    /// More might not fit into a packet, which all of them share.
    const LARGE: usize = 1 << 20;
    let text = text.trim_end().trim_end_matches(';');
    if text.len() > LARGE || OF_THE_CLIENT.iter().any(|word| text.contains(word)) {
        return rows_of(&mut client(server), text);
    }
    let rows = connect(server).and_then(|mut connection| {
        let (rows, session) = (rows_of_all(&mut connection, text), connection.connection_id());
        drop(connection);
        if text.contains("XA PREPARE") {
            wait_until_gone(server, session);
        }
        rows
    });
    rows.map_err(|error| match error {
        mysql::Error::MySqlError(said) => said.to_string(),
        other => other.to_string(),
    })
}

/// A session of root.
fn connect(server: &Server) -> mysql::Result<Conn> {
    // The collation that its own client has; MariaDB's has the one which comes by itself.
    let names: &[&str] = if server.flavour() == Flavour::MySql { &["SET NAMES utf8mb4"] } else { &[] };
    let options = OptsBuilder::new().user(Some("root")).socket(Some(server.socket().to_string_lossy()));
    Conn::new(Opts::from(options.max_allowed_packet(Some(1 << 30)).init(names.to_vec())))
}

/// A prepared transaction belongs to the session that made it until this is gone.
fn wait_until_gone(server: &Server, session: u32) {
    let list = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {session}");
    wait_until(format!("session {session} is gone"), || value(server, &list) == "0");
}

fn rows_of_all(connection: &mut Conn, text: &str) -> mysql::Result<Rows> {
    let mut rows = Rows::new();
    let mut results = connection.query_iter(text)?;
    while let Some(result) = results.iter() {
        for row in result {
            rows.push(row?.unwrap().into_iter().map(shown).collect());
        }
    }
    Ok(rows)
}

fn shown(value: Value) -> String {
    match value {
        Value::NULL => "NULL".into(),
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => unreachable!("{other:?} in a row of text"),
    }
}

/// As [`try_sql`], with a client that is set up by the caller.
pub(crate) fn rows_of(client: &mut Command, text: &str) -> Result<Rows, String> {
    let output = feed(client, text.as_bytes());
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().map(|line| line.split('\t').map(unescaped).collect()).collect())
}

/// The rows of all statements in `text`.
pub(crate) fn sql(server: &Server, text: impl Display) -> Rows {
    let text = text.to_string();
    let mut result = try_sql(server, &text);
    // MySQL shows neither processes nor transactions while one of them, of whichever test, runs a statement with a character of four
    // bytes (error 3854).
    let deadline = Instant::now() + Duration::from_secs(60);
    while text.starts_with("SELECT")
        && result.as_ref().is_err_and(|error| error.contains("ERROR 3854"))
        && Instant::now() < deadline
    {
        std::thread::sleep(Duration::from_millis(150));
        result = try_sql(server, &text);
    }
    result.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The first field of the first row.
pub(crate) fn value(server: &Server, text: impl Display) -> String {
    let text = text.to_string();
    let rows = sql(server, &text);
    rows.first().and_then(|row| row.first()).unwrap_or_else(|| panic!("{text}: no rows")).clone()
}

/// Runs a script as a person would with `client < script`.
pub(crate) fn run_script(server: &Server, schema: Option<&str>, script: &[u8]) -> Result<(), String> {
    let mut client = client(server);
    client.args(schema);
    let output = feed(&mut client, script);
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Undoes the escapes of the client's batch mode.
fn unescaped(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut rest = field.chars();
    while let Some(c) = rest.next() {
        out.push(match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}

/// Waits until `condition` holds; panics with `what` if that takes longer than a minute.
pub(crate) fn wait_until(what: impl Display, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        // Most conditions start a client, which the tests beside this one pay for.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A client that stays connected, for locks and for statements that take long. Its end ends the session.
pub(crate) struct Session<'a> {
    server: &'a Server,
    child: Child,
    stdin: ChildStdin,
    answers: BufReader<std::process::ChildStdout>,
    /// The connection's id in the server.
    id: String,
}

impl<'a> Session<'a> {
    pub(crate) fn open(server: &'a Server) -> Self {
        let mut client = client(server);
        client.arg("--unbuffered").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = client.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut session = Self { server, child, stdin, answers: BufReader::new(stdout), id: String::new() };
        session.id = session.value("SELECT CONNECTION_ID()");
        session
    }

    /// Runs a statement that gives one value.
    pub(crate) fn value(&mut self, sql: &str) -> String {
        self.send(sql);
        self.line()
    }

    /// Sends a statement without waiting for it.
    pub(crate) fn send(&mut self, sql: &str) {
        writeln!(self.stdin, "{sql};").unwrap();
    }

    /// Runs a statement that gives no rows, and waits until it is done.
    pub(crate) fn run(&mut self, sql: &str) {
        self.send(sql);
        assert_eq!(self.value("SELECT 'done'"), "done", "{sql}");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits until the server says that the session executes a statement with this text in it.
    pub(crate) fn wait_until_running(&self, text: &str) {
        let list =
            format!("SELECT COALESCE(INFO, '') FROM information_schema.PROCESSLIST WHERE ID = {}", self.id);
        wait_until(format!("'{text}' runs"), || value(self.server, &list).contains(text));
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // The server does not notice a client that is gone while it executes a statement.
        let _already_gone = try_sql(self.server, &format!("KILL {}", self.id));
        let _already_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Has mariadb-dump write a schema into a file; its server may be another vendor's.
pub(crate) fn mariadb_dump(server: &Server, schema: &str, file: &Path) {
    let mut command = Command::new("mariadb-dump");
    command.args(["--no-defaults", "-uroot", "--skip-ssl", "--routines", "--databases", schema]);
    command.arg("-S").arg(server.socket()).arg("--result-file").arg(file);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
