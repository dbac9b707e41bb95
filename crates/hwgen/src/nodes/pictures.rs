//! The adapter of node types that make a picture of a picture: the adapters of both ports
//! and `picture_shell` in one module, so that such a node is its kernel.

use crossdock_graph::HardwareNode;

const TEXT: &str = include_str!("../text/pictures.sv");
const IMAGE: &str = "sensor_msgs/msg/Image";

/// Name of the adapter of a node type.
pub(super) fn name(node: &HardwareNode) -> String {
    format!("{}_pictures", node.description.node_type)
}

/// The adapter of a node type.
///
/// # Errors
/// What the node type must be like, if it cannot have one.
pub(super) fn text(node: &HardwareNode) -> Result<String, &'static str> {
    let description = &node.description;
    let ([input], [output]) = (&description.inputs[..], &description.outputs[..]) else {
        return Err("it must have one input and one output");
    };
    if [&input.message_type, &output.message_type].iter().any(|it| *it != IMAGE) {
        return Err("both its ports must be of type sensor_msgs/msg/Image");
    }
    let bound = |publishes, port, field| {
        let bounds = node.bounds(publishes, port)?;
        bounds.get(field).copied()
    };
    let of = |field| (bound(false, &input.port, field), bound(true, &output.port, field));
    let (Some(frame), Some(published_frame)) = of("header.frame_id") else {
        return Err("both its ports need a bound of header.frame_id");
    };
    let (Some(encoding), Some(published_encoding)) = of("encoding") else {
        return Err("both its ports need a bound of encoding");
    };
    if frame != published_frame || frame > 4096 {
        return Err("the bounds of header.frame_id must be the same, 4096 at most");
    }
    if published_encoding < 4 {
        return Err("the bound of the published encoding must be 4 at least");
    }
    let bits = |publishes, port| node.default_width(publishes, port).to_string();
    let text = TEXT
        .replace("@IN_BITS", &bits(false, &input.port))
        .replace("@OUT_BITS", &bits(true, &output.port))
        .replace("NODE_INPUT_take", &format!("{}_{}_take", description.node_type, input.port))
        .replace("NODE_OUTPUT_", &format!("{}_{}_", description.node_type, output.port))
        .replace("NODE", &description.node_type)
        .replace("@FRAME", &frame.to_string())
        .replace("@ENCODING", &encoding.to_string())
        .replace("@OUT_ENCODING", &(8 * published_encoding).to_string());
    Ok(text)
}
