//! Documents for tests, in the binary form that the server gives them.

use proptest::prelude::*;
use serde_json::json;

#[derive(Debug, Clone)]
pub(super) enum Doc {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Opaque(u8, Vec<u8>),
    Array(Vec<Doc>),
    /// With the keys in the order in which they are stored.
    Object(Vec<(String, Doc)>),
}

impl Doc {
    /// Containers are small where that is enough.
    pub(super) fn to_binary(&self) -> Vec<u8> {
        self.binary(false)
    }

    /// All containers are large.
    pub(super) fn to_large_binary(&self) -> Vec<u8> {
        self.binary(true)
    }

    fn binary(&self, is_large: bool) -> Vec<u8> {
        let (kind, mut bytes) = self.value(is_large).or_else(|| self.value(true)).unwrap();
        bytes.insert(0, kind);
        bytes
    }

    /// The type and the bytes; `None` if a container is too large to be small.
    fn value(&self, is_large: bool) -> Option<(u8, Vec<u8>)> {
        Some(match self {
            Self::Null => (4, vec![0]),
            Self::Bool(value) => (4, vec![if *value { 1 } else { 2 }]),
            Self::Int(number) => match (i16::try_from(*number), i32::try_from(*number)) {
                (Ok(short), _) => (5, short.to_le_bytes().to_vec()),
                (_, Ok(long)) => (7, long.to_le_bytes().to_vec()),
                _ => (9, number.to_le_bytes().to_vec()),
            },
            Self::Uint(number) => match (u16::try_from(*number), u32::try_from(*number)) {
                (Ok(short), _) => (6, short.to_le_bytes().to_vec()),
                (_, Ok(long)) => (8, long.to_le_bytes().to_vec()),
                _ => (10, number.to_le_bytes().to_vec()),
            },
            Self::Double(number) => (11, number.to_le_bytes().to_vec()),
            Self::Text(text) => (12, [length(text.len()), text.as_bytes().to_vec()].concat()),
            Self::Opaque(kind, bytes) => (15, [vec![*kind], length(bytes.len()), bytes.clone()].concat()),
            Self::Array(items) => (2 + u8::from(is_large), container(None, items, is_large)?),
            Self::Object(members) => {
                let (keys, items): (Vec<&str>, Vec<Self>) =
                    members.iter().map(|(key, item)| (key.as_str(), item.clone())).unzip();
                (u8::from(is_large), container(Some(&keys), &items, is_large)?)
            }
        })
    }

    /// The same without what only MySQL knows.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Null => json!(null),
            Self::Bool(value) => json!(value),
            Self::Int(number) => json!(number),
            Self::Uint(number) => json!(number),
            Self::Double(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Opaque(kind, _) => json!(format!("base64:type{kind}:")),
            Self::Array(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(members) => {
                members.iter().map(|(key, item)| (key.clone(), item.to_json())).collect()
            }
        }
    }
}

fn length(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while length > 0x7f {
        bytes.push(0x80 | (length & 0x7f) as u8);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes
}

fn place(place: usize, is_large: bool) -> Option<Vec<u8>> {
    if is_large {
        Some((place as u32).to_le_bytes().to_vec())
    } else {
        Some(u16::try_from(place).ok()?.to_le_bytes().to_vec())
    }
}

fn container(keys: Option<&[&str]>, items: &[Doc], is_large: bool) -> Option<Vec<u8>> {
    let width = if is_large { 4 } else { 2 };
    let key_entries = keys.map_or(0, |keys| keys.len() * (width + 2));
    let mut body = keys.map_or(Vec::new(), |keys| keys.concat().into_bytes());
    let head = 2 * width + key_entries + items.len() * (width + 1);
    let (mut entries, mut start) = (Vec::new(), head);
    for key in keys.unwrap_or_default() {
        entries.extend(place(start, is_large)?);
        entries.extend((key.len() as u16).to_le_bytes());
        start += key.len();
    }
    for item in items {
        let (kind, mut bytes) = item.value(is_large).or_else(|| item.value(true).filter(|_| is_large))?;
        entries.push(kind);
        if matches!(kind, 4..=6) || (is_large && matches!(kind, 7 | 8)) {
            let fill = if kind == 5 && bytes[1] & 0x80 != 0 { 0xff } else { 0 };
            bytes.resize(width, fill);
            entries.extend(bytes);
        } else {
            entries.extend(place(head + body.len(), is_large)?);
            body.extend(bytes);
        }
    }
    let size = head + body.len();
    Some([place(items.len(), is_large)?, place(size, is_large)?, entries, body].concat())
}

/// All kinds of documents, with doubles of few digits.
pub(super) fn docs() -> impl Strategy<Value = Doc> {
    let leaf = prop_oneof![
        Just(Doc::Null),
        any::<bool>().prop_map(Doc::Bool),
        any::<i16>().prop_map(|number| Doc::Int(number.into())),
        any::<i64>().prop_map(Doc::Int),
        any::<i32>().prop_map(|number| Doc::Int(number.into())),
        (0_u64.., 0..64_u32).prop_map(|(number, shift)| Doc::Uint(number >> shift)),
        any::<i32>().prop_map(|number| Doc::Double(f64::from(number) / 8.0)),
        any::<String>().prop_map(Doc::Text),
        any::<u8>()
            .prop_filter("has a text of its own", |kind| ![7, 10, 11, 12, 246, 253].contains(kind))
            .prop_map(|kind| Doc::Opaque(kind, Vec::new())),
    ];
    leaf.prop_recursive(5, 40, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Doc::Array),
            prop::collection::btree_map("[a-z'\"é]{0,6}", inner, 0..8).prop_map(|members| {
                let mut members: Vec<_> = members.into_iter().collect();
                members.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
                Doc::Object(members)
            }),
        ]
    })
}
