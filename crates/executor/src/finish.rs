//! The end of a run that a node has asked for: asked, under way, reported.

/// How far the end has come.
#[derive(Debug, Default)]
pub(crate) struct Finish {
    state: State,
    /// Messages from outside that may still be taken: what can have been in flight.
    budget: usize,
    /// The launcher lets the run come to rest: nothing new begins.
    draining: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Running,
    /// A node has asked just now.
    Asked(String),
    /// What is in flight is being done.
    Draining(String),
    Reported,
}

impl Finish {
    /// A node asks for the end. The first reason counts.
    pub(crate) fn ask(&mut self, reason: String) {
        if matches!(self.state, State::Running) {
            self.state = State::Asked(reason);
        }
    }

    /// Whether a node has just asked.
    #[inline]
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.state, State::Asked(_))
    }

    /// Whether a node has asked, now or earlier, or the run comes to rest.
    pub(crate) fn has_begun(&self) -> bool {
        self.draining || !matches!(self.state, State::Running)
    }

    /// Nothing new shall begin, although no node has asked for the end. True the first time.
    pub(crate) fn drain(&mut self) -> bool {
        !std::mem::replace(&mut self.draining, true)
    }

    /// From now on at most `budget` messages from outside are taken until the report.
    pub(crate) fn begin(&mut self, budget: usize) {
        if let State::Asked(reason) = std::mem::take(&mut self.state) {
            self.state = State::Draining(reason);
            self.budget = budget;
        }
    }

    /// Whether no further message from outside may be taken before the report.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.budget == 0 && matches!(self.state, State::Draining(_))
    }

    /// A message from outside has been taken.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.budget = self.budget.saturating_sub(1);
    }

    /// Everything in flight is done: the reason, once.
    pub(crate) fn report(&mut self) -> Option<String> {
        match std::mem::replace(&mut self.state, State::Reported) {
            State::Draining(reason) => Some(reason),
            other => {
                self.state = other;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_is_reported_once_and_after_the_budget_at_the_latest() {
        let mut finish = Finish::default();
        assert_eq!(finish.report(), None);
        finish.ask("three laps".to_owned());
        finish.ask("four laps".to_owned());
        assert!(finish.is_new());
        finish.begin(1);
        assert!(!finish.is_new() && !finish.is_exhausted());
        finish.count();
        assert!(finish.is_exhausted());
        assert_eq!(finish.report().as_deref(), Some("three laps"));
        assert!(!finish.is_exhausted());
        finish.ask("again".to_owned());
        assert_eq!(finish.report(), None);
    }
}
