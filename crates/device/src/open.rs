//! Which devices there are, and their opening by name.

use crate::capability::DeviceInfo;
use crate::cuda;
use crate::device::{Core, Device};
use crate::driver::Driver;
use crate::error::DeviceError;
use crate::opencl;
use crate::shadow::{Rules, Shadow};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// The devices of this machine. Loads drivers: may take tens of milliseconds the first time. Empty
/// if there is none; never an error.
pub fn devices() -> Vec<DeviceInfo> {
    let mut devices = opencl::list();
    devices.extend(cuda::list());
    devices
}

impl Device {
    /// The device of that name, as [`devices`] tells them: `opencl:0`, `cuda:0`. For tests,
    /// `shadow:opencl:0` is the same device behind copies that only acquire and release make, and
    /// `discrete:opencl:0` the same behind the rules of a GPU on a bus, which with
    /// `discrete-rw:opencl:0` registers no memory that this process may only read.
    ///
    /// One context per process and device: opening it again shares it. Blocks, allocates;
    /// call it after forking.
    ///
    /// # Errors
    /// [`DeviceError::BadName`], [`DeviceError::Unknown`], [`DeviceError::Driver`].
    pub fn open(name: &str) -> Result<Device, DeviceError> {
        static OPEN: OnceLock<Mutex<HashMap<String, Weak<Core>>>> = OnceLock::new();
        let open = OPEN.get_or_init(Mutex::default);
        // Held while a driver opens: two threads that open one device get one context.
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, core| core.strong_count() > 0);
        if let Some(core) = open.get(name).and_then(Weak::upgrade) {
            return Ok(Device::new(core));
        }
        let core = Arc::new(Core::new(driver(name)?));
        open.insert(name.to_owned(), Arc::downgrade(&core));
        Ok(Device::new(core))
    }
}

fn driver(name: &str) -> Result<Box<dyn Driver>, DeviceError> {
    let (rules, plain) = match Rules::of(name) {
        Some((rules, behind)) => (Some(rules), behind),
        None => (None, name),
    };
    let number = |prefix| plain.strip_prefix(prefix).and_then(|number: &str| number.parse().ok());
    if let Some(number) = number(opencl::PREFIX) {
        return Ok(boxed(opencl::open(number, name)?, rules));
    }
    if let Some(number) = number(cuda::PREFIX) {
        return Ok(boxed(cuda::open(number, name)?, rules));
    }
    Err(DeviceError::BadName { name: name.to_owned() })
}

fn boxed(driver: impl Driver + 'static, rules: Option<Rules>) -> Box<dyn Driver> {
    match rules {
        Some(rules) => Box::new(Shadow::new(driver, rules)),
        None => Box::new(driver),
    }
}
