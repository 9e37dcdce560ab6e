use super::*;
use proptest::prelude::*;

/// Hands out a text in pieces of the given sizes, again and again.
struct Chunked<'a> {
    text: &'a [u8],
    sizes: Vec<usize>,
    next: usize,
}

impl Read for Chunked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.next % self.sizes.len()].min(self.text.len()).min(buffer.len());
        self.next += 1;
        buffer[..size].copy_from_slice(&self.text[..size]);
        self.text = &self.text[size..];
        Ok(size)
    }
}

fn split_as(
    text: &[u8],
    rule: Rule,
    dialect: Dialect,
    sizes: &[usize],
) -> Result<Vec<(u64, String)>, Broken> {
    let mut splitter = Splitter::new(Chunked { text, sizes: sizes.to_vec(), next: 0 }, rule);
    splitter.set_dialect(dialect);
    let (mut found, mut statement) = (Vec::new(), Vec::new());
    while let Some(line) = splitter.next(&mut statement)? {
        found.push((line, String::from_utf8_lossy(&statement).into_owned()));
    }
    Ok(found)
}

fn split(text: &str) -> Vec<(u64, String)> {
    split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &[1000]).unwrap()
}

fn texts(text: &str) -> Vec<String> {
    split(text).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn statements_and_their_lines() {
    let text = "-- c; d\n\nSELECT 1;\n# x;\nSELECT ';\n' ; /* ; \n */ SELECT\r\n2;\r\n;;";
    let expected = [(3, "SELECT 1"), (5, "SELECT ';\n' "), (7, "SELECT\r\n2")];
    assert_eq!(split(text), expected.map(|(line, text)| (line, text.to_owned())));
}

#[test]
fn delimiters_comments_and_quotes() {
    assert_eq!(
        texts("DELIMITER ;;\nBEGIN a; END;;\r\ndelimiter ;\r\n/*!50003 CREATE x 'a*/;' */;"),
        ["BEGIN a; END", "/*!50003 CREATE x 'a*/;' */"]
    );
    assert_eq!(texts("/*M!999999\\- enable the sandbox mode */ \n-- x\nUSE `a;b`;"), ["USE `a;b`"]);
    assert_eq!(
        texts("SELECT 1 -- it's;\n, 2 /* it's; */, 3--1, \"a;\\\";\";"),
        ["SELECT 1 -- it's;\n, 2 /* it's; */, 3--1, \"a;\\\";\""]
    );
}

#[test]
fn the_sql_mode_and_the_character_set_count() {
    let one = |text: &[u8], dialect| split_as(text, Rule::Delimiter, dialect, &[3]).map(|found| found.len());
    let plain = Dialect { no_backslash_escapes: true, ..Dialect::default() };
    assert_eq!(one(br"SELECT '\'; SELECT 2;", plain).unwrap(), 2);
    let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
    assert_eq!(one(br#"SELECT "\"; SELECT 2;"#, ansi).unwrap(), 2);
    let gbk = Dialect { lead_bytes: LeadBytes::Gbk, ..Dialect::default() };
    assert_eq!(one(b"SELECT '\x95\x5c'; SELECT 2;", gbk).unwrap(), 2);
    assert!(one(b"SELECT '\x95\x5c'; SELECT 2;", Dialect::default()).is_err());
}

#[test]
fn rows_of_constants_are_known_from_others() {
    let plain = |text: &str, size| {
        let text = format!("{text};");
        let mut splitter =
            Splitter::new(Chunked { text: text.as_bytes(), sizes: vec![size], next: 0 }, Rule::Delimiter);
        assert!(splitter.next(&mut Vec::new()).unwrap().is_some());
        splitter.has_plain_rows()
    };
    let long = format!("INSERT INTO `t` VALUES (0x{},NULL)", "AbCdEf0123456789".repeat(100));
    for text in [
        "INSERT INTO `t` (`f`, g1) VALUES\n(1,-2.5e-7,NULL,'f(','it''s \\'',\"f()\"),(1E20,0xAF09,_binary 'f(',x'4F')",
        "REPLACE INTO `s`.`t` VALUES (5--1)",
        "INSERT INTO t (`value`, value2) VALUES (1,2)",
        &long,
    ] {
        assert!([1, 7, 1000].iter().all(|&size| plain(text, size)), "{text}");
    }
    for text in [
        "f()",
        "`f`()",
        "`o`.`f`()",
        "o.f ()",
        "1f()",
        "1e()",
        "0x()",
        "00x1()",
        "0xAg()",
        "0b1",
        "_f()",
        "x()",
        "(SELECT 1)",
        "NEXT VALUE FOR s",
        "@a",
        "1 /*!99999 ) */",
        "1 --\x7f",
        "\0",
        "é()",
    ] {
        let text = format!("INSERT INTO t VALUES (1),({text}\n)");
        assert!([1, 7, 1000].iter().all(|&size| !plain(&text, size)), "{text}");
    }
    for text in [
        "CREATE TABLE t (a int)",
        "INSERT INTO t SELECT 1",
        "INSERT INTO t SELECT f() IN (VALUES (1))",
        "INSERT INTO t VALUE (1)",
        "INSERT INTO t VALUE (f()) ON DUPLICATE KEY UPDATE a = VALUES (1)",
        "INSERT INTO t --\x7f\n VALUES (1)",
        "INSERT INTO t /*!99999 VALUES (1) */ VALUES (1)",
        "DELETE FROM t",
    ] {
        assert!(!plain(text, 1000), "{text}");
    }
}

#[test]
fn programs_of_mydumper_end_with_their_line() {
    let text = b";\nSET a;\nCREATE x BEGIN a; \n b 'it; END;\nSET b;";
    let found = split_as(text, Rule::Line, Dialect::default(), &[5]).unwrap();
    let expected = [(2, "SET a"), (3, "CREATE x BEGIN a; \n b 'it; END"), (5, "SET b")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    let found = split_as(b"SET a;\n;", Rule::Line, Dialect::default(), &[5]).unwrap();
    assert_eq!(found, [(1, "SET a".to_owned())]);
}

#[test]
fn what_does_not_end_is_an_error() {
    for (text, expected) in [
        ("SELECT 1;\nINSERT 'a", (2, "a string")),
        ("\nSELECT `", (2, "a quoted name")),
        ("SELECT 1", (1, "a statement")),
        ("/* x", (1, "a comment")),
        ("SELECT /* x", (1, "a comment")),
    ] {
        match split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &[2]) {
            Err(Broken::Unfinished { line, within }) => assert_eq!((line, within), expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_statement_that_no_server_takes() {
    for (text, rule) in [
        ("SELECT 1;\n\nSELECT 'a;\n', 23;\nx;\n", Rule::Delimiter),
        ("SELECT 1;\n\nSELECT 'a\n', 23;\nx;\n", Rule::Line),
    ] {
        let input = Chunked { text: text.as_bytes(), sizes: vec![1], next: 0 };
        let mut splitter = Splitter::new(input, rule);
        splitter.set_longest(10);
        let mut statement = Vec::new();
        assert_eq!(splitter.next(&mut statement).unwrap(), Some(1));
        match splitter.next(&mut statement) {
            Err(Broken::TooLong { line: 3, bytes: Some(bytes), most: 10 }) => {
                assert_eq!(bytes, text.len() - "SELECT 1;\n\n".len() - ";\nx;\n".len());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn large_statements_and_what_follows() {
    let large = format!("SELECT '{}\n'", "x;".repeat(LARGE / 2));
    let text = format!("SELECT 1;{large};\n{large}; SELECT 2;");
    let found = split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &[70_000]).unwrap();
    let expected = [(1, "SELECT 1"), (1, &*large), (3, &*large), (4, "SELECT 2")];
    assert!(found == expected.map(|(line, text)| (line, text.to_owned())), "{:?}", found.len());
}

#[test]
fn notes_of_the_tools() {
    let text = "-- MariaDB dump 10.19  Distrib 10.11\n--\n-- Host: localhost    Database: a b\n-- Server version\t10.11.6-MariaDB\n-- Dump completed on 2026";
    let mut splitter = Splitter::new(text.as_bytes(), Rule::Delimiter);
    assert!(splitter.next(&mut Vec::new()).unwrap().is_none());
    let expected = Notes {
        is_dump: true,
        is_pump: false,
        database: Some("a b".into()),
        server: Some("10.11.6-MariaDB".into()),
        is_completed: true,
        heads: 1,
        cut_before: None,
    };
    assert_eq!(splitter.notes(), &expected);
    let mut none = Notes::default();
    none.read(b"-- Host: localhost    Database: ", 1);
    assert_eq!(none.database, None);
}

proptest! {
    #[test]
    fn statements_come_back_however_the_text_is_cut(
        parts in prop::collection::vec(
            prop_oneof![
                Just("'a;\\'b'".to_owned()), Just("`x;\n`".to_owned()), Just("\"d;\"".to_owned()),
                Just("/* ;' */".to_owned()), Just("-- ;'\n".to_owned()), Just("''';'".to_owned()),
                "[a-z0-9 (),\n]{1,20}", Just("/*!40101 x*/".to_owned())
            ], 1..40),
        every in 1..6usize,
        end in prop_oneof![Just(";"), Just(";;"), Just("$$")],
        sizes in prop::collection::vec(1..90usize, 1..6),
    ) {
        let statements: Vec<String> = parts.chunks(every).map(|parts| format!("SELECT {}", parts.concat())).collect();
        let text: String = statements.iter().map(|text| format!("{text}{end}\n")).collect();
        let text = format!("DELIMITER {end}\n{text}");
        let found = split_as(text.as_bytes(), Rule::Delimiter, Dialect::default(), &sizes).unwrap();
        let lines = found.iter().map(|(line, _)| *line);
        let mut expected_line = 2;
        for (statement, line) in statements.iter().zip(lines) {
            prop_assert_eq!(line, expected_line);
            expected_line += statement.matches('\n').count() as u64 + 1;
        }
        prop_assert_eq!(found.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), statements);
    }

    #[test]
    fn the_same_however_it_is_cut(
        text in prop::collection::vec(prop_oneof![Just(b'\''), Just(b';'), Just(b'\\'), Just(b'\n'), Just(b'-'),
            Just(b'/'), Just(b'*'), Just(b'`'), Just(b' '), Just(0x95u8), Just(b'a')], 0..300),
        sizes in prop::collection::vec(1..70usize, 1..6), wide: bool, plain: bool, by_line: bool,
    ) {
        let lead_bytes = if wide { LeadBytes::Sjis } else { LeadBytes::None };
        let dialect = Dialect { ansi_quotes: false, no_backslash_escapes: plain, lead_bytes };
        let rule = if by_line { Rule::Line } else { Rule::Delimiter };
        let found = |sizes: &[usize]| format!("{:?}", split_as(&text, rule, dialect, sizes));
        prop_assert_eq!(found(&sizes), found(&[100_000]));
    }

    #[test]
    fn rows_of_constants_call_nothing(
        parts in prop::collection::vec(prop_oneof![
            Just("("), Just(")"), Just(","), Just(" "), Just("f"), Just("x"), Just("e"), Just("1"), Just("0x"), Just("AF"), Just("."),
            Just("'a('"), Just("`g`"), Just("\"h\""), Just("NULL"), Just("_binary"), Just("-"), Just("/*"), Just("*/"), Just("!"),
            Just("SELECT"), Just("VALUES"), Just("VALUE"), Just("now"), Just("@"), Just("\\"), Just("--"), Just("\n"), Just("\x7f"), Just("é"), Just("$")
        ], 0..12),
        ansi: bool,
        begin in prop_oneof![Just("VALUES (1),("), Just("VALUE (1),("), Just("(value) VALUES ("), Just("")],
    ) {
        let dialect = Dialect { ansi_quotes: ansi, ..Dialect::default() };
        let text = format!("INSERT INTO t {begin}{});", parts.concat());
        prop_assert!(plain_rows_are_plain(text.as_bytes(), dialect), "{}", text);
    }
}
