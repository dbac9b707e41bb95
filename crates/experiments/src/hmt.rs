//! `crossdock bench hmt`: how many cycles hardware-mapped topics take, beside table I of the
//! fpgaDDS paper.

use crate::caller::{self, Caller};
use crate::networks::{Topic, frame, frame_bytes, network};
use crate::options::SimulationOptions;
use crate::paper::{self, SoftwareMapped, TABLE_I, TRANSFERS};
use crate::report::{Report, Shown};
use crate::rows::{Record, rounded};
use crate::transfer::{Buffers, Ports, transfer};
use anyhow::{Context, Result, ensure};
use crossdock_fabric::{Library, Model, Profile};
use crossdock_hwgen::network::TopicNetwork;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Bytes of the largest message: the bound of all topics.
const DATA_BYTES_MAX: u64 = TRANSFERS[TRANSFERS.len() - 1].bytes;
/// Every transfer is repeated with other data: what follows from the design repeats to the cycle.
const REPEATS: u32 = 3;
/// Of the relation to publishers and subscribers.
const PUBLISHERS: [usize; 4] = [1, 2, 4, 8];
const SUBSCRIBERS: [usize; 5] = [1, 2, 4, 8, 16];
const SIZES: [u64; 2] = [3_072, 196_608];
const QUICK_PUBLISHERS: [usize; 2] = [1, 2];
const QUICK_SUBSCRIBERS: [usize; 2] = [1, 8];
const QUICK_SIZES: [u64; 1] = [3_072];

const FITTED: &str = "fitted";
const PREDICTED: &str = "predicted";
const NOT_HERE: &str = "not reproducible here";

/// One quantity: what the paper prints, what its board's profile gives, and what Crossdock takes.
struct Row {
    table: &'static str,
    publishers: usize,
    subscribers: usize,
    message_bytes: u64,
    /// Message size as the paper prints it, kB.
    size: Option<&'static str>,
    quantity: &'static str,
    unit: &'static str,
    paper: Option<&'static str>,
    /// What the profile of the paper's board gives, and on what that rests.
    model: Option<f64>,
    model_is: &'static str,
    ours: Option<f64>,
    cycles: Option<u64>,
    /// Cycles by the generator's own report.
    expected: Option<u64>,
    profile: &'static Profile,
    seed: u64,
}

impl Row {
    fn residual_percent(&self) -> Option<f64> {
        paper::residual_percent(self.paper?, self.model?)
    }

    fn prediction_holds(&self) -> Option<bool> {
        (self.model_is == PREDICTED).then_some(paper::holds(self.paper?, self.model?))
    }

    fn relation_holds(&self) -> Option<bool> {
        Some(self.cycles? == self.expected?)
    }
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        let source = self.paper.map(|_| TABLE_I);
        vec![
            ("table", self.table.into()),
            ("publishers", self.publishers.into()),
            ("subscribers", self.subscribers.into()),
            ("message_bytes", self.message_bytes.into()),
            ("paper_message_kb", self.size.into()),
            ("quantity", self.quantity.into()),
            ("unit", self.unit.into()),
            ("paper", self.paper.into()),
            ("paper_source", source.into()),
            ("paper_profile", self.model.map(rounded).into()),
            ("paper_profile_is", self.model_is.into()),
            ("residual_percent", self.residual_percent().map(rounded).into()),
            ("prediction_holds", self.prediction_holds().into()),
            ("ours", self.ours.map(rounded).into()),
            ("ours_cycles", self.cycles.into()),
            ("cycles_expected", self.expected.into()),
            ("relation_holds", self.relation_holds().into()),
            ("profile", self.profile.name.into()),
            ("seed", self.seed.into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

/// Runs the experiment.
///
/// # Errors
/// Verilator is missing or fails, or a message arrives with other bytes than it should.
pub fn hmt(options: &SimulationOptions, caller: &mut dyn Caller) -> Result<Report> {
    let SimulationOptions { profile, seed, quick } = *options;
    let mut bench = Bench::new(options, caller)?;
    let model = SoftwareMapped::fitted();
    let mut rows = bench.table_i()?;
    rows.extend(bench.relation()?);
    let holds = rows.iter().all(|row| row.relation_holds() != Some(false));
    let facts = json!({
        "profile": { "name": profile.name, "width_bits": profile.width_bits,
                     "clock_mhz": profile.clock_mhz(), "source": profile.source },
        "software_mapped_fit": { "fixed_us": rounded(model.fixed_ms * 1e3),
                                 "byte_ns": rounded(model.byte_ms * 1e6),
                                 "fitted_on": format!("the {} largest sizes of {TABLE_I}",
                                                      paper::FITTED) },
        "relation_holds": holds,
    });
    let page = page(&rows, profile, seed, &model);
    let shown = Shown::Lines(table_of_relation(&rows));
    let remark = if quick { String::new() } else { bench.speed(caller)? };
    let report = Report::of("hmt", &rows, &facts, page, shown).with_faults(faults(&rows));
    Ok(Report { remark, ..report })
}

/// Names the rows whose cycles are others than asserted.
fn faults(rows: &[Row]) -> Vec<String> {
    let wrong = rows.iter().filter(|row| row.relation_holds() == Some(false));
    let says = wrong.map(|row| {
        format!(
            "{} publishers, {} subscribers, {} bytes took {} cycles, not {}",
            row.publishers,
            row.subscribers,
            row.message_bytes,
            row.cycles.unwrap_or_default(),
            row.expected.unwrap_or_default()
        )
    });
    says.collect()
}

/// A network of many topics that do not touch each other, one per pair of numbers.
struct Bench {
    library: Library,
    model: Model,
    topics: Vec<TopicNetwork>,
    buffers: Buffers,
    profile: &'static Profile,
    seed: u64,
    publishers: &'static [usize],
    subscribers: &'static [usize],
    sizes: &'static [u64],
}

impl Bench {
    fn new(options: &SimulationOptions, caller: &mut dyn Caller) -> Result<Self> {
        let SimulationOptions { profile, seed, quick } = *options;
        let (publishers, subscribers, sizes): (&[usize], &[usize], &[u64]) = match quick {
            true => (&QUICK_PUBLISHERS, &QUICK_SUBSCRIBERS, &QUICK_SIZES),
            false => (&PUBLISHERS, &SUBSCRIBERS, &SIZES),
        };
        let topics: Vec<Topic> = (publishers.iter())
            .flat_map(|p| subscribers.iter().map(move |s| topic(*p, *s)))
            .collect();
        let (library, topics) = build("bench", &topics, profile, caller)?;
        let model = simulation(&library, profile, seed)?;
        let buffers = Buffers::default();
        Ok(Self { library, model, topics, buffers, profile, seed, publishers, subscribers, sizes })
    }

    /// Cycles of a message of each publisher with this much data, the same in all repeats.
    fn cycles(&mut self, topic: Topic, data_bytes: u64) -> Result<u64> {
        let ports = Ports::of(&self.library, &topic.name())?;
        let mut found = None;
        for repeat in 0..REPEATS {
            let frames = frames(&ports, repeat, self.seed, data_bytes)?;
            let periods = [self.profile.period_ps];
            let cycles = transfer(&mut self.model, &ports, &frames, &mut self.buffers, &periods);
            let cycles = cycles.with_context(|| {
                format!("topic {}, {data_bytes} bytes, seed {}", topic.name(), self.seed)
            })?;
            let first = *found.get_or_insert(cycles);
            ensure!(first == cycles, "{}: {first} cycles, then {cycles}", topic.name());
        }
        found.context("no repeat")
    }

    /// Publishers x beats + constant, as the generator's report has it.
    fn expected(&self, topic: Topic, data_bytes: u64) -> Option<u64> {
        let network = self.topics.iter().find(|it| it.name == topic.name())?;
        let beats = frame_bytes(data_bytes).div_ceil(u64::from(network.width / 8));
        Some(topic.publishers as u64 * beats + network.constant_cycles())
    }

    fn row(&self, table: &'static str, topic: Topic, message_bytes: u64) -> Row {
        Row {
            table,
            publishers: topic.publishers,
            subscribers: topic.subscribers,
            message_bytes,
            size: None,
            quantity: "",
            unit: "ms",
            paper: None,
            model: None,
            model_is: "",
            ours: None,
            cycles: None,
            expected: None,
            profile: self.profile,
            seed: self.seed,
        }
    }

    /// The sizes of table I from one publisher to one subscriber.
    fn table_i(&mut self) -> Result<Vec<Row>> {
        let board = Profile::named(paper::PROFILE).context("the paper's profile")?;
        let mut rows = Vec::new();
        for (index, printed) in TRANSFERS.iter().enumerate() {
            let topic = topic(1, 1);
            let bytes = printed.bytes;
            let cycles = self.cycles(topic, bytes)?;
            let row = |quantity| Row {
                quantity,
                size: Some(printed.size),
                ..self.row("I", topic, bytes)
            };
            let hardware_ms = paper_cycles_ms(board, 1, bytes);
            let software_ms = board.software_mapped_ms(bytes, 0);
            let software_is =
                if index + paper::FITTED < TRANSFERS.len() { PREDICTED } else { FITTED };
            rows.push(Row {
                paper: Some(printed.hardware[0]),
                model: Some(hardware_ms),
                model_is: PREDICTED,
                ours: Some(self.profile.cycles_ms(cycles)),
                cycles: Some(cycles),
                expected: self.expected(topic, bytes),
                ..row("hardware-mapped")
            });
            // Every repeat took the same cycles, or there would be no row.
            rows.push(Row {
                paper: Some(printed.hardware[1]),
                model_is: NOT_HERE,
                ours: Some(0.0),
                ..row("hardware-mapped, deviation")
            });
            rows.push(Row {
                paper: Some(printed.software[0]),
                model: Some(software_ms),
                model_is: software_is,
                ..row("software-mapped")
            });
            rows.push(Row {
                paper: Some(printed.software[1]),
                model_is: NOT_HERE,
                ..row("software-mapped, deviation")
            });
            rows.push(Row {
                unit: "1",
                paper: Some(printed.speedup),
                model: Some(software_ms / hardware_ms),
                model_is: software_is,
                ..row("speedup")
            });
        }
        Ok(rows)
    }

    /// All numbers of publishers and subscribers.
    fn relation(&mut self) -> Result<Vec<Row>> {
        let board = Profile::named(paper::PROFILE).context("the paper's profile")?;
        let mut rows = Vec::new();
        for bytes in self.sizes {
            for publishers in self.publishers {
                for subscribers in self.subscribers {
                    let topic = topic(*publishers, *subscribers);
                    let cycles = self.cycles(topic, *bytes)?;
                    rows.push(Row {
                        quantity: "hardware-mapped",
                        // It prints no figure: "only increases with more publishers".
                        model: Some(paper_cycles_ms(board, *publishers, *bytes)),
                        model_is: PREDICTED,
                        ours: Some(self.profile.cycles_ms(cycles)),
                        cycles: Some(cycles),
                        expected: self.expected(topic, *bytes),
                        ..self.row("publishers and subscribers", topic, *bytes)
                    });
                }
            }
        }
        Ok(rows)
    }

    /// How fast the simulation itself is: of this machine, so in no file.
    fn speed(&mut self, caller: &mut dyn Caller) -> Result<String> {
        let topic = topic(2, 8);
        let (library, _) = build("speed", &[topic], self.profile, caller)?;
        let mut model = simulation(&library, self.profile, self.seed)?;
        let ports = Ports::of(&library, &topic.name())?;
        let frames = frames(&ports, 0, self.seed, DATA_BYTES_MAX)?;
        let mut rates = Vec::new();
        for _ in 0..REPEATS {
            let begin = processor_seconds();
            let periods = [self.profile.period_ps];
            let cycles = transfer(&mut model, &ports, &frames, &mut self.buffers, &periods)?;
            rates.push(cycles as f64 / (processor_seconds() - begin));
        }
        rates.sort_by(f64::total_cmp);
        Ok(format!(
            "2 publishers, 8 subscribers, {DATA_BYTES_MAX} bytes, every byte compared: {:.1} million \
             cycles simulated per second of processor time (median of {REPEATS})\n",
            rates[rates.len() / 2] / 1e6
        ))
    }
}

/// Processor time of this thread: what else the machine does is no property of the simulation.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn topic(publishers: usize, subscribers: usize) -> Topic {
    Topic { publishers, subscribers, check: true }
}

fn build(
    fabric: &str,
    topics: &[Topic],
    profile: &Profile,
    caller: &mut dyn Caller,
) -> Result<(Library, Vec<TopicNetwork>)> {
    let generated = network(fabric, topics, profile.width_bits, DATA_BYTES_MAX)?;
    Ok((caller::library(&generated, caller)?, generated.network.topics))
}

fn simulation(library: &Library, profile: &Profile, seed: u64) -> Result<Model> {
    // The other half only matters for the data.
    let model = library.model(seed as u32, &[profile.period_ps]);
    model.context("there is no memory for the simulation")
}

fn frames(ports: &Ports, sequence: u32, seed: u64, data_bytes: u64) -> Result<Vec<Vec<u8>>> {
    let data_bytes = u32::try_from(data_bytes)?;
    let publishers = ports.publishers.iter();
    Ok(publishers.map(|(_, id)| frame(*id, sequence, seed, data_bytes)).collect())
}

/// The paper's board: a beat of payload per cycle, one publisher after the other.
fn paper_cycles_ms(board: &Profile, publishers: usize, bytes: u64) -> f64 {
    board.cycles_ms(publishers as u64 * bytes.div_ceil(u64::from(board.width_bits / 8)))
}

fn page(rows: &[Row], profile: &Profile, seed: u64, model: &SoftwareMapped) -> String {
    let mut text = format!(
        "# Hardware-mapped topics\n\nCycles of the generated hardware in simulation, no measurement of \
         a board. Profile `{}`: {} bit, {} MHz ({}). Seed {seed}, Crossdock {}. Every byte of every \
         message was compared, and {REPEATS} repeats took the same cycles.\n\n\
         ## Table I of the fpgaDDS paper\n\nFrom one publisher to one subscriber, from the first beat \
         offered to the last one taken; header and length of the message included on our side. \
         Profile of the paper's board: hardware-mapped, bytes / 8 cycles at 100 MHz (predicted from \
         width and clock); software-mapped, two passes over its way to host memory, fitted on {:.1} us \
         + {:.3} ns per byte (least squares over the {} largest sizes; the others are predicted). A \
         prediction holds when it rounds to the \
         printed digits or lies within 20 %.\n\n\
         | kB | quantity | unit | paper | paper profile | | off by | holds | Crossdock | cycles |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        profile.name,
        profile.width_bits,
        profile.clock_mhz(),
        profile.source,
        env!("CARGO_PKG_VERSION"),
        model.fixed_ms * 1e3,
        model.byte_ms * 1e6,
        paper::FITTED
    );
    let number = |value: Option<f64>, decimals: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
    };
    for row in rows.iter().filter(|row| row.paper.is_some()) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.size.unwrap_or("-"),
            row.quantity,
            row.unit,
            row.paper.unwrap_or("-"),
            number(row.model, 4),
            row.model_is,
            row.residual_percent().map_or("-".to_owned(), |percent| format!("{percent:+.1} %")),
            row.prediction_holds().map_or("-", |holds| if holds { "yes" } else { "no" }),
            number(row.ours, 5),
            row.cycles.map_or("-".to_owned(), |cycles| cycles.to_string())
        );
    }
    text.push_str(
        "\n## Publishers and subscribers\n\nAll publishers offer a message at once; cycles until every \
         subscriber has taken all of them: publishers x beats + 1 for the broadcast where there are \
         several subscribers + 1 for the arbiter where there are several publishers, asserted in \
         every cell. The paper prints no figures here; its text says the same, that the time only \
         grows with publishers.\n",
    );
    text + &relation_tables(rows)
}

/// A table per message size: publishers down, subscribers across.
fn relation_tables(rows: &[Row]) -> String {
    let mut text = String::new();
    let rows: Vec<&Row> = rows.iter().filter(|row| row.paper.is_none()).collect();
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.message_bytes).collect();
    sizes.dedup();
    for bytes in sizes {
        let of_size = || rows.iter().filter(move |row| row.message_bytes == bytes);
        let mut publishers: Vec<usize> = of_size().map(|row| row.publishers).collect();
        publishers.dedup();
        let line = |count: usize| of_size().filter(move |row| row.publishers == count);
        let names = line(publishers[0]).map(|row| row.subscribers.to_string());
        let names: Vec<String> = names.collect();
        let _ = writeln!(
            text,
            "\n{bytes} bytes:\n\n| publishers | {} subscribers |\n|---|{}",
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for count in publishers {
            let cells = line(count).map(|row| {
                let cycles = row.cycles.unwrap_or_default();
                let wrong = row.relation_holds() == Some(false);
                if wrong { format!("**{cycles}**") } else { cycles.to_string() }
            });
            let _ = writeln!(text, "| {count} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}

/// The same for a terminal, with what table I says of the largest size.
fn table_of_relation(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.quantity == "hardware-mapped") {
        let _ = writeln!(
            text,
            "{} -> {:<2} {:>8} bytes {:>8} cycles {:>10.5} ms{}{}",
            row.publishers,
            row.subscribers,
            row.message_bytes,
            row.cycles.unwrap_or_default(),
            row.ours.unwrap_or_default(),
            row.paper.map_or(String::new(), |paper| format!("  (paper: {paper} ms)")),
            if row.relation_holds() == Some(false) { "  WRONG" } else { "" }
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cycles: u64) -> Row {
        Row {
            table: "publishers and subscribers",
            publishers: 2,
            subscribers: 8,
            message_bytes: 3072,
            size: None,
            quantity: "hardware-mapped",
            unit: "ms",
            paper: None,
            model: None,
            model_is: PREDICTED,
            ours: None,
            cycles: Some(cycles),
            expected: Some(777),
            profile: &Profile::ALL[0],
            seed: 1,
        }
    }

    #[test]
    fn one_cycle_too_many_fails_the_command_and_is_marked() {
        assert!(faults(&[row(777)]).is_empty());
        let rows = [row(777), row(778)];
        assert_eq!(faults(&rows).len(), 1);
        assert!(relation_tables(&rows).contains("| 2 | 777 | **778** |"));
        assert!(table_of_relation(&rows).contains("778 cycles    0.00000 ms  WRONG"));
    }
}
