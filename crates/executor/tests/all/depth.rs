//! What the check says of depths is what the transport keeps.

use crate::support::Folder;
use crossdock_comm::{
    Access, Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous, SubscriberOptions,
};
use crossdock_graph::limits::kept_for_deeper;
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use std::time::Duration;

/// Messages beyond what the check says, so that it is seen where the transport ends.
const MORE: u64 = 200;

#[test]
fn a_publisher_keeps_what_the_check_says_for_a_deeper_subscriber() {
    // Removed when both participants have gone: a participant makes its meeting place anew.
    let place = Folder::new("depth");
    let open = |name: &str| {
        let rendezvous = Rendezvous::Folder(place.path().to_owned());
        let options = ParticipantOptions::new(0, name);
        let options = ParticipantOptions { rendezvous, access: Access::SameUser, ..options };
        Participant::open(options).expect("a participant")
    };
    let (writing, reading) = (open("writing"), open("reading"));
    for (depth, max_bytes) in
        [(4, Some(1000)), (1, Some(4000)), (8, Some(40_000)), (4, Some(1_000_000)), (20, None)]
    {
        let kept = kept_for_deeper(depth as u64, max_bytes.map(|bytes| bytes as u64));
        let options = PublisherOptions {
            node: "source",
            topic: "/t",
            qos: Qos::best_effort(depth),
            max_bytes,
            group: None,
        };
        let output = writing.publisher::<Image>(options).expect("a publisher");
        let options = SubscriberOptions {
            node: "sink",
            topic: "/t",
            qos: Qos::best_effort(16_384),
            doorbell: None,
            group: None,
        };
        let input = reading.subscriber::<Image>(options).expect("a subscriber");
        let limit = Duration::from_secs(20);
        assert!(writing.wait_until(limit, || output.peers() == 1));
        assert!(reading.wait_until(limit, || input.matched() == 1));
        for _ in 0..kept + MORE {
            let bytes = max_bytes.unwrap_or(4000) - 200;
            let loan = output.loan(Extra::none().bytes(bytes)).expect("memory");
            loan.publish().expect("nobody is waited for");
        }
        let mut taken = 0;
        while input.take().expect("an honest publisher").is_some() {
            taken += 1;
        }
        assert!(taken >= kept, "depth {depth}, {max_bytes:?}: {taken} kept of {kept}");
        assert_eq!(taken + input.lost(), kept + MORE);
    }
}
