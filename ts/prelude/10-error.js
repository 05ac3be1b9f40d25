// Errors that authors throw and catch: a type for machines, a sentence for people. As in the engine's own prelude (its 00-kept.js says why),
// no method is called on a value below, no array is spread, taken apart or walked by its iterator, and no text is a template.

// field puts an ordinary property, whatever an object inherits.
const field = (o, name, value) => defineProperty(o, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
const among = (list, v) => {
  for (let i = 0; i < list.length; i++) if (list[i] === v) return true;
  return false;
};
const found = (list, is) => {
  for (let i = 0; i < list.length; i++) if (is(list[i])) return list[i];
};
// together is two lists as one.
const together = (a, b) => {
  const out = [];
  each(a, (x) => push(out, x));
  each(b, (x) => push(out, x));
  return out;
};
// entriesOf walks what an object has of its own.
const entriesOf = (o, fn) => mapped(keys(o), (k) => fn(k, o[k]));

class SvcError extends Error {
  constructor({ type = "error", message = "", details = "", meta, status, cause } = {}) {
    super(String(message), cause === undefined ? undefined : { cause });
    hidden(this, "name", "SvcError");
    field(this, "type", String(type));
    field(this, "details", String(details));
    if (meta !== undefined) field(this, "meta", meta);
    if (status !== undefined) field(this, "status", status);
  }
  // A framework that finds this answers with it, instead of a failure that says nothing.
  getResponse() {
    const { type, message, details, meta } = this;
    const text = jsonStringify({ error: { type, message, details, ...(meta === undefined ? {} : { meta }) } });
    return new Response(text, { status: this.status ?? 500, headers: { "content-type": "application/json" } });
  }
}
kinds.SvcError = (e) => new SvcError(e);
extra = (e) => (e instanceof SvcError ? e : e.type === "body_too_large" ? e : undefined);
const faulty = (type, message, more) => new SvcError({ type, message, ...more });
const notYet = (what) => faulty("unsupported", what + " is not available in svc projects yet.");

// What authors give is looked at where they give it, so that a mistake is told in their own file.
const blank = /^\s*$/;
const isBlank = (v) => {
  const first = charCodeAt(v, 0); // which tells, but for few
  return !(first > 32 && first < 128) && test(blank, v);
};
const aText = (v, what) => {
  if (typeof v !== "string" || isBlank(v)) throw new TypeError(what + " must be a text that is not empty.");
  return v;
};
const anObject = (v, what) => {
  if (v === null || typeof v !== "object") throw new TypeError(what + " must be an object.");
  return v;
};
const aFunction = (v, what) => {
  if (typeof v !== "function") throw new TypeError(what + " must be a function.");
  return v;
};
const onlyFields = (o, fields, what) => {
  each(keys(o), (k) => { if (!among(fields, k)) throw new TypeError(what + ' has an unknown field "' + k + '".'); });
  return o;
};

// written is a value as JSON; nothing is null.
const written = (v, type, what) => writing(type, what)(v);
const writing = (type, what) => (v) => {
  if (v === undefined) return "null";
  let text, cause;
  try { text = jsonStringify(v); } catch (e) { cause = e; }
  if (text === undefined) throw faulty(type, what + " cannot be written as JSON.", { details: cause ? String(cause.message ?? cause) : "", cause });
  return text;
};
