import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState, type ClipboardEvent, type KeyboardEvent, type ReactNode, type Ref } from "react";
import type { FilePart } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { isComposing } from "./composing";
import { chosenOf, filesIn, isChosen, readingOf, type Chosen, type Reading } from "./images";
import { ImageTile } from "./ImageTile";
import { useSettled } from "./ticking";

export interface ComposerHandle {
  readonly focus: () => void;
  /** Takes images that were dropped elsewhere, or sent before. */
  readonly take: (images: readonly (File | FilePart)[]) => void;
}

export interface ComposerProps {
  text: string;
  /** A text that nobody wrote: whoever types begins anew. */
  suggested?: string | undefined;
  onText: (text: string) => void;
  onSend: (text: string, images: readonly Chosen[]) => void;
  onStop: () => void;
  /** Something runs or waits. */
  busy: boolean;
  placeholder: string;
  /** What stands at the left of the bar: whom one writes to. */
  beside?: ReactNode;
  /** What stands before the button: the model, what it costs. */
  note?: ReactNode;
  ref?: Ref<ComposerHandle>;
}

/** Composer is where one writes. What is typed is nobody's but the writer's until it is sent. */
export function Composer({ text, suggested, onText, onSend, onStop, busy, placeholder, beside, note, ref }: ComposerProps): ReactNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [images, setImages] = useState<readonly (Chosen | Reading)[]>([]);
  const [due, setDue] = useState(false); // sent when all images are read
  const [refused, setRefused] = useState<string>();
  const empty = text.trim() === "" && images.length === 0;
  const reading = !images.every(isChosen);

  const drop = ({ id }: Reading): void => setImages((before) => before.filter((each) => each.id !== id));
  /** read holds the place of an image until it is read. */
  const read = async (source: File | FilePart): Promise<void> => {
    const image = readingOf(source);
    setImages((before) => [...before, image]);
    try {
      const chosen = await chosenOf(source, image);
      setImages((before) => before.map((each) => (each.id === image.id ? chosen : each)));
    } catch (thrown) {
      drop(image);
      setDue(false);
      setRefused(thrown instanceof Error ? thrown.message : "The image could not be read.");
    }
  };
  const take: ComposerHandle["take"] = (sources) => {
    setRefused(undefined);
    for (const source of sources) void read(source);
  };
  useImperativeHandle(ref, () => ({ focus: () => area.current?.focus(), take }), []);
  useGrowing(area, text);
  const typed = useFilled(area, text, suggested);

  const send = (): void => {
    setDue(reading);
    if (empty || reading) return;
    onSend(text, images.filter(isChosen));
    setImages([]);
    setRefused(undefined);
    area.current?.focus();
  };
  useEffect(() => {
    if (due && !reading) send();
  }, [due, reading]);
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event.nativeEvent)) return;
    event.preventDefault();
    send();
  };
  const paste = (event: ClipboardEvent): void => {
    const files = filesIn(event.clipboardData);
    // What is copied from a document or a table is words, and a picture of them beside.
    if (files.length === 0 || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    take(files);
  };
  const remove = (image: Chosen | Reading): void => {
    if (isChosen(image)) URL.revokeObjectURL(image.url);
    drop(image);
  };
  return (
    <div className="composer">
      {images.length > 0 && (
        <div className="images" aria-busy={reading}>
          {images.map((image) => (
            <ImageTile key={image.id} url={isChosen(image) ? image.url : undefined} name={image.name} onRemove={() => remove(image)} />
          ))}
        </div>
      )}
      {refused && <p className="standing bad" role="alert">{refused}</p>}
      {due && <p className="standing" role="status">This is sent when its images are read.</p>}
      <textarea
        ref={area}
        rows={1}
        aria-label="Message"
        placeholder={placeholder}
        value={text}
        onChange={(event) => {
          setDue(false); // whoever goes on writing decides anew
          onText((typed.current = event.target.value));
        }}
        onKeyDown={press}
        onPaste={paste}
        enterKeyHint="send"
      />
      <div className="bar">
        <input ref={picker} type="file" accept="image/*" multiple hidden onChange={(event) => {
          take([...(event.target.files ?? [])]);
          event.target.value = "";
        }} />
        <Button look="ghost" icon="image" label="Attach an image" onClick={() => picker.current?.click()} />
        {beside}
        <span className="grow" />
        {note}
        <SendOrStop busy={busy} empty={empty} onSend={send} onStop={onStop} />
      </div>
    </div>
  );
}

/** SendOrStop is one button that keeps the focus while it changes; with a text, a busy conversation has both. */
function SendOrStop({ busy, empty, onSend, onStop }: { busy: boolean; empty: boolean; onSend: () => void; onStop: () => void }): ReactNode {
  // Whoever presses twice must not stop what they have just sent.
  const stops = useSettled(busy && empty, 300) && busy && empty;
  return (
    <>
      {busy && !empty && <Button look="ghost" icon="stop" label="Stop" onClick={onStop} />}
      <button type="button" className="send" aria-label={stops ? "Stop" : busy ? "Add to the queue" : "Send"} title={stops ? "Stop" : "Send"} aria-disabled={(!stops && empty) || undefined} onClick={stops ? onStop : onSend}>
        <Icon name={stops ? "stop" : "up"} small className={stops ? "solid" : ""} />
      </button>
    </>
  );
}

/** useFilled has one go on behind a text that was filled in, and instead of one that was only suggested. It keeps what was typed. */
function useFilled(area: React.RefObject<HTMLTextAreaElement | null>, text: string, suggested: string | undefined): React.RefObject<string> {
  const typed = useRef("");
  useLayoutEffect(() => {
    if (text !== typed.current) area.current?.setSelectionRange(text === suggested ? 0 : text.length, text.length);
    typed.current = text;
  }, [area, text, suggested]);
  return typed;
}

/** useGrowing makes the field as tall as its text, up to a third of the window. */
function useGrowing(area: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, Math.max(96, innerHeight / 3))}px`;
  }, [area, text]);
  useEffect(() => {
    const grown = (): void => {
      if (area.current) area.current.style.height = "auto";
      if (area.current) area.current.style.height = `${Math.min(area.current.scrollHeight, Math.max(96, innerHeight / 3))}px`;
    };
    addEventListener("resize", grown);
    return () => removeEventListener("resize", grown);
  }, [area]);
}
