// Storage in the browser. Some browsers store nothing in private windows or for some sites, and throw on each access:
// the page then forgets.

interface Store {
  get(key: string): string | null;
  /** Returns false if the browser did not store it. */
  set(key: string, value: string): boolean;
  remove(key: string): void;
  keys(): string[];
}

function makeStore(find: () => Storage): Store {
  const attempt = <T>(act: (storage: Storage) => T, otherwise: T): T => {
    try {
      return act(find());
    } catch {
      return otherwise;
    }
  };
  return {
    get: (key) => attempt((storage) => storage.getItem(key), null),
    set: (key, value) =>
      attempt((storage) => {
        storage.setItem(key, value);
        return true;
      }, false),
    remove: (key) => attempt((storage) => storage.removeItem(key), undefined),
    keys: () => attempt((storage) => Object.keys(storage), []),
  };
}

/** Shared by all tabs, until removed. */
export const browserStore = makeStore(() => localStorage);
/** For this tab, until it is closed. */
export const tabStore = makeStore(() => sessionStorage);
