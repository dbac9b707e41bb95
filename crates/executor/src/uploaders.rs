//! Who brings messages of this executor's publishers to devices: a seam for whoever knows devices.
//! It must not know them.

use std::fmt::Debug;

use crossdock_comm::{InstanceMaker, MemoryMaker, OutputHandle, StatusTable, Uploader};
use crossdock_graph::{DeviceUpload, NodePlan};

use crate::package::Package;

/// Makes uploaders to devices, for packages whose nodes publish what nodes on devices read
/// ([`Package::uploaders`]). `crossdock-offload` has it.
pub trait Uploaders: Debug + Sync {
    /// The uploader that the plan asks for, on the thread of its executor; `None`: none is needed, because of
    /// what the device can do. Opens the device: blocks, for a second the first time in a process.
    ///
    /// # Errors
    /// Why there is none: a sentence. The run tells it and goes on; readers copy messages themselves.
    fn open(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String>;

    /// What makes instances, in memory of the device that the plan names, of shared buffers whose tokens the
    /// topic carries; `None`: none is needed, as for [`Uploaders::open`], or it makes none. Blocks as that.
    ///
    /// # Errors
    /// As [`Uploaders::open`].
    fn instances(&self, _site: &UploadSite<'_>) -> Result<Option<Box<dyn InstanceMaker>>, String> {
        Ok(None)
    }

    /// What makes memory that the driver of this device moves between it and the host, for messages and shared
    /// buffers of this process. Opens the device: blocks, for a second the first time in a process.
    ///
    /// # Errors
    /// Why there is none: part of a sentence.
    fn memory(&self, _device: &str) -> Result<Box<dyn MemoryMaker>, String> {
        Err("what makes its uploaders makes none".to_owned())
    }
}

/// Where an uploader is to be.
#[derive(Debug)]
pub struct UploadSite<'a> {
    /// The publishing node.
    pub node: &'a str,
    /// What the plan says of it.
    pub plan: &'a DeviceUpload,
    /// The status table on which the process shows what it does.
    pub status_table: &'a StatusTable,
}

/// Gives the outputs of a node, in the order of its plan, the uploaders that the plan asks for. Answers what
/// the run has to tell its user.
pub(crate) fn open(
    package: &Package,
    plan: &NodePlan,
    outputs: &[OutputHandle],
    status_table: &StatusTable,
) -> Vec<String> {
    let Some(uploaders) = package.all_uploaders().filter(|_| !plan.uploads.is_empty()) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    for wanted in plan.uploads.iter().filter(|it| !it.tokens) {
        let of_topic = plan.outputs.iter().zip(outputs).filter(|(it, _)| it.topic == wanted.topic);
        for (_, output) in of_topic {
            let site = UploadSite { node: &plan.name, plan: wanted, status_table };
            match uploaders.open(&site) {
                Ok(None) => {}
                Ok(Some(uploader)) => _ = output.upload_by(uploader),
                Err(error) => warnings.push(format!(
                    "node `{}`: `{}` is not brought to {}, and copied by each executor that reads it \
                     there: {error}",
                    plan.name, wanted.topic, wanted.device
                )),
            }
        }
    }
    warnings
}
