import type { Sample } from "../kit/CodeSample";

/** Sampled is what the programs of the page are written for. */
export interface Sampled {
  /** The base address of the workspace. */
  base: string;
  agent: string;
  instance: string;
  /** The key that was just made, which is shown once; undefined: the programs take it from $SVC_KEY. */
  key: string | undefined;
  /** What that key may do; undefined: everything. */
  scopes: readonly string[] | undefined;
}

/** question is what the programs ask: any model can answer it, the scripted one too. */
export const question = "Say hello in twelve words. n=12";

/** samplesOf are programs that run as they are copied, each as long as a key with these scopes gets. */
export function samplesOf(of: Sampled): readonly Sample[] {
  const may = (scope: string): boolean => of.scopes === undefined || of.scopes.includes(scope);
  if (may("agents:write") && may("agents:read")) return talk(of);
  if (may("agents:write")) return send(of);
  return read(of, placeOf(of, may));
}

/** placeOf is something that a key may read. What no key may read yet, such as connectors, falls back to the workspace's runs. */
function placeOf(of: Sampled, may: (scope: string) => boolean): string {
  const workspace = of.base.replace(/\/v1\//, "/api/workspaces/");
  if (may("agents:read")) return `${workspace}/agents`;
  if (may("projects:read") || may("projects:write")) return `${workspace}/projects`;
  return `${of.base}/runs`;
}

function talk(of: Sampled): readonly Sample[] {
  const address = `${of.base}/agents/${of.agent}/${of.instance}`;
  return [
    {
      name: "curl",
      text: `# 1. Ask. The answer names the offset to read from.
answer=$(curl -sS ${address} \\
  -H ${bearer(of)} \\
  -H 'Content-Type: application/json' \\
  -d '{"kind":"user","body":"${question}"}')
echo "$answer"
offset=$(echo "$answer" | sed 's/.*"offset":"\\([^"]*\\)".*/\\1/')

# 2. Follow. Stop it with Ctrl C and go on from any offset: nothing is lost.
curl -sSNG ${address} \\
  -H ${bearer(of)} \\
  -d view=updates -d live=sse -d offset="$offset"
`,
    },
    {
      name: "TypeScript",
      text: `import { createClient } from "@svc/sdk";

const client = createClient({
  baseUrl: "${of.base}",
  token: ${of.key ? `"${of.key}"` : "process.env.SVC_KEY"},
});

const admission = await client.agents.send("${of.agent}", "${of.instance}", {
  message: "${question}",
});
const reply = await client.agents.wait(admission);
console.log(reply.text);
`,
    },
    {
      name: "Go",
      text: `package main

import (
	"context"
	"fmt"
	"log"${of.key ? "" : '\n\t"os"'}

	"svc.dev/svc/client"
)

func main() {
	c, err := client.New(client.Config{
		BaseURL: "${of.base}",
		Token:   ${of.key ? `"${of.key}"` : 'os.Getenv("SVC_KEY")'},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	sent, err := c.Agents.Send(ctx, "${of.agent}", "${of.instance}", client.Prompt{Body: "${question}"})
	if err != nil {
		log.Fatal(err)
	}
	reply, err := c.Agents.Wait(ctx, sent)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text())
}
`,
    },
  ];
}

/** send is for a key that may ask and not read: the answer is for somebody else. */
function send(of: Sampled): readonly Sample[] {
  return [
    {
      name: "curl",
      text: `# This key may ask, and not read what is answered.
curl -sS ${of.base}/agents/${of.agent}/${of.instance} \\
  -H ${bearer(of)} \\
  -H 'Content-Type: application/json' \\
  -d '{"kind":"user","body":"${question}"}'
`,
    },
  ];
}

function read(of: Sampled, place: string): readonly Sample[] {
  return [
    {
      name: "curl",
      text: `curl -sS ${place} \\
  -H ${bearer(of)}
`,
    },
  ];
}

/** bearer is the header with the key. A shell reads $SVC_KEY only between double quotes. */
function bearer(of: Sampled): string {
  return `"Authorization: Bearer ${of.key ?? "$SVC_KEY"}"`;
}
