//! What the attributes expand to. Not for anybody else, and free to change.

use crate::time::clock;
use crate::{Backend, LocalRuntime};
use std::future::Future;
use std::io;

/// What stood between the parentheses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    backend: Option<&'static str>,
    paused: bool,
}

impl Options {
    /// Nothing stood there.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `backend = ".."`, one that the attribute knows.
    #[must_use]
    pub fn backend(mut self, backend: &'static str) -> Self {
        self.backend = Some(backend);
        self
    }

    /// `paused`.
    #[must_use]
    pub fn paused(mut self) -> Self {
        self.paused = true;
        self
    }

    fn build(self) -> io::Result<LocalRuntime> {
        let backend = match self.backend {
            None => Backend::Auto,
            Some(name) => name.parse().map_err(io::Error::other)?,
        };
        LocalRuntime::builder()
            .backend(backend)
            .name("main")
            .build()
    }
}

/// Runs what `#[mainspring::main]` stands on.
#[track_caller]
pub fn main<F: Future>(options: Options, future: F) -> F::Output {
    match options.build() {
        Ok(runtime) => runtime.block_on(future),
        // PANIC: documented at the attribute; `main` returns what its author says, which may have
        // no room for an error.
        Err(error) => panic!(
            "MS0011: the runtime cannot be built: {error}; build a `LocalRuntime` to handle that \
             (docs/errors.md)"
        ),
    }
}

/// Runs what `#[mainspring::test]` stands on.
#[track_caller]
pub fn test<F: Future>(options: Options, future: F) -> F::Output {
    main(options, async {
        if options.paused {
            // PANIC: the runtime has a timer driver.
            clock::pause().expect("a runtime has a clock to pause");
        }
        future.await
    })
}
