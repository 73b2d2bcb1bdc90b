import "./limits.ts";
import { ParleyProvider } from "parley-react";
import { AppRegistry } from "react-native";
import { App } from "../app.tsx";
import { open } from "../open.ts";
import { database } from "./database.ts";

const { url = "", token = "" } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const sync = await open(url, token, database);

AppRegistry.registerComponent("Parley", () => () => (
  <ParleyProvider sync={sync}>
    <App />
  </ParleyProvider>
));
AppRegistry.runApplication("Parley", { rootTag: document.getElementById("app") });
