//! Why a node in hardware refuses messages: the reasons by the number that its module gives.

use crate::read::Reading;
use crate::scalar::Scalar;
use crate::violation::ViolationKind;
use crate::yaml::{Data, Tree};

/// Bits of the output `refused` of a module.
pub const REFUSED_BITS: u32 = 3;
/// Reasons that a node may have: 0 is none.
const REASONS_MAX: usize = (1 << REFUSED_BITS) - 1;
/// What stands for the reasons of `picture_check`.
const PICTURES: &str = "pictures";
/// The reasons that `picture_check` of the hardware library gives, by their numbers from 1.
const OF_PICTURES: [&str; 5] = [
    "it has another encoding than the node works on: convert it before",
    "it has bytes between its rows: send packed rows",
    "it is larger than the node has memory for: send smaller ones, or look at the node's parameters \
     and `built_in` for its size",
    "its data have more or fewer bytes than its rows",
    "it has another size than the node works on: resize it before, or look at the node's parameters \
     and `built_in` for its size",
];

/// Reads the key `refuses`.
pub(super) fn refusals(reading: &mut Reading, node_type: &str, tree: &Tree) -> Vec<String> {
    reading.source.set(&["nodes", node_type, "refuses"], tree.place);
    if !matches!(tree.data, Data::List(_)) {
        if matches!(Scalar::of(tree), Some(Scalar::Text(text)) if text == PICTURES) {
            return OF_PICTURES.map(str::to_owned).into();
        }
        let message = format!("`refuses` must be a list of reasons, or `{PICTURES}`");
        let advice = format!(
            "write `[it is too long]`, or `{PICTURES}` if `picture_check` of the library decides"
        );
        reading.note(ViolationKind::WrongValue, tree.place, message, advice);
        return Vec::new();
    }
    let items = reading.list(tree, "`refuses`");
    let mut reasons = Vec::new();
    for item in items {
        let Some(reason) = reading.text(item, "a reason") else { continue };
        let fault = if reason.trim().is_empty() {
            Some(("a reason is empty", "say what is wrong with such a message"))
        } else if reason.contains(char::is_control) {
            Some(("a reason is more than a line of text", "write it in one line, without tabs"))
        } else {
            None
        };
        if let Some((message, advice)) = fault {
            reading.note(ViolationKind::WrongValue, item.place, message, advice);
        }
        reasons.push(reason);
    }
    if items.is_empty() || items.len() > REASONS_MAX {
        let message =
            format!("`refuses` has {} reasons, and it must have 1 to {REASONS_MAX}", items.len());
        let advice = format!("the module gives their numbers in {REFUSED_BITS} bits; 0 is none");
        reading.note(ViolationKind::OutOfRange, tree.place, message, advice);
    }
    reasons
}
