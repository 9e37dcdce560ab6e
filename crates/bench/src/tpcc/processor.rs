//! What this process takes of the processors, and how it leaves them to a server on the same machine.

use std::time::Instant;

/// Processor time so far, in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    at: Instant,
    user: f64,
    system: f64,
}

/// What a client needed of the machine that it ran on.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct ClientCpu {
    /// In its own code.
    pub user_seconds: f64,
    /// In the kernel for it.
    pub system_seconds: f64,
    /// Both as a share of all processors, from 0 to 1.
    pub share_of_machine: f64,
    /// Both for each transaction, in microseconds.
    pub microseconds_per_transaction: f64,
}

impl Usage {
    /// All threads' up to now.
    #[allow(unsafe_code, reason = "neither std nor rustix tells a process's processor time")]
    pub(super) fn now() -> Self {
        // SAFETY: all-zero bytes are a valid rusage, which is made of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: getrusage(2) writes one rusage to where it is given a place; it fails only for another `who`.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self { at: Instant::now(), user: seconds(usage.ru_utime), system: seconds(usage.ru_stime) }
    }

    /// What was used since, for so many transactions.
    pub(super) fn since(&self, earlier: &Self, transactions: u64) -> ClientCpu {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (user_seconds, system_seconds) = (self.user - earlier.user, self.system - earlier.system);
        let seconds = (self.at - earlier.at).as_secs_f64().max(1e-9);
        let used = user_seconds + system_seconds;
        ClientCpu {
            user_seconds,
            system_seconds,
            share_of_machine: used / (seconds * cores as f64),
            microseconds_per_transaction: used * 1e6 / transactions.max(1) as f64,
        }
    }
}

/// Has this thread never push another one from a processor as it wakes up (SCHED_BATCH, sched(7)).
///
/// A server that shares the machine answers a batch command by command. If each answer woke the client at once, the two would take turns on
/// the processor for each of them; so the server goes on to the end of the batch, and both need fewer turns. What a transaction waits for
/// its own client then is part of its latency. On a machine of its own, where processors are free, the client wakes up as ever.
#[allow(unsafe_code, reason = "neither std nor rustix sets a thread's scheduling")]
pub(super) fn leave_to_server() {
    // SAFETY: all-zero bytes are a valid sched_param, which is made of integers; SCHED_BATCH takes a priority of 0.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: sched_setscheduler(2) reads one sched_param; 0 is the thread that calls. Where it is forbidden it changes nothing.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code, reason = "the test asks what was set")]
    fn a_thread_becomes_patient() {
        let scheduling = std::thread::spawn(|| {
            leave_to_server();
            // SAFETY: it takes nothing but a number; 0 is the thread that calls.
            unsafe { libc::sched_getscheduler(0) }
        });
        assert_eq!(scheduling.join().unwrap(), libc::SCHED_BATCH);
    }

    #[test]
    fn work_is_used_time() {
        let before = Usage::now();
        let mut sum = 0_u64;
        while before.at.elapsed().as_millis() < 100 {
            sum = std::hint::black_box(sum + 1);
        }
        let used = Usage::now().since(&before, 10);
        assert!(used.user_seconds + used.system_seconds > 0.01 && used.share_of_machine > 0.0, "{used:?}");
        assert!(used.microseconds_per_transaction > 1000.0);
    }
}
