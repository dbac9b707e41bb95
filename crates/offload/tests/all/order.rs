//! The end of a device's work is promised before the message is known, so that another stream can
//! be told to wait for it at once. Needs an OpenCL driver (PoCL).

use crate::pixels::tested;
use crossdock_comm::{
    Participant, ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous, Subscriber,
    SubscriberOptions,
};
use crossdock_device::{Device, EmptyKernel, devices};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_test_support::skip;
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

const MESSAGES: u32 = 300;
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn whoever_takes_an_early_message_finds_its_work_in_a_stream() {
    if devices().is_empty() {
        return skip("no OpenCL driver");
    }
    let device = Device::open(tested()).expect("it was listed");
    let folder = std::env::temp_dir().join(format!("xd-order-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).expect("a folder");
    let mut options = ParticipantOptions::new(0, "order");
    options.rendezvous = Rendezvous::Folder(folder.clone());
    let participant = Participant::open(options).expect("a participant");
    let qos = Qos::reliable(4, PATIENCE);
    let options =
        PublisherOptions { node: "writer", topic: "/a", qos, max_bytes: Some(4096), group: None };
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| {
            let options =
                SubscriberOptions { node: "reader", topic: "/a", qos, doorbell: None, group: None };
            let input: Subscriber<Image> = participant.subscriber(options).expect("a subscriber");
            input.hand_out_early(true);
            let mut stream = device.stream().expect("a stream");
            for number in 1..=MESSAGES {
                let sample = loop {
                    match input.take().expect("a message") {
                        Some(sample) => break sample,
                        None => std::thread::yield_now(),
                    }
                };
                let point = sample.finish_point().expect("it is early");
                // This device waits only for work that stands in a stream of this process.
                let waits = stream.wait(&point);
                assert_eq!(waits, Ok(()), "message {number}");
            }
            stream.finish().expect("all of it came");
        });
        let output: Publisher<Image> = participant.publisher(options).expect("a publisher");
        assert!(participant.wait_until(PATIENCE, || output.matched() == 1), "the reader comes");
        let mut stream = device.stream().expect("a stream");
        let mut empty = EmptyKernel::new(&device).expect("a kernel");
        for _ in 0..MESSAGES {
            let mut loan = output.loan(Extra::none().bytes(64)).expect("a loan");
            loan.message().data_uninit(64).expect("room").fill(0);
            empty.launch(&mut stream).expect("launched");
            let point = loan.early_point().expect("asked once");
            stream.signal(&point).expect("signalled");
            loan.publish_early().expect("published");
        }
        taker.join().expect("no panic");
    });
    drop(participant);
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_number_that_was_promised_for_a_message_that_was_not_published_is_not_promised_again() {
    let folder = std::env::temp_dir().join(format!("xd-promise-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).expect("a folder");
    let mut options = ParticipantOptions::new(0, "promise");
    options.rendezvous = Rendezvous::Folder(folder.clone());
    let participant = Participant::open(options).expect("a participant");
    let qos = Qos::reliable(1, Duration::from_millis(50));
    let options =
        PublisherOptions { node: "writer", topic: "/a", qos, max_bytes: Some(4096), group: None };
    let output: Publisher<Image> = participant.publisher(options).expect("a publisher");
    let options =
        SubscriberOptions { node: "reader", topic: "/a", qos, doorbell: None, group: None };
    let input: Subscriber<Image> = participant.subscriber(options).expect("a subscriber");
    assert!(participant.wait_until(PATIENCE, || output.matched() == 1), "the reader comes");
    let loan = || {
        let mut loan = output.loan(Extra::none().bytes(64)).expect("a loan");
        loan.message().data_uninit(64).expect("room").fill(0);
        loan
    };
    loan().publish().expect("the first");
    let refused = loan();
    let point = refused.early_point().expect("the second is promised");
    assert_eq!(point.value, 2);
    let refused = refused.publish_early().expect_err("the reader has not taken the first");
    // Its work goes on, and ends only now and then.
    point.timeline.advance(point.value);
    drop(refused);
    assert!(input.take().expect("a message").is_some());
    let again = loan();
    assert!(again.early_point().is_none(), "its end may be told at any time");
    again.publish().expect("complete when it is published");
    assert!(input.take().expect("a message").is_some());
    let next = loan();
    assert_eq!(next.early_point().map(|point| point.value), Some(3));
    drop((next, input));
    drop(output);
    drop(participant);
    let _ = std::fs::remove_dir_all(folder);
}
