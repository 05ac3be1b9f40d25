import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

/** Empty says what would be here, and the one act that brings it. */
export function Empty({ icon, title, children, act }: { icon: IconName; title: string; children?: ReactNode; act?: ReactNode }): ReactNode {
  return (
    <div className="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {act && <div className="acts">{act}</div>}
    </div>
  );
}
