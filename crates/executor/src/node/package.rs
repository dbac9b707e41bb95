//! A package: node types under one name.

use crossdock_graph::{
    BinaryDescription, HardwarePackage, NodeTypeDescription, PackageDescription,
};

use crate::node::error::NodeError;
use crate::node::node_type::{Node, NodeType};
use crate::node::setup::Setup;
use crate::node::uploaders::Uploaders;

/// The node types of a package, and with [`Package::main`] the whole main function of its binary.
///
/// A binary may offer the node types of several packages ([`Package::with`]); nodes of packages
/// that one binary offers can share a process.
#[derive(Clone, Debug)]
pub struct Package {
    name: String,
    nodes: Vec<Registration>,
    others: Vec<Package>,
    set_ups: Vec<SetUp>,
    uploaders: Option<&'static dyn Uploaders>,
}

/// A command that makes a source of the package's hardware.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetUp {
    pub(crate) command: &'static str,
    pub(crate) make: fn(&HardwarePackage) -> Result<String, NodeError>,
}

impl SetUp {
    /// How the command of this program is called.
    pub(crate) fn usage(&self, program: &str) -> String {
        let command = self.command;
        format!("  {program} {command} PACKAGE.hardware.yaml -o FILE [-p NAME:=VALUE]...\n")
    }
}

/// A node type as data: how to describe it, and how to make a node of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    pub(crate) node_type: &'static str,
    describe: fn() -> NodeTypeDescription,
    create: fn(&mut Setup<'_>) -> Result<Box<dyn Node>, NodeError>,
}

impl Registration {
    fn of<N: NodeType>() -> Self {
        Self {
            node_type: N::NAME,
            describe: || N::description().into_data(N::NAME),
            create: |setup| N::create(setup).map(|node| Box::new(node) as Box<dyn Node>),
        }
    }

    pub(crate) fn create(&self, setup: &mut Setup<'_>) -> Result<Box<dyn Node>, NodeError> {
        (self.create)(setup)
    }
}

impl Package {
    /// A package without node types. Its binary is to be called `crossdock-<name>`; it may have
    /// hyphens in place of underscores.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let (nodes, others, set_ups) = (Vec::new(), Vec::new(), Vec::new());
        Self { name: name.to_owned(), nodes, others, set_ups, uploaders: None }
    }

    /// Adds a node type.
    ///
    /// # Panics
    ///
    /// When the package has one of the same name already.
    #[must_use]
    pub fn node<N: NodeType>(mut self) -> Self {
        let known = self.nodes.iter().any(|node| node.node_type == N::NAME);
        assert!(!known, "package `{}` has two node types called `{}`", self.name, N::NAME);
        self.nodes.push(Registration::of::<N>());
        self
    }

    /// Offers the node types of another package in the same binary, so that nodes of both can
    /// share a process.
    #[must_use]
    pub fn with(mut self, other: Package) -> Self {
        self.others.push(other);
        self
    }

    /// Adds a command that makes a source of the package's hardware from the values under
    /// `built_in` of its hardware package file, which names the command under `set_up`:
    /// `crossdock-<name> COMMAND PACKAGE.hardware.yaml -o FILE -p NAME:=VALUE`. `make` gets the
    /// package with the values of the command line in place of the file's.
    ///
    /// Generating a board with a node that has other values than the file runs it. It may
    /// take time, memory and files; it must give the same text for the same values.
    #[must_use]
    pub fn set_up(
        mut self,
        command: &'static str,
        make: fn(&HardwarePackage) -> Result<String, NodeError>,
    ) -> Self {
        self.set_ups.push(SetUp { command, make });
        self
    }

    /// Sets what moves messages of this binary's nodes to devices. If several executors of one
    /// device read a topic, its messages are uploaded once for all of them; without `uploaders`,
    /// each of these executors copies them for itself. The same object makes the memory of topics
    /// that are `managed` in the mapping.
    #[must_use]
    pub fn uploaders(mut self, uploaders: &'static dyn Uploaders) -> Self {
        self.uploaders = Some(uploaders);
        self
    }

    /// The answer of a binary with this package when a launcher asks what it offers.
    #[must_use]
    pub fn description(&self) -> BinaryDescription {
        BinaryDescription {
            binary: self.program(),
            packages: self.all().map(Package::own_description).collect(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name of the running program, if it is named after the package; else how it should be
    /// named.
    pub(crate) fn program(&self) -> String {
        let named = format!("crossdock-{}", self.name);
        let running = std::env::current_exe().ok();
        let running = running.as_ref().and_then(|it| it.file_name()?.to_str());
        let is_this = |it: &&str| it.replace('-', "_") == named.replace('-', "_");
        running.filter(is_this).map_or(named.clone(), str::to_owned)
    }

    pub(crate) fn find(&self, package: &str, node_type: &str) -> Option<Registration> {
        let mut packages = self.all().filter(|candidate| candidate.name == package);
        packages.find_map(|candidate| {
            candidate.nodes.iter().copied().find(|node| node.node_type == node_type)
        })
    }

    /// The commands of all packages of the binary that make sources of hardware.
    pub(crate) fn set_ups(&self) -> impl Iterator<Item = SetUp> + '_ {
        self.all().flat_map(|package| package.set_ups.iter().copied())
    }

    pub(crate) fn find_set_up(&self, command: &str) -> Option<SetUp> {
        self.set_ups().find(|it| it.command == command)
    }

    /// What makes uploaders for all packages of the binary.
    pub(crate) fn all_uploaders(&self) -> Option<&'static dyn Uploaders> {
        self.all().find_map(|package| package.uploaders)
    }

    fn own_description(&self) -> PackageDescription {
        let nodes = self.nodes.iter().map(|node| (node.describe)());
        PackageDescription { name: self.name.clone(), nodes: nodes.collect() }
    }

    /// This package and all that came with it, each before those that came with it.
    fn all(&self) -> Box<dyn Iterator<Item = &Package> + '_> {
        Box::new(std::iter::once(self).chain(self.others.iter().flat_map(Package::all)))
    }
}
