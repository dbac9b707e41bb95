//! Hosts that die and hosts that come after them, on generated boards. A simulation lives in its
//! host's process, so a host that dies is one that lets its lease run out in mid-message.

use crate::image;
use crate::nodes::{
    FOREVER_PS, PERIOD_PS, TIMING, board, built, generated, library, there_and_back,
};
use crate::support::pictures::{Host, Sent};
use crossdock_fabric::{Access, Board, Library, MemoryTiming, Sink, Source, Stop, Traffic};

const RESTART: u32 = 0x1_6800;
const LEASE: u32 = 0x1_6808;
const ENDED: u32 = 0x1_6810;
const DOWN: u32 = 0;
const UP: u32 = 1;
/// Longer than memory takes for all that can be under way at the same time.
const REST_CYCLES: u64 = 64 * 64;
/// A picture with all that is done with it takes less.
const PICTURE_CYCLES: u64 = 30_000;
const PICTURE_BYTES: usize = 40_000;
/// What nobody writes over.
const PATTERN: u8 = 0xe7;

fn read(board: &mut Board, addresses: [u32; 3]) -> [u64; 3] {
    let mut accesses = addresses.map(Access::read);
    assert_eq!(board.access(&mut accesses), Ok(true));
    accesses.map(|access| access.value())
}

/// Lets time pass on the board, with somebody who takes what the node sends.
fn pass(board: &mut Board, until_ps: u64, watches: bool) {
    let mut frame = vec![0; 64 * 1024];
    let mut sinks = [Sink::new(0, &mut frame)];
    let sinks = if watches { &mut sinks[..] } else { &mut [] };
    while board.now_ps() < until_ps {
        board.run(&mut [], sinks, until_ps).expect("a run");
        while board.event().is_some() {}
    }
}

/// A host begins a picture and is not heard of again: what had passed between board and memory
/// when its lease was over and memory had answered. Its memory stays as it was then.
fn dies(board: &mut Board, host: &mut Host, lease_cycles: u64, watches: bool) -> Traffic {
    assert_eq!(board.access(&mut [Access::write(LEASE, lease_cycles)]), Ok(true));
    let began_ps = board.now_ps();
    let (sent, mut lent) = (host.publish(1, PICTURE_BYTES), host.lend());
    assert!(board.reach(&[sent.region(), host.scratch(), lent.region()]));
    board.lend(UP, 1, lent.address(), lent.capacity());
    Sent::send(&sent, board, DOWN, 1);
    pass(board, began_ps + (lease_cycles + REST_CYCLES) * PERIOD_PS, watches);
    let at_rest = board.traffic();
    lent.bytes().fill(PATTERN);
    pass(board, board.now_ps() + PICTURE_CYCLES * PERIOD_PS, watches);
    assert_eq!(read(board, [RESTART, LEASE, ENDED]), [0b10, 0, 1 << 16], "stopped, not restarted");
    assert_eq!(board.traffic(), at_rest, "after {lease_cycles} cycles nothing passes");
    board.restart().expect("a restart");
    pass(board, board.now_ps() + PICTURE_CYCLES * PERIOD_PS, watches);
    assert_eq!(read(board, [RESTART, LEASE, ENDED]), [0, (1 << 48) - 1, 1 << 16 | 1]);
    assert_eq!(board.traffic(), at_rest, "what was under way is gone");
    assert!(lent.bytes().iter().all(|byte| *byte == PATTERN), "memory of a dead host was written");
    at_rest
}

#[test]
fn a_host_that_dies_in_mid_picture_leaves_its_memory_alone_and_the_board_to_the_next_one() {
    let library = library();
    let (mut half_read, mut half_written) = (0, 0);
    for (number, lease_cycles) in (400..12_000).step_by(331).enumerate() {
        let mut board = board(&library);
        let mut host = Host::new("leases-dies");
        let passed = dies(&mut board, &mut host, lease_cycles, number % 3 > 0);
        drop(host);
        half_read += u32::from(passed.bytes_written == 0 && passed.bytes_read > 0);
        half_written += u32::from((1..PICTURE_BYTES as u64).contains(&passed.bytes_written));
        let mut next = Host::new("leases-next");
        for (number, bytes) in [(2, 1001), (3, PICTURE_BYTES)] {
            there_and_back(&mut board, &mut next, number, bytes);
        }
        assert_eq!(board.traffic().refused, 0);
    }
    assert!(half_read > 3 && half_written > 3, "{half_read} read, {half_written} written");
}

#[test]
fn a_host_that_is_late_goes_on_where_it_was() {
    let (library, mut late) = (library(), 0);
    let mut host = Host::new("leases-late");
    for lease_cycles in [700, 3000, 6000, 9000] {
        let mut board = board(&library);
        assert_eq!(board.access(&mut [Access::write(LEASE, lease_cycles)]), Ok(true));
        let (sent, lent) = (host.publish(7, PICTURE_BYTES), host.lend());
        assert!(board.reach(&[sent.region(), host.scratch(), lent.region()]));
        board.lend(UP, 1, lent.address(), lent.capacity());
        sent.send(&mut board, DOWN, 1);
        let mut frame = vec![0; 64 * 1024];
        let mut sinks = [Sink::new(0, &mut frame)];
        let mut told = 0;
        let mut hear = |board: &mut Board, until_ps| {
            let stop = board.run(&mut [], &mut sinks, until_ps).expect("a run");
            told += std::iter::from_fn(|| board.event()).count();
            (stop, told)
        };
        // Late by far more than the picture takes.
        let until_ps = (lease_cycles + PICTURE_CYCLES) * PERIOD_PS;
        let before = loop {
            let (stop, told) = hear(&mut board, until_ps);
            if stop == Stop::Time {
                break told;
            }
        };
        assert_eq!(read(&mut board, [RESTART, LEASE, ENDED]), [0b10, 0, 1 << 16]);
        late += u32::from(before < 2);
        assert_eq!(board.access(&mut [Access::write(LEASE, !0)]), Ok(true));
        let end_ps = board.now_ps() + PICTURE_CYCLES * PERIOD_PS;
        let mut after = before;
        while after < 2 {
            let (stop, told) = hear(&mut board, end_ps);
            assert_eq!(stop, Stop::Done, "the picture goes on");
            after = told;
        }
        let bytes = sinks[0].received() as usize;
        host.publish_lent(lent, bytes);
        host.shows(7, PICTURE_BYTES);
    }
    assert!(late >= 3, "{late} pictures waited for the host");
}

#[test]
fn a_host_that_turns_keeps_its_lease_and_one_that_rests_gives_it_back() {
    let (library, mut host) = (library(), Host::new("leases-turns"));
    let mut board = board(&library);
    assert!(!board.set_lease(0));
    // Far shorter than a picture.
    assert!(board.set_lease(600));
    for (number, bytes) in [(1, PICTURE_BYTES), (2, 8), (3, PICTURE_BYTES)] {
        there_and_back(&mut board, &mut host, number, bytes);
        let [state, left, ended] = read(&mut board, [RESTART, LEASE, ENDED]);
        assert!((1..=600).contains(&left), "{left} cycles of the lease are left");
        assert_eq!((state, ended), (0, 0), "it never ran out");
        assert_eq!(board.rest(), Ok(true));
        assert_eq!(read(&mut board, [RESTART, LEASE, ENDED]), [0b10, 0, 0], "given back");
    }
    // An orderly end: nothing is open, and who comes next needs no lease to begin with.
    board.restart().expect("a restart");
    assert_eq!(read(&mut board, [RESTART, LEASE, ENDED]), [0, (1 << 48) - 1, 1]);
    let lent = host.lend();
    board.lend(UP, 1, lent.address(), lent.capacity());
    let until_ps = board.now_ps() + PICTURE_CYCLES * PERIOD_PS;
    assert_eq!(board.run(&mut [], &mut [], until_ps), Ok(Stop::Time));
    assert_eq!(read(&mut board, [RESTART, LEASE, ENDED])[1], (1 << 48) - 1, "no lease of its own");
}

#[test]
fn a_restart_resets_all_clocks_and_words_of_control_and_its_streams_begin_anew() {
    let mapped = "gateway, runtime_enable: true, \
                  subscribers: { left: { image: { clock: pixel } } }";
    let library = image::library(mapped);
    let id = library.ports()[image::port(&library, "renderer") as usize].publisher_id;
    let host = image::Host::new("leases-clocks");
    let sent = image::frame(&host, id, 1, 3000);
    let registers = image::registers(mapped);
    let enable = registers.iter().find(|register| register.name.ends_with("image.enable"));
    let enable = enable.expect("the word").address;
    for pixel_ps in [73_001, 900, image::PERIOD_PS + 1] {
        let model = library.model(1, &[image::PERIOD_PS, pixel_ps]).expect("two clocks");
        let mut board = Board::new(model, &image::TIMING, 4).expect("a board");
        let all = read(&mut board, [enable, 0, 8])[0];
        for cut_cycles in [20, 90, 350] {
            // Nobody but one node gets the message, and it breaks off.
            assert_eq!(board.access(&mut [Access::write(enable, 1)]), Ok(true));
            let mut taken = [vec![0; 4096], vec![0; 4096]];
            let [left, right] = &mut taken;
            let mut sources = [Source::new(image::port(&library, "renderer"), &sent)];
            let mut sinks = [
                Sink::new(image::port(&library, "left_image"), left),
                Sink::new(image::port(&library, "right_image"), right),
            ];
            let until_ps = board.now_ps() + cut_cycles * image::PERIOD_PS;
            assert_eq!(board.run(&mut sources, &mut sinks, until_ps), Ok(Stop::Time));
            board.restart().expect("a restart");
            assert_eq!(read(&mut board, [enable, 0, RESTART])[0], all, "as after a reset");
            // Nobody lends the gateway memory: it drops the message.
            board.set_reliable(0, false);
            let mut taken = [vec![0; 4096], vec![0; 4096]];
            let [left, right] = &mut taken;
            let mut sources = [Source::new(image::port(&library, "renderer"), &sent)];
            let mut sinks = [
                Sink::new(image::port(&library, "left_image"), left),
                Sink::new(image::port(&library, "right_image"), right),
            ];
            while sinks.iter().any(|sink| sink.done_ps().is_none()) {
                assert_eq!(board.run(&mut sources, &mut sinks, FOREVER_PS), Ok(Stop::Done));
            }
            for (sink, frame) in sinks.iter().zip([0, 1]) {
                assert_eq!(sink.received() as usize, sent.len(), "sink {frame} at {pixel_ps} ps");
            }
            assert!(taken.iter().all(|frame| frame[..sent.len()] == sent));
        }
    }
}

/// The board whose lease believes memory to be at rest.
fn impatient() -> Library {
    let mut generated = generated();
    let text = generated.files.get_mut("board_board.sv").expect("the board");
    let (wired, cut) =
        (".stopped(stopped),\n    .restart(restart)", ".stopped(1'b1),\n    .restart(restart)");
    assert_eq!(text.matches(wired).count(), 1);
    *text = text.replace(wired, cut);
    built(&generated)
}

#[test]
#[ignore = "long: another board is built"]
fn a_board_that_is_reset_before_memory_is_at_rest_spoils_what_the_next_host_gets() {
    let library = impatient();
    let slow = MemoryTiming { beat_256ths: 2048, ..TIMING };
    let spoilt = (2000..40_000).step_by(4001).any(|cycles| {
        let model = library.model(1, &[PERIOD_PS]).expect("one clock");
        let mut board = Board::new(model, &slow, 4).expect("a board");
        let mut host = Host::new("leases-impatient");
        let (sent, lent) = (host.publish(1, PICTURE_BYTES), host.lend());
        assert!(board.reach(&[sent.region(), host.scratch(), lent.region()]));
        board.lend(UP, 1, lent.address(), lent.capacity());
        sent.send(&mut board, DOWN, 1);
        pass(&mut board, cycles * PERIOD_PS, true);
        board.restart().expect("a restart");
        let mut next = Host::new("leases-spoilt");
        let tried = std::panic::AssertUnwindSafe(|| {
            there_and_back(&mut board, &mut next, 2, PICTURE_BYTES);
        });
        std::panic::catch_unwind(tried).is_err()
    });
    assert!(spoilt, "bursts that are cut make no difference to anybody");
}
