// Requests: the application, guards and channels. Bodies stay with Go until somebody reads them, those of the API's answers too: an answer
// that is passed on is written by Go, and its stream never enters JavaScript.
entropy = ((real) => (n) => (here().run ? fromBase64(sync("entropy", n)) : real(n)))(entropy);

const reply = (exchange, res) => {
  if (!isResponse(res)) throw new TypeError("A handler must return a Response, and returned " + show(res) + ".");
  const body = takeBody(res);
  let kind = "text", value = body;
  if (body === null) kind = "none";
  else if (isHeld(body)) { kind = "held"; value = body.id; }
  else if (isStreamState(body)) { kind = "stream"; value = null; }
  else if (typeof body !== "string") { kind = "bytes"; value = toBase64(body); }
  sync("reply", exchange, res.status, flatHeaders(res.headers), kind, value);
  if (kind === "stream") pump(exchange, body);
};
// pump writes a stream as fast as the client takes it.
const pump = async (exchange, stream) => {
  const reader = acquireReader(stream), leave = (reason) => quiet(readableCancel(stream, reason));
  here().onAbort(leave);
  try {
    for (;;) {
      const { done, value } = await readOnce(reader);
      if (done) break;
      if (!(await call("write", exchange, toBase64(typeof value === "string" ? utf8(value) : bytesOf(value))))) { leave(domError("The client is gone", "AbortError")); break; }
    }
    sync("end", exchange, true);
  } catch (e) { sync("end", exchange, false, told(e)); }
};
const fail = (exchange, e) => { sync("fail", exchange, told(e)); };
// answering replies with what was made, now or when it comes; decided makes an answer of it, where it is none yet.
const answering = (exchange, made, decided) => {
  const replying = (res) => {
    try { reply(exchange, decided === undefined ? res : decided(res)); } catch (e) { fail(exchange, e); }
  };
  if (isResponse(made)) replying(made);
  else then(resolvedWith(made), replying, (e) => fail(exchange, e));
};
// Execution is what an application is given beside the request: work that goes on behind its answer keeps the request's act. Its methods can
// be taken from it, and are made for those who do.
class Execution {
  #act;
  constructor(act) { this.#act = act; }
  get waitUntil() {
    const act = this.#act;
    return function waitUntil(p) {
      sync("hold", act, 1);
      const over = () => { sync("hold", act, -1); };
      then(resolvedWith(p), over, (e) => { write("error", [e]); over(); });
    };
  }
  passThroughOnException() {}
}

entrances.request = (act, exchange, method, url, headers, body) => {
  const record = enter(act);
  record.exchange = exchange;
  record.request = heldRequest(act, method, url, headers, body);
  try { answering(exchange, project.app.default.fetch(record.request, env, new Execution(act))); } catch (e) { fail(exchange, e); }
};

// answered is an answer of Go's, from its status, the id of its body and its headers. On a context it has what was set on that before it came.
const answered = (text, c) => {
  const i = indexOf(text, "\n"), j = indexOf(text, "\n", i + 1), status = +strSlice(text, 0, i), headers = strSlice(text, j + 1), body = +strSlice(text, i + 1, j);
  if (c !== undefined) {
    try {
      const made = c.newResponse(null, { status });
      if (isResponse(made)) return filled(made, status, headers, body);
    } catch (e) { write("error", [e]); } // the API has answered already
  }
  return filled(new Response(), status, headers, body);
};
// Contexts of the framework whose requests are with Go: guards run on them.
const contexts = new Table();
let lastContext = 0;

// changed is a request that is not the one that came: the application has made another of it. Its body is its own only where that is the one
// that came, which Go has. Another that is whole is sent though it was read, as Go's is; of a stream nothing is left then.
const changed = async (raw, came) => {
  const out = { method: raw.method, url: raw.url, headers: flatHeaders(raw.headers), kind: "own", value: "" }, body = keptBody(raw);
  if (requestAct(raw) !== 0 || (isHeld(body) && body === keptBody(came))) return jsonStringify(out);
  if (body === null || typeof body === "string") return jsonStringify({ ...out, kind: "text", value: body ?? "" });
  const bytes = body === undefined || isHeld(body) ? await wholeBody(raw, false) : body;
  return jsonStringify({ ...out, kind: "bytes", value: toBase64(bytes) });
};
// segments are those of the API's own paths, of which all but those with an end of any length have as many as a request.
const segments = new Table();
const ownSegments = (path) => {
  let n = segments.get(path);
  if (n === undefined) segments.set(path, (n = indexOf(path, "*") < 0 ? split(path, "/").length - 1 : null));
  return n;
};
// serve lets the API answer a request of the application's: without the prefix of the mount, which is what a path has before the API's own
// segments. Where those are not known, the route tells how many it has.
const serve = (c, path) => {
  const { raw } = c.req, act = requestAct(raw), { exchange, request } = (act !== 0 && acts.get(act)) || here();
  if (exchange === undefined) throw notYet("To serve a request that did not come from outside");
  const own = ownSegments(path), prefix = own === null ? split(c.req.routePath, "/").length - split(path, "/").length : null, id = ++lastContext;
  const shown = { __proto__: null, c, guarded: false };
  contexts.set(id, shown);
  const asked = raw === request ? call("serve", exchange, prefix, own, id, null) : serveChanged(raw, request, exchange, prefix, own, id);
  return then(asked, (text) => {
    contexts.delete(id);
    return served(shown, text);
  }, (e) => {
    contexts.delete(id);
    throw e;
  });
};
shared.serve = (c, path) => {
  try { return serve(c, path); } catch (e) { return rejectedWith(e); }
};
const serveChanged = async (raw, came, exchange, prefix, own, id) => {
  const text = await call("serve", exchange, prefix, own, id, await changed(raw, came));
  return text;
};
const served = ({ c, guarded }, text) => {
  if (!guarded) return answered(text, c);
  // A guard that ran on this context may have set its response, of which this one is made already.
  const res = answered(text);
  if (c.finalized) {
    c.res = undefined;
    c.res = res;
  }
  return res;
};

// What contexts ask of the web's own objects, as those were before any project's code ran.
const headerGet = uncurry(Headers.prototype.get), headerSet = uncurry(Headers.prototype.set), headerAppend = uncurry(Headers.prototype.append),
  headerDelete = uncurry(Headers.prototype.delete), headerEach = uncurry(Headers.prototype.forEach);
const paramGet = uncurry(URLSearchParams.prototype.get), paramGetAll = uncurry(URLSearchParams.prototype.getAll), paramEach = uncurry(URLSearchParams.prototype.forEach);
const paramsOf = getter(URL.prototype, "searchParams"), pathOf = getter(URL.prototype, "pathname");
const headersOf = getter(Request.prototype, "headers"), answerHeaders = getter(Response.prototype, "headers");
const readers = {};
each(["json", "text", "arrayBuffer", "formData", "blob"], (name) => field(readers, name, uncurry(Request.prototype[name])));
// byName is what a list of pairs has, the last of each name.
const byName = (walk, pairs) => {
  const out = {};
  walk(pairs, (v, k) => { field(out, k, v); });
  return out;
};

// requestOf is a request as contexts show it.
const requestOf = (raw, params) => {
  const query = () => paramsOf(new URL(raw.url));
  return {
    raw, method: raw.method, url: raw.url, routePath: "", get path() { return pathOf(new URL(raw.url)); },
    param: (k) => (k === undefined ? { ...params } : params[k]),
    query: (k) => (k === undefined ? byName(paramEach, query()) : paramGet(query(), k) ?? undefined), queries: (k) => paramGetAll(query(), k),
    header: (k) => (k === undefined ? byName(headerEach, headersOf(raw)) : headerGet(headersOf(raw), k) ?? undefined),
    json: () => readers.json(raw), text: () => readers.text(raw), arrayBuffer: () => readers.arrayBuffer(raw), formData: () => readers.formData(raw), blob: () => readers.blob(raw),
  };
};

// Context is what guards and channels are given where no framework has made one.
class Context {
  #vars = new Map(); #headers = new Headers(); #status = 200; #res;
  finalized = false; env = env;
  constructor(raw, params, act) {
    this.executionCtx = new Execution(act);
    this.req = requestOf(raw, params);
  }
  set(k, v) { mapSet(this.#vars, k, v); }
  get(k) { return mapGet(this.#vars, k); }
  get var() { return byName(mapEach, this.#vars); }
  header(k, v, o) {
    const h = this.#res ? answerHeaders(this.#res) : this.#headers;
    if (v === undefined) headerDelete(h, k); else if (o?.append) headerAppend(h, k, v); else headerSet(h, k, v);
  }
  status(n) { this.#status = n; }
  get res() { return (this.#res ??= new Response(null, { headers: this.#headers })); }
  set res(r) { this.#res = r; this.finalized = true; }
  newResponse(body, status, headers) {
    const h = copyHeaders(this.#headers), given = typeof status === "object" ? status : { status, headers };
    headerEach(new Headers(given?.headers ?? {}), (v, k) => headerSet(h, k, v));
    return new Response(body, { status: given?.status ?? this.#status, headers: h });
  }
  body(b, s, h) { return this.newResponse(b, s, h); }
  text(t, s, h) { return this.newResponse(t, s, { "content-type": "text/plain; charset=UTF-8", ...h }); }
  json(v, s, h) { return this.newResponse(jsonStringify(v), s, { "content-type": "application/json", ...h }); }
  html(t, s, h) { return this.newResponse(t, s, { "content-type": "text/html; charset=UTF-8", ...h }); }
  redirect(to, s = 302) { return this.newResponse(null, s, { location: String(to) }); }
  notFound() { return this.text("404 Not Found", 404); }
}
const contextOf = (act, context, method, url, headers, body, params) => {
  const shown = contexts.get(context);
  if (shown === undefined) return new Context(heldRequest(act, method, url, headers, body), jsonParse(params), act);
  shown.guarded = true;
  return shown.c;
};

// guard lets a module's middleware decide; behind its next stands Go.
entrances.guard = (act, exchange, kind, name, what, context, method, url, headers, body, params) => {
  enter(act);
  try {
    const c = contextOf(act, context, method, url, headers, body, params);
    let passed = false;
    const next = () => {
      if (passed) return rejectedWith(new Error("next() was called twice."));
      passed = true;
      return then(call("next", exchange), (text) => { c.res = answered(text, c); });
    };
    const decided = (res) => {
      if (res) return res;
      if (!passed && !c.finalized) throw new Error(kind + "/" + name + ": " + what + " neither answered nor called next().");
      return c.res;
    };
    answering(exchange, project[kind][name][what](c, next), decided);
  } catch (e) { fail(exchange, e); }
};
entrances.channel = (act, exchange, name, index, context, method, url, headers, body) => {
  enter(act);
  try { answering(exchange, project.channels[name].channel.routes[index].handler(contextOf(act, context, method, url, headers, body, "{}"), async () => {})); } catch (e) { fail(exchange, e); }
};
