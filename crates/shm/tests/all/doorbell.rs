//! What an executor that sleeps hears of publishers and peer processes.

use crate::common;
use common::*;
use crossdock_shm::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn a_sleeping_executor_is_woken_by_every_message_that_it_must_see() {
    let contract = RingConfig { reliability: reliable(20_000), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let (side, peer) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let doorbell_of = Some((doorbell.control(), 5));
    let how = Join { doorbell: doorbell_of, reliable: true, ..join("sleeper") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    let sleeper = std::thread::spawn(move || {
        let mut expected = 1;
        let mut inputs = Vec::new();
        while expected <= 3000 {
            doorbell.drain(|input| inputs.push(input));
            while let Some(sample) = subscriber.take().unwrap() {
                assert_eq!(value(&sample), expected);
                expected += 1;
            }
            if expected <= 3000 {
                let woken = doorbell.sleep(Some(Duration::from_secs(20)), || subscriber.arm());
                assert_ne!(woken, Woken::TimedOut, "lost wake-up at {expected}");
            }
        }
        assert!(inputs.iter().all(|input| *input == 5));
    });
    for value in 1..=3000 {
        publish(&publisher, value);
        if value % 5 == 0 {
            std::thread::yield_now();
        }
    }
    sleeper.join().unwrap();
}

#[test]
fn an_executor_that_does_not_drain_can_give_back_what_it_has_of_a_peer_process_that_has_gone() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let how = Join { doorbell: Some((doorbell.control(), 9)), ..join("viewer") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    doorbell.settle();
    assert!(!subscriber.arm());
    publish(&publisher, 1);
    doorbell.control().leave(&side.pair);
    doorbell.settle();
    let again = doorbell.control().join(&side.pair).unwrap();
    assert_eq!(again.ready_line, 0, "it is free again");
    // What the peer rang before it went is not lost.
    let mut rung = Vec::new();
    doorbell.drain(|input| rung.push(input));
    assert_eq!((rung, take(&mut subscriber)), (vec![9], 1));
}

#[test]
fn a_wake_between_the_last_look_and_the_sleep_is_not_lost() {
    let bells = BellMemory::new("bells");
    for spin in [Duration::ZERO, Duration::from_micros(50)] {
        let doorbell = Doorbell::create(&bells, DoorbellOptions { spin }).unwrap();
        let control = doorbell.control();
        let minute = Some(Duration::from_secs(60));
        // Before the sleep, then inside it: behind what the executor looks at last.
        control.wake();
        assert_ne!(doorbell.sleep(minute, || false), Woken::TimedOut);
        let woken = doorbell.sleep(minute, || {
            control.wake();
            false
        });
        assert_ne!(woken, Woken::TimedOut);
        // Each ended one sleep and marked nothing.
        doorbell.drain(|input| panic!("input {input} rang"));
        let short = Some(Duration::from_millis(1));
        assert_eq!(doorbell.sleep(short, || false), Woken::TimedOut);
    }
}

#[test]
fn every_wake_of_a_sleeping_executor_shows_the_flag_set_before() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let bells = BellMemory::new("bells");
    let doorbell = Doorbell::create(&bells, DoorbellOptions::default()).unwrap();
    let (control, asked) = (doorbell.control(), AtomicU64::new(0));
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=3000 {
                asked.store(round, Ordering::Relaxed);
                control.wake();
                while answered.load(Ordering::Relaxed) < round {
                    std::thread::yield_now();
                }
            }
        });
        // The flag is looked at before each sleep, never inside it.
        while answered.load(Ordering::Relaxed) < 3000 {
            let now = asked.load(Ordering::Relaxed);
            if answered.swap(now, Ordering::Relaxed) == now {
                let woken = doorbell.sleep(Some(Duration::from_secs(60)), || false);
                assert_ne!(woken, Woken::TimedOut, "a wake-up was lost in round {now}");
            }
        }
    });
}

#[test]
fn several_publishers_ring_one_doorbell_and_inputs_are_told_apart() {
    let (side, peer) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let publishers: Vec<_> =
        (0..3).map(|_| RingPublisher::create("p", config()).unwrap()).collect();
    let mut subscribers: Vec<_> = publishers
        .iter()
        .enumerate()
        .map(|(index, publisher)| {
            let how = Join { doorbell: Some((doorbell.control(), index as u16 * 70)), ..join("s") };
            connect(&publisher.control(), &side, &peer, how).0
        })
        .collect();
    // The join woke the executor; after that nothing is left.
    doorbell.drain(|_| ());
    assert!(!subscribers.iter().any(|subscriber| subscriber.arm()));
    publish(&publishers[2], 1);
    publish(&publishers[1], 1);
    let mut rung = Vec::new();
    doorbell.drain(|input| rung.push(input));
    rung.sort_unstable();
    assert_eq!(rung, [70, 140]);
    assert_eq!(take(&mut subscribers[1]), 1);
    let zero = Some(std::time::Duration::ZERO);
    let woken = doorbell.sleep(zero, || subscribers.iter().any(|subscriber| subscriber.arm()));
    assert_eq!(woken, Woken::Ready, "input 2 was not taken");
    assert_eq!(take(&mut subscribers[2]), 1);
    let woken = doorbell.sleep(zero, || subscribers.iter().any(|subscriber| subscriber.arm()));
    assert_eq!(woken, Woken::TimedOut);
    doorbell.control().ring(3);
    assert_eq!(doorbell.sleep(None, || false), Woken::Ready);
    doorbell.drain(|input| assert_eq!(input, 3));
}

#[test]
fn a_peer_process_that_leaves_gives_its_ready_line_back_and_is_looked_at_once_more() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let (side, peer) = side();
    let options = DoorbellOptions { spin: Duration::from_micros(20) };
    let doorbell = Doorbell::create(&side.bells, options).unwrap();
    let how = Join { doorbell: Some((doorbell.control(), 9)), ..join("viewer") };
    let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
    doorbell.drain(|_| ());
    assert!(!subscriber.arm());
    publish(&publisher, 1);
    doorbell.control().leave(&side.pair);
    let mut rung = Vec::new();
    doorbell.drain(|input| rung.push(input));
    assert_eq!(rung, [9]);
    assert_eq!(take(&mut subscriber), 1);
    let joined = doorbell.control().join(&side.pair).unwrap();
    assert_eq!((joined.ready_line, joined), (0, doorbell.control().join(&side.pair).unwrap()));
    doorbell.drain(|_| ());
    doorbell.control().expose(Duration::from_millis(1));
    // The wake of `expose` came while awake; the sleep ends by the interval and says "look".
    assert_eq!(doorbell.sleep(None, || false), Woken::Rung);
}

#[test]
fn the_other_peer_processes_are_heard_when_one_has_left() {
    let mut sides = [side(), side()];
    // Both are of one process, whose executor this is.
    sides[1].0.bells = sides[0].0.bells.clone();
    let doorbell = Doorbell::create(&sides[0].0.bells, DoorbellOptions::default()).unwrap();
    let publishers = sides.each_ref().map(|_| RingPublisher::create("camera", config()).unwrap());
    let mut subscribers = Vec::new();
    for (input, (publisher, (side, peer))) in (8..).zip(publishers.iter().zip(&sides)) {
        let how = Join { doorbell: Some((doorbell.control(), input)), ..join("viewer") };
        subscribers.push(connect(&publisher.control(), side, peer, how).0);
    }
    let heard = || {
        let mut rung = Vec::new();
        doorbell.drain(|input| rung.push(input));
        rung
    };
    heard();
    assert!(subscribers.iter_mut().all(|subscriber| !subscriber.arm()));
    doorbell.control().leave(&sides[0].0.pair);
    assert_eq!(heard(), []);
    publish(&publishers[1], 1);
    assert_eq!(heard(), [9]);
}

#[test]
fn a_message_rings_for_the_subscribers_that_are_left_when_others_have_gone() {
    let publisher = RingPublisher::create("camera", config()).unwrap();
    let control = publisher.control();
    let mut sides = [side(), side(), side()];
    let bells = sides[0].0.bells.clone();
    sides.iter_mut().for_each(|(side, _)| side.bells = bells.clone());
    let doorbell = Doorbell::create(&bells, DoorbellOptions::default()).unwrap();
    let mut subscribers = Vec::new();
    for (input, (side, peer)) in (0..).zip(&sides) {
        let how = Join { doorbell: Some((doorbell.control(), input)), ..join("viewer") };
        let (subscriber, number) = connect(&control, side, peer, how);
        subscribers.push((input, subscriber, number));
    }
    doorbell.drain(|_| ());
    for gone in [1, 0, 2] {
        assert!(subscribers.iter().all(|(_, subscriber, _)| !subscriber.arm()));
        publish(&publisher, gone);
        let mut rung = Vec::new();
        doorbell.drain(|input| rung.push(input));
        let left: Vec<_> = subscribers.iter().map(|(input, ..)| *input).collect();
        assert_eq!(rung, left);
        subscribers.iter_mut().for_each(|(_, subscriber, _)| assert_eq!(take(subscriber), gone));
        let place = left.iter().position(|input| u64::from(*input) == gone).unwrap();
        let (_, _, number) = subscribers.remove(place);
        control.detach(number);
    }
    publish(&publisher, 3);
    doorbell.drain(|input| panic!("nobody is left, and {input} was rung"));
}

#[test]
fn controls_of_one_executor_have_one_bell_and_those_of_others_another() {
    let (side, _) = side();
    let doorbells =
        [0, 1].map(|_| Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap());
    let [one, other] = doorbells.each_ref().map(Doorbell::control);
    assert!(one.is_same(&doorbells[0].control()) && !one.is_same(&other));
    let file = |fd: std::os::fd::BorrowedFd<'_>| {
        let found = rustix::fs::fstat(fd).unwrap();
        (found.st_dev, found.st_ino)
    };
    for (number, control) in (0..).zip([&one, &other]) {
        let (bell, fd) = control.bell().unwrap();
        assert_eq!((bell, file(fd)), (number, file(side.bells.fd(number).unwrap())));
    }
    assert_ne!(file(one.bell().unwrap().1), file(other.bell().unwrap().1));
}

#[test]
fn the_place_of_a_bell_that_a_stranger_may_write_is_given_to_nobody_else() {
    let (side, _) = side();
    let make = || Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let number = |doorbell: &Doorbell| doorbell.control().bell().unwrap().0;
    let next = || {
        let doorbell = make();
        number(&doorbell)
    };
    assert_eq!([next(), next()], [0, 0], "the place of one that has gone");
    let exposed = make();
    exposed.control().expose(Duration::from_millis(1));
    assert_eq!(number(&exposed), 0);
    drop(exposed);
    assert_eq!([next(), next()], [1, 1]);
}

#[test]
fn many_sleepers_are_all_woken_by_one_message() {
    let contract = RingConfig { reliability: reliable(20_000), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let (side, peer) = side();
    let received = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..40)
        .map(|_| {
            let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
            let how =
                Join { doorbell: Some((doorbell.control(), 0)), reliable: true, ..join("many") };
            let (mut subscriber, _) = connect(&publisher.control(), &side, &peer, how);
            let received = received.clone();
            std::thread::spawn(move || {
                let mut expected = 1;
                while expected <= 50 {
                    doorbell.drain(|_| ());
                    while let Some(sample) = subscriber.take().unwrap() {
                        assert_eq!(value(&sample), expected);
                        expected += 1;
                        received.fetch_add(1, Ordering::Relaxed);
                    }
                    if expected <= 50 {
                        let limit = Some(Duration::from_secs(30));
                        let woken = doorbell.sleep(limit, || subscriber.arm());
                        assert_ne!(woken, Woken::TimedOut, "lost wake-up at {expected}");
                    }
                }
            })
        })
        .collect();
    for value in 1..=50 {
        publish(&publisher, value);
        // Let them fall asleep now and then: the wake relay is for sleepers.
        while value % 2 == 0 && received.load(Ordering::Relaxed) < value * 40 {
            std::thread::yield_now();
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(received.load(Ordering::Relaxed), 2000);
}

#[test]
fn a_publisher_that_waits_rings_for_the_subscribers_that_it_waits_for() {
    let contract = RingConfig { depth: 2, reliability: reliable(10), ..config() };
    let publisher = RingPublisher::create("camera", contract).unwrap();
    let (side, peer) = side();
    let doorbell = Doorbell::create(&side.bells, DoorbellOptions::default()).unwrap();
    let join = |input, depth| Join {
        doorbell: Some((doorbell.control(), input)),
        reliable: true,
        depth,
        ..join("viewer")
    };
    let (_slow, _) = connect(&publisher.control(), &side, &peer, join(8, 2));
    let (mut fast, _) = connect(&publisher.control(), &side, &peer, join(9, 2));
    let heard = || {
        let mut rung = Vec::new();
        doorbell.drain(|input| rung.push(input));
        rung
    };
    heard();
    // Neither has armed: they look for something else.
    for value in 1..=2 {
        publish(&publisher, value);
        assert_eq!(take(&mut fast), value);
    }
    assert_eq!(heard(), []);
    assert!(publisher.loan(8).unwrap().publish(Meta { len: 8, ..Meta::default() }).is_err());
    assert_eq!(heard(), [8]);
}
