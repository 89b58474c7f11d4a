// Displayed data: tokens, weights, names and colours.

const data = JSON.parse(document.getElementById("data").textContent);
const UNITS = data.units; // Weights are integers; this one represents 1.
const MEAN = -1; // Used as a head number for the mean of all heads.
const element = (id) => document.getElementById(id);

// Meaning of the rows and columns of each kind of attention. A row of the decoder is a position that reads one token
// and writes the next: self-attention rows are labelled with the token read, cross-attention rows with the token
// written.
const written = data.written;
const tokens = (list) => list.map((token) => ({ token }));
const named = ({ label, probability }) => `${visible(label)} ${percent(probability)}`;
const SITES = {
  encoder_self: {
    name: "Encoder self-attention",
    queries: "Source token that attends",
    keys: "to source tokens",
    rows: data.src.map((token, i) => ({ token, note: data.tags[i] ? named(data.tags[i]) : "" })),
    columns: tokens(data.src),
  },
  decoder_self: {
    name: "Decoder self-attention",
    queries: "Token just read, with the next one below",
    keys: "attends to the tokens read so far",
    rows: data.tgt.map((token, i) => ({ token, note: written[i] ? `→ ${visible(written[i].token)} ${percent(written[i].probability)}` : "" })),
    columns: tokens(data.tgt),
  },
  cross: {
    name: "Cross-attention",
    queries: "Token written, with its probability",
    keys: "attends to source tokens",
    rows: data.tgt.map((token, i) => (written[i] ? { token: written[i].token, note: percent(written[i].probability) } : { token })),
    columns: tokens(data.src),
  },
};

const state = { site: null, layer: 0, head: MEAN, row: null, column: null };
let palette = []; // The colour of every weight, [r, g, b].
let matrix = null; // The selected weights: { rows, columns, weights, most }.
let picture = null; // The same, one pixel per weight.

function visible(token) {
  return token.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");
}

function percent(probability) {
  return probability === null ? "?" : `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)} %`;
}

function headName(head) {
  return head === MEAN ? "mean of the heads" : `head ${head + 1}`;
}

const mapsOf = (site) => data.maps.filter((map) => map.site === site);
const chosenMap = () => mapsOf(state.site)[state.layer];

function weightsOf(map, head) {
  const weights = new Float32Array(map.rows * map.columns);
  const heads = head === MEAN ? map.heads : [map.heads[head]];
  for (const numbers of heads) {
    numbers.forEach((number, i) => (weights[i] += number / UNITS / heads.length));
  }
  const most = weights.reduce((most, weight) => Math.max(most, weight), 0);
  return { rows: map.rows, columns: map.columns, weights, most };
}

const weight = (row, column) => matrix.weights[row * matrix.columns + column];
const top = (of) => (element("scale").value === "largest" ? of.most || 1 : 1);

function readColours() {
  const ramp = getComputedStyle(document.documentElement).getPropertyValue("--heat");
  const stops = ramp.split(",").map((stop) => [1, 3, 5].map((at) => parseInt(stop.trim().slice(at, at + 2), 16)));
  palette = Array.from({ length: UNITS + 1 }, (_, i) => {
    const place = (i / UNITS) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    return stops[below].map((from, part) => Math.round(from + (place - below) * (stops[below + 1][part] - from)));
  });
}

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const colour = (share) => palette[Math.round(Math.min(Math.max(share, 0), 1) * UNITS)];

// A canvas with one pixel per weight.
function draw(of) {
  const canvas = document.createElement("canvas");
  canvas.width = of.columns;
  canvas.height = of.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(of.columns, of.rows);
  const most = top(of);
  of.weights.forEach((weight, i) => {
    const [r, g, b] = colour(weight / most);
    image.data.set([r, g, b, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// Black or white, whichever is readable on the colour.
function inkOn([r, g, b]) {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff";
}
