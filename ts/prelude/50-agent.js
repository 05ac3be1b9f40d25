// Agents: what an initializer answered for an instance, as the runtime needs it, and the tools in it.
const levels = { __proto__: null, off: "", minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high" };
const later = ["skills", "actions", "compaction", "sandbox", "cwd"];
const refuseLater = (c, what) => each(later, (k) => { if (c[k] !== undefined && !(isArray(c[k]) && c[k].length === 0)) throw notYet(what + ": " + k); });

const configFields = together(filtered(profileFields, (k) => k !== "name"), ["profile", "cwd", "sandbox"]);
// settled is a configuration with its profile: what it says itself counts, and lists add up.
const settled = (c, what) => {
  onlyFields(anObject(c, "What the initializer of " + what + " returns"), configFields, "The configuration of " + what);
  const base = c.profile === undefined ? {} : onlyFields(anObject(c.profile, "The profile of " + what), profileFields, "The profile of " + what);
  refuseLater(c, what);
  refuseLater(base, what);
  const { profile, ...own } = c;
  return { ...base, ...own, tools: together(base.tools ?? [], c.tools ?? []), subagents: together(base.subagents ?? [], c.subagents ?? []) };
};
const subagent = (s, above, what) => {
  onlyFields(anObject(s, "A sub-agent of " + what), profileFields, "A sub-agent of " + what);
  const file = what + ", sub-agent " + aText(s.name, "The name of a sub-agent of " + what);
  if (s.durability !== undefined) throw new TypeError(file + ": durability is that of the whole agent.");
  refuseLater(s, file);
  return { ...s, model: s.model ?? above.model, thinkingLevel: s.thinkingLevel ?? above.thinkingLevel };
};
const toolTold = (t, what) => {
  if (!is("tool", t)) throw new TypeError(what + ": a tool must come from defineTool().");
  const input = t.input === undefined ? { type: "object", properties: {}, additionalProperties: false } : formOf(t.input);
  return { name: t.name, description: t.description, input, timeoutMs: t.timeoutMs ?? 0 };
};
const plain = (c, what) => {
  if (c.thinkingLevel !== undefined && levels[c.thinkingLevel] === undefined) throw new TypeError(what + ": thinkingLevel is one of " + join(keys(levels), ", ") + ".");
  const subs = mapped(c.subagents ?? [], (s) => subagent(s, c, what));
  return {
    name: c.name ?? "", description: c.description ?? "", model: c.model ?? "", instructions: c.instructions ?? "", reasoning: levels[c.thinkingLevel] ?? "",
    maxAttempts: c.durability?.maxAttempts ?? 0, timeoutMs: c.durability?.timeoutMs ?? 0,
    tools: mapped(c.tools ?? [], (t) => toolTold(t, what)), agents: mapped(subs, (s) => plain(s, what + ", sub-agent " + s.name)),
  };
};

// The last answers of initializers, for tools that are called next. They may be asked for again at any time.
const mostKept = 256, configs = new Map();
const definitionOf = (kind, name) => (kind === "workflow" ? project.workflows[name].default.agent : project.agents[name].default);
const keyOfConfig = (scope, kind, name, id) => join([scope, kind, name, id], "\n");
const oldest = (map) => {
  let first;
  mapEach(map, (_, key) => { first ??= key; });
  return first;
};
const initialize = async (scope, kind, name, id) => {
  const config = settled(await definitionOf(kind, name).initialize({ id, env }), kind + " " + name);
  const key = keyOfConfig(scope, kind, name, id);
  mapDelete(configs, key);
  mapSet(configs, key, config);
  if (mapSize(configs) > mostKept) mapDelete(configs, oldest(configs));
  return config;
};
const configOf = async (scope, kind, name, id) => mapGet(configs, keyOfConfig(scope, kind, name, id)) ?? (await initialize(scope, kind, name, id));

entrances.agent = (act, scope, kind, name, id) => {
  enter(act);
  finish(act, async () => jsonStringify(plain(await initialize(scope, kind, name, id), kind + " " + name)));
};
// tool calls one; path leads through sub-agents to it.
entrances.tool = (act, scope, kind, name, id, path, input) => {
  const signal = enter(act).signal();
  finish(act, async () => {
    const steps = split(path, "\n"), last = popArray(steps);
    let config = await configOf(scope, kind, name, id);
    each(steps, (step) => { config = found(config?.subagents ?? [], (s) => s.name === step); });
    const tool = found(config?.tools ?? [], (t) => t.name === last);
    if (tool === undefined) throw new Error("There is no tool named " + last + " any more.");
    const given = tool.input && { input: await fitting(tool.input, jsonParse(input || "{}"), "tool_input_validation", "The input does not fit the tool.", { tool: last }) };
    const got = await tool.run({ ...given, signal });
    const out = await fitting(tool.output, got, "tool_output_validation", "The output does not fit the tool.", { tool: last });
    return written(out, "tool_output_serialization", "The output");
  });
};
