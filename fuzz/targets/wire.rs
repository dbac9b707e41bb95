//! Fuzzes the wire format of rmw_zenoh: what strangers on a network say of nodes and endpoints, and
//! beside messages. What is read can be written and read again, and names no more than one place on
//! the network; what is refused is told in few words.
#![no_main]

use crossdock_fuzz::Input;
use crossdock_wire::{
    Attachment, Gid, Token, WireHash, gid_of, key, qos_of_text, qos_text, ros_type, wire_type,
};
use libfuzzer_sys::fuzz_target;
use std::fmt::Display;

/// Which reader the first byte chooses.
const TOKEN: u8 = 0;
const QOS: u8 = 1;
const HASH: u8 = 2;
const TYPE: u8 = 3;
const ATTACHMENT: u8 = 4;
const KINDS: u8 = 5;

/// The longest reason: a text of a stranger is cut.
const REASON_BYTES_MAX: usize = 1000;

fn seeds() -> Vec<Vec<u8>> {
    let hash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
    let start = "@ros2_lv/0/aac3178e146ba6f1fc6e6a4085e77f21/0";
    let text = "std_msgs::msg::dds_::String_";
    let add = "example_interfaces::srv::dds_::AddTwoInts_";
    let texts = [
        (TOKEN, format!("{start}/0/NN/%/%/talker")),
        (TOKEN, format!("{start}/4/NN/%secure%area/%front%left/cam")),
        (TOKEN, format!("{start}/10/MP/%/%/talker/%chatter/{text}/{hash}/::,7:,:,:,,")),
        (TOKEN, format!("{start}/10/MP/%/%/talker/%chatter/{text}/TypeHashNotSupported/::,7")),
        (
            TOKEN,
            format!("{start}/10/MS/%/%/a/%b/{text}/{hash}/2:1:2,1000:1,0:,:3,2,5/backends:cpu:"),
        ),
        (TOKEN, format!("{start}/10/SS/%/%calc/server/%calc%add/{add}/{hash}/::,10:,:,:,,")),
        (TOKEN, format!("{start}/10/SC/%/%/client/%add/{add}/{hash}/::,10:,:,:,,")),
        (QOS, "2:1:2,1000:1,0:3,5:3,9223372036,854775807".to_owned()),
        (QOS, "::,".to_owned()),
        (HASH, hash.to_owned()),
        (HASH, "TypeHashNotSupported".to_owned()),
        (TYPE, text.to_owned()),
        (TYPE, "pkg::action::dds_::Fibonacci_SendGoal_".to_owned()),
    ];
    let attachment = Attachment { sequence: 1, stamp_ns: -2, gid: Gid([7; 16]) }.encode();
    let mut padded = attachment.clone();
    padded[16] = 24;
    padded.extend([0; 8]);
    let bytes = [attachment, padded].map(|bytes| (ATTACHMENT, bytes));
    let texts = texts.into_iter().map(|(kind, text)| (kind, text.into_bytes()));
    texts.chain(bytes).map(|(kind, bytes)| [&[kind], bytes.as_slice()].concat()).collect()
}

fn is_short(reason: &impl Display) {
    let reason = reason.to_string();
    assert!(reason.len() <= REASON_BYTES_MAX, "{reason}");
    assert!(!reason.chars().any(char::is_control), "{reason:?}");
}

fn token(text: &str) {
    let token = match Token::parse(text) {
        Ok(token) => token,
        Err(error) => return is_short(&error),
    };
    let written = token.text();
    assert_eq!(Token::parse(&written).as_ref(), Ok(&token), "{text}");
    assert_ne!(gid_of(&written), gid_of(""));
    if let Some(endpoint) = &token.endpoint {
        let key = key(token.domain_id, &endpoint.name, &endpoint.type_name, &endpoint.hash);
        let is_plain = |part: &str| !part.is_empty() && !part.contains(['*', '$', '?', '#']);
        assert!(key.split('/').all(is_plain), "{key}");
    }
}

fuzz_target!(init: crossdock_fuzz::seeds(seeds), |data: &[u8]| {
    let mut input = Input::new(data);
    let kind = input.u8() % KINDS;
    let bytes = input.rest();
    if kind == ATTACHMENT {
        return match Attachment::decode(bytes) {
            Ok(attachment) => assert_eq!(Attachment::decode(&attachment.encode()), Ok(attachment)),
            Err(error) => is_short(&error),
        };
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match kind {
        TOKEN => token(text),
        QOS => match qos_of_text(text) {
            Ok(qos) => assert_eq!(qos_of_text(&qos_text(&qos)), Ok(qos), "{text}"),
            Err(error) => is_short(&error),
        },
        HASH => match text.parse::<WireHash>() {
            Ok(hash) => assert_eq!(hash.to_string().parse(), Ok(hash)),
            Err(error) => is_short(&error),
        },
        _ => match ros_type(text) {
            Ok(name) => assert_eq!(wire_type(&name), text),
            Err(error) => is_short(&error),
        },
    }
});
