// The sentence; the selected token shades the tokens that it attends to.

// A token element, which calls `show`, if given, on hover and focus.
function chip(label, show) {
  const node = document.createElement(show ? "button" : "div");
  node.className = "token";
  const text = document.createElement("bdi");
  text.textContent = visible(label.token);
  node.append(text);
  if (label.note) {
    const note = document.createElement("small");
    note.textContent = label.note;
    node.append(note);
  }
  if (show) {
    node.type = "button";
    for (const event of ["mouseenter", "focus", "click"]) {
      node.addEventListener(event, show);
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
  const rows = site.rows.map((label, row) => chip(label, () => mark(row, null)));
  const columns = site.columns.map((label, column) => chip(label, () => mark(null, column)));
  element("queries").replaceChildren(...rows);
  element("keys").replaceChildren(...columns);
}

// Shades the keys of the selected query, or the queries of the selected key.
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
