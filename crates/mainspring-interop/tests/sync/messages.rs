//! Channels, broadcasts and answers.

use crate::hosts::{Host, all, yield_now};
use futures_util::{SinkExt, StreamExt};
use mainspring_sync::broadcast::{self, RecvError};
use mainspring_sync::{channel, oneshot};
use mainspring_testkit::History;

const MESSAGES: usize = 200;

pub(crate) fn channel_carries_each_message_once<H: Host>() {
    for capacity in [1, 5] {
        let history = History::new();
        H::block_on(async {
            let (tx, rx) = channel::bounded(capacity);
            let mut tasks = Vec::new();
            for _ in 0..3 {
                let (tx, mut producer) = (tx.clone(), history.producer());
                tasks.push(H::spawn(async move {
                    for _ in 0..MESSAGES {
                        tx.send(producer.stamp()).await.unwrap();
                    }
                }));
            }
            drop(tx);
            for _ in 0..2 {
                let (rx, consumer) = (rx.clone(), history.consumer());
                tasks.push(H::spawn(async move {
                    while let Ok(stamp) = rx.recv().await {
                        consumer.received(stamp);
                    }
                }));
            }
            all(tasks).await;
        });
        let verdict = history.verdict();
        assert_eq!(verdict.values, 3 * MESSAGES);
        verdict.assert_clean();
    }
}

pub(crate) fn channel_is_a_stream<H: Host>() {
    H::block_on(async {
        let (tx, rx) = channel::bounded(2);
        let sender = H::spawn(async move {
            for number in 0..MESSAGES {
                tx.send(number).await.unwrap();
            }
            tx.closed().await;
            assert!(tx.send(0).await.is_err());
        });
        let half = MESSAGES / 2;
        let mut rx = rx;
        let first: Vec<_> = rx.by_ref().take(half).collect().await;
        assert_eq!(first, (0..half).collect::<Vec<_>>());
        let mut rest = rx.skip(half - 1);
        assert_eq!(rest.next().await, Some(MESSAGES - 1));
        drop(rest);
        sender.await;
    });
}

pub(crate) fn permits_and_batches_carry_each_message_once<H: Host>() {
    let history = History::new();
    H::block_on(async {
        let (tx, rx) = channel::bounded(3);
        let mut reserving = history.producer();
        let mut batching = history.producer();
        let consumer = history.consumer();
        let first = {
            let tx = tx.clone();
            H::spawn(async move {
                for _ in 0..MESSAGES {
                    let permit = tx.reserve().await.unwrap();
                    yield_now().await;
                    permit.send(reserving.stamp()).unwrap();
                    // One that comes to nothing.
                    drop(tx.reserve().await.unwrap());
                }
            })
        };
        let second = H::spawn(async move {
            for _ in 0..MESSAGES / 5 {
                let many: Vec<_> = (0..5).map(|_| batching.stamp()).collect();
                let sent = tx.send_many(many).await;
                assert!(sent.is_ok_and(|sent| sent == 5));
            }
        });
        let receiver = H::spawn(async move {
            let mut buffer = Vec::new();
            while rx.recv_many(&mut buffer, 4).await.is_ok() {
                assert!((1..=4).contains(&buffer.len()));
                buffer.drain(..).for_each(|stamp| consumer.received(stamp));
            }
        });
        all(vec![first, second, receiver]).await;
    });
    let verdict = history.verdict();
    assert_eq!(verdict.values, 2 * MESSAGES);
    verdict.assert_clean();
}

pub(crate) fn lossless_broadcast_reaches_all_in_order<H: Host>() {
    H::block_on(async {
        let (tx, first) = broadcast::lossless(2);
        let mut receivers = vec![first];
        receivers.extend((0..2).map(|_| tx.subscribe()));
        let hear = |mut receiver: broadcast::Receiver<usize>| {
            H::spawn(async move {
                let mut next = 0;
                while let Ok(number) = receiver.recv().await {
                    assert_eq!(number, next);
                    next += 1;
                }
                next
            })
        };
        let tasks: Vec<_> = receivers.into_iter().map(hear).collect();
        for number in 0..MESSAGES {
            tx.send(number).await.unwrap();
        }
        drop(tx);
        assert_eq!(all(tasks).await, [MESSAGES; 3]);
    });
}

pub(crate) fn lossy_broadcast_counts_what_was_lost<H: Host>() {
    H::block_on(async {
        let (tx, mut receiver) = broadcast::lossy(4);
        let sender = H::spawn(async move {
            for number in 0..MESSAGES {
                tx.send(number).unwrap();
                if number % 7 == 0 {
                    yield_now().await;
                }
            }
        });
        let mut next = 0;
        loop {
            match receiver.recv().await {
                Ok(number) => {
                    assert_eq!(number, next);
                    next += 1;
                }
                Err(RecvError::Lagged(lost)) => next += usize::try_from(lost).unwrap(),
                Err(error) => {
                    assert!(error.is_closed());
                    break;
                }
            }
        }
        assert_eq!(next, MESSAGES);
        sender.await;
    });
}

pub(crate) fn oneshot_answers_each_request<H: Host>() {
    H::block_on(async {
        let (tx, rx) = channel::bounded::<(usize, oneshot::Sender<usize>)>(2);
        let server = H::spawn(async move {
            while let Ok((number, answer)) = rx.recv().await {
                // Who asked may have gone.
                let _ = answer.send(2 * number);
            }
        });
        for number in 0..MESSAGES {
            let (answer, asked) = oneshot::channel();
            tx.send((number, answer)).await.unwrap();
            if number % 3 > 0 {
                assert_eq!(asked.await, Ok(2 * number));
            }
        }
        drop(tx);
        server.await;
        let (answer, asked) = oneshot::channel::<()>();
        drop(answer);
        assert!(asked.await.is_err());
    });
}

pub(crate) fn rendezvous_carries_each_message_once<H: Host>() {
    let history = History::new();
    H::block_on(async {
        let (tx, rx) = channel::rendezvous();
        let mut tasks = Vec::new();
        for _ in 0..3 {
            let (tx, mut producer) = (tx.clone(), history.producer());
            tasks.push(H::spawn(async move {
                for _ in 0..MESSAGES {
                    tx.send(producer.stamp()).await.unwrap();
                }
            }));
        }
        drop(tx);
        for _ in 0..2 {
            let (rx, consumer) = (rx.clone(), history.consumer());
            tasks.push(H::spawn(async move {
                while let Ok(stamp) = rx.recv().await {
                    consumer.received(stamp);
                }
            }));
        }
        drop(rx);
        all(tasks).await;
    });
    let verdict = history.verdict();
    assert_eq!(verdict.values, 3 * MESSAGES);
    verdict.assert_clean();
}

pub(crate) fn rendezvous_is_a_stream<H: Host>() {
    H::block_on(async {
        let (tx, mut rx) = channel::rendezvous();
        let sender = H::spawn(async move {
            for number in 0..MESSAGES {
                tx.send(number).await.unwrap();
            }
            tx.closed().await;
            assert!(tx.send(0).await.is_err());
        });
        let half = MESSAGES / 2;
        let first: Vec<_> = rx.by_ref().take(half).collect().await;
        assert_eq!(first, (0..half).collect::<Vec<_>>());
        let mut rest = rx.skip(half - 1);
        assert_eq!(rest.next().await, Some(MESSAGES - 1));
        drop(rest);
        sender.await;
    });
}

pub(crate) fn sink_carries_each_message_once<H: Host>() {
    for capacity in [1, 5] {
        let history = History::new();
        H::block_on(async {
            let (tx, rx) = channel::bounded(capacity);
            let mut tasks = Vec::new();
            for _ in 0..2 {
                let (mut tx, mut producer) = (tx.clone(), history.producer());
                tasks.push(H::spawn(async move {
                    for _ in 0..MESSAGES {
                        SinkExt::send(&mut tx, producer.stamp()).await.unwrap();
                    }
                    SinkExt::close(&mut tx).await.unwrap();
                }));
            }
            let mut producer = history.producer();
            let stamps: Vec<_> = (0..MESSAGES).map(|_| producer.stamp()).collect();
            tasks.push(H::spawn(async move {
                let stamps = futures_util::stream::iter(stamps).map(Ok);
                stamps.forward(tx).await.unwrap();
            }));
            for _ in 0..2 {
                let (mut rx, consumer) = (rx.clone(), history.consumer());
                tasks.push(H::spawn(async move {
                    while let Some(stamp) = rx.next().await {
                        consumer.received(stamp);
                    }
                }));
            }
            drop(rx);
            all(tasks).await;
        });
        let verdict = history.verdict();
        assert_eq!(verdict.values, 3 * MESSAGES);
        verdict.assert_clean();
    }
}

/// A `select!` of the futures crates asks a stream twice whether it has ended.
pub(crate) fn select_to_the_end_of_a_stream<H: Host>() {
    H::block_on(async {
        for round in 0..50 {
            let (tx, mut rx) = channel::bounded(1);
            let (meets, mut met) = channel::rendezvous();
            let senders = H::spawn(async move {
                for number in 0..round % 5 {
                    tx.send(number).await.unwrap();
                    meets.send(number).await.unwrap();
                }
            });
            let (mut received, mut meetings) = (0, 0);
            loop {
                futures_util::select! {
                    number = rx.select_next_some() => {
                        assert_eq!(number, received);
                        received += 1;
                    }
                    number = met.select_next_some() => {
                        assert_eq!(number, meetings);
                        meetings += 1;
                    }
                    complete => break,
                }
            }
            assert_eq!((received, meetings), (round % 5, round % 5));
            senders.await;
        }
    });
}
