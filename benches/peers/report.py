"""docs/performance.json, and the table rendered from it in docs/performance.md."""

import json

from works import OVERHEADS, WORKS

FILES = ("performance.json", "performance.md")
BEGIN, END = "<!-- peers:begin -->", "<!-- peers:end -->"

SKELETON = f"""# Performance

Our time over a peer's, both measured in the same run: below 1 we are faster. How the figures are
taken is in [benches/peers](../benches/peers/README.md).

{BEGIN}
{END}
"""


class Mismatch(Exception):
    """Rows of the file and new rows that do not belong in one table."""


def load(docs):
    path = docs / FILES[0]
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def check_same_conditions(earlier, later, ours):
    """Rows measured apart may share a table only if nothing but our own code differs."""

    def conditions(result):
        peers = {name: version for name, version in result["versions"].items() if name != ours}
        return {**{key: result[key] for key in ("cpu", "threads", "rounds")}, **peers}

    was, now = conditions(earlier), conditions(later)
    if was != now:
        raise Mismatch(
            f"{FILES[0]} has rows measured with {was}, this run would have {now}; "
            "measure everything (without --only) or write elsewhere (--docs)"
        )


def merged(earlier, later):
    """The later result, with the earlier rows of what it has not measured."""

    def join(key, order, identity):
        new = later[key]
        known = {identity(row) for row in new}
        old = [row for row in earlier[key] if identity(row) not in known] if earlier else []
        order = {entry.id: index for index, entry in enumerate(order)}
        kept = [row for row in [*old, *new] if row["work"] in order]
        return sorted(kept, key=lambda row: order[row["work"]])

    return {
        **later,
        "rows": join("rows", WORKS, lambda row: (row["work"], row["peer"])),
        "overhead": join("overhead", OVERHEADS, lambda row: row["work"]),
    }


def milliseconds(value):
    # Four digits of whatever size: the works span four orders of magnitude.
    return f"{value:.0f}" if value >= 1000 else f"{value:#.4g}"


def table(header, rows):
    words = ("work", "peer", "reached", "measured at")
    lines = [header, ["---" if name in words else "---:" for name in header], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figures(row, other):
    goal = "-" if row["goal"] is None else f"{row['goal']:.2f}"
    reached = {None: "-", True: "yes", False: "no"}[row["reached"]]
    times = [milliseconds(row["ours_ms"]), milliseconds(row[other])]
    return [*times, f"{row['ratio']:.3f}", goal, reached, f"{row['commit']}, {row['date']}"]


def render(result):
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    columns = ["ratio", "goal", "reached", "measured at"]
    against_peers = table(
        ["work", "peer", "ours, ms", "peer, ms", *columns],
        [
            [row["title"], f"{row['peer']}, {row['variant']}", *figures(row, "peer_ms")]
            for row in result["rows"]
        ],
    )
    overhead = table(
        ["work", "SNGP, ms", "deterministic, ms", *columns],
        [[row["title"], *figures(row, "base_ms")] for row in result["overhead"]],
    )
    return f"""Last run: `{result["command"]}` on {result["cpu"]}, {result["threads"]} threads, \
best of {result["rounds"]} interleaved rounds; {versions}.

{against_peers}

What the uncertainty costs, our SNGP over our deterministic network:

{overhead}"""


def write(docs, result):
    docs.mkdir(parents=True, exist_ok=True)
    data, page = (docs / name for name in FILES)
    data.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    text = page.read_text(encoding="utf-8") if page.is_file() else SKELETON
    if BEGIN not in text or END not in text:
        text = text.rstrip() + f"\n\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    page.write_text(f"{before}{BEGIN}\n{render(result)}\n{END}{after}", encoding="utf-8")
