// Values as heat maps.

const LABEL_FONT = "12px system-ui, sans-serif";
const WIDEST_LABEL = 130;
const [LEAST_CELL, WIDEST_CELL, READABLE_CELL] = [3, 46, 34]; // Pixels.

const short = (x, digits = 3) => {
  if (x === null) {
    return "NaN"; // JSON has neither NaN nor infinity.
  }
  const size = Math.abs(x);
  return x === 0 ? "0" : size >= 1e4 || size < 1e-3 ? x.toExponential(0) : String(Number(x.toPrecision(digits)));
};

// The matrices of an operation: one, or one for each head.
function matricesOf({ shape, values }) {
  const [rows, columns] = shape.slice(-2);
  const heads = shape.length === 3 ? shape[0] : 1;
  const size = rows * columns;
  return Array.from({ length: heads }, (_, head) => ({ rows, columns, values: values.slice(head * size, (head + 1) * size) }));
}

// [r, g, b] of a value whose largest is `most`: blue above 0, red below.
function tint(value, most) {
  const share = most && value !== null ? value / most : 0;
  if (share >= 0) {
    return color(share);
  }
  const [to, from] = [negative, color(0)];
  return from.map((part, i) => Math.round(part - share * (to[i] - part)));
}

// Tokens, with their numbers where they are repeated; `null` if there are none.
function distinct(tokens) {
  return tokens && tokens.map((token, i) => (tokens.indexOf(token) === tokens.lastIndexOf(token) ? token : `${token} (${i})`));
}

let negative = [];

function readTints() {
  readColors();
  negative = style("--negative").match(/\d+/g).slice(0, 3).map(Number);
}

function fitted(context, text, width) {
  const letters = [...text];
  while (letters.length > 1 && context.measureText(letters.join("") + "…").width > width) {
    letters.pop();
  }
  return letters.length < [...text].length ? letters.join("") + "…" : text;
}

// A canvas with the matrix, the tokens of its rows and columns, and numbers where there is room. `most(row)` has the
// strongest color.
function heatMap(matrix, rowTokens, columnTokens, most, room, shown) {
  const canvas = make("canvas");
  const context = canvas.getContext("2d");
  context.font = LABEL_FONT;
  const widest = (tokens) => Math.min(WIDEST_LABEL, Math.max(0, ...(tokens ?? []).map((token) => context.measureText(token).width)));
  const left = rowTokens ? widest(rowTokens) + 8 : 0;
  const cell = Math.max(LEAST_CELL, Math.min(WIDEST_CELL, Math.floor((room - left) / matrix.columns)));
  const high = Math.max(cell, rowTokens ? 16 : LEAST_CELL);
  const above = columnTokens ? widest(columnTokens) + 8 : 0;
  const [width, height] = [left + cell * matrix.columns, above + high * matrix.rows];
  const ratio = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  context.font = LABEL_FONT;
  context.textBaseline = "middle";
  context.fillStyle = style("--ink");
  (rowTokens ?? []).forEach((token, row) => context.fillText(fitted(context, token, WIDEST_LABEL), 0, above + (row + 0.5) * high));
  (columnTokens ?? []).forEach((token, column) => {
    context.save();
    context.translate(left + (column + 0.5) * cell, above - 4);
    context.rotate(-Math.PI / 2);
    context.fillText(fitted(context, token, WIDEST_LABEL), 0, 0);
    context.restore();
  });
  matrix.values.forEach((value, i) => {
    const [row, column] = [Math.floor(i / matrix.columns), i % matrix.columns];
    const rgb = tint(value, most(row));
    context.fillStyle = `rgb(${rgb})`;
    context.fillRect(left + column * cell, above + row * high, cell > 6 ? cell - 1 : cell, high - 1);
    if (cell >= READABLE_CELL) {
      context.fillStyle = inkOn(rgb);
      context.font = "11px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillText(short(value, 2), left + (column + 0.5) * cell, above + (row + 0.5) * high);
    }
  });
  canvas.onpointermove = (event) => {
    const column = Math.floor((event.offsetX - left) / cell);
    const row = Math.floor((event.offsetY - above) / high);
    const inside = column >= 0 && column < matrix.columns && row >= 0 && row < matrix.rows;
    const of = (tokens, index) => (tokens ? `${index} ${tokens[index]}` : index);
    shown(inside ? `row ${of(rowTokens, row)}, column ${of(columnTokens, column)}: ${matrix.values[row * matrix.columns + column]}` : "");
  };
  canvas.onpointerleave = () => shown("");
  return canvas;
}
