"""The worker's side of the line protocol, and the timing; the same for both peers.

One JSON object per line, requests on stdin, replies on stdout; see README.md for the requests.
"""

import gc
import json
import os
import sys
import time

THREADS = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count())


def best_of_slice(step, seconds):
    """The best single time over about `seconds`, of three steps at least unless one is too slow."""
    start = time.perf_counter()
    best, iterations, elapsed = float("inf"), 0, 0.0
    while elapsed < seconds or (iterations < 3 and best <= 2 * seconds):
        before = time.perf_counter()
        step()
        after = time.perf_counter()
        best, iterations, elapsed = min(best, after - before), iterations + 1, after - start
    return {"ms": best * 1e3, "iterations": iterations}


def serve(name, version, works):
    """Answers until stdin ends. `works`: id -> a function that builds {variant: step function}."""
    # The libraries print to stdout as they please: replies get a copy of it, the rest goes to
    # stderr.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    prepared = {}

    def answer(request):
        do, work = request["do"], request.get("work")
        if do == "info":
            return {"name": name, "version": version, "threads": THREADS}
        if do == "list":
            return {"works": list(works)}
        if do == "prepare":
            prepared[work] = works[work]()
            return {"ok": True, "variants": list(prepared[work])}
        if do == "run":
            return best_of_slice(prepared[work][request["variant"]], request["seconds"])
        if do == "drop":
            prepared.pop(work, None)
            gc.collect()
            return {"ok": True}
        raise ValueError(f"unknown request {do!r}")

    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)
