//! `crossdock map` as a user meets it: from a graph and a placement to a mapping file that the
//! check accepts, a picture, and a run that says what it cannot do.

use crossdock_suite::Run;
use serde_json::json;

const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";

/// Writes a file of the scratch folder; its name for the command line.
fn written(run: &Run, name: &str, content: &str) -> String {
    let file = run.file(name);
    std::fs::write(&file, content).expect("a file");
    file.to_str().expect("UTF-8").to_owned()
}

fn name(run: &Run, name: &str) -> String {
    run.file(name).to_str().expect("UTF-8").to_owned()
}

#[test]
fn the_example_of_the_paper_is_mapped_from_its_published_graph() {
    let Some(data) = crossdock_test_support::data() else { return };
    let run = Run::new("map_figure8");
    let json_graph = data.join("graphs/planner_figure8.json");
    let json_graph = json_graph.to_str().expect("UTF-8");
    let (graph, mapping, picture) =
        (name(&run, "g.yaml"), name(&run, "m.yaml"), name(&run, "p.svg"));
    assert!(run.output(&["graph", "import", json_graph, "-o", &graph]).status.success());
    let map = |more: &[&str]| {
        let fixed =
            ["map", &graph, "--placement", json_graph, "-o", &mapping, "--picture", &picture];
        let output = run.output(&[&fixed[..], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |file: &str| std::fs::read_to_string(file).expect("a file");
        (String::from_utf8(output.stdout).expect("UTF-8"), read(&mapping), read(&picture))
    };
    let (table, mapping_file, drawn) = map(&[]);
    for line in [
        "all topics software-mapped           10  (3 up, 7 down)",
        "hardware-mapped topics, no gateways   8  (2 up, 6 down)",
        "as mapped                             3  (2 up, 1 down)",
        "software-mapped: /D",
        "hardware-mapped: /B",
        "gateway: /A, /C, /E",
    ] {
        assert!(table.lines().any(|it| it == line), "`{line}` is missing in:\n{table}");
    }
    assert!(mapping_file.contains("\n  /B: { mapping: hardware }\n"), "{mapping_file}");
    assert_eq!(drawn.matches("<rect class=\"fabric\"").count(), 3, "two subgraphs and the key");
    assert_eq!(map(&[]), (table, mapping_file.clone(), drawn.clone()), "the same every time");
    let (printed, again, _) = map(&["--json"]);
    assert_eq!(again, mapping_file);
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed["all_software"], json!({ "total": 10, "up": 3, "down": 7 }));
    assert_eq!(printed["without_gateways"]["total"], 8);
    assert_eq!(printed["mapped"]["total"], 3);
    assert_eq!(printed["topics"].as_array().expect("topics").len(), 5);
    assert_eq!(printed["mapping"]["topics"][1], json!({ "name": "/B", "mapping": "hardware" }));
}

#[test]
fn nodes_of_the_driving_graph_are_placed_in_hardware_checked_and_not_run_without_it() {
    let run = Run::new("map_highway");
    let placement = "crossdock: 1\nfabrics:\n  board: { nodes: [compensation, blur, planner] }\n";
    let placement = written(&run, "p.yaml", placement);
    let mapping = name(&run, "m.yaml");
    let mut command = vec!["map", HIGHWAY, "--placement", &placement, "--prefer", "gateway"];
    command.extend(["-o", &mapping]);
    let output = run.output(&command);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("hardware-mapped: /camera/image_blurred\n"), "{table}");
    assert!(table.contains("note: /lane/view: the rule leaves the choice open"), "{table}");

    let output = run.output(&["check", HIGHWAY, "--mapping", &mapping]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains(", 3 in hardware"), "{}", String::from_utf8_lossy(&output.stderr));
    // What a run refuses a check refuses, with the same words.
    for command in ["check", "run"] {
        let contrast = ["-p", "planner.contrast_min:=300"];
        let words = [&[command, HIGHWAY, "--mapping", &mapping][..], &contrast].concat();
        let output = run.output(&words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {errors}");
        for part in ["node `planner`", "`lane_planner` in hardware cannot be made", "0 to 255"] {
            assert!(errors.contains(part), "{command}: `{part}` is missing in: {errors}");
        }
    }

    let whole = "apps/autorace/highway.hardware.mapping.yaml";
    let output = run.output(&["check", HIGHWAY, "--mapping", whole]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains(", 2 in hardware") && told.contains("no violation found"), "{told}");
    let plan = run.json(&["check", HIGHWAY, "--mapping", whole, "--json"]);
    let nodes = json!(["compensation", "blur"]);
    let fabric = &plan["fabrics"][0];
    assert_eq!((&fabric["name"], &fabric["nodes"]), (&json!("board"), &nodes));
    let shared = |gateway: &serde_json::Value| gateway["end"].is_null();
    assert!(fabric["gateways"].as_array().expect("gateways").iter().all(shared), "{fabric}");

    let text = std::fs::read_to_string(&mapping).expect("the mapping");
    let wrong = "/camera/image_compensated: { mapping: hardware }";
    let wrong = text.replace("/camera/image_compensated: { mapping: gateway }", wrong);
    assert_ne!(wrong, text);
    let wrong = written(&run, "wrong.yaml", &wrong);
    let output = run.output(&["check", HIGHWAY, "--mapping", &wrong]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for part in ["wrong.yaml:", "node `red_light`, topic `/camera/image_compensated`", "gateway"] {
        assert!(errors.contains(part), "`{part}` is missing in: {errors}");
    }

    let drawn = run.output(&["graph", HIGHWAY, "--mapping", &mapping, "--format", "svg"]);
    let drawn = String::from_utf8_lossy(&drawn.stdout);
    assert!(drawn.contains("class=\"box\"") && drawn.contains("class=\"fabric\""), "{drawn}");
}

#[test]
fn nodes_that_form_a_cycle_on_one_board_get_a_fifo_and_the_check_accepts_it() {
    const COURSE: &str = "apps/autorace/course.graph.yaml";
    let run = Run::new("map_cycle");
    let nodes = "compensation, blur, planner, polyfit, red_light, green_light, control";
    let placement = format!("crossdock: 1\nfabrics: {{ board: {{ nodes: [{nodes}] }} }}\n");
    let placement = written(&run, "p.yaml", &placement);
    let mapping = name(&run, "m.yaml");
    let command = ["map", COURSE, "--placement", &placement, "--prefer", "gateway", "-o", &mapping];
    let printed = run.output(&command);
    let printed = String::from_utf8_lossy(&printed.stdout);
    let note = "note: /traffic_light/green: the input `other` of `red_light` has a FIFO of a whole message";
    assert!(printed.contains(note), "{printed}");
    let checked = run.output(&["check", COURSE, "--mapping", &mapping]);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stderr));

    let text = std::fs::read_to_string(&mapping).expect("the mapping");
    let bare = text.replace("fifo_messages: 1", "");
    assert_ne!(bare, text);
    let bare = written(&run, "bare.yaml", &bare);
    let refused = run.output(&["check", COURSE, "--mapping", &bare]);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(errors.contains("hardware nodes form a cycle without a FIFO"), "{errors}");
}

#[test]
fn a_wrong_placement_is_refused_with_place_and_advice() {
    let run = Run::new("map_wrong");
    let wrong = "crossdock: 1\nfabrics:\n  board: { nodes: [compensatoin] }\n";
    let placement = written(&run, "p.yaml", wrong);
    let mapping = name(&run, "m.yaml");
    let arguments = ["map", HIGHWAY, "--placement", &placement, "-o", &mapping];
    let output = run.output(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("p.yaml:3:20:"), "{errors}");
    assert!(errors.contains("did you mean `compensation`?"), "{errors}");
    assert!(!run.file("m.yaml").exists(), "nothing is written");
    let output = run.output(&[&arguments[..], &["--json"]].concat());
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(printed["violations"][0]["kind"], "unknown_node");
}
