import { createContext, useContext, useMemo, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";

interface Drawer {
  readonly open: boolean;
  readonly setOpen: (open: boolean) => void;
}

const Context = createContext<Drawer>({ open: false, setOpen: () => {} });

/** DrawerProvider keeps whether the navigation is open, on a phone. */
export function DrawerProvider({ children }: { children: ReactNode }): ReactNode {
  const [open, setOpen] = useState(false);
  const drawer = useMemo(() => ({ open, setOpen }), [open]);
  return <Context value={drawer}>{children}</Context>;
}

export function useDrawer(): Drawer {
  return useContext(Context);
}

/** MenuButton opens the navigation; only a phone shows it. */
export function MenuButton(): ReactNode {
  const { open, setOpen } = useDrawer();
  return <Button look="ghost" icon="menu" label="Menu" className="mobile" aria-expanded={open} onClick={() => setOpen(true)} />;
}
