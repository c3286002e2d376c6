//! What the process is told from outside, and folders that are replaced.

use std::io;
use std::sync::Arc;

use crate::server::App;

/// Ready when the process is asked to end.
#[cfg(unix)]
pub fn stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The same where there is only Ctrl-C.
#[cfg(not(unix))]
pub fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

/// Takes replaced folders into service: all of them at SIGHUP, and with `watch` those that were
/// written since.
pub async fn reload(app: Arc<App>) {
    #[cfg(unix)]
    let Ok(mut hangup) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())
    else {
        app.log.event("SIGHUP cannot be watched", &[]);
        return;
    };
    let mut written = app.models.written();
    loop {
        let look = async {
            match app.settings.watch {
                Some(every) => tokio::time::sleep(every).await,
                None => std::future::pending().await,
            }
        };
        #[cfg(unix)]
        let asked = tokio::select! {
            _ = hangup.recv() => true,
            () = look => false,
        };
        #[cfg(not(unix))]
        let asked = {
            look.await;
            false
        };
        let now = app.models.written();
        let pairs = written.iter().zip(&now).zip(app.models.all());
        // A folder that is not there at the moment is being replaced.
        let changed: Vec<String> = pairs
            .filter(|((then, now), _)| asked || (now.is_some() && then != now))
            .map(|(_, served)| served.name.clone())
            .collect();
        written = written.into_iter().zip(now).map(|(then, now)| now.or(then)).collect();
        if changed.is_empty() {
            continue;
        }
        let task = app.clone();
        let work = move || {
            task.models.reload(&task.log, |served| changed.contains(&served.name));
        };
        if tokio::task::spawn_blocking(work).await.is_err() {
            app.log.event("model not replaced: the old one stays", &[]);
        }
    }
}
