// Elements and their keyboard control.

// An element. Properties that elements do not have, such as `class` and `aria-label`, become attributes.
function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) {
      node[name] = value;
    } else {
      node.setAttribute(name, value);
    }
  }
  node.append(...children);
  return node;
}

// Fills `select` with `options`, each a value and a text.
function fillSelect(select, options, value) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  select.value = value;
  showOnly(select);
}

// Shows the only option of `select` as text, since there is nothing to choose.
function showOnly(select) {
  const next = select.nextElementSibling;
  const only = next?.matches(".only") ? next : make("span", { class: "only" });
  const [option, another] = select.options;
  select.hidden = !another;
  only.hidden = Boolean(another);
  only.textContent = another ? "" : (option?.text ?? "");
  select.after(only);
}

function button(text, pressed) {
  const node = make("button", { type: "button" }, text);
  node.onclick = pressed;
  return node;
}

let made = 0;
const unique = (name) => `${name}-${++made}`;

// Steps of the arrow keys in a row, and in a list or column.
const ROW = { ArrowLeft: -1, ArrowRight: 1 };
const COLUMN = { ArrowUp: -1, ArrowDown: 1 };

// Makes the buttons right in `group` one tab stop; `steps` are the keys that move between them, beside Home and End.
function rove(group, steps) {
  const buttons = () => [...group.querySelectorAll(":scope > button:not([disabled])")];
  const select = (chosen) => buttons().forEach((button) => (button.tabIndex = button === chosen ? 0 : -1));
  select(buttons()[0]);
  group.addEventListener("focusin", (event) => buttons().includes(event.target) && select(event.target));
  group.addEventListener("keydown", (event) => {
    const all = buttons();
    const to = moved(event, all.indexOf(document.activeElement), all.length, steps);
    if (to !== null) {
      event.stopPropagation();
      all[to].focus();
    }
  });
}

// The place to which a key moves from place `at` of `count`, `null` for other keys.
function moved(event, at, count, steps) {
  const to = { Home: 0, End: count - 1, ...(event.key in steps ? { [event.key]: at + steps[event.key] } : {}) }[event.key];
  if (at < 0 || to === undefined || event.ctrlKey || event.metaKey || event.altKey) {
    return null;
  }
  event.preventDefault();
  return Math.min(Math.max(to, 0), count - 1);
}
