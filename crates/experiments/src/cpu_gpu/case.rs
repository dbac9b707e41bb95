//! One case of the experiment: what is run, by how many nodes, and where.

use crate::options::CpuGpuOptions;
use std::fmt;

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) benchmark: &'static str,
    /// Settled: never `auto`.
    pub(super) model: &'static str,
    pub(super) architecture: Architecture,
    pub(super) transport: Transport,
    pub(super) power: u32,
}

/// How many nodes, and how they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Architecture {
    /// None: a program.
    Native,
    /// A scheduler that does the processor's part, and a worker on the device.
    Two,
    /// The same over a service.
    TwoService,
    /// A scheduler and two workers.
    Three,
    /// A scheduler and four workers; whether workers of a kind share their part or repeat it.
    Five { replicated: bool },
}

impl Architecture {
    const ALL: [Self; 6] = [
        Self::Native,
        Self::Two,
        Self::TwoService,
        Self::Three,
        Self::Five { replicated: false },
        Self::Five { replicated: true },
    ];

    /// As the command line names it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Two => "2",
            Self::TwoService => "2-service",
            Self::Three => "3",
            Self::Five { .. } => "5",
        }
    }

    /// The same with how work is divided.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Five { replicated: false } => "5, split",
            Self::Five { replicated: true } => "5, replicated",
            other => other.word(),
        }
    }

    /// How its workers divide their work.
    pub(super) fn division(self) -> &'static str {
        if self == (Self::Five { replicated: true }) { "replicated" } else { "split" }
    }

    /// Its nodes, in the order in which one thread runs them: who only launches comes first.
    pub(super) fn nodes(self) -> &'static [&'static str] {
        match self {
            Self::Native => &["native"],
            Self::Two | Self::TwoService => &["gpu_0", "scheduler"],
            Self::Three => &["gpu_0", "cpu_0", "scheduler"],
            Self::Five { .. } => &["gpu_0", "gpu_1", "cpu_0", "cpu_1", "scheduler"],
        }
    }
}

/// How the array is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// Nothing is: there are no nodes.
    None,
    /// It travels with the messages, between processes.
    Serialised,
    /// A token, between threads of one process.
    InProcess,
    /// A token, between processes.
    Shared,
    /// A token, inside one thread.
    Composed,
}

impl Transport {
    const ALL: [Self; 4] = [Self::Serialised, Self::InProcess, Self::Shared, Self::Composed];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "-",
            Self::Serialised => "serialised",
            Self::InProcess => "in-process",
            Self::Shared => "shared",
            Self::Composed => "composed",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (architecture, transport) = (self.architecture.shown(), self.transport.word());
        write!(
            f,
            "{} {}, 2^{} elements, nodes {architecture}, {transport}",
            self.benchmark, self.model, self.power
        )
    }
}

/// What a device can do with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Can {
    /// Use a buffer that processes share, in place, while the processor does.
    pub(super) zero_copy: bool,
    /// Move memory of one process by itself.
    pub(super) managed: bool,
    /// While the host uses other parts of it.
    pub(super) managed_at_once: bool,
    /// What `auto` comes to.
    pub(super) auto: &'static str,
}

/// All cases that are asked for, and the cases among them that cannot be, with the reason.
pub(super) fn cases(options: &CpuGpuOptions, can: Can) -> (Vec<Case>, Vec<(Case, &'static str)>) {
    let all = options.matrix;
    let chosen = |said: &Option<String>, known: &[&'static str], usual: &'static str| {
        let said = said.as_deref();
        let known = known.iter().copied().filter(move |it| match said {
            Some(said) => said == *it,
            None => all || *it == usual,
        });
        known.collect::<Vec<_>>()
    };
    let benchmarks = chosen(&options.benchmark, &["cache", "concurrent"], "concurrent");
    let models = match options.model.as_deref() {
        None if all => vec!["sc", "um", "zc"],
        None | Some("auto") => vec![can.auto],
        _ => chosen(&options.model, &["sc", "um", "zc"], "zc"),
    };
    let words = ["native", "2", "2-service", "3", "5"];
    let architectures = chosen(&options.architecture, &words, "3");
    let divisions = chosen(&options.division, &["split", "replicated"], "split");
    let transports = Transport::ALL.map(Transport::word);
    let transports = chosen(&options.transport, &transports, "shared");
    let (mut possible, mut impossible) = (Vec::new(), Vec::new());
    for benchmark in benchmarks {
        let usual = if benchmark == "cache" { 16 } else { 23 };
        let power = options.power.unwrap_or(usual);
        for model in models.iter().copied() {
            for architecture in Architecture::ALL {
                let is_five = matches!(architecture, Architecture::Five { .. });
                if !architectures.contains(&architecture.word())
                    || is_five && !divisions.contains(&architecture.division())
                {
                    continue;
                }
                let native = [Transport::None];
                let of_nodes = Transport::ALL.into_iter();
                let of_nodes: Vec<_> = match architecture {
                    Architecture::Native => native.into(),
                    _ => of_nodes.filter(|it| transports.contains(&it.word())).collect(),
                };
                for transport in of_nodes {
                    let case = Case { benchmark, model, architecture, transport, power };
                    match refused(&case, can) {
                        None => possible.push(case),
                        Some(why) => impossible.push((case, why)),
                    }
                }
            }
        }
    }
    (possible, impossible)
}

fn refused(case: &Case, can: Can) -> Option<&'static str> {
    let is_private = matches!(case.transport, Transport::None | Transport::Serialised);
    match case.model {
        "um" if !can.managed => Some("its driver offers no memory that it moves itself (tried)"),
        "um" if case.transport == Transport::Shared => {
            Some("memory that a driver moves is of one process, and these nodes are of several")
        }
        "um" if !is_private && !can.managed_at_once => Some(
            "host and device use memory that its driver moves in turns (tried), and nodes do at once",
        ),
        "zc" if !can.zero_copy && !is_private => {
            Some("it does not use memory of the host in place while the host does (tried)")
        }
        _ => None,
    }
}
