// The account menu: storage, settings of this browser, and links.
import { useState } from "preact/hooks";
import { Avatar, usePeople } from "../people/people.tsx";
import { OWN_FILES } from "../place.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { counted } from "../ui/format.ts";
import { Menu, MenuChoice, MenuItem, MenuLink, MenuSwitch } from "../ui/menu.tsx";
import { listUnsent, useView } from "./copy.ts";
import { OwnStorage, useAlmostFull } from "./own-storage.tsx";
import { Profile } from "./profile.tsx";
import { useSession } from "./session.ts";
import { chooseTheme, readTheme, THEMES } from "./theme.ts";

type Question = "profile" | "push" | "leave";

export function Account({ onShortcuts }: { onShortcuts: () => void }) {
  const { me, can, sync, uploads, signOut } = useSession();
  const unsent = listUnsent(useView(sync.outbox())).length;
  const [asking, ask] = useState<Question>();
  const [theme, setTheme] = useState(readTheme);
  const notify = useNotifySwitch();
  const push = usePushSwitch();
  const isNotifiable = can("events:read") && can("messages:read");
  const person = usePeople().toPerson(me);
  const leave = () => {
    if (uploads.running > 0 || unsent > 0) ask("leave");
    else signOut();
  };
  return (
    <>
      <Menu
        label="Your account"
        class="account"
        button={<Avatar {...person} size="small" />}
        head={<AccountHead name={person.name} />}
      >
        <hr class="menu-line" />
        <MenuItem icon="edit" onSelect={() => ask("profile")}>
          Your profile
        </MenuItem>
        {can("attachments:read") && (
          <MenuLink icon="gauge" href={`#${OWN_FILES}`}>
            Free up storage
          </MenuLink>
        )}
        <hr class="menu-line" />
        <MenuChoice
          legend="Theme"
          chosen={theme}
          choices={THEMES}
          onChoose={(theme) => {
            chooseTheme(theme);
            setTheme(theme);
          }}
        />
        <hr class="menu-line" />
        {isNotifiable && notify && (
          <MenuSwitch icon="bell" isOn={notify.isOn} onSelect={notify.toggle}>
            Notify while Parley is open
          </MenuSwitch>
        )}
        {isNotifiable && notify?.isOn && (
          <MenuSwitch icon="people" isOn={notify.hasNames} onSelect={notify.toggleNames}>
            Show names in notifications
          </MenuSwitch>
        )}
        {isNotifiable && push && (
          <MenuSwitch
            icon="device"
            isOn={push.isOn}
            onSelect={() => (push.isOn ? push.toggle() : ask("push"))}
          >
            Notify while Parley is closed
          </MenuSwitch>
        )}
        {isNotifiable && (notify || push) && <hr class="menu-line" />}
        <MenuItem icon="keyboard" onSelect={onShortcuts}>
          Keyboard shortcuts
        </MenuItem>
        <MenuLink icon="help" href="./docs" isOutside>
          API reference
        </MenuLink>
        <hr class="menu-line" />
        <MenuItem icon="signOut" onSelect={leave}>
          Sign out
        </MenuItem>
      </Menu>
      {asking === "profile" && <Profile onClose={() => ask(undefined)} />}
      {asking === "push" && push && (
        <ConfirmDialog
          title="Get notifications while Parley is closed?"
          text="Your browser then talks to its own push service. The service learns when a message arrives for you, but not who sent it or what it says."
          action="Turn on"
          isHarmless
          onConfirm={push.toggle}
          onClose={() => ask(undefined)}
        />
      )}
      {asking === "leave" && (
        <ConfirmDialog
          title={uploads.running > 0 ? "Sign out and stop uploads?" : "Sign out and discard messages?"}
          text={toUnsent(uploads.running, unsent)}
          action="Sign out"
          onConfirm={async () => signOut()}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  );
}

function AccountHead({ name }: { name: string }) {
  const { me } = useSession();
  const isAlmostFull = useAlmostFull();
  return (
    <div class="account-head">
      <strong class="ellipsis">{name}</strong>
      <span class="muted small ellipsis">@{me.username}</span>
      <OwnStorage />
      {isAlmostFull && (
        <span class="account-hint small">
          Almost full. To make room, delete files that you have sent, the largest first.
        </span>
      )}
    </div>
  );
}

interface Switch {
  isOn: boolean;
  toggle: () => Promise<void>;
}

/** Returns the switch for notifications in this browser; undefined if it has none. */
function useNotifySwitch(): (Switch & { hasNames: boolean; toggleNames: () => void }) | undefined {
  const { notifier, say, report } = useSession();
  const [isOn, setOn] = useState(notifier.isOn);
  const [hasNames, setNames] = useState(notifier.hasNames);
  if (!notifier.isPossible) return undefined;
  const toggleNames = () => {
    notifier.showNames(!hasNames);
    setNames(!hasNames);
  };
  const toggle = async () => {
    try {
      if (isOn) notifier.turnOff();
      else await notifier.turnOn();
      say(
        isOn
          ? "Notifications are off in this browser."
          : "Notifications are on while Parley is open in this browser.",
      );
    } catch (error) {
      report("Notifications stay off.", error);
    }
    setOn(notifier.isOn);
    setNames(notifier.hasNames);
  };
  return { isOn, toggle, hasNames, toggleNames };
}

/** Returns the switch for notifications while no window is open; undefined if the browser has none. */
function usePushSwitch(): Switch | undefined {
  const { pusher, say, report } = useSession();
  const [isOn, setOn] = useState(pusher.isOn);
  if (!pusher.isPossible) return undefined;
  const toggle = async () => {
    try {
      if (isOn) await pusher.turnOff();
      else await pusher.turnOn();
      say(`Notifications while Parley is closed are ${isOn ? "off" : "on"}.`);
    } catch (error) {
      report(`Notifications while Parley is closed ${isOn ? "were not turned off" : "stay off"}.`, error);
    }
    setOn(pusher.isOn);
  };
  return { isOn, toggle };
}

/** Describes what a sign-out would abort. */
function toUnsent(files: number, messages: number): string {
  const parts = [
    files > 0 && `${counted(files, "file is", "files are")} still uploading.`,
    messages > 0 && `${counted(messages, "message is", "messages are")} not sent.`,
  ];
  return parts.filter(Boolean).join(" ");
}
