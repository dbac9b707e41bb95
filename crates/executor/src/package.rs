//! A package: node types under one name, and the main function of the binary that offers them.
//! It must not know executors.

use std::fmt;

use crossdock_graph::{BinaryDescription, NodeTypeDescription, PackageDescription};

use crate::node::{Node, NodeError, NodeType};
use crate::process;
use crate::setup::Setup;
use crate::uploaders::Uploaders;

/// The node types of a package, and with [`Package::main`] the whole main function of its binary.
///
/// A binary may offer the node types of several packages ([`Package::with`]); nodes of packages
/// that one binary offers can share a process.
#[derive(Clone, Debug)]
pub struct Package {
    name: String,
    nodes: Vec<Registration>,
    others: Vec<Package>,
    uploaders: Option<&'static dyn Uploaders>,
}

/// A node type as data: how to describe and make its nodes.
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
            describe: || N::description().into_description(N::NAME),
            create: |setup| N::create(setup).map(|node| Box::new(node) as Box<dyn Node>),
        }
    }

    pub(crate) fn create(&self, setup: &mut Setup<'_>) -> Result<Box<dyn Node>, NodeError> {
        (self.create)(setup)
    }
}

impl Package {
    /// A package without node types. Its binary is to be called `crossdock-<name>`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), nodes: Vec::new(), others: Vec::new(), uploaders: None }
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

    /// Has messages that nodes of this binary publish brought to devices, where several executors of one
    /// read them: once for all. Without it each of these copies them for itself. It makes the memory, too, of
    /// topics of which the mapping says `managed`.
    #[must_use]
    pub fn uploaders(mut self, uploaders: &'static dyn Uploaders) -> Self {
        self.uploaders = Some(uploaders);
        self
    }

    /// What a binary with this package answers when asked to describe itself.
    #[must_use]
    pub fn description(&self) -> BinaryDescription {
        BinaryDescription {
            binary: format!("crossdock-{}", self.name),
            packages: self.all().map(Package::own_description).collect(),
        }
    }

    /// The main function of a package binary: obeys the launcher that started it, until the run
    /// ends. Call it before anything else, and return what it returns.
    ///
    /// # Errors
    ///
    /// The binary was started by hand instead of by `crossdock run`, the launcher cannot be
    /// understood, or a node does not return when the run is to stop. What fails in nodes is
    /// reported to the launcher, not here.
    pub fn main(self) -> Result<(), PackageError> {
        process::main(&self)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn find(&self, package: &str, node_type: &str) -> Option<Registration> {
        let mut packages = self.all().filter(|candidate| candidate.name == package);
        packages.find_map(|candidate| {
            candidate.nodes.iter().copied().find(|node| node.node_type == node_type)
        })
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

/// Why the main function of a package binary could not do its work.
///
/// Its `Debug` text is the same sentence as its `Display` text, because that is what Rust prints
/// of an error that a main function returns.
#[non_exhaustive]
pub enum PackageError {
    /// The binary was started by hand.
    NotLaunched {
        /// The package.
        package: String,
    },
    /// The launcher said something that is not of the control protocol, or its socket failed.
    Control {
        /// A sentence.
        error: String,
    },
    /// A node did not return after the run was stopped.
    Stuck {
        /// The node.
        node: String,
        /// How long it was waited for, seconds.
        waited_s: u64,
    },
}

impl fmt::Display for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLaunched { package } => write!(
                f,
                "this program holds the nodes of package `{package}` and is started by the \
                 launcher: use `crossdock run GRAPH` with a graph that names the package"
            ),
            Self::Control { error } => {
                write!(f, "the launcher cannot be understood, so this process ends: {error}")
            }
            Self::Stuck { node, waited_s } => write!(
                f,
                "node `{node}` did not return from its work within {waited_s} s of the end of the \
                 run, so its process ends without it; neither `create` nor `execute` may wait"
            ),
        }
    }
}

impl fmt::Debug for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PackageError {}
