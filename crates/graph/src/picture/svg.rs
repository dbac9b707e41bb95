//! The picture as SVG.
//!
//! Must not decide where anything is.

use super::place::{Area, DETAIL_SIZE, Layout, NAME_SIZE, text_width};
use super::{Drawing, Edge, EdgeKind, GroupKind, Side, Vertex, VertexKind, labels, shown};
use std::fmt::Write as _;

const STYLE: &str = "\
text{font-family:'DejaVu Sans',Verdana,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1c2733}\
.name{font-size:13px;font-weight:600}\
.detail{font-size:10.5px;fill:#5b6b7b}\
.topic{font-size:10.5px;fill:#4a3508}\
.process{font-size:10.5px;fill:#47566a;font-style:italic;paint-order:stroke;stroke:#f6f8fb;\
stroke-width:4px}\
.node{fill:#e8f1fd;stroke:#3a6ea5;stroke-width:1.3}\
.pill{fill:#fff6e0;stroke:#c9962f;stroke-width:1.1}\
.external{fill:#ffffff;stroke:#c9962f;stroke-width:1.1;stroke-dasharray:3 2.5}\
.box{fill:#f6f8fb;stroke:#8494a7;stroke-width:1.2;stroke-dasharray:7 5}\
.edge{fill:none;stroke:#51606f;stroke-width:1.2}\
.read{stroke:#8a97a5;stroke-dasharray:5 4}\
.measured{stroke:#c2410c;stroke-width:1.9}";

/// Style of what only pictures with fabrics have.
const HARDWARE_STYLE: &str = "\
.hardware{fill:#e3f4e6;stroke:#3f7d4e}\
.hardware.pill,.hardware.external{stroke-width:2}\
.gateway{fill:#f1e8fb;stroke:#7a4fa3;stroke-width:2.4}\
.fabric{fill:#f2faf3;stroke:#3f7d4e;stroke-width:1.4;stroke-dasharray:7 5}";

/// Style of what only pictures with services have.
const SERVICE_STYLE: &str = "\
.service{fill:#e2f3f1;stroke:#2b7a78;stroke-width:1.1}\
.outside{fill:#ffffff;stroke:#2b7a78;stroke-width:1.1;stroke-dasharray:3 2.5}\
.call{stroke:#2b7a78;stroke-dasharray:2 3}";

/// Style of what only pictures with figures have.
const LABEL_STYLE: &str = "\
.label{font-size:9px;fill:#2f3d4c;paint-order:stroke;stroke:#ffffff;stroke-width:2.5px}";

/// Space below the graph for the key.
const KEY_HEIGHT: f64 = 34.0;

pub(super) fn write(drawing: &Drawing, layout: &Layout) -> String {
    let key = key(drawing);
    let has_services = drawing.vertices.iter().any(|vertex| vertex.kind.is_service());
    let has_labels = drawing.edges.iter().any(|edge| edge.label.is_some());
    let width = layout.width.ceil();
    let height = (layout.height + KEY_HEIGHT).ceil();
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <style>{STYLE}{}{}{}</style>\n",
        escaped(&drawing.title),
        if has(drawing, GroupKind::Hardware) { HARDWARE_STYLE } else { "" },
        if has_services { SERVICE_STYLE } else { "" },
        if has_labels { LABEL_STYLE } else { "" }
    );
    let of_services = has_services.then_some(("s", "#2b7a78"));
    let markers = [("a", "#51606f"), ("r", "#8a97a5"), ("m", "#c2410c")];
    for (id, color) in markers.into_iter().chain(of_services) {
        let _ = writeln!(
            out,
            "<marker id=\"{id}\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\">\
             <path d=\"M0 0.5 8 4 0 7.5z\" fill=\"{color}\"/></marker>"
        );
    }
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    for drawn in &layout.boxes {
        let _ = writeln!(out, "<g><title>{}</title>", escaped(&drawing.groups[drawn.group].name));
        let class = match drawing.groups[drawn.group].kind {
            GroupKind::Process => "box",
            GroupKind::Hardware => "fabric",
        };
        rectangle(&mut out, &drawn.area, class, 10.0);
        out.push_str("</g>\n");
    }
    // Measured edges last, so that they lie on top.
    for measured in [false, true] {
        for (index, edge) in drawing.edges.iter().enumerate() {
            if edge.measured == measured {
                draw_edge(&mut out, drawing, edge, &layout.ways[index], layout.up[index]);
            }
        }
    }
    for (edge, (x, y)) in labels::place(drawing, layout) {
        if let Some(label) = &drawing.edges[edge].label {
            text(&mut out, "label", x, y, "start", label);
        }
    }
    for drawn in &layout.boxes {
        let name = shown(&drawing.groups[drawn.group].name);
        let (x, y) = drawn.name;
        text(&mut out, "process", x, y, "start", &name);
    }
    for (index, area) in layout.vertices.iter().enumerate() {
        vertex(&mut out, drawing, index, area);
    }
    out.push_str(&key.svg(layout.height));
    out.push_str("</svg>\n");
    out
}

fn vertex(out: &mut String, drawing: &Drawing, index: usize, area: &Area) {
    let vertex = &drawing.vertices[index];
    let (class, radius) = match vertex.kind {
        VertexKind::Node => ("node", 8.0),
        VertexKind::Topic => ("pill", (area.height / 2.0).min(13.0)),
        VertexKind::ExternalTopic => ("external", (area.height / 2.0).min(13.0)),
        VertexKind::Service => ("service", SERVICE_RADIUS),
        VertexKind::ExternalService => ("outside", SERVICE_RADIUS),
    };
    let outside = match vertex.kind {
        VertexKind::ExternalTopic => " (external)",
        VertexKind::Service => " (service)",
        VertexKind::ExternalService => " (external service)",
        VertexKind::Node | VertexKind::Topic => "",
    };
    let (mark, told) = side(vertex);
    let _ = writeln!(out, "<g><title>{}{outside}{told}</title>", escaped(&vertex.name));
    rectangle(out, area, &format!("{class}{mark}"), radius);
    let center = area.center();
    if vertex.kind == VertexKind::Node {
        text(out, "name", center, area.y + 19.0, "middle", &shown(&vertex.name));
        let mut y = area.y + 34.0;
        for line in &vertex.details {
            text(out, "detail", center, y, "middle", &shown(line));
            y += 14.0;
        }
    } else {
        text(out, "topic", center, area.y + 17.0, "middle", &shown(&vertex.name));
        for (at, line) in vertex.details.iter().enumerate() {
            text(out, "detail", center, area.y + 31.0 + 14.0 * at as f64, "middle", &shown(line));
        }
    }
    out.push_str("</g>\n");
}

/// Corners of services, which differ from corners of nodes and of topics.
const SERVICE_RADIUS: f64 = 2.0;

/// How the side of a vertex is marked, and how its tooltip says it.
fn side(vertex: &Vertex) -> (&'static str, &'static str) {
    match (vertex.side, vertex.kind) {
        (Side::Unmapped, _) => ("", ""),
        (Side::Software, VertexKind::Node) => ("", " (software)"),
        (Side::Software, _) => ("", " (software-mapped)"),
        (Side::Hardware, VertexKind::Node) => (" hardware", " (hardware)"),
        (Side::Hardware, _) => (" hardware", " (hardware-mapped)"),
        (Side::Gateway, _) => (" gateway", " (gateway)"),
    }
}

fn rectangle(out: &mut String, area: &Area, class: &str, radius: f64) {
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
         rx=\"{radius:.1}\"/>",
        area.x, area.y, area.width, area.height
    );
}

fn text(out: &mut String, class: &str, x: f64, y: f64, anchor: &str, content: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(content)
    );
}

fn draw_edge(out: &mut String, drawing: &Drawing, edge: &Edge, way: &[(f64, f64)], up: bool) {
    let (class, marker) = match edge.kind {
        _ if edge.measured => ("edge measured", "m"),
        EdgeKind::Read => ("edge read", "r"),
        EdgeKind::Call | EdgeKind::Serve => ("edge call", "s"),
        EdgeKind::Publish | EdgeKind::Trigger => ("edge", "a"),
    };
    let end = if up { "marker-start" } else { "marker-end" };
    let how = match edge.kind {
        EdgeKind::Publish => "output",
        EdgeKind::Trigger => "triggering input",
        EdgeKind::Read => "non-triggering input",
        EdgeKind::Call => "client",
        EdgeKind::Serve => "server",
    };
    let title = format!(
        "{} \u{2192} {} ({how} {}){}",
        drawing.vertices[edge.from].name,
        drawing.vertices[edge.to].name,
        edge.ports.join(", "),
        edge.label.as_ref().map(|label| format!(": {label}")).unwrap_or_default()
    );
    let _ = writeln!(
        out,
        "<path class=\"{class}\" {end}=\"url(#{marker})\" d=\"{}\"><title>{}</title></path>",
        path(way),
        escaped(&title)
    );
}

/// Straight through bands, curved between them.
fn path(way: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in way.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| way.get(before));
        let _ = match before {
            None => write!(path, "M{x:.1} {y:.1}"),
            Some((before_x, _)) if (before_x - x).abs() < 0.05 => write!(path, "V{y:.1}"),
            Some((before_x, before_y)) => {
                let half = f64::midpoint(*before_y, *y);
                write!(path, "C{before_x:.1} {half:.1} {x:.1} {half:.1} {x:.1} {y:.1}")
            }
        };
    }
    path
}

/// What the signs mean; only those that the picture uses.
struct Key {
    parts: Vec<(&'static str, &'static str)>,
    width: f64,
}

/// Width that the key needs.
pub(super) fn key_width(drawing: &Drawing) -> f64 {
    key(drawing).width
}

fn has(drawing: &Drawing, kind: GroupKind) -> bool {
    drawing.groups.iter().any(|group| group.kind == kind)
}

fn key(drawing: &Drawing) -> Key {
    let any = |kind: VertexKind| drawing.vertices.iter().any(|vertex| vertex.kind == kind);
    let on = |is_node: bool, side: Side| {
        let of_kind = |vertex: &&Vertex| match vertex.kind {
            VertexKind::Node => is_node,
            VertexKind::Topic | VertexKind::ExternalTopic => !is_node,
            VertexKind::Service | VertexKind::ExternalService => false,
        };
        drawing.vertices.iter().filter(of_kind).any(|vertex| vertex.side == side)
    };
    let edges = |kind: EdgeKind| drawing.edges.iter().any(|edge| edge.kind == kind);
    // With fabrics the plain signs mean software.
    let mapped = has(drawing, GroupKind::Hardware);
    let plain = |is_node| !mapped || on(is_node, Side::Software);
    let node = if mapped { "software node" } else { "node" };
    let topic = if mapped { "software-mapped topic" } else { "topic" };
    let all = [
        (any(VertexKind::Node) && plain(true), "node", node),
        (on(true, Side::Hardware), "node hardware", "hardware node"),
        (any(VertexKind::Topic) && plain(false), "pill", topic),
        (on(false, Side::Hardware), "pill hardware", "hardware-mapped topic"),
        (on(false, Side::Gateway), "pill gateway", "gateway"),
        (any(VertexKind::ExternalTopic), "external", "external topic"),
        (any(VertexKind::Service), "service", "service"),
        (any(VertexKind::ExternalService), "outside", "external service"),
        (has(drawing, GroupKind::Process), "box", "process"),
        (mapped, "fabric", "hardware subgraph"),
        (edges(EdgeKind::Trigger), "edge", "triggers"),
        (edges(EdgeKind::Read), "edge read", "is read when the node runs"),
        (drawing.edges.iter().any(|edge| edge.kind.is_service()), "edge call", "calls"),
        (drawing.edges.iter().any(|edge| edge.measured), "edge measured", "measured chain"),
    ];
    let parts = all.into_iter().filter(|(used, ..)| *used);
    let parts: Vec<_> = parts.map(|(_, class, label)| (class, label)).collect();
    let widths = parts.iter().map(|(_, label)| text_width(label, DETAIL_SIZE) + KEY_SIGN);
    let width = widths.sum::<f64>() + 40.0;
    Key { parts, width }
}

/// Room for a sign of the key with its gaps.
const KEY_SIGN: f64 = 58.0;

impl Key {
    fn svg(&self, y: f64) -> String {
        let mut out = String::new();
        let mut x = 22.0;
        let middle = y + KEY_HEIGHT / 2.0 - 6.0;
        for (class, label) in &self.parts {
            if class.starts_with("edge") {
                let marker = match *class {
                    "edge read" => "r",
                    "edge measured" => "m",
                    "edge call" => "s",
                    _ => "a",
                };
                let _ = writeln!(
                    out,
                    "<path class=\"{class}\" marker-end=\"url(#{marker})\" d=\"M{x:.1} {middle:.1}\
                     h28\"/>"
                );
            } else {
                let area = Area { x, y: middle - 7.0, width: 28.0, height: 14.0 };
                rectangle(
                    &mut out,
                    &area,
                    class,
                    match *class {
                        "service" | "outside" => SERVICE_RADIUS,
                        class if class.starts_with("node") => 4.0,
                        _ => 7.0,
                    },
                );
            }
            text(&mut out, "detail", x + 34.0, middle + NAME_SIZE * 0.28, "start", label);
            x += text_width(label, DETAIL_SIZE) + KEY_SIGN;
        }
        out
    }
}

/// Text as XML content and attribute values take it; characters that XML forbids are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}
