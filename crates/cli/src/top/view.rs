//! The tables of `crossdock top`, as a page of text or cut to a screen.
//! It must not know terminals, nor where rows come from.

use super::keys::Key;
use super::screen::Size;
use crate::arguments::Sort;
use crate::output;
use crate::output::clean;
use crate::sight::{ChainRow, ExecutorRow, Look, NodeRow, ProcessRow, TopicRow};
use crate::summary::{bytes, duration, some};
use crate::table::{Align, Table};
use std::cmp::Ordering;

/// What is shown, and in which order.
pub(super) struct View {
    domain_id: u32,
    sort: Sort,
    is_reversed: bool,
    shown: Shown,
    /// Lines of the tables that are above the screen.
    offset: usize,
    is_paused: bool,
}

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
}

const HELP: &str = "q quit  Tab tables  s sort  r reverse  space pause  arrows scroll";

impl View {
    pub(super) fn new(domain_id: u32, sort: Sort) -> Self {
        let (shown, offset, is_reversed, is_paused) = (Shown::All, 0, false, false);
        Self { domain_id, sort, is_reversed, shown, offset, is_paused }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Does what a key says. `look` and `size` are those that are shown.
    pub(super) fn press(&mut self, key: Key, look: &Look, size: Size) {
        let last = self.tables(look).len().saturating_sub(body_rows(size));
        let page = body_rows(size).saturating_sub(1).max(1);
        match key {
            Key::Up => self.offset = self.offset.saturating_sub(1),
            Key::Down => self.offset = (self.offset + 1).min(last),
            Key::PageUp => self.offset = self.offset.saturating_sub(page),
            Key::PageDown => self.offset = (self.offset + page).min(last),
            Key::Home => self.offset = 0,
            Key::End => self.offset = last,
            Key::Tab => (self.shown, self.offset) = (self.shown.next(), 0),
            Key::Letter('s') => self.sort = self.sort.next(),
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
            text.push_str(&line);
            text.push('\n');
        }
        text.push('\n');
        text
    }

    /// The lines of a screen.
    pub(super) fn screen(&self, look: &Look, size: Size) -> Vec<String> {
        let cut = |line: &str| -> String { line.chars().take(size.columns).collect() };
        let tables = self.tables(look);
        let offset = self.offset.min(tables.len().saturating_sub(body_rows(size)));
        let pause = if self.is_paused { "paused  " } else { "" };
        let head = format!("{}  {pause}sorted by {}", self.head(look), self.sort.word());
        let width = size.columns;
        let mut lines = vec![format!("{:width$}", cut(&head)), cut(HELP)];
        lines.extend(tables.iter().skip(offset).take(body_rows(size)).map(|line| cut(line)));
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

    /// The lines of the tables that are shown, without their ends.
    fn tables(&self, look: &Look) -> Vec<String> {
        let all = self.shown == Shown::All;
        let mut tables = Vec::new();
        if all || self.shown == Shown::Processes {
            tables.push(self.processes(&look.processes));
            tables.push(self.executors(&look.executors));
        }
        if all || self.shown == Shown::Nodes {
            tables.push(self.nodes(&look.nodes));
        }
        if all || self.shown == Shown::Topics {
            tables.push(self.topics(&look.topics));
            tables.push(self.chains(&look.chains));
        }
        let mut lines: Vec<String> = Vec::new();
        for table in tables.iter().filter(|table| !table.is_empty()) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(table.lines().map(str::to_owned));
        }
        if look.processes.is_empty() {
            lines.push(output::nothing_runs(self.domain_id));
        }
        lines.extend(look.unreachable.iter().map(|why| format!("note: {}", clean(why))));
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

    fn processes(&self, rows: &[ProcessRow]) -> String {
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
        for row in self.sorted(rows, |row| row.process.clone(), number) {
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
        table.text()
    }

    fn executors(&self, rows: &[ExecutorRow]) -> String {
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
        table.text()
    }

    fn nodes(&self, rows: &[NodeRow]) -> String {
        let number = |row: &NodeRow, sort| match sort {
            Sort::Cpu => row.cpu,
            Sort::Rate => row.executions_per_s,
            Sort::Time => row.mean_ns.map(|ns| ns as f64),
            Sort::Lost => Some(row.lost as f64),
            _ => None,
        };
        let mut table = Table::new(&[
            ("node", Align::Left),
            ("process", Align::Left),
            ("executor", Align::Left),
            ("exec/s", Align::Right),
            ("mean", Align::Right),
            ("p99", Align::Right),
            ("cpu", Align::Right),
            ("lost", Align::Right),
            ("missed", Align::Left),
        ]);
        for row in self.sorted(rows, |row| row.node.clone(), number) {
            let missed = [
                ("over budget", row.over_budget),
                ("stale input", row.stale),
                ("failed", row.failed),
            ];
            table.row([
                row.node.clone(),
                row.process.clone(),
                row.executor.clone().unwrap_or_else(|| "-".to_owned()),
                rate(row.executions_per_s),
                time(row.mean_ns),
                time(row.p99_ns),
                share(row.cpu),
                row.lost.to_string(),
                some(&missed),
            ]);
        }
        table.text()
    }

    fn topics(&self, rows: &[TopicRow]) -> String {
        let number = |row: &TopicRow, sort| match sort {
            Sort::Rate => row.rate_hz,
            Sort::Bandwidth => row.bytes_per_s,
            Sort::Age => row.age_ns.map(|ns| ns as f64),
            Sort::Lost => Some(row.losses.total() as f64),
            _ => None,
        };
        let mut table = Table::new(&[
            ("topic", Align::Left),
            ("type", Align::Left),
            ("rate", Align::Right),
            ("bytes/s", Align::Right),
            ("age", Align::Right),
            ("taken", Align::Right),
            ("waiting", Align::Right),
            ("subs", Align::Right),
            ("copies", Align::Right),
            ("lost", Align::Right),
            ("by cause", Align::Left),
        ]);
        for row in self.sorted(rows, |row| row.topic.clone(), number) {
            table.row([
                row.topic.clone(),
                row.message_type.clone(),
                rate(row.rate_hz),
                row.bytes_per_s.map_or_else(|| "-".to_owned(), |it| bytes(it as u64)),
                time(row.age_ns),
                time(row.taken_age_ns),
                row.waiting.to_string(),
                row.subscribers.to_string(),
                row.copies.to_string(),
                row.losses.total().to_string(),
                row.losses.causes(),
            ]);
        }
        table.text()
    }

    fn chains(&self, rows: &[ChainRow]) -> String {
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
        for row in self.sorted(rows, |row| row.chain.clone(), number) {
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
        table.text()
    }
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
        let names = lines.iter().filter_map(|line| line.split_whitespace().next());
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
                    assert!(lines.iter().all(|line| line.chars().count() <= columns));
                }
            }
        }
    }

    #[test]
    fn what_a_process_calls_itself_cannot_drive_the_terminal() {
        let mut look = look();
        look.nodes[0].node = "n_\u{1b}[2J\u{7}".to_owned();
        let page = View::new(0, Sort::Name).page(&look);
        assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{page:?}");
    }
}
