//! The attributes, documented where they are used.

/// Runs an `async fn main` on a [`LocalRuntime`](crate::LocalRuntime).
///
/// The function keeps its return type: a `Result` works as it does in any `main`. When it returns,
/// tasks that have not ended are dropped; a program that wants to end them well makes a
/// [`LocalRuntime`](crate::LocalRuntime) and calls its [`shutdown`](crate::LocalRuntime::shutdown).
///
/// ```no_run
/// use mainspring::net::TcpStream;
///
/// #[mainspring::main]
/// async fn main() -> std::io::Result<()> {
///     let mut stream = TcpStream::connect("localhost:7").await?;
///     stream.write_all(b"hello").await
/// }
/// ```
///
/// # Options
///
/// | option | |
/// |---|---|
/// | `flavor = "local"` | one thread; the only one there is, and the default |
/// | `backend = "auto"` | the best that this system allows, the default |
/// | `backend = "uring"`, `"poll"` | that one, or the end with the reason |
///
/// ```no_run
/// #[mainspring::main(backend = "poll")]
/// async fn main() {
///     println!("over readiness, whatever else is to be had");
/// }
/// ```
///
/// # Panics
///
/// The function that it makes panics with `MS0011` if the runtime cannot be built.
///
/// # What it refuses
///
/// A function that is not `async`, that has arguments or is generic, and options that it does not
/// know, each at its place in the source:
///
/// ```compile_fail
/// #[mainspring::main]
/// fn main() {}
/// ```
///
/// ```compile_fail
/// #[mainspring::main(workers = 4)] // the pool is not built yet
/// async fn main() {}
/// ```
pub use mainspring_macros::main;

/// Makes a test of an `async fn`, on a [`LocalRuntime`](crate::LocalRuntime) of its own.
///
/// The function keeps its other attributes (`#[should_panic]`, `#[ignore]`) and its return type.
///
/// # Options
///
/// Those of [`main`], and:
///
/// | option | |
/// |---|---|
/// | `paused` | the clock stands still, and jumps when nothing else is to be done |
///
/// Paused, the clock moves to the next deadline as soon as every task waits: see
/// [`time::clock`](crate::time::clock).
///
/// ```
/// use mainspring::time::{now, sleep};
/// use std::time::Duration;
///
/// #[mainspring::test(paused)]
/// async fn an_hour_passes_at_once() {
///     let start = now();
///     sleep(Duration::from_secs(3600)).await;
///     assert_eq!(now().since(start), Duration::from_secs(3600));
/// }
/// ```
///
/// ```compile_fail
/// # #[allow(dead_code)]
/// #[mainspring::test(paws)] // there is no such option
/// async fn cat() {}
/// ```
pub use mainspring_macros::test;
