"use strict";

// The threshold: figures and marks follow the slider. Every stop's counts are exact.
(() => {
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const { test: tests, shift: shifts, ood: oods } = data.all;
  // The rows of the table of OOD sets: each set, then all together; a set alone is all.
  const together = { rows: oods, accepted: data.ood };
  const sets = data.oodSets ? [...data.oodSets, together] : [together];
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
  const column = (share) => (Number.isFinite(share) ? (100 * share).toFixed(1) + "\u202f%" : "–");
  // About four digits that matter, as in `number::value`.
  const value = (x) => {
    const digits = [[1e-3, 1, 4], [1, 10, 3], [10, 100, 2], [100, 1e3, 1], [1e3, 1e6, 0]]
      .find(([low, high]) => x >= low && x < high);
    return digits ? x.toFixed(digits[2]) : x === 0 ? "0" : x.toExponential(3).replace("e+", "e");
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
    const rejectedOod = oods - data.ood[i], rejected = rejectedOod + tests - n;
    say("at", String(data.threshold[i]));
    say("answered", percent(coverage));
    say("answered-of", of(n, tests));
    say("risk", percent(risk));
    say("risk-of", interval(wrong, n));
    say("accuracy", percent(1 - risk));
    say("accuracy-of", of(n - wrong, n));
    say("rejected", percent(rejectedOod / oods));
    say("rejected-of", of(rejectedOod, oods));
    say("shifted", percent(data.shift[i] / shifts));
    sets.forEach((set, k) => say(`ood-${k}`, column((set.rows - set.accepted[i]) / set.rows)));
    const thousand = (part) => Math.round(1000 * part / tests);
    const answered = count(thousand(n)), refused = count(1000 - thousand(n));
    if (data.loss) {
      const loss = data.loss[i];
      say("rmse", loss === null ? "–" : value(Math.sqrt(loss)));
      say("shifted-of", of(data.shift[i], shifts));
      say("thousand", `Of 1,000 inputs like the test set it answers ${answered} and rejects ${refused}.`);
      slider.setAttribute("aria-valuetext", `${percent(coverage)} answered`);
      move("risk_coverage", coverage, loss ?? 0);
    } else {
      say("shifted-of", `${percent(data.shift[i] ? data.shiftWrong[i] / data.shift[i] : NaN)} of them wrong`);
      say("thousand", `Of 1,000 inputs like the test set it answers ${answered}, `
        + `${count(thousand(wrong))} of them wrongly, and rejects ${refused}.`);
      slider.setAttribute("aria-valuetext", `${percent(coverage)} answered, ${percent(risk)} of them wrong`);
      move("risk_coverage", coverage, n ? risk : 0);
    }
    stops.forEach((stop) => stop.setAttribute("aria-pressed", Number(stop.dataset.stop) === i));
    move("histogram", data.threshold[i], 0);
    move("roc", 1 - coverage, rejectedOod / oods);
    move("precision_recall", rejectedOod / oods, rejected ? rejectedOod / rejected : 1);
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
