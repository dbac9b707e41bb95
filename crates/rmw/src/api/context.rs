//! Options of contexts, and contexts: a context is this process's membership in one domain.

use super::handles::{
    IDENTIFIER, check_allocator, check_identifier, copy_text, data, deallocate, given, handle, out,
    text,
};
use super::{endings, functions};
use crate::abi::DISTRIBUTION;
use crate::abi::current::{Context, InitOptions};
use crate::abi::shared::{Allocator, SECURITY_ENFORCE};
use crate::context;
use crate::failure::Failure;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::{Arc, Once};

/// `RMW_DEFAULT_DOMAIN_ID`: the middleware decides.
const DEFAULT_DOMAIN_ID: usize = usize::MAX;

/// The largest domain of ROS 2 on Linux: other implementations and `crossdock` have no larger one.
const DOMAIN_ID_MAX: u32 = 232;

functions! {
    /// Initialises options of contexts that are zero.
    fn rmw_init_options_init(init_options: *mut InitOptions, allocator: Allocator) {
        // SAFETY: null or zeroed options (caller).
        let options = unsafe { out(init_options, "init_options") }?;
        check_allocator(&allocator, "allocator")?;
        check_zero(options.implementation_identifier, "init_options")?;
        *options = zeroed();
        options.implementation_identifier = IDENTIFIER.as_ptr();
        options.domain_id = DEFAULT_DOMAIN_ID;
        options.allocator = allocator;
        #[cfg(not(feature = "humble"))]
        {
            options.discovery_options.allocator = allocator;
        }
        Ok(())
    }

    /// Copies options into others that are zero.
    fn rmw_init_options_copy(src: *const InitOptions, dst: *mut InitOptions) {
        // SAFETY: null or options (caller).
        let from = unsafe { options(src, "src") }?;
        // SAFETY: null or zeroed options (caller).
        let to = unsafe { out(dst, "dst") }?;
        check_zero(to.implementation_identifier, "dst")?;
        check_allocator(&from.allocator, "src")?;
        // SAFETY: the options are whole, and `to` is theirs to fill (caller).
        unsafe { copy(from, to) }
    }

    /// Frees what options hold; they are zero afterwards.
    fn rmw_init_options_fini(init_options: *mut InitOptions) {
        // SAFETY: null or options (caller).
        unsafe { options(init_options, "init_options") }?;
        // SAFETY: just looked at; nobody else uses them (caller).
        let options = unsafe { out(init_options, "init_options") }?;
        check_allocator(&options.allocator, "init_options")?;
        // SAFETY: what options point to is of their allocator (caller).
        unsafe { free(options) };
        *options = zeroed();
        Ok(())
    }

    /// Joins the domain of the options. Allocates, makes files and a thread.
    fn rmw_init(options: *const InitOptions, context: *mut Context) {
        // SAFETY: null or options (caller).
        let options = unsafe { self::options(options, "options") }?;
        // SAFETY: null or a zeroed context (caller).
        let context = unsafe { out(context, "context") }?;
        if options.enclave.is_null() {
            return Err(Failure::Argument { name: "options", what: "it has no enclave" });
        }
        check_zero(context.implementation_identifier, "context")?;
        check_distribution()?;
        // What is asked for and not given must not be silent.
        if options.security_options.enforce_security == SECURITY_ENFORCE {
            return Err(Failure::Security);
        }
        let domain_id = match options.domain_id {
            DEFAULT_DOMAIN_ID => 0,
            domain_id => domain_id,
        };
        let domain = u32::try_from(domain_id).ok().filter(|domain| *domain <= DOMAIN_ID_MAX);
        let Some(domain) = domain else {
            return Err(Failure::Argument { name: "options", what: "its domain is above 232" });
        };
        keep_memory();
        let mut copied = zeroed::<InitOptions>();
        // SAFETY: the options are whole (caller), the copy is ours.
        unsafe { copy(options, &mut copied) }?;
        // SAFETY: a text (caller).
        let enclave = unsafe { text(options.enclave, "enclave") }?;
        let made = context::Context::open(domain, enclave).inspect_err(|_| {
            // SAFETY: the copy is not used any more.
            unsafe { free(&copied) };
        })?;
        *context = zeroed();
        context.instance_id = options.instance_id;
        context.implementation_identifier = IDENTIFIER.as_ptr();
        context.options = copied;
        context.actual_domain_id = domain_id;
        context.impl_ = Arc::into_raw(made).cast_mut().cast();
        Ok(())
    }
}

endings! {
    /// Ends a context: nothing new is made in it, and waits return. What exists stays until it is
    /// destroyed.
    fn rmw_shutdown(context: *mut Context) {
        // SAFETY: null or a context (caller).
        let context = unsafe { self::context(context) }?;
        // SAFETY: a context that this library has initialised.
        unsafe { data(context, "context") }?.shut_down();
        Ok(())
    }

    /// Gives up a context that was shut down; it is zero afterwards. Nodes and ports that still
    /// exist keep the process in the domain.
    fn rmw_context_fini(context: *mut Context) {
        // SAFETY: null or a context (caller).
        let known = unsafe { self::context(context) }?;
        // SAFETY: a context that this library has initialised.
        let is_ours = match unsafe { data(known, "context") } {
            Ok(own) if own.is_shut_down() => true,
            Ok(_) => {
                let what = "it was not shut down: call rmw_shutdown first";
                return Err(Failure::Argument { name: "context", what });
            }
            Err(Failure::Forked) => false,
            Err(failure) => return Err(failure),
        };
        // SAFETY: just looked at; nobody else uses it (caller).
        let context = unsafe { out(context, "context") }?;
        if is_ours {
            // SAFETY: `rmw_init` has made it so.
            drop(unsafe { Arc::from_raw(context.impl_.cast::<context::Context>().cast_const()) });
        }
        // SAFETY: the options are `rmw_init`'s copy.
        unsafe { free(&context.options) };
        *context = zeroed();
        Ok(())
    }
}

/// Options that this library has initialised.
///
/// # Safety
///
/// The pointer is null or valid for `'a`.
unsafe fn options<'a>(
    pointer: *const InitOptions,
    name: &'static str,
) -> Result<&'a InitOptions, Failure> {
    given(pointer, name)?;
    // SAFETY: valid (caller).
    let options = unsafe { &*pointer };
    check_initialised(options.implementation_identifier, name)?;
    check_identifier(options.implementation_identifier, name)?;
    Ok(options)
}

/// A context that this library has initialised.
///
/// # Safety
///
/// The pointer is null or valid for `'a`.
unsafe fn context<'a>(pointer: *const Context) -> Result<&'a Context, Failure> {
    given(pointer, "context")?;
    // SAFETY: valid (caller).
    check_initialised(unsafe { (*pointer).implementation_identifier }, "context")?;
    // SAFETY: valid (caller).
    unsafe { handle(pointer, "context") }
}

fn check_zero(identifier: *const c_char, name: &'static str) -> Result<(), Failure> {
    let what = "it is initialised already: finalise it first";
    if identifier.is_null() { Ok(()) } else { Err(Failure::Argument { name, what }) }
}

fn check_initialised(identifier: *const c_char, name: &'static str) -> Result<(), Failure> {
    let what = "it is not initialised: call its init function first";
    if identifier.is_null() { Err(Failure::Argument { name, what }) } else { Ok(()) }
}

/// A struct of C whose bytes are all zero.
fn zeroed<T: Zeroed>() -> T {
    // SAFETY: every field is a number, a pointer or an optional function.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Structs of C whose bytes may all be zero.
trait Zeroed {}
impl Zeroed for InitOptions {}
impl Zeroed for Context {}

/// Copies options and all that they point to. After an error `to` is zero.
///
/// # Safety
///
/// `from` is whole; `to` is zero.
unsafe fn copy(from: &InitOptions, to: &mut InitOptions) -> Result<(), Failure> {
    *to = zeroed();
    // SAFETY: the options are whole (caller).
    let done = unsafe { copy_parts(from, to) };
    if done.is_err() {
        // SAFETY: what was copied so far is of the allocator of `to`.
        unsafe { free(to) };
        *to = zeroed();
    }
    done
}

/// # Safety
///
/// As [`copy`].
unsafe fn copy_parts(from: &InitOptions, to: &mut InitOptions) -> Result<(), Failure> {
    to.instance_id = from.instance_id;
    to.implementation_identifier = from.implementation_identifier;
    to.domain_id = from.domain_id;
    to.allocator = from.allocator;
    to.security_options.enforce_security = from.security_options.enforce_security;
    #[cfg(any(feature = "humble", feature = "jazzy"))]
    {
        to.localhost_only = from.localhost_only;
    }
    let allocator = &from.allocator;
    // SAFETY: a text of C or null (caller).
    to.enclave = unsafe { copy_text(allocator, from.enclave, "enclave") }?;
    let path = from.security_options.security_root_path;
    // SAFETY: as above.
    to.security_options.security_root_path =
        unsafe { copy_text(allocator, path, "security_root_path") }?;
    #[cfg(not(feature = "humble"))]
    {
        let (peers, count) =
            (from.discovery_options.static_peers, from.discovery_options.static_peers_count);
        to.discovery_options.automatic_discovery_range =
            from.discovery_options.automatic_discovery_range;
        to.discovery_options.allocator = from.allocator;
        if !peers.is_null() && count > 0 {
            let bytes = count.saturating_mul(size_of::<[c_char; 256]>());
            // SAFETY: the options' allocator (caller).
            let copied = unsafe { super::handles::allocate(allocator, bytes, "static_peers") }?;
            // SAFETY: as many bytes lie there (caller), and there is room for them.
            unsafe { std::ptr::copy_nonoverlapping(peers.cast::<u8>(), copied.cast(), bytes) };
            to.discovery_options.static_peers = copied.cast();
            to.discovery_options.static_peers_count = count;
        }
    }
    Ok(())
}

/// Frees what options point to.
///
/// # Safety
///
/// It is of their allocator, and not used afterwards.
unsafe fn free(options: &InitOptions) {
    // SAFETY: of the options' allocator (caller).
    unsafe { deallocate(&options.allocator, options.enclave.cast()) };
    let path = options.security_options.security_root_path;
    // SAFETY: as above.
    unsafe { deallocate(&options.allocator, path.cast()) };
    #[cfg(not(feature = "humble"))]
    {
        let Allocator { deallocate: own, .. } = options.discovery_options.allocator;
        let allocator = match own {
            Some(_) => &options.discovery_options.allocator,
            None => &options.allocator,
        };
        // SAFETY: as above.
        unsafe { deallocate(allocator, options.discovery_options.static_peers.cast()) };
    }
}

/// Structs differ between distributions: this library is for one.
fn check_distribution() -> Result<(), Failure> {
    match std::env::var("ROS_DISTRO") {
        Ok(found) if found != DISTRIBUTION => Err(Failure::Distribution { found }),
        _ => Ok(()),
    }
}

/// Has the C library keep memory of messages that come and go: otherwise each message of a MiB
/// costs page faults, which take longer than its copy. What the environment says is left alone.
fn keep_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let says = |name: &str| std::env::var_os(name).is_some();
        let names = ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"];
        #[cfg(target_env = "gnu")]
        if !names.iter().any(|name| says(name)) {
            // Setting one ends the library's own adjustment of both.
            // SAFETY: a parameter of the allocator; refused is as before.
            unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20) };
            // SAFETY: as above.
            unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 30) };
        }
    });
}
