//! What tests of checks of hosts share: one that is seen at both ends of an interval.

use std::time::Duration;

use crate::check::{Check, Outcome};
use crate::evidence::{Evidence, Kept, Moment, Seen};
use crate::facts::Facts;

/// What a check says of a host of which a bundle has kept this: /proc/vmstat before and after five seconds, and what `more` adds.
pub(super) fn over_time(check: &Check, before: &str, after: &str, more: fn(&mut Kept)) -> Seen<Outcome> {
    let mut kept = Kept::default();
    for (moment, uptime, vmstat) in
        [(Moment::Before, "100.00 50.00", before), (Moment::After, "105.00 52.00", after)]
    {
        let key = |path: &str| format!("{path}#{}", moment.name()).into();
        kept.files.insert(key("/proc/uptime"), Ok(uptime.to_owned()));
        kept.files.insert(key("/proc/vmstat"), Ok(vmstat.to_owned()));
    }
    kept.files.insert("/proc/vmstat".into(), Ok(after.to_owned()));
    more(&mut kept);
    (check.look)(&Facts::gather(Evidence::kept(kept), Duration::ZERO))
}
