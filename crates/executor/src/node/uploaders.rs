//! What moves messages of this executor's publishers to devices: a trait for a crate that drives
//! devices.

use std::fmt::Debug;

use crossdock_comm::{InstanceMaker, MemoryMaker, PublisherHandle, StatusTable, Uploader};
use crossdock_graph::{DeviceUpload, NodePlan};

/// Makes uploaders to devices, for packages whose nodes publish messages that nodes on devices read
/// ([`Package::uploaders`](crate::Package::uploaders)). `crossdock-offload` implements it.
pub trait Uploaders: Debug + Sync {
    /// Makes the uploader that the plan asks for, on the thread of its executor. `None`: the device
    /// needs none. Opens the device: blocks, for a second the first time in a process.
    ///
    /// # Errors
    /// Why there is none: a sentence. The run shows it and goes on; readers then copy messages
    /// themselves.
    fn open(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String>;

    /// Makes what creates instances of shared buffers in memory of the device that the plan names,
    /// for the buffers whose tokens the topic carries. `None`: the device needs none, or this makes
    /// none. Blocks like [`Uploaders::open`].
    ///
    /// # Errors
    /// As [`Uploaders::open`].
    fn instances(&self, _site: &UploadSite<'_>) -> Result<Option<Box<dyn InstanceMaker>>, String> {
        Ok(None)
    }

    /// Makes what creates memory that the driver of this device moves between device and host, for
    /// messages and shared buffers of this process. Opens the device: blocks, for a second the
    /// first time in a process.
    ///
    /// # Errors
    /// Why there is none: part of a sentence.
    fn memory(&self, _device: &str) -> Result<Box<dyn MemoryMaker>, String> {
        Err("the uploaders of its package make none".to_owned())
    }
}

/// The place at which an uploader is wanted.
#[derive(Debug)]
pub struct UploadSite<'a> {
    /// The publishing node.
    pub node: &'a str,
    /// The upload that the plan asks for.
    pub plan: &'a DeviceUpload,
    /// The status table of the process.
    pub status_table: &'a StatusTable,
}

/// Gives the outputs of a node, in the order of its plan, the uploaders that the plan asks for.
/// Returns sentences for the user of the run.
pub(crate) fn open(
    uploaders: Option<&'static dyn Uploaders>,
    plan: &NodePlan,
    outputs: &[PublisherHandle],
    status_table: &StatusTable,
) -> Vec<String> {
    let Some(uploaders) = uploaders else { return Vec::new() };
    let mut warnings = Vec::new();
    for wanted in plan.uploads.iter().filter(|it| !it.tokens) {
        let of_topic = plan.outputs.iter().zip(outputs).filter(|(it, _)| it.topic == wanted.topic);
        for (_, output) in of_topic {
            let site = UploadSite { node: &plan.name, plan: wanted, status_table };
            match uploaders.open(&site) {
                Ok(None) => {}
                Ok(Some(uploader)) => _ = output.upload_by(uploader),
                Err(error) => warnings.push(format!(
                    "node `{}`: `{}` is not uploaded to {}, so each executor that reads it there \
                     copies it: {error}",
                    plan.name, wanted.topic, wanted.device
                )),
            }
        }
    }
    warnings
}
