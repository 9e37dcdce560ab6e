//! What measuring itself costs.

use std::time::Duration;

/// The CPU time of this process so far, of all its threads and of the kernel on their behalf.
#[allow(unsafe_code, reason = "the standard library does not tell it")]
pub(super) fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to one timespec, which is there. This clock is there since Linux 2.6.12 (clock_gettime(2)); if it
    // were not, the time would stay 0.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn it_grows_with_work() {
        let (before, began) = (cpu_time(), Instant::now());
        let mut sum = 0_u64;
        // How soon is up to what else the machine does.
        while cpu_time() - before < Duration::from_millis(10) {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
            assert!(began.elapsed() < Duration::from_secs(60), "{sum}");
        }
    }
}
