//! What can go wrong with calls: one error for sending a request, one for what becomes of it.

use std::fmt;
use std::time::Duration;

use super::RequestId;
use crate::error::{LoanError, TakeError};
use crate::wire::mismatch::Mismatch;

/// A request was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// No server is connected.
    #[error("service `{service}` has no server{}", why(mismatch.as_deref()))]
    NoServer {
        /// The service.
        service: String,
        /// Why the last server that was met cannot serve, if that is so.
        mismatch: Option<Box<Mismatch>>,
    },
    /// As many calls are under way as the client may have.
    #[error(
        "service `{service}`: {under_way} calls are under way, and the client's depth is {depth}; \
         {server} still works on {given_up} that were given up; wait for answers, or raise the \
         depth"
    )]
    Busy {
        /// The service.
        service: String,
        /// The server.
        server: String,
        /// Calls under way, those given up included.
        under_way: usize,
        /// Calls that were given up and that the server has not done with.
        given_up: usize,
        /// Calls that may be under way.
        depth: usize,
    },
    /// The server stands still: it has not mapped the memory in which a request of this size lies.
    #[error(
        "service `{service}`: {server} stands still and has not mapped the memory for a request of \
         {bytes} bytes; send it when it goes on, or give the client `max_request_bytes`, so that \
         nothing has to grow"
    )]
    StandsStill {
        /// The service.
        service: String,
        /// The server.
        server: String,
        /// Bytes of the request.
        bytes: usize,
    },
    /// The transport refused it.
    #[error(transparent)]
    Publish(#[from] Box<crossdock_shm::PublishError>),
}

fn why(mismatch: Option<&Mismatch>) -> String {
    match mismatch {
        None => "; start one, or wait for it (`wait_for_server`)".to_owned(),
        Some(mismatch) => format!(", but one that cannot serve: {mismatch}"),
    }
}

/// A call did not end with a response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The request was not sent.
    #[error(transparent)]
    NotSent(#[from] SendError),
    /// There was no memory for the request.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// No answer came in time. The server is told; whether it carries the request out is not known.
    #[error(
        "service `{service}`: no answer from {server} within {timeout:?}; it may still carry the \
         request out"
    )]
    TimedOut {
        /// The service.
        service: String,
        /// The server.
        server: String,
        /// The call's time-out.
        timeout: Duration,
    },
    /// The server closed the service or died before it answered.
    #[error(
        "service `{service}`: {server} went away before it answered; it may have carried the \
         request out"
    )]
    ServerGone {
        /// The service.
        service: String,
        /// The server.
        server: String,
    },
    /// The server dropped the request without an answer, or its answer was none of the service's
    /// type, which is counted and reported.
    #[error(
        "service `{service}`: {server} dropped the request without an answer, or its answer was damaged"
    )]
    Unanswered {
        /// The service.
        service: String,
        /// The server.
        server: String,
    },
    /// The response cannot be taken: as many are held as may be.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// A call that waits was asked for where waiting would hold up the executor.
    #[error(
        "service `{service}`: the client belongs to an executor, whose thread must not wait; send \
         the request, and take the response when it runs the node"
    )]
    InsideExecutor {
        /// The service.
        service: String,
    },
}

/// The request of a ticket was not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError<E> {
    /// The client has gone, or the ticket is another server's.
    #[error("service `{service}`: {client} is not there any more; drop the ticket")]
    ClientGone {
        /// The service.
        service: String,
        /// The client.
        client: String,
    },
    /// The request was answered or refused before.
    #[error("service `{service}`: request {} was answered already; drop the ticket", id.sequence)]
    Answered {
        /// The service.
        service: String,
        /// The request.
        id: RequestId,
    },
    /// The client stands still: it has not mapped the memory in which a response of this size lies.
    /// The ticket can be used again.
    #[error(
        "service `{service}`: {client} stands still and has not mapped the memory for a response of \
         {bytes} bytes; answer when it goes on, or drop the ticket"
    )]
    StandsStill {
        /// The service.
        service: String,
        /// The client.
        client: String,
        /// Bytes of the response.
        bytes: usize,
    },
    /// There was no memory for the response.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// The response could not be written; the ticket can be used again.
    #[error("the response could not be written: {0}")]
    Write(E),
    /// The response is longer than its memory, or this is a forked child.
    #[error(transparent)]
    Publish(Box<crossdock_shm::PublishError>),
}

/// A request that was not sent comes back in `loan`, to be sent again or dropped.
pub struct Refused<L> {
    /// The request, unchanged.
    pub loan: L,
    /// Why it was not sent.
    pub reason: SendError,
}

impl<L> fmt::Debug for Refused<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<L> fmt::Display for Refused<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

impl<L> std::error::Error for Refused<L> {}
