//! mainspring: the local executor over the timing wheel's driver, core's completion as the
//! oneshot. What the timers wait in is the kind of driver below them.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Context};
use std::time::{Duration, Instant};

use mainspring_core::driver::{Driver, ThreadDriver};
use mainspring_core::task::JoinHandle;
use mainspring_core::time::{Sleep, sleep};
use mainspring_core::{Completer, Completion, completion};
use mainspring_executor::{LocalExecutor, spawn_local};
use mainspring_reactor::{Backend, Reactor};
use mainspring_timer::TimerDriver;

use crate::runtime::{OneThread, Sleeper, Sure, YieldOnce};

/// What stands below the timers.
pub trait Below: 'static {
    fn driver() -> Box<dyn Driver>;
}

/// Nothing but the thread.
#[derive(Debug)]
pub struct Thread;

/// The reactor on the ring, which the row is about: no other will do.
#[derive(Debug)]
pub struct Ring;

/// The reactor on readiness.
#[derive(Debug)]
pub struct Poll;

impl Below for Thread {
    fn driver() -> Box<dyn Driver> {
        Box::new(TimerDriver::new(ThreadDriver::new()))
    }
}

impl Below for Ring {
    fn driver() -> Box<dyn Driver> {
        let reactor = Reactor::with_backend(Backend::Uring).expect("a ring");
        Box::new(TimerDriver::new(reactor))
    }
}

impl Below for Poll {
    fn driver() -> Box<dyn Driver> {
        let reactor = Reactor::with_backend(Backend::Poll).expect("readiness");
        Box::new(TimerDriver::new(reactor))
    }
}

#[derive(Debug)]
pub struct Ours<B = Thread>(PhantomData<B>);

impl<B: Below> OneThread for Ours<B> {
    type Join<T: 'static> = Joined<T>;
    type Sender<T: 'static> = Completer<T>;
    type Receiver<T: 'static> = Sure<Completion<T>>;

    fn block_on<T: 'static>(main: impl Future<Output = T> + 'static) -> T {
        LocalExecutor::with_driver(B::driver()).block_on(main)
    }

    fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> Joined<T> {
        Joined(spawn_local(task))
    }

    fn detach<T: 'static>(join: Joined<T>) {
        drop(join);
    }

    fn yield_now() -> impl Future<Output = ()> + 'static {
        YieldOnce::default()
    }

    fn oneshot<T: 'static>() -> (Completer<T>, Sure<Completion<T>>) {
        let (sender, receiver) = completion();
        (sender, Sure(receiver))
    }

    fn send<T: 'static>(sender: Completer<T>, value: T) {
        assert!(sender.complete(value).is_ok(), "the receiver is there");
    }

    fn sleeper() -> impl Sleeper {
        Timers
    }
}

/// A join handle that unwraps.
pub struct Joined<T>(JoinHandle<T>);

impl<T> Future for Joined<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> task::Poll<T> {
        Pin::new(&mut self.0).poll(cx).map(|done| match done {
            Ok(output) => output,
            Err(_) => panic!("no task of a row panics"),
        })
    }
}

#[derive(Clone, Copy)]
struct Timers;

impl Sleeper for Timers {
    type Sleep = Sleep;

    fn sleep(self, duration: Duration) -> Sleep {
        sleep(duration)
    }

    fn rearm(self, mut slot: Pin<&mut Option<Sleep>>, duration: Duration) {
        match slot.as_mut().as_pin_mut() {
            Some(sleep) => sleep.reset(Instant::now() + duration),
            None => slot.set(Some(sleep(duration))),
        }
    }
}
