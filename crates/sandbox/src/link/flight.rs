//! What is on its way: pieces that have entered a link and not come out yet, in their order.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::settings::lock;

/// Bytes that arrive together; none at all is the end of the connection.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) arrival: Instant,
    pub(super) bytes: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Flight {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Piece>,
    bytes: usize,
    is_over: bool,
}

impl Flight {
    /// Waits until fewer bytes than this are on their way, which they are not if the receiver does not take them. False if it is over.
    pub(super) fn wait_for_room(&self, limit: usize) -> bool {
        let mut state = lock(&self.state);
        while state.bytes >= limit && !state.is_over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_over
    }

    pub(super) fn push(&self, piece: Piece) {
        let mut state = lock(&self.state);
        state.bytes += piece.bytes.len();
        state.pieces.push_back(piece);
        self.changed.notify_all();
    }

    /// The next piece, also if its time has not come; none if it is over.
    pub(super) fn pop(&self) -> Option<Piece> {
        let mut state = lock(&self.state);
        loop {
            if state.is_over {
                return None;
            }
            if let Some(piece) = state.pieces.pop_front() {
                state.bytes -= piece.bytes.len();
                self.changed.notify_all();
                return Some(piece);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Nothing arrives any more: the link is closed, or the receiver gone.
    pub(super) fn end(&self) {
        lock(&self.state).is_over = true;
        self.changed.notify_all();
    }
}
