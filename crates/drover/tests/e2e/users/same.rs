//! Dumped and restored to a server of the same vendor.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use drover_sandbox::{Flavour, Server};

use super::{assert_same, described, login, logs_in, server, stays_out};
use crate::client::{run_script, sql, value};
use crate::drover::{copy, dump, restore, run, verify};
use crate::files::{files_in, manifest_path};
use crate::servers::{on_both, start, start_unsynced};

on_both!(
    everything_comes_back,
    alone,
    by_hand,
    needs_a_privilege,
    renamed_schema,
    definers,
    plugins,
    gone_on_with
);

const BOTH: &str = r#"CREATE PROCEDURE shop.p() SELECT 1;
CREATE VIEW shop.looks AS SELECT id FROM shop.orders;
CREATE ROLE readers, writers, `we ird'r`;
CREATE USER ''@'localhost'; CREATE USER `o'dd \\ "n``a%_me é`@localhost REQUIRE X509;
CREATE USER ann@localhost IDENTIFIED BY 's3cret-ann' WITH MAX_QUERIES_PER_HOUR 500 MAX_USER_CONNECTIONS 7;
CREATE USER bob@localhost IDENTIFIED BY 's3cret-bob' PASSWORD EXPIRE NEVER;
CREATE USER gone@localhost IDENTIFIED BY 's3cret-gone' ACCOUNT LOCK;
CREATE USER old@localhost IDENTIFIED BY 's3cret-old' PASSWORD EXPIRE;
CREATE USER net@'10.0.0.0/255.0.0.0' REQUIRE SUBJECT '/CN=a' AND ISSUER '/CN=''b' AND CIPHER 'AES';
CREATE USER boss@localhost IDENTIFIED BY 's3cret-boss';
GRANT ALL ON *.* TO boss@localhost WITH GRANT OPTION;
GRANT SELECT (id), INSERT (v), UPDATE ON shop.orders TO ann@localhost WITH GRANT OPTION;
GRANT SELECT ON shop.looks TO ann@localhost;
GRANT EXECUTE ON PROCEDURE shop.p TO ann@localhost;
GRANT SELECT, CREATE ROUTINE ON `sh\_p`.* TO bob@localhost;
GRANT ALL ON `other%`.* TO bob@localhost;
GRANT SELECT ON shop.* TO readers;
GRANT INSERT, UPDATE ON shop.* TO writers;
GRANT readers TO writers;
GRANT writers TO bob@localhost WITH ADMIN OPTION; GRANT `we ird'r` TO bob@localhost;
GRANT PROXY ON ann@localhost TO bob@localhost WITH GRANT OPTION; GRANT PROXY ON ''@'' TO ann@localhost;
"#;

const MARIADB: &str = r"SET DEFAULT ROLE writers FOR bob@localhost;
CREATE USER sock@localhost IDENTIFIED VIA unix_socket USING 'root' OR mysql_native_password USING PASSWORD('s3cret-sock');
CREATE USER slow@localhost WITH MAX_STATEMENT_TIME 1.25 MAX_USER_CONNECTIONS -1;
CREATE USER soon@localhost IDENTIFIED BY 's3cret' PASSWORD EXPIRE INTERVAL 3 DAY;
  ALTER USER soon@localhost PASSWORD EXPIRE;
GRANT BINLOG MONITOR, SLAVE MONITOR, SET USER ON *.* TO slow@localhost;
GRANT DELETE ON shop.orders TO PUBLIC; GRANT SHOW DATABASES ON *.* TO PUBLIC;
CREATE ROLE theirs WITH ADMIN bob@localhost;";

const MYSQL: &str = r#"SET DEFAULT ROLE writers, `we ird'r` TO bob@localhost;
CREATE USER rules@localhost IDENTIFIED BY 's3cret' PASSWORD EXPIRE INTERVAL 3 DAY PASSWORD HISTORY 5 PASSWORD REUSE INTERVAL 7 DAY
  PASSWORD REQUIRE CURRENT OPTIONAL FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED ATTRIBUTE '{"a": "it''s \\"é"}';
CREATE USER two@localhost IDENTIFIED BY 's3cret-one';
  ALTER USER two@localhost IDENTIFIED BY 's3cret-two' RETAIN CURRENT PASSWORD;
CREATE USER sha@localhost IDENTIFIED WITH sha256_password BY 's3cret-sha' COMMENT 'a note';
GRANT REPLICATION CLIENT, SYSTEM_VARIABLES_ADMIN ON *.* TO sha@localhost;
  GRANT ROLE_ADMIN ON *.* TO sha@localhost WITH GRANT OPTION;
CREATE ROLE far@'10.%'; GRANT far@'10.%' TO sha@localhost; GRANT ann@localhost TO sha@localhost;
GRANT CREATE ON shop.later TO sha@localhost;
SET GLOBAL partial_revokes = ON;
CREATE USER part@localhost; GRANT SELECT, INSERT ON *.* TO part@localhost;
  REVOKE INSERT ON shop.* FROM part@localhost;"#;

fn populated(flavour: Flavour) -> Server {
    let server = server(flavour);
    let own = if flavour == Flavour::MariaDb { MARIADB } else { MYSQL };
    run_script(&server, None, BOTH.as_bytes()).unwrap();
    run_script(&server, None, own.as_bytes()).unwrap();
    server
}

fn empty(flavour: Flavour) -> Server {
    start(flavour, if flavour == Flavour::MySql { &["--partial-revokes=ON"] } else { &[] })
}

fn everything_comes_back(flavour: Flavour) {
    let (source, target, dir) = (populated(flavour), empty(flavour), tempfile::tempdir().unwrap());
    let before = described(&source);
    let dumped = run(&mut dump(&source, "shop --users", dir.path())).done();
    assert!(dumped.stdout.contains(" accounts"), "{dumped}");
    assert_same(&described(&source), &before);
    for name in ["@users.json", "@users.sql"] {
        assert_eq!(fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let restored = run(&mut restore(&target, dir.path(), "--users --json")).done();
    assert_eq!(restored.json()["users"]["not_held"].as_array().map(Vec::len), Some(0), "{restored}");
    assert_same(&described(&target), &before);
    for (user, password) in [("ann", "s3cret-ann"), ("bob", "s3cret-bob"), ("boss", "s3cret-boss")] {
        logs_in(&target, user, password);
        stays_out(&target, user, "wrong");
        stays_out(&target, user, "");
    }
    stays_out(&target, "gone", "s3cret-gone");
    assert!(login(&target, "ann", "s3cret-ann", "SELECT v FROM shop.orders").is_err());
    assert_eq!(login(&target, "ann", "s3cret-ann", "SELECT id FROM shop.looks").as_deref(), Ok("1"));
    assert!(login(&target, "bob", "s3cret-bob", "INSERT INTO shop.orders VALUES (5, 5)").is_ok());
    match flavour {
        Flavour::MariaDb => logs_in(&target, "sock", "s3cret-sock"),
        Flavour::MySql => {
            ["s3cret-one", "s3cret-two"].iter().for_each(|password| logs_in(&target, "two", password))
        }
    }
    sql(&target, "DELETE FROM shop.orders WHERE id = 5");
    for more in ["", " --no-verify"] {
        let resumed =
            run(&mut restore(&target, dir.path(), &format!("--users --resume --json{more}"))).done();
        assert_eq!(resumed.json()["verify"]["accounts"], restored.json()["verify"]["accounts"], "{resumed}");
    }
    sql(&target, "DROP USER boss@localhost");
    run(&mut restore(&target, dir.path(), "--users --resume")).done();
    logs_in(&target, "boss", "s3cret-boss");
    nothing_shows(&source, dir.path(), &[&dumped.stdout, &dumped.stderr, &restored.stdout, &restored.stderr]);
    again(&target, dir.path(), &before);
}

/// Of a server that has no schema yet.
fn alone(flavour: Flavour) {
    let [source, target] = &[(); 2].map(|()| start_unsynced(flavour, &[]));
    let dir = tempfile::tempdir().unwrap();
    let (out, state) = (dir.path().join("dump"), dir.path().join("state"));
    sql(
        source,
        "CREATE USER ann@localhost IDENTIFIED BY 's3cret'; CREATE ROLE readers; GRANT readers TO ann@localhost;
          GRANT SELECT ON later.* TO readers",
    );
    run(&mut dump(source, "", &out)).refused(&["nothing to dump"]);
    run(&mut dump(source, "--users --include no.*", &out)).refused(&["nothing to dump"]);
    run(&mut dump(source, "--users", &out)).done();
    let before = described(source);
    run(&mut restore(target, &out, "--check --users")).done();
    run(&mut restore(target, &out, "--users")).done();
    assert_same(&described(target), &before);
    logs_in(target, "ann", "s3cret");
    run(&mut verify(target, &out, "--users")).done();
    sql(target, "DROP USER ann@localhost; DROP ROLE readers");
    run(&mut copy(source, target, "--users", &state)).done();
    assert_same(&described(target), &before);
    assert_same(&described(source), &before);
}

/// Hashes stand in the two files and nowhere else.
fn nothing_shows(source: &Server, dir: &std::path::Path, printed: &[&str]) {
    let hash = value(source, "SELECT HEX(authentication_string) FROM mysql.user WHERE User = 'ann'");
    let bytes: Vec<u8> =
        (0..hash.len()).step_by(2).map(|at| u8::from_str_radix(&hash[at..at + 2], 16).unwrap()).collect();
    let tail = String::from_utf8_lossy(&bytes[bytes.len() - 20..]).into_owned();
    for file in files_in(dir).iter().filter(|file| !file.to_string_lossy().contains("@users")) {
        assert!(!String::from_utf8_lossy(&fs::read(file).unwrap()).contains(&tail), "{}", file.display());
    }
    assert!(printed.iter().all(|text| !text.contains(&tail)));
    assert!(fs::read_to_string(dir.join("@users.sql")).unwrap().len() > 1000 && manifest_path(dir).exists());
}

/// A second restore finds all accounts there and the same; what is changed afterwards is found.
fn again(target: &Server, dir: &std::path::Path, before: &[String]) {
    let second = run(&mut restore(target, dir, "--users --drop-existing --json")).done().json();
    assert_eq!(second["users"]["created"], 0, "{second}");
    assert_same(&described(target), before);
    run(&mut verify(target, dir, "--users")).done();
    sql(
        target,
        "ALTER USER ann@localhost IDENTIFIED BY 'another'; REVOKE SELECT ON shop.* FROM readers;
          GRANT DELETE ON shop.* TO bob@localhost; DROP USER gone@localhost",
    );
    let found = run(&mut verify(target, dir, "--users"));
    let words = [
        "account `ann`@`localhost`: its password is not",
        "it lacks GRANT SELECT",
        "does not have GRANT DELETE",
        "`gone`@`localhost`: it is not there",
    ];
    found.found(&words);
    run(&mut verify(target, dir, "")).done();
}

/// The script serves the vendor's own client.
fn by_hand(flavour: Flavour) {
    let (source, target, dir) = (populated(flavour), empty(flavour), tempfile::tempdir().unwrap());
    run(&mut dump(&source, "shop --users", dir.path())).done();
    run(&mut restore(&target, dir.path(), "")).done();
    assert!(described(&target).len() < 4, "accounts are restored only if asked for");
    let script = fs::read(dir.path().join("@users.sql")).unwrap();
    run_script(&target, None, &script).unwrap();
    let before = described(&source);
    assert_same(&described(&target), &before);
    logs_in(&target, "ann", "s3cret-ann");
}

fn needs_a_privilege(flavour: Flavour) {
    let (source, dir) = (server(flavour), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE USER poor@localhost; GRANT RELOAD, PROCESS, REPLICATION CLIENT ON *.* TO poor@localhost;
          GRANT ALL ON shop.* TO poor@localhost",
    );
    let table = if flavour == Flavour::MariaDb { "mysql.global_priv" } else { "mysql.user" };
    run(&mut dump(&source, "shop --users -u poor", &dir.path().join("a")))
        .refused(&[table, "hint: GRANT SELECT ON mysql.*"]);
    run(&mut dump(&source, "shop -u poor", &dir.path().join("b"))).done();
    run(&mut restore(&source, &dir.path().join("b"), "--users --drop-existing")).refused(&["no accounts"]);
}

fn renamed_schema(flavour: Flavour) {
    let (source, target, dir) = (server(flavour), start(flavour, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        r"CREATE USER ann@localhost IDENTIFIED BY 's3cret'; GRANT SELECT ON shop.* TO ann@localhost;
          GRANT UPDATE (v) ON shop.orders TO ann@localhost;
         CREATE USER bob@localhost; GRANT SELECT ON `sh%`.* TO bob@localhost",
    );
    run(&mut dump(&source, "shop --users", dir.path())).done();
    let restored = run(&mut restore(&target, dir.path(), "--users --into shop=new_shop"));
    restored.found(&[
        "`bob`@`localhost`: the pattern 'sh%' covered schema 'shop'",
        "ON `new\\_shop`.* TO `bob`@`localhost`",
    ]);
    assert_eq!(
        login(&target, "ann", "s3cret", "UPDATE new_shop.orders SET v = 2; SELECT v FROM new_shop.orders")
            .as_deref(),
        Ok("2")
    );
    assert!(!described(&target).join("\n").contains("ON `shop`"));
}

/// Views on views whose definers may read them by grants on single views only; a view that needs its definer's rights.
fn definers(flavour: Flavour) {
    let (source, target, dir) = (server(flavour), start(flavour, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE USER low@localhost IDENTIFIED BY 'l', mid@localhost, top@localhost IDENTIFIED BY 't'; USE shop;
          GRANT SELECT ON orders TO low@localhost;
         CREATE DEFINER = low@localhost VIEW z_low AS SELECT id FROM orders;
           GRANT SELECT ON z_low TO mid@localhost;
         CREATE DEFINER = mid@localhost VIEW m_mid AS SELECT id FROM z_low; GRANT SELECT ON m_mid TO top@localhost;
         CREATE DEFINER = top@localhost VIEW a_top AS SELECT id FROM m_mid;
           GRANT SELECT ON a_top TO top@localhost",
    );
    run(&mut dump(&source, "shop --users", dir.path())).done();
    let without = run(&mut restore(&target, dir.path(), "--check")).done();
    assert!(without.stderr.contains("'low'@'localhost'"), "{without}");
    let checked = run(&mut restore(&target, dir.path(), "--check --users")).done();
    assert!(!checked.stderr.contains("'low'@'localhost'"), "{checked}");
    run(&mut restore(&target, dir.path(), "--users")).done();
    assert_eq!(login(&target, "top", "t", "SELECT id FROM shop.a_top").as_deref(), Ok("1"));
    assert_same(&described(&target), &described(&source));
}

/// Plugins that are not built in: kept where the target has them too, else the account is locked.
fn plugins(flavour: Flavour) {
    let (install, account, options) = match flavour {
        Flavour::MariaDb => (
            "INSTALL SONAME 'auth_ed25519'",
            "CREATE USER eve@localhost IDENTIFIED VIA ed25519 USING PASSWORD('s3cret')",
            concat!("--plugin-dir=", env!("CARGO_MANIFEST_DIR"), "/../../.servers/mariadb-plugins"),
        ),
        Flavour::MySql => (
            "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'",
            "CREATE USER eve@localhost IDENTIFIED
              WITH caching_sha2_password BY 's3cret' AND IDENTIFIED WITH auth_socket AS 'root'",
            "--max-connections=50",
        ),
    };
    let is_there = std::path::Path::new(options.trim_start_matches("--plugin-dir=")).is_dir();
    let options: &[&str] = if is_there || flavour == Flavour::MySql { &[options] } else { &[] };
    let (source, with, dir) =
        (start(flavour, options), start(flavour, options), tempfile::tempdir().unwrap());
    sql(&source, format!("{install}; {account}; CREATE DATABASE shop"));
    sql(&with, install);
    run(&mut dump(&source, "shop --users", dir.path())).done();
    run(&mut restore(&with, dir.path(), "--users")).done();
    assert_same(&described(&with), &described(&source));
    logs_in(&with, "eve", "s3cret");
    stays_out(&with, "eve", "wrong");
    let without = start(flavour, &[]);
    run(&mut restore(&without, dir.path(), "--users"))
        .found(&["not held  `eve`@`localhost`", "ACCOUNT UNLOCK"]);
    sql(&without, "ALTER USER eve@localhost ACCOUNT UNLOCK");
    stays_out(&without, "eve", "s3cret");
    stays_out(&without, "eve", "");
}

/// A restore that ended after it had made the accounts: what it made of them is made anew.
fn gone_on_with(flavour: Flavour) {
    let (source, target, dir) = (server(flavour), start(flavour, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE PROCEDURE shop.p() SELECT 1; CREATE USER ann@localhost IDENTIFIED BY 's3cret', bob@localhost;
          GRANT SELECT ON shop.* TO bob@localhost;
         GRANT EXECUTE ON PROCEDURE shop.p TO ann@localhost; GRANT EXECUTE ON PROCEDURE shop.p TO bob@localhost",
    );
    run(&mut dump(&source, "shop --users", dir.path())).done();
    sql(&target, "CREATE DATABASE shop; CREATE PROCEDURE shop.p() SELECT 2");
    run(&mut restore(&target, dir.path(), "--users")).refused(&["p.procedure.sql"]);
    logs_in(&target, "ann", "s3cret");
    sql(&target, "ALTER USER ann@localhost IDENTIFIED BY 'half'");
    run(&mut restore(&target, dir.path(), "--users --resume")).done();
    assert_same(&described(&target), &described(&source));
    logs_in(&target, "ann", "s3cret");
}
