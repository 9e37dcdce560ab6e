//! docs/dump-format.md promises that a dump can be read without drover. This restores tables with nothing but `zstd -d`, the
//! vendor's own client, and a LOAD DATA statement put together from the manifest as the page says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::client::{client, rows_of, run_script, sql, value};
use crate::compare;
use crate::drover::{dump, run};
use crate::files::{manifest, table};
use crate::servers::{on_both, source, target};

on_both!(tables_by_hand);

const PLAIN: &str = r"CREATE TABLE plain (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, t TEXT, b VARBINARY(20), f FLOAT, d DOUBLE, n DECIMAL(20,10),
  e ENUM('', 'a', 'it''s'), s SET('', 'x', 'y'), w TIMESTAMP(6) NULL, z DATE, bits BIT(9), p POINT,
  l VARCHAR(20) CHARACTER SET latin1, `odd ``name` INT, twice DOUBLE AS (d * 2) VIRTUAL, KEY (l)) DEFAULT CHARSET = utf8mb4;
SET sql_mode = '', time_zone = '+02:00';
INSERT INTO plain (id, t, b, f, d, n, e, s, w, z, bits, p, l, `odd ``name`) VALUES
  (1, 'tab\tnewline\nbackslash\\nul\0é日', x'00095C0A2227', 0.1, 5e-324, 1.1, 'a', 'x,y', '2023-10-29 02:30:00.123456',
    '2024-02-29', b'101010101', POINT(1, 0.1), 'é', 1),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, '', '', 16777217, -0e0, -0.0000000001, '', '', '1970-01-02 00:00:00',
    '0000-00-00', 0, ST_GeomFromText('POINT(1 2)', 4326), '', 0),
  (4, '\\N', 'NULL', 3.4e38, 1e307, 9999999999, 'it''s', 'x', '2038-01-01 00:00:00', '2023-02-31', 255, NULL, '\\N', -5);";

const SPECIAL_MYSQL: &str = r#"CREATE TABLE special (id INT PRIMARY KEY, j JSON);
INSERT INTO special VALUES (1, '{"a": "tab\\t é \\\\ \\"", "b": [1.5, null]}'), (2, NULL);"#;

const SPECIAL_MARIADB: &str = "CREATE TABLE special (id INT PRIMARY KEY, u UUID, i INET6);
INSERT INTO special VALUES (1, UUID(), '::1'), (2, NULL, 'ff::');";

fn tables_by_hand(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    let special = match flavour {
        Flavour::MySql => SPECIAL_MYSQL,
        Flavour::MariaDb => SPECIAL_MARIADB,
    };
    sql(server, "CREATE DATABASE by_hand CHARACTER SET utf8mb4");
    run_script(server, Some("by_hand"), format!("{special}\n{PLAIN}").as_bytes()).unwrap();
    run(&mut dump(server, "by_hand", dir.path())).done();

    let target = target(flavour);
    sql(target, "CREATE DATABASE by_hand CHARACTER SET utf8mb4");
    for name in ["plain", "special"] {
        let table = table(&manifest(dir.path()), "by_hand", name);
        run_script(
            target,
            Some("by_hand"),
            &fs::read(dir.path().join(text(&table["script"]["file"]))).unwrap(),
        )
        .unwrap();
        for file in table["files"].as_array().unwrap() {
            let text_file = decompressed(&dir.path().join(text(&file["file"])));
            let answers =
                rows_of(client(target).args(["--local-infile=1", "by_hand"]), &load(&table, &text_file))
                    .unwrap();
            assert!(answers.is_empty(), "the server warns: {answers:?}");
        }
        assert_eq!(
            value(target, format!("SELECT COUNT(*) FROM by_hand.{name}")),
            value(server, format!("SELECT COUNT(*) FROM by_hand.{name}"))
        );
    }
    compare::assert_same(&compare::everything(server, "by_hand"), &compare::everything(target, "by_hand"));
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

fn decompressed(file: &Path) -> PathBuf {
    let zstd =
        Command::new("zstd").args(["-d", "--quiet"]).arg(file).status().expect("the program zstd is needed");
    assert!(zstd.success());
    file.with_extension("")
}

/// The statements of the page, for the table that the manifest describes.
fn load(table: &Value, file: &Path) -> String {
    let (mut fields, mut assignments) = (Vec::new(), Vec::new());
    for (index, column) in table["columns"].as_array().unwrap().iter().enumerate() {
        let name = format!("`{}`", text(&column["name"]).replace('`', "``"));
        match column["load"].as_str() {
            None => fields.push(name),
            Some(load) => {
                assignments.push(format!("{name} = {}", load.replace("@value", &format!("@v{index}"))));
                fields.push(format!("@v{index}"));
            }
        }
    }
    let set = if assignments.is_empty() { String::new() } else { format!("SET {}", assignments.join(", ")) };
    format!(
        r"SET time_zone = '+00:00', foreign_key_checks = 0,
    sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES';
SET @older_never = '2038-01-19 03:14:07.999999', @never = COALESCE(FROM_UNIXTIME(4294967295.999999), FROM_UNIXTIME(2147483647.999999));
LOAD DATA LOCAL INFILE '{}' INTO TABLE `{}` CHARACTER SET binary
  FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'
  ({}) {set};
SHOW WARNINGS;",
        file.display(),
        text(&table["name"]),
        fields.join(", ")
    )
}
