//! Reading fields off a slice of bytes, little-endian. What is beyond the end is an error, never a panic.

/// What was to be read lies beyond the end of the event, or cannot be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short;

/// A place in a slice.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// At the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// So many bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Short> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Short)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Short> {
        self.array().map(u8::from_le_bytes)
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Short> {
        self.array().map(u16::from_le_bytes)
    }

    /// Three bytes.
    #[inline]
    pub fn u24(&mut self) -> Result<u32, Short> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Short> {
        self.array().map(u32::from_le_bytes)
    }

    /// Six bytes.
    #[inline]
    pub fn u48(&mut self) -> Result<u64, Short> {
        let [a, b, c, d, e, f] = self.array()?;
        Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Seven bytes.
    #[inline]
    pub fn u56(&mut self) -> Result<u64, Short> {
        let [a, b, c, d, e, f, g] = self.array()?;
        Ok(u64::from_le_bytes([a, b, c, d, e, f, g, 0]))
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Short> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded number, as in the protocol.
    #[inline]
    pub fn packed(&mut self) -> Result<u64, Short> {
        match self.u8()? {
            0xfc => self.u16().map(u64::from),
            0xfd => self.u24().map(u64::from),
            0xfe => self.u64(),
            small => Ok(u64::from(small)),
        }
    }

    /// A number of as many bytes as it needs, as MySQL's serialization library writes it: as many of the first byte's lowest
    /// bits are set as bytes follow; the number is in the bits above these and a zero.
    pub fn varied(&mut self) -> Result<u64, Short> {
        let first = self.u8()?;
        let more = first.trailing_ones() as usize;
        let mut bytes = [0; 8];
        bytes[..more].copy_from_slice(self.take(more)?);
        let high = u64::from_le_bytes(bytes);
        // Seven bits of the first byte are the number's if nothing follows, one less for each byte that does.
        let low_bits = 7_u32.saturating_sub(more as u32);
        let low = u64::from(first) >> (8 - low_bits);
        Ok(high << low_bits | low)
    }

    /// Bytes behind their length of one byte.
    pub fn short_text(&mut self) -> Result<&'a [u8], Short> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    /// Bytes up to a NUL, which is passed.
    pub fn until_nul(&mut self) -> Result<&'a [u8], Short> {
        let length = self.rest.iter().position(|&byte| byte == 0).ok_or(Short)?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// How much is left.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Writes a number as [`Cursor::packed`] reads it.
pub(crate) fn push_packed(number: usize, out: &mut Vec<u8>) {
    let bytes = (number as u64).to_le_bytes();
    match number {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => out.extend([0xfc, bytes[0], bytes[1]]),
        0x1_0000..=0xff_ffff => out.extend([0xfd, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xfe);
            out.extend(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes a number as [`Cursor::varied`] reads it.
    fn varied(number: u64) -> Vec<u8> {
        let bits = 64 - number.leading_zeros();
        let more = if bits > 56 { 8 } else { bits.saturating_sub(1) / 7 };
        let low_bits = 7_u32.saturating_sub(more);
        let first = (number & ((1 << low_bits) - 1)) << (8 - low_bits) | ((1 << more) - 1);
        let high = number >> low_bits;
        let mut bytes = vec![first as u8];
        bytes.extend(&high.to_le_bytes()[..more as usize]);
        bytes
    }

    proptest! {
        #[test]
        fn a_varied_number_reads_back(number: u64, shift in 0..64_u32) {
            let number = number >> shift;
            let bytes = varied(number);
            let mut at = Cursor::new(&bytes);
            prop_assert_eq!(at.varied(), Ok(number));
            prop_assert!(at.is_empty());
            prop_assert_eq!(Cursor::new(&bytes[..bytes.len() - 1]).varied(), Err(Short));
        }
    }

    /// From the examples of MySQL's `libs/mysql/serialization/readme.md`: 65535 is `FB FF 07`.
    #[test]
    fn varied_numbers_as_mysql_writes_them() {
        for (bytes, number) in [(&[0x02][..], 1), (&[0xfb, 0xff, 0x07], 65535), (&[0x00], 0)] {
            assert_eq!(Cursor::new(bytes).varied(), Ok(number));
        }
    }
}
