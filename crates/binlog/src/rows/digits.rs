//! Numbers as text.

/// Writes the lowest digits of a number, with zeros in front.
#[inline]
pub(crate) fn push_digits(out: &mut Vec<u8>, number: u32, digits: usize) {
    let start = out.len();
    let mut rest = number;
    out.resize(start + digits, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}
