//! Traces of other users' processes: they are read of who is trusted.
//!
//! These tests need root; elsewhere they are skipped, and counted as skipped.

use crate::common;

use common::child::{hear, role, tell};
use common::users::{Shared, Users, is_root, join};
use crossdock_comm::{ObserveError, Observer, ObserverOptions, Rendezvous, TrustedNames};

/// The user `daemon`, which every machine has.
const DAEMON: u32 = 1;

#[test]
fn a_strangers_trace_is_left_out_with_a_word_on_how_to_include_it() {
    let test = "strangers_traces::a_strangers_trace_is_left_out_with_a_word_on_how_to_include_it";
    if role().is_some() {
        let _participant = join("flood");
        tell("there");
        return while hear().is_some() {};
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("traces", Users::Two);
    let own = shared.open("own");
    let mut child = shared.start_as(test, "flood", DAEMON);
    child.expect("there");
    for trusted in ["", "daemon"] {
        let options = ObserverOptions {
            rendezvous: Rendezvous::Folder(shared.place.0.clone()),
            access: shared.access,
            ..ObserverOptions::new(0, "observer")
        };
        let mut observer = Observer::trusting(options, &TrustedNames::parse(trusted)).unwrap();
        let processes = observer.snapshot().unwrap().processes;
        assert_eq!(processes.len(), 2);
        for process in processes {
            let trace = observer.trace(process.name);
            if process.name == own.peer_name() || trusted == "daemon" {
                assert_eq!(trace.unwrap().pid(), process.pid);
                continue;
            }
            let error = trace.unwrap_err();
            assert!(matches!(error, ObserveError::Untrusted { user: DAEMON, .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("`flood`") && text.contains("CROSSDOCK_TRUST"), "{text}");
        }
    }
    child.finish();
}
