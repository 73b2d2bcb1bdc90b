/** Reports whether a key is pressed with a modifier that makes it a shortcut of the browser or the system. */
export function hasModifier({ ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
  return ctrlKey || altKey || metaKey;
}
