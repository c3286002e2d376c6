//! Names on a hub that listens on this machine and speaks the hub's layout.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use sngp_encoder::hub::{Hub, Name, locate};
use sngp_encoder::{Expected, fetch};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Files of one repository; large ones are sent from elsewhere, as the hub does it.
struct Served {
    files: HashMap<&'static str, Vec<u8>>,
    asked: Mutex<Vec<String>>,
    /// A hash that is told instead of the right one.
    wrong: Option<String>,
}

fn repository(kind: &str) -> HashMap<&'static str, Vec<u8>> {
    let config = format!(r#"{{"model_type": "{kind}"}}"#);
    HashMap::from([
        ("config.json", config.into_bytes()),
        ("tokenizer.json", b"{}".to_vec()),
        ("1_Pooling/config.json", b"{}".to_vec()),
        ("onnx/model.onnx", (0..100_000u32).map(|i| i as u8).collect()),
        ("README.md", b"not wanted".to_vec()),
    ])
}

fn serve(files: HashMap<&'static str, Vec<u8>>, wrong: Option<String>) -> (String, Arc<Served>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = Arc::new(Served { files, asked: Mutex::default(), wrong });
    let own = served.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let served = own.clone();
            std::thread::spawn(move || answer(stream, &served));
        }
    });
    (address, served)
}

fn answer(mut stream: TcpStream, served: &Served) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_string();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let header = |name: &str| {
        let found = headers
            .iter()
            .find_map(|line| line.split_once(": ").filter(|(n, _)| n.eq_ignore_ascii_case(name)));
        found.map(|(_, value)| value.to_string())
    };
    let from =
        header("range").and_then(|r| r.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let from: usize = from.unwrap_or(0);
    let token = header("authorization").is_some();
    served
        .asked
        .lock()
        .unwrap()
        .push(format!("{path} from {from}{}", if token { " with a token" } else { "" }));
    let mut send = |status: &str, more: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{more}\r\n",
            body.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    };
    if path.starts_with("/api/models/some/encoder/revision/") {
        let files: Vec<_> =
            served.files.keys().map(|f| serde_json::json!({"rfilename": f})).collect();
        let about = serde_json::json!({"sha": COMMIT, "siblings": files}).to_string();
        return send("200 OK", "", about.as_bytes());
    }
    let sent = path.strip_prefix("/elsewhere/");
    let asked = path.strip_prefix(&format!("/some/encoder/resolve/{COMMIT}/"));
    let Some((file, bytes)) = sent.or(asked).and_then(|file| Some((file, served.files.get(file)?)))
    else {
        return send("404 Not Found", "", b"");
    };
    let large = file.ends_with(".onnx");
    match (large, sent) {
        (true, None) => {
            let hash = served.wrong.clone().unwrap_or_else(|| sngp::hash::sha256(bytes));
            let more = format!("Location: /elsewhere/{file}\r\nX-Linked-Etag: \"{hash}\"\r\n");
            send("302 Found", &more, b"");
        }
        (true, Some(_)) if from >= bytes.len() => send("416 Range Not Satisfiable", "", b""),
        (true, Some(_)) if from > 0 => send("206 Partial Content", "", &bytes[from..]),
        (true, Some(_)) => send("200 OK", "", bytes),
        (false, _) => send("200 OK", &format!("ETag: \"{}\"\r\n", git_hash(bytes)), bytes),
    }
}

fn git_hash(bytes: &[u8]) -> String {
    use sha1::{Digest, Sha1};
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hub(endpoint: &str, cache: &Path) -> Hub {
    Hub {
        endpoint: endpoint.into(),
        token: Some("secret".into()),
        cache: cache.into(),
        offline: false,
    }
}

fn name() -> Name {
    Name::parse("some/encoder").unwrap()
}

#[test]
fn a_repository_is_fetched_once_and_kept_by_the_layout_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let (address, served) = serve(repository("roberta"), None);
    let told = Mutex::new(Vec::new());
    let tell = |text: &str| told.lock().unwrap().push(text.to_string());
    let found = hub(&address, folder.path()).folder(&name(), &tell).unwrap();
    assert_eq!(found, folder.path().join(format!("models--some--encoder/snapshots/{COMMIT}/")));
    assert_eq!(fs::read(found.join("onnx/model.onnx")).unwrap(), served.files["onnx/model.onnx"]);
    assert_eq!(fs::read(found.join("1_Pooling/config.json")).unwrap(), b"{}");
    assert!(!found.join("README.md").exists());
    let kept = folder.path().join("models--some--encoder");
    assert_eq!(fs::read_to_string(kept.join("refs/main")).unwrap(), COMMIT);
    let blob = kept.join("blobs").join(sngp::hash::sha256(&served.files["onnx/model.onnx"]));
    assert!(blob.is_file());
    assert!(told.lock().unwrap().iter().any(|text| text.contains("onnx/model.onnx")));
    let before = served.asked.lock().unwrap().clone();
    assert!(before.iter().any(|line| line.starts_with("/some/") && line.ends_with("with a token")));
    hub(&address, folder.path()).folder(&name(), &|_| panic!("it is all there")).unwrap();
    // Offline, or with a hub out of reach, what is kept is used.
    let offline = Hub { offline: true, ..hub("http://127.0.0.1:9", folder.path()) };
    assert_eq!(offline.folder(&name(), &|_| {}).unwrap(), found);
    assert_eq!(hub("http://127.0.0.1:9", folder.path()).folder(&name(), &|_| {}).unwrap(), found);
    let pinned = Name::parse(&format!("some/encoder@{COMMIT}")).unwrap();
    assert_eq!(offline.folder(&pinned, &|_| {}).unwrap(), found);
}

#[test]
fn what_is_not_there_is_said_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let offline = Hub { offline: true, ..hub("http://127.0.0.1:9", folder.path()) };
    let error = offline.folder(&name(), &|_| {}).unwrap_err().to_string();
    for part in ["config.json", "tokenizer.json", "onnx/model.onnx", "models--some--encoder"] {
        assert!(error.contains(part), "{error}");
    }
    let (address, _) = serve(repository("roberta"), None);
    let other = Name::parse("some/other").unwrap();
    let error = hub(&address, folder.path()).folder(&other, &|_| {}).unwrap_err().to_string();
    assert!(error.contains("is not there"), "{error}");
    let mut files = repository("dinov2");
    files.remove("onnx/model.onnx");
    let (address, _) = serve(files, None);
    let error = hub(&address, folder.path()).folder(&name(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("no ONNX file"), "{error}");
}

#[test]
fn what_was_interrupted_goes_on_and_what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (address, served) = serve(repository("roberta"), None);
    let whole = &served.files["onnx/model.onnx"];
    let blobs = folder.path().join("models--some--encoder/blobs");
    fs::create_dir_all(&blobs).unwrap();
    let part = blobs.join(format!("{}.incomplete", sngp::hash::sha256(whole)));
    fs::write(&part, &whole[..40_000]).unwrap();
    let found = hub(&address, folder.path()).folder(&name(), &|_| {}).unwrap();
    assert_eq!(&fs::read(found.join("onnx/model.onnx")).unwrap(), whole);
    let asked = served.asked.lock().unwrap().join("\n");
    assert!(asked.contains("/elsewhere/onnx/model.onnx from 40000"), "{asked}");

    let other = tempfile::tempdir().unwrap();
    let (address, _) = serve(repository("roberta"), Some("ab".repeat(32)));
    let error = hub(&address, other.path()).folder(&name(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("did not arrive"), "{error}");
    let left = fs::read_dir(other.path().join("models--some--encoder/blobs")).unwrap();
    assert!(left.flatten().all(|file| !file.file_name().to_string_lossy().starts_with("abab")));
}

#[test]
fn paths_stay_paths() {
    for path in ["models/some/folder", "./encoder", "resnet/model.onnx:flat", "../encoder"] {
        assert_eq!(locate(path.as_ref(), &|_| {}).unwrap(), Path::new(path));
    }
}

#[test]
fn a_file_that_is_known_by_its_hash_comes_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (address, served) = serve(repository("bert"), None);
    let file = "onnx/model.onnx";
    let bytes = &served.files[file];
    let sha256 = sngp::hash::sha256(bytes);
    let expected = Expected { bytes: bytes.len() as u64, sha256: &sha256 };
    let url = format!("{address}/elsewhere/{file}");
    let into = folder.path().join("deep/set.bin");
    let part = folder.path().join("deep/set.bin.incomplete");

    // Stopped on the way, and gone on with.
    let stop = |done: u64| match done {
        0 => Ok(()),
        _ => Err(sngp::Error::Interrupted { reason: "enough".to_string(), checkpoint: None }),
    };
    let stopped = fetch(&url, &into, &expected, &stop).unwrap_err();
    assert!(matches!(stopped, sngp::Error::Interrupted { .. }), "{stopped}");
    let begun = fs::metadata(&part).unwrap().len();
    assert!(begun > 0 && begun < bytes.len() as u64 && !into.exists());
    fetch(&url, &into, &expected, &|_| Ok(())).unwrap();
    assert!(
        served.asked.lock().unwrap().iter().any(|line| line.ends_with(&format!("from {begun}")))
    );
    assert_eq!(&fs::read(&into).unwrap(), bytes);
    assert!(!part.exists());

    // Nobody is asked for what is there.
    let before = served.asked.lock().unwrap().len();
    fetch(&url, &into, &expected, &|_| panic!("it is there")).unwrap();
    assert_eq!(served.asked.lock().unwrap().len(), before);

    let other = folder.path().join("other.bin");
    let wrong = Expected { sha256: &sngp::hash::sha256(b"else"), ..expected };
    let error = fetch(&url, &other, &wrong, &|_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("not the published file"), "{error}");
    let smaller = Expected { bytes: 1000, ..expected };
    let error = fetch(&url, &other, &smaller, &|_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("and the file 1000"), "{error}");
    let error = fetch(&format!("{address}/nowhere"), &other, &expected, &|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("by other means"), "{error}");
    assert!(!other.exists());
}
