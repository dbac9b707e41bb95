//! The trace of a run: recorded all the time, or kept by the processes and written if they fail.
//! It must not know how events are kept.

use super::{End, LAUNCHER, observer_options};
use crate::arguments::RunArguments;
use crate::trace::recording::{Attached, Recording, write_kept};
use anyhow::{Context, Result, bail};
use crossdock_comm::Observer;
use crossdock_trace::Events;
use std::path::{Path, PathBuf};

/// What the user wants traced; attached once the processes stand.
pub(super) struct Tracing {
    folder: PathBuf,
    events: Events,
    always: bool,
    stage: Stage,
}

enum Stage {
    /// The processes do not stand yet.
    Waiting,
    /// All that happens is written.
    Recording(Recording),
    /// Each thread keeps its last events.
    Kept(Attached),
}

impl Tracing {
    /// What the command line asks for. Fails before anything runs where it cannot be had.
    pub(super) fn wanted(arguments: &RunArguments) -> Result<Option<Self>> {
        let events = crate::trace::events(&arguments.trace_events).context("--trace-events")?;
        let (option, folder) = match (&arguments.trace, &arguments.trace_on_failure) {
            (Some(folder), _) => ("--trace", folder),
            (None, Some(folder)) => ("--trace-on-failure", folder),
            (None, None) if arguments.trace_events.is_empty() => return Ok(None),
            (None, None) => {
                bail!("--trace-events needs --trace FOLDER or --trace-on-failure FOLDER")
            }
        };
        must_be_free(folder).context(option)?;
        let (folder, always) = (folder.clone(), arguments.trace.is_some());
        Ok(Some(Self { folder, events, always, stage: Stage::Waiting }))
    }

    /// Attaches to the processes with these ids and the launcher itself, before they begin.
    pub(super) fn begin(&mut self, domain_id: u32, pids: &[u32]) -> Result<Vec<String>> {
        let mut observer = Observer::open(observer_options(domain_id, LAUNCHER))?;
        let own = std::process::id();
        let mut attached =
            Attached::to(&mut observer, |it| it.pid == own || pids.contains(&it.pid))?;
        let unreachable = std::mem::take(&mut attached.unreachable);
        self.stage = if self.always {
            Stage::Recording(Recording::start(attached, self.events, &self.folder)?)
        } else {
            attached.trace(self.events);
            Stage::Kept(attached)
        };
        let note = |reason: String| format!("a process is missing in the trace: {reason}");
        Ok(unreachable.into_iter().map(note).collect())
    }

    /// After the processes have ended: writes what is to be written. Gives sentences on it.
    pub(super) fn close(self, end: &End) -> Result<Vec<String>> {
        let recorded = match self.stage {
            Stage::Waiting if self.always || matches!(end, End::Failed(_)) => {
                return Ok(vec!["nothing was traced: the run ended before its start".to_owned()]);
            }
            Stage::Recording(recording) => recording.finish()?,
            Stage::Kept(attached) if matches!(end, End::Failed(_)) => {
                write_kept(attached, &self.folder)?
            }
            Stage::Kept(_) | Stage::Waiting => return Ok(Vec::new()),
        };
        let mut notes = vec![recorded.sentence()];
        notes.extend(recorded.notes);
        Ok(notes)
    }
}

/// Fails when there is something in the folder already.
fn must_be_free(folder: &Path) -> Result<()> {
    let occupied = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            bail!("{} is a file; name a new folder for the trace", folder.display())
        }
        // Made when it is needed; a folder that cannot be made is told then.
        Err(_) => false,
    };
    if occupied {
        bail!("{} is not empty; name a new folder for the trace", folder.display());
    }
    Ok(())
}
