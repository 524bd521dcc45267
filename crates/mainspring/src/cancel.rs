//! Telling work to stop, and knowing when it has.
//!
//! | item | what it is |
//! |---|---|
//! | [`CancelToken`] | tells a tree of work to stop, why, and knows when it has |
//! | [`Reason`] | what cancelled it, with a message and the place in the code |
//! | [`Hold`] | keeps a token from being done until it is released |
//! | [`TaskTracker`] | waits for tasks whose results nobody wants |
//!
//! They are `mainspring-cancel`'s and need no runtime. A deadline uses this runtime's timers, and
//! its callbacks are called by a task of it.
//!
//! ```
//! use mainspring::cancel::{CancelToken, Reason, What};
//! use mainspring::time::Deadline;
//! use std::time::Duration;
//!
//! let what = mainspring::block_on(async {
//!     let server = CancelToken::new();
//!     let request = server.with_deadline(Deadline::after(Duration::from_millis(2)));
//!     let work = {
//!         let hold = request.hold().expect("it has just begun");
//!         mainspring::spawn_local(async move {
//!             let token = hold.token();
//!             let stopped = token.run_until_cancelled(std::future::pending::<()>()).await;
//!             // … put things in order; dropping the hold says that it is done
//!             stopped.unwrap_err().reason.what()
//!         })
//!     };
//!     request.drained().await;
//!     server.cancel(Reason::shutdown());
//!     work.await.unwrap()
//! });
//! assert_eq!(what, What::Timeout);
//! ```

#[doc(inline)]
pub use mainspring_cancel::*;
