//! Why a function of the API fails, and what C gets then.

use crate::abi::current::RET_OF_MISSING;
use crate::abi::shared::{
    RMW_RET_BAD_ALLOC, RMW_RET_ERROR, RMW_RET_INCORRECT_RMW_IMPLEMENTATION,
    RMW_RET_INVALID_ARGUMENT, RMW_RET_NODE_NAME_NON_EXISTENT, RMW_RET_UNSUPPORTED, Ret,
};
use crate::convert::ConvertError;
use crate::introspection::TypeError;
use crate::waiting::WaitError;
use crossdock_comm::names::NameError;
use crossdock_comm::service::SendFlatError;
use crossdock_comm::{AnswerError, LoanError, OpenError, PortError, PublishCdrError, TakeError};

/// Why a function of the API fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("argument `{name}` is null")]
    Null { name: &'static str },
    /// The same for functions whose answer depends on the distribution.
    #[error("argument `{name}` is null")]
    Missing { name: &'static str },
    #[error("argument `{name}`: {what}")]
    Argument { name: &'static str, what: &'static str },
    #[error(
        "argument `{name}` is not of this implementation, rmw_crossdock, or it was destroyed before: set \
         RMW_IMPLEMENTATION alike for all parts of the process"
    )]
    Foreign { name: &'static str },
    #[error("the context was shut down: create nodes and ports before rmw_shutdown")]
    ShutDown,
    #[error(
        "this librmw_crossdock.so is for ROS 2 {}, and ROS_DISTRO is `{found}`: load the one that \
         was built for it",
        crate::abi::DISTRIBUTION
    )]
    Distribution { found: String },
    #[error(
        "this is a forked child, and what the call is for belongs to its parent: initialise a \
         context of its own in the child, or fork before the first one"
    )]
    Forked,
    #[error("there is no node `{name}` in the graph")]
    NoNode { name: String },
    #[error(transparent)]
    Graph(#[from] crossdock_shm::status::OpenStatusError),
    #[error(
        "security is enforced (ROS_SECURITY_STRATEGY=Enforce), and rmw_crossdock neither signs nor \
         encrypts messages: unset ROS_SECURITY_ENABLE, and see docs/security.md for who may connect"
    )]
    Security,
    #[error("the time is over")]
    TimedOut,
    #[error("{what} is not supported")]
    Unsupported { what: &'static str },
    #[error("the allocator of `{name}` gave no memory for {bytes} bytes")]
    Allocator { name: &'static str, bytes: usize },
    #[error("the message was not lent by this port, or was given back before")]
    NotLent,
    /// The client library may have given them up; nobody says so here.
    #[error(
        "service `{service}`: {server} has not answered {under_way} calls, as many as a client may \
         have under way: see why it stands still, or end it"
    )]
    Unanswered { service: String, server: String, under_way: usize },
    #[error("request {sequence} of this client is not open: it was answered, or never taken here")]
    NotOpen { sequence: i64 },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error(transparent)]
    Loan(#[from] LoanError),
    #[error(transparent)]
    Publish(#[from] Box<crossdock_shm::PublishError>),
    #[error(transparent)]
    PublishCdr(#[from] PublishCdrError),
    #[error(transparent)]
    Send(#[from] SendFlatError<ConvertError>),
    #[error(transparent)]
    Answer(#[from] AnswerError<ConvertError>),
    #[error(transparent)]
    Wait(#[from] WaitError),
    #[error("the thread for callbacks cannot be started: {0}")]
    Thread(std::io::Error),
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error(transparent)]
    Convert(#[from] ConvertError),
    #[error("topic `{topic}`: {source}")]
    Message { topic: String, source: ConvertError },
    #[error(transparent)]
    Flat(#[from] crossdock_msg::FlatError),
    #[error(transparent)]
    Cdr(#[from] crossdock_msg::CdrError),
}

impl Failure {
    /// For functions that answer `RMW_RET_ERROR` to a null argument in older distributions.
    pub(crate) fn of_missing(self) -> Self {
        match self {
            Self::Null { name } => Self::Missing { name },
            other => other,
        }
    }

    /// What C gets.
    pub(crate) fn ret(&self) -> Ret {
        match self {
            Self::Null { .. } | Self::Argument { .. } | Self::NotLent | Self::Name(_) => {
                RMW_RET_INVALID_ARGUMENT
            }
            Self::Missing { .. } => RET_OF_MISSING,
            Self::NoNode { .. } => RMW_RET_NODE_NAME_NON_EXISTENT,
            Self::Foreign { .. } => RMW_RET_INCORRECT_RMW_IMPLEMENTATION,
            Self::Unsupported { .. } | Self::Security => RMW_RET_UNSUPPORTED,
            Self::Allocator { .. }
            | Self::Convert(ConvertError::NoMemory)
            | Self::Message { source: ConvertError::NoMemory, .. } => RMW_RET_BAD_ALLOC,
            _ => RMW_RET_ERROR,
        }
    }
}
