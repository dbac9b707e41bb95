//! Tokens as ROS 2's distributions write them, and texts that are none.

use super::*;

const STRING_HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
const SESSION: &str = "aac3178e146ba6f1fc6e6a4085e77f21";

fn node(namespace: &str, name: &str) -> NodeNames {
    let (enclave, namespace, name) = (String::new(), namespace.to_owned(), name.to_owned());
    NodeNames { enclave, namespace, name }
}

fn token(node: NodeNames, endpoint: Option<Endpoint>) -> Token {
    let id = if endpoint.is_some() { 10 } else { 0 };
    Token { domain_id: 0, session: SESSION.to_owned(), node_id: 0, id, node, endpoint }
}

fn string(kind: PortKind, name: &str, hash: WireHash, qos: &str) -> Option<Endpoint> {
    let (name, type_name) = (name.to_owned(), "std_msgs/msg/String".to_owned());
    Some(Endpoint { kind, name, type_name, hash, qos: qos_of_text(qos).unwrap() })
}

/// What each distribution writes, and what it means.
fn fixtures() -> Vec<(String, Token)> {
    let hash: WireHash = STRING_HASH.parse().unwrap();
    let publisher =
        |hash, qos| token(node("/", "talker"), string(PortKind::Publisher, "/chatter", hash, qos));
    let start = format!("@ros2_lv/0/{SESSION}/0");
    let chatter = "%/%/talker/%chatter/std_msgs::msg::dds_::String_";
    let add = Endpoint {
        kind: PortKind::Server,
        name: "/calc/add_two_ints".to_owned(),
        type_name: "example_interfaces/srv/AddTwoInts".to_owned(),
        hash,
        qos: qos_of_text("::,10").unwrap(),
    };
    vec![
        // All: a node, in the root and in a namespace.
        (format!("{start}/0/NN/%/%/talker"), token(node("/", "talker"), None)),
        (format!("{start}/0/NN/%/%front%left/cam"), token(node("/front/left", "cam"), None)),
        // Humble has no hashes.
        (
            format!("{start}/10/MP/{chatter}/TypeHashNotSupported/::,7:,:,:,,"),
            publisher(WireHash::NotSupported, "::,7"),
        ),
        // Jazzy, Kilted.
        (format!("{start}/10/MP/{chatter}/{STRING_HASH}/::,7:,:,:,,"), publisher(hash, "::,7")),
        (
            format!("{start}/10/MS/{chatter}/{STRING_HASH}/2:1:2,1000:1,0:,:3,2,5"),
            token(
                node("/", "talker"),
                string(PortKind::Subscriber, "/chatter", hash, "2:1:2,1000:1,0:,:3,2,5"),
            ),
        ),
        (
            format!(
                "{start}/10/SS/%/%calc/server/%calc%add_two_ints/\
                 example_interfaces::srv::dds_::AddTwoInts_/{STRING_HASH}/::,10:,:,:,,"
            ),
            token(node("/calc", "server"), Some(add)),
        ),
    ]
}

#[test]
fn tokens_of_all_distributions_go_both_ways() {
    for (text, token) in fixtures() {
        assert_eq!(Token::parse(&text).as_ref(), Ok(&token), "{text}");
        assert_eq!(token.text(), text);
    }
}

#[test]
fn what_lyrical_adds_is_passed_over() {
    let (text, token) = fixtures().swap_remove(3);
    assert_eq!(Token::parse(&format!("{text}/backends:cpu:")), Ok(token));
}

#[test]
fn a_gid_is_the_hash_of_the_token_with_the_low_word_first() {
    let token = "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/talker";
    let hash = xxh3_128(token.as_bytes());
    let Gid(gid) = gid_of(token);
    assert_eq!(u64::from_le_bytes(gid[..8].try_into().unwrap()), hash as u64);
    assert_eq!(u64::from_le_bytes(gid[8..].try_into().unwrap()), (hash >> 64) as u64);
}

#[test]
fn the_enclave_is_kept() {
    let text = format!("@ros2_lv/3/{SESSION}/4/4/NN/%secure%area/%/talker");
    let token = Token::parse(&text).unwrap();
    assert_eq!((token.node.enclave.as_str(), token.domain_id), ("/secure/area", 3));
    assert_eq!(token.text(), text);
}

/// Every single change of a good token is either another good token or an error; what was read is
/// written as it was, but for what may be left out.
#[test]
fn hostile_tokens_are_errors() {
    let long = "x".repeat(3000);
    let tail = "std_msgs::msg::dds_::String_";
    let start = format!("@ros2_lv/0/{SESSION}/0/1");
    let many = [
        String::new(),
        "@ros2_lv".to_owned(),
        format!("@ros2_lv/0/{SESSION}/0/0/NN/%/%"),
        format!("@ros2_lv/-1/{SESSION}/0/0/NN/%/%/talker"),
        format!("@ros2_lv/99999999999/{SESSION}/0/0/NN/%/%/talker"),
        "@ros2_lv/0/not-hex/0/0/NN/%/%/talker".to_owned(),
        format!("@ros2_lv/0/{SESSION}{SESSION}/0/0/NN/%/%/talker"),
        format!("@ros2_lv/0/{SESSION}/+1/0/NN/%/%/talker"),
        format!("@ros2_lv/0/{SESSION}/0/99999999999999999999/NN/%/%/talker"),
        format!("@ros2_lv/0/{SESSION}/0/0/XX/%/%/talker"),
        format!("@ros2_lv/0/{SESSION}/0/0/NN/%/%/"),
        format!("@ros2_lv/0/{SESSION}/0/0/NN/%/%/two words"),
        format!("@ros2_lv/0/{SESSION}/0/0/NN/%/%/../talker"),
        format!("@ros2_lv/0/{SESSION}/0/0/NN/%/%/bell\u{7}"),
        format!("@ros2_lv/0/{SESSION}/0/0/NN/%/front/talker"),
        format!("@ros2_lv/0/{SESSION}/0/0/NN/%/%/{long}"),
        format!("{start}/MP/%/%/talker"),
        format!("{start}/MP/%/%/talker/chatter/{tail}/{STRING_HASH}/::,7"),
        format!("{start}/MP/%/%/talker/%%chatter/{tail}/{STRING_HASH}/::,7"),
        format!("{start}/MP/%/%/talker/%chatter/String/{STRING_HASH}/::,7"),
        format!("{start}/MP/%/%/talker/%chatter/{tail}/RIHS01_00/::,7"),
        format!("{start}/MP/%/%/talker/%chatter/EMPTY_TOPIC_TYPE/EMPTY_TOPIC_HASH/::,7"),
        format!("{start}/MP/%/%/talker/%chatter/{tail}/{STRING_HASH}/"),
        format!("{start}/MP/%/%/talker/%chatter/{tail}/{STRING_HASH}"),
        format!("{start}/SS/%/%/talker/%{}/{tail}/{STRING_HASH}/::,7", "s".repeat(200)),
    ];
    for text in many {
        let error = Token::parse(&text).expect_err(&text);
        let told = error.to_string();
        assert!(told.len() < 600 && !told.contains('\u{7}'), "{told}");
    }
}

#[test]
fn a_byte_that_is_changed_makes_another_token_or_an_error() {
    for (text, _) in fixtures() {
        for at in 0..text.len() {
            for byte in [b'/', b'%', b'\0', b'*', b'9', b'~'] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = byte;
                let changed = String::from_utf8(bytes).unwrap();
                if let Ok(token) = Token::parse(&changed) {
                    // What is written is read as the same.
                    assert_eq!(Token::parse(&token.text()), Ok(token), "{changed}");
                }
            }
        }
    }
}
