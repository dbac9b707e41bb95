//! What the commands for users of ROS 2 take.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum RosCommand {
    /// Print the variables with which nodes of ROS 2 use Crossdock: eval "$(crossdock ros env)"
    Env(PluginArguments),
    /// Build the plug-in for an installation of ROS 2, compare its structs with the installed
    /// headers, and put it into a folder to be sourced
    Build(RosBuildArguments),
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
pub(crate) struct RosBuildArguments {
    /// Distribution of ROS 2: humble, jazzy, kilted or lyrical; default: ROS_DISTRO, or the one in
    /// /opt/ros
    #[arg(long, value_name = "NAME")]
    pub(crate) distro: Option<String>,
    /// Folder with the installation, which has `include/rmw`; default: the sourced one, or that of
    /// the distribution in /opt/ros
    #[arg(long, value_name = "FOLDER")]
    pub(crate) ros: Option<PathBuf>,
    /// Folder to install into; default: where `crossdock ros env` looks
    #[arg(long, value_name = "FOLDER")]
    pub(crate) prefix: Option<PathBuf>,
    /// Folder with the sources of Crossdock; default: the folder where this command was built
    #[arg(long, value_name = "FOLDER")]
    pub(crate) crossdock: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RosCheckArguments {
    #[command(flatten)]
    pub(crate) ros: PluginArguments,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
