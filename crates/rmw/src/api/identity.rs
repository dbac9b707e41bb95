//! What names ports, what profiles fit, and what this implementation can do.

use super::functions;
use super::handles::{IDENTIFIER, check_identifier, data, given, out};
use super::subscription::gid;
use crate::abi::current::Gid;
use crate::abi::shared::{Client, Publisher, QosProfile};
use crate::failure::Failure;
use crate::qos::{Fit, fit};
use std::ffi::c_char;

static FORMAT: &std::ffi::CStr = c"cdr";

/// `RMW_FEATURE_MESSAGE_INFO_PUBLICATION_SEQUENCE_NUMBER`.
const PUBLICATION_NUMBERS: u32 = 0;
/// Levels that rmw knows, of `rmw_log_severity_t`.
const SEVERITIES: [u32; 5] = [10, 20, 30, 40, 50];

/// The name of this implementation. A static text; any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn rmw_get_implementation_identifier() -> *const c_char {
    IDENTIFIER.as_ptr()
}

/// The name of the encoding of serialised messages. A static text; any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn rmw_get_serialization_format() -> *const c_char {
    FORMAT.as_ptr()
}

/// Whether a feature is there: messages carry their number at their publisher, no number at their
/// subscription, and types are not discovered.
#[unsafe(no_mangle)]
pub extern "C" fn rmw_feature_supported(feature: u32) -> bool {
    feature == PUBLICATION_NUMBERS
}

functions! {
    /// What names a publisher: messages carry it.
    fn rmw_get_gid_for_publisher(publisher: *const Publisher, gid: *mut Gid) {
        // SAFETY: null or a publisher (caller).
        let port = unsafe { data(publisher, "publisher") }?;
        // SAFETY: null or a GID (caller).
        *unsafe { out(gid, "gid") }? = self::gid(port.gid);
        Ok(())
    }

    /// What names a client: requests carry it. From Jazzy on.
    fn rmw_get_gid_for_client(client: *const Client, gid: *mut Gid) {
        // SAFETY: null or a client (caller).
        let port = unsafe { data(client, "client") }?;
        // SAFETY: null or a GID (caller).
        *unsafe { out(gid, "gid") }? = self::gid(port.port.gid);
        Ok(())
    }

    /// Whether two GIDs name the same port.
    fn rmw_compare_gids_equal(gid1: *const Gid, gid2: *const Gid, result: *mut bool) {
        given(gid1, "gid1")?;
        given(gid2, "gid2")?;
        // SAFETY: a GID (caller).
        let first = unsafe { &*gid1 };
        // SAFETY: as above.
        let second = unsafe { &*gid2 };
        check_identifier(first.implementation_identifier, "gid1")?;
        check_identifier(second.implementation_identifier, "gid2")?;
        // SAFETY: null or a bool (caller).
        *unsafe { out(result, "result") }? = first.data == second.data;
        Ok(())
    }

    /// Whether a publisher with one profile serves a subscription with the other one: 0 yes, 1 it
    /// depends, 2 no. The reason is cut to its room.
    fn rmw_qos_profile_check_compatible(
        publisher_profile: QosProfile,
        subscription_profile: QosProfile,
        compatibility: *mut u32,
        reason: *mut c_char,
        reason_size: usize,
    ) {
        // SAFETY: null or a number (caller).
        let compatibility = unsafe { out(compatibility, "compatibility") }?;
        if reason.is_null() && reason_size != 0 {
            return Err(Failure::Null { name: "reason" });
        }
        let (fits, text) = match fit(&publisher_profile, &subscription_profile) {
            Fit::Yes => (0, String::new()),
            Fit::Open(why) => (1, format!("WARNING: {why};")),
            Fit::No(conflict) => (2, format!("ERROR: {conflict};")),
        };
        *compatibility = fits;
        if reason_size > 0 {
            let length = text.len().min(reason_size - 1);
            // SAFETY: there is room for the text and a NUL byte (caller).
            unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), reason, length) };
            // SAFETY: as above.
            let end = unsafe { reason.add(length) };
            // SAFETY: as above.
            unsafe { end.write(0) };
        }
        Ok(())
    }

    /// Accepts every level that rmw knows. This library logs nothing.
    fn rmw_set_log_severity(severity: u32) {
        if SEVERITIES.contains(&severity) {
            return Ok(());
        }
        Err(Failure::Argument { name: "severity", what: "it is none that rmw knows" })
    }
}
