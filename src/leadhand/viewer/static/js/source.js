// Where data comes from: the server beside this page, or the data files of an export. Both answer the same questions.

async function get(path) {
  const answer = await fetch(path, { credentials: "omit" });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.problem || `${answer.status}`);
  return found;
}

function server() {
  return {
    static: false,
    home: () => get("api/home"),
    run(id) {
      const base = `api/run/${encodeURIComponent(id)}`;
      return {
        head: () => get(`${base}/head`),
        event: (seq) => get(`${base}/event/${seq}`),
        part: (name) => get(`${base}/part/${name}`),
        search: (words) => get(`${base}/search?q=${encodeURIComponent(words)}`),
        // Calls `take` with every delta, and `state` with "open" or "lost"; returns how to stop.
        live(take, state) {
          const stream = new EventSource(`${base}/live`);
          stream.onmessage = (message) => take(JSON.parse(message.data));
          stream.onopen = () => state("open");
          stream.onerror = () => state("lost");
          return () => stream.close();
        },
      };
    },
  };
}

// --- an export: every data file is a script that calls `leadhand(key, text)` ---

const waiting = new Map();

function load(key) {
  const known = waiting.get(key);
  if (known) return known.promise;
  const entry = {};
  entry.promise = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
  waiting.set(key, entry);
  const script = document.createElement("script");
  script.src = `data/${key}.js`;
  script.onerror = () => (waiting.delete(key), entry.reject(new Error(`data/${key}.js is missing`)));
  script.onload = () => (script.remove(), waiting.delete(key));
  document.head.append(script);
  return entry.promise;
}

function disk() {
  window.leadhand = (key, text) => waiting.get(key)?.resolve(JSON.parse(text));
  const home = load("home");
  return {
    static: true,
    home: () => home,
    run(id) {
      const place = home.then((found) => found.places[id] ?? Promise.reject(new Error(`there is no run ${id} here`)));
      const part = async (name) => load(`${await place}/${name}`);
      const head = part("head");
      const chunks = new Map(); // the latest few, so that memory stays small
      async function chunk(k) {
        if (!chunks.has(k)) chunks.set(k, part(`events-${k}`));
        const found = await chunks.get(k);
        if (chunks.size > 4) chunks.delete(chunks.keys().next().value);
        return found;
      }
      return {
        head: () => head,
        part,
        async event(seq) {
          const firsts = (await head).chunks;
          let k = firsts.length - 1;
          while (k > 0 && firsts[k] > seq) k -= 1;
          return (await chunk(k))[seq - firsts[k]];
        },
        async search(words, progress) {
          const firsts = (await head).chunks;
          const hits = [];
          for (let k = 0; k < firsts.length; k += 1) {
            progress?.(k / firsts.length);
            for (const entry of await chunk(k)) {
              const hit = find(entry, words.toLowerCase());
              if (hit && hits.length === 300) return { hits, more: true };
              if (hit) hits.push(hit);
            }
          }
          return { hits, more: false };
        },
        live(take, state) {
          part("delta").then(take, () => state("lost"));
          return () => {};
        },
      };
    },
  };
}

const NAMES = new Set(
  ("kind role wire id call_id parent root_id stop encoding ended digest blob request_id spill status tool call " +
    "delegation worker mail to at delivers announces assigns fault version worker_kind reasoning type signature").split(" "),
);
const SKIPPED = new Set(["items", "settings", "parameters", "detail", "usage", "limits"]);

// Every text of an event that somebody wrote; as in the server's search.
function* texts(value, key) {
  if (typeof value === "string") {
    if (key === "arguments") {
      let inner = [value]; // as it stands, where it is no JSON or nested without end
      try {
        inner = [...texts(JSON.parse(value), "value")];
      } catch {
        // then so
      }
      yield* inner;
    } else if (!NAMES.has(key)) yield value;
  } else if (Array.isArray(value)) {
    for (const item of value) yield* texts(item, key);
  } else if (value && typeof value === "object") {
    for (const [name, item] of Object.entries(value)) if (!SKIPPED.has(name)) yield* texts(item, name);
  }
}

function find(entry, words) {
  let first = null;
  let places = 0;
  for (const text of texts(entry.event, "")) {
    const lower = text.toLowerCase();
    for (let at = lower.indexOf(words); at >= 0; at = lower.indexOf(words, at + words.length)) {
      places += 1;
      first = first || [text, at];
    }
  }
  if (!first) return null;
  const [text, at] = first;
  const end = at + words.length;
  const flat = (t) => t.replace(/\s+/g, " ");
  return {
    seq: entry.seq,
    before: (at > 60 ? "…" : "") + flat(text.slice(Math.max(0, at - 60), at)),
    match: flat(text.slice(at, end)).slice(0, 200),
    after: flat(text.slice(end, end + 120)) + (text.length > end + 120 ? "…" : ""),
    places,
  };
}

export function open() {
  return document.querySelector("script[data-export]") ? disk() : server();
}
