//! Which OpenCL devices there are, and their opening.

use super::OpenCl;
use super::clock::Clock;
use super::ends::Ends;
use crate::capability::{Backend, DeviceInfo, Kind};
use crate::driver::Claims;
use crate::error::DeviceError;
use cl3::device as cl;
use cl3::error_codes::{CL_DEVICE_NOT_FOUND, ClError};
use cl3::info_type::InfoType;
use cl3::platform::{CL_PLATFORM_NAME, get_platform_info as platform_info};
use cl3::types::{cl_device_id, cl_device_info};
use std::collections::BTreeSet;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock};

/// What devices are called.
pub(crate) const PREFIX: &str = "opencl:";

/// One device: `cl_device_id`, which any thread may use, and who it is.
struct Found {
    id: usize,
    info: DeviceInfo,
}

/// All of this machine, in the order of their numbers; none if there is no OpenCL.
struct All {
    devices: Vec<Found>,
    /// Drivers that did not say which devices they have, and why.
    silent: Vec<String>,
}

/// The first call loads the library and its drivers, which may take tens of milliseconds; others
/// wait for it, because drivers (PoCL 3.1) are not safe to be asked while they start.
fn all() -> &'static All {
    static ALL: OnceLock<All> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut silent = Vec::new();
        let numbered = ids(&mut silent).into_iter().enumerate();
        let devices = numbered
            .map(|(number, id)| Found { id: id as usize, info: describe(number, id) })
            .collect();
        All { devices, silent }
    })
}

/// Those that there are.
pub(crate) fn list() -> Vec<DeviceInfo> {
    all().devices.iter().map(|found| found.info.clone()).collect()
}

fn ids(silent: &mut Vec<String>) -> Vec<cl_device_id> {
    // Without a library, or without a driver, there are none: that is no fault.
    let platforms = cl3::platform::get_platform_ids().unwrap_or_default();
    let mut devices = Vec::new();
    for platform in platforms {
        match cl::get_device_ids(platform, cl::CL_DEVICE_TYPE_ALL) {
            Ok(more) => devices.extend(more),
            Err(CL_DEVICE_NOT_FOUND) => {}
            Err(code) => {
                let name = platform_info(platform, CL_PLATFORM_NAME);
                let name = name.map_or_else(|_| String::new(), |name| cleaned(&String::from(name)));
                silent.push(format!("`{name}` tells none: {} ({code})", ClError(code)));
            }
        }
    }
    devices
}

fn describe(number: usize, id: cl_device_id) -> DeviceInfo {
    let ask = |what: cl_device_info| cl::get_device_info(id, what).ok();
    let text = |what| ask(what).map_or_else(String::new, |value| cleaned(&String::from(value)));
    let kind = match ask(cl::CL_DEVICE_TYPE) {
        Some(InfoType::Ulong(bits)) if bits & cl::CL_DEVICE_TYPE_GPU != 0 => Kind::Gpu,
        Some(InfoType::Ulong(bits)) if bits & cl::CL_DEVICE_TYPE_CPU != 0 => Kind::Cpu,
        _ => Kind::Accelerator,
    };
    DeviceInfo {
        name: format!("opencl:{number}"),
        identity: format!("opencl:{number}"),
        model: text(cl::CL_DEVICE_NAME),
        vendor: text(cl::CL_DEVICE_VENDOR),
        driver: text(cl::CL_DRIVER_VERSION),
        version: text(cl::CL_DEVICE_VERSION),
        backend: Backend::OpenCl,
        kind,
        units: number_of(ask(cl::CL_DEVICE_MAX_COMPUTE_UNITS)) as u32,
        memory_bytes: number_of(ask(cl::CL_DEVICE_GLOBAL_MEM_SIZE)),
        allocation_max_bytes: number_of(ask(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
        group_max: number_of(ask(cl::CL_DEVICE_MAX_WORK_GROUP_SIZE)),
        mps: None,
    }
}

/// A driver's words go to terminals.
fn cleaned(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect::<String>().trim().to_owned()
}

/// 0 for what the driver does not say.
fn number_of(value: Option<InfoType>) -> u64 {
    match value {
        Some(InfoType::Uint(value)) => value.into(),
        Some(InfoType::Ulong(value)) => value,
        Some(InfoType::Size(value)) => value as u64,
        _ => 0,
    }
}

/// The device of that number, under the name that it was asked for by, with a context of its own.
pub(crate) fn open(number: usize, name: &str) -> Result<OpenCl, DeviceError> {
    let All { devices, silent } = all();
    let Some(found) = devices.get(number) else {
        let mut found = match devices.len() {
            0 if silent.is_empty() => {
                "no OpenCL driver: for processors install pocl-opencl-icd".to_owned()
            }
            0 => "none".to_owned(),
            1 => "opencl:0".to_owned(),
            count => format!("opencl:0 to opencl:{}", count - 1),
        };
        silent.iter().for_each(|driver| found += &format!("; driver {driver}"));
        return Err(DeviceError::Unknown { wanted: format!("opencl:{number}"), found });
    };
    let id = found.id as cl_device_id;
    let info = DeviceInfo { name: name.to_owned(), ..found.info.clone() };
    let made = cl3::context::create_context(&[id], ptr::null(), None, ptr::null_mut());
    let context = made.map_err(|code| DeviceError::Driver {
        device: info.name.clone(),
        doing: "opening the device",
        why: format!("{} ({code})", ClError(code)),
    })?;
    let ask = |what| number_of(cl::get_device_info(id, what).ok());
    // Not known before OpenCL 2.0: 0.
    let shares = |grain| ask(cl::CL_DEVICE_SVM_CAPABILITIES) & grain != 0;
    let fine = shares(cl::CL_DEVICE_SVM_FINE_GRAIN_BUFFER);
    // Deprecated since OpenCL 2.0, and told by all drivers. A processor is its own host.
    let integrated = found.info.kind == Kind::Cpu || ask(cl::CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
    Ok(OpenCl {
        info,
        context: context as usize,
        device: id as usize,
        streams: Mutex::new(BTreeSet::new()),
        clock: Clock::default(),
        ends: Arc::new(Ends::default()),
        claims: Claims {
            // A buffer over memory of the host may be a copy that its driver makes and brings up to
            // date. It is not where host and device have one memory; elsewhere only what is
            // coherent is in place, which is tried.
            in_place: integrated,
            integrated,
            // In bits. Memory of the host is registered by pages, which are multiples of it.
            alignment_bytes: (ask(cl::CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8) as u32,
            f64: ask(cl::CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
            waits_for_timelines: false,
            // A processor's memory is the host's, and any process can have the memory of a memory
            // object.
            exports_memory: found.info.kind == Kind::Cpu,
            managed: fine || shares(cl::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER),
            managed_concurrent: fine,
        },
    })
}
