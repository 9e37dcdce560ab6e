//! Rows as LOAD DATA reads them: fields ended by tab, lines by newline, `\` as the escape character, `\N` for NULL.
//! Everything else is the value's bytes as they are.

use crate::wire::{Field, next_field};

/// What stands behind the backslash for a byte that cannot stand for itself; 0 for all others.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    escapes[b'\t' as usize] = b't';
    escapes[b'\n' as usize] = b'n';
    escapes[b'\\' as usize] = b'\\';
    escapes[0] = b'0';
    escapes
};

/// The byte for which `escaped` stands behind a backslash.
#[inline]
pub fn unescaped(escaped: u8) -> u8 {
    match escaped {
        b't' => b'\t',
        b'n' => b'\n',
        b'0' => 0,
        itself => itself,
    }
}

/// Appends a value, escaped.
#[inline]
pub fn escape_into(out: &mut Vec<u8>, mut value: &[u8]) {
    while let Some(at) = find_special(value) {
        out.extend_from_slice(&value[..at]);
        out.extend_from_slice(&[b'\\', ESCAPES[usize::from(value[at])]]);
        value = &value[at + 1..];
    }
    out.extend_from_slice(value);
}

/// The place of the first byte that must be escaped.
#[inline]
fn find_special(value: &[u8]) -> Option<usize> {
    find(value, [b'\\'; 2], |byte| ESCAPES[usize::from(byte)] != 0)
}

/// The place of the first byte in rows' text that is one of `marks`, or ends a field or a line.
#[inline]
pub fn find_end(text: &[u8], marks: [u8; 2]) -> Option<usize> {
    find(text, marks, |byte| matches!(byte, b'\t' | b'\n') || marks.contains(&byte))
}

/// The place of the first `mark`.
#[inline]
pub fn find_mark(text: &[u8], mark: u8) -> Option<usize> {
    find(text, [mark; 2], |byte| byte == mark)
}

/// The place of the first byte for which `is_it` holds, which can only be one of `marks` or below 11. Most values hold none: they
/// are looked through a block at a time, the last one overlapping with the one before it. Always inline: the marks are constants,
/// and it is as fast as it is because of that.
#[inline(always)]
fn find(value: &[u8], marks: [u8; 2], is_it: impl Fn(u8) -> bool + Copy) -> Option<usize> {
    let position = |bytes: &[u8]| bytes.iter().position(|&byte| is_it(byte));
    let (blocks, tail) = value.as_chunks::<32>();
    for (index, block) in blocks.iter().enumerate() {
        let found = if is_suspect(block.as_chunks::<8>().0, marks) { position(block) } else { None };
        if let Some(at) = found {
            return Some(index * 32 + at);
        }
    }
    let (words, rest) = tail.as_chunks::<8>();
    let clean = match (rest.is_empty(), value.last_chunk::<8>()) {
        (true, _) => !is_suspect(words, marks),
        (false, Some(last)) => !is_suspect(words, marks) && !is_suspect(&[*last], marks),
        (false, None) => match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            (Some(&[a, b, c, d]), Some(&[e, f, g, h])) => !is_suspect(&[[a, b, c, d, e, f, g, h]], marks),
            _ => position(rest).is_none(),
        },
    };
    if clean { None } else { position(tail).map(|at| blocks.len() * 32 + at) }
}

/// Whether any byte is a mark or below 11: all that is looked for, and some that are rare. Without a branch it becomes vector instructions.
#[inline(always)]
fn is_suspect(words: &[[u8; 8]], marks: [u8; 2]) -> bool {
    words.iter().fold(0, |hit, &word| hit | suspects(word, marks)) != 0
}

/// The highest bit of the first byte that is a mark or below 11, and perhaps of some behind it; 0 if there is none. The first is the lowest.
/// Source: Henry S. Warren, Hacker's Delight, 6-1.
#[inline(always)]
fn suspects(word: [u8; 8], marks: [u8; 2]) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let [first, second] = marks.map(|mark| word ^ (ONES * u64::from(mark)));
    let marked = (first.wrapping_sub(ONES) & !first) | (second.wrapping_sub(ONES) & !second);
    ((word.wrapping_sub(ONES * 11) & !word) | marked) & HIGH
}

/// Appends the line of a row's first `columns` fields, without the newline, and gives the fields that are left; `None` if the
/// row does not hold so many.
#[inline]
pub fn line_into<'a>(out: &mut Vec<u8>, mut row: &'a [u8], columns: usize) -> Option<&'a [u8]> {
    for column in 0..columns {
        if column > 0 {
            out.push(b'\t');
        }
        let before = row;
        match next_field(&mut row) {
            Some(Field::Bytes(value)) => {
                let onwards = &before[before.len() - row.len() - value.len()..];
                if !short_into(out, value, onwards) {
                    escape_into(out, value);
                }
            }
            Some(Field::Null) => out.extend_from_slice(b"\\N"),
            None => return None,
        }
    }
    Some(row)
}

/// Appends a value of at most 32 bytes with nothing to escape, as most are; `false`, and nothing is appended, if it is another or too little of
/// the row follows: `onwards` is the row from the value on. Blocks of fixed sizes are looked at and written, which takes no loop and no call.
#[inline(always)]
fn short_into(out: &mut Vec<u8>, value: &[u8], onwards: &[u8]) -> bool {
    const MARKS: [u8; 2] = [b'\\'; 2];
    let (first, last) = (value.first_chunk::<8>(), value.last_chunk::<8>());
    match (value.len(), first, last) {
        (length @ 0..=8, ..) => {
            let Some(block) = onwards.first_chunk::<8>() else { return false };
            // Behind the value are the lengths of the next ones, which look like bytes to escape.
            let within = suspects(*block, MARKS).checked_shl(64 - 8 * length as u32).unwrap_or_default();
            within == 0 && block_into(out, block, length)
        }
        (length @ 9..=16, Some(first), Some(last)) => {
            let Some(block) = onwards.first_chunk::<16>() else { return false };
            !is_suspect(&[*first, *last], MARKS) && block_into(out, block, length)
        }
        (length @ 17..=32, ..) => {
            let (Some(first), Some(last)) = (value.first_chunk::<16>(), value.last_chunk::<16>()) else {
                return false;
            };
            let Some(block) = onwards.first_chunk::<32>() else { return false };
            let is_clean = |half: &[u8; 16]| !is_suspect(half.as_chunks::<8>().0, MARKS);
            is_clean(first) && is_clean(last) && block_into(out, block, length)
        }
        _ => false,
    }
}

/// Appends the first `length` bytes of a block.
#[inline(always)]
fn block_into<const SIZE: usize>(out: &mut Vec<u8>, block: &[u8; SIZE], length: usize) -> bool {
    let end = out.len() + length;
    out.extend_from_slice(block);
    out.truncate(end);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a line back as the manual of LOAD DATA says.
    fn fields_of(line: &[u8]) -> Vec<Option<Vec<u8>>> {
        line.split(|&b| b == b'\t')
            .map(|field| {
                if field == b"\\N" {
                    return None;
                }
                let mut value = Vec::new();
                let mut bytes = field.iter();
                while let Some(&byte) = bytes.next() {
                    value.push(match byte {
                        b'\\' => match bytes.next().unwrap() {
                            b't' => b'\t',
                            b'n' => b'\n',
                            b'0' => 0,
                            other => *other,
                        },
                        other => other,
                    });
                }
                Some(value)
            })
            .collect()
    }

    fn packet(fields: &[Option<Vec<u8>>]) -> Vec<u8> {
        let mut row = Vec::new();
        for field in fields {
            match field {
                None => row.push(0xfb),
                Some(value) => {
                    row.extend_from_slice(&[0xfc, value.len() as u8, (value.len() >> 8) as u8]);
                    row.extend_from_slice(value);
                }
            }
        }
        row
    }

    proptest! {
        #[test]
        fn lines_read_back(fields in prop::collection::vec(prop::option::of(prop::collection::vec(
            prop_oneof![4 => any::<u8>(), 1 => prop::sample::select(b"\t\n\\\0N".to_vec())], 0..100)), 1..8)) {
            let mut line = Vec::new();
            let row = packet(&fields);
            prop_assert_eq!(line_into(&mut line, &row, fields.len()), Some(&[][..]));
            prop_assert!(!line.contains(&b'\n'));
            prop_assert_eq!(fields_of(&line), fields);
        }
    }

    #[test]
    fn special_bytes_are_found_wherever_they_are() {
        for length in 0..200 {
            let mut value: Vec<u8> = (0..length).map(|at| b"\x0b\x7f\x80\xffa[]\x01"[at % 8]).collect();
            assert_eq!(find_special(&value), None, "{length}");
            for (at, special) in (0..length).zip(b"\0\t\n\\".iter().cycle()) {
                let before = std::mem::replace(&mut value[at], *special);
                assert_eq!(find_special(&value), Some(at), "{length}");
                value[at] = before;
            }
        }
    }

    #[test]
    fn null_is_not_its_own_spelling() {
        let mut line = Vec::new();
        line_into(
            &mut line,
            &packet(&[None, Some(b"\\N".to_vec()), Some(b"NULL".to_vec()), Some(vec![])]),
            4,
        );
        assert_eq!(line, b"\\N\t\\\\N\tNULL\t");
    }

    #[test]
    fn a_row_with_too_few_or_too_many_fields_is_seen() {
        let row = packet(&[None, None]);
        assert_eq!(line_into(&mut Vec::new(), &row, 3), None);
        assert_eq!(line_into(&mut Vec::new(), &row, 1), Some(&[0xfb][..]));
    }
}
