/**
 * Calls `visit` with each node of a syntax tree and its ancestors, the innermost first. If a visitor returns false, the
 * walk skips that node.
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
