//! One load, many ways to run it: a perception pipeline of some forty nodes, released 30 times a
//! second on one processor. The load is data (`bench/perception/`: a graph file and mapping files);
//! Crossdock runs it as it runs any package, the peer runs it in the same processes, the floor as
//! plain function calls.
//!
//! `load` reads the files, `work` is what a node does and `record` where it is noted, `nodes`,
//! `peer` and `floor` are the three systems, `running` starts, pauses and observes their processes.

pub mod floor;
pub mod load;
pub mod nodes;
pub mod peer;
pub mod record;
pub mod running;
pub mod work;

/// The rest of the command line of a child process, after its role, starts with the record's file.
pub const RECORD_VARIABLE: &str = "CROSSDOCK_BENCH_RECORD";
