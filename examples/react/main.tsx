import { Parley } from "parley-client";
import { ParleyProvider } from "parley-react";
import { openSync } from "parley-sync";
import { indexedDbStore } from "parley-sync/indexeddb";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./view.tsx";

// Your app gets these when its user signs in.
const { url = "", user = "", token = "" } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const client = new Parley({ url, token });
const sync = await openSync({ client, store: await indexedDbStore(user) });

createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <ParleyProvider sync={sync}>
      <App />
    </ParleyProvider>
  </StrictMode>,
);
