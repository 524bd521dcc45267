//! Wakers that follow a script: they count, call back, panic.
//!
//! # Invariants
//!
//! - **script.counted** — each waker of a script owns one reference to it, taken when the waker was
//!   made or cloned and given up by its wake or drop, on unwind too.
//!
//! # Rejected
//!
//! `std::task::Wake`: it hides when a waker is cloned, and what a primitive does at that moment
//! (holding its lock, say) is half of what there is to test.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use crate::sync::{Arc, Mutex};
use std::any::Any;
use std::fmt;
use std::panic;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// What happens to a waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// It is woken, by value or by reference.
    Wake,
    /// It is cloned.
    Clone,
    /// It is dropped without being woken by value.
    Drop,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wake, Self::Clone, Self::Drop];
}

/// The payload of a panic that was asked for: by a script, or by a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scripted;

impl Scripted {
    /// Whether a caught panic is one of these.
    #[must_use]
    pub fn is(payload: &(dyn Any + Send)) -> bool {
        payload.is::<Self>()
    }

    /// Panics without a message on stderr; does nothing on a thread that is already unwinding,
    /// where a second panic would abort the process.
    pub(crate) fn panic() {
        if !std::thread::panicking() {
            panic::resume_unwind(Box::new(Self));
        }
    }
}

type Hook = Arc<dyn Fn() + Send + Sync>;

/// What is done at one moment.
#[derive(Default)]
struct Act {
    hook: Mutex<Option<Hook>>,
    is_busy: AtomicBool,
    panics: AtomicBool,
}

#[derive(Default)]
struct Shared {
    woken: AtomicUsize,
    clones: AtomicUsize,
    drops: AtomicUsize,
    live: AtomicUsize,
    acts: [Act; 3],
}

/// Gives up the mark that a hook is running, on unwind too.
struct Running<'a>(&'a AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.swap(false, Relaxed);
    }
}

impl Shared {
    fn act(&self, moment: Moment) -> &Act {
        &self.acts[moment as usize]
    }

    fn happens(&self, moment: Moment) {
        let act = self.act(moment);
        let hook = act.hook.lock().clone();
        if let Some(hook) = hook {
            if !act.is_busy.swap(true, Relaxed) {
                let _running = Running(&act.is_busy);
                hook();
            }
        }
        if act.panics.swap(false, Relaxed) {
            Scripted::panic();
        }
    }

    /// Drops the closures, which may own what owns the wakers.
    fn disarm(&self) {
        for act in &self.acts {
            act.panics.swap(false, Relaxed);
        }
        // A closure may own wakers of this script: their drop finds nothing any more.
        let hooks = self.acts.each_ref().map(|act| act.hook.lock().take());
        drop(hooks);
    }
}

/// What a waker does besides counting: built in one go, then made into a waker.
///
/// ```
/// use mainspring_testkit::{Moment, Script};
///
/// let (waker, tally) = Script::new().on(Moment::Wake, || println!("woken")).waker();
/// let copy = waker.clone();
/// copy.wake_by_ref();
/// drop(copy);
/// assert_eq!((tally.woken(), tally.clones(), tally.live()), (1, 1, 1));
/// waker.wake();
/// assert_eq!((tally.woken(), tally.live()), (2, 0));
/// ```
#[derive(Default)]
#[must_use = "a script does nothing until it is made into a waker"]
pub struct Script {
    shared: Shared,
}

impl Script {
    /// A waker that only counts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `hook` each time that this happens to one of the script's wakers.
    ///
    /// A hook that leads to the same moment again, or that runs on another thread at the same time,
    /// is not called a second time. It may own whatever owns the wakers: it is dropped with the
    /// [`Tally`].
    pub fn on(self, moment: Moment, hook: impl Fn() + Send + Sync + 'static) -> Self {
        *self.shared.act(moment).hook.lock() = Some(Arc::new(hook));
        self
    }

    /// As [`on`](Self::on), the first time only.
    pub fn once(self, moment: Moment, hook: impl FnOnce() + Send + 'static) -> Self {
        let hook = Mutex::new(Some(hook));
        self.on(moment, move || {
            let hook = hook.lock().take();
            if let Some(hook) = hook {
                hook();
            }
        })
    }

    /// Panics with [`Scripted`] the first time that this happens, after the hook if there is one.
    ///
    /// Once: the clean-up that follows must not abort the process. Nothing is printed.
    pub fn panics(self, moment: Moment) -> Self {
        self.shared.act(moment).panics.swap(true, Relaxed);
        self
    }

    /// The first waker of this script, and the handle that counts them all.
    #[must_use]
    pub fn waker(self) -> (Waker, Tally) {
        self.shared.live.fetch_add(1, Relaxed);
        let shared = Arc::new(self.shared);
        let tally = Tally {
            shared: Arc::clone(&shared),
        };
        // SAFETY: [script.counted] the data is one reference to `shared`, as each function of the
        // table expects; they may be called from any thread, since `Shared` is `Sync`.
        let waker = unsafe { Waker::new(Arc::into_raw(shared).cast(), &TABLE) };
        (waker, tally)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}

/// What became of a script's wakers. When it is dropped, the script only counts from then on.
///
/// The numbers are exact once the threads that use the wakers have been joined.
pub struct Tally {
    shared: Arc<Shared>,
}

impl Tally {
    /// How often one of them was woken.
    #[must_use]
    pub fn woken(&self) -> usize {
        self.shared.woken.load(Relaxed)
    }

    /// How often one was cloned.
    #[must_use]
    pub fn clones(&self) -> usize {
        self.shared.clones.load(Relaxed)
    }

    /// How often one was dropped. Being woken by value is not counted as a drop.
    #[must_use]
    pub fn drops(&self) -> usize {
        self.shared.drops.load(Relaxed)
    }

    /// How many exist, the first one included. Zero at the end, or somebody keeps one.
    #[must_use]
    pub fn live(&self) -> usize {
        self.shared.live.load(Relaxed)
    }

    /// Drops the script's closures and cancels its panics: from here on it only counts.
    pub fn disarm(&self) {
        self.shared.disarm();
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.shared.disarm();
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("woken", &self.woken())
            .field("clones", &self.clones())
            .field("drops", &self.drops())
            .field("live", &self.live())
            .finish()
    }
}

const TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Borrows the script of a waker.
///
/// # Safety
///
/// `data` belongs to a waker of a script, which lives for as long as the borrow.
unsafe fn shared<'a>(data: *const ()) -> &'a Shared {
    // SAFETY: [script.counted] the waker's own reference keeps it.
    unsafe { &*data.cast::<Shared>() }
}

/// Takes over the reference of a waker that ends.
///
/// # Safety
///
/// `data` belongs to a waker of a script that is not used again.
unsafe fn take(data: *const ()) -> Arc<Shared> {
    // SAFETY: [script.counted] the pointer came from `Arc::into_raw` of an `Arc<Shared>`, and the
    // waker's one reference is taken over once.
    unsafe { Arc::from_raw(data.cast::<Shared>()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: [script.counted] called with a waker that exists.
    let shared = unsafe { shared(data) };
    shared.happens(Moment::Clone);
    shared.clones.fetch_add(1, Relaxed);
    shared.live.fetch_add(1, Relaxed);
    // SAFETY: [script.counted] the waker that is cloned holds a reference, so the count is not
    // zero; the new one belongs to the clone.
    unsafe { Arc::increment_strong_count(data.cast::<Shared>()) };
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: [script.counted] called once, with the waker that is used up.
    let shared = unsafe { take(data) };
    shared.live.fetch_sub(1, Relaxed);
    shared.woken.fetch_add(1, Relaxed);
    shared.happens(Moment::Wake);
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: [script.counted] called with a waker that exists.
    let shared = unsafe { shared(data) };
    shared.woken.fetch_add(1, Relaxed);
    shared.happens(Moment::Wake);
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: [script.counted] called once, with the waker that ends.
    let shared = unsafe { take(data) };
    shared.live.fetch_sub(1, Relaxed);
    shared.drops.fetch_add(1, Relaxed);
    shared.happens(Moment::Drop);
}

#[cfg(test)]
mod tests;
