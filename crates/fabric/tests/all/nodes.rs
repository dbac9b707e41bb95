//! Hardware nodes on a board: messages of software reach them and theirs reach software, over real
//! rings; a board with nothing to do says so, and may stand still without a difference.

use crate::support;
use crossdock_fabric::{
    Board, Cache, HostEvent, IDLE_CYCLES, Library, MemoryTiming, RunError, Search, Sink, Stop,
};
use crossdock_graph::{Graph, HardwarePackage, Mapping, PackageDescriptions};
use crossdock_hwgen::{Generated, Implementation, Request, SourceText, generate};
use crossdock_msg::Schema;
use crossdock_msg::frame::{FrameHeader, HEADER_BYTES};
use crossdock_test_support::{hardware_tools, workspace};
use support::pictures::{Host, MASK};

pub(crate) const PERIOD_PS: u64 = 10_000;
pub(crate) const FOREVER_PS: u64 = 1 << 60;
const GRAPH: &str = "
crossdock: 1
name: pictures
topics:
  /image: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 40000 } }
  /inverted: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 40000 } }
nodes:
  camera: { package: pictures, type: camera, outputs: { image: /image } }
  show: { package: pictures, type: show, inputs: { image: /inverted } }
  negative:
    package: pictures
    type: invert
    inputs: { image: /image }
    outputs: { inverted: /inverted }
    parameters: { mask: 60, pause_cycles: 1000 }
  watch: { package: pictures, type: watch, inputs: { image: /inverted } }
";
const MAPPING: &str = "
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [camera, show] } ] } }
fabrics: { board: { nodes: [negative, watch] } }
topics: { /image: { mapping: gateway }, /inverted: { mapping: gateway } }
";
pub(crate) const TIMING: MemoryTiming = MemoryTiming {
    read_latency: 400,
    write_latency: 300,
    outstanding: 16,
    beat_256ths: 256,
    load_percent: 0,
    seed: 1,
};

pub(crate) fn generated() -> Generated {
    with_sources(&|text| text)
}

/// The board with every source of its node as `changed` makes it.
fn with_sources(changed: &dyn Fn(String) -> String) -> Generated {
    let folder = workspace().join("crates/fabric/tests/pictures");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let package = text("pictures.hardware.yaml");
    let package = HardwarePackage::from_yaml("pictures.hardware.yaml", package.as_bytes());
    let package = package.expect("a hardware package");
    let node = package.node_type("invert").expect("the node type");
    let sources = node.sources.iter();
    let sources =
        sources.map(|name| SourceText { name: name.clone(), text: changed(text(name)) }).collect();
    let implementation = Implementation { package: &package, node, sources, set_up: Vec::new() };
    let request = Request {
        graph: &Graph::from_yaml("graph", GRAPH.as_bytes()).expect("a graph"),
        mapping: &Mapping::from_yaml("mapping", MAPPING.as_bytes()).expect("a mapping"),
        descriptions: &PackageDescriptions {
            binaries: Vec::new(),
            hardware: vec![package.clone()],
        },
        fabric: "board",
        types: &|name| Schema::shipped(name).map_err(|error| error.to_string()),
        implementations: &[implementation],
    };
    generate(&request).unwrap_or_else(|violations| panic!("{violations:#?}"))
}

pub(crate) fn library() -> Library {
    built(&generated())
}

/// The same board with clocks that tick all the time.
fn with_all_clocks(generated: &Generated) -> Generated {
    let mut without = generated.clone();
    let text = without.files.get_mut("board_board.sv").expect("the board");
    let gates = text.matches(" & needs_").count();
    assert_eq!(
        gates, 6,
        "the registers, the node, both gateways, the osif, the way to host memory"
    );
    let lines = text.lines().map(|line| line.split(" & needs_").next().unwrap_or_default());
    let lines = lines.zip(text.lines()).map(|(plain, line)| match plain == line {
        true => format!("{line}\n"),
        false => format!("{plain};\n"),
    });
    *text = lines.collect();
    without
}

pub(crate) fn built(generated: &Generated) -> Library {
    let search = Search { tools: Some(hardware_tools().to_owned()), ..Search::from_environment() };
    let cache = Cache::at(workspace().join("target/hw/cache"));
    let built = Library::build_board(generated, &search, &cache, &mut |_| {});
    built.unwrap_or_else(|error| panic!("{error}")).expect("a board")
}

pub(crate) fn board(library: &Library) -> Board {
    let model = library.model(1, &[PERIOD_PS]).expect("one clock");
    Board::new(model, &TIMING, 4).expect("a board")
}

/// Sends a picture down and waits until it has come back, seen by the sink too: when it came, and
/// when the board stopped.
pub(crate) fn there_and_back(
    board: &mut Board,
    host: &mut Host,
    number: u32,
    bytes: usize,
) -> (u64, Stop) {
    let at_ps = there_and_late_back(board, host, (number, bytes), 0);
    let limit_ps = board.now_ps() + 100_000 * PERIOD_PS;
    (at_ps, board.run(&mut [], &mut [], limit_ps).expect("a run"))
}

/// When it came, with memory for the answer so many cycles after the message has been sent.
fn there_and_late_back(
    board: &mut Board,
    host: &mut Host,
    (number, bytes): (u32, usize),
    late_cycles: u64,
) -> u64 {
    let (down, up) = (0, 1);
    let sent = host.publish(number, bytes);
    let lent = host.lend();
    assert!(board.reach(&[sent.region(), host.scratch(), lent.region()]));
    let lend = |board: &mut Board| {
        board.lend(up, number as u16, lent.address(), lent.capacity());
    };
    if late_cycles == 0 {
        lend(board);
    }
    sent.send(board, down, number as u16);
    let mut frame = vec![0; 64 * 1024];
    let mut sinks = [Sink::new(0, &mut frame)];
    let (mut arrived, mut is_sent) = (None, false);
    // Far more than any message takes: a board that stands still ends the test.
    let end_ps = board.now_ps() + 1_000_000 * PERIOD_PS;
    let mut until_ps =
        if late_cycles == 0 { end_ps } else { board.now_ps() + late_cycles * PERIOD_PS };
    while arrived.is_none() || !is_sent || sinks[0].done_ps().is_none() {
        let stop = board.run(&mut [], &mut sinks, until_ps).expect("a run");
        if until_ps < end_ps && stop == Stop::Time {
            lend(board);
            until_ps = end_ps;
        } else {
            assert_eq!(stop, Stop::Done);
        }
        while let Some(event) = board.event() {
            match event {
                HostEvent::Sent { gateway: 0, tag, status } => {
                    is_sent = status.is_good() && tag == number as u16;
                }
                HostEvent::Arrived { gateway: 1, tag, bytes, sequence, status, .. } => {
                    assert_eq!((tag, sequence), (number as u16, number));
                    assert!(status.is_good());
                    arrived = Some((bytes, board.now_ps()));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let (frame_bytes, at_ps) = arrived.expect("a message");
    assert_eq!(sinks[0].received(), u64::from(frame_bytes));
    let header = FrameHeader::read(&frame).expect("a header");
    assert_eq!((header.sequence, header.stamp_ns), (number, sent.stamp_ns()));
    assert_eq!(frame_bytes as usize, HEADER_BYTES + header.payload_bytes as usize);
    host.publish_lent(lent, frame_bytes as usize);
    host.shows(number, bytes);
    at_ps
}

#[test]
fn messages_of_software_pass_through_a_hardware_node_and_come_back() {
    let (library, mut host) = (library(), Host::new("nodes-there-and-back"));
    let ports: Vec<&str> = library.ports().iter().map(|port| port.name.as_str()).collect();
    assert_eq!(ports, ["m_axis_watch_image"], "the node that has an implementation is inside");
    assert_eq!(MASK, 60, "the graph's value of the parameter, not the default");
    let mut board = board(&library);
    for (number, bytes) in [(1, 40_000), (2, 8), (3, 0), (4, 1001)] {
        let (_, stop) = there_and_back(&mut board, &mut host, number, bytes);
        assert_eq!(stop, Stop::Time, "nobody asked for an end when nothing happens");
    }
    assert_eq!(board.traffic().refused, 0);
}

#[test]
fn a_board_with_nothing_to_do_is_idle_and_wakes_with_the_next_message() {
    let (library, mut host) = (library(), Host::new("nodes-idle"));
    let mut board = board(&library);
    board.set_idle_cycles(IDLE_CYCLES);
    // Reset alone needs no host.
    assert_eq!(board.run(&mut [], &mut [], FOREVER_PS), Ok(Stop::Idle));
    assert!(board.now_ps() <= 1000 * PERIOD_PS, "{}", board.now_ps());
    // The node has all of the first one while it pauses: nothing but its own word keeps the clock
    // going.
    for (number, bytes) in [(1, 8), (2, 3000), (3, 20_000)] {
        let (_, stop) = there_and_back(&mut board, &mut host, number, bytes);
        assert_eq!(stop, Stop::Idle);
        let stopped_ps = board.now_ps();
        assert_eq!(board.run(&mut [], &mut [], FOREVER_PS), Ok(Stop::Idle), "and stays so");
        assert_eq!(board.now_ps(), stopped_ps);
        assert!(!board.skip_to(stopped_ps - 1), "time does not go back");
        assert!(board.skip_to(stopped_ps + 1_000_000_000_000));
    }
}

#[test]
fn a_board_whose_message_waits_for_room_is_idle_and_goes_on_with_it() {
    let (library, mut host) = (library(), Host::new("nodes-waits"));
    let mut board = board(&library);
    board.set_idle_cycles(IDLE_CYCLES);
    assert!(board.set_lease(100_000));
    board.set_reliable(1, true);
    let (sent, lent) = (host.publish(1, 20_000), host.lend());
    assert!(board.reach(&[sent.region(), host.scratch(), lent.region()]));
    sent.send(&mut board, 0, 1);
    let mut frame = vec![0; 64 * 1024];
    let mut sinks = [Sink::new(0, &mut frame)];
    for _ in 0..2 {
        assert_eq!(board.run(&mut [], &mut sinks, FOREVER_PS), Ok(Stop::Idle));
        assert_eq!(board.event(), None, "the board has not got all of it");
        assert!(board.skip_to(board.now_ps() + 1_000_000_000_000));
    }
    board.lend(1, 1, lent.address(), lent.capacity());
    let mut events = Vec::new();
    while board.run(&mut [], &mut sinks, FOREVER_PS) == Ok(Stop::Done) {
        events.extend(std::iter::from_fn(|| board.event()));
    }
    let [HostEvent::Sent { gateway: 0, .. }, HostEvent::Arrived { gateway: 1, bytes, .. }] =
        events[..]
    else {
        panic!("{events:?}");
    };
    host.publish_lent(lent, bytes as usize);
    host.shows(1, 20_000);
}

#[test]
fn time_that_is_skipped_makes_no_difference_to_what_comes_after() {
    const SECOND_PS: u64 = 5_000_003_333;
    let library = library();
    let mut ended = Vec::new();
    for skip in [false, true, true] {
        let mut host = Host::new("nodes-skip");
        let mut board = board(&library);
        board.set_idle_cycles(if skip { IDLE_CYCLES } else { 0 });
        let (first_ps, stop) = there_and_back(&mut board, &mut host, 1, 5000);
        if skip {
            assert_eq!(stop, Stop::Idle);
            assert!(board.skip_to(SECOND_PS));
        } else {
            assert!(!board.skip_to(SECOND_PS), "only a board that is idle may stand still");
            assert_eq!(board.run(&mut [], &mut [], SECOND_PS), Ok(Stop::Time));
        }
        assert_eq!(board.now_ps(), SECOND_PS);
        let (second_ps, _) = there_and_back(&mut board, &mut host, 2, 12_345);
        ended.push((first_ps, second_ps, board.traffic()));
    }
    assert_eq!(ended[0], ended[1]);
    assert_eq!(ended[1], ended[2]);
}

#[test]
fn clocks_that_stand_still_make_no_difference() {
    let with = generated();
    let without = with_all_clocks(&with);
    let mut seen = Vec::new();
    for library in [built(&with), built(&without)] {
        let mut host = Host::new("nodes-standing");
        let mut ended = Vec::new();
        // A memory that is in a hurry, one that answers later than any clock stands still, and one
        // that others use too.
        for (latency, beat_256ths, load_percent) in [(0, 256, 0), (700, 256, 0), (90, 700, 60)] {
            let timing = MemoryTiming {
                read_latency: latency,
                write_latency: latency,
                beat_256ths,
                load_percent,
                ..TIMING
            };
            let model = library.model(1, &[PERIOD_PS]).expect("one clock");
            let mut board = Board::new(model, &timing, 4).expect("a board");
            board.set_reliable(1, true);
            let mut chance = 0x9e37_79b9_u64;
            for number in 1..=40 {
                chance ^= chance << 13;
                chance ^= chance >> 7;
                chance ^= chance << 17;
                let bytes = (chance >> 8) as usize % [40, 9000][number as usize % 2];
                // Messages that wait for memory, and pauses of every length around a gate's.
                let late_cycles = [0, 0, 1 + (chance >> 24) % 4000][number as usize % 3];
                let message = (number, bytes);
                let at_ps = there_and_late_back(&mut board, &mut host, message, late_cycles);
                let pause_ps = (chance >> 40) % 600 * PERIOD_PS;
                let until_ps = board.now_ps() + pause_ps;
                assert_eq!(board.run(&mut [], &mut [], until_ps), Ok(Stop::Time));
                ended.push((at_ps, board.now_ps(), board.traffic()));
            }
        }
        seen.push(ended);
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_node_that_forgets_busy_is_named_and_the_message_is_not_just_missing() {
    // It has all of a small picture, waits for 1000 cycles, and says nothing meanwhile.
    let silent = with_sources(&|text| text.replace("busy = state != Waiting;", "busy = 1'b0;"));
    let (library, mut host) = (built(&silent), Host::new("nodes-silent"));
    // A larger one waits at its input meanwhile.
    for bytes in [8, 20_000] {
        let mut silent_board = board(&library);
        silent_board.set_idle_cycles(IDLE_CYCLES);
        let (sent, lent) = (host.publish(1, bytes), host.lend());
        assert!(silent_board.reach(&[sent.region(), host.scratch(), lent.region()]));
        silent_board.lend(1, 1, lent.address(), lent.capacity());
        sent.send(&mut silent_board, 0, 1);
        let ended = loop {
            match silent_board.run(&mut [], &mut [], FOREVER_PS) {
                Ok(Stop::Done) => {
                    let event = silent_board.event();
                    assert!(matches!(event, Some(HostEvent::Sent { gateway: 0, .. })));
                }
                other => break other,
            }
        };
        assert_eq!(ended, Err(RunError::Late { node: "negative".to_owned() }));
    }
    // Its clock is all that the message lacked.
    let library = built(&with_all_clocks(&silent));
    let mut board = board(&library);
    let mut host = Host::new("nodes-silent-ticking");
    there_and_back(&mut board, &mut host, 1, 8);
}
