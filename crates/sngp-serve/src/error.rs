//! Everything that can be wrong with a request, and the codes that say so.

use http::StatusCode;
use tonic::Code;

/// Why a request has no answer. The one place where HTTP and gRPC get their codes from.
///
/// ```
/// use sngp_serve::ServeError;
///
/// let error = ServeError::NotFound("model `cat`".to_string());
/// assert_eq!(error.http(), 404);
/// assert_eq!(error.grpc(), tonic::Code::NotFound);
/// assert_eq!(error.to_string(), "model `cat` is not here");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// The request makes no sense, or not to this model.
    #[error("{0}")]
    Invalid(String),
    /// The key is missing or wrong.
    #[error("the key is missing or wrong; send `Authorization: Bearer KEY`")]
    Unauthorized,
    /// No such model, version, output or page.
    #[error("{0} is not here")]
    NotFound(String),
    /// A page that is there, asked for in another way.
    #[error("this page does not take {0}")]
    Method(String),
    /// The body did not come in time.
    #[error("the request was not sent within {0} s")]
    Slow(u64),
    /// The body, or the number of rows, is beyond a limit.
    #[error("{0}")]
    TooLarge(String),
    /// An encoding or a type of content that is not read.
    #[error("{0}")]
    Unreadable(String),
    /// Too much to do: the queue is full.
    #[error("too many requests; try again in {retry_after} s")]
    Overloaded {
        /// Seconds after which it is worth another try.
        retry_after: u64,
    },
    /// A fault of the server.
    #[error("{0}")]
    Internal(String),
    /// A part of the protocol that this server does not have.
    #[error("{0}")]
    Unsupported(String),
    /// The server is on its way out.
    #[error("the server is shutting down")]
    Closing,
    /// The deadline passed before there was an answer.
    #[error("the deadline passed before there was an answer")]
    Deadline,
}

impl ServeError {
    /// Both codes, side by side so that they agree.
    fn codes(&self) -> (StatusCode, Code) {
        match self {
            Self::Invalid(_) => (StatusCode::BAD_REQUEST, Code::InvalidArgument),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, Code::Unauthenticated),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, Code::NotFound),
            Self::Method(_) => (StatusCode::METHOD_NOT_ALLOWED, Code::Unimplemented),
            Self::Slow(_) => (StatusCode::REQUEST_TIMEOUT, Code::DeadlineExceeded),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, Code::OutOfRange),
            Self::Unreadable(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::InvalidArgument),
            Self::Overloaded { .. } => (StatusCode::TOO_MANY_REQUESTS, Code::ResourceExhausted),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, Code::Internal),
            Self::Unsupported(_) => (StatusCode::NOT_IMPLEMENTED, Code::Unimplemented),
            Self::Closing => (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
            Self::Deadline => (StatusCode::GATEWAY_TIMEOUT, Code::DeadlineExceeded),
        }
    }

    /// The status over HTTP.
    pub fn http(&self) -> StatusCode {
        self.codes().0
    }

    /// The code over gRPC.
    pub fn grpc(&self) -> Code {
        self.codes().1
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

/// What most functions here give.
pub type Result<T> = std::result::Result<T, ServeError>;
