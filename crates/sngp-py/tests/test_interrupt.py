"""Ctrl-C stops a fit, other threads go on, and forked processes are told what to do."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sngp import GPHead, SNGPClassifier

ENDLESS = """
import numpy as np
from sngp import SNGPClassifier
X = np.random.default_rng(0).normal(size=(2000, 4))
print("fitting", flush=True)
try:
    SNGPClassifier(method="mc_dropout", epochs=100_000).fit(X, X[:, 0] > 0)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
def test_ctrl_c_stops_a_fit():
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "fitting"
        time.sleep(2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out.strip() == "stopped"
    assert process.returncode == 0


def test_other_threads_run_meanwhile(vectors):
    X, y, *_ = vectors
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    head = GPHead(features=512).fit(np.repeat(X, 10, axis=0), np.repeat(y, 10))
    before = len(ticks)
    head.predict(np.repeat(X, 10, axis=0))
    done.set()
    thread.join()
    assert before > 5


def test_one_model_serves_many_threads(blobs):
    X, y = blobs
    model = SNGPClassifier(features=64).fit(X, y)
    expected = model.predict_proba(X)
    found = [None] * 8

    def ask(place):
        found[place] = model.predict_proba(X)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for probabilities in found:
        np.testing.assert_array_equal(probabilities, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_is_told(blobs):
    X, y = blobs
    model = SNGPClassifier(features=32).fit(X, y)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            model.predict(X)
            os.write(writing, b"answered")
        except RuntimeError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    told = os.read(reading, 4096).decode()
    os.waitpid(child, 0)
    assert "spawn" in told
