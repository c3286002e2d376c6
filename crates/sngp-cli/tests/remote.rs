//! Files in object storage: a store on this machine that speaks S3 as far as reading goes.

mod common;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{run, sngp, text};
use sngp_records::{Cell, Format, Writer};

/// Serves the files of a folder as the objects of a bucket. Of the first answers with a body, so many
/// end in the middle.
struct Store {
    address: String,
    broken: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
}

impl Store {
    fn start(folder: PathBuf, broken: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (broken, asked) = (Arc::new(AtomicUsize::new(broken)), Arc::new(AtomicUsize::new(0)));
        let store = Self { address, broken: broken.clone(), asked: asked.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &folder, &broken, &asked);
            }
        });
        store
    }

    /// The command, which finds this store and no other.
    fn sngp(&self, desk: &Path) -> Command {
        let mut command = sngp();
        command.current_dir(desk).env("AWS_ENDPOINT_URL", &self.address);
        command.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "nowhere");
        command.env("AWS_ACCESS_KEY_ID", "somebody").env("AWS_SECRET_ACCESS_KEY", "secret");
        command
    }
}

fn answer(mut stream: TcpStream, folder: &Path, broken: &AtomicUsize, asked: &AtomicUsize) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let headers: HashMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.split_once(':').map(|(k, v)| (k.to_lowercase(), v.trim().to_string()))
        })
        .collect();
    assert!(headers.contains_key("authorization"), "requests are signed");
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let found = path.strip_prefix("/bucket/").and_then(|key| fs::read(folder.join(key)).ok());
    let Some(whole) = found else {
        let _ = stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    };
    asked.fetch_add(1, Ordering::Relaxed);
    let range = headers.get("range").and_then(|range| range.strip_prefix("bytes="));
    let range = range.and_then(|range| range.split_once('-')).map(|(from, to)| {
        (from.parse::<usize>().unwrap(), to.parse::<usize>().unwrap().min(whole.len() - 1))
    });
    let (status, (from, to)) = match range {
        Some(range) => ("206 Partial Content", range),
        None => ("200 OK", (0, whole.len() - 1)),
    };
    let body = &whole[from..=to];
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{to}/{}\r\n\
         ETag: \"one\"\r\nLast-Modified: Wed, 18 Nov 2026 10:00:00 GMT\r\nConnection: close\r\n\r\n",
        body.len(),
        whole.len()
    );
    let _ = stream.write_all(head.as_bytes());
    if method == "GET" {
        let breaks =
            broken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        let sent = if breaks.is_ok() { body.len() / 2 } else { body.len() };
        let _ = stream.write_all(&body[..sent]);
    }
}

/// A table that is learned in no time, and that is larger than one piece of it.
fn table(path: &Path, rows: usize) {
    let names = ["x", "y", "kind", "note"].map(str::to_string);
    let mut writer = Writer::create(path, Format::of_path(path).unwrap(), &names).unwrap();
    let row = |i: usize| {
        let (a, b) = ((i * 37 % 101) as f64 / 50.0 - 1.0, (i * 53 % 97) as f64 / 48.0 - 1.0);
        let kind = if a + 0.3 * b > 0.0 { "up" } else { "down" };
        let note: String =
            (0..64).map(|k| char::from(b'a' + ((i * 31 + k * k * 7) % 26) as u8)).collect();
        vec![Cell::Number(a), Cell::Number(b), Cell::Text(kind.into()), Cell::Text(note)]
    };
    writer.write(&(0..rows).map(row).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_table_in_object_storage_is_as_one_on_disk() {
    let (bucket, desk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["rows.parquet", "rows.csv", "new.parquet"] {
        table(&bucket.path().join(name), 400);
    }
    // Every other answer of the first eight ends in the middle.
    let store = Store::start(bucket.path().to_path_buf(), 3);
    let train = ["--label", "kind", "--ignore", "note", "--features", "64", "--quiet"];
    let answers = |place: &dyn Fn(&str) -> String, model: &str| {
        for (data, out) in [("rows.parquet", model), ("rows.csv", "other")] {
            let mut command = store.sngp(desk.path());
            command.args(["train", "--force", "--out", out, "--data", &place(data)]).args(train);
            run(&mut command, 0);
        }
        let mut command = store.sngp(desk.path());
        run(command.args(["predict", model, "--data", &place("new.parquet")]), 0).stdout
    };
    let local = answers(&|name| bucket.path().join(name).display().to_string(), "local");
    assert_eq!(store.asked.load(Ordering::Relaxed), 0);
    let remote = answers(&|name| format!("s3://bucket/{name}"), "remote");
    assert_eq!(text(&remote), text(&local));
    assert_eq!(store.broken.load(Ordering::Relaxed), 0, "answers were broken, and asked for again");
}

#[test]
fn large_objects_come_in_pieces() {
    let (bucket, desk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = bucket.path().join("long.csv");
    table(&path, 110_000);
    assert!(fs::metadata(&path).unwrap().len() > 9 << 20);
    let store = Store::start(bucket.path().to_path_buf(), 1);
    let small = desk.path().join("small.csv");
    table(&small, 300);
    let train =
        ["train", "--data", "small.csv", "--label", "kind", "--ignore", "note", "--features", "64"];
    run(store.sngp(desk.path()).args(train), 0);
    let mut command = store.sngp(desk.path());
    let out = ["predict", "small-model", "--data", "s3://bucket/long.csv", "--out", "answers.csv"];
    run(command.args(out), 0);
    let answers = fs::read_to_string(desk.path().join("answers.csv")).unwrap();
    assert_eq!(answers.lines().count(), 110_001);
    // The size, two pieces, and the broken one again.
    assert!(store.asked.load(Ordering::Relaxed) >= 4);
}

#[test]
fn what_cannot_be_fetched_is_one_sentence() {
    let desk = tempfile::tempdir().unwrap();
    let store = Store::start(desk.path().to_path_buf(), 0);
    let error = |data: &str, endpoint: Option<&str>| {
        let mut command = store.sngp(desk.path());
        endpoint.map(|endpoint| command.env("AWS_ENDPOINT_URL", endpoint));
        text(&run(command.args(["train", "--data", data, "--label", "kind"]), 1).stderr)
    };
    let gone = error("s3://bucket/nothing.parquet", None);
    assert!(gone.contains("cannot fetch s3://bucket/nothing.parquet"), "{gone}");
    assert!(!gone.contains("secret"), "{gone}");
    assert!(error("s3://rows.csv", None).contains("names no object"), "a bucket alone");
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = error("s3://bucket/rows.csv", Some(&format!("http://{free}")));
    assert!(nobody.contains("cannot fetch") && nobody.contains("the endpoint"), "{nobody}");
    let unknown = error("s3://bucket/rows.xyz", None);
    assert!(unknown.contains("unknown extension"), "{unknown}");
}
