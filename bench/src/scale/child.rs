//! One process of a layout: opens the ports of its threads, takes part in blocks, and says what
//! that has cost. The loops that publish and take are here and nowhere else.

use super::payload::{self, Head, now_ns};
use super::run::records_path;
use super::{
    Block, Done, Inputs, Outputs, ProcessPlan, Record, Release, Role, Shape, ThreadPlan, Work,
    crossdock, iceoryx,
};
use crate::Failure;
use crate::control::{System, hear, tell};
use crate::failure::While;
use crate::machine::pin;
use crate::usage::Usage;
use iceoryx2::prelude::{ipc, local};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// The soft limit on descriptors that Linux distributions set.
const DESCRIPTORS: u64 = 1024;
/// For everybody to find everybody.
const CONNECTED_WITHIN: Duration = Duration::from_secs(25);
/// After the last message of a block is due: then what has not come is lost.
const GRACE: Duration = Duration::from_millis(500);

/// A process's life. Failures go to the coordinator.
pub fn be_child(plan: &ProcessPlan) {
    if let Err(failure) = play(plan) {
        // When the coordinator is gone there is nobody left to tell.
        let _ = tell(&Err::<Done, String>(failure.to_string()));
        std::process::exit(1);
    }
}

/// What threads tell the main thread.
type Said = Result<Done, Failure>;

fn play(plan: &ProcessPlan) -> Result<(), Failure> {
    let ours = plan.system == System::Crossdock;
    let limits = getrlimit(Resource::Nofile);
    let soft = if ours { Some(DESCRIPTORS) } else { limits.maximum };
    let limits = Rlimit { current: soft, maximum: limits.maximum };
    setrlimit(Resource::Nofile, limits).during("setting the limit on descriptors")?;
    pin(plan.threads.first().during("looking for threads")?.cpu)?;
    let participant = ours.then(|| crossdock::open(plan)).transpose()?;
    let (said, hears) = channel::<Said>();
    let mut threads = vec![];
    for thread in plan.threads.clone() {
        let (orders, ordered) = channel::<Block>();
        let (plan, participant, said) = (plan.clone(), participant.clone(), said.clone());
        threads.push(orders);
        std::thread::spawn(move || {
            let (shape, folder) = (&plan.shape, plan.folder.as_path());
            let player = Player { shape, folder, thread: &thread, ordered, said };
            let told = player.said.clone();
            let outcome = pin(thread.cpu).and_then(|()| match &participant {
                Some(participant) => {
                    crossdock::with_ports(participant, &plan.shape, &thread, player)
                }
                None if plan.system == System::Iceoryx2Local => {
                    iceoryx::with_ports::<local::Service>(folder, shape, &thread, player)
                }
                None => iceoryx::with_ports::<ipc::Service>(folder, shape, &thread, player),
            });
            if let Err(failure) = outcome {
                // The main thread waits for as many as there are.
                let _ = told.send(Err(failure));
            }
        });
    }
    let all = || threads.iter().map(|_| hears.recv().during("waiting for a thread")?);
    all().collect::<Result<Vec<Done>, Failure>>()?;
    tell(&Ok::<_, String>(Done::default()))?;
    while let Some(block) = hear::<Block>()? {
        let before = Usage::now()?;
        for orders in &threads {
            orders.send(block).during("ordering a block")?;
        }
        let mut done = Done::default();
        for part in all().collect::<Result<Vec<Done>, Failure>>()? {
            done.published += part.published;
            done.missed += part.missed;
            done.taken += part.taken;
            done.copies += part.copies;
        }
        done.usage = Usage::now()?.since(before);
        (done.descriptors, done.maps) = resources();
        tell(&Ok::<_, String>(done))?;
    }
    Ok(())
}

/// Open descriptors and mapped pieces of memory of this process.
fn resources() -> (u64, u64) {
    let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let maps = std::fs::read_to_string("/proc/self/maps").map_or(0, |text| text.lines().count());
    // The one that has just been opened to look.
    (descriptors as u64 - 1, maps as u64)
}

struct Player<'a> {
    shape: &'a Shape,
    folder: &'a Path,
    thread: &'a ThreadPlan,
    ordered: Receiver<Block>,
    said: Sender<Said>,
}

impl Player<'_> {
    fn await_connected(&self, mut connected: impl FnMut() -> bool) -> Result<(), Failure> {
        let start = Instant::now();
        while !connected() {
            if start.elapsed() > CONNECTED_WITHIN {
                return Err(Failure::new(
                    "connecting",
                    format!("not done in {CONNECTED_WITHIN:?}"),
                ));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.say(Done::default())
    }

    fn say(&self, done: Done) -> Result<(), Failure> {
        self.said.send(Ok(done)).during("telling the main thread")
    }

    /// Memory for the records of a block, touched beforehand.
    fn records(&self, records: usize) -> Vec<Record> {
        let mut memory = vec![[1; 4]; records];
        memory.clear();
        memory
    }

    fn write_down(&self, records: &[Record]) -> Result<(), Failure> {
        let words = records.as_flattened();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let path = records_path(self.folder, &self.shape.name, self.thread.number);
        std::fs::write(path, bytes).during("writing down what was measured")
    }
}

fn saturated(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}

fn sleep_until(due_ns: u64) {
    let due = Timespec {
        tv_sec: (due_ns / 1_000_000_000) as i64,
        tv_nsec: (due_ns % 1_000_000_000) as i64,
    };
    // Interrupted only by signals, and there are none.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &due);
}

impl Work for Player<'_> {
    fn publish(self, outputs: &mut impl Outputs) -> Result<(), Failure> {
        let Role::Publish(source) = self.thread.role else { return Ok(()) };
        // By default the kernel lets a timer be 50 us late.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).during("setting timers")?;
        self.await_connected(|| outputs.connected())?;
        let topics = self.thread.topics.clone();
        let (shape, period_ns) = (self.shape, self.shape.period_ns);
        let places = (shape.topics * shape.publishers) as u64;
        while let Ok(block) = self.ordered.recv() {
            let mut records = self.records(block.messages as usize * topics.len());
            let mut done = Done::default();
            for number in 0..block.messages {
                let last = number + 1 == block.messages;
                let released_ns = block.begin_ns + u64::from(number) * period_ns;
                for (place, topic) in topics.clone().enumerate() {
                    let turn = (topic * shape.publishers + source) as u64;
                    let due_ns = match block.release {
                        Release::AtOnce => released_ns,
                        Release::Staggered => released_ns + turn * period_ns / places,
                    };
                    let now_ns = now_ns();
                    if now_ns < due_ns {
                        sleep_until(due_ns);
                    } else if now_ns > due_ns + period_ns && !last {
                        done.missed += 1;
                        continue;
                    }
                    let head = Head { number, block: block.number, due_ns, stamp_ns: 0, last };
                    let cost = outputs.publish(place, head)?;
                    done.published += 1;
                    records.push([number, saturated(cost.loan_ns), saturated(cost.publish_ns), 0]);
                }
            }
            done.copies = outputs.copies();
            self.write_down(&records)?;
            self.say(done)?;
        }
        Ok(())
    }

    fn subscribe(self, inputs: &mut impl Inputs) -> Result<(), Failure> {
        self.await_connected(|| inputs.connected())?;
        let shape = self.shape;
        let sources = self.thread.topics.len() * shape.publishers;
        while let Ok(block) = self.ordered.recv() {
            let mut records = self.records(block.messages as usize * sources);
            let period_ns = u64::from(block.messages + 1) * shape.period_ns;
            let end_ns = block.begin_ns + period_ns + GRACE.as_nanos() as u64;
            let mut left = sources;
            loop {
                let limit_ns = end_ns.saturating_sub(now_ns());
                if left == 0 || limit_ns == 0 {
                    break;
                }
                inputs.sleep_and_take(Duration::from_nanos(limit_ns), &mut |memory| {
                    let taken_ns = now_ns();
                    let head = payload::head(memory);
                    payload::read(memory, &head, shape.touched)?;
                    if head.block != block.number {
                        return Ok(());
                    }
                    left -= usize::from(head.last);
                    let read_ns = if shape.touched { now_ns() } else { taken_ns };
                    records.push([
                        head.number,
                        saturated(taken_ns.saturating_sub(head.stamp_ns)),
                        saturated(taken_ns.saturating_sub(head.due_ns)),
                        saturated(read_ns.saturating_sub(head.stamp_ns)),
                    ]);
                    Ok(())
                })?;
            }
            self.write_down(&records)?;
            self.say(Done { taken: records.len() as u64, ..Done::default() })?;
        }
        Ok(())
    }
}
