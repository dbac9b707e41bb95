//! How the messages of a topic get to a device: what the mapping asks for, settled by what the device
//! can do. Must not know how it is then done.

use crate::managed;
use crossdock_device::{Capabilities, DeviceInfo, Kind};
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
    /// They stay in memory of the device, for all its nodes; they are copied to it and from it only where
    /// somebody else writes or reads them.
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
/// [`Refusal`]: the device cannot do what is asked for, or it takes a copy where the graph forbids
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
        CopyModel::ZeroCopy if !capabilities.host_memory => {
            let why = "its kernels cannot use memory of the host in place (tried)";
            return refuse(why, "say `copy`, `device` or `auto`");
        }
        CopyModel::ZeroCopy => (Way::ZeroCopy, "the mapping says so"),
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
        CopyModel::Auto if shares_memory(info, capabilities) => {
            (Way::ZeroCopy, "the device uses the host's memory in place (tried)")
        }
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

/// Settles how shared buffers get to a device whose tokens come by the topic or the service `name`. Pure.
///
/// What is copied are parts of them, down and back: there is nothing that could stay on the device, because
/// others write the rest. So `device` is `copy` here.
///
/// # Errors
/// [`Refusal`], as [`choose`]. In place is refused where the device is not coherent with the host, too: their
/// nodes use a buffer at the same time, and its memory cannot be handed to and fro.
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
    let at_once = capabilities.host_memory && capabilities.coherent;
    let reason = match asked.model {
        CopyModel::ZeroCopy if at_once => {
            return Ok(Choice { way: Way::ZeroCopy, reason: "the mapping says so" });
        }
        CopyModel::ZeroCopy => {
            let why = "it does not use memory of the host in place while the host does (tried)";
            return refuse(why, "say `copy` or `auto`");
        }
        CopyModel::Managed => match unmanaged(asked, capabilities) {
            Some((why, advice)) => return refuse(why, advice),
            None => return Ok(Choice { way: Way::Managed, reason: "the mapping says so" }),
        },
        CopyModel::Auto if at_once && shares_memory(info, capabilities) => {
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

/// What keeps messages or buffers out of memory that the device's driver moves, and what to do; `None`: nothing does.
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

/// Whether in-place use costs no more than the device's own memory would: then memory is one.
fn shares_memory(info: &DeviceInfo, capabilities: Capabilities) -> bool {
    capabilities.host_memory
        && (info.kind == Kind::Cpu || capabilities.same_address && capabilities.coherent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_device::Backend;

    fn gpu() -> DeviceInfo {
        DeviceInfo {
            name: "gpu:0".to_owned(),
            model: String::new(),
            vendor: String::new(),
            driver: String::new(),
            version: String::new(),
            backend: Backend::Cuda,
            kind: Kind::Gpu,
            units: 1,
            memory_bytes: 1,
            allocation_max_bytes: 1,
            group_max: 1,
            mps: None,
        }
    }

    #[test]
    fn a_topic_stays_on_the_device_and_says_what_becomes_of_other_processes() {
        let capabilities = |exports_memory| Capabilities {
            host_memory: true,
            same_address: false,
            coherent: false,
            alignment_bytes: 64,
            f64: true,
            waits_for_timelines: false,
            managed: false,
            managed_concurrent: false,
            exports_memory,
        };
        for model in [CopyModel::Device, CopyModel::Auto] {
            for (other_processes, exports, word) in [
                (false, false, None),
                (false, true, None),
                (true, true, Some("import")),
                (true, false, Some("copied")),
            ] {
                for may_copy in [true, false] {
                    let asked = DeviceTopic {
                        model,
                        may_copy,
                        read_elsewhere: false,
                        other_processes,
                        one_process: !other_processes,
                        in_slabs: true,
                        tokens: false,
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
