import { brotliCompressSync, constants } from "node:zlib";
import type { Plugin, Rolldown } from "vite";

/** brotli writes each text of the build once more, smaller than gzip makes it: compressing it so well takes too long for a server. */
export function brotli(): Plugin {
  return {
    name: "svc:brotli",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const [fileName, file] of Object.entries(bundle)) {
          const text = Buffer.from(file.type === "chunk" ? file.code : file.source);
          const source = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: text.length } });
          if (fileName.startsWith("assets/") && source.length < text.length) this.emitFile({ type: "asset", fileName: `${fileName}.br`, source });
        }
      },
    },
  };
}

/** The page that most people come to. */
const first = "/src/chat/ChatPage.tsx";

/**
 * chatSooner has the parts of the chat loaded beside the application, not after it: the mark `__parts__` in the document becomes what they are, and its
 * script asks for them where the address is that of a chat.
 */
export function chatSooner(): Plugin {
  return {
    name: "svc:chat-sooner",
    transformIndexHtml: {
      order: "post",
      handler: (html, { bundle }) => html.replace('"__parts__"', JSON.stringify(bundle ? partsOf(bundle) : { entry: [], chat: [] })),
    },
  };
}

/** partsOf are the script of the document, and the files that the chat needs beside it. */
function partsOf(bundle: Rolldown.OutputBundle): { entry: string[]; chat: string[] } {
  const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
  const known = new Set<string>();
  const add = (chunk: Rolldown.OutputChunk | undefined, to: Set<string>): void => {
    if (!chunk || to.has(chunk.fileName) || known.has(chunk.fileName)) return;
    to.add(chunk.fileName);
    for (const sheet of chunk.viteMetadata?.importedCss ?? []) to.add(sheet);
    for (const name of chunk.imports) add(chunks.find((each) => each.fileName === name), to);
  };
  for (const chunk of chunks) if (chunk.isEntry) add(chunk, known);
  const chat = new Set<string>();
  add(chunks.find((chunk) => chunk.moduleIds.some((id) => id.endsWith(first))), chat);
  if (chat.size === 0) throw new Error(`no part of the build has ${first}`);
  const addresses = (names: Set<string>): string[] => [...names].map((name) => `/${name}`);
  return { entry: addresses(known).filter((name) => name.endsWith(".js")), chat: addresses(chat).filter((name) => !known.has(name.slice(1))) };
}
