//! Why something was cancelled, and where.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
// DOOR: a shared text, which carries no protocol.
use std::sync::Arc;

/// What kind of thing a [`Reason`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// Somebody asked for it: a user, a caller that has lost interest.
    Requested,
    /// A deadline came.
    Timeout,
    /// The work that this was a part of was cancelled; [`Reason::origin`] says why.
    Parent,
    /// The program, or the runtime, ends.
    Shutdown,
    /// There is more work than can be done.
    Overload,
    /// What the message says.
    Custom,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requested => "requested",
            Self::Timeout => "timed out",
            Self::Parent => "its parent was cancelled",
            Self::Shutdown => "shutdown",
            Self::Overload => "overload",
            Self::Custom => "cancelled",
        })
    }
}

#[derive(Clone, Debug)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

/// Why a token was cancelled: what, a message, and the place in the code that said so.
///
/// Those below a token that is cancelled get its reason, too: theirs is [`What::Parent`], and its
/// [`origin`](Self::origin) is what was said above, with the place.
///
/// Cloning one allocates nothing; a message that is not static is allocated once.
///
/// ```
/// use mainspring_cancel::{CancelToken, Reason, What};
///
/// let request = CancelToken::new();
/// let query = request.child();
/// request.cancel(Reason::new(What::Overload).because("400 requests are queued"));
///
/// let reason = query.reason().expect("it was cancelled");
/// assert_eq!(reason.what(), What::Parent);
/// assert_eq!(reason.origin().what(), What::Overload);
/// assert_eq!(reason.message(), Some("400 requests are queued"));
/// assert!(reason.location().file().ends_with(".rs"));
/// ```
#[derive(Clone)]
pub struct Reason {
    what: What,
    is_inherited: bool,
    text: Option<Text>,
    location: &'static Location<'static>,
}

impl Reason {
    /// A reason without a message, from the caller's place in the code.
    #[must_use]
    #[track_caller]
    pub fn new(what: What) -> Self {
        Self::at(what, Location::caller())
    }

    /// [`What::Requested`], from the caller's place in the code.
    #[must_use]
    #[track_caller]
    pub fn requested() -> Self {
        Self::new(What::Requested)
    }

    /// [`What::Shutdown`], from the caller's place in the code.
    #[must_use]
    #[track_caller]
    pub fn shutdown() -> Self {
        Self::new(What::Shutdown)
    }

    /// [`What::Custom`] with a message, from the caller's place in the code.
    #[must_use]
    #[track_caller]
    pub fn custom(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(What::Custom).because(message)
    }

    pub(crate) fn at(what: What, location: &'static Location<'static>) -> Self {
        Self {
            what,
            is_inherited: false,
            text: None,
            location,
        }
    }

    /// The same with a message, for people.
    #[must_use]
    pub fn because(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.text = Some(match message.into() {
            Cow::Borrowed(text) => Text::Static(text),
            Cow::Owned(text) => Text::Shared(text.into()),
        });
        self
    }

    /// What it is: [`What::Parent`] for whoever was cancelled with those above.
    #[must_use]
    pub fn what(&self) -> What {
        if self.is_inherited {
            What::Parent
        } else {
            self.what
        }
    }

    /// Whether it was said to a token above the one that was asked.
    #[must_use]
    pub fn is_inherited(&self) -> bool {
        self.is_inherited
    }

    /// The reason as it was given, to whichever token that was.
    #[must_use]
    pub fn origin(&self) -> Self {
        Self {
            is_inherited: false,
            ..self.clone()
        }
    }

    /// The message, if there is one.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match &self.text {
            Some(Text::Static(text)) => Some(text),
            Some(Text::Shared(text)) => Some(text),
            None => None,
        }
    }

    /// Where in the code the reason was made.
    #[must_use]
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }

    /// The same, for those below.
    pub(crate) fn inherited(&self) -> Self {
        Self {
            is_inherited: true,
            ..self.clone()
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.what, self.message()) {
            (What::Custom, Some(message)) => f.write_str(message)?,
            (what, Some(message)) => write!(f, "{what}: {message}")?,
            (what, None) => write!(f, "{what}")?,
        }
        write!(f, " (at {}", self.location)?;
        f.write_str(if self.is_inherited {
            ", through a parent)"
        } else {
            ")"
        })
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reason")
            .field("what", &self.what)
            .field("message", &self.message())
            .field("location", &format_args!("{}", self.location))
            .field("is_inherited", &self.is_inherited)
            .finish()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;
