//! The device's worker.

use super::answers::{Answers, Reply};
use super::settings::{Answer, Settings, Task, Transport, count};
use crate::array::Within;
use crate::benchmark::Model;
use crate::gpu::cells;
use crate::gpu::{NativeArray, SharedArray};
use crate::messages::cpu_gpu_interfaces::TurnView;
use crate::native::Form;
use crate::swap::Share;
use crossdock_comm::Buffers;
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};
use crossdock_offload::Queue;

/// Lets a device do its part of each turn. If the host has to copy nothing, it answers while the
/// device still computes; then a node that takes the answer on a processor waits for the device. If
/// the mapping names no device, it does the same work itself.
#[derive(Debug)]
pub struct GpuPart {
    answers: Answers,
    work: Work,
}

/// The work of a turn, for the topic and the service alike.
#[derive(Debug)]
struct Work {
    settings: Settings,
    worker: u32,
    buffers: Buffers,
    device: Option<OnDevice>,
    /// The array as it came back from the device, where it travels.
    words: Vec<u32>,
}

/// How it has the array.
#[derive(Debug)]
enum OnDevice {
    /// In the buffer of the scheduler.
    Shared(SharedArray),
    /// It travels: in memory of its own.
    Own(NativeArray),
}

impl OnDevice {
    fn open(
        setup: &Setup<'_>,
        queue: &Queue,
        settings: Settings,
        answers: &Answers,
    ) -> Result<Self, NodeError> {
        let Settings { benchmark, power } = settings;
        let word: String = setup.parameter("model")?;
        let model = match (word.as_str(), Model::named(&word)) {
            ("auto", _) => None,
            (_, Some(model)) => Some(model),
            _ => {
                return Err(NodeError::new(format!(
                    "model is `{word}`, but must be sc, um, zc or auto"
                )));
            }
        };
        if Transport::read(setup)? == Transport::Serialised {
            let how = (model.unwrap_or(Model::Copy), Form::Paper);
            return Ok(Self::Own(NativeArray::new(&queue.device(), benchmark, power, how)?));
        }
        let name = answers.asked_by();
        if model.is_some() {
            return Err(NodeError::new(format!(
                "model is `{word}`, but of a shared buffer the mapping says how it gets to the device: \
                 `topics: {{ {name}: copy }}` under the device, or `zero_copy`; leave the parameter out"
            )));
        }
        let shared = match (&answers.turn, &answers.done, &answers.work) {
            (Some(turn), Some(done), _) => {
                SharedArray::over_topics(setup, queue, benchmark, (turn, done))
            }
            (_, _, Some(server)) => SharedArray::over_service(setup, queue, benchmark, server),
            _ => Err(NodeError::new("a worker has both topics, or the service")),
        };
        Ok(Self::Shared(shared?))
    }
}

impl NodeType for GpuPart {
    const NAME: &'static str = "gpu_part";

    fn description() -> NodeDescription {
        Answers::declare(NodeDescription::new().doc("Has a device do its part of each turn."))
            .parameter(
                "model",
                "auto",
                "where the array travels: sc, um or zc, how the copy of it that the worker keeps gets to the device; \
                 auto: sc. Of a shared buffer the mapping says that",
            )
            .parameter("transport", "shared", "shared or serialised, as the scheduler's")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let settings = Settings::read(setup)?;
        let worker = count(setup, "worker")?;
        let buffers = setup.buffers();
        let answers = Answers::open(setup)?;
        let queue = Queue::of(setup)?;
        let device = queue.map(|queue| OnDevice::open(setup, &queue, settings, &answers));
        let device = device.transpose()?;
        let work = Work { settings, worker, buffers, device, words: Vec::new() };
        Ok(Self { answers, work })
    }
}

impl Node for GpuPart {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let work = &mut self.work;
        self.answers.serve(context, move |turn| work.run(turn))
    }
}

impl Work {
    fn run(&mut self, turn: TurnView<'_>) -> Result<Option<Reply<'_>>, NodeError> {
        let Some(task) = Task::of(turn, self.worker, self.settings)? else { return Ok(None) };
        let mut answer = Answer::new(task.turn, self.worker);
        let share = Share { writes: task.token.writes, reads: task.token.reads };
        if task.travels {
            let array = turn.array()?;
            task.check_array(array)?;
            return self.run_travelling(array, share, answer).map(Some);
        }
        let buffer = self.buffers.open::<u32>(&task.token)?;
        match &mut self.device {
            None => {
                let (part, others) = (buffer.write(share.writes)?, buffer.read(share.reads)?);
                self.settings.benchmark.as_device(&part, &others);
                answer.in_place = true;
                Ok(Some(Reply::Now(answer, &[])))
            }
            Some(OnDevice::Shared(array)) => {
                let under = array.run(&buffer, share)?;
                answer.copied_bytes = under.copied_bytes;
                answer.device_instances = under.device_instances;
                answer.in_place = under.in_place;
                Ok(Some(Reply::WhenDone(answer, under)))
            }
            Some(OnDevice::Own(_)) => Err(other_transport()),
        }
    }

    /// The array comes with the turn, goes to the device and back, and goes with the answer.
    fn run_travelling(
        &mut self,
        array: &[u32],
        share: Share,
        mut answer: Answer,
    ) -> Result<Reply<'_>, NodeError> {
        answer.copied_bytes = 2 * self.settings.bytes();
        answer.host_instances = 1;
        self.words.clear();
        match &mut self.device {
            None => {
                self.words.extend_from_slice(array);
                let words = cells(&mut self.words);
                let part = Within::new(words, share.writes);
                self.settings.benchmark.as_device(&part, &Within::new(words, share.reads));
            }
            Some(OnDevice::Own(own)) => {
                let before = own.copied_bytes();
                own.fill(array);
                own.on_device(share)?;
                self.words.extend(own.words());
                let copied = own.copied_bytes() - before;
                // Into memory that the device knows, out of it, and into the answer.
                answer.copied_bytes += self.settings.bytes() + copied;
                answer.host_instances = 2;
                answer.device_instances = u32::from(copied > 0);
            }
            Some(OnDevice::Shared(_)) => return Err(other_transport()),
        }
        Ok(Reply::Now(answer, &self.words))
    }
}

fn other_transport() -> NodeError {
    NodeError::new("the scheduler has another transport: give it and its workers the same one")
}
