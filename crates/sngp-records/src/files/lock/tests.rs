use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::super::replace_folder;
use super::*;

fn is_locked(folder: &Path) -> bool {
    try_lock_folder(folder).unwrap().is_none()
}

#[test]
fn a_replaced_folder_is_locked_anew() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("m");
    fs::create_dir(&folder).unwrap();
    let first = lock_folder(&folder).unwrap();
    let (sender, receiver) = mpsc::channel();
    let waiting = thread::spawn({
        let folder = folder.clone();
        move || {
            let lock = lock_folder(&folder).unwrap();
            sender.send(()).unwrap();
            lock
        }
    });
    assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it has to wait");
    replace_folder(&folder, |new| fs::write(new.join("x"), "x")).unwrap();
    drop(first);
    let second = waiting.join().unwrap();
    assert!(is_locked(&folder), "the lock is one of the folder that is there now");
    drop(second);
    assert!(!is_locked(&folder));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing lies about");
}

#[test]
fn a_file_stands_in_for_a_folder_that_cannot_be_locked() {
    let place = tempfile::tempdir().unwrap();
    let path = file_beside(place.path()).unwrap();
    let lock = lock_file(&path, File::try_lock).unwrap();
    assert!(matches!(lock_file(&path, File::try_lock), Err(TryLockError::WouldBlock)));
    assert!(path.exists());
    drop(lock);
    assert!(!path.exists());
}

#[test]
fn only_folders_are_locked() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("f");
    fs::write(&file, "").unwrap();
    assert_eq!(lock_folder(&file).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(lock_folder(place.path().join("no")).unwrap_err().kind(), ErrorKind::NotFound);
}
