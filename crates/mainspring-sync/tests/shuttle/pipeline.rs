//! Requests over a bounded channel, worked on under a semaphore, answered over a oneshot, with the
//! progress in a watch. Every future may be dropped wherever it can be.

use crate::ODDS;
use crate::ledger::{InOrder, Ledger, Parcel};
use mainspring_core::sync::{Crew, below, block_on, explore, thread, wait_or_drop};
use mainspring_sync::semaphore::Semaphore;
use mainspring_sync::{channel, oneshot, watch};
use std::sync::Arc;

struct Request {
    parcel: Parcel,
    answer: oneshot::Sender<u32>,
}

/// Sends `count` requests and waits for their answers. How many were sent, and how many answered.
fn ask(
    requests: &channel::Sender<Request>,
    ledger: &Ledger,
    sender: u32,
    count: u32,
) -> (u32, u32) {
    let (mut sent, mut answered) = (0, 0);
    for number in 0..count {
        let (answer, answers) = oneshot::channel();
        let parcel = ledger.parcel(sender, number);
        let request = Request { parcel, answer };
        let is_sent = match below(2) {
            0 => matches!(wait_or_drop(ODDS, requests.send(request)), Some(Ok(()))),
            _ => match wait_or_drop(ODDS, requests.reserve()) {
                Some(Ok(permit)) => permit.send(request).is_ok(),
                Some(Err(_)) | None => false,
            },
        };
        if !is_sent {
            continue;
        }
        sent += 1;
        if let Some(answer) = wait_or_drop(ODDS, answers) {
            assert_eq!(answer, Ok(sender + number), "lost, or somebody else's");
            answered += 1;
        }
    }
    (sent, answered)
}

/// Receives until the end.
async fn serve(
    requests: channel::Receiver<Request>,
    permits: Arc<Semaphore>,
    progress: watch::Sender<u32>,
) {
    let mut order = InOrder::default();
    while let Ok(request) = requests.recv().await {
        let permit = permits.acquire(1).await.unwrap();
        let (sender, number) = request.parcel.receive();
        order.next((sender, number));
        assert!(permits.available() <= 1, "a permit too many");
        let _ = request.answer.send(sender + number);
        progress.send_modify(|count| *count += 1);
        drop(permit);
    }
}

/// Two who ask, two workers on one thread, one who follows the progress.
#[test]
fn requests_are_answered_once_and_in_order_whatever_is_dropped() {
    explore(|| {
        let ledger = Ledger::default();
        let (requests, queue) = channel::bounded(1);
        let permits = Arc::new(Semaphore::new(1));
        let (progress, mut seen) = watch::channel(0);
        let asking: Vec<_> = (0..2)
            .map(|sender| {
                let (requests, ledger) = (requests.clone(), ledger.clone());
                thread::spawn(move || ask(&requests, &ledger, 10 * sender, 3))
            })
            .collect();
        drop(requests);
        let following = thread::spawn(move || {
            let mut last = 0;
            while block_on(seen.changed()).is_ok() {
                let now = *seen.borrow_and_update();
                assert!(now > last, "progress went from {last} to {now}");
                last = now;
            }
            last
        });
        let mut workers = Crew::new();
        for _ in 0..2 {
            workers.add(serve(queue.clone(), Arc::clone(&permits), progress.clone()));
        }
        drop((queue, progress));
        workers.run();
        let (mut sent, mut answered) = (0, 0);
        for asked in asking {
            let (more_sent, more_answered) = asked.join().unwrap();
            sent += more_sent;
            answered += more_answered;
        }
        let received = u32::try_from(ledger.settle()).unwrap();
        assert_eq!(
            received, sent,
            "what was sent is received, and nothing else"
        );
        assert!(answered <= received);
        let followed = following.join().unwrap();
        assert_eq!(followed, received, "the last progress was not seen");
        assert_eq!(permits.available(), 1, "a permit was lost");
    });
}

/// As above, and workers are dropped with what they have in their hands, and hired again.
#[test]
fn requests_are_settled_when_workers_are_dropped() {
    explore(|| {
        let ledger = Ledger::default();
        let (requests, queue) = channel::bounded(2);
        let permits = Arc::new(Semaphore::new(1));
        let (progress, _seen) = watch::channel(0);
        let asking = {
            let ledger = ledger.clone();
            thread::spawn(move || ask(&requests, &ledger, 0, 4))
        };
        while !queue.is_closed() || !queue.is_empty() {
            let mut workers = Crew::new();
            for _ in 0..2 {
                workers.add(serve(queue.clone(), Arc::clone(&permits), progress.clone()));
            }
            workers.run_or_drop(ODDS);
            thread::yield_now();
        }
        let (sent, answered) = asking.join().unwrap();
        drop(queue);
        let received = u32::try_from(ledger.settle()).unwrap();
        assert!(answered <= received && received <= sent);
        assert_eq!(*progress.borrow(), received);
        assert_eq!(permits.available(), 1, "a permit was lost");
    });
}
