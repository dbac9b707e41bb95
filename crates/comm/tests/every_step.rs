//! Processes killed between any two instructions of what ports and buffers do, and around every
//! system call of meeting and parting: the survivor goes on, nothing that it holds changes, and
//! nothing is left.
//!
//! A child is traced (`ptrace`). Loan with publish, take, drop of a sample, claim and release run
//! between two marks; the child is killed behind the k-th instruction from the first. Meeting and
//! parting run on two threads with some hundred system calls; there the child is killed at a system
//! call of any thread, or some instructions behind it: what these threads write into shared memory,
//! they write between two system calls.
//!
//! Ordinary runs take a sample of all moments; the seed is printed and `CROSSDOCK_SEED` repeats it.
//! With `CROSSDOCK_LONG` every instruction is one. Only x86_64: on aarch64 an instruction that
//! stores on condition fails whenever a debugger stops in front of it, and such loops would not
//! end.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

mod common;
#[cfg(target_arch = "x86_64")]
mod tracing;

use crossdock_test_support::skip;

#[cfg(not(target_arch = "x86_64"))]
#[test]
fn a_process_killed_at_any_instruction_leaves_nothing() {
    skip("stepping through conditional stores needs x86_64");
}

#[cfg(target_arch = "x86_64")]
mod steps {
    use std::time::Instant;

    use crossdock_comm::{
        Part, Participant, Publisher, PublisherOptions, Sample, SharedBuffer, Subscriber,
        SubscriberOptions, Token,
    };
    use crossdock_msg::Extra;
    use crossdock_msg::types::crossdock_interfaces::SharedBuffer as Message;
    use crossdock_msg::types::sensor_msgs::Image;

    use crossdock_test_support::Random;

    use super::skip;
    use crate::common::child::{Process, hear, role, tell};
    use crate::common::{
        LIMIT, Place, check, comes_to, drain, publish, publisher, reliable, settled_resources,
        subscriber, turn,
    };
    use crate::tracing::{End, Tracee, mark};
    use crossdock_test_support::done;

    /// The moments below `end` to be tried: `some` of them, or all.
    fn moments(random: &mut Random, end: u64, some: u64) -> Vec<u64> {
        if std::env::var_os("CROSSDOCK_LONG").is_some() {
            return (0..=end).collect();
        }
        (0..some).map(|_| random.below(end + 1)).collect()
    }

    const COUNT: u64 = 64;

    fn tokens(participant: &Participant) -> (Publisher<Message>, Subscriber<Message>) {
        let (qos, topic) = (reliable(4), "/token");
        let options =
            PublisherOptions { node: "owner", topic, qos, max_bytes: Some(512), group: None };
        let output = participant.publisher(options).unwrap();
        let options = SubscriberOptions { node: "member", topic, qos, doorbell: None, group: None };
        (output, participant.subscriber(options).unwrap())
    }

    fn first<T>(mut take: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(taken) = take() {
                return taken;
            }
            assert!(Instant::now() < end, "nothing came");
            std::thread::yield_now();
        }
    }

    /// The child: gets ready, and does one thing between two marks.
    fn child(what: &str, place: &str) {
        if what == "meet" {
            return meet_and_part(place);
        }
        let participant = Place::of_parent(place, "child");
        let input = subscriber(&participant, "/down", reliable(4));
        let output = publisher(&participant, "/up", reliable(4));
        let (_, tokens) = tokens(&participant);
        assert!(participant.wait_until(LIMIT, || {
            input.matched() == 1 && output.peers() == 1 && tokens.matched() == 1
        }));
        let message = first(|| tokens.take().unwrap());
        let token = Token::of(message.message()).unwrap();
        drop(message);
        let buffer: SharedBuffer<u32> = participant.buffers("member").open(&token).unwrap();
        // Once before: what is made with the first one is not what is looked at.
        publish(&output, 1);
        drop(buffer.write(Part::range(0, 1)).unwrap());
        let _kept = first(|| input.take().unwrap());
        tell(&rustix::thread::gettid().as_raw_nonzero().to_string());
        assert_eq!(hear().as_deref(), Some("go"));
        match what {
            "publish" => {
                mark();
                publish(&output, 2);
                mark();
            }
            "take" => {
                mark();
                let _taken = input.take().unwrap();
                mark();
            }
            "drop" => {
                let taken = input.take().unwrap().unwrap();
                mark();
                drop(taken);
                mark();
            }
            "claim" => {
                mark();
                let _claim = buffer.write(Part::range(0, COUNT)).unwrap();
                mark();
            }
            "release" => {
                let claim = buffer.write(Part::range(0, COUNT)).unwrap();
                mark();
                drop(claim);
                mark();
            }
            other => panic!("{other}"),
        }
        while hear().is_some() {}
    }

    /// The child that comes, exchanges a message each way, and goes.
    fn meet_and_part(place: &str) {
        tell(&rustix::thread::gettid().as_raw_nonzero().to_string());
        assert_eq!(hear().as_deref(), Some("go"));
        mark();
        let participant = Place::of_parent(place, "child");
        let input = subscriber(&participant, "/down", reliable(4));
        let output = publisher(&participant, "/up", reliable(4));
        let connected = || input.matched() == 1 && output.peers() == 1;
        assert!(participant.wait_until(LIMIT, connected));
        publish(&output, 1);
        let sample = input.take().unwrap();
        drop((input, output));
        drop(sample);
        drop(participant);
        mark();
        while hear().is_some() {}
    }

    /// The survivor, and what it has when it is alone.
    struct Survivor {
        test: &'static str,
        place: Place,
        participant: Participant,
        output: Publisher<Image>,
        input: Subscriber<Image>,
        tokens: (Publisher<Message>, Subscriber<Message>),
        buffer: SharedBuffer<u32>,
        number: u32,
        alone: (usize, usize),
        free_chunks: usize,
    }

    impl Survivor {
        fn new(test: &'static str) -> Survivor {
            let place = Place::new("every-step");
            let participant = place.open("survivor");
            let output = publisher(&participant, "/down", reliable(4));
            let input = subscriber(&participant, "/up", reliable(4));
            let tokens = tokens(&participant);
            let buffer = participant.buffers("owner").create::<u32>("array", COUNT).unwrap();
            assert!(participant.wait_until(LIMIT, || tokens.1.matched() == 1));
            let free_chunks = free_chunks(&output);
            let alone = settled_resources();
            let number = 0;
            Survivor {
                test,
                place,
                participant,
                output,
                input,
                tokens,
                buffer,
                number,
                alone,
                free_chunks,
            }
        }

        fn publish(&mut self) {
            self.number += 1;
            publish(&self.output, self.number);
        }

        /// A child that is ready, and traced; `None`: that is not permitted here.
        fn start(&mut self, what: &str) -> Option<(Process, Tracee)> {
            let mut child = Process::start(self.test, what, self.place.path());
            if what != "meet" {
                let connected = || {
                    self.output.peers() == 1
                        && self.input.matched() == 1
                        && self.tokens.0.peers() == 2
                };
                assert!(self.participant.wait_until(LIMIT, connected));
                let mut loan = self.tokens.0.loan(Extra::none()).unwrap();
                let all = Part::range(0, COUNT);
                self.buffer.token(all, all, 1).write(&mut loan.message());
                loan.publish().map_err(|refused| refused.reason).unwrap();
                assert!(self.tokens.1.take().unwrap().is_some());
                (0..3).for_each(|_| self.publish());
            }
            let thread = child.read().unwrap().parse().unwrap();
            let tracee = Tracee::seize(child.pid(), thread)?;
            child.say("go");
            Some((child, tracee))
        }

        /// The child is dead: everything that it had is back, and everything goes on.
        fn looks_after(&mut self, held: Option<Sample<Image>>, moment: &str) {
            let Survivor { participant, output, input, buffer, .. } = self;
            let gone = || output.peers() == 0 && input.matched() == 0;
            assert!(participant.wait_until(LIMIT, gone), "{moment}: it is not heard to be dead");
            let mut numbers = drain(input);
            if let Some(held) = &held {
                assert_eq!(check(held), 1, "{moment}");
                numbers.insert(0, 1);
            }
            let expected: Vec<u32> = (1..).take(numbers.len()).collect();
            assert_eq!(numbers, expected, "{moment}");
            assert_eq!(input.counters().corrupt, 0, "{moment}: what is left is no message");
            drop(held);
            let free = free_chunks(output);
            assert_eq!(free, self.free_chunks, "{moment}: chunks have not come back");
            match buffer.write(Part::range(0, COUNT)) {
                Ok(claim) => drop(claim),
                Err(_) => {
                    buffer.accept_abandoned().unwrap();
                    drop(buffer.write(Part::range(0, COUNT)).unwrap());
                }
            }
            self.settles(moment);
        }

        fn settles(&mut self, moment: &str) {
            comes_to(self.alone, moment, || {
                // Publishers forget who has gone when they publish.
                self.number += 1;
                publish(&self.output, self.number);
                let mut loan = self.tokens.0.loan(Extra::none()).unwrap();
                self.buffer
                    .token(Part::range(0, 1), Part::range(0, 1), 1)
                    .write(&mut loan.message());
                loan.publish().map_err(|refused| refused.reason).unwrap();
                while self.tokens.1.take().unwrap().is_some() {}
                drain(&self.input);
            });
        }
    }

    /// Chunks that can be had at once.
    fn free_chunks(output: &Publisher<Image>) -> usize {
        let mut loans = Vec::new();
        while let Ok(loan) = output.loan(Extra::none().bytes(800)) {
            loans.push(loan);
            assert!(loans.len() < 100_000, "its pool has a bound");
        }
        loans.len()
    }

    /// Kills a child at moments of one thing that it does.
    fn at_instructions(test: &'static str, what: &'static str, some: u64) {
        if let Some((what, place)) = role() {
            return child(&what, &place);
        }
        let _turn = turn();
        let mut random = Random::new(test);
        let mut survivor = Survivor::new(test);
        let mut run = |k: u64| {
            let (child, mut tracee) = survivor.start(what)?;
            let held = first(|| survivor.input.take().unwrap());
            assert!(tracee.run_to_mark());
            let (end, steps) = tracee.step(k);
            tracee.kill(child);
            survivor.looks_after(Some(held), &format!("{what}, instruction {k}"));
            Some((end, steps))
        };
        let Some((end, all)) = run(u64::MAX) else {
            return skip("no process may be traced here (`ptrace`)");
        };
        assert!(end == End::Mark && all > 10, "{end:?} after {all}");
        let moments = moments(&mut random, all, some);
        println!("{test}: {} of {all} instructions", moments.len());
        let kills = moments.len() as u64;
        for k in moments {
            run(k).unwrap();
        }
        done(kills, "kills_at_instructions");
    }

    #[test]
    fn a_process_killed_at_any_instruction_of_loan_and_publish_leaves_whole_messages() {
        let test =
            "steps::a_process_killed_at_any_instruction_of_loan_and_publish_leaves_whole_messages";
        at_instructions(test, "publish", 50);
    }

    #[test]
    fn a_process_killed_at_any_instruction_of_take_leaves_no_chunk_behind() {
        let test = "steps::a_process_killed_at_any_instruction_of_take_leaves_no_chunk_behind";
        at_instructions(test, "take", 30);
    }

    #[test]
    fn a_process_killed_at_any_instruction_of_a_drop_leaves_no_chunk_behind() {
        let test = "steps::a_process_killed_at_any_instruction_of_a_drop_leaves_no_chunk_behind";
        at_instructions(test, "drop", 20);
    }

    #[test]
    fn a_process_killed_at_any_instruction_of_a_claim_leaves_the_buffer_usable() {
        let test = "steps::a_process_killed_at_any_instruction_of_a_claim_leaves_the_buffer_usable";
        at_instructions(test, "claim", 30);
    }

    #[test]
    fn a_process_killed_at_any_instruction_of_a_release_leaves_the_buffer_usable() {
        let test =
            "steps::a_process_killed_at_any_instruction_of_a_release_leaves_the_buffer_usable";
        at_instructions(test, "release", 20);
    }

    /// Instructions behind a system call in which a thread of the child is killed.
    const BEHIND: u64 = 3000;

    #[test]
    fn a_process_killed_at_any_system_call_of_meeting_and_parting_leaves_nothing() {
        let test =
            "steps::a_process_killed_at_any_system_call_of_meeting_and_parting_leaves_nothing";
        if let Some((what, place)) = role() {
            return child(&what, &place);
        }
        let _turn = turn();
        let mut random = Random::new(test);
        let mut survivor = Survivor::new(test);
        let mut run = |call: u64, behind: u64| {
            let (child, mut tracee) = survivor.start("meet")?;
            assert!(tracee.run_to_mark());
            survivor.publish();
            let (end, calls) = tracee.run_to_call(call, behind);
            tracee.kill(child);
            // It may not have been met at all.
            let alone = |it: &Survivor| it.participant.peers().is_empty();
            let participant = survivor.participant.clone();
            assert!(participant.wait_until(LIMIT, || alone(&survivor)), "call {call}+{behind}");
            survivor.looks_after(None, &format!("system call {call} and {behind} instructions"));
            Some((end, calls))
        };
        let Some((end, all)) = run(u64::MAX, 0) else {
            return skip("no process may be traced here (`ptrace`)");
        };
        assert!(end == End::Mark && all > 100, "{end:?} after {all}");
        let moments = moments(&mut random, all, 60);
        println!("{test}: {} of {all} stops at system calls", moments.len());
        let kills = moments.len() as u64;
        for call in moments {
            // Half of them right there.
            let behind = random.below(2) * random.below(BEHIND);
            run(call, behind).unwrap();
        }
        done(kills, "kills_at_system_calls");
        let Survivor { place, participant, .. } = &survivor;
        drop(place.open("next"));
        assert_eq!(place.files(), 1, "{}", participant.process());
    }
}
