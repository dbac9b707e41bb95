//! `crossdock bench execution-modes`: what a chain of three hardware nodes takes in sequential and
//! in dataflow execution, the two modes of figure 5 of the fpgaDDS paper.

use crate::caller::{self, Caller};
use crate::chains::{self, ADDED, Chain, LAST_ID, NODES, WIDTH_BITS};
use crate::networks::{frame, frame_bytes};
use crate::options::SimulationOptions;
use crate::paper::TRANSFERS;
use crate::report::{Column, Report, Shown, Table};
use crate::rows::{Record, rounded};
use crate::transfer::Ports;
use anyhow::{Context, Result, ensure};
use crossdock_fabric::{Model, Profile, Sink, Source};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Bytes of the largest message: the bound of all topics.
const DATA_BYTES_MAX: u64 = TRANSFERS[TRANSFERS.len() - 1].bytes;
/// Indexes into table I.
const QUICK_SIZES: [usize; 2] = [0, 2];
/// Messages of a run, each offered as soon as the one before is taken.
const MESSAGES: usize = 3;
/// Cycles per beat of the kernels: as fast as the streams, and one slower than them.
const KERNELS: [[u8; NODES]; 2] = [[1, 1, 1], [1, 3, 2]];
const FIGURE_5: &str = "fpgaDDS paper, figure 5: a drawing of the phases, without figures";

/// Beats of a header.
const HEADER_BEATS: u64 = 3;

/// What a chain takes, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cycles {
    /// From the first beat offered to the last one taken.
    one: u64,
    /// From the end of a message to the end of the next.
    next: u64,
}

/// What a chain should take for a message of so many beats, header included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expected {
    /// Transfers and computations that follow each other: all of them, or the longest alone.
    phases: u64,
    /// What a chain of nodes adds to them, whatever the message.
    fill: u64,
    cycles: Cycles,
}

impl Expected {
    fn of(chain: Chain, beats: u64) -> Self {
        let per_beat = chain.beat_cycles.map(u64::from);
        let sum = per_beat.iter().sum::<u64>();
        let slowest = per_beat.into_iter().max().unwrap_or(1);
        let (nodes, payload) = (NODES as u64, beats - HEADER_BEATS);
        if chain.sequential {
            // Into the first node, from node to node, and out of the last one.
            let phases = (nodes + 1) * beats + sum * payload;
            // Each shell hands over to its kernel in one cycle.
            let fill = nodes;
            // The slowest node takes a message when it has sent the one before.
            let next = 2 * beats + slowest * payload + 1;
            Self { phases, fill, cycles: Cycles { one: phases + fill, next } }
        } else {
            let phases = HEADER_BEATS + slowest * payload;
            // Two cycles through each node's FIFO and what its kernel takes for a beat; but the
            // slowest kernel's is in the longest phase, except for the cycle in which the beat
            // passes.
            let fill = 2 * nodes + sum - slowest + 1;
            // The header passes while the slowest kernel computes, as far as that takes its time.
            let next = slowest * payload + (HEADER_BEATS + 1).saturating_sub(slowest);
            Self { phases, fill, cycles: Cycles { one: phases + fill, next } }
        }
    }
}

/// A chain with messages of one size.
struct Row {
    chain: Chain,
    message_bytes: u64,
    /// Message size as the paper prints it, kB.
    size: &'static str,
    cycles: Cycles,
    expected: Expected,
    /// What the same message takes in sequential execution, over this.
    faster: f64,
    profile: &'static Profile,
    seed: u64,
}

impl Row {
    fn holds(&self) -> bool {
        self.cycles == self.expected.cycles
    }

    fn kernels(&self) -> String {
        self.chain.beat_cycles.map(|cycles| cycles.to_string()).join(" ")
    }
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let ms = |cycles| rounded(self.profile.cycles_ms(cycles));
        vec![
            ("mode", self.chain.mode().into()),
            ("nodes", NODES.into()),
            ("kernel_cycles_per_beat", self.kernels().into()),
            ("message_bytes", self.message_bytes.into()),
            ("paper_message_kb", self.size.into()),
            ("unit", "ms".into()),
            ("paper", Value::Null),
            ("paper_source", FIGURE_5.into()),
            ("ours", ms(self.cycles.one).into()),
            ("ours_next", ms(self.cycles.next).into()),
            ("ours_cycles", self.cycles.one.into()),
            ("ours_next_cycles", self.cycles.next.into()),
            ("phases_cycles", self.expected.phases.into()),
            ("fill_cycles", self.expected.fill.into()),
            ("cycles_expected", self.expected.cycles.one.into()),
            ("next_cycles_expected", self.expected.cycles.next.into()),
            ("relation_holds", self.holds().into()),
            ("times_faster", rounded(self.faster).into()),
            ("width_bits", WIDTH_BITS.into()),
            ("profile", self.profile.name.into()),
            ("seed", self.seed.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

/// Runs the experiment.
///
/// # Errors
/// Verilator is missing or fails, or a message comes out with other bytes than it should.
pub fn execution_modes(options: &SimulationOptions, caller: &mut dyn Caller) -> Result<Report> {
    let SimulationOptions { profile, seed, quick } = *options;
    let rows = rows(profile, seed, quick, caller)?;
    let facts = json!({
        "profile": { "name": profile.name, "clock_mhz": profile.clock_mhz(),
                     "source": profile.source },
        "relation_holds": rows.iter().all(Row::holds),
    });
    let page = page(&rows, profile, seed);
    let shown = Shown::Table(terminal(&rows));
    Ok(Report::of("execution-modes", &rows, &facts, page, shown).with_faults(faults(&rows)))
}

/// Names the rows that are not as expected.
fn faults(rows: &[Row]) -> Vec<String> {
    let wrong = rows.iter().filter(|row| !row.holds());
    let says = wrong.map(|row| {
        format!(
            "{}, kernels {}, {} bytes: {:?}, not {:?}",
            row.chain.mode(),
            row.kernels(),
            row.message_bytes,
            row.cycles,
            row.expected.cycles
        )
    });
    says.collect()
}

fn rows(
    profile: &'static Profile,
    seed: u64,
    quick: bool,
    caller: &mut dyn Caller,
) -> Result<Vec<Row>> {
    let pairs = KERNELS
        .map(|beat_cycles| [true, false].map(|sequential| Chain { sequential, beat_cycles }));
    let generated = chains::network(&pairs.concat(), DATA_BYTES_MAX)?;
    let library = caller::library(&generated, caller)?;
    // The other half only matters for the data.
    let model = library.model(seed as u32, &[profile.period_ps]);
    let mut model = model.context("there is no memory for the simulation")?;
    let mut sender = Sender { period_ps: profile.period_ps, seed, sequence: 0 };
    let sizes: Vec<usize> =
        if quick { QUICK_SIZES.to_vec() } else { (0..TRANSFERS.len()).collect() };
    let mut rows = Vec::new();
    for pair in pairs {
        for (at, index) in sizes.iter().enumerate() {
            let message_bytes = TRANSFERS[*index].bytes;
            let mut sequential = None;
            for chain in pair {
                let ports = Ports::of(&library, &chain.topic())?;
                // Every chain has had as many messages before.
                sender.sequence = u32::try_from(at * MESSAGES)?;
                let cycles = sender.run(&mut model, &ports, message_bytes).with_context(|| {
                    format!("{}, {message_bytes} bytes, seed {seed}", chain.topic())
                })?;
                let beats = frame_bytes(message_bytes).div_ceil(u64::from(WIDTH_BITS / 8));
                let of_sequential = *sequential.get_or_insert(cycles.one);
                rows.push(Row {
                    chain,
                    message_bytes,
                    size: TRANSFERS[*index].size,
                    cycles,
                    expected: Expected::of(chain, beats),
                    faster: of_sequential as f64 / cycles.one as f64,
                    profile,
                    seed,
                });
            }
        }
    }
    Ok(rows)
}

/// Sends messages through chains.
struct Sender {
    period_ps: u64,
    seed: u64,
    /// Messages that the chain has had.
    sequence: u32,
}

impl Sender {
    /// Sends [`MESSAGES`] messages, one right behind the other, and holds each against what the
    /// nodes should make of it.
    fn run(&mut self, model: &mut Model, ports: &Ports, data_bytes: u64) -> Result<Cycles> {
        let &[(from, id)] = &ports.publishers[..] else { anyhow::bail!("not one publisher") };
        let &[to] = &ports.subscribers[..] else { anyhow::bail!("not one subscriber") };
        let data_bytes = u32::try_from(data_bytes)?;
        let frames: Vec<Vec<u8>> = (0..MESSAGES as u32)
            .map(|number| frame(id, self.sequence + number, self.seed, data_bytes))
            .collect();
        let begin_ps = model.now_ps();
        // More than a sequential chain of the slowest kernels takes for each beat.
        let until_cycles = 1000 + (MESSAGES * frames[0].len()) as u64 * 4;
        let until_ps = begin_ps + until_cycles * self.period_ps;
        let mut taken = vec![0; frames[0].len()];
        let mut sources = frames.iter().map(|frame| Source::new(from, frame));
        let mut source = [sources.next().context("no message")?];
        let mut ends = Vec::new();
        for frame in &frames {
            let mut sink = [Sink::new(to, &mut taken)];
            while sink[0].done_ps().is_none() {
                ensure!(model.now_ps() < until_ps, "no message in {until_cycles} cycles");
                model.run(&mut source, &mut sink, until_ps)?;
                if source[0].done_ps().is_some() {
                    source = match sources.next() {
                        Some(next) => [next],
                        None => source,
                    };
                }
            }
            let [sink] = sink;
            ends.extend(sink.done_ps().map(|end_ps| (end_ps - begin_ps) / self.period_ps));
            let whole = !sink.is_damaged() && sink.received() == frame.len() as u64;
            ensure!(whole, "a message came out with {} bytes, or damaged", sink.received());
            ensure!(taken == computed(frame, self.sequence), "a message came out with other bytes");
            self.sequence += 1;
        }
        let next: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        ensure!(next.iter().all(|cycles| *cycles == next[0]), "messages ended after {ends:?}");
        Ok(Cycles { one: ends[0], next: next[0] })
    }
}

/// What the nodes make of a frame: a header of the last one, and every byte of the payload changed
/// by each.
fn computed(frame: &[u8], sequence: u32) -> Vec<u8> {
    let (header, payload) = frame.split_at(HEADER_BEATS as usize * 8);
    let mut out = header.to_vec();
    out[2..4].copy_from_slice(&LAST_ID.to_le_bytes());
    out[8..12].copy_from_slice(&sequence.to_le_bytes());
    out.extend(payload.iter().map(|byte| byte.wrapping_add(ADDED)));
    out
}

fn page(rows: &[Row], profile: &Profile, seed: u64) -> String {
    let mut text = format!(
        "# Execution modes of hardware nodes\n\nCycles of hardware in simulation, no measurement of a \
         board. Profile `{}`: {} MHz ({}). Nodes have streams of {WIDTH_BITS} bit whatever the board. \
         Seed {seed}, Crossdock {}. A chain of {NODES} nodes (`node_shell` and a kernel, joined by topics \
         of one publisher and one subscriber); every byte that comes out is compared with what the \
         kernels should make of what went in.\n\n\
         Figure 5 of the fpgaDDS paper draws both modes and prints no figures: not reproducible here \
         but in form. *Sequential*: all transfers and computations follow each other. *Dataflow*: they \
         overlap, so the longest phase is left, and the fill of the chain. A row holds when one \
         message and each further one take the expected cycles exactly, with B beats of a message, B - \
         3 of them payload, and c cycles per beat of a kernel (c_max of the slowest):\n\n\
         - sequential: 4 B + (sum of c) x (B - 3) + 3; each further message 2 B + c_max x (B - 3) + 1\n\
         - dataflow: longest phase 3 + c_max x (B - 3), fill 7 + sum of c - c_max; each further message \
         c_max x (B - 3) + what of 4 cycles c_max does not cover\n",
        profile.name,
        profile.clock_mhz(),
        profile.source,
        env!("CARGO_PKG_VERSION")
    );
    for beat_cycles in KERNELS {
        let _ = writeln!(
            text,
            "\n## Kernels of {} cycles per beat\n\n| kB | mode | phases | fill | cycles | ms | each further \
             one, cycles | ms | times faster | |\n|---|---|---|---|---|---|---|---|---|---|",
            beat_cycles.map(|cycles| cycles.to_string()).join(", ")
        );
        for row in rows.iter().filter(|row| row.chain.beat_cycles == beat_cycles) {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {:.5} | {} | {:.5} | {:.2} | {} |",
                row.size,
                row.chain.mode(),
                row.expected.phases,
                row.expected.fill,
                row.cycles.one,
                profile.cycles_ms(row.cycles.one),
                row.cycles.next,
                profile.cycles_ms(row.cycles.next),
                row.faster,
                if row.holds() { "holds" } else { "**WRONG**" }
            );
        }
    }
    text
}

fn terminal(rows: &[Row]) -> Table {
    let columns = vec![
        Column::Words("kernels"),
        Column::Numbers("bytes"),
        Column::Words("mode"),
        Column::Numbers("phases"),
        Column::Numbers("fill"),
        Column::Numbers("cycles"),
        Column::Numbers("ms"),
        Column::Numbers("each further one"),
        Column::Numbers("times faster"),
        Column::Words(""),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            row.kernels(),
            row.message_bytes.to_string(),
            row.chain.mode().to_owned(),
            row.expected.phases.to_string(),
            row.expected.fill.to_string(),
            row.cycles.one.to_string(),
            format!("{:.5}", row.profile.cycles_ms(row.cycles.one)),
            row.cycles.next.to_string(),
            format!("{:.2}", row.faster),
            (if row.holds() { "" } else { "WRONG" }).to_owned(),
        ]
    });
    Table { columns, rows: cells.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dataflow_takes_the_longest_phase_and_the_fill_and_sequential_all_phases() {
        // 8000 bytes of payload; as measured by the test of the chain beside the hardware library.
        let cycles = |sequential, beat_cycles| {
            let Cycles { one, next } = Expected::of(Chain { sequential, beat_cycles }, 1003).cycles;
            (one, one + 10 * next)
        };
        assert_eq!(cycles(true, [1, 1, 1]), (7015, 37_085));
        assert_eq!(cycles(false, [1, 1, 1]), (1012, 11_042));
        assert_eq!(cycles(true, [2, 3, 1]), (10_015, 60_085));
        assert_eq!(cycles(false, [2, 3, 1]), (3013, 33_023));
    }

    #[test]
    fn a_cycle_too_many_fails_the_command() {
        let chain = Chain { sequential: false, beat_cycles: [1, 1, 1] };
        let expected = Expected::of(chain, 388);
        let row = |cycles| Row {
            chain,
            message_bytes: 3072,
            size: "3",
            cycles,
            expected,
            faster: 7.0,
            profile: &Profile::ALL[0],
            seed: 1,
        };
        let late = Cycles { next: expected.cycles.next + 1, ..expected.cycles };
        assert!(faults(&[row(expected.cycles)]).is_empty());
        assert_eq!(faults(&[row(expected.cycles), row(late)]).len(), 1);
    }
}
