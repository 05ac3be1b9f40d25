import { useEffect } from "react";
import { useKept } from "../kit/kept";

/** The schemes one can choose. The document sets the chosen one before its first paint. */
export const schemes = [
  { id: "system", label: "As the system" },
  { id: "light", label: "Light" },
  { id: "dark", label: "Dark" },
] as const;

export function useScheme(): [scheme: string, set: (scheme: string) => void] {
  const [scheme, set] = useKept("scheme", "system");
  useEffect(() => {
    if (scheme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = scheme;
  }, [scheme]);
  return [scheme, set];
}
