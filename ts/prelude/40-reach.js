// What server-side code may ask of the runtime, in the scope of the act that asks.
const keyOf = (r) => (r.key === undefined ? null : aText(r.key, "The key"));
const dispatch = async (agent, request) => {
  if (is("agent", agent)) {
    const name = nameOf("agents", agent);
    if (name === undefined) throw faulty("agent_not_found", "dispatch(): the agent is not the default export of a module in agents.");
    request = { ...anObject(request, "The second argument of dispatch()"), agent: name };
  } else if (typeof agent === "string") request = { ...anObject(request, "The second argument of dispatch()"), agent };
  else request = anObject(agent, "The argument of dispatch()");
  const message = written(request.message, "dispatch_input_serialization", "The message");
  return jsonParse(await call("dispatch", aText(request.agent, "dispatch({ agent })"), aText(request.id, "dispatch({ id })"), message, keyOf(request)));
};
const invoke = async (workflow, request = {}) => {
  const name = typeof workflow === "string" ? workflow : nameOf("workflows", workflow);
  if (name === undefined) throw faulty("workflow_not_discovered", "invoke(): the workflow is not the default export of a module in workflows.");
  const input = request.input === undefined ? null : written(request.input, "workflow_input_serialization", "The input");
  return jsonParse(await call("invoke", name, input, keyOf(request)));
};
const listRuns = async (filter = {}) => jsonParse(await call("listRuns", jsonStringify(onlyFields(anObject(filter, "The argument of listRuns()"), ["status", "workflowName", "limit", "cursor"], "listRuns()"))));
const getRun = async (id) => jsonParse(await call("getRun", aText(id, "The argument of getRun()")));
const listAgents = async () => jsonParse(await call("listAgents"));

shared.runtime = { defineTool, defineAction, defineAgentProfile, defineAgent, createAgent: defineAgent, defineWorkflow, dispatch, invoke, listRuns, getRun, listAgents, SvcError };
each(["registerProvider", "registerApiProvider", "observe", "instrument", "connectMcpServer", "bash", "defineSkill", "createSandboxSessionEnv"], (name) => {
  shared.runtime[name] = () => { throw notYet(name + "()"); };
});
freeze(shared.runtime);
