//! Quality of service as liveliness tokens have it:
//! `reliability:durability:history,depth:deadline:lifespan:liveliness,lease`.
//!
//! Policies have the numbers of ROS 2's enums, durations are seconds and nanoseconds with a comma.
//! What is left out has rmw_zenoh's default: reliable, volatile, keep last 42, no limits of time.

use super::{NumberError, number, shown};
use crossdock_comm::qos::{DEPTH_MAX, INFINITE, limit};
use crossdock_comm::{Durability, History, Liveliness, Qos};
use std::time::Duration;

/// The depth that is left out.
const DEPTH_DEFAULT: usize = 42;

/// How long a publisher here, which stands for a remote one that keeps all messages, waits for a
/// local subscriber that is behind. The link's own flow control waits meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

const BEST_EFFORT: &str = "2";
const TRANSIENT_LOCAL: &str = "1";
const KEEP_ALL: &str = "2";
const MANUAL_BY_TOPIC: &str = "3";

/// A text is no quality of service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QosError {
    /// It has another number of parts.
    #[error(
        "`{0}` is no quality of service: `reliability:durability:history,depth` and, if at all, \
         `:deadline:lifespan:liveliness,lease` are expected"
    )]
    Form(String),
    /// A policy has a number that ROS 2 does not have.
    #[error("{policy} `{value}` is none that ROS 2 has")]
    Policy {
        /// Which policy.
        policy: &'static str,
        /// The number.
        value: String,
    },
    /// A depth or a duration is no number.
    #[error(transparent)]
    Number(#[from] NumberError),
}

/// The text of what a port of ours offers or requests.
#[must_use]
pub fn qos_text(qos: &Qos) -> String {
    let reliability = if qos.is_reliable() { "" } else { BEST_EFFORT };
    let durability = if qos.is_transient_local() { TRANSIENT_LOCAL } else { "" };
    let history = if qos.keeps_all() { KEEP_ALL } else { "" };
    let depth = match qos.depth {
        DEPTH_DEFAULT => String::new(),
        depth => depth.to_string(),
    };
    let by_topic = qos.liveliness == Liveliness::ManualByTopic;
    let liveliness = if by_topic { MANUAL_BY_TOPIC } else { "" };
    let [deadline, lifespan, lease] = [qos.deadline, qos.lifespan, qos.lease].map(duration_text);
    format!(
        "{reliability}:{durability}:{history},{depth}:{deadline}:{lifespan}:{liveliness},{lease}"
    )
}

/// Both numbers, or none: an end that leaves each out by itself reads them, too.
fn duration_text(duration: Duration) -> String {
    match limit(duration) {
        Some(duration) => format!("{},{}", duration.as_secs(), duration.subsec_nanos()),
        None => ",".to_owned(),
    }
}

/// Reads the text. A depth that is more than a port here can have becomes the largest one.
///
/// # Errors
/// [`QosError`] says what is wrong.
pub fn qos_of_text(text: &str) -> Result<Qos, QosError> {
    let wrong = || QosError::Form(shown(text));
    let parts: Vec<&str> = text.split(':').collect();
    let (head, times) = match parts[..] {
        [_, _, _] => (&parts[..], None),
        [_, _, _, deadline, lifespan, liveliness] => {
            (&parts[..3], Some((deadline, lifespan, liveliness)))
        }
        _ => return Err(wrong()),
    };
    let policy = |policy, value: &str| QosError::Policy { policy, value: shown(value) };
    let is_reliable = match head[0] {
        "" | "0" | "1" => true,
        BEST_EFFORT => false,
        other => return Err(policy("reliability", other)),
    };
    let durability = match head[1] {
        "" | "0" | "2" => Durability::Volatile,
        TRANSIENT_LOCAL => Durability::TransientLocal,
        other => return Err(policy("durability", other)),
    };
    let (history, depth) = head[2].split_once(',').ok_or_else(wrong)?;
    let depth = if depth.is_empty() { 0 } else { number::<usize>(depth, u64::MAX)? };
    let depth = if depth == 0 { DEPTH_DEFAULT } else { depth.min(DEPTH_MAX) };
    let history = match history {
        "" | "0" | "1" => History::KeepLast,
        KEEP_ALL => History::KeepAll,
        other => return Err(policy("history", other)),
    };
    let qos = if is_reliable { Qos::reliable(depth, PATIENCE) } else { Qos::best_effort(depth) };
    let qos = Qos { durability, ..qos };
    let qos = match history {
        History::KeepLast => qos.overwriting(),
        History::KeepAll => qos.keep_all(),
    };
    let Some((deadline, lifespan, liveliness)) = times else { return Ok(qos) };
    let (kind, lease) = liveliness.split_once(',').ok_or_else(wrong)?;
    let liveliness = match kind {
        // By node: no longer a part of ROS 2, and automatic for everybody else.
        "" | "0" | "1" | "2" => Liveliness::Automatic,
        MANUAL_BY_TOPIC => Liveliness::ManualByTopic,
        other => return Err(policy("liveliness", other)),
    };
    let duration = |text: &str| duration_of_text(text).ok_or_else(wrong)?.map_err(QosError::from);
    let (deadline, lifespan, lease) = (duration(deadline)?, duration(lifespan)?, duration(lease)?);
    Ok(Qos { deadline, lifespan, liveliness, lease, ..qos })
}

/// `None`: it has another form.
fn duration_of_text(text: &str) -> Option<Result<Duration, NumberError>> {
    let (seconds, nanoseconds) = text.split_once(',')?;
    if text == "," {
        return Some(Ok(INFINITE));
    }
    let part = |text: &str, max| if text.is_empty() { Ok(0) } else { number::<u64>(text, max) };
    Some(part(seconds, u64::MAX).and_then(|seconds| {
        let nanoseconds = part(nanoseconds, 999_999_999)?;
        let duration = Duration::new(seconds, nanoseconds as u32);
        Ok(limit(duration).unwrap_or(INFINITE))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_the_defaults_of_rmw_zenoh() {
        let default = Qos::reliable(42, PATIENCE).overwriting();
        for text in
            ["::,", "::,:,:,:,,", "1:2:1,42:,:,:1,,", "0:0:0,0", "::,00", "::,42:0,0:0,0:0,0,0"]
        {
            assert_eq!(qos_of_text(text), Ok(default), "{text}");
        }
        assert_eq!(qos_text(&default), "::,:,:,:,,");
        let unlimited = "::,:9223372036,854775807:9223372036,854775807:,9223372036,854775807";
        assert_eq!(qos_of_text(unlimited), Ok(default));
    }

    #[test]
    fn policies_go_both_ways() {
        let second = Duration::from_secs(1);
        let half = Duration::from_millis(1500);
        let cases = [
            (Qos::reliable(7, PATIENCE).overwriting(), "::,7:,:,:,,"),
            (Qos::best_effort(5).overwriting(), "2::,5:,:,:,,"),
            (Qos::reliable(1, PATIENCE).overwriting().transient_local(), ":1:,1:,:,:,,"),
            (Qos::reliable(10, PATIENCE).keep_all(), "::2,1000:,:,:,,"),
            (Qos::best_effort(5).overwriting().deadline(second), "2::,5:1,0:,:,,"),
            (Qos::best_effort(5).overwriting().lifespan(half), "2::,5:,:1,500000000:,,"),
            (
                Qos::best_effort(5).overwriting().liveliness(Liveliness::ManualByTopic, half),
                "2::,5:,:,:3,1,500000000",
            ),
        ];
        for (qos, text) in cases {
            assert_eq!(qos_text(&qos), text);
            assert_eq!(qos_of_text(text), Ok(qos), "{text}");
        }
    }

    #[test]
    fn each_number_of_a_duration_may_be_left_out() {
        let qos = qos_of_text("::,10:,5000000:3,:,,").unwrap();
        assert_eq!(qos.deadline, Duration::from_millis(5));
        assert_eq!(qos.lifespan, Duration::from_secs(3));
    }

    #[test]
    fn a_depth_beyond_ours_becomes_the_largest() {
        assert_eq!(qos_of_text("::,18446744073709551615").unwrap().depth, DEPTH_MAX);
    }

    #[test]
    fn other_texts_are_errors() {
        for text in [
            "",
            ":",
            "::",
            "::10",
            "3::,10",
            ":3:,10",
            "::4,10",
            "::,-1",
            "::,1e3",
            "::,99999999999999999999999",
            "::,10:,:,",
            "::,10:x,:,:,,",
            "::,10:,:,:9,,",
            "::,10:,1000000000:,:,,",
            "::,10:::,,",
            "::,10:,:,:,,:",
        ] {
            assert!(qos_of_text(text).is_err(), "{text}");
        }
    }
}
