//! What the attributes expand to. Not for anybody else, and free to change.

use crate::time::clock;
use crate::{Backend, LocalRuntime, Runtime};
use std::future::Future;
use std::io;

/// What stood between the parentheses.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    flavor: Flavor,
    workers: Option<usize>,
    backend: Option<&'static str>,
    paused: bool,
}

#[derive(Clone, Copy, Debug)]
enum Flavor {
    Local,
    Multi,
}

enum Built {
    Local(LocalRuntime),
    Multi(Runtime),
}

impl Options {
    fn of(flavor: Flavor) -> Self {
        Self {
            flavor,
            workers: None,
            backend: None,
            paused: false,
        }
    }

    /// One thread.
    #[must_use]
    pub fn local() -> Self {
        Self::of(Flavor::Local)
    }

    /// Several workers.
    #[must_use]
    pub fn multi() -> Self {
        Self::of(Flavor::Multi)
    }

    /// `workers = ..`, a number that there can be.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
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

    fn build(self) -> io::Result<Built> {
        let backend = match self.backend {
            None => Backend::Auto,
            Some(name) => name.parse().map_err(io::Error::other)?,
        };
        match self.flavor {
            Flavor::Local => {
                let builder = LocalRuntime::builder().name("main");
                builder.backend(backend).build().map(Built::Local)
            }
            Flavor::Multi => {
                let mut builder = Runtime::builder().name("main").backend(backend);
                if let Some(workers) = self.workers {
                    builder = builder.workers(workers);
                }
                builder.build().map(Built::Multi)
            }
        }
    }
}

impl Built {
    #[track_caller]
    fn block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        match self {
            Self::Local(runtime) => Ok(runtime.block_on(future)),
            Self::Multi(runtime) => runtime.try_block_on(future),
        }
    }
}

/// Runs what `#[mainspring::main]` stands on.
#[track_caller]
pub fn main<F: Future>(options: Options, future: F) -> F::Output {
    let output = match options.build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => Err(error),
    };
    match output {
        Ok(output) => output,
        // PANIC: documented at the attribute; `main` returns what its author says, which may have
        // no room for an error.
        Err(error) => panic!(
            "MS0011: the runtime cannot be built: {error}; build a `Runtime` to handle that \
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
