//! What the hosts of a run say to each other, and what follows from it.
//!
//! Each host says again and again who it is, what it has read, and how far it is. All decide by the
//! same rules, and none leads. Pure: callers say what was heard when.
//!
//! 1. A host is *here* until it has heard all others with the same graph and mapping. Then it knows
//!    the life (one start of the command) of each, and keeps to these lives: others are not heard.
//! 2. *Starting* it starts its processes. It is *ready* when they are, and see the ports of the
//!    other hosts.
//! 3. It is *running* when all are ready.
//! 4. The first end is the end of all. A host that is not heard for [`PATIENCE`] has failed; one
//!    that the network has lost, [`GONE_PATIENCE`] later.

use crate::output::clean;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How often a host says its word.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(500);

/// How long a host may say nothing: longer than a radio link that changes its station, and than a
/// router that comes back.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a host may say nothing from when it left the network on: its command was killed, or its
/// router or its link has gone and may be there again soon.
const GONE_PATIENCE: Duration = Duration::from_secs(4);

/// Of what is said. Hosts with another one do not understand each other.
const PROTOCOL: u32 = 1;

/// The longest word that is read, bytes: of a host that runs with as many as a mapping can name.
const WORD_BYTES_MAX: usize = 65_536;

/// Characters of a reason that are shown.
const REASON_CHARS_MAX: usize = 500;

/// Other hosts that are remembered, for an error.
const STRANGERS_MAX: usize = 8;

/// How far a host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    Here,
    Starting,
    Ready,
    Running,
    Ended,
}

/// Why a host has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastWord {
    pub(super) failed: bool,
    pub(super) reason: String,
}

/// What a host says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Word {
    protocol: u32,
    graph: String,
    host: String,
    /// This start of its command, a random number.
    life: u64,
    graph_hash: String,
    mapping_hash: String,
    phase: Phase,
    /// The lives of the others that it runs with; none while it is here.
    with: BTreeMap<String, u64>,
    end: Option<LastWord>,
}

/// Who a host is, and what it has read.
pub(super) struct Identity {
    pub(super) graph: String,
    pub(super) host: String,
    pub(super) life: u64,
    pub(super) graph_hash: String,
    pub(super) mapping_hash: String,
}

/// What is known of another host.
struct Other {
    word: Word,
    heard: Instant,
    /// Since when the network has lost it.
    gone: Option<Instant>,
}

impl Other {
    /// When it has failed if it goes on to say nothing.
    fn fails_at(&self) -> Instant {
        let silent = self.heard + PATIENCE;
        self.gone.map_or(silent, |gone| silent.min(gone.max(self.heard) + GONE_PATIENCE))
    }
}

/// A host's view of all hosts.
pub(super) struct Agreement {
    own: Word,
    /// `None`: not heard yet.
    others: BTreeMap<String, Option<Other>>,
    /// Hosts that are none of this run, in words.
    strangers: BTreeSet<String>,
    /// Why there can be no run.
    fault: Option<String>,
}

impl Agreement {
    pub(super) fn new(own: Identity, others: impl IntoIterator<Item = String>) -> Self {
        let Identity { graph, host, life, graph_hash, mapping_hash } = own;
        let own = Word {
            protocol: PROTOCOL,
            graph,
            host,
            life,
            graph_hash,
            mapping_hash,
            phase: Phase::Here,
            with: BTreeMap::new(),
            end: None,
        };
        let others = others.into_iter().map(|name| (name, None)).collect();
        Self { own, others, strangers: BTreeSet::new(), fault: None }
    }

    /// What this host says now.
    pub(super) fn word(&self) -> &Word {
        &self.own
    }

    /// Names of the other hosts.
    pub(super) fn others(&self) -> impl Iterator<Item = &str> {
        self.others.keys().map(String::as_str)
    }

    /// Takes what somebody has said. What is no word is left out.
    pub(super) fn hear(&mut self, text: &str, now: Instant) {
        if text.len() > WORD_BYTES_MAX {
            return;
        }
        let Ok(word) = serde_json::from_str::<Word>(text) else { return };
        if word.graph != self.own.graph {
            return self.note_stranger(format!("host `{}` of graph `{}`", word.host, word.graph));
        }
        if word.host == self.own.host {
            return self.hear_twin(&word);
        }
        if !self.others.contains_key(&word.host) {
            let name = &word.host;
            return self
                .note_stranger(format!("host `{name}`, which the mapping here does not name"));
        }
        match self.own.phase {
            Phase::Here => self.hear_before(word, now),
            _ => self.hear_partner(word, now),
        }
    }

    /// Takes which hosts the network has: one that it has lost is given up sooner.
    pub(super) fn see(&mut self, is_there: impl Fn(&str) -> bool, now: Instant) {
        for (name, other) in &mut self.others {
            if let Some(other) = other {
                other.gone = (!is_there(name)).then(|| other.gone.unwrap_or(now));
            }
        }
    }

    fn note_stranger(&mut self, words: String) {
        if self.strangers.len() < STRANGERS_MAX {
            self.strangers.insert(shown(&words));
        }
    }

    /// The older of two hosts of one name stays.
    fn hear_twin(&mut self, word: &Word) {
        let is_other = word.life != self.own.life && word.phase != Phase::Ended;
        let is_older = word.phase > Phase::Here || word.life < self.own.life;
        if self.own.phase == Phase::Here && is_other && is_older {
            self.fault = Some(format!(
                "host `{}` is there already: its command runs somewhere else on the network; end \
                 that one first, or join under another name of the mapping",
                self.own.host
            ));
        }
    }

    fn hear_before(&mut self, word: Word, now: Instant) {
        if let Some(fault) = self.difference(&word) {
            self.fault.get_or_insert(fault);
        }
        let ours = word.with.get(&self.own.host);
        if word.phase == Phase::Ended {
            let place = self.others.get_mut(&word.host);
            if let Some(place) = place
                && place.as_ref().is_some_and(|it| it.word.life == word.life)
            {
                *place = None;
            }
        } else if word.phase > Phase::Here && ours != Some(&self.own.life) {
            self.fault.get_or_insert(format!(
                "host `{}` runs already, with an earlier start of host `{}`; end that run there, or \
                 start again when it has ended ({} s after the earlier one)",
                word.host,
                self.own.host,
                PATIENCE.as_secs()
            ));
        } else {
            self.others.insert(word.host.clone(), Some(Other { word, heard: now, gone: None }));
        }
    }

    /// What differs from what was read here.
    fn difference(&self, word: &Word) -> Option<String> {
        let (host, own) = (&word.host, &self.own);
        if word.protocol != own.protocol {
            return Some(format!(
                "host `{host}` has another version of crossdock (protocol of hosts {} there, {} \
                 here); install the same one",
                word.protocol, own.protocol
            ));
        }
        let (what, theirs, ours, advice) = if word.graph_hash != own.graph_hash {
            let advice = "copy the graph file and the files that it includes, and give all commands \
                          the same parameters and arguments of the graph";
            ("graph", &word.graph_hash, &own.graph_hash, advice)
        } else if word.mapping_hash != own.mapping_hash {
            let advice = "copy the mapping file";
            ("mapping", &word.mapping_hash, &own.mapping_hash, advice)
        } else {
            return None;
        };
        Some(format!(
            "host `{host}` has another {what} than host `{}` (hash {} there, {} here); {advice}",
            own.host,
            shown(theirs),
            ours
        ))
    }

    /// Only the lives that the run began with count.
    fn hear_partner(&mut self, word: Word, now: Instant) {
        if self.own.with.get(&word.host) != Some(&word.life) {
            return;
        }
        if let Some(Some(other)) = self.others.get_mut(&word.host) {
            // What is late on its way takes nothing back.
            other.heard = now;
            if word.phase >= other.word.phase {
                other.word = word;
            }
        }
    }

    /// Whether all hosts are here, and this one is starting from now on.
    ///
    /// # Errors
    /// There can be no run, a sentence.
    pub(super) fn meet(&mut self, now: Instant) -> Result<bool, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if self.own.phase != Phase::Here {
            return Ok(true);
        }
        if !self.missing(now).is_empty() {
            return Ok(false);
        }
        let lives = self
            .others
            .iter()
            .filter_map(|(name, other)| Some((name.clone(), other.as_ref()?.word.life)));
        self.own.with = lives.collect();
        self.own.phase = Phase::Starting;
        Ok(true)
    }

    /// Hosts that are not here.
    pub(super) fn missing(&self, now: Instant) -> Vec<&str> {
        let missing = self.others.iter().filter(|(_, other)| !other.is_heard(now));
        missing.map(|(name, _)| name.as_str()).collect()
    }

    /// What else was heard than the hosts that are missing; empty: nothing.
    pub(super) fn heard_instead(&self) -> String {
        let strangers: Vec<&str> = self.strangers.iter().map(String::as_str).collect();
        strangers.join(", ")
    }

    /// This host is ready.
    pub(super) fn be_ready(&mut self) {
        self.own.phase = self.own.phase.max(Phase::Ready);
    }

    /// Whether all hosts are ready, and this one is running from now on.
    pub(super) fn may_run(&mut self) -> bool {
        let are_ready =
            self.others.values().flatten().all(|other| other.word.phase >= Phase::Ready);
        if self.own.phase == Phase::Ready && are_ready {
            self.own.phase = Phase::Running;
        }
        self.own.phase == Phase::Running
    }

    /// Hosts that are not ready.
    pub(super) fn not_ready(&self) -> Vec<&str> {
        let others = self.others.iter();
        let waits = others.filter(|(_, other)| {
            other.as_ref().is_none_or(|other| other.word.phase < Phase::Ready)
        });
        waits.map(|(name, _)| name.as_str()).collect()
    }

    /// What ends the run, of those that this host runs with.
    pub(super) fn end(&self, now: Instant) -> Option<LastWord> {
        if matches!(self.own.phase, Phase::Here | Phase::Ended) {
            return None;
        }
        let told = self.others.iter().find_map(|(name, other)| {
            let end = other.as_ref()?.word.end.as_ref()?;
            let how = if end.failed { "has failed" } else { "has ended" };
            let reason = format!("host `{name}` {how}: {}", shown(&end.reason));
            Some(LastWord { failed: end.failed, reason })
        });
        let silent = || {
            let name = self.missing(now).into_iter().next()?;
            let other = self.others.get(name)?.as_ref()?;
            let left = if other.gone.is_some() { "has left the network and " } else { "" };
            let seconds = now.saturating_duration_since(other.heard).as_secs();
            let reason = format!(
                "host `{name}` {left}has said nothing for {seconds} s; look at its command there, \
                 and at the network between"
            );
            Some(LastWord { failed: true, reason })
        };
        told.or_else(silent)
    }

    /// When [`Self::end`] is to be asked again, if nothing is heard.
    pub(super) fn silence(&self) -> Option<Instant> {
        self.others.values().flatten().map(Other::fails_at).min()
    }

    /// This host has ended; the first reason stays.
    pub(super) fn leave(&mut self, end: LastWord) {
        self.own.phase = Phase::Ended;
        self.own.end.get_or_insert(end);
    }

    /// Whether a run has begun with all others.
    pub(super) fn has_met(&self) -> bool {
        self.others.len() == self.own.with.len()
    }

    /// Whether all that this host runs with have heard that it has ended: they have ended, too.
    pub(super) fn is_heard_out(&self, now: Instant) -> bool {
        let with = self.others.iter().filter(|(name, _)| self.own.with.contains_key(*name));
        with.map(|(_, other)| other).all(|other| {
            let has_ended = |it: &Other| it.word.phase == Phase::Ended;
            !other.is_heard(now) || other.as_ref().is_some_and(has_ended)
        })
    }
}

/// Whether a host was heard lately.
trait IsHeard {
    fn is_heard(&self, now: Instant) -> bool;
}

impl IsHeard for Option<Other> {
    fn is_heard(&self, now: Instant) -> bool {
        self.as_ref().is_some_and(|it| now < it.fails_at())
    }
}

/// Another host's words, on one line and cut to what an error can hold.
fn shown(text: &str) -> String {
    clean(&text.chars().take(REASON_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAR: &str = "car";
    const DESK: &str = "desk";

    fn host(name: &str, others: &[&str], life: u64) -> Agreement {
        let own = Identity {
            graph: "course".into(),
            host: name.into(),
            life,
            graph_hash: "a".into(),
            mapping_hash: "b".into(),
        };
        Agreement::new(own, others.iter().map(|name| (*name).to_owned()))
    }

    fn pair() -> (Agreement, Agreement) {
        (host(CAR, &[DESK], 1), host(DESK, &[CAR], 2))
    }

    fn text(host: &Agreement) -> String {
        serde_json::to_string(host.word()).unwrap()
    }

    /// Both hear each other once.
    fn talk(left: &mut Agreement, right: &mut Agreement, now: Instant) {
        let (to_right, to_left) = (text(left), text(right));
        left.hear(&to_left, now);
        right.hear(&to_right, now);
    }

    /// Both are running.
    fn running(now: Instant) -> (Agreement, Agreement) {
        let (mut car, mut desk) = pair();
        talk(&mut car, &mut desk, now);
        assert!(car.meet(now).unwrap() && desk.meet(now).unwrap());
        car.be_ready();
        talk(&mut car, &mut desk, now);
        assert!(!car.may_run(), "the desk is not ready");
        assert_eq!(car.not_ready(), [DESK]);
        desk.be_ready();
        talk(&mut car, &mut desk, now);
        assert!(car.may_run() && desk.may_run());
        talk(&mut car, &mut desk, now);
        (car, desk)
    }

    #[test]
    fn a_reason_of_another_host_is_one_line_of_limited_length() {
        let now = Instant::now();
        let (car, mut desk) = running(now);
        let mut word = car.word().clone();
        let reason = format!("\u{1b}[2J\nerror: {}", "x".repeat(2 * REASON_CHARS_MAX));
        (word.phase, word.end) = (Phase::Ended, Some(LastWord { failed: true, reason }));
        desk.hear(&serde_json::to_string(&word).unwrap(), now);
        let end = desk.end(now).unwrap();
        assert!(end.failed && !end.reason.contains(char::is_control), "{:?}", end.reason);
        assert!(end.reason.chars().count() < REASON_CHARS_MAX + 100);
    }

    #[test]
    fn a_host_waits_for_all_others_and_names_those_that_are_missing() {
        let now = Instant::now();
        let (mut car, mut desk) = (host(CAR, &[DESK, "lab"], 1), host(DESK, &[CAR, "lab"], 2));
        talk(&mut car, &mut desk, now);
        assert_eq!(car.meet(now), Ok(false));
        assert_eq!(car.missing(now), ["lab"]);
        car.hear(&text(&host("lab", &[CAR, DESK], 3)), now);
        assert_eq!(car.meet(now), Ok(true));
        let later = now + PATIENCE;
        assert_eq!(desk.missing(later), [CAR, "lab"], "one that has fallen silent is not here");
    }

    #[test]
    fn another_graph_or_mapping_is_an_error_on_both_sides() {
        let now = Instant::now();
        for (graph, mapping, what) in [("x", "b", "another graph"), ("a", "x", "another mapping")] {
            let (mut car, mut desk) = pair();
            (desk.own.graph_hash, desk.own.mapping_hash) = (graph.into(), mapping.into());
            talk(&mut car, &mut desk, now);
            let told = [car.meet(now).unwrap_err(), desk.meet(now).unwrap_err()];
            assert!(told.iter().all(|it| it.contains(what) && it.contains("copy")), "{told:?}");
            // One that has left at once is understood, too.
            let (mut car, _) = pair();
            desk.leave(LastWord { failed: true, reason: told[1].clone() });
            car.hear(&text(&desk), now);
            assert!(car.meet(now).unwrap_err().contains(what));
        }
        let (mut car, mut desk) = pair();
        desk.own.protocol = 2;
        talk(&mut car, &mut desk, now);
        assert!(car.meet(now).unwrap_err().contains("another version"));
    }

    #[test]
    fn the_first_end_is_the_end_of_all_and_is_heard_out() {
        let now = Instant::now();
        let (mut car, mut desk) = running(now);
        assert_eq!(car.end(now), None);
        desk.leave(LastWord { failed: false, reason: "interrupted".into() });
        desk.leave(LastWord { failed: true, reason: "later".into() });
        assert!(!desk.is_heard_out(now));
        talk(&mut car, &mut desk, now);
        let end = car.end(now).unwrap();
        assert_eq!(end.reason, "host `desk` has ended: interrupted");
        assert!(!end.failed);
        car.leave(end);
        talk(&mut car, &mut desk, now);
        assert!(car.is_heard_out(now) && desk.is_heard_out(now));
    }

    #[test]
    fn a_host_that_falls_silent_fails_the_run_and_a_late_word_does_not() {
        let now = Instant::now();
        let (mut car, mut desk) = running(now);
        let old = Word { phase: Phase::Starting, ..desk.word().clone() };
        let later = now + PATIENCE / 2;
        car.hear(&serde_json::to_string(&old).unwrap(), later);
        assert_eq!(car.silence(), Some(later + PATIENCE));
        assert_eq!(car.end(now + PATIENCE), None);
        let end = car.end(later + PATIENCE).unwrap();
        assert!(end.failed && end.reason.contains("`desk` has said nothing"), "{end:?}");
        // It has nobody to wait for at its own end.
        car.leave(end);
        assert!(car.is_heard_out(later + PATIENCE));
        desk.be_ready();
        assert_eq!(desk.word().phase, Phase::Running, "ready is not said again");
    }

    #[test]
    fn a_host_that_the_network_has_lost_is_given_up_sooner_unless_it_comes_back() {
        let now = Instant::now();
        let (mut car, desk) = running(now);
        // A link that took nothing was closed.
        let left = now + Duration::from_secs(5);
        car.see(|name| name != DESK, left);
        car.see(|name| name != DESK, left + HEARTBEAT);
        assert_eq!(car.silence(), Some(left + GONE_PATIENCE));
        assert_eq!(car.end(left + GONE_PATIENCE / 2), None);
        let end = car.end(left + GONE_PATIENCE).unwrap();
        assert!(end.failed && end.reason.contains("`desk` has left the network"), "{end:?}");
        car.see(|_| true, left + GONE_PATIENCE);
        assert_eq!(car.end(left + GONE_PATIENCE), None);
        let again = now + PATIENCE - HEARTBEAT;
        car.see(|_| false, again);
        assert_eq!(car.silence(), Some(now + PATIENCE), "no later than one that is silent");
        car.hear(&text(&desk), again + GONE_PATIENCE);
        assert_eq!(car.end(again + GONE_PATIENCE), None, "it says something");
    }

    #[test]
    fn another_start_of_a_host_does_not_take_part_in_a_run() {
        let now = Instant::now();
        let (mut car, desk) = running(now);
        let mut again = host(DESK, &[CAR], 7);
        talk(&mut car, &mut again, now);
        assert!(again.meet(now).unwrap_err().contains("runs already"));
        again.leave(LastWord { failed: true, reason: "no".into() });
        car.hear(&text(&again), now);
        assert_eq!(car.end(now), None);
        // The one that runs stays, and the new one gives way.
        let mut twin = host(DESK, &[CAR], 1);
        twin.hear(&text(&desk), now);
        assert!(twin.meet(now).unwrap_err().contains("is there already"));
        // Of two that are here, one stays.
        let (mut first, mut second) = (host(DESK, &[CAR], 4), host(DESK, &[CAR], 5));
        talk(&mut first, &mut second, now);
        assert!(first.meet(now).is_ok() && second.meet(now).is_err());
    }

    #[test]
    fn one_that_left_before_the_run_is_missing_and_may_come_again() {
        let now = Instant::now();
        let (mut car, mut desk) = (host(CAR, &[DESK, "lab"], 1), host(DESK, &[CAR, "lab"], 2));
        talk(&mut car, &mut desk, now);
        desk.leave(LastWord { failed: false, reason: "interrupted".into() });
        car.hear(&text(&desk), now);
        assert_eq!(car.missing(now), [DESK, "lab"]);
        car.hear(&text(&host(DESK, &[CAR, "lab"], 3)), now);
        assert_eq!(car.missing(now), ["lab"]);
    }

    #[test]
    fn what_is_no_word_or_of_others_is_left_out_and_told_if_a_host_is_missing() {
        let now = Instant::now();
        let (mut car, desk) = pair();
        let long = format!("{}{}", text(&desk), " ".repeat(WORD_BYTES_MAX));
        for text in ["", "{}", "[", "\0", long.as_str()] {
            car.hear(text, now);
        }
        assert_eq!((car.missing(now), car.heard_instead()), (vec![DESK], String::new()));
        let mut other = host(DESK, &[CAR], 9);
        other.own.graph = "highway".into();
        car.hear(&text(&other), now);
        for number in 0..100 {
            car.hear(&text(&host(&format!("dekc{number}"), &[CAR], 9)), now);
        }
        assert_eq!(car.meet(now), Ok(false));
        let told = car.heard_instead();
        assert!(told.contains("host `desk` of graph `highway`"), "{told}");
        assert!(told.contains("`dekc0`, which the mapping here does not name"), "{told}");
        assert!(told.len() < 800, "{told}");
    }
}
