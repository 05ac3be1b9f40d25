// fetch. Going out is Go's.
const fetch = async function fetch(input, init) {
  need(arguments, 1);
  const r = new Request(input, init);
  try {
    return startsWith(r.url, "data:") ? dataResponse(r) : await goOut(r);
  } finally {
    // A signal may live much longer than what it could have stopped.
    unfollow(r);
  }
};
const goOut = async (r) => {
  if (r.signal.aborted) throw r.signal.reason;
  const id = nextId(),
    body = streamBody(r) === null ? null : toBase64(await wholeBody(r, false));
  const head = await heeding(
    r.signal,
    () => sync("stop", id),
    () => callAs(id, "fetch", r.method, r.url, r.redirect, flatHeaders(r.headers), body),
  );
  // The head is status, its text, address, whether it was redirected, the body's id, and the headers.
  const p = split(head, "\n", 5);
  return heldResponse(Number(p[0]), p[1], strSlice(head, join(p, "\n").length + 1), Number(p[4]), p[2], p[3] === "true", followed(r));
};
const dataPattern = /^data:([^,]*?)(;base64)?,([^]*)$/;
const dataResponse = (request) => {
  if (request.signal.aborted) throw request.signal.reason;
  const url = request.url,
    hash = indexOf(url, "#"),
    m = exec(dataPattern, hash < 0 ? url : strSlice(url, 0, hash));
  if (m === null) throw new TypeError("fetch failed: the address has no data");
  const bytes = percentDecoded(m[3]);
  const b = m[2] ? bytesOf(mappedBytes(atob(latin1(bytes)))) : copyOf(bytes);
  const r = heldResponse(200, "OK", "content-type\n" + (m[1] === "" || m[1][0] === ";" ? "text/plain;charset=US-ASCII" : m[1]), 0, url, false);
  setBody(r, b);
  return r;
};
const mappedBytes = (s) => {
  const b = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) b[i] = charCodeAt(s, i);
  return b;
};
hidden(globalThis, "fetch", fetch);
