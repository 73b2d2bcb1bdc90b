/** Returns a function that runs `call` once before the next frame, however often it is called. */
export function oncePerFrame(call: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      call();
    });
  };
}
