//! The trace of a run: recorded all the time, or kept by the processes and written at each failure.

use super::{End, LAUNCHER, observer_options};
use crate::arguments::RunArguments;
use crate::output::sentence;
use crate::trace::recording::{Attached, Recording, write_kept};
use anyhow::{Context, Result, bail};
use crossdock_comm::Observer;
use crossdock_trace::Events;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Deaths whose last events are written: a process that dies every second shall not fill the disk.
const DEATHS_MAX: u32 = 32;

/// The folder of a failure of a node whose process did not die.
const END: &str = "end";

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
    Kept(Kept),
}

/// Processes that keep their last events.
struct Kept {
    observer: Observer,
    attached: Attached,
    /// Deaths of each process so far.
    deaths: BTreeMap<String, u32>,
    /// The death that has ended the run is written.
    is_end_written: bool,
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
            let (deaths, is_end_written) = (BTreeMap::new(), false);
            Stage::Kept(Kept { observer, attached, deaths, is_end_written })
        };
        Ok(unreachable.into_iter().map(missing).collect())
    }

    /// Processes have died, and perhaps the last death ends the run: writes the last events of all,
    /// once for each death. Gives sentences on it.
    pub(super) fn note_deaths(&mut self, dead: &[(String, u32)], end: Option<&End>) -> Vec<String> {
        let Stage::Kept(kept) = &mut self.stage else { return Vec::new() };
        if dead.is_empty() {
            return Vec::new();
        }
        kept.is_end_written = matches!(end, Some(End::Failed(_)));
        let mut notes = Vec::new();
        for (process, pid) in dead {
            let life = kept.deaths.entry(process.clone()).or_default();
            *life += 1;
            let folder = self.folder.join(format!("{process}.{life}"));
            let deaths: u32 = kept.deaths.values().sum();
            if deaths <= DEATHS_MAX {
                notes.extend(written(&mut kept.attached, &folder));
            } else if deaths == DEATHS_MAX + 1 {
                notes.push(format!(
                    "the last events of {DEATHS_MAX} deaths are written; events of later deaths are not"
                ));
            }
            // It traces nothing any more, and another process takes its place.
            kept.attached.views.retain(|view| view.pid() != *pid);
        }
        notes
    }

    /// A process was started again and its nodes have not begun.
    pub(super) fn join(&mut self, pid: u32) -> Result<Vec<String>> {
        let Stage::Kept(kept) = &mut self.stage else { return Ok(Vec::new()) };
        let attached = Attached::to(&mut kept.observer, |it| it.pid == pid)?;
        attached.trace(self.events);
        // That others do not answer is nothing new.
        let unreachable = attached.unreachable.into_iter().filter(|_| attached.views.is_empty());
        let notes = unreachable.map(missing).collect();
        kept.attached.views.extend(attached.views);
        Ok(notes)
    }

    /// After the processes have ended: writes what is to be written. Gives sentences on it.
    pub(super) fn close(self, end: &End) -> Result<Vec<String>> {
        let recorded = match self.stage {
            Stage::Waiting if self.always || matches!(end, End::Failed(_)) => {
                return Ok(vec!["nothing was traced: the run ended before its start".to_owned()]);
            }
            Stage::Recording(recording) => recording.finish()?,
            Stage::Kept(mut kept) if matches!(end, End::Failed(_)) && !kept.is_end_written => {
                return Ok(written(&mut kept.attached, &self.folder.join(END)));
            }
            Stage::Kept(_) | Stage::Waiting => return Ok(Vec::new()),
        };
        let mut notes = vec![recorded.sentence()];
        notes.extend(recorded.notes);
        Ok(notes)
    }
}

fn missing(reason: String) -> String {
    format!("a process is missing in the trace: {reason}")
}

/// Writes the last events of all processes to a folder, and says so, or why not.
fn written(attached: &mut Attached, folder: &Path) -> Vec<String> {
    match write_kept(attached, folder) {
        Ok(recorded) => [vec![recorded.sentence()], recorded.notes].concat(),
        Err(error) => vec![format!("the last events are not written: {}", sentence(&error))],
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
