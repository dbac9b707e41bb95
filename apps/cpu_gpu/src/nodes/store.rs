//! The array as the scheduler has it: in its own memory, to travel with turns, or in a buffer that
//! all workers share.

use super::settings::{Settings, Transport};
use crate::array::Within;
use crate::gpu::{Crew, cells};
use crate::messages::cpu_gpu_interfaces::srv::Work;
use crate::messages::cpu_gpu_interfaces::{Turn, TurnBuilder};
use crate::swap::Share;
use crossdock_comm::{Part, SharedBuffer};
use crossdock_executor::{Client, NodeError, Publisher, Setup};
use crossdock_msg::types::crossdock_interfaces::SharedBuffer as SharedBufferMessage;

/// Where the array is.
#[derive(Debug)]
pub(super) enum Store {
    /// It travels: each worker has a copy.
    Own(Vec<u32>),
    /// All workers use it where it is.
    Shared(SharedBuffer<u32>),
}

impl Store {
    /// Makes the array, as the parameter `transport` says, for workers that hear of it over `turn`
    /// or by calls of `work`. Allocates.
    pub(super) fn of(
        setup: &mut Setup<'_>,
        settings: Settings,
        (turn, work): (Option<&Publisher<Turn>>, Option<&Client<Work>>),
    ) -> Result<Self, NodeError> {
        let elements = settings.elements();
        match Transport::read(setup)? {
            Transport::Serialised => Ok(Self::Own(vec![0; elements as usize])),
            Transport::Shared => {
                let buffers = match (turn, work) {
                    (Some(turn), _) => setup.buffers_for(turn),
                    (None, Some(work)) => setup.buffers_for_calls(work),
                    (None, None) => setup.buffers(),
                };
                Ok(Self::Shared(buffers.create("array", u64::from(elements))?))
            }
        }
    }

    /// Instances in memory of devices that all workers there share.
    pub(super) fn device_instances(&self) -> u32 {
        match self {
            Self::Own(_) => 0,
            Self::Shared(buffer) => buffer.instances() as u32,
        }
    }

    /// Replaces all elements.
    pub(super) fn fill(&mut self, words: &[u32]) -> Result<(), NodeError> {
        match self {
            Self::Own(own) => own.copy_from_slice(words),
            Self::Shared(buffer) => {
                buffer.write(Part::range(0, buffer.count()))?.copy_from(0, words);
            }
        }
        Ok(())
    }

    /// All elements. Allocates.
    pub(super) fn words(&self) -> Result<Vec<u32>, NodeError> {
        match self {
            Self::Own(own) => Ok(own.clone()),
            Self::Shared(buffer) => {
                let all = buffer.read(Part::range(0, buffer.count()))?;
                Ok(all.iter().collect())
            }
        }
    }

    /// Does the processor's work on a share here.
    pub(super) fn on_processor(
        &mut self,
        settings: Settings,
        share: Share,
        crew: &Crew,
    ) -> Result<(), NodeError> {
        match self {
            Self::Own(own) => {
                settings.benchmark.on_processor(&Within::new(cells(own), share.writes), crew);
            }
            Self::Shared(buffer) => {
                settings.benchmark.on_processor(&buffer.write(share.writes)?, crew);
            }
        }
        Ok(())
    }

    /// What workers have claimed that have died, and who they were; `None`: nobody has. Allocates
    /// only then.
    pub(super) fn abandoned(&self) -> Option<String> {
        let Self::Shared(buffer) = self else { return None };
        if !buffer.has_abandoned() {
            return None;
        }
        let claims = buffer.claims().into_iter().filter(|claim| claim.abandoned);
        let claims: Vec<String> = claims.map(|claim| claim.to_string()).collect();
        Some(format!(
            "buffer `{}` has claims of workers that are gone: {}",
            buffer.label(),
            claims.join("; ")
        ))
    }

    /// What travels with a turn: nothing where the array is shared.
    pub(super) fn travelling(&self) -> &[u32] {
        match self {
            Self::Own(own) => own,
            Self::Shared(_) => &[],
        }
    }

    /// Says in a turn what worker `worker` shall do.
    pub(super) fn hand_out(
        &self,
        turn: &mut TurnBuilder<'_>,
        worker: u32,
        share: Share,
        number: u64,
    ) {
        let Share { writes, reads } = share;
        let mut tokens = turn.tokens();
        let mut token = tokens.at(worker as usize);
        match self {
            Self::Shared(buffer) => buffer.token(writes, reads, number).write(&mut token),
            Self::Own(own) => {
                // No buffer: only what the parts are.
                token.set_element(SharedBufferMessage::U32);
                token.set_count(own.len() as u64);
                token.set_turn(number);
                writes.write(&mut token.writes());
                reads.write(&mut token.reads());
            }
        }
    }

    /// Takes a worker's part out of an array that has travelled. Gives the bytes copied.
    pub(super) fn merge(&mut self, array: &[u32], part: Part) -> Result<u64, NodeError> {
        let Self::Own(own) = self else { return Ok(0) };
        if array.len() != own.len() {
            return Err(NodeError::new(format!(
                "an array of {} elements came back, not of {}; its sender is at fault",
                array.len(),
                own.len()
            )));
        }
        for element in part.elements() {
            own[element as usize] = array[element as usize];
        }
        Ok(part.count() * size_of::<u32>() as u64)
    }
}
