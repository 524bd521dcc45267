//! The attributes, documented where they are used.

/// Runs an `async fn main` on a [`Runtime`](crate::Runtime), or on a
/// [`LocalRuntime`](crate::LocalRuntime) if told so.
///
/// The function keeps its return type: a `Result` works as it does in any `main`. When it returns,
/// tasks that have not ended are dropped; a program that wants to end them well makes a
/// [`Runtime`](crate::Runtime) and calls its [`shutdown`](crate::Runtime::shutdown).
///
/// The function itself runs on the main thread, beside the workers, and need not be `Send`; what
/// it [spawns](crate::spawn()) runs on the workers.
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
/// | `workers = 4` | so many; unless told otherwise, as many as the process may use cores |
/// | `flavor = "local"` | one thread, the main one: [`spawn_local`](crate::spawn_local) works |
/// | `flavor = "multi"` | several workers, the default |
/// | `backend = "auto"` | the best that this system allows, the default |
/// | `backend = "uring"`, `"poll"` | that one, or the end with the reason |
///
/// ```no_run
/// #[mainspring::main(workers = 4, backend = "poll")]
/// async fn main() {
///     println!("over readiness, whatever else is to be had");
/// }
/// ```
///
/// ```
/// #[mainspring::main(flavor = "local")]
/// async fn main() {
///     let shared = std::rc::Rc::new(1);
///     let task = mainspring::spawn_local(async move { *shared + 1 });
///     assert_eq!(task.await.ok(), Some(2));
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
/// #[mainspring::main(workers = 0)] // somebody has to
/// async fn main() {}
/// ```
///
/// ```compile_fail
/// #[mainspring::main(flavor = "local", workers = 4)] // one or the other
/// async fn main() {}
/// ```
pub use mainspring_macros::main;

/// Makes a test of an `async fn`, on a runtime of its own: a
/// [`LocalRuntime`](crate::LocalRuntime), unless told otherwise.
///
/// The function keeps its other attributes (`#[should_panic]`, `#[ignore]`) and its return type.
///
/// # Options
///
/// Those of [`main`], but that `flavor = "local"` is the default, and:
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
/// With `workers`, or `flavor = "multi"`, it runs on a [`Runtime`](crate::Runtime), whose workers
/// have one clock. Several tasks that are due at the same moment run at the same time then, in no
/// promised order; what is due later runs after all of them wait again:
///
/// ```
/// use mainspring::time::{now, sleep};
/// use std::time::Duration;
///
/// #[mainspring::test(paused, workers = 2)]
/// async fn both_workers_have_one_clock() {
///     let start = now();
///     let nap = |hours| async move {
///         sleep(Duration::from_secs(hours * 3600)).await;
///         now()
///     };
///     let there = [0, 1].map(|worker| {
///         mainspring::spawn_pinned(worker, move || nap(worker as u64 + 1))
///     });
///     for (hours, there) in [1, 2].into_iter().zip(there) {
///         let woken = there.await.expect("no panic");
///         assert_eq!(woken.since(start), Duration::from_secs(hours * 3600));
///     }
/// }
/// ```
///
/// ```compile_fail
/// # #[allow(dead_code)]
/// #[mainspring::test(paws)] // there is no such option
/// async fn cat() {}
/// ```
pub use mainspring_macros::test;
