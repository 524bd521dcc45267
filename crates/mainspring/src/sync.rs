//! Channels, locks and permits.
//!
//! | item | what it is |
//! |---|---|
//! | [`channel`] | messages from many senders to many receivers |
//! | [`oneshot`] | one value from one sender to one receiver |
//! | [`watch`] | the latest value, for any number of receivers |
//! | [`broadcast`] | every message to every receiver |
//! | [`Mutex`], [`RwLock`], [`Condvar`] | one value, shared across `.await` points |
//! | [`Semaphore`] | permits, by weight |
//! | [`Notify`] | that something happened |
//! | [`Barrier`], [`WaitGroup`] | that all are here; that all have ended |
//! | [`OnceCell`], [`SetOnce`], [`Lazy`] | a value that is made once |
//!
//! They are `mainspring-sync`'s and need no runtime: the other end may be a task of another
//! executor, or a thread that blocks. With the feature `sink` a [`channel::Sender`] is a `Sink` of
//! the futures crates.
//!
//! ```
//! use mainspring::sync::channel;
//!
//! let sum = mainspring::block_on(async {
//!     let (tx, rx) = channel::bounded(8);
//!     mainspring::spawn_local(async move {
//!         for number in 1..=10 {
//!             tx.send(number).await.unwrap();
//!         }
//!     })
//!     .detach();
//!     let mut sum = 0;
//!     while let Ok(number) = rx.recv().await {
//!         sum += number;
//!     }
//!     sum
//! });
//! assert_eq!(sum, 55);
//! ```

#[doc(inline)]
pub use mainspring_sync::*;
