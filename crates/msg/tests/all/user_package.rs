//! A user's own packages, as a build script generates them: what is written compiles outside this
//! crate, and agrees with the dynamic codec. `golden` compares the text with the generator's.

use crate::common;
use common::random::{Random, random_cdr};
use crossdock_msg::find;
use crossdock_msg::generate::{GenerateError, Generator};
use crossdock_msg::resolve::Library;
use crossdock_msg::{
    Action, Block, BlockMut, BuildError, CdrBuffer, FlatBuffer, FlatError, Message, Schema,
    Service, ServiceSchema,
};
use odd_msgs::Everything;
use odd_msgs::action::{Climb, ClimbGetResult, ClimbGoal, ClimbSendGoal};
use std::path::{Path, PathBuf};

/// A package whose name is one that generated text uses itself.
mod block {
    include!("../user/block.rs");
}
mod odd_msgs {
    include!("../user/odd_msgs.rs");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/user")
}

#[test]
fn generated_user_types_agree_with_the_dynamic_codec_on_random_messages() {
    let schema = Schema::of::<Everything>().unwrap();
    assert_eq!(schema.type_hash(), Everything::TYPE_HASH);
    for seed in 0..300 {
        let bytes = random_cdr(schema.layout(), &mut Random::new(seed), 1 + seed as usize / 10);
        let wanted = schema.flat_bytes_of_cdr(&bytes).unwrap();
        let extra = Everything::cdr_extra(&bytes).unwrap();
        assert_eq!(Everything::ROOT_BYTES + extra.total(), wanted);
        let mut dynamic = FlatBuffer::with_bytes(wanted);
        schema.decode_cdr(&bytes, dynamic.as_mut_slice()).unwrap();
        let mut generated = FlatBuffer::with_bytes(wanted);
        let mut top = 0;
        let memory = BlockMut::new(generated.as_mut_slice(), &mut top);
        Everything::decode_cdr(&bytes, &mut Everything::builder(memory)).unwrap();
        assert_eq!((top, generated.as_slice()), (wanted, dynamic.as_slice()));
        let block = Block::new(generated.as_slice());
        schema.validate(block).unwrap();
        let mut buffer = CdrBuffer::new();
        Everything::encode_cdr(Everything::view(block).unwrap(), &mut buffer).unwrap();
        assert_eq!(buffer.as_bytes(), bytes);
    }
}

#[test]
fn every_kind_of_field_is_set_and_read_back() {
    let mut memory = FlatBuffer::with_bytes(8192);
    let mut top = 0;
    let mut message = Everything::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    message.header().stamp().set_sec(-3);
    message.set_flag(true);
    message.set_type(-1);
    message.set_self(u64::MAX);
    message.set_flags(&[1, 0, 1]);
    message.small_mut()[8] = 0.5;
    message.set_large(&[2.0; 36]);
    message.set_shorts(&[-1, 2]).unwrap();
    message.few_uninit(2).unwrap().copy_from_slice(&[7, 8]);
    message.few_mut()[1] = 9;
    message.set_text("grüße").unwrap();
    message.set_short_text("12345").unwrap();
    message.set_wide(&[0x61, 0x20ac]).unwrap();
    message.two_texts().set_text(1, "second".into()).unwrap();
    message.texts(2).unwrap().set_text(0, "abc".into()).unwrap();
    message.wides(1).unwrap().set(0, &[5, 6]).unwrap();
    message.result().set_why("because").unwrap();
    message.two_results().at(1).set_code(3);
    message.results(1).unwrap().at(0).set_why("x").unwrap();
    message.plain_records(2).unwrap().at(1).set_b(1.5);
    message.thing().set_d(4);
    message.things(2).unwrap().at(1).set_b(6);
    message.points(1).unwrap().at(0).set_z(9.0);
    let error = message.set_short_text("123456").unwrap_err();
    assert!(matches!(error, BuildError::OverBound { length: 6, bound: 5, .. }));
    assert!(error.to_string().starts_with("field `short_text` of odd_msgs/msg/"), "{error}");
    assert!(message.things(3).is_err());
    let block = Block::new(&memory.as_slice()[..top]);
    Schema::of::<Everything>().unwrap().validate(block).unwrap();
    let view = Everything::view(block).unwrap();
    assert_eq!((view.header().stamp().sec(), view.flag()), (-3, true));
    assert_eq!((view.r#type(), view.self_()), (-1, u64::MAX));
    assert_eq!((view.flags(), view.small()[8], view.large()[35]), ([1, 0, 1], 0.5, 2.0));
    assert_eq!(view.shorts().unwrap(), [-1, 2]);
    assert_eq!(view.few().unwrap(), [7, 9]);
    assert_eq!(view.text_string().unwrap(), "grüße");
    assert_eq!(view.short_text().unwrap(), b"12345");
    assert_eq!(view.wide().unwrap(), [0x61, 0x20ac]);
    assert_eq!(view.two_texts().get(1).unwrap().unwrap(), b"second");
    let texts: Vec<_> = view.texts().unwrap().iter().map(Result::unwrap).collect();
    assert_eq!(texts, [b"abc".as_slice(), b""]);
    assert!(view.texts().unwrap().get(2).is_none());
    assert_eq!(view.wides().unwrap().get(0).unwrap().unwrap(), [5, 6]);
    assert_eq!(view.result().why_string().unwrap(), "because");
    assert_eq!(view.two_results().get(1).unwrap().code(), 3);
    assert_eq!(view.results().unwrap().get(0).unwrap().why().unwrap(), b"x");
    assert_eq!(view.plain_records().unwrap().get(1).unwrap().b(), 1.5);
    assert_eq!((view.thing().d(), view.things().unwrap().get(1).unwrap().b()), (4, 6));
    assert_eq!(view.points().unwrap().get(0).unwrap().z(), 9.0);
}

#[test]
fn a_view_refuses_more_elements_than_the_type_allows() {
    let mut message = built::<Everything>(|message| {
        message.set_few(&[1, 2, 3, 4]).unwrap();
        message.set_text("behind").unwrap();
    });
    let offset = |name| Everything::FIELD_OFFSETS.iter().find(|(field, _)| *field == name);
    let (_, at) = *offset("few").unwrap();
    // The length is behind the eight bytes that say where the elements lie.
    message.as_mut_slice()[at + 8] = 5;
    let view = Everything::view(Block::new(message.as_slice())).unwrap();
    assert_eq!(view.few(), Err(FlatError::OverBound { at, length: 5, bound: 4 }));
}

#[test]
fn constants_are_part_of_the_marker_type() {
    const { assert!(Everything::FLAG) };
    assert_eq!((Everything::HALF, Everything::LOW), (0.5, i64::MIN));
    assert!(Everything::NONE.is_nan());
    assert_eq!(Everything::GREETING, "say \"hi\"");
}

/// A message in the flat layout, of a type that is known when compiled.
fn built<M: Message>(build: impl FnOnce(&mut M::Builder<'_>)) -> FlatBuffer {
    let mut memory = FlatBuffer::with_bytes(4096);
    let mut top = 0;
    build(&mut M::builder(BlockMut::new(memory.as_mut_slice(), &mut top)));
    memory.resize(top);
    memory
}

#[test]
fn an_action_has_the_types_and_hashes_that_ros_2_derives_from_it() {
    let mut generator = Generator::new();
    generator.add_folder(&folder().join("interfaces")).unwrap();
    let library = generator.into_library();
    let schema = |name: &str| Schema::from_library(&library, name).unwrap();
    fn same<M: Message>(known: &Schema) {
        assert_eq!((M::TYPE_NAME, M::TYPE_HASH), (known.type_name(), known.type_hash()));
        assert_eq!((M::LAYOUT_HASH, M::ROOT_BYTES), (known.layout_hash(), known.root_bytes()));
        // What a recording carries of it is the same type.
        assert_eq!(Schema::of::<M>().unwrap().type_hash(), M::TYPE_HASH);
    }
    assert_eq!(Climb::TYPE_NAME, "odd_msgs/action/Climb");
    assert_eq!(Climb::TYPE_HASH, schema("odd_msgs/action/Climb").type_hash());
    same::<<Climb as Action>::Goal>(&schema("odd_msgs/action/Climb_Goal"));
    same::<<Climb as Action>::Result>(&schema("odd_msgs/action/Climb_Result"));
    same::<<Climb as Action>::Feedback>(&schema("odd_msgs/action/Climb_Feedback"));
    same::<<Climb as Action>::FeedbackMessage>(&schema("odd_msgs/action/Climb_FeedbackMessage"));
    fn service<S: Service>(library: &crossdock_msg::resolve::Library) {
        let known = ServiceSchema::from_library(library, S::TYPE_NAME).unwrap();
        assert_eq!(S::TYPE_HASH, known.type_hash());
        same::<S::Request>(known.request());
        same::<S::Response>(known.response());
    }
    service::<ClimbSendGoal>(&library);
    service::<ClimbGetResult>(&library);
    assert_eq!(ClimbSendGoal::TYPE_NAME, "odd_msgs/action/Climb_SendGoal");
    assert_eq!(ClimbGoal::TOOLS_MAX, 3);
}

#[test]
fn goals_and_results_are_built_and_read_in_place() {
    type SendGoal = <ClimbSendGoal as Service>::Request;
    let goal = built::<SendGoal>(|message| {
        message.goal_id().set_uuid(&[7; 16]);
        let mut goal = message.goal();
        goal.target().set_z(8848.0);
        let mut tools = goal.tools(2).unwrap();
        tools.set_text(0, "axe".into()).unwrap();
        tools.set_text(1, "rope".into()).unwrap();
    });
    let block = Block::new(goal.as_slice());
    Schema::of::<SendGoal>().unwrap().validate(block).unwrap();
    let view = SendGoal::view(block).unwrap();
    assert_eq!(view.goal_id().uuid(), [7; 16]);
    assert_eq!(view.goal().target().z(), 8848.0);
    assert_eq!(view.goal().tools().unwrap().get(1).unwrap().unwrap(), b"rope");
    type Response = <ClimbGetResult as Service>::Response;
    let result = built::<Response>(|message| {
        message.set_status(4);
        message.result().set_reached(true);
        message.result().camps(2).unwrap().at(1).set_b(6.5);
    });
    let mut cdr = CdrBuffer::new();
    let view = Response::view(Block::new(result.as_slice())).unwrap();
    Response::encode_cdr(view, &mut cdr).unwrap();
    let schema = Schema::of::<Response>().unwrap();
    let mut dynamic = Vec::new();
    schema.encode_cdr(Block::new(result.as_slice()), &mut dynamic).unwrap();
    assert_eq!(cdr.as_bytes(), dynamic);
    assert_eq!(view.result().camps().unwrap().get(1).unwrap().b(), 6.5);
}

#[test]
fn devices_in_the_place_of_interface_files_are_refused_and_not_read() {
    let scratch = format!("devices-{}", std::process::id());
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(scratch);
    let package = scratch.join("x_msgs");
    std::fs::create_dir_all(package.join("msg")).unwrap();
    // Its content never ends.
    for name in ["package.xml", "msg/Zero.msg"] {
        std::os::unix::fs::symlink("/dev/zero", package.join(name)).unwrap();
    }
    let files = find::below(&scratch).unwrap();
    assert_eq!((files.len(), files[0].package.as_str()), (1, "x_msgs"));
    let error = find::add(&mut Library::new(), &files[0]).unwrap_err().to_string();
    assert!(error.contains("Zero.msg: it is not a regular file"), "{error}");
    std::fs::remove_dir_all(&scratch).unwrap();
}

#[test]
fn a_link_to_a_folder_above_is_refused_and_one_in_a_circle_is_left_out() {
    let scratch = std::env::temp_dir().join(format!("crossdock-above-{}", std::process::id()));
    let folder = scratch.join("ws/x_msgs/msg");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("One.msg"), "int32 a\n").unwrap();
    let root = scratch.join("ws");
    std::os::unix::fs::symlink("..", root.join("x_msgs/circle")).unwrap();
    assert_eq!(find::below(&root).unwrap().len(), 1);
    for above in [Path::new("/"), &scratch] {
        let link = root.join("x_msgs/up");
        std::os::unix::fs::symlink(above, &link).unwrap();
        let error = find::below(&root).map(|found| found.len()).unwrap_err().to_string();
        let words = format!("{} leads to {}, which holds", link.display(), above.display());
        assert!(error.contains(&words) && error.contains("remove this link"), "{error}");
        std::fs::remove_file(&link).unwrap();
    }
    std::fs::remove_dir_all(&scratch).unwrap();
}

#[test]
fn folders_without_definitions_and_wrong_names_are_refused_with_the_path() {
    let empty = Generator::new().add_folder(&folder().join("../python")).unwrap_err();
    assert!(matches!(&empty, GenerateError::Empty { .. }), "{empty}");
    let missing = Generator::new().add_folder(&folder().join("missing")).unwrap_err();
    assert!(missing.to_string().contains("tests/user/missing"), "{missing}");
}
