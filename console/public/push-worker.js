// Shows a notification of a new message, also while no window is open. A push contains only ids, so the text names
// nobody.
addEventListener("push", (event) => event.waitUntil(show()));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open());
});

async function show() {
  const windows = await listWindows();
  // In a focused window the user sees the message itself.
  if (windows.some(({ focused }) => focused)) return;
  await registration.showNotification("Parley", { body: "You have a new message.", tag: "parley" });
}

async function open() {
  const [first] = await listWindows();
  await (first ? first.focus() : clients.openWindow("./"));
}

function listWindows() {
  return clients.matchAll({ type: "window", includeUncontrolled: true });
}
