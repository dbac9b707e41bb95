//! Where a test and the command that it runs meet.

use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A folder of the test's own, in which both sides meet.
pub(crate) struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xd-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// A file of the folder, which commands run in.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A participant of the test.
    pub(crate) fn participant(&self, name: &str) -> Participant {
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(self.0.join("crossdock")),
            ..ParticipantOptions::new(0, name)
        };
        Participant::open(options).expect("a participant")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", &self.0).env_remove("ROS_DOMAIN_ID");
        command
    }

    pub(crate) fn crossdock(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("crossdock starts")
    }

    /// The standard output of a command that must succeed.
    pub(crate) fn said(&self, arguments: &[&str]) -> String {
        let output = self.crossdock(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// What a command says that must fail.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.crossdock(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    }
}

/// A program that ends with the test, however the test ends.
pub(crate) struct Program(Option<Child>);

impl Program {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(Some(command.spawn().expect("crossdock starts")))
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it was not waited for")
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Output {
        let child = self.0.take().expect("it was not waited for");
        child.wait_with_output().expect("it ends")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a program says this on standard error.
pub(crate) fn wait_for(child: &mut Child, words: &str) {
    let mut errors = child.stderr.take().expect("its errors are read");
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.contains(words) {
        assert_eq!(errors.read(&mut byte).expect("it runs"), 1, "it ended: {text}");
        text.push(char::from(byte[0]));
    }
    child.stderr = Some(errors);
}
