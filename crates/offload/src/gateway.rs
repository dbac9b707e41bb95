//! What executors are given to bring what nodes on the processor have to devices.

use crate::instance;
use crossdock_comm::{Gateway, InstanceMaker};
use crossdock_executor::{GatewaySite, Gateways};

/// Makes gateways to devices: for [`Package::gateways`](crossdock_executor::Package::gateways).
#[must_use]
pub fn gateways() -> &'static dyn Gateways {
    &OfDevices
}

#[derive(Debug)]
struct OfDevices;

impl Gateways for OfDevices {
    fn open(&self, _site: &GatewaySite<'_>) -> Result<Option<Box<dyn Gateway>>, String> {
        Ok(None)
    }

    fn instances(&self, site: &GatewaySite<'_>) -> Result<Option<Box<dyn InstanceMaker>>, String> {
        instance::maker(site)
    }
}
