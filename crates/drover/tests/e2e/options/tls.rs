//! TLS and the ways to log in. MySQL makes itself certificates in its data directory; MariaDB has none, unless it is lent
//! MySQL's.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, try_sql};
use crate::drover::{Output, drover, run};
use crate::servers::{is_wanted, source, start};

/// A certificate authority that has signed no server's certificate. Its key is lost.
const STRANGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/options/stranger-ca.pem");

/// Where `scripts/setup` puts the plugins of MariaDB that its core package lacks.
const PLUGINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.servers/mariadb-plugins");

fn prepare(server: &Server) {
    sql(server, "CREATE DATABASE IF NOT EXISTS tls; CREATE TABLE IF NOT EXISTS tls.t (id INT PRIMARY KEY)");
}

fn account(server: &Server, name: &str, how: &str, requires: &str) {
    sql(
        server,
        format!("CREATE USER {name}@'127.0.0.1' {how} {requires}; GRANT ALL ON *.* TO {name}@'127.0.0.1'"),
    );
}

/// Dumps over TCP.
fn dumped(server: &Server, options: &str) -> Output {
    dumped_by(&format!("-h 127.0.0.1 -P {}", server.port()), options)
}

fn dumped_by(way: &str, options: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let line = format!("dump tls --no-defaults --threads 1 --lock-timeout 60 {way} {options} --out");
    run(drover(&line).arg(dir.path()))
}

fn modes(server: &Server, ca: &Path) {
    account(server, "secure", "IDENTIFIED BY 'pw'", "REQUIRE SSL");
    let login = "-u secure --password=pw";
    dumped(server, login).done();
    dumped(server, &format!("{login} --ssl-mode=REQUIRED")).done();
    dumped(server, &format!("{login} --ssl-mode=VERIFY_CA --ssl-ca={}", ca.display())).done();
    dumped(server, &format!("{login} --ssl-ca={}", ca.display())).done();
    dumped(server, &format!("{login} --ssl-mode=DISABLED")).refused(&["secure"]);
    dumped(server, &format!("{login} --ssl-mode=VERIFY_CA --ssl-ca={STRANGER}"))
        .refused(&["TLS", "127.0.0.1"]);
    // A CA that is given is one that must have signed.
    dumped(server, &format!("{login} --ssl-mode=REQUIRED --ssl-ca={}", ca.display())).done();
    for mode in ["REQUIRED", "PREFERRED"] {
        dumped(server, &format!("{login} --ssl-mode={mode} --ssl-ca={STRANGER} -q"))
            .refused(&["TLS", "127.0.0.1"]);
    }
    dumped(server, &format!("{login} --ssl-mode=VERIFY_CA --ssl-ca=/nowhere.pem")).refused(&["/nowhere.pem"]);
    dumped(server, &format!("{login} --ssl-mode=VERIFY_CA")).refused(&["--ssl-ca"]);
    // The certificates are made out to no host name.
    dumped(server, &format!("{login} --ssl-mode=VERIFY_IDENTITY --ssl-ca={}", ca.display()))
        .refused(&["TLS", "127.0.0.1"]);
}

fn mysql_modes(flavour: Flavour) {
    let server = source(flavour);
    prepare(server);
    modes(server, &server.datadir().join("ca.pem"));
}

/// The first login without TLS encrypts the password with the server's RSA key, if a person vouches for that key; later ones find
/// the password in the server's cache.
fn caching_sha2_without_tls(flavour: Flavour) {
    let server = source(flavour);
    prepare(server);
    let password = "longer-than-the-20-bytes-of-a-nonce";
    for name in ["cached", "fetched"] {
        account(server, name, &format!("IDENTIFIED WITH caching_sha2_password BY '{password}'"), "");
    }
    let plain = |name: &str, options: &str| {
        dumped(server, &format!("-u {name} --ssl-mode=DISABLED --password={password} {options}"))
    };
    plain("cached", "").refused(&["'cached'", "--get-server-public-key", "--server-public-key-path"]);
    plain("cached", "--server-public-key-path=/nowhere.pem").refused(&["/nowhere.pem", "public_key.pem"]);
    plain("cached", &format!("--server-public-key-path={STRANGER}"))
        .refused(&[STRANGER, "no RSA public key"]);
    let key = format!("--server-public-key-path={}", server.datadir().join("public_key.pem").display());
    plain("cached", &key).done();
    plain("cached", "").done();

    let wrong = "-u fetched --ssl-mode=DISABLED --get-server-public-key --password=wrong";
    dumped(server, wrong).refused(&["refused the login of 'fetched'"]);
    plain("fetched", "").refused(&["--get-server-public-key"]);
    plain("fetched", "--get-server-public-key").done();
}

/// This plugin encrypts the password over a Unix socket too, where nobody is in between.
fn sha256_without_tls(flavour: Flavour) {
    let server = source(flavour);
    prepare(server);
    for host in ["127.0.0.1", "localhost"] {
        let user = format!("hashed@'{host}'");
        sql(
            server,
            format!("CREATE USER {user} IDENTIFIED WITH sha256_password BY 'pw'; GRANT ALL ON *.* TO {user}"),
        );
    }
    let login = "-u hashed --password=pw";
    dumped(server, login).done();
    dumped(server, &format!("{login} --ssl-mode=DISABLED")).refused(&["--get-server-public-key"]);
    dumped(server, &format!("{login} --ssl-mode=DISABLED --get-server-public-key")).done();
    dumped_by(&format!("-S {}", server.socket().display()), login).done();
}

fn native_and_empty_passwords(flavour: Flavour) {
    let server = source(flavour);
    prepare(server);
    account(server, "no_password", "", "");
    dumped(server, "-u no_password").done();
    dumped(server, "-u no_password --ssl-mode=DISABLED").done();
    dumped(server, "-u no_password --password=but_one").refused(&["refused the login of 'no_password'"]);
}

/// MariaDB 10.11 offers no TLS if it was given no certificate.
fn required_but_not_offered(flavour: Flavour) {
    let server = source(flavour);
    prepare(server);
    account(server, "insecure", "IDENTIFIED BY 'pw'", "");
    dumped(server, "-u insecure --password=pw --ssl-mode=REQUIRED").refused(&["TLS", "127.0.0.1"]);
    dumped(server, "-u insecure --password=pw").done();
}

fn with_mysqls_certificates(flavour: Flavour) {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let options = mysqls_certificates();
    let server = start(flavour, &options.each_ref().map(String::as_str));
    prepare(&server);
    modes(&server, &source(Flavour::MySql).datadir().join("ca.pem"));
}

/// The server options that lend MySQL's certificates.
fn mysqls_certificates() -> [String; 3] {
    let datadir = source(Flavour::MySql).datadir();
    [("ca", "ca.pem"), ("cert", "server-cert.pem"), ("key", "server-key.pem")]
        .map(|(name, file)| format!("--ssl-{name}={}", datadir.join(file).display()))
}

/// Debian packs the plugin with the whole server and not with its core, so it is fetched by itself. A server that was
/// installed otherwise has it in its own place.
fn ed25519(flavour: Flavour) {
    let has_tls = is_wanted(Flavour::MySql);
    let mut options = if has_tls { mysqls_certificates().to_vec() } else { Vec::new() };
    if Path::new(PLUGINS).is_dir() {
        options.push(format!("--plugin-dir={PLUGINS}"));
    }
    let server = start(flavour, &options.iter().map(String::as_str).collect::<Vec<_>>());
    if let Err(error) = try_sql(&server, "INSTALL SONAME 'auth_ed25519'") {
        panic!("the ed25519 plugin, which scripts/setup fetches into .servers/mariadb-plugins: {error}");
    }
    prepare(&server);
    for host in ["127.0.0.1", "localhost"] {
        let how = "IDENTIFIED VIA ed25519 USING PASSWORD('pw')";
        sql(&server, format!("CREATE USER edward@'{host}' {how}; GRANT ALL ON *.* TO edward@'{host}'"));
    }
    let tcp = format!("-h 127.0.0.1 -P {}", server.port());
    let mut ways = vec![format!("-S {}", server.socket().display()), format!("{tcp} --ssl-mode=DISABLED")];
    ways.extend(has_tls.then(|| format!("{tcp} --ssl-mode=REQUIRED")));
    for way in ways {
        dumped_by(&way, "-u edward --password=pw").done();
        for wrong in ["--password=wrong", "--password=pw2", ""] {
            dumped_by(&way, &format!("-u edward {wrong}")).refused(&["refused the login of 'edward'"]);
        }
    }
}

macro_rules! on {
    ($flavour:ident: $($name:ident),*) => {
        $(#[test] fn $name() { crate::servers::run(drover_sandbox::Flavour::$flavour, super::$name); })*
    };
}

mod mysql {
    on!(MySql: mysql_modes, caching_sha2_without_tls, sha256_without_tls, native_and_empty_passwords);
}

mod mariadb {
    on!(MariaDb: native_and_empty_passwords, required_but_not_offered, with_mysqls_certificates, ed25519);
}
