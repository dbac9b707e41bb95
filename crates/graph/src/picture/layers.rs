//! Layers: from top to bottom, so that edges point down.
//!
//! Triggers decide; an edge that only reads may point up if it closes a circle. Nodes get even
//! layers and topics odd ones.

use super::{Drawing, EdgeKind};
use std::collections::BTreeSet;

/// The layer of every vertex and which edges point up.
pub(super) struct Layers {
    pub(super) of: Vec<usize>,
    pub(super) up: Vec<bool>,
}

impl Layers {
    pub(super) fn new(drawing: &Drawing) -> Self {
        let order = order(drawing);
        let mut position = vec![0; order.len()];
        for (at, vertex) in order.iter().enumerate() {
            position[*vertex] = at;
        }
        let count = drawing.vertices.len();
        let (mut above, mut below) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for edge in drawing.edges.iter().zip(mutual(drawing)).filter(|edge| !edge.1) {
            let (from, to) = (edge.0.from, edge.0.to);
            let (high, low) = if position[from] > position[to] { (to, from) } else { (from, to) };
            above[low].push(high);
            below[high].push(low);
        }
        let mut of = vec![0; count];
        for vertex in &order {
            let least = usize::from(*vertex >= nodes(drawing));
            let layer = above[*vertex].iter().map(|high| of[*high] + 1).max();
            of[*vertex] = layer.unwrap_or(least);
        }
        sink_sources(&order, &above, &below, &mut of);
        let up = drawing.edges.iter().map(|edge| of[edge.from] > of[edge.to]).collect();
        Self { of, up }
    }

    pub(super) fn count(&self) -> usize {
        self.of.iter().max().map_or(0, |last| last + 1)
    }
}

fn nodes(drawing: &Drawing) -> usize {
    drawing.vertices.iter().filter(|vertex| vertex.kind == super::VertexKind::Node).count()
}

/// Which edges are readings of nodes that read each other: they say nothing about above and below,
/// and such nodes look best side by side.
fn mutual(drawing: &Drawing) -> Vec<bool> {
    let mut publishers = vec![Vec::new(); drawing.vertices.len()];
    for edge in drawing.edges.iter().filter(|edge| edge.kind == EdgeKind::Publish) {
        publishers[edge.to].push(edge.from);
    }
    // Pairs of reader and read node; topics with many publishers are left out.
    let few = |topic: usize| publishers[topic].len() <= 4;
    let reads = drawing.edges.iter().filter(|edge| edge.kind == EdgeKind::Read && few(edge.from));
    let pairs: BTreeSet<(usize, usize)> =
        reads.flat_map(|edge| publishers[edge.from].iter().map(|from| (edge.to, *from))).collect();
    let is_mutual = |edge: &super::Edge| {
        let read_nodes = publishers[edge.from].iter();
        edge.kind == EdgeKind::Read
            && few(edge.from)
            && read_nodes.clone().any(|read| pairs.contains(&(*read, edge.to)))
    };
    drawing.edges.iter().map(is_mutual).collect()
}

/// All vertices so that triggers and publications point forward as far as they form no cycle, and
/// readings as far as they agree with that.
fn order(drawing: &Drawing) -> Vec<usize> {
    let count = drawing.vertices.len();
    let mut waiting = vec![(0_usize, 0_usize); count];
    let mut out = vec![Vec::new(); count];
    for edge in &drawing.edges {
        let hard = edge.kind.is_flow();
        let (hard_count, soft_count) = &mut waiting[edge.to];
        *(if hard { hard_count } else { soft_count }) += 1;
        out[edge.from].push((edge.to, hard));
    }
    // Vertices with the fewest unmet triggers first, then the fewest unmet readings: a cycle is
    // opened where that costs least.
    let mut open: BTreeSet<(usize, usize, usize)> =
        (0..count).map(|vertex| (waiting[vertex].0, waiting[vertex].1, vertex)).collect();
    let mut order = Vec::with_capacity(count);
    while let Some((_, _, vertex)) = open.pop_first() {
        order.push(vertex);
        for (to, hard) in &out[vertex] {
            let (hard_count, soft_count) = waiting[*to];
            let was_open = open.remove(&(hard_count, soft_count, *to));
            waiting[*to] = match hard {
                true => (hard_count - 1, soft_count),
                false => (hard_count, soft_count - 1),
            };
            if was_open {
                open.insert((waiting[*to].0, waiting[*to].1, *to));
            }
        }
    }
    order
}

/// Moves what only feeds something far below down to just above it: a source, and the topic of a
/// source with no other use.
fn sink_sources(order: &[usize], above: &[Vec<usize>], below: &[Vec<usize>], of: &mut [usize]) {
    let mut movable = vec![false; of.len()];
    for vertex in order {
        movable[*vertex] = match above[*vertex].as_slice() {
            [] => true,
            [only] => movable[*only] && below[*only].len() == 1,
            _ => false,
        };
    }
    for vertex in order.iter().rev().filter(|vertex| movable[**vertex]) {
        let nearest = below[*vertex].iter().map(|low| of[*low]).min();
        if let Some(nearest) = nearest {
            of[*vertex] = of[*vertex].max(nearest.saturating_sub(1));
        }
    }
}
