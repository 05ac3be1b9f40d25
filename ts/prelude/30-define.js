// What modules declare. A declaration is known by its mark, whoever holds it.
const marks = new WeakMap();
const marked = (kind, o) => { weakSet(marks, o, kind); return freeze(o); };
const is = (kind, o) => isObject(o) && weakGet(marks, o) === kind;

const defineTool = (o) => {
  anObject(o, "The argument of defineTool()");
  if ("parameters" in o || "execute" in o) throw new TypeError("defineTool(): parameters and execute are called input and run.");
  onlyFields(o, ["name", "description", "input", "output", "run", "timeoutMs"], "defineTool()");
  return marked("tool", {
    name: aText(o.name, "defineTool({ name })"), description: aText(o.description, "defineTool({ description })"), run: aFunction(o.run, "defineTool({ run })"),
    input: aSchema(o.input, "defineTool({ input })"), output: aSchema(o.output, "defineTool({ output })"), timeoutMs: o.timeoutMs,
  });
};
const defineAction = (o) => {
  anObject(o, "The argument of defineAction()");
  return marked("action", {
    name: aText(o.name, "defineAction({ name })"), description: aText(o.description, "defineAction({ description })"), run: aFunction(o.run, "defineAction({ run })"),
    input: aSchema(o.input, "defineAction({ input })"), output: aSchema(o.output, "defineAction({ output })"),
  });
};
const profileFields = ["name", "description", "model", "instructions", "tools", "subagents", "thinkingLevel", "durability", "skills", "actions", "compaction"];
const defineAgentProfile = (p) => onlyFields(anObject(p, "The argument of defineAgentProfile()"), profileFields, "The agent profile");
const defineAgent = (initialize) => marked("agent", { initialize: aFunction(initialize, "The argument of defineAgent()") });
const defineWorkflow = (o) => {
  onlyFields(anObject(o, "The argument of defineWorkflow()"), ["agent", "action", "run", "input", "output"], "defineWorkflow()");
  if (o.agent !== undefined && !is("agent", o.agent)) throw new TypeError("defineWorkflow({ agent }) must come from defineAgent().");
  if ((o.action === undefined) === (o.run === undefined)) throw new TypeError("defineWorkflow() needs one of action and run.");
  if (o.action !== undefined && !is("action", o.action)) throw new TypeError("defineWorkflow({ action }) must come from defineAction().");
  const { input, output, run } = o;
  const action = o.action ?? defineAction({ name: "workflow", description: "The workflow's own action.", input, output, run });
  return marked("workflow", { agent: o.agent, action });
};

// The project, as the bundle hands it over: modules by kind and name, and the application.
let project = { agents: {}, workflows: {}, channels: {} };
shared.project = (p) => { project = p; };
const nameOf = (kind, value) => found(keys(project[kind]), (name) => project[kind][name].default === value);

const misplaced = (message) => faulty("module_invalid", message);
const guardOf = (m, name, file) => {
  if (m[name] !== undefined && typeof m[name] !== "function") throw misplaced(file + ": " + name + " must be a function.");
  return m[name] !== undefined;
};
const describing = (m, file) => {
  if (m.description !== undefined && typeof m.description !== "string") throw misplaced(file + ": description must be a text.");
  return m.description ?? "";
};
const inputOf = (action, file) => {
  if (action.input === undefined) return null;
  const form = formOf(action.input);
  if (form.type !== "object") throw misplaced(file + ": the input of a workflow must be an object.");
  return form;
};
const agentTold = (name, m) => {
  const file = "agents/" + name;
  if (!is("agent", m.default)) throw misplaced(file + ": the default export must come from defineAgent().");
  return { name, description: describing(m, file), route: guardOf(m, "route", file), attachments: guardOf(m, "attachments", file) };
};
const workflowTold = (name, m) => {
  const file = "workflows/" + name;
  if (!is("workflow", m.default)) throw misplaced(file + ": the default export must come from defineWorkflow().");
  return { name, description: describing(m, file), route: guardOf(m, "route", file), runs: guardOf(m, "runs", file), input: inputOf(m.default.action, file) };
};
const channelTold = (name, m) => {
  const file = "channels/" + name, routes = m.channel?.routes;
  if (!isArray(routes) || routes.length === 0) throw misplaced(file + ": a module of a channel exports channel, which has routes.");
  return {
    name,
    routes: mapped(routes, (r) => {
      if (!isObject(r) || typeof r.method !== "string" || typeof r.path !== "string" || typeof r.handler !== "function") throw misplaced(file + ": a route has a method, a path and a handler.");
      return { method: r.method, path: r.path };
    }),
  };
};
// describe tells what the project declares, once, and refuses what cannot be served.
entrances.describe = (act) => {
  enter(act);
  finish(act, () => {
    const { agents, workflows, channels, app } = project;
    if (app && typeof app.default?.fetch !== "function") throw misplaced("app: the default export must have fetch(request).");
    return jsonStringify({
      agents: entriesOf(agents, agentTold), workflows: entriesOf(workflows, workflowTold), channels: entriesOf(channels, channelTold), app: app !== undefined,
    });
  });
};
