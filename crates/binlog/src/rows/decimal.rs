//! DECIMAL, as the servers store it: groups of nine digits in four bytes with the highest first, fewer digits in fewer bytes, the
//! highest bit upside down, all bits of a negative number too. Source: MySQL `strings/decimal.cc`, `decimal2bin()`.

use super::digits::push_digits;

/// Digits in four bytes.
const GROUP: usize = 9;
/// Bytes that so many digits take that are no whole group.
const BYTES: [usize; GROUP] = [0, 1, 1, 2, 2, 3, 3, 4, 4];

/// How many bytes a value takes.
pub(crate) fn size(digits: u8, behind: u8) -> usize {
    let part = |digits: usize| digits / GROUP * 4 + BYTES[digits % GROUP];
    part(usize::from(digits - behind)) + part(usize::from(behind))
}

/// Writes a value as the servers print it. `bytes` has [`size`] bytes.
pub(crate) fn write(bytes: &[u8], digits: u8, behind: u8, out: &mut Vec<u8>) {
    let is_negative = bytes.first().is_some_and(|first| first & 0x80 == 0);
    if is_negative {
        out.push(b'-');
    }
    let (before, behind) = (usize::from(digits - behind), usize::from(behind));
    let mut groups = Groups { bytes, at: 0, mask: if is_negative { 0xff } else { 0 } };
    let start = out.len();
    push_digits(out, groups.next(BYTES[before % GROUP]), before % GROUP);
    for _ in 0..before / GROUP {
        push_digits(out, groups.next(4), GROUP);
    }
    drop_zeros(out, start);
    if behind == 0 {
        return;
    }
    out.push(b'.');
    for _ in 0..behind / GROUP {
        push_digits(out, groups.next(4), GROUP);
    }
    push_digits(out, groups.next(BYTES[behind % GROUP]), behind % GROUP);
}

/// Takes out the zeros in front, but for the last digit; where there is none, puts one.
fn drop_zeros(out: &mut Vec<u8>, start: usize) {
    let digits = &out[start..];
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    if digits.is_empty() {
        return out.push(b'0');
    }
    let last = out.len() - 1;
    out.drain(start..(start + zeros).min(last));
}

/// Numbers in a row of bytes.
struct Groups<'a> {
    bytes: &'a [u8],
    at: usize,
    mask: u8,
}

impl Groups<'_> {
    /// The next number, of so many bytes.
    fn next(&mut self, count: usize) -> u32 {
        let mut number = 0;
        for _ in 0..count {
            let flipped = if self.at == 0 { 0x80 } else { 0 };
            let byte = self.bytes.get(self.at).copied().unwrap_or(0);
            number = number << 8 | u32::from(byte ^ self.mask ^ flipped);
            self.at += 1;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Stores digits as the servers do.
    fn stored(is_negative: bool, before: &str, behind: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut push = |digits: &str| {
            let number: u32 = if digits.is_empty() { 0 } else { digits.parse().unwrap() };
            let size = if digits.len() == GROUP { 4 } else { BYTES[digits.len()] };
            bytes.extend(&number.to_be_bytes()[4 - size..]);
        };
        let (first, groups) = before.split_at(before.len() % GROUP);
        push(first);
        groups.as_bytes().chunks(GROUP).for_each(|group| push(std::str::from_utf8(group).unwrap()));
        behind.as_bytes().chunks(GROUP).for_each(|group| push(std::str::from_utf8(group).unwrap()));
        bytes[0] ^= 0x80;
        if is_negative {
            bytes.iter_mut().for_each(|byte: &mut u8| *byte = !*byte);
        }
        bytes
    }

    proptest! {
        #[test]
        fn values_read_back(is_negative: bool, before in "[0-9]{0,35}", behind in "[0-9]{0,30}") {
            prop_assume!(!(before.is_empty() && behind.is_empty()));
            let bytes = stored(is_negative, &before, &behind);
            let (digits, scale) = ((before.len() + behind.len()) as u8, behind.len() as u8);
            prop_assert_eq!(bytes.len(), size(digits, scale));
            let mut out = b"x".to_vec();
            write(&bytes, digits, scale, &mut out);
            let sign = if is_negative { "-" } else { "" };
            let whole = before.trim_start_matches('0');
            let whole = if whole.is_empty() { "0" } else { whole };
            let point = if behind.is_empty() { "" } else { "." };
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("x{sign}{whole}{point}{behind}"));
        }
    }
}
