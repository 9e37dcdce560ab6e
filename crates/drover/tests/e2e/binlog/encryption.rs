//! Encrypted logs as real servers of both vendors write them, compared with what the same servers send to a client, for
//! which they decrypt them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_binlog::Keyring;
use drover_binlog::log::{Header, Kind, Reader};
use drover_sandbox::{Flavour, Server, ServerBinaries};
use serde_json::Value;

use crate::client::sql;
use crate::drover::{Output, drover, run};
use crate::servers::{is_wanted, start, start_at};

const SERVERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.servers");

/// Statements and rows, events of all lengths, and one larger than what is read at once.
const TRAFFIC: &str = "
    CREATE DATABASE enc; USE enc;
    CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT) ENGINE=InnoDB;
    SET binlog_format = STATEMENT;
    SET @a = 'ünï'; INSERT INTO t VALUES (1, @a), (2, RAND());
    INSERT INTO t VALUES (3, 'a'); INSERT INTO t VALUES (4, 'aa'); INSERT INTO t VALUES (5, 'aaa');
    INSERT INTO t VALUES (6, 'aaaaaaaaaaaaaaa'); INSERT INTO t VALUES (7, 'aaaaaaaaaaaaaaaaa');
    SET binlog_format = ROW;
    INSERT INTO t SELECT id + 10, REPEAT('b', 10 * id) FROM t;
    UPDATE t SET v = CONCAT(v, 'c'); DELETE FROM t WHERE id = 11;
    FLUSH BINARY LOGS;
    INSERT INTO t VALUES (100, REPEAT('large ', 200000));
    BEGIN; INSERT INTO t VALUES (101, 'x'); INSERT INTO t VALUES (102, 'y'); COMMIT;
    FLUSH BINARY LOGS;
    CREATE TABLE u (id INT);";

#[test]
fn mariadb_in_both_modes_with_keys_of_all_sizes() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let keys = directory.path().join("keys.txt");
    for (algorithm, checksum, key) in [
        ("AES_CBC", "CRC32", "770A8A65DA156D24EE2A093277530142"),
        ("AES_CTR", "CRC32", "18420B5CBA31CCDFFE9716E91EB61374D05914F3ADE23E03"),
        ("AES_CBC", "NONE", "B374A26A71490437AA024E4FADD5B497FDFF1A8EA6FF12F6FB65AF2720B59CCF"),
        ("AES_CTR", "NONE", "966050D7777350B6FD5CCB3E5F648DA45C63BEFB6DEDDFA13443F156B7D35C84"),
    ] {
        fs::write(&keys, format!("# of a test\n1;{key}\n2;4D92199549E0F2EF009B4160F3582E55\n")).unwrap();
        let server = mariadb(
            &keys,
            &[
                &format!("--file-key-management-encryption-algorithm={algorithm}"),
                &format!("--binlog-checksum={checksum}"),
            ],
        );
        sql(&server, TRAFFIC);
        let seen = compare(&server, &keys, None);
        assert!(
            seen.contains(&Kind::MARIADB_START_ENCRYPTION) && seen.contains(&Kind::WRITE_ROWS_V1),
            "{seen:?}"
        );
    }
}

#[test]
fn mariadb_with_a_file_of_keys_that_is_encrypted_itself() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [plain, keys, password] = ["plain", "keys.enc", "password"].map(|name| directory.path().join(name));
    fs::write(&plain, "1;770A8A65DA156D24EE2A093277530142\n").unwrap();
    fs::write(&password, "not to be seen\n").unwrap();
    let pass = format!("file:{}", password.display());
    let mut openssl = std::process::Command::new("openssl");
    openssl
        .args(["enc", "-aes-256-cbc", "-md", "sha1", "-pass", &pass, "-in"])
        .arg(&plain)
        .arg("-out")
        .arg(&keys);
    assert!(openssl.output().unwrap().status.success());
    let server = mariadb(&keys, &[&format!("--file-key-management-filekey=FILE:{}", password.display())]);
    sql(&server, TRAFFIC);
    compare(&server, &keys, Some(&password));
}

#[test]
fn mariadb_without_the_right_key() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [keys, others] = ["keys", "others"].map(|name| directory.path().join(name));
    fs::write(&keys, "1;770A8A65DA156D24EE2A093277530142\n").unwrap();
    fs::write(&others, "1;770A8A65DA156D24EE2A093277530143\n").unwrap();
    for checksum in ["CRC32", "NONE"] {
        let server = mariadb(&keys, &[&format!("--binlog-checksum={checksum}")]);
        sql(&server, TRAFFIC);
        let log = server.datadir().join("binlog.000001");
        assert_refused(
            &ls(&log, None, None),
            2,
            &[
                "binlog.000001: from 29",
                "on it is encrypted by MariaDB, with the key 1\n",
                "hint: give the server's file of keys, which its file_key_management_filename names, with --keyring",
            ],
        );
        assert_refused(&ls(&log, Some(&others), None), 2, &["others does not open the event"]);
        assert_refused(
            &ls(&log, Some(&log), None),
            0,
            &["it is no file of keys: its line 1 is not NUMBER;KEY"],
        );
    }
}

/// The log of MariaDB 10.2 that its own tests have. What is in it, mariadb-binlog of 10.11 tells too.
#[test]
fn mariadb_of_an_old_version() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let logs = Path::new(SERVERS).join("binlogs/std_data");
    let keyring = Arc::new(Keyring::read(&logs.join("keys.txt"), None).unwrap());
    let (events, error) = read(&logs.join("binlog_before_20574.bin"), Some(&keyring));
    assert_eq!(error, None);
    let found: Vec<_> = events.iter().map(|event| (event.position, event.header.kind)).collect();
    assert_eq!(
        found[..4],
        [
            (4, Kind::FORMAT_DESCRIPTION),
            (256, Kind::MARIADB_START_ENCRYPTION),
            (296, Kind::MARIADB_GTID_LIST),
            (325, Kind::MARIADB_BINLOG_CHECKPOINT),
        ]
    );
    assert_eq!((found.len(), events[15].end), (16, 1022));
    assert!(events.iter().all(|event| u64::from(event.header.next_position) == event.end));
}

/// What a replica writes into its relay logs is what it was sent, whose positions are those of the source's logs. They may
/// begin with the source's format description, and with a Rotate event of either server.
#[test]
fn mariadb_relay_logs() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let keys = directory.path().join("keys");
    fs::write(&keys, "1;770A8A65DA156D24EE2A093277530142\n").unwrap();
    for checksum in ["--binlog-checksum=CRC32", "--binlog-checksum=NONE"] {
        let source = start(Flavour::MariaDb, &[checksum]);
        sql(&source, "CREATE USER relay@'%' IDENTIFIED BY 'x'; GRANT REPLICATION SLAVE ON *.* TO relay@'%'");
        sql(&source, TRAFFIC);
        let replica = mariadb(&keys, &[checksum, "--relay-log=relay", "--log-slave-updates=ON"]);
        let begin =
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_USER = 'relay', MASTER_PASSWORD = 'x',
            MASTER_LOG_FILE = 'binlog.000001', MASTER_LOG_POS = 4, MASTER_USE_GTID = NO, MASTER_PORT =";
        sql(&replica, format!("{begin} {}; START SLAVE IO_THREAD", source.port()));
        for before in ["DO 0", "FLUSH RELAY LOGS", "STOP SLAVE; START SLAVE IO_THREAD"] {
            wait_until_relayed(&source, &replica);
            sql(&replica, before);
            sql(&source, "INSERT INTO enc.u VALUES (1)");
        }
        wait_until_relayed(&source, &replica);
        sql(&replica, "STOP SLAVE");

        let keyring = Arc::new(Keyring::read(&keys, None).unwrap());
        let own = events_of(&source, "binlog.0", None);
        let relayed = events_of(&replica, "relay.0", Some(&keyring));
        let (relayed, own) = (relayed.iter().map(Seen::as_relayed), own.iter().map(Seen::as_relayed));
        let of_source =
            |(header, _): &(Header, &[u8])| u64::from(header.server_id) == u64::from(source.port());
        assert!(relayed.filter(of_source).eq(own), "{checksum}");
    }
}

/// Waits until the replica has all that the source has logged.
fn wait_until_relayed(source: &Server, replica: &Server) {
    let start = Instant::now();
    loop {
        let (last, status) = (sql(source, "SHOW MASTER STATUS"), sql(replica, "SHOW SLAVE STATUS"));
        if status[0][5..7] == last[0][..2] {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All events that stand in a server's logs of that name, but those around them.
fn events_of(server: &Server, name: &str, keyring: Option<&Arc<Keyring>>) -> Vec<Seen> {
    let mut logs: Vec<_> =
        fs::read_dir(server.datadir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with(name));
    logs.sort();
    assert!(logs.len() > 2, "{logs:?}");
    let mut all = Vec::new();
    for log in logs {
        let (events, error) = read(&log, keyring);
        assert_eq!(error, None);
        all.extend(events);
    }
    all.retain(|event| ![Kind::FORMAT_DESCRIPTION, Kind::ROTATE, Kind::STOP].contains(&event.header.kind));
    all
}

#[test]
fn mysql_across_a_rotation_of_its_key() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let server = mysql();
    let directory = tempfile::tempdir().unwrap();
    let [keyring, log] = ["keyring", "binlog.000003"].map(|name| server.datadir().join(name));
    let [old_keyring, old_log] = ["keyring", "binlog.000003"].map(|name| directory.path().join(name));
    sql(&server, TRAFFIC);
    let seen = compare(&server, &keyring, None);
    assert!(seen.contains(&Kind::WRITE_ROWS) && seen.contains(&Kind::USER_VAR), "{seen:?}");
    fs::copy(&keyring, &old_keyring).unwrap();
    fs::copy(&log, &old_log).unwrap();
    sql(&server, "ALTER INSTANCE ROTATE BINLOG MASTER KEY; INSERT INTO enc.u VALUES (1);");
    compare(&server, &keyring, None);

    // The server writes the headers of all its logs anew, with the new key, and forgets the old one.
    assert_eq!(ls(&old_log, Some(&old_keyring), None).code, Some(0));
    let hint =
        "hint: give the server's keyring file, which its component_keyring_file.cnf names, with --keyring";
    let said = "binlog.000003: it is encrypted by MySQL, with the key MySQLReplicationKey_";
    assert_refused(&ls(&log, None, None), 0, &[said, hint]);
    assert_refused(&ls(&log, Some(&old_keyring), None), 0, &[said, "_2: ", "keyring does not have it"]);
    assert_refused(&ls(&old_log, Some(&keyring), None), 0, &[said, "_1: ", "keyring does not have it"]);

    // Another key of the same name.
    let content = fs::read_to_string(&old_keyring).unwrap();
    let at = content.find(r#""data":""#).unwrap() + 8;
    let other = if content[at..].starts_with('0') { "1" } else { "0" };
    fs::write(&old_keyring, format!("{}{other}{}", &content[..at], &content[at + 1..])).unwrap();
    assert_refused(&ls(&old_log, Some(&old_keyring), None), 0, &["_1 in ", "keyring does not open it"]);
}

/// `drover binlog ls` of a log.
fn ls(log: &Path, keyring: Option<&Path>, password: Option<&Path>) -> Output {
    let mut command = drover("binlog ls --events --json");
    if let Some(keyring) = keyring {
        command.arg("--keyring").arg(keyring);
    }
    if let Some(password) = password {
        command.arg("--keyring-password-file").arg(password);
    }
    run(command.arg(log))
}

/// Asserts that so many events were listed before an error that says this, and no key.
fn assert_refused(output: &Output, listed: usize, said: &[&str]) {
    assert_eq!(output.code, Some(2), "{output}");
    assert_eq!(output.json()["lines"].as_array().unwrap().len(), listed, "{output}");
    assert!(said.iter().all(|said| output.stderr.contains(said)), "{output}");
    assert!(!output.stderr.to_uppercase().contains("770A8A65"), "{output}");
}

/// Compares all logs of a server, and gives back the types of their events.
fn compare(server: &Server, keys: &Path, password: Option<&Path>) -> Vec<Kind> {
    let keyring = Arc::new(Keyring::read(keys, password).unwrap());
    let mut seen = Vec::new();
    for row in sql(server, "SHOW BINARY LOGS") {
        let log = &row[0];
        let (events, error) = read(&server.datadir().join(log), Some(&keyring));
        assert_eq!(error, None, "{log}");
        let (sent, error) = read(&sent(server, log), None);
        assert_eq!(error, None, "{log} as it was sent");
        assert_eq!(events.len(), sent.len(), "{log}");
        for (event, sent) in events.iter().zip(&sent) {
            assert!(event.as_sent() == sent.as_sent(), "{log}: {:?} {:?}", event.header, sent.header);
        }
        let told: Vec<_> = sql(server, format!("SHOW BINLOG EVENTS IN '{log}'"))
            .into_iter()
            .map(|row| {
                (row[1].parse().unwrap(), row[2].replace("User var", "User_var"), row[4].parse().unwrap())
            })
            .collect();
        assert_eq!(listed(&ls(&server.datadir().join(log), Some(keys), password)), told, "{log}");
        seen.extend(events.iter().map(|event| event.header.kind));
    }
    seen
}

/// Where each event that was listed begins, its type, and where it ends.
fn listed(output: &Output) -> Vec<(u64, String, u64)> {
    assert_eq!(output.code, Some(0), "{output}");
    let document = output.json();
    let number = |line: &Value, field: &str| line[field].as_u64().unwrap();
    let lines = document["lines"].as_array().unwrap().iter();
    lines
        .map(|line| (number(line, "position"), line["event"].as_str().unwrap().into(), number(line, "end")))
        .collect()
}

struct Seen {
    position: u64,
    end: u64,
    header: Header,
    body: Vec<u8>,
}

impl Seen {
    /// As the server sends it: the flag of a log in use is not set, and the beginning of encryption is to be passed over.
    fn as_sent(&self) -> (u64, u64, Header, &[u8]) {
        let mut header = self.header;
        header.flags &= !Header::IN_USE;
        if header.kind == Kind::MARIADB_START_ENCRYPTION {
            header.flags |= Header::IGNORABLE;
        }
        (self.position, self.end, header, &self.body)
    }

    /// What is the same in a relay log.
    fn as_relayed(&self) -> (Header, &[u8]) {
        (self.header, &self.body)
    }
}

/// The events of a log, and the error that they end with.
fn read(log: &Path, keyring: Option<&Arc<Keyring>>) -> (Vec<Seen>, Option<String>) {
    let mut events = Vec::new();
    let input = Box::new(File::open(log).unwrap());
    let mut reader = match Reader::new(log.display().to_string(), input, true, keyring.cloned()) {
        Ok(reader) => reader,
        Err(error) => return (events, Some(error.to_string())),
    };
    loop {
        match reader.step() {
            Ok(true) => {
                let event = reader.event();
                let (position, end, header, body) =
                    (event.position, event.end, event.header, event.body.to_vec());
                events.push(Seen { position, end, header, body });
            }
            Ok(false) => return (events, None),
            Err(error) => return (events, Some(error.to_string())),
        }
    }
}

/// The log as the server sends it to the vendor's own program, as a file.
fn sent(server: &Server, log: &str) -> PathBuf {
    let directory = server.datadir().join("sent-");
    let mut program = server.client("mysqlbinlog");
    program
        .args(["--read-from-remote-server", "--raw", log])
        .arg(format!("--result-file={}", directory.display()));
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    server.datadir().join(format!("sent-{log}"))
}

/// A server that encrypts its logs with the first of these keys; `scripts/setup` fetches the plugin.
fn mariadb(keys: &Path, options: &[&str]) -> Server {
    let keys = format!("--file-key-management-filename={}", keys.display());
    let plugins = format!("--plugin-dir={SERVERS}/mariadb-plugins");
    let own = [&plugins, "--plugin-load-add=file_key_management", &keys, "--encrypt-binlog=ON"];
    start(Flavour::MariaDb, &[&own, options].concat())
}

/// A server that encrypts its logs with keys in the file `keyring` of its data directory. A server reads which component it
/// shall load from a file beside its program, so it is run from a tree of its own.
fn mysql() -> Server {
    let tree = mysql_tree();
    let plugins = format!("--plugin-dir={}", tree.join("plugin").display());
    let mut server = start_at(Flavour::MySql, Some(tree.join("usr/sbin/mysqld")), &[&plugins]);
    let keyring = server.datadir().join("keyring");
    let config = format!(r#"{{"path": "{}", "read_only": false}}"#, keyring.display());
    fs::write(server.datadir().join("component_keyring_file.cnf"), config).unwrap();
    fs::write(server.datadir().join("mysqld.my"), r#"{"components": "file://component_keyring_file"}"#)
        .unwrap();
    server.restart().unwrap();
    sql(&server, "SET GLOBAL binlog_encryption = ON");
    server
}

/// The server's own files, as links, with one of the program and of the component beside which these look for settings: both
/// say that those in the data directory count.
fn mysql_tree() -> PathBuf {
    let found = ServerBinaries::find(Some(Flavour::MySql), None).unwrap();
    let tree = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mysql-that-encrypts");
    let _of_an_earlier_run = fs::remove_dir_all(&tree);
    fs::create_dir_all(tree.join("usr/sbin")).unwrap();
    fs::create_dir_all(tree.join("plugin")).unwrap();
    for name in ["bin", "lib", "share"] {
        std::os::unix::fs::symlink(found.basedir().join(name), tree.join("usr").join(name)).unwrap();
    }
    fs::copy(found.server(), tree.join("usr/sbin/mysqld")).unwrap();
    let component = "component_keyring_file.so";
    fs::copy(found.basedir().join("lib/mysql/plugin").join(component), tree.join("plugin").join(component))
        .unwrap();
    fs::write(tree.join("usr/sbin/mysqld.my"), r#"{"read_local_manifest": true}"#).unwrap();
    fs::write(tree.join("plugin/component_keyring_file.cnf"), r#"{"read_local_config": true}"#).unwrap();
    tree
}
