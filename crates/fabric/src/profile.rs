//! Boards as figures: what a simulation stands for, and where each figure comes from. Must not know
//! networks or how they are run.

/// A board whose figures a simulation takes: every result names the profile that produced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name, for the command line and in results.
    pub name: &'static str,
    /// Bits of a beat of its topics.
    pub width_bits: u32,
    /// Period of the clock of fabric and topics, picoseconds.
    pub period_ps: u64,
    /// Where the figures come from.
    pub source: &'static str,
}

impl Profile {
    /// All profiles.
    pub const ALL: &'static [Self] = &[
        Self {
            name: "zcu104-paper",
            width_bits: 64,
            period_ps: 10_000,
            source: "ZCU104 of the fpgaDDS paper (IV.A): infrastructure and nodes at 100 MHz; 64 bit \
                     from its table I, whose fpgaDDS column is bytes / 8 cycles of that clock",
        },
        Self {
            name: "zcu104-64",
            width_bits: 64,
            period_ps: 10_000,
            source: "width and clock of zcu104-paper, all else as Crossdock has it",
        },
        Self {
            name: "zcu104-128x200",
            width_bits: 128,
            period_ps: 5_000,
            source: "twice the width and the clock of the paper's board: assumed, as no open tool gives \
                     the clock rate of an UltraScale+ part",
        },
        Self {
            name: "ecp5-85",
            width_bits: 64,
            period_ps: 8_000,
            source: "LFE5UM-85F, speed grade 8: 125 MHz, below the 157 MHz of the slowest module of \
                     networks in hw/budget.json, each placed and routed alone; networks were not",
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
}
