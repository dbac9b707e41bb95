//! How the messages of a topic get to a device: what the mapping asks for, settled by what the
//! device can do.

use crate::managed;
use crossdock_device::{Capabilities, DeviceInfo};
use crossdock_graph::{CopyModel, DeviceTopic};
use std::fmt;

/// How the messages of one topic get to a device and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Kernels use them where they lie in the host's memory.
    ZeroCopy,
    /// Copied to the device once per message, and from it once.
    Copy,
    /// They lie in memory that the device's driver moves between host and device.
    Managed,
    /// They stay in memory of the device, for all its nodes; they are copied to it and from it only
    /// where somebody else writes or reads them.
    Device,
}

impl Way {
    /// The word for it in mapping files and tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ZeroCopy => CopyModel::ZeroCopy.word(),
            Self::Copy => CopyModel::Copy.word(),
            Self::Managed => CopyModel::Managed.word(),
            Self::Device => CopyModel::Device.word(),
        }
    }
}

/// A way and why it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The way.
    pub way: Way,
    /// Why: part of a sentence.
    pub reason: &'static str,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.way.word(), self.reason)
    }
}

/// The mapping asks for what the device cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("topic `{topic}` cannot be `{asked}` on device {device}: {why}; {advice}")]
pub struct Refusal {
    /// The topic.
    pub topic: String,
    /// The model as the mapping names it.
    pub asked: &'static str,
    /// The device.
    pub device: String,
    /// What is in the way.
    pub why: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// Settles how the messages of `topic` get to a device. Pure.
///
/// # Errors
/// [`Refusal`]: the device cannot do what is asked for, or it takes a copy if the graph forbids
/// copies.
pub fn choose(
    topic: &str,
    asked: DeviceTopic,
    info: &DeviceInfo,
    capabilities: Capabilities,
) -> Result<Choice, Refusal> {
    let refuse = |why, advice| {
        let (topic, device) = (topic.to_owned(), info.name.clone());
        Err(Refusal { topic, asked: asked.model.word(), device, why, advice })
    };
    let (way, reason) = match asked.model {
        CopyModel::ZeroCopy => match not_in_place(asked, capabilities) {
            Some((why, advice)) => return refuse(why, advice),
            None => (Way::ZeroCopy, "the mapping says so"),
        },
        CopyModel::Copy => (Way::Copy, "the mapping says so"),
        CopyModel::Device => (
            Way::Device,
            match shared_by(asked, capabilities) {
                SharedBy::Process => "the mapping says so",
                SharedBy::Processes => "the mapping says so; other processes import its memory",
                SharedBy::Copies => {
                    "the mapping says so; its driver hands no memory out: copied for other processes"
                }
            },
        ),
        CopyModel::Managed => match unmanaged(asked, capabilities) {
            Some((why, advice)) => return refuse(why, advice),
            None => (Way::Managed, "the mapping says so"),
        },
        CopyModel::Auto if prefers_in_place(asked, capabilities) => {
            (Way::ZeroCopy, "the device uses the host's memory in place (tried)")
        }
        CopyModel::Auto if capabilities.shares_memory() => (
            Way::Device,
            "the device does not register memory of other processes (tried): one copy, kept between its nodes",
        ),
        CopyModel::Auto => (
            Way::Device,
            match shared_by(asked, capabilities) {
                SharedBy::Process => {
                    "the device has memory of its own: one copy, kept between its nodes"
                }
                SharedBy::Processes => {
                    "the device has memory of its own: one copy, which other processes import"
                }
                SharedBy::Copies => {
                    "the device has memory of its own and hands none out: copied for other processes"
                }
            },
        ),
    };
    let copies = match way {
        Way::ZeroCopy | Way::Managed => false,
        Way::Copy => true,
        Way::Device => asked.read_elsewhere || shared_by(asked, capabilities) == SharedBy::Copies,
    };
    if copies && !asked.may_copy {
        let why = "it takes a copy, and the graph forbids copies of the topic";
        return refuse(why, "say `zero_copy`, or allow copies in the graph file");
    }
    Ok(Choice { way, reason })
}

/// Settles how shared buffers get to a device whose tokens come by the topic or the service `name`.
/// Pure.
///
/// What is copied are parts of them, down and back: there is nothing that could stay on the device,
/// because others write the rest. So `device` is `copy` here.
///
/// # Errors
/// [`Refusal`], as [`choose`]. In place is refused if the device is not coherent with the host,
/// too: their nodes use a buffer at the same time, and its memory cannot be handed to and fro.
pub fn choose_for_buffers(
    name: &str,
    asked: DeviceTopic,
    info: &DeviceInfo,
    capabilities: Capabilities,
) -> Result<Choice, Refusal> {
    let refuse = |why, advice| {
        let (topic, device) = (name.to_owned(), info.name.clone());
        Err(Refusal { topic, asked: asked.model.word(), device, why, advice })
    };
    // All who have a buffer may write it, whatever process has made it.
    let asked = DeviceTopic { foreign: false, ..asked };
    let reason = match asked.model {
        CopyModel::ZeroCopy => match not_in_place(asked, capabilities) {
            Some((why, advice)) => return refuse(why, advice),
            None => return Ok(Choice { way: Way::ZeroCopy, reason: "the mapping says so" }),
        },
        CopyModel::Managed => match unmanaged(asked, capabilities) {
            Some((why, advice)) => return refuse(why, advice),
            None => return Ok(Choice { way: Way::Managed, reason: "the mapping says so" }),
        },
        CopyModel::Auto if prefers_in_place(asked, capabilities) => {
            let reason = "the device uses the host's memory in place (tried)";
            return Ok(Choice { way: Way::ZeroCopy, reason });
        }
        CopyModel::Copy => "the mapping says so",
        CopyModel::Device => "the mapping says so; of shared buffers, parts are copied",
        CopyModel::Auto => "the device has memory of its own: parts of buffers are copied",
    };
    if !asked.may_copy {
        let why = "it takes a copy, and the graph forbids copies of the topic";
        return refuse(why, "say `zero_copy`, or allow copies in the graph file");
    }
    Ok(Choice { way: Way::Copy, reason })
}

/// What keeps messages or buffers out of memory that the device's driver moves, and what to do;
/// `None`: nothing does.
fn unmanaged(
    asked: DeviceTopic,
    capabilities: Capabilities,
) -> Option<(&'static str, &'static str)> {
    match managed::refusal(capabilities) {
        Some(why) => Some((why, "say `zero_copy`, `copy` or `auto`")),
        None => (!asked.one_process).then_some((
            "its driver moves only memory of one process, and nodes of several have it, or some outside the graph",
            "place its nodes in one process, or say `zero_copy`, `copy` or `auto`",
        )),
    }
}

/// Who uses the device's memory of a topic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SharedBy {
    Process,
    /// Several, which import it.
    Processes,
    /// One, and others get copies.
    Copies,
}

fn shared_by(asked: DeviceTopic, capabilities: Capabilities) -> SharedBy {
    match (asked.other_processes, capabilities.exports_memory) {
        (false, _) => SharedBy::Process,
        (true, true) => SharedBy::Processes,
        (true, false) => SharedBy::Copies,
    }
}

/// What `auto` takes: in place where that costs no more than memory of the device's own would. The
/// one place where this is decided.
fn prefers_in_place(asked: DeviceTopic, capabilities: Capabilities) -> bool {
    capabilities.shares_memory() && not_in_place(asked, capabilities).is_none()
}

/// What keeps kernels from using messages or buffers where they lie, and what to do; `None`:
/// nothing does.
///
/// Nodes use a buffer at the same time, and messages that are read by some are written beside by
/// their publisher: so memory cannot be handed to and fro, and only what is coherent will do.
fn not_in_place(
    asked: DeviceTopic,
    capabilities: Capabilities,
) -> Option<(&'static str, &'static str)> {
    if !capabilities.host_memory || !capabilities.coherent {
        let why = "it does not use memory of the host in place while the host does (tried)";
        return Some((why, "say `copy`, `device` or `auto`"));
    }
    (asked.foreign && !capabilities.read_only_host_memory).then_some((
        "messages come from other processes, and its driver does not register memory that may only be read (tried)",
        "say `copy` or `auto`, or place publishers and subscribers in one process",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_device::{Backend, Kind};

    fn gpu() -> DeviceInfo {
        DeviceInfo {
            name: "gpu:0".to_owned(),
            model: String::new(),
            vendor: String::new(),
            driver: String::new(),
            version: String::new(),
            backend: Backend::Cuda,
            kind: Kind::Gpu,
            identity: "gpu:0".to_owned(),
            units: 1,
            memory_bytes: 1,
            allocation_max_bytes: 1,
            group_max: 1,
            mps: None,
        }
    }

    /// A GPU on a bus as NVIDIA's driver has it: it has the host's addresses and sees what the host
    /// writes.
    const ON_BUS: Capabilities = Capabilities {
        host_memory: true,
        read_only_host_memory: true,
        integrated: false,
        same_address: true,
        coherent: true,
        alignment_bytes: 4096,
        f64: true,
        waits_for_timelines: true,
        exports_memory: true,
        managed: true,
        managed_concurrent: true,
    };
    /// One that has the host's memory, as on a Jetson.
    const INTEGRATED: Capabilities = Capabilities { integrated: true, ..ON_BUS };

    fn asked(model: CopyModel) -> DeviceTopic {
        DeviceTopic {
            model,
            may_copy: true,
            read_elsewhere: false,
            other_processes: false,
            one_process: true,
            foreign: false,
            in_slabs: true,
            tokens: false,
        }
    }

    #[test]
    fn auto_is_in_place_where_memory_is_one_and_never_across_a_bus() {
        let auto = asked(CopyModel::Auto);
        for choose in [choose, choose_for_buffers] {
            let way = |can| choose("/image", auto, &gpu(), can).expect("copies are allowed").way;
            assert_eq!(way(INTEGRATED), Way::ZeroCopy);
            // Whatever addresses it has.
            assert_eq!(way(Capabilities { same_address: false, ..INTEGRATED }), Way::ZeroCopy);
            assert_ne!(way(ON_BUS), Way::ZeroCopy);
            assert_ne!(way(Capabilities { coherent: false, ..INTEGRATED }), Way::ZeroCopy);
            assert_ne!(way(Capabilities { host_memory: false, ..INTEGRATED }), Way::ZeroCopy);
            // Who asks for it has it across a bus.
            let zero_copy = choose("/image", asked(CopyModel::ZeroCopy), &gpu(), ON_BUS);
            assert_eq!(zero_copy.expect("it can").way, Way::ZeroCopy);
        }
    }

    #[test]
    fn messages_of_other_processes_are_used_in_place_only_where_read_only_memory_is_registered() {
        let can = Capabilities { read_only_host_memory: false, ..INTEGRATED };
        let foreign = |model| DeviceTopic { foreign: true, ..asked(model) };
        let choice = choose("/image", foreign(CopyModel::Auto), &gpu(), can).expect("a copy");
        assert_eq!(choice.way, Way::Device);
        assert!(choice.reason.contains("memory of other processes"), "{choice}");
        let refused = choose("/image", foreign(CopyModel::ZeroCopy), &gpu(), can);
        let refused = refused.expect_err("it would fail later").to_string();
        assert!(
            refused.contains("may only be read") && refused.contains("one process"),
            "{refused}"
        );
        let own = choose("/image", asked(CopyModel::Auto), &gpu(), can).expect("in place");
        assert_eq!(own.way, Way::ZeroCopy);
        // Buffers may be written by all who have them.
        let buffers = choose_for_buffers("/turn", foreign(CopyModel::ZeroCopy), &gpu(), can);
        assert_eq!(buffers.expect("in place").way, Way::ZeroCopy);
    }

    #[test]
    fn a_topic_stays_on_the_device_and_says_what_becomes_of_other_processes() {
        let capabilities = |exports_memory| Capabilities { exports_memory, ..ON_BUS };
        for model in [CopyModel::Device, CopyModel::Auto] {
            for (other_processes, exports, word) in [
                (false, false, None),
                (false, true, None),
                (true, true, Some("import")),
                (true, false, Some("copied")),
            ] {
                for may_copy in [true, false] {
                    let asked = DeviceTopic {
                        may_copy,
                        other_processes,
                        one_process: !other_processes,
                        ..asked(model)
                    };
                    let chosen = choose("/image", asked, &gpu(), capabilities(exports));
                    if word == Some("copied") && !may_copy {
                        let refused = chosen.expect_err("it takes a copy").to_string();
                        assert!(refused.contains("forbids copies"), "{refused}");
                        continue;
                    }
                    let Choice { way, reason } = chosen.expect("no copy that is forbidden");
                    assert_eq!(way, Way::Device);
                    let found = ["import", "copied"].into_iter().find(|it| reason.contains(it));
                    assert_eq!(found, word, "{reason}");
                }
            }
        }
    }
}
