//! Which CUDA devices there are, and their opening.

use super::Cuda;
use super::api::Api;
use super::architecture::Architecture;
use super::context::Context;
use super::mps;
use super::stream::Stores;
use super::table::Code;
use crate::capability::{Backend, DeviceInfo, Kind};
use crate::driver::Claims;
use crate::error::DeviceError;
use cudarc::driver::sys::{CUdevice, CUdevice_attribute as Attribute, CUuuid};
use std::ffi::{CStr, c_char};
use std::sync::Arc;

/// What devices are called.
pub(crate) const PREFIX: &str = "cuda:";
/// Where the kernel's module says its version; the driver interface has only its own.
const MODULE_VERSION: &str = "/sys/module/nvidia/version";
/// Of a device's name, bytes.
const NAME_MAX: usize = 256;
/// `CU_DEVICE_ATTRIBUTE_MPS_ENABLED`: newer than the headers of CUDA 12.0.
const MPS_ENABLED: u32 = 133;
/// Memory of the host is registered by pages.
const PAGE_BYTES: u32 = 4096;

/// Those that there are, by their numbers; none if there is no driver. The first call starts the
/// driver.
pub(crate) fn list() -> Vec<DeviceInfo> {
    let Ok(api) = Api::get() else { return vec![] };
    let devices = (0..count(api)).filter_map(|number| Some((number, device(api, number)?)));
    devices.map(|(number, device)| describe(api, number, device)).collect()
}

fn count(api: &Api) -> usize {
    let mut count = 0;
    // SAFETY: a place for a number.
    let code = unsafe { (api.call.cuDeviceGetCount)(&mut count) };
    if code == Code::SUCCESS { count.max(0) as usize } else { 0 }
}

fn device(api: &Api, number: usize) -> Option<CUdevice> {
    let mut device = 0;
    // SAFETY: a place for a number; the driver checks the one that it is given.
    let code = unsafe { (api.call.cuDeviceGet)(&mut device, i32::try_from(number).ok()?) };
    (code == Code::SUCCESS).then_some(device)
}

/// 0 for what the driver does not say, or does not know.
fn ask(api: &Api, device: CUdevice, what: Attribute) -> u32 {
    asked(api, device, what as u32).unwrap_or(0)
}

/// `None` for what the driver does not say, or does not know.
fn asked(api: &Api, device: CUdevice, what: u32) -> Option<u32> {
    let mut value = 0;
    // SAFETY: a place for a number; the driver checks the device, and what it is asked.
    let code = unsafe { (api.call.cuDeviceGetAttribute)(&mut value, what, device) };
    (code == Code::SUCCESS).then_some(value.max(0) as u32)
}

fn architecture(api: &Api, device: CUdevice) -> Architecture {
    Architecture::of_capability(
        ask(api, device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        ask(api, device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    )
}

fn model(api: &Api, device: CUdevice) -> String {
    let mut text = [0u8; NAME_MAX];
    let room = (text.len() - 1) as i32;
    // SAFETY: as much room as it is told, and a zero byte after it.
    let _ = unsafe { (api.call.cuDeviceGetName)(text.as_mut_ptr().cast::<c_char>(), room, device) };
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// As NVIDIA's tools write it; `None`: the driver is too old to tell.
fn uuid(api: &Api, device: CUdevice) -> Option<String> {
    let mut uuid = CUuuid { bytes: [0; 16] };
    // SAFETY: a place for it; the driver checks the device.
    let code = unsafe { api.call.cuDeviceGetUuid_v2?(&mut uuid, device) };
    // A `char` of C is signed on some machines only.
    (code == Code::SUCCESS).then(|| written(uuid.bytes.map(|byte| byte.to_ne_bytes()[0])))
}

fn written(uuid: [u8; 16]) -> String {
    let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    format!("GPU-{}", parts.join("-"))
}

fn describe(api: &Api, number: usize, device: CUdevice) -> DeviceInfo {
    let mut memory_bytes = 0;
    // SAFETY: a place for a number.
    let _ = unsafe { (api.call.cuDeviceTotalMem_v2)(&mut memory_bytes, device) };
    let memory_bytes = memory_bytes as u64;
    let module = std::fs::read_to_string(MODULE_VERSION).unwrap_or_default();
    let units = ask(api, device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let group_max = ask(api, device, Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    DeviceInfo {
        name: format!("{PREFIX}{number}"),
        identity: match uuid(api, device) {
            Some(uuid) => format!("{PREFIX}{uuid}"),
            None => format!("{PREFIX}{number}"),
        },
        model: model(api, device),
        vendor: "NVIDIA Corporation".to_owned(),
        driver: match module.trim() {
            // Not on Jetson, where it comes with the system.
            "" => "of the system".to_owned(),
            version => version.to_owned(),
        },
        version: format!("CUDA {}, {}", api.version(), architecture(api, device)),
        backend: Backend::Cuda,
        kind: Kind::Gpu,
        units,
        memory_bytes,
        allocation_max_bytes: memory_bytes,
        group_max: group_max.into(),
        mps: Some(mps::state(asked(api, device, MPS_ENABLED).map(|value| value != 0))),
    }
}

/// The device of that number, under the name that it was asked for by.
pub(crate) fn open(number: usize, name: &str) -> Result<Cuda, DeviceError> {
    let unknown = |found: String| {
        let wanted = format!("{PREFIX}{number}");
        DeviceError::Unknown { wanted, found }
    };
    let api = Api::get().map_err(|why| unknown(why.to_owned()))?;
    let Some(device) = device(api, number) else {
        return Err(unknown(match count(api) {
            0 => "the CUDA driver finds no GPU".to_owned(),
            1 => format!("{PREFIX}0"),
            count => format!("{PREFIX}0 to {PREFIX}{}", count - 1),
        }));
    };
    let info = DeviceInfo { name: name.to_owned(), ..describe(api, number, device) };
    let can = |what| ask(api, device, what) != 0;
    let registers = can(Attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    // Of the second version of these functions, which is used here.
    let has_64 = can(Attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)
        && api.call.cuStreamWriteValue64_v2.is_some()
        && api.call.cuStreamWaitValue64_v2.is_some();
    let stores = match (registers, has_64, api.call.cuStreamWriteValue32_v2) {
        (false, _, _) | (true, false, None) => Stores::None,
        (true, true, _) => Stores::Words,
        (true, false, Some(_)) => Stores::Halves,
    };
    // An integrated GPU has no other memory; one that walks the host's page tables is joined to it
    // by a coherent link (GH200, Thor). Unified addresses alone say nothing: every GPU on a bus has
    // them.
    let integrated = can(Attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED)
        || can(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
    let exports = can(Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED)
        && can(Attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
    let managed = can(Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
    let claims = Claims {
        in_place: registers,
        integrated,
        alignment_bytes: PAGE_BYTES,
        f64: true,
        waits_for_timelines: stores == Stores::Words,
        exports_memory: exports,
        managed,
        managed_concurrent: managed
            && can(Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
    };
    let context = Arc::new(Context::retain(api, device, name, info.memory_bytes)?);
    let read_only = can(Attribute::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
    Ok(Cuda::new(info, claims, context, architecture(api, device), (read_only, stores)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_the_makers_tools_write_it() {
        let bytes: [u8; 16] = std::array::from_fn(|at| 0xa0 + at as u8);
        assert_eq!(written(bytes), "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
    }
}
