//! The load as a package of Crossdock: two node types, which know the size of what they publish and
//! nothing else. Which topics they are on and where they run is said by the files.

use super::load::{Load, PERIOD, Places};
use super::record::Record;
use super::work::Work;
use crate::failure::While;
use crossdock_executor::{
    Context, Loan, Node, NodeDescription, NodeError, NodeType, Package, Publisher, Sample, Setup,
    Subscriber,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt8MultiArray;
use std::rc::Rc;

type Bytes = UInt8MultiArray;

/// The parameter that says whether nodes do their work.
pub const TOUCHED: &str = "touched";

/// Ports of a node type; a graph connects those that it needs.
const TRIGGERS: usize = 3;
const READS: usize = 8;
const OUTPUTS: usize = 4;

thread_local! {
    /// The record of this executor.
    static RECORD: Rc<Record> = Rc::new(open_record());
}

fn open_record() -> Record {
    let opened =
        Load::read(Places::Chain).and_then(|load| Record::of_environment(load.nodes.len()));
    // Nodes without a record are nobody's: the run ends with this sentence.
    opened.unwrap_or_else(|failure| panic!("{failure}"))
}

/// The package of the benchmark.
pub fn package() -> Package {
    Package::new("perception").node::<Source>().node::<Stage>()
}

fn outputs(mut interface: NodeDescription) -> NodeDescription {
    for port in 0..OUTPUTS {
        interface = interface.publisher::<Bytes>(&format!("out_{port}")).optional();
    }
    interface.parameter("bytes", Vec::<i64>::new(), "length of a message on each output").parameter(
        TOUCHED,
        true,
        "whether more than the number of messages is read and written",
    )
}

/// What a node publishes.
struct Outputs {
    ports: Vec<(Publisher<Bytes>, usize)>,
    record: Rc<Record>,
    touched: bool,
}

impl Outputs {
    fn open(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let lengths: Vec<i64> = setup.parameter("bytes")?;
        let mut ports = vec![];
        for (port, length) in lengths.into_iter().enumerate() {
            let length = usize::try_from(length).during("reading a length")?;
            ports.push((setup.publisher(&format!("out_{port}"))?, length));
        }
        if ports.len() > OUTPUTS {
            return Err(NodeError::new(format!("a node has at most {OUTPUTS} outputs")));
        }
        let touched = setup.parameter(TOUCHED)?;
        Ok(Self { ports, record: RECORD.with(Rc::clone), touched })
    }

    /// Loans, works, publishes. Gives the iteration.
    #[inline]
    fn publish(
        &self,
        read: impl FnOnce(&mut Work) -> Result<(), NodeError>,
    ) -> Result<u64, NodeError> {
        let mut loans: [Option<Loan<'_, Bytes>>; OUTPUTS] = [const { None }; OUTPUTS];
        for (loan, (publisher, length)) in loans.iter_mut().zip(&self.ports) {
            *loan = Some(publisher.loan(Extra::none().bytes(*length))?);
        }
        let mut work = Work::begin(self.touched);
        read(&mut work)?;
        for (loan, (_, length)) in loans.iter_mut().zip(&self.ports) {
            if let Some(loan) = loan {
                work.write(loan.message().data_uninit(*length)?);
            }
        }
        let iteration = work.end(&self.record);
        for loan in loans.into_iter().flatten() {
            loan.publish().map_err(|refused| refused.reason)?;
        }
        Ok(iteration)
    }
}

/// Begins an iteration at each time of its timer.
struct Source {
    outputs: Outputs,
}

impl NodeType for Source {
    const NAME: &'static str = "source";

    fn description() -> NodeDescription {
        outputs(NodeDescription::new().timer("tick", PERIOD))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { outputs: Outputs::open(setup)? })
    }
}

impl Node for Source {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let iteration = self.outputs.record.begin();
        self.outputs.publish(|work| {
            work.begins(iteration);
            Ok(())
        })?;
        self.outputs.record.executed(iteration);
        Ok(())
    }
}

/// An input that does not trigger, with the newest message that was there.
struct Read {
    input: Subscriber<Bytes>,
    newest: Option<Sample<Bytes>>,
}

/// Reads what has come and writes what is to go.
struct Stage {
    triggers: Vec<Subscriber<Bytes>>,
    reads: Vec<Read>,
    outputs: Outputs,
}

impl NodeType for Stage {
    const NAME: &'static str = "stage";

    fn description() -> NodeDescription {
        let mut interface = outputs(NodeDescription::new());
        for port in 0..TRIGGERS {
            interface = interface.subscriber::<Bytes>(&format!("in_{port}")).optional();
        }
        for port in 0..READS {
            interface = interface.subscriber_latest::<Bytes>(&format!("at_{port}")).optional();
        }
        interface
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (mut triggers, mut reads) = (vec![], vec![]);
        for port in 0..TRIGGERS {
            triggers.extend(setup.optional_subscriber(&format!("in_{port}"))?);
        }
        for port in 0..READS {
            let input = setup.optional_subscriber(&format!("at_{port}"))?;
            reads.extend(input.map(|input| Read { input, newest: None }));
        }
        Ok(Self { triggers, reads, outputs: Outputs::open(setup)? })
    }
}

impl Node for Stage {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Self { triggers, reads, outputs } = self;
        let mut taken = [const { None }; TRIGGERS];
        for (taken, input) in taken.iter_mut().zip(triggers) {
            *taken = input.take()?;
        }
        for read in reads.iter_mut() {
            if let Some(newer) = read.input.latest()? {
                read.newest = Some(newer);
            }
        }
        let iteration = outputs.publish(|work| {
            for sample in taken.iter().flatten() {
                work.read(sample.message().data()?);
            }
            for sample in reads.iter().filter_map(|read| read.newest.as_ref()) {
                work.glance(sample.message().data()?);
            }
            Ok(())
        })?;
        drop(taken);
        outputs.record.executed(iteration);
        Ok(())
    }
}
