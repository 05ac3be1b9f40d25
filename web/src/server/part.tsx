import { lazy, useState, type ComponentType, type ReactNode } from "react";
import { SvcError } from "@svc/sdk";
import { hearing, missBuild } from "./hearing";

/** Part is a component that can be loaded before it is shown. */
export type Part<Props extends object> = ((props: Props) => ReactNode) & { load: () => Promise<void> };

/** What has a part loaded anew, by the refusal that was thrown in its place. */
const renewals = new WeakMap<object, () => void>();

/**
 * renewAfter is told of every error that is shown to somebody: a part that could not be loaded is loaded anew by whoever shows it next. It
 * stays as it is until then. What throws is drawn any number of times before it is shown, and each would ask for the code again.
 */
export function renewAfter(error: unknown): void {
  if (error instanceof SvcError) renewals.get(error)?.();
}

/**
 * part is a component whose code is loaded when it is first shown, or told to be. One that was loaded is shown at once. What could not be
 * loaded is thrown, as the refusal that it is, to the page's own way to try again.
 */
export function part<Props extends object>(load: () => Promise<ComponentType<Props>>): Part<Props> {
  let Ready: ComponentType<Props> | undefined;
  let attempt: Promise<ComponentType<Props>> | undefined;
  let tried = false;
  const once = (): Promise<ComponentType<Props>> => (attempt ??= again());
  const again = async (): Promise<ComponentType<Props>> => {
    if (tried) await restyle();
    tried = true;
    return (Ready = await load());
  };
  const shown = async (): Promise<{ default: ComponentType<Props> }> => {
    try {
      return { default: await once() };
    } catch (cause) {
      const refusal = await whyMissing(cause);
      renewals.set(refusal, renew);
      return { default: () => {
        throw refusal;
      } };
    }
  };
  let Inside = lazy(shown) as ComponentType<Props>;
  const renew = (): void => {
    attempt = undefined;
    Inside = lazy(shown);
  };
  const Shown = (props: Props): ReactNode => {
    // Once for as long as it is shown: another component would begin anew.
    const [Now] = useState(() => Ready ?? Inside);
    return <Now {...props} />;
  };
  return Object.assign(Shown, { load: async () => void (await once()) });
}

/** whyMissing tells a server that cannot be reached from a part that is gone: that one is of a build which is no longer kept. */
async function whyMissing(cause: unknown): Promise<SvcError> {
  try {
    await hearing("/api/auth/session");
  } catch (unreached) {
    return new SvcError({ type: "network_error", message: "The server did not answer.", cause: unreached });
  }
  missBuild();
  return new SvcError({ type: "part_gone", message: "This page is of an earlier version. Reload it to go on.", cause });
}

/** restyle asks again for the sheets that did not come: the bundler asks for each of them once. */
async function restyle(): Promise<void> {
  const missing = [...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')].filter((link) => !link.sheet);
  await Promise.all(missing.map(replaced));
}

function replaced(link: HTMLLinkElement): Promise<void> {
  return new Promise((resolve, reject) => {
    const again = link.cloneNode() as HTMLLinkElement;
    again.onload = () => resolve();
    again.onerror = () => reject(new Error(`no answer: ${again.href}`));
    link.replaceWith(again);
  });
}
