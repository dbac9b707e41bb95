//! Boards as figures: what a simulation stands for, and where each figure comes from.

use crate::loaded::MemoryTiming;

/// A figure and where it comes from: what printed it, what it was fitted on, or that it is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The figure, in the unit of its place.
    pub value: u32,
    /// Where it comes from, in a sentence without a full stop.
    pub source: &'static str,
}

/// How a board's fabric reaches host memory. Cycles are cycles of the profile's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemory {
    /// Cycles from a burst's address to its first beat.
    pub read_latency: Figure,
    /// Cycles from a burst's last beat to its response.
    pub write_latency: Figure,
    /// Bursts open in each direction.
    pub outstanding: Figure,
    /// 1/256 cycles from one beat to the next, in each direction.
    pub beat_256ths: Figure,
    /// Bytes of the longest burst that the fabric asks for.
    pub burst_bytes: Figure,
    /// Pages whose addresses the fabric keeps; 0: it needs none.
    pub tlb_entries: Figure,
    /// Reads, one after the other, that find the address of a page which is not kept.
    pub walk_reads: Figure,
    /// Cycles of an access to the fabric's registers.
    pub register_cycles: Figure,
    /// What a message that crosses host memory takes beside its passes over it, ns: publishing and
    /// taking in software. `None` if no source has it.
    pub software_ns: Option<Figure>,
}

/// What steps of Crossdock's software take on one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The processor that the figures are of.
    pub name: &'static str,
    /// Publishing a message, ns.
    pub publish_ns: Figure,
    /// From publishing until a thread on another core that looks has the message, ns.
    pub take_ns: Figure,
    /// What it takes longer if that thread sleeps, ns.
    pub wake_ns: Figure,
    /// Making segments of a message, or a message of a frame, without moving large data, ns.
    pub convert_ns: Figure,
    /// Copying a byte into memory of the software subscriber's own, ps.
    pub copy_byte_ps: Figure,
    /// 99th percentile of what a step takes, in percent of its figure, which is the median. For
    /// experiments that draw the times of steps.
    pub p99_percent: Figure,
}

impl Processor {
    /// The figures of steps with their names and units.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, &'static str, Figure)> {
        [
            ("publish_ns", "ns", self.publish_ns),
            ("take_ns", "ns", self.take_ns),
            ("wake_ns", "ns", self.wake_ns),
            ("convert_ns", "ns", self.convert_ns),
            ("copy_byte_ps", "ps", self.copy_byte_ps),
        ]
        .into_iter()
    }
}

/// Bytes of a page of host memory.
const PAGE_BYTES: u64 = 4096;

impl HostMemory {
    /// How memory answers in simulation, when others have `load_percent` of its cycles (0 to 99)
    /// and `seed` decides which.
    #[must_use]
    pub fn timing(&self, load_percent: u32, seed: u32) -> MemoryTiming {
        MemoryTiming {
            read_latency: self.read_latency.value,
            write_latency: self.write_latency.value,
            outstanding: self.outstanding.value,
            beat_256ths: self.beat_256ths.value,
            load_percent,
            seed,
        }
    }

    /// The figures with their names and units.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, &'static str, Figure)> {
        let of_messages = self.software_ns.map(|figure| ("software_ns", "ns", figure));
        [
            ("read_latency", "cycles", self.read_latency),
            ("write_latency", "cycles", self.write_latency),
            ("outstanding", "bursts", self.outstanding),
            ("beat_256ths", "1/256 cycles", self.beat_256ths),
            ("burst_bytes", "bytes", self.burst_bytes),
            ("tlb_entries", "pages", self.tlb_entries),
            ("walk_reads", "reads", self.walk_reads),
            ("register_cycles", "cycles", self.register_cycles),
        ]
        .into_iter()
        .chain(of_messages)
    }

    /// Cycles that one pass of a message over the way to host memory takes by these figures, when
    /// others have `load_percent` of the memory's cycles (0 to 99): its beats, of `beat_bytes`, at
    /// their pace, and what latency leaves uncovered. Where addresses of pages are looked up, every
    /// page costs a walk: linear data comes back to none.
    ///
    /// It is a mean: a simulation draws the cycles that others have.
    #[must_use]
    pub fn pass_cycles(&self, bytes: u64, beat_bytes: u32, load_percent: u32) -> f64 {
        let beat = f64::from(self.beat_256ths.value) / 256.0;
        let beat = beat / (1.0 - f64::from(load_percent.min(99)) / 100.0);
        let beats_of = |bytes: u64| bytes.div_ceil(u64::from(beat_bytes.max(1)));
        let latency = f64::from(self.read_latency.value);
        let burst_bytes = u64::from(self.burst_bytes.value.max(1));
        let bursts = bytes.div_ceil(burst_bytes);
        let beats = beats_of(bytes) as f64 * beat;
        // With several bursts open, only what all but one of them do not cover is waited for.
        let open = f64::from(self.outstanding.value) - 1.0;
        let waited = (latency - open * beats_of(burst_bytes) as f64 * beat).max(0.0);
        let walks = match self.tlb_entries.value {
            0 => 0.0,
            _ => {
                let reads = bytes.div_ceil(PAGE_BYTES) * u64::from(self.walk_reads.value);
                reads as f64 * (latency + beat)
            }
        };
        beats + latency + bursts.saturating_sub(1) as f64 * waited + walks
    }
}

/// A board whose figures a simulation takes: every result names the profile that produced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name, for the command line and in results.
    pub name: &'static str,
    /// Bits of a beat of its topics.
    pub width_bits: u32,
    /// Period of the clock of fabric and topics, picoseconds.
    pub period_ps: u64,
    /// Where width and clock come from.
    pub source: &'static str,
    /// The way to host memory.
    pub memory: HostMemory,
    /// What Crossdock's software takes; `None`: another system's software runs there.
    pub processor: Option<Processor>,
}

const fn figure(value: u32, source: &'static str) -> Figure {
    Figure { value, source }
}

const FITTED: &str = "fitted, with all other figures of this memory as they stand, on the slope of the \
                      CycloneDDS column of the fpgaDDS paper's table I over its four largest sizes: \
                      two passes of 1.461 ns per byte; that both take the same is assumed";
const ENGINE: &str = "reads of a gateway: 64 beats; it writes in bursts of 16";
const WINDOWS: &str = "none is needed: windows of host memory are pinned, see memif_mmu";
const PORT: &str = "reset value of AFIFM_RDISSUE and AFIFM_WRISSUE of an UltraScale+ MPSoC (AMD UG1087), \
                    which stands for 8 commands";
const DDR4: &str =
    "one beat per cycle: assumed, as the board's 64-bit DDR4 passes several times as much";
const READ: &str = "assumed: 400 ns from the port's address to its first beat";
const WRITE: &str = "assumed: 200 ns from the port's last beat to its response";
const REGISTER: &str =
    "assumed: 120 ns for an uncached access of a processor over the bus to the fabric";

/// ZCU104 with Crossdock's engines.
const ZCU104: HostMemory = HostMemory {
    read_latency: figure(40, READ),
    write_latency: figure(20, WRITE),
    outstanding: figure(8, PORT),
    beat_256ths: figure(256, DDR4),
    burst_bytes: figure(512, ENGINE),
    tlb_entries: figure(0, WINDOWS),
    walk_reads: figure(0, WINDOWS),
    register_cycles: figure(12, REGISTER),
    software_ns: None,
};

const P99: Figure = figure(
    200,
    "assumed: no distribution was measured on such a processor without other work; the times of a step \
     are taken to be log-normal",
);
const COPY: Figure = figure(1000, "assumed: 1 GB/s, as in the profile of the paper's board");

/// A server: not a processor that any such board has.
const XEON: Processor = Processor {
    name: "2 vCPUs of an Intel Xeon (Sapphire Rapids), a server",
    publish_ns: figure(
        45,
        "measured, docs/performance.md: publishing to 128 connected subscribers, none armed",
    ),
    take_ns: figure(
        233,
        "measured, docs/performance.md: one way between two cores, 278 ns, less publishing",
    ),
    wake_ns: figure(
        26_222,
        "measured, docs/performance.md: a sleeping subscriber on another core, 26 500 ns, less one that \
         looks",
    ),
    convert_ns: figure(200, "assumed: without moving large data"),
    copy_byte_ps: COPY,
    p99_percent: P99,
};

/// The kind of processor that a ZCU104 has, by assumption: none was at hand.
const A53: Processor = Processor {
    name: "an Arm Cortex-A53 at 1.2 GHz, by assumption",
    publish_ns: figure(
        410,
        "assumed: the 490 instructions that the server runs five of a cycle, one of a cycle here",
    ),
    take_ns: figure(
        410,
        "assumed: 210 instructions, one of a cycle, and four lines from one core's cache to the other's \
         at 60 ns",
    ),
    wake_ns: figure(
        26_222,
        "assumed: as on the server, whose processors are a guest's and slow to wake when they idle",
    ),
    convert_ns: figure(2_000, "assumed: ten times as long as on the server, as publishing"),
    copy_byte_ps: COPY,
    p99_percent: P99,
};

impl Profile {
    /// All profiles.
    pub const ALL: &'static [Self] = &[
        Self {
            name: "zcu104-paper",
            width_bits: 64,
            period_ps: 10_000,
            source: "ZCU104 of the fpgaDDS paper (IV.A): infrastructure and nodes at 100 MHz; 64 bit \
                     from its table I, whose fpgaDDS column is bytes / 8 cycles of that clock",
            memory: HostMemory {
                read_latency: figure(4, FITTED),
                write_latency: figure(3, FITTED),
                outstanding: figure(1, "ReconROS: its MEMIF has one burst open"),
                beat_256ths: figure(260, FITTED),
                burst_bytes: figure(256, "ReconROS: its MEMIF moves chunks of 256 bytes"),
                tlb_entries: figure(16, "ReconROS: the translation buffer of its MEMIF"),
                walk_reads: figure(3, "ReconROS: page tables of three levels"),
                register_cycles: ZCU104.register_cycles,
                software_ns: Some(figure(
                    48_500,
                    "fitted with the slope: what the same four sizes leave for a message of 0 bytes",
                )),
            },
            processor: None,
        },
        Self {
            name: "zcu104-64",
            width_bits: 64,
            period_ps: 10_000,
            source: "width and clock of zcu104-paper, all else as Crossdock has it; software of a server",
            memory: ZCU104,
            processor: Some(XEON),
        },
        Self {
            name: "zcu104-64-a53",
            width_bits: 64,
            period_ps: 10_000,
            source: "zcu104-64, with software of a processor like the board's own",
            memory: ZCU104,
            processor: Some(A53),
        },
        Self {
            name: "kv260-250",
            width_bits: 64,
            period_ps: 4_000,
            source: "KV260 of the RobotCore paper (IV.A): kernels at 250 MHz; 64 bit assumed; the paper \
                     prints no cost of software in time, so it is that of zcu104-64-a53",
            memory: HostMemory {
                read_latency: figure(100, READ),
                write_latency: figure(50, WRITE),
                register_cycles: figure(30, REGISTER),
                beat_256ths: figure(
                    256,
                    "one beat per cycle, 2 GB/s in each direction: assumed, as the board's 64-bit DDR4 \
                     passes several times as much",
                ),
                ..ZCU104
            },
            processor: Some(A53),
        },
        Self {
            name: "zcu104-128x200",
            width_bits: 128,
            period_ps: 5_000,
            source: "twice the width and the clock of the paper's board: assumed, as no open tool gives \
                     the clock rate of an UltraScale+ part",
            memory: HostMemory {
                read_latency: figure(80, READ),
                write_latency: figure(40, WRITE),
                burst_bytes: figure(1024, ENGINE),
                register_cycles: figure(24, REGISTER),
                ..ZCU104
            },
            processor: Some(XEON),
        },
        Self {
            name: "ecp5-85",
            width_bits: 64,
            period_ps: 15_385,
            source: "LFE5UM-85F, speed grade 8: 65 MHz, below the 68 MHz of the slowest module in \
                     hw/budget.json, `stamp_join` of three inputs, each placed and routed alone, \
                     `replay` and `pixel_levels` for 24 000 bytes only; whole nodes and boards were not",
            memory: HostMemory {
                read_latency: figure(
                    16,
                    "assumed: 240 ns through a memory controller in the fabric to DDR3",
                ),
                write_latency: figure(
                    8,
                    "assumed: 120 ns through a memory controller in the fabric to DDR3",
                ),
                outstanding: figure(4, "assumed: requests that a small memory controller keeps"),
                beat_256ths: figure(
                    256,
                    "one beat per cycle, 0.52 GB/s: assumed; both directions together stay below the \
                     1.6 GB/s of a 16-bit DDR3 at 800 MT/s",
                ),
                register_cycles: figure(
                    5,
                    "assumed: 80 ns for an access of a processor in the same fabric",
                ),
                ..ZCU104
            },
            processor: Some(XEON),
        },
    ];

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|profile| profile.name == name)
    }

    /// Clock rate in MHz.
    #[must_use]
    pub fn clock_mhz(&self) -> f64 {
        1e6 / self.period_ps as f64
    }

    /// Time that so many cycles take, milliseconds.
    #[must_use]
    pub fn cycles_ms(&self, cycles: u64) -> f64 {
        cycles as f64 * self.period_ps as f64 / 1e9
    }

    /// Time of a message that one publisher in the fabric hands to one subscriber there over host
    /// memory: a pass in each direction and what software takes (0 if no source has it). In
    /// milliseconds, by [`HostMemory::pass_cycles`].
    #[must_use]
    pub fn software_mapped_ms(&self, bytes: u64, load_percent: u32) -> f64 {
        let pass = self.memory.pass_cycles(bytes, self.width_bits / 8, load_percent);
        let software_ns = self.memory.software_ns.map_or(0, |figure| figure.value);
        2.0 * pass * self.period_ps as f64 / 1e9 + f64::from(software_ns) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_says_where_it_comes_from_and_memory_takes_it() {
        for profile in Profile::ALL {
            let of_processor = profile.processor.iter().flat_map(Processor::figures);
            let spread = profile.processor.map(|it| ("p99_percent", "%", it.p99_percent));
            for (name, _, figure) in profile.memory.figures().chain(of_processor).chain(spread) {
                assert!(figure.source.len() > 20, "{} {name}: {figure:?}", profile.name);
            }
            let timing = profile.memory.timing(50, 7);
            assert!((1..=64).contains(&timing.outstanding), "{timing:?}");
            assert!((256..=65_536).contains(&timing.beat_256ths), "{timing:?}");
            assert_eq!((timing.load_percent, timing.seed), (50, 7));
        }
    }

    /// Of a design in `hw/budget.json`, MHz on an ECP5.
    fn budgeted_mhz() -> Vec<(String, f64)> {
        let budget = include_str!("../../../hw/budget.json");
        let budget: serde_json::Value = serde_json::from_str(budget).unwrap();
        let designs = budget["designs"].as_object().unwrap().iter();
        let rated = designs.filter_map(|(name, of)| Some((name.clone(), of["ecp5_mhz"].as_f64()?)));
        rated.collect()
    }

    #[test]
    fn an_ecp5_has_no_clock_that_a_module_of_boards_cannot_keep() {
        let rated = budgeted_mhz();
        assert!(rated.iter().any(|(name, _)| name == "gateway"), "{rated:?}");
        for profile in Profile::ALL.iter().filter(|profile| profile.name.starts_with("ecp5-")) {
            for (name, mhz) in &rated {
                assert!(profile.clock_mhz() <= *mhz, "{}: {name} has {mhz} MHz", profile.name);
            }
            // Both directions of host memory at once are no more than the memory passes.
            let beats = 256.0 / f64::from(profile.memory.beat_256ths.value);
            let bytes_per_us = beats * f64::from(profile.width_bits / 8) * profile.clock_mhz();
            assert!(2.0 * bytes_per_us <= 1600.0, "{}", profile.name);
        }
        // A kernel without a rate may be slower than any.
        let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hw/kernels");
        for kernel in std::fs::read_dir(kernels).unwrap() {
            let kernel = kernel.unwrap().file_name().into_string().unwrap();
            let is_of = |name: &str| {
                let rest = name.strip_prefix(&kernel);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            let has_rate = rated.iter().any(|(name, _)| is_of(name));
            assert!(has_rate, "kernel {kernel} has no rate in hw/budget.json: place and route it");
        }
    }

    #[test]
    fn a_pass_is_its_beats_and_what_latency_is_not_covered() {
        let memory = ZCU104;
        assert_eq!(memory.pass_cycles(4096, 8, 0), 512.0 + 40.0);
        assert_eq!(memory.pass_cycles(4096, 8, 75), 4.0 * 512.0 + 40.0);
        // One burst at a time: every one waits for its own latency.
        let one = HostMemory { outstanding: figure(1, ""), ..memory };
        assert_eq!(one.pass_cycles(4096, 8, 0), 512.0 + 8.0 * 40.0);
        let walked = HostMemory { tlb_entries: figure(16, ""), walk_reads: figure(3, ""), ..one };
        assert_eq!(walked.pass_cycles(4097, 8, 0), 513.0 + 9.0 * 40.0 + 6.0 * 41.0);
    }
}
