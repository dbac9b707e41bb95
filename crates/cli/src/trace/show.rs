//! `crossdock trace show`: tables, a timeline, a picture.

use super::arguments::ShowArguments;
use super::{attach, read};
use crate::output;
use crate::table::{Align, Table};
use anyhow::{Context, Result, bail};
use crossdock_trace::{
    EventKind, FieldType, PictureOptions, Share, Summary, Times, Trace, Value, picture,
};
use serde_json::json;
use std::fmt::Write;

/// Prints or draws what the user asked for.
pub(super) fn show(arguments: &ShowArguments) -> Result<()> {
    let trace = match &arguments.trace {
        Some(folder) => read(folder)?,
        None => {
            let mut trace = Trace::new();
            attach(&arguments.whose)?.read(&mut trace);
            trace.sort();
            output::warn(&trace.fullness());
            trace
        }
    };
    if let Some(path) = &arguments.svg {
        return draw(&trace, arguments).and_then(|text| output::write(Some(path), &text));
    }
    if arguments.timeline {
        return timeline(&trace, arguments.whose.json);
    }
    let summary = Summary::of(&trace);
    let other = match &arguments.compare {
        Some(folder) => {
            let other = read(folder).context("--compare")?;
            comparable([&trace, &other])?;
            Some(Summary::of(&other))
        }
        None => None,
    };
    if arguments.whose.json {
        let mut value = json_of(&summary);
        if let Some(other) = &other {
            value["compared"] = json_of(other);
        }
        return output::print_json(&value);
    }
    if summary.events == 0 {
        return output::print(
            "nothing was traced; `crossdock trace start` begins, `crossdock run --trace` records\n",
        );
    }
    let mut text = tables(&summary);
    match &other {
        Some(other) => text.push_str(&side_by_side(&summary, other)),
        None => text.push_str(&share_line(&summary.share)),
    }
    output::print(&text)
}

/// Refuses to compare what a simulated board took: its events have the times of this computer,
/// which simulates it a thousand times as slowly as it runs.
fn comparable(traces: [&Trace; 2]) -> Result<()> {
    let mut gateways = traces.into_iter().flat_map(|trace| {
        trace.events.iter().filter(|event| event.kind() == Some(EventKind::GatewayInit))
    });
    let Some(gateway) = gateways.next() else { return Ok(()) };
    bail!(
        "--compare: one of the traces has fabric `{}`, which was simulated: its events have simulated \
         times, not times of a board; compare traces without a fabric (the board's own times \
         are in the events `fabric_message` of --timeline)",
        gateway.text(2)
    )
}

fn ms(time_ns: u64) -> String {
    format!("{:.3}", time_ns as f64 / 1e6)
}

fn us(time_ns: u64) -> String {
    format!("{:.1}", time_ns as f64 / 1e3)
}

fn seconds_of(summary: &Summary) -> f64 {
    summary.span_ns.1.saturating_sub(summary.span_ns.0) as f64 / 1e9
}

fn tables(summary: &Summary) -> String {
    let mut text = format!("{} events in {:.3} s", summary.events, seconds_of(summary));
    if summary.discarded > 0 {
        let _ = write!(text, ", {} lost", summary.discarded);
    }
    text.push_str("\n\n");
    let mut nodes = Table::new(&[
        ("node", Align::Left),
        ("executions", Align::Right),
        ("total ms", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("max us", Align::Right),
    ]);
    for node in &summary.nodes {
        let Times { count, total_ns, p50_ns, p99_ns, max_ns } = node.executions;
        let name = node.node.clone();
        nodes.row([name, count.to_string(), ms(total_ns), us(p50_ns), us(p99_ns), us(max_ns)]);
    }
    let mut topics = Table::new(&[
        ("topic", Align::Left),
        ("published", Align::Right),
        ("taken", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("max us", Align::Right),
    ]);
    for topic in &summary.topics {
        let Times { count, p50_ns, p99_ns, max_ns, .. } = topic.latency;
        let name = topic.topic.clone();
        let published = topic.published.to_string();
        topics.row([name, published, count.to_string(), us(p50_ns), us(p99_ns), us(max_ns)]);
    }
    // An empty line behind each that has rows: processes of ROS 2 have no nodes, say.
    let shown = [nodes.text(), topics.text(), kernels(summary)].into_iter();
    shown.filter(|table| !table.is_empty()).for_each(|table| text.push_str(&(table + "\n")));
    text
}

/// Kernels by device and name; empty when there is none.
fn kernels(summary: &Summary) -> String {
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("device", Align::Left),
        ("runs", Align::Right),
        ("total ms", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("max us", Align::Right),
    ]);
    for (device, kernel, times) in summary.kernel_times() {
        let Times { count, total_ns, p50_ns, p99_ns, max_ns } = times;
        let (kernel, device) = (kernel.to_owned(), device.to_owned());
        let figures = [ms(total_ns), us(p50_ns), us(p99_ns), us(max_ns)];
        let [total, p50, p99, max] = figures;
        table.row([kernel, device, count.to_string(), total, p50, p99, max]);
    }
    table.text()
}

fn share_line(share: &Share) -> String {
    format!(
        "computation {} ms, passing of {} messages that ran nodes {} ms: {:.1} % of both\n",
        ms(share.computation_ns),
        share.messages,
        ms(share.passing_ns),
        share.passing_percent()
    )
}

/// A part of the time of a graph, ns.
type OfShare = fn(&Share) -> u64;

/// The run time of two placements of one graph, broken down beside each other.
fn side_by_side(first: &Summary, second: &Summary) -> String {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("this", Align::Right),
        ("compared", Align::Right),
        ("change", Align::Right),
    ]);
    // Per message that ran a node, so that runs of different lengths can be compared.
    let per = |time_ns: u64, share: &Share| time_ns as f64 / share.messages.max(1) as f64 / 1e3;
    let rows: [(&str, OfShare); 3] = [
        ("computation us per message", |share| share.computation_ns),
        ("passing us per message", |share| share.passing_ns),
        ("both us per message", |share| share.computation_ns.saturating_add(share.passing_ns)),
    ];
    for (name, of) in rows {
        let (a, b) = (per(of(&first.share), &first.share), per(of(&second.share), &second.share));
        let change = if a > 0.0 { format!("{:+.2} %", (b / a - 1.0) * 100.0) } else { "-".into() };
        table.row([name.to_owned(), format!("{a:.2}"), format!("{b:.2}"), change]);
    }
    let percent = |share: &Share| format!("{:.1} %", share.passing_percent());
    let row = [percent(&first.share), percent(&second.share)];
    let [a, b] = row;
    table.row(["passing, of both".to_owned(), a, b, String::new()]);
    table.text()
}

fn json_of(summary: &Summary) -> serde_json::Value {
    let times = |times: &Times| {
        json!({
            "count": times.count,
            "total_ns": times.total_ns,
            "p50_ns": times.p50_ns,
            "p99_ns": times.p99_ns,
            "max_ns": times.max_ns,
        })
    };
    let nodes = summary.nodes.iter();
    let nodes: Vec<_> =
        nodes.map(|it| json!({ "node": it.node, "executions": times(&it.executions) })).collect();
    let topics = summary.topics.iter().map(|it| {
        let (published, latency) = (it.published, times(&it.latency));
        json!({ "topic": it.topic, "published": published, "latency": latency })
    });
    let topics: Vec<_> = topics.collect();
    let kernels = summary.kernel_times().into_iter().map(
        |(device, kernel, of)| json!({ "kernel": kernel, "device": device, "runs": times(&of) }),
    );
    let kernels: Vec<_> = kernels.collect();
    json!({
        "events": summary.events,
        "lost": summary.discarded,
        "seconds": seconds_of(summary),
        "nodes": nodes,
        "topics": topics,
        "kernels": kernels,
        "share": {
            "computation_ns": summary.share.computation_ns,
            "passing_ns": summary.share.passing_ns,
            "messages": summary.share.messages,
            "passing_percent": summary.share.passing_percent(),
        },
    })
}

/// Every event, one a line.
fn timeline(trace: &Trace, json: bool) -> Result<()> {
    let start_ns = trace.events.first().map_or(0, |event| event.at_ns);
    let mut text = String::new();
    for event in &trace.events {
        let (class, thread) = (&trace.classes[event.class], &trace.threads[event.thread]);
        let fields = class.fields.iter().zip(&event.values);
        if json {
            let values: serde_json::Map<String, serde_json::Value> =
                fields.map(|((name, _), value)| (name.clone(), json_value(value))).collect();
            let line = json!({
                "at_ns": event.at_ns,
                "pid": thread.pid,
                "tid": thread.tid,
                "thread": thread.name,
                "event": class.full_name(),
                "fields": values,
            });
            let _ = writeln!(text, "{line}");
        } else {
            let after_us = event.at_ns.saturating_sub(start_ns) as f64 / 1e3;
            let _ = write!(text, "{after_us:>14.3} {:<15} {}", thread.name, class.full_name());
            for ((name, kind), value) in fields {
                let _ = write!(text, " {name}={}", value_text(*kind, value));
            }
            text.push('\n');
        }
        if text.len() > 1 << 16 {
            output::print(&text)?;
            text.clear();
        }
    }
    output::print(&text)
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Unsigned(number) => json!(number),
        Value::Signed(number) => json!(number),
        Value::Float(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Gid(gid) => json!(gid),
    }
}

fn value_text(kind: FieldType, value: &Value) -> String {
    match value {
        Value::Unsigned(number) if kind == FieldType::Handle => format!("{number:#x}"),
        Value::Unsigned(number) => number.to_string(),
        Value::Signed(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Gid(gid) => gid.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn draw(trace: &Trace, arguments: &ShowArguments) -> Result<String> {
    let ns = |ms: f64| (ms.max(0.0) * 1e6) as u64;
    let span_ns = Summary::of(trace).span_ns;
    let all_ns = span_ns.1.saturating_sub(span_ns.0);
    let options = PictureOptions {
        from_ns: ns(arguments.from),
        length_ns: arguments.length.map_or(all_ns, ns),
        title: arguments.title.clone().unwrap_or_default(),
    };
    let Some(text) = picture(trace, &options) else {
        bail!("no execution lies in that time; the trace has {:.3} ms", all_ns as f64 / 1e6);
    };
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_trace::Event;

    #[test]
    fn a_trace_of_a_simulated_board_is_compared_with_none() {
        let of = |kind| {
            let values =
                vec![Value::Unsigned(0), Value::Text("/image".into()), Value::Text("board".into())];
            let class = EventKind::ALL.iter().position(|it| *it == kind).expect("a kind");
            let mut trace = Trace::new();
            trace.events.push(Event { at_ns: 1, thread: 0, class, values });
            trace
        };
        let (software, hardware) = (of(EventKind::ChainInit), of(EventKind::GatewayInit));
        assert!(comparable([&software, &software]).is_ok());
        for pair in [[&software, &hardware], [&hardware, &software]] {
            let error = comparable(pair).expect_err("one has a board").to_string();
            assert!(error.contains("--compare") && error.contains("`board`"), "{error}");
        }
    }
}
