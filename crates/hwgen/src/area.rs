//! What a network takes of a device, estimated: the sum of what its library modules were measured
//! to take, and what packages say of the nodes on the board. The measured figures come from
//! `hw/budget.json`, which the hardware tests hold the modules against; none is written down here.

use crate::library::{Instance, LibraryModule};
use crate::network::{Network, NetworkNode, PortOwner};
use crossdock_graph::NodeArea;
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
    /// UltraRAM in units of 288 kbit.
    pub uram: u64,
    /// Multipliers.
    pub dsp: u64,
}

impl Area {
    /// Of the figures in their order in the budget.
    fn of(figures: Figures) -> Self {
        let [lut, ff, bram18, uram, dsp] = figures.map(|figure| figure.max(0.0).round() as u64);
        Self { lut, ff, bram18, uram, dsp }
    }
}

impl From<NodeArea> for Area {
    /// With all memory in blocks of 18 kbit.
    fn from(NodeArea { lut, ff, bram18, dsp, in_uram: _ }: NodeArea) -> Self {
        Self { lut, ff, bram18, uram: 0, dsp }
    }
}

impl std::ops::AddAssign for Area {
    fn add_assign(&mut self, other: Self) {
        self.lut += other.lut;
        self.ff += other.ff;
        self.bram18 += other.bram18;
        self.uram += other.uram;
        self.dsp += other.dsp;
    }
}

impl std::ops::SubAssign for Area {
    fn sub_assign(&mut self, other: Self) {
        self.lut -= other.lut;
        self.ff -= other.ff;
        self.bram18 -= other.bram18;
        self.uram -= other.uram;
        self.dsp -= other.dsp;
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
    /// are UltraScale+ parts (AMD DS890, DS891, DS987). A block of an ECP5 (Lattice FPGA-DS-02012)
    /// has 18 kbit too, but its look-up tables have four inputs, so that logic takes more of them.
    /// Its multipliers are smaller, 18 x 18 bits: UltraScale+ parts have 27 x 18.
    pub const ALL: &[Self] = &[
        Self {
            name: "XCZU7EV",
            board: "ZCU104",
            room: Area { lut: 230_400, ff: 460_800, bram18: 624, uram: 96, dsp: 1728 },
        },
        Self {
            name: "XCK26",
            board: "KV260",
            room: Area { lut: 117_120, ff: 234_240, bram18: 288, uram: 64, dsp: 1248 },
        },
        Self {
            name: "LFE5UM-85F",
            board: "boards with an ECP5-85",
            room: Area { lut: 83_640, ff: 83_640, bram18: 208, uram: 0, dsp: 156 },
        },
    ];

    /// The part of this name, or the one on the board of this name; in any case of letters.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let has =
            |part: &&Self| [part.name, part.board].iter().any(|it| it.eq_ignore_ascii_case(name));
        Self::ALL.iter().find(has)
    }

    /// Whether it has room for this.
    #[must_use]
    pub fn fits(&self, area: Area) -> bool {
        let Area { lut, ff, bram18, uram, dsp } = self.room;
        let memory = area.bram18 <= bram18 && area.uram <= uram;
        area.lut <= lut && area.ff <= ff && memory && area.dsp <= dsp
    }
}

/// What a network and its board need of a part.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The sum, with all memory in blocks of 18 kbit.
    pub area: Area,
    /// Memories that may lie in UltraRAM: what their modules take with them in blocks of 18 kbit,
    /// and in UltraRAM.
    deep: Vec<(Area, Area)>,
    /// Instances without a figure, which are not in the sum.
    pub unknown: usize,
    /// Nodes without a figure, which are not in the sum: nobody has said what they take.
    pub unknown_nodes: Vec<String>,
    /// Nodes whose figures are of other values of these parameters of theirs.
    pub unlike: Vec<(String, Vec<String>)>,
}

impl Needs {
    /// The sum of what instances take.
    #[must_use]
    pub fn of<'a>(instances: impl IntoIterator<Item = &'a Instance>) -> Self {
        let mut needs = Self::default();
        for instance in instances {
            let Some(area) = estimate(instance) else {
                needs.unknown += 1;
                continue;
            };
            needs.area += area;
            needs.deep.extend(in_uram(instance).map(|deep| (area, deep)));
        }
        needs.deep.sort_by_key(|(area, _)| std::cmp::Reverse(area.bram18));
        needs
    }

    /// The same with the nodes of the network's fabric. They are part of the board, or will be.
    #[must_use]
    pub fn with_nodes(self, network: &Network) -> Self {
        self.with(network, &network.nodes.iter().collect::<Vec<_>>())
    }

    /// The same with the nodes alone whose figures are of the values that they have. What this sum
    /// has no room in has none for the whole.
    #[must_use]
    pub fn with_certain_nodes(self, network: &Network) -> Self {
        let is_certain = |node: &&NetworkNode| node.unlike_its_area().is_empty();
        self.with(network, &network.nodes.iter().filter(is_certain).collect::<Vec<_>>())
    }

    fn with(mut self, network: &Network, nodes: &[&NetworkNode]) -> Self {
        for node in nodes {
            let Some(area) = node.area else {
                self.unknown_nodes.push(node.name.clone());
                continue;
            };
            let unlike: Vec<_> = node.unlike_its_area().into_iter().map(str::to_owned).collect();
            if !unlike.is_empty() {
                self.unlike.push((node.name.clone(), unlike));
            }
            self.area += area.into();
            self.deep.extend(area.in_uram.map(|deep| {
                let bram18 = deep.bram18.min(area.bram18);
                let blocks = Area { bram18, ..Area::default() };
                (blocks, Area { uram: deep.uram, ..Area::default() })
            }));
        }
        // Nodes without an implementation: the network knows their ports alone.
        for (.., port) in network.ports() {
            let PortOwner::Node { node, .. } = &port.owner else { continue };
            let is_known = network.nodes.iter().any(|known| known.name == *node);
            if !is_known && !self.unknown_nodes.contains(node) {
                self.unknown_nodes.push(node.clone());
            }
        }
        self.deep.sort_by_key(|(area, _)| std::cmp::Reverse(area.bram18));
        self
    }

    /// Whether everything is in the sum, with the parameters that it has.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unknown == 0 && self.unknown_nodes.is_empty() && self.unlike.is_empty()
    }

    /// Whether none of the parts that are known has room for it.
    #[must_use]
    pub fn fit_no_part(&self) -> bool {
        !Part::ALL.iter().any(|part| part.fits(self.on(part)))
    }

    /// What they take on a part: if it has too few blocks of 18 kbit, deep memories lie in its
    /// UltraRAM, the largest first, as far as there is any.
    #[must_use]
    pub fn on(&self, part: &Part) -> Area {
        let mut area = self.area;
        for (blocks, deep) in &self.deep {
            if area.bram18 > part.room.bram18 && area.uram + deep.uram <= part.room.uram {
                area -= *blocks;
                area += *deep;
            }
        }
        area
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

/// Whether the memory of a measured design is deep enough for UltraRAM, which has 4096 words of 72
/// bits: `hw/budget.json` has its figures with that, too.
#[must_use]
pub fn is_deep(module: LibraryModule, parameters: &[(&str, u64)]) -> bool {
    let beats = match module {
        LibraryModule::AxisFifo => "DEPTH",
        LibraryModule::AxisFifoLast => "SLOT_BEATS",
        _ => return false,
    };
    parameters.iter().any(|(name, value)| *name == beats && *value >= DEEP_BEATS)
}

/// From so many beats on a memory may lie in UltraRAM.
const DEEP_BEATS: u64 = 1024;

/// How `hw/budget.json` calls a design.
#[must_use]
pub fn label(module: LibraryModule, parameters: &[(&str, u64)]) -> String {
    let parameters = parameters.iter();
    let parameters = parameters.map(|(name, value)| format!("-{}-{value}", name.to_lowercase()));
    std::iter::once(module.name().to_owned()).chain(parameters).collect()
}

/// Figures of a design: look-up tables, flip-flops, blocks of 18 kbit, UltraRAM, multipliers.
type Figures = [f64; 5];

/// The figures of a design with its memory in blocks of 18 kbit, and in UltraRAM if it is deep.
struct Measured {
    blocks: Figures,
    deep: Option<Figures>,
}

fn budget() -> &'static BTreeMap<String, Measured> {
    static MEASURED: OnceLock<BTreeMap<String, Measured>> = OnceLock::new();
    MEASURED.get_or_init(|| {
        let budget: Value = serde_json::from_str(BUDGET).unwrap_or_default();
        let designs = budget["designs"].as_object().into_iter().flatten();
        let figures = |of: &Value| {
            let figure = |name: &str| of[name].as_f64();
            // Most designs have none, and no such figures.
            let [uram, dsp] = ["uram", "dsp"].map(|rare| figure(rare).unwrap_or(0.0));
            Some([figure("lut")?, figure("ff")?, figure("bram18")?, uram, dsp])
        };
        let measured = designs.filter_map(|(label, of)| {
            let blocks = figures(of)?;
            Some((label.clone(), Measured { blocks, deep: figures(&of["in_uram"]) }))
        });
        measured.collect()
    })
}

/// The tool that counted, with its version.
pub(crate) fn measured_with() -> String {
    let budget: Value = serde_json::from_str(BUDGET).unwrap_or_default();
    budget["measured_with"].as_str().unwrap_or_default().to_owned()
}

/// What an instance takes, with its memory in blocks of 18 kbit; `None`: there is no figure near
/// it.
#[must_use]
pub fn estimate(instance: &Instance) -> Option<Area> {
    let mut figures = near(instance, &|label| Some(budget().get(label)?.blocks))?;
    if value(instance, WATCHDOG.0).is_some_and(|cycles| cycles > 0) {
        let with = budget().get(&label(instance.module, &[WATCHDOG]))?.blocks;
        let without = budget().get(&label(instance.module, &[]))?.blocks;
        for (figure, (with, without)) in figures.iter_mut().zip(with.iter().zip(without)) {
            *figure += with - without;
        }
    }
    Some(Area::of(figures))
}

/// The same with its memory in UltraRAM; `None`: it has none that is deep enough.
fn in_uram(instance: &Instance) -> Option<Area> {
    near(instance, &|label| budget().get(label)?.deep).map(Area::of)
}

fn value(instance: &Instance, name: &str) -> Option<u64> {
    let mut parameters = instance.parameters.iter();
    let value = parameters.find(|(found, _)| *found == name)?.1.number();
    // One port of a broadcast at most is filtered, and which one makes no difference.
    Some(if name == "LOOP_FILTER" { value.min(1) } else { value })
}

/// Figures of an instance from those of the measured designs around it.
fn near(instance: &Instance, measured: &Lookup<'_>) -> Option<Figures> {
    let module = instance.module;
    let wanted = |name: &str| value(instance, name);
    interpolated(module, (axes(module), measured), &mut Vec::new(), &wanted)
}

/// The figures of a design that was measured.
type Lookup<'a> = dyn Fn(&str) -> Option<Figures> + 'a;

/// Linear along every axis between the two measured values around the wanted one.
fn interpolated(
    module: LibraryModule,
    (axes, measured): (&[Axis], &Lookup<'_>),
    point: &mut Vec<(&'static str, u64)>,
    wanted: &impl Fn(&str) -> Option<u64>,
) -> Option<Figures> {
    let Some(((name, values), rest)) = axes.split_first() else {
        return measured(&label(module, point));
    };
    let value = wanted(name)?;
    let mut at = |value: u64| {
        point.push((name, value));
        let figures = interpolated(module, (rest, measured), point, wanted);
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
    Some([0, 1, 2, 3, 4].map(|i| low[i] + share * (high[i] - low[i])))
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
            let figures = budget().get(&label);
            let figures = figures.unwrap_or_else(|| panic!("hw/budget.json has no {label}"));
            assert_eq!(figures.deep.is_some(), is_deep(module, &parameters), "{label}");
        }
        assert!(measured_with().starts_with("Yosys "), "{}", measured_with());
    }

    #[test]
    fn a_part_has_room_for_what_is_within_all_of_its_figures() {
        for part in Part::ALL {
            assert!(part.fits(part.room), "{}", part.name);
            let Area { lut, bram18, uram, dsp, .. } = part.room;
            assert!(!part.fits(Area { dsp: dsp + 1, ..Area::default() }), "{}", part.name);
            assert!(!part.fits(Area { bram18: bram18 + 1, ..Area::default() }), "{}", part.name);
            assert!(!part.fits(Area { uram: uram + 1, ..Area::default() }), "{}", part.name);
            assert!(!part.fits(Area { lut: lut + 1, ..part.room }), "{}", part.name);
        }
    }

    #[test]
    fn deep_memories_lie_in_ultra_ram_if_blocks_are_short() {
        let fifo = |beats| Instance {
            module: LibraryModule::AxisFifoLast,
            parameters: vec![
                ("WIDTH", Number(64)),
                ("KEEP", Number(1)),
                ("SLOT_BEATS", Number(beats)),
            ],
        };
        let [board, small] = [&Part::ALL[0], &Part::ALL[2]];
        // An image of half a megabyte, and three of them are kept: 196 608 beats of 72 bits.
        let image = fifo(65_536);
        let needs = |fifos: &[Instance]| Needs::of(fifos);
        let one = needs(std::slice::from_ref(&image));
        assert!(!board.fits(one.area), "{one:?}");
        let placed = one.on(board);
        assert_eq!((placed.bram18, placed.uram, board.fits(placed)), (0, 48, true));
        assert_eq!(one.on(small), one.area, "it has no UltraRAM");
        // What has room in blocks lies there; what is too shallow, too.
        let few = needs(&[fifo(16_384), fifo(64)]);
        assert_eq!(few.on(board), few.area);
        let two = needs(&[image.clone(), fifo(64), image.clone()]);
        let placed = two.on(board);
        let shallow = estimate(&fifo(64)).map(|area| area.bram18);
        assert_eq!((Some(placed.bram18), placed.uram, board.fits(placed)), (shallow, 96, true));
        let three = needs(&[image.clone(), image.clone(), image]);
        assert!(!board.fits(three.on(board)), "{three:?}");
    }

    #[test]
    fn a_measured_instance_is_estimated_at_its_figures_and_others_in_between() {
        let fifo = |depth| {
            let parameters = vec![("WIDTH", Number(64)), ("DEPTH", Number(depth))];
            estimate(&Instance { module: LibraryModule::AxisFifo, parameters }).unwrap()
        };
        let measured = budget()["axis_fifo-width-64-depth-4096"].blocks;
        assert_eq!(fifo(4096), Area::of(measured));
        let (least, most) = (fifo(512).bram18, fifo(4096).bram18);
        assert!((least..=most).contains(&fifo(1024).bram18));
        // Memory goes on growing with the depth beyond what was measured.
        assert!(fifo(1 << 16).bram18 > 12 * most);
    }
}
