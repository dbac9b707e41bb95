//! The page itself. Everything that comes from files is escaped.

use super::summary::{Summary, time};
use super::{MAP_FILE, PATH_FILE, Shot, path};
use crate::lane::Lane;
use crate::recording::Recorded;
use crate::score::Shown;
use std::fmt::Write;

/// What the page shows.
pub(super) struct Content<'a> {
    pub(super) recorded: &'a Recorded,
    pub(super) shots: &'a [Shot],
    pub(super) lanes_drawn: bool,
    pub(super) graph_picture: Option<&'a str>,
    pub(super) map: Option<&'a str>,
    pub(super) summary: Option<&'a Summary>,
}

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 24px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 10px; }
p { max-width: 75ch; } .facts { display: flex; flex-wrap: wrap; gap: 12px; padding: 0; }
.facts li { list-style: none; background: var(--soft); border-radius: 8px; padding: 8px 14px; }
.facts b { display: block; font-size: 20px; }
.shots { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 14px; }
figure { margin: 0; } figure img { width: 100%; border-radius: 6px; display: block; }
figcaption { font-size: 13px; opacity: .8; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0 18px; }
th, td { padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
svg { max-width: 100%; border-radius: 6px; } svg text { font: 11px system-ui; fill: currentColor; }
svg .grid { stroke: var(--line); } .graph { background: #fff; padding: 8px; border-radius: 6px; }
.graph img, .ground { max-width: 100%; height: auto; } .ground { border-radius: 6px; }
";

/// Text as it may stand in HTML and in quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

pub(super) fn html(content: &Content<'_>) -> String {
    let title = match content.summary {
        Some(summary) if !summary.graph.is_empty() => escape(&summary.graph),
        _ => "drive".to_owned(),
    };
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Crossdock: {title}</title><style>{STYLE}</style></head><body>\
         <h1>{title}</h1>"
    );
    if let Some(summary) = content.summary {
        // Writing to a string does not fail, here and below.
        let _ = write!(page, "<p>{}</p>", escape(&summary.end));
    }
    facts(&mut page, content);
    if let Some(picture) = content.graph_picture {
        let _ = write!(
            page,
            "<h2>Graph</h2><div class=\"graph\"><img src=\"{}\" alt=\"nodes and topics\"></div>",
            escape(picture)
        );
    }
    shots(&mut page, content);
    driven(&mut page, content.recorded);
    if let Some(map) = content.map {
        let _ = write!(page, "{map}{}", ground(MAP_FILE, "map and path on the course"));
    }
    if let Some(summary) = content.summary {
        tables(&mut page, summary);
    }
    page.push_str("</body></html>\n");
    page
}

fn facts(page: &mut String, content: &Content<'_>) {
    let recorded = content.recorded;
    let lanes = &recorded.lanes;
    let count = |wanted: fn(&Lane) -> bool| lanes.iter().filter(|l| wanted(&l.value)).count();
    let both = count(|lane| lane.left.is_some() && lane.right.is_some());
    let one = count(|lane| lane.left.is_some() != lane.right.is_some());
    let shown = |state: Shown| recorded.lights.iter().filter(|l| l.value.shown == state).count();
    let mut facts = match lanes.as_slice() {
        // Their numbers would read as if no lane had been found.
        [] => Vec::new(),
        lanes => vec![
            (lanes.len().to_string(), "lane messages"),
            (both.to_string(), "with both lines"),
            (one.to_string(), "with one line"),
        ],
    };
    facts.extend([
        (shown(Shown::Red).to_string(), "images with red light"),
        (shown(Shown::Green).to_string(), "images with green light"),
    ]);
    if let Some([keyframes, _, closures]) = recorded.mapped.counts {
        facts.push((keyframes.to_string(), "keyframes of the map"));
        facts.push((closures.to_string(), "loops closed"));
    }
    if let Some(summary) = content.summary {
        let real = format!("{:.1} s", summary.real_s);
        facts.push((real, "of real time"));
        if let Some(simulated_s) = summary.simulated_s {
            facts.push((format!("{simulated_s:.1} s"), "of simulated time"));
        }
    }
    page.push_str("<ul class=\"facts\">");
    for (value, what) in facts {
        let _ = write!(page, "<li><b>{}</b>{what}</li>", escape(&value));
    }
    page.push_str("</ul>");
}

fn shots(page: &mut String, content: &Content<'_>) {
    if content.shots.is_empty() {
        return;
    }
    page.push_str("<h2>What the camera saw</h2>");
    let has_lanes = !content.recorded.lanes.is_empty();
    let legend = match (has_lanes, content.lanes_drawn) {
        (false, _) => {
            "Boxes: traffic lights. There are no lanes in the recording: /lane was not recorded, or \
             its messages do not leave the board."
        }
        (true, true) => {
            "Orange: yellow line as fitted; blue: white line; green surface: the lane between them; \
             boxes: traffic lights."
        }
        (true, false) => {
            "Boxes: traffic lights. Lanes are drawn when the report is given the graph file."
        }
    };
    let _ = write!(page, "<p>{legend}</p><div class=\"shots\">");
    for shot in content.shots {
        let lane = match shot.lane {
            None => has_lanes.then_some("no lane message"),
            Some(Lane { left: Some(_), right: Some(_) }) => Some("both lines"),
            Some(Lane { left: Some(_), right: None }) => Some("yellow line only"),
            Some(Lane { left: None, right: Some(_) }) => Some("white line only"),
            Some(Lane { left: None, right: None }) => Some("no line"),
        };
        let light = match shot.light.map(|light| light.shown) {
            Some(Shown::Red) => Some("red light"),
            Some(Shown::Green) => Some("green light"),
            _ => None,
        };
        let seen = [lane, light].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let colon = if seen.is_empty() { "" } else { ": " };
        let _ = write!(
            page,
            "<figure><img src=\"{}\" alt=\"camera image with overlay\" loading=\"lazy\">\
             <figcaption>{:.2} s{colon}{seen}</figcaption></figure>",
            escape(&shot.file),
            shot.seconds
        );
    }
    page.push_str("</div>");
}

/// A picture of the course from above, which has a file of its own.
fn ground(file: &str, what: &str) -> String {
    format!("<img class=\"ground\" src=\"{file}\" alt=\"{what}\">")
}

fn driven(page: &mut String, recorded: &Recorded) {
    if recorded.places.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<h2>Driven path</h2><p>Blue: where the vehicle's axle went; the thin line is the middle \
         of the lane.</p>{}",
        ground(PATH_FILE, "driven path on the course")
    );
    let (svg, p95) = path::offset_svg(&recorded.places);
    if let Some(p95) = p95 {
        let _ = write!(
            page,
            "<h2>Distance from the middle of the lane</h2>\
             <p>95th percentile {:.1} cm; the lane is 26.8 cm wide, left is up.</p>{svg}",
            p95 * 100.0
        );
    }
}

fn tables(page: &mut String, summary: &Summary) {
    page.push_str(
        "<h2>Latencies</h2><p>From the publication of the first topic to the publication of the last.</p>\
         <table><tr><th>chain</th><th class=\"text\">from</th><th class=\"text\">to</th>\
         <th>count</th><th>p50</th><th>p99</th><th>max</th></tr>",
    );
    for row in &summary.chains {
        let _ = write!(
            page,
            "<tr><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.chain),
            escape(&row.from),
            escape(&row.to),
            row.count,
            time(row.time.p50_ns),
            time(row.time.p99_ns),
            time(row.time.max_ns)
        );
    }
    page.push_str(
        "</table><table><tr><th>node</th><th class=\"text\">process</th><th>executions</th>\
         <th>p50</th><th>p99</th><th>max</th></tr>",
    );
    for row in &summary.nodes {
        let _ = write!(
            page,
            "<tr><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td></tr>",
            escape(&row.node),
            escape(&row.process),
            row.executions,
            time(row.execute.p50_ns),
            time(row.execute.p99_ns),
            time(row.execute.max_ns)
        );
    }
    page.push_str(
        "</table><table><tr><th>topic</th><th>messages</th><th>bytes</th><th>copies</th></tr>",
    );
    for row in &summary.topics {
        let _ = write!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&row.topic),
            row.messages,
            row.bytes,
            row.copies
        );
    }
    page.push_str("</table>");
}

#[cfg(test)]
mod tests {
    use super::{Content, escape, html};
    use crate::lane::Lane;
    use crate::recording::{LightSeen, Recorded};
    use crate::report::Shot;
    use crate::score::{Reading, Shown};

    /// A page with one picture, which has a red light, and this lane.
    fn page_with(lanes: Vec<Reading<Lane>>) -> String {
        let light = LightSeen { shown: Shown::Red, bounds: [0; 4] };
        let lane = lanes.first().map(|lane| lane.value);
        let shot = Shot { file: "image_00.png".to_owned(), seconds: 1.0, lane, light: Some(light) };
        html(&Content {
            recorded: &Recorded { lanes, ..Recorded::default() },
            shots: &[shot],
            lanes_drawn: true,
            graph_picture: None,
            map: None,
            summary: None,
        })
    }

    #[test]
    fn a_recording_without_lanes_is_not_shown_as_one_in_which_none_was_found() {
        let without = page_with(Vec::new());
        for of_lanes in ["lane messages", "no lane message", "with both lines", "as fitted"] {
            assert!(!without.contains(of_lanes), "{of_lanes}: {without}");
        }
        assert!(without.contains("/lane was not recorded"), "{without}");
        assert!(without.contains("<figcaption>1.00 s: red light</figcaption>"), "{without}");
        let with =
            page_with(vec![Reading { stamp_ns: 0, value: Lane { left: None, right: None } }]);
        assert!(with.contains("<b>1</b>lane messages") && with.contains("as fitted"), "{with}");
        assert!(with.contains("<figcaption>1.00 s: no line, red light</figcaption>"), "{with}");
    }

    #[test]
    fn text_from_files_cannot_become_markup() {
        assert_eq!(escape("<b a='1'>&\""), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
    }
}
