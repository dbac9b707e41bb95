//! What the commands for users of ROS 2 take.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum RosCommand {
    /// Print the variables with which nodes of ROS 2 use Crossdock: eval "$(crossdock ros env)"
    Env(PluginArguments),
    /// Say why nodes of ROS 2 do not see each other, and what to do
    Check(RosCheckArguments),
}

/// Which ROS 2, and where its plug-in is.
#[derive(Debug, Args)]
pub(crate) struct PluginArguments {
    /// Distribution of ROS 2: humble, jazzy, kilted or lyrical; default: ROS_DISTRO, or the one in
    /// /opt/ros
    #[arg(long, value_name = "NAME")]
    pub(crate) distro: Option<String>,
    /// Folder with librmw_crossdock.so of this distribution; default: where `make rmw` and the
    /// packages put it
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plugin: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RosCheckArguments {
    #[command(flatten)]
    pub(crate) ros: PluginArguments,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
