//! Futures that yield, on a spent budget, with what they waited for in their hands, and are dropped
//! there. The suite polls such futures and drops others; this is both.

use super::{broadcast, channels, locks, semaphores, signals};
use mainspring_testkit::Hand;
use mainspring_testkit::conformance::{Subject, Waited};
use std::sync::Arc;
use std::task::Poll;

fn waiter<S: Subject>(subject: &Arc<S>) -> Hand<Waited> {
    Hand::new(subject.wait())
}

/// S1, S13: what was there when it came is there when it has gone.
fn dropped_yielding<S: Subject>() {
    let subject = Arc::new(S::new());
    subject.grant();
    let mut first = waiter(&subject);
    assert!(first.poll_spent().is_pending(), "it asks no budget");
    assert!(first.is_woken(), "it does not come back");
    drop(first);
    let polled = waiter(&subject).poll();
    assert_eq!(polled, Poll::Ready(Waited::Granted));
    assert!(waiter(&subject).poll().is_pending(), "one became two");
}

/// S1, S13: what it was granted after it had waited goes to the next. One may also take what it was
/// granted, without a budget for it: it has yielded before.
fn dropped_yielding_before_others<S: Subject>() {
    let subject = Arc::new(S::new());
    let [mut first, mut second] = [waiter(&subject), waiter(&subject)];
    assert!(first.poll().is_pending() && second.poll().is_pending());
    subject.grant();
    assert!(first.is_woken() && !second.is_woken());
    if first.poll_spent() == Poll::Ready(Waited::Granted) {
        assert!(!second.is_woken(), "one became two");
        return;
    }
    drop(first);
    assert!(second.is_woken(), "it is gone with the first one");
    assert_eq!(second.poll(), Poll::Ready(Waited::Granted));
    assert!(waiter(&subject).poll().is_pending(), "one became two");
}

macro_rules! of_each {
    ($($name:ident: $subject:ty),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                dropped_yielding::<$subject>();
                dropped_yielding_before_others::<$subject>();
            }
        )*
    };
}

of_each! {
    semaphore_strict: semaphores::Pool<1, true, false>,
    semaphore_overtaking: semaphores::Pool<1, false, false>,
    semaphore_weight_three: semaphores::Pool<3, false, false>,
    mutex: locks::OnMutex<false>,
    rwlock_write: locks::Writers,
    notify: signals::Oldest,
    recv: channels::Receivers<4, channels::Recv>,
    recv_many: channels::Receivers<4, channels::RecvMany>,
    stream: channels::Receivers<4, channels::Next>,
    send: channels::Senders<1, channels::Send>,
    send_many: channels::Senders<4, channels::SendMany>,
    reserve: channels::Senders<1, channels::Reserve>,
    reserve_owned: channels::Senders<4, channels::ReserveOwned>,
    broadcast_send: broadcast::Senders<false>,
    broadcast_reserve: broadcast::Senders<true>,
}

/// As [`dropped_yielding_before_others`], where a grant that finds nobody is gone.
#[test]
fn condvar() {
    dropped_yielding_before_others::<locks::OnCondvar>();
    dropped_yielding_before_others::<locks::OneMutex>();
}

#[test]
fn notify_newest() {
    dropped_yielding::<signals::Newest>();
    let subject = Arc::new(signals::Newest::new());
    let [mut first, mut second] = [waiter(&subject), waiter(&subject)];
    assert!(first.poll().is_pending() && second.poll().is_pending());
    subject.grant();
    assert!(second.is_woken() && !first.is_woken());
    assert!(second.poll_spent().is_pending());
    let mut third = waiter(&subject);
    assert!(third.poll().is_pending());
    drop(second);
    // From the same end of the queue.
    assert!(third.is_woken() && !first.is_woken());
    assert_eq!(third.poll(), Poll::Ready(Waited::Granted));
}
