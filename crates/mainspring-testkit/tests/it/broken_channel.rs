//! A small channel that is correct, and wrong in one way for each fault: each fault turns the case
//! red that is there for it.

use crate::broken::{assert_hangs, assert_red};
use mainspring_core::sync::{Arc, Mutex};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Channel, ChannelShape, Parcel, Suite};
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    HandsValueToFuture,
    KeepsValues,
    DropsUnderLock,
    StopsAtPanic,
    Reorders,
    CloseDropsValues,
    PeeksBeforeItTakes,
}

trait Has: Send + Sync + 'static {
    const FAULT: Fault;
}

#[derive(Default)]
struct Inside {
    parcels: VecDeque<Parcel>,
    /// Those that wait, with what was put into their hands.
    waiting: VecDeque<(u64, Waker)>,
    handed: VecDeque<(u64, Parcel)>,
    next: u64,
    is_closed: bool,
    has_receiver: bool,
}

struct Leaky<F> {
    inside: Mutex<Inside>,
    fault: PhantomData<fn() -> F>,
}

struct Recv<F: Has> {
    channel: Arc<Leaky<F>>,
    id: Option<u64>,
}

impl<F: Has> Leaky<F> {
    fn has(fault: Fault) -> bool {
        F::FAULT == fault
    }

    fn wake_one(&self) {
        let next = self.inside.lock().waiting.pop_front();
        if let Some((_, waker)) = next {
            waker.wake();
        }
    }

    fn wake_all(&self) {
        let waiting = mem::take(&mut self.inside.lock().waiting);
        for (_, waker) in waiting {
            waker.wake();
        }
    }
}

impl<F: Has> Future for Recv<F> {
    type Output = Option<Parcel>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = cx.waker().clone();
        let channel = Arc::clone(&self.channel);
        let mut inside = channel.inside.lock();
        let id = *self.id.get_or_insert_with(|| {
            inside.next += 1;
            inside.next
        });
        let old = inside.waiting.iter().position(|(of, _)| *of == id);
        let old = old.and_then(|at| inside.waiting.remove(at));
        let handed = inside.handed.iter().position(|(to, _)| *to == id);
        let polled = if let Some((_, parcel)) = handed.and_then(|at| inside.handed.remove(at)) {
            Poll::Ready(Some(parcel))
        } else if Leaky::<F>::has(Fault::PeeksBeforeItTakes) && !inside.parcels.is_empty() {
            drop(inside);
            std::thread::yield_now();
            inside = channel.inside.lock();
            // Somebody else may have been faster: the last one of another lap, or none.
            Poll::Ready(inside.parcels.pop_back())
        } else if let Some(parcel) = inside.parcels.pop_front() {
            Poll::Ready(Some(parcel))
        } else if inside.is_closed || !inside.has_receiver {
            Poll::Ready(None)
        } else {
            inside.waiting.push_back((id, waker));
            Poll::Pending
        };
        drop(inside);
        drop(old);
        polled
    }
}

impl<F: Has> Drop for Recv<F> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut inside = self.channel.inside.lock();
        let waiting = inside.waiting.iter().position(|(of, _)| *of == id);
        let waiting = waiting.and_then(|at| inside.waiting.remove(at));
        let handed = inside.handed.iter().position(|(to, _)| *to == id);
        let handed = handed.and_then(|at| inside.handed.remove(at));
        let passes_on = waiting.is_none() && !inside.parcels.is_empty();
        drop(inside);
        drop((waiting, handed));
        if passes_on {
            self.channel.wake_one();
        }
    }
}

impl<F: Has> Channel for Leaky<F> {
    fn shape() -> ChannelShape {
        ChannelShape::many_receivers(usize::MAX).closes()
    }

    fn new() -> Self {
        Self {
            inside: Mutex::new(Inside {
                has_receiver: true,
                ..Inside::default()
            }),
            fault: PhantomData,
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let mut inside = self.inside.lock();
        if inside.is_closed || !inside.has_receiver {
            return Err(parcel);
        }
        if Self::has(Fault::HandsValueToFuture) {
            if let Some((id, waker)) = inside.waiting.pop_front() {
                inside.handed.push_back((id, parcel));
                drop(inside);
                waker.wake();
                return Ok(());
            }
        }
        if Self::has(Fault::Reorders) && inside.parcels.len() == 2 {
            inside.parcels.push_front(parcel);
        } else {
            inside.parcels.push_back(parcel);
        }
        drop(inside);
        self.wake_one();
        Ok(())
    }

    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>> {
        Box::pin(Recv {
            channel: Arc::clone(self),
            id: None,
        })
    }

    fn close(&self) {
        let mut inside = self.inside.lock();
        inside.is_closed = true;
        let parcels = if Self::has(Fault::CloseDropsValues) {
            mem::take(&mut inside.parcels)
        } else {
            VecDeque::new()
        };
        drop(inside);
        drop(parcels);
        self.wake_all();
    }

    fn drop_receiver(&self) {
        let mut inside = self.inside.lock();
        inside.has_receiver = false;
        if Self::has(Fault::KeepsValues) {
            return;
        }
        let parcels = mem::take(&mut inside.parcels);
        if Self::has(Fault::DropsUnderLock) {
            drop(parcels);
            return;
        }
        drop(inside);
        if Self::has(Fault::StopsAtPanic) {
            // As a hand-written loop over raw slots does.
            let mut stops = Stops(parcels);
            while let Some(parcel) = stops.0.pop_front() {
                drop(parcel);
            }
        }
    }
}

/// Where parcels end up that nobody drops: a checker of leaks finds them here.
static GRAVES: Mutex<VecDeque<Parcel>> = Mutex::new(VecDeque::new());

/// Buries what is left when the loop over it unwinds.
struct Stops(VecDeque<Parcel>);

impl Drop for Stops {
    fn drop(&mut self) {
        GRAVES.lock().append(&mut self.0);
    }
}

macro_rules! faults {
    ($($test:ident: $fault:ident => $case:ident $(, and $($other:ident),+)?;)*) => {
        $(
            #[test]
            fn $test() {
                struct Faulty;
                impl Has for Faulty {
                    const FAULT: Fault = Fault::$fault;
                }
                let suite = Suite::of_channel::<Leaky<Faulty>>;
                assert_red(suite, stringify!($case), &[$($(stringify!($other)),+)?]);
            }
        )*
    };
}

#[test]
fn no_fault_passes_everything() {
    struct Sound;
    impl Has for Sound {
        const FAULT: Fault = Fault::None;
    }
    let report = Suite::of_channel::<Leaky<Sound>>().run();
    report.assert_clean();
}

#[test]
fn values_are_dropped_under_the_lock() {
    struct Faulty;
    impl Has for Faulty {
        const FAULT: Fault = Fault::DropsUnderLock;
    }
    let suite = Suite::of_channel::<Leaky<Faulty>>;
    assert_hangs(suite, &["value_drop_calls_back"]);
}

faults! {
    a_value_goes_with_the_future: HandsValueToFuture => dropped_receive_loses_nothing,
        and threads_receive_exactly_once;
    values_outlive_the_receiver: KeepsValues => dropped_end_frees_values;
    stops_dropping_at_a_panic: StopsAtPanic => value_drop_panics;
    values_overtake: Reorders => values_arrive_in_order,
        and closed_delivers_what_was_sent, threads_receive_exactly_once;
    a_close_drops_what_was_sent: CloseDropsValues => closed_delivers_what_was_sent;
    looks_and_then_takes: PeeksBeforeItTakes => threads_receive_exactly_once,
        and values_arrive_in_order, closed_delivers_what_was_sent;
}
