import { blank, type Definition } from "./agent";

/** Template is a first specialist to begin with. */
export interface Template {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly definition: Definition;
}

export const templates: readonly Template[] = [
  { id: "blank", name: "", title: "Empty page", about: "Nothing but a name.", definition: blank },
  {
    id: "writer", name: "writer", title: "Writer", about: "Turns notes into text that a customer may read.",
    definition: {
      ...blank,
      description: "Turns notes into text that a customer may read.",
      instructions: "You write for customers.\n\n# How\n1. Short sentences, plain words.\n2. Say what happened, what it means, what comes next.\n3. Promise nothing that the notes do not say.\n\nAnswer with the text alone.",
    },
  },
  {
    id: "reader", name: "reader", title: "Reader of files", about: "Answers from the files of a project, and says from which.",
    definition: {
      ...blank,
      description: "Answers from the files of a project.",
      instructions: "You answer from the files of the project, and from nothing else.\n\n# How\n1. Search before you read.\n2. Name the file of every fact.\n3. Where the files do not say it, say that they do not.",
      tools: ["list_files", "read_file", "search_files"],
    },
  },
  {
    id: "triage", name: "triage", title: "Triage", about: "Sorts what came in by what it costs to wait.",
    definition: {
      ...blank,
      description: "Sorts what came in by what it costs to wait.",
      instructions: "You sort what came in.\n\n# Order\n1. Money or data lost. Count the customers.\n2. Work that has stopped, with what stopped it.\n3. Everything else, newest first.\n\nAsk `writer` for any text a customer will read.",
      tools: ["ask_agent"],
    },
  },
];

export function templateOf(id: string): Template | undefined {
  return templates.find((each) => each.id === id) ?? templates[0];
}
