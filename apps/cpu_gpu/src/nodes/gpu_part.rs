//! The device's worker.

use super::answers::{Answers, Reply};
use super::settings::{Answer, Settings, Task};
use crate::benchmark::Model;
use crate::gpu::{NativeArray, SharedArray};
use crate::messages::cpu_gpu_interfaces::TurnView;
use crate::native::Form;
use crate::swap::Share;
use crossdock_comm::Buffers;
use crossdock_device::Device;
use crossdock_executor::{Context, Interface, Node, NodeError, NodeType, Setup};
use crossdock_offload::Queue;

/// Has a device do its part of each turn. It answers while the device still computes, where nothing has to be copied by
/// the host; whoever takes the answer on a processor waits for the device then. Where the mapping names no device it
/// does the same work itself.
#[derive(Debug)]
pub struct GpuPart {
    answers: Answers,
    work: Work,
}

/// What is done for a turn, whoever asks.
#[derive(Debug)]
struct Work {
    settings: Settings,
    worker: u32,
    buffers: Buffers,
    device: Option<OnDevice>,
    /// The array as it came back from the device, where it travels.
    words: Vec<u32>,
}

#[derive(Debug)]
struct OnDevice {
    device: Device,
    model: Option<Model>,
    shared: SharedArray,
    /// Where the array travels.
    own: Option<NativeArray>,
}

impl NodeType for GpuPart {
    const NAME: &'static str = "gpu_part";

    fn interface() -> Interface {
        Answers::declare(Interface::new().doc("Has a device do its part of each turn."))
            .parameter("model", "auto", "sc, zc, or auto: as suits the device")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let settings = Settings::read(setup)?;
        let worker: i64 = setup.parameter("worker")?;
        let worker = u32::try_from(worker)?;
        let word: String = setup.parameter("model")?;
        let model = match (word.as_str(), Model::named(&word)) {
            ("auto", _) => None,
            (_, Some(model)) => Some(model),
            _ => {
                return Err(NodeError::new(format!(
                    "model is `{word}`, but must be sc, zc or auto"
                )));
            }
        };
        let device = Queue::of(setup)?.map(|queue| queue.device());
        let device = match device {
            None => None,
            Some(device) => {
                let shared = SharedArray::new(&device, settings.benchmark, model)?;
                Some(OnDevice { device, model, shared, own: None })
            }
        };
        let buffers = setup.buffers();
        let answers = Answers::open(setup)?;
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
        let Some(on_device) = &mut self.device else {
            let (part, others) = (buffer.write(share.writes)?, buffer.read(share.reads)?);
            self.settings.benchmark.as_device(&part, &others);
            answer.in_place = true;
            return Ok(Some(Reply::Now(answer, &[])));
        };
        let under = on_device.shared.run(&buffer, share)?;
        answer.copied_bytes = under.copied_bytes;
        answer.device_instances = under.device_instances;
        answer.in_place = under.in_place;
        Ok(Some(Reply::WhenDone(answer, under)))
    }

    /// The array comes with the turn, goes to the device and back, and goes with the answer.
    fn run_travelling(
        &mut self,
        array: &[u32],
        share: Share,
        mut answer: Answer,
    ) -> Result<Reply<'_>, NodeError> {
        let Settings { benchmark, power } = self.settings;
        answer.copied_bytes = 2 * self.settings.bytes();
        answer.host_instances = 1;
        self.words.clear();
        match &mut self.device {
            Some(OnDevice { device, model, own, .. }) => {
                let model = model.unwrap_or(Model::Copy);
                let own = match own.take() {
                    Some(made) => own.insert(made),
                    None => {
                        let how = (model, Form::Paper);
                        own.insert(NativeArray::new(device, benchmark, power, how)?)
                    }
                };
                let before = own.copied_bytes();
                own.fill(array);
                own.on_device(share)?;
                self.words.extend(own.words());
                // Into memory that the device knows, out of it, and into the answer.
                answer.copied_bytes += self.settings.bytes() + own.copied_bytes() - before;
                answer.host_instances = 2;
                answer.device_instances = u32::from(model == Model::Copy);
            }
            None => {
                use crate::array::{Within, cells};
                self.words.extend_from_slice(array);
                let words = cells(&mut self.words);
                let (part, others) =
                    (Within::new(words, share.writes), Within::new(words, share.reads));
                benchmark.as_device(&part, &others);
            }
        }
        Ok(Reply::Now(answer, &self.words))
    }
}
