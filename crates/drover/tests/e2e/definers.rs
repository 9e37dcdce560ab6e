//! Views that read functions and views of definers that the target has, whatever these may do there; and objects of definers that the
//! account may not set, as on managed servers and shared hosting.

use drover_sandbox::{Flavour, Server};

use crate::across::both;
use crate::client::{feed, sql, value};
use crate::drover::{Output, copy, copy_as, drover_on, dump, restore, run, verify};
use crate::reach;
use crate::servers::{is_wanted, on_both, source, start, target};

on_both!(
    definers_are_no_reason_to_refuse_views,
    no_definers,
    functions_that_no_log_takes,
    what_may_not_be_dropped_goes_first
);

/// The definer may do all in the schema of this name, and nothing in others.
fn account(server: &Server, schema: &str) {
    sql(
        server,
        format!(
            "CREATE USER IF NOT EXISTS {schema}@localhost; GRANT ALL ON {schema}.* TO {schema}@localhost"
        ),
    );
}

/// The first view that is made reads the others.
fn make(server: &Server, schema: &str) {
    account(server, schema);
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema};
             CREATE TABLE a (id INT PRIMARY KEY, n INT); CREATE TABLE b (id INT PRIMARY KEY, m INT);
             INSERT INTO a VALUES (1, 10), (2, 20); INSERT INTO b VALUES (1, 1), (2, 2);
             CREATE DEFINER = {schema}@localhost FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x * 2;
             CREATE DEFINER = {schema}@localhost VIEW joined AS SELECT a.id, a.n, b.m FROM a JOIN b USING (id);
             CREATE DEFINER = {schema}@localhost VIEW calls AS SELECT id, f(n) AS twice FROM a;
             CREATE DEFINER = {schema}@localhost VIEW sums AS SELECT m, SUM(f(n)) AS total FROM joined GROUP BY m"
        ),
    );
}

fn sums(server: &Server, schema: &str) -> String {
    value(server, format!("SELECT GROUP_CONCAT(total ORDER BY m) FROM {schema}.sums"))
}

fn definers_are_no_reason_to_refuse_views(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "definers");
    account(target, "definers");
    run(&mut dump(source, "definers", dir.path())).done();
    let checked = run(&mut restore(target, dir.path(), "--check")).done();
    assert!(checked.stdout.contains("all can be kept"), "{checked}");
    run(&mut restore(target, dir.path(), "")).done();
    for options in ["--skip-refused --drop-existing", "--skip-refused --resume"] {
        let restored = run(&mut restore(target, dir.path(), options)).done();
        assert!(!restored.stdout.contains("refused"), "{restored}");
        assert_eq!(sums(target, "definers"), "20,40");
    }

    let into = "--into definers=definers_new";
    run(&mut restore(target, dir.path(), into)).done();
    run(&mut verify(target, dir.path(), into)).done();
    sql(target, "GRANT ALL ON definers_new.* TO definers@localhost");
    assert_eq!(sums(target, "definers_new"), "20,40");
}

/// A view or program of a definer with SYSTEM_USER is dropped by no account without it (MySQL from 8.0.16 on): its tables are there then.
fn what_may_not_be_dropped_goes_first(flavour: Flavour) {
    let (target, dir) = (target(flavour), tempfile::tempdir().unwrap());
    sql(
        target,
        "CREATE DATABASE df_kept; USE df_kept; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2);
         CREATE VIEW v AS SELECT id FROM t; CREATE PROCEDURE p() SELECT 1;
         CREATE USER df_owner@localhost; GRANT ALL ON df_kept.* TO df_owner@localhost",
    );
    run(&mut dump(target, "df_kept", dir.path())).done();
    let again = "--drop-existing --definer current-user -u df_owner";
    let restored = run(&mut restore(target, dir.path(), again));
    match flavour {
        Flavour::MariaDb => drop(restored.done()),
        Flavour::MySql => drop(restored.refused(&["SYSTEM_USER", "nothing was changed"])),
    }
    let there = "SELECT (SELECT COUNT(*) FROM df_kept.v) + (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'df_kept')";
    assert_eq!(value(target, there), "3");
}

#[test]
fn to_the_other_vendor() {
    let Some([mariadb, mysql]) = both() else { return };
    for (source, target, schema) in [(&mariadb, &mysql, "definers_m"), (&mysql, &mariadb, "definers_y")] {
        make(source, schema);
        account(target, schema);
        let state = tempfile::tempdir().unwrap();
        let copied =
            run(&mut copy(source, target, &format!("{schema} --into {schema}={schema}_new"), state.path()));
        assert!(matches!(copied.code, Some(0 | 1)) && !copied.stdout.contains("refused"), "{copied}");
        sql(target, format!("GRANT ALL ON {schema}_new.* TO {schema}@localhost"));
        assert_eq!(sums(target, &format!("{schema}_new")), "20,40");
    }
}

/// A view that runs as its definer and one that does not, programs of all kinds, and one object that has the account itself as its definer.
const PROGRAMS: &str = "CREATE DATABASE shop; USE shop;
    CREATE TABLE orders (id INT PRIMARY KEY, total INT); INSERT INTO orders VALUES (1, 10), (2, 20);
    CREATE VIEW as_definer AS SELECT id FROM orders;
    CREATE DEFINER = app@localhost SQL SECURITY INVOKER VIEW as_invoker AS SELECT id FROM as_definer;
    CREATE DEFINER = owner@localhost VIEW own AS SELECT total FROM orders;
    CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN 2 * a;
    CREATE DEFINER = app@localhost PROCEDURE nothing() SELECT 1;
    CREATE TRIGGER noted BEFORE INSERT ON orders FOR EACH ROW SET NEW.total = COALESCE(NEW.total, 0);
    CREATE EVENT daily ON SCHEDULE EVERY 1 DAY DO SELECT 1;
    SET sql_mode = 'ANSI_QUOTES'; CREATE PROCEDURE quoted() SELECT 1 AS \"one\"";
/// A package and its body, on MariaDB from 10.3 on.
const PACKAGE: &str = "USE shop; SET sql_mode = 'ORACLE';
    DELIMITER //
    CREATE PACKAGE pack AS PROCEDURE p; END//
    CREATE PACKAGE BODY pack AS PROCEDURE p AS BEGIN SELECT 1; END; END//";

/// A server with these and the owner of the schemas `own…`, who has no other privilege.
struct Restricted {
    server: Server,
    dir: tempfile::TempDir,
    /// How many of the objects are of others.
    others: usize,
}

impl Restricted {
    fn new(server: Server, more: &str, others: usize) -> Self {
        reach::sql(
            &server,
            "mysql",
            "CREATE USER app@localhost; CREATE USER owner@localhost; GRANT ALL ON `own%`.* TO owner@localhost; GRANT ALL ON shop.* TO app@localhost; GRANT SELECT ON shop.* TO owner@localhost",
        );
        reach::sql(&server, "mysql", PROGRAMS);
        reach::sql(&server, "mysql", more);
        let dir = tempfile::tempdir().unwrap();
        run(&mut dump(&server, "shop", &dir.path().join("dump"))).done();
        Self { server, dir, others }
    }

    fn trust(&self, trusts: bool) {
        let set = format!("SET GLOBAL log_bin_trust_function_creators = {}", u8::from(trusts));
        reach::sql(&self.server, "mysql", &set);
    }

    fn restore(&self, user: &str, into: &str, options: &str) -> Output {
        let options = format!("-u {user} --into shop={into} {options}");
        run(&mut restore(&self.server, &self.dir.path().join("dump"), &options))
    }

    /// As the owner; each copy has a state of its own.
    fn copy(&self, into: &str, options: &str) -> Output {
        let state = tempfile::tempdir().unwrap();
        let (reader, writer) = (("root", &self.server), ("owner", &self.server));
        run(&mut copy_as(reader, writer, &format!("shop --into shop={into} {options}"), state.path()))
    }

    /// Refused before anything is changed, in these words.
    fn refuses(&self, output: Output, into: &str, words: &[&str]) {
        output.refused(&[&["nothing was changed"], words].concat());
        let there = format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{into}'");
        assert_eq!(reach::sql(&self.server, "mysql", &there), [["0"]], "{into}");
    }

    /// What the definers are of what a schema holds.
    fn definers(&self, schema: &str) -> Vec<String> {
        let sql = "SELECT DEFINER FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 's' UNION \
                   SELECT DEFINER FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 's' UNION \
                   SELECT DEFINER FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 's' UNION \
                   SELECT DEFINER FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 's' ORDER BY 1";
        let rows = reach::sql(&self.server, "mysql", &sql.replace("'s'", &format!("'{schema}'")));
        rows.into_iter().flatten().collect()
    }
}

/// `privilege` is what the server calls it that lets an account set other definers.
fn restricted(there: &Restricted, privilege: &str) {
    let definer = ["definer `app`@`localhost`", "definer `root`@`localhost`", privilege];
    let (trust, current_user) = ("log_bin_trust_function_creators = ON", "hint: --definer current-user");
    let count = format!("{} objects of the dump cannot be created", there.others);
    let others = [&definer[..], &[count.as_str(), current_user]].concat();
    let both = [&others[..], &["function `shop`.`twice`, trigger `shop`.`noted`: You do not have the SUPER privilege and binary logging", trust]].concat();

    there.trust(false);
    there.refuses(there.restore("owner", "own_1", ""), "own_1", &both);
    there.refuses(there.restore("owner", "own_1", "--check"), "own_1", &both);
    let logged = [
        "2 objects of the dump cannot be created",
        "function `shop`.`twice`",
        "trigger `shop`.`noted`",
        trust,
    ];
    there.refuses(there.restore("owner", "own_1", "--definer current-user"), "own_1", &logged);
    there.refuses(there.copy("own_1", ""), "own_1", &both);
    there.refuses(there.copy("own_1", "--definer current-user"), "own_1", &logged);
    there.restore("root", "own_r", "").done();
    assert_eq!(there.definers("own_r"), ["app@localhost", "owner@localhost", "root@localhost"]);

    there.trust(true);
    let output = there.restore("owner", "own_1", "");
    assert!(!output.stderr.contains(trust), "{output}");
    there.refuses(output, "own_1", &others);
    there.refuses(there.copy("own_1", "--check"), "own_1", &others);
    let all = format!("{} objects of the dump cannot be created", there.others + 1);
    let named = ["definer `app`@`localhost`", privilege, all.as_str()];
    there.refuses(there.restore("owner", "own_1", "--definer app@localhost"), "own_1", &named);
    let restored = there.restore("owner", "own_1", "--definer current-user --json").done().json();
    assert_eq!(restored["definers_changed"], there.others);
    assert_eq!(restored["verify"]["differences"].as_array().unwrap().len(), 0);
    assert_eq!(there.definers("own_1"), ["owner@localhost"]);
    let copied = there.copy("own_2", "--definer current-user").done();
    let changed = format!("definers  {} objects changed", there.others);
    assert!(copied.stdout.contains(&changed), "{copied}");
    assert_eq!(there.definers("own_2"), ["owner@localhost"]);
    there.restore("root", "own_3", "--definer 'app'@localhost").done();
    assert_eq!(there.definers("own_3"), ["app@localhost"]);

    let dump = there.dir.path().join("dump");
    let compare =
        |options: &str| run(&mut verify(&there.server, &dump, &format!("--into shop=own_1 {options}")));
    compare("--definer owner@localhost").done();
    compare("-u owner --definer current-user").done();
    compare("").found(&["`own_1`.`as_definer`", "`own_1`.`daily`", "its definition differs"]);
    others_dumps(there, &others);
}

/// The same with what the vendor's tool has dumped.
fn others_dumps(there: &Restricted, refused: &[&str]) {
    let file = there.dir.path().join("shop.sql");
    let text = dumped(&there.server);
    std::fs::write(&file, &text).unwrap();
    let restored = |into: &str, options: &str| {
        run(&mut restore(&there.server, &file, &format!("-u owner --into shop={into} {options}")))
    };
    there.refuses(restored("own_4", ""), "own_4", refused);
    let output = restored("own_4", "--definer current-user").done();
    let changed = format!("definers  {} objects changed", there.others);
    assert!(output.stdout.contains(&changed), "{output}");
    assert_eq!(there.definers("own_4"), ["owner@localhost"]);
    assert_eq!(reach::sql(&there.server, "own_4", "SELECT COUNT(*) FROM as_invoker"), [["2"]]);

    // What is piped in can be read once only, and goes into the schema that its head names.
    let text = String::from_utf8(text).unwrap().replace("Database: shop", "Database: own_5");
    let piped = |options: &str| {
        let mut command = drover_on(&there.server, &format!("restore -u owner - {options}"));
        feed(&mut command, text.as_bytes())
    };
    let output = piped("");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("hint: --definer current-user"), "{said}");
    let output = piped("--drop-existing --definer current-user");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(there.definers("own_5"), ["owner@localhost"]);
}

/// What mariadb-dump writes of any of the servers, or mysqldump of the newest MySQL, whose tables it does not know.
fn dumped(server: &Server) -> Vec<u8> {
    let version = value_of(server, "SELECT VERSION()");
    let mut command = match version.starts_with('9') {
        true => {
            let mut command = server.client("mysqldump");
            // What it would set takes more privileges than the owner has.
            command.arg("--set-gtid-purged=OFF");
            command
        }
        false => {
            let mut command = std::process::Command::new("mariadb-dump");
            command.args(["--no-defaults", "-u", "root", "-S"]).arg(server.socket());
            command
        }
    };
    let output = feed(command.args(["--routines", "--events", "--triggers", "shop"]), b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn value_of(server: &Server, text: &str) -> String {
    reach::sql(server, "mysql", text).concat().concat()
}

fn no_definers(flavour: Flavour) {
    let server = start(flavour, &["--log-bin=bin", "--server-id=1", "--local-infile=1"]);
    let (more, others, privilege) = match flavour {
        Flavour::MySql => ("", 7, "SET_ANY_DEFINER"),
        Flavour::MariaDb => (PACKAGE, 9, "SET USER"),
    };
    let there = Restricted::new(server, more, others);
    restricted(&there, privilege);
    if flavour == Flavour::MySql {
        more_privileges(&there);
    }
}

/// Not from root either.
fn functions_that_no_log_takes(flavour: Flavour) {
    let server = &start(flavour, &["--log-bin=bin", "--server-id=1", "--log-bin-trust-function-creators=1"]);
    let dir = tempfile::tempdir().unwrap();
    sql(server, "CREATE DATABASE loose; CREATE FUNCTION loose.f() RETURNS INT RETURN 1");
    run(&mut dump(server, "loose", dir.path())).done();
    sql(server, "DROP DATABASE loose; SET GLOBAL log_bin_trust_function_creators = 0");
    let refused = ["function `loose`.`f`", "1418", "hint: SET GLOBAL log_bin_trust_function_creators = ON"];
    run(&mut restore(server, dir.path(), "")).refused(&refused);
    run(&mut restore(server, dir.path(), "--check")).found(&["`loose`.`f`", "1418"]);
    sql(server, "SET GLOBAL log_bin_trust_function_creators = ON");
    run(&mut restore(server, dir.path(), "")).done();
}

/// With the privilege, MySQL still wants others for a definer that is not there, and for one that has SYSTEM_USER.
fn more_privileges(there: &Restricted) {
    reach::sql(&there.server, "mysql", "GRANT SET_ANY_DEFINER ON *.* TO owner@localhost");
    let system_user = ["definer `root`@`localhost`", "SYSTEM_USER"];
    there.refuses(there.restore("owner", "own_6", ""), "own_6", &system_user);
    let gone = ["definer `gone`@`localhost`", "ALLOW_NONEXISTENT_DEFINER"];
    there.refuses(there.restore("owner", "own_6", "--definer gone@localhost"), "own_6", &gone);
    there.restore("owner", "own_6", "--no-verify --definer app@localhost").done();
    assert_eq!(there.definers("own_6"), ["app@localhost"]);
}

#[test]
fn no_definers_on_mysql_5_7() {
    on_old("mysql-5.7", Flavour::MySql, "SUPER");
}

#[test]
fn no_definers_on_mysql_8_0_12() {
    on_old("mysql-8.0", Flavour::MySql, "SET_USER_ID");
}

#[test]
fn no_definers_on_mariadb_10_2() {
    on_old("mariadb-10.2", Flavour::MariaDb, "SUPER");
}

fn on_old(name: &str, flavour: Flavour, privilege: &str) {
    if is_wanted(flavour) {
        restricted(&Restricted::new(reach::old(name, flavour), "", 7), privilege);
    }
}
