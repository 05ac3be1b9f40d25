import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Menu } from "../kit/Menu";
import type { FileActs } from "./FilePane";
import { nameOf } from "./path";

export interface FileBarProps {
  path: string;
  address: string;
  /** Why it may not be changed. */
  why: string | undefined;
  acts: FileActs;
  /** What stands behind the name. */
  beside?: ReactNode;
  /** How it is viewed. */
  view?: ReactNode;
  /** The one act, at the end. */
  main?: ReactNode;
}

/** FileBar names a file, and holds what can be done with it. */
export function FileBar({ path, address, why, acts, beside, view, main }: FileBarProps): ReactNode {
  const folders = path.split("/").slice(0, -1);
  return (
    <div className="filebar">
      <h2 className="row grow desk file-name">
        {folders.map((folder, i) => (
          <span key={i} className="faint trunc w4">
            {folder} /
          </span>
        ))}
        <span className="w55 trunc">{nameOf(path)}</span>
        {beside && <span className="faint t12 w4 nowrap">{beside}</span>}
      </h2>
      {view}
      <span className="grow mobile" />
      <a className="btn ghost icon" href={address} download={nameOf(path)} aria-label="Download" title="Download">
        <Icon name="dl" />
      </a>
      <Button look="ghost" icon="move" label="Move" className="desk" why={why} onClick={acts.onMove} />
      <Button look="ghost" icon="trash" label="Delete" className="desk" why={why} onClick={acts.onDelete} />
      <Menu
        label="More of this file"
        bare
        className="btn ghost icon mobile"
        button={<Icon name="more" />}
        groups={[{ items: [{ label: "Move…", icon: "move", why, onSelect: acts.onMove }, { label: "Delete…", icon: "trash", danger: true, why, onSelect: acts.onDelete }] }]}
      />
      {main}
    </div>
  );
}
