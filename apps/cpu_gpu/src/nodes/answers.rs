//! How workers are asked and answer: over topics, or over a service.

use super::settings::{Answer, Settings, count_copied};
use crate::gpu::Under;
use crate::messages::cpu_gpu_interfaces::srv::Work;
use crate::messages::cpu_gpu_interfaces::{Done, Turn, TurnView};
use crossdock_executor::{
    Context, NodeDescription, NodeError, Publisher, Server, Setup, Subscriber, Trigger,
};
use crossdock_msg::Extra;

/// The ports of a worker: both topics, or the service.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) turn: Option<Subscriber<Turn>>,
    pub(super) done: Option<Publisher<Done>>,
    pub(super) work: Option<Server<Work>>,
}

impl Answers {
    pub(super) fn declare(interface: NodeDescription) -> NodeDescription {
        Settings::declare(interface)
            .parameter("worker", 0, "which of the scheduler's workers it is, from 0")
            .subscriber::<Turn>("turn")
            .optional()
            .publisher::<Done>("done")
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

    /// The topic or the service that turns come by.
    pub(super) fn asked_by(&self) -> String {
        match (&self.turn, &self.work) {
            (Some(turn), _) => turn.handle().topic().to_owned(),
            (None, work) => work.as_ref().map_or("", Server::service).to_owned(),
        }
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
            Reply::WhenDone(answer, under) => {
                let mut loan = done.loan(Extra::none())?;
                answer.write(&mut loan.message());
                under.publish(loan)?;
            }
            Reply::Now(answer, array) => {
                let mut loan = done.loan(Extra::none().values::<u32>(array.len()))?;
                let mut message = loan.message();
                answer.write(&mut message);
                message.set_array(array)?;
                loan.publish()?;
                // Into the answer; what came before out of the turn, and to a device and back.
                let last = size_of_val(array) as u64;
                count_copied(last, |bytes| done.handle().count_copied(bytes));
                let before = answer.copied_bytes - last;
                count_copied(before, |bytes| turn.handle().count_copied(bytes));
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
