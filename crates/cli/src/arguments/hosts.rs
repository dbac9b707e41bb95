//! Words of runs on several hosts.

use super::RunArguments;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// How hosts of a mapping find each other.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct HostOptions {
    /// With hosts in the mapping: be the router of the network and listen here, such as
    /// tcp/0.0.0.0:7447; may be repeated
    #[arg(long, value_name = "PLACE")]
    pub(crate) listen: Vec<String>,
    /// With hosts in the mapping: connect to the router there, such as tcp/car.lan:7447; may be
    /// repeated
    #[arg(long, value_name = "PLACE")]
    pub(crate) connect: Vec<String>,
    /// With hosts in the mapping: join the network of this configuration file of zenoh (JSON5), for
    /// certificates, for example
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "connect"])]
    pub(crate) net_config: Option<PathBuf>,
    /// With hosts in the mapping: how long to wait for the others [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = super::seconds)]
    pub(crate) wait: Option<f64>,
}

impl HostOptions {
    /// How long hosts wait for each other, if nothing is said.
    const WAIT: Duration = Duration::from_secs(60);

    /// How long to wait for the others.
    pub(crate) fn wait(&self) -> Duration {
        let said = self.wait.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        said.unwrap_or(Self::WAIT)
    }

    /// Whether a bridge is to be started.
    pub(crate) fn has_network(&self) -> bool {
        !self.listen.is_empty() || !self.connect.is_empty() || self.net_config.is_some()
    }

    /// The options with which another host comes to the same network, each after a space.
    pub(crate) fn way_here(&self) -> String {
        let system = rustix::system::uname();
        let name = system.nodename().to_str().unwrap_or("localhost");
        let of_anybody = |place: &String| place.replace("0.0.0.0", name).replace("[::]", name);
        let places = self.listen.iter().map(of_anybody).chain(self.connect.iter().cloned());
        let way: String = places.map(|place| format!(" --connect {place}")).collect();
        match self.net_config {
            Some(_) => " --net-config FILE".to_owned(),
            None => way,
        }
    }

    /// The first option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--listen", !self.listen.is_empty()),
            ("--connect", !self.connect.is_empty()),
            ("--net-config", self.net_config.is_some()),
            ("--wait", self.wait.is_some()),
        ];
        options.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

#[derive(Debug, Args)]
pub(crate) struct JoinArguments {
    /// Host of the mapping whose processes run here
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}
