// Says that there is a new message, also while no window is open. What is pushed has ids only, and this names nobody.
addEventListener("push", (event) => event.waitUntil(show()));
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open());
});

async function show() {
  const windows = await listWindows();
  // Whoever looks at a window sees the message itself.
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
