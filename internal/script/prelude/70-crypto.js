// Web Crypto: what webhooks and tokens need. The work is Go's.
const integerArrays = {
  __proto__: null,
  Int8Array: 1,
  Uint8Array: 1,
  Uint8ClampedArray: 1,
  Int16Array: 1,
  Uint16Array: 1,
  Int32Array: 1,
  Uint32Array: 1,
  BigInt64Array: 1,
  BigUint64Array: 1,
};
let entropy = (n) => fromBase64(sync("random", n));
const hashNames = { __proto__: null, "SHA-1": 64, "SHA-256": 64, "SHA-384": 128, "SHA-512": 128 };
const algorithmName = (a) => {
  if (!isObject(a)) return upperCase(String(a));
  if (a.name === undefined) throw new TypeError("An algorithm needs a name");
  return upperCase(String(a.name));
};
const hashOf = (a) => {
  const n = algorithmName(a);
  if (!hashNames[n]) throw unsupported("The hash " + n, "use SHA-1, SHA-256, SHA-384 or SHA-512");
  return n;
};
const keyUsages = { __proto__: null, HMAC: ["sign", "verify"], "AES-GCM": ["encrypt", "decrypt", "wrapKey", "unwrapKey"] };
const usagesOf = (name, usages) => {
  const given = mapped(sequence(usages), String),
    out = [];
  each(given, (u) => {
    let known = false;
    each(keyUsages[name], (k) => {
      known ||= k === u;
    });
    if (!known) throw domError("Unsupported key usage for " + name + ": " + u, "SyntaxError");
  });
  each(keyUsages[name], (k) => {
    for (let i = 0; i < given.length; i++)
      if (given[i] === k) {
        push(out, k);
        break;
      }
  });
  return out;
};
let newKey, rawKey, isKey;
class CryptoKey {
  #raw;
  #type;
  #extractable;
  #algorithm;
  #usages;
  static {
    newKey = (raw, extractable, algorithm, usages) => {
      const k = new CryptoKey(theKey);
      k.#raw = raw;
      k.#type = "secret";
      k.#extractable = !!extractable;
      k.#algorithm = algorithm;
      k.#usages = usages;
      return k;
    };
    rawKey = (k) => k.#raw;
    isKey = (v) => isObject(v) && #raw in v;
  }
  constructor(key) {
    if (key !== theKey) throw illegal();
  }
  get type() {
    return this.#type;
  }
  get extractable() {
    return this.#extractable;
  }
  get algorithm() {
    return this.#algorithm;
  }
  get usages() {
    return this.#usages;
  }
}
tag(CryptoKey, "CryptoKey");
const secretAlgorithm = (a, bits) => {
  const name = algorithmName(a);
  if (name === "HMAC") {
    if (!isObject(a) || a.hash === undefined) throw new TypeError("An HMAC key needs a hash");
    const hash = hashOf(a.hash);
    return bits === undefined
      ? { name, length: a.length === undefined ? hashNames[hash] * 8 : Number(a.length), hash: { name: hash } }
      : { name, hash: { name: hash }, length: bits };
  }
  if (name === "AES-GCM") {
    if (bits === undefined && a.length === undefined) throw new TypeError("An AES key needs a length");
    const length = bits ?? Number(a.length);
    if (length !== 128 && length !== 192 && length !== 256) throw domError("Invalid key length", bits === undefined ? "OperationError" : "DataError");
    return { name, length };
  }
  throw unsupported("The algorithm " + name, "HMAC and AES-GCM keys are");
};
const allowed = (key, name, usage) => {
  if (!isKey(key)) throw new TypeError("A CryptoKey is needed");
  if (key.algorithm.name !== name) throw domError("Key algorithm mismatch", "InvalidAccessError");
  for (let i = 0; i < key.usages.length; i++) if (key.usages[i] === usage) return;
  throw domError("Unable to use this key to " + usage, "InvalidAccessError");
};
const base64url = (b) => toBase64(b, { __proto__: null, alphabet: "base64url", omitPadding: true });
const fromBase64url = (s) => {
  try {
    return fromBase64(s, { __proto__: null, alphabet: "base64url" });
  } catch {
    throw domError("Invalid JWK data", "DataError");
  }
};
const jwkName = (a) => (a.name === "HMAC" ? "HS" + strSlice(a.hash.name, 4) : "A" + a.length + "GCM");
const sealed = async (how, a, key, data) => {
  const name = algorithmName(a);
  if (name !== "AES-GCM") throw unsupported("The algorithm " + name, "AES-GCM is");
  allowed(key, name, how === "seal" ? "encrypt" : "decrypt");
  const tagBits = a.tagLength === undefined ? 128 : Number(a.tagLength),
    bytes = copyOf(data);
  if (tagBits !== 32 && tagBits !== 64 && tagBits !== 96 && tagBits !== 104 && tagBits !== 112 && tagBits !== 120 && tagBits !== 128)
    throw domError(a.tagLength + " is not a valid AES-GCM tag length", "OperationError");
  if (tagBits < 96) throw unsupported("An AES-GCM tag of " + tagBits + " bits", "use 96 to 128 bits");
  const r = sync(
    how,
    toBase64(rawKey(key)),
    toBase64(bytesOf(a.iv)),
    toBase64(a.additionalData === undefined ? new Uint8Array(0) : bytesOf(a.additionalData)),
    toBase64(bytes),
    tagBits / 8,
  );
  if (r === null) throw domError("The operation failed for an operation-specific reason", "OperationError");
  return typedBuffer(fromBase64(r));
};
class SubtleCrypto {
  constructor(key) {
    if (key !== theKey) throw illegal();
  }
  async digest(a, data) {
    need(arguments, 2);
    const name = hashOf(a);
    return typedBuffer(fromBase64(sync("digest", name, toBase64(bytesOf(data)))));
  }
  async importKey(format, data, a, extractable, usages) {
    need(arguments, 5);
    format = oneOf(format, ["raw", "jwk", "pkcs8", "spki"], "key format");
    const name = algorithmName(a),
      list = keyUsages[name] ? usagesOf(name, usages) : [];
    let raw;
    if (format === "raw") raw = copyOf(data);
    else if (format === "jwk") {
      if (!isObject(data) || data.kty !== "oct" || typeof data.k !== "string") throw domError("Invalid JWK keyData", "DataError");
      if (data.ext === false && extractable) throw domError("JWK is not extractable", "DataError");
      raw = fromBase64url(data.k);
    } else throw unsupported("The key format " + format, "raw and jwk are");
    if (name === "HMAC" && raw.length === 0) throw domError("Zero-length key is not supported", "DataError");
    const full = secretAlgorithm(a, raw.length * 8);
    if (list.length === 0) throw domError("Usages cannot be empty when importing a secret key.", "SyntaxError");
    if (format === "jwk" && data.alg !== undefined && data.alg !== jwkName(full))
      throw domError('JWK "alg" does not match the requested algorithm', "DataError");
    return newKey(raw, extractable, full, list);
  }
  async exportKey(format, key) {
    need(arguments, 2);
    if (!isKey(key)) throw new TypeError("A CryptoKey is needed");
    if (!key.extractable) throw domError("key is not extractable", "InvalidAccessError");
    if (format === "raw") return typedBuffer(typedSlice(rawKey(key)));
    if (format !== "jwk") throw unsupported("The key format " + format, "raw and jwk are");
    return { key_ops: mapped(key.usages, (u) => u), ext: true, kty: "oct", k: base64url(rawKey(key)), alg: jwkName(key.algorithm) };
  }
  async generateKey(a, extractable, usages) {
    need(arguments, 3);
    const full = secretAlgorithm(a),
      list = usagesOf(full.name, usages);
    if (list.length === 0) throw domError("Usages cannot be empty when creating a key.", "SyntaxError");
    return newKey(entropy(full.length / 8), extractable, full, list);
  }
  async sign(a, key, data) {
    need(arguments, 3);
    hmacOnly(a);
    allowed(key, "HMAC", "sign");
    return typedBuffer(fromBase64(sync("hmac", key.algorithm.hash.name, toBase64(rawKey(key)), toBase64(bytesOf(data)))));
  }
  async verify(a, key, signature, data) {
    need(arguments, 4);
    hmacOnly(a);
    allowed(key, "HMAC", "verify");
    return sync("hmac", key.algorithm.hash.name, toBase64(rawKey(key)), toBase64(bytesOf(data)), toBase64(bytesOf(signature)));
  }
  async encrypt(a, key, data) {
    need(arguments, 3);
    return await sealed("seal", a, key, data);
  }
  async decrypt(a, key, data) {
    need(arguments, 3);
    return await sealed("unseal", a, key, data);
  }
}
each(["deriveBits", "deriveKey", "wrapKey", "unwrapKey"], (name) =>
  hidden(SubtleCrypto.prototype, name, async () => {
    throw unsupported("crypto.subtle." + name, "digest, HMAC and AES-GCM are");
  }),
);
const hmacOnly = (a) => {
  const n = algorithmName(a);
  if (n !== "HMAC") throw unsupported("The algorithm " + n, "HMAC is");
};
tag(SubtleCrypto, "SubtleCrypto");
class Crypto {
  #subtle;
  constructor(key) {
    if (key !== theKey) throw illegal();
    this.#subtle = new SubtleCrypto(theKey);
  }
  get subtle() {
    return this.#subtle;
  }
  getRandomValues(a) {
    if (!isView(a) || !integerArrays[typedName(a)]) throw domError("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    const b = bytesOf(a);
    if (b.length > 65536) throw domError("The requested length exceeds 65,536 bytes", "QuotaExceededError");
    typedSet(b, entropy(b.length));
    return a;
  }
  randomUUID() {
    const b = entropy(16);
    b[6] = (b[6] & 15) | 64;
    b[8] = (b[8] & 63) | 128;
    const h = toHex(b);
    return strSlice(h, 0, 8) + "-" + strSlice(h, 8, 12) + "-" + strSlice(h, 12, 16) + "-" + strSlice(h, 16, 20) + "-" + strSlice(h, 20);
  }
}
tag(Crypto, "Crypto");
push(platform, isKey);
offer({ Crypto, CryptoKey, SubtleCrypto, crypto: new Crypto(theKey) });
