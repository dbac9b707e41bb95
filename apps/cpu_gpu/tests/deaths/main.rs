//! Workers that are killed while they hold their part of the array, on a processor and on a device
//! that still works: the run ends, says what was held and by whom, and leaves nothing. Needs an
//! OpenCL driver (PoCL).

#[path = "../cpu_gpu/runs.rs"]
#[allow(dead_code, reason = "`cpu_gpu` uses all of it")]
mod runs;

use crossdock_comm::{Buffers, ClaimSnapshot, SharedBuffer, Token};
use crossdock_cpu_gpu::messages::cpu_gpu_interfaces::Turn;
use crossdock_executor::{
    Context, Node, NodeDescription, NodeError, NodeType, Package, Setup, Subscriber, Trigger,
};
use crossdock_test_support::skip;
use runs::Case;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const ROLE: &str = "CROSSDOCK_TEST_ROLE";
const PLACE: &str = "CROSSDOCK_TEST_PLACE";
/// Longer than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Whom the witness kills, and in what.
struct Victim {
    child: Child,
    /// Only while a device still works on what it holds.
    on_device: bool,
    /// What it held then.
    held: Option<ClaimSnapshot>,
}

static VICTIM: Mutex<Option<Victim>> = Mutex::new(None);

impl Victim {
    fn holds(&self, buffer: &SharedBuffer<u32>) -> Option<ClaimSnapshot> {
        let claims = buffer.claims().into_iter();
        let mut own = claims.filter(|it| it.holder.pid == self.child.id() && it.writes);
        own.find(|claim| claim.ending == self.on_device)
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a child's");
        kill_process(pid, signal).expect("it is there until it is reaped");
    }

    /// Stops all its threads, those of its device among them.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let end = Instant::now() + LIMIT;
        let stands = || {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
            let mut stats = tasks
                .expect("a process")
                .flatten()
                .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
            // Behind the name, which ends with a bracket.
            stats.all(|stat| stat.rsplit(") ").next().is_some_and(|it| it.starts_with('T')))
        };
        while !stands() {
            assert!(Instant::now() < end, "it goes on in spite of SIGSTOP");
            std::thread::yield_now();
        }
    }

    /// Kills it if it holds a part of the array, and holds it still when nothing in it moves any
    /// more.
    fn kill_if_it_holds(&mut self, buffer: &SharedBuffer<u32>) {
        if self.held.is_some() || self.holds(buffer).is_none() {
            return;
        }
        self.stop();
        match self.holds(buffer) {
            Some(held) => {
                self.held = Some(held);
                self.child.kill().expect("killed");
            }
            None => self.signal(Signal::CONT),
        }
    }
}

/// Looks at the claims of the array, every millisecond.
struct Witness {
    turn: Subscriber<Turn>,
    buffers: Buffers,
    array: Option<SharedBuffer<u32>>,
}

impl NodeType for Witness {
    const NAME: &'static str = "witness";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<Turn>("turn").timer("look", Duration::from_millis(1))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { turn: setup.subscriber("turn")?, buffers: setup.buffers(), array: None })
    }
}

impl Node for Witness {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if let Trigger::Timer(_) = context.trigger() {
            let mut victim = VICTIM.lock().expect("no panic");
            if let (Some(victim), Some(array)) = (&mut *victim, &self.array) {
                victim.kill_if_it_holds(array);
            }
        } else if let Some(sample) = self.turn.take()? {
            let token = sample.message().tokens().get(0);
            let token = token.ok_or_else(|| NodeError::new("a turn without tokens"))?;
            self.array = Some(self.buffers.open(&Token::of(token)?)?);
        }
        Ok(())
    }
}

fn package() -> Package {
    crossdock_cpu_gpu::nodes::package().with(runs::tests().node::<Witness>())
}

/// The graph of three, with each worker in a process of its own.
fn case(model: &str, device: &str, act: impl FnOnce(&Case<'_>)) {
    // So large that a look finds a claim in one of the first runs.
    let both = "benchmark: cache, power: 13";
    let parameters = [
        ("scheduler", format!("{both}, runs: 1000000, warm_up: 0, patience_ms: 50000")),
        ("gpu_0", both.to_owned()),
        ("cpu_0", both.to_owned()),
    ];
    let change = |text: String| {
        text + "  witness: { package: cpu_gpu_tests, type: witness, inputs: { turn: /turn } }\n"
    };
    act(&Case {
        graph: "three.graph.yaml",
        parameters: &parameters,
        processes: &[&["scheduler, sink", "witness"], &["cpu_0"], &["gpu_0"]],
        device,
        model,
        package,
        change: &change,
    });
}

/// What this process has of ours: mappings of memory objects, and open descriptors.
fn resources() -> (usize, usize) {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let maps = maps.lines().filter(|line| line.contains("memfd:crossdock")).count();
    (maps, std::fs::read_dir("/proc/self/fd").expect("descriptors").count())
}

/// Names of ours in the memory file system; other programs may have some, too.
fn names_in_shm() -> Vec<std::ffi::OsString> {
    let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name());
    names.filter(|name| name.to_string_lossy().contains("crossdock")).collect()
}

/// Runs all but the victim here, until the victim is dead.
fn dies(test: &str, (node, process): (&str, &str), on_device: bool, model: &str, device: &str) {
    let folder = std::env::temp_dir().join(format!("xd-deaths-{}", std::process::id()));
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, format!("{process} {model} {device}")).env(PLACE, &folder);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let pid = child.id();
    *VICTIM.lock().expect("no panic") = Some(Victim { child, on_device, held: None });
    let mut end = Ok(());
    case(model, device, |case| end = case.run_here(&folder, |name| name != process));
    let mut victim = VICTIM.lock().expect("no panic").take().expect("it was set");
    let what = format!("{node} {model} {device}");
    let Some(held) = victim.held else {
        let _ = victim.child.kill();
        panic!("{what}: it was never found with a claim: {end:?}");
    };
    assert_eq!(victim.child.wait().expect("reaped").signal(), Some(9), "{what}");
    let error = end.expect_err("the array is in no known state");
    assert_eq!(error.node, "scheduler", "{what}: {error}");
    let claim = format!("node `{node}` of process {pid} writes {}", held.part);
    assert!(error.error.contains(&claim), "{what}: {error}\nbut it held: {held}");
    assert!(error.error.contains("failed: run "), "{error}");
    assert!(error.error.contains("run the graph again"), "{error}");
}

#[test]
fn a_run_ends_when_a_worker_dies_with_its_part_of_the_array() {
    let test = "a_run_ends_when_a_worker_dies_with_its_part_of_the_array";
    if let Ok(role) = std::env::var(ROLE) {
        let words: Vec<&str> = role.split(' ').collect();
        let [process, model, device] = words[..] else { panic!("{role}") };
        // The end of this process's input is the end of its parent.
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            std::process::exit(1);
        });
        let place = std::env::var(PLACE).expect("a place");
        case(model, device, |case| {
            let _ = case.run_here(Path::new(&place), |name| name == process);
        });
        return;
    }
    if crossdock_device::devices().is_empty() {
        return skip("no device");
    }
    let (cpu, gpu) = (("cpu_0", "p1"), ("gpu_0", "p2"));
    let names_before = names_in_shm();
    // The device's context stays in this process.
    dies(test, cpu, false, "zero_copy", "opencl:0");
    let before = resources();
    dies(test, gpu, true, "zero_copy", "opencl:0");
    dies(test, gpu, true, "copy", "opencl:0");
    dies(test, cpu, false, "zero_copy", "opencl:0");
    let end = Instant::now() + LIMIT;
    while resources() != before && Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!(resources(), before, "memory objects that are mapped, and descriptors");
    assert_eq!(names_in_shm(), names_before, "nothing of ours has a name in /dev/shm");
}
