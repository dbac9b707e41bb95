//! The order inside each layer: few crossings.
//!
//! Long edges are cut into slots, one in each layer that they pass. Slots are sorted by the mean
//! position of their neighbours, down and up in turn; the best order seen is kept. Slots of one
//! lane stay together.

use super::Drawing;
use super::layers::Layers;

/// A place in a layer: a vertex, or the passage of a long edge.
pub(super) struct Slot {
    pub(super) vertex: Option<usize>,
    pub(super) layer: usize,
    /// Vertical band of the picture that the slot must stay in.
    pub(super) lane: usize,
    pub(super) above: Vec<usize>,
    pub(super) below: Vec<usize>,
}

/// All slots, and each layer as an order of slots.
pub(super) struct Order {
    pub(super) slots: Vec<Slot>,
    pub(super) layers: Vec<Vec<usize>>,
    /// For each edge its slots from the upper to the lower end.
    pub(super) ways: Vec<Vec<usize>>,
}

/// Slots of long edges in one picture; beyond that, edges are drawn straight.
const PASSAGES_MAX: usize = 50_000;
/// Pairs of edges that are compared for an exchange; hubs stay where the sorting put them.
const PAIRS_MAX: usize = 2_000;
/// Rounds of sorting; more change nothing that one can see.
const ROUNDS: usize = 24;
/// Above this number of slots a few rounds must do.
const SLOTS_FOR_ALL_ROUNDS: usize = 4_000;

impl Order {
    pub(super) fn new(drawing: &Drawing, layers: &Layers, lanes: &[usize]) -> Self {
        let vertices = 0..drawing.vertices.len();
        let slots = vertices.map(|vertex| Slot {
            vertex: Some(vertex),
            layer: layers.of[vertex],
            lane: lanes[vertex],
            above: Vec::new(),
            below: Vec::new(),
        });
        let mut order = Self {
            slots: slots.collect(),
            layers: vec![Vec::new(); layers.count()],
            ways: Vec::new(),
        };
        let ends = drawing.edges.iter().zip(&layers.up);
        for (edge, up) in ends {
            let (high, low) = if *up { (edge.to, edge.from) } else { (edge.from, edge.to) };
            order.add_way(high, low);
        }
        for slot in 0..order.slots.len() {
            order.layers[order.slots[slot].layer].push(slot);
        }
        order.first_order();
        order.sort();
        order
    }

    fn add_way(&mut self, high: usize, low: usize) {
        let (first, last) = (self.slots[high].layer, self.slots[low].layer);
        let lane = passage_lane(self.slots[high].lane, self.slots[low].lane);
        let mut way = vec![high];
        let room = self.slots.len() + last.saturating_sub(first) < PASSAGES_MAX;
        for layer in (first + 1..last).filter(|_| room) {
            let slot = Slot { vertex: None, layer, lane, above: Vec::new(), below: Vec::new() };
            self.slots.push(slot);
            way.push(self.slots.len() - 1);
        }
        way.push(low);
        for pair in way.windows(2) {
            self.slots[pair[0]].below.push(pair[1]);
            self.slots[pair[1]].above.push(pair[0]);
        }
        self.ways.push(way);
    }

    /// Walks down from each source in turn, so that what belongs together begins together.
    fn first_order(&mut self) {
        let mut seen = vec![false; self.slots.len()];
        let mut layers = vec![Vec::new(); self.layers.len()];
        let starts: Vec<usize> = self.layers.iter().flatten().copied().collect();
        for start in starts {
            let mut stack = vec![start];
            while let Some(slot) = stack.pop() {
                if std::mem::replace(&mut seen[slot], true) {
                    continue;
                }
                layers[self.slots[slot].layer].push(slot);
                stack.extend(self.slots[slot].below.iter().rev());
            }
        }
        self.layers = layers;
        for layer in 0..self.layers.len() {
            let slots = &self.slots;
            self.layers[layer].sort_by_key(|slot| slots[*slot].lane);
        }
    }

    fn sort(&mut self) {
        let rounds = if self.slots.len() > SLOTS_FOR_ALL_ROUNDS { 4 } else { ROUNDS };
        let mut position = self.positions();
        let mut best = (self.crossings(&position), self.layers.clone());
        for round in 0..rounds {
            let count = self.layers.len();
            let downwards = round % 2 == 0;
            for step in 1..count {
                let layer = if downwards { step } else { count - 1 - step };
                self.sort_layer(layer, downwards, &mut position);
            }
            self.exchange_neighbours(&mut position);
            let crossings = self.crossings(&position);
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
            if best.0 == 0 {
                break;
            }
        }
        self.layers = best.1;
    }

    fn positions(&self) -> Vec<usize> {
        let mut position = vec![0; self.slots.len()];
        for layer in &self.layers {
            for (at, slot) in layer.iter().enumerate() {
                position[*slot] = at;
            }
        }
        position
    }

    fn sort_layer(&mut self, layer: usize, downwards: bool, position: &mut [usize]) {
        let mut keyed: Vec<(usize, f64, usize, usize)> = Vec::new();
        for (at, slot) in self.layers[layer].iter().enumerate() {
            let neighbours = match downwards {
                true => &self.slots[*slot].above,
                false => &self.slots[*slot].below,
            };
            let sum: usize = neighbours.iter().map(|slot| position[*slot]).sum();
            let mean = match neighbours.len() {
                0 => at as f64,
                count => sum as f64 / count as f64,
            };
            keyed.push((self.slots[*slot].lane, mean, at, *slot));
        }
        keyed.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        for (at, (_, _, _, slot)) in keyed.into_iter().enumerate() {
            self.layers[layer][at] = slot;
            position[slot] = at;
        }
    }

    /// Exchanges neighbours in a layer if that saves crossings.
    fn exchange_neighbours(&mut self, position: &mut [usize]) {
        for layer in 0..self.layers.len() {
            for at in 1..self.layers[layer].len() {
                let (left, right) = (self.layers[layer][at - 1], self.layers[layer][at]);
                if self.slots[left].lane != self.slots[right].lane {
                    continue;
                }
                let (a, b) = (&self.slots[left], &self.slots[right]);
                let pairs = a.above.len() * b.above.len() + a.below.len() * b.below.len();
                if pairs > PAIRS_MAX {
                    continue;
                }
                let now = pair_crossings(&a.above, &b.above, position)
                    + pair_crossings(&a.below, &b.below, position);
                let then = pair_crossings(&b.above, &a.above, position)
                    + pair_crossings(&b.below, &a.below, position);
                if then < now {
                    self.layers[layer].swap(at - 1, at);
                    position.swap(left, right);
                }
            }
        }
    }

    /// Crossings between neighbouring layers, all together.
    fn crossings(&self, position: &[usize]) -> u64 {
        let mut total = 0;
        for layer in &self.layers {
            let mut ends: Vec<(usize, usize)> = Vec::new();
            for slot in layer {
                let below = self.slots[*slot].below.iter();
                ends.extend(below.map(|low| (position[*slot], position[*low])));
            }
            ends.sort_unstable();
            total += inversions(ends.into_iter().map(|(_, low)| low).collect());
        }
        total
    }
}

/// The band in which an edge passes between two others: where one end is, but beside a box that
/// only one end is in. Boxes have odd lanes.
fn passage_lane(high: usize, low: usize) -> usize {
    match (high, low) {
        (a, b) if a == b => a,
        (a, _) if a % 2 == 0 => a,
        (_, b) if b % 2 == 0 => b,
        (a, b) if a < b => a + 1,
        (a, _) => a - 1,
    }
}

fn pair_crossings(left: &[usize], right: &[usize], position: &[usize]) -> usize {
    let over = |a: &usize| right.iter().filter(|b| position[**b] < position[*a]).count();
    left.iter().map(over).sum()
}

/// Pairs that are in the wrong order, by merging.
fn inversions(mut values: Vec<usize>) -> u64 {
    let mut sorted = values.clone();
    let mut width = 1;
    let mut total = 0;
    while width < values.len() {
        for start in (0..values.len()).step_by(2 * width) {
            let (middle, end) =
                ((start + width).min(values.len()), (start + 2 * width).min(values.len()));
            let (mut left, mut right) = (start, middle);
            for slot in &mut sorted[start..end] {
                if left < middle && (right == end || values[left] <= values[right]) {
                    *slot = values[left];
                    left += 1;
                } else {
                    *slot = values[right];
                    right += 1;
                    total += (middle - left) as u64;
                }
            }
        }
        std::mem::swap(&mut values, &mut sorted);
        width *= 2;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::inversions;

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(vec![]), 0);
        assert_eq!(inversions(vec![1, 2, 2, 3]), 0);
        assert_eq!(inversions(vec![3, 2, 1]), 3);
        assert_eq!(inversions(vec![2, 4, 1, 3, 5]), 3);
    }
}
