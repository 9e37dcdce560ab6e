//! What `drover bench tpcc --compare scheduler=…` has measured of a device.

use drover_host::Device;
use serde_json::Value;

use crate::facts::Facts;
use crate::results::Measured;

/// What a measurement says of the scheduler that a device uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// Another is better, beyond the noise.
    Other {
        /// Which.
        name: String,
        /// By how much in per cent of New-Orders a minute, at least and at most.
        low: f64,
        high: f64,
        /// All that was measured.
        text: String,
    },
    /// None is better.
    Best(String),
    /// It cannot be told from it; why.
    Nothing(String),
}

/// A scheduler that was measured: New-Orders a minute, and where they lie against those of the first one, as parts of these.
struct Variant<'a> {
    name: &'a str,
    nopm: f64,
    change: Option<(f64, f64)>,
}

/// The verdict of the latest measurement on this device that has one, and the file that tells it; and why others have none.
pub(super) fn verdict(facts: &Facts, device: &Device) -> (Option<(String, Verdict)>, Vec<String>) {
    let (measured, mut others) = facts.measured("tpcc --compare");
    for Measured { file, json, .. } in measured {
        if json["changed"] != "scheduler" || !is_on(&json, device) {
            continue;
        }
        match of(&json, device.scheduler.as_deref().unwrap_or("none")) {
            Verdict::Nothing(why) => others.push(format!("{file}: {why}")),
            verdict => return (Some((file, verdict)), others),
        }
    }
    (None, others)
}

/// Whether it was this device whose scheduler was changed: the first with a choice below the files, not one below a loop device.
fn is_on(json: &Value, device: &Device) -> bool {
    let storage = json["environment"]["storage"].as_array().map(Vec::as_slice).unwrap_or_default();
    storage.iter().any(|place| {
        for there in place["devices"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let Ok(there) = serde_json::from_value::<Device>(there.clone()) else { return false };
            if there.name == device.name {
                // Names are given anew, to loop devices all the time.
                return there.bytes == device.bytes && there.backing_file == device.backing_file;
            }
            if there.backing_file.is_some() && there.schedulers.len() > 1 {
                return false;
            }
        }
        false
    })
}

fn of(json: &Value, now: &str) -> Verdict {
    let all = json["variants"].as_array().map(Vec::as_slice).unwrap_or_default();
    let variants: Vec<_> = all.iter().enumerate().filter_map(|(at, one)| Variant::of(one, at == 0)).collect();
    let Some(in_use) = variants.iter().find(|variant| variant.name == now) else {
        return Verdict::Nothing(format!("it did not measure {now}, which is in use now"));
    };
    let (Some(here), true) = (in_use.change, variants.iter().all(|variant| variant.change.is_some())) else {
        return Verdict::Nothing("each was measured once only: nothing is known of the noise".into());
    };
    let texts: Vec<_> = variants.iter().map(Variant::text).collect();
    let text = texts.join(", ");
    // Intervals that do not meet are beyond the noise; that of the first one is 0.
    let better = variants
        .iter()
        .filter_map(|variant| variant.change.filter(|there| there.0 > here.1).map(|there| (variant, there)));
    match better.max_by(|(one, _), (two, _)| one.nopm.total_cmp(&two.nopm)) {
        None => Verdict::Best(text),
        Some((variant, there)) => Verdict::Other {
            name: variant.name.to_owned(),
            low: ((1.0 + there.0) / (1.0 + here.1) - 1.0) * 100.0,
            high: ((1.0 + there.1) / (1.0 + here.0) - 1.0) * 100.0,
            text,
        },
    }
}

impl<'a> Variant<'a> {
    fn of(json: &'a Value, is_first: bool) -> Option<Self> {
        let each: Vec<f64> = json["nopm"].as_array()?.iter().filter_map(Value::as_f64).collect();
        let end = |name| json["change"][name].as_f64();
        let repeated = each.len() > 1;
        let change = if is_first { repeated.then_some((0.0, 0.0)) } else { end("low").zip(end("high")) };
        Some(Self {
            name: json["name"].as_str()?,
            nopm: each.iter().sum::<f64>() / each.len().max(1) as f64,
            change,
        })
    }

    fn text(&self) -> String {
        let change = match self.change {
            Some((low, high)) if (low, high) != (0.0, 0.0) => {
                format!(" ({:+.1} % to {:+.1} %)", low * 100.0, high * 100.0)
            }
            _ => String::new(),
        };
        format!("{} {:.0} NOPM{change}", self.name, self.nopm)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compared() -> Value {
        json!({"variants": [
            {"name": "bfq", "nopm": [1000.0, 1010.0], "change": null},
            {"name": "none", "nopm": [2000.0, 2010.0], "change": {"low": 0.9, "high": 1.1}},
            {"name": "mq-deadline", "nopm": [2010.0, 1990.0], "change": {"low": 0.8, "high": 1.2}},
        ]})
    }

    #[test]
    fn what_is_better_than_the_one_in_use() {
        let Verdict::Other { name, low, high, text } = of(&compared(), "bfq") else {
            panic!("none is better")
        };
        assert_eq!((name.as_str(), low.round(), high.round()), ("none", 90.0, 110.0));
        assert!(text.contains("none 2005 NOPM (+90.0 % to +110.0 %)"), "{text}");
        // These two do not differ.
        assert!(matches!(of(&compared(), "none"), Verdict::Best(_)));
        assert!(matches!(of(&compared(), "mq-deadline"), Verdict::Best(_)));
        assert!(matches!(of(&compared(), "kyber"), Verdict::Nothing(_)));
    }

    #[test]
    fn of_one_repeat_nothing_is_known() {
        let once = json!({"variants": [
            {"name": "none", "nopm": [1000.0], "change": null},
            {"name": "bfq", "nopm": [2000.0], "change": null},
        ]});
        assert!(matches!(of(&once, "none"), Verdict::Nothing(_)));
    }

    #[test]
    fn the_device_that_was_measured() {
        let device = |name: &str, file: Option<&str>| Device {
            name: name.into(),
            bytes: 512,
            schedulers: vec!["none".into(), "bfq".into()],
            backing_file: file.map(Into::into),
            ..Device::default()
        };
        let on = |devices: &[Device]| json!({"environment": {"storage": [{"devices": devices}]}});
        let (disk, part, of_loop) = (device("vda", None), device("vda1", None), device("loop0", Some("/a")));
        assert!(is_on(&on(&[part.clone(), disk.clone()]), &disk));
        // A file on that disk: its own scheduler was changed, not the disk's.
        let looped = on(&[of_loop.clone(), part, disk.clone()]);
        assert!(is_on(&looped, &of_loop) && !is_on(&looped, &disk));
        assert!(!is_on(&looped, &device("loop0", Some("/b"))));
        assert!(!is_on(&on(&[]), &disk));
    }
}
