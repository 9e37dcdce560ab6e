//! The file of MySQL's `component_keyring_file`: JSON. Source: MySQL `components/keyrings/common/json_data`.

use std::collections::HashMap;

use serde::Deserialize;
use zeroize::Zeroizing;

use super::unhex;
use crate::crypt::secret::Secret;

#[derive(Deserialize)]
struct Content {
    elements: Vec<Element>,
}

#[derive(Deserialize)]
struct Element {
    data_id: String,
    data_type: String,
    user: String,
    /// In hexadecimal digits.
    data: Zeroizing<String>,
}

/// The server's own AES keys by their names. The error says what is wrong, and nothing of the content: serde's words would
/// show a value in the wrong place.
pub(super) fn keys(bytes: &[u8]) -> Result<HashMap<String, Secret>, String> {
    let content: Content = serde_json::from_slice(bytes).map_err(|error| {
        format!("as JSON it is wrong in line {}, column {}", error.line(), error.column())
    })?;
    let mut keys = HashMap::new();
    for (number, element) in content.elements.into_iter().enumerate() {
        if element.data_type != "AES" || !element.user.is_empty() {
            continue;
        }
        let key = unhex(element.data.as_bytes());
        let key =
            key.ok_or_else(|| format!("the data of its element number {} is not hexadecimal", number + 1))?;
        keys.insert(element.data_id, Secret::from(key));
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(user: &str, kind: &str, data: &str) -> Vec<u8> {
        let element = format!(
            r#"{{"user":"{user}","data_id":"K_1","data_type":"{kind}","data":"{data}","extension":[]}}"#
        );
        format!(r#"{{"version":"1.0","elements":[{element}]}}"#).into_bytes()
    }

    #[test]
    fn only_the_servers_own_aes_keys_count() {
        let keys_of = |user, kind| keys(&file(user, kind, "00fF10")).unwrap();
        assert_eq!(keys_of("", "AES")["K_1"].bytes(), [0x00, 0xff, 0x10]);
        assert!(keys_of("app@localhost", "AES").is_empty());
        assert!(keys_of("", "SECRET").is_empty());
    }

    #[test]
    fn an_error_shows_nothing_of_the_content() {
        let whole = file("", "AES", "00ff10");
        let odd = String::from_utf8(file("", "AES", "5ecre7")).unwrap();
        let bad = [
            odd.replace("5ecre7", "5ecre"),
            odd.replace("5ecre7", "xx5ecre7"),
            odd.replace("\"5ecre7\"", "[\"5ecre7\"]"),
        ];
        for bytes in bad.iter().map(|text| text.as_bytes()).chain((0..whole.len()).map(|end| &whole[..end])) {
            let error = keys(bytes).unwrap_err();
            assert!(!error.contains("5ecre"), "{error}");
        }
    }
}
