//! What a network is, in words and numbers: report, register map and layout tables. Must not decide
//! anything about the network.

use crate::area::{Area, Needs, Part, estimate, measured_with};
use crate::layout::{ElementCount, FieldPlace, PayloadLayout};
use crate::library::Instance;
use crate::network::{Network, NetworkNode, NetworkPort, Register, Stage};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Clock rate for which the report gives times, besides cycles.
const EXAMPLE_MHZ: f64 = 100.0;

/// `instances`: of each topic, the library modules that it is made of, and then those of the board.
pub(crate) fn report(network: &Network, instances: &[Vec<Instance>], needs: &Needs) -> String {
    let mut text = format!(
        "# Network of fabric `{}`, graph `{}`\n\nTop module `{}`; clocks: {}.\n\n## Topics\n\n",
        network.fabric,
        network.graph,
        network.module,
        network
            .clocks
            .iter()
            .map(|clock| format!("`{}`", clock.clk()))
            .collect::<Vec<_>>()
            .join(", ")
    );
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        text,
        "| topic | type | publishers | subscribers | bits | clock | longest message, bytes | beats of \
         its frame | cycles | at {EXAMPLE_MHZ} MHz |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    for topic in &network.topics {
        let beats = topic.beats_max(topic.width);
        let publishers = topic.publishers.len() as u64;
        let cycles = publishers.max(1) * beats + topic.constant_cycles();
        let _ = writeln!(
            text,
            "| {} | {} | {publishers} | {} | {} | {} | {} | {beats} | {cycles} | {:.2} us |",
            topic.shown(),
            topic.layout.type_name,
            topic.subscribers.len(),
            topic.width,
            topic.clock.clk(),
            topic.layout.payload_bytes_max,
            cycles as f64 / EXAMPLE_MHZ
        );
    }
    text.push_str(
        "\nCycles: publishers x beats + constant, from the first beat at the publishers, which send one \
         longest message each, until every subscriber has taken the last; nobody stalls, and the stages \
         of single ports (below) are not counted.\n\n## Ports\n\n| port | of | direction | publisher id | bits | clock | \
         stages | cycles of the stages |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (topic, publishes, port) in network.ports() {
        let cycles = topic.stage_cycles(port).map_or("by the clocks".into(), |it| it.to_string());
        let _ = writeln!(
            text,
            "| `{}` | {} on {} | {} | {} | {} | {} | {} | {cycles} |",
            port.signals,
            port.owner.shown(),
            topic.shown(),
            if publishes { "into the network" } else { "out of the network" },
            if publishes { port.publisher_id.to_string() } else { "-".to_owned() },
            port.width,
            port.clock.clk(),
            stages(port, publishes)
        );
    }
    text.push_str(&areas(network, instances, needs));
    text.push_str(&nodes(network));
    if !network.software_topics.is_empty() {
        let _ = writeln!(
            text,
            "\n## Direct\n\nSoftware-mapped topics with nodes of this fabric: {}. Each port there has a stream \
             and a gateway of its own, and its messages pass between host memory and this port once: a \
             message for several nodes is read once for each.",
            network.software_topics.join(", ")
        );
    }
    text
}

/// The nodes that are part of the board.
fn nodes(network: &Network) -> String {
    if network.nodes.is_empty() {
        return String::new();
    }
    let mut text = "\n## Nodes on the board\n\n| node | type | module | parameters | clock |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for node in &network.nodes {
        let parameters = node.parameters.iter().map(|it| format!("{} = {}", it.name, it.value));
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "| {} | {} of {} | `{}` | {} | {} |",
            node.name,
            node.node_type,
            node.package,
            node.module,
            if parameters.is_empty() { "-" } else { &parameters },
            node.clock.clk()
        );
    }
    text
}

/// What the network, its board and its nodes take, by topic and module.
fn areas(network: &Network, instances: &[Vec<Instance>], needs: &Needs) -> String {
    let mut text = format!(
        "\n## Area, estimated\n\nThe sum of what the library modules take alone on an UltraScale+ part, as {} \
         counts it for each (the figures that `hw/budget.json` holds them to); between the parameters that \
         were measured it is taken to be linear. Nodes take what their package files say (`area`), which is \
         for the default values of the parameters that size them (`sized_by`). Not placed, not routed; says \
         nothing of clock rates. Block memory in units of 18 kbit.\n\n| topic or node | module | instances | look-up tables | flip-flops \
         | block memory | multipliers |\n|---|---|---|---|---|---|---|\n",
        measured_with()
    );
    let mut count = 0;
    let topics = network.topics.iter().map(|topic| topic.shown().to_string());
    let parts = topics.chain(["of the board".to_owned()]);
    for (part, instances) in parts.zip(instances) {
        let mut modules: BTreeMap<&str, (u64, Area)> = BTreeMap::new();
        for instance in instances {
            let Some(area) = estimate(instance) else { continue };
            let (count, sum) = modules.entry(instance.module.name()).or_default();
            *count += 1;
            *sum += area;
        }
        for (module, (instances, area)) in modules {
            let _ = writeln!(text, "| {part} | `{module}` | {instances} | {} |", figures(area));
            count += instances;
        }
    }
    for node in &network.nodes {
        let Some(area) = node.area else { continue };
        let NetworkNode { name, module, .. } = node;
        let _ = writeln!(text, "| {name} | `{module}` | 1 | {} |", figures(area.into()));
        count += 1;
    }
    let _ = writeln!(text, "| all | | {count} | {} |", figures(needs.area));
    if needs.unknown > 0 {
        let _ =
            writeln!(text, "\nWithout a figure, and not in the sum: {} instances.", needs.unknown);
    }
    if let Some(nodes) = uncounted(needs) {
        let _ = writeln!(text, "\nNot in the sum: {nodes}.");
    }
    if let Some(nodes) = unlike(needs) {
        let _ = writeln!(text, "\nThe figures of nodes are of other values of {nodes}.");
    }
    text + &room(needs)
}

/// Cells of a row but for UltraRAM, where only parts may put memory.
fn figures(Area { lut, ff, bram18, dsp, uram: _ }: Area) -> String {
    format!("{lut} | {ff} | {bram18} | {dsp}")
}

/// The nodes that are not in the sum, with the reason.
fn uncounted(needs: &Needs) -> Option<String> {
    let nodes: Vec<_> = needs.unknown_nodes.iter().map(|node| format!("`{node}`")).collect();
    let nodes = nodes.join(", ");
    (!nodes.is_empty())
        .then(|| format!("{nodes}, as no hardware package file says what they take (`area`)"))
}

/// The parameters with other values than the figures of their nodes are of.
fn unlike(needs: &Needs) -> Option<String> {
    let nodes = needs.unlike.iter().map(|(node, parameters)| {
        let names: Vec<_> = parameters.iter().map(|name| format!("`{name}`")).collect();
        format!("{} of `{node}`", names.join(", "))
    });
    let nodes: Vec<_> = nodes.collect();
    (!nodes.is_empty()).then(|| nodes.join("; "))
}

/// What parts have of everything that the network and its board take.
fn room(needs: &Needs) -> String {
    let mut text = "\n## Room\n\nWhat parts have, and whether the sum above fits. If a part has too few \
                    blocks of 18 kbit, FIFOs and memories of nodes that may do so lie in its UltraRAM (288 kbit \
                    each), the largest first: tell the vendor's tool so.\n\n| part | board | look-up tables | \
                    flip-flops | block memory | UltraRAM | multipliers | fits |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let known = if needs.is_complete() { "" } else { "as far as is known: " };
    // Nodes that are not counted only add; of others the sum may be too high.
    let no = if needs.unlike.is_empty() { "no" } else { "as far as is known: no" };
    for part in Part::ALL {
        let Area { lut, ff, bram18, uram, dsp } = part.room;
        let placed = needs.on(part);
        let fits = match (part.fits(placed), placed.uram) {
            (false, _) => no.to_owned(),
            (true, 0) => format!("{known}yes"),
            (true, uram) => {
                format!("{known}yes, with {} blocks and {uram} of UltraRAM", placed.bram18)
            }
        };
        let Part { name, board, .. } = part;
        let _ = writeln!(
            text,
            "| {name} | {board} | {lut} | {ff} | {bram18} | {uram} | {dsp} | {fits} |"
        );
    }
    text
}

/// A sentence for people if the sum, which fits into a part, may be too low, and what to do.
pub(crate) fn doubt(needs: &Needs, part: &Part) -> Option<[String; 2]> {
    let reasons = [
        uncounted(needs).map(|nodes| format!("not counted are {nodes}")),
        unlike(needs).map(|nodes| format!("the figures of nodes are of other values of {nodes}")),
        (needs.unknown > 0).then(|| format!("{} instances have no figure", needs.unknown)),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    let message = format!(
        "whether {} ({}) has room is not known: {}",
        part.name,
        part.board,
        reasons.join("; ")
    );
    let advice = "synthesise the board, or measure these nodes and write their `area`";
    (!reasons.is_empty()).then(|| [message, advice.to_owned()])
}

/// A sentence for people if one of these parts has no room for the network with its nodes, and what
/// to do.
pub(crate) fn tight(network: &Network, needs: &Needs, parts: &[Part]) -> Option<[String; 2]> {
    let small = parts.iter().filter_map(|part| Some((part, short(part, needs.on(part))?)));
    let small: Vec<String> =
        small.map(|(part, has)| format!("{} ({}) has {has}", part.name, part.board)).collect();
    if small.is_empty() {
        return None;
    }
    let Area { lut, ff, bram18, dsp, .. } = needs.area;
    let mut not_counted =
        uncounted(needs).map_or_else(String::new, |nodes| format!(", without {nodes}"));
    if let Some(nodes) = unlike(needs) {
        let _ = write!(not_counted, ", with other values of {nodes}");
    }
    let message = format!(
        "network `{}` and its nodes take about {bram18} blocks of 18 kbit, {lut} look-up tables, {ff} \
         flip-flops and {dsp} multipliers{not_counted}. That is more than some parts have: {}",
        network.module,
        small.join(", ")
    );
    let advice =
        "shorten its FIFOs, lower the bounds of its messages, or place fewer nodes in the fabric";
    Some([message, advice.to_owned()])
}

/// What is short on a part for this area, with all that the part has of it.
fn short(part: &Part, area: Area) -> Option<String> {
    let room = part.room;
    let blocks = match room.uram {
        0 => format!("{} blocks", room.bram18),
        uram => format!("{} blocks and {uram} of UltraRAM", room.bram18),
    };
    let figures = [
        (area.bram18 > room.bram18, blocks),
        (area.lut > room.lut, format!("{} look-up tables", room.lut)),
        (area.ff > room.ff, format!("{} flip-flops", room.ff)),
        (area.dsp > room.dsp, format!("{} multipliers", room.dsp)),
    ];
    let short: Vec<_> = figures.into_iter().filter(|(short, _)| *short).map(|it| it.1).collect();
    (!short.is_empty()).then(|| short.join(", "))
}

/// What messages pass between a port and its topic, and where the host looks.
pub(crate) fn stages(port: &NetworkPort, publishes: bool) -> String {
    let mut names: Vec<String> = port.stages.iter().map(stage).collect();
    if port.probe {
        names.insert(if publishes { 0 } else { names.len() }, "probe".to_owned());
    }
    if port.filtered_id != 0 {
        names.insert(0, format!("without publisher {}", port.filtered_id));
    }
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

/// A stage for people.
pub(crate) fn stage(stage: &Stage) -> String {
    match stage {
        Stage::Width { from, to, .. } => format!("{from} to {to} bits"),
        Stage::Crossing { from, to, .. } => format!("{} to {}", from.clk(), to.clk()),
        Stage::Fifo { beats } => format!("FIFO of {beats} beats"),
        Stage::KeepLast { messages, slot_beats } => {
            format!("newest {messages} messages of {slot_beats} beats")
        }
    }
}

pub(crate) fn registers(network: &Network, registers: &[Register], identity: u64) -> String {
    let mut text = format!(
        "# Registers of `{}`\n\nWords of 64 bits, little endian, by byte address; word n of the port \
         `status` is at 8n, word n of `control` at {:#x} + 8n. Bits above the given number are 0. A \
         register changes, and is sampled, with its clock. Identity: `{identity:#018x}`.\n\n\
         | address | name | access | clock | bits | after reset | meaning |\n|---|---|---|---|---|---|---|\n",
        network.module,
        crate::network::CONTROL_ADDRESS
    );
    for register in registers {
        let Register { address, name, access, clock, bits, meaning, .. } = register;
        let reset = match (*access, address) {
            ("write", _) => format!("{:#x}", register.reset()),
            (_, 0 | 8) => "constant".to_owned(),
            _ => "0".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {address:#06x} | `{name}` | {access} | `{clock}` | {bits} | {reset} | {meaning} |"
        );
    }
    text
}

pub(crate) fn layouts(network: &Network) -> String {
    let mut text = format!(
        "# Messages of `{}`\n\nOffsets count from the first byte of the payload, behind the 24 bytes of \
         the header; offsets of items (`[]`) from the first byte of the item.\n",
        network.module
    );
    for topic in &network.topics {
        let PayloadLayout { type_name, type_hash, payload_bytes_max, fixed, .. } = &topic.layout;
        let length = if *fixed { "always" } else { "at most" };
        let _ = writeln!(
            text,
            "\n## {}\n\n{type_name}, `{type_hash}`, {length} {payload_bytes_max} bytes; constants in \
             package `{}`.\n\n| field | type | where | bytes of an element | elements |\n\
             |---|---|---|---|---|",
            topic.shown(),
            topic.package()
        );
        for field in &topic.layout.fields {
            let place = match field.place {
                FieldPlace::Offset(offset) => offset.to_string(),
                FieldPlace::Aligned(bytes) => format!("next multiple of {bytes}"),
            };
            let count = match field.count {
                ElementCount::Fixed(count) => count.to_string(),
                ElementCount::Bounded(bound) => format!("at most {bound}"),
            };
            let bytes = field.element_bytes.map_or("varies".to_owned(), |bytes| bytes.to_string());
            let _ = writeln!(
                text,
                "| {} | {} | {place} | {bytes} | {count} |",
                field.path, field.element
            );
        }
    }
    text
}
