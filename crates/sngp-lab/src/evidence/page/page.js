"use strict";

// The threshold: figures and marks follow the slider. Every stop's counts are exact.
(() => {
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const { test: tests, shift: shifts, ood: strangers } = data.all;
  const slider = document.getElementById("slider");
  const stops = [...document.querySelectorAll(".stops button")];

  const count = (n) => n.toLocaleString("en-US");
  const percent = (share) => {
    if (!Number.isFinite(share)) return "–";
    const h = 100 * share;
    const rounded = (scale) => String(Math.round(h * scale) / scale);
    const text = h > 0 && h < 0.005 ? "< 0.01"
      : h >= 99.995 && h < 100 ? "> 99.99"
      : rounded(h < 1 || h >= 99 ? 100 : 10);
    return text + "\u202f%";
  };
  const of = (part, whole) => `${count(part)} of ${count(whole)}`;
  const say = (id, text) => {
    const place = document.getElementById(id);
    if (place) place.textContent = text;
  };

  // Wilson's score interval, as in `Accepted::interval`.
  const interval = (wrong, n) => {
    if (n === 0) return "nothing answered";
    const p = wrong / n, zz = 1.96 * 1.96;
    const centre = p + zz / (2 * n);
    const half = Math.sqrt(zz * (p * (1 - p) / n + zz / (4 * n * n)));
    const [low, high] = [centre - half, centre + half].map((end) => end / (1 + zz / n));
    return `likely ${percent(Math.max(0, low))} to ${percent(Math.min(1, high))}`;
  };

  // Moves a plot's mark; it carries the plot's area and the ends of its axes.
  const move = (id, x, y) => {
    const mark = document.querySelector(`#${id} .mark`);
    if (!mark) return;
    const numbers = (name) => mark.dataset[name].split(" ").map(Number);
    const [left, top, width, height] = numbers("area");
    const along = (value, [low, high], log) => {
      const held = Math.min(high, Math.max(low, value));
      const at = log ? Math.log(held / low) / Math.log(high / low) : (held - low) / (high - low);
      return Math.min(1, Math.max(0, at));
    };
    const px = left + width * along(x, numbers("x"), mark.dataset.log === "1");
    const dot = mark.querySelector("circle"), line = mark.querySelector("line");
    if (dot) {
      dot.setAttribute("cx", px);
      dot.setAttribute("cy", top + height * (1 - along(y, numbers("y"), false)));
    }
    if (line) {
      line.setAttribute("x1", px);
      line.setAttribute("x2", px);
    }
  };

  const show = (i) => {
    const n = data.test[i], wrong = data.testWrong[i];
    const risk = n ? wrong / n : NaN, coverage = n / tests;
    const caught = strangers - data.ood[i], turned = caught + tests - n;
    say("at", String(data.threshold[i]));
    say("answered", percent(coverage));
    say("answered-of", of(n, tests));
    say("risk", percent(risk));
    say("risk-of", interval(wrong, n));
    say("accuracy", percent(1 - risk));
    say("accuracy-of", of(n - wrong, n));
    say("caught", percent(caught / strangers));
    say("caught-of", of(caught, strangers));
    say("shifted", percent(data.shift[i] / shifts));
    say("shifted-of", `${percent(data.shift[i] ? data.shiftWrong[i] / data.shift[i] : NaN)} of them wrong`);
    const thousand = (part) => Math.round(1000 * part / tests);
    say("thousand", `Of 1,000 inputs like the test set it answers ${count(thousand(n))}, `
      + `${count(thousand(wrong))} of them wrongly, and turns ${count(1000 - thousand(n))} away.`);
    slider.setAttribute("aria-valuetext", `${percent(coverage)} answered, ${percent(risk)} of them wrong`);
    stops.forEach((stop) => stop.setAttribute("aria-pressed", Number(stop.dataset.stop) === i));
    move("risk_coverage", coverage, n ? risk : 0);
    move("histogram", data.threshold[i], 0);
    move("roc", 1 - coverage, caught / strangers);
    move("precision_recall", caught / strangers, turned ? caught / turned : 1);
  };

  document.querySelector(".slider").hidden = false;
  // The page may have been reloaded with the slider elsewhere.
  slider.value = slider.defaultValue;
  slider.addEventListener("input", () => show(Number(slider.value)));
  stops.forEach((stop) => stop.addEventListener("click", () => {
    slider.value = stop.dataset.stop;
    show(Number(slider.value));
  }));
  show(Number(slider.value));
})();

// Tables that can be sorted by their headings.
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0];
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const compare = (a, b) => a - b || String(a).localeCompare(String(b), "en", { numeric: true });
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => (up ? compare(a, b) : compare(b, a)));
    body.append(...rows.map(([, row]) => row));
  }));
});
