//! Only computers with a certificate of the authority join: the commands and the files of
//! docs/network.md.

use crate::graphs::{Place, free_place, heard, listener, meet, reliable, say, talker, until};
use crossdock_net::Joining;
use crossdock_test_support::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with an authority of their own, and what the page says about it.
struct Authority {
    folder: PathBuf,
    page: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let name = format!("crossdock-net-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let page = std::fs::read_to_string(workspace().join("docs/network.md")).unwrap();
        Self { folder, page }
    }

    /// The page's blocks of a language.
    fn blocks(&self, language: &str) -> Vec<&str> {
        let fence = format!("```{language}\n");
        self.page.split(&fence).skip(1).filter_map(|it| it.split("\n```").next()).collect()
    }

    /// Certifies a computer of that name, which is reached as `localhost`.
    fn certify(&self, computer: &str) {
        let commands = self.blocks("sh").join("\n");
        let commands = commands.lines().filter(|command| command.starts_with("openssl "));
        let has_authority = self.folder.join("authority.pem").exists();
        for command in commands.skip(usize::from(has_authority)) {
            let command = command.replace("first.lan", "localhost").replace("first", computer);
            let run = Command::new("sh").args(["-c", &command]).current_dir(&self.folder).output();
            let run = run.unwrap();
            assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
        }
    }

    /// The page's file for a router or a client at `place`, with the certificates of `folder`.
    fn file(&self, which: usize, place: &str, folder: &Path) -> Joining {
        let text = self.blocks("json5")[which];
        let text = text.replace("tls/first.lan:7447", place);
        let mut paths = text.clone();
        for file in ["authority.pem", "first.key", "first.pem", "second.key", "second.pem"] {
            let path = format!("{:?}", folder.join(file));
            paths = paths.replace(&format!("{file:?}"), &path);
        }
        let path = folder.join(format!("{which}.json5"));
        std::fs::write(&path, paths).unwrap();
        Joining::File(path)
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // A folder that cannot be removed is no reason to fail a test that has passed.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn only_computers_with_a_certificate_of_the_authority_join() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    ours.certify("first");
    ours.certify("second");
    theirs.certify("second");
    let place = free_place().replace("tcp/127.0.0.1", "tls/localhost");
    let (left, right, outside) = (Place::new("tls-l"), Place::new("tls-r"), Place::new("tls-o"));
    let (here, there, stranger) = (left.open("here"), right.open("there"), outside.open("other"));
    let talks = talker(&here, "/chatter", reliable(100));
    let listens = listener(&there, "/chatter", reliable(100));
    let overhears = listener(&stranger, "/chatter", reliable(100));

    let router = left.try_bridge(ours.file(0, &place, &ours.folder)).unwrap();
    let _client = right.try_bridge(ours.file(1, &place, &ours.folder)).unwrap();
    meet(&talks, &[&listens]);

    // The certificate of another authority; and no certificate, over a link that is not encrypted.
    let other = outside.try_bridge(ours.file(1, &place, &theirs.folder)).unwrap();
    let plain = outside.client(&place.replace("tls/", "tcp/"));
    for (refused, says) in [(&other, "cannot be joined"), (&plain, "wants certificates")] {
        let mut told = Vec::new();
        until("it says that it does not join", || {
            told.extend(refused.take_notes());
            told.iter().any(|note| note.contains(says))
        });
        assert!(!told.iter().any(|note| note.starts_with("joined")), "{told:?}");
    }
    // Files that are not where the configuration says, as in another folder, and none of PEM.
    let elsewhere = ours.folder.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut said = ours.file(1, &place, &elsewhere);
    for says in ["cannot be read: No such file", "which has no certificate or key"] {
        let error = outside.try_bridge(said).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("authority.pem"), "{error}");
        std::fs::write(elsewhere.join("authority.pem"), "nothing\n").unwrap();
        said = ours.file(1, &place, &elsewhere);
    }
    say(&talks, "secret");
    until("it is heard where it may be", || heard(&listens).contains(&"secret".to_owned()));
    assert_eq!(heard(&overhears), Vec::<String>::new());
    assert!(router.is_alive());
}
