import { useEffect, useId, useRef, type FormEvent, type ReactNode } from "react";
import { Button } from "./Button";

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** The acts, the most likely last. */
  footer?: ReactNode;
  wide?: boolean;
  /** Where the dialog is a form, what it does when it is sent. */
  onSubmit?: () => void;
}

/** Dialog asks for one thing. The browser keeps the focus inside, and gives it back to where it was. */
export function Dialog({ title, onClose, children, footer, wide = false, onSubmit }: DialogProps): ReactNode {
  const id = useId();
  const ref = useModal(onClose);
  const inside = (
    <>
      <header>
        <h2 id={id}>{title}</h2>
        <Button look="ghost" icon="x" label="Close" onClick={onClose} />
      </header>
      <div className="inside">{children}</div>
      {footer && <footer>{footer}</footer>}
    </>
  );
  const send = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog ref={ref} className={wide ? "dialog wide" : "dialog"} aria-labelledby={id}>
      {onSubmit ? <form noValidate onSubmit={send} className="dialog-form">{inside}</form> : inside}
    </dialog>
  );
}

/** Sheet is what stands beside a list: a drawer at the right, the whole screen on a phone. */
export function Sheet({ title, onClose, children, wide = false }: Pick<DialogProps, "title" | "onClose" | "children" | "wide">): ReactNode {
  const id = useId();
  const ref = useModal(onClose);
  return (
    <dialog ref={ref} className={wide ? "sheet wide" : "sheet"} aria-labelledby={id}>
      <header className="top">
        <Button look="ghost" icon="left" label="Back" className="mobile" onClick={onClose} />
        <h2 id={id} className="grow trunc w55">{title}</h2>
        <Button look="ghost" icon="x" label="Close" className="desk" onClick={onClose} />
      </header>
      <div className="body drawer">{children}</div>
    </dialog>
  );
}

/** useModal shows a dialog as long as its component is there. */
export function useModal(onClose: () => void): React.RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    // The element is gone from the page before React could close it, so the focus is given back here.
    const before = document.activeElement;
    if (!dialog.open) dialog.showModal();
    // A field that React focused was not shown yet: a dialog that asks begins at its first one.
    if (dialog.classList.contains("dialog")) dialog.querySelector<HTMLElement>(":is(input, textarea):not(:disabled, [type=radio], [type=checkbox])")?.focus();
    const cancel = (event: Event): void => {
      event.preventDefault();
      close.current();
    };
    const outside = (event: MouseEvent): void => {
      if (event.target === dialog) close.current();
    };
    dialog.addEventListener("cancel", cancel);
    dialog.addEventListener("mousedown", outside);
    return () => {
      dialog.removeEventListener("cancel", cancel);
      dialog.removeEventListener("mousedown", outside);
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return ref;
}
