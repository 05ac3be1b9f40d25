/** Lead is where a link of a text leads. */
export interface Lead {
  readonly href: string;
  /** The host that a person would be sent to; undefined: it is this application. */
  readonly host: string | undefined;
  readonly inside: boolean;
}

/** leadOf is where a link may lead: the web, a mail, a page of this application. Others lead nowhere. */
export function leadOf(href: string, origin: string): Lead | undefined {
  if (/^mailto:[^\s]+$/i.test(href)) return { href, host: undefined, inside: false };
  if (/^\/w\/[^\\]*$/.test(href)) return { href, host: undefined, inside: true };
  if (!/^https?:\/\//i.test(href)) return undefined;
  try {
    const url = new URL(href);
    if (url.username || url.password) return undefined; // an address that pretends to be another
    if (url.origin === origin) return { href: url.pathname + url.search + url.hash, host: undefined, inside: url.pathname.startsWith("/w/") };
    return { href: url.href, host: url.host, inside: false };
  } catch {
    return undefined;
  }
}

/** sourceOf is where an image that a text names would be fetched from. It never is. */
export function sourceOf(href: string): string {
  if (/^data:/i.test(href)) return "embedded";
  try {
    return new URL(href).host || "unknown";
  } catch {
    return "this page";
  }
}
