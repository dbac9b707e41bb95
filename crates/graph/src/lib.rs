//! Graph and mapping files of Crossdock: model, checks, plans and pictures.
//!
//! A [`Graph`] says which nodes exist and which topics join them, a [`Mapping`] says in which
//! process and executor or in which fabric each node runs and where the messages of each topic
//! live, [`PackageDescriptions`] say what the packages offer, in software and as
//! [`HardwarePackage`]s. A [`CommunicationMapping`] is the mapping that follows from a graph and a
//! [`Placement`] of its nodes.
//!
//! The crate is pure: it reads text that it is given and returns data; it opens no file, starts no
//! process, never prints and never blocks. All functions may be called from any thread.

#![forbid(unsafe_code)]

mod check;
mod communication;
mod condition;
mod description;
mod device;
mod expansion;
mod graph_file;
mod hardware_package;
mod hosts;
mod import;
mod include;
mod input;
pub mod limits;
mod mapping;
mod mapping_file;
mod merge;
mod model;
mod names;
mod parameters;
mod picture;
mod placement;
mod plan;
mod policy;
mod policy_file;
mod qos;
mod read;
mod remap;
mod ros_arguments;
mod ros_parameters;
mod scalar;
#[cfg(test)]
mod schema_tests;
mod service;
mod source;
mod stream;
mod value;
mod violation;
mod walk;
mod write;
mod yaml;

pub use check::{RunOptions, check, check_fabrics};
pub use communication::{CommunicationMapping, Crossings, OpenTopics, Sides, TopicChoice};
pub use condition::{ApproximateTime, Condition, Same};
pub use description::{
    BinaryDescription, FABRIC_BINARY, InputDescription, NodeTypeDescription, OutputDescription,
    PackageDescription, PackageDescriptions, ParameterDescription, PredicateDescription,
    TimerClock, TimerDescription,
};
pub use device::{
    CopyModel, DevicePlan, DeviceTopic, DeviceUpload, ManagedTopic, MappedDevice, Otherwise,
};
pub use hardware_package::{
    HARDWARE_PACKAGE_ENDING, HardwareNode, HardwarePackage, NodeArea, NodeUltraRam, ParameterRange,
    REFUSED_BITS, ScaledParameter, SourceKind,
};
pub use hosts::{FarPort, HostPart, MappedHost, PortEnd};
pub use import::{ImportJoin, ImportOptions, Imported};
pub use include::{IncludedFile, OpenIncluded};
pub use input::InputTopic;
pub use mapping::{
    ExecutorMode, MappedExecutor, MappedFabric, MappedProcess, MappedTopic, Mapping, TopicMapping,
    TrustedUsers,
};
pub use model::{
    Argument, Chain, Copies, Graph, GraphInput, GraphNode, GraphOutput, GraphTimer, GraphTopic,
    InputReading, Lockstep, Period,
};
pub use names::{did_you_mean, logger_name};
pub use parameters::{ParameterOverrides, USE_SIM_TIME};
pub use picture::{Figures, Picture};
pub use placement::Placement;
pub use plan::{
    ExecutorPlan, ExpectedConnections, FabricPlan, GatewayPlan, HardwareEnd, InputPlan, LogLevel,
    NodePlan, OutputPlan, Pacing, Plan, PortReference, ProcessPlan, Route, Routes, StepPlan,
    StepTimer, Time, TimerPlan, TopicPlan, WatchPlan,
};
pub use policy::{Limit, OnFailure, OnLag, OnMiss, Realtime, Restart, RestartWhen};
pub use qos::{
    Durability, History, KEEP_ALL_DEPTH, Liveliness, Qos, QosPolicy, QosRequest, Reliability,
    WhenFull,
};
pub use remap::NewNames;
pub use ros_arguments::{ParameterArgument, RemapRule, RosArgumentError, RosArguments};
pub use ros_parameters::RosParameters;
pub use service::{
    CLIENT_DEPTH, CLIENT_DEPTH_MAX, ClientPlan, GraphClient, GraphServer, GraphService,
    Introspection, ServerPlan, ServicePortDescription,
};
pub use source::{Place, Source};
pub use stream::{
    NodeStream, PortStream, STREAM_WIDTH_DEFAULT, STREAM_WIDTHS, StreamFifo, TopicStream,
};
pub use value::{ParameterType, ParameterValue};
pub use violation::{Violation, ViolationKind};
pub use walk::cycles;
pub use yaml::{yaml_messages, yaml_value};
