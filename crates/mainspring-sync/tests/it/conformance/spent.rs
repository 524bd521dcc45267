//! What the suite's `dropped_yielding` and `dropped_yielding_granted` do not see of futures that
//! yield on a spent budget and are dropped there: to which end of a queue theirs goes.

use super::signals::Newest;
use mainspring_testkit::Hand;
use mainspring_testkit::conformance::{Subject, Waited};
use std::sync::Arc;
use std::task::Poll;

/// S1, S13: what was notified at the newest end, and yielded there, goes to the newest of the rest.
#[test]
fn notify_newest() {
    let subject = Arc::new(Newest::new());
    let [mut first, mut second] = [Hand::new(subject.wait()), Hand::new(subject.wait())];
    assert!(first.poll().is_pending() && second.poll().is_pending());
    subject.grant();
    assert!(second.is_woken() && !first.is_woken());
    assert!(second.poll_spent().is_pending());
    let mut third = Hand::new(subject.wait());
    assert!(third.poll().is_pending());
    drop(second);
    assert!(third.is_woken() && !first.is_woken());
    assert_eq!(third.poll(), Poll::Ready(Waited::Granted));
}
