use std::env;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::write_whole;
use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn fill(folder: &Path, text: &str) -> io::Result<()> {
    replace_folder(folder, |new| {
        fs::create_dir(new.join("inner"))?;
        fs::write(new.join("inner/one"), text)?;
        fs::write(new.join("two"), text)
    })
}

/// The text of both files, where they agree.
fn content(folder: &Path) -> Option<String> {
    let read = |name| fs::read_to_string(folder.join(name)).ok();
    read("inner/one").filter(|text| read("two").as_ref() == Some(text))
}

#[test]
fn errors_and_panics_leave_what_was_there() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("m");
    fill(&folder, "1").unwrap();
    let broken = |new: &Path| {
        fs::write(new.join("two"), "2")?;
        Err(io::Error::other("broken"))
    };
    assert_eq!(replace_folder(&folder, broken).unwrap_err().to_string(), "broken");
    let panicking = || replace_folder(&folder, |_| -> io::Result<()> { panic!("on purpose") });
    assert!(std::panic::catch_unwind(panicking).is_err());
    assert_eq!((content(&folder).unwrap().as_str(), names(place.path()).len()), ("1", 1));
}

#[test]
fn what_is_no_folder_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "kept").unwrap();
    assert_eq!(fill(&file, "x").unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!((fs::read(&file).unwrap().as_slice(), names(place.path()).len()), (&b"kept"[..], 1));
    assert!(fill(Path::new("/"), "x").is_err());
}

#[test]
fn folders_on_the_way_are_made() {
    let place = tempfile::tempdir().unwrap();
    fill(&place.path().join("a/b/m"), "1").unwrap();
    assert_eq!(content(&place.path().join("a/b/m")).unwrap(), "1");
}

#[cfg(unix)]
#[test]
fn links_and_modes_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = tempfile::tempdir().unwrap();
    let (real, link) = (place.path().join("real"), place.path().join("link"));
    symlink("real", &link).unwrap();
    fill(&link, "1").unwrap();
    let mode = || fs::metadata(&real).unwrap().permissions().mode() & 0o7777;
    fs::create_dir(place.path().join("plain")).unwrap();
    let plain = fs::metadata(place.path().join("plain")).unwrap().permissions().mode();
    assert_eq!(mode(), plain & 0o7777);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o700)).unwrap();
    fill(&link, "2").unwrap();
    assert_eq!((content(&real).unwrap().as_str(), mode()), ("2", 0o700));
    assert!(link.is_symlink());
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_always_finds_a_whole_folder() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("m");
    fill(&folder, "0").unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            (1..=200).for_each(|round| fill(&folder, &round.to_string()).unwrap());
            done.store(true, Ordering::SeqCst);
        });
        let mut looks = 0;
        while !done.load(Ordering::SeqCst) {
            assert!(fs::metadata(&folder).is_ok(), "absent at look {looks}");
            looks += 1;
        }
        assert!(looks > 200);
    });
    assert_eq!((content(&folder).unwrap().as_str(), names(place.path()).len()), ("200", 1));
}

#[test]
fn leftovers_of_the_dead_are_swept_and_those_of_others_stay() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("m");
    let alive = std::process::id();
    let dead = {
        let mut gone = child(&folder, "rename:1");
        gone.wait().unwrap();
        gone.id()
    };
    let hidden = [
        (format!(".sngp-new-m.{dead}.aaaaaa"), false),
        (format!(".sngp-old-m.{dead}.aaaaaa"), false),
        (format!(".sngp-new-m.{alive}.aaaaaa"), true),
        (format!(".sngp-new-m.x.{dead}.aaaaaa"), true),
        (format!(".sngp-new-other.{dead}.aaaaaa"), true),
        (".sngp-new-m".to_owned(), true),
    ];
    fill(&folder, "1").unwrap();
    hidden.iter().for_each(|(name, _)| fs::create_dir(place.path().join(name)).unwrap());
    fill(&folder, "2").unwrap();
    for (name, stays) in hidden {
        assert_eq!(place.path().join(&name).exists(), stays, "{name}");
    }
}

/// Not a test of its own: what the child processes below run.
#[test]
#[ignore = "run by other tests in a process of its own"]
fn replace_in_a_child() {
    let Some(folder) = env::var_os("SNGP_TEST_FOLDER").map(PathBuf::from) else { return };
    fill(&folder, "2").unwrap();
    write_whole(folder.with_file_name("file"), "2").unwrap();
}

fn child(folder: &Path, fault: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "files::folder::tests::replace_in_a_child", "--ignored"])
        .env("SNGP_TEST_FOLDER", folder)
        .env("SNGP_FAULT", fault)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_process_killed_at_any_step_leaves_one_whole_folder() {
    for exchange in ["", "no-exchange,"] {
        for there_before in [true, false] {
            let mut killed = 0;
            for fault in ["rename:1", "rename:2", "rename:3", "rename:4", "remove:1"] {
                let place = tempfile::tempdir().unwrap();
                let folder = place.path().join("m");
                if there_before {
                    fill(&folder, "1").unwrap();
                }
                fs::write(place.path().join("file"), "1").unwrap();
                let fault = format!("{exchange}{fault}");
                let finished = child(&folder, &fault).wait().unwrap().success();
                killed += usize::from(!finished);
                recover(&folder).unwrap();
                let (text, file) =
                    (content(&folder), fs::read_to_string(place.path().join("file")).unwrap());
                let whole = matches!(text.as_deref(), Some("1" | "2"));
                assert!(whole || (!there_before && !folder.exists()), "{fault}: {text:?}");
                assert!(!finished || (text.as_deref(), file.as_str()) == (Some("2"), "2"));
                assert!(file == "1" || file == "2", "{fault}: {file}");
                fill(&folder, "3").unwrap();
                assert_eq!(content(&folder).unwrap(), "3");
                let parts = names(place.path());
                let is_leftover = |name: &&String| name.starts_with(".sngp-");
                let left: Vec<_> = parts.iter().filter(is_leftover).collect();
                assert!(left.is_empty(), "{fault}: {left:?}");
            }
            assert!(killed >= 2, "the faults have to strike: {killed}");
        }
    }
}
