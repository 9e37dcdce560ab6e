//! The network between a shepherd and its server. It holds all that is sent, either way, when a test says so: at once, or from a statement
//! on. Nobody learns of it: connections stay and wait, and go on where they were.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

pub(super) struct Tap {
    port: u16,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_held: bool,
    is_over: bool,
    /// The text of the statement from which on all is held, and whether that one still comes to the server.
    at: Option<(&'static str, bool)>,
}

impl Gate {
    /// Waits while all is held; it may be from this on.
    fn pass(&self, sent: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let has = |text: &str| sent.windows(text.len()).any(|part| part == text.as_bytes());
        if !state.is_held
            && let Some((_, arrives)) = state.at.take_if(|(text, _)| has(text))
        {
            state.is_held = true;
            if arrives {
                return;
            }
        }
        drop(self.changed.wait_while(state, |state| state.is_held).unwrap());
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            self.pass(&buffer[..length]);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _it_may_be_gone = from.shutdown(Shutdown::Both);
        let _it_may_be_gone = to.shutdown(Shutdown::Both);
    }

    fn accept(self: Arc<Self>, listener: &TcpListener, server: u16) {
        for client in listener.incoming().map(Result::unwrap) {
            if self.state.lock().unwrap().is_over {
                return;
            }
            let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            let ways = [(&client, &server), (&server, &client)].map(|(from, to)| {
                from.set_nodelay(true).unwrap();
                (from.try_clone().unwrap(), to.try_clone().unwrap())
            });
            for (from, to) in ways {
                let gate = self.clone();
                thread::spawn(move || gate.carry(from, to));
            }
        }
    }
}

impl Tap {
    pub(super) fn new(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let tap = Self { port: listener.local_addr().unwrap().port(), gate: Arc::default() };
        let gate = tap.gate.clone();
        thread::spawn(move || gate.accept(&listener, server));
        tap
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.gate.state.lock().unwrap());
        self.gate.changed.notify_all();
    }

    pub(super) fn hold(&self) {
        self.change(|state| state.is_held = true);
    }

    /// Has all held from the next statement on that has this text, which may still come to the server, and its answer is held.
    pub(super) fn hold_at(&self, text: &'static str, arrives: bool) {
        self.change(|state| state.at = Some((text, arrives)));
    }

    pub(super) fn is_held(&self) -> bool {
        self.gate.state.lock().unwrap().is_held
    }

    pub(super) fn release(&self) {
        self.change(|state| (state.is_held, state.at) = (false, None));
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.change(|state| (state.is_held, state.is_over) = (false, true));
        let _it_wakes = TcpStream::connect(("127.0.0.1", self.port));
    }
}
