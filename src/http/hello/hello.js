// Copies the lines of the page /hello.
const status = document.querySelector("#status");
document.querySelector("#copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(document.querySelector("pre code").textContent);
    status.textContent = "Copied.";
  } catch {
    status.textContent = "Your browser refuses to copy. Select the lines instead.";
  }
});
