//! The picture as text for Graphviz.
//!
//! Must not decide where anything is: Graphviz does that.

use super::{Drawing, EdgeKind, GroupKind, Side, VertexKind};
use std::fmt::Write as _;

pub(super) fn write(drawing: &Drawing) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "digraph {} {{", quoted(&drawing.title));
    out.push_str("  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=11];\n");
    for (index, group) in drawing.groups.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{index} {{");
        let color = if group.kind == GroupKind::Hardware { " color=\"#3f7d4e\";" } else { "" };
        let _ = writeln!(out, "    label={}; style=dashed;{color}", quoted(&group.name));
        let members = (0..drawing.vertices.len())
            .filter(|vertex| drawing.vertices[*vertex].group == Some(index));
        for vertex in members {
            let _ = writeln!(out, "    {}", statement(drawing, vertex));
        }
        out.push_str("  }\n");
    }
    let free = (0..drawing.vertices.len()).filter(|v| drawing.vertices[*v].group.is_none());
    for vertex in free {
        let _ = writeln!(out, "  {}", statement(drawing, vertex));
    }
    for edge in &drawing.edges {
        let style = match edge.kind {
            EdgeKind::Publish | EdgeKind::Trigger => "solid",
            EdgeKind::Read | EdgeKind::Call | EdgeKind::Serve => "dashed",
        };
        let color = match edge.kind {
            _ if edge.measured => ", color=\"#c2410c\"",
            EdgeKind::Call | EdgeKind::Serve => ", color=\"#2b7a78\"",
            EdgeKind::Publish | EdgeKind::Trigger | EdgeKind::Read => "",
        };
        let label = edge.label.as_ref().map(|label| format!(", label={}", quoted(label)));
        let label = label.unwrap_or_default();
        let _ = writeln!(
            out,
            "  v{} -> v{} [style={style}{color}, tooltip={}{label}];",
            edge.from,
            edge.to,
            quoted(&edge.ports.join(", "))
        );
    }
    out.push_str("}\n");
    out
}

fn statement(drawing: &Drawing, index: usize) -> String {
    let vertex = &drawing.vertices[index];
    let style = match vertex.kind {
        VertexKind::Node => "shape=box, style=rounded",
        VertexKind::Topic => "shape=ellipse",
        VertexKind::ExternalTopic => "shape=ellipse, style=dashed",
        VertexKind::Service => "shape=hexagon, color=\"#2b7a78\"",
        VertexKind::ExternalService => "shape=hexagon, style=dashed, color=\"#2b7a78\"",
    };
    let side = match vertex.side {
        Side::Unmapped | Side::Software => "",
        Side::Hardware => ", color=\"#3f7d4e\", penwidth=2",
        Side::Gateway => ", color=\"#7a4fa3\", penwidth=2, peripheries=2",
    };
    let lines = std::iter::once(&vertex.name).chain(&vertex.details);
    let label = lines.map(|line| escaped(line)).collect::<Vec<_>>().join("\\n");
    format!("v{index} [{style}{side}, label=\"{label}\"];")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Text inside the quotes of a DOT string.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '"' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
