//! Peers that say what no node of ROS 2 says.

use crate::foreign::{CHATTER, Foreign, attachment};
use crate::graphs::{Place, cdr, free_place, hear, heard, listener, reliable, until};
use crossdock_comm::PortKind;
use crossdock_sight::lost_of;
use crossdock_wire::Gid;
use zenoh::Wait as _;

#[test]
fn malformed_messages_and_tokens_are_counted_and_nothing_else_happens() {
    let (graph, place) = (Place::new("hostile"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let listens = listener(&here, "/chatter", reliable(10));
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    until("the port is there", || listens.matched() == 1);
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());

    let put = |cdr: Vec<u8>, attachment: Option<Vec<u8>>| {
        let put = publisher.put(cdr);
        match attachment {
            Some(attachment) => put.attachment(attachment).wait().unwrap(),
            None => put.wait().unwrap(),
        }
    };
    let good = attachment(1, gid);
    put(cdr("no attachment"), None);
    put(cdr("short attachment"), Some(good[..20].to_vec()));
    put(Vec::new(), Some(good.clone()));
    put(vec![0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f], Some(good.clone()));
    put(cdr("cut off")[..10].to_vec(), Some(good.clone()));
    put(vec![0xff; 1 << 20], Some(good.clone()));
    publisher.delete().wait().unwrap();
    until("they are counted", || net.counters().malformed == 7);
    let view = here.graph().unwrap();
    until("those that are none of the type are seen at the port, as `top` shows them", || {
        let graph = view.snapshot();
        let mut ports = graph.ports(PortKind::Publisher);
        ports.any(|(_, port)| port.node == "foreigner" && lost_of(port).corrupt == 4)
    });
    // Some peers have GIDs that are not made of their tokens.
    put(cdr("of a strange GID"), Some(attachment(1, Gid([9; 16]))));
    assert_eq!(hear(&listens, 1), ["of a strange GID"]);
    put(cdr("at once"), Some(attachment(2, Gid([9; 16]))));
    assert_eq!(hear(&listens, 1), ["at once"]);

    let tokens: Vec<_> = [
        "@ros2_lv/0/zz/0/0/NN/%/%/talker",
        "@ros2_lv/0/aa/0/0/NN/%/%/not-a-name",
        "@ros2_lv/0/aa/0/1/MP/%/%/talker/%chatter",
        "@ros2_lv/0/aa/0/1/XX/%/%/talker",
        "@ros2_lv/0/aa",
    ]
    .into_iter()
    .map(|token| foreign.session.liveliness().declare_token(token).wait().unwrap())
    .collect();
    until("they are counted", || net.counters().tokens_refused == 5);
    put(cdr("still here"), Some(good));
    assert_eq!(hear(&listens, 1), ["still here"]);
    drop(tokens);
    assert!(heard(&listens).is_empty() && net.is_alive());
}
