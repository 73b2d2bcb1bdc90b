import { Parley } from "parley-client";
import { ParleyProvider } from "parley-react";
import { openSync } from "parley-sync";
import { indexedDbStore } from "parley-sync/indexeddb";
import { createRoot } from "react-dom/client";
import { App } from "./view.tsx";

const token = location.hash.slice(1) || (prompt("Token") ?? "");
const client = new Parley({ url: location.origin, token });
const sync = await openSync({ client, store: await indexedDbStore("parley") });

createRoot(document.body.appendChild(document.createElement("main"))).render(
  <ParleyProvider sync={sync}>
    <App />
  </ParleyProvider>,
);
