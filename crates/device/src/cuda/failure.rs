//! What a result of the driver means for its caller: in particular, whether the device is lost.
//!
//! It must not call the driver.

use super::table::Code;
use crate::error::DeviceError;

/// There is no room on the device.
pub(super) const OUT_OF_MEMORY: Code = Code(2);
/// The work is not over yet.
pub(super) const NOT_READY: Code = Code(600);
/// A name that a module does not have.
pub(super) const NOT_FOUND: Code = Code(500);
/// Somebody else in this process has registered the memory.
pub(super) const ALREADY_REGISTERED: Code = Code(712);
/// The device, or the driver for it, cannot do this.
pub(super) const NOT_SUPPORTED: Code = Code(801);
/// An argument is wrong: also what is said of things that the device has not.
pub(super) const INVALID_VALUE: Code = Code(1);

/// After these the context is of no use: whatever is called next gives the same code, and work that
/// stands in its streams never ends. From the driver's documentation of its codes ("must be
/// terminated and relaunched"), and those of a device that is gone.
const STICKY: [u32; 22] = [
    4,   // deinitialised: the process ends
    214, // uncorrectable ECC error
    220, // uncorrectable NVLink error
    226, // exception contained (CUDA 12.9)
    700, // illegal address
    702, // launch timeout
    709, // context is destroyed
    710, // assertion in a kernel
    714, // hardware stack error
    715, // illegal instruction
    716, // misaligned address
    717, // invalid address space
    718, // invalid program counter
    719, // launch failed
    721, // tensor memory leak
    // The service that processes share the device through (MPS) is gone, or takes no more of them:
    // what a process had there is lost, and a new one asks again.
    805, // no connection to its daemon
    806, // a call to its server failed
    807, // its server is not ready
    808, // no room for a further client
    809, // no room for further connections
    810, // it has ended this client
    911, // device of another process of a chain failed
];

/// Codes of compiler, driver and device that do not go together: no image for the device, unknown
/// PTX, no JIT compiler, invalid image, unsupported version.
const MISFITS: [u32; 6] = [200, 209, 218, 221, 222, 223];

/// Does the device end here for this process?
pub(super) fn is_lost(code: Code) -> bool {
    STICKY.contains(&code.0)
}

/// Does the module not fit to device or driver?
pub(super) fn is_misfit(code: Code) -> bool {
    MISFITS.contains(&code.0)
}

/// The error for a result that is not success.
pub(super) fn error(device: &str, doing: &'static str, code: Code, why: String) -> DeviceError {
    let device = device.to_owned();
    match is_lost(code) {
        true => DeviceError::Lost { device, doing, why },
        false => DeviceError::Driver { device, doing, why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::driver::sys::CUresult;

    #[test]
    fn codes_are_those_of_the_makers_headers() {
        use CUresult::*;
        let named = [
            (CUDA_SUCCESS, Code::SUCCESS),
            (CUDA_ERROR_INVALID_VALUE, INVALID_VALUE),
            (CUDA_ERROR_OUT_OF_MEMORY, OUT_OF_MEMORY),
            (CUDA_ERROR_NOT_FOUND, NOT_FOUND),
            (CUDA_ERROR_NOT_READY, NOT_READY),
            (CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, ALREADY_REGISTERED),
            (CUDA_ERROR_NOT_SUPPORTED, NOT_SUPPORTED),
        ];
        assert!(named.iter().all(|(theirs, ours)| *theirs as u32 == ours.0));
        let lost = [
            CUDA_ERROR_DEINITIALIZED,
            CUDA_ERROR_ECC_UNCORRECTABLE,
            CUDA_ERROR_NVLINK_UNCORRECTABLE,
            CUDA_ERROR_ILLEGAL_ADDRESS,
            CUDA_ERROR_LAUNCH_TIMEOUT,
            CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUDA_ERROR_ASSERT,
            CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUDA_ERROR_MISALIGNED_ADDRESS,
            CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUDA_ERROR_INVALID_PC,
            CUDA_ERROR_LAUNCH_FAILED,
            CUDA_ERROR_MPS_CONNECTION_FAILED,
            CUDA_ERROR_MPS_RPC_FAILURE,
            CUDA_ERROR_MPS_SERVER_NOT_READY,
            CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
            CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
            CUDA_ERROR_MPS_CLIENT_TERMINATED,
            CUDA_ERROR_EXTERNAL_DEVICE,
        ];
        assert!(lost.iter().all(|code| is_lost(Code(*code as u32))), "{lost:?}");
        let not_lost = [
            CUDA_ERROR_INVALID_VALUE,
            CUDA_ERROR_OUT_OF_MEMORY,
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            CUDA_ERROR_NOT_READY,
            // What a wrong descriptor may give.
            CUDA_ERROR_UNKNOWN,
        ];
        assert!(not_lost.iter().all(|code| !is_lost(Code(*code as u32))), "{not_lost:?}");
        let misfits = [
            CUDA_ERROR_INVALID_IMAGE,
            CUDA_ERROR_NO_BINARY_FOR_GPU,
            CUDA_ERROR_INVALID_PTX,
            CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            CUDA_ERROR_JIT_COMPILATION_DISABLED,
        ];
        assert!(misfits.iter().all(|code| is_misfit(Code(*code as u32))), "{misfits:?}");
    }

    #[test]
    fn a_lost_device_and_a_refused_call_are_different_errors_that_name_the_next_step() {
        let why = || "CUDA_ERROR_X (7): meaning".to_owned();
        let lost = error("cuda:0", "waiting for a stream", Code(700), why()).to_string();
        let refused = error("cuda:0", "launching a kernel", INVALID_VALUE, why()).to_string();
        assert!(
            lost.starts_with("cuda:0: lost while waiting for a stream: CUDA_ERROR_X (7): meaning;")
                && lost.contains("start the process again"),
            "{lost}"
        );
        assert_eq!(
            refused,
            "cuda:0: launching a kernel failed: CUDA_ERROR_X (7): meaning; \
             `crossdock device test cuda:0` tries it alone"
        );
    }
}
