use super::{Sleep, Timer};
use crate::time::{clock, now};
use hyper::rt::Timer as _;
use std::time::{Duration, Instant};

// WITNESS: hyper-sleep.pinned
#[test]
fn sleep_of_ours_is_moved_in_place() {
    crate::block_on(async {
        clock::pause().expect("a timer driver");
        let mut sleep = Timer.sleep(Duration::from_secs(3600));
        let place: *const Sleep = &*sleep.as_mut().downcast_mut_pin::<Sleep>().expect("ours");
        let start = now();
        Timer.reset(&mut sleep, Timer.now() + Duration::from_secs(5));
        let after: *const Sleep = &*sleep.as_mut().downcast_mut_pin::<Sleep>().expect("ours");
        assert_eq!(place, after);
        sleep.await;
        assert_eq!(now().since(start), Duration::from_secs(5));
    });
}

#[test]
fn foreign_sleep_is_replaced() {
    #[derive(Debug)]
    struct Foreign;
    impl Future for Foreign {
        type Output = ();
        fn poll(
            self: std::pin::Pin<&mut Self>,
            _cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<()> {
            std::task::Poll::Pending
        }
    }
    impl hyper::rt::Sleep for Foreign {}

    crate::block_on(async {
        let mut sleep: std::pin::Pin<Box<dyn hyper::rt::Sleep>> = Box::pin(Foreign);
        Timer.reset(&mut sleep, Instant::now());
        sleep.await;
    });
}

#[test]
fn time_that_hyper_sees_stands_still_with_ours() {
    crate::block_on(async {
        clock::pause().expect("a timer driver");
        let start = Timer.now();
        clock::advance(Duration::from_secs(60)).await;
        assert_eq!(Timer.now() - start, Duration::from_secs(60));
    });
}
