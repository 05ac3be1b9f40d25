// The author's page: forms that try modules out, what comes of it as it comes, and the news of builds.
const api = "/_svc/api";
const segment = encodeURIComponent;

// What is shown below a form; what was followed there before is let go.
class Answer {
  constructor(form) {
    this.shown = form.parentElement.querySelector(".answer");
    this.shown.hidden = false;
    this.shown.textContent = "";
    this.shown.stop?.();
  }
  add(text) {
    this.shown.textContent += text;
    this.shown.scrollTop = this.shown.scrollHeight;
  }
  line(text) {
    const shown = this.shown.textContent;
    this.add((shown === "" || shown.endsWith("\n") ? "" : "\n") + text + "\n");
  }
}

const read = async (res) => {
  const text = await res.text();
  try { return { text, data: JSON.parse(text) }; } catch { return { text }; }
};

// follow reads a stream from an offset on, and comes back to where it was when the connection is lost.
const follow = (path, offset, answer, take) => {
  let source, over = false;
  const stop = () => { over = true; source?.close(); };
  const connect = () => {
    if (over) return;
    source = new EventSource(`${api}${path}offset=${segment(offset)}&live=sse`);
    source.addEventListener("data", (e) => { for (const one of JSON.parse(e.data)) if (take(one)) stop(); });
    source.addEventListener("control", (e) => {
      const control = JSON.parse(e.data);
      offset = control.streamNextOffset;
      if (control.streamClosed) stop();
    });
    source.onerror = () => { source.close(); setTimeout(connect, 500); };
  };
  answer.shown.stop = stop;
  connect();
};

const post = (path, body) => fetch(api + path, { method: "POST", headers: { "content-type": "application/json" }, body });

const tries = {
  async workflow(name, fields, answer) {
    const body = fields.get("body");
    const res = await post(`/workflows/${segment(name)}`, body === null || body.trim() === "" ? undefined : body);
    const got = await read(res);
    if (!res.ok) return answer.line(`${res.status} ${got.text}`);
    answer.line(`run ${got.data.runId}`);
    follow(`/runs/${segment(got.data.runId)}?`, "-1", answer, (event) => {
      const { type, timestamp, eventIndex, runId, v, ...rest } = event;
      answer.line(`${type} ${JSON.stringify(rest)}`);
      return type === "run_end";
    });
  },
  async agent(name, fields, answer) {
    const path = `/agents/${segment(name)}/${segment(fields.get("id"))}`;
    const res = await post(path, JSON.stringify({ kind: "user", body: fields.get("body") }));
    const got = await read(res);
    if (!res.ok) return answer.line(`${res.status} ${got.text}`);
    follow(`${path}?view=updates&`, got.data.offset, answer, (update) => {
      if (update.type === "message-delta" && typeof update.delta === "string") answer.add(update.delta);
      else {
        const { type, position, conversationId, timestamp, ...rest } = update;
        answer.line(`${type} ${JSON.stringify(rest)}`);
      }
      return update.type === "submission-settled" && update.submissionId === got.data.submissionId;
    });
  },
  async channel(name, fields, answer) {
    const [method, path] = fields.get("route").split(" ");
    const body = method === "GET" || method === "HEAD" ? undefined : fields.get("body");
    const res = await fetch(`${api}/channels/${segment(name)}${path}`, { method, headers: { "content-type": "application/json" }, body });
    answer.line(`${res.status} ${(await read(res)).text}`);
  },
};

document.addEventListener("submit", async (e) => {
  e.preventDefault();
  const { kind, name } = e.target.dataset, answer = new Answer(e.target);
  try { await tries[kind](name, new FormData(e.target), answer); } catch (error) { answer.line(String(error)); }
});

// renew takes over what the newest build declares. A form that is as it was keeps what was typed there.
const renew = async () => {
  const fresh = new DOMParser().parseFromString(await (await fetch("/_svc")).text(), "text/html").getElementById("modules");
  const kept = [...fresh.children].map((one) => {
    const old = one.id && document.getElementById(one.id);
    return old && old.dataset.shape === one.dataset.shape ? old : document.importNode(one, true);
  });
  document.getElementById("modules").replaceChildren(...kept);
};

new EventSource("/_svc/news").addEventListener("build", async (e) => {
  const { build, failure } = JSON.parse(e.data), before = Number(document.body.dataset.build);
  document.getElementById("state").textContent = `build ${build}`;
  document.body.dataset.build = build;
  const told = document.getElementById("failure");
  told.hidden = failure === "";
  told.querySelector("pre").textContent = failure;
  if (failure !== "" || build === before) return;
  if (document.body.dataset.mended === "reload") location.reload();
  else await renew();
});
