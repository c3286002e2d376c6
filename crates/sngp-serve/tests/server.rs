//! The server over real connections, well-behaved and not.

mod common;

use std::sync::atomic::Ordering;
use std::time::Duration;

use common::{Client, infer_body, settings, start};
use sngp_serve::Settings;

#[test]
fn pages_have_their_codes() {
    let (server, _) = start(settings());
    let mut client = Client::new(server.http);
    for path in [
        "/v2",
        "/v2/",
        "/v2/health/live",
        "/v2/health/ready/",
        "/v2/models/echo",
        "/v2/models/echo/versions/1",
        "/v2/models/echo/ready",
        "/v2/models/echo/versions/1/ready/",
        "/v1/models",
        "/v1/models/echo/traffic",
        "/metrics",
        "/openapi.json",
        "/docs",
        "/",
    ] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
    for (path, code) in [
        ("/v2/models/none", 404),
        ("/v2/models/echo/versions/9", 404),
        ("/nowhere", 404),
        ("/v2/models/echo/infer", 405),
    ] {
        let response = client.get(path);
        assert_eq!((response.status, response.error().is_empty()), (code, false), "{path}");
    }
    let load = client.post("/v2/repository/models/echo/load", "{}");
    assert_eq!(load.status, 501);
    assert_eq!(client.post("/v2/repository/index", "").json()[0]["name"], "echo");
    server.stop().unwrap();
}

#[test]
fn answers_come_in_json_and_in_binary() {
    let (server, _) = start(settings());
    let mut client = Client::new(server.http);
    let path = "/v2/models/echo/infer";
    let response = client.post(path, &infer_body(&["a 1", "b 2"], r#", "id": "x""#));
    assert_eq!(response.status, 200);
    let json = response.json();
    assert_eq!((&json["id"], &json["model_version"]), (&"x".into(), &"1".into()));
    assert_eq!(json["outputs"][0]["data"], serde_json::json!(["a 1", "b 2"]));
    assert_eq!(json["outputs"][1]["data"], serde_json::json!([1.0, 2.0]));
    let subset = r#", "outputs": [{"name": "uncertainty", "parameters": {"binary_data": true}},
        {"name": "label"}]"#;
    let response = client.post(path, &infer_body(&["a 1"], subset));
    let length: usize =
        response.header("inference-header-content-length").unwrap().parse().unwrap();
    assert_eq!(response.body[length..], 1f64.to_le_bytes());
    let unknown = client.post(path, &infer_body(&["a"], r#", "outputs": [{"name": "none"}]"#));
    assert_eq!(unknown.status, 400);
    assert!(unknown.error().contains("no output `none`; there are label"), "{}", unknown.error());
    let one = client.post("/v1/predict", r#"{"text": "7"}"#);
    assert_eq!(one.json()["label"], "7");
    assert_eq!(
        client.post("/v1/models/echo/predict", r#"[{"text": "7"}]"#).json()[0]["label"],
        "7"
    );
    assert_eq!(client.post("/v1/models/none/predict", "{}").status, 404);
    assert_eq!(client.post("/v1/predict", r#"{"features": {}}"#).status, 400);
    assert_eq!(
        client.ask("POST", "/v1/predict", "content-type: text/xml\r\n", b"<a/>").status,
        415
    );
    assert_eq!(client.ask("POST", "/v1/predict", "content-type: image/png\r\n", b"").status, 415);
    server.stop().unwrap();
}

#[test]
fn what_is_too_much_is_refused() {
    let (server, _) = start(Settings { max_body: 1000, max_rows: 3, ..settings() });
    let path = "/v2/models/echo/infer";
    let ask = |headers: &str, body: &str| {
        Client::new(server.http).ask("POST", path, headers, body.as_bytes())
    };
    assert_eq!(ask("", &infer_body(&["1"; 4], "")).status, 413);
    assert_eq!(ask("", &" ".repeat(1001)).status, 413);
    assert_eq!(ask("content-encoding: br\r\n", "{}").status, 415);
    assert_eq!(ask("content-encoding: gzip\r\n", "{}").status, 400);
    assert_eq!(ask("inference-header-content-length: 99\r\n", "{}").status, 400);
    assert_eq!(ask("inference-header-content-length: x\r\n", "{}").status, 400);
    let mut client = Client::new(server.http);
    client.send(
        b"POST /v2/models/echo/infer HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    client.send(format!("7d0\r\n{}\r\n0\r\n\r\n", " ".repeat(2000)).as_bytes());
    assert_eq!(client.read().unwrap().status, 413);
    server.stop().unwrap();
}

#[test]
fn too_many_are_told_so_before_their_body_is_read() {
    let (server, seen) = start(Settings { max_in_flight: 2, ..settings() });
    let path = "/v2/models/echo/infer";
    let slow: Vec<_> = (0..2)
        .map(|_| {
            let address = server.http;
            let body = infer_body(&["sleep 500"], "");
            std::thread::spawn(move || Client::new(address).post(path, &body).status)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(150));
    let mut client = Client::new(server.http);
    // The body never comes, and the answer does not wait for it.
    client.send(b"POST /v2/models/echo/infer HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n");
    let refused = client.read().unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    for path in ["/v2/health/live", "/v2/health/ready", "/metrics"] {
        assert_eq!(Client::new(server.http).get(path).status, 200, "{path}");
    }
    for thread in slow {
        assert_eq!(thread.join().unwrap(), 200);
    }
    assert_eq!(seen.rows.load(Ordering::SeqCst), 2);
    server.stop().unwrap();
}

#[test]
fn deadlines_are_kept_and_panics_survived() {
    let (server, _) = start(settings());
    let mut client = Client::new(server.http);
    let path = "/v2/models/echo/infer";
    let hurried = infer_body(&["sleep 300"], r#", "parameters": {"timeout": 20000}"#);
    assert_eq!(client.post(path, &hurried).status, 504);
    assert_eq!(client.post(path, &infer_body(&["panic"], "")).status, 500);
    assert_eq!(client.post(path, &infer_body(&["fine"], "")).status, 200);
    server.stop().unwrap();
}

#[test]
fn clients_that_leave_are_not_computed_for() {
    let (server, seen) = start(Settings {
        limits: sngp_serve::batching::Limits { max_batch: 1, ..Default::default() },
        ..settings()
    });
    let path = "/v2/models/echo/infer";
    let address = server.http;
    let busy = std::thread::spawn(move || {
        Client::new(address).post(path, &infer_body(&["sleep 400"], "")).status
    });
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..5 {
        let mut client = Client::new(server.http);
        let body = infer_body(&["sleep 300"], "");
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        client.send(format!("{head}{body}").as_bytes());
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(busy.join().unwrap(), 200);
    assert_eq!(Client::new(server.http).post(path, &infer_body(&["1"], "")).status, 200);
    assert_eq!(seen.rows.load(Ordering::SeqCst), 2, "nobody waits for the other five");
    server.stop().unwrap();
}

#[test]
fn slow_senders_are_closed() {
    let (server, _) = start(Settings {
        header_timeout: Duration::from_millis(300),
        body_timeout: Duration::from_millis(300),
        ..settings()
    });
    let mut silent = Client::new(server.http);
    let mut header = Client::new(server.http);
    header.send(b"GET /v2 HTTP/1.1\r\nhost: ");
    let mut body = Client::new(server.http);
    body.send(b"POST /v2/models/echo/infer HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{");
    let mut grpc = Client::new(server.grpc.unwrap());
    grpc.send(b"PRI * HTTP/2.0");
    assert_eq!(body.read().unwrap().status, 408);
    if let Some(response) = header.read() {
        assert_eq!(response.status, 408);
    }
    assert!(header.is_closed() && silent.is_closed() && grpc.is_closed());
    assert_eq!(Client::new(server.http).get("/v2").status, 200);
    server.stop().unwrap();
}

#[test]
fn connections_have_a_bound() {
    let (server, _) = start(Settings { max_connections: 2, ..settings() });
    let mut open: Vec<Client> = (0..2).map(|_| Client::new(server.http)).collect();
    for client in &mut open {
        assert_eq!(client.get("/v2").status, 200);
    }
    assert!(Client::new(server.http).is_closed());
    assert_eq!(open[0].get("/v2").status, 200);
    server.stop().unwrap();
}

#[test]
fn the_end_answers_what_was_accepted() {
    let (server, _) = start(settings());
    let (address, grpc) = (server.http, server.grpc.unwrap());
    let path = "/v2/models/echo/infer";
    let mut idle = Client::new(address);
    assert_eq!(idle.get("/v2").status, 200);
    let _idle_grpc = Client::new(grpc);
    let busy: Vec<_> = (0..8)
        .map(|i| {
            let body = infer_body(&[&format!("sleep {}", 100 + i)], "");
            std::thread::spawn(move || Client::new(address).post(path, &body).status)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(150));
    server.stop().unwrap();
    for thread in busy {
        assert_eq!(thread.join().unwrap(), 200);
    }
    assert!(idle.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn the_key_opens_everything_but_probes_are_open() {
    let (server, _) = start(Settings { key: Some("secret".to_string()), ..settings() });
    let ask = |path: &str, headers: &str| Client::new(server.http).ask("GET", path, headers, b"");
    for path in ["/v2", "/v2/models/echo", "/metrics", "/v1/models", "/v1/models/echo/traffic"] {
        assert_eq!(ask(path, "").status, 401, "{path}");
        assert_eq!(ask(path, "authorization: Bearer wrong\r\n").status, 401);
        assert_eq!(ask(path, "authorization: Bearer secret\r\n").status, 200);
        assert_eq!(ask(path, "x-api-key: secret\r\n").status, 200);
    }
    for path in ["/v2/health/live", "/v2/health/ready", "/", "/docs"] {
        assert_eq!(ask(path, "").status, 200, "{path}");
    }
    server.stop().unwrap();
}

#[test]
fn requests_are_counted_and_named() {
    let (server, _) = start(settings());
    let mut client = Client::new(server.http);
    let texts: Vec<String> = (0..40).map(|i| format!("{}", i % 4)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    client.post("/v2/models/echo/infer", &infer_body(&texts, ""));
    client.get("/v2/models/none");
    let text = String::from_utf8(client.get("/metrics").body).unwrap();
    for line in [
        r#"sngp_requests_total{protocol="http",route="infer",code="200"} 1"#,
        r#"sngp_requests_total{protocol="http",route="metadata",code="404"} 1"#,
        r#"sngp_rows_total{model="echo",decision="accept",reason=""} 40"#,
        r#"sngp_batch_rows_bucket{le="64.0",model="echo"} 1"#,
        r#"sngp_score_rank_count{model="echo"} 40"#,
        r#"sngp_abstained_share{model="echo"} 0"#,
        r#"sngp_drift_p_value{model="echo"} 1"#,
        r#"sngp_queue_rows{model="echo"} 0"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    assert!(client.get("/v2").header("x-request-id").is_some());
    let named = client.ask("GET", "/v2", "x-request-id: mine\r\n", b"");
    assert_eq!(named.header("x-request-id"), Some("mine"));
    server.stop().unwrap();
}
