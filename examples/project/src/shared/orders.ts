export type Order = { id: string; cents: number; status: "packed" | "shipped" };

const orders: Order[] = [
  { id: "order_1042", cents: 1250, status: "packed" },
  { id: "order_1043", cents: 990, status: "shipped" },
];

export const findOrder = (id: string): Order | null => orders.find((o) => o.id === id) ?? null;
