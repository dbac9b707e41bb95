//! The network as a picture: per topic a row of publishers, what joins and serves them, and
//! subscribers. SVG. Must not decide anything about the network.

use crate::network::{Network, NetworkPort, TopicNetwork};
use crate::report::stages;
use std::fmt::Write as _;

const STYLE: &str = "text{font-family:'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif;font-size:11px;\
fill:#1c2733}.topic{font-size:13px;font-weight:600}.detail{font-size:9.5px;fill:#5b6b7b}\
.node{fill:#e3f4e6;stroke:#3f7d4e;stroke-width:1.3}.gateway{fill:#f1e8fb;stroke:#7a4fa3;\
stroke-width:1.3}.module{fill:#fff6e0;stroke:#c9962f;stroke-width:1.1}\
.stream{fill:none;stroke:#51606f;stroke-width:1.2}";

/// Heights and widths in pixels.
const ROW: usize = 40;
const BOX_HEIGHT: usize = 30;
const PORT_WIDTH: usize = 270;
const MODULE_WIDTH: usize = 120;
const GAP: usize = 50;
const HEADING: usize = 34;
const MARGIN: usize = 16;
/// Characters that fit into a port's box and into its second line.
const NAME_CHARS: usize = 38;
const DETAIL_CHARS: usize = 50;

pub(crate) fn svg(network: &Network) -> String {
    let columns = network.topics.iter().map(|topic| modules(topic).len()).max().unwrap_or(0);
    let width = 2 * MARGIN + 2 * PORT_WIDTH + columns * (MODULE_WIDTH + GAP) + GAP;
    let height: usize = network.topics.iter().map(topic_height).sum();
    let height = height + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        network.module
    );
    let mut y = MARGIN;
    for topic in &network.topics {
        draw(&mut out, topic, y, width);
        y += topic_height(topic);
    }
    out.push_str("</svg>\n");
    out
}

fn rows(topic: &TopicNetwork) -> usize {
    topic.publishers.len().max(topic.subscribers.len()).max(1)
}

fn topic_height(topic: &TopicNetwork) -> usize {
    HEADING + rows(topic) * ROW
}

/// What stands between publishers and subscribers, from left to right: name and detail.
fn modules(topic: &TopicNetwork) -> Vec<(String, String)> {
    let mut modules = Vec::new();
    if let Some(arbiter) = topic.arbiter {
        let check = if arbiter.check { "lengths checked" } else { "no check" };
        modules.push(("arbiter".to_owned(), check.to_owned()));
    }
    for level in &topic.broadcasts {
        let count = if level.len() == 1 { String::new() } else { format!("{} x ", level.len()) };
        let total: usize = level.iter().sum();
        modules.push((format!("{count}broadcast"), format!("to {total}")));
    }
    modules
}

fn draw(out: &mut String, topic: &TopicNetwork, top: usize, width: usize) {
    let first = top + HEADING;
    let probe = if topic.probe { ", probe" } else { "" };
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "<text class=\"topic\" x=\"{MARGIN}\" y=\"{}\">{}</text>\n<text class=\"detail\" x=\"{MARGIN}\" \
         y=\"{}\">{}, {} bits, {}{probe}</text>",
        top + 14,
        shortened(&topic.shown(), 2 * NAME_CHARS),
        top + 27,
        topic.layout.type_name,
        topic.width,
        topic.clock.clk()
    );
    let middle = first + (rows(topic) - 1) * ROW / 2 + BOX_HEIGHT / 2;
    let modules = modules(topic);
    let left = MARGIN + PORT_WIDTH;
    let right = width - MARGIN - PORT_WIDTH;
    let mut x = left + GAP;
    let mut begin = None;
    let mut end = left;
    for (name, detail) in &modules {
        if begin.is_some() {
            line(out, (end, middle), (x, middle));
        }
        begin = begin.or(Some(x));
        boxed(out, "module", (x, middle - BOX_HEIGHT / 2), MODULE_WIDTH, name, detail);
        end = x + MODULE_WIDTH;
        x = end + GAP;
    }
    let (begin, end) = match begin {
        Some(begin) => (begin, end),
        None => (left + GAP / 2, left + GAP / 2),
    };
    for (index, port) in topic.publishers.iter().enumerate() {
        let y = first + index * ROW;
        line(out, (left, y + BOX_HEIGHT / 2), (begin, middle));
        draw_port(out, port, (MARGIN, y), true);
    }
    for (index, port) in topic.subscribers.iter().enumerate() {
        let y = first + index * ROW;
        line(out, (end, middle), (right, y + BOX_HEIGHT / 2));
        draw_port(out, port, (right, y), false);
    }
}

fn draw_port(out: &mut String, port: &NetworkPort, at: (usize, usize), publishes: bool) {
    let is_gateway = matches!(port.owner, crate::network::PortOwner::Gateway);
    let class = if is_gateway { "gateway" } else { "node" };
    let stages = match stages(port, publishes) {
        none if none == "-" => String::new(),
        some => format!(", {some}"),
    };
    let detail = format!("{} bits, {}{stages}", port.width, port.clock.clk());
    boxed(out, class, at, PORT_WIDTH, &port.owner.shown(), &detail);
}

fn boxed(
    out: &mut String,
    class: &str,
    at: (usize, usize),
    width: usize,
    name: &str,
    detail: &str,
) {
    let (x, y) = at;
    let center = x + width / 2;
    let _ = writeln!(
        out,
        "<g><title>{name}: {detail}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" \
         width=\"{width}\" height=\"{BOX_HEIGHT}\" rx=\"5\"/><text x=\"{center}\" y=\"{}\" \
         text-anchor=\"middle\">{}</text><text class=\"detail\" x=\"{center}\" y=\"{}\" \
         text-anchor=\"middle\">{}</text></g>",
        y + 13,
        shortened(name, NAME_CHARS),
        y + 25,
        shortened(detail, DETAIL_CHARS)
    );
}

fn line(out: &mut String, from: (usize, usize), to: (usize, usize)) {
    let _ =
        writeln!(out, "<path class=\"stream\" d=\"M{} {}L{} {}\"/>", from.0, from.1, to.0, to.1);
}

/// Names are ASCII: ROS allows nothing else, and the check has seen them.
fn shortened(text: &str, chars: usize) -> String {
    match text.len() > chars {
        true => format!("{}...", &text[..chars - 3]),
        false => text.to_owned(),
    }
}
