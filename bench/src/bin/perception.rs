//! `perception`: one load of a perception pipeline in event, chain and graph mode, over the peer,
//! and as plain function calls; writes `perception.json`. Also the program of all its child
//! processes.

use crossdock_bench::Failure;
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Cell, Findings, Table, report, run_command};
use crossdock_bench::perception::load::{Load, PERIOD, Places, RATE_HZ};
use crossdock_bench::perception::running::{Block, Counts, FLOOR, PEER, Running, System, run_on};
use crossdock_bench::perception::{floor, nodes, peer};
use crossdock_bench::plan::Extent;
use crossdock_bench::samples::{median, percentiles};
use crossdock_bench::scope::Scope;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::path::Path;
use std::process::ExitCode;

/// Blocks of each system and iterations of a block.
const QUICK: (usize, u64) = (5, 24);
const FULL: (usize, u64) = (10, 100);
/// Of the threads of nodes, in the case that has one: all the same.
const PRIORITY: u8 = 10;
/// Of the core, per cent.
const SHARE_PERCENT: f64 = 1.0;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if std::env::var_os("CROSSDOCK_CONTROL").is_some() {
        let ran = end_with_parent();
        return report(ran.and_then(|()| nodes::package().main().during("running the package")));
    }
    match words[..] {
        [FLOOR] => report(end_with_parent().and_then(|()| floor::run())),
        [PEER, process, folder] => report(end_with_parent().and_then(|()| {
            let process = process.parse().during("reading the number of a process")?;
            peer::run(process, Path::new(folder))
        })),
        _ => run_command(run),
    }
}

fn end_with_parent() -> Result<(), Failure> {
    set_parent_process_death_signal(Some(Signal::KILL)).during("asking to end with the parent")
}

/// One way to run the load.
struct Case {
    name: &'static str,
    system: System,
    processes: usize,
    /// On two processors instead of one.
    is_wide: bool,
    running: Running,
    blocks: Vec<Block>,
    counts: Option<Counts>,
}

const CASES: [(&str, System, bool); 9] = [
    ("function calls", System::Floor, false),
    ("chain", System::Crossdock(Places::Chain), false),
    ("event, one process", System::Crossdock(Places::Event), false),
    ("event, 8 processes", System::Crossdock(Places::Processes), false),
    ("event, 8 processes, FIFO", System::Realtime(Places::Processes, PRIORITY), false),
    ("graph, 2 threads", System::Crossdock(Places::Graph), false),
    ("graph, 2 threads, 2 cores", System::Crossdock(Places::Graph), true),
    ("chain, nothing written or read", System::Idle(Places::Chain), false),
    ("iceoryx2, 8 processes", System::Iceoryx2(8), false),
];

fn run(extent: Extent) -> Result<Findings, Failure> {
    let title = "A perception pipeline on one core, 30 times a second";
    let mut found = Findings::new("perception", title)?;
    let [own, observer] = found.machine.different.during("finding two processors")?;
    let (rounds, iterations) = if extent == Extent::Quick { QUICK } else { FULL };
    let load = Load::read(Places::Processes)?;
    let scope = Scope::create()?;
    let mut cases = vec![];
    for (place, (name, system, is_wide)) in CASES.into_iter().enumerate() {
        run_on(&[own, observer][..1 + usize::from(is_wide)])?;
        let place = format!("system_{place}");
        let running = Running::start(&place, system, load.nodes.len(), scope.folder());
        let running =
            running.map_err(|failure| Failure::new(format!("starting {name}"), failure))?;
        running.pause()?;
        let processes = match system {
            System::Iceoryx2(processes) => processes,
            _ => system.places().map_or(Ok(1), |it| Load::read(it).map(|it| it.processes.len()))?,
        };
        cases.push(Case {
            name,
            system,
            processes,
            is_wide,
            running,
            blocks: vec![],
            counts: None,
        });
    }
    run_on(&[observer])?;
    for _ in 0..rounds {
        for case in &mut cases {
            let block = case.running.block(iterations);
            case.blocks.push(block.map_err(|failure| Failure::new(case.name, failure))?);
        }
    }
    for case in cases.iter_mut().filter(|case| case.system.places().is_some()) {
        case.running.go_on()?;
        case.counts = Some(case.running.counts()?);
    }
    tell(&mut found, &cases, &load)?;
    Ok(found)
}

impl Case {
    /// Per iteration, the median of the blocks.
    fn middle(&self, of: impl Fn(&Block) -> f64) -> f64 {
        let values: Vec<f64> =
            self.blocks.iter().map(|block| of(block) / block.iterations as f64).collect();
        median(&values).unwrap_or(f64::NAN)
    }

    /// Per iteration, over all blocks.
    fn mean(&self, of: impl Fn(&Block) -> u64) -> f64 {
        let iterations: u64 = self.blocks.iter().map(|block| block.iterations).sum();
        self.blocks.iter().map(of).sum::<u64>() as f64 / iterations as f64
    }

    /// What an iteration takes more than on `floor`, us: the least, the median and the greatest of
    /// the blocks that ran next to each other.
    fn beside(&self, floor: &Case, of_ns: impl Fn(&Block) -> u64) -> [f64; 3] {
        let us = |block: &Block| of_ns(block) as f64 / block.iterations as f64 / 1e3;
        let pairs = self.blocks.iter().zip(&floor.blocks);
        let mut differences: Vec<f64> = pairs.map(|(own, floor)| us(own) - us(floor)).collect();
        differences.sort_by(f64::total_cmp);
        let end = differences.len().saturating_sub(1);
        [0, end / 2, end].map(|at| differences.get(at).copied().unwrap_or(f64::NAN))
    }
}

/// Processor time that is neither reading nor writing.
fn outside_ns(block: &Block) -> u64 {
    block.used.cpu_ns.saturating_sub(block.work_ns)
}

/// Columns of the table of processor time.
const CPU: [&str; 9] = [
    "system",
    "all us",
    "in nodes us",
    "outside nodes us",
    "beyond the floor's us",
    "least",
    "most",
    "of the core %",
    "all beyond the floor's us",
];
/// Columns of the table of context switches.
const SWITCHES: [&str; 8] =
    ["system", "processes", "slept", "beyond the timer's", "preempted", "woken", "copies", "lost"];

fn tell(found: &mut Findings, cases: &[Case], load: &Load) -> Result<(), Failure> {
    let floor = cases.first().during("finding the floor")?;
    let period_us = PERIOD.as_secs_f64() * 1e6;
    let mut times = Table::of_times("From the release to the last node's end", "system");
    let mut cpu = Table::new("Processor time of one iteration", &CPU);
    let mut switches = Table::new("Context switches of one iteration", &SWITCHES);
    for case in cases {
        let mut took_ns: Vec<u64> =
            case.blocks.iter().flat_map(|block| block.took_ns.iter().copied()).collect();
        times.times(case.name, &percentiles(&mut took_ns, 1.0).during("measuring iterations")?);
        let all = case.middle(|block| block.used.cpu_ns as f64 / 1e3);
        let work = case.middle(|block| block.work_ns as f64 / 1e3);
        let outside = case.middle(|block| outside_ns(block) as f64 / 1e3);
        let [least, middle, most] = case.beside(floor, outside_ns);
        let [_, whole, _] = case.beside(floor, |block| block.used.cpu_ns);
        let share = middle / period_us * 100.0;
        // A system without the work cannot be compared with one that does it.
        let is_idle = matches!(case.system, System::Idle(_));
        let whole = Cell::from((!is_idle).then_some(whole));
        let numbers = [all, work, outside, middle, least, most, share].map(Cell::Number);
        cpu.row([case.name.into()].into_iter().chain(numbers).chain([whole]));
        let slept = case.mean(|block| block.used.voluntary);
        let preempted = case.mean(|block| block.used.involuntary);
        let counted = |of: fn(&Counts) -> f64| Cell::from(case.counts.as_ref().map(of));
        switches.row([
            case.name.into(),
            case.processes.into(),
            slept.into(),
            (slept - 1.0).into(),
            preempted.into(),
            counted(|it| it.wakes as f64 / it.iterations as f64),
            counted(|it| it.copies as f64),
            counted(|it| it.lost as f64),
        ]);
        goals(found, case, slept - 1.0, share);
    }
    let [written, read] = load.bytes().map(|bytes| bytes as f64 / 1e6);
    let (publishers, deliveries) = (load.topics.len(), load.deliveries());
    found.note(format!(
        "{} nodes, {publishers} publishers, {deliveries} subscribers; an iteration writes {written:.1} MB \
         and reads {read:.1} MB; {} messages published and {} delivered a second",
        load.nodes.len(),
        publishers as u64 * RATE_HZ,
        deliveries as u64 * RATE_HZ,
    ));
    found.table(times);
    found.table(cpu);
    found.table(switches);
    Ok(())
}

/// The goals of a system: context switches beyond the timer's, and the middleware's share of the
/// core in per cent.
fn goals(found: &mut Findings, case: &Case, beyond: f64, share: f64) {
    if case.is_wide || matches!(case.system, System::Floor | System::Idle(_)) {
        return;
    }
    let name = case.name;
    let crossed = case.processes as f64 - 1.0;
    let shared = format!("{name}: middleware, per cent of the core");
    let crossing = format!("{name}: context switches per process crossed");
    match case.system {
        System::Iceoryx2(_) => {
            found.comparison(crossing, beyond / crossed, "");
            found.comparison(shared, share, "%");
        }
        System::Crossdock(Places::Processes) | System::Realtime(..) => {
            found.target(crossing, beyond / crossed, 1.0, "");
            found.target(shared, share, SHARE_PERCENT, "%");
        }
        _ => {
            if case.system != System::Crossdock(Places::Graph) {
                let name = format!("{name}: context switches beyond the timer's");
                found.target(name, beyond, 0.0, "");
            }
            found.target(shared, share, SHARE_PERCENT, "%");
        }
    }
}
