//! Cycles of a directed graph, and those of nodes that topics join.

use crate::model::{Graph, GraphInput};
use std::collections::{BTreeMap, BTreeSet};

/// Walks depth first from each vertex in turn, and calls `leads_back` for each edge to a vertex on
/// the way: without these edges there is no cycle. It gets the way, each vertex with the edge that
/// the walk takes from it, and the vertex that the last one leads back to.
///
/// Vertices are the numbers below `vertices`. `edge` gives the next edge of a vertex and where it
/// leads; the cursor, which is the vertex's own, says how far it has come. The walk holds no edge
/// but those of the way, so that there may be more of them than memory can hold.
///
/// Allocates with the number of vertices, and does not recurse or block.
pub fn cycles<C: Default, E>(
    vertices: usize,
    mut edge: impl FnMut(usize, &mut C) -> Option<(usize, E)>,
    mut leads_back: impl FnMut(&[(usize, E)], usize),
) {
    let mut state = vec![Visit::New; vertices];
    for start in 0..vertices {
        if state[start] != Visit::New {
            continue;
        }
        state[start] = Visit::OnTheWay;
        let mut open = vec![(start, C::default())];
        let mut way = Vec::new();
        while let Some((vertex, cursor)) = open.last_mut() {
            let Some((to, by)) = edge(*vertex, cursor) else {
                state[*vertex] = Visit::Done;
                open.pop();
                way.pop();
                continue;
            };
            way.push((*vertex, by));
            if state[to] == Visit::New {
                state[to] = Visit::OnTheWay;
                open.push((to, C::default()));
                continue;
            }
            if state[to] == Visit::OnTheWay {
                leads_back(&way, to);
            }
            way.pop();
        }
    }
}

/// The inputs, as numbers of a node and of its input, that close cycles of nodes, in the order in
/// which a walk over nodes, outputs and subscribers in file order meets them. Inputs count that
/// `counts` accepts for the node of this number, and publishers and subscribers that `are_joined`.
pub(crate) fn closing_inputs(
    graph: &Graph,
    counts: impl Fn(usize, &GraphInput) -> bool,
    are_joined: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let mut subscribers: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for (node, described) in graph.nodes.iter().enumerate() {
        for (number, input) in described.inputs.iter().enumerate() {
            if counts(node, input) {
                subscribers.entry(&input.topic).or_default().push((node, number));
            }
        }
    }
    // Positions, not copies: many publishers times many subscribers would not fit.
    let next = |node: usize, (output, subscriber): &mut (usize, usize)| loop {
        let topic = graph.nodes[node].outputs.get(*output)?.topic.as_str();
        let Some(&found) = subscribers.get(topic).and_then(|all| all.get(*subscriber)) else {
            (*output, *subscriber) = (*output + 1, 0);
            continue;
        };
        *subscriber += 1;
        if are_joined(node, found.0) {
            return Some(found);
        }
    };
    let (mut seen, mut closing) = (BTreeSet::new(), Vec::new());
    cycles(
        graph.nodes.len(),
        |node, at| next(node, at).map(|found| (found.0, found)),
        |way, _| closing.extend(way.last().map(|(_, found)| *found).filter(|it| seen.insert(*it))),
    );
    closing
}

/// How far the walk has come at a vertex.
#[derive(Clone, Copy, PartialEq)]
enum Visit {
    New,
    OnTheWay,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The edges that lead back, as pairs of vertices.
    fn leading_back(vertices: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let next = |vertex: usize, cursor: &mut usize| {
            let (at, edge) =
                edges.iter().enumerate().skip(*cursor).find(|(_, it)| it.0 == vertex)?;
            *cursor = at + 1;
            Some((edge.1, *edge))
        };
        cycles(vertices, next, |way, to| {
            let (last, edge) = way[way.len() - 1];
            assert_eq!((last, to), edge);
            assert!(way.iter().any(|(vertex, _)| *vertex == to), "{way:?}, {to}");
            assert!(way.windows(2).all(|pair| pair[0].1 == (pair[0].0, pair[1].0)), "{way:?}");
            found.push(edge);
        });
        found
    }

    #[test]
    fn an_edge_that_leads_back_to_its_own_vertex_is_a_cycle() {
        assert_eq!(leading_back(2, &[(0, 1), (1, 1)]), [(1, 1)]);
    }

    #[test]
    fn the_edge_that_closes_a_cycle_leads_back_and_a_second_way_does_not() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)];
        assert_eq!(leading_back(4, &edges), [(3, 0)]);
    }

    proptest! {
        /// Without the edges that lead back, vertices without edges to them can be taken away one
        /// by one until none is left.
        #[test]
        fn without_the_edges_that_lead_back_there_is_no_cycle(
            edges in vec((0..12_usize, 0..12_usize), 0..60),
        ) {
            let back = leading_back(12, &edges);
            let mut left: Vec<_> = edges.iter().filter(|it| !back.contains(it)).collect();
            let mut vertices: Vec<usize> = (0..12).collect();
            while let Some(at) =
                vertices.iter().position(|vertex| left.iter().all(|edge| edge.1 != *vertex))
            {
                let free = vertices.remove(at);
                left.retain(|edge| edge.0 != free);
            }
            prop_assert!(vertices.is_empty());
        }
    }
}
