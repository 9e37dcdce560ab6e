//! A table that takes long enough to be hit in the middle: 30 MB of text in 100,000 rows, `big.wide`.

use std::path::PathBuf;
use std::sync::OnceLock;

use drover_sandbox::{Flavour, Server};

use crate::client::sql;
use crate::drover::{dump, run};
use crate::servers::source;

/// Makes the table on `server`.
pub(crate) fn make(server: &Server) {
    let deep = match server.flavour() {
        Flavour::MySql => "SET cte_max_recursion_depth = 1000000;",
        Flavour::MariaDb => "SET max_recursive_iterations = 1000000;",
    };
    sql(
        server,
        format!(
            "{deep} CREATE DATABASE big CHARACTER SET latin1; USE big;
             CREATE TABLE wide (id INT PRIMARY KEY, a CHAR(128) NOT NULL, b CHAR(128) NOT NULL, c CHAR(64) NOT NULL);
             INSERT INTO wide WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 100000)
               SELECT n, SHA2(n, 512), SHA2(-n, 512), SHA2(n, 256) FROM s;
             ANALYZE TABLE wide"
        ),
    );
}

/// The shared server to dump from, with the table in it.
pub(crate) fn big_source(flavour: Flavour) -> &'static Server {
    static MADE: [OnceLock<()>; 2] = [const { OnceLock::new() }; 2];
    MADE[flavour as usize].get_or_init(|| make(source(flavour)));
    source(flavour)
}

/// A dump of the table, made once. It lies beside the server's data, which is removed with the server.
pub(crate) fn big_dump(flavour: Flavour) -> PathBuf {
    static MADE: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    let made = MADE[flavour as usize].get_or_init(|| {
        let dir = big_source(flavour).datadir().with_file_name("dump-of-big");
        run(&mut dump(source(flavour), "big --threads 1", &dir)).done(); // one file
        dir
    });
    made.clone()
}
