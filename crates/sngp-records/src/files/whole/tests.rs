use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn what_fails_leaves_what_was_there_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "before").unwrap();
    let mut dropped = WholeFile::create(&path).unwrap();
    dropped.write_all(&[b'x'; 100_000]).unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    drop(dropped);
    assert_eq!(names(folder.path()), ["a"]);
    assert_eq!(fs::read(&path).unwrap(), b"before");
    // A folder takes the name meanwhile: the rename fails.
    let late = WholeFile::create(folder.path().join("b")).unwrap();
    fs::create_dir_all(folder.path().join("b/c")).unwrap();
    assert!(late.finish().is_err());
    assert_eq!(names(folder.path()).len(), 2);
}

#[test]
fn folders_and_missing_folders_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let kind = |path: &Path| WholeFile::create(path).unwrap_err().kind();
    assert_eq!(kind(folder.path()), ErrorKind::IsADirectory);
    assert_eq!(kind(&folder.path().join("no/a")), ErrorKind::NotFound);
    assert!(names(folder.path()).is_empty());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::thread;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn modes_are_kept_and_new_files_have_the_usual_one() {
        let folder = tempfile::tempdir().unwrap();
        let (private, usual, new) =
            (folder.path().join("p"), folder.path().join("u"), folder.path().join("n"));
        for (path, bits) in [(&private, 0o600), (&usual, 0o664)] {
            fs::write(path, "").unwrap();
            fs::set_permissions(path, Permissions::from_mode(bits)).unwrap();
            write_whole(path, "x").unwrap();
            assert_eq!(mode(path), bits);
        }
        write_whole(&new, "x").unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&new), mode(&plain));
    }

    #[test]
    fn links_stay_links_also_where_they_lead_nowhere_yet() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let (link, chain) = (folder.path().join("link"), folder.path().join("chain"));
        symlink("sub/real", &link).unwrap();
        symlink("link", &chain).unwrap();
        for text in ["new", "again"] {
            write_whole(&chain, text).unwrap();
            assert_eq!(fs::read_to_string(folder.path().join("sub/real")).unwrap(), text);
            assert!(link.is_symlink() && chain.is_symlink());
        }
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(write_whole(&circle, "").is_err());
        assert!(circle.is_symlink());
    }

    #[test]
    fn special_files_are_written_to_and_stay() {
        write_whole("/dev/null", "x").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write_whole(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error() {
        let error = write_whole("/dev/full", "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }
}
