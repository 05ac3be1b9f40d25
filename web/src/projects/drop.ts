import type { Chosen } from "./uploads";
import { below } from "./path";

/** pickedFiles are what an input gives; a folder that was picked keeps its name and what is in it. */
export function pickedFiles(list: FileList | null, folder: string): Chosen[] {
  return [...(list ?? [])].map((file) => ({ file, path: below(folder, file.webkitRelativePath || file.name) }));
}

/** droppedFiles are what was dropped, folders with all that is in them. Take hold of the entries at once: the event forgets them. */
export async function droppedFiles(transfer: DataTransfer, folder: string): Promise<Chosen[]> {
  const found = [...transfer.items].filter((item) => item.kind === "file").map((item) => {
    const entry = item.webkitGetAsEntry();
    if (entry) return filesIn(entry, folder);
    // A picture that was dragged out of another page is no entry of a file system.
    const file = item.getAsFile();
    return file ? [{ file, path: below(folder, file.name) }] : [];
  });
  return (await Promise.all(found)).flat();
}

async function filesIn(entry: FileSystemEntry, folder: string): Promise<Chosen[]> {
  const path = below(folder, entry.name);
  if (isFile(entry)) return [{ file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)), path }];
  const found = await Promise.all((await entriesOf(entry as FileSystemDirectoryEntry)).map((each) => filesIn(each, path)));
  return found.flat();
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

/** entriesOf reads a folder to its end: a reader gives some at a time, and none when it has no more. */
async function entriesOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

/** carriesFiles reports whether a drag brings files from outside. */
export function carriesFiles(transfer: DataTransfer | null): boolean {
  return transfer?.types.includes("Files") ?? false;
}
