//! Two bridges in one graph.

use crate::graphs::{Place, free_place, hear, heard, listener, meet, reliable, say, talker, until};

#[test]
fn two_bridges_in_one_graph_carry_nothing_twice_and_one_follows_the_other() {
    let (left, right, place) = (Place::new("twin-left"), Place::new("twin-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let _router = left.router(&place);
    let first = right.client(&place);
    let talks = talker(&here, "/chatter", reliable(100));
    let listens = listener(&there, "/chatter", reliable(100));
    meet(&talks, &[&listens]);
    let second = right.client(&place);
    until("the second one says that it stands by", || {
        second.take_notes().iter().any(|note| note.ends_with("this one stands by"))
    });
    let texts: Vec<String> = (0..50).map(|number| format!("message {number}")).collect();
    for text in &texts {
        say(&talks, text);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(hear(&listens, 50), texts);
    assert!(heard(&listens).is_empty());
    assert_eq!(second.counters().taken, 0, "it stands by");

    drop(first);
    meet(&talks, &[&listens]);
    say(&talks, "once");
    assert_eq!(hear(&listens, 1), ["once"]);
    assert!(second.counters().taken > 0);
}
