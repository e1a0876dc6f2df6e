"use strict";
// Tables: a click on a heading sorts, words in the field above leave the rows that have them all.
for (const box of document.querySelectorAll(".sortable")) {
  const table = box.querySelector("table"), body = table.tBodies[0], rows = [...body.rows];
  const field = box.querySelector("input"), count = box.querySelector("output");
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      left += !row.hidden;
    }
    count.textContent = `${left} of ${rows.length} rows`;
  };
  field.addEventListener("input", filter);
  filter();
  const value = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent;
  [...table.tHead.rows[0].cells].forEach((head, i) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending", numeric = !head.classList.contains("text");
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.sort((a, b) => {
      const [x, y] = [value(a, i), value(b, i)];
      if (x === "" || y === "") return (x === "") - (y === "");  // what is unknown goes last
      return (up ? 1 : -1) * (numeric ? x - y : x.localeCompare(y, undefined, { numeric: true }));
    });
    body.append(...rows);
  }));
}

// Figures: drawn as they come into view, and again where the reader's colours change.
const read = id => JSON.parse(document.getElementById(id).textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map();
const SHEET = 660;  // pixels within the margins of A4 and of letter paper

async function library() {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent.trim()), c => c.charCodeAt(0));
  const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(text).text();
  document.head.append(script);
}

function draw(place, figure) {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
  const axis = { gridcolor: of("--line"), zerolinecolor: of("--line"), automargin: true };
  const paper = document.documentElement.classList.contains("print"), phone = innerWidth < 600 || paper;
  const layout = structuredClone(figure.layout ?? {});
  Object.assign(layout, {
    paper_bgcolor: of("--paper"), plot_bgcolor: of("--paper"), font: { color: of("--ink"), size: phone ? 11 : 13 },
    margin: { l: 40, r: 10, t: 10, b: 40 }, hovermode: "closest", hoverlabel: { align: "left" },
    legend: { orientation: "h", y: -0.25 },
    width: paper ? SHEET : undefined, height: layout.height ?? (paper ? 384 : undefined),
    xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
  });
  drawn.set(place, figure);
  // ink and grey of the palette are those of the page, which may be dark
  const inks = { "#000000": of("--ink"), "#5a5a5a": of("--pale") };
  const data = JSON.parse(JSON.stringify(figure.data), (key, value) => key === "color" ? inks[value] ?? value : value);
  return Plotly.react(place, data, layout, { responsive: true, displaylogo: false, displayModeBar: !phone });
}

// A link to a folded section opens it.
function reveal() {
  let place = document.getElementById(location.hash.slice(1))?.closest("details");
  if (place) place.open = true;
  while ((place = place?.parentElement.closest("details"))) place.open = true;
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
addEventListener("hashchange", reveal);
document.addEventListener("click", event => event.target.closest?.("a")?.hash === location.hash && reveal());
if (location.hash) reveal();

async function start() {
  const places = [...document.querySelectorAll(".figure")], figures = read("figures"), traces = read("traces");
  const choice = document.getElementById("run");
  const figure = place => place.id === "trace" ? traces[choice.value] : figures[place.dataset.figure];
  if (places.length) await library();
  const seen = new IntersectionObserver(entries => entries.filter(e => e.isIntersecting).forEach(e => {
    seen.unobserve(e.target);
    draw(e.target, figure(e.target));
  }), { rootMargin: "300px" });
  places.forEach(place => seen.observe(place));
  choice?.addEventListener("change", () => draw(document.getElementById("trace"), figure({ id: "trace" })));
  dark.addEventListener("change", () => drawn.forEach((figure, place) => draw(place, figure)));
  // Paper is white and narrow, and has everything open.
  let folded = [];
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("print");
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach(one => one.open = true);
    places.forEach(place => draw(place, figure(place)));
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("print");
    drawn.forEach((figure, place) => draw(place, figure));
    folded.forEach(one => one.open = false);
  });
  document.documentElement.dataset.ready = "yes";
}
start();
