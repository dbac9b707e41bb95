//! What a network takes of a device, estimated: the sum of what its library modules were measured
//! to take. The measured figures come from `hw/budget.json`, which the hardware tests hold the
//! modules against; none is written down here.

use crate::library::{Instance, LibraryModule};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Figures of the whole hardware library, by design.
const BUDGET: &str = include_str!("../../../hw/budget.json");

/// Resources of an UltraScale+ part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Look-up tables, those that serve as memory included.
    pub lut: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Block memory in units of 18 kbit.
    pub bram18: u64,
}

impl std::ops::AddAssign for Area {
    fn add_assign(&mut self, other: Self) {
        self.lut += other.lut;
        self.ff += other.ff;
        self.bram18 += other.bram18;
    }
}

/// What a part has of everything, and which board has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The part.
    pub name: &'static str,
    /// A board that has it.
    pub board: &'static str,
    /// All that it has, from its maker's data sheet.
    pub room: Area,
}

impl Part {
    /// Parts of boards that profiles and papers name. The estimates are of the first ones, which
    /// are UltraScale+ parts (AMD DS890, DS987). A block of an ECP5 (Lattice FPGA-DS-02012) has
    /// 18 kbit too, but its look-up tables have four inputs, so that logic takes more of them.
    pub const ALL: [Self; 3] = [
        Self {
            name: "XCZU7EV",
            board: "ZCU104",
            room: Area { lut: 230_400, ff: 460_800, bram18: 624 },
        },
        Self {
            name: "XCK26",
            board: "KV260",
            room: Area { lut: 117_120, ff: 234_240, bram18: 288 },
        },
        Self {
            name: "LFE5UM-85F",
            board: "boards with an ECP5-85",
            room: Area { lut: 83_640, ff: 83_640, bram18: 208 },
        },
    ];

    /// Whether it has room for this.
    #[must_use]
    pub fn fits(&self, area: Area) -> bool {
        let Area { lut, ff, bram18 } = self.room;
        area.lut <= lut && area.ff <= ff && area.bram18 <= bram18
    }
}

/// A parameter and the values at which a module was measured, ascending.
type Axis = (&'static str, &'static [u64]);

const WIDTH: Axis = ("WIDTH", &[64, 256]);
/// All boards have the same.
const ADDRESS_WIDTH: Axis = ("ADDRESS_WIDTH", &[crate::board::ADDRESS_WIDTH as u64]);

/// Where a module was measured. Area is taken to be linear between two values, and beyond the last
/// two: ports and memory nearly are.
fn axes(module: LibraryModule) -> &'static [Axis] {
    match module {
        LibraryModule::AxisArb => {
            &[WIDTH, ("PORTS", &[2, 8]), ("CHECK", &[0, 1]), ("REGISTER", &[0, 1])]
        }
        LibraryModule::AxisBcast => {
            &[WIDTH, ("PORTS", &[2, 16]), ("ENABLE", &[0, 1]), ("LOOP_FILTER", &[0, 1])]
        }
        LibraryModule::AxisCdc => &[WIDTH],
        LibraryModule::AxisFifo => &[WIDTH, ("DEPTH", &[4, 64, 512, 4096, 32768])],
        LibraryModule::AxisFifoLast => {
            &[WIDTH, ("KEEP", &[1, 4]), ("SLOT_BEATS", &[64, 1024, 32768])]
        }
        LibraryModule::AxisProbe => &[("COUNT_WIDTH", &[48])],
        LibraryModule::AxisWidth => {
            &[("S_WIDTH", &[64, 128, 256, 512]), ("M_WIDTH", &[64, 128, 256, 512])]
        }
        LibraryModule::Gateway => &[WIDTH, ADDRESS_WIDTH],
        LibraryModule::HostPort => &[("GATEWAYS", &[1, 8]), ADDRESS_WIDTH],
        LibraryModule::MemifMmu => {
            &[WIDTH, ADDRESS_WIDTH, ("WINDOWS", &[16]), ("OUTSTANDING", &[32])]
        }
        LibraryModule::MemifShare => &[WIDTH, ADDRESS_WIDTH, ("PORTS", &[2, 8])],
        LibraryModule::Osif => &[
            ("CLIENTS", &[2, 16]),
            ("WORD_WIDTH", &[128]),
            ("UP_DEPTH", &[64]),
            ("DOWN_DEPTH", &[32]),
        ],
        // How many words there are is decided by some comparisons with constants.
        LibraryModule::RegisterBridge => &[("CLOCKS", &[1, 2])],
        LibraryModule::RegisterWords => &[("STATUS", &[2, 32]), ("CONTROL", &[1, 8])],
        // In nodes, not in networks and boards.
        _ => &[],
    }
}

/// Whether the generator ever makes such an instance: what it never makes is not measured.
fn is_made(module: LibraryModule, point: &[(&'static str, u64)]) -> bool {
    let value = |name| point.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
    match module {
        LibraryModule::AxisArb => value("REGISTER") <= value("CHECK"),
        LibraryModule::AxisWidth => value("S_WIDTH") != value("M_WIDTH"),
        _ => true,
    }
}

/// A design that was measured: the module with these parameters.
pub type MeasuredDesign = (LibraryModule, Vec<(&'static str, u64)>);

/// Every design of these modules whose figures the estimates need: `hw/budget.json` has all of
/// them.
#[must_use]
pub fn measured_designs(modules: &[LibraryModule]) -> Vec<MeasuredDesign> {
    let mut designs = Vec::new();
    for &module in modules {
        let mut points: Vec<Vec<(&str, u64)>> = vec![Vec::new()];
        for (name, values) in axes(module) {
            let extended = points.iter().flat_map(|point| {
                values.iter().map(|value| [point.as_slice(), &[(*name, *value)]].concat())
            });
            points = extended.collect();
        }
        points.retain(|point| is_made(module, point));
        designs.extend(points.into_iter().map(|point| (module, point)));
        if module == LibraryModule::AxisArb {
            designs.extend([(module, vec![]), (module, vec![WATCHDOG])]);
        }
    }
    designs
}

/// What a watchdog adds is the same at all widths: the two designs with and without it differ in
/// nothing else.
const WATCHDOG: (&str, u64) = ("WATCHDOG_CYCLES", 1 << 16);

/// How `hw/budget.json` calls a design.
#[must_use]
pub fn label(module: LibraryModule, parameters: &[(&str, u64)]) -> String {
    let parameters = parameters.iter();
    let parameters = parameters.map(|(name, value)| format!("-{}-{value}", name.to_lowercase()));
    std::iter::once(module.name().to_owned()).chain(parameters).collect()
}

fn budget() -> &'static BTreeMap<String, [f64; 3]> {
    static FIGURES: OnceLock<BTreeMap<String, [f64; 3]>> = OnceLock::new();
    FIGURES.get_or_init(|| {
        let budget: Value = serde_json::from_str(BUDGET).unwrap_or_default();
        let designs = budget["designs"].as_object().into_iter().flatten();
        let figures = designs.filter_map(|(label, figures)| {
            let figure = |name: &str| figures[name].as_f64();
            Some((label.clone(), [figure("lut")?, figure("ff")?, figure("bram18")?]))
        });
        figures.collect()
    })
}

/// The tool that counted, with its version.
pub(crate) fn measured_with() -> String {
    let budget: Value = serde_json::from_str(BUDGET).unwrap_or_default();
    budget["measured_with"].as_str().unwrap_or_default().to_owned()
}

/// What an instance takes; `None`: there is no figure near it.
#[must_use]
pub fn estimate(instance: &Instance) -> Option<Area> {
    let module = instance.module;
    let value = |name: &str| {
        let mut parameters = instance.parameters.iter();
        let value = parameters.find(|(found, _)| *found == name)?.1.number();
        // One port of a broadcast at most is filtered, and which one makes no difference.
        Some(if name == "LOOP_FILTER" { value.min(1) } else { value })
    };
    let mut figures = interpolated(module, axes(module), &mut Vec::new(), &value)?;
    if value(WATCHDOG.0).is_some_and(|cycles| cycles > 0) {
        let with = budget().get(&label(module, &[WATCHDOG]))?;
        let without = budget().get(&label(module, &[]))?;
        for (figure, (with, without)) in figures.iter_mut().zip(with.iter().zip(without)) {
            *figure += with - without;
        }
    }
    let [lut, ff, bram18] = figures.map(|figure| figure.max(0.0).round() as u64);
    Some(Area { lut, ff, bram18 })
}

/// The sum of what instances take, and how many of them have no figure.
#[must_use]
pub fn total<'a>(instances: impl IntoIterator<Item = &'a Instance>) -> (Area, usize) {
    let (mut sum, mut unknown) = (Area::default(), 0);
    for instance in instances {
        match estimate(instance) {
            Some(area) => sum += area,
            None => unknown += 1,
        }
    }
    (sum, unknown)
}

/// Linear along every axis between the two measured values around the wanted one.
fn interpolated(
    module: LibraryModule,
    axes: &[Axis],
    point: &mut Vec<(&'static str, u64)>,
    wanted: &impl Fn(&str) -> Option<u64>,
) -> Option<[f64; 3]> {
    let Some(((name, values), rest)) = axes.split_first() else {
        return budget().get(&label(module, point)).copied();
    };
    let value = wanted(name)?;
    let mut at = |value: u64| {
        point.push((name, value));
        let figures = interpolated(module, rest, point, wanted);
        point.pop();
        figures
    };
    if values.contains(&value) {
        return at(value);
    }
    if values.len() == 1 {
        return None;
    }
    let above = values.partition_point(|measured| *measured < value).clamp(1, values.len() - 1);
    let (low, high) = (*values.get(above - 1)?, *values.get(above)?);
    let share = (value as f64 - low as f64) / (high as f64 - low as f64);
    let (low, high) = (at(low)?, at(high)?);
    Some([0, 1, 2].map(|i| low[i] + share * (high[i] - low[i])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Parameter::Number;

    #[test]
    fn every_figure_that_an_estimate_can_need_is_in_the_budget() {
        let modules = [&LibraryModule::OF_NETWORKS[..], &LibraryModule::OF_BOARDS[..]].concat();
        for (module, parameters) in measured_designs(&modules) {
            let label = label(module, &parameters);
            assert!(budget().contains_key(&label), "hw/budget.json has no {label}");
        }
        assert!(measured_with().starts_with("Yosys "), "{}", measured_with());
    }

    #[test]
    fn a_part_has_room_for_what_is_within_all_of_its_figures() {
        for part in Part::ALL {
            assert!(part.fits(part.room), "{}", part.name);
            let Area { lut, ff, bram18 } = part.room;
            assert!(!part.fits(Area { bram18: bram18 + 1, ..Area::default() }), "{}", part.name);
            assert!(!part.fits(Area { lut: lut + 1, ff, bram18 }), "{}", part.name);
        }
    }

    #[test]
    fn a_measured_instance_is_estimated_at_its_figures_and_others_in_between() {
        let fifo = |depth| {
            let parameters = vec![("WIDTH", Number(64)), ("DEPTH", Number(depth))];
            estimate(&Instance { module: LibraryModule::AxisFifo, parameters }).unwrap()
        };
        let measured = budget()["axis_fifo-width-64-depth-4096"].map(|figure| figure as u64);
        let found = fifo(4096);
        assert_eq!([found.lut, found.ff, found.bram18], measured);
        let (least, most) = (fifo(512).bram18, fifo(4096).bram18);
        assert!((least..=most).contains(&fifo(1024).bram18));
        // Memory goes on growing with the depth beyond what was measured.
        assert!(fifo(1 << 16).bram18 > 12 * most);
    }
}
