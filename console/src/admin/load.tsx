// Loads the code of the administration on demand: other users do not need it.
import { useEffect, useState } from "preact/hooks";
import { PageFailure, Reading } from "../ui/page-notes.tsx";

type Loaded = typeof import("./administration.tsx");

export function LoadAdministration({ place }: { place: string }) {
  const [loaded, setLoaded] = useState<Loaded>();
  const [failure, setFailure] = useState("");
  useEffect(() => {
    import("./administration.tsx").then(setLoaded).catch(() => {
      // After an upgrade the server no longer has the files of an older page.
      setFailure("The administration could not be loaded. Reload the page.");
    });
  }, []);
  if (loaded) return <loaded.Administration place={place} />;
  return (
    <main class="sign-in">
      {failure ? <PageFailure pages={{ failure, retry: () => location.reload() }} /> : <Reading />}
    </main>
  );
}
