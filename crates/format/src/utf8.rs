//! Whether text that comes in pieces is UTF-8.

use drover_db::Vendor;

/// Follows one text after the other.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    /// The bytes of a character whose end has not come.
    begun: Vec<u8>,
    /// Whether the codes of surrogates are characters.
    surrogates: bool,
}

impl Utf8 {
    /// As a vendor's servers take it: to MariaDB the codes of surrogates are characters.
    pub(super) fn of(vendor: Vendor) -> Self {
        Self { begun: Vec::new(), surrogates: vendor == Vendor::MariaDb }
    }

    /// Passes the next bytes; `cut` if more of the text may follow that is not known yet. `keep` gets what is whole and valid, and
    /// `replace` is called for each run of bytes that is no character. Whether all was valid.
    #[inline]
    pub(super) fn pass(&mut self, bytes: &[u8], cut: bool, out: &mut impl Output) -> bool {
        if self.begun.is_empty() {
            return self.check(bytes, cut, out);
        }
        let joined = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
        self.check(&joined, cut, out)
    }

    /// Ends a piece of text behind which something else follows. Whether it was whole.
    #[inline]
    pub(super) fn end(&mut self, out: &mut impl Output) -> bool {
        self.begun.is_empty() || self.pass(&[], false, out)
    }

    fn check(&mut self, mut bytes: &[u8], cut: bool, out: &mut impl Output) -> bool {
        let mut all_valid = true;
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(_) => {
                    out.keep(bytes);
                    return all_valid;
                }
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            out.keep(valid);
            match error.error_len() {
                None if cut => {
                    self.begun = rest.to_vec();
                    return all_valid;
                }
                _ if self.surrogates && cut && is_begun_surrogate(rest) => {
                    self.begun = rest.to_vec();
                    return all_valid;
                }
                _ if self.surrogates && is_surrogate(rest) => {
                    out.keep(&rest[..3]);
                    bytes = &rest[3..];
                }
                length => {
                    out.replace();
                    all_valid = false;
                    bytes = &rest[length.unwrap_or(rest.len())..];
                }
            }
        }
    }
}

fn is_surrogate(bytes: &[u8]) -> bool {
    matches!(bytes, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..])
}

fn is_begun_surrogate(bytes: &[u8]) -> bool {
    matches!(bytes, [0xed] | [0xed, 0xa0..=0xbf])
}

/// Where text goes.
pub(super) trait Output {
    fn keep(&mut self, bytes: &[u8]);
    fn replace(&mut self);
}

/// For text that is only looked at.
impl Output for () {
    fn keep(&mut self, _bytes: &[u8]) {}
    fn replace(&mut self) {}
}

/// For text of which U+FFFD takes the place of what is invalid.
impl Output for Vec<u8> {
    fn keep(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
    fn replace(&mut self) {
        self.extend_from_slice("\u{fffd}".as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn passed(text: &[u8], cut: usize, surrogates: bool) -> (bool, Vec<u8>) {
        let (mut utf8, mut out) = (Utf8 { surrogates, ..Utf8::default() }, Vec::new());
        let (first, second) = text.split_at(cut);
        let valid = [utf8.pass(first, true, &mut out), utf8.pass(second, true, &mut out), utf8.end(&mut out)];
        (valid == [true; 3], out)
    }

    proptest! {
        #[test]
        fn as_the_standard_library_reads_it_wherever_it_is_cut(text in prop::collection::vec(prop_oneof![
            3 => prop::sample::select("aé日\u{1f600}".as_bytes().to_vec()), 1 => any::<u8>()], 0..30), at in any::<prop::sample::Index>()) {
            let cut = at.index(text.len() + 1);
            let (valid, out) = passed(&text, cut, false);
            prop_assert_eq!(valid, std::str::from_utf8(&text).is_ok());
            prop_assert_eq!(String::from_utf8(out).unwrap(), String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn surrogates_are_characters_to_mariadb() {
        let text = b"a\xed\xa0\xbd\xed\xb8\x80b";
        for cut in 0..text.len() {
            assert_eq!(passed(text, cut, true), (true, text.to_vec()));
            assert!(!passed(text, cut, false).0);
        }
        assert!(!passed(b"\xed\xa0", 1, true).0);
    }
}
