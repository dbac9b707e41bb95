//! The processor's worker.

use super::answers::{Answers, Reply};
use super::settings::{Answer, Settings, Task, count, crew, declare_threads};
use crate::array::Within;
use crate::gpu::{Crew, cells};
use crate::messages::cpu_gpu_interfaces::TurnView;
use crossdock_comm::Buffers;
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Setup};

/// Does the processor's work on its part of the array, each turn, with its threads. With an array
/// that travels it works on a copy of its own, which it keeps; else on the shared buffer, without
/// allocation.
#[derive(Debug)]
pub struct CpuPart {
    answers: Answers,
    work: Work,
}

/// The work of a turn, for the topic and the service alike.
#[derive(Debug)]
struct Work {
    settings: Settings,
    worker: u32,
    crew: Crew,
    buffers: Buffers,
    /// The array, where it travels.
    own: Vec<u32>,
}

impl NodeType for CpuPart {
    const NAME: &'static str = "cpu_part";

    fn description() -> NodeDescription {
        let interface = NodeDescription::new().doc("Does a processor's part of each turn.");
        declare_threads(Answers::declare(interface))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let settings = Settings::read(setup)?;
        let (worker, crew) = (count(setup, "worker")?, crew(setup)?);
        let buffers = setup.buffers();
        let answers = Answers::open(setup)?;
        Ok(Self { answers, work: Work { settings, worker, crew, buffers, own: Vec::new() } })
    }
}

impl Node for CpuPart {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let work = &mut self.work;
        self.answers.serve(context, move |turn| work.run(turn))
    }
}

impl Work {
    fn run(&mut self, turn: TurnView<'_>) -> Result<Option<Reply<'_>>, NodeError> {
        let Some(task) = Task::of(turn, self.worker, self.settings)? else { return Ok(None) };
        let mut answer = Answer::new(task.turn, self.worker);
        let benchmark = self.settings.benchmark;
        if task.travels {
            let array = turn.array()?;
            task.check_array(array)?;
            self.own.clear();
            self.own.extend_from_slice(array);
            let part = Within::new(cells(&mut self.own), task.token.writes);
            benchmark.on_processor(&part, &self.crew);
            answer.copied_bytes = 2 * self.settings.bytes();
            answer.host_instances = 1;
        } else {
            let buffer = self.buffers.open::<u32>(&task.token)?;
            benchmark.on_processor(&buffer.write(task.token.writes)?, &self.crew);
        }
        Ok(Some(Reply::Now(answer, &self.own)))
    }
}
