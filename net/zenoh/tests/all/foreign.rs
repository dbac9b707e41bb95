//! A peer that is nothing of ours: a session of zenoh that speaks as a node of rmw_zenoh does.

use crate::graphs::{Place, cdr, free_place, hear, listener, reliable, say, talker, until};
use crossdock_wire::{Attachment, Gid, gid_of};
use std::sync::{Arc, Mutex};
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait as _};

pub(crate) const CHATTER: &str = "std_msgs::msg::dds_::String_/\
     RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

/// A node of somebody else.
pub(crate) struct Foreign {
    pub(crate) session: Session,
}

impl Foreign {
    pub(crate) fn join(place: &str) -> Self {
        let mut config = Config::default();
        config.insert_json5("mode", "\"client\"").unwrap();
        config.insert_json5("connect/endpoints", &format!("[{place:?}]")).unwrap();
        config.insert_json5("scouting/multicast/enabled", "false").unwrap();
        config.insert_json5("timestamping/enabled", "true").unwrap();
        Self { session: zenoh::open(config).wait().unwrap() }
    }

    /// The token of an endpoint, and its GID.
    pub(crate) fn endpoint(
        &self,
        id: u32,
        kind: &str,
        topic: &str,
        qos: &str,
    ) -> (LivelinessToken, Gid) {
        self.declare(id, kind, &format!("/{topic}"), CHATTER, qos)
    }

    /// The same of a topic or service of any type, which is given with its hash.
    pub(crate) fn declare(
        &self,
        id: u32,
        kind: &str,
        name: &str,
        type_and_hash: &str,
        qos: &str,
    ) -> (LivelinessToken, Gid) {
        let (zid, name) = (self.session.zid(), name.replace('/', "%"));
        let node = format!("@ros2_lv/0/{zid}/0");
        let text = format!("{node}/{id}/{kind}/%/%/foreigner/{name}/{type_and_hash}/{qos}");
        let token = self.session.liveliness().declare_token(text.clone()).wait().unwrap();
        (token, gid_of(&text))
    }
}

pub(crate) fn attachment(sequence: i64, gid: Gid) -> Vec<u8> {
    // Its clock is an hour off: nobody minds.
    Attachment { sequence, stamp_ns: 3_600_000_000_000, gid }.encode()
}

#[test]
fn a_foreign_publisher_is_subscribed_to_only_while_somebody_wants_it() {
    let (graph, place) = (Place::new("wanted"), free_place());
    let _net = graph.router(&place);
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    let is_wanted = || publisher.matching_status().wait().unwrap().matching();
    let here = graph.open("here");
    let view = here.graph().unwrap();
    let sees = || {
        let graph = view.snapshot();
        let mut ports = graph.ports(crossdock_comm::PortKind::Publisher);
        ports.any(|(_, port)| port.node == "foreigner" && port.qos.depth == 10)
    };
    until("it is seen", sees);
    assert!(!is_wanted());

    let listens = listener(&here, "/chatter", reliable(10));
    until("it is wanted", is_wanted);
    until("it is heard", || listens.matched() == 1);
    publisher.put(cdr("bonjour")).attachment(attachment(1, gid)).wait().unwrap();
    assert_eq!(hear(&listens, 1), ["bonjour"]);
    drop(listens);
    until("it is wanted no longer", || !is_wanted());
}

/// Each publishes once, the moment that it may believe to be heard.
#[test]
fn what_is_published_the_moment_a_subscriber_is_seen_is_heard() {
    let (graph, place) = (Place::new("at-once"), free_place());
    let net = graph.router(&place);
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    let publisher = Arc::new(publisher);
    let heard_of = Arc::clone(&publisher);
    let _looks = foreign
        .session
        .liveliness()
        .declare_subscriber("@ros2_lv/0/**")
        .callback(move |sample| {
            let is_theirs = sample.key_expr().as_str().contains("/MS/");
            if is_theirs && sample.kind() == zenoh::sample::SampleKind::Put {
                let put = heard_of.put(cdr("at once")).attachment(attachment(1, gid));
                put.wait().unwrap();
            }
        })
        .wait()
        .unwrap();
    let here = graph.open("here");
    for _ in 0..20 {
        let listens = listener(&here, "/chatter", reliable(10));
        assert_eq!(hear(&listens, 1), ["at once"]);
    }
    // A publisher that comes later, and does not wait until its token has been seen.
    let listens = listener(&here, "/chatter", reliable(10));
    assert_eq!(hear(&listens, 1), ["at once"]);
    for number in 2..20 {
        let (_token, gid) = foreign.endpoint(number, "MP", "chatter", "::,10:,:,:,,");
        let text = format!("of {number}");
        publisher.put(cdr(&text)).attachment(attachment(1, gid)).wait().unwrap();
        assert_eq!(hear(&listens, 1), [text]);
    }
    let counters = net.counters();
    assert_eq!((counters.taken, counters.unknown), (39, 0), "{counters:?}");
}

#[test]
fn a_publisher_that_is_gone_at_once_is_heard_in_order() {
    const COUNT: i64 = 300;
    let (graph, place) = (Place::new("short-lived"), free_place());
    let net = graph.router(&place);
    let foreign = Foreign::join(&place);
    let here = graph.open("here");
    let listens = listener(&here, "/chatter", reliable(1000));
    // As nodes of ROS 2 do that are reliable: else zenoh drops some of a flood at their side.
    let publisher = foreign.session.declare_publisher(format!("0/chatter/{CHATTER}"));
    let publisher = publisher.congestion_control(CongestionControl::Block).wait().unwrap();
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
    for round in 1..=10 {
        let (token, gid) = foreign.endpoint(round, "MP", "chatter", "::,1000:,:,:,,");
        let wanted: Vec<String> = (0..COUNT).map(|number| format!("{round} {number}")).collect();
        for (number, text) in (0..).zip(&wanted) {
            publisher.put(cdr(text)).attachment(attachment(number, gid)).wait().unwrap();
        }
        drop(token);
        assert_eq!(hear(&listens, wanted.len()), wanted);
    }
    let counters = net.counters();
    let lost = counters.unknown + counters.early + counters.blocked;
    assert_eq!((counters.taken, lost), (10 * COUNT as u64, 0), "{counters:?}");
}

#[test]
fn a_foreign_subscriber_gets_each_message_once_with_its_attachment() {
    let (graph, place) = (Place::new("told"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let talks = talker(&here, "/chatter", reliable(100));
    let foreign = Foreign::join(&place);
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&tokens);
    let _looks = foreign
        .session
        .liveliness()
        .declare_subscriber("@ros2_lv/0/**")
        .history(true)
        .callback(move |sample| seen.lock().unwrap().push(sample.key_expr().to_string()))
        .wait()
        .unwrap();
    let token = || {
        let tokens = tokens.lock().unwrap();
        tokens.iter().find(|it| it.contains("/MP/%/%/talker/%chatter/")).cloned()
    };
    until("our publisher has a token", || token().is_some());
    assert!(token().unwrap().ends_with("/::,100:,:,:,,"), "{:?}", token());
    assert_eq!(net.counters().put, 0);

    let messages = Arc::new(Mutex::new(Vec::new()));
    let got = Arc::clone(&messages);
    // Two subscribers of one session: the link carries each message once.
    let (_one, _two) = (
        foreign.endpoint(1, "MS", "chatter", "::,10:,:,:,,"),
        foreign.endpoint(2, "MS", "chatter", "::,10:,:,:,,"),
    );
    let _subscriber = foreign
        .session
        .declare_subscriber(format!("0/chatter/{CHATTER}"))
        .callback(move |sample| {
            let attachment = Attachment::decode(&sample.attachment().unwrap().to_bytes()).unwrap();
            got.lock().unwrap().push((sample.payload().to_bytes().to_vec(), attachment));
        })
        .wait()
        .unwrap();
    until("it is subscribed to", || {
        say(&talks, "hello?");
        // Not more than its history holds before the network takes them.
        std::thread::sleep(std::time::Duration::from_millis(10));
        !messages.lock().unwrap().is_empty()
    });
    let said = |text: &str| {
        let wanted = cdr(text);
        messages.lock().unwrap().iter().filter(|(cdr, _)| *cdr == wanted).count()
    };
    say(&talks, "once");
    say(&talks, "last");
    until("the last is heard", || said("last") == 1);
    assert_eq!(said("once"), 1);
    let messages = messages.lock().unwrap();
    // A message is counted when it has been put: it may be here before.
    until("all are counted", || net.counters().put >= messages.len() as u64);
    assert_eq!(net.counters().put, messages.len() as u64, "put once for two subscribers");
    let gid = gid_of(&token().unwrap());
    let numbers: Vec<i64> = messages.iter().map(|(_, it)| it.sequence).collect();
    assert!(messages.iter().all(|(_, it)| it.gid == gid));
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
}
