//! `sngp data`: published sets from a place on this machine that has their files.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use common::{run, sngp, text};

/// Serves the files below a folder.
fn mirror(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/sets/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| answer(stream, &folder));
    });
    address
}

fn answer(mut stream: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let path = first.split(' ').nth(1).and_then(|path| path.strip_prefix("/sets/"));
    let (status, body) = match path.and_then(|path| fs::read(folder.join(path)).ok()) {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", Vec::new()),
    };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

#[test]
fn sets_are_listed_with_their_licences() {
    let listed = text(&run(sngp().args(["data", "list"]), 0).stdout);
    for word in ["clinc", "CC BY 3.0", "cifar10c", "2918.5 MB", "none stated"] {
        assert!(listed.contains(word), "{word}: {listed}");
    }
    let json = run(sngp().args(["data", "list", "--json"]), 0).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["sets"][0]["files"][0]["path"], "clinc/data_full.json");
    let error = text(&run(sngp().args(["data", "fetch", "imagenet"]), 1).stderr);
    assert!(error.contains("known: clinc"), "{error}");
}

#[test]
fn what_is_not_the_published_file_is_refused() {
    let (folder, desk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(folder.path().join("clinc")).unwrap();
    // As large as the published one.
    fs::write(folder.path().join("clinc/data_full.json"), vec![b' '; 2_495_390]).unwrap();
    let mirror = mirror(folder.path().to_path_buf());
    let fetch = |name: &str| {
        let mut command = sngp();
        command.current_dir(desk.path()).args(["data", "fetch", name, "--mirror", &mirror]);
        text(&run(&mut command, 1).stderr)
    };
    let error = fetch("clinc");
    assert!(error.contains("not the published file") && error.contains("CC BY 3.0"), "{error}");
    assert_eq!(fs::read_dir(desk.path().join("data/clinc")).unwrap().count(), 0);
    let error = fetch("svhn");
    assert!(error.contains("is not there") && error.contains("svhn/test_32x32.mat"), "{error}");
}

#[test]
fn a_published_set_arrives_where_the_benchmarks_look_for_it() {
    let Some(data) = std::env::var_os("SNGP_DATA").map(PathBuf::from) else {
        let _ = writeln!(std::io::stderr(), "skipped: SNGP_DATA is not set");
        return;
    };
    let desk = tempfile::tempdir().unwrap();
    let mirror = mirror(data.clone());
    let fetch = || {
        let mut command = sngp();
        command.current_dir(desk.path());
        command.args(["data", "fetch", "clinc", "snips", "--mirror", &mirror]);
        text(&run(&mut command, 0).stderr)
    };
    assert!(fetch().contains("fetching clinc/data_full.json (2.5 MB)"));
    for file in ["clinc/data_full.json", "snips/train.label", "snips/test.seq.in"] {
        let found = fs::read(desk.path().join("data").join(file)).unwrap();
        assert_eq!(found, fs::read(data.join(file)).unwrap(), "{file}");
    }
    assert!(fetch().contains("clinc/data_full.json is there already"));
}
