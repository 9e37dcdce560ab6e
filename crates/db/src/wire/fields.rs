//! Fields of a text-protocol row that lies whole in memory.

/// One field of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// SQL NULL.
    Null,
    /// The value's bytes.
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    /// The value's bytes, `None` for NULL.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Null => None,
            Self::Bytes(bytes) => Some(bytes),
        }
    }
}

/// Takes the next field off the front of `row`; `None` if the bytes that are left do not hold one.
#[inline]
pub fn next_field<'a>(row: &mut &'a [u8]) -> Option<Field<'a>> {
    let (&first, rest) = row.split_first()?;
    let (length, rest) = match first {
        0..=0xfa => (usize::from(first), rest),
        0xfb => {
            *row = rest;
            return Some(Field::Null);
        }
        _ => long_length(first, rest)?,
    };
    let (bytes, rest) = rest.split_at_checked(length)?;
    *row = rest;
    Some(Field::Bytes(bytes))
}

/// A length-encoded integer of 2, 3 or 8 bytes.
fn long_length(first: u8, rest: &[u8]) -> Option<(usize, &[u8])> {
    let size = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (bytes, rest) = rest.split_at_checked(size)?;
    let mut value = [0; 8];
    value[..size].copy_from_slice(bytes);
    Some((usize::try_from(u64::from_le_bytes(value)).ok()?, rest))
}

/// Takes a length-encoded integer off the front.
pub(super) fn next_integer(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    let (value, rest) = match first {
        0..=0xfa => (u64::from(first), rest),
        _ => long_length(first, rest).map(|(value, rest)| (value as u64, rest))?,
    };
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(fields: &[Option<Vec<u8>>]) -> Vec<u8> {
        let mut row = Vec::new();
        for field in fields {
            match field {
                None => row.push(0xfb),
                Some(bytes) => {
                    match bytes.len() {
                        n @ 0..=0xfa => row.push(n as u8),
                        n @ 0xfb..=0xffff => {
                            row.push(0xfc);
                            row.extend_from_slice(&(n as u16).to_le_bytes());
                        }
                        n => {
                            row.push(0xfd);
                            row.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
                        }
                    }
                    row.extend_from_slice(bytes);
                }
            }
        }
        row
    }

    proptest! {
        #[test]
        fn fields_come_back(fields in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..400)), 0..20)) {
            let row = encode(&fields);
            let mut rest = &row[..];
            for field in &fields {
                prop_assert_eq!(next_field(&mut rest).unwrap().bytes(), field.as_deref());
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut rest = &bytes[..];
            while next_field(&mut rest).is_some() {}
        }
    }

    #[test]
    fn a_field_of_three_length_bytes() {
        let fields = [Some(vec![7; 70_000]), None];
        let row = encode(&fields);
        let mut rest = &row[..];
        assert_eq!(next_field(&mut rest).unwrap().bytes().unwrap().len(), 70_000);
        assert_eq!(next_field(&mut rest), Some(Field::Null));
    }
}
