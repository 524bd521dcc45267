use super::{OnLeave, OnWant, Spare};
use crate::pool::Pool;
use crate::{spawn, spawn_local};
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

// WITNESS: spare.one, spare.home
#[test]
fn post_is_left_only_by_who_is_not_wanted_and_has_no_tasks() {
    let spare = Spare::new();
    assert_eq!(spare.want(), OnWant::Start);
    assert_eq!(spare.want(), OnWant::There, "spare.one");
    assert_eq!(spare.next_step(0, false), OnLeave::Serve);
    spare.dismiss();
    assert_eq!(spare.next_step(1, false), OnLeave::Stay, "spare.home");
    assert_eq!(spare.want(), OnWant::There, "spare.one: it has stayed");
    spare.dismiss();
    assert_eq!(spare.next_step(0, false), OnLeave::Leave);
    assert_eq!(spare.want(), OnWant::Start, "spare.one: it has left");
    assert_eq!(spare.next_step(1, true), OnLeave::Leave, "the pool stops");
    assert_eq!(spare.want(), OnWant::Start);
    spare.give_up();
    assert!(!spare.is_wanted());
    assert_eq!(spare.want(), OnWant::Start);
}

// WITNESS: spare.roused
#[test]
fn sleeper_is_unparked_by_what_is_injected() {
    let spare = Spare::new();
    let mut driver = ThreadDriver::new();
    let handle: Arc<dyn DriverHandle> = driver.handle();
    spare.man(&handle);
    spare
        .is_asleep
        .swap(true, std::sync::atomic::Ordering::Relaxed);
    spare.rouse();
    // It would wait for ever.
    let _turn = driver.park(mainspring_core::driver::Until::Forever);
}

/// A pool of one worker, over drivers of which those after the first are as `make` says.
fn pool(make: impl Fn() -> io::Result<Box<dyn Driver>> + Send + Sync + 'static) -> Pool {
    let builder = Pool::builder()
        .workers(1)
        .stall_threshold(Duration::from_millis(1));
    let builder = builder.driver(move |number| match number {
        0 => Ok(Box::new(ThreadDriver::new()) as Box<dyn Driver>),
        _ => make(),
    });
    builder.on_stall(|_| {}).build().expect("threads")
}

/// A task that keeps the only worker until a task of its own has had a local one run.
fn sticks(pool: &Pool) {
    let task = pool.spawn(async {
        let (tell, told) = channel();
        spawn(async move {
            let five = spawn_local(async { 5 }).await;
            tell.send(five.ok())
        })
        .detach();
        told.recv()
    });
    let told = crate::block_on(task).expect("no panic");
    assert_eq!(told, Ok(Some(5)));
}

#[test]
fn spare_worker_that_gets_no_driver_serves_without() {
    let refused = || Err(io::Error::from_raw_os_error(24));
    for pool in [pool(refused), pool(|| panic!("no driver here"))] {
        for _ in 0..3 {
            sticks(&pool);
        }
    }
}

// WITNESS: spare.one
#[test]
fn stalls_that_follow_each_other_have_a_spare_worker_each_time() {
    let pool = pool(|| Ok(Box::new(ThreadDriver::new())));
    for _ in 0..20 {
        sticks(&pool);
    }
    // The spare worker of one stall may be there at the beginning of the next, and end it.
    assert!(pool.metrics().stalls >= 1);
    let report = pool.shutdown(Duration::from_secs(60));
    assert!(report.is_clean(), "{report}");
}

// WITNESS: spare.home
#[test]
fn task_that_is_local_to_the_spare_worker_is_dropped_there_by_the_shutdown() {
    struct Home(std::thread::ThreadId, std::sync::mpsc::Sender<bool>);
    impl Drop for Home {
        fn drop(&mut self) {
            let _ = self.1.send(std::thread::current().id() == self.0);
        }
    }
    let pool = pool(|| Ok(Box::new(ThreadDriver::new())));
    let (dropped, drops) = channel();
    let task = pool.spawn(async move {
        let (tell, told) = channel();
        spawn(async move {
            let home = Home(std::thread::current().id(), dropped);
            let never = async move {
                let _home = home;
                std::future::pending::<()>().await;
            };
            spawn_local(never).detach();
            tell.send(())
        })
        .detach();
        told.recv()
    });
    assert!(crate::block_on(task).expect("no panic").is_ok());
    let report = pool.shutdown(Duration::ZERO);
    // That one, and perhaps who spawned it, whose poll was not over.
    assert!(!report.dropped.is_empty(), "{report}");
    assert_eq!(drops.recv(), Ok(true));
}
