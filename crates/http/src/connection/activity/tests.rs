use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Activity, MIN_RATE, Reason, WaitingBodies};
use crate::settings::Limits;

const HEAD: Duration = Duration::from_secs(10);
const WRITE: Duration = Duration::from_secs(30);

/// Returns the deadlines of a connection that is accepted now.
fn accepted() -> Arc<Activity> {
    let limits = Limits { header_timeout: HEAD, write_timeout: WRITE, ..Limits::default() };
    Activity::new(Instant::now(), limits, WaitingBodies::new(1 << 20))
}

#[tokio::test(start_paused = true)]
async fn a_client_at_the_lowest_rate_is_in_time_and_a_slower_one_is_late() {
    let rate = usize::try_from(MIN_RATE).unwrap();
    let table = [(0, Some(30)), (1, Some(30)), (rate / 2, Some(59)), (rate, None)];
    for (at, (rate, expected)) in [table, table].into_iter().flatten().enumerate() {
        let activity = accepted();
        let mut request = activity.begin_request();
        // The second half of the rows is HTTP/1.
        activity.set_blocked(at >= table.len());
        if at < table.len() {
            request.begin_answer();
        }
        let trickle = async {
            for _ in 1..1000 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                activity.note_written(rate);
                // Another answer gives no more time.
                activity.begin_request().begin_answer();
            }
        };
        let began = Instant::now();
        let late = tokio::select! {
            inactivity = activity.wait_until_inactive() => {
                assert_eq!(inactivity, Reason::Stalled);
                Some(began.elapsed().as_secs())
            }
            () = trickle => None,
        };
        assert_eq!(late, expected, "{rate} bytes a second");
        // The connection ends although the late answer is dropped first.
        drop(request);
        activity.set_blocked(false);
        let reason = if late.is_some() { Reason::Stalled } else { Reason::Idle };
        assert_eq!(activity.wait_until_inactive().await, reason, "{rate} bytes a second");
    }
}

#[tokio::test(start_paused = true)]
async fn the_write_deadline_is_never_later_than_one_timeout_from_now() {
    let activity = accepted();
    let _request = activity.begin_request();
    activity.set_blocked(true);
    activity.note_written(usize::MAX);
    let began = Instant::now();
    assert_eq!(activity.wait_until_inactive().await, Reason::Stalled);
    assert!(began.elapsed() <= WRITE + Duration::from_millis(2));
}
