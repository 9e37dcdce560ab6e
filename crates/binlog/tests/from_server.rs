//! Logs that a server sends are the same as those in its files.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Parser;
use drover_binlog::chain::Chain;
use drover_binlog::log::{Header, Kind, Place};
use drover_binlog::server::Origin;
use drover_binlog::source::Source;
use drover_binlog::{Error, FilterArgs, LogArgs};
use drover_db::Stop;
use drover_sandbox::{Flavour, Server, StartOptions};

/// Defines the tests `mariadb::NAME` and `mysql::NAME` for functions that take what a server has logged.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod mariadb {
            $(#[test] fn $name() { super::$name(super::logged(drover_sandbox::Flavour::MariaDb)); })*
        }
        mod mysql {
            $(#[test] fn $name() { super::$name(super::logged(drover_sandbox::Flavour::MySql)); })*
        }
    };
}

on_both!(
    all_events_are_those_of_the_files,
    a_stream_may_begin_at_any_transaction,
    named_logs_come_in_any_order,
    what_comes_behind_some_transactions,
    a_log_is_followed_until_somebody_stops_it,
    followers_leave_each_other_alone,
    a_stream_that_is_cut_off_says_where_to_go_on,
    what_cannot_be_is_told,
);

/// A server that has written [`CLOSED`] logs and one that is open.
struct Logged {
    server: Server,
    /// The GTIDs that were there when the second log was begun.
    gtids: String,
}

/// Logs that are not written to any more.
const CLOSED: usize = 3;

fn logged(flavour: Flavour) -> &'static Logged {
    static SERVERS: [OnceLock<Logged>; 2] = [const { OnceLock::new() }; 2];
    SERVERS[flavour as usize].get_or_init(|| Logged::new(flavour))
}

impl Logged {
    fn new(flavour: Flavour) -> Self {
        let options: &[&str] = match flavour {
            Flavour::MariaDb => &["--log-bin-compress=ON", "--binlog-format=ROW", "--binlog-checksum=CRC32"],
            Flavour::MySql => {
                &["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--binlog-rows-query-log-events=ON"]
            }
        };
        let server = start(flavour, &[options, LONG_STATEMENTS].concat());
        sql(
            &server,
            "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, a LONGTEXT)",
        );
        sql(&server, "CREATE USER reader@localhost");
        sql(&server, "INSERT INTO shop.t (a) VALUES (REPEAT('first ', 100)), ('ä'), (NULL)");
        let gtids = sql(&server, gtids_of(flavour));
        sql(&server, "FLUSH BINARY LOGS");
        write_rows(&server);
        sql(&server, "FLUSH BINARY LOGS");
        write_statements(&server);
        sql(&server, "FLUSH BINARY LOGS");
        Self { server, gtids }
    }

    fn path(&self, number: usize) -> PathBuf {
        self.server.datadir().join(name(number))
    }

    /// The events of closed logs, from their files.
    fn in_files(&self) -> Vec<Seen> {
        let paths: Vec<_> = (1..=CLOSED).map(|number| self.path(number)).collect();
        events(&mut Chain::new(Source::find(&paths).unwrap(), true, None)).unwrap()
    }

    /// The same of those that the server sends when it is asked in this way.
    fn sent(&self, arguments: &[&str]) -> Result<Vec<Seen>, Error> {
        events(&mut self.chain(arguments, &Arc::new(Stop::default()))?)
    }

    fn chain(&self, arguments: &[&str], stop: &Arc<Stop>) -> Result<Chain, Error> {
        chain(&self.server, "root", arguments, stop)
    }

    fn sql(&self, text: &str) -> String {
        sql(&self.server, text)
    }
}

/// Transactions of rows: small ones, compressed ones, one event of more than 16 MiB.
fn write_rows(server: &Server) {
    for round in 0..20 {
        sql(
            server,
            &format!(
                "BEGIN; INSERT INTO shop.t (a) VALUES (REPEAT('{round} ', 400)), ('b'); \
                 UPDATE shop.t SET a = 'changed' WHERE id = {round}; COMMIT"
            ),
        );
    }
    let uncompressed = match server.flavour() {
        Flavour::MariaDb => "SET GLOBAL log_bin_compress = OFF",
        Flavour::MySql => {
            "SET SESSION binlog_transaction_compression = ON; INSERT INTO shop.t (a) VALUES (REPEAT('p', 90000))"
        }
    };
    sql(server, uncompressed);
    sql(server, "INSERT INTO shop.t (a) VALUES (REPEAT('large ', 3500000))");
    sql(server, "DELETE FROM shop.t WHERE id < 9");
}

/// Statements, some with what they depend on, and a file that is loaded.
fn write_statements(server: &Server) {
    let file = server.datadir().join("rows.txt");
    std::fs::write(&file, "x\n".repeat(300_000)).unwrap();
    sql(
        server,
        &format!(
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET SESSION binlog_format = STATEMENT; SET @a = 'var'; \
             INSERT INTO shop.t (a) VALUES (@a); UPDATE shop.t SET a = RAND() WHERE id = 30; \
             LOAD DATA INFILE '{}' INTO TABLE shop.t (a)",
            file.display()
        ),
    );
    sql(server, "CREATE TABLE shop.u (id INT); DROP TABLE shop.u");
}

const LONG_STATEMENTS: &[&str] = &["--max-allowed-packet=64M"];

fn start(flavour: Flavour, options: &[&str]) -> Server {
    let server_options = options.iter().map(|&option| option.to_owned()).collect();
    Server::start(&StartOptions { server_options, ..StartOptions::ephemeral(flavour) })
        .unwrap_or_else(|error| panic!("no {} server: {error}", flavour.title()))
}

fn gtids_of(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MariaDb => "SELECT @@GLOBAL.gtid_binlog_pos",
        Flavour::MySql => "SELECT @@GLOBAL.gtid_executed",
    }
}

fn name(number: usize) -> String {
    format!("binlog.{number:06}")
}

fn sql(server: &Server, text: &str) -> String {
    let mut client: Command = server.client("mysql");
    let output =
        client.args(["-N", "-B", "-r", "--default-character-set=utf8mb4", "-e", text]).output().unwrap();
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().replace('\n', "")
}

#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Arguments {
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

fn chain(server: &Server, user: &str, arguments: &[&str], stop: &Arc<Stop>) -> Result<Chain, Error> {
    let socket = server.socket().to_str().unwrap();
    let server = ["drover", "--from-server", "--no-defaults", "-u", user, "-S", socket];
    let Arguments { logs, filter } = Arguments::parse_from(server.iter().chain(arguments));
    let options = logs.from.server.resolve(|| unreachable!("no password is asked for")).unwrap().options;
    logs.open(Some(&Origin { options, stop: Arc::clone(stop) }), Some(&filter))
}

/// An event as it came.
#[derive(Clone, PartialEq, Eq)]
struct Seen {
    log: String,
    position: u64,
    end: u64,
    header: Header,
    kind: Kind,
    body: Vec<u8>,
    place: Place,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { log, position, end, kind, place, body, .. } = self;
        write!(f, "{log} {position}..{end} {kind} {place:?} {} bytes", body.len())
    }
}

impl Seen {
    /// Whether it is about the log, not about what was done.
    fn is_of_log(&self) -> bool {
        const OF_LOG: [Kind; 3] = [Kind::FORMAT_DESCRIPTION, Kind::PREVIOUS_GTIDS, Kind::MARIADB_GTID_LIST];
        OF_LOG.contains(&self.kind)
    }
}

fn seen(chain: &Chain) -> Seen {
    let item = chain.item().unwrap();
    let event = item.event;
    let log = item.log.rsplit('/').next().unwrap().to_owned();
    // A server sends a log that is open without the flag for it.
    let flags = event.header.flags & !Header::IN_USE;
    Seen {
        log,
        position: event.position,
        end: event.end,
        header: Header { flags, ..event.header },
        kind: event.kind,
        body: event.body.to_vec(),
        place: item.place,
    }
}

fn events(chain: &mut Chain) -> Result<Vec<Seen>, Error> {
    let mut all = Vec::new();
    while chain.step()? {
        all.push(seen(chain));
    }
    Ok(all)
}

#[track_caller]
fn assert_same(sent: &[Seen], in_files: &[Seen]) {
    if let Some((one, other)) = sent.iter().zip(in_files).find(|(one, other)| one != other) {
        panic!("{one:?} {:?}\n{other:?} {:?}", one.header, other.header);
    }
    assert_eq!(sent.len(), in_files.len());
}

fn all_events_are_those_of_the_files(logged: &Logged) {
    let in_files = logged.in_files();
    assert!(in_files.iter().any(|event| event.header.size > 0x100_0000), "one must be larger than a packet");
    let kinds = match logged.server.flavour() {
        Flavour::MariaDb => [
            Kind::MARIADB_WRITE_ROWS_COMPRESSED_V1,
            Kind::MARIADB_ANNOTATE_ROWS,
            Kind::BEGIN_LOAD_QUERY,
            Kind::USER_VAR,
        ],
        Flavour::MySql => {
            [Kind::TRANSACTION_PAYLOAD, Kind::ROWS_QUERY, Kind::BEGIN_LOAD_QUERY, Kind::USER_VAR]
        }
    };
    for kind in kinds {
        assert!(in_files.iter().any(|event| event.header.kind == kind), "there must be a {kind} event");
    }
    let closed: Vec<_> = (1..=CLOSED).map(name).collect();
    let closed: Vec<_> = closed.iter().map(String::as_str).collect();
    assert_same(&logged.sent(&closed).unwrap(), &in_files);
    // With the log that is open, to which other tests write.
    let all = logged.sent(&[]).unwrap();
    assert_same(&all[..in_files.len()], &in_files);
    assert_eq!(all[in_files.len()].log, name(CLOSED + 1));
    assert_eq!(all[in_files.len()].position, 4);
}

fn a_stream_may_begin_at_any_transaction(logged: &Logged) {
    let in_second: Vec<_> = logged.in_files().into_iter().filter(|event| event.log == name(2)).collect();
    let begins = in_second.iter().filter(|event| event.place.begins()).map(|event| event.position);
    let begins: Vec<_> = begins.collect();
    for at in [begins[0], begins[7], *begins.last().unwrap(), in_second.last().unwrap().position] {
        let sent = logged.sent(&["--start-position", &at.to_string(), &name(2)]).unwrap();
        assert_eq!((sent[0].kind, sent[0].position), (Kind::FORMAT_DESCRIPTION, 4));
        let rest: Vec<_> = in_second.iter().filter(|event| event.position >= at).cloned().collect();
        assert_same(&sent[1..], &rest);
    }
    // The log goes on in the next one.
    let at = begins[3].to_string();
    let sent = logged.sent(&["--start-position", &at, &name(2), &name(3)]).unwrap();
    assert!(sent.iter().any(|event| event.log == name(3) && event.position > 4));

    let within = in_second.iter().find(|event| event.kind == Kind::TABLE_MAP).unwrap().position;
    let error = logged.sent(&["--start-position", &within.to_string(), &name(2)]).unwrap_err();
    let words = format!("binlog.000002: at {within}: a Table_map event, with which no transaction begins");
    assert_eq!(error.to_string(), words);
}

fn named_logs_come_in_any_order(logged: &Logged) {
    let in_files = logged.in_files();
    let of = |number: usize| in_files.iter().filter(move |event| event.log == name(number)).cloned();
    assert_same(&logged.sent(&[&name(2)]).unwrap(), &of(2).collect::<Vec<_>>());
    let expected: Vec<_> = of(3).chain(of(1)).collect();
    assert_same(&logged.sent(&[&name(3), &name(1)]).unwrap(), &expected);
    let last = logged.sent(&[&name(CLOSED + 1), &name(1)]).unwrap();
    assert_eq!(last[0].log, name(CLOSED + 1));
    assert_eq!(last.last().unwrap().log, name(1));
}

fn what_comes_behind_some_transactions(logged: &Logged) {
    let rest = |from: usize| {
        let after =
            |event: &Seen| event.log >= name(from) && !event.is_of_log() && event.kind != Kind::ROTATE;
        logged.in_files().into_iter().filter(after).collect::<Vec<_>>()
    };
    let sent = |set: &str| {
        let sent = logged.sent(&["--after-gtids", set]).unwrap();
        let wanted =
            |event: &Seen| event.log <= name(CLOSED) && !event.is_of_log() && event.kind != Kind::ROTATE;
        let mut wanted: Vec<_> = sent.into_iter().filter(wanted).collect();
        // What belongs to no transaction, as the checkpoint that MariaDB notes, comes also before them.
        wanted.retain(|event| event.place != Place::Outside);
        wanted
    };
    let transactions = |events: Vec<Seen>| {
        events.into_iter().filter(|event| event.place != Place::Outside).collect::<Vec<_>>()
    };
    assert_same(&sent(&logged.gtids), &transactions(rest(2)));
    assert_same(&sent(""), &transactions(rest(1)));
    let all = logged.sql(gtids_of(logged.server.flavour()));
    let none = logged.sent(&["--after-gtids", &all]).unwrap();
    assert!(none.iter().all(|event| event.place == Place::Outside || event.log > name(CLOSED)), "{none:?}");

    let other = match logged.server.flavour() {
        Flavour::MariaDb => "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5",
        Flavour::MySql => "0-1-5",
    };
    let error = logged.sent(&["--after-gtids", other]).unwrap_err();
    assert!(error.to_string().starts_with("--after-gtids: the server is"), "{error}");
}

/// Steps until an event comes whose body holds this text.
fn await_text(chain: &mut Chain, text: &str) -> Result<Seen, Error> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while chain.step()? {
        let event = seen(chain);
        if event.body.windows(text.len()).any(|part| part == text.as_bytes()) {
            return Ok(event);
        }
        assert!(Instant::now() < deadline, "waited in vain for {text}");
    }
    panic!("the stream ended before {text}");
}

fn a_log_is_followed_until_somebody_stops_it(logged: &Logged) {
    let stop = Arc::new(Stop::default());
    let mut chain = logged.chain(&["--follow", &name(CLOSED + 1)], &stop).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sleep(Duration::from_millis(500));
            logged.sql("INSERT INTO shop.t (a) VALUES ('committed later')");
        });
        let first = await_text(&mut chain, "committed later").unwrap();
        logged.sql("FLUSH BINARY LOGS; INSERT INTO shop.t (a) VALUES ('in the next log')");
        let second = await_text(&mut chain, "in the next log").unwrap();
        assert!(second.log > first.log, "{first:?} {second:?}");
        scope.spawn(|| {
            sleep(Duration::from_millis(300));
            stop.request();
        });
        let rest = events(&mut chain);
        assert!(matches!(rest, Err(Error::Stopped)), "{rest:?}");
    });
}

/// The sessions that send logs.
const SENDERS: &str = "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%' ORDER BY ID DESC LIMIT 1";

fn followers_leave_each_other_alone(logged: &Logged) {
    // One of its own: the others' must not be ended.
    let server = start(logged.server.flavour(), &[]);
    let follow = |arguments: &[&str]| {
        let arguments = [&["--follow"], arguments].concat();
        chain(&server, "root", &arguments, &Arc::new(Stop::default())).unwrap()
    };
    let insert = |text: &str| sql(&server, &format!("CREATE DATABASE {text}"));
    let mut all = [follow(&[]), follow(&[]), follow(&["--server-id-as", "7"])];
    insert("one");
    all.iter_mut().for_each(|chain| drop(await_text(chain, "one").unwrap()));
    let mut same = follow(&["--server-id-as", "7"]);
    insert("two");
    await_text(&mut same, "two").unwrap();
    let [first, second, third] = &mut all;
    await_text(first, "two").unwrap();
    await_text(second, "two").unwrap();
    match server.flavour() {
        Flavour::MySql => drop(await_text(third, "two").unwrap()),
        Flavour::MariaDb => {
            let error = await_text(third, "two").unwrap_err();
            let hint = error.hint().unwrap_or_default();
            assert!(hint.contains("--server-id-as"), "{error} {hint}");
        }
    }

    sql(&server, &format!("KILL QUERY {}", sql(&server, SENDERS)));
    let error = events(&mut same).unwrap_err();
    assert!(error.to_string().contains("the server ended the stream"), "{error}");
    let hint = error.hint().unwrap_or_default();
    assert!(hint.contains("--from-server --start-position") && hint.ends_with("binlog.000001"), "{hint}");
}

fn a_stream_that_is_cut_off_says_where_to_go_on(logged: &Logged) {
    let server = start(logged.server.flavour(), &[&["--binlog-format=ROW"], LONG_STATEMENTS].concat());
    sql(&server, "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, a LONGTEXT)");
    for _ in 0..6 {
        sql(&server, "INSERT INTO shop.t (a) VALUES (REPEAT('much ', 2000000))");
    }
    for kill in ["KILL QUERY", "KILL"] {
        let mut chain = chain(&server, "root", &[], &Arc::new(Stop::default())).unwrap();
        assert!(chain.step().unwrap());
        // The server has filled all buffers between it and us, and waits.
        sleep(Duration::from_millis(300));
        sql(&server, &format!("{kill} {}", sql(&server, SENDERS)));
        let mut last = None;
        let error = loop {
            match chain.step() {
                Ok(true) => last = Some(seen(&chain)),
                Ok(false) => panic!("the end of the log after {last:?}"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Sent { whole: Some(_), .. }), "{error:?}");
        let Error::Sent { whole: Some(whole), .. } = error else { unreachable!() };
        let arguments = ["--start-position", &whole.to_string(), &name(1)];
        let rest = events(&mut self::chain(&server, "root", &arguments, &Arc::new(Stop::default())).unwrap());
        assert!(rest.unwrap().iter().any(|event| event.position == whole && event.place.begins()));
    }
}

fn what_cannot_be_is_told(logged: &Logged) {
    let told = |user: &str, arguments: &[&str]| {
        let stop = Arc::new(Stop::default());
        let chain = chain(&logged.server, user, arguments, &stop);
        let error = chain.and_then(|mut chain| events(&mut chain)).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default())
    };
    let (error, hint) = told("root", &["binlog.000099"]);
    assert!(error.starts_with("the server has no log 'binlog.000099'; it has binlog.000001 to"), "{error}");
    assert!(hint.contains("purged"), "{hint}");

    let (error, hint) = told("reader", &[]);
    assert!(error.starts_with("listing the server's logs: Access denied"), "{error}");
    assert!(hint.contains("GRANT REPLICATION SLAVE, REPLICATION CLIENT"), "{hint}");
    logged.sql("GRANT REPLICATION CLIENT ON *.* TO reader@localhost");
    let (error, hint) = told("reader", &[]);
    assert!(error.contains("Access denied") && error.contains("REPLICATION SLAVE"), "{error}");
    assert!(hint.contains("GRANT REPLICATION SLAVE, REPLICATION CLIENT"), "{hint}");

    let (error, hint) = told("root", &["--start-position", "99999999", &name(1)]);
    assert!(error.starts_with("asking for the server's logs: Client requested"), "{error}");
    assert!(hint.contains("where an event begins"), "{hint}");
    let end =
        logged.in_files().iter().filter(|event| event.log == name(1)).map(|event| event.end).max().unwrap();
    let (error, hint) = told("root", &["--start-position", &(end - 5).to_string(), &name(1)]);
    assert!(hint.contains("where an event begins"), "{error} {hint}");
    let (error, hint) = told("root", &["--start-position", "131", &name(1)]);
    let is_told = hint.contains("where an event begins") || error.ends_with("at 131: no event begins there");
    assert!(is_told, "{error} {hint}");

    let far = match logged.server.flavour() {
        Flavour::MariaDb => "0-1-999999",
        Flavour::MySql => "",
    };
    if !far.is_empty() {
        let (error, hint) = told("root", &["--after-gtids", far]);
        assert!(hint.contains("does not have any more, or they are not its own"), "{error} {hint}");
    }
    let (error, _) = told("root", &["--follow", "--stop-position", "99"]);
    assert!(error.starts_with("--stop-position is one in the last log"), "{error}");

    // Without GTIDs (MySQL), or with the first ones gone (MariaDB).
    let plain = start(logged.server.flavour(), &[]);
    sql(&plain, "CREATE DATABASE one; FLUSH BINARY LOGS");
    // MariaDB keeps a log that it would need after a crash a moment longer.
    while sql(&plain, "PURGE BINARY LOGS TO 'binlog.000002'; SHOW BINARY LOGS").contains(&name(1)) {
        sleep(Duration::from_millis(20));
    }
    let stop = Arc::new(Stop::default());
    let error = chain(&plain, "root", &["--after-gtids", ""], &stop).and_then(|mut chain| events(&mut chain));
    let hint = error.unwrap_err().hint().unwrap_or_default();
    assert!(hint.contains("gives out no GTIDs") || hint.contains("does not have any more"), "{hint}");

    let silent = start(logged.server.flavour(), &["--skip-log-bin"]);
    let error = chain(&silent, "root", &[], &Arc::new(Stop::default())).err().unwrap();
    assert!(error.hint().unwrap_or_default().contains("--log-bin"), "{error}");
}
