// Tokens.

function visible(token) {
  return token.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");
}

function percent(probability) {
  return probability === null ? "?" : `${(100 * probability).toFixed(probability < 0.0995 ? 1 : 0)}\u00a0%`;
}

const named = ({ label, probability }) => `${visible(label)} ${percent(probability)}`;

// A token element, which calls `show`, if given, on hover and focus.
function chip(label, show) {
  const node = make(show ? "button" : "div", { class: "token" }, make("bdi", {}, visible(label.token)));
  if (label.note) {
    node.append(make("small", {}, label.note));
  }
  if (show) {
    node.type = "button";
    for (const event of ["mouseenter", "focus", "click"]) {
      node.addEventListener(event, show);
    }
  }
  return node;
}

// Shades `node` like a weight; `null` for no shade.
function paint(node, shade) {
  const background = shade === null ? null : color(shade);
  node.style.background = background ? `rgb(${background})` : "";
  node.style.color = background ? inkOn(background) : "";
}
