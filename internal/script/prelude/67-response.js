// Response.
const reasonPhrase = /^[\t\x20-\x7e\x80-\xff]*$/;
let isResponse, heldResponse, adopted;
// usualResponse is what few responses say otherwise.
const usualResponse = { __proto__: null, text: "", type: "default", url: "", redirected: false };
class Response extends Body {
  #status = 200;
  #headers = null;
  #contentType = null;
  #rare = usualResponse;
  static {
    isResponse = (v) => isObject(v) && #status in v;
    // heldResponse is an answer that came to Go: status, its text, flat headers, the body's id or 0, the address, whether it was redirected,
    // and the signal that aborts the reading; all after the body may be left out.
    heldResponse = (status, text, headers, body, url, redirected, signal) => {
      const r = new Response();
      r.#status = status;
      r.#headers = headersFrom(headers);
      if (url) {
        r.#rare = { __proto__: null, text, type: "basic", url, redirected: !!redirected };
        guardHeaders(r.#headers, "immutable");
      } else if (text !== "") r.#rare = { ...usualResponse, text };
      if (body) setBody(r, new Held(body, false, signal));
      return r;
    };
    // adopted is a response with the status, the headers and the body of another, which has nothing left. What it had before of headers
    // stays, but for those of the same names.
    adopted = (r, from) => {
      r.#status = from.#status;
      const own = r.#headers;
      r.#headers = from.#headers;
      if (own !== null) r.#headers = mergeHeaders(own, from.#headers);
      setBody(r, moveBody(from));
      return r;
    };
  }
  constructor(body, init) {
    super();
    if (init !== undefined) this.#begin(optionBag(init, "response"));
    if (body === undefined || body === null) return;
    if (this.#status === 204 || this.#status === 205 || this.#status === 304)
      throw new TypeError("Response constructor: Invalid response status code " + this.#status);
    if (typeof body === "string") {
      setBody(this, toWellFormed(body));
      this.#contentType = plainText;
      return;
    }
    const made = extract(body);
    setBody(this, made[0]);
    this.#contentType = made[1];
  }
  #begin(init) {
    if (init.status !== undefined) {
      const status = Number(init.status);
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
    const h = (this.#headers ??= new Headers());
    if (this.#contentType !== null) {
      defaultHeader(h, "content-type", this.#contentType);
      this.#contentType = null;
    }
    return h;
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
    const r = new Response(text, init);
    r.#contentType = "application/json";
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
