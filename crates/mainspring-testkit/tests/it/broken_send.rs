//! A small bounded channel whose senders wait, correct, and wrong in one way for each fault: each
//! fault turns the case red that is there for it.

use crate::broken::{assert_hangs, assert_red};
use mainspring_core::sync::{Arc, Mutex};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Channel, ChannelShape, Outcome, Parcel, Sent, Suite};
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const ROOM: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// One that waits and is dropped sends.
    SendsWhenDropped,
    /// One that has room and is dropped sends.
    SendsWhenDroppedWithRoom,
    /// The room of one that is dropped is gone.
    KeepsRoom,
    /// It is gone if it came while the send was being dropped.
    KeepsRoomInARace,
    /// A second poll leaves the first waker in place.
    KeepsFirstWaker,
    SleepsThroughClose,
    /// What is refused is neither handed back nor dropped.
    BuriesRefused,
    /// What is closed upon is said to be sent.
    SaysSentAfterClose,
    SleepsWhenOrphaned,
    DropsUnderLock,
    /// The value is dropped first, and the room is given up after it.
    DropsValueFirst,
    /// The value of one that had room and is dropped is neither sent nor dropped.
    BuriesDropped,
}

trait Has: Send + Sync + 'static {
    const FAULT: Fault;
    /// Whether it says that one which is dropped with room may have sent.
    const TAKES: bool = false;
}

struct Entry {
    id: u64,
    waker: Option<Waker>,
    has_room: bool,
}

/// While there is room, everybody in line has some.
#[derive(Default)]
struct Inside {
    parcels: VecDeque<Parcel>,
    /// Room that was given to those in line.
    reserved: usize,
    line: VecDeque<Entry>,
    receivers: VecDeque<(u64, Waker)>,
    next: u64,
    is_closed: bool,
    is_orphaned: bool,
}

struct Narrow<F> {
    inside: Mutex<Inside>,
    fault: PhantomData<fn() -> F>,
}

impl Inside {
    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn is_over(&self) -> bool {
        self.is_closed || self.is_orphaned
    }

    fn has_room(&self) -> bool {
        self.parcels.len() + self.reserved < ROOM
    }

    /// Gives room to those in line, and returns whom to wake.
    fn give_room(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while self.has_room() {
            let next = self.line.iter_mut().find(|entry| !entry.has_room);
            let Some(entry) = next else { break };
            entry.has_room = true;
            wakers.extend(entry.waker.take());
            self.reserved += 1;
        }
        wakers
    }

    fn push(&mut self, parcel: Parcel) -> Vec<Waker> {
        self.parcels.push_back(parcel);
        let receiver = self.receivers.pop_front();
        receiver.map(|(_, waker)| waker).into_iter().collect()
    }

    fn all_senders(&mut self) -> Vec<Waker> {
        let line = self.line.iter_mut();
        line.filter_map(|entry| entry.waker.take()).collect()
    }
}

fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

struct Recv<F: Has> {
    channel: Arc<Narrow<F>>,
    id: Option<u64>,
}

impl<F: Has> Future for Recv<F> {
    type Output = Option<Parcel>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = cx.waker().clone();
        let channel = Arc::clone(&self.channel);
        let mut inside = channel.inside.lock();
        let id = *self.id.get_or_insert_with(|| inside.id());
        let old = inside.receivers.iter().position(|(of, _)| *of == id);
        let old = old.and_then(|at| inside.receivers.remove(at));
        let (polled, wakers) = if let Some(parcel) = inside.parcels.pop_front() {
            (Poll::Ready(Some(parcel)), inside.give_room())
        } else if inside.is_over() {
            (Poll::Ready(None), Vec::new())
        } else {
            inside.receivers.push_back((id, waker));
            (Poll::Pending, Vec::new())
        };
        drop(inside);
        drop(old);
        wake(wakers);
        polled
    }
}

impl<F: Has> Drop for Recv<F> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut inside = self.channel.inside.lock();
        let at = inside.receivers.iter().position(|(of, _)| *of == id);
        let old = at.and_then(|at| inside.receivers.remove(at));
        let passes_on = old.is_none() && !inside.parcels.is_empty();
        let next = if passes_on {
            inside.receivers.pop_front()
        } else {
            None
        };
        drop(inside);
        drop(old);
        wake(next.into_iter().map(|(_, waker)| waker).collect());
    }
}

struct SendTo<F: Has> {
    channel: Arc<Narrow<F>>,
    parcel: Option<Parcel>,
    id: Option<u64>,
}

/// Where parcels end up that nobody drops: a checker of leaks finds them here.
static GRAVES: Mutex<Vec<Parcel>> = Mutex::new(Vec::new());

impl<F: Has> SendTo<F> {
    /// What one finds that is over.
    fn refused(&mut self, is_closed: bool) -> Sent {
        let parcel = self.parcel.take();
        match F::FAULT {
            Fault::BuriesRefused => {
                GRAVES.lock().extend(parcel);
                Err(None)
            }
            Fault::SaysSentAfterClose if is_closed => Ok(()),
            _ => Err(parcel),
        }
    }
}

impl<F: Has> Future for SendTo<F> {
    type Output = Sent;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Sent> {
        let mut waker = Some(cx.waker().clone());
        let channel = Arc::clone(&self.channel);
        let mut inside = channel.inside.lock();
        let place = |entry: &Entry| Some(entry.id) == self.id;
        let at = inside.line.iter().position(place);
        let has_room = at.map_or_else(|| inside.has_room(), |at| inside.line[at].has_room);
        let mut wakers = Vec::new();
        let mut entry = None;
        let polled = if inside.is_over() || has_room {
            entry = at.and_then(|at| inside.line.remove(at));
            self.id = None;
            inside.reserved -= usize::from(entry.as_ref().is_some_and(|entry| entry.has_room));
            if inside.is_over() {
                let is_closed = inside.is_closed;
                drop(inside);
                drop((entry, waker));
                return Poll::Ready(self.refused(is_closed));
            } else {
                let parcel = self.parcel.take().expect("it is there until it is ready");
                wakers = inside.push(parcel);
                Poll::Ready(Ok(()))
            }
        } else {
            match at {
                Some(at) if F::FAULT != Fault::KeepsFirstWaker => {
                    mem::swap(&mut inside.line[at].waker, &mut waker);
                }
                Some(_) => {}
                None => {
                    let id = inside.id();
                    self.id = Some(id);
                    inside.line.push_back(Entry {
                        id,
                        waker: waker.take(),
                        has_room: false,
                    });
                }
            }
            Poll::Pending
        };
        drop(inside);
        drop((entry, waker));
        wake(wakers);
        polled
    }
}

impl<F: Has> Drop for SendTo<F> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let parcel = self.parcel.take();
        if F::FAULT == Fault::DropsValueFirst {
            drop(parcel);
            leave::<F>(&self.channel, id, None);
            return;
        }
        let left = leave::<F>(&self.channel, id, parcel);
        drop(left);
    }
}

/// Takes a send out of the line, and returns its parcel, if that is to be dropped.
fn leave<F: Has>(channel: &Narrow<F>, id: u64, mut parcel: Option<Parcel>) -> Option<Parcel> {
    let mut inside = channel.inside.lock();
    let place = |inside: &Inside| inside.line.iter().position(|entry| entry.id == id);
    let had_room = place(&inside).is_some_and(|at| inside.line[at].has_room);
    if F::FAULT == Fault::KeepsRoomInARace {
        drop(inside);
        for _ in 0..100 {
            std::thread::yield_now();
        }
        inside = channel.inside.lock();
    }
    let entry = place(&inside).and_then(|at| inside.line.remove(at));
    let has_room = entry.as_ref().is_some_and(|entry| entry.has_room);
    let gives_up = match F::FAULT {
        Fault::KeepsRoom => false,
        Fault::KeepsRoomInARace => had_room,
        _ => has_room,
    };
    inside.reserved -= usize::from(gives_up);
    let sends = match F::FAULT {
        Fault::SendsWhenDropped => !has_room,
        Fault::SendsWhenDroppedWithRoom => has_room,
        _ => false,
    };
    let mut wakers = Vec::new();
    if let Some(parcel) = parcel.take_if(|_| sends) {
        wakers.extend(inside.push(parcel));
    }
    if F::FAULT == Fault::BuriesDropped && has_room {
        GRAVES.lock().extend(parcel.take());
    }
    if F::FAULT == Fault::DropsUnderLock {
        drop(parcel.take());
    }
    wakers.extend(inside.give_room());
    drop(inside);
    drop(entry);
    wake(wakers);
    parcel
}

impl<F: Has> Channel for Narrow<F> {
    fn shape() -> ChannelShape {
        let shape = ChannelShape::many_receivers(ROOM).closes();
        if F::TAKES {
            shape.takes_from_senders()
        } else {
            shape.senders_wait()
        }
    }

    fn new() -> Self {
        Self {
            inside: Mutex::default(),
            fault: PhantomData,
        }
    }

    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel> {
        let mut inside = self.inside.lock();
        if inside.is_over() || !inside.has_room() {
            return Err(parcel);
        }
        let wakers = inside.push(parcel);
        drop(inside);
        wake(wakers);
        Ok(())
    }

    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        Some(Box::pin(SendTo {
            channel: Arc::clone(self),
            parcel: Some(parcel),
            id: None,
        }))
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
        let mut wakers = Vec::new();
        if F::FAULT != Fault::SleepsThroughClose {
            wakers = inside.all_senders();
        }
        let receivers = mem::take(&mut inside.receivers);
        drop(inside);
        wakers.extend(receivers.into_iter().map(|(_, waker)| waker));
        wake(wakers);
    }

    fn drop_receiver(&self) {
        let mut inside = self.inside.lock();
        inside.is_orphaned = true;
        let parcels = mem::take(&mut inside.parcels);
        let mut wakers = Vec::new();
        if F::FAULT != Fault::SleepsWhenOrphaned {
            wakers = inside.all_senders();
        }
        drop(inside);
        wake(wakers);
        drop(parcels);
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
                let suite = Suite::of_channel::<Narrow<Faulty>>;
                assert_red(suite, stringify!($case), &[$($(stringify!($other)),+)?]);
            }
        )*
    };
}

/// Everything passes, and nothing is passed over.
fn assert_sound<F: Has>() {
    let report = Suite::of_channel::<Narrow<F>>().run();
    let mut outcomes = report.outcomes.iter();
    let passed = outcomes.all(|(_, outcome)| *outcome == Outcome::Passed);
    assert!(passed, "{report}");
}

#[test]
fn no_fault_passes_everything() {
    struct Sound;
    impl Has for Sound {
        const FAULT: Fault = Fault::None;
    }
    assert_sound::<Sound>();
}

#[test]
fn one_that_says_so_may_send_what_is_dropped() {
    struct Taking;
    impl Has for Taking {
        const FAULT: Fault = Fault::SendsWhenDroppedWithRoom;
        const TAKES: bool = true;
    }
    assert_sound::<Taking>();
}

#[test]
fn one_that_says_so_may_not_lose_it() {
    struct Losing;
    impl Has for Losing {
        const FAULT: Fault = Fault::BuriesDropped;
        const TAKES: bool = true;
    }
    let others = [
        "closed_send_is_settled",
        "orphaned_send_is_settled",
        "waiting_value_drop_calls_back",
        "waiting_value_drop_panics",
        "threads_withdraw_sends",
    ];
    let suite = Suite::of_channel::<Narrow<Losing>>;
    assert_red(suite, "dropped_granted_send", &others);
}

#[test]
fn values_are_dropped_under_the_lock() {
    struct Faulty;
    impl Has for Faulty {
        const FAULT: Fault = Fault::DropsUnderLock;
    }
    // What panics under the lock leaves the rest undone.
    let suite = || Suite::of_channel::<Narrow<Faulty>>().except(&["waiting_value_drop_panics"]);
    assert_hangs(suite, &["waiting_value_drop_calls_back"]);
}

faults! {
    sends_what_was_withdrawn: SendsWhenDropped => dropped_send_is_withdrawn, and
        closed_send_is_settled, orphaned_send_is_settled, waiting_value_drop_panics,
        threads_withdraw_sends;
    sends_what_was_withdrawn_with_room: SendsWhenDroppedWithRoom => dropped_granted_send, and
        closed_send_is_settled, orphaned_send_is_settled, waiting_value_drop_panics,
        threads_withdraw_sends;
    room_goes_with_the_dropped: KeepsRoom => dropped_granted_send, and
        waiting_value_drop_panics, threads_withdraw_sends;
    room_goes_in_a_race: KeepsRoomInARace => threads_withdraw_sends;
    keeps_the_first_waker: KeepsFirstWaker => repolled_send_is_woken;
    close_wakes_no_sender: SleepsThroughClose => closed_send_is_settled;
    what_is_refused_is_leaked: BuriesRefused => closed_send_is_settled, and
        orphaned_send_is_settled, waiting_value_drop_calls_back, waiting_value_drop_panics;
    what_is_refused_is_said_to_be_sent: SaysSentAfterClose => closed_send_is_settled;
    no_sender_is_told_that_nobody_receives: SleepsWhenOrphaned => orphaned_send_is_settled;
    a_panic_takes_room_along: DropsValueFirst => waiting_value_drop_panics;
}
