//! TLS and the ways to log in. MySQL makes itself certificates in its data directory; MariaDB has none, unless it is lent
//! MySQL's.

use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, try_sql};
use crate::drover::{Output, drover, run};
use crate::servers::{is_wanted, source, start};

/// A certificate authority that has signed no server's certificate. Its key is lost.
const STRANGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/options/stranger-ca.pem");

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
    let dir = tempfile::tempdir().unwrap();
    let line = format!(
        "dump tls --no-defaults --threads 1 --lock-timeout 60 -h 127.0.0.1 -P {} {options} --out",
        server.port()
    );
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

/// The first login without TLS encrypts the password with the server's RSA key; later ones find it in the server's cache.
fn caching_sha2_without_tls(flavour: Flavour) {
    let server = source(flavour);
    prepare(server);
    account(server, "cached", "IDENTIFIED WITH caching_sha2_password BY 'a longer passw0rd'", "");
    for _ in 0..2 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drover"));
        let dir = tempfile::tempdir().unwrap();
        command.args([
            "dump",
            "tls",
            "--no-defaults",
            "--lock-timeout",
            "60",
            "-h",
            "127.0.0.1",
            "--ssl-mode=DISABLED",
            "-ucached",
        ]);
        command
            .args(["--password=a longer passw0rd", "-P", &server.port().to_string(), "--out"])
            .arg(dir.path());
        run(&mut command).done();
    }
    dumped(server, "-u cached --ssl-mode=DISABLED --password=wrong")
        .refused(&["refused the login of 'cached'"]);
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
    let pem = |name: &str| source(Flavour::MySql).datadir().join(name);
    let option = |name: &str, file: &str| format!("--ssl-{name}={}", pem(file).display());
    let options =
        [option("ca", "ca.pem"), option("cert", "server-cert.pem"), option("key", "server-key.pem")];
    let server = start(flavour, &options.each_ref().map(String::as_str));
    prepare(&server);
    modes(&server, &pem("ca.pem"));
}

/// Debian packs the plugin with the whole server, not with its core: without it there is nothing to test.
fn ed25519(flavour: Flavour) {
    let server = source(flavour);
    if try_sql(server, "INSTALL SONAME 'auth_ed25519'").is_err() {
        return;
    }
    prepare(server);
    account(server, "edward", "IDENTIFIED VIA ed25519 USING PASSWORD('pw')", "");
    dumped(server, "-u edward --password=pw").done();
    dumped(server, "-u edward --password=wrong").refused(&["refused the login of 'edward'"]);
}

macro_rules! on {
    ($flavour:ident: $($name:ident),*) => {
        $(#[test] fn $name() { crate::servers::run(drover_sandbox::Flavour::$flavour, super::$name); })*
    };
}

mod mysql {
    on!(MySql: mysql_modes, caching_sha2_without_tls, native_and_empty_passwords);
}

mod mariadb {
    on!(MariaDb: native_and_empty_passwords, required_but_not_offered, with_mysqls_certificates, ed25519);
}
