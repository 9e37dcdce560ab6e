use super::*;
use crate::manifest::Script;
use drover_db::sql::{Dialect, Kind, tokens};
use proptest::prelude::*;

fn table(columns: &[(&str, Option<&str>)], computed: &[&str]) -> Table {
    let column = |(name, load): &(&str, Option<&str>)| Column {
        name: (*name).into(),
        read: None,
        load: load.map(Into::into),
    };
    Table {
        name: "t`\n(".into(),
        script: Script::default(),
        engine: "InnoDB".into(),
        columns: columns.iter().map(column).collect(),
        generated: vec![],
        computed: computed.iter().map(|name| (*name).to_owned()).collect(),
        rows_elsewhere: false,
        with_history: false,
        key: None,
        partitions: vec![],
        condition: None,
        masks: Default::default(),
        files: vec![],
    }
}

const JSON: &str = "CONVERT(@value USING utf8mb4)";

fn wide() -> Inserts {
    let columns = [("a", None), ("b\n`", None), ("c", Some(JSON)), ("d", None)];
    let kinds = [ValueKind::Number, ValueKind::Utf8, ValueKind::Utf8, ValueKind::Bytes];
    Inserts::new(Vendor::MySql, &table(&columns, &["g"]), &kinds, vec![])
}

/// The statements of lines that come in pieces which end at `cuts`.
fn written(inserts: &mut Inserts, lines: &[u8], cuts: &[usize]) -> Vec<u8> {
    let (mut all, mut from) = (Vec::new(), 0);
    for end in cuts.iter().copied().chain([lines.len()]) {
        let mut out = Vec::new();
        inserts.pass(&lines[from..end], &mut out);
        all.extend(out);
        from = end;
    }
    let mut out = Vec::new();
    inserts.finish(&mut out);
    [all, out].concat()
}

fn read(text: &[u8], before: u64, cuts: &[usize]) -> Vec<u8> {
    let (mut reader, mut lines, mut from) = (Reader::new(before), Vec::new(), 0);
    for end in cuts.iter().copied().chain([text.len()]) {
        reader.pass(&text[from..end], &mut lines);
        from = end;
    }
    lines
}

/// As dumps had it before, without a word before what is in quotes.
fn without_words(mut text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some((&first, rest)) = text.split_first() {
        text = match text.strip_prefix(b"_binary'") {
            Some(_) => &text[b"_binary".len()..],
            None => {
                out.push(first);
                rest
            }
        };
    }
    out
}

#[test]
fn a_row_of_each_kind() {
    let lines = b"1\tit's\t{\"a\": 1}\t\\0\n-0\t\\N\t\\N\t\n-1.5\t\\\\N\t\\\\'\t''\n\\N\t\t\t\\N\n";
    let text = written(&mut wide(), lines, &[]);
    let expected = r#"INSERT INTO `t``
(` (`a`,`b
```,`c`,`d`,`g`) VALUES
(1,_binary'it''s',CONVERT(_binary'{"a": 1}' USING utf8mb4),_binary'\0',DEFAULT),
('-0',NULL,NULL,_binary'',DEFAULT),
(-1.5,_binary'\\N',CONVERT(_binary'\\''' USING utf8mb4),_binary'''''',DEFAULT),
(NULL,_binary'',CONVERT(_binary'' USING utf8mb4),NULL,DEFAULT);
"#;
    assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
    assert_eq!(read(&text, 0, &[]), lines);
}

#[test]
fn rows_without_values() {
    let mut inserts = Inserts::new(Vendor::MySql, &table(&[], &[]), &[], vec![]);
    let text = written(&mut inserts, b"1\n1\n", &[]);
    assert_eq!(text, b"INSERT INTO `t``\n(` () VALUES\n(),\n();\n");
    assert_eq!(read(&text, 0, &[]), b"1\n1\n");
    let mut inserts = Inserts::new(Vendor::MySql, &table(&[], &["g", "h"]), &[], vec![]);
    let text = written(&mut inserts, b"1\n", &[]);
    assert!(text.ends_with(b" (`g`,`h`) VALUES\n(DEFAULT,DEFAULT);\n"));
    assert_eq!(read(&text, 0, &[]), b"1\n");
    assert_eq!(written(&mut inserts, b"", &[]), b"");
}

#[test]
fn a_statement_has_about_a_megabyte() {
    let mut inserts = wide();
    let line = format!("1\t{}\t\\N\t\\N\n", "x".repeat(9000));
    let text = written(&mut inserts, line.repeat(300).as_bytes(), &[100_000, 1_500_000]);
    let text = String::from_utf8(text).unwrap();
    let statements: Vec<_> = text.split_inclusive(";\n").map(str::len).collect();
    assert_eq!(statements.len(), 3);
    assert!(statements.iter().all(|length| *length <= (1 << 20) + 10_000), "{statements:?}");
    assert_eq!(inserts.longest(), *statements.iter().max().unwrap() as u64);
}

#[test]
fn invalid_text_is_counted_by_column() {
    for cut in 0..20 {
        let mut inserts = wide();
        let lines = b"1\t\xc3\xa9\tx\t\xff\n1\t\xc3'\xa9\t\xff'\xff\t\\N\n1\t\xc3\t\xf0\x9f\x98\x80\t1\n";
        written(&mut inserts, lines, &[cut]);
        assert_eq!(inserts.invalid(), [0, 2, 1, 0], "{cut}");
    }
    let mut inserts =
        Inserts::new(Vendor::MariaDb, &table(&[("a", None)], &[]), &[ValueKind::Utf8mb3], vec![]);
    written(&mut inserts, b"\xf0\x9f\x98\x80\n\xed\xa0\x80\n\xe9\n", &[]);
    assert_eq!(inserts.invalid(), [2]);
}

#[test]
fn mariadb_is_not_strict_about_the_error_value_of_an_enum() {
    let columns = [("a", None), ("e", None)];
    let new = |vendor| {
        Inserts::new(
            vendor,
            &table(&columns, &[]),
            &[ValueKind::Number, ValueKind::Utf8],
            vec![(1, b"0".to_vec())],
        )
    };
    let lines = b"0\tx\n1\t0\n2\t0\n3\t00\n";
    let text = written(&mut new(Vendor::MariaDb), lines, &[]);
    assert_eq!(read(&text, 0, &[]), lines);
    let text = String::from_utf8(text).unwrap();
    let loosely = String::from_utf8(LOOSELY.to_vec()).unwrap();
    assert_eq!(text.matches("INSERT").count(), 3);
    assert_eq!(text.matches(&format!(";\n{loosely}INSERT")).count(), 1, "{text}");
    assert!(text.contains("\n(1,_binary'0'),\n(2,_binary'0');\nINSERT"), "{text}");
    // Of a row that is cut, what is behind the cut is not known.
    let text = written(&mut new(Vendor::MariaDb), lines, &[2]);
    assert!(text.starts_with(LOOSELY));
    let text = String::from_utf8(written(&mut new(Vendor::MySql), lines, &[])).unwrap();
    assert_eq!(text.matches("INSERT").count(), 1);
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    let byte = prop_oneof![3 => any::<u8>(), 2 => prop::sample::select(b"\t\n\\\0'\"`(),;N-0".to_vec())];
    prop::option::of(prop::collection::vec(byte, 0..40))
}

fn number() -> impl Strategy<Value = Option<Vec<u8>>> {
    let numbers = ["0", "-0", "-1", "1.50", "-0.25", "1e100", "-1.5e-7", "00012"];
    prop::option::of(prop::sample::select(numbers.map(|number| number.as_bytes().to_vec()).to_vec()))
}

fn line_of(row: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut line = Vec::new();
    for (index, value) in row.iter().enumerate() {
        if index > 0 {
            line.push(b'\t');
        }
        match value {
            Some(value) => drover_db::table::text::escape_into(&mut line, value),
            None => line.extend_from_slice(b"\\N"),
        }
    }
    line.push(b'\n');
    line
}

/// The literals of a statement as the server reads them.
fn literals(statement: &[u8]) -> Vec<Option<Vec<u8>>> {
    let values = tokens(statement, Dialect::default()).skip_while(|token| !token.is_word("VALUES"));
    let literal = |text: &[u8]| {
        let (mut value, mut bytes) = (Vec::new(), text[1..text.len() - 1].iter());
        while let Some(&byte) = bytes.next() {
            value.push(match byte {
                b'\\' => match bytes.next().unwrap() {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'0' => 0,
                    other => *other,
                },
                b'\'' => *bytes.next().unwrap(),
                other => other,
            });
        }
        value
    };
    values
        .filter_map(|token| match token.kind {
            Kind::String => Some(Some(literal(token.text))),
            Kind::Word if token.is_word("NULL") => Some(None),
            _ => None,
        })
        .collect()
}

proptest! {
    #[test]
    fn lines_come_back_wherever_they_are_cut(
        rows in prop::collection::vec((number(), value(), value(), value()), 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        before in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let lines: Vec<u8> = rows.into_iter().flat_map(|(a, b, c, d)| line_of(&[a, b, c, d])).collect();
        let places = |length: usize| {
            let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(length + 1)).collect();
            places.sort_unstable();
            places
        };
        let whole = written(&mut wide(), &lines, &[]);
        // Of a number that is cut behind its sign nobody knows whether it is -0, so it may be in quotes.
        let cut = written(&mut wide(), &lines, &places(lines.len()));
        prop_assert_eq!(read(&cut, 0, &[]), &lines[..]);
        let older = without_words(&whole);
        for whole in [&whole, &older] {
            let text = [before.as_slice(), b"SET time_zone = '+00:00';\nUSE `a\n`;\n", whole].concat();
            let lines_read = read(&text, before.len() as u64, &places(text.len()));
            prop_assert_eq!(&lines_read, &lines);
        }
    }

    #[test]
    fn the_server_reads_the_values_that_there_were(row in (value(), value(), value())) {
        let row = [row.0, row.1, row.2];
        let columns = [("a", None), ("b", Some(JSON)), ("c", None)];
        let mut inserts = Inserts::new(Vendor::MySql, &table(&columns, &[]), &[ValueKind::Bytes; 3], vec![]);
        let text = written(&mut inserts, &line_of(&row), &[]);
        prop_assert_eq!(literals(&text), row.to_vec());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(text in prop::collection::vec(prop_oneof![1 => any::<u8>(),
        4 => prop::sample::select(b"('`),;\nN1\\".to_vec())], 0..60), before in 0u64..5) {
        read(&text, before, &[]);
    }
}
