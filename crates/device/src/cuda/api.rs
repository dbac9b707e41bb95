//! CUDA's driver library: found and started once per process, or a sentence that says why not.

use super::table::{Code, table};
use cudarc::driver::sys;
use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmemAccessDesc,
    CUmemAllocationGranularity_flags, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemGenericAllocationHandle, CUmodule, CUstream, CUuuid, cuuint32_t, cuuint64_t,
};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;
use std::sync::OnceLock;

table! {
    /// The functions of `libcuda` that are used here; CUDA 11 and newer has them, but the optional
    /// ones, which came with 11.4 and 11.7.
    struct Functions of sys, sys::CUresult;
    needed {
        fn cuInit(c_uint);
        fn cuDriverGetVersion(*mut c_int);
        fn cuDeviceGetCount(*mut c_int);
        fn cuDeviceGet(*mut CUdevice, c_int);
        fn cuDeviceGetName(*mut c_char, c_int, CUdevice);
        fn cuDeviceTotalMem_v2(*mut usize, CUdevice);
        fn cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
        fn cuDevicePrimaryCtxRelease_v2(CUdevice);
        fn cuCtxPushCurrent_v2(CUcontext);
        fn cuCtxPopCurrent_v2(*mut CUcontext);
        fn cuCtxSynchronize();
        fn cuStreamCreate(*mut CUstream, c_uint);
        fn cuStreamDestroy_v2(CUstream);
        fn cuStreamSynchronize(CUstream);
        fn cuStreamWaitEvent(CUstream, CUevent, c_uint);
        fn cuEventCreate(*mut CUevent, c_uint);
        fn cuEventDestroy_v2(CUevent);
        fn cuEventRecord(CUevent, CUstream);
        fn cuEventSynchronize(CUevent);
        fn cuEventQuery(CUevent);
        fn cuEventElapsedTime(*mut f32, CUevent, CUevent);
        fn cuMemAlloc_v2(*mut CUdeviceptr, usize);
        fn cuMemFree_v2(CUdeviceptr);
        fn cuMemAllocManaged(*mut CUdeviceptr, usize, c_uint);
        fn cuStreamAttachMemAsync(CUstream, CUdeviceptr, usize, c_uint);
        fn cuMemcpyAsync(CUdeviceptr, CUdeviceptr, usize, CUstream);
        fn cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
        fn cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
        fn cuMemHostRegister_v2(*mut c_void, usize, c_uint);
        fn cuMemHostUnregister(*mut c_void);
        fn cuMemHostGetDevicePointer_v2(*mut CUdeviceptr, *mut c_void, c_uint);
        fn cuMemGetAllocationGranularity(
            *mut usize,
            *const CUmemAllocationProp,
            CUmemAllocationGranularity_flags,
        );
        fn cuMemCreate(
            *mut CUmemGenericAllocationHandle,
            usize,
            *const CUmemAllocationProp,
            c_ulonglong,
        );
        fn cuMemRelease(CUmemGenericAllocationHandle);
        fn cuMemAddressReserve(*mut CUdeviceptr, usize, usize, CUdeviceptr, c_ulonglong);
        fn cuMemAddressFree(CUdeviceptr, usize);
        fn cuMemMap(CUdeviceptr, usize, usize, CUmemGenericAllocationHandle, c_ulonglong);
        fn cuMemUnmap(CUdeviceptr, usize);
        fn cuMemSetAccess(CUdeviceptr, usize, *const CUmemAccessDesc, usize);
        fn cuMemExportToShareableHandle(
            *mut c_void,
            CUmemGenericAllocationHandle,
            CUmemAllocationHandleType,
            c_ulonglong,
        );
        fn cuMemImportFromShareableHandle(
            *mut CUmemGenericAllocationHandle,
            *mut c_void,
            CUmemAllocationHandleType,
        );
        fn cuModuleLoadData(*mut CUmodule, *const c_void);
        fn cuModuleUnload(CUmodule);
        fn cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
        fn cuLaunchKernel(
            CUfunction,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            CUstream,
            *mut *mut c_void,
            *mut *mut c_void,
        );
    }
    optional {
        fn cuDeviceGetUuid_v2(*mut CUuuid, CUdevice);
        fn cuStreamWriteValue32_v2(CUstream, CUdeviceptr, cuuint32_t, c_uint);
        fn cuStreamWriteValue64_v2(CUstream, CUdeviceptr, cuuint64_t, c_uint);
        fn cuStreamWaitValue64_v2(CUstream, CUdeviceptr, cuuint64_t, c_uint);
    }
    unlike {
        fn cuDeviceGetAttribute(*mut c_int, c_uint, CUdevice);
        fn cuGetErrorName(c_uint, *mut *const c_char);
        fn cuGetErrorString(c_uint, *mut *const c_char);
    }
}

/// The driver, started.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) call: Functions,
    /// Of the interface: 12020 is CUDA 12.2.
    pub(super) version: u32,
    /// Never unloaded: the functions are in it.
    _library: Library,
}

/// By these names the loader knows the driver; the second one is the name in NVIDIA's containers
/// for Jetson.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

impl Api {
    /// The driver of this machine. The first call loads and starts it, which may take a second; the
    /// others have its result. Where there is none: why, and the next step.
    pub(super) fn get() -> Result<&'static Self, &'static str> {
        static API: OnceLock<Result<Api, String>> = OnceLock::new();
        API.get_or_init(|| Self::start(&NAMES)).as_ref().map_err(String::as_str)
    }

    fn start(names: &[&str]) -> Result<Self, String> {
        // SAFETY: the driver's library; what it does when it is loaded is its maker's.
        let found = names.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let Some(library) = found else {
            return Err(format!(
                "no CUDA driver: the system has no {}; install NVIDIA's driver for the GPU",
                names[0]
            ));
        };
        let call = Functions::of(&library).map_err(|missing| {
            format!("the CUDA driver is too old: it has no {missing}; install a newer one")
        })?;
        // SAFETY: the flags must be 0.
        let started = unsafe { (call.cuInit)(0) };
        if started != Code::SUCCESS {
            let why = words(&call, started);
            return Err(format!(
                "the CUDA driver does not start: {why}; `nvidia-smi` may say more"
            ));
        }
        let mut version = 0;
        // SAFETY: a place for a number.
        let _ = unsafe { (call.cuDriverGetVersion)(&mut version) };
        Ok(Self { call, version: version.max(0) as u32, _library: library })
    }

    /// A result in words: `CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected`.
    pub(super) fn words(&self, code: Code) -> String {
        words(&self.call, code)
    }

    /// Version of the interface, as it is written.
    pub(super) fn version(&self) -> String {
        format!("{}.{}", self.version / 1000, self.version % 1000 / 10)
    }
}

fn words(call: &Functions, code: Code) -> String {
    let (mut name, mut meaning) = (ptr::null(), ptr::null());
    // SAFETY: a place for a pointer; any code may be asked for, and unknown ones are refused.
    let named = unsafe { (call.cuGetErrorName)(code.0, &mut name) };
    // SAFETY: as above.
    let told = unsafe { (call.cuGetErrorString)(code.0, &mut meaning) };
    let text = |done: Code, at: *const c_char| {
        (done == Code::SUCCESS && !at.is_null()).then(|| {
            // SAFETY: the driver's constant text.
            unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
        })
    };
    let name = text(named, name).unwrap_or_else(|| "an unknown error".to_owned());
    match text(told, meaning) {
        Some(meaning) => format!("{name} ({}): {meaning}", code.0),
        None => format!("{name} ({})", code.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_and_one_that_is_no_driver_are_told_with_the_next_step() {
        let refused = Api::start(&["libcrossdock-no-such-driver.so.1"]).expect_err("no driver");
        assert_eq!(
            refused,
            "no CUDA driver: the system has no libcrossdock-no-such-driver.so.1; \
             install NVIDIA's driver for the GPU"
        );
        let refused = Api::start(&["libc.so.6"]).expect_err("no driver");
        assert_eq!(refused, "the CUDA driver is too old: it has no cuInit; install a newer one");
    }
}
