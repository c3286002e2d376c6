//! Rows are answered together and given back exactly.

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{Echo, Seen};
use sngp_pipeline::{Answer, AnswerValue, Detail};
use sngp_records::Cell;
use sngp_serve::ServeError;
use sngp_serve::batching::{Limits, Queue, start};
use sngp_serve::model::Loaded;
use sngp_serve::ops::metrics::Metrics;
use sngp_serve::rows::Rows;

struct Desk {
    queue: Arc<Queue>,
    loaded: Arc<Loaded>,
    seen: Seen,
}

fn desk(limits: Limits) -> Desk {
    let seen = Seen::default();
    let loaded = Arc::new(Loaded::new(Box::new(Echo { seen: seen.clone(), reference: vec![] })));
    let queue = Queue::new(limits.clone(), Metrics::default().model("echo"));
    start(&queue, &limits).unwrap();
    Desk { queue, loaded, seen }
}

fn limits(max_batch: usize) -> Limits {
    Limits { max_batch, threads: 1, ..Limits::default() }
}

fn rows(texts: &[String]) -> Rows {
    Rows::Cells(texts.iter().map(|text| vec![Cell::Text(text.clone())]).collect())
}

fn labels(answers: &[Answer]) -> Vec<String> {
    let label = |answer: &Answer| match answer.value("label") {
        Some(AnswerValue::Text(text)) => text.into_owned(),
        other => panic!("{other:?}"),
    };
    answers.iter().map(label).collect()
}

#[test]
fn every_mix_of_sizes_is_split_exactly() {
    for max_batch in [1, 2, 3, 7, 64] {
        for replicas in [1, 3] {
            let desk = desk(Limits { replicas, ..limits(max_batch) });
            let sizes = [1, 5, 2, 64, 3, 1, 1, 17, 8, 130, 1, 4];
            let texts = |request: usize| -> Vec<String> {
                (0..sizes[request]).map(|row| format!("request {request} row {row}")).collect()
            };
            let pending: Vec<_> = (0..sizes.len())
                .map(|request| {
                    desk.queue.push(desk.loaded.clone(), rows(&texts(request)), Detail::default())
                })
                .collect::<Result<_, _>>()
                .unwrap();
            for (request, (_ticket, answers)) in pending.into_iter().enumerate() {
                let answers = answers.blocking_recv().unwrap().unwrap();
                assert_eq!(labels(&answers), texts(request), "{max_batch} {replicas}");
            }
            let batches = desk.seen.batches.lock().unwrap();
            assert!(batches.iter().all(|rows| *rows <= max_batch), "{batches:?}");
            assert_eq!(batches.iter().sum::<usize>(), sizes.iter().sum::<usize>());
        }
    }
}

#[test]
fn rows_of_several_requests_share_a_batch() {
    let desk = desk(limits(64));
    let first =
        desk.queue.push(desk.loaded.clone(), rows(&["sleep 100".into()]), Detail::default());
    std::thread::sleep(Duration::from_millis(50));
    let others: Vec<_> = (0..10)
        .map(|i| desk.queue.push(desk.loaded.clone(), rows(&[format!("{i}")]), Detail::default()))
        .collect();
    for pending in std::iter::once(first).chain(others) {
        pending.unwrap().1.blocking_recv().unwrap().unwrap();
    }
    assert_eq!(*desk.seen.batches.lock().unwrap(), [1, 10]);
}

#[test]
fn a_long_request_does_not_hold_up_a_short_one() {
    let desk = desk(limits(4));
    let long: Vec<String> = (0..40).map(|_| "sleep 5".to_string()).collect();
    let (_long_ticket, mut long) =
        desk.queue.push(desk.loaded.clone(), rows(&long), Detail::default()).unwrap();
    let (_short_ticket, short) =
        desk.queue.push(desk.loaded.clone(), rows(&["short".into()]), Detail::default()).unwrap();
    short.blocking_recv().unwrap().unwrap();
    assert!(long.try_recv().is_err(), "the long one is not finished yet");
    assert_eq!(long.blocking_recv().unwrap().unwrap().len(), 40);
}

#[test]
fn a_full_queue_refuses_and_a_lost_client_leaves_it() {
    let desk = desk(Limits { queue_rows: 10, ..limits(1) });
    let busy = desk.queue.push(desk.loaded.clone(), rows(&["sleep 200".into()]), Detail::default());
    std::thread::sleep(Duration::from_millis(50));
    let ten: Vec<String> = (0..10).map(|i| i.to_string()).collect();
    let waiting = desk.queue.push(desk.loaded.clone(), rows(&ten), Detail::default()).unwrap();
    assert_eq!(desk.queue.waiting(), 10);
    let refused = desk.queue.push(desk.loaded.clone(), rows(&["x".into()]), Detail::default());
    assert!(matches!(refused, Err(ServeError::Overloaded { .. })));
    drop(waiting);
    assert_eq!(desk.queue.waiting(), 0, "who has gone makes room at once");
    let next =
        desk.queue.push(desk.loaded.clone(), rows(&["x".into()]), Detail::default()).unwrap();
    next.1.blocking_recv().unwrap().unwrap();
    drop(busy);
    assert_eq!(desk.seen.rows.load(Ordering::SeqCst), 2, "the lost rows were never computed");
}

#[test]
fn a_panic_fails_its_batch_and_nothing_else() {
    let desk = desk(limits(8));
    for _ in 0..3 {
        let (_t, bad) = desk
            .queue
            .push(desk.loaded.clone(), rows(&["panic".into()]), Detail::default())
            .unwrap();
        let error = bad.blocking_recv().unwrap().unwrap_err();
        assert_eq!(error.http(), 500);
        let (_t, good) = desk
            .queue
            .push(desk.loaded.clone(), rows(&["fine".into()]), Detail::default())
            .unwrap();
        assert_eq!(good.blocking_recv().unwrap().unwrap().len(), 1);
    }
}

#[test]
fn one_bad_request_does_not_fail_its_neighbours() {
    let desk = desk(limits(64));
    let busy = desk.queue.push(desk.loaded.clone(), rows(&["sleep 100".into()]), Detail::default());
    std::thread::sleep(Duration::from_millis(50));
    let push =
        |text: &str| desk.queue.push(desk.loaded.clone(), rows(&[text.into()]), Detail::default());
    let (good, bad, other) = (push("good"), push("error"), push("other"));
    let answer = |pending: Result<(_, tokio::sync::oneshot::Receiver<_>), ServeError>| {
        let (_ticket, answers): (sngp_serve::batching::Ticket, _) = pending.unwrap();
        let answers: Result<Vec<Answer>, ServeError> = answers.blocking_recv().unwrap();
        answers
    };
    assert_eq!(answer(good).unwrap().len(), 1);
    assert_eq!(answer(bad).unwrap_err().http(), 400);
    assert_eq!(answer(other).unwrap().len(), 1);
    drop(busy);
}

#[test]
fn deadlines_pass_while_the_model_computes() {
    let desk = desk(limits(8));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = Seen::default();
    let folders = [("echo".to_string(), PathBuf::from("echo"))];
    let metrics = Arc::new(Metrics::default());
    let registry =
        sngp_serve::model::Registry::start(&folders, common::echo(&seen), &limits(8), &metrics)
            .unwrap();
    let served = registry.get("echo", None).unwrap();
    let loaded = served.current();
    runtime.block_on(async {
        let slow = served.answer(
            &loaded,
            rows(&["sleep 400".into()]),
            Detail::default(),
            Instant::now() + Duration::from_secs(9),
        );
        let hurried = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let deadline = Instant::now() + Duration::from_millis(20);
            let one = rows(&["late".into()]);
            served.answer(&loaded, one, Detail::default(), deadline).await
        };
        // The slow one still computes when the other's time is over.
        tokio::pin!(slow, hurried);
        tokio::select! {
            biased;
            result = &mut hurried => assert_eq!(result.unwrap_err(), ServeError::Deadline),
            _ = &mut slow => panic!("the deadline waited for the model"),
        }
        assert_eq!(served.queue.waiting(), 0);
        slow.await.unwrap();
    });
    assert_eq!(seen.rows.load(Ordering::SeqCst), 1, "the late row was never computed");
    drop(desk);
}
