//! The control thread: it sleeps in epoll, and carries what sockets and the rendezvous report to
//! the state.
//!
//! It is never on the data path: publishing and taking go on while it sleeps. It sleeps without a
//! time-out, so that an idle participant makes no context switch at all, except while something
//! waits for free descriptors or memory, a process is to be greeted again, or a port has a deadline
//! or a lease of liveliness.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossdock_shm::rendezvous::{Listing, PeerName, RendezvousError};
use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::discovery::event::Event;
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::{
    ParticipantState, Peer, TOKEN_ARRIVALS, TOKEN_LISTENER, TOKEN_WAKE,
};
use crate::discovery::peer_link::{Broken, PeerLink, Stage, TOKEN_PIDFD};
use crate::discovery::scarce::is_scarce;
use crate::discovery::{
    buffer_exchange, graph_watch, handshake, namesakes, own_name, publishing_side, refusals,
    subscribing_side,
};
use crate::quotas;
use crate::wire::frame::{Frame, Purpose, VERSION};
use crate::wire::peer_process::PeerProcess;

/// Events of one epoll wait.
const EVENTS: usize = 64;
/// Frames that one peer may have handled before the others get their turn.
const FRAMES_PER_TURN: usize = 64;
/// Connections whose peers have not said hello yet; with more the oldest is cut off.
const STRANGERS_MAX: usize = 64;
/// Processes that were cut off under a name and are not greeted there again; and processes that
/// were knocked at.
const REMEMBERED_MAX: usize = 4096;

/// Runs until [`ParticipantCore::stop`] is set.
pub(crate) fn run(core: &Arc<ParticipantCore>) {
    greet_everybody(core);
    let mut buffer = vec![0u8; FRAME_BYTES_MAX];
    let mut events = Vec::with_capacity(EVENTS);
    while !core.stop.load(Ordering::Acquire) {
        events.clear();
        // The wait is never shorter: what it is for is due behind it. What is too long for a clock
        // has no limit.
        let patience = core.lock().patience().and_then(|it| Timespec::try_from(it).ok());
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&*core.epoll, spare, patience.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => {
                // Not to be expected of a valid epoll descriptor; without it nobody is heard.
                core.lock().trouble(format!("the control thread cannot wait: {errno}; it ends"));
                return;
            }
        }
        for event in &events {
            dispatch(core, event.data.u64(), event.flags, &mut buffer);
        }
        try_scarce_again(core);
        greet_again(core);
        watch(core);
        sweep(core);
        core.callbacks.run_prompt();
    }
    farewell(&mut core.lock());
}

/// The participant ends. Peers serve it no more; they hear that it holds nothing when the last
/// sample is gone, which may be later.
fn farewell(state: &mut ParticipantState) {
    let live = state.peers.values_mut().filter(|peer| peer.link.stage == Stage::Live);
    live.for_each(|peer| peer.link.end());
}

/// Tries again, when it is time, what found no free descriptor or memory.
fn try_scarce_again(core: &Arc<ParticipantCore>) {
    let Some(pairs) = core.lock().scarcity.take_due() else { return };
    resume_listener(core);
    greet_everybody(core);
    let mut state = core.lock();
    pairs.into_iter().for_each(|pair| subscribing_side::connect_again(core, &mut state, pair));
    state.scarcity.settle();
    core.publish_turn(state);
}

/// Greets those again that did not welcome us, when it is time.
fn greet_again(core: &Arc<ParticipantCore>) {
    let (list, due) = {
        let unwelcome = &mut core.lock().unwelcome;
        (unwelcome.take_list_due(), unwelcome.take_due())
    };
    if own_name::look_again(core) || list {
        greet_everybody(core);
    }
    due.into_iter().for_each(|name| greet(core, name));
}

/// Looks at deadlines and leases, when it is time.
fn watch(core: &ParticipantCore) {
    let mut state = core.lock();
    let has_news = state.watches.look();
    state.changes += u64::from(has_news);
}

fn dispatch(core: &Arc<ParticipantCore>, token: u64, flags: epoll::EventFlags, buffer: &mut [u8]) {
    match token {
        TOKEN_WAKE => core.woken(),
        TOKEN_LISTENER => accept(core, buffer),
        TOKEN_ARRIVALS => {
            match core.rendezvous.read_arrivals() {
                Ok(listing) => greet_listed(core, listing),
                Err(error) => meeting_failed(core, &error),
            }
            if own_name::look(core) {
                greet_everybody(core);
            }
        }
        token if token & TOKEN_PIDFD != 0 => {
            // Everything that the dead process still said comes before its end. If there is more
            // than for one turn, the pidfd wakes us again.
            let token = token & !TOKEN_PIDFD;
            if receive(core, token, buffer) == Heard::Part {
                return;
            }
            let mut state = core.lock();
            if let Some(peer) = state.peers.get_mut(&token) {
                peer.link.breaks(Broken::Closed);
            }
        }
        token => {
            if let Some(peer) = core.lock().peers.get_mut(&token) {
                if flags.contains(epoll::EventFlags::OUT) {
                    peer.link.flush();
                }
                // While the conversation lasts, the end is found behind what is to be read.
                let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP;
                if peer.link.stage == Stage::Ending && flags.intersects(ends) {
                    peer.link.breaks(Broken::Closed);
                }
            }
            receive(core, token, buffer);
        }
    }
}

/// Says hello to everybody who is there and not known. Later arrivals are announced.
fn greet_everybody(core: &Arc<ParticipantCore>) {
    match core.rendezvous.visit().list() {
        Ok(listing) => greet_listed(core, listing),
        Err(error) => meeting_failed(core, &error),
    }
}

fn greet_listed(core: &Arc<ParticipantCore>, listing: Listing) {
    if let Some(left_out) = listing.left_out {
        core.lock().trouble_once(left_out.to_string());
    }
    listing.names.into_iter().for_each(|name| greet(core, name));
}

fn meeting_failed(core: &ParticipantCore, error: &(dyn std::error::Error + 'static)) {
    let mut state = core.lock();
    match is_scarce(error) {
        true => state.scarce(&error.to_string()),
        false => state.trouble_once(error.to_string()),
    }
}

/// Connects to a process: of two, the one with the lower name opens the control socket of the
/// pair, so that two that meet at the same moment open one and not two. The other one knocks.
fn greet(core: &Arc<ParticipantCore>, name: PeerName) {
    if name == core.name {
        return;
    }
    // Before we connect: if the name is given to another file in between, that is announced, and
    // the file is not the one noted here.
    let file = core.rendezvous.visit().file_of(name);
    if namesakes::is_known(core, name, file) {
        return;
    }
    let socket = match core.rendezvous.visit().connect(name) {
        Ok(Some(socket)) => socket,
        Ok(None) => return core.lock().unwelcome.forget(name),
        Err(error @ RendezvousError::Busy { .. }) => {
            let mut state = core.lock();
            if state.unwelcome.note(name) {
                state.trouble_once(format!("{error} It is tried again"));
            }
            return;
        }
        Err(error) => {
            core.lock().unwelcome.note(name);
            return meeting_failed(core, &error);
        }
    };
    let Ok(mark) = socket.process_mark() else { return core.lock().unwelcome.forget(name) };
    // Not the name is refused, but who answers there: it may be its owner again.
    if core.lock().banned.contains(&(name, mark)) {
        return core.lock().unwelcome.forget(name);
    }
    let purpose = if core.name < name { Purpose::Peer } else { Purpose::Knock };
    let process = core.process.clone();
    let hello = Frame::Hello { version: VERSION, name: core.name, process, purpose };
    if purpose == Purpose::Knock {
        remember(&mut core.lock().knocked, mark);
        // One frame fits in an empty socket; the connection ends with this scope.
        let _ = socket.send(&hello.encode(), &[]);
        return core.lock().unwelcome.forget(name);
    }
    if let Some(token) = add_peer(core, socket, Stage::AwaitWelcome) {
        let mut state = core.lock();
        state.tokens_by_name.insert(name, token);
        if let Some(peer) = state.peers.get_mut(&token) {
            peer.link.name = Some(name);
            peer.link.file = file;
            peer.link.send(&hello, &[]);
        }
    } else {
        core.lock().unwelcome.note(name);
    }
}

/// Remembers one more. Others can make more than there is room for: then those before are
/// forgotten, and told or tried once more.
fn remember<T: Eq + Hash>(known: &mut HashSet<T>, one: T) {
    if known.len() >= REMEMBERED_MAX {
        known.clear();
    }
    known.insert(one);
}

/// Registers a connected socket, if its owner is allowed.
fn add_peer(core: &Arc<ParticipantCore>, socket: ControlSocket, stage: Stage) -> Option<u64> {
    let identity = match socket.peer() {
        Ok(identity) => identity,
        Err(error) => {
            core.lock().trouble(error.to_string());
            return None;
        }
    };
    let mut state = core.lock();
    let stranger = PeerProcess { name: String::new(), pid: identity.pid, uid: identity.uid };
    let standing = match core.trust.judge(core.access, &identity) {
        Ok(standing) => standing,
        Err(error) => {
            state.turn_away_for("access", stranger, error.to_string());
            return None;
        }
    };
    if let Some(limit) = refusals::exceeded(&state, (&identity, standing), stage) {
        state.turn_away(stranger, quotas::refusal(limit, identity.uid));
        drop(state);
        refusals::tell(core, &socket, limit);
        return None;
    }
    let strangers = state.peers.values_mut().map(|peer| &mut peer.link);
    let strangers =
        strangers.filter(|link| link.stage == Stage::AwaitHello && link.broken.is_none());
    let mut strangers: Vec<_> = strangers.collect();
    if strangers.len() >= STRANGERS_MAX {
        let why = format!("it is the oldest of {STRANGERS_MAX} that connected without a hello");
        strangers[0].breaks(Broken::Violation(why));
    }
    let token = state.token();
    let who = (identity, standing);
    let link = PeerLink::new(token, socket, who, stage, Arc::clone(&core.epoll));
    let data = epoll::EventData::new_u64(token);
    if let Err(errno) = epoll::add(&*core.epoll, &*link.socket, data, epoll::EventFlags::IN) {
        state.trouble(format!("a peer's socket cannot be watched ({errno}); it was refused"));
        return None;
    }
    let (publishers, tables, graph) = Default::default();
    state.peers.insert(token, Peer { link, publishers, tables, graph });
    Some(token)
}

fn accept(core: &Arc<ParticipantCore>, buffer: &mut [u8]) {
    // Bounded: who connects faster than this gets its turn after the others.
    for _ in 0..FRAMES_PER_TURN {
        match core.rendezvous.accept() {
            Ok(Some(socket)) => {
                // Its hello is there already, unless it is slow or silent.
                if let Some(token) = add_peer(core, socket, Stage::AwaitHello) {
                    receive(core, token, buffer);
                }
            }
            Ok(None) => return,
            Err(error) => {
                // No descriptor is free. Who waits would wake us again and again: listen anew
                // after a while, or when a peer has gone.
                pause_listener(core, &error.to_string());
                return;
            }
        }
    }
}

fn pause_listener(core: &ParticipantCore, why: &str) {
    let data = epoll::EventData::new_u64(TOKEN_LISTENER);
    let none = epoll::EventFlags::empty();
    let _ = epoll::modify(&*core.epoll, core.rendezvous.listener(), data, none);
    core.lock().scarce(why);
}

/// Also after a pause.
fn resume_listener(core: &ParticipantCore) {
    let data = epoll::EventData::new_u64(TOKEN_LISTENER);
    let flags = epoll::EventFlags::IN;
    let _ = epoll::modify(&*core.epoll, core.rendezvous.listener(), data, flags);
}

/// What one turn has read of a peer's frames.
#[derive(PartialEq, Eq)]
enum Heard {
    /// There may be more.
    Part,
    All,
}

/// Reads what one peer has sent.
fn receive(core: &Arc<ParticipantCore>, token: u64, buffer: &mut [u8]) -> Heard {
    for _ in 0..FRAMES_PER_TURN {
        let Some(socket) = core.socket_of(token) else { return Heard::All };
        let broken = match socket.receive(buffer) {
            Ok(Received::Empty) => return Heard::All,
            Ok(Received::Closed) => Broken::Closed,
            Err(error) => Broken::Violation(error.to_string()),
            Ok(Received::Frame { len, fds, descriptors_lost }) => {
                match Frame::decode(&buffer[..len]) {
                    Err(error) => Broken::Violation(error.to_string()),
                    Ok(frame) if descriptors_lost => {
                        match handshake::handle_without_descriptors(core, token, &frame) {
                            None => continue,
                            Some(why) => Broken::Scarce(why),
                        }
                    }
                    Ok(frame) => match handshake::handle(core, token, frame, fds) {
                        Ok(None) => continue,
                        Ok(Some(name)) => {
                            greet(core, name);
                            continue;
                        }
                        Err(violation) => Broken::Violation(violation),
                    },
                }
            }
        };
        if let Some(peer) = core.lock().peers.get_mut(&token) {
            peer.link.breaks(broken);
        }
        return Heard::All;
    }
    Heard::Part
}

/// At the end of each turn: connections that nobody uses, segments to be sent, links that broke.
fn sweep(core: &Arc<ParticipantCore>) {
    crossdock_shm::sweep();
    let mut state = core.lock();
    subscribing_side::hear_of_pairs(core, &mut state);
    publishing_side::send_segments(core, &mut state);
    graph_watch::sweep(core, &mut state);
    finish_ending(&mut state);
    let done: Vec<_> = state.peers.values_mut().filter_map(broken_or_done).collect();
    let removed: Vec<_> = done
        .into_iter()
        .filter_map(|(token, why)| end_peer(core, &mut state, token, why))
        .collect();
    subscribing_side::offer_vacant(core, &mut state);
    removed.iter().for_each(|peer| note_unwelcoming(&mut state, peer));
    core.publish_turn(state);
    // Sockets and mappings are closed outside the lock.
    if !removed.is_empty() {
        drop(removed);
        resume_listener(core);
    }
}

/// A process that closed our connection before it welcomed us is greeted again: it may have been
/// crowded. If it does so again and again without a word, that is told: there may be messages that
/// nobody here gets.
fn note_unwelcoming(state: &mut ParticipantState, peer: &Peer) {
    let link = &peer.link;
    let Some(name) = link.name.filter(|_| link.stage == Stage::AwaitWelcome) else { return };
    state.unwelcome.note(name);
    if link.broken == Some(Broken::Closed) && state.unwelcome.is_long(name) {
        let identity = &link.identity;
        let text = format!(
            "{identity} closes each connection without a word, so it is not met; it is tried \
             again, at last once a minute; if it is another version of Crossdock, or none, user {} \
             can end it (told once for all processes of that user)",
            identity.uid
        );
        state.trouble_once_for(format!("silent {}", identity.uid), text);
    }
}

fn broken_or_done(peer: &mut Peer) -> Option<(u64, Broken)> {
    let link = &mut peer.link;
    if link.stage == Stage::Closing && link.is_flushed() {
        link.breaks(Broken::Done);
    }
    Some((link.token, link.broken.clone()?))
}

/// Nothing more is waited for from peers that have our `Bye` and hold nothing of ours.
fn finish_ending(state: &mut ParticipantState) {
    let ending = state.peers.iter().filter(|(_, peer)| peer.link.stage == Stage::Ending);
    let over = ending.filter(|(token, peer)| {
        peer.link.is_flushed() && !publishing_side::may_hold(state, **token)
    });
    for token in over.map(|(token, _)| *token).collect::<Vec<_>>() {
        if let Some(peer) = state.peers.get_mut(&token) {
            peer.link.breaks(Broken::Done);
        }
    }
}

/// A link is of no more use. It is removed, and returned, when its process can hold nothing of
/// ours; else it stays until it says so, or dies.
fn end_peer(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    why: Broken,
) -> Option<Peer> {
    let mut peer = state.peers.remove(&token)?;
    state.changes += 1;
    // Whatever else is wrong with a link, it ends for good only then.
    let is_over = matches!(why, Broken::Closed | Broken::Done);
    let may_hold = matches!(peer.link.stage, Stage::Live | Stage::Ending);
    if peer.link.stage != Stage::Ending {
        part_from(core, state, token, (&mut peer, why));
    }
    if may_hold && !is_over {
        peer.link.end();
        if !peer.link.is_flushed() || publishing_side::may_hold(state, token) {
            state.peers.insert(token, peer);
            return None;
        }
    }
    publishing_side::peer_holds_nothing(state, token);
    peer.link.close();
    let _ = epoll::delete(&*core.epoll, &*peer.link.socket);
    if let Some(pidfd) = &peer.link.pidfd {
        let _ = epoll::delete(&*core.epoll, &**pidfd);
    }
    Some(peer)
}

/// Ends everything between us and a process but what either side holds, and reports why.
fn part_from(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    (peer, why): (&mut Peer, Broken),
) {
    core.remove_watcher(token);
    if let Some(name) = peer.link.name {
        state.tokens_by_name.remove(&name);
        if let (Broken::Violation(_), Ok(mark)) = (&why, peer.link.socket.process_mark()) {
            remember(&mut state.banned, (name, mark));
        }
    }
    let live = peer.link.stage == Stage::Live;
    // Nobody here is to be connected to them any more.
    peer.publishers.clear();
    subscribing_side::peer_left(state, token, peer);
    buffer_exchange::peer_gone(state, token, peer);
    graph_watch::peer_left(core, peer);
    match why {
        Broken::Violation(reason) if live && !peer.link.standing.is_stranger() => {
            state.cut_off(peer.link.peer(), reason);
        }
        Broken::Violation(reason) => {
            // Who had joined has left, also if the reason was told of another one of its user.
            if !state.turn_away(peer.link.peer(), reason) && live {
                state.events.push(Event::PeerLeft(peer.link.peer()));
            }
        }
        Broken::Scarce(why) => {
            if live {
                state.events.push(Event::PeerLeft(peer.link.peer()));
            }
            state.scarce(&why);
        }
        Broken::Closed | Broken::Left if live => {
            state.events.push(Event::PeerLeft(peer.link.peer()));
        }
        Broken::Closed | Broken::Left | Broken::Done => {}
    }
}
