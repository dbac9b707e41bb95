//! The tables of `crossdock top`, as a page of text or cut to a screen.

use super::keys::Key;
use super::screen::{Line, Size, Style};
use crate::arguments::Sort;
use crate::output;
use crate::output::clean;
use crate::table::{Align, Table};
use crossdock_sight::{
    ChainRow, ExecutorRow, Look, NodeRow, ProcessRow, TopicRow, bytes, duration, some,
};
use std::cmp::Ordering;

/// What is shown, and in which order.
pub(super) struct View {
    domain_id: u32,
    sort: Sort,
    is_reversed: bool,
    shown: Shown,
    /// Lines of the tables that are above the screen.
    offset: usize,
    /// Characters of the tables that are left of the screen.
    left: usize,
    is_paused: bool,
}

/// Characters that the tables move by when an arrow asks for it.
const STEP: usize = 16;

/// What stands at the end of a line that goes on to the right.
const MORE: char = '>';

/// Which tables are on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    All,
    Nodes,
    Topics,
    Processes,
}

impl Shown {
    fn next(self) -> Self {
        match self {
            Self::All => Self::Nodes,
            Self::Nodes => Self::Topics,
            Self::Topics => Self::Processes,
            Self::Processes => Self::All,
        }
    }

    /// What its rows can be sorted by: figures that it shows.
    fn sorts(self) -> &'static [Sort] {
        use Sort::{Age, Bandwidth, Cpu, Lost, Name, Rate, Time};
        match self {
            Self::All => &[Name, Cpu, Rate, Time, Bandwidth, Age, Lost],
            Self::Nodes => &[Name, Cpu, Rate, Time, Lost],
            Self::Topics => &[Name, Rate, Time, Bandwidth, Age, Lost],
            Self::Processes => &[Name, Cpu],
        }
    }
}

const HELP: &str = "q quit  Tab tables  s sort  r reverse  space pause  arrows scroll";

impl View {
    pub(super) fn new(domain_id: u32, sort: Sort) -> Self {
        let (shown, is_reversed, is_paused) = (Shown::All, false, false);
        Self { domain_id, sort, is_reversed, shown, offset: 0, left: 0, is_paused }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Does what a key says. `look` and `size` are those that are shown.
    pub(super) fn press(&mut self, key: Key, look: &Look, size: Size) {
        let tables = self.tables(look);
        let last = tables.len().saturating_sub(body_rows(size));
        let widest = tables.iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
        let rightmost = widest.saturating_sub(size.columns);
        let page = body_rows(size).saturating_sub(1).max(1);
        match key {
            Key::Up => self.offset = self.offset.saturating_sub(1),
            Key::Down => self.offset = (self.offset + 1).min(last),
            Key::PageUp => self.offset = self.offset.saturating_sub(page),
            Key::PageDown => self.offset = (self.offset + page).min(last),
            Key::Home => self.offset = 0,
            Key::End => self.offset = last,
            Key::Left => self.left = self.left.saturating_sub(STEP),
            Key::Right => self.left = (self.left + STEP).min(rightmost),
            Key::Tab => {
                (self.shown, self.offset, self.left) = (self.shown.next(), 0, 0);
                if !self.shown.sorts().contains(&self.sort) {
                    self.sort = Sort::Name;
                }
            }
            Key::Letter('s') => self.sort = self.sort.next_of(self.shown.sorts()),
            Key::Letter('r') => self.is_reversed = !self.is_reversed,
            Key::Letter(' ') => self.is_paused = !self.is_paused,
            _ => {}
        }
    }

    /// All tables as text.
    pub(super) fn page(&self, look: &Look) -> String {
        let mut text = self.head(look);
        text.push_str("\n\n");
        for line in self.tables(look) {
            text.push_str(&line.text);
            text.push('\n');
        }
        text.push('\n');
        text
    }

    /// The lines of a screen.
    pub(super) fn screen(&self, look: &Look, size: Size) -> Vec<Line> {
        let width = size.columns;
        let tables = self.tables(look);
        let offset = self.offset.min(tables.len().saturating_sub(body_rows(size)));
        let pause = if self.is_paused { "paused  " } else { "" };
        let head = format!("{}  {pause}sorted by {}", self.head(look), self.sort.word());
        let text = format!("{:width$}", cut(&head, 0, width));
        let help = cut(HELP, 0, width);
        let mut lines =
            vec![Line { style: Style::Head, text }, Line { style: Style::Plain, text: help }];
        let body = tables.into_iter().skip(offset).take(body_rows(size));
        lines.extend(body.map(|line| Line { text: cut(&line.text, self.left, width), ..line }));
        lines.truncate(size.rows.max(1));
        lines
    }

    fn head(&self, look: &Look) -> String {
        let nodes = look.nodes.len();
        format!(
            "domain {}: {} processes, {nodes} nodes, {} topics, over {:.1} s",
            self.domain_id,
            look.processes.len(),
            look.topics.len(),
            look.interval_s
        )
    }

    /// The lines of the tables that are shown, without their ends. Figures stand first: what is
    /// right of a narrow screen are names.
    fn tables(&self, look: &Look) -> Vec<Line> {
        let all = self.shown == Shown::All;
        let mut lines = Vec::new();
        if all || self.shown == Shown::Processes {
            push(&mut lines, self.processes(&look.processes));
            push(&mut lines, self.executors(&look.executors));
        }
        if all || self.shown == Shown::Nodes {
            push(&mut lines, self.nodes(&look.nodes));
        }
        if all || self.shown == Shown::Topics {
            push(&mut lines, self.topics(&look.topics));
            push(&mut lines, self.chains(&look.chains));
        }
        let plain = |text| Line { style: Style::Plain, text };
        if look.processes.is_empty() && look.unreachable.is_empty() {
            lines.push(plain(output::nothing_runs(self.domain_id)));
        }
        lines.extend(look.unreachable.iter().map(|why| plain(format!("note: {}", clean(why)))));
        lines
    }

    /// Rows in order: the largest first by a number, by name where the rows have no such number.
    fn sorted<'a, R>(
        &self,
        rows: &'a [R],
        name: impl Fn(&R) -> String,
        number: impl Fn(&R, Sort) -> Option<f64>,
    ) -> Vec<&'a R> {
        let mut rows: Vec<&R> = rows.iter().collect();
        rows.sort_by_cached_key(|row| name(row));
        let value = |row: &R| number(row, self.sort).unwrap_or(-1.0);
        rows.sort_by(|a, b| value(b).partial_cmp(&value(a)).unwrap_or(Ordering::Equal));
        if self.is_reversed {
            rows.reverse();
        }
        rows
    }

    fn processes(&self, rows: &[ProcessRow]) -> Section {
        let number = |row: &ProcessRow, sort| match sort {
            Sort::Cpu => row.cpu,
            _ => None,
        };
        let mut table = Table::new(&[
            ("process", Align::Left),
            ("pid", Align::Right),
            ("cpu", Align::Right),
            ("switches/s", Align::Right),
            ("threads", Align::Right),
            ("memory", Align::Right),
            ("nodes", Align::Right),
            ("", Align::Left),
        ]);
        let rows = self.sorted(rows, |row| row.process.clone(), number);
        for row in &rows {
            table.row([
                row.process.clone(),
                row.pid.to_string(),
                share(row.cpu),
                rate(row.switches_per_s),
                row.threads.to_string(),
                bytes(row.resident_bytes),
                row.nodes.to_string(),
                (if row.stopped { "stopped" } else { "" }).to_owned(),
            ]);
        }
        Section { text: table.text(), alarms: rows.iter().map(|row| row.stopped).collect() }
    }

    fn executors(&self, rows: &[ExecutorRow]) -> Section {
        let number = |row: &ExecutorRow, sort| match sort {
            Sort::Cpu => row.cpu,
            _ => None,
        };
        let mut table = Table::new(&[
            ("executor", Align::Left),
            ("process", Align::Left),
            ("mode", Align::Left),
            ("nodes", Align::Right),
            ("cpu", Align::Right),
            ("switches/s", Align::Right),
        ]);
        for row in self.sorted(rows, |row| row.executor.clone(), number) {
            table.row([
                row.executor.clone(),
                row.process.clone(),
                row.mode.clone(),
                row.nodes.to_string(),
                share(row.cpu),
                rate(row.switches_per_s),
            ]);
        }
        Section { text: table.text(), alarms: Vec::new() }
    }

    fn nodes(&self, rows: &[NodeRow]) -> Section {
        let is_alarming = |row: &&NodeRow| {
            [row.lost, row.over_budget, row.stale, row.failed].iter().any(|count| *count > 0)
        };
        let number = |row: &NodeRow, sort| match sort {
            Sort::Cpu => row.cpu,
            Sort::Rate => row.executions_per_s,
            Sort::Time => row.mean_ns.map(|ns| ns as f64),
            Sort::Lost => Some(row.lost as f64),
            _ => None,
        };
        let mut table = Table::new(&[
            ("node", Align::Left),
            ("exec/s", Align::Right),
            ("mean", Align::Right),
            ("p99", Align::Right),
            ("cpu", Align::Right),
            ("lost", Align::Right),
            ("missed", Align::Left),
            ("process", Align::Left),
            ("executor", Align::Left),
        ]);
        let rows = self.sorted(rows, |row| row.node.clone(), number);
        for row in &rows {
            let missed = [
                ("over budget", row.over_budget),
                ("stale input", row.stale),
                ("failed", row.failed),
            ];
            table.row([
                row.node.clone(),
                rate(row.executions_per_s),
                time(row.mean_ns),
                time(row.p99_ns),
                share(row.cpu),
                row.lost.to_string(),
                some(&missed),
                row.process.clone(),
                row.executor.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        Section { text: table.text(), alarms: rows.iter().map(is_alarming).collect() }
    }

    fn topics(&self, rows: &[TopicRow]) -> Section {
        let number = |row: &TopicRow, sort| match sort {
            Sort::Rate => row.rate_hz,
            Sort::Bandwidth => row.bytes_per_s,
            Sort::Age => row.age_ns.map(|ns| ns as f64),
            Sort::Lost => Some(row.losses.total() as f64),
            _ => None,
        };
        let mut table = Table::new(&[
            ("topic", Align::Left),
            ("rate", Align::Right),
            ("bytes/s", Align::Right),
            ("age", Align::Right),
            ("taken", Align::Right),
            ("waiting", Align::Right),
            ("subs", Align::Right),
            ("copies", Align::Right),
            ("lost", Align::Right),
            ("by cause", Align::Left),
            ("type", Align::Left),
        ]);
        let rows = self.sorted(rows, |row| row.topic.clone(), number);
        for row in &rows {
            table.row([
                row.topic.clone(),
                rate(row.rate_hz),
                row.bytes_per_s.map_or_else(|| "-".to_owned(), |it| bytes(it as u64)),
                time(row.age_ns),
                time(row.taken_age_ns),
                row.waiting.to_string(),
                row.subscribers.to_string(),
                row.copies.to_string(),
                row.losses.total().to_string(),
                row.losses.causes(),
                row.message_type.clone(),
            ]);
        }
        Section {
            text: table.text(),
            alarms: rows.iter().map(|row| row.losses.total() > 0).collect(),
        }
    }

    fn chains(&self, rows: &[ChainRow]) -> Section {
        let number = |row: &ChainRow, sort| match sort {
            Sort::Rate => row.per_s,
            Sort::Time => row.p50_ns.map(|ns| ns as f64),
            _ => None,
        };
        let mut table = Table::new(&[
            ("chain", Align::Left),
            ("from", Align::Left),
            ("to", Align::Left),
            ("rate", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("limit", Align::Right),
            ("missed", Align::Left),
        ]);
        let rows = self.sorted(rows, |row| row.chain.clone(), number);
        for row in &rows {
            table.row([
                row.chain.clone(),
                row.from.clone(),
                row.to.clone(),
                rate(row.per_s),
                time(row.p50_ns),
                time(row.p99_ns),
                time(row.max_latency_ns),
                some(&[("late", row.late), ("stalled", row.stalled)]),
            ]);
        }
        Section {
            text: table.text(),
            alarms: rows.iter().map(|row| row.late > 0 || row.stalled > 0).collect(),
        }
    }
}

/// A table and which of its rows somebody should look at.
struct Section {
    text: String,
    alarms: Vec<bool>,
}

/// Adds a table to those before it.
fn push(lines: &mut Vec<Line>, section: Section) {
    if section.text.is_empty() {
        return;
    }
    if !lines.is_empty() {
        lines.push(Line { style: Style::Plain, text: String::new() });
    }
    let mut texts = section.text.lines().map(str::to_owned);
    lines.extend(texts.next().map(|text| Line { style: Style::Columns, text }));
    let alarms = section.alarms.into_iter().chain(std::iter::repeat(false));
    lines.extend(texts.zip(alarms).map(|(text, is_alarm)| {
        let style = if is_alarm { Style::Alarm } else { Style::Plain };
        Line { style, text }
    }));
}

/// The part of a line that a screen of this width shows, with a mark where more follows.
fn cut(line: &str, left: usize, width: usize) -> String {
    let mut shown: String = line.chars().skip(left).take(width).collect();
    if width > 1 && line.chars().count() > left.saturating_add(width) {
        shown.pop();
        shown.push(MORE);
    }
    shown
}

/// Rows of a screen for tables.
fn body_rows(size: Size) -> usize {
    size.rows.saturating_sub(2)
}

/// Per second.
fn rate(per_s: Option<f64>) -> String {
    per_s.map_or_else(|| "-".to_owned(), |per_s| format!("{per_s:.1}"))
}

/// Of one processor.
fn share(of_one: Option<f64>) -> String {
    of_one.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, cpu: f64, executions_per_s: f64) -> NodeRow {
        NodeRow {
            node: name.to_owned(),
            namespace: "/".to_owned(),
            enclave: "/".to_owned(),
            maker: "native".to_owned(),
            node_type: "p/t".to_owned(),
            process: "drive".to_owned(),
            pid: 7,
            executor: Some("drive".to_owned()),
            executions: Some(10),
            executions_per_s: Some(executions_per_s),
            mean_ns: Some(1_500),
            p99_ns: None,
            cpu: Some(cpu),
            lost: 0,
            timer_skipped: 0,
            over_budget: 0,
            stale: 0,
            failed: 0,
            publishers: 1,
            subscribers: 1,
        }
    }

    fn order(view: &View, look: &Look) -> Vec<String> {
        let lines = view.tables(look);
        let names = lines.iter().filter_map(|line| line.text.split_whitespace().next());
        names.filter(|name| name.starts_with("n_")).map(str::to_owned).collect()
    }

    fn look() -> Look {
        let nodes = vec![node("n_a", 0.1, 30.0), node("n_b", 0.5, 10.0), node("n_c", 0.3, 20.0)];
        Look { interval_s: 1.0, nodes, ..Look::default() }
    }

    #[test]
    fn rows_are_sorted_as_keys_say() {
        let (look, size) = (look(), Size { columns: 100, rows: 40 });
        let mut view = View::new(0, Sort::Name);
        assert_eq!(order(&view, &look), ["n_a", "n_b", "n_c"]);
        view.press(Key::Letter('s'), &look, size);
        assert_eq!(view.sort, Sort::Cpu);
        assert_eq!(order(&view, &look), ["n_b", "n_c", "n_a"]);
        view.press(Key::Letter('r'), &look, size);
        assert_eq!(order(&view, &look), ["n_a", "n_c", "n_b"]);
    }

    #[test]
    fn a_screen_is_never_wider_or_longer_than_the_terminal() {
        let look = look();
        let mut view = View::new(0, Sort::Name);
        for rows in 1..8 {
            for columns in [1, 10, 80, 300] {
                let size = Size { columns, rows };
                for key in [Key::End, Key::Down, Key::PageUp, Key::Tab] {
                    view.press(key, &look, size);
                    let lines = view.screen(&look, size);
                    assert!(lines.len() <= rows);
                    assert!(lines.iter().all(|line| line.text.chars().count() <= columns));
                }
            }
        }
    }

    #[test]
    fn a_narrow_screen_shows_figures_first_and_arrows_show_the_rest() {
        let (mut look, size) = (look(), Size { columns: 40, rows: 4 });
        look.nodes[1].lost = 3;
        let mut view = View::new(0, Sort::Name);
        view.press(Key::Tab, &look, size);
        let seen = |view: &View| -> Vec<Line> { view.screen(&look, size) };
        let columns = |view: &View| seen(view)[2].text.clone();
        assert!(columns(&view).contains("exec/s") && columns(&view).ends_with(MORE));
        for _ in 0..5 {
            view.press(Key::Right, &look, size);
        }
        assert!(columns(&view).ends_with("executor"), "{}", columns(&view));
        for _ in 0..5 {
            view.press(Key::Left, &look, size);
        }
        assert!(seen(&view)[3].text.starts_with("n_a"));
        view.press(Key::Down, &look, size);
        let lines = seen(&view);
        assert!(lines[2].text.starts_with("n_a") && lines[3].text.starts_with("n_b"));
        let styles = [Style::Head, Style::Plain, Style::Plain, Style::Alarm];
        assert_eq!(lines.iter().map(|line| line.style).collect::<Vec<_>>(), styles);
    }

    #[test]
    fn rows_are_sorted_by_figures_that_are_shown() {
        let (look, size) = (look(), Size { columns: 100, rows: 40 });
        let mut view = View::new(0, Sort::Age);
        view.press(Key::Tab, &look, size);
        assert_eq!(view.sort, Sort::Name, "nodes have no age");
        let mut seen = Vec::new();
        for _ in 0..5 {
            view.press(Key::Letter('s'), &look, size);
            seen.push(view.sort);
        }
        assert_eq!(seen, [Sort::Cpu, Sort::Rate, Sort::Time, Sort::Lost, Sort::Name]);
    }

    #[test]
    fn what_a_process_calls_itself_cannot_drive_the_terminal() {
        let mut look = look();
        look.nodes[0].node = "n_\u{1b}[2J\u{7}".to_owned();
        let page = View::new(0, Sort::Name).page(&look);
        assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{page:?}");
    }
}
