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

/// Writes a number with all its digits, and with a minus if it is below 0.
#[inline]
pub(crate) fn push_whole(out: &mut Vec<u8>, size: u64, is_negative: bool) {
    const MOST: usize = 20;
    let mut digits = [0; MOST];
    let (mut start, mut rest) = (MOST, size);
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if is_negative {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        for number in [0, 7, -7, 10, 99, 1234567890, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            push_whole(&mut out, number.unsigned_abs(), number < 0);
            assert_eq!(out, number.to_string().into_bytes());
        }
        let mut out = Vec::new();
        push_whole(&mut out, u64::MAX, false);
        assert_eq!(out, u64::MAX.to_string().into_bytes());
    }
}
