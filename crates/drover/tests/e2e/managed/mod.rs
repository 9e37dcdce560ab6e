//! Servers as Amazon RDS, Aurora, Google Cloud SQL and Azure give them: the statements and commands of their pages in docs/ are run as they
//! stand there, by an account made as the page says, and by the account that the service gives. What privileges cannot express, a gate
//! before the server refuses ([`gate`]). The services themselves are out of reach: the pages say so.

mod gate;
mod page;
mod replica;
mod service;
mod walk;

use drover_sandbox::{Flavour, Server};

use crate::servers::{is_wanted_of, start_of};
use page::Version;
use service::{AMAZON_AURORA, AMAZON_RDS, AZURE, GOOGLE_CLOUD_SQL, Service};
use walk::Walk;

/// Where a version is.
#[derive(Debug, Clone, Copy)]
struct Place {
    version: Version,
    /// Below `.servers/more`; `newest` for the server that is found by itself.
    name: &'static str,
}

const fn mysql(number: (u32, u32), name: &'static str) -> Place {
    Place { version: Version { flavour: Flavour::MySql, number }, name }
}

const fn mariadb(number: (u32, u32), name: &'static str) -> Place {
    Place { version: Version { flavour: Flavour::MariaDb, number }, name }
}

const MYSQL_5_7: Place = mysql((5, 7), "mysql-5.7");
const MYSQL_8_0: Place = mysql((8, 0), "mysql-8.0.33");
const MYSQL_9_7: Place = mysql((9, 7), "newest");
const MARIADB_10_5: Place = mariadb((10, 5), "mariadb-10.5");
const MARIADB_11_4: Place = mariadb((11, 4), "mariadb-11.4");

impl Place {
    fn is_wanted(self) -> bool {
        is_wanted_of(self.version.flavour, self.name)
    }

    fn start(self, options: &[&str]) -> Server {
        // What tells the names of columns came with MySQL 8.0 and MariaDB 10.5.
        let logs = ["--binlog-format=ROW", "--loose-binlog-row-metadata=FULL"];
        let server = start_of(self.version.flavour, self.name, &[&logs, options].concat()).unwrap();
        let number =
            server.version().split('.').map(|part| part.parse().unwrap_or_default()).collect::<Vec<u32>>();
        assert_eq!((number[0], number[1]), self.version.number, "another version than the test is for");
        server
    }
}

/// All of a page: as the account that it makes, then as the one that the service gives.
fn managed(service: &Service, place: Place) {
    if !place.is_wanted() {
        return;
    }
    let plain = place.start(&["--log-bin-trust-function-creators=1"]);
    if service.may_lack_log {
        let mut walk = Walk::begin(service, place, &plain, &["--skip-log-bin"]);
        walk.all_but_logs();
    }
    let mut walk = Walk::begin(service, place, &plain, &[]);
    walk.all();
    walk.as_admin();
    walk.all();
}

#[test]
fn amazon_rds_for_mysql_5_7() {
    managed(&AMAZON_RDS, MYSQL_5_7);
}

#[test]
fn amazon_rds_for_mysql_8_0() {
    managed(&AMAZON_RDS, MYSQL_8_0);
}

#[test]
fn amazon_rds_for_mysql_9_7() {
    managed(&AMAZON_RDS, MYSQL_9_7);
}

#[test]
fn amazon_rds_for_mariadb_10_5() {
    managed(&AMAZON_RDS, MARIADB_10_5);
}

#[test]
fn amazon_rds_for_mariadb_11_4() {
    managed(&AMAZON_RDS, MARIADB_11_4);
}

#[test]
fn amazon_aurora_mysql_5_7() {
    managed(&AMAZON_AURORA, MYSQL_5_7);
}

#[test]
fn amazon_aurora_mysql_8_0() {
    managed(&AMAZON_AURORA, MYSQL_8_0);
}

#[test]
fn amazon_aurora_mysql_9_7() {
    managed(&AMAZON_AURORA, MYSQL_9_7);
}

#[test]
fn google_cloud_sql_5_7() {
    managed(&GOOGLE_CLOUD_SQL, MYSQL_5_7);
}

#[test]
fn google_cloud_sql_8_0() {
    managed(&GOOGLE_CLOUD_SQL, MYSQL_8_0);
}

#[test]
fn google_cloud_sql_9_7() {
    managed(&GOOGLE_CLOUD_SQL, MYSQL_9_7);
}

#[test]
fn azure_5_7() {
    managed(&AZURE, MYSQL_5_7);
}

#[test]
fn azure_8_0() {
    managed(&AZURE, MYSQL_8_0);
}

#[test]
fn azure_9_7() {
    managed(&AZURE, MYSQL_9_7);
}
