// The colors of weights.

const SHADES = 1000; // Number of steps of the palette.
const HEAT = [0, 1, 2, 3, 4].map((stop) => `--heat-${stop}`);
let palette = []; // The color of every weight, [r, g, b].

// A color of the style sheet in the current theme, as `rgb(…)`.
function style(name) {
  const probe = make("span", { hidden: true });
  document.body.append(probe);
  probe.style.color = `var(${name})`;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function readColors() {
  const stops = HEAT.map((name) => style(name).match(/\d+/g).slice(0, 3).map(Number));
  palette = Array.from({ length: SHADES + 1 }, (_, i) => {
    const place = (i / SHADES) * (stops.length - 1);
    const below = Math.min(Math.floor(place), stops.length - 2);
    return stops[below].map((from, part) => Math.round(from + (place - below) * (stops[below + 1][part] - from)));
  });
}

const color = (share) => palette[Math.round(Math.min(Math.max(share, 0), 1) * SHADES)];

// A canvas with one pixel per weight; `most` is the weight with the last color.
function draw(of, most) {
  const canvas = make("canvas", { width: of.columns, height: of.rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(of.columns, of.rows);
  of.weights.forEach((weight, i) => {
    const [r, g, b] = color(weight / most);
    image.data.set([r, g, b, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// The colors of heads, [r, g, b] (Okabe and Ito 2008).
const HUES = [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [230, 159, 0], [86, 180, 233], [148, 103, 30], [120, 120, 120]];
const hue = (head) => HUES[head % HUES.length];

// A canvas with one pixel per weight of several `heads`: the mixture of their colors, as strong as the largest weight is.
function drawMixed({ rows, columns, heads }, most) {
  const canvas = make("canvas", { width: columns, height: rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const paper = color(0);
  for (let i = 0; i < rows * columns; i++) {
    const sum = heads.reduce((sum, weights) => sum + weights[i], 0) || 1;
    const largest = heads.reduce((largest, weights) => Math.max(largest, weights[i]), 0);
    const share = Math.min(largest / most, 1);
    const mixed = [0, 1, 2].map((part) => heads.reduce((mix, weights, head) => mix + (hue(head)[part] * weights[i]) / sum, 0));
    image.data.set([...mixed.map((to, part) => Math.round(paper[part] + share * (to - paper[part]))), 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// Black or white, whichever is readable on the color.
function inkOn([r, g, b]) {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff";
}
