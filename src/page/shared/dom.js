// Elements and their keyboard.

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

let made = 0;
const unique = (name) => `${name}-${++made}`;

// Makes the buttons right in `group` one tab stop; `back` and `on` are the keys that move between them.
function rove(group, back, on) {
  const buttons = () => [...group.querySelectorAll(":scope > button:not([disabled])")];
  const select = (chosen) => buttons().forEach((button) => (button.tabIndex = button === chosen ? 0 : -1));
  select(buttons()[0]);
  group.addEventListener("focusin", (event) => buttons().includes(event.target) && select(event.target));
  group.addEventListener("keydown", (event) => {
    const all = buttons();
    const at = all.indexOf(document.activeElement);
    const to = { [back]: at - 1, [on]: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (at >= 0 && to !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      all[Math.min(Math.max(to, 0), all.length - 1)].focus();
    }
  });
}
