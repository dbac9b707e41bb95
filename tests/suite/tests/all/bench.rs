//! `crossdock bench` as a user meets it: experiments that repeat, files that hold what was printed,
//! and one line for what is missing.

use crossdock_suite::{Run, children, until};
use crossdock_test_support::{hardware_tools, skip, workspace};
use std::collections::BTreeMap;
use std::process::Output;

/// Networks are kept from run to run of the tests: what has not changed is not built again.
fn bench(run: &Run, arguments: &[&str]) -> Output {
    let mut command = run.crossdock(&[&["bench"], arguments].concat());
    command
        .env("CROSSDOCK_TOOLS", hardware_tools())
        .env("CROSSDOCK_CACHE", workspace().join("target/hw/cache"))
        .env_remove("VERILATOR_ROOT");
    command.output().expect("crossdock starts")
}

/// Rows of a CSV file, by column.
type Rows = Vec<BTreeMap<String, String>>;

fn rows(text: &str) -> Rows {
    let mut lines = text.lines().map(cells);
    let names = lines.next().expect("a head");
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells.last_mut().expect("a cell").push(letter),
        }
    }
    cells
}

#[test]
fn topics_take_publishers_times_beats_cycles_whatever_the_seed_and_the_board() {
    let run = Run::new("bench_hmt");
    let mut found = Vec::new();
    for (seed, profile) in [("1", "zcu104-64"), ("2", "ecp5-85")] {
        let folder = run.file(seed);
        let folder = folder.to_str().expect("UTF-8");
        let arguments = ["hmt", "--quick", "--seed", seed, "--profile", profile, "--out", folder];
        let output = bench(&run, &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name| std::fs::read_to_string(run.file(seed).join(name)).expect("a file");
        let rows = rows(&read("hmt.csv"));
        assert!(rows.iter().all(|row| row["seed"] == seed && row["profile"] == profile));
        let json: serde_json::Value = serde_json::from_str(&read("hmt.json")).expect("JSON");
        assert_eq!(json["rows"].as_array().expect("rows").len(), rows.len());
        assert_eq!(json["facts"]["relation_holds"], true);
        assert!(read("hmt.md").contains("| 3146 | software-mapped | ms | 9.24 |"));
        found.push(rows);
    }

    let number = |row: &BTreeMap<String, String>, name: &str| -> u64 {
        row[name].parse().unwrap_or_else(|_| panic!("{name} of {row:?}"))
    };
    let mut pairs = Vec::new();
    for row in found[0].iter().filter(|row| !row["ours_cycles"].is_empty()) {
        let (publishers, subscribers) = (number(row, "publishers"), number(row, "subscribers"));
        // 64 bit, a header of 24 bytes, a length that is padded to 8; the arbiter takes a cycle,
        // and so does the broadcast.
        let beats = (32 + number(row, "message_bytes")).div_ceil(8);
        let constant = u64::from(publishers > 1) + u64::from(subscribers > 1);
        let cycles = publishers * beats + constant;
        assert_eq!(number(row, "ours_cycles"), cycles, "{row:?}");
        let ms: f64 = row["ours"].parse().expect("a number");
        assert!((ms - cycles as f64 / 1e5).abs() < 1e-6, "{row:?}");
        pairs.push((publishers, subscribers, number(row, "message_bytes")));
    }
    let sizes = [3_072, 12_288, 49_152, 196_608, 786_432, 3_145_728];
    let table_i = sizes.map(|bytes| (1, 1, bytes));
    let relation = [(1, 1), (1, 8), (2, 1), (2, 8)].map(|(p, s)| (p, s, 3_072));
    assert_eq!(pairs, [&table_i[..], &relation].concat());
    for (one, other) in found[0].iter().zip(&found[1]) {
        assert_eq!(one["ours_cycles"], other["ours_cycles"]);
    }

    let fitted = found[0].iter().filter(|row| row["quantity"] == "software-mapped");
    let fitted: Vec<&str> = fitted.map(|row| row["paper_profile_is"].as_str()).collect();
    assert_eq!(fitted, ["predicted", "predicted", "fitted", "fitted", "fitted", "fitted"]);
}

/// Runs an experiment with these arguments and gives its rows, once it has ended well.
fn experiment(run: &Run, name: &str, folder: &str, arguments: &[&str]) -> (String, Rows) {
    let out = run.file(folder);
    let out_text = out.to_str().expect("UTF-8");
    let output = bench(run, &[&[name, "--out", out_text], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |ending| std::fs::read_to_string(out.join(format!("{name}.{ending}")));
    let text = read("csv").expect("a file");
    let rows = rows(&text);
    let json: serde_json::Value =
        serde_json::from_str(&read("json").expect("a file")).expect("JSON");
    assert_eq!(json["rows"].as_array().expect("rows").len(), rows.len());
    assert_eq!(json["facts"]["relation_holds"], true);
    assert!(read("md").expect("a page").starts_with("# "));
    (text, rows)
}

fn number(row: &BTreeMap<String, String>, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name} of {row:?}"))
}

#[test]
fn messages_over_memory_that_others_use_take_its_beats_over_what_is_left_of_it() {
    let run = Run::new("bench_memif_load");
    let loads = ["--quick", "--load", "50"];
    let (text, found) = experiment(&run, "memif-load", "one", &loads);
    let (again, _) = experiment(&run, "memif-load", "again", &loads);
    assert_eq!(text, again, "the same seed gives the same cycles");
    let other = experiment(&run, "memif-load", "two", &[&loads[..], &["--seed", "2"]].concat()).1;

    let ways = ["hardware-mapped", "gateway, down", "gateway, up", "over host memory, up and down"];
    assert_eq!(found.len(), 2 * 2 * ways.len(), "load 0 and 50, two sizes");
    let mut constants = BTreeMap::new();
    for (row, other) in found.iter().zip(&other) {
        let [cycles, load] = ["ours_cycles", "load_percent"].map(|name| number(row, name));
        let way = row["way"].as_str();
        assert!((number(row, "ours") - cycles / 1e5).abs() < 1e-6, "{row:?}");
        if way == "hardware-mapped" {
            // A frame of an image: 24 bytes of header, 56 of fields before the data.
            assert_eq!(cycles, (80.0 + number(row, "message_bytes")) / 8.0, "{row:?}");
            assert_eq!(row["ours_cycles"], other["ours_cycles"]);
            continue;
        }
        let beats = number(row, "memory_beats");
        // Every way moves the message over the memory's port once; down, the header comes from the
        // words that the host sends.
        let whole = (80.0 + number(row, "message_bytes")) / 8.0;
        let once = if way == "gateway, down" { whole - 3.0 } else { whole };
        let expected_beats = if way == ways[3] { 2.0 * whole - 3.0 } else { once };
        assert_eq!(beats, expected_beats, "{row:?}");
        if load == 0.0 {
            // To the cycle, the same constant for every size and seed.
            let constant = *constants.entry(way).or_insert(cycles - beats);
            assert_eq!(cycles - beats, constant, "{row:?}");
            assert_eq!(row["ours_cycles"], other["ours_cycles"]);
            assert_eq!(number(row, "ours_deviation"), 0.0);
        } else {
            assert_ne!(
                row["ours_cycles"], other["ours_cycles"],
                "another seed, other cycles taken"
            );
            for row in [row, other] {
                let (cycles, repeats) = (number(row, "ours_cycles"), number(row, "repeats"));
                let expected = beats / 0.5 + constants[way];
                let deviation = (beats * 0.5).sqrt() / 0.5 / repeats.sqrt();
                assert!((cycles - expected).abs() < 4.0 * deviation + 1.0, "{row:?}");
            }
        }
    }
    // So it is on a board whose host accesses registers while other messages end.
    let arguments = ["--quick", "--load", "0", "--profile", "zcu104-128x200"];
    let (_, wide) = experiment(&run, "memif-load", "wide", &arguments);
    for way in &ways[1..] {
        let rows = wide.iter().filter(|row| row["way"] == *way);
        let constants: Vec<f64> =
            rows.map(|row| number(row, "ours_cycles") - number(row, "memory_beats")).collect();
        assert!(constants.len() == 2 && constants[0] == constants[1], "{way}: {constants:?}");
    }
    // What the paper prints is set beside the rows without load, and beside no other.
    for row in &found {
        let printed = number(row, "load_percent") == 0.0 && !row["way"].starts_with("gateway");
        assert_eq!(!row["paper"].is_empty(), printed, "{row:?}");
    }
}

#[test]
fn a_chain_takes_all_phases_in_sequential_execution_and_the_longest_in_dataflow() {
    let run = Run::new("bench_execution_modes");
    let (_, found) = experiment(&run, "execution-modes", "one", &["--quick"]);
    let arguments = ["--quick", "--seed", "2", "--profile", "zcu104-128x200"];
    let (_, other) = experiment(&run, "execution-modes", "two", &arguments);
    assert_eq!(found.len(), 2 * 2 * 2, "two modes, two sizes, two kinds of kernels");
    for (row, other) in found.iter().zip(&other) {
        let cycles = number(row, "ours_cycles");
        assert_eq!(row["ours_cycles"], other["ours_cycles"]);
        assert!((number(row, "ours") - cycles / 1e5).abs() < 1e-6, "{row:?}");
        // The other board's clock is twice as fast, and the nodes' streams are no wider.
        assert!((number(other, "ours") - cycles / 2e5).abs() < 1e-6, "{other:?}");
        // 64 bit: 24 bytes of header are three beats, a length that is padded to 8 is one more.
        let payload = (8.0 + number(row, "message_bytes")) / 8.0;
        let kernels = row["kernel_cycles_per_beat"].split(' ').map(|it| it.parse::<f64>());
        let kernels: Vec<f64> = kernels.map(|it| it.expect("a number")).collect();
        let slowest = kernels.iter().copied().fold(0.0, f64::max);
        let sum = kernels.iter().sum::<f64>();
        let (phases, fill) = match row["mode"].as_str() {
            "sequential" => (4.0 * (3.0 + payload) + sum * payload, 3.0),
            "dataflow" => (3.0 + slowest * payload, 7.0 + sum - slowest),
            other => panic!("{other}"),
        };
        assert_eq!(cycles, phases + fill, "{row:?}");
        assert_eq!(number(row, "fill_cycles"), fill);
    }
}

/// The rows of a quick run of the gateway experiment.
fn gateway(run: &Run, name: &str, profile: &str, seed: &str) -> Vec<BTreeMap<String, String>> {
    let folder = run.file(name);
    let out = folder.to_str().expect("UTF-8");
    let arguments = ["gateway", "--quick", "--seed", seed, "--profile", profile, "--out", out];
    let output = bench(run, &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name| std::fs::read_to_string(folder.join(name)).expect("a file");
    let json: serde_json::Value = serde_json::from_str(&read("gateway.json")).expect("JSON");
    assert_eq!(json["facts"]["paper_mode"], profile == "zcu104-paper");
    assert_eq!(json["facts"]["targets_missed"], 0);
    let page = read("gateway.md");
    assert!(page.contains("**Simulation**"));
    let processor = match profile {
        "zcu104-64" => "Xeon",
        "zcu104-64-a53" => "Cortex-A53",
        _ => "the paper's board",
    };
    assert!(page.contains("Software is charged as on") && page.contains(processor), "{page}");
    let by_construction = "(by construction: the same steps)";
    assert_eq!(page.contains(by_construction), profile != "zcu104-paper", "{page}");
    let rows = rows(&read("gateway.csv"));
    // Publisher, mapping, size: 2 hardware subscribers.
    assert_eq!((rows.len(), json["rows"].as_array().map(Vec::len)), (8, Some(8)));
    assert!(rows.iter().all(|row| row["profile"] == profile && row["seed"] == seed));
    rows
}

fn of<T: std::str::FromStr>(row: &BTreeMap<String, String>, name: &str) -> T {
    row[name].parse().unwrap_or_else(|_| panic!("{name} of {row:?}"))
}

#[test]
fn a_gateway_moves_a_message_over_host_memory_once_and_a_software_mapped_topic_once_per_node() {
    let run = Run::new("bench_gateway");
    let rows = gateway(&run, "1", "zcu104-64", "1");
    for row in &rows {
        let bytes: u64 = of(row, "message_bytes");
        let (read, written): (u64, u64) =
            (of(row, "memif_bytes_read"), of(row, "memif_bytes_written"));
        let from_hardware = row["publisher"] == "hardware";
        // 2 subscribers read where the topic is in host memory; what is not data is less than 200
        // bytes.
        let reads = match (row["mapping"].as_str(), from_hardware) {
            ("software", _) => 2,
            (_, true) => 0,
            (_, false) => 1,
        };
        let times = |count: u64| count * bytes..=count * (bytes + 200);
        assert!(times(reads).contains(&read), "{row:?}");
        assert!(times(u64::from(from_hardware)).contains(&written), "{row:?}");
        if row["mapping"] == "gateway" {
            assert_eq!(row["targets_reached"], "true", "{row:?}");
        }
    }
    // The hardware follows from the design, not from the data.
    let other = gateway(&run, "2", "zcu104-64", "2");
    for (row, other) in rows.iter().zip(&other) {
        assert_eq!(row["to_slowest_hardware_cycles"], other["to_slowest_hardware_cycles"]);
    }
    // Software of another processor: only what software has a part in takes another time.
    let other = gateway(&run, "a53", "zcu104-64-a53", "1");
    for (row, other) in rows.iter().zip(&other) {
        let without_software = row["publisher"] == "hardware" && row["mapping"] == "gateway";
        let name = "to_slowest_hardware_cycles";
        assert_eq!(row[name] == other[name], without_software, "{row:?} and {other:?}");
        assert!(of::<f64>(row, "to_software_ms") < of::<f64>(other, "to_software_ms"), "{row:?}");
    }
}

#[test]
#[ignore = "long: four more boards"]
fn the_published_way_to_host_memory_takes_what_was_fitted_on_table_i() {
    let run = Run::new("bench_gateway_paper");
    let rows = gateway(&run, "1", "zcu104-paper", "1");
    let of_size = |bytes: u32| {
        let row = rows.iter().find(|row| {
            row["message_bytes"] == bytes.to_string()
                && row["publisher"] == "hardware"
                && row["mapping"] == "software"
        });
        of::<f64>(row.expect("a row"), "to_slowest_hardware_ms")
    };
    // Three passes, of its publisher and two subscribers; a pass is half of 2.922 ns per byte.
    let slope = (of_size(100_000) - of_size(10_000)) / 90_000.0 * 1e6 / 3.0;
    assert!((slope / 1.461 - 1.0).abs() < 0.03, "{slope} ns per byte");
}

#[test]
fn boards_that_the_driving_nodes_are_not_made_for_are_refused_with_those_that_fit() {
    let run = Run::new("bench_driving_profile");
    for profile in ["zcu104-paper", "zcu104-128x200"] {
        let output = bench(&run, &["driving", "--quick", "--profile", profile]);
        assert!(!output.status.success());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("choose --profile zcu104-64"), "{error}");
    }
}

#[test]
#[ignore = "long: three boards of the image pipeline"]
fn a_stream_between_the_nodes_of_the_image_pipeline_takes_as_long_as_one_node() {
    let run = Run::new("bench_pipeline");
    let of_board = ["--quick", "--profile", "kv260-250"];
    // Fails if an image is not as from software, or if the stream takes longer.
    let (_, rows) = experiment(&run, "pipeline", "one", &of_board);
    let row = |place: &str| {
        let found = rows.iter().find(|row| row["where"] == place);
        found.unwrap_or_else(|| panic!("{place}: {rows:?}"))
    };
    let [topics, fused, streamed] = ["topics through the processor", "one node", "streamed"]
        .map(|it| row(&format!("board, {it}")));
    assert!(number(streamed, "p50_ms") <= 1.01 * number(fused, "p50_ms"), "{rows:?}");
    assert!(number(streamed, "period_ms") <= 1.01 * number(fused, "period_ms"), "{rows:?}");
    // The image between the nodes goes up and down through host memory, which costs more than half
    // of the time as it does in the paper.
    assert!(number(topics, "p50_ms") > 1.5 * number(streamed, "p50_ms"), "{rows:?}");
    let between = |name: &str| number(topics, name) - number(streamed, name);
    assert!(between("memif_bytes_read") >= 921_600.0, "{rows:?}");
    assert!(between("memif_bytes_written") >= 921_600.0, "{rows:?}");
}

#[test]
#[ignore = "long: five boards of seven nodes, and two of the paper's"]
fn the_driving_graph_takes_the_commands_of_software_and_less_than_three_milliseconds() {
    let run = Run::new("bench_driving");
    let (text, rows) = experiment(&run, "driving", "one", &["--quick"]);
    let (again, _) = experiment(&run, "driving", "again", &["--quick"]);
    assert_eq!(text, again, "the same seed gives the same times");
    let row_of = |profile: &str, topic_a: &str, view_bits: &str, load: &str| {
        let found = rows.iter().find(|row| {
            row["span"] == "chain alpha"
                && row["profile"] == profile
                && row["topic_a"] == topic_a
                && row["view_bits"] == view_bits
                && row["load_percent"] == load
        });
        found.unwrap_or_else(|| panic!("{profile}, {topic_a}, {view_bits} bit, {load} %"))
    };
    let row = |profile: &str, topic_a: &str, load: &str| row_of(profile, topic_a, "64", load);
    for topic_a in ["software", "gateway"] {
        // A prediction from another table holds within a fifth.
        assert_eq!(row("zcu104-paper", topic_a, "0")["mean_holds"], "true");
        let [idle, loaded] = ["0", "50"].map(|load| row("zcu104-64", topic_a, load));
        assert!(number(loaded, "mean_ms") > 1.5 * number(idle, "mean_ms"), "{loaded:?}");
        // The image comes down once; topic A goes up once, and down to each of three nodes if it
        // is software-mapped. What is not data is less than 1000 bytes.
        let downs = if topic_a == "software" { 4.0 } else { 1.0 };
        for (name, times) in [("memif_bytes_read", downs), ("memif_bytes_written", 1.0)] {
            let bytes = times * 921_600.0;
            assert!((bytes..bytes + 1000.0).contains(&number(idle, name)), "{name}: {idle:?}");
        }
    }
    let fair = row("zcu104-64", "gateway", "0");
    assert_eq!(fair["targets_reached"], "true", "{fair:?}");
    let wide = row_of("zcu104-64", "gateway", "128", "0");
    assert_eq!(wide["targets_reached"], "true", "{wide:?}");
    assert!(number(row("zcu104-64", "software", "0"), "mean_ms") > 2.0 * number(fair, "mean_ms"));

    // The fpgaDDS paper's graph. Over host memory each node reads its pictures there.
    let results = std::fs::read_to_string(run.file("one").join("driving.json")).expect("a file");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    let measured = &results["facts"]["table_iii_measured"];
    let of = |topics: &str, load: u64, name: &str| {
        let mut all = measured.as_array().expect("rows").iter();
        let found = all.find(|row| row["topics"] == topics && row["load_percent"] == load);
        found.expect("the row")[name].as_f64().expect("a number")
    };
    let (picture, view) = (921_600.0, 1_800_000.0);
    for (topics, down, up) in
        [("hardware", picture, 0.0), ("software", 5.0 * picture + view, 2.0 * picture + view)]
    {
        assert!(of(topics, 50, "mean_ms") > of(topics, 0, "mean_ms"), "{measured:#}");
        for (name, bytes) in [("memif_bytes_read", down), ("memif_bytes_written", up)] {
            let found = of(topics, 0, name);
            assert!((bytes..bytes + 3000.0).contains(&found), "{topics} {name}: {measured:#}");
        }
    }
    assert!(of("software", 0, "mean_ms") > 1.5 * of("hardware", 0, "mean_ms"), "{measured:#}");
}

#[test]
fn what_is_missing_for_an_experiment_is_told_with_the_line_that_installs_it() {
    let run = Run::new("bench_tools");
    for (experiment, tool) in [
        ("hmt", "Verilator"),
        ("gateway", "Verilator"),
        ("driving", "Verilator"),
        ("pipeline", "Verilator"),
        ("memif-load", "Verilator"),
        ("execution-modes", "Verilator"),
        ("network-area", "Yosys"),
    ] {
        let out = run.file("out");
        let arguments = ["bench", experiment, "--out", out.to_str().expect("UTF-8")];
        let mut command = run.crossdock(&arguments);
        command.env("CROSSDOCK_TOOLS", run.file("nothing")).env("PATH", run.file("nothing"));
        command.env("CROSSDOCK_CACHE", run.file("cache")).env_remove("VERILATOR_ROOT");
        let output = command.output().expect("crossdock starts");
        let errors = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.starts_with(&format!("error: {tool} is neither")), "{errors}");
        let line = errors.lines().nth(1).expect("a second line");
        assert!(line.trim_start().starts_with("scripts/hardware-tools"), "{errors}");
        assert!(errors.contains("\n        python3 -m venv"), "{errors}");
        assert_eq!(out.read_dir().expect("a folder").count(), 0, "{experiment} left results");
    }
}

#[test]
fn an_experiment_whose_results_cannot_be_written_does_not_begin() {
    let run = Run::new("bench_nowhere");
    let file = run.file("file");
    std::fs::write(&file, "").expect("a file");
    let nowhere = file.join("folder");
    let nowhere = nowhere.to_str().expect("UTF-8");
    for experiment in [
        "hmt",
        "execution-modes",
        "memif-load",
        "gateway",
        "driving",
        "pipeline",
        "network-area",
        "cpu-gpu",
        "frames",
    ] {
        let device = ["--device", "opencl:0"];
        let device = if ["cpu-gpu", "frames"].contains(&experiment) { &device[..] } else { &[] };
        let output = bench(&run, &[&[experiment, "--out", nowhere], device].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{experiment}");
        assert!(errors.contains(nowhere) && errors.contains("--out"), "{experiment}: {errors}");
    }
}

#[test]
fn every_figure_of_a_device_was_measured_or_says_why_not_and_the_result_says_of_what() {
    let run = Run::new("bench_device");
    let listed = run.json(&["device", "list", "--json"]);
    if !listed.as_array().expect("devices").iter().any(|it| it["name"] == "opencl:0") {
        skip("no OpenCL driver");
        return;
    }
    for device in ["opencl:0", "shadow:opencl:0"] {
        let file = run.file("device.json");
        let path = file.to_str().expect("UTF-8");
        let output = bench(&run, &["device", "--device", device, "--quick", "--json", path]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(&file).expect("a file");
        let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(result["device"]["name"], device);
        assert!(
            result["device"]["driver"].is_string() && result["capabilities"]["managed"] == true
        );
        let date = result["date"].as_str().expect("a date");
        assert!(date.len() == 20 && date.starts_with("20") && date.ends_with('Z'), "{date}");
        let rows = result["rows"].as_array().expect("rows");
        for group in ["hand-off", "copies", "launches", "registration", "fences"] {
            let of_group = || rows.iter().filter(move |row| row["group"] == group);
            assert!(of_group().any(|row| row["took"].is_object()), "{device} {group}: {rows:?}");
            assert!(of_group().all(|row| row["what"] != "the rest"), "{device} {group}: {rows:?}");
        }
        for row in rows {
            let took = &row["took"];
            let (p50, p99) = (took["p50_ns"].as_u64(), took["p99_ns"].as_u64());
            let is_measured = took["count"].as_u64() > Some(0) && p50 <= p99;
            let why_not = row["why_not"].as_str().expect("text");
            assert!(is_measured == why_not.is_empty(), "{row}");
        }
        let messages =
            rows.iter().filter(|row| row["what"].as_str().expect("text").contains("message"));
        assert!(
            messages.clone().count() == 2 && messages.clone().all(|it| it["took"]["count"] == 20)
        );
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            result["device"]["kind"] != "cpu" || printed.contains("nothing here is about GPUs")
        );
    }
    let output = bench(&run, &["device", "--device", "opencl:0", "--json", "/nowhere/device.json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("/nowhere/device.json cannot be written"), "{errors}");
}

#[test]
fn an_experiment_that_cannot_write_one_of_its_files_does_not_begin() {
    let run = Run::new("bench_files");
    let out = run.file("out");
    std::fs::create_dir_all(out.join("driving.table_iii.csv")).expect("a folder");
    let output = bench(&run, &["driving", "--quick", "--out", out.to_str().expect("UTF-8")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("driving.table_iii.csv cannot be written"), "{errors}");
}

#[test]
#[ignore = "long: four syntheses"]
fn the_area_of_a_topic_hardly_grows_with_its_subscribers() {
    let run = Run::new("bench_area");
    let out = run.file("out");
    let output = bench(&run, &["network-area", "--quick", "--out", out.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(out.join("network-area.csv")).expect("a file");
    let rows = rows(&text);
    let of = |subscribers: &str, checks: &str, name: &str| -> u64 {
        let mut all = rows.iter();
        let row = all.find(|it| it["subscribers"] == subscribers && it["checks_lengths"] == checks);
        row.expect("a row")[name].parse().expect("a number")
    };
    assert_eq!(rows.len(), 4);
    // The shared pair of entries of a broadcast, and not one flip-flop of data per subscriber.
    assert!(of("8", "false", "ff") <= 160);
    assert!(of("8", "true", "ff") > of("8", "false", "ff"));
    assert!(of("1", "false", "ff") < of("8", "false", "ff"));
}

fn is_device_there(run: &Run) -> bool {
    let listed = run.json(&["device", "list", "--json"]);
    let there = listed.as_array().expect("devices").iter().any(|it| it["name"] == "opencl:0");
    if !there {
        skip("no OpenCL driver");
    }
    there
}

#[test]
fn processor_and_device_on_one_array_are_right_in_processes_and_the_files_say_what_they_took() {
    let run = Run::new("bench_cpu_gpu");
    if !is_device_there(&run) {
        return;
    }
    let folder = run.file("out");
    let out = folder.to_str().expect("UTF-8");
    let copy = run.file("copy.json");
    let base = ["cpu-gpu", "--power", "6", "--runs", "2", "--warm-up", "1", "--out", out];
    let measured = |more: &[&str]| {
        let output = bench(&run, &[&base[..], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
        (rows(&read("cpu-gpu.csv")), read("cpu-gpu.json"), read("cpu-gpu.md"))
    };
    let device = ["--device", "opencl:0", "--matrix", "--benchmark", "cache"];
    let five = ["--architecture", "5", "--division", "replicated", "--transport", "shared"];
    let copied = ["--json", copy.to_str().expect("UTF-8")];
    let (natives, ..) = measured(&[&device[..], &["--architecture", "native"]].concat());
    // Memory that a driver moves is of one process.
    let moved = ["--architecture", "2-service", "--transport", "composed", "--model", "um"];
    let (moved, ..) = measured(&[&device[..], &moved].concat());
    assert_eq!((moved.len(), moved[0]["model"].as_str()), (1, "um"));
    let (table, json, page) = measured(&[&device[..], &five, &copied].concat());
    let models = |table: &Rows| table.iter().map(|row| row["model"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (models(&natives), models(&table)),
        (["sc", "um", "zc"].map(String::from).into(), ["sc", "zc"].map(String::from).into(),)
    );
    for row in natives.iter().chain(&table).chain(&moved) {
        assert_eq!((row["right"].as_str(), row["swaps"].as_str()), ("true", "8"), "{row:?}");
        assert!(row["mean_ms"].parse::<f64>().expect("a number") > 0.0, "{row:?}");
        let ms = |column: &str| row[column].parse::<f64>().expect("a number");
        let better = ms("native_best_mean_ms").min(ms("native_paper_mean_ms"));
        assert!(better > 0.0 && ms("native_mean_ms") == better, "{row:?}");
        let is_native = row["architecture"] == "native";
        assert_eq!(row["overhead_percent"].is_empty(), is_native, "{row:?}");
        assert_eq!(row["host_instances"], "1", "{row:?}");
        let copies = row["model"] == "sc";
        assert_eq!(row["copied_bytes_per_swap"] != "0", copies, "{row:?}");
        assert_eq!(row["in_place"] == "true", !copies, "{row:?}");
        let on_device = if copies { "1" } else { "0" };
        assert!(is_native || row["device_instances"] == on_device, "one in each memory: {row:?}");
    }
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let again = std::fs::read_to_string(&copy).expect("the copy");
    assert_eq!(json, serde_json::from_str::<serde_json::Value>(&again).expect("JSON"));
    assert_eq!(json["facts"]["device"]["name"], "opencl:0");
    assert_eq!(json["facts"]["about_gpus"], false);
    assert!(page.contains("Nothing on this page is about GPUs"), "{page}");
    assert!(page.contains("34 / 246") && page.contains("of one process"), "{page}");

    // The shadow of a device has no memory in common with the host.
    let shadow = ["--device", "shadow:opencl:0", "--architecture", "3"];
    let (table, ..) = measured(&[&shadow[..], &["--transport", "serialised"]].concat());
    assert_eq!((table.len(), table[0]["model"].as_str()), (1, "sc"));
    let output = bench(&run, &[&base[..], &shadow, &["--model", "zc"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("in place while the host does"),
        "{errors}"
    );
}

#[test]
fn frames_that_stay_on_a_device_are_right_and_copied_nowhere() {
    let run = Run::new("bench_frames");
    if !is_device_there(&run) {
        return;
    }
    let folder = run.file("out");
    let out = folder.to_str().expect("UTF-8");
    let base = ["frames", "--resolution", "1080p", "--frames", "3", "--warm-up", "1", "--out", out];
    let measured = |more: &[&str]| bench(&run, &[&base[..], more].concat());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    for (device, transport) in [("opencl:0", "shared"), ("shadow:opencl:0", "composed")] {
        let output = measured(&["--device", device, "--transport", transport]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let table = rows(&read("frames.csv"));
        let cases: Vec<_> = table.iter().map(|row| (&*row["model"], &*row["drawn"])).collect();
        let expected =
            [("device", "true"), ("device", "false"), ("copy", "true"), ("copy", "false")];
        assert_eq!(cases, expected);
        for row in &table {
            assert_eq!((&*row["frames"], &*row["wrong"]), ("3", "0"), "{row:?}");
            assert_eq!(row["compared"] == "1", row["drawn"] == "true", "{row:?}");
            assert!(row["fps"].parse::<f64>().expect("a number") > 0.0, "{row:?}");
            // Up, and down in the other process.
            let times = if transport == "shared" { 2 } else { 1 };
            let copied = if row["model"] == "copy" { times * 1920 * 1080 * 4 } else { 0 };
            assert_eq!(row["copied_bytes_per_frame"], copied.to_string(), "{row:?}");
            let is_alike = row["drawn"] == "true" && transport == "shared";
            assert_eq!(!row["published_fps"].is_empty(), is_alike, "{row:?}");
        }
        assert!(read("frames.md").contains("Nothing on this page is about GPUs"));
    }
    let output = measured(&["--device", "shadow:opencl:0", "--model", "zero_copy"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("in place while the host does (tried)"),
        "{errors}"
    );
}

#[test]
fn the_graphs_of_an_experiment_do_not_meet_what_runs_beside_it() {
    let run = Run::new("bench_beside");
    if !is_device_there(&run) {
        return;
    }
    let beside = ["topic", "pub", "/frame", "std_msgs/msg/String", "data: beside", "--rate", "10"];
    let beside = run.start(&beside);
    until("a message beside it", || run.published("/frame") >= 1);
    let out = run.file("out");
    let one = ["frames", "--resolution", "1080p", "--frames", "1", "--warm-up", "1"];
    let more = ["--device", "opencl:0", "--model", "copy", "--out", out.to_str().expect("UTF-8")];
    let output = bench(&run, &[&one[..], &more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    beside.interrupt();
    _ = beside.end();
}

#[test]
fn a_worker_that_is_killed_ends_the_run_of_its_scheduler() {
    let run = Run::new("cpu_gpu_killed");
    if !is_device_there(&run) {
        return;
    }
    let parameters = run.file("parameters.yaml");
    let all = "benchmark: concurrent, power: 10";
    let text = format!(
        "crossdock: 1\nnodes:\n  scheduler: {{ {all}, runs: 1000000 }}\n  cpu_0: {{ {all} }}\n  gpu_0: {{ {all} }}\n"
    );
    std::fs::write(&parameters, text).expect("a file");
    let files =
        ["apps/cpu_gpu/three.graph.yaml", "--mapping", "apps/cpu_gpu/three.shared.mapping.yaml"];
    let parameters = ["--params", parameters.to_str().expect("UTF-8"), "--json"];
    for worker in ["gpu_0", "cpu_0"] {
        let graph = run.start(&[&["run"], &files[..], &parameters].concat());
        until("some runs", || run.published("/run") >= 2);
        let listed = run.json(&["node", "list", "--json"]);
        let row = listed.as_array().expect("nodes").iter().find(|row| row["node"] == worker);
        let pid = row.and_then(|row| row["pid"].as_u64()).expect("its process") as i32;
        assert!(children(graph.id()).contains(&(pid as u32)));
        let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a signal");
        let (status, table) = graph.end();
        assert_eq!(status.code(), Some(1));
        let summary: serde_json::Value = serde_json::from_str(&table).expect("JSON");
        let end = summary["end"].as_str().expect("a sentence");
        assert!(end.contains(worker) || end.contains("died"), "{end}");
    }
}
