//! Both benchmarks without nodes, in two forms. What nodes take is measured against the better one.

use crate::benchmark::{Benchmark, Model};
use crate::gpu::{NativeArray, NativeError};
use crate::reference::{Mismatch, compare};
use crossdock_device::Device;
use std::fmt;
use std::time::{Duration, Instant};

/// How a native program does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// As the paper's programs: one thread, copies of memory that the driver does not know, and
    /// every call waits.
    Paper,
    /// As well as the machine allows: the processor's part on all cores, eight at most; registered
    /// memory, copies beside the processor's work, the end seen on a timeline.
    Best,
}

impl Form {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Paper, Self::Best];

    /// As files name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "native, as in the paper",
            Self::Best => "native, best",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A benchmark that is ready to run natively. `Send`; one thread at a time uses it.
#[derive(Debug)]
pub struct Native {
    benchmark: Benchmark,
    first: Vec<u32>,
    array: NativeArray,
}

/// One run of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// From the first swap's begin to the last one's end.
    pub took: Duration,
    /// Bytes that were copied between host and device meanwhile.
    pub copied_bytes: u64,
    /// Whether the array held what it must afterwards.
    pub outcome: Result<(), Mismatch>,
}

impl Native {
    /// Makes the array and compiles the kernel. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`NativeError`].
    ///
    /// # Panics
    /// As [`NativeArray::new`].
    pub fn new(
        device: &Device,
        benchmark: Benchmark,
        power: u32,
        how: (Model, Form),
    ) -> Result<Self, NativeError> {
        let array = NativeArray::new(device, benchmark, power, how)?;
        Ok(Self { benchmark, first: benchmark.first(array.elements()), array })
    }

    /// Runs all swaps once and holds the result against `expected`. Blocks; allocates before and
    /// after what it measures.
    ///
    /// # Errors
    /// [`NativeError`].
    ///
    /// # Panics
    /// When `expected` has another length than the array.
    pub fn run(&mut self, expected: &[u32]) -> Result<Run, NativeError> {
        self.array.fill(&self.first);
        let copied_before = self.array.copied_bytes();
        let begin = Instant::now();
        for number in 0..self.benchmark.swaps() {
            self.array.swap(number)?;
        }
        let took = begin.elapsed();
        let copied_bytes = self.array.copied_bytes() - copied_before;
        let outcome = compare(self.benchmark, &self.array.words(), expected);
        Ok(Run { took, copied_bytes, outcome })
    }
}
