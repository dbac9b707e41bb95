//! Coordinates: every slot near its neighbours, none over another, boxes in bands of their own.
//!
//! Each layer is placed by least squares under the condition that neighbours keep their distance
//! (pooling of adjacent violators gives the exact optimum), layer by layer, down and up in turn.

use super::layers::Layers;
use super::order::Order;
use super::{Drawing, VertexKind, shown};

/// Lengths, in pixels.
const NODE_PAD: f64 = 12.0;
const TOPIC_HEIGHT: f64 = 26.0;
const LINE_HEIGHT: f64 = 14.0;
const LAYER_GAP: f64 = 46.0;
const SLOT_GAP: f64 = 22.0;
const PASSAGE_GAP: f64 = 12.0;
const BOX_PAD: f64 = 12.0;
const BOX_HEAD: f64 = 18.0;
const BOX_FOOT: f64 = 18.0;
/// Base line of a group name below the top of its box.
const NAME_BASE: f64 = 14.0;
const LANE_GAP: f64 = 20.0;
const MARGIN: f64 = 20.0;
/// Font sizes.
pub(super) const NAME_SIZE: f64 = 13.0;
pub(super) const DETAIL_SIZE: f64 = 10.5;
/// Sweeps over all layers; the picture stands still long before.
const SWEEPS: usize = 240;
const SWEEPS_OF_LARGE: usize = 8;
const SLOTS_OF_LARGE: usize = 4_000;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    pub(super) fn center(&self) -> f64 {
        self.x + self.width / 2.0
    }
}

/// The dashed box of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupBox {
    pub(super) group: usize,
    pub(super) area: Area,
    /// Left end and base line of the name, in the box's head or foot.
    pub(super) name: (f64, f64),
}

/// Where everything is.
pub(super) struct Layout {
    /// By vertex.
    pub(super) vertices: Vec<Area>,
    /// By edge: points from the upper to the lower end, two per passage.
    pub(super) ways: Vec<Vec<(f64, f64)>>,
    /// Whether an edge points up.
    pub(super) up: Vec<bool>,
    /// Box of each group that has something in it.
    pub(super) boxes: Vec<GroupBox>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Width of text in the widest of the usual sans-serif fonts.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let width_of = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.33,
        'f' | 't' | 'r' | '/' | ' ' | '(' | ')' | '[' | ']' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.98,
        'A'..='Z' => 0.72,
        c if c.is_ascii() => 0.63,
        _ => 1.05,
    };
    text.chars().map(width_of).sum::<f64>() * size
}

/// What one pass over all layers looks at.
#[derive(Clone, Copy)]
struct Sweep {
    look_up: bool,
    look_down: bool,
    straighten: bool,
}

struct Placing<'d> {
    drawing: &'d Drawing,
    order: Order,
    /// Center of each slot.
    x: Vec<f64>,
    widths: Vec<f64>,
    heights: Vec<f64>,
    /// Left and right end of each lane.
    lanes: Vec<(f64, f64)>,
    /// Processes with one member only: drawn around it, without a lane.
    alone: Vec<bool>,
    least_width: f64,
}

impl Layout {
    /// Places everything in a picture that is at least this wide.
    pub(super) fn new(drawing: &Drawing, least_width: f64) -> Self {
        let layers = Layers::new(drawing);
        let alone = alone(drawing);
        let lanes = lanes(drawing, &layers, &alone);
        let order = Order::new(drawing, &layers, &lanes);
        let sizes = order.slots.iter().map(|slot| match slot.vertex {
            Some(vertex) => size(drawing, vertex, &alone),
            None => (2.0, 0.0),
        });
        let (widths, heights) = sizes.unzip();
        let x = vec![0.0; order.slots.len()];
        let lanes = Vec::new();
        let mut placing = Placing { drawing, order, x, widths, heights, lanes, alone, least_width };
        placing.make_lanes();
        placing.spread();
        placing.sweep();
        placing.finish(&layers)
    }
}

/// Processes with a single node: their topics are outside.
fn alone(drawing: &Drawing) -> Vec<bool> {
    let mut members = vec![0; drawing.groups.len()];
    for group in drawing.vertices.iter().filter_map(|vertex| vertex.group) {
        members[group] += 1;
    }
    members.into_iter().map(|members| members == 1).collect()
}

/// The lane of each vertex: odd for groups with a box of their own, even for what is between.
fn lanes(drawing: &Drawing, layers: &Layers, alone: &[bool]) -> Vec<usize> {
    let mut lane_of_group = vec![None; drawing.groups.len()];
    let mut next = 1;
    for (group, lane) in lane_of_group.iter_mut().enumerate() {
        let used = drawing.vertices.iter().any(|vertex| vertex.group == Some(group));
        if used && !alone[group] {
            *lane = Some(next);
            next += 2;
        }
    }
    let in_box = |vertex: usize| drawing.vertices[vertex].group.and_then(|p| lane_of_group[p]);
    let count = drawing.vertices.len();
    let mut first = vec![usize::MAX; next + 1];
    for vertex in 0..count {
        if let Some(lane) = in_box(vertex) {
            first[lane] = first[lane].min(layers.of[vertex]);
        }
    }
    let mut neighbours = vec![Vec::new(); count];
    for edge in &drawing.edges {
        neighbours[edge.from].push(edge.to);
        neighbours[edge.to].push(edge.from);
    }
    let mut wanted: Vec<Option<f64>> =
        (0..count).map(|vertex| in_box(vertex).map(|lane| lane as f64)).collect();
    // Three rounds reach what is three edges away from any box; the rest goes to the middle.
    for _ in 0..3 {
        let before = wanted.clone();
        for vertex in (0..count).filter(|vertex| before[*vertex].is_none()) {
            let known: Vec<f64> = neighbours[vertex].iter().filter_map(|n| before[*n]).collect();
            if !known.is_empty() {
                wanted[vertex] = Some(known.iter().sum::<f64>() / known.len() as f64);
            }
        }
    }
    let middle = (next / 2) as f64;
    let lane = |vertex: usize| match in_box(vertex) {
        Some(lane) => lane,
        None if next == 1 => 0,
        None => {
            let wanted = wanted[vertex].unwrap_or(middle);
            let own = wanted.round() as usize;
            let above_box = wanted.fract() == 0.0 && own % 2 == 1 && layers.of[vertex] < first[own];
            if above_box { own } else { 2 * (wanted / 2.0).round() as usize }
        }
    };
    (0..count).map(lane).collect()
}

fn size(drawing: &Drawing, vertex: usize, alone: &[bool]) -> (f64, f64) {
    let drawn = &drawing.vertices[vertex];
    let name = text_width(&shown(&drawn.name), NAME_SIZE);
    let details = drawn.details.iter().map(|line| text_width(&shown(line), DETAIL_SIZE));
    if drawn.kind != VertexKind::Node {
        let width = details.fold(name * DETAIL_SIZE / NAME_SIZE, f64::max) + 26.0;
        return (width, TOPIC_HEIGHT + LINE_HEIGHT * drawn.details.len() as f64);
    }
    let width = details.fold(name * 1.08, f64::max) + 2.0 * NODE_PAD;
    let height = 30.0 + LINE_HEIGHT * drawn.details.len() as f64;
    match drawn.group {
        Some(group) if alone[group] => {
            let head = text_width(&shown(&drawing.groups[group].name), DETAIL_SIZE) + 16.0;
            (width.max(head) + 2.0 * BOX_PAD, height + 2.0 * BOX_PAD + 4.0)
        }
        _ => (width, height),
    }
}

impl Placing<'_> {
    /// The distance that the centers of two neighbours keep.
    fn distance(&self, left: usize, right: usize) -> f64 {
        let passages = [left, right].iter().any(|slot| self.order.slots[*slot].vertex.is_none());
        let gap = if passages { PASSAGE_GAP } else { SLOT_GAP };
        f64::midpoint(self.widths[left], self.widths[right]) + gap
    }

    /// Layers cut into runs of one lane.
    fn runs(&self, layer: usize) -> Vec<Vec<usize>> {
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for slot in &self.order.layers[layer] {
            let lane = self.order.slots[*slot].lane;
            match runs.last_mut() {
                Some(run) if self.order.slots[run[0]].lane == lane => run.push(*slot),
                _ => runs.push(vec![*slot]),
            }
        }
        runs
    }

    fn run_width(&self, run: &[usize]) -> f64 {
        let between: f64 = run.windows(2).map(|pair| self.distance(pair[0], pair[1])).sum();
        let ends = run.first().map_or(0.0, |slot| self.widths[*slot])
            + run.last().map_or(0.0, |slot| self.widths[*slot]);
        between + ends / 2.0
    }

    fn make_lanes(&mut self) {
        /// Room for straight edges beyond what the widest layer needs.
        const SLACK: f64 = 1.15;
        let count = self.order.slots.iter().map(|slot| slot.lane + 1).max().unwrap_or(1);
        let mut widths = vec![0.0_f64; count];
        for layer in 0..self.order.layers.len() {
            for run in self.runs(layer) {
                let lane = self.order.slots[run[0]].lane;
                widths[lane] = widths[lane].max(self.run_width(&run));
            }
        }
        let used = widths.iter().filter(|width| **width > 0.0).count();
        let mut x = 0.0;
        for (lane, width) in widths.into_iter().enumerate() {
            let pad = if lane % 2 == 1 { BOX_PAD } else { 0.0 };
            let title = self.head_width(lane);
            let width = if width > 0.0 { (width * SLACK).max(title) } else { 0.0 };
            let ends = (x + pad, x + pad + width);
            // A picture of one lane has no neighbour to respect.
            self.lanes.push(if used == 1 { (-1e7, 1e7) } else { ends });
            x += width + 2.0 * pad + if width > 0.0 { LANE_GAP } else { 0.0 };
        }
    }

    /// Room for the name of the group in a lane.
    fn head_width(&self, lane: usize) -> f64 {
        let group = self.order.slots.iter().find_map(|slot| {
            let vertex = slot.vertex.filter(|_| slot.lane == lane && lane % 2 == 1)?;
            self.drawing.vertices[vertex].group
        });
        group.map_or(0.0, |p| text_width(&shown(&self.drawing.groups[p].name), DETAIL_SIZE) + 16.0)
    }

    /// First positions: every run packed, in the middle of its lane.
    fn spread(&mut self) {
        for layer in 0..self.order.layers.len() {
            for run in self.runs(layer) {
                let (left, right) = self.lanes[self.order.slots[run[0]].lane];
                let mut x = f64::midpoint(left, right) - self.run_width(&run) / 2.0
                    + self.widths[run[0]] / 2.0;
                for (at, slot) in run.iter().enumerate() {
                    if at > 0 {
                        x += self.distance(run[at - 1], *slot);
                    }
                    self.x[*slot] = x;
                }
            }
        }
    }

    fn sweep(&mut self) {
        let large = self.order.slots.len() > SLOTS_OF_LARGE;
        let sweeps = if large { SWEEPS_OF_LARGE } else { SWEEPS };
        let count = self.order.layers.len();
        for sweep in 0..sweeps {
            // The first sweeps look only where they come from, the others both ways.
            let first = sweep < sweeps / 8;
            let downwards = sweep % 2 == 0;
            let kind = Sweep {
                look_up: !first || downwards,
                look_down: !first || !downwards,
                straighten: sweep > sweeps / 3,
            };
            for step in 0..count {
                let layer = if downwards { step } else { count - 1 - step };
                for run in self.runs(layer) {
                    self.place_run(&run, kind);
                }
            }
        }
    }

    /// Places a run as near to its neighbours as distances and the lane allow.
    fn place_run(&mut self, run: &[usize], sweep: Sweep) {
        struct Pool {
            weight: f64,
            sum: f64,
            count: usize,
        }
        let mut offsets = vec![0.0];
        for pair in run.windows(2) {
            offsets.push(offsets[offsets.len() - 1] + self.distance(pair[0], pair[1]));
        }
        let mut pools: Vec<Pool> = Vec::new();
        for (slot, offset) in run.iter().zip(&offsets) {
            let (wanted, weight) = self.wanted(*slot, sweep);
            pools.push(Pool { weight, sum: weight * (wanted - offset), count: 1 });
            while let [.., before, last] = pools.as_mut_slice() {
                if before.sum / before.weight <= last.sum / last.weight {
                    break;
                }
                before.weight += last.weight;
                before.sum += last.sum;
                before.count += last.count;
                pools.pop();
            }
        }
        let (left, right) = self.lanes[self.order.slots[run[0]].lane];
        let (first, last) = (run[0], run[run.len() - 1]);
        let least = left + self.widths[first] / 2.0;
        let most = right - self.widths[last] / 2.0 - offsets[offsets.len() - 1];
        let mut at = 0;
        for pool in pools {
            let x = (pool.sum / pool.weight).min(most).max(least);
            for _ in 0..pool.count {
                self.x[run[at]] = x + offsets[at];
                at += 1;
            }
        }
    }

    /// Where a slot wants to be, and how much. Long edges want to be straight most of all.
    fn wanted(&self, slot: usize, sweep: Sweep) -> (f64, f64) {
        /// Distance in pixels below which a bend is not worth drawing.
        const STRAIGHT: f64 = 0.7;
        let Sweep { look_up, look_down, straighten } = sweep;
        let is_passage = |slot: usize| self.order.slots[slot].vertex.is_none();
        let (mut weight, mut sum) = (0.0, 0.0);
        let above = self.order.slots[slot].above.iter().filter(|_| look_up);
        let below = self.order.slots[slot].below.iter().filter(|_| look_down);
        for other in above.chain(below) {
            let pull = match (is_passage(slot), is_passage(*other)) {
                (true, true) => 8.0,
                (false, false) => 1.0,
                _ => 2.0,
            };
            // Past the first sweeps pulls weaken with distance: what is nearly straight becomes
            // straight, and a long edge has one bend instead of many.
            let distance = (self.x[slot] - self.x[*other]).abs();
            let pull = if straighten { pull / (distance + STRAIGHT) } else { pull };
            weight += pull;
            sum += pull * self.x[*other];
        }
        // A weak pull to where it is keeps slots without neighbours in place.
        let stay = 1e-6;
        ((sum + stay * self.x[slot]) / (weight + stay), weight + stay)
    }

    fn finish(self, layers: &Layers) -> Layout {
        let slots = 0..self.order.slots.len();
        let left = slots.clone().map(|s| self.x[s] - self.widths[s] / 2.0).fold(1e9, f64::min);
        let right = slots.map(|s| self.x[s] + self.widths[s] / 2.0).fold(-1e9, f64::max);
        let natural = (right - left).max(0.0) + 2.0 * (MARGIN + BOX_PAD);
        let width = natural.max(self.least_width);
        let shift = MARGIN + BOX_PAD - left + (width - natural) / 2.0;
        let mut bands = Vec::new();
        let mut y = MARGIN + BOX_HEAD + BOX_PAD;
        for layer in &self.order.layers {
            if layer.is_empty() {
                // Topics from outside may leave the first layer empty.
                bands.push((y, y));
                continue;
            }
            let height = layer.iter().map(|slot| self.heights[*slot]).fold(0.0, f64::max);
            bands.push((y, y + height));
            y += height + LAYER_GAP;
        }
        let area = |slot: usize| {
            let (top, bottom) = bands[self.order.slots[slot].layer];
            let (width, height) = (self.widths[slot], self.heights[slot]);
            let y = f64::midpoint(top, bottom) - height / 2.0;
            Area { x: self.x[slot] + shift - width / 2.0, y, width, height }
        };
        let cells: Vec<Area> = (0..self.drawing.vertices.len()).map(area).collect();
        let (vertices, mut boxes) = self.boxes(&cells);
        let ways = self.ways(&vertices, &bands, shift);
        for drawn in &mut boxes {
            self.place_name(drawn, &ways);
        }
        let bottom = bands.last().map_or(MARGIN, |band| band.1);
        Layout {
            vertices,
            ways,
            up: layers.up.clone(),
            boxes,
            width,
            height: bottom + BOX_FOOT + MARGIN,
        }
    }

    /// Boxes of groups around their members; members alone in a group shrink to make room.
    fn boxes(&self, cells: &[Area]) -> (Vec<Area>, Vec<GroupBox>) {
        let mut vertices = cells.to_vec();
        let mut boxes = Vec::new();
        for group in 0..self.drawing.groups.len() {
            let of_group = |v: &usize| self.drawing.vertices[*v].group == Some(group);
            let members: Vec<usize> = (0..cells.len()).filter(of_group).collect();
            if let ([only], true) = (members.as_slice(), self.alone[group]) {
                let cell = cells[*only];
                boxes.push(GroupBox {
                    group,
                    area: cell,
                    name: (cell.x + 10.0, cell.y + NAME_BASE),
                });
                vertices[*only] = Area {
                    x: cell.x + BOX_PAD,
                    y: cell.y + BOX_PAD + 8.0,
                    width: cell.width - 2.0 * BOX_PAD,
                    height: cell.height - 2.0 * BOX_PAD - 4.0,
                };
                continue;
            }
            let least =
                |of: fn(&Area) -> f64| members.iter().map(|m| of(&cells[*m])).fold(1e9, f64::min);
            let most =
                |of: fn(&Area) -> f64| members.iter().map(|m| of(&cells[*m])).fold(-1e9, f64::max);
            if members.is_empty() {
                continue;
            }
            let (x, y) = (least(|a| a.x) - BOX_PAD, least(|a| a.y) - BOX_PAD - BOX_HEAD);
            let (right, bottom) = (most(|a| a.x + a.width), most(|a| a.y + a.height));
            let head = text_width(&shown(&self.drawing.groups[group].name), DETAIL_SIZE) + 16.0;
            let width = (right + BOX_PAD - x).max(head);
            let area = Area { x, y, width, height: bottom + BOX_FOOT - y };
            boxes.push(GroupBox { group, area, name: (x + 10.0, y + NAME_BASE) });
        }
        (vertices, boxes)
    }

    /// Moves the name of a group to where the fewest edges pass: along the head of its box, else
    /// along the foot.
    fn place_name(&self, drawn: &mut GroupBox, ways: &[Vec<(f64, f64)>]) {
        /// Edges that are looked at; beyond that there is no free place anyway.
        const EDGES_MAX: usize = 2_000;
        const STEP: f64 = 8.0;
        if self.alone[drawn.group] {
            return;
        }
        let name = text_width(&shown(&self.drawing.groups[drawn.group].name), DETAIL_SIZE);
        let Area { x, y, width, height } = drawn.area;
        let foot = y + height - BOX_FOOT;
        let steps = ((width - name - 20.0).max(0.0) / STEP) as usize;
        let mut best = usize::MAX;
        for (band_y, base) in [(y, NAME_BASE), (foot, NAME_BASE - 2.0)] {
            let area = Area { x, y: band_y, width, height: BOX_HEAD };
            let edges = ways.iter().take(EDGES_MAX);
            let crossings: Vec<f64> = edges.flat_map(|way| crossings(way, &area)).collect();
            for name_x in (0..=steps).map(|step| x + 10.0 + STEP * step as f64) {
                let near = |at: &&f64| **at > name_x - 6.0 && **at < name_x + name + 6.0;
                let hits = crossings.iter().filter(near).count();
                if hits < best {
                    best = hits;
                    drawn.name = (name_x, band_y + base);
                }
            }
        }
    }

    /// Points of all edges. Ends on one side of a vertex are spread in the order of where they go.
    fn ways(&self, vertices: &[Area], bands: &[(f64, f64)], shift: f64) -> Vec<Vec<(f64, f64)>> {
        let slot_x = |slot: usize| self.x[slot] + shift;
        let mut leaving: Vec<Vec<(f64, usize)>> = vec![Vec::new(); vertices.len()];
        let mut arriving = leaving.clone();
        for (edge, way) in self.order.ways.iter().enumerate() {
            let (Some(high), Some(low)) = (way.first(), way.last()) else { continue };
            leaving[*high].push((slot_x(way[1]), edge));
            arriving[*low].push((slot_x(way[way.len() - 2]), edge));
        }
        let ends = |sides: Vec<Vec<(f64, usize)>>| {
            let mut x = vec![0.0; self.order.ways.len()];
            for (area, mut side) in vertices.iter().zip(sides) {
                side.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let room = (area.width - 24.0).max(0.0);
                let step = (room / side.len().max(1) as f64).min(16.0);
                let middle = (side.len() as f64 - 1.0) / 2.0;
                for (at, (_, edge)) in side.into_iter().enumerate() {
                    x[edge] = area.center() + (at as f64 - middle) * step;
                }
            }
            x
        };
        let (start_x, end_x) = (ends(leaving), ends(arriving));
        let mut ways = Vec::new();
        for (edge, way) in self.order.ways.iter().enumerate() {
            let (high, low) = (way[0], way[way.len() - 1]);
            let (first, last) = (&vertices[high], &vertices[low]);
            let mut points = vec![
                (start_x[edge], first.y + first.height),
                (start_x[edge], bands[self.order.slots[high].layer].1),
            ];
            for slot in &way[1..way.len() - 1] {
                let (top, bottom) = bands[self.order.slots[*slot].layer];
                points.extend([(slot_x(*slot), top), (slot_x(*slot), bottom)]);
            }
            points.push((end_x[edge], bands[self.order.slots[low].layer].0));
            points.push((end_x[edge], last.y));
            ways.push(points);
        }
        ways
    }
}

/// Points of a drawn edge inside an area, by their x.
fn crossings(way: &[(f64, f64)], area: &Area) -> Vec<f64> {
    const SAMPLES: usize = 24;
    let mut found = Vec::new();
    for pair in way.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        if y0.max(y1) < area.y || y0.min(y1) > area.y + area.height {
            continue;
        }
        for sample in 0..=SAMPLES {
            let t = sample as f64 / SAMPLES as f64;
            let u = 1.0 - t;
            // The curve that is drawn: control points straight below and above the ends.
            let x = x0 + (x1 - x0) * t * t * (3.0 - 2.0 * t);
            let half = f64::midpoint(y0, y1);
            let y = u * u * u * y0 + 3.0 * u * t * half + t * t * t * y1;
            if (area.y..=area.y + area.height).contains(&y) {
                found.push(x);
            }
        }
    }
    found
}
