"""Tables in object storage: a store on this machine that speaks S3 as far as reading goes."""

import http.server
import threading

import numpy as np
import pytest
import sngp


class Store(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        path = self.server.folder / self.path.removeprefix("/bucket/")
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        whole = path.read_bytes()
        first, last = 0, len(whole) - 1
        asked = self.headers.get("Range")
        if asked:
            first, last = (int(place) for place in asked.removeprefix("bytes=").split("-"))
        self.send_response(206 if asked else 200)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(whole)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("ETag", '"one"')
        self.send_header("Last-Modified", "Wed, 18 Nov 2026 10:00:00 GMT")
        self.end_headers()
        if body:
            self.wfile.write(whole[first : last + 1])

    def log_message(self, *_):
        pass


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    server.folder = tmp_path
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "nowhere",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    yield tmp_path
    server.shutdown()


def test_a_table_in_object_storage_is_as_one_on_disk(bucket):
    draw = np.random.default_rng(0)
    points = draw.normal(size=(300, 2)).round(3)
    lines = [f"{x},{y},{'up' if x > 0 else 'down'}" for x, y in points]
    (bucket / "rows.csv").write_text("\n".join(["x,y,kind", *lines]))
    fit = lambda rows: sngp.Pipeline.fit(rows, label="kind", features=64)
    remote = fit(sngp.Rows.read("s3://bucket/rows.csv", label="kind"))
    local = fit(sngp.Rows.read(bucket / "rows.csv", label="kind"))
    new = sngp.Rows.numbers(points[:50] + 0.01, names=["x", "y"])
    np.testing.assert_array_equal(remote.predict(new).probabilities, local.predict(new).probabilities)


def test_what_is_not_there_is_said(bucket):
    with pytest.raises((ValueError, OSError), match="cannot fetch s3://bucket/none.csv"):
        sngp.Rows.read("s3://bucket/none.csv")
    with pytest.raises((ValueError, OSError), match="none.csv"):
        sngp.Rows.read(bucket / "none.csv")
