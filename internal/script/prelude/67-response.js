// Response.
const reasonPhrase = /^[\t\x20-\x7e\x80-\xff]*$/;
let isResponse, heldResponse, filled;
// usualResponse is what few responses say otherwise.
const usualResponse = { __proto__: null, text: "", type: "default", url: "", redirected: false };
class Response extends Body {
  #status = 200;
  #headers = null; // until somebody looks: null, or the type of the body
  #rare = usualResponse;
  static {
    isResponse = (v) => typeof v === "object" && v !== null && #status in v;
    // heldResponse is an answer that came to Go: status, its text, flat headers, the body's id or 0, the address, whether it was redirected,
    // and the signal that aborts the reading; all after the body may be left out.
    heldResponse = (status, text, headers, body, url, redirected, signal) => {
      const r = filled(new Response(), status, headers, body, signal);
      if (url) {
        r.#rare = { __proto__: null, text, type: "basic", url, redirected: !!redirected };
        guardHeaders(r.#headers, "immutable");
      } else if (text !== "") r.#rare = { ...usualResponse, text };
      return r;
    };
    // filled is a response that is given what came to Go, instead of what it had. What it has of headers stays, but for those of the same
    // names.
    filled = (r, status, headers, body, signal) => {
      const own = r.#headers,
        came = headersFrom(headers);
      if (typeof own === "string") defaultHeader(came, "content-type", own);
      r.#status = status;
      r.#headers = own === null || typeof own === "string" ? came : mergeHeaders(own, came);
      setBody(r, body ? new Held(body, false, signal) : null);
      return r;
    };
  }
  constructor(body, init) {
    super();
    if (init !== undefined) this.#begin(optionBag(init, "response"));
    if (body === undefined || body === null) return;
    if (typeof body === "string") {
      this.#give(toWellFormed(body), plainText);
      return;
    }
    const made = extract(body);
    this.#give(made[0], made[1]);
  }
  #give(body, type) {
    if (this.#status === 204 || this.#status === 205 || this.#status === 304)
      throw new TypeError("Response constructor: Invalid response status code " + this.#status);
    setBody(this, body);
    if (type === null) return;
    if (this.#headers === null) this.#headers = type;
    else defaultHeader(this.#headers, "content-type", type);
  }
  #begin(init) {
    let { status } = init;
    if (typeof status === "number" && status >= 200 && status <= 599) this.#status = status | 0;
    else if (status !== undefined) {
      status = Number(status);
      this.#status = isFinite(status) ? trunc(status) & 65535 : 0;
      if (this.#status < 200 || this.#status > 599) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    }
    const { statusText } = init;
    if (statusText !== undefined && statusText !== "") {
      const text = String(statusText);
      if (!test(reasonPhrase, text)) throw new TypeError("Invalid statusText");
      this.#rare = { ...usualResponse, text };
    }
    const h = init.headers;
    // A response that is given another's headers copies them now: they may change later.
    if (h !== undefined && h !== null) this.#headers = new Headers(h);
  }
  get headers() {
    const h = this.#headers;
    if (h !== null && typeof h !== "string") return h;
    const made = (this.#headers = new Headers());
    if (h !== null) defaultHeader(made, "content-type", h);
    return made;
  }
  get status() {
    return this.#status;
  }
  get statusText() {
    return this.#rare.text;
  }
  get ok() {
    return this.#status >= 200 && this.#status < 300;
  }
  get type() {
    return this.#rare.type;
  }
  get url() {
    return this.#rare.url;
  }
  get redirected() {
    return this.#rare.redirected;
  }
  clone() {
    const b = splitBody(this),
      r = new Response();
    r.#status = this.#status;
    r.#headers = copyHeaders(this.headers);
    r.#rare = this.#rare;
    setBody(r, b);
    return r;
  }
  static json(v, init) {
    need(arguments, 1);
    const text = jsonStringify(v);
    if (text === undefined) throw new TypeError("Value is not JSON serializable");
    const r = new Response(null, init);
    r.#give(text, "application/json");
    return r;
  }
  static redirect(url, status = 302) {
    need(arguments, 1);
    const parts = addressParts(scalar(url));
    if (parts === null) throw new TypeError("Failed to parse URL from " + scalar(url));
    status = Number(status);
    if (status !== 301 && status !== 302 && status !== 303 && status !== 307 && status !== 308) throw new RangeError("Invalid status code " + status);
    const r = new Response();
    r.#status = status;
    r.headers.set("location", parts[0]);
    guardHeaders(r.#headers, "immutable");
    return r;
  }
  static error() {
    const r = new Response();
    r.#status = 0;
    r.#rare = { ...usualResponse, type: "error" };
    guardHeaders(r.headers, "immutable");
    return r;
  }
}
tag(Response, "Response");
push(platform, hasBody);
hidden(globalThis, "Response", Response);
