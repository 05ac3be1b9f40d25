package bundle

import (
	"encoding/json"
	"fmt"
	"strings"
)

// entry is the module that imports all others and hands them over. Its imports are relative, so that the same files make the same
// bundle wherever they lie.
func (p *Project) entry() string {
	var imports, parts strings.Builder
	n := 0
	bring := func(file string) string {
		n++
		fmt.Fprintf(&imports, "import * as m%d from %s;\n", n, quoted("./"+file))
		return fmt.Sprintf("m%d", n)
	}
	for _, kind := range kinds {
		fmt.Fprintf(&parts, "  %s: {", kind)
		for _, m := range p.Modules {
			if m.Kind == kind {
				fmt.Fprintf(&parts, " [%s]: %s,", quoted(m.Name), bring(m.File))
			}
		}
		parts.WriteString(" },\n")
	}
	if p.App != "" {
		fmt.Fprintf(&parts, "  app: %s,\n", bring(p.App))
	}
	return imports.String() + handover + "({\n" + parts.String() + "});\n"
}

// handover is the function that a bundle calls with its modules: {agents, workflows, channels, app}, the first three by name. What __svc
// has besides is what the modules of @svc/runtime are made of. The engine gives it to the script.
const handover = "__svc.project"

func quoted(s string) string {
	text, _ := json.Marshal(s) // a JSON string is one of JavaScript's
	return string(text)
}

// runtimeNames are what @svc/runtime exports. Those that are not built say so when they are called.
var runtimeNames = strings.Fields(`
	defineAgent createAgent defineAgentProfile defineTool defineAction defineWorkflow
	dispatch invoke listRuns getRun listAgents SvcError
	registerProvider registerApiProvider observe instrument connectMcpServer bash defineSkill createSandboxSessionEnv`)

// provided is the source of a module that comes with us; ok is false for a name that we do not have.
func (s Settings) provided(name string) (source string, ok bool) {
	switch name {
	case runtimePackage:
		return "export const { " + strings.Join(runtimeNames, ", ") + " } = __svc.runtime;\n", true
	case runtimePackage + "/routing":
		if s.Factory == "" || s.Factory == "svc" {
			return routing, true
		}
		return routing + "export { svc as " + s.Factory + " };\n", true
	}
	return "", false
}

// routing is the sub-app with the API's own routes. What a path has behind the mount's prefix is counted in segments.
const routing = `import { Hono } from "hono";
const routes = ["/agents/:name/:id", "/agents/:name/:id/abort", "/agents/:name/:id/submissions", "/agents/:name/:id/attachments/:attachmentId",
  "/workflows/:name", "/runs/:runId", "/channels/:name/*"];
export const svc = () => {
  const app = new Hono();
  for (const path of routes) app.all(path, (c) => __svc.serve(c, path));
  return app;
};
export default svc;
`

// instead says what to use in the place of a module of Node. One that has no entry is no module of Node.
var instead = map[string]string{
	"assert": "throw an Error", "async_hooks": "", "buffer": "use Uint8Array", "child_process": "processes cannot be started", "cluster": "",
	"console": "use the global console", "constants": "", "crypto": "use the global crypto (Web Crypto)", "dgram": "use fetch", "diagnostics_channel": "",
	"dns": "use fetch", "domain": "", "events": "use EventTarget", "fs": "files are not open to projects", "http": "use fetch", "http2": "use fetch",
	"https": "use fetch", "inspector": "", "module": "use import", "net": "use fetch", "os": "", "path": "use URL",
	"perf_hooks": "use the global performance", "process": "use the global process", "punycode": "use URL", "querystring": "use URLSearchParams",
	"readline": "", "repl": "", "sqlite": "", "stream": "use the web's streams", "string_decoder": "use TextDecoder", "sys": "", "test": "",
	"timers": "use the global timers", "tls": "use fetch", "trace_events": "", "tty": "", "url": "use URL", "util": "", "v8": "", "vm": "", "wasi": "",
	"worker_threads": "", "zlib": "",
}

// absent stands for a module of Node that a package imports: many import what they never use here. It throws when it is used.
func absent(name string) string {
	return fmt.Sprintf(`const absent = (name, more) => new Proxy(function () {}, {
  get: (t, k) => k === "prototype" ? t.prototype : typeof k === "symbol" || k === "__esModule" || k === "then" ? undefined : absent(name + "." + k),
  apply() { throw new Error(name + " is a part of Node, which svc projects do not run on"); },
  construct() { throw new Error(name + " is a part of Node, which svc projects do not run on"); },
  ...more,
});
// A named import is looked for in the module's prototype, because the module itself has no properties that could be listed.
const parts = absent(%[1]s);
module.exports = absent(%[1]s, { getPrototypeOf: () => parts });
`, quoted("node:"+name))
}
