//! A graph in a folder of its own, its bridge, and ports in it.

use crossdock_comm::{
    Access, GraphSnapshot, Observer, ObserverOptions, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs;
use crossdock_net::{Joining, KEPT_BYTES_MAX, Net, NetError, NetOptions};
pub(crate) use crossdock_suite::until;
use crossdock_wire::Hashes;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Longer than anything takes that works.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A place on this computer that was free a moment ago.
pub(crate) fn free_place() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("tcp/127.0.0.1:{port}")
}

/// A folder in which the processes of one graph meet.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(test: &str) -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), PLACES.fetch_add(1, Relaxed));
        let name = format!("crossdock-net-{test}-{process}-{number}");
        Self(std::env::temp_dir().join(name))
    }

    /// Where processes meet whose `XDG_RUNTIME_DIR` is this folder.
    pub(crate) fn below(runtime: &Path) -> Self {
        Self(runtime.join("crossdock"))
    }

    pub(crate) fn options(&self, name: &str) -> ParticipantOptions {
        let rendezvous = Rendezvous::Folder(self.0.clone());
        ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, name) }
    }

    pub(crate) fn open(&self, name: &str) -> Participant {
        Participant::open(self.options(name)).unwrap()
    }

    /// The graph with its counters as they are now, which `top` shows. What a participant sees has
    /// those of the last time that a node or port came or went.
    pub(crate) fn look(&self) -> GraphSnapshot {
        let (rendezvous, access) = (Rendezvous::Folder(self.0.clone()), Access::SameUser);
        let name = "top".to_owned();
        let options = ObserverOptions { domain_id: 0, name, rendezvous, access };
        Observer::open(options).unwrap().snapshot().unwrap()
    }

    pub(crate) fn try_bridge(&self, joining: Joining) -> Result<Net, NetError> {
        Net::start(self.bridge_options(joining))
    }

    pub(crate) fn bridge_options(&self, joining: Joining) -> NetOptions {
        NetOptions {
            participant: self.options("net"),
            joining,
            hashes: Hashes::Rihs01,
            interfaces: Vec::new(),
            bytes_max: None,
            kept_bytes_max: KEPT_BYTES_MAX,
        }
    }

    pub(crate) fn router(&self, place: &str) -> Net {
        let (listen, connect) = (vec![place.to_owned()], Vec::new());
        self.try_bridge(Joining::Router { listen, connect }).unwrap()
    }

    pub(crate) fn client(&self, place: &str) -> Net {
        self.try_bridge(Joining::Client { connect: vec![place.to_owned()] }).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A folder that cannot be removed is no reason to fail a test that has passed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn reliable(depth: usize) -> Qos {
    Qos::reliable(depth, LIMIT)
}

pub(crate) type Text = std_msgs::String;

pub(crate) fn talker(participant: &Participant, topic: &str, qos: Qos) -> Publisher<Text> {
    let options =
        PublisherOptions { node: "talker", topic, qos, max_bytes: Some(256), group: None };
    participant.publisher(options).unwrap()
}

pub(crate) fn listener(participant: &Participant, topic: &str, qos: Qos) -> Subscriber<Text> {
    let options = SubscriberOptions { node: "listener", topic, qos, doorbell: None, group: None };
    participant.subscriber(options).unwrap()
}

pub(crate) fn say(talker: &Publisher<Text>, text: &str) {
    let mut loan = talker.loan(Extra::none().text(text.len())).unwrap();
    loan.message().set_data(text).unwrap();
    loan.publish().map_err(|refused| refused.reason).unwrap();
}

/// All that has come.
pub(crate) fn heard(listener: &Subscriber<Text>) -> Vec<String> {
    let mut heard = Vec::new();
    while let Some(sample) = listener.take().unwrap() {
        heard.push(sample.message().data().unwrap().string().unwrap());
    }
    heard
}

/// Says `text` until it is heard, for ports that meet sooner or later; leaves nothing unheard.
pub(crate) fn meet(talker: &Publisher<Text>, listeners: &[&Subscriber<Text>]) {
    let mut has_met = vec![false; listeners.len()];
    until("the ports meet", || {
        say(talker, "hello?");
        std::thread::sleep(Duration::from_millis(10));
        for (met, listener) in has_met.iter_mut().zip(listeners) {
            *met |= !heard(listener).is_empty();
        }
        has_met.iter().all(|met| *met)
    });
    say(talker, "end of hellos");
    for listener in listeners {
        until("the last hello is heard", || heard(listener).iter().any(|it| it.starts_with("end")));
    }
}

/// As CDR.
pub(crate) fn cdr(text: &str) -> Vec<u8> {
    let mut cdr = vec![0, 1, 0, 0];
    cdr.extend((text.len() as u32 + 1).to_le_bytes());
    cdr.extend(text.as_bytes());
    cdr.push(0);
    cdr
}

/// Hears as many messages as `count`, and gives them.
pub(crate) fn hear(listener: &Subscriber<Text>, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    until("all messages are heard", || {
        all.extend(heard(listener));
        all.len() >= count
    });
    all
}
