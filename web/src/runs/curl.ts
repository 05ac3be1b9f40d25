/** curlOf is a command that starts a run as this one was started. A key is never in it: it is read from the environment. */
export function curlOf(base: string, run: { readonly workflowName: string; readonly input?: unknown }): string {
  const lines = [`curl -X POST ${quoted(`${base}/workflows/${encodeURIComponent(run.workflowName)}`)}`, `  -H "Authorization: Bearer $SVC_KEY"`];
  if (run.input !== undefined) lines.push(`  -H 'Content-Type: application/json'`, `  --data-raw ${quoted(JSON.stringify(run.input))}`);
  return lines.join(" \\\n");
}

/** quoted is a word of a shell, whatever is in it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
