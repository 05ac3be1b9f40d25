// Workflows. What a run asks for in one turn is a wave: Go does it, and answers all of it in one turn.
clock = () => (here().run ? sync("now") : realNow());
chance = () => (here().run ? sync("chance") : realRandom());

const units = { __proto__: null, ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
const milliseconds = (d, what) => {
  const m = typeof d === "string" ? exec(/^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/, d) : null;
  const ms = m ? Number(m[1]) * units[m[2]] : d;
  if (typeof ms !== "number" || !(ms >= 0 && ms <= 1e14)) throw new TypeError(what + ' is a number of milliseconds, or a text such as "5m".');
  return ms;
};
const retryOf = (r) => {
  if (r === undefined) return null;
  onlyFields(anObject(r, "step({ retry })"), ["attempts", "delay", "factor", "maxDelay"], "step({ retry })");
  return { attempts: r.attempts ?? 0, delay: milliseconds(r.delay ?? 0, "step({ retry: { delay } })"), maxDelay: milliseconds(r.maxDelay ?? 0, "step({ retry: { maxDelay } })"), factor: r.factor ?? 0 };
};
const stepOptions = (o) => {
  onlyFields(anObject(o, "The second argument of step()"), ["key", "retry", "timeout", "durable"], "step()");
  return jsonStringify({ key: o.key === undefined ? "" : aText(String(o.key), "step({ key })"), retry: retryOf(o.retry), timeoutMs: o.timeout === undefined ? 0 : milliseconds(o.timeout, "step({ timeout })"), durable: o.durable === true });
};

// insideStep reports whether a turn of another act than the run's is that of a step of it, or of one that has ended.
const insideStep = (act) => {
  const record = acts.get(current);
  return record === undefined || record.stepOf === act;
};

const spoken = (name, what = "Step") => what + ' "' + name + '"';
// stepsOf makes no function that is asynchronous, which would cost every step a second promise: its errors are rejections all the same.
const stepsOf = (act) => (name, options, fn) => {
  try {
    const plain = typeof options === "function";
    if (plain) fn = options;
    if (typeof name !== "string" || isBlank(name)) aText(name, "The name of a step");
    if (typeof fn !== "function") aFunction(fn, "The function of " + spoken(name, "step"));
    if (current !== act && insideStep(act)) throw faulty("step_misplaced", spoken(name) + " cannot begin inside a step.");
    return ask(act, "step", name, plain ? null : stepOptions(options), name, fn, jsonParse);
  } catch (e) { return rejectedWith(e); }
};
const sleepOf = (act) => async (d) => {
  const ms = milliseconds(d, "The argument of sleep()");
  if (current !== act && insideStep(act)) await new Promise((done) => { setTimeout(done, ms); });
  else await ask(act, "sleep", ms, null, "A sleep");
};
const linesOf = (act) => {
  const line = (level) => (message, attributes) => {
    sync("line", act, level, String(message), attributes === undefined ? null : written(attributes, "log_serialization", "The attributes"));
  };
  return { info: line("info"), warn: line("warn"), error: line("error") };
};

const promptOptions = ["result", "model"];
const promptOf = (act, name) => async (text, o = {}) => {
  each(keys(o), (k) => { if (!among(promptOptions, k)) throw notYet("session.prompt({ " + k + " })"); });
  if (current !== act && insideStep(act)) throw faulty("step_misplaced", "A prompt cannot begin inside a step.");
  if (project.workflows[name].default.agent === undefined) throw faulty("agent_not_found", "The workflow " + name + " has no agent to prompt.");
  const result = aSchema(o.result, "session.prompt({ result })"), form = result && formOf(result);
  if (form && form.type !== "object") throw new TypeError("session.prompt({ result }) must be the schema of an object.");
  const got = await ask(act, "prompt", aText(text, "The text of a prompt"), jsonStringify({ form: form ?? null, model: o.model ?? "" }), "A prompt", undefined, jsonParse);
  if (!result) return got.answer;
  const { usage, model } = got.answer;
  return { data: await fitting(result, got.result, "result_unavailable", "The result does not fit."), usage, model };
};
const sandboxed = (owner, names) => {
  const out = {};
  each(names, (name) => field(out, name, () => { throw notYet(owner + "." + name + "()"); }));
  return out;
};
const filesOf = (owner) => new Proxy({}, { get: (_, name) => () => { throw notYet(owner + ".fs." + String(name) + "()"); } });
const harnessOf = (act, workflow) => {
  const session = (name) => ({ name, prompt: promptOf(act, workflow), ...sandboxed("session", ["task", "skill", "shell", "compact"]), fs: filesOf("session") });
  const get = async (name = "default") => session(name);
  return { name: "default", session: get, sessions: { get, create: get }, ...sandboxed("harness", ["shell"]), fs: filesOf("harness") };
};

entrances.run = (act, name, runId, input) => {
  const record = enter(act);
  record.run = record.silent = true;
  finish(act, async () => {
    const { action } = project.workflows[name].default, meta = { action: action.name };
    const given = action.input && { input: await fitting(action.input, jsonParse(input ?? "{}"), "action_input_validation", "The input does not fit the schema.", meta) };
    const got = await action.run({ harness: harnessOf(act, name), log: linesOf(act), step: stepsOf(act), sleep: sleepOf(act), runId, ...given });
    if (record.pending !== null) record.pending.forEach(({ what, fn }) => { throw faulty("step_not_awaited", (fn ? spoken(what) : what) + " was begun and not awaited."); });
    const out = await fitting(action.output, got, "action_output_validation", "The output does not fit the schema.", meta);
    return out === undefined ? undefined : written(out, "action_output_serialization", "The result");
  });
};
const stepResult = writing("action_output_serialization", "The result of the step");
// step makes an attempt of what a run has asked for and waits for. Its function is given which one it is, and the signal that aborts it.
entrances.step = (act, run, asked, attempt) => {
  const record = new ActRecord(act);
  record.stepOf = run;
  record.silent = true;
  acts.set((current = act), record);
  try {
    const { fn } = acts.get(run).pending.get(asked);
    follow(act, fn({ attempt, get signal() { return record.signal(); } }), stepResult);
  } catch (e) { failed(act, e); }
};
