#!/usr/bin/env python3
"""Measures sngp against PyTorch and ONNX Runtime and writes docs/performance.{json,md}.

See README.md beside this file for how the figures are taken.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path

import report
from works import OVERHEADS, WORKS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEERS = {"torch": "peer_torch.py", "onnxruntime": "peer_onnx.py"}

# Thread pools keep spinning after a run, ONNX Runtime's for some 60 ms: wait until they sleep.
PAUSE_SECONDS = 0.15


class Failure(Exception):
    """An error that is told to the user without a traceback."""


class Worker:
    """A process that prepares and runs works, one JSON object per line each way."""

    def __init__(self, command, threads):
        counts = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
        self.command = shlex.join(command)
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                bufsize=1,
                env={**os.environ, **dict.fromkeys(counts, str(threads))},
            )
        except OSError as error:
            raise Failure(f"cannot start the worker `{self.command}`: {error}") from error
        self.info = self.ask(do="info")
        if self.info["threads"] != threads:
            raise Failure(f"`{self.command}` uses {self.info['threads']} threads, not {threads}")
        self.works = self.ask(do="list")["works"]

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failure(f"the worker `{self.command}` ended at the request {request}")
        try:
            reply = json.loads(line)
        except ValueError as error:
            raise Failure(f"`{self.command}` answered {line!r} to {request}") from error
        if "error" in reply:
            raise Failure(f"{request} failed in `{self.command}`: {reply['error']}")
        return reply

    def close(self):
        # A worker that has already ended has been reported.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


def run_or_fail(command, advice, **options):
    try:
        subprocess.run(command, check=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{error}\n{advice}") from error


def peers_python(skip_setup):
    """The Python with the pinned peers, installed where that has not been done yet."""
    target = Path(os.environ.get("SNGP_PEERS_VENV") or ROOT / "target" / "peers" / "venv")
    python = target / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = (HERE / "requirements.txt").read_text()
    installed = target / "sngp-requirements.txt"
    if skip_setup or (installed.is_file() and installed.read_text() == wanted):
        return python
    print(f"Installing PyTorch and ONNX Runtime into {target}.")
    print("This is done once; it downloads some 3 GB and takes some 6 GB of disk.", flush=True)
    if not python.exists():
        run_or_fail(
            [sys.executable, "-m", "venv", str(target)],
            "No virtual environment: is Python's venv module installed (python3-venv)?",
        )
    run_or_fail(
        [str(python), "-m", "pip", "install", "-r", str(HERE / "requirements.txt")],
        "pip could not install the peers: it needs the network, 6 GB of disk and Python 3.11 or "
        "newer. SNGP_PEERS_VENV can name another virtual environment.",
    )
    installed.write_text(wanted)
    return python


def our_command(skip_setup):
    if os.environ.get("SNGP_BENCH_WORKER"):
        return shlex.split(os.environ["SNGP_BENCH_WORKER"])
    if not skip_setup:
        run_or_fail(
            ["cargo", "build", "--release", "--workspace"],
            "The workspace did not build; SNGP_BENCH_WORKER can name another worker.",
            cwd=ROOT,
        )
    # Relative to the root, as cargo ran there.
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    return [str(target / "release" / "sngp-bench-worker")]


def commit():
    def git(*command):
        return subprocess.check_output(["git", *command], cwd=ROOT, text=True).strip()

    # What this program itself writes is no change of what it measures.
    written = [f":(exclude)docs/{name}" for name in report.FILES]
    try:
        changed = git("status", "--porcelain", "--", ".", *written)
        return git("rev-parse", "--short", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cpu():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def measure(wanted, rounds, seconds):
    """The best time of every variant, interleaved: {(worker key, work): {variant: ms}}.

    `wanted`: (worker key, worker, work). A peer that cannot prepare a work is told and left out.
    """
    best, runs, problems = {}, [], []
    for key, worker, work in wanted:
        try:
            variants = worker.ask(do="prepare", work=work)["variants"]
        except Failure as failure:
            if worker.process.poll() is not None:
                raise
            problems.append(str(failure))
            continue
        best[key, work] = dict.fromkeys(variants, float("inf"))
        runs += [(key, worker, work, variant) for variant in variants]
    for index in range(rounds + 1):
        for key, worker, work, variant in runs:
            time.sleep(PAUSE_SECONDS)
            ms = worker.ask(do="run", work=work, variant=variant, seconds=seconds)["ms"]
            # Round 0 is the warm-up.
            if index > 0:
                best[key, work][variant] = min(best[key, work][variant], ms)
    for _, worker, work in wanted:
        worker.ask(do="drop", work=work)
    return best, problems


def fastest(variants):
    return min(variants.items(), key=lambda item: item[1])


def verdict(ours, theirs, goal):
    ratio = ours / theirs
    reached = None if goal is None else ratio <= goal
    return {"ratio": round(ratio, 4), "goal": goal, "reached": reached}


def measure_work(work, workers, arguments):
    """The rows of one work: (against the peers, overhead, problems)."""
    ours = workers["ours"]
    entry = next((entry for entry in WORKS if entry.id == work), None)
    overhead = next((entry for entry in OVERHEADS if entry.id == work), None)
    wanted = [("ours", ours, work)]
    # The base directly after the work it is compared with.
    if overhead and overhead.base in ours.works:
        wanted.append(("ours", ours, overhead.base))
    if entry:
        wanted += [(key, workers[key], work) for key in PEERS if work in workers[key].works]
    best, problems = measure(wanted, arguments.rounds, arguments.seconds)
    rows, overheads = [], []
    if ("ours", work) not in best:
        return rows, overheads, problems
    _, ours_ms = fastest(best["ours", work])
    print(f"{work}: ours {ours_ms:.4g} ms", flush=True)
    for key in PEERS:
        if (key, work) not in best:
            continue
        for variant, ms in best[key, work].items():
            print(f"    {workers[key].info['name']} {variant} {ms:.4g} ms", flush=True)
        variant, peer_ms = fastest(best[key, work])
        rows.append(
            {
                "work": work,
                "title": entry.title,
                "peer": workers[key].info["name"],
                "variant": variant,
                "ours_ms": round(ours_ms, 5),
                "peer_ms": round(peer_ms, 5),
                **verdict(ours_ms, peer_ms, getattr(entry, key)),
            }
        )
    if overhead and ("ours", overhead.base) in best:
        _, base_ms = fastest(best["ours", overhead.base])
        print(f"    ours {overhead.base} {base_ms:.4g} ms", flush=True)
        overheads.append(
            {
                "work": work,
                "title": overhead.title,
                "base": overhead.base,
                "ours_ms": round(ours_ms, 5),
                "base_ms": round(base_ms, 5),
                **verdict(ours_ms, base_ms, overhead.goal),
            }
        )
    return rows, overheads, problems


def parse_arguments():
    known = list(dict.fromkeys([entry.id for entry in [*WORKS, *OVERHEADS]]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="WORK[,WORK]", help="of: " + ", ".join(known))
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (7 or more)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every worker")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of one slice")
    parser.add_argument("--skip-setup", action="store_true", help="neither pip nor cargo")
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "docs", help="where the two files are written"
    )
    arguments = parser.parse_args()
    if arguments.rounds < 7:
        parser.error("--rounds: fewer than 7 rounds do not outlast other load on the machine")
    arguments.works = arguments.only.split(",") if arguments.only else known
    unknown = [work for work in arguments.works if work not in known]
    if unknown:
        parser.error(f"--only: unknown {', '.join(unknown)}; known are {', '.join(known)}")
    return arguments


def main():
    arguments = parse_arguments()
    docs = arguments.docs.resolve()
    python = peers_python(arguments.skip_setup)
    commands = {"ours": our_command(arguments.skip_setup)}
    commands.update({key: [str(python), str(HERE / script)] for key, script in PEERS.items()})

    workers, problems = {}, []
    try:
        for key, command in commands.items():
            workers[key] = Worker(command, arguments.threads)
        result = {
            "command": shlex.join(["python3", "benches/peers/run.py", *sys.argv[1:]]),
            "commit": commit(),
            "cpu": cpu(),
            "threads": arguments.threads,
            "rounds": arguments.rounds,
            "date": datetime.date.today().isoformat(),
            "versions": {w.info["name"]: w.info["version"] for w in workers.values()},
            "rows": [],
            "overhead": [],
        }
        earlier = report.load(docs) if arguments.only else None
        if earlier:
            report.check_same_conditions(earlier, result, ours=workers["ours"].info["name"])

        stamp = {key: result[key] for key in ("commit", "date")}
        for work in arguments.works:
            if work not in workers["ours"].works:
                problems.append(f"{work}: not a work of `{workers['ours'].command}`")
                continue
            rows, overheads, troubles = measure_work(work, workers, arguments)
            result["rows"] += [{**row, **stamp} for row in rows]
            result["overhead"] += [{**row, **stamp} for row in overheads]
            problems += troubles
    finally:
        for worker in workers.values():
            worker.close()

    if result["rows"] or result["overhead"]:
        report.write(docs, report.merged(earlier, result))
        print("Written:", *(docs / name for name in report.FILES))
    if problems:
        raise Failure("\n".join(["Left out:", *problems]))


if __name__ == "__main__":
    try:
        main()
    except (Failure, report.Mismatch) as failure:
        sys.exit(f"error: {failure}")
