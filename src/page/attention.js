"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const UNITS = 1000; // Weights come as whole thousandths.
  const MEAN = -1; // In place of a head's number: the mean of all heads.
  const element = (id) => document.getElementById(id);

  // What the rows and columns of each kind of attention are. A row of the decoder is a position that reads one token and
  // writes the next; attention within what is read is told by what is read, attention to the source by what is written.
  const last = data.tgt.map((_, i) => data.written[i]);
  const tokens = (list) => list.map((token) => ({ token }));
  const SITES = {
    encoder_self: {
      name: "Encoder self-attention",
      queries: "Source token that attends",
      keys: "to source tokens",
      rows: tokens(data.src),
      columns: tokens(data.src),
    },
    decoder_self: {
      name: "Decoder self-attention",
      queries: "Token just read, and below it the one that follows",
      keys: "attends to the tokens read so far",
      rows: data.tgt.map((token, i) => ({ token, note: last[i] ? `→ ${visible(last[i].token)} ${percent(last[i].probability)}` : "" })),
      columns: tokens(data.tgt),
    },
    cross: {
      name: "Cross-attention",
      queries: "Token that is written, and its probability",
      keys: "attends to source tokens",
      rows: data.tgt.map((token, i) => (last[i] ? { token: last[i].token, note: percent(last[i].probability) } : { token })),
      columns: tokens(data.src),
    },
  };

  const state = { site: null, layer: 0, head: MEAN, row: null, column: null };
  let palette = []; // The colour of every thousandth, [r, g, b].
  let matrix = null; // The chosen weights: { rows, columns, weights, most }.
  let picture = null; // The same, a pixel a weight.

  // ---- words

  function visible(token) {
    return token.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");
  }

  function percent(probability) {
    return probability === null ? "?" : `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)} %`;
  }

  function headName(head) {
    return head === MEAN ? "mean of the heads" : `head ${head + 1}`;
  }

  // ---- weights

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

  // ---- colours

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

  // A canvas with a pixel for each weight.
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

  // Black or white, whichever can be read on it.
  function inkOn([r, g, b]) {
    return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff";
  }

  // ---- the sentence

  function chip(label, shade, chosen, mark) {
    const node = document.createElement(mark ? "button" : "div");
    node.className = chosen ? "token chosen" : "token";
    const text = document.createElement("bdi");
    text.textContent = visible(label.token);
    node.append(text);
    if (label.note) {
      const note = document.createElement("small");
      note.textContent = label.note;
      node.append(note);
    }
    paint(node, shade);
    if (mark) {
      node.type = "button";
      for (const event of ["mouseenter", "focus", "click"]) {
        node.addEventListener(event, mark);
      }
    }
    return node;
  }

  function paint(node, shade) {
    const background = shade === null ? null : colour(shade);
    node.style.background = background ? `rgb(${background})` : "";
    node.style.color = background ? inkOn(background) : "";
  }

  function buildSentence() {
    const site = SITES[state.site];
    element("queries-title").textContent = site.queries;
    element("keys-title").textContent = site.keys;
    const rows = site.rows.map((label, row) => chip(label, null, false, () => mark(row, null)));
    const columns = site.columns.map((label, column) => chip(label, null, false, () => mark(null, column)));
    element("queries").replaceChildren(...rows);
    element("keys").replaceChildren(...columns);
  }

  // Shades the keys of the chosen query, or the queries of the chosen key.
  function shadeSentence() {
    const { row, column } = state;
    const most = top(matrix);
    [...element("queries").children].forEach((node, i) => {
      node.classList.toggle("chosen", i === row);
      paint(node, row === null && column !== null ? weight(i, column) / most : null);
    });
    [...element("keys").children].forEach((node, i) => {
      node.classList.toggle("chosen", i === column);
      paint(node, row === null ? null : weight(row, i) / most);
    });
  }

  // ---- the enlarged map

  const FONT = "12px system-ui, sans-serif";
  const LONGEST_LABEL = 120;
  let layout = null;

  function measure() {
    const site = SITES[state.site];
    const context = element("map").getContext("2d");
    context.font = FONT;
    const width = (label) => context.measureText(shorten(context, label)).width;
    const longest = (labels) => labels.reduce((most, label) => Math.max(most, width(label)), 0);
    const left = Math.ceil(longest(site.rows)) + 10;
    const room = element("map-frame").clientWidth - left - 4;
    const cell = Math.max(4, Math.min(34, Math.floor(room / matrix.columns)));
    const upright = longest(site.columns) < cell - 2;
    const above = upright ? 24 : Math.ceil(longest(site.columns)) + 10;
    layout = { left, above, cell, upright, width: left + cell * matrix.columns + 2, height: above + cell * matrix.rows + 2 };
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

  function drawMap() {
    const canvas = element("map");
    const { width, height, left, above, cell } = layout;
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
    context.drawImage(picture, left, above, across, down);
    if (cell >= 10) {
      context.fillStyle = style("--surface");
      for (let column = 1; column < matrix.columns; column++) {
        context.fillRect(left + column * cell - 1, above, 1, down);
      }
      for (let row = 1; row < matrix.rows; row++) {
        context.fillRect(left, above + row * cell - 1, across, 1);
      }
    }
    context.strokeStyle = style("--line");
    context.strokeRect(left - 0.5, above - 0.5, across + 1, down + 1);
    drawLabels(context);
    drawMark(context);
  }

  function drawLabels(context) {
    const { left, above, cell, upright } = layout;
    const site = SITES[state.site];
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

  // Frames the chosen row and column.
  function drawMark(context) {
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

  function cellAt(event) {
    const box = element("map").getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
    const row = Math.floor((event.clientY - box.top - layout.above) / layout.cell);
    const within = (at, count) => (at < count ? Math.max(at, -1) : -1);
    const [r, c] = [within(row, matrix.rows), within(column, matrix.columns)];
    return r < 0 && c < 0 ? null : [r < 0 ? null : r, c < 0 ? null : c];
  }

  function moveCell(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step) {
      return;
    }
    event.preventDefault();
    const to = (at, by, count) => (at === null ? 0 : Math.min(Math.max(at + by, 0), count - 1));
    mark(to(state.row, step[0], matrix.rows), to(state.column, step[1], matrix.columns));
  }

  // ---- all heads

  const SMALL = 128; // The longer side of a small map, in pixels.

  function buildAll() {
    const layers = mapsOf(state.site).map((map, layer) => {
      const line = document.createElement("div");
      line.className = "layer";
      const name = document.createElement("span");
      name.textContent = `layer ${layer + 1}`;
      const heads = map.heads.map((_, head) => small(map, layer, head));
      line.append(name, ...heads, ...(heads.length > 1 ? [small(map, layer, MEAN)] : []));
      return line;
    });
    element("all").replaceChildren(...layers);
    element("every").hidden = element("all").querySelectorAll("button").length < 2;
  }

  function small(map, layer, head) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small";
    button.title = map.name;
    button.dataset.layer = layer;
    button.dataset.head = head;
    const canvas = draw(weightsOf(map, head));
    const size = SMALL / Math.max(map.rows, map.columns);
    canvas.style.width = `${map.columns * size}px`;
    canvas.style.height = `${map.rows * size}px`;
    button.append(canvas, head === MEAN ? "mean" : headName(head));
    button.setAttribute("aria-label", `layer ${layer + 1}, ${headName(head)}`);
    button.addEventListener("click", () => {
      Object.assign(state, { layer, head });
      fillControls();
      choose();
    });
    return button;
  }

  // ---- what is chosen

  function mark(row, column) {
    Object.assign(state, { row, column });
    shadeSentence();
    drawMap();
    readOut();
  }

  function readOut() {
    const site = SITES[state.site];
    const { row, column } = state;
    const bold = (label) => {
      const node = document.createElement("b");
      node.textContent = visible(label.token);
      return node;
    };
    // The three largest of `count` weights, with their tokens.
    const largest = (count, of, labels) => {
      const order = [...Array(count).keys()].sort((a, b) => of(b) - of(a)).slice(0, 3);
      return order.flatMap((at, place) => [place ? ", " : " ", bold(labels[at]), ` ${of(at).toFixed(3)}`]);
    };
    let words = ["Point at a token or a cell to see its weights."];
    if (row !== null && column !== null) {
      words = [bold(site.rows[row]), " attends to ", bold(site.columns[column]), ` with weight ${weight(row, column).toFixed(3)}`];
    } else if (row !== null) {
      words = [bold(site.rows[row]), " attends most to", ...largest(matrix.columns, (at) => weight(row, at), site.columns)];
    } else if (column !== null) {
      words = [bold(site.columns[column]), " is attended to most by", ...largest(matrix.rows, (at) => weight(at, column), site.rows)];
    }
    element("readout").replaceChildren(...words);
  }

  function fillSelect(id, options, value) {
    const nodes = options.map(([value, text]) => new Option(text, value));
    element(id).replaceChildren(...nodes);
    element(id).value = value;
  }

  function fillControls() {
    const sites = Object.keys(SITES).filter((site) => mapsOf(site).length);
    fillSelect("site", sites.map((site) => [site, SITES[site].name]), state.site);
    fillSelect("layer", mapsOf(state.site).map((_, layer) => [layer, `${layer + 1}`]), state.layer);
    const heads = chosenMap().heads.map((_, head) => [head, `${head + 1}`]);
    fillSelect("head", [...(heads.length > 1 ? [[MEAN, "mean"]] : []), ...heads], state.head);
  }

  // Draws what depends on the layer and the head.
  function choose() {
    matrix = weightsOf(chosenMap(), state.head);
    picture = draw(matrix);
    const name = `${SITES[state.site].name}, layer ${state.layer + 1}, ${headName(state.head)}`;
    element("map-title").textContent = name;
    element("most").textContent = top(matrix).toFixed(top(matrix) < 1 ? 2 : 0);
    for (const button of element("all").querySelectorAll("button")) {
      const { layer, head } = button.dataset;
      button.setAttribute("aria-pressed", `${+layer === state.layer && +head === state.head}`);
    }
    measure();
    mark(state.row, state.column);
  }

  function chooseSite(site) {
    const heads = mapsOf(site)[0].heads.length;
    // The top layer is the one that most is written from.
    Object.assign(state, { site, layer: mapsOf(site).length - 1, head: heads > 1 ? MEAN : 0, row: null, column: null });
    fillControls();
    buildSentence();
    buildAll();
    choose();
  }

  function redraw() {
    readColours();
    buildAll();
    choose();
  }

  function listen() {
    element("site").addEventListener("change", (event) => chooseSite(event.target.value));
    for (const id of ["layer", "head"]) {
      element(id).addEventListener("change", (event) => {
        state[id] = +event.target.value;
        choose();
      });
    }
    element("scale").addEventListener("change", redraw);
    const map = element("map");
    map.addEventListener("mousemove", (event) => {
      const cell = cellAt(event);
      if (cell) {
        mark(...cell);
      }
    });
    map.addEventListener("keydown", moveCell);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        mark(null, null);
      }
    });
    element("controls").addEventListener("submit", (event) => event.preventDefault());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    addEventListener("resize", choose);
  }

  // A model without attention: the sentence alone.
  function showPlain() {
    element("sentence-hint").textContent = "This model has no attention: its decoder knows the source by the encoder's last state alone.";
    element("queries-title").textContent = SITES.cross.queries;
    element("keys-title").textContent = "Source";
    element("queries").replaceChildren(...SITES.cross.rows.map((label) => chip(label, null, false, null)));
    element("keys").replaceChildren(...SITES.cross.columns.map((label) => chip(label, null, false, null)));
  }

  function start() {
    document.title = `Attention – ${data.title}`;
    element("title").textContent = data.title;
    element("warnings").replaceChildren(...data.warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    if (!data.maps.length) {
      return showPlain();
    }
    element("controls").hidden = element("maps").hidden = false;
    element("sentence-hint").textContent = "Point at a token, or reach it with the tab key, to see what it attends to, or who attends to it.";
    readColours();
    listen();
    chooseSite(["cross", "decoder_self", "encoder_self"].find((site) => mapsOf(site).length));
  }

  start();
})();
