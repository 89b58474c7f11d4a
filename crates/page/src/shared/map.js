// The enlarged map.

const FONT = "12px system-ui, sans-serif";
const LONGEST_LABEL = 120;
const LARGEST_CELL = 64; // Pixels of a cell.

function measure(view) {
  const { matrix, parts } = view;
  const site = chosenSite(view);
  const context = parts.map.getContext("2d");
  context.font = FONT;
  const width = (label) => context.measureText(shorten(context, label)).width;
  const longest = (labels) => labels.reduce((most, label) => Math.max(most, width(label)), 0);
  const left = Math.ceil(longest(site.rows)) + 10;
  const room = parts.mapFrame.clientWidth - left - 4;
  // As wide as there is room, but of a short sentence no taller than most of the window.
  const widest = Math.min(LARGEST_CELL, Math.max(34, Math.floor((0.6 * innerHeight) / matrix.rows)));
  const cell = Math.max(4, Math.min(widest, Math.floor(room / matrix.columns)));
  const upright = longest(site.columns) < cell - 2;
  const above = upright ? 24 : Math.ceil(longest(site.columns)) + 10;
  view.layout = { left, above, cell, upright, width: left + cell * matrix.columns + 2, height: above + cell * matrix.rows + 2 };
}

function shorten(context, label) {
  const text = visible(label.token);
  if (context.measureText(text).width <= LONGEST_LABEL) {
    return text;
  }
  const letters = [...text];
  let fits = letters.length;
  while (fits > 1 && context.measureText(letters.slice(0, fits).join("") + "…").width > LONGEST_LABEL) {
    fits = Math.floor(fits * 0.9);
  }
  return letters.slice(0, fits).join("") + "…";
}

function drawMap(view) {
  const { matrix } = view;
  const canvas = view.parts.map;
  const { width, height, left, above, cell } = view.layout;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = FONT;
  const [across, down] = [cell * matrix.columns, cell * matrix.rows];
  context.imageSmoothingEnabled = false;
  context.drawImage(view.picture, left, above, across, down);
  if (cell >= 10) {
    context.fillStyle = style("--surface");
    for (let column = 1; column < matrix.columns; column++) {
      context.fillRect(left + column * cell - 1, above, 1, down);
    }
    for (let row = 1; row < matrix.rows; row++) {
      context.fillRect(left, above + row * cell - 1, across, 1);
    }
  }
  drawHidden(view, context);
  context.strokeStyle = style("--line");
  context.strokeRect(left - 0.5, above - 0.5, across + 1, down + 1);
  drawLabels(view, context);
  drawMark(view, context);
}

// Stripes the cells that the mask hides.
function drawHidden(view, context) {
  const { left, above, cell } = view.layout;
  context.strokeStyle = style("--line");
  context.lineWidth = 1;
  for (let row = 0; row < view.matrix.rows; row++) {
    for (let column = 0; column < view.matrix.columns; column++) {
      if (isHidden(view, row, column)) {
        const [x, y, size] = [left + column * cell, above + row * cell, cell - 1];
        context.beginPath();
        for (const part of cell >= 20 ? [0.5, 1, 1.5] : [1]) {
          const [from, to] = [Math.max(0, part - 1), Math.min(1, part)];
          context.moveTo(x + from * size, y + to * size);
          context.lineTo(x + to * size, y + from * size);
        }
        context.stroke();
      }
    }
  }
}

function drawLabels({ state, sites, layout }, context) {
  const { left, above, cell, upright } = layout;
  const site = sites[state.site];
  const [ink, marked] = [style("--ink"), style("--mark")];
  const shown = (at, chosen) => cell >= 11 || at === chosen;
  context.textBaseline = "middle";
  context.textAlign = "right";
  site.rows.forEach((label, row) => {
    if (shown(row, state.row)) {
      context.fillStyle = row === state.row ? marked : ink;
      context.fillText(shorten(context, label), left - 6, above + (row + 0.5) * cell);
    }
  });
  context.textAlign = upright ? "center" : "left";
  site.columns.forEach((label, column) => {
    if (shown(column, state.column)) {
      context.save();
      context.translate(left + (column + 0.5) * cell, above - (upright ? 12 : 6));
      context.rotate(upright ? 0 : -Math.PI / 2);
      context.fillStyle = column === state.column ? marked : ink;
      context.fillText(shorten(context, label), 0, 0);
      context.restore();
    }
  });
}

// Draws a frame around the selected row and column.
function drawMark({ matrix, state, layout }, context) {
  const { left, above, cell } = layout;
  context.strokeStyle = style("--mark");
  context.lineWidth = 1.5;
  if (state.row !== null) {
    context.strokeRect(left - 1, above + state.row * cell - 1, cell * matrix.columns + 1, cell + 1);
  }
  if (state.column !== null) {
    context.strokeRect(left + state.column * cell - 1, above - 1, cell + 1, cell * matrix.rows + 1);
  }
}

function cellAt({ matrix, layout, parts }, event) {
  const box = parts.map.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
  const row = Math.floor((event.clientY - box.top - layout.above) / layout.cell);
  const within = (at, count) => (at < count ? Math.max(at, -1) : -1);
  const [r, c] = [within(row, matrix.rows), within(column, matrix.columns)];
  return r < 0 && c < 0 ? null : [r < 0 ? null : r, c < 0 ? null : c];
}

function moveCell(view, event) {
  const { matrix, state } = view;
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const step = steps[event.key];
  if (!step) {
    return;
  }
  event.preventDefault();
  const to = (at, by, count) => (at === null ? 0 : Math.min(Math.max(at + by, 0), count - 1));
  mark(view, to(state.row, step[0], matrix.rows), to(state.column, step[1], matrix.columns));
}
