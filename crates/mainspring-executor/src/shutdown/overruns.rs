//! Cleanups that did not end within their limits.

use mainspring_core::spawn::Overran;
use mainspring_core::sync::Mutex;

/// Where cleanups that overran are named: on standard error, and during a shutdown in its report.
#[derive(Default)]
pub(crate) struct Overruns(Mutex<Option<Vec<Overran>>>);

impl Overruns {
    /// A shutdown begins: from now on they are kept for its report.
    pub(crate) fn keep(&self) {
        self.0.lock().get_or_insert_default();
    }

    /// Names one.
    pub(crate) fn note(&self, overran: Overran) {
        if let Some(kept) = &mut *self.0.lock() {
            kept.push(overran);
            return;
        }
        eprintln!("{overran}");
    }

    /// The report is written: those that were kept.
    pub(crate) fn take(&self) -> Vec<Overran> {
        self.0.lock().take().unwrap_or_default()
    }
}
