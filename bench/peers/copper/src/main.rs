//! copper as its users have it: tasks of one application, scheduled when it is compiled, called one
//! after the other. What it would record is switched off. Small messages lie in its copper lists,
//! large ones in its memory pools.

use crossdock_bench::control::{ChildPlan, Command, Control, Reply, Shape};
use crossdock_bench::failure::While;
use crossdock_bench::findings::report;
use crossdock_bench::usage::Usage;
use crossdock_bench::{Failure, between, child, programs};
use cu29::prelude::*;
use std::cell::Cell;
use std::process::ExitCode;

/// The benchmark's sizes of messages.
const SMALL_BYTES: usize = 64;
const LARGE_BYTES: usize = 1 << 20;
/// Buffers of one task: as many as copper lists, and some.
const BUFFERS: usize = 6;
/// The least that copper's log takes, though nothing is written into it.
const LOG_BYTES: usize = 32 << 20;

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

fn begin() -> u64 {
    let number = NUMBER.get() + 1;
    NUMBER.set(number);
    between::begin(number);
    number
}

/// `number` was read by the last task.
fn end(number: u64) -> CuResult<()> {
    let whole_ns = between::since_begin_ns();
    if number != NUMBER.get() {
        return Err(CuError::from(format!("{number} came instead of {}", NUMBER.get())));
    }
    between::keep(whole_ns);
    Ok(())
}

fn missing() -> CuError {
    CuError::from("there is no message")
}

/// The tasks for one kind of message: `$made` makes what writes a number into a new message,
/// `$read` reads the number.
macro_rules! tasks {
    ($message:ty, $memory:ty, $made:expr, $write:expr, $read:expr) => {
        pub type Message = $message;

        #[derive(Reflect)]
        #[reflect(no_field_bounds, from_reflect = false)]
        pub struct Source {
            #[reflect(ignore)]
            memory: $memory,
        }

        #[derive(Reflect)]
        #[reflect(no_field_bounds, from_reflect = false)]
        pub struct Relay {
            #[reflect(ignore)]
            memory: $memory,
        }

        #[derive(Reflect)]
        pub struct Last;

        impl Freezable for Source {}
        impl Freezable for Relay {}
        impl Freezable for Last {}

        impl CuSrcTask for Source {
            type Resources<'r> = ();
            type Output<'m> = output_msg!(Message);

            fn new(_: Option<&ComponentConfig>, _: Self::Resources<'_>) -> CuResult<Self> {
                Ok(Self { memory: $made()? })
            }

            fn process(&mut self, _: &CuContext, output: &mut Self::Output<'_>) -> CuResult<()> {
                let number = begin();
                output.set_payload($write(&self.memory, number)?);
                between::note_return();
                Ok(())
            }
        }

        impl CuTask for Relay {
            type Resources<'r> = ();
            type Input<'m> = input_msg!(Message);
            type Output<'m> = output_msg!(Message);

            fn new(_: Option<&ComponentConfig>, _: Self::Resources<'_>) -> CuResult<Self> {
                Ok(Self { memory: $made()? })
            }

            fn process(
                &mut self,
                _: &CuContext,
                input: &Self::Input<'_>,
                output: &mut Self::Output<'_>,
            ) -> CuResult<()> {
                between::note_start();
                let number = $read(input.payload().ok_or_else(missing)?);
                output.set_payload($write(&self.memory, number)?);
                between::note_return();
                Ok(())
            }
        }

        impl CuSinkTask for Last {
            type Resources<'r> = ();
            type Input<'m> = input_msg!(Message);

            fn new(_: Option<&ComponentConfig>, _: Self::Resources<'_>) -> CuResult<Self> {
                Ok(Self)
            }

            fn process(&mut self, _: &CuContext, input: &Self::Input<'_>) -> CuResult<()> {
                between::note_start();
                end($read(input.payload().ok_or_else(missing)?))
            }
        }
    };
}

/// Tasks with messages of [`SMALL_BYTES`].
pub mod small {
    use super::*;

    const WORDS: usize = SMALL_BYTES / 8;

    fn write(_: &(), number: u64) -> CuResult<Message> {
        let mut message = [0; WORDS];
        message[0] = number;
        Ok(message)
    }

    tasks!([u64; WORDS], (), || CuResult::Ok(()), write, |message: &Message| message[0]);
}

/// Tasks with messages of [`LARGE_BYTES`].
pub mod large {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    type Memory = Arc<CuHostMemoryPool<Vec<u8>>>;

    fn pool() -> CuResult<Memory> {
        static POOLS: AtomicUsize = AtomicUsize::new(0);
        let name = format!("pool{}", POOLS.fetch_add(1, Ordering::Relaxed));
        CuHostMemoryPool::new(&name, BUFFERS, || vec![0; LARGE_BYTES])
    }

    fn write(pool: &Memory, number: u64) -> CuResult<Message> {
        let handle = pool.acquire().ok_or_else(|| CuError::from("the pool is empty"))?;
        handle.with_inner_mut(|memory| memory[..8].copy_from_slice(&number.to_le_bytes()));
        Ok(handle)
    }

    fn read(message: &Message) -> u64 {
        message
            .with_inner(|memory| memory.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)))
    }

    tasks!(CuHandle<Vec<u8>>, Memory, pool, write, read);
}

/// Runs an application, once per message of a block.
macro_rules! application {
    ($function:ident, $name:ident, $file:literal) => {
        #[copper_runtime(config = $file)]
        struct $name {}

        pub fn $function(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
            let log = plan.folder.join(format!("{}.copper", plan.case_name));
            let builder = $name::builder().with_log_path(&log, Some(LOG_BYTES));
            let application = builder.during("opening copper's log")?.build();
            let mut running =
                application.during("building the application")?.start().during("starting it")?;
            control.reply(&Reply::Ready)?;
            while let Some(Command::Run { warm_up, count }) = control.await_command()? {
                for _ in 0..warm_up {
                    running.run_one_iteration().during("running the tasks")?;
                }
                between::clear(count as usize);
                let before = Usage::now()?;
                for _ in 0..count {
                    running.run_one_iteration().during("running the tasks")?;
                }
                let usage = Usage::now()?.since(before);
                let (samples_ns, seconds_ns) = between::take();
                control.reply(&Reply::Block { samples_ns, seconds_ns, usage })?;
            }
            running.stop().during("stopping the tasks").map(drop)
        }
    };
}

mod small2 {
    use super::*;
    application!(measure, Application, "generated/small2.ron");
}
mod small10 {
    use super::*;
    application!(measure, Application, "generated/small10.ron");
}
mod large2 {
    use super::*;
    application!(measure, Application, "generated/large2.ron");
}
mod large10 {
    use super::*;
    application!(measure, Application, "generated/large10.ron");
}

fn measure(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    match (plan.way.shape, plan.payload_bytes) {
        (Some(Shape::Chain(2)), SMALL_BYTES) => small2::measure(plan, control),
        (Some(Shape::Chain(10)), SMALL_BYTES) => small10::measure(plan, control),
        (Some(Shape::Chain(2)), LARGE_BYTES) => large2::measure(plan, control),
        (Some(Shape::Chain(10)), LARGE_BYTES) => large10::measure(plan, control),
        (shape, bytes) => Err(Failure::new(
            format!("running {shape:?} of {bytes} bytes"),
            "it is not compiled in",
        )),
    }
}

fn main() -> ExitCode {
    match programs::plan_of_child() {
        Some(Ok(plan)) => {
            child::live(&plan, |control| measure(&plan, control));
            ExitCode::SUCCESS
        }
        Some(Err(failure)) => report(Err(failure)),
        None => report(Err(Failure::new("starting", "this is started by `peers`"))),
    }
}
