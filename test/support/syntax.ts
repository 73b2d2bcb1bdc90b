/**
 * Calls `visit` with each node of a syntax tree and those around it, the innermost first. A visitor that answers false
 * keeps the walk out of that node.
 */
export function walkSyntax<Node extends { type: string }>(
  node: Node,
  visit: (node: Node, parents: readonly Node[]) => unknown,
  parents: readonly Node[] = [],
): void {
  if (visit(node, parents) === false) return;
  const children: unknown[] = Object.values(node).flat();
  for (const child of children as (Node | null)[]) {
    if (typeof child?.type === "string") walkSyntax(child, visit, [node, ...parents]);
  }
}
