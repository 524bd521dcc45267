//! Models of the ring over its index words. Messages are loom's counted references, so that one
//! that is lost or dropped twice shows.

use crate::channel::ring::{Pop, Push, Reserve, Ring};
use crate::channel::shape::Widths;
use crate::channel::words::{Closing, OnPark, Told, Turn};
use loom::thread;
use mainspring_core::sync::Arc;

/// Four laps of one slot, two of two.
struct Tiny;

impl Widths for Tiny {
    const POSITION: u32 = 3;
    const HELD: u32 = 2;
}

type Message = Arc<u32>;
type Shared = Arc<Ring<Message, Tiny>>;

fn ring(capacity: usize) -> Shared {
    Arc::new(Ring::new(capacity))
}

fn three_threads(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Pushes until there is room.
fn push(ring: &Shared, number: u32) {
    let mut message = Arc::new(number);
    loop {
        message = match ring.push(message, Turn::Newcomer) {
            Push::Done(told) => return assert_eq!(told, Told::Nobody),
            Push::Full(message) | Push::Busy(message) => message,
            Push::Closed(_) | Push::Queue(_) => panic!("words.closed: nobody closed it"),
        };
        thread::yield_now();
    }
}

/// Pops until there is a message.
fn pop(ring: &Shared) -> u32 {
    loop {
        match ring.pop() {
            Pop::Got(message, senders_wait) => {
                assert!(!senders_wait);
                return *message;
            }
            Pop::Empty | Pop::Busy => thread::yield_now(),
            Pop::Closed => panic!("words.closed: nobody closed it"),
        }
    }
}

// WITNESS: words.claim, slots.owner, slots.written
#[test]
fn two_pushes_and_a_pop_deliver_each_message_once() {
    three_threads(|| {
        let ring = ring(2);
        let pushers = [1, 2].map(|number| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || push(&ring, number))
        });
        let first = pop(&ring);
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert_eq!(first + pop(&ring), 3);
        assert!(matches!(ring.pop(), Pop::Empty));
    });
}

// WITNESS: words.claim, slots.owner
#[test]
fn three_pops_take_each_message_once() {
    three_threads(|| {
        let ring = ring(2);
        push(&ring, 1);
        push(&ring, 2);
        let pop_once = |ring: &Shared| match ring.pop() {
            Pop::Got(message, _) => *message,
            Pop::Empty => 0,
            Pop::Busy | Pop::Closed => panic!("words.claim: all is written, nothing closed"),
        };
        let poppers = [(), ()].map(|()| {
            let ring = Arc::clone(&ring);
            thread::spawn(move || pop_once(&ring))
        });
        let mut taken = pop_once(&ring);
        for popper in poppers {
            taken += popper.join().unwrap();
        }
        assert_eq!(taken, 3);
    });
}

// WITNESS: slots.free, slots.written, slots.live
#[test]
fn one_slot_carries_messages_around_the_end_of_the_laps() {
    loom::model(|| {
        let ring = ring(1);
        // Three of the four laps of these positions.
        for number in 1..=3 {
            push(&ring, number);
            assert_eq!(pop(&ring), number);
        }
        let pusher = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                push(&ring, 4);
                push(&ring, 5);
            })
        };
        assert_eq!(pop(&ring), 4);
        assert_eq!(pop(&ring), 5);
        pusher.join().unwrap();
    });
}

/// Takes one message, then sends one by way of a permit. Whose slot that is, the words decide.
fn exchange(ring: &Shared) {
    let _ = pop(ring);
    loop {
        match ring.reserve(Turn::Newcomer) {
            Reserve::Held => break,
            Reserve::Full | Reserve::Busy => thread::yield_now(),
            Reserve::Closed | Reserve::Queue => panic!("words.closed: nobody closed it"),
        }
    }
    let told = ring.redeem(Arc::new(9)).expect("a receiver is left");
    assert_eq!(told, Told::Nobody);
}

// WITNESS: words.window, slots.window, slots.free
#[test]
fn permits_of_two_threads_may_get_each_others_slots() {
    loom::model(|| {
        let ring = ring(2);
        push(&ring, 1);
        push(&ring, 2);
        let other = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || exchange(&ring))
        };
        exchange(&ring);
        other.join().unwrap();
        assert_eq!(pop(&ring), 9);
        assert_eq!(pop(&ring), 9);
    });
}

// WITNESS: words.window, slots.window
#[test]
fn push_beside_a_held_permit_may_get_its_slot() {
    loom::model(|| {
        let ring = ring(2);
        push(&ring, 1);
        push(&ring, 2);
        let other = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                let _ = pop(&ring);
                push(&ring, 3);
            })
        };
        exchange(&ring);
        other.join().unwrap();
        assert_eq!(pop(&ring) + pop(&ring), 12);
    });
}

// WITNESS: words.closed, words.end
/// S9: what claimed before the close is delivered, what comes after comes back; the receiver is
/// told of the end when there is nothing left.
#[test]
fn close_decides_between_delivered_and_given_back() {
    three_threads(|| {
        let ring = ring(1);
        let sender = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || match ring.push(Arc::new(1), Turn::Newcomer) {
                Push::Done(_) => 1,
                Push::Closed(message) => *message - 1,
                _ => panic!("words.capacity: there was room"),
            })
        };
        let closer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || ring.words().close())
        };
        let mut received = 0;
        loop {
            match ring.pop() {
                Pop::Got(message, _) => received += *message,
                Pop::Closed => break,
                Pop::Empty | Pop::Busy => thread::yield_now(),
            }
        }
        assert_eq!(sender.join().unwrap(), received);
        assert_eq!(closer.join().unwrap(), Closing::First);
    });
}

// WITNESS: words.end, words.ended
/// S8: the end comes after the last permit.
#[test]
fn end_comes_after_the_permit_whether_used_or_given_back() {
    for is_used in [false, true] {
        loom::model(move || {
            let ring = ring(1);
            assert_eq!(ring.reserve(Turn::Newcomer), Reserve::Held);
            assert_eq!(ring.words().close(), Closing::First);
            let past = self::ring(1);
            let holder = {
                let (ring, past) = (Arc::clone(&ring), Arc::clone(&past));
                thread::spawn(move || {
                    push(&past, 7);
                    if is_used {
                        assert!(ring.redeem(Arc::new(1)).is_ok());
                    } else {
                        assert_eq!(ring.words().release().told, Told::Nobody);
                    }
                })
            };
            let mut received = 0;
            loop {
                match ring.pop() {
                    Pop::Got(message, _) => received += *message,
                    Pop::Closed => break,
                    Pop::Empty | Pop::Busy => thread::yield_now(),
                }
            }
            let before = past.pop();
            assert!(
                matches!(before, Pop::Got(..)),
                "words.ended: the end has no past"
            );
            assert_eq!(received, u32::from(is_used));
            holder.join().unwrap();
        });
    }
}

// WITNESS: words.ended
/// What the last permit's holder did is there for a receiver that only sees the end.
#[test]
fn end_after_a_used_permit_has_a_past_also_for_who_got_no_message() {
    three_threads(|| {
        let (ring, past) = (ring(1), ring(1));
        assert_eq!(ring.reserve(Turn::Newcomer), Reserve::Held);
        assert_eq!(ring.words().close(), Closing::First);
        let holder = {
            let (ring, past) = (Arc::clone(&ring), Arc::clone(&past));
            thread::spawn(move || {
                push(&past, 7);
                assert!(ring.redeem(Arc::new(1)).is_ok());
            })
        };
        let receiver = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || drop(ring.pop()))
        };
        loop {
            match ring.pop() {
                Pop::Got(..) => {}
                Pop::Closed => break,
                Pop::Empty | Pop::Busy => thread::yield_now(),
            }
        }
        let before = past.pop();
        assert!(
            matches!(before, Pop::Got(..)),
            "words.ended: the end has no past"
        );
        holder.join().unwrap();
        receiver.join().unwrap();
    });
}

// CORRECTION: 31
// WITNESS: words.claim
#[test]
fn claimed_and_unwritten_is_busy_and_not_empty() {
    loom::model(|| {
        let ring = ring(2);
        let other = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || push(&ring, 1))
        };
        push(&ring, 2);
        // Its own message is there, whatever stands before it.
        match ring.pop() {
            Pop::Got(message, _) => assert!(*message <= 2),
            Pop::Busy => {}
            Pop::Empty | Pop::Closed => panic!("words.claim: a message was there"),
        }
        other.join().unwrap();
    });
}

// CORRECTION: 34
// WITNESS: words.receiver-parks
#[test]
fn push_racing_a_receiver_that_parks_sees_its_note() {
    for receiver_is_spawned in [false, true] {
        loom::model(move || {
            let ring = ring(1);
            let sends = {
                let ring = Arc::clone(&ring);
                move || match ring.push(Arc::new(1), Turn::Newcomer) {
                    Push::Done(told) => told == Told::Receiver,
                    _ => panic!("words.capacity: there was room"),
                }
            };
            let parks = {
                let ring = Arc::clone(&ring);
                move || ring.words().receiver_parks() == OnPark::Wait
            };
            let (told, waits) = if receiver_is_spawned {
                let receiver = thread::spawn(parks);
                (sends(), receiver.join().unwrap())
            } else {
                let sender = thread::spawn(sends);
                let waits = parks();
                (sender.join().unwrap(), waits)
            };
            assert!(
                told || !waits,
                "words.receiver-parks: both missed the other"
            );
        });
    }
}

// WITNESS: words.sender-parks
#[test]
fn room_made_while_a_sender_parks_is_seen_by_one_of_them() {
    for with_permit in [false, true] {
        for sender_is_spawned in [false, true] {
            loom::model(move || {
                let ring = ring(1);
                if with_permit {
                    assert_eq!(ring.reserve(Turn::Newcomer), Reserve::Held);
                } else {
                    push(&ring, 1);
                }
                let frees = {
                    let ring = Arc::clone(&ring);
                    move || {
                        if with_permit {
                            return ring.words().release().senders_wait;
                        }
                        match ring.pop() {
                            Pop::Got(_, senders_wait) => senders_wait,
                            _ => panic!("words.claim: a message was there"),
                        }
                    }
                };
                let parks = {
                    let ring = Arc::clone(&ring);
                    move || ring.words().sender_parks() == OnPark::Wait
                };
                let (told, waits) = if sender_is_spawned {
                    let sender = thread::spawn(parks);
                    (frees(), sender.join().unwrap())
                } else {
                    let receiver = thread::spawn(frees);
                    let waits = parks();
                    (receiver.join().unwrap(), waits)
                };
                assert!(told || !waits, "words.sender-parks: both missed the other");
            });
        }
    }
}

/// The forms that circulate. Each of these models must be red.
mod printed {
    use loom::sync::Arc;
    use loom::sync::atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    };
    use loom::thread;

    const SLOTS: usize = 2;

    /// The slot-sequence queue.
    struct Queue {
        tail: AtomicUsize,
        head: AtomicUsize,
        sequences: [AtomicUsize; SLOTS],
    }

    impl Queue {
        fn new() -> Self {
            Self {
                tail: AtomicUsize::new(0),
                head: AtomicUsize::new(0),
                sequences: std::array::from_fn(AtomicUsize::new),
            }
        }

        fn push(&self) {
            let position = self.tail.fetch_add(1, AcqRel);
            self.sequences[position % SLOTS].store(position + 1, Release);
        }

        /// "The slot is not written: the queue is empty."
        fn pop(&self) -> bool {
            let position = self.head.load(Relaxed);
            if self.sequences[position % SLOTS].load(Acquire) != position + 1 {
                return false;
            }
            self.head.fetch_add(1, AcqRel);
            true
        }
    }

    // CORRECTION: 31
    #[test]
    fn claimed_and_unwritten_is_empty() {
        loom::model(|| {
            let queue = Arc::new(Queue::new());
            let other = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.push())
            };
            queue.push();
            assert!(queue.pop(), "a message was there");
            other.join().unwrap();
        });
    }

    // CORRECTION: 34
    #[test]
    fn push_then_look_whether_anybody_waits() {
        loom::model(|| {
            let queue = Arc::new(Queue::new());
            let waits = Arc::new(AtomicBool::new(false));
            let sender = {
                let (queue, waits) = (Arc::clone(&queue), Arc::clone(&waits));
                thread::spawn(move || {
                    queue.push();
                    waits.load(Acquire)
                })
            };
            // "Say that we wait, look once more, sleep."
            waits.store(true, Release);
            let sleeps = !queue.pop();
            let told = sender.join().unwrap();
            assert!(told || !sleeps, "both missed the other");
        });
    }
}
