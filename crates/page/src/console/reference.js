// The reference of the server's API, from its own description: a list for each API.

const METHODS = ["get", "post", "put", "patch", "delete"];

async function showReference() {
  const [box, root] = [element("reference-box"), element("reference")];
  if (!box.open || root.children.length) {
    return;
  }
  try {
    const { tags, paths } = await ask("openapi.json");
    const all = Object.entries(paths).flatMap(([path, known]) => METHODS.filter((method) => known[method]).map((method) => ({ method, path, ...known[method] })));
    const of = (tag) => all.filter(({ tags: [own] }) => own === tag).flatMap(entry);
    const group = ({ name, description }) => make("section", {}, make("h3", {}, name), make("p", { class: "quiet" }, ...withCode(description)), make("dl", {}, ...of(name)));
    root.replaceChildren(...tags.map(group));
  } catch (error) {
    root.replaceChildren(make("p", { class: "problem" }, error.message));
  }
}

const entry = ({ method, path, summary, description }) => [
  make("dt", {}, make("code", {}, `${method.toUpperCase()} ${path}`)),
  make("dd", {}, ...withCode(summary ?? description ?? "")),
];

// What stands between backquotes is code.
const withCode = (text) => text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
