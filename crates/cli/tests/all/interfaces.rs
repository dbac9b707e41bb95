//! `crossdock interface` and `crossdock msg` as users meet them: types of the corpus, of a sourced
//! environment and of the current folder, and lines that hold no message.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty folder of this test's own, removed at the end.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Place {
    fn new(test: &str) -> Self {
        let name = format!("interfaces-{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("room");
        path
    }

    /// What the command prints on both outputs, and its exit code. It runs in this folder.
    fn run(&self, arguments: &[&str], prefixes: &str) -> (String, String, Option<i32>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
        command.args(arguments).current_dir(&self.0).env("AMENT_PREFIX_PATH", prefixes);
        let output = command.output().expect("crossdock starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(output.stdout), text(output.stderr), output.status.code())
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn every_vector_is_printed_as_it_was_decoded_and_encoded_again() {
    let Some(data) = crossdock_test_support::data() else { return };
    let place = Place::new("vectors");
    let vectors = data.join("cdr_vectors.jsonl");
    let (file, folder) = (vectors.display().to_string(), data.join("interfaces"));
    let folder = folder.display().to_string();
    let arguments = ["msg", "decode", "--vectors", &file, "--interfaces", &folder];
    let (printed, errors, code) = place.run(&arguments, "");
    assert_eq!(code, Some(0), "{errors}");
    let wanted = std::fs::read_to_string(vectors).expect("a file");
    assert_eq!(lines(&printed), lines(&wanted));
    assert_eq!(printed.lines().count(), 283);
}

#[test]
fn lines_without_a_message_say_what_is_wrong_and_the_rest_goes_on() {
    let place = Place::new("lines");
    let file = place.file(
        "vectors.jsonl",
        r#"{"type": "std_msgs/msg/Float32", "cdr_hex": "000100000000c07f"}
no json
{"type": "sensor_msgs/msg/JointState", "cdr_hex": "00010000000000000000000001000000000000000200000005"}

{"type": "my_msgs/msg/X", "cdr_hex": "00"}
{"type": "std_msgs/msg/Int32", "cdr_hex": "0000000000000005"}
{"type": "std_msgs/msg/Int32", "cdr_hex": "00010000050"}
{"type": "std_srvs/srv/SetBool_Event", "value": {"request": [{"data": true}]}}
"#,
    );
    let file = file.display().to_string();
    let (printed, errors, code) = place.run(&["msg", "decode", "--vectors", &file], "");
    assert_eq!(code, Some(1));
    assert!(errors.contains("4 lines of"), "{errors}");
    let printed = lines(&printed);
    let nan = json!({
        "type": "std_msgs/msg/Float32", "value": { "data": "NaN" }, "cdr_hex": "000100000000c07f",
    });
    assert_eq!(printed[0], nan);
    let error = |at: usize| printed[at]["error"].as_str().expect("an error");
    assert_eq!(printed[1]["line"], 2);
    assert!(error(1).contains("no JSON"));
    assert_eq!((&printed[2]["line"], &printed[2]["field"]), (&json!(3), &json!("name")));
    assert!(error(2).contains("ends at byte 25"), "{}", error(2));
    assert!(error(3).contains("my_msgs/msg/X is not known"), "{}", error(3));
    assert_eq!(printed[4]["cdr_hex"], "0001000005000000", "big endian was decoded");
    assert!(error(5).contains("two hexadecimal digits"), "{}", error(5));
    assert_eq!(printed[6]["value"]["request"], json!([{ "data": true }]));
}

#[test]
fn types_of_a_sourced_environment_and_of_the_current_folder_are_found() {
    let place = Place::new("found");
    // Two prefixes: the first lies over the second.
    for (prefix, field) in [("over", "int64 new"), ("under", "int32 old")] {
        let share = format!("{prefix}/share");
        place.file(&format!("{share}/a_msgs/msg/Thing.msg"), &format!("{field}\n"));
        let index = format!("{share}/ament_index/resource_index/rosidl_interfaces/a_msgs");
        place.file(&index, "msg/Thing.idl\nmsg/Thing.msg\nmsg/Gone.msg\n../../../etc/x.msg\n");
    }
    place.file("under/share/b_msgs/msg/Broken.msg", "int32 Wrong Wrong\n");
    let index = "under/share/ament_index/resource_index/rosidl_interfaces/b_msgs";
    place.file(index, "msg/Broken.msg");
    place.file("src/deep/here/c_msgs/package.xml", "<package><name>named_msgs</name></package>");
    place
        .file("src/deep/here/c_msgs/action/Go.action", "# To where.\nint32 x # metres\n---\n---\n");
    place.file("src/ignored/COLCON_IGNORE", "");
    place.file("src/ignored/left_out/msg/No.msg", "int32 x\n");
    place.file("interfaces/e_msgs/srv/Do.srv", "a_msgs/Thing thing\n---\n");
    place.file("src/f_msgs/msg/UsesBroken.msg", "b_msgs/Broken broken\n");
    std::fs::write(place.0.join("src/f_msgs/msg/Latin.msg"), b"# \xe9\nint32 x\n").unwrap();
    let prefixes = format!("{0}/over:{0}/under", place.0.display());
    let printed = |arguments: &[&str]| {
        let (printed, errors, code) = place.run(arguments, &prefixes);
        (if code == Some(0) { printed } else { errors }, code)
    };
    let (listed, _) = printed(&["interface", "list"]);
    for name in ["a_msgs/msg/Thing", "named_msgs/action/Go", "e_msgs/srv/Do"] {
        assert!(listed.lines().any(|line| line == name), "{name}: {listed}");
    }
    assert!(!listed.contains("left_out") && !listed.contains("Gone"), "{listed}");
    let (actions, _) = printed(&["interface", "list", "-a"]);
    assert!(actions.contains("named_msgs/action/Go\n"), "{actions}");
    assert!(actions.lines().all(|line| line.contains("/action/")), "{actions}");
    // Of a standard package, without its files.
    let (transforms, _) = printed(&["interface", "show", "tf2_msgs/msg/TFMessage"]);
    assert!(
        transforms.starts_with("geometry_msgs/TransformStamped[] transforms\n"),
        "{transforms}"
    );
    assert_eq!(printed(&["interface", "package", "e_msgs"]).0, "e_msgs/srv/Do\n");
    assert!(printed(&["interface", "packages", "-s"]).0.contains("e_msgs\n"));
    let (shown, _) = printed(&["interface", "show", "e_msgs/srv/Do"]);
    assert_eq!(shown, "a_msgs/Thing thing\n\tint64 new\n---\n");
    let (shown, _) = printed(&["interface", "show", "named_msgs/Go"]);
    assert_eq!(shown, "# To where.\n\n# metres\nint32 x\n---\n---\n");
    let (proto, _) = printed(&["interface", "proto", "named_msgs/action/Go", "--no-quotes"]);
    assert_eq!(proto, "x: 0\n");
    let (hashes, _) = printed(&["interface", "hash", "named_msgs/action/Go"]);
    assert_eq!(hashes.lines().count(), 13);
    assert!(hashes.lines().all(|line| line.starts_with("RIHS01_")), "{hashes}");
    let (broken, code) = printed(&["interface", "show", "b_msgs/msg/Broken"]);
    assert!(broken.contains("is broken") && broken.contains("Broken.msg:1:"), "{broken}");
    assert_eq!(code, Some(1));
    let (user, code) = printed(&["interface", "show", "f_msgs/msg/UsesBroken"]);
    assert!(user.contains("is broken") && user.contains("Broken.msg:1:"), "{user}");
    assert_eq!(code, Some(1));
    let (latin, _) = printed(&["interface", "show", "f_msgs/msg/Latin"]);
    assert!(latin.contains("UTF-8: save it in this encoding"), "{latin}");
    let (named, code) = printed(&["interface", "list", "--interfaces", "under/share/b_msgs"]);
    assert!(named.contains("Broken.msg:1:") && code == Some(1), "{named}");
}

#[test]
fn types_are_generated_in_every_language_and_the_same_every_time() {
    let place = Place::new("languages");
    place.file("used/a_msgs/msg/Part.msg", "float32[3] v\n");
    place.file("mine/msg/Whole.msg", "# Of parts.\na_msgs/Part[] parts\nstring name # its name\n");
    place.file("mine/package.xml", "<name>own_msgs</name>");
    place.file("mine/action/Go.action", "int32 x\n---\n---\nWhole whole\n");
    for (lang, wanted) in [
        ("rust", &["own_msgs.rs", "a_msgs.rs"][..]),
        ("c", &["crossdock_flat.h", "own_msgs.h", "a_msgs.h"]),
        ("cpp", &["crossdock_flat.h", "own_msgs.h", "a_msgs.h"]),
        ("python", &["__init__.py", "crossdock_flat.py", "own_msgs.py", "a_msgs.py"]),
        ("sv", &["crossdock_flat_pkg.sv", "own_msgs_flat_pkg.sv", "sources.f"]),
    ] {
        let mut written = Vec::new();
        for folder in [format!("{lang}-1"), format!("{lang}-2/below")] {
            let arguments = ["gen", "--lang", lang, "mine", "-o", &folder, "--interfaces", "used"];
            let (_, errors, code) = place.run(&arguments, "");
            assert_eq!(code, Some(0), "{lang}: {errors}");
            let text = |name| std::fs::read_to_string(place.0.join(&folder).join(name));
            written.push(wanted.iter().map(|name| text(name).expect(name)).collect::<Vec<_>>());
        }
        assert_eq!(written[0], written[1], "{lang}");
        assert!(written[0].iter().any(|text| text.contains("its name")), "{lang} has comments");
        assert!(written[0].iter().any(|text| text.contains("Go_Feedback")), "{lang} has actions");
    }
    let (_, errors, code) = place.run(&["gen", "--lang", "c", "mine", "-o", "out"], "");
    assert!(errors.contains("a_msgs/msg/Part, which is not known"), "{errors}");
    assert_eq!(code, Some(1));
    let (_, errors, code) = place.run(&["gen", "mine", "-o", "out"], "");
    assert!(errors.contains("--lang"), "{errors}");
    assert_eq!(code, Some(2));
}

#[test]
fn types_that_nest_each_other_are_shown_up_to_a_limit_and_the_error_names_what_to_ask_for() {
    let place = Place::new("nested");
    place.file("interfaces/n_msgs/msg/L0.msg", "uint8 v\n");
    place.file("interfaces/n_msgs/msg/Wide.msg", "Row[4096] rows\n");
    place.file("interfaces/n_msgs/msg/Row.msg", "float64[4096] values\n");
    for level in 1..25 {
        let text = format!("L{0} a\nL{0} b\n", level - 1);
        place.file(&format!("interfaces/n_msgs/msg/L{level}.msg"), &text);
    }
    for (command, name, used) in [
        ("show", "n_msgs/msg/L24", "n_msgs/msg/L23"),
        ("proto", "n_msgs/msg/L24", "n_msgs/msg/L23"),
        ("proto", "n_msgs/msg/Wide", "n_msgs/msg/Row"),
    ] {
        let (printed, errors, code) = place.run(&["interface", command, name], "");
        assert_eq!((printed.as_str(), code), ("", Some(1)), "{errors}");
        let wanted = format!("{name} has more than 4194304 bytes with the types that it uses");
        assert!(errors.contains(&wanted), "{errors}");
        assert!(errors.ends_with(&format!("such as {used}\n")), "{errors}");
    }
    let (shown, _, code) = place.run(&["interface", "show", "n_msgs/msg/L10"], "");
    assert_eq!((shown.lines().count(), code), (3 * (1 << 10) - 2, Some(0)));
    let (proto, _, code) = place.run(&["interface", "proto", "n_msgs/msg/L10", "--no-quotes"], "");
    assert_eq!((proto.matches("v: 0\n").count(), code), (1 << 10, Some(0)));
    let (proto, _, code) = place.run(&["interface", "proto", "n_msgs/msg/Row"], "");
    assert_eq!((proto.matches("0.0").count(), code), (4096, Some(0)));
}
