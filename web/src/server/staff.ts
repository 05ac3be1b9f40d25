import { useHeard } from "./hearing";
import { useSession } from "./session";

/** Staffing is the authority over the service that the person has taken up on Admin. */
export interface Staffing {
  readonly role: "support" | "admin" | undefined;
  /** When it ends unless it is used before. */
  readonly until: string | undefined;
  /** Whether they may change something, and why not. */
  readonly may: boolean;
  readonly why: string | undefined;
}

/** useStaff says what somebody of the staff may do. While nobody knows their role yet, they may not. */
export function useStaff(): Staffing {
  const { data } = useSession();
  return staffingOf(data?.staff);
}

export function staffingOf(staff: { role: "support" | "admin"; expiresAt: string } | undefined): Staffing {
  const may = staff?.role === "admin";
  return { role: staff?.role, until: staff?.expiresAt, may, why: may ? undefined : staff ? "Support reads everything and changes nothing." : "Your role is not known yet." };
}

/** Why nobody changes something as long as they look with a customer's eyes. */
export const lookedAt = "You only look here, as the customer. Nothing can be changed.";

/** useLooking reports whether the page is seen in a customer's name. */
export function useLooking(): boolean {
  return useHeard().impersonation !== undefined;
}
