//! The limit of everything that runs on one thread: nodes that are called, one after the other,
//! with a reference to what the one before has written. Nothing counts, stamps, checks or queues.

use crate::Failure;
use crate::child::blocks;
use crate::control::{ChildPlan, Control};
use crate::failure::While;
use crate::payload::Payload;
use crate::rounds::now_ns;

trait Node {
    fn execute(&mut self, message: &[u8], number: u64) -> Result<(), Failure>;
    fn written(&self) -> &[u8];
}

/// Reads a message and writes one of its own.
struct Relay {
    payload: Payload,
    memory: Vec<u8>,
}

impl Node for Relay {
    fn execute(&mut self, message: &[u8], number: u64) -> Result<(), Failure> {
        self.payload.read(message, number)?;
        self.payload.write(&mut self.memory, number);
        Ok(())
    }

    fn written(&self) -> &[u8] {
        &self.memory
    }
}

/// Reads only.
struct Last(Payload);

impl Node for Last {
    fn execute(&mut self, message: &[u8], number: u64) -> Result<(), Failure> {
        self.0.read(message, number)
    }

    fn written(&self) -> &[u8] {
        &[]
    }
}

/// A sample is the time from the first node to the last, which are on `plan.way.shape`.
pub fn measure(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    let hops = plan.way.shape.during("finding the shape")?.messages();
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    let memory = || vec![0; plan.payload_bytes];
    let mut first = memory();
    let mut nodes: Vec<Box<dyn Node>> = vec![];
    for _ in 1..hops {
        nodes.push(Box::new(Relay { payload, memory: memory() }));
    }
    nodes.push(Box::new(Last(payload)));
    let mut number = 0;
    let mut round = || {
        number += 1;
        let start_ns = now_ns();
        payload.write(&mut first, number);
        let mut message: &[u8] = &first;
        for node in &mut nodes {
            node.execute(message, number)?;
            message = node.written();
        }
        Ok(now_ns() - start_ns)
    };
    blocks(control, |samples| (0..samples).map(|_| round()).collect())
}
