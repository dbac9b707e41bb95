//! Types that no definition of the bridge has: nodes on either side have them.

use crate::graphs::{Place, free_place, reliable, until};
use crossdock_comm::{BackPressure, PublisherOptions, SubscriberOptions};
use crossdock_msg::Schema;
use std::sync::Arc;

#[test]
fn a_type_that_only_nodes_know_is_carried_both_ways() {
    let (graphs, place) = (["own-a", "own-b"].map(Place::new), free_place());
    let _nets = [graphs[0].router(&place), graphs[1].client(&place)];
    let sides = [graphs[0].open("a"), graphs[1].open("b")];
    let schema = Arc::new(Schema::parse("own_msgs/msg/Count", "int32 count\n").unwrap());
    for (topic, [from, to]) in
        [("/there", [&sides[0], &sides[1]]), ("/back", [&sides[1], &sides[0]])]
    {
        let (node, qos, group) = ("counts", reliable(10), None);
        let options = PublisherOptions { node, topic, qos, max_bytes: Some(64), group };
        let speaks = from.any_publisher(Arc::clone(&schema), options).unwrap();
        let options = SubscriberOptions { node: "listens", topic, qos, doorbell: None, group };
        let listens = to.any_subscriber_of(&schema, options, BackPressure::All).unwrap();
        until("it is heard on the other side", || {
            if listens.matched() == 0 || speaks.matched() == 0 {
                return false;
            }
            speaks.publish_cdr(&[0, 1, 0, 0, 7, 0, 0, 0], 1, [0; 2]).unwrap();
            let heard = listens.take().unwrap();
            heard.is_some_and(|it| it.schema().to_json(it.block()).unwrap()["count"] == 7)
        });
    }
}
