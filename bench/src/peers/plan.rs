//! Which processes a system needs for a shape. Starts nothing.

use crate::control::{ChildPlan, Launch, Mode, Role, Shape, System, Way};
use crate::machine::{Cores, Machine};
use crate::nodes::{Files, files, hop_name, one_process, part_name};
use std::path::Path;

/// Where nodes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// All on one thread.
    OneThread,
    /// A process each, unless the system has another way.
    Processes(Cores),
}

/// What is measured of several systems in turn.
#[derive(Debug, Clone)]
pub struct Case {
    /// How the nodes are joined.
    pub shape: Shape,
    /// Where they run.
    pub place: Place,
    /// Length of every message.
    pub bytes: usize,
    /// Who takes part.
    pub systems: Vec<System>,
}

impl Case {
    /// The processors of the processes, in turn.
    pub fn cpus(&self, machine: &Machine) -> Result<Vec<usize>, String> {
        let cores = match self.place {
            Place::OneThread => Cores::Same,
            Place::Processes(cores) => cores,
        };
        machine.placement(cores).map(|cpus| cpus.to_vec())
    }

    fn cores(&self) -> Cores {
        match self.place {
            Place::OneThread => Cores::Same,
            Place::Processes(cores) => cores,
        }
    }

    /// The plans of all processes of `system`; the first one measures. The shared memory
    /// of cases that follow each other must not meet: `name` is unique in a run.
    pub fn plans(
        &self,
        system: System,
        name: &str,
        cpus: &[usize],
        folder: &Path,
    ) -> Vec<ChildPlan> {
        let part = |role, system, index: usize, way: Way| ChildPlan {
            role,
            system,
            mode: if role == Role::HandOver { Mode::Poll } else { Mode::Wake },
            cores: self.cores(),
            cpu: cpus[index % cpus.len()],
            payload_bytes: self.bytes,
            touched: false,
            subscribers: match self.shape {
                Shape::Chain(_) => 1,
                Shape::Fork(workers) => workers,
            },
            batch: 1,
            spin_us: 0,
            folder: folder.to_owned(),
            case_name: name.to_owned(),
            way: Way { shape: Some(self.shape), cpus: cpus.to_vec(), ..way },
        };
        if self.place == Place::OneThread {
            let alone = matches!(system, System::Calls | System::Copper | System::CrossdockChain);
            let role = if alone { Role::OneThread } else { Role::HandOver };
            let way = match system {
                System::CrossdockChain => one_process(self.shape, system, name, self.bytes),
                _ => Way::default(),
            };
            return vec![part(role, system, 0, way)];
        }
        let (head, rest) = self.ways();
        match system {
            // Its own processes are started by its program.
            System::Dora => vec![part(Role::Head, system, 0, head)],
            System::CrossdockEvent | System::CrossdockGraph | System::CrossdockChain => {
                let Files { graph, mapping, processes } =
                    files(self.shape, system, name, self.bytes);
                let launches = processes.into_iter().enumerate().map(|(index, process)| {
                    let (graph, mapping) = (graph.clone(), mapping.clone());
                    let launch = Some(Launch { graph, mapping, process });
                    let plan =
                        part(Role::Nodes, system, index + 1, Way { launch, ..Way::default() });
                    // A process of its own has one thread; several spread, the first where the
                    // head is not.
                    let mut cpus = cpus.to_vec();
                    let turns = (index + 1) % cpus.len();
                    cpus.rotate_left(turns);
                    ChildPlan { way: Way { cpus, ..plan.way }, ..plan }
                });
                let head = part(Role::Head, System::Crossdock, 0, head);
                [head].into_iter().chain(launches).collect()
            }
            _ => {
                let others = rest.into_iter().enumerate().map(|(index, way)| {
                    let role = if way.out.is_some() { Role::Relay } else { Role::Tail };
                    part(role, system, index + 1, way)
                });
                [part(Role::Head, system, 0, head)].into_iter().chain(others).collect()
            }
        }
    }

    /// The parts of head and others.
    fn ways(&self) -> (Way, Vec<Way>) {
        let way = |out: Option<String>, into: Vec<String>, listeners| Way {
            out,
            into,
            listeners,
            ..Way::default()
        };
        match self.shape {
            Shape::Chain(nodes) => {
                let relays = (1..nodes - 1)
                    .map(|index| way(Some(hop_name(index)), vec![hop_name(index - 1)], 1));
                let tail = way(None, vec![hop_name(nodes - 2)], 0);
                (way(Some(hop_name(0)), vec![], 1), relays.chain([tail]).collect())
            }
            Shape::Fork(workers) => {
                let (start, spread) = (String::from("start"), String::from("spread"));
                let source = way(Some(spread.clone()), vec![start.clone()], workers);
                let parts =
                    (0..workers).map(|at| way(Some(part_name(at)), vec![spread.clone()], 1));
                let join = way(None, (0..workers).map(part_name).collect(), 0);
                let others = [source].into_iter().chain(parts).chain([join]).collect();
                (way(Some(start), vec![], 1), others)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_on_a_topic_is_taken_by_its_listeners() {
        for shape in [Shape::Chain(2), Shape::Chain(10), Shape::Fork(4)] {
            let place = Place::Processes(Cores::Different);
            let case = Case { shape, place, bytes: 64, systems: vec![] };
            let plans = case.plans(System::Floor, "case", &[0, 1], Path::new("/dev/shm/x"));
            let mut published = 0;
            for plan in &plans {
                let Some(out) = &plan.way.out else { continue };
                let takers = plans.iter().filter(|plan| plan.way.into.contains(out)).count();
                assert_eq!(takers, plan.way.listeners, "{out}");
                published += 1;
            }
            assert_eq!(published, plans.len() - 1, "only the last node publishes nothing");
            assert_eq!(plans[1].cpu, 1);
        }
    }
}
