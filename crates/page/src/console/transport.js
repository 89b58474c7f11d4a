// The server that the page came from.

async function transport(path, options) {
  try {
    return await fetch(path, { ...options, credentials: "omit" });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("The server cannot be reached. Is it still running?");
  }
}

// The error of a response that broke off.
const brokenOff = () => new Error("The connection to the server was lost.");
