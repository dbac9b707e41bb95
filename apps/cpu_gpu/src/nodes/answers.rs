//! How workers are asked and answer: over topics, or over a service. Must not know what they do.

use super::settings::{Answer, Settings};
use crate::gpu::Under;
use crate::messages::cpu_gpu_interfaces::srv::Work;
use crate::messages::cpu_gpu_interfaces::{Done, Turn, TurnView};
use crossdock_executor::{
    Context, Interface, NodeError, Publisher, Server, Setup, Subscriber, Trigger,
};
use crossdock_msg::Extra;

/// The ports of a worker.
#[derive(Debug)]
pub(super) struct Answers {
    turn: Option<Subscriber<Turn>>,
    done: Option<Publisher<Done>>,
    work: Option<Server<Work>>,
}

impl Answers {
    pub(super) fn declare(interface: Interface) -> Interface {
        Settings::declare(interface)
            .parameter("worker", 0, "which of the scheduler's workers it is, from 0")
            .input::<Turn>("turn")
            .optional()
            .output::<Done>("done")
            .optional()
            .server::<Work>("work")
            .optional()
    }

    pub(super) fn open(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let turn = setup.optional_subscriber("turn")?;
        let done = setup.optional_publisher("done")?;
        let work = setup.optional_server("work")?;
        let is_whole = turn.is_some() == done.is_some() && (turn.is_some() || work.is_some());
        if !is_whole {
            return Err(NodeError::new(
                "a worker is asked and answers over the topics `turn` and `done`, or over the service `work`: \
                 connect both topics, or the service",
            ));
        }
        Ok(Self { turn, done, work })
    }

    /// Answers what has come with what `run` makes of it; `None`: not at all.
    pub(super) fn serve<'r>(
        &self,
        context: &Context<'_>,
        run: impl FnOnce(TurnView<'_>) -> Result<Option<Reply<'r>>, NodeError>,
    ) -> Result<(), NodeError> {
        if let (Trigger::Request(_), Some(server)) = (context.trigger(), &self.work) {
            let Some(request) = server.take()? else { return Ok(()) };
            let Some(reply) = run(request.message().turn())? else { return Ok(()) };
            let (answer, array) = reply.finished()?;
            let mut response = request.loan(Extra::none().values::<u32>(array.len()))?;
            let mut message = response.message();
            let mut done = message.done();
            answer.write(&mut done);
            done.set_array(array)?;
            response.send()?;
            return Ok(());
        }
        let (Some(turn), Some(done)) = (&self.turn, &self.done) else { return Ok(()) };
        let Some(sample) = turn.take()? else { return Ok(()) };
        let Some(reply) = run(sample.message())? else { return Ok(()) };
        match reply {
            Reply::WhenDone(answer, under) if under.runs() => {
                let mut loan = done.loan(Extra::none())?;
                answer.write(&mut loan.message());
                let point = loan.publish_early().map_err(|refused| refused.reason)?;
                under.tell(&point)?;
            }
            reply => {
                let (answer, array) = reply.finished()?;
                let mut loan = done.loan(Extra::none().values::<u32>(array.len()))?;
                let mut message = loan.message();
                answer.write(&mut message);
                message.set_array(array)?;
                loan.publish()?;
            }
        }
        Ok(())
    }
}

/// What a worker answers.
#[derive(Debug)]
pub(super) enum Reply<'r> {
    /// Everything is done; with the array where it travels.
    Now(Answer, &'r [u32]),
    /// A device may still work.
    WhenDone(Answer, Under<'r>),
}

impl<'r> Reply<'r> {
    /// Waits until everything is done.
    fn finished(self) -> Result<(Answer, &'r [u32]), NodeError> {
        match self {
            Self::Now(answer, array) => Ok((answer, array)),
            Self::WhenDone(answer, under) => {
                under.finish()?;
                Ok((answer, &[]))
            }
        }
    }
}
