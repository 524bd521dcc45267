//! What a task is called, and how that is written.

use super::TaskId;
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The name of a task: a text that is written once and read wherever the task is shown.
///
/// A literal costs nothing; a text that was made at run time is copied once, and shared from then
/// on. Cloning is one read-modify-write for the latter and none for the former.
///
/// ```
/// use mainspring_core::task::TaskName;
///
/// let fixed = TaskName::from("accept");
/// let made = TaskName::from(format!("connection {}", 7));
/// assert_eq!((&*fixed, made.as_str()), ("accept", "connection 7"));
/// ```
#[derive(Clone)]
pub struct TaskName(Text);

#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl TaskName {
    /// A name that is a literal.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Text::Static(name))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(name) => name,
            Text::Shared(name) => name,
        }
    }
}

impl From<&'static str> for TaskName {
    fn from(name: &'static str) -> Self {
        Self::new(name)
    }
}

impl From<Arc<str>> for TaskName {
    fn from(name: Arc<str>) -> Self {
        Self(Text::Shared(name))
    }
}

impl From<String> for TaskName {
    fn from(name: String) -> Self {
        Self(Text::Shared(name.into()))
    }
}

impl From<Cow<'static, str>> for TaskName {
    fn from(name: Cow<'static, str>) -> Self {
        match name {
            Cow::Borrowed(name) => name.into(),
            Cow::Owned(name) => name.into(),
        }
    }
}

impl Deref for TaskName {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for TaskName {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq for TaskName {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for TaskName {}

impl Hash for TaskName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// How every message calls a task: `task 7`, or `task 7 "name"`.
pub(super) struct Label<'a>(pub(super) TaskId, pub(super) Option<&'a str>);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.0)?;
        match self.1 {
            Some(name) => write!(f, " {name:?}"),
            None => Ok(()),
        }
    }
}
