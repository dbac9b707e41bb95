//! A trace as a picture: a lane for each thread, a bar for each execution, a line for each message
//! that ran one.

use crate::model::Trace;
use crate::summary::{Execution, Names, Summary};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bars that a picture has at most; later ones are left out.
const BARS_MAX: usize = 2_000;
/// Lengths in units of the picture.
const MARGIN: f64 = 14.0;
const LABELS: f64 = 190.0;
const WIDTH: f64 = 1100.0;
const LANE: f64 = 46.0;
const BAR: f64 = 24.0;
const HEAD: f64 = 34.0;
const AXIS: f64 = 34.0;
/// Width of a letter of the labels in bars.
const LETTER: f64 = 6.3;
/// Fills, for light and dark backgrounds alike.
const COLOURS: [&str; 10] = [
    "#4c78a8", "#b85c00", "#54a24b", "#b279a2", "#2f8f8b", "#c2403d", "#8a6d3b", "#7a5195",
    "#5a7d2a", "#9c4f6b",
];

/// What of a trace is drawn.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// From when, ns after the first run-time event.
    pub from_ns: u64,
    /// For how long, ns.
    pub length_ns: u64,
    /// The line above it; the file's own words.
    pub title: String,
}

/// A trace in order of time as SVG; `None` if no execution lies in the chosen time.
#[must_use]
pub fn picture(trace: &Trace, options: &PictureOptions) -> Option<String> {
    let summary = Summary::of(trace);
    let names = Names::of(trace);
    let start_ns = summary.span_ns.0.saturating_add(options.from_ns);
    let end_ns = start_ns.saturating_add(options.length_ns.max(1));
    let shown: Vec<_> = (summary.executions.iter().enumerate())
        .filter(|(_, it)| it.end_ns >= start_ns && it.start_ns < end_ns)
        .take(BARS_MAX)
        .collect();
    // Lanes in the order of processes and threads; those without bars are left out.
    let mut lanes: BTreeMap<(u32, u32, usize), usize> = BTreeMap::new();
    for (_, execution) in &shown {
        let thread = &trace.threads[execution.thread];
        lanes.insert((thread.pid, thread.tid, execution.thread), 0);
    }
    (0..).zip(lanes.values_mut()).for_each(|(number, lane)| *lane = number);
    if lanes.is_empty() {
        return None;
    }
    let lane_of = |thread: usize| {
        let it = &trace.threads[thread];
        lanes.get(&(it.pid, it.tid, thread)).copied()
    };
    let scale = (WIDTH - LABELS - 2.0 * MARGIN) / (end_ns - start_ns) as f64;
    let x_of = |at_ns: u64| {
        let at_ns = at_ns.clamp(start_ns, end_ns);
        MARGIN + LABELS + (at_ns - start_ns) as f64 * scale
    };
    let y_of = |lane: usize| HEAD + lane as f64 * LANE + (LANE - BAR) / 2.0;
    let height = HEAD + lanes.len() as f64 * LANE + AXIS;
    let mut text = head(height, &options.title);
    for ((pid, _, thread), number) in &lanes {
        let process = names.processes.get(pid).cloned().unwrap_or_default();
        let thread = &trace.threads[*thread].name;
        let label = if process == *thread { process } else { format!("{process} {thread}") };
        lane(&mut text, *number, &label);
    }
    axis(&mut text, (start_ns, end_ns), height, &x_of);
    let colours: BTreeMap<&str, &str> =
        summary.nodes.iter().map(|it| it.node.as_str()).zip(COLOURS.into_iter().cycle()).collect();
    for (_, execution) in &shown {
        let Some(lane) = lane_of(execution.thread) else { continue };
        let colour = colours.get(execution.node.as_str()).unwrap_or(&"#777777");
        let place = (x_of(execution.start_ns), x_of(execution.end_ns), y_of(lane));
        bar(&mut text, execution, colour, place);
    }
    for message in summary.messages.iter().filter(|message| message.triggered) {
        let execution = message.execution.and_then(|it| summary.executions.get(it));
        let Some(execution) = execution else { continue };
        let inside = message.published_ns >= start_ns && execution.start_ns < end_ns;
        let lanes = (lane_of(message.from), lane_of(message.to));
        let (Some(from), Some(to)) = lanes else { continue };
        if !inside {
            continue;
        }
        let (x1, x2) = (x_of(message.published_ns), x_of(execution.start_ns));
        let below = |lane: usize| y_of(lane) + BAR;
        let (y1, y2) = match from.cmp(&to) {
            std::cmp::Ordering::Less => (below(from), y_of(to)),
            std::cmp::Ordering::Greater => (y_of(from), below(to)),
            std::cmp::Ordering::Equal => (below(from), below(to)),
        };
        let took_ns = execution.start_ns.saturating_sub(message.published_ns);
        line(&mut text, &message.topic, took_ns, (x1, y1), (x2, y2));
    }
    text.push_str("</svg>\n");
    Some(text)
}

fn head(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         width=\"{WIDTH}\" height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>.lane{{fill:none;stroke:#8884}}.label,.axis,.title{{fill:#444}}\
         .message{{fill:none;stroke:#666;stroke-width:1}}.tick{{stroke:#8883}}.name{{fill:#fff}}\
         @media (prefers-color-scheme: dark){{.label,.axis,.title{{fill:#ccc}}\
         .message{{stroke:#aaa}}}}</style>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"22\" font-size=\"14\">{}</text>\n",
        escape(title),
    )
}

/// The place of a thread's executions, with its name.
fn lane(text: &mut String, number: usize, label: &str) {
    let y = HEAD + number as f64 * LANE;
    let _ = writeln!(
        text,
        "<rect class=\"lane\" x=\"{MARGIN}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{LANE}\"/>\n\
         <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        WIDTH - 2.0 * MARGIN,
        MARGIN + 6.0,
        y + LANE / 2.0 + 4.0,
        escape(&shorten(label, LABELS - 8.0)),
    );
}

/// A message from its publication to the execution that it ran; it bends inside a lane.
fn line(text: &mut String, topic: &str, took_ns: u64, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let bend = if y1 == y2 { 8.0 } else { 0.0 };
    let middle = y1 + (y2 - y1) / 2.0 + bend;
    let _ = writeln!(
        text,
        "<path class=\"message\" d=\"M{x1:.1} {y1:.1} C{x1:.1} {middle:.1} {x2:.1} {middle:.1} \
         {x2:.1} {y2:.1}\"><title>{}: {:.1} µs from publication to execution</title></path>",
        escape(topic),
        took_ns as f64 / 1e3,
    );
}

/// A bar, with the node's name if it fits.
fn bar(text: &mut String, execution: &Execution, colour: &str, (x1, x2, y): (f64, f64, f64)) {
    let width = (x2 - x1).max(0.6);
    let node = if execution.node.is_empty() { &execution.symbol } else { &execution.node };
    let _ = writeln!(
        text,
        "<rect x=\"{x1:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\">\
         <title>{}: {:.1} µs ({})</title></rect>",
        escape(node),
        execution.end_ns.saturating_sub(execution.start_ns) as f64 / 1e3,
        escape(&execution.symbol),
    );
    let name = shorten(node, width - 6.0);
    if name.chars().count() >= 3 {
        let _ = writeln!(
            text,
            "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{}</text>",
            x1 + 3.0,
            y + BAR / 2.0 + 4.0,
            escape(&name),
        );
    }
}

/// Lines and times, five to ten of them.
fn axis(text: &mut String, (start_ns, end_ns): (u64, u64), height: f64, x_of: &dyn Fn(u64) -> f64) {
    let length_ns = end_ns - start_ns;
    // 1, 2 or 5 times a power of ten, so that there are at most ten.
    let powers = (0..19).map(|power| 10_u64.pow(power));
    let mut steps = powers.flat_map(|power| [power, 2 * power, power.saturating_mul(5)]);
    let step_ns = steps.find(|step| length_ns / step <= 10).unwrap_or(length_ns);
    let steps = (0..=10).map(|number| step_ns.saturating_mul(number));
    for after_ns in steps.take_while(|after_ns| *after_ns <= length_ns) {
        let x = x_of(start_ns + after_ns);
        let _ = writeln!(
            text,
            "<line class=\"tick\" x1=\"{x:.1}\" y1=\"{HEAD}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>\
             <text class=\"axis\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - AXIS,
            height - AXIS + 18.0,
            time_text(after_ns),
        );
    }
}

fn time_text(time_ns: u64) -> String {
    match time_ns {
        0 => "0".to_owned(),
        it if it % 1_000_000 == 0 => format!("{} ms", it / 1_000_000),
        it if it % 1_000 == 0 => format!("{} µs", it / 1_000),
        it => format!("{it} ns"),
    }
}

fn shorten(text: &str, width: f64) -> String {
    let room = (width / LETTER).max(0.0) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let short: String = text.chars().take(room.saturating_sub(1)).collect();
    if short.is_empty() { short } else { short + "…" }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
