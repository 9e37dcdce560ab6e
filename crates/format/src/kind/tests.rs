use drover_db::sql::Dialect;

use super::*;

fn kind(text: &str) -> Kind {
    Kind::of(text.as_bytes(), Dialect::default())
}

fn is_refused(text: &str) -> bool {
    matches!(kind(text), Kind::Refused(_))
}

fn name(name: &str) -> Qualified {
    Qualified { schema: None, name: name.into() }
}

fn in_schema(schema: &str, name: &str) -> Qualified {
    Qualified { schema: Some(schema.into()), name: name.into() }
}

#[test]
fn settings_of_the_session_and_of_the_server() {
    for text in [
        "/*!40101 SET NAMES utf8 */",
        "SET @@SESSION.SQL_LOG_BIN= 0",
        "SET @a = @@GLOBAL.time_zone",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='GLOBAL' */",
    ] {
        assert_eq!(kind(text), Kind::Session, "{text}");
    }
    for text in [
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'x:1-17'",
        "/*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF */",
        "SET a = 1, GLOBAL b = 2",
        "CHANGE MASTER TO MASTER_LOG_POS=1",
        "FLUSH PRIVILEGES",
        "CREATE USER a",
    ] {
        assert_eq!(kind(text), Kind::Server, "{text}");
    }
}

#[test]
fn schemas_tables_and_views() {
    assert_eq!(kind("USE `a``b`"), Kind::Use("a`b".into()));
    assert_eq!(
        kind("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `s` /*!40100 x */"),
        Kind::CreateSchema("s".into())
    );
    assert_eq!(kind("/*!40000 DROP DATABASE IF EXISTS `s`*/"), Kind::DropSchema("s".into()));
    assert_eq!(
        kind("CREATE TABLE IF NOT EXISTS `s`.`t` (\n `as` int, (x)) ENGINE=x"),
        Kind::CreateTable(in_schema("s", "t"))
    );
    assert_eq!(kind("CREATE TABLE t (a int) AS SELECT 1"), Kind::CreateTableFrom(name("t")));
    assert_eq!(kind("CREATE TABLE t LIKE u"), Kind::CreateTableFrom(name("t")));
    let view = "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */\n\
                /*!50001 VIEW `v1` AS select '*/' */";
    assert_eq!(kind(view), Kind::CreateView(name("v1")));
    assert_eq!(kind("/*!50001 DROP VIEW IF EXISTS `v`*/"), Kind::Drop(vec![name("v")]));
    assert_eq!(kind("DROP TABLE a, s.b"), Kind::Drop(vec![name("a"), in_schema("s", "b")]));
    assert_eq!(kind("/*!50003 DROP FUNCTION IF EXISTS `f` */"), Kind::DropProgram("FUNCTION", name("f")));
    assert_eq!(kind("/*!40000 ALTER TABLE `t` DISABLE KEYS */"), Kind::DisableKeys(name("t")));
    assert_eq!(kind("ALTER TABLE `t` ENABLE KEYS"), Kind::EnableKeys(name("t")));
}

#[test]
fn programs() {
    let trigger = "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `tr` BEFORE INSERT ON `a` \
                   FOR EACH ROW BEGIN /* on */ SET NEW.d = 1; END */";
    assert_eq!(kind(trigger), Kind::CreateTrigger { name: name("tr"), table: name("a") });
    assert_eq!(
        kind("CREATE DEFINER=a@b FUNCTION f() RETURNS int RETURN 1"),
        Kind::CreateProgram("FUNCTION", name("f"))
    );
    assert_eq!(kind("CREATE PACKAGE BODY p AS x"), Kind::CreateProgram("PACKAGE BODY", name("p")));
    assert_eq!(
        kind("/*!50106 CREATE*/ /*!50117 DEFINER=`r`@`l`*/ /*!50106 EVENT `e` ON x */"),
        Kind::CreateProgram("EVENT", name("e"))
    );
}

#[test]
fn rows() {
    assert_eq!(kind("INSERT INTO `t` VALUES (1)"), Kind::Insert(name("t")));
    assert_eq!(kind("INSERT INTO `t` (`a`, `b)`) VALUES (1)"), Kind::Insert(name("t")));
    for text in ["INSERT IGNORE INTO `t` VALUES (1)", "REPLACE INTO `t` VALUES (1)", "INSERT INTO t SELECT 1"]
    {
        assert_eq!(kind(text), Kind::InsertInOrder(name("t")), "{text}");
    }
    let load = "LOAD DATA LOCAL INFILE 's.t.00000.dat' REPLACE INTO TABLE `t` CHARACTER SET binary";
    assert_eq!(kind(load), Kind::Load("s.t.00000.dat".into(), name("t")));
    assert!(is_refused("LOAD DATA INFILE '/etc/passwd' INTO TABLE t"));
}

#[test]
fn the_rest() {
    assert_eq!([kind("LOCK TABLES `a` WRITE"), kind("UNLOCK TABLES")], [Kind::Lock, Kind::Lock]);
    assert_eq!([kind("commit"), kind("START TRANSACTION")], [Kind::Transaction, Kind::Transaction]);
    assert_eq!([kind("BEGIN"), kind("BEGIN WORK")], [Kind::Transaction, Kind::Transaction]);
    assert_eq!(kind("START SLAVE"), Kind::Server);
    assert_eq!(kind("CREATE FUNCTION f RETURNS STRING SONAME 'x.so'"), Kind::Server);
    for text in ["TRUNCATE TABLE s.t", "DELETE FROM s.t", "TRUNCATE s.t"] {
        assert_eq!(kind(text), Kind::Empty(in_schema("s", "t")), "{text}");
    }
    for text in ["DELETE FROM t WHERE a = 1", "UPDATE IGNORE t SET a = 1 WHERE b = 2"] {
        assert_eq!(kind(text), Kind::ChangeRows(name("t")), "{text}");
    }
    for text in ["DO SETVAL(`q`, 5, 0)", "SELECT SETVAL(`q`, -5, 0)"] {
        assert_eq!(kind(text), Kind::SetValue(name("q")), "{text}");
    }
    assert_eq!(
        kind("ALTER DATABASE `s` CHARACTER SET latin1 COLLATE latin1_swedish_ci"),
        Kind::AlterSchema("s".into())
    );
}

/// What phpMyAdmin and mysqlpump add to tables after their rows.
#[test]
fn changes_of_tables() {
    for text in [
        "ALTER TABLE `t`\n  ADD PRIMARY KEY (`id`),\n  ADD KEY `a` (`a`(10))",
        "ALTER TABLE `t` MODIFY `id` int(11) NOT NULL AUTO_INCREMENT, AUTO_INCREMENT=5",
        "ALTER TABLE `t` ADD CONSTRAINT `fk` FOREIGN KEY (`a`) REFERENCES `p` (`id`) ON DELETE CASCADE",
        "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, COMMENT='x'",
        "CREATE UNIQUE INDEX i ON t (a)",
        "CREATE INDEX IF NOT EXISTS `i` USING BTREE ON t (a)",
    ] {
        assert_eq!(kind(text), Kind::AlterTable(name("t")), "{text}");
    }
    for text in [
        "ALTER TABLE t RENAME TO other.t",
        "ALTER TABLE t ADD KEY (a), RENAME AS other.t",
        "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE other.t",
        "ALTER TABLE t AUTO_INCREMENT=1 UNION=(other.t) INSERT_METHOD=LAST",
        "ALTER TABLE t DISCARD TABLESPACE",
        "ALTER TABLE t CONVERT TABLE other.x TO PARTITION p1 VALUES LESS THAN (100)",
        "ALTER TABLE t CONVERT PARTITION p1 TO TABLE other.y",
        "ALTER TABLE t ADD KEY (a), CONVERT TABLE other.x TO PARTITION p1 VALUES LESS THAN (100)",
        "ALTER TABLE t AUTO_INCREMENT=1\u{a0}UNION=(other.t)",
        "CREATE INDEX q INDEX r ON other.x (a)",
        "CREATE UNDO VIEW v AS SELECT 1",
        "CREATE SPATIAL TABLE t (a int)",
        "ALTER TABLE t",
        "ALTER VIEW v AS SELECT 1",
        "ALTER DATABASE s UPGRADE DATA DIRECTORY NAME",
    ] {
        assert!(is_refused(text), "{text}");
    }
    for engine in
        ["ENGINE=MRG_MyISAM UNION=(`other`.`t`)", "ENGINE='MERGE'", "ENGINE=FEDERATED CONNECTION='x'"]
    {
        assert_eq!(kind(&format!("CREATE TABLE t (a int) {engine}")), Kind::CreateTableElsewhere(name("t")));
    }
    for elsewhere in [
        "CREATE TABLE t (a int) PARTITION BY HASH (a) (PARTITION p ENGINE = SPIDER)",
        "CREATE TABLE t (a int) ENGINE /*!99999 = x COMMENT */ = 'CONNECT' TABLE_TYPE=DOS",
        "CREATE TABLE t ENGINE=FEDERATED CONNECTION='x'",
    ] {
        assert_eq!(kind(elsewhere), Kind::CreateTableElsewhere(name("t")), "{elsewhere}");
    }
    for plain in [
        "CREATE TABLE t (`union` int) ENGINE=InnoDB COMMENT='merge'",
        "CREATE TABLE t (`merge` int /*!80023 INVISIBLE */, s3 int, PRIMARY KEY (`merge`)) ENGINE=InnoDB",
    ] {
        assert_eq!(kind(plain), Kind::CreateTable(name("t")), "{plain}");
    }
    for filled in [
        "CREATE TABLE t ENGINE=MERGE UNION=(other.t) INSERT_METHOD=LAST AS SELECT 1",
        "CREATE TABLE t (a int)\u{a0}ENGINE=MERGE",
        "CREATE TABLE t COMMENT='x'",
    ] {
        assert!(is_refused(filled), "{filled}");
    }
}

#[test]
fn settings_that_dumps_have() {
    for text in [
        "SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO'",
        "SET FOREIGN_KEY_CHECKS=IF(@OLD_FOREIGN_KEY_CHECKS IS NULL, 1, @OLD_FOREIGN_KEY_CHECKS)",
        "/*!40103 SET TIME_ZONE=IFNULL(@OLD_TIME_ZONE, 'system') */",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin, time_zone = '+00:00'",
        "SET CHARACTER SET latin1",
        "/*!80000 SET SESSION information_schema_stats_expiry=0 */",
        "/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */",
        "SET @x := 1.5",
        "SET default_storage_engine=InnoDB, sql_notes=0",
    ] {
        assert_eq!(kind(text), Kind::Session, "{text}");
    }
    for text in [
        "SET STATEMENT sql_mode = '' FOR INSERT INTO t VALUES (1)",
        "SET @a = other.f()",
        "SET @a = f()",
        "SET @a = `CONCAT`(1)",
        "SET @a = (SELECT 1)",
        "SET sql_mode = '', pseudo_thread_id = 5",
        "SET hot.key_buffer_size = 5",
        "SET NEW.a = 5",
        "SET @a = NEXT VALUE FOR s",
        "SET default_storage_engine = SPIDER",
        "SET storage_engine = @a",
        "SET",
    ] {
        assert!(is_refused(text), "{text}");
    }
}

#[test]
fn statements_that_are_no_part_of_a_dump() {
    for text in [
        "",
        "BEGIN NOT ATOMIC INSERT INTO t VALUES (1); END",
        "BEGIN DELETE FROM t; END",
        "RENAME TABLE a TO b",
        "ROLLBACK",
        "DELETE a FROM a JOIN b",
        "DELETE FROM a, other.b USING a JOIN other.b",
        "UPDATE a, other.b SET other.b.x = 1",
        "UPDATE a JOIN other.b SET x = 1",
        "CALL p()",
        "DO f()",
        "PREPARE s FROM 'DROP TABLE t'",
        "EXECUTE IMMEDIATE 'DROP TABLE t'",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "SELECT f()",
        "DROP INDEX i ON t",
        "DROP TABLE a b",
        "CREATE TEMPORARY TABLE t (a int)",
        "source other.sql",
        "\\! touch x",
    ] {
        assert!(is_refused(text), "{text}");
    }
}

/// An account may be called like what is created.
#[test]
fn what_is_created_stands_behind_the_account() {
    for account in ["view", "sequence@event", "`view`@`%`", "'event'@'x'", "CURRENT_USER", "CURRENT_USER()"] {
        let text = format!("CREATE OR REPLACE DEFINER={account} PROCEDURE other.p() SELECT 1");
        assert_eq!(kind(&text), Kind::CreateProgram("PROCEDURE", in_schema("other", "p")), "{text}");
        let text = format!(
            "CREATE ALGORITHM=MERGE DEFINER = {account} SQL SECURITY INVOKER VIEW other.v AS SELECT 1"
        );
        assert_eq!(kind(&text), Kind::CreateView(in_schema("other", "v")), "{text}");
    }
    for text in [
        "CREATE x VIEW v AS SELECT 1",
        "CREATE OR TABLE t (a int)",
        "CREATE DEFINER=a@b@c VIEW v AS SELECT 1",
        "CREATE OR REPLACE DATABASE other",
        "CREATE TRIGGER tr ON x",
        "CREATE TABLE `#mysql50#x` (a int)",
        "LOAD DATA INFILE '/etc/hostname' INTO TABLE t LOCAL INFILE 'f' INTO TABLE made",
    ] {
        assert!(is_refused(text), "{text}");
    }
}

/// Servers do not agree on these bytes, or each has its own mind in each character set.
#[test]
fn bytes_that_are_read_otherwise_elsewhere() {
    let of = |text: &[u8]| Kind::of(text, Dialect::default());
    for text in [
        &b"CREATE --\x7f TABLE made (a int)\n OR REPLACE TABLE other.x (a int)"[..],
        b"CREATE --\xa0 TABLE made (a int)\n OR REPLACE TABLE other.x (a int)",
        b"SET @a = 1 --\x7f + (1\n , GLOBAL max_connections=77",
        b"SET @a = 1 -- \0\n",
        b"DROP TABLE made \0, other.x",
        b"CREATE OR REPLACE\xa0TABLE other.x (a int)",
    ] {
        assert!(matches!(of(text), Kind::Refused(_)), "{}", String::from_utf8_lossy(text));
    }
    let text = b"CREATE\x0bTABLE\x0bt (a int COMMENT '--\x7f \0') /* \0 --\x7f */";
    assert_eq!(of(text), Kind::CreateTable(name("t")));
}

fn reads_of(text: &str) -> Result<Vec<String>, &'static str> {
    let names = reads(&kind(text), text.as_bytes(), Dialect::default())?;
    Ok(names.iter().map(|name| name.parts().join(".")).collect())
}

#[test]
fn what_rows_are_made_of() {
    for text in [
        "INSERT INTO t VALUES (1,-2.5,NULL,'f()',0x41,_binary 'x',DEFAULT,b'1',CURRENT_TIMESTAMP,1e5)",
        "INSERT INTO `t` (`a`,b,value) VALUES (CONVERT(0x41 USING utf8),ST_GeomFromText('POINT(0 0)')), (NOW(6), UNHEX('41'))",
        "INSERT INTO t VALUES (JSON_OBJECT('a', CAST('1' AS CHAR(10)))) ON DUPLICATE KEY UPDATE a = VALUES(a), b = IF(a IN (1), 2, 3)",
        "REPLACE INTO t SET a = (1 + 2)",
        "UPDATE t SET a = TRIM(LEADING 'x' FROM a) WHERE EXTRACT(YEAR FROM b) = 1 AND c IS DISTINCT FROM d",
        "DELETE FROM t WHERE a IN (1, 2)",
        "LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE `t` CHARACTER SET binary FIELDS TERMINATED BY ',' (`a`,@b) SET b = UNHEX(@b)",
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (a)",
        "CREATE TABLE t (a int DEFAULT (uuid()) /*!80023 INVISIBLE */)",
        "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */",
        "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'x:1-17'",
        "/*!40000 INSERT INTO t VALUES (1) */",
    ] {
        assert_eq!(reads_of(text), Ok(vec![]), "{text}");
    }
    for text in [
        "INSERT INTO t VALUES (other.boom())",
        "INSERT INTO t VALUES (`other`.`concat`('a'))",
        "INSERT INTO t VALUES (`concat`('a'))",
        "INSERT INTO t VALUES (boom())",
        "INSERT INTO t VALUES (now ())",
        "INSERT INTO t VALUES (1e(1))",
        "INSERT INTO t VALUES (SLEEP(5))",
        "INSERT INTO t VALUES (LOAD_FILE('/etc/hostname'))",
        "INSERT INTO t VALUES (s.nextval)",
        "INSERT INTO t VALUES (1) RETURNING boom()",
        "INSERT INTO t TABLE other.x",
        "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x",
        "INSERT INTO t SELECT 1 INTO OUTFILE '/tmp/x'",
        "INSERT INTO t VALUES (1 /*!99999 + 1 */)",
        "INSERT INTO t VALUES (CONCAT /*!99999 (1), other */ .boom())",
        "UPDATE t SET a = boom()",
        "DELETE FROM t WHERE boom()",
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (@a) SET a = other.boom()",
        "CREATE TABLE t AS VALUES (1)",
        "CREATE TABLE t AS SELECT boom()",
    ] {
        assert!(reads_of(text).is_err(), "{text}: {:?}", reads_of(text));
    }
}

#[test]
fn what_rows_are_read_from() {
    for (text, expected) in [
        ("INSERT INTO t SELECT a FROM mysql.user", &["mysql.user"][..]),
        (
            "INSERT INTO t SELECT a, b FROM x AS q, `o`.`y` r JOIN z ON q.a = r.a, w WHERE a > 1",
            &["x", "o.y", "z", "w"],
        ),
        ("INSERT INTO t SELECT * FROM x FOR SYSTEM_TIME ALL, y", &["x", "y"]),
        ("INSERT INTO t SELECT * FROM x ON DUPLICATE KEY UPDATE a = 1, b = 2", &["x"]),
        ("INSERT INTO t SELECT * FROM x duplicate, y", &["x", "y"]),
        ("INSERT INTO t SELECT * FROM (SELECT a FROM x) q, (y, z)", &["x", "y", "z"]),
        (
            "INSERT INTO t SELECT a FROM x UNION ALL SELECT b FROM DUAL WHERE EXISTS (SELECT 1 FROM y)",
            &["x", "y"],
        ),
        ("INSERT INTO t VALUES ((SELECT MAX(a) FROM x)), (1)", &["x"]),
        (
            "INSERT INTO t VALUES (SETVAL(other.s, 5000)), (NEXTVAL(`q`)), (NEXT VALUE FOR o.r)",
            &["other.s", "q", "o.r"],
        ),
        ("UPDATE t SET a = (SELECT b FROM x LIMIT 1) WHERE c = 1", &["x"]),
        ("DELETE FROM t WHERE a IN (SELECT a FROM x)", &["x"]),
        ("CREATE TABLE t LIKE other.mm", &["other.mm"]),
        ("CREATE TABLE IF NOT EXISTS s.t (LIKE mm)", &["mm"]),
        ("CREATE TABLE t AS SELECT a LIKE b FROM x", &["x"]),
        ("CREATE TABLE t (a int CHECK (a LIKE 'x')) SELECT a FROM x", &["x"]),
        ("CREATE TABLE t (a int DEFAULT nextval(`o`.`s`))", &["o.s"]),
        ("ALTER TABLE t ADD a int DEFAULT (NEXT VALUE FOR s)", &["s"]),
        // What is no table for sure is none that the dump makes either.
        ("INSERT INTO t SELECT * FROM (TABLE x) q", &["TABLE"]),
    ] {
        assert_eq!(
            reads_of(text).as_deref(),
            Ok(&expected.iter().map(|&n| n.to_owned()).collect::<Vec<_>>()[..]),
            "{text}"
        );
    }
}

/// What is code for some servers only must not make another statement of it.
#[test]
fn version_comments_that_hide_something() {
    for text in [
        "/*!99999 INSERT INTO a VALUES (1) -- */ DROP TABLE other.b",
        "INSERT /*!99999 INTO a VALUES (1) -- */ INTO other.b VALUES (1)",
        "/*!99999 SET @a = ' */ DROP TABLE other.b -- ' */",
        "/*M!100100 SET @a = 1 */ DROP TABLE other.b",
        "DROP TABLE a /*!99999 , b */",
        "CREATE TABLE a (b int) /*!99999 ' */ ENGINE=MERGE UNION=(other.t) /* ' */",
    ] {
        assert!(is_refused(text), "{text}");
    }
    let options =
        "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 */ /*!80016 DEFAULT ENCRYPTION='N' */";
    assert_eq!(kind(options), Kind::CreateSchema("s".into()));
    let columns = "CREATE TABLE `t` (\n  `a` int /*!80023 INVISIBLE */,\n  `b` text /*M!100301 COMPRESSED*/ COMMENT '*/'\n)";
    assert_eq!(kind(columns), Kind::CreateTable(name("t")));
}

/// Percona's mysqldump asks for RocksDB, which is of no use here.
#[test]
fn questions_about_rocksdb() {
    for text in [
        "/*!50112 SELECT COUNT(*) INTO @is_rocksdb_supported FROM INFORMATION_SCHEMA.SESSION_VARIABLES WHERE 1 */",
        "/*!50717 PREPARE s FROM @rocksdb_get_is_supported */",
        "/*!50112 PREPARE s FROM @disable_bulk_load */",
        "/*!50112 EXECUTE s */",
        "/*!50112 DEALLOCATE PREPARE s */",
        "SHOW WARNINGS",
    ] {
        assert_eq!(kind(text), Kind::PassedOver, "{text}");
    }
    let set = "/*!50112 SET @enable_bulk_load = IF (@is_rocksdb_supported, 'SET SESSION rocksdb_bulk_load = 1', 'x') */";
    assert_eq!(kind(set), Kind::Session);
}
