import { defineConfig } from "vitepress";

const page = (text: string, link: string) => ({ text, link: `/${link}` });

// The site of docs/: the pages are plain Markdown, and read without it too.
export default defineConfig({
  title: "svc",
  description: "Agents and workflows that survive anything.",
  cleanUrls: false,
  // A page of another room, which is linked to before it is written.
  // Tables want the width that a page's own contents would take.
  transformPageData(page) {
    if (["limits.md", "errors.md", "asvs.md"].includes(page.relativePath)) page.frontmatter.aside = false;
  },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 2] },
    sidebar: [
      { text: "Begin", items: [page("Start in five minutes", "start"), page("Concepts", "concepts"), page("A tour", "tour")] },
      { text: "Write", items: [page("An agent", "agents"), page("A workflow", "workflows"), page("Tools and MCP", "tools"), page("Channels", "channels"), page("TypeScript", "typescript")] },
      { text: "Use", items: [page("The HTTP API", "api"), page("Clients", "clients"), page("Errors", "errors")] },
      { text: "Run", items: [page("On one machine", "machine"), page("On many", "many"), page("Backup, restore, upgrade", "backup"), page("Limits and defaults", "limits")] },
      { text: "Trust", items: [page("Security", "security"), page("ASVS", "asvs")] },
    ],
  },
  markdown: {
    // Files of the repository are not on the site: their names stand there as they are.
    config(md) {
      md.core.ruler.push("repository", (state) => {
        for (const block of state.tokens) {
          let inside = false;
          for (const token of block.children ?? []) {
            if (token.type === "link_open") inside = (token.attrGet("href") ?? "").startsWith("../");
            if (inside && (token.type === "link_open" || token.type === "link_close")) {
              token.tag = "em";
              token.attrs = null;
              if (token.type === "link_close") inside = false;
            }
          }
        }
      });
    },
  },
});
