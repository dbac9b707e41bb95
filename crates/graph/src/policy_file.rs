//! Reading and writing of limits, failure policies, restarts and rights in graph and mapping files.

use crate::limits::{BACKOFF_MS_MAX, CPU_MAX, RESTART_WITHIN_S_MAX, RESTARTS_MAX};
use crate::model::{Period, is_period};
use crate::policy::{Limit, OnFailure, OnMiss, Realtime, Restart, RestartWhen};
use crate::read::{Fields, Keys, Reading};
use crate::violation::ViolationKind;
use crate::yaml::{Data, Tree};

const RESTART: Keys =
    Keys { what: "`restart`", required: &["when"], optional: &["limit", "within_s", "backoff_ms"] };
const RESTARTS: [(&str, RestartWhen); 3] = [
    ("never", RestartWhen::Never),
    ("on_failure", RestartWhen::OnFailure),
    ("always", RestartWhen::Always),
];

/// The limit under `key`, in milliseconds, and what `on` says of misses.
pub(crate) fn read_limit(
    reading: &mut Reading,
    fields: &Fields<'_>,
    key: &str,
    on: &str,
) -> Option<Limit> {
    let words = [("count", OnMiss::Count), ("stop", OnMiss::Stop)];
    let on_miss = fields.get(on).and_then(|tree| reading.choice(tree, &format!("`{on}`"), &words));
    let Some(tree) = fields.get(key) else {
        if let Some(tree) = fields.get(on) {
            let message =
                format!("`{on}` says what follows from a miss of `{key}`, which is missing");
            let advice = format!("add `{key}: ...`, or remove `{on}`");
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
        return None;
    };
    let limit_ms = reading.positive(tree, &format!("`{key}`"))?;
    let Some(limit_ns) = Period::PeriodMs(limit_ms).period_ns() else {
        let message = format!("`{key}` must be 0.001 to 86400000");
        reading.note(ViolationKind::OutOfRange, tree.place, message, "choose a value in between");
        return None;
    };
    Some(Limit { limit_ns, on_miss: on_miss.unwrap_or_default() })
}

/// The fields of a limit, as [`read_limit`] reads them.
pub(crate) fn limit_fields(limit: Option<Limit>, key: &str, on: &str) -> Vec<String> {
    let Some(Limit { limit_ns, on_miss }) = limit else { return Vec::new() };
    debug_assert!(is_period(limit_ns), "a limit of 1 us to 1 day");
    let mut fields = vec![format!("{key}: {:?}", limit_ns as f64 / 1e6)];
    if on_miss != OnMiss::Count {
        fields.push(format!("{on}: {}", on_miss.word()));
    }
    fields
}

/// The key `on_failure` of a node.
pub(crate) fn read_on_failure(reading: &mut Reading, tree: &Tree) -> Option<OnFailure> {
    let words = [OnFailure::StopRun, OnFailure::DropNode, OnFailure::RestartProcess]
        .map(|policy| (policy.word(), policy));
    reading.choice(tree, "`on_failure`", &words)
}

/// The key `realtime` of a process.
pub(crate) fn read_realtime(reading: &mut Reading, fields: &Fields<'_>) -> Realtime {
    let words = [("required", Realtime::Required), ("preferred", Realtime::Preferred)];
    let said = fields.get("realtime");
    said.and_then(|tree| reading.choice(tree, "`realtime`", &words)).unwrap_or_default()
}

/// The key `restart` of a process: a word, or a map with the key `when`.
pub(crate) fn read_restart(reading: &mut Reading, fields: &Fields<'_>) -> Restart {
    let Some(tree) = fields.get("restart") else { return Restart::NEVER };
    if matches!(tree.data, Data::Scalar { .. }) {
        let when = reading.choice(tree, "`restart`", &RESTARTS).unwrap_or_default();
        return Restart { when, ..Restart::NEVER };
    }
    let fields = reading.fields(tree, &RESTART);
    let when = fields.get("when").and_then(|tree| reading.choice(tree, "`when`", &RESTARTS));
    let mut number = |key: &str, range, unsaid: u32| {
        let tree = fields.get(key);
        let value = tree.and_then(|tree| reading.integer(tree, &format!("`{key}`"), range));
        value.and_then(|value| u32::try_from(value).ok()).unwrap_or(unsaid)
    };
    Restart {
        when: when.unwrap_or_default(),
        limit: number("limit", 1..=RESTARTS_MAX, Restart::NEVER.limit),
        within_s: number("within_s", 1..=RESTART_WITHIN_S_MAX, Restart::NEVER.within_s),
        backoff_ms: number("backoff_ms", 0..=BACKOFF_MS_MAX, Restart::NEVER.backoff_ms),
    }
}

/// The value of `restart` as [`read_restart`] reads it; `None` if nothing needs to be said.
pub(crate) fn restart_value(restart: &Restart) -> Option<String> {
    let Restart { when, limit, within_s, backoff_ms } = restart;
    match *restart == (Restart { when: *when, ..Restart::NEVER }) {
        true if *when == RestartWhen::Never => None,
        true => Some(when.word().to_owned()),
        false => Some(format!(
            "{{ when: {}, limit: {limit}, within_s: {within_s}, backoff_ms: {backoff_ms} }}",
            when.word()
        )),
    }
}

/// The key `priority` of an executor: of `SCHED_FIFO`.
pub(crate) fn read_priority(reading: &mut Reading, fields: &Fields<'_>) -> Option<u8> {
    let value = reading.integer(fields.get("priority")?, "`priority`", 1..=99)?;
    u8::try_from(value).ok()
}

/// The key `affinity` of an executor: CPUs, each once.
pub(crate) fn read_affinity(reading: &mut Reading, fields: &Fields<'_>) -> Vec<u32> {
    let Some(tree) = fields.get("affinity") else { return Vec::new() };
    let mut cpus: Vec<u32> = Vec::new();
    for item in cpu_items(reading, tree) {
        let Some(cpu) = reading.integer(item, "a CPU of `affinity`", 0..=CPU_MAX) else { continue };
        let cpu = u32::try_from(cpu).unwrap_or_default();
        if cpus.contains(&cpu) {
            let message = format!("CPU {cpu} is in `affinity` twice");
            reading.note(ViolationKind::Duplicate, item.place, message, "remove one of them");
        } else {
            cpus.push(cpu);
        }
    }
    cpus
}

fn cpu_items<'t>(reading: &mut Reading, tree: &'t Tree) -> &'t [Tree] {
    let items = reading.list(tree, "`affinity`");
    if items.is_empty() && matches!(tree.data, Data::List(_)) {
        let message = "`affinity` names no CPU";
        let advice = "name one, like `[2]`, or remove it: then every CPU is allowed";
        reading.note(ViolationKind::MissingKey, tree.place, message, advice);
    }
    items
}
