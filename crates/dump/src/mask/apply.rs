//! What becomes of one value. All but the literals depend on a secret key and on the value alone, so that equal values stay
//! equal in all tables and all dumps that are made with the same key.
//!
//! Whole numbers and formats are permuted: two values that differ stay different. Both are Feistel networks in which each
//! half is changed, in turn, by a pseudo-random function (HMAC-SHA-256) of the other one.

use std::sync::Arc;

use ring::hmac;

/// Rounds of the permutations, as many as NIST's FF1 has for small domains.
const ROUNDS: u8 = 10;
/// Hexadecimal digits of a hash: 128 bits.
pub(super) const HASH_DIGITS: usize = 32;

/// The secret. It is never printed.
#[derive(Clone)]
pub(crate) struct Key(Arc<hmac::Key>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(***)")
    }
}

impl Key {
    pub(super) fn new(secret: &[u8]) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }

    /// `length` bytes that only who has the key can tell from chance.
    fn bytes(&self, label: &[u8], text: &[u8], length: usize) -> Vec<u8> {
        // The text, which may be long, is read once.
        let seed = self.sign(&[&[u8::try_from(label.len()).unwrap_or(u8::MAX)], label, text]);
        let mut out = seed.as_ref().to_vec();
        for block in 1u32.. {
            if out.len() >= length {
                break;
            }
            out.extend_from_slice(self.sign(&[b"\xffmore", &block.to_be_bytes(), seed.as_ref()]).as_ref());
        }
        out.truncate(length);
        out
    }

    fn sign(&self, parts: &[&[u8]]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        parts.iter().for_each(|part| context.update(part));
        context.sign()
    }

    fn number(&self, label: &[u8], text: &[u8]) -> u64 {
        let bytes = self.bytes(label, text, 8);
        bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// Tells two keys apart without telling what they are.
    pub(super) fn check_value(&self) -> String {
        format!("{:016x}", self.number(b"check", b""))
    }
}

/// How a column's values are replaced.
#[derive(Debug, Clone)]
pub(crate) enum Masker {
    Null,
    Fixed(Vec<u8>),
    /// Hexadecimal digits.
    HashText {
        key: Key,
        digits: usize,
    },
    /// Bytes.
    HashBytes {
        key: Key,
        length: usize,
    },
    /// A whole number with so many bits beside the sign.
    HashNumber {
        key: Key,
        bits: u32,
    },
    KeepText {
        key: Key,
        is_utf8: bool,
    },
    KeepNumber {
        key: Key,
        most: u128,
        least: i128,
    },
}

impl Masker {
    /// The value in the place of another; `None` is NULL. Gives nothing for a number that is none.
    pub(crate) fn apply(&self, value: Option<&[u8]>) -> Result<Option<Vec<u8>>, NotANumber> {
        let value = match (self, value) {
            (Self::Null, _) => return Ok(None),
            (Self::Fixed(text), _) => return Ok(Some(text.clone())),
            (_, None) => return Ok(None),
            (_, Some(value)) => value,
        };
        Ok(Some(match self {
            Self::Null | Self::Fixed(_) => Vec::new(), // returned above
            Self::HashText { key, digits } => hash_text(key, value, *digits),
            Self::HashBytes { key, length } => key.bytes(b"hash", value, *length),
            Self::HashNumber { key, bits } => hash_number(key, value, *bits).ok_or(NotANumber)?,
            Self::KeepText { key, is_utf8 } => keep_text(key, value, *is_utf8),
            Self::KeepNumber { key, most, least } => {
                keep_number(key, value, *most, *least).ok_or(NotANumber)?
            }
        }))
    }
}

/// The server sent something else than the column's type allows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotANumber;

fn hash_text(key: &Key, value: &[u8], digits: usize) -> Vec<u8> {
    let bytes = key.bytes(b"hash", value, HASH_DIGITS / 2);
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).map_or(b'0', |c| c as u8);
    let text = bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]);
    text.take(digits).collect()
}

/// Permutes the numbers of one sign: 0 and above with `bits` bits, and below 0 as many.
fn hash_number(key: &Key, value: &[u8], bits: u32) -> Option<Vec<u8>> {
    let number: i128 = std::str::from_utf8(value).ok()?.parse().ok()?;
    let (magnitude, is_negative) = if number < 0 { (-(number + 1), true) } else { (number, false) };
    let magnitude = u64::try_from(magnitude).ok().filter(|&m| bits == 64 || m >> bits == 0)?;
    let permuted = i128::from(permute(key, magnitude, bits));
    Some((if is_negative { -permuted - 1 } else { permuted }).to_string().into_bytes())
}

fn permute(key: &Key, number: u64, bits: u32) -> u64 {
    let low_bits = bits / 2;
    let (low_mask, high_mask) = ((1u64 << low_bits) - 1, (1u64 << (bits - low_bits)) - 1);
    let (mut low, mut high) = (number & low_mask, number >> low_bits);
    for round in 0..ROUNDS {
        let label = [b'n', round, bits.to_be_bytes()[3]];
        match round % 2 {
            0 => low ^= key.number(&label, &high.to_be_bytes()) & low_mask,
            _ => high ^= key.number(&label, &low.to_be_bytes()) & high_mask,
        }
    }
    high << low_bits | low
}

/// A place in a text that is replaced: which of `radix` values it has.
#[derive(Clone, Copy)]
struct Digit {
    radix: u8,
    value: u8,
}

/// Permutes all texts of the same shape.
fn permute_digits(key: &Key, digits: &mut [Digit]) {
    let middle = digits.len().div_ceil(2);
    let (left, right) = digits.split_at_mut(middle);
    for round in 0..ROUNDS {
        let (changed, other) = if round % 2 == 0 { (&mut *left, &*right) } else { (&mut *right, &*left) };
        let mut text = Vec::with_capacity((changed.len() + other.len()) * 2);
        text.extend(changed.iter().map(|digit| digit.radix));
        text.extend(other.iter().flat_map(|digit| [digit.radix, digit.value]));
        let stream = key.bytes(&[b'f', round], &text, changed.len() * 2);
        for (digit, bytes) in changed.iter_mut().zip(stream.chunks_exact(2)) {
            let step = u32::from(bytes[0]) << 8 | u32::from(bytes[1]);
            // Below the radix, which is at most 26.
            digit.value = ((u32::from(digit.value) + step) % u32::from(digit.radix)) as u8;
        }
    }
}

/// Digits stay digits and letters letters, of the same case; what is neither stays as it is. Letters of upper and lower case
/// go the same way, so that what is equal without regard to case stays so. Letters and digits beyond ASCII become ASCII ones.
fn keep_text(key: &Key, value: &[u8], is_utf8: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let (mut places, mut digits) = (Vec::new(), Vec::new());
    let mut take = |out: &mut Vec<u8>, first: u8, radix: u8, value: u8| {
        places.push((out.len(), first));
        digits.push(Digit { radix, value });
        out.push(first);
    };
    for c in characters(value, is_utf8) {
        match c {
            Character::Ascii(c) if c.is_ascii_digit() => take(&mut out, b'0', 10, c - b'0'),
            Character::Ascii(c) if c.is_ascii_lowercase() => take(&mut out, b'a', 26, c - b'a'),
            Character::Ascii(c) if c.is_ascii_uppercase() => take(&mut out, b'A', 26, c - b'A'),
            Character::Ascii(c) => out.push(c),
            Character::Digit(code) => take(&mut out, b'0', 10, (code % 10) as u8),
            Character::Letter(code) => take(&mut out, b'a', 26, (code % 26) as u8),
            Character::Other(bytes) => out.extend_from_slice(bytes),
        }
    }
    permute_digits(key, &mut digits);
    for ((place, first), digit) in places.into_iter().zip(digits) {
        out[place] = first + digit.value;
    }
    out
}

enum Character<'a> {
    Ascii(u8),
    Digit(u32),
    Letter(u32),
    Other(&'a [u8]),
}

/// The characters of a text; bytes that are none count as letters, so that nothing passes unseen.
fn characters(text: &[u8], is_utf8: bool) -> Vec<Character<'_>> {
    let byte = |&byte: &u8| match byte.is_ascii() {
        true => Character::Ascii(byte),
        false => Character::Letter(u32::from(byte)),
    };
    if !is_utf8 {
        return text.iter().map(byte).collect();
    }
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for (at, c) in chunk.valid().char_indices() {
            out.push(match c {
                c if c.is_ascii() => Character::Ascii(c as u8),
                c if c.is_numeric() => Character::Digit(c as u32),
                c if c.is_alphabetic() => Character::Letter(c as u32),
                c => Character::Other(&chunk.valid().as_bytes()[at..at + c.len_utf8()]),
            });
        }
        out.extend(chunk.invalid().iter().map(byte));
    }
    out
}

/// Digits stay digits, the sign and the point stay; the first digit of several stays other than 0. What leaves the type's
/// range goes on through the permutation until it is back in it, which keeps values apart.
fn keep_number(key: &Key, value: &[u8], most: u128, least: i128) -> Option<Vec<u8>> {
    let is_negative = value.first() == Some(&b'-');
    let start = usize::from(is_negative);
    let point = value.iter().position(|&c| c == b'.').unwrap_or(value.len());
    let places: Vec<_> = (start..value.len()).filter(|&at| at != point).collect();
    if places.is_empty() || !places.iter().all(|&at| value[at].is_ascii_digit()) {
        return None;
    }
    let first_counts = value[start] != b'0';
    let digit = |&at: &usize| match at == start {
        true if first_counts => Digit { radix: 9, value: value[at] - b'1' },
        true => Digit { radix: 1, value: 0 },
        false => Digit { radix: 10, value: value[at] - b'0' },
    };
    let mut digits: Vec<_> = places.iter().map(digit).collect();
    let mut out = value.to_vec();
    loop {
        permute_digits(key, &mut digits);
        for (&at, digit) in places.iter().zip(&digits) {
            out[at] = digit.value + if at == start && first_counts { b'1' } else { b'0' };
        }
        if is_in_range(&out[start..], is_negative, point - start, most, least) {
            return Some(out);
        }
    }
}

/// Whether a number is one that the column can hold and would show like this: there is no -0.
fn is_in_range(digits: &[u8], is_negative: bool, point: usize, most: u128, least: i128) -> bool {
    if is_negative && !digits.iter().any(|c| (b'1'..=b'9').contains(c)) {
        return false;
    }
    if point < digits.len() || point > 38 {
        return true; // a DECIMAL, whose range is that of its digits
    }
    let number = digits.iter().fold(0u128, |number, c| number * 10 + u128::from(c - b'0'));
    if is_negative { number <= least.unsigned_abs() } else { number <= most }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::new(b"a secret of the tests")
    }

    fn keep(text: &str) -> String {
        String::from_utf8(keep_text(&key(), text.as_bytes(), true)).unwrap()
    }

    fn text(masker: &Masker, value: &str) -> String {
        String::from_utf8(masker.apply(Some(value.as_bytes())).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn null_stays_null_but_for_a_literal() {
        let key = key();
        assert_eq!(Masker::Null.apply(Some(b"x")), Ok(None));
        assert_eq!(Masker::Fixed(b"y".to_vec()).apply(None), Ok(Some(b"y".to_vec())));
        assert_eq!(Masker::HashText { key: key.clone(), digits: 8 }.apply(None), Ok(None));
        assert_eq!(Masker::HashNumber { key, bits: 31 }.apply(Some(b"x")), Err(NotANumber));
        assert!(!format!("{:?}", Masker::HashText { key: self::key(), digits: 8 }).contains("secret"));
    }

    #[test]
    fn another_key_gives_another_value() {
        let digits = 32;
        let hash = |secret: &[u8]| text(&Masker::HashText { key: Key::new(secret), digits }, "Ann");
        assert_eq!(hash(b"one"), hash(b"one"));
        assert_ne!(hash(b"one"), hash(b"two"));
    }

    /// All values of a small domain: a permutation has each of them once.
    #[test]
    fn what_is_permuted_stays_apart() {
        let number = Masker::HashNumber { key: key(), bits: 7 };
        let all: BTreeSet<_> = (-128..128).map(|n: i32| text(&number, &n.to_string())).collect();
        assert_eq!(all.len(), 256);
        assert!(all.iter().all(|n| (-128..128).contains(&n.parse::<i32>().unwrap())));
        let kept: BTreeSet<_> = (0..1000).map(|n| keep(&format!("{n:03}"))).collect();
        assert_eq!(kept.len(), 1000);
        let tiny = Masker::KeepNumber { key: key(), most: 255, least: 0 };
        let tinies: BTreeSet<_> = (0..256).map(|n| text(&tiny, &n.to_string())).collect();
        assert_eq!(tinies.len(), 256);
        assert!(tinies.iter().all(|n| n.parse::<u8>().unwrap().to_string() == *n));
    }

    #[test]
    fn letters_of_either_case_go_the_same_way() {
        assert_eq!(keep("Ann Smith").to_lowercase(), keep("aNN sMITH").to_lowercase());
        assert_eq!(keep("żółć 東 ١٢").chars().map(|c| c.is_ascii()).filter(|ascii| *ascii).count(), 9);
        assert_eq!(keep("-- 😀 …"), "-- 😀 …");
        let mail = keep("john.doe+x@mail.example.com");
        assert!(mail.split_once('@').is_some_and(|(_, host)| host.matches('.').count() == 2), "{mail}");
    }

    proptest! {
        #[test]
        fn formats_are_kept(value in "[ -~]{0,60}") {
            let masked = keep(&value);
            prop_assert_eq!(&masked, &keep(&value));
            prop_assert_eq!(masked.len(), value.len());
            for (before, after) in value.chars().zip(masked.chars()) {
                prop_assert_eq!(before.is_ascii_digit(), after.is_ascii_digit());
                prop_assert_eq!(before.is_ascii_lowercase(), after.is_ascii_lowercase());
                prop_assert_eq!(before.is_ascii_uppercase(), after.is_ascii_uppercase());
                prop_assert!(before.is_ascii_alphanumeric() || before == after);
            }
            if value.chars().filter(char::is_ascii_alphanumeric).count() > 14 {
                prop_assert_ne!(masked, value);
            }
        }

        #[test]
        fn any_text_has_as_many_characters(value in any::<String>()) {
            let masked = keep(&value);
            prop_assert_eq!(masked.chars().count(), value.chars().count());
        }

        #[test]
        fn any_bytes_are_taken(value in prop::collection::vec(any::<u8>(), 0..60), is_utf8: bool) {
            let masked = keep_text(&key(), &value, is_utf8);
            prop_assert_eq!(&masked, &keep_text(&key(), &value, is_utf8));
            if !is_utf8 {
                prop_assert_eq!(masked.len(), value.len());
                prop_assert!(masked.is_ascii());
            }
        }

        #[test]
        fn numbers_stay_in_their_range(value: i64, unsigned: u64, small: i16) {
            let bigint = Masker::HashNumber { key: key(), bits: 63 };
            let masked: i64 = text(&bigint, &value.to_string()).parse().unwrap();
            prop_assert_eq!(masked < 0, value < 0);
            prop_assert_ne!(masked, value);
            let _: u64 = text(&Masker::HashNumber { key: key(), bits: 64 }, &unsigned.to_string()).parse().unwrap();
            let _: i16 = text(&Masker::HashNumber { key: key(), bits: 15 }, &small.to_string()).parse().unwrap();
            let keep = Masker::KeepNumber { key: key(), most: 32_767, least: -32_768 };
            let kept: i16 = text(&keep, &small.to_string()).parse().unwrap();
            prop_assert_eq!(kept.to_string().len(), small.to_string().len());
        }

        #[test]
        fn decimals_are_written_as_the_server_does(value in "-?(0|[1-9][0-9]{0,20})\\.[0-9]{1,9}") {
            prop_assume!(value.contains(|c: char| ('1'..='9').contains(&c)));
            let masked = text(&Masker::KeepNumber { key: key(), most: 0, least: 0 }, &value);
            prop_assert_eq!(masked.len(), value.len());
            prop_assert_eq!(masked.find('.'), value.find('.'));
            prop_assert_eq!(masked.starts_with('-'), value.starts_with('-'));
            let whole = masked.trim_start_matches('-').split('.').next().unwrap().to_owned();
            prop_assert!(whole == "0" || !whole.starts_with('0'));
            prop_assert!(!masked.starts_with('-') || masked.contains(|c: char| ('1'..='9').contains(&c)));
        }

        #[test]
        fn hashes_fit(value in any::<String>(), digits in 1usize..=32) {
            let masker = Masker::HashText { key: key(), digits };
            prop_assert_eq!(text(&masker, &value).len(), digits);
        }
    }
}
