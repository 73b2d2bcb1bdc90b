/** A call that is made once before the next frame is drawn, however often it is asked for. */
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
