//! Correct primitives on core's wait list, which pass everything.

use mainspring_core::budget;
use mainspring_core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use mainspring_core::sync::{Arc, Mutex};
use mainspring_core::wait_list::{From, Kind, Queue, WaitList, Waiter, Why};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Channel, ChannelShape, Parcel, Shape, Subject, Waited};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::task::Poll;

/// Permits. All changes are made under the list's lock.
struct Permits(AtomicUsize);

impl Permits {
    fn add(&self, queue: &mut Queue<'_, Self>, permits: usize) {
        self.0.fetch_add(permits, Relaxed);
        self.settle(queue);
    }

    fn take(&self) -> bool {
        let has_one = self.0.load(Relaxed) > 0;
        if has_one {
            self.0.fetch_sub(1, Relaxed);
        }
        has_one
    }

    fn settle(&self, queue: &mut Queue<'_, Self>) {
        while !queue.is_empty() && self.take() {
            queue.wake_one(From::Oldest);
        }
    }
}

impl Kind for Permits {
    type Key = ();

    fn returned(&self, queue: &mut Queue<'_, Self>, (): &(), _: From) {
        self.add(queue, 1);
    }

    fn left(&self, queue: &mut Queue<'_, Self>, (): &()) {
        self.settle(queue);
    }
}

struct Semaphore(Arc<WaitList<Permits>>);

impl Subject for Semaphore {
    fn shape() -> Shape {
        Shape::counting().fifo().budgeted().closes()
    }

    fn new() -> Self {
        Self(Arc::new(WaitList::new(Permits(AtomicUsize::new(0)))))
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let list = Arc::clone(&self.0);
        Box::pin(async move {
            let mut waiter = pin!(Waiter::new(list, ()));
            poll_fn(|cx| {
                let mut yields = false;
                let polled = waiter.as_mut().poll_wait(cx, |queue, (), why| match why {
                    Why::Offered(_) => Some(Waited::Granted),
                    Why::Released => Some(Waited::Closed),
                    _ if queue.is_closed() => Some(Waited::Closed),
                    Why::First if !queue.is_empty() => None,
                    _ if budget::is_spent() => {
                        yields = true;
                        None
                    }
                    _ => queue.kind().take().then_some(Waited::Granted),
                });
                if polled.is_ready() {
                    budget::consume();
                } else if yields {
                    // In its place already: [S13].
                    let _ = budget::poll_proceed(cx);
                }
                polled
            })
            .await
        })
    }

    fn grant(&self) {
        self.grant_many(1);
    }

    fn grant_many(&self, count: usize) -> bool {
        self.0.with(|queue| queue.kind().add(queue, count));
        true
    }

    fn close(&self) {
        self.0.close();
    }
}

/// One stored notification.
struct Stored(AtomicBool);

impl Stored {
    fn notify(&self, queue: &mut Queue<'_, Self>) {
        if !queue.wake_one(From::Oldest) {
            self.0.swap(true, Relaxed);
        }
    }
}

impl Kind for Stored {
    type Key = ();

    fn returned(&self, queue: &mut Queue<'_, Self>, (): &(), _: From) {
        self.notify(queue);
    }
}

struct Notify(Arc<WaitList<Stored>>);

impl Subject for Notify {
    fn shape() -> Shape {
        Shape::remembering().fifo().releases_all()
    }

    fn new() -> Self {
        Self(Arc::new(WaitList::new(Stored(AtomicBool::new(false)))))
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let list = Arc::clone(&self.0);
        Box::pin(async move {
            let mut waiter = pin!(Waiter::new(list, ()));
            poll_fn(|cx| {
                waiter.as_mut().poll_wait(cx, |queue, (), why| match why {
                    Why::Offered(_) | Why::Released => Some(Waited::Granted),
                    _ => queue
                        .kind()
                        .0
                        .swap(false, Relaxed)
                        .then_some(Waited::Granted),
                })
            })
            .await
        })
    }

    fn grant(&self) {
        self.0.with(|queue| queue.kind().notify(queue));
    }

    fn grant_all(&self) {
        self.0.wake_all();
    }
}

/// An event that keeps nothing and only releases all.
struct Bell(Arc<WaitList>);

impl Subject for Bell {
    fn shape() -> Shape {
        Shape::broadcasting()
    }

    fn new() -> Self {
        Self(Arc::default())
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let list = Arc::clone(&self.0);
        Box::pin(async move {
            let mut waiter = pin!(Waiter::new(list, ()));
            poll_fn(|cx| {
                waiter.as_mut().poll_wait(cx, |_, (), why| {
                    (why == Why::Released).then_some(Waited::Granted)
                })
            })
            .await
        })
    }

    fn grant_all(&self) {
        self.0.wake_all();
    }
}

/// A queue of parcels, whose receivers wait on a list.
#[derive(Default)]
struct Pipe {
    list: WaitList,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    parcels: VecDeque<Parcel>,
    is_closed: bool,
}

impl Pipe {
    /// Shuts it and returns what was inside, if that goes with it.
    fn shut(&self, takes: bool) -> VecDeque<Parcel> {
        let mut inside = self.inside.lock();
        inside.is_closed = true;
        let taken = if takes {
            mem::take(&mut inside.parcels)
        } else {
            VecDeque::new()
        };
        drop(inside);
        self.list.wake_all();
        taken
    }
}

impl Channel for Pipe {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(usize::MAX).closes()
    }

    fn new() -> Self {
        Self::default()
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let mut inside = self.inside.lock();
        if inside.is_closed {
            return Err(parcel);
        }
        inside.parcels.push_back(parcel);
        drop(inside);
        self.list.wake_one(From::Oldest);
        Ok(())
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let mut waiter = pin!(Waiter::new(&this.list, ()));
            poll_fn(|cx| {
                let polled = waiter.as_mut().poll_wait(cx, |_, (), _| {
                    let mut inside = this.inside.lock();
                    match inside.parcels.pop_front() {
                        Some(parcel) => Some(Some(parcel)),
                        None => inside.is_closed.then_some(None),
                    }
                });
                match polled {
                    // An offer means "look again": what is left is another one's.
                    Poll::Ready(found) => {
                        if !this.inside.lock().parcels.is_empty() {
                            this.list.wake_one(From::Oldest);
                        }
                        Poll::Ready(found)
                    }
                    Poll::Pending => Poll::Pending,
                }
            })
            .await
        })
    }

    fn close(&self) {
        drop(self.shut(false));
    }

    fn drop_receiver(&self) {
        drop(self.shut(true));
    }
}

mainspring_testkit::conformance! {
    mod semaphore: super::Semaphore;
}

mainspring_testkit::conformance! {
    mod notify: super::Notify;
}

mainspring_testkit::conformance! {
    mod bell: super::Bell;
}

mainspring_testkit::channel_conformance! {
    mod pipe: super::Pipe;
}
