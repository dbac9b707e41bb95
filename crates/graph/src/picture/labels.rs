//! Labels beside edges, if there is room for them.
//!
//! A label never lies on a vertex, on the name of a box or on another label. One that finds no
//! place is left out: it stands in the tooltip of its edge, too. Must not decide where anything
//! else is.

use super::place::{Area, DETAIL_SIZE, Layout, text_width};
use super::{Drawing, shown};

/// Font size of labels and what it takes.
const LABEL_SIZE: f64 = 9.0;
const LABEL_HEIGHT: f64 = 11.0;
/// Between an edge and its label.
const GAP: f64 = 3.0;
/// Edges of a picture in which labels can still be read.
const EDGES_MAX: usize = 600;
/// Places along an edge that are tried, as shares of the way from band to band, best first.
const PLACES: [f64; 7] = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8];

/// Where labels begin (left end of the base line), by edge.
pub(super) fn place(drawing: &Drawing, layout: &Layout) -> Vec<(usize, (f64, f64))> {
    let mut placed = Vec::new();
    if drawing.edges.len() > EDGES_MAX {
        return placed;
    }
    let page = Area { x: 0.0, y: 0.0, width: layout.width, height: layout.height };
    let mut taken: Vec<Area> = layout.vertices.clone();
    taken.extend(layout.boxes.iter().map(|drawn| {
        let name = text_width(&shown(&drawing.groups[drawn.group].name), DETAIL_SIZE);
        let (x, base) = drawn.name;
        Area { x, y: base - 10.0, width: name, height: 13.0 }
    }));
    for (index, edge) in drawing.edges.iter().enumerate() {
        let Some(label) = &edge.label else { continue };
        let width = text_width(label, LABEL_SIZE);
        let is_free =
            |area: &Area| inside(&page, area) && !taken.iter().any(|other| overlap(area, other));
        if let Some(area) = places(&layout.ways[index], width).find(is_free) {
            taken.push(area);
            placed.push((index, (area.x, area.y + LABEL_HEIGHT - 2.5)));
        }
    }
    placed
}

/// Places beside an edge, both sides of each point.
fn places(way: &[(f64, f64)], width: f64) -> impl Iterator<Item = Area> {
    // Between bands, where edges are curved and nothing else is.
    let curves = way.windows(2).skip(1).step_by(2);
    let points = curves.flat_map(|pair| {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        PLACES.map(|t| {
            let half = f64::midpoint(y0, y1);
            let u = 1.0 - t;
            let y = u * u * u * y0 + 3.0 * u * t * half + t * t * t * y1;
            (x0 + (x1 - x0) * t * t * (3.0 - 2.0 * t), y)
        })
    });
    points.flat_map(move |(x, y)| {
        let y = y - LABEL_HEIGHT / 2.0;
        [x + GAP, x - GAP - width].map(|x| Area { x, y, width, height: LABEL_HEIGHT })
    })
}

fn inside(outer: &Area, inner: &Area) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.x + inner.width <= outer.x + outer.width
        && inner.y + inner.height <= outer.y + outer.height
}

fn overlap(a: &Area, b: &Area) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

#[cfg(test)]
mod tests {
    use super::super::{Figures, Picture, svg};
    use super::*;
    use crate::{Graph, Mapping};

    #[test]
    fn labels_lie_on_nothing_and_each_is_told() {
        let text = include_str!("../../tests/data/course.graph.yaml");
        let graph = Graph::from_yaml("course", text.as_bytes()).unwrap();
        let mut figures = Figures::default();
        for node in &graph.nodes {
            for output in &node.outputs {
                let edge = (node.name.clone(), output.topic.clone());
                figures.publishers.insert(edge, "25.0 Hz".to_owned());
                figures.topics.insert(output.topic.clone(), "1.2 MiB/s".to_owned());
            }
            for input in &node.inputs {
                let edge = (node.name.clone(), input.topic.clone());
                figures.subscribers.insert(edge, "24.9 Hz, 3 lost".to_owned());
            }
        }
        let mapping = Mapping::one_chain_per_package(&graph);
        let (mapping, figures) = (Some(&mapping), Some(&figures));
        let picture = Picture { graph: &graph, mapping, descriptions: None, figures };
        let drawing = Drawing::new(&picture);
        let layout = Layout::new(&drawing, svg::key_width(&drawing));
        let placed = place(&drawing, &layout);
        let edges = drawing.edges.len();
        assert!(drawing.edges.iter().all(|edge| edge.label.is_some()));
        assert!(placed.len() * 2 > edges, "{} of {edges} labels have a place", placed.len());
        let areas: Vec<Area> = placed
            .iter()
            .map(|(edge, (x, y))| {
                let label = drawing.edges[*edge].label.as_ref().unwrap();
                let width = text_width(label, LABEL_SIZE);
                Area { x: *x, y: y + 2.5 - LABEL_HEIGHT, width, height: LABEL_HEIGHT }
            })
            .collect();
        for (at, area) in areas.iter().enumerate() {
            assert!(!layout.vertices.iter().any(|vertex| overlap(vertex, area)));
            assert!(!areas[at + 1..].iter().any(|other| overlap(other, area)));
        }
        let drawn = picture.to_svg();
        assert_eq!(drawn.matches("class=\"label\"").count(), placed.len());
        assert_eq!(drawn.matches("24.9 Hz, 3 lost</title>").count(), count_of(&drawing, "24.9"));
        assert!(drawn.contains(">1.2 MiB/s</text>"));
        let dot = picture.to_dot();
        assert_eq!(dot.matches("label=\"25.0 Hz\"").count(), count_of(&drawing, "25.0"));
    }

    fn count_of(drawing: &Drawing, text: &str) -> usize {
        let labels = drawing.edges.iter().filter_map(|edge| edge.label.as_ref());
        labels.filter(|label| label.starts_with(text)).count()
    }
}
