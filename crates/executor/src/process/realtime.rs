//! What a mapping asks of the computer for real time: CPUs, priority, memory that stays in RAM. An
//! error says what is missing and what to do.

use crossdock_comm::use_fifo;
use crossdock_graph::ExecutorPlan;
use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Stack that an executor's thread touches before it runs, so that no node is the first to: half of
/// what a thread of Rust's standard library has, minus what nodes had at their making.
const STACK_BYTES: usize = 512 * 1024;

/// How to go on without.
const WITHOUT: &str = "or write `realtime: preferred` under the process in the mapping file to go on \
                       without";

/// Binds the calling thread to the CPUs of its executor.
///
/// # Errors
///
/// One is not there or not allowed; a sentence with those that are.
pub(crate) fn bind(plan: &ExecutorPlan) -> Result<(), String> {
    if plan.affinity.is_empty() {
        return Ok(());
    }
    let mut wanted = CpuSet::new();
    plan.affinity.iter().for_each(|cpu| wanted.set(*cpu as usize));
    let allowed = sched_getaffinity(None).map_err(|errno| binding(plan, errno))?;
    let missing = plan.affinity.iter().find(|cpu| !allowed.is_set(**cpu as usize));
    let Some(missing) = missing else {
        return sched_setaffinity(None, &wanted).map_err(|errno| binding(plan, errno));
    };
    Err(format!(
        "executor `{}` asks for CPU {missing} (`affinity`), but this process may only run on CPU {}; \
         name some of these, change what `taskset` or the container allows, {WITHOUT}",
        plan.name,
        listed(&allowed)
    ))
}

fn binding(plan: &ExecutorPlan, errno: Errno) -> String {
    let name = &plan.name;
    format!("executor `{name}` cannot be bound to its CPUs (`affinity`): {errno}; {WITHOUT}")
}

/// CPUs as ranges: `0-3, 8`.
fn listed(cpus: &CpuSet) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for cpu in (0..CpuSet::MAX_CPU).filter(|cpu| cpus.is_set(*cpu)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

/// Gives the calling thread the priority of its executor.
///
/// # Errors
///
/// It may not have it; a sentence with the limit and the next step.
pub(crate) fn prioritise(plan: &ExecutorPlan) -> Result<(), String> {
    let Some(priority) = plan.priority else { return Ok(()) };
    touch_stack();
    use_fifo(priority).map_err(|errno| {
        let limit = limit_text(Resource::Rtprio, 1, "");
        format!(
            "executor `{}` asks for SCHED_FIFO with priority {priority}, which the system refuses \
             ({errno}); the limit of this user (RLIMIT_RTPRIO) is {limit}, and the program does not \
             have CAP_SYS_NICE; add the line `{} - rtprio {priority}` to /etc/security/limits.conf \
             and log in again, or give the right to the program with `sudo setcap cap_sys_nice+ep \
             {}`, {WITHOUT}",
            plan.name,
            user(),
            program()
        )
    })
}

/// Keeps all memory of the process in RAM from the first use of each page: memory that is only
/// reserved, like room for larger messages, costs nothing. Pools of topics with a `max_bytes` are
/// in use from the start.
///
/// # Errors
///
/// It may not; a sentence with the limit and the next step.
pub(crate) fn lock_memory(process: &str) -> Result<(), String> {
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    mlockall(flags).map_err(|errno| {
        let limit = limit_text(Resource::Memlock, 1024, " KiB");
        format!(
            "process `{process}` asks for memory that stays in RAM (`lock_memory`), which the \
             system refuses ({errno}); the limit of this user (RLIMIT_MEMLOCK) is {limit}, less than the \
             process maps, and the program does not have CAP_IPC_LOCK; add the line `{} - memlock \
             unlimited` to /etc/security/limits.conf and log in again, or give the right to the \
             program with `sudo setcap cap_ipc_lock+ep {}`, {WITHOUT}",
            user(),
            program()
        )
    })
}

fn limit_text(resource: Resource, divisor: u64, unit: &str) -> String {
    let limit = getrlimit(resource).current;
    limit.map_or_else(|| "unlimited".to_owned(), |limit| format!("{}{unit}", limit / divisor))
}

/// The user as limits.conf names one: by number, because names need a look-up.
fn user() -> String {
    format!(":{}", rustix::process::getuid().as_raw())
}

fn program() -> String {
    let path = std::env::current_exe().map(|path| path.display().to_string());
    path.unwrap_or_else(|_| "the program".to_owned())
}

/// Makes the kernel give the thread its stack now.
#[inline(never)]
fn touch_stack() {
    let mut stack = [0_u8; STACK_BYTES];
    for page in stack.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&mut stack);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_ranges() {
        let mut cpus = CpuSet::new();
        for cpu in [0, 1, 2, 5, 7, 8] {
            cpus.set(cpu);
        }
        assert_eq!(listed(&cpus), "0-2, 5, 7-8");
    }
}
