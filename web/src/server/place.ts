/** Surface is the face of the service that this page is on: by it the same page has another authority. */
export type Surface = "platform" | "agents" | "admin";

/** Place is where this page was served, as the service wrote it into the document. */
export interface Place {
  readonly surface: Surface;
  /** The addresses of the three surfaces, without a path. */
  readonly platform: string;
  readonly agents: string;
  readonly admin: string;
  /** Which build this page is of. */
  readonly build: string;
}

export const place: Place = told() ?? guessed(globalThis.location);

function told(): Place | undefined {
  const text = globalThis.document?.querySelector<HTMLMetaElement>('meta[name="svc-place"]')?.content;
  return text ? (JSON.parse(text) as Place) : undefined;
}

/** guessed is for the development server, whose document the service has not seen: the host names the surface. */
function guessed(location: Location | undefined): Place {
  const host = location?.host ?? "svc.localhost";
  const [, label = "", rest = host] = /^(agents|admin)\.(.+)$/.exec(host) ?? [];
  const surface: Surface = label === "agents" || label === "admin" ? label : "platform";
  const at = (name: string): string => `${location?.protocol ?? "http:"}//${name}${rest}`;
  return { surface, platform: at(""), agents: at("agents."), admin: at("admin."), build: "" };
}
