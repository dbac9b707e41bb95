//! The primary context of a device, which everything of this process shares, and the way into it:
//! the driver's functions work on what is current on the calling thread.

use super::api::Api;
use super::failure;
use super::table::Code;
use crate::error::DeviceError;
use cudarc::driver::sys::{CUcontext, CUdevice};
use std::marker::PhantomData;
use std::ptr;

/// A retained primary context. `Send + Sync`: the driver takes calls from any thread.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) api: &'static Api,
    pub(super) device: CUdevice,
    /// `CUcontext`.
    raw: usize,
    /// For errors.
    pub(super) name: String,
    /// Of the device: what an allocation can have at most.
    pub(super) memory_bytes: u64,
}

impl Context {
    /// Retains the primary context of a device: makes it if nobody in this process has. Blocks, for
    /// tenths of a second.
    pub(super) fn retain(
        api: &'static Api,
        device: CUdevice,
        name: &str,
        memory_bytes: u64,
    ) -> Result<Self, DeviceError> {
        let mut raw: CUcontext = ptr::null_mut();
        // SAFETY: a place for a handle; the device is one that the driver has named.
        let code = unsafe { (api.call.cuDevicePrimaryCtxRetain)(&mut raw, device) };
        if code != Code::SUCCESS {
            return Err(failure::error(name, "opening the device", code, api.words(code)));
        }
        Ok(Self { api, device, raw: raw as usize, name: name.to_owned(), memory_bytes })
    }

    /// Makes it current on this thread until the guard is dropped. What was current before, of a
    /// node's own CUDA code for example, is so again afterwards.
    pub(super) fn enter(&self) -> Result<Entered<'_>, DeviceError> {
        // SAFETY: retained as long as this lives.
        let code = unsafe { (self.api.call.cuCtxPushCurrent_v2)(self.raw as CUcontext) };
        self.done("entering the device's context", code)?;
        Ok(Entered { api: self.api, _here: PhantomData, _context: PhantomData })
    }

    /// Waits for all work of the device in this process. What fails is told by the calls that
    /// follow.
    pub(super) fn settle(&self) {
        if let Ok(_here) = self.enter() {
            // SAFETY: a context is current.
            let _ = unsafe { (self.api.call.cuCtxSynchronize)() };
        }
    }

    /// A result as ours.
    pub(super) fn done(&self, doing: &'static str, code: Code) -> Result<(), DeviceError> {
        match code {
            Code::SUCCESS => Ok(()),
            code => Err(failure::error(&self.name, doing, code, self.api.words(code))),
        }
    }

    /// As [`Context::done`], for what takes memory of the device.
    pub(super) fn had(
        &self,
        doing: &'static str,
        code: Code,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        match code {
            failure::OUT_OF_MEMORY => Err(self.no_room(bytes)),
            code => self.done(doing, code),
        }
    }

    pub(super) fn no_room(&self, bytes: u64) -> DeviceError {
        let (device, limit_bytes) = (self.name.clone(), self.memory_bytes);
        DeviceError::OutOfMemory { device, bytes, limit_bytes }
    }

    pub(super) fn refused(&self, doing: &'static str, why: impl Into<String>) -> DeviceError {
        DeviceError::Driver { device: self.name.clone(), doing, why: why.into() }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once by this value.
        let _ = unsafe { (self.api.call.cuDevicePrimaryCtxRelease_v2)(self.device) };
    }
}

/// A context is current on this thread.
pub(super) struct Entered<'a> {
    api: &'static Api,
    /// It belongs to the thread.
    _here: PhantomData<*const ()>,
    _context: PhantomData<&'a Context>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut left = ptr::null_mut();
        // SAFETY: a place for a handle; guards are dropped in the reverse order of their making.
        let _ = unsafe { (self.api.call.cuCtxPopCurrent_v2)(&mut left) };
    }
}
