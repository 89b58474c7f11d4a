// Requests to the server that the page came from.

const KEY = "attentive-key"; // In the session's storage.

// A failure that the server describes.
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function send(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem(KEY);
  if (key) {
    headers.Authorization = `Bearer ${key}`;
  }
  const options = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { ...options, signal, credentials: "omit" });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("The server cannot be reached. Is it still running?");
  }
  if (!response.ok) {
    throw await refused(response);
  }
  return response;
}

async function refused(response) {
  const { status } = response;
  if (status === 401 || status === 403) {
    askForKey();
  }
  const text = await response.text();
  let message = text;
  try {
    const { error } = JSON.parse(text);
    message = error.hint ? `${error.message}. Hint: ${error.hint}` : (error.message ?? error);
  } catch {
    // Not JSON: the text itself.
  }
  const again = response.headers.get("Retry-After");
  const later = again ? ` Try again in ${again} s.` : "";
  return new Refused(status, `${message || `The server answered with status ${status}.`}${later}`);
}

async function ask(path, body, signal) {
  return (await send(path, body, signal)).json();
}

// The server-sent events of an answer, each as [name, data].
async function* events(path, body, signal) {
  const response = await send(path, { ...body, stream: true }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    const parts = (rest + value).replace(/\r\n?/g, "\n").split("\n\n");
    rest = parts.pop();
    yield* parts.map(event).filter((one) => one !== null);
  }
}

// An event, `null` for a comment; those that report an error are thrown.
function event(lines) {
  let name = "message";
  const data = [];
  for (const line of lines.split("\n")) {
    const [, field, value] = line.match(/^(\w*):? ?(.*)$/) ?? [];
    if (field === "event") {
      name = value;
    } else if (field === "data") {
      data.push(value);
    }
  }
  if (!data.length) {
    return null;
  }
  const value = JSON.parse(data.join("\n"));
  if (name === "error") {
    throw new Error(value.error.message);
  }
  return [name, value];
}
