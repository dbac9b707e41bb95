//! A link that the test holds up or cuts: it forwards what one side sends to the other.

use crate::graphs::free_place;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Forwards connections until it is cut.
pub(crate) struct Link {
    /// Where it is joined.
    pub(crate) place: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    is_held: bool,
    is_cut: bool,
    streams: Vec<TcpStream>,
}

impl Shared {
    /// Waits while the link is held up. False: it is cut.
    fn may_go_on(&self) -> bool {
        let state = self.state.lock().unwrap();
        let state = self.bell.wait_while(state, |it| it.is_held && !it.is_cut).unwrap();
        !state.is_cut
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = vec![0; 16 << 10];
        while self.may_go_on() {
            match from.read(&mut bytes) {
                Ok(count) if count > 0 && self.may_go_on() => {
                    if to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                _ => break,
            }
        }
        // The other one may have gone already.
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}

impl Link {
    pub(crate) fn to(place: &str) -> Self {
        let far = place.trim_start_matches("tcp/").to_owned();
        let place = free_place();
        let listener = TcpListener::bind(place.trim_start_matches("tcp/")).unwrap();
        let shared = Arc::new(Shared::default());
        let of_link = Arc::clone(&shared);
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(&far)) else { return };
                let mut state = of_link.state.lock().unwrap();
                if state.is_cut {
                    return;
                }
                state.streams.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                drop(state);
                let ways = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
                for (from, to) in ways {
                    let shared = Arc::clone(&of_link);
                    std::thread::spawn(move || shared.forward(from, to));
                }
            }
        });
        Self { place, shared }
    }

    /// Nothing goes over it, as if the other side stood still.
    pub(crate) fn hold(&self, is_held: bool) {
        self.shared.state.lock().unwrap().is_held = is_held;
        self.shared.bell.notify_all();
    }

    /// Its ends hear that the other one has gone, as if its process were killed.
    pub(crate) fn cut(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.is_cut = true;
        for stream in state.streams.drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.shared.bell.notify_all();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.cut();
    }
}
