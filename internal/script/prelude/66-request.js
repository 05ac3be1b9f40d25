// Request.
const normalMethods = { __proto__: null, DELETE: 1, GET: 1, HEAD: 1, OPTIONS: 1, POST: 1, PUT: 1 };
const methodOf = (v) => {
  v = String(v);
  if (!test(tokenPattern, v)) throw new TypeError("'" + v + "' is not a valid HTTP method.");
  const upper = upperCase(v);
  if (upper === "CONNECT" || upper === "TRACE" || upper === "TRACK") throw new TypeError("'" + v + "' HTTP method is unsupported.");
  return normalMethods[upper] ? upper : v;
};
const oneOf = (v, values, what) => {
  v = String(v);
  for (let i = 0; i < values.length; i++) if (values[i] === v) return v;
  throw new TypeError(v + " is not a " + what);
};
const optionBag = (init, what) => {
  if (init !== undefined && init !== null && !isObject(init)) throw new TypeError("The options of a " + what + " must be an object");
  return init ?? { __proto__: null };
};
const requestChoices = {
  __proto__: null,
  redirect: ["follow", "error", "manual"],
  mode: ["navigate", "same-origin", "no-cors", "cors"],
  credentials: ["omit", "same-origin", "include"],
  cache: ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"],
};
// usualRequest is what few requests say otherwise: one object for all others, because every field of an instance costs time.
const usualRequest = {
  __proto__: null,
  redirect: "follow",
  mode: "cors",
  credentials: "same-origin",
  cache: "default",
  integrity: "",
  keepalive: false,
  referrer: "about:client",
  policy: "",
};
let isRequest, heldRequest, requestAct, followed, unfollow;
class Request extends Body {
  #method = "GET";
  #url;
  #headers;
  #signal = null;
  #follows = null; // the signal that its own repeats, and what heard it
  #act = 0;
  #rare = usualRequest;
  static {
    isRequest = (v) => typeof v === "object" && v !== null && #method in v;
    requestAct = (r) => r.#act;
    followed = (r) => r.#follows?.signal ?? null;
    unfollow = (r) => {
      if (r.#follows?.heard) offAbort(r.#follows.signal, r.#follows.heard);
    };
    // heldRequest is a request that came to Go: its act, method, address, flat headers, and the body's id or 0.
    heldRequest = (act, method, url, headers, body) => {
      const r = new Request(theKey);
      r.#method = method;
      r.#url = url;
      r.#headers = headersFrom(headers);
      r.#act = act;
      if (body) setBody(r, new Held(body, true));
      return r;
    };
  }
  constructor(input, init) {
    super();
    if (input === theKey) return;
    need(arguments, 1);
    init = optionBag(init, "request");
    const from = isRequest(input) ? input : null;
    const rare = { __proto__: null, ...(from ? from.#rare : usualRequest) };
    this.#rare = rare;
    if (from) {
      this.#url = from.#url;
      this.#method = from.#method;
    } else {
      const text = scalar(input),
        parts = addressParts(text);
      if (parts === null) throw new TypeError("Failed to parse URL from " + text);
      if (parts[2] !== "" || parts[3] !== "") throw new TypeError("Request cannot be constructed from a URL that includes credentials: " + text);
      this.#url = parts[0];
    }
    if (init.redirect !== undefined) rare.redirect = oneOf(init.redirect, requestChoices.redirect, "redirect mode");
    if (init.credentials !== undefined) rare.credentials = oneOf(init.credentials, requestChoices.credentials, "credentials mode");
    if (init.cache !== undefined) rare.cache = oneOf(init.cache, requestChoices.cache, "cache mode");
    if (init.mode !== undefined) {
      rare.mode = oneOf(init.mode, requestChoices.mode, "mode");
      if (rare.mode === "navigate") throw new TypeError("invalid request mode navigate.");
    }
    if (rare.cache === "only-if-cached" && rare.mode !== "same-origin")
      throw new TypeError("'only-if-cached' can be set only with 'same-origin' mode");
    if (init.integrity !== undefined) rare.integrity = String(init.integrity);
    if (init.keepalive !== undefined) rare.keepalive = !!init.keepalive;
    if (init.referrer !== undefined) rare.referrer = String(init.referrer) === "" ? "" : "about:client";
    if (init.referrerPolicy !== undefined) rare.policy = String(init.referrerPolicy);
    if (init.method !== undefined) this.#method = methodOf(init.method);
    this.#follow(init.signal !== undefined ? init.signal : from ? from.signal : null);
    this.#headers = init.headers !== undefined ? new Headers(init.headers) : from ? copyHeaders(from.#headers) : new Headers();
    const body = init.body;
    if (
      ((body !== undefined && body !== null) || (from && body === undefined && streamBodyKnown(from))) &&
      (this.#method === "GET" || this.#method === "HEAD")
    )
      throw new TypeError("Request with GET/HEAD method cannot have body.");
    if (body !== undefined && body !== null) {
      if (readableOf(body) !== undefined && init.duplex === undefined)
        throw new TypeError("RequestInit: duplex option is required when sending a body.");
      const made = extract(body);
      setBody(this, made[0]);
      if (made[1] !== null) defaultHeader(this.#headers, "content-type", headerValue(made[1]));
    } else if (from && body === undefined) {
      if (init.method === undefined) this.#act = from.#act;
      setBody(this, moveBody(from));
    }
  }
  #follow(signal) {
    if (signal === null || signal === undefined) return;
    if (!isSignal(signal)) throw new TypeError("The signal of a request must be an AbortSignal");
    const own = (this.#signal = newSignal()),
      heard = signal.aborted ? null : (reason) => abortSignal(own, reason);
    this.#follows = { __proto__: null, signal, heard };
    if (heard === null) abortSignal(own, signal.reason);
    else onAbort(signal, heard);
  }
  get method() {
    return this.#method;
  }
  get url() {
    return this.#url;
  }
  get headers() {
    return this.#headers;
  }
  get signal() {
    return (this.#signal ??= this.#act !== 0 && acts.has(this.#act) ? acts.get(this.#act).signal() : newSignal());
  }
  get redirect() {
    return this.#rare.redirect;
  }
  get mode() {
    return this.#rare.mode;
  }
  get credentials() {
    return this.#rare.credentials;
  }
  get cache() {
    return this.#rare.cache;
  }
  get integrity() {
    return this.#rare.integrity;
  }
  get keepalive() {
    return this.#rare.keepalive;
  }
  get referrer() {
    return this.#rare.referrer;
  }
  get referrerPolicy() {
    return this.#rare.policy;
  }
  get destination() {
    return "";
  }
  get duplex() {
    return "half";
  }
  get isHistoryNavigation() {
    return false;
  }
  get isReloadNavigation() {
    return false;
  }
  clone() {
    const b = splitBody(this),
      r = new Request(theKey);
    r.#method = this.#method;
    r.#url = this.#url;
    r.#headers = copyHeaders(this.#headers);
    r.#act = this.#act;
    r.#rare = this.#rare;
    if (this.#signal !== null) r.#follow(this.#signal);
    setBody(r, b);
    return r;
  }
}
const streamBodyKnown = (r) => r.body !== null;
tag(Request, "Request");
hidden(globalThis, "Request", Request);
