// The reference of the server's API, from its own description.

const METHODS = ["get", "post", "put", "delete"];

async function showReference() {
  const [box, list] = [element("reference-box"), element("reference")];
  if (!box.open || list.children.length) {
    return;
  }
  try {
    const { paths } = await ask("openapi.json");
    const all = Object.entries(paths).flatMap(([path, known]) => METHODS.filter((method) => known[method]).map((method) => [method, path, known[method]]));
    list.replaceChildren(...all.flatMap(([method, path, { summary, description }]) => entry(method, path, summary ?? description ?? "")));
  } catch (error) {
    list.replaceChildren(make("dt", { class: "problem" }, error.message));
  }
}

const entry = (method, path, text) => [make("dt", {}, make("code", {}, `${method.toUpperCase()} ${path}`)), make("dd", {}, ...withCode(text))];

// What stands between backquotes is code.
const withCode = (text) => text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
