import { useCallback, useEffect, useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { SvcError } from "@svc/sdk";
import { wantsProof } from "../server/act";
import { readContent, writeContent, type Condition } from "../server/content";
import { useReauth } from "../server/reauth";
import { useServer } from "../server/workspace";
import { keepDraft, recallDraft } from "./draft";
import { useBound } from "./bound";
import { merge, piecesOf } from "./merge";
import { textIn } from "./text";
import type { Entry } from "./tree";

/** Stored is a text as the service has it, by the etag of exactly that. */
export interface Stored {
  readonly text: string;
  readonly etag: string;
}

export interface Editing {
  readonly text: string;
  /** What the text was made of. */
  readonly base: Stored;
  readonly dirty: boolean;
  /** Whether the browser keeps what is not saved. */
  readonly kept: boolean;
  readonly saving: boolean;
  readonly error: SvcError | undefined;
  /** Somebody else saved or deleted the file since. */
  readonly conflict: boolean;
  /** What the others saved; null: they deleted it; undefined: it was not read. */
  readonly theirs: Stored | null | undefined;
  readonly comparing: boolean;
  /** How many places both changed, where one's own stands in the comparison. */
  readonly clashes: number;
  /** Somebody else wrote while it was open. */
  readonly news: boolean;
  /** Where they wrote, in words. */
  readonly newLines: string | undefined;
  /** The text before they wrote, which shows what is new. */
  readonly seen: string | undefined;
  readonly write: (text: string) => void;
  readonly save: (over?: Condition) => Promise<void>;
  readonly compare: () => void;
  readonly leave: () => void;
  readonly takeTheirs: () => void;
  readonly dismiss: () => void;
}

interface Opened {
  slug: string;
  address: string;
  entry: Entry | null;
  first: Stored;
}

/** useText is a text that is being edited, with what others do to it meanwhile. */
export function useText({ slug, address, entry, first }: Opened): Editing {
  const client = useServer();
  const prove = useReauth();
  const bound = useBound(slug);
  const queries = useQueryClient();
  const [begun] = useState(() => recallDraft(address));
  const [base, setBase] = useState<Stored>(() => (begun ? { text: begun.base, etag: begun.etag } : first));
  const [text, setText] = useState(begun?.text ?? first.text);
  const [kept, setKept] = useState(begun !== undefined);
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<SvcError>();
  const [conflict, setConflict] = useState(false);
  const [theirs, setTheirs] = useState<Stored | null>();
  const [mine, setMine] = useState<string>();
  const [clashes, setClashes] = useState(0);
  const [seen, setSeen] = useState<string>();
  const [lines, setLines] = useState<string>();
  const dirty = text !== base.text;
  // What is here now, for what was asked for earlier: a key may have been pressed since.
  const now = useRef({ text, base });
  now.current = { text, base };
  // What a save has written is no news, though the list may still tell of the content before it.
  const known = useRef(new Set([base.etag]));
  known.current.add(base.etag);
  const news = entry !== null && entry.etag !== undefined && !known.current.has(entry.etag);
  const deleted = entry === null;

  useEffect(() => {
    if (text === base.text) {
      keepDraft(address, undefined);
      return;
    }
    const timer = setTimeout(() => setKept(keepDraft(address, { ...base, base: base.text, text })), 300);
    return () => clearTimeout(timer);
  }, [address, text, base]);

  // What no browser keeps is not left without a question.
  useEffect(() => {
    if (!dirty || kept) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [dirty, kept]);

  const read = useCallback(async (): Promise<Stored | null> => {
    try {
      const { blob, etag } = await readContent(client, address);
      return { text: (await textIn(blob)) ?? "", etag };
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.status === 404) return null;
      throw thrown;
    }
  }, [client, address]);

  // Where nothing was typed the newest stands here by itself.
  const newest = entry?.etag;
  useEffect(() => {
    if (!news || saving) return;
    let gone = false;
    void read().then(
      (found) => {
        if (gone || !found) return;
        const { text, base } = now.current;
        setTheirs(found);
        setLines(whereOf(base.text, found.text));
        if (text !== base.text) return;
        setSeen(base.text);
        setBase(found);
        setText(found.text);
      },
      () => {},
    );
    return () => {
      gone = true;
    };
    // A key that is typed does not ask again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [news, newest, saving, read]);

  const stored = (etag: string, saved: string): void => {
    known.current.add(etag);
    setBase({ text: saved, etag });
    setText((now) => (now === text ? saved : now));
    setConflict(false);
    setTheirs(undefined);
    setMine(undefined);
    setSeen(undefined);
    setLines(undefined);
    bound.onArrival();
    void queries.invalidateQueries({ queryKey: ["content", address], refetchType: "none" });
  };

  const save = async (over?: Condition): Promise<void> => {
    if (saving || (!dirty && !deleted && over === undefined)) return;
    const sent = text;
    const condition: Condition = over ?? { etag: base.etag };
    const attempt = (): Promise<string> => writeContent({ address, body: new Blob([sent]), condition });
    setSaving(true);
    setError(undefined);
    try {
      stored(await proven(attempt, prove), sent);
    } catch (thrown) {
      const refusal = thrown instanceof SvcError ? thrown : new SvcError({ type: "internal_error", message: "Something went wrong on this page." });
      if (refusal.status !== 412) setError(refusal);
      else {
        setTheirs(await read().catch(() => undefined));
        setConflict(true);
      }
    } finally {
      setSaving(false);
    }
  };

  const write = (typed: string): void => {
    now.current = { ...now.current, text: typed };
    setText(typed);
  };
  const compare = (): void => {
    if (!theirs) return;
    const joined = merge(base.text, theirs.text, text);
    setMine(text);
    setClashes(joined.clashes);
    setText(joined.text);
  };
  const leave = (): void => {
    if (mine !== undefined) setText(mine);
    setMine(undefined);
  };
  const takeTheirs = (): void => {
    if (!theirs) return;
    setBase(theirs);
    setText(theirs.text);
    setConflict(false);
    setMine(undefined);
    setSeen(undefined);
    setLines(undefined);
  };
  const dismiss = (): void => {
    setSeen(undefined);
    setLines(undefined);
  };
  return {
    text, base, dirty, kept, saving, error, theirs, clashes, seen,
    conflict: conflict || deleted,
    comparing: mine !== undefined && theirs !== null && theirs !== undefined,
    news: lines !== undefined,
    newLines: lines || undefined,
    write, save, compare, leave, takeTheirs, dismiss,
  };
}

async function proven<T>(attempt: () => Promise<T>, prove: (refusal: SvcError) => Promise<boolean>): Promise<T> {
  try {
    return await attempt();
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || !wantsProof(thrown) || !(await prove(thrown))) throw thrown;
    return attempt();
  }
}

/** whereOf says in words which lines of a text are new: `lines 12 to 16`. */
export function whereOf(before: string, after: string): string {
  const pieces = piecesOf(before.split("\n"), after.split("\n"));
  const [first] = pieces;
  if (!first) return "";
  let shift = 0;
  let last = 0;
  for (const piece of pieces) {
    last = piece.from + shift + Math.max(piece.lines.length, 1);
    shift += piece.lines.length - (piece.to - piece.from);
  }
  return first.from + 1 >= last ? `line ${first.from + 1}` : `lines ${first.from + 1} to ${last}`;
}
