//! Rows of the experiment: times of a cell, how the two mappings compare, what the paper says of
//! that, and whether what is to be reached is.

use super::board::{Mapped, Side};
use super::message::{Costs, Took};
use crate::rows::Record;
use crossdock_fabric::Profile;
use serde_json::Value;

/// Bytes of a frame's header.
const HEADER_BYTES: u64 = 24;
/// Cycles that a gateway may add to a message for software.
const ADDED_CYCLES_MAX: u64 = 40;
/// The largest message and the most subscribers: where the paper's largest factors are.
const LARGEST: (usize, u32) = (8, 10_000_000);
const SMALLEST_BYTES: u32 = 10_000;

/// What one board took for one size.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) publisher: Side,
    pub(crate) subscribers: usize,
    pub(crate) mapped: Mapped,
    pub(crate) bytes: u32,
    pub(crate) took: Took,
    pub(crate) profile: &'static Profile,
    pub(crate) seed: u64,
}

/// A factor of the paper, software-mapped over gateway.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PaperFactor {
    pub(crate) text: &'static str,
    /// `printed`, or `implied`: the text leaves open for which cell it is.
    pub(crate) is: &'static str,
    least: f64,
    most: f64,
}

impl PaperFactor {
    /// A number holds within 20 % or to its digits, a range where it is met.
    pub(crate) fn holds(&self, value: f64) -> bool {
        let shown = format!("{value:.2}");
        (self.least..=self.most).contains(&value) || shown == self.text
    }
}

const fn number(text: &'static str, is: &'static str, value: f64) -> PaperFactor {
    PaperFactor { text, is, least: value * 0.8, most: value * 1.2 }
}

/// What the paper says of the slowest hardware subscriber.
fn paper_hardware(publisher: Side, subscribers: usize, bytes: u32) -> Option<PaperFactor> {
    let largest = (subscribers, bytes) == LARGEST;
    let most = subscribers == LARGEST.0;
    let implied = "implied";
    match publisher {
        // Section 4: "for the example of 8 hardware nodes, ranges from 1.94 for small messages to
        // 7.95 for larger messages".
        Side::Hardware if largest => Some(number("7.95", implied, 7.95)),
        Side::Hardware if most && bytes == SMALLEST_BYTES => Some(number("1.94", implied, 1.94)),
        // "For larger message sizes, we achieve speedups up to 3.79"; "smaller message sizes ..
        // below 1".
        Side::Software if largest => Some(number("3.79", implied, 3.79)),
        Side::Software if bytes == SMALLEST_BYTES => {
            Some(PaperFactor { text: "<1", is: implied, least: 0.0, most: 0.999_999 })
        }
        _ => None,
    }
}

/// What it says of the software subscriber.
fn paper_software(publisher: Side, subscribers: usize, bytes: u32) -> Option<PaperFactor> {
    match publisher {
        // "Up to a factor of approximately 2" for smaller sizes, approaching 1 with more nodes.
        Side::Hardware if (subscribers, bytes) == (2, SMALLEST_BYTES) => {
            Some(number("0.5", "implied", 0.5))
        }
        Side::Hardware if (subscribers, bytes) == LARGEST => Some(number("1", "implied", 1.0)),
        Side::Hardware => None,
        // "From 1.06 to 2.05 for all measured message sizes and numbers of hardware nodes".
        Side::Software => {
            Some(PaperFactor { text: "1.06 to 2.05", is: "printed", least: 1.055, most: 2.055 })
        }
    }
}

/// Something to reach, and whether it is.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) says: String,
    pub(crate) reached: bool,
}

/// A cell beside its counterpart.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) cell: Cell,
    /// Of a gateway's cell: the software-mapped one's times over its own.
    pub(crate) factors: Option<[f64; 2]>,
    pub(crate) paper: [Option<PaperFactor>; 2],
    /// Whether the board is a reproduction of the paper's, whose factors it is to have.
    pub(crate) reproduces: bool,
    pub(crate) targets: Vec<Target>,
}

impl Row {
    /// The cell for people.
    pub(crate) fn shown(&self) -> String {
        let Cell { publisher, subscribers, mapped, bytes, .. } = &self.cell;
        format!(
            "{} publisher, {subscribers} hardware subscribers, {bytes} bytes, {}",
            publisher.word(),
            mapped.word()
        )
    }

    fn cycles(&self, ps: u64) -> f64 {
        ps as f64 / self.cell.profile.period_ps as f64
    }

    /// Times that the message crossed host memory, from the bytes that did.
    pub(crate) fn transfers(&self) -> f64 {
        let Took { traffic, payload_bytes, .. } = self.cell.took;
        (traffic.bytes_read + traffic.bytes_written) as f64 / payload_bytes as f64
    }

    /// Whether a reproduction's factor was predicted or fitted: to hardware (0), to software (1).
    pub(crate) fn rests_on(&self, which: usize) -> Option<&'static str> {
        let has_factor = self.reproduces && self.factors.is_some() && self.paper[which].is_some();
        has_factor.then(|| rests_on(self.cell.publisher, which))
    }

    /// Whether a reproduction has the paper's factor: to hardware (0), to software (1).
    pub(crate) fn holds(&self, which: usize) -> Option<bool> {
        let holds = self.paper[which]?.holds(self.factors?[which]);
        self.reproduces.then_some(holds)
    }
}

/// On what a reproduction's factor rests.
fn rests_on(publisher: Side, which: usize) -> &'static str {
    match (publisher, which) {
        // Memory, clock and a constant of software, all from table I of the fpgaDDS paper.
        (Side::Hardware, 0) => "predicted",
        // Costs of software per byte, which were fitted on a factor of the same paper.
        _ => "fitted",
    }
}

fn ms(ps: u64) -> f64 {
    ps as f64 / 1e9
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let Cell { publisher, subscribers, mapped, bytes, took, profile, seed } = &self.cell;
        let factor = |which: usize| self.factors.map(|it| rounded(it[which]));
        let paper = |which: usize| self.paper[which].filter(|_| self.factors.is_some());
        let says: Vec<&str> = self.targets.iter().map(|target| target.says.as_str()).collect();
        let reached = self.targets.iter().all(|target| target.reached);
        vec![
            ("publisher", publisher.word().into()),
            ("hardware_subscribers", (*subscribers).into()),
            ("message_bytes", (*bytes).into()),
            ("mapping", mapped.word().into()),
            ("to_slowest_hardware_ms", rounded(ms(took.hardware_ps)).into()),
            ("to_slowest_hardware_cycles", self.cycles(took.hardware_ps).ceil().into()),
            ("to_software_ms", rounded(ms(took.software_ps)).into()),
            ("memif_bytes_read", took.traffic.bytes_read.into()),
            ("memif_bytes_written", took.traffic.bytes_written.into()),
            ("memif_transfers", rounded(self.transfers()).into()),
            ("hardware_factor", factor(0).into()),
            ("hardware_factor_paper", paper(0).map(|it| it.text).into()),
            ("hardware_factor_paper_is", paper(0).map(|it| it.is).into()),
            ("hardware_factor_rests_on", self.rests_on(0).into()),
            ("hardware_factor_holds", self.holds(0).into()),
            ("software_factor", factor(1).into()),
            ("software_factor_paper", paper(1).map(|it| it.text).into()),
            ("software_factor_paper_is", paper(1).map(|it| it.is).into()),
            ("software_factor_rests_on", self.rests_on(1).into()),
            ("software_factor_holds", self.holds(1).into()),
            ("targets", says.join("; ").into()),
            ("targets_reached", (!says.is_empty()).then_some(reached).into()),
            ("profile", profile.name.into()),
            ("seed", (*seed).into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

/// The rows of these cells. `costs`: they are Crossdock's, and what it is to reach is looked at;
/// else they are of a reproduction.
pub(crate) fn rows(cells: &[Cell], costs: Option<&Costs>) -> Vec<Row> {
    let mut rows = Vec::new();
    for cell in cells {
        let Cell { publisher, subscribers, bytes, .. } = *cell;
        let other = cells.iter().find(|it| {
            (it.publisher, it.subscribers, it.bytes, it.mapped)
                == (publisher, subscribers, bytes, Mapped::Software)
        });
        let other = other.filter(|_| cell.mapped == Mapped::Gateway);
        let over = |other: u64, own: u64| other as f64 / own.max(1) as f64;
        let factors = other.map(|it| {
            let (slow, fast) = (it.took, cell.took);
            [over(slow.hardware_ps, fast.hardware_ps), over(slow.software_ps, fast.software_ps)]
        });
        let targets = match (other, costs) {
            (Some(other), Some(costs)) => targets(cell, other, costs),
            _ => Vec::new(),
        };
        let paper = [
            paper_hardware(publisher, subscribers, bytes),
            paper_software(publisher, subscribers, bytes),
        ];
        let reproduces = costs.is_none();
        rows.push(Row { cell: cell.clone(), factors, paper, reproduces, targets });
    }
    rows
}

/// What a gateway is to reach, beside the software-mapped topic.
fn targets(cell: &Cell, other: &Cell, costs: &Costs) -> Vec<Target> {
    let Cell { took, profile, bytes, .. } = cell;
    let beat_bytes = u64::from(profile.width_bits / 8);
    let pass_ps = u64::from(*bytes).div_ceil(beat_bytes) * profile.period_ps;
    let largest = (cell.subscribers, *bytes) == LARGEST;
    let factor = other.took.hardware_ps as f64 / took.hardware_ps as f64;
    let payload = took.payload_bytes;
    let (read, written) = (took.traffic.bytes_read, took.traffic.bytes_written);
    let mut targets = Vec::new();
    let mut target = |says: String, reached| targets.push(Target { says, reached });
    match cell.publisher {
        Side::Hardware => {
            target(
                format!("written {written} bytes once, read {read}"),
                (read, written) == (0, payload + HEADER_BYTES),
            );
            let added = took.software_ps as f64 - other.took.software_ps as f64;
            let added = added / profile.period_ps as f64;
            target(
                format!("software {added:+.0} cycles, at most {ADDED_CYCLES_MAX}"),
                added <= ADDED_CYCLES_MAX as f64,
            );
            if largest {
                let over = took.hardware_ps as f64 / pass_ps as f64;
                target(format!("{over:.4} of a pass, at most 1.01"), over <= 1.01);
                target(format!("{factor:.2} times as fast, at least 8"), factor >= 8.0);
            }
        }
        Side::Software => {
            // Whole beats: what lies in scratch memory and what in the message may share some.
            let once = written == 0 && (payload..=payload + 4 * beat_bytes).contains(&read);
            target(format!("read {read} bytes once, written {written}"), once);
            target(format!("{factor:.3} times as fast, at least 1"), factor >= 1.0);
            let copied = costs.copy_byte_ns * f64::from(*bytes);
            let alone_ns = costs.publish_ns + costs.take_ns + costs.wake_ns + copied;
            let over = took.software_ps as f64 / (alone_ns * 1e3);
            // Said, not measured: no step of software to software waits for the board here.
            let says = format!(
                "{over:.4} of a topic without hardware (by construction: the same steps), at most 1.02"
            );
            target(says, over <= 1.02);
            if largest {
                let publish_ns = costs.publish_ns + costs.take_ns + costs.wake_ns;
                let publish_ps = (publish_ns + costs.convert_ns) * 1e3;
                let over = (took.hardware_ps as f64 - publish_ps) / pass_ps as f64;
                let says = format!("publishing and {over:.4} of a pass, at most 1.01");
                target(says, over <= 1.01);
                target(format!("{factor:.2} times as fast, at least 7.8"), factor >= 7.8);
            }
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_fabric::Traffic;

    fn cell(mapped: Mapped, hardware_ps: u64, software_ps: u64, bytes_written: u64) -> Cell {
        let traffic = Traffic { bytes_written, ..Traffic::default() };
        let took = Took { hardware_ps, software_ps, payload_bytes: 100_064, traffic };
        let (publisher, subscribers, bytes) = (Side::Hardware, 8, 100_000);
        let profile = &Profile::ALL[1];
        Cell { publisher, subscribers, mapped, bytes, took, profile, seed: 1 }
    }

    #[test]
    fn a_second_transfer_and_more_than_forty_cycles_are_missed_targets() {
        let processor = Profile::ALL[1].processor.expect("Crossdock's software");
        let costs = super::super::own_costs(&processor);
        let of = |software_ps, written| {
            let software = cell(Mapped::Software, 900_000_000, 300_000_000, 100_088);
            let cells = [software, cell(Mapped::Gateway, 125_000_000, software_ps, written)];
            let rows = rows(&cells, Some(&costs));
            assert!(rows[0].targets.is_empty() && rows[0].factors.is_none());
            assert_eq!(rows[1].factors.map(|it| it[0]), Some(7.2));
            rows[1].targets.iter().map(|target| target.reached).collect::<Vec<_>>()
        };
        assert_eq!(of(300_400_000, 100_088), [true, true]);
        assert_eq!(of(300_410_000, 100_088), [true, false]);
        assert_eq!(of(300_000_000, 200_176), [false, true]);
    }

    #[test]
    fn a_factor_that_costs_per_byte_decide_is_fitted_and_no_prediction() {
        let of = |publisher, costs: Option<&Costs>| {
            let cell = |mapped| Cell { publisher, ..cell(mapped, 900, 300, 0) };
            let cells = [Mapped::Software, Mapped::Gateway]
                .map(|mapped| Cell { bytes: LARGEST.1, ..cell(mapped) });
            let rows = rows(&cells, costs);
            [0, 1].map(|which| rows[1].rests_on(which))
        };
        assert_eq!(of(Side::Hardware, None), [Some("predicted"), Some("fitted")]);
        assert_eq!(of(Side::Software, None), [Some("fitted"), Some("fitted")]);
        let processor = Profile::ALL[1].processor.expect("Crossdock's software");
        let own = super::super::own_costs(&processor);
        assert_eq!(of(Side::Software, Some(&own)), [None, None]);
    }

    #[test]
    fn a_factor_of_the_paper_holds_within_a_fifth_or_in_its_range() {
        let largest = paper_hardware(Side::Hardware, 8, 10_000_000).unwrap();
        assert!(largest.holds(8.9) && !largest.holds(9.6) && largest.is == "implied");
        let range = paper_software(Side::Software, 4, 100_000).unwrap();
        assert!(range.holds(1.06) && range.holds(2.05) && !range.holds(1.0));
        assert!(!paper_hardware(Side::Software, 2, 10_000).unwrap().holds(1.0));
        assert_eq!(paper_hardware(Side::Hardware, 4, 10_000_000), None);
    }
}
